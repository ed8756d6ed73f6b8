"""What to search for, and what a search found."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

DEFAULT_MAX_MATCHES = 500
LONGEST_LINE_CHARS = 2_000

Check = Callable[[], bool]
"""Asked often: whether to go on. It may raise to stop at once."""


class SearchLimits(msgspec.Struct, frozen=True):
    """When to stop: at `deadline` by `time.monotonic()`, or when `go_on` says so."""

    deadline: float
    go_on: Check | None = None


class SearchQuery(msgspec.Struct, frozen=True):
    """A search of file contents.

    `pattern` is a regular expression in Rust's dialect, or plain text with `fixed_strings`. `path` is a folder or a
    file. `include` is a glob: one without `/` is for the name, at any depth; others are relative to `path`.
    """

    pattern: str
    path: str = "."
    include: str | None = None
    case_sensitive: bool = False
    fixed_strings: bool = False
    context_lines: int = 0
    names_only: bool = False
    max_matches: int = DEFAULT_MAX_MATCHES
    respect_git_ignore: bool = True

    @property
    def spans_lines(self) -> bool:
        """Whether the pattern names a line feed, so that a match may cover several lines."""
        return "\n" in self.pattern or (not self.fixed_strings and names_line_feed(self.pattern))


class MatchedLine(NamedTuple):
    """A line, numbered from 1: a match, or context beside one; long ones are cut around the match."""

    number: int
    text: str
    is_match: bool = True


class FileMatches(msgspec.Struct):
    """The matched lines of one file, by number; `path` is relative to the folder searched."""

    path: str
    lines: list[MatchedLine] = msgspec.field(default_factory=list[MatchedLine])
    encoding: str = ""  # for people and models, when it isn't UTF-8


class SearchResult(msgspec.Struct):
    """What was found: `files` by path, bounded; `total` matched lines in `file_count` files, all of them.

    `is_complete` is False when the time ran out: then the counts are of what was searched. `notes` say in a few
    words each what was left out or couldn't be done.
    """

    files: list[FileMatches] = msgspec.field(default_factory=list[FileMatches])
    total: int = 0
    file_count: int = 0
    is_complete: bool = True
    engine: str = ""
    notes: list[str] = msgspec.field(default_factory=list[str])


class Counted(msgspec.Struct):
    """Matched lines by path, relative to the folder searched; `unreadable` counts what could not be looked at."""

    by_path: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    is_complete: bool = True
    unreadable: int = 0


def names_line_feed(pattern: str) -> bool:
    """Whether a regular expression holds the escape for a line feed."""
    at = pattern.find("\\")
    while at >= 0:
        if pattern.startswith(("\\n", "\\x0A", "\\x0a"), at):
            return True
        at = pattern.find("\\", at + 2)
    return False
