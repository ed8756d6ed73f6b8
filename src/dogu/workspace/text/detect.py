"""Which encoding a file's bytes are in: a ladder from proof to guess.

BOM; UTF-16 and UTF-32 by where the NULs are; ISO-2022-JP by its escapes; UTF-8 by being valid; then a statistical
detector on the lines with high bytes only (whole files drown the evidence in ASCII); then CP1252.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from importlib import import_module

import msgspec

_SAMPLE_BYTES = 64 * 1024
_EVIDENCE_BYTES = 64 * 1024
_LONGEST_EVIDENCE_LINE_BYTES = 2048
_ENOUGH_FOR_KANA = 20

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_LABELS = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "utf-32-le": "UTF-32LE",
    "utf-32-be": "UTF-32BE",
    "cp932": "Shift_JIS",
    "euc_jp": "EUC-JP",
    "iso2022_jp": "ISO-2022-JP",
    "cp949": "EUC-KR",
    "gb18030": "GB18030",
    "cp950": "Big5",
    "cp1252": "CP1252",
}

# Each family is read with its widest member: a file in the narrower one decodes to the same text.
_WIDEST = {
    "shift_jis": "cp932",
    "cp932": "cp932",
    "euc_jp": "euc_jp",
    "euc_jis_2004": "euc_jp",
    "euc_kr": "cp949",
    "cp949": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb18030": "gb18030",
    "big5": "cp950",
    "cp950": "cp950",
    "big5hkscs": "cp950",
    "iso_8859_1": "cp1252",
    "iso8859_1": "cp1252",
    "windows_1252": "cp1252",
    "windows_31j": "cp932",
    "shift_jis_2004": "cp932",
    "cp1252": "cp1252",
}

_CANDIDATES = ("cp932", "euc-jp", "euc-kr", "cp949", "gb18030", "big5", "cp1252")
_EAST_ASIAN = _CANDIDATES[:-1]
_HIGH = re.compile(rb"[\x80-\xff]")
_LIVING = (
    "[\t\n\f\r -~\xa0-\u052f\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u1e00-\u206f\u20a0-\u27bf\u3000-\u30ff\u3400-\u9fff"
    "\uac00-\ud7a3\uff00-\uffef\U0001f300-\U0001faff\U00020000-\U0003ffff]+"
)
# Compiled where they are used first: that takes 5 ms of a start that reads no file.
_STRAY = "[\udc80-\udcff]"
_IDEOGRAPH = "[\u4e00-\u9fff]"
_KANA = "[\u3041-\u30fe]"
# Syllables that half of any Korean text is made of, and that hardly any Japanese text's bytes spell.
_COMMON_HANGUL = (
    "[이다의는에을를가하고지한은로기서도사인리자나시으과어스해대그보정들적수게일제라여아구전부상면있장동주만성"
    "안공신유관오조비원무었중모국소경우마용내연위방요없것생화명반환값설문파니열와되된할합분류]"
)
_HANGUL = "[\uac00-\ud7a3]"
# What kanji with an inflected ending look like, read as Korean.
_KANA_AFTER_KANJI = "[\uac00-\ud7a3][\u3131-\u3163]"
_NOT_KOREAN = "[^\0-\x7f\u3131-\u3163\uac00-\ud7a3\u3000-\u303f\u2000-\u22ff\u25a0-\u266f\xa0-\xff\uff00-\uffef]"
_FORMED = "[^\0-\x7f\udc80-\udcff]"
# How Latin text uses the upper half of CP1252: lone accented letters in words, double ones at most, and signs that
# stand beside blanks, digits or ASCII.
_LATIN_USE = (
    "(?<![\xc0-\xff])[\xc0-\xd6\xd8-\xf6\xf8-\xff\u0152\u0153\u0160\u0161\u0178\u017d\u017e]{1,2}(?![\xa1-\xff])"
    "|(?<![\xa1-\xff])[\xa0-\xbf\xd7\xf7\u20ac\u2013\u2014\u2018-\u201a\u201c-\u201e\u2020-\u2022\u2026\u2030\u2122]"
    "(?![\xa1-\xbf])"
)
_ISO_2022_JP_ESCAPE = re.compile(rb"\x1b(?:\$[@B]|\([BJI]|\$\(D)")


class Encoding(msgspec.Struct, frozen=True):
    """A codec of the standard library by its name, and the BOM the bytes begin with (empty when there is none)."""

    codec: str
    bom: bytes = b""

    @property
    def label(self) -> str:
        """The name people know, such as `UTF-16LE with BOM`."""
        name = _LABELS.get(self.codec, self.codec)
        return f"{name} with BOM" if self.bom else name


def detect(data: bytes) -> Encoding:
    """Name the encoding of a file's bytes, or of its first bytes; always answers, at worst CP1252."""
    for bom, codec in _BOMS:
        if data.startswith(bom):
            return Encoding(codec, bom)
    wide = wide_codec(data[:_SAMPLE_BYTES])
    if wide:
        return Encoding(wide)
    if data.isascii():
        # One byte is looked for ten times as fast as two.
        is_japanese = b"\x1b" in data and b"\x1b$" in data and _ISO_2022_JP_ESCAPE.search(data) is not None
        return Encoding("iso2022_jp" if is_japanese else "utf-8")
    return Encoding("utf-8" if _is_utf_8(data) else _guess(data))


