"""What a terminal would obey or a reader could not see, removed or shown."""

from __future__ import annotations

import re

# ECMA-48: CSI, the strings (OSC, DCS, APC, PM, SOS: to ST, OSC also to BEL), other escapes; 7-bit and C1 forms.
_ESCAPES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\x18\x1a]*(?:\x07|\x1b\\\\|\x9c|\x18|\x1a|\\Z|(?=\x1b))"
    "|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\x18\x1a]*(?:\x1b\\\\|\x9c|\x18|\x1a|\\Z|(?=\x1b))"
    "|\x1b[ -/]*[0-~]?"
)
_OVERSTRIKE = re.compile("[^\b\n\r]\b")
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f\x80-\x9f]")

_INVISIBLE = re.compile(
    "[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def strip_escapes(text: str) -> str:
    """Remove escape sequences and control characters, as a program's output should read without a terminal.

    Newlines and tabs stay, `\\r\\n` becomes `\\n`; overstruck characters (`x BACKSPACE y`) leave the later one.
    """
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    while "\b" in text:
        text, changed = _OVERSTRIKE.subn("", text)
        if not changed:
            break
    return _CONTROLS.sub("", text)


def make_visible(text: str, keep: str = "\n\t") -> str:
    """Show what is invisible or would be obeyed: `␛` for a control character, `‹U+202E›` for a format character."""
    return _INVISIBLE.sub(lambda match: match[0] if match[0] in keep else _shown(match[0]), text)


def _shown(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"‹U+{code:04X}›"


def hidden_characters(text: str) -> list[str]:
    """Describe in words, one sentence a kind, which invisible or look-alike characters a text holds."""
    found = sorted({match[0] for match in _INVISIBLE.finditer(text)} - {"\n", "\t", "\r"})
    return [f"holds U+{ord(character):04X}" for character in found]
