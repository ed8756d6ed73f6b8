"""Which paths a glob matches: `*`, `?`, `[...]`, `{a,b}` (nested), `**` for any number of folders.

A pattern is matched a folder at a time, so that a walk knows which folders can hold a match. Every matcher's time is
bounded (`ignore.pattern`); none is a backtracking regular expression. Above: `find`, `search` and the tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from unicodedata import normalize

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.ignore.pattern import NeverMatchesError, has_wildcard, regex_of, tokens_of
from dogu.workspace.system import IS_WINDOWS

_LONGEST_CHARS = 4_096
_MOST_EXPANDED = 1_000
_DEEPEST = 20
_RANGE = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})\Z")
_DRIVE = re.compile(r"[A-Za-z]:/")
_BACKSLASH = re.compile(r"\\(?![\[\]{}!])")  # before those it stays what makes them plain


class _Segment(msgspec.Struct, frozen=True):
    """What one part of a path must be; `any_depth` is `**`. `text` is compared in lower case unless `exact`."""

    text: str
    exact: bool
    any_depth: bool
    suffix: str | None
    literal: str | None
    regex: Callable[[str], object] | None

    def matches(self, name: str) -> bool:
        name = composed(name)
        folded = name if self.exact else name.lower()
        if self.literal is not None:
            return folded == self.literal
        if self.suffix is not None:
            return folded.endswith(self.suffix)
        return (self.regex is not None and self.regex(name) is not None) or name == self.text


def composed(text: str) -> str:
    """Return a text with each accented letter as one character: names are spelled either way, macOS' mostly not so."""
    return text if text.isascii() else normalize("NFC", text)


def _segment(text: str, exact: bool) -> _Segment:
    text = composed(text)
    folded = text if exact else text.lower()
    if text == "**":
        return _Segment(text, exact, True, "", None, None)
    if not has_wildcard(text):
        return _Segment(text, exact, False, None, folded, None)
    if text.startswith("*") and not has_wildcard(text[1:]):
        return _Segment(text, exact, False, folded[1:], None, None)
    try:
        regex = regex_of(tokens_of(text))
    except NeverMatchesError:
        # `[` without its end is a character like any other in a file's name.
        return _Segment(text, exact, False, None, folded, None)
    flags = re.DOTALL if exact else re.DOTALL | re.IGNORECASE
    return _Segment(text, exact, False, None, None, re.compile(regex, flags).match)


_States = frozenset[tuple[int, int]]


class _Stage:
    """Where a match stands in one folder: which segments its entries may be."""

    def __init__(self, pattern: GlobPattern, states: _States) -> None:
        self._pattern = pattern
        self._movers = [
            (way, at) for way, at in states if not pattern.ways[way][at].any_depth and at + 1 < len(pattern.ways[way])
        ]
        self._staying = pattern.closed((way, at) for way, at in states if pattern.ways[way][at].any_depth)
        ends = [pattern.ways[way][at] for way, at in states if at + 1 == len(pattern.ways[way])]
        self._suffixes = tuple({end.suffix for end in ends if end.suffix is not None})
        self._literals = frozenset(end.literal for end in ends if end.literal is not None)
        self._others = [end for end in ends if end.suffix is None and end.literal is None]
        self._exact = pattern.case_sensitive
        self._needles = [f"\0{text}\0" for text in self._literals] + [f"{text}\0" for text in self._suffixes]

    def files(self, names: list[str]) -> list[str]:
        """Return those of a folder's files that match."""
        suffixes, literals = self._suffixes, self._literals
        if "" in suffixes:
            return names
        if self._others:
            return [name for name in names if self._is_match(name)]
        # One look through all names at once spares most folders the single ones.
        joined = composed("\0".join(["", *names, ""]))
        folded_joined = joined if self._exact else joined.lower()
        if not any(needle in folded_joined for needle in self._needles):
            return []
        folded = folded_joined.split("\0")[1:-1]
        return [name for name, seen in zip(names, folded, strict=True) if seen.endswith(suffixes) or seen in literals]

    def entered(self, name: str) -> _Stage | None:
        """Return the stage in the folder `name`, or None when nothing below it can match."""
        moved = [(way, at + 1) for way, at in self._movers if self._pattern.ways[way][at].matches(name)]
        if not moved:
            return self._pattern.stage(self._staying) if self._staying else None
        return self._pattern.stage(self._pattern.closed(moved) | self._staying)

    def names_exactly(self, name: str) -> bool:
        """Whether the pattern spells `name` out here."""
        return any(self._pattern.ways[way][at].literal == name for way, at in self._movers)

    def _is_match(self, name: str) -> bool:
        name = composed(name)
        folded = name if self._exact else name.lower()
        return bool(self._suffixes and folded.endswith(self._suffixes)) or any(
            end.matches(name) for end in self._others
        )