def has_bom(head: bytes) -> bool:
    """Whether the bytes begin with the byte order mark of a Unicode encoding."""
    return head.startswith(tuple(bom for bom, _ in _BOMS))


def wide_codec(head: bytes) -> str | None:
    """Tell UTF-16 and UTF-32 without a BOM by the columns their NULs stand in; None when it is neither."""
    if b"\0" not in head or len(head) < 4:
        return None
    units = len(head) // 4
    nuls = [head[column : units * 4 : 4].count(0) for column in range(4)]
    for codec, empty, filled in (("utf-32-le", (2, 3), 0), ("utf-32-be", (0, 1), 3)):
        is_empty = all(nuls[column] >= units * 0.9 for column in empty)
        if is_empty and nuls[filled] * 4 <= units and _is_plausible(head[: units * 4], codec):
            return codec
    even = head[: len(head) & ~1]
    for codec, nul_at in (("utf-16-le", 1), ("utf-16-be", 0)):
        empty = even[nul_at::2]
        filled = even[1 - nul_at :: 2]
        # A few low bytes are NUL in Chinese and Japanese: U+4E00, U+3000.
        if filled.count(0) * 10 <= len(filled) and _is_utf_16(even, codec, empty, filled):
            return codec
    return None


def _is_utf_16(data: bytes, codec: str, high: bytes, low: bytes) -> bool:
    """Whether the units with a NUL for a high byte are Latin letters, and the others no pairs of ASCII."""
    latin = [low[at] for at, byte in enumerate(high) if byte == 0]
    if any(byte < 0x20 and byte not in b"\t\n\f\r" for byte in latin) or not _decodes(data, codec):
        return False
    if len(latin) * 2 >= len(high):
        return True
    ascii_pairs = sum(0x20 <= high[at] < 0x7F and 0x20 <= low[at] < 0x7F for at in range(len(high)))
    return (
        bool(latin) and ascii_pairs * 5 < 3 * len(high) and not _decodes(data, "utf-8") and _is_plausible(data, codec)
    )


def _is_plausible(data: bytes, codec: str) -> bool:
    """Whether the bytes decode, nearly all to letters and signs of living scripts: half of all units are none."""
    if not _decodes(data, codec):
        return False
    text = data.decode(codec, "ignore")
    return 20 * sum(len(match[0]) for match in re.finditer(_LIVING, text)) >= 19 * len(text)


def _decodes(data: bytes, codec: str) -> bool:
    """Whether a head of a file decodes, a character cut by its end excepted."""
    try:
        codecs.getincrementaldecoder(codec)("strict").decode(data)
    except UnicodeDecodeError:
        return False
    return True


def _is_utf_8(data: bytes) -> bool:
    """Whether the bytes are UTF-8, or UTF-8 with a few stray bytes: legacy text hardly ever forms its sequences."""
    if _decodes(data, "utf-8"):
        return True
    text = _evidence(data).decode("utf-8", "surrogateescape")
    return _count(_FORMED, text) > 4 * _count(_STRAY, text)


def _evidence(data: bytes) -> bytes:
    """Collect the lines that hold high bytes, up to a bound."""
    lines: list[bytes] = []
    size = end = 0
    while size < _EVIDENCE_BYTES:
        high = _HIGH.search(data, end)
        if not high:
            break
        at = high.start()
        start = max(data.rfind(b"\n", end, at) + 1, end, at - _LONGEST_EVIDENCE_LINE_BYTES)
        feed = data.find(b"\n", at, at + _LONGEST_EVIDENCE_LINE_BYTES)
        end = feed + 1 if feed >= 0 else at + _LONGEST_EVIDENCE_LINE_BYTES
        lines.append(data[start:end])
        size += end - start
    return b"".join(lines)


