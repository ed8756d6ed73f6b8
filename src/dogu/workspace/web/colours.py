"""Colours as style sheets write them, for one question: is this text the colour of what it stands on?"""

from __future__ import annotations

import re
from typing import TypeAlias

Colour: TypeAlias = tuple[int, int, int] | str  # red, green, blue; or "transparent"

_NAMED = {
    "white": (255, 255, 255),
    "black": (0, 0, 0),
    "red": (255, 0, 0),
    "lime": (0, 255, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "navy": (0, 0, 128),
    "yellow": (255, 255, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "whitesmoke": (245, 245, 245),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255),
}
_HEX = re.compile(r"#([0-9a-f]{3,8})\b")
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*(?:[,/]\s*([\d.]+%?)\s*)?\)")
_NEAR = 12


def colour_of(value: str) -> Colour | None:
    """Read a colour, or the colour at the beginning of a `background`; None for what isn't decided here."""
    value = value.strip().lower()
    if match := _HEX.match(value):
        return _from_hex(match[1])
    if match := _RGB.match(value):
        alpha = match[4] or "1"
        if float(alpha.rstrip("%").rstrip(".") or 0) == 0:
            return "transparent"
        return int(match[1]), int(match[2]), int(match[3])
    word = value.split(" ")[0]
    return "transparent" if word == "transparent" else _NAMED.get(word)


def is_same_colour(first: Colour | None, second: Colour | None) -> bool:
    """Whether nobody could tell the two apart; False where one of them isn't known."""
    if not isinstance(first, tuple) or not isinstance(second, tuple):
        return False
    return all(abs(one - other) <= _NEAR for one, other in zip(first, second, strict=True))


def _from_hex(digits: str) -> Colour | None:
    if len(digits) in (3, 4):
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) not in (6, 8):
        return None
    if digits[6:] == "00":
        return "transparent"
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