class GlobPattern:
    """A glob over paths with `/`, compiled. Raises `ToolError` (BAD_PATTERN) when its braces stand for too much."""

    def __init__(self, text: str, case_sensitive: bool = False) -> None:
        if len(text) > _LONGEST_CHARS:
            raise ToolError(ErrorKind.BAD_PATTERN, f"Glob pattern too long: over {_LONGEST_CHARS} characters.")
        self.text = text
        self.case_sensitive = case_sensitive
        self.ways: list[list[_Segment]] = []
        for spelled in expand_braces(text):
            parts = [part for part in spelled.split("/") if part not in ("", ".")]
            if ".." in parts:
                raise ToolError(
                    ErrorKind.BAD_PATTERN,
                    f"Glob pattern {text!r} holds '..' after a wildcard. Give the folder as `path` instead.",
                )
            if parts:
                self.ways.append([_segment(part, case_sensitive) for part in parts])
        self._stages: dict[_States, _Stage] = {}

    def start(self) -> _Stage:
        """Return the stage in the folder that the pattern is relative to."""
        return self.stage(self.closed((way, 0) for way in range(len(self.ways))))

    def stage(self, states: _States) -> _Stage:
        """Return the stage for a set of places in the pattern; made once."""
        found = self._stages.get(states)
        if found is None:
            found = self._stages[states] = _Stage(self, states)
        return found

    def closed(self, states: Iterable[tuple[int, int]]) -> _States:
        """Add the places behind each `**`, which may stand for no folder at all."""
        reached: set[tuple[int, int]] = set()
        for way, first in states:
            at = first
            reached.add((way, at))
            while self.ways[way][at].any_depth and at + 1 < len(self.ways[way]):
                at += 1
                reached.add((way, at))
        return frozenset(reached)

    def matches(self, path: str) -> bool:
        """Whether the path of a file, relative and with `/`, matches."""
        folder, _, name = path.rpartition("/")
        stage: _Stage | None = self.start()
        for part in folder.split("/") if folder else ():
            stage = stage.entered(part) if stage else None
        return bool(stage and stage.files([name]))


class PathFilter:
    """Several globs as `include`, `exclude` and `ignore` take them: one without `/` is for the name, at any depth."""

    def __init__(self, globs: Sequence[str], case_sensitive: bool = False) -> None:
        anchored = [glob if "/" in glob.rstrip("/") else f"**/{glob}" for glob in globs]
        self._patterns = [GlobPattern(glob, case_sensitive) for glob in anchored]

    def matches(self, path: str) -> bool:
        """Whether a glob matches the path, relative and with `/`, of a file or folder."""
        return any(pattern.matches(path) for pattern in self._patterns)


def split_base(pattern: str) -> tuple[str, str]:
    r"""Split off what must be a folder's path and not a glob: of an absolute pattern or one with `..`, all before the
    first wildcard. Returns that folder (empty: none) and the glob relative to it. On Windows `\` parts names too."""
    if IS_WINDOWS:
        pattern = _BACKSLASH.sub("/", pattern)
    parts = pattern.split("/")
    is_absolute = pattern.startswith("/") or (IS_WINDOWS and _DRIVE.match(pattern) is not None)
    if not is_absolute and ".." not in parts:
        return "", pattern
    end = next((at for at, part in enumerate(parts[:-1]) if has_wildcard(part) or "{" in part), len(parts) - 1)
    folder = "/".join(parts[:end])
    return folder or ("/" if pattern.startswith("/") else ""), "/".join(parts[end:])


def expand_braces(glob: str) -> list[str]:
    """Return what the braces of `glob` stand for, in order; braces without a comma or range are literal.

    Raises `ToolError` (BAD_PATTERN) past 1,000 results or 20 levels.
    """
    expanded = list(dict.fromkeys(_expanded(glob, 0)))
    if len(expanded) > _MOST_EXPANDED:
        raise _too_many()
    return expanded


def _too_many() -> ToolError:
    return ToolError(
        ErrorKind.BAD_PATTERN,
        f"The braces of the glob stand for more than {_MOST_EXPANDED} patterns or are nested too deeply. "
        "Use fewer alternatives.",
    )


def _expanded(glob: str, depth: int) -> list[str]:
    if depth > _DEEPEST:
        raise _too_many()
    results = [""]
    at = 0
    for start, end, choices in _groups(glob):
        options = [inner for choice in choices for inner in _expanded(choice, depth + 1)]
        before = glob[at:start]
        if len(results) * len(options) > _MOST_EXPANDED:
            raise _too_many()
        results = [result + before + option for result in results for option in options]
        at = end
    return [result + glob[at:] for result in results]


def _groups(glob: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield start, end and alternatives of each outermost group in braces."""
    at = 0
    while (start := _next(glob, at)) >= 0:
        closing = _closing(glob, start)
        if closing is None:
            at = start + 1
            continue
        end, choices = closing
        choices = choices if len(choices) > 1 else _range(choices[0])
        if choices:
            yield start, end, choices
            at = end
        else:
            at = start + 1


def _next(glob: str, at: int) -> int:
    while at < len(glob):
        if glob[at] == "\\":
            at += 1
        elif glob[at] == "{":
            return at
        at += 1
    return -1


def _closing(glob: str, start: int) -> tuple[int, list[str]] | None:
    level = 0
    choices: list[str] = []
    piece = start + 1
    at = start
    while at < len(glob):
        character = glob[at]
        if character == "\\":
            at += 1
        elif character == "{":
            level += 1
        elif character == "," and level == 1:
            choices.append(glob[piece:at])
            piece = at + 1
        elif character == "}":
            level -= 1
            if level == 0:
                return at + 1, [*choices, glob[piece:at]]
        at += 1
    return None


def _range(text: str) -> list[str]:
    match = _RANGE.match(text)
    if match is None:
        return []
    first, last = int(match[1]), int(match[2])
    if abs(last - first) >= _MOST_EXPANDED:
        raise _too_many()
    step = 1 if last >= first else -1
    return [str(number) for number in range(first, last + step, step)]
