import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.text import decode
from dogu.workspace.text.rewrite import rewrite


def written(old: bytes, content: str) -> bytes:
    return rewrite(decode(old), content).data


def test_a_new_file_is_utf_8_as_given():
    assert rewrite(None, "a\r\nb\n日本").data == "a\r\nb\n日本".encode()


@pytest.mark.parametrize(
    ("old", "content", "new"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny", b"x\r\ny"),
        (b"a\rb\r", "x\ny\n", b"x\ry\r"),
        (b"a\nb\n", "x\r\ny\r\n", b"x\ny\n"),
        (b"a\nb\n", "x\ry\n", b"x\ry\n"),
        (b"one line", "x\r\ny\n", b"x\r\ny\n"),
        (b"", "x\ny\n", b"x\ny\n"),
    ],
)
def test_line_endings_follow_the_file(old: bytes, content: str, new: bytes):
    assert written(old, content) == new


def test_in_a_file_of_mixed_endings_kept_lines_keep_theirs_and_new_ones_take_the_usual():
    old = b"one\r\ntwo\nthree\rfour\r\nfive\r\nend"
    assert (
        written(old, "one\ntwo\nthree\nnew\nfour\nfive\nend\n") == b"one\r\ntwo\nthree\rnew\r\nfour\r\nfive\r\nend\r\n"
    )


@pytest.mark.parametrize("codec", ["cp932", "euc-jp", "gb18030", "big5", "euc-kr"])
def test_the_encoding_stays(codec: str):
    words = {
        "gb18030": "你好世界，这是一个测试文件。",
        "big5": "你好世界，這是一個測試檔案。",
        "euc-kr": "안녕하세요 세계, 이것은 시험 파일입니다.",
    }
    text = words.get(codec, "こんにちは世界、これはテストのファイルです。") * 4 + "\n"
    assert written(text.encode(codec), text + text) == (text + text).encode(codec)


@pytest.mark.parametrize("bom", ["utf-8-sig", "utf-16", "utf-32"])
def test_the_bom_stays_and_is_not_doubled(bom: str):
    old = "old\n".encode(bom)
    assert written(old, "new\n") == "new\n".encode(bom)
    assert written(old, "\ufeffnew\n") == "new\n".encode(bom)


def test_a_character_the_encoding_lacks_is_refused_by_name():
    with pytest.raises(ToolError, match=r"U\+1F600") as caught:
        written("日本語のテキストです。これは長い文章。\n".encode("cp932"), "日本語😀\n")
    assert caught.value.kind is ErrorKind.UNENCODABLE


def test_a_lone_surrogate_is_refused_unless_it_is_a_stray_byte_of_the_file():
    for content in ("\ud800", "\udc80"):
        with pytest.raises(ToolError) as caught:
            rewrite(None, content)
        assert caught.value.kind is ErrorKind.UNENCODABLE
    stray = b"caf\xff\nand more text\n"
    assert written(stray, decode(stray).text + "x\n") == stray + b"x\n"


@given(st.lists(st.tuples(st.text("ab", max_size=2), st.sampled_from(["\n", "\r\n", "\r"])), max_size=8))
def test_writing_back_what_was_read_changes_no_byte(lines: list[tuple[str, str]]):
    old = "".join(line + end for line, end in lines)
    seen = old.replace("\r\n", "\n").replace("\r", "\n")
    assert rewrite(decode(old.encode()), seen).text == old
