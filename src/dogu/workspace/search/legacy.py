"""Find text that isn't ASCII in files that aren't UTF-8: a pattern widened to the bytes of other encodings.

The widened pattern only nominates files; whether one really matches is decided on its decoded text, so bytes that
merely look alike cost a little time and nothing else. Characters in classes stay as they are: they match in UTF-8 and
UTF-16 files, and in those that another part of the pattern nominates.
"""

from __future__ import annotations

import re

# One of each family of bytes; UTF-16 with a BOM is ripgrep's own work.
_CODECS = ("cp932", "euc_jp", "iso2022_jp", "cp949", "gb18030", "big5", "cp1252")
_META = re.compile(r"[\\.+*?()|\[\]{}^$#&\-~]")
_PARTS = re.compile(
    r"(?P<escape>\\.)|(?P<run>[^\x00-\x7f]+)(?P<quantifier>[*+?{]?)|(?P<open>\[)|(?P<close>\])", re.DOTALL
)
_SHORTEST_JIS_BYTES = 4  # anything shorter is common in plain ASCII text


def escaped(text: str) -> str:
    """Return plain text as a regular expression in Rust's dialect."""
    return _META.sub(r"\\\g<0>", text).replace("\n", "\\n")


def widened(pattern: str) -> str:
    """Return a regular expression that also finds the pattern's non-ASCII parts as other encodings spell them."""
    pieces: list[str] = []
    done = 0
    level = 0
    for match in _PARTS.finditer(pattern):
        if match["open"]:
            level += 1
        elif match["close"]:
            level = max(0, level - 1)
        elif match["run"] and level == 0:
            pieces += [pattern[done : match.start()], _either(match["run"], bool(match["quantifier"]))]
            done = match.end("run")
    return "".join([*pieces, pattern[done:]])


def _either(run: str, is_quantified: bool) -> str:
    # A quantifier is for the last character alone.
    parts = [run[:-1], run[-1]] if is_quantified else [run]
    return "".join(f"(?:{'|'.join([part, *_spellings(part)])})" for part in parts if part)


def _spellings(text: str) -> list[str]:
    spelled: dict[bytes, None] = {}
    for codec in _CODECS:
        for variant in dict.fromkeys((text, text.lower(), text.upper())):
            data = _encoded(variant, codec)
            if data:
                spelled[data] = None
    return ["(?-u:" + "".join(f"\\x{byte:02x}" for byte in data) + ")" for data in spelled]


def _encoded(text: str, codec: str) -> bytes:
    try:
        data = text.encode(codec)
    except UnicodeEncodeError:
        return b""
    if codec == "iso2022_jp":
        data = re.sub(rb"\x1b[$(][@BJ]", b"", data)
        return data if len(data) >= _SHORTEST_JIS_BYTES else b""
    return data