def _guess(data: bytes) -> str:
    evidence = _evidence(data)
    if _is_rather_korean(evidence):
        return "cp949"
    for codec in ("cp932", "euc_jp"):
        if _is_half_kana(evidence, codec):
            return codec
    codec = _detector_answer(evidence, _CANDIDATES)
    if codec == "cp1252" and not _is_latin(evidence):
        # Short East Asian words look like any bytes to a detector, but not like words of Latin letters.
        codec = _detector_answer(evidence, _EAST_ASIAN)
    if codec == "cp949" and _is_rather_japanese(evidence):
        return "euc_jp"
    return "cp950" if codec == "gb18030" and _is_rather_big5(evidence) else codec


def _is_rather_big5(evidence: bytes) -> bool:
    """Whether the ideographs are rare ones in GB18030 and common ones in Big5: a stray byte makes detectors err."""
    simplified = "".join(re.findall(_IDEOGRAPH, evidence.decode("gb18030", "ignore")))
    if not simplified or len(simplified.encode("gb2312", "ignore")) >= 2 * 0.8 * len(simplified):
        return False
    traditional = "".join(re.findall(_IDEOGRAPH, evidence.decode("cp950", "ignore")))
    leads = traditional.encode("cp950", "ignore")[::2]
    common = sum(0xA4 <= lead <= 0xC6 for lead in leads)
    return _fits(evidence, "cp950") and common >= 0.8 * len(leads) > 0


def _is_rather_korean(evidence: bytes) -> bool:
    """Whether the bytes are Hangul syllables, many of them common ones, beside letters that EUC-JP has hiragana for."""
    try:
        text = evidence.decode("cp949")
    except UnicodeDecodeError:
        return False
    syllables = _count(_HANGUL, text)
    is_common = 3 * _count(_COMMON_HANGUL, text) >= syllables > 2 * _count(_KANA_AFTER_KANJI, text)
    return is_common and not re.search(_NOT_KOREAN, text)


def _is_rather_japanese(evidence: bytes) -> bool:
    """Whether the bytes are EUC-JP too, and as Korean they hardly have a common syllable."""
    text = evidence.decode("cp949", "ignore")
    return 6 * _count(_COMMON_HANGUL, text) < _count(_FORMED, text) and _fits(evidence, "euc_jp")


def _is_half_kana(evidence: bytes, codec: str) -> bool:
    """Whether the bytes are valid and half of the characters kana: so no other language reads, at any length."""
    try:
        text = evidence.decode(codec)
    except UnicodeDecodeError:
        return False
    return 2 * _count(_KANA, text) >= _count(_FORMED, text)


def _is_latin(evidence: bytes) -> bool:
    """Whether, read as CP1252, most upper characters stand where a text would have them."""
    text = evidence.decode("cp1252", "surrogateescape")
    fitting = sum(len(match[0]) for match in re.finditer(_LATIN_USE, text))
    return fitting * 10 >= 7 * sum(byte >= 0x80 for byte in evidence)


def _detector_answer(evidence: bytes, candidates: tuple[str, ...]) -> str:
    """Return the codec that a detector names, if it is one of ours and fits, else CP1252.

    Japanese without any kana gives way to another East Asian answer.
    """
    kanji_only = ""
    for name in _detector_names(evidence, candidates):
        codec = _WIDEST.get(name.lower().replace("-", "_"), "")
        if not codec or not _fits(evidence, codec):
            continue
        if _lacks_kana(evidence, codec):
            kanji_only = kanji_only or codec
        elif codec != "cp1252" or not kanji_only:
            return codec
    return kanji_only or "cp1252"


def _lacks_kana(evidence: bytes, codec: str) -> bool:
    if codec not in ("cp932", "euc_jp"):
        return False
    text = evidence.decode(codec, "surrogateescape")
    formed = _count(_FORMED, text)
    return formed >= _ENOUGH_FOR_KANA and 20 * _count(_KANA, text) < formed


def _fits(evidence: bytes, codec: str) -> bool:
    """Whether the bytes decode with hardly a stray one."""
    text = evidence.decode(codec, "surrogateescape")
    return 20 * _count(_STRAY, text) <= _count(_FORMED, text)


def _count(pattern: str, text: str) -> int:
    return sum(1 for _ in re.finditer(pattern, text))


def _detector_names(evidence: bytes, candidates: tuple[str, ...]) -> Iterator[str]:
    if candidates == _CANDIDATES:
        try:
            browsers = import_module("chardetng_py")  # the extra `detect`
        except ImportError:
            pass
        else:
            yield str(browsers.detect(evidence, allow_utf8=False))
    import chardet

    none = candidates[-1]
    found = chardet.detect(evidence, include_encodings=candidates, compat_names=False, no_match_encoding=none)
    yield found["encoding"] or none
