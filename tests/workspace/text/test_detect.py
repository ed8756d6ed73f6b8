"""The ladder: proof first, then guesses; each rung's answer on what it must tell apart."""

from __future__ import annotations

import codecs
import random
import sys

import pytest

from dogu.workspace.text import decode
from dogu.workspace.text.detect import detect, wide_codec

CODE = "\n".join(f"    value_{number} = compute(value_{number - 1})  # step {number}" for number in range(300)) + "\n"
PHRASES = {
    "cp932": ["設定ファイルの読み込みに失敗しました。", "日本語", "エラー: 無効なパス"],
    "euc_jp": ["設定ファイルの読み込みに失敗しました。", "ファイルが見つからない", "エラー: 無効なパス"],
    "cp949": ["설정 파일을 읽지 못했습니다.", "한국어", "오류: 잘못된 경로"],
    "gb18030": ["配置文件读取失败，请检查路径。", "错误处理：检查输入参数", "用户名或密码错误"],
    "cp950": ["設定檔讀取失敗，請檢查路徑。", "錯誤：找不到檔案", "使用者名稱或密碼錯誤"],
    "cp1252": ["Größe des Fensters", "café “déjà vu” – naïve", "año: 5 €", "© 2003 Müller GmbH"],
}
CASES = [(codec, phrase) for codec, phrases in PHRASES.items() for phrase in phrases]


@pytest.mark.parametrize(("codec", "phrase"), CASES)
def test_one_comment_in_a_file_of_ascii_tells_the_encoding(codec: str, phrase: str) -> None:
    text = CODE + f"# {phrase}\n" + CODE
    assert decode(text.encode(codec)).text == text


@pytest.mark.parametrize(("codec", "phrase"), [case for case in CASES if len(case[1]) > 3])
def test_it_does_so_without_the_optional_detector(codec: str, phrase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chardetng_py", None)
    text = CODE + f"# {phrase}\n" + CODE
    assert decode(text.encode(codec)).text == text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["plain ascii\r\n", "設定ファイルの一覧\n", "x = '日本'\n", "한국어 텍스트\n", "ab"])
def test_wide_encodings_are_told_without_a_bom(codec: str, text: str) -> None:
    assert decode(text.encode(codec)).text == text


@pytest.mark.parametrize(
    "data",
    [
        b"hello\0world",
        b"hello world\0",
        b"\0\1\2\3",
        bytes(range(256)),
        bytes(4096),
        b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0\x3e\0\x01\0\0\0",
        b"PK\x03\x04\x14\0\0\0\x08\0",
        b"".join(number.to_bytes(2, "little") for number in range(300)),
        b"".join(number.to_bytes(4, "little") for number in range(30)),
    ],
)
def test_bytes_with_nuls_that_are_no_text_are_no_wide_encoding(data: bytes) -> None:
    assert wide_codec(data) is None


def test_a_stray_byte_leaves_big5_big5(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chardetng_py", None)
    data = ("每一節的命令操作將會更改本文。推薦您複製本文的一個副本，然後在副本上進行訓練。\n" * 20).encode("cp950")
    assert detect(data + b"\xff\n" + data).codec == "cp950"


def test_japanese_without_kana_is_rather_another_language() -> None:
    korean = "◎ 파이썬(Python)은 배우기 쉽고, 강력한 프로그래밍 언어입니다.\n"
    assert decode(korean.encode("cp949")).text == korean
    names = "北海道 青森県 岩手県 宮城県 秋田県 山形県 福島県 茨城県\n"
    assert decode(names.encode("cp932")).text == names
    repeated = ("日本語" + "x" * 70 + "\n") * 300
    assert decode(repeated.encode("cp932")).text == repeated


@pytest.mark.parametrize("seed", range(200))
def test_random_bytes_are_no_wide_encoding(seed: int) -> None:
    chance = random.Random(seed)
    assert wide_codec(chance.randbytes(chance.randrange(64, 2000)) + b"\0") is None


def test_a_few_stray_bytes_leave_utf_8_utf_8() -> None:
    data = "設定ファイルの読み込み\n".encode() * 3 + b"caf\xe9\n"
    file = decode(data)
    assert file.is_utf8
    assert file.text.endswith("caf\udce9\n")


def test_a_utf_8_file_cut_in_a_character_is_utf_8() -> None:
    assert detect("é日本語".encode()[:-1]).codec == "utf-8"


def test_escape_sequences_of_a_terminal_are_not_iso_2022_jp() -> None:
    assert detect(b"\x1b[31mred\x1b[0m\x1b(B\n").codec == "utf-8"
    assert detect("漢字".encode("iso2022_jp")).codec == "iso2022_jp"


def test_nothing_and_ascii_are_utf_8() -> None:
    assert detect(b"").label == "UTF-8"
    assert detect(b"plain\n").label == "UTF-8"
    assert detect(codecs.BOM_UTF16_LE).label == "UTF-16LE with BOM"


def test_evidence_deep_in_a_file_of_long_ascii_lines_is_found() -> None:
    data = b"x" * 3_000_000 + b"\n" + "設定ファイルの読み込み\n".encode("cp932")
    assert detect(data).codec == "cp932"


def test_one_long_line_of_legacy_text_is_judged_by_its_start() -> None:
    assert detect("配置文件读取失败，请检查路径。".encode("gb18030") * 20_000).codec == "gb18030"


@pytest.mark.parametrize("has_extra", [True, False])
@pytest.mark.parametrize(
    ("codec", "found", "comments"),
    [
        ("euc-kr", "cp949", ["값 => 'ㄱㅏㅂㅅ'", "'ㅗㅏ'를 합친 글자", "초성 ㄱ과 종성 ㅂ"]),
        ("euc-kr", "cp949", ["설정 파일을 읽는다", "값을 반환한다"]),
        ("euc-jp", "euc_jp", ["あいうえお", "かきく", "引数がない"]),
        ("euc-jp", "euc_jp", ["ファイルを開く", "値を返す"]),
    ],
)
def test_a_few_korean_or_japanese_comments_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, has_extra: bool, codec: str, found: str, comments: list[str]
):
    if not has_extra:
        monkeypatch.setitem(sys.modules, "chardetng_py", None)
    code = "".join(f"x = f(x)  # {comment}\nreturn x\n" for comment in comments)
    assert detect(code.encode(codec)).codec == found


@pytest.mark.parametrize("has_extra", [True, False])
@pytest.mark.parametrize("comment", ["例外処理", "文字列", "座標変換", "検索結果一覧", "更新日時", "未使用"])
def test_japanese_comments_without_kana_are_never_korean(
    monkeypatch: pytest.MonkeyPatch, has_extra: bool, comment: str
):
    if not has_extra:
        monkeypatch.setitem(sys.modules, "chardetng_py", None)
    assert detect(f"x = f(x)  # {comment}\n".encode("euc-jp")).codec != "cp949"
