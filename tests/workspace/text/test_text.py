"""Decoding is exact and reversible, spans are right, a splice touches nothing else: laws, over every encoding."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.text import DecodedText, decode, dominant_line_ending, line_ending_at
from dogu.workspace.text.detect import Encoding

LEGACY = ("cp932", "euc_jp", "cp949", "gb18030", "cp950", "cp1252")
WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
ALL = ("utf-8", *WIDE, *LEGACY, "iso2022_jp")
BOMS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
SAMPLES = {
    "cp932": "設定ファイル①ｶﾅ～\\の読み込み\r\n",
    "euc_jp": "設定ファイル丂ｶﾅの読み込み\n",
    "cp949": "설정 파일 똠방각하\n",
    "gb18030": "配置文件读取失败€㐀\n",
    "cp950": "設定檔讀取失敗，請檢查\n",
    "cp1252": "café “déjà vu” – naïve €\n",
    "iso2022_jp": "設定 file の読み込み\n次の行\n",
}

encodings = st.sampled_from(ALL)
# Bytes that look like the text of multibyte encodings far more often than random ones do.
likely_bytes = st.lists(
    st.one_of(
        st.binary(max_size=6),
        st.sampled_from(
            [sample.encode(codec) for codec, sample in SAMPLES.items()]
            + ["日本語 😀\n".encode(codec) for codec in ("utf-8", *WIDE)]
            + [b"\x87\x54", b"\x81", b"\xad\xa1", b"\x81\x30\x81", b"\x8f\xa2\xaf", b"\x1b$B", b"\x1b(J", b"\x1b(I"]
            + [b"\x1b(B", b"\x1b$(D", b"!!", b"\n", b"\r\n", b"\xd8\x3d", b"\x00\xd8", b"\x00\x00\x11\x00", b"\xed\xfc"]
        ),
    ),
    max_size=12,
).map(b"".join)


def decoded(data: bytes, codec: str) -> DecodedText:
    return decode(data, Encoding(codec))


@given(likely_bytes, encodings)
@example(b"\x1b$B@_Dj\x1b(B", "iso2022_jp")
@example(b"A\0B", "utf-16-le")
@example(b"\x00\x00\x11\x00", "utf-32-le")
def test_spans_of_neighbouring_characters_are_in_order_and_within_the_file(data: bytes, codec: str) -> None:
    text = decoded(data, codec)
    end_before = 0
    for at in range(len(text.text)):
        first, last = text.byte_span(at, at + 1)
        assert end_before <= first < last <= len(data)
        end_before = last
    if codec != "iso2022_jp":
        assert text.byte_span(0, len(text.text)) == (0, len(data))


@given(likely_bytes, encodings, st.data())
def test_replacing_a_span_by_its_own_text_or_bytes_gives_the_same_file(
    data: bytes, codec: str, draw: st.DataObject
) -> None:
    text = decoded(data, codec)
    start = draw.draw(st.integers(0, len(text.text)))
    end = draw.draw(st.integers(start, len(text.text)))
    first, last = text.byte_span(start, end)
    assert text.splice([]) == data
    assert text.splice([(start, start, "")]) == data
    spliced = text.splice([(start, end, "")])
    assert spliced.startswith(data[:first])
    assert spliced.endswith(data[last:])


@given(st.sampled_from(ALL), st.data())
def test_a_splice_in_valid_text_reads_as_the_text_with_the_splice(codec: str, draw: st.DataObject) -> None:
    alphabet = sorted(set(SAMPLES.get(codec, "日本語 😀é\r\n") + "ab \n\t"))
    line = st.text(st.sampled_from(alphabet), max_size=20)
    old, new = draw.draw(line), draw.draw(line)
    file = decoded(decoded(b"", codec).encode(old), codec)
    assert file.text == old
    start = draw.draw(st.integers(0, len(old)))
    end = draw.draw(st.integers(start, len(old)))
    spliced = decoded(file.splice([(start, end, new)]), codec)
    assert spliced.text == old[:start] + new + old[end:]


@given(st.sampled_from(ALL), st.data())
def test_many_splices_at_once_read_as_the_text_with_each(codec: str, draw: st.DataObject) -> None:
    alphabet = sorted(set(SAMPLES.get(codec, "日本語 😀é\r\n") + "ab \n\t"))
    old = draw.draw(st.text(st.sampled_from(alphabet), min_size=1, max_size=30))
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(old)), max_size=8)))
    spans = [(cuts[at], cuts[at + 1]) for at in range(0, len(cuts) - 1, 2)]
    replacements = [(start, end, draw.draw(st.text(st.sampled_from(alphabet), max_size=4))) for start, end in spans]
    expected = old
    for start, end, new in reversed(replacements):
        expected = expected[:start] + new + expected[end:]
    file = decoded(decoded(b"", codec).encode(old), codec)
    assert decoded(file.splice(replacements), codec).text == expected


@given(likely_bytes, st.sampled_from(["utf-8", "cp1252"]))
def test_encoding_what_was_decoded_gives_the_same_bytes_in_self_describing_encodings(data: bytes, codec: str) -> None:
    text = decoded(data, codec)
    assert text.encode(text.text) == data


@given(st.binary(max_size=64))
def test_any_bytes_decode_and_come_back(data: bytes) -> None:
    text = decode(data)
    assert text.splice([]) == data
    assert text.splice([(0, len(text.text), "")]).startswith(text.bom)


@pytest.mark.parametrize("codec", BOMS)
def test_a_bom_is_not_text_and_stays(codec: str) -> None:
    file = decode(BOMS[codec] + "one\ntwo\n".encode(codec))
    assert (file.text, file.encoding, file.bom) == ("one\ntwo\n", codec, BOMS[codec])
    assert file.label.endswith(" with BOM")
    assert file.splice([(0, 3, "é")]) == BOMS[codec] + "é\ntwo\n".encode(codec)
    assert file.encode("x") == "x".encode(codec)


def test_duplicate_codes_of_shift_jis_keep_their_bytes() -> None:
    # NEC's and IBM's codes of the same characters: the encoder knows one of each pair only.
    data = b"\x81\xca \x87\x54 \xfa\x4a \xed\x40 x\n" * 3
    file = decoded(data, "cp932")
    at = file.text.rindex("x")
    assert file.splice([(at, at + 1, "行")]) == data[:-2] + "行".encode("cp932") + b"\n"
    assert file.byte_span(at, at + 1) == (len(data) - 2, len(data) - 1)


def test_a_stray_byte_in_a_legacy_file_stays_and_later_spans_are_right() -> None:
    data = "設定".encode("cp932") + b"\xff\x81\n" + "ファイル\n".encode("cp932")
    file = decoded(data, "cp932")
    assert file.text.endswith("ファイル\n")
    at = file.text.index("ファイル")
    assert file.splice([(at, at + 4, "a")]) == data[:6] + b"\na\n"


def test_row_13_of_euc_jp_is_read_as_the_vendors_wrote_it() -> None:
    assert decoded(b"\xad\xa1\xb4\xc1\n", "euc_jp").text == "①漢\n"


def test_the_odd_last_byte_of_a_utf_16_file_stays() -> None:
    data = "ab\n".encode("utf-16-le") + b"c"
    file = decode(codecs.BOM_UTF16_LE + data)
    assert file.splice([(0, 1, "é")]) == codecs.BOM_UTF16_LE + "éb\n".encode("utf-16-le") + b"c"


def test_lone_surrogates_of_a_utf_16_file_stay() -> None:
    data = b"a\0\x00\xd8b\0\x80\xdc\n\0"
    file = decoded(data, "utf-16-le")
    assert file.text == "a\ud800b\udc80\n"
    assert file.splice([(2, 3, "😀")]) == data[:4] + "😀".encode("utf-16-le") + data[6:]


def test_iso_2022_jp_is_spliced_in_the_state_of_the_place() -> None:
    data = "abc 設定 def\n".encode("iso2022_jp")
    file = decode(data)
    assert file.encoding == "iso2022_jp"
    for old, new in (("設", "x"), ("定", "終"), ("c 設定 d", "漢"), ("設定", ""), ("abc", "漢字")):
        at = file.text.index(old)
        spliced = file.splice([(at, at + len(old), new)])
        assert spliced.decode("iso2022_jp") == file.text.replace(old, new)
        first, last = file.byte_span(at, at + len(old))
        assert spliced.startswith(data[:first])
        assert spliced.endswith(data[last:])


def test_an_insertion_into_iso_2022_jp_prefers_a_place_in_ascii() -> None:
    data = "設定".encode("iso2022_jp")
    assert decode(data).splice([(2, 2, "\nend")]) == data + b"\nend"


@pytest.mark.parametrize(
    ("codec", "label"), [("cp932", "Shift_JIS"), ("iso2022_jp", "ISO-2022-JP"), ("cp1252", "CP1252")]
)
def test_a_text_the_encoding_cannot_hold_is_refused_by_name_and_line(codec: str, label: str) -> None:
    with pytest.raises(ToolError) as caught:
        decoded(b"", codec).encode("one\ntwo 😀\n")
    assert caught.value.kind is ErrorKind.UNENCODABLE
    assert "U+1F600 '😀'" in caught.value.message
    assert "line 2" in caught.value.message
    assert label in caught.value.message


def test_a_lone_surrogate_in_new_text_is_refused() -> None:
    with pytest.raises(ToolError, match=r"U\+D83D"):
        decode(b"x").encode("a\ud83d")


def test_overlapping_replacements_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        decode(b"abcdef").splice([(0, 3, ""), (2, 4, "")])


def test_nothing_but_the_span_changes_among_nul_form_feed_and_mixed_line_endings() -> None:
    data = "\ufeffa\r\nb\rc\n\x0c\0\u2028\x85end".encode()
    file = decode(data)
    at = file.text.index("c")
    assert file.splice([(at, at + 1, "C")]) == data.replace(b"c", b"C")


@pytest.mark.parametrize(
    ("text", "position", "ending"),
    [
        ("a\r\nb\nc\rd", 0, "\r\n"),
        ("a\r\nb\nc\rd", 1, "\r\n"),
        ("a\r\nb\nc\rd", 2, "\r\n"),
        ("a\r\nb\nc\rd", 3, "\n"),
        ("a\r\nb\nc\rd", 5, "\r"),
        ("a\r\nb\nc\rd", 7, "\r"),
        ("a\nb\r\nc", 6, "\r\n"),
        ("a", 0, "\n"),
        ("", 0, "\n"),
    ],
)
def test_the_line_ending_of_a_place_is_that_of_its_line(text: str, position: int, ending: str) -> None:
    assert line_ending_at(text, position) == ending


@pytest.mark.parametrize(
    ("text", "ending"),
    [("", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb", "\r"), ("a\r\nb\n", "\n"), ("a\nb\nc\r\n", "\n")],
)
def test_the_dominant_line_ending_is_that_of_most_lines(text: str, ending: str) -> None:
    assert dominant_line_ending(text) == ending


@given(st.sampled_from(ALL), st.data())
def test_a_rewritten_file_reads_as_the_new_text(codec: str, draw: st.DataObject) -> None:
    alphabet = sorted(set(SAMPLES.get(codec, "日本語 😀é\r\n") + "ab \n\t"))
    text = st.text(st.sampled_from(alphabet), max_size=30)
    old, new = draw.draw(text), draw.draw(text)
    file = decoded(decoded(b"", codec).encode(old), codec)
    assert decoded(file.rewrite(new), codec).text == new
    assert file.rewrite(old) == file.data


@given(likely_bytes, encodings)
def test_a_file_rewritten_as_it_is_keeps_every_byte(data: bytes, codec: str) -> None:
    file = decoded(data, codec)
    assert file.rewrite(file.text) == data


def test_a_rewritten_file_keeps_the_bytes_of_lines_that_stay() -> None:
    data = b"\x87\x54 \xfa\x4a\n\xff\nend\n"
    file = decoded(data, "cp932")
    assert file.rewrite(file.text.replace("end", "終わり")) == data.replace(b"end", "終わり".encode("cp932"))


def test_a_rewrite_that_cannot_be_encoded_names_the_line_of_the_whole_text() -> None:
    with pytest.raises(ToolError, match="line 4"):
        decoded(b"\xff\none\ntwo\nthree\n", "cp932").rewrite("one\ntwo\nthree\n😀\n")
