"""What a reader of a page doesn't see: text hidden by attributes, styles, place, size or color.

Judged without loading anything, so only where the page itself decides it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from selectolax.lexbor import SelectolaxError

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

Color: TypeAlias = tuple[int, int, int] | str  # red, green, blue; or "transparent"

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


def color_of(value: str) -> Color | None:
    """Read a color, or the color at the beginning of a `background`; None for what isn't decided here."""
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


def is_same_color(first: Color | None, second: Color | None) -> bool:
    """Whether nobody could tell the two apart; False where one of them isn't known."""
    if not isinstance(first, tuple) or not isinstance(second, tuple):
        return False
    return all(abs(one - other) <= _NEAR for one, other in zip(first, second, strict=True))


def _from_hex(digits: str) -> Color | None:
    if len(digits) in (3, 4):
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) not in (6, 8):
        return None
    if digits[6:] == "00":
        return "transparent"
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


UNSHOWN_TAGS = frozenset(
    "script style template head title meta link svg math canvas iframe object embed audio video map datalist "
    "noembed noframes param source track".split()
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
_RULE = re.compile(r"(?<![^{}])([^{}]{1,2000}+)\{([^{}]{0,5000}+)\}")
_LENGTH = re.compile(r"(-?(?:\d++\.?\d*+|\.\d++))\s*+(px|pt|em|rem|ex|ch|vw|vh|vmin|vmax|%|in|cm|mm)?\s*$")
_PIXELS = {"px": 1, "pt": 1.33, "em": 16, "rem": 16, "ex": 8, "ch": 8, "vw": 12, "vh": 8, "in": 96, "cm": 38, "mm": 4}
_NOTHING = re.compile(r"rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?\s*\)")
_CLIPPED = re.compile(r"inset\(\s*(?:5\d|[6-9]\d|100)%|circle\(\s*0|polygon\(\s*0\s+0\s*,\s*0\s+0\s*,\s*0\s+0")
_SHRUNK = re.compile(r"scale[xy3d]*\(\s*0(?:\.0*\d?)?\s*[,)]|translate[xy3d]*\(\s*-\d{4,}px")
_MOST_RULES = 3_000
_MOST_WORK = 30_000_000
_WHITE = (255, 255, 255)
# Selectors without functions that look around, and with few steps: the others can take very long to match.
_SELECTOR = re.compile(r"(?:[^\s>+~,():][^\s>+~,(){}]*[\s>+~,]*){1,12}")
_TELLING = frozenset(
    "display visibility content-visibility opacity font-size position left top right bottom text-indent margin-left "
    "margin-top transform clip clip-path overflow overflow-y width height max-width max-height color background "
    "background-color".split()
)
_OFF_SCREEN_PX = -500

Style: TypeAlias = Mapping[str, str]


def style_of(text: str) -> dict[str, str]:
    """Read declarations (`display: none; color: red`), names and values in lower case."""
    found: dict[str, str] = {}
    for declaration in _COMMENT.sub("", text).split(";"):
        name, colon, value = declaration.partition(":")
        if colon:
            found[name.strip().lower()] = value.replace("!important", "").strip().lower()
    return found


class Appearance(msgspec.Struct, frozen=True):
    """What an element hands down to its text: whether it is drawn, readably large, and in which colors."""

    is_visible: bool = True
    is_tiny: bool = False
    color: Color | None = None
    ground: Color | None = None

    @property
    def shows_text(self) -> bool:
        """Whether text with this look can be read."""
        if not self.is_visible or self.is_tiny or self.color == "transparent":
            return False
        return not is_same_color(self.color, self.ground)

    def styled(self, style: Style) -> Appearance:
        """Return the look inside of an element with these declarations."""
        look = self
        if (visibility := style.get("visibility")) is not None:
            look = msgspec.structs.replace(look, is_visible=visibility not in ("hidden", "collapse"))
        size = _pixels(style.get("font-size", ""))
        if size is not None and not (self.is_tiny and size > 1 and _is_relative(style["font-size"])):
            look = msgspec.structs.replace(look, is_tiny=size <= 1)
        if "color" in style:
            look = msgspec.structs.replace(look, color=color_of(style["color"]))
        ground = style.get("background-color", style.get("background"))
        if ground is not None and (color := color_of(ground)) != "transparent":
            look = msgspec.structs.replace(look, ground=color)
        return look


def hides(style: Style) -> bool:
    """Whether declarations make an element invisible with all that is in it."""
    if style.get("display") == "none" or style.get("content-visibility") == "hidden":
        return True
    opacity = _number(style.get("opacity", "1"))
    if opacity is not None and opacity <= 0.02:
        return True
    return _is_elsewhere(style) or _is_clipped(style)


def own_style(attributes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the declarations of an element's own attributes, old ones like `bgcolor` included."""
    style: dict[str, str] = {}
    if color := attributes.get("color"):
        style["color"] = color
    if ground := attributes.get("bgcolor"):
        style["background-color"] = ground
    return style | style_of(attributes.get("style") or "")


def has_own_ground(tree: LexborHTMLParser) -> bool:
    """Whether style sheets that aren't loaded may paint the page: its ground is then unknown, else white."""
    return tree.css_first('link[rel~="stylesheet" i], style') is not None


def hides_by_attributes(attributes: Mapping[str, str | None], tag: str) -> bool:
    """Whether an element says of itself that it isn't shown."""
    if "hidden" in attributes or (attributes.get("aria-hidden") or "").strip().lower() == "true":
        return True
    if tag == "input":
        return (attributes.get("type") or "").strip().lower() == "hidden"
    return tag == "dialog" and "open" not in attributes


def styled_nodes(tree: LexborHTMLParser, size: int) -> dict[int, dict[str, str]]:
    """Return, by node, the declarations of the page's own style sheets that bear on being seen.

    `size` is the number of tags. `body` and `html` are never hidden: pages that a script uncovers hide there.
    """
    found: dict[int, dict[str, str]] = {}
    sheet = "\n".join(node.text() for node in tree.css("style"))
    for selector, style in _telling_rules(sheet, min(_MOST_RULES, max(10, _MOST_WORK // max(size, 1)))):
        try:
            nodes = tree.css(selector)
        except (SelectolaxError, ValueError):
            continue
        for node in nodes:
            if node.tag not in ("html", "body") or not (hides(style) or "visibility" in style):
                found.setdefault(node.mem_id, {}).update(style)
    return found


def _telling_rules(sheet: str, most: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Give the rules that hide or color, and those that show again what such a rule hid."""
    hiding: set[str] = set()
    for match in _RULE.finditer(_without_at_rules(_COMMENT.sub("", sheet))):
        selector, style = match[1].strip(), style_of(match[2])
        if hides(style) or not Appearance(ground=_WHITE).styled(style).shows_text:
            hiding.update(style)
        elif not style.keys() & (hiding | {"color", "background", "background-color"}):
            continue
        if _SELECTOR.fullmatch(selector):
            most -= 1
            yield selector, {name: style[name] for name in style.keys() & _TELLING}
        if most <= 0:
            return


def _without_at_rules(sheet: str) -> str:
    """Leave out conditional rules, which hold for a width, a medium or a script that isn't ours; `screen` stays."""
    kept: list[str] = []
    at = 0
    for match in re.finditer(r"@[\w-]++([^{};]*+)(?:([{;])|(?=\}|\Z))", sheet):
        if match.start() < at:
            continue
        kept.append(sheet[at : match.start()])
        at = _block_end(sheet, match.end()) if match[2] == "{" else match.end()
        if match[1].strip().lower() in ("screen", "all") and match[2] == "{":
            kept.append(sheet[match.end() : at - 1])
    return "".join([*kept, sheet[at:]])


def _block_end(sheet: str, start: int) -> int:
    depth = 1
    for brace in re.compile("[{}]").finditer(sheet, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return len(sheet)


def _is_elsewhere(style: Style) -> bool:
    if style.get("position") in ("absolute", "fixed", "relative"):
        for side in ("left", "top", "right", "bottom"):
            place = _pixels(style.get(side, ""))
            if place is not None and place <= _OFF_SCREEN_PX:
                return True
    for name in ("text-indent", "margin-left", "margin-top"):
        place = _pixels(style.get(name, ""))
        if place is not None and place <= _OFF_SCREEN_PX:
            return True
    return _SHRUNK.search(style.get("transform", "")) is not None


def _is_clipped(style: Style) -> bool:
    if _NOTHING.search(style.get("clip", "")) or _CLIPPED.search(style.get("clip-path", "")):
        return True
    if not style.get("overflow", style.get("overflow-y", "")).startswith(("hidden", "clip")):
        return False
    sizes = [_pixels(style.get(name, "")) for name in ("width", "height", "max-width", "max-height")]
    return any(size is not None and size <= 1 for size in sizes)


def _pixels(value: str) -> float | None:
    match = _LENGTH.match(value)
    return float(match[1]) * _PIXELS.get(match[2] or "px", 16) if match else None


def _is_relative(size: str) -> bool:
    return size.endswith(("%", "em", "ex", "ch")) and not size.endswith("rem")


def _number(value: str) -> float | None:
    try:
        return float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        return None
