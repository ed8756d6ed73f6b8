"""One glob as git matches it, turned into a matcher whose time is bounded by pattern length times name length.

Knows no files and no precedence: `ignore_rules` puts patterns in order, `glob` builds file globs from the same parts.
Source: gitignore(5); git's wildmatch.c and dir.c, whose corner cases are kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import msgspec

_SPECIAL = re.compile(r"[*?\[\\]")
# POSIX classes over bytes in the C locale, as sets for a Python character class.
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t-\\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}

Matcher = Callable[[str], object]
"""Tells by the truth of its answer whether a name or path matches."""


class NeverMatchesError(Exception):
    """The glob is malformed in a way that makes git match nothing with it (`[a`, a final backslash, `[[:x:]]`)."""


class Token(msgspec.Struct, frozen=True):
    """A piece of a glob: `text` is a literal character or the inside of a Python class."""

    kind: str  # "literal", "any", "class", "star", "globstar" (followed by a slash, which it holds), "rest"
    text: str = ""


def has_wildcard(glob: str) -> bool:
    """Whether `glob` holds anything but literal characters; a backslash counts."""
    return _SPECIAL.search(glob) is not None


def byte_view(name: str) -> str:
    """Return `name` with one character a byte, as git sees it: `?` and classes match single bytes."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


def tokens_of(glob: str) -> list[Token]:
    """Split a glob into tokens. Raises `NeverMatchesError`."""
    tokens: list[Token] = []
    at = 0
    while at < len(glob):
        token, at = _token_at(glob, at)
        tokens.append(token)
    return tokens


def _token_at(glob: str, at: int) -> tuple[Token, int]:
    match glob[at]:
        case "*":
            return _stars(glob, at)
        case "?":
            return Token("any"), at + 1
        case "[":
            return _bracket(glob, at)
        case "\\":
            if at + 1 == len(glob):
                raise NeverMatchesError
            return Token("literal", glob[at + 1]), at + 2
        case character:
            return Token("literal", character), at + 1


def _stars(glob: str, at: int) -> tuple[Token, int]:
    end = at
    while end < len(glob) and glob[end] == "*":
        end += 1
    if end - at == 1 or (at > 0 and glob[at - 1] != "/"):
        return Token("star"), end
    if end == len(glob):
        return Token("rest"), end
    if glob[end] == "/":
        return Token("globstar"), end + 1
    if glob[end : end + 2] == "\\/":
        return Token("globstar"), end + 2
    return Token("star"), end


def _bracket(glob: str, at: int) -> tuple[Token, int]:
    at += 1
    negated = glob[at : at + 1] in ("!", "^")
    if negated:
        at += 1
    parts: list[str] = []
    previous = ""
    first = True
    while True:
        if at >= len(glob):
            raise NeverMatchesError
        if glob[at] == "]" and not first:
            return Token("class", ("^" if negated else "") + "".join(parts)), at + 1
        first = False
        part, previous, at = _class_item(glob, at, previous)
        parts.append(part)


def _class_item(glob: str, at: int, previous: str) -> tuple[str, str, int]:
    """Return the item's Python spelling, the character a following `-` would start a range from, and where it ends."""
    character = glob[at]
    following = glob[at + 1 : at + 2]
    if character == "\\":
        if not following:
            raise NeverMatchesError
        return _escaped(following), following, at + 2
    if character == "-" and previous and following and following != "]":
        last, end = (glob[at + 2 : at + 3], at + 3) if following == "\\" else (following, at + 2)
        if not last:
            raise NeverMatchesError
        return (f"{_escaped(previous)}-{_escaped(last)}" if previous <= last else ""), "", end
    if character == "[" and following == ":":
        return _posix_class(glob, at)
    return _escaped(character), character, at + 1


def _posix_class(glob: str, at: int) -> tuple[str, str, int]:
    end = glob.find("]", at + 2)
    if end < 0:
        raise NeverMatchesError
    if end == at + 2 or glob[end - 1] != ":":
        return _escaped("["), "[", at + 1
    name = glob[at + 2 : end - 1]
    if name not in _CLASSES:
        raise NeverMatchesError
    return _CLASSES[name], "", end + 1


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\U{ord(character):08x}"


def regex_of(tokens: list[Token]) -> str:
    r"""Return a regular expression for the whole text that can't backtrack beyond pattern length times text length.

    Between two stars the leftmost place of the literal part is always as good as any later one, so each is taken once
    for all by an atomic group; the same holds for whole folders between two `**`. Only after the last star is the end
    looked for.
    """
    groups: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "globstar":
            groups.append([])
        else:
            groups[-1].append(token)
    last = _group_regex(groups[-1], final=True)
    if len(groups) == 1:
        return last + r"\Z"
    inner = "".join(f"(?>(?:[^/]*+/)*?{_group_regex(group, final=False)})" for group in groups[1:-1])
    return f"{_group_regex(groups[0], final=False)}{inner}(?:[^/]*+/)*{last}\\Z"


def _group_regex(tokens: list[Token], final: bool) -> str:
    chunks: list[str] = [""]
    for token in tokens:
        if token.kind == "star":
            chunks.append("")
        else:
            chunks[-1] += _token_regex(token)
    if len(chunks) == 1:
        return chunks[0]
    middle, end = (chunks[1:-1], f"[^/]*{chunks[-1]}") if final else (chunks[1:], "")
    return chunks[0] + "".join(f"(?>[^/]*?{chunk})" for chunk in middle) + end


def _token_regex(token: Token) -> str:
    match token.kind:
        case "any":
            return "[^/]"
        case "rest":
            return ".*"
        case "class":
            return _class_regex(token.text)
        case _:
            return re.escape(token.text)


def _class_regex(inside: str) -> str:
    if inside.startswith("^"):
        return f"[^/{inside[1:]}]"
    # A slash never matches a class, and an empty class (a reversed range) matches nothing.
    return f"(?!/)[{inside}]" if inside else "(?!)"


def matcher_of(glob: str) -> Matcher | None:
    """Return a matcher for a glob given in `byte_view`, for names in their own spelling; None if it never matches."""
    try:
        tokens = tokens_of(glob)
    except NeverMatchesError:
        return None
    matches = re.compile(regex_of(tokens), re.DOTALL).match
    return lambda name: matches(byte_view(name))
