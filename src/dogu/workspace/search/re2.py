"""Search in the process, in linear time, where there is no ripgrep: google-re2 over our own walk.

Its dialect is nearly Rust's. What it reads differently is refused or told (`differences`), never silently answered.
`git grep` or `grep` may nominate the files for a plain text; this engine alone decides which lines match.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace import fs
from dogu.workspace.search.query import Counted, MatchedLine, SearchLimits, SearchQuery
from dogu.workspace.search.source import Source, cut_around, open_beneath, source_of

_LARGEST_BYTES = 256 << 20
_SET_OPERATION = re.compile(r"\[[^\]]{0,1000}(?:&&|--|~~)")
_ASCII_ONLY = re.compile(r"\\[wWdDsSbB]")
_BINARY_BYTES = 1 << 16


def differences(query: SearchQuery) -> list[str]:
    """Say what this engine reads otherwise than ripgrep in a pattern that both accept."""
    if not query.fixed_strings and _ASCII_ONLY.search(query.pattern):
        return [told("Searched without ripgrep: \\w, \\d, \\s and \\b know only ASCII here")]
    return []


class Re2(msgspec.Struct, frozen=True):
    """The engine. It needs nothing but what is installed with dogu."""

    name = "re2"

    def count(self, query: SearchQuery, folder: int, paths: Iterable[str], limits: SearchLimits) -> Counted:
        """Count matched lines of the named files below a folder's handle; binary ones count as none."""
        search = _compiled(query)
        counted = Counted()
        for path in paths:
            if time.monotonic() > limits.deadline or (limits.go_on is not None and not limits.go_on()):
                counted.is_complete = False
                break
            try:
                source = source_of(path, open_beneath(folder, path), decode_legacy=not query.pattern.isascii())
            except PermissionError:
                counted.unreadable += 1
                continue
            except OSError:
                continue
            found = _count(search, source)
            source.close()
            if found:
                counted.by_path[path] = found
        return counted

    def count_sources(self, query: SearchQuery, sources: Sequence[Source], limits: SearchLimits) -> Counted:
        """Count matched lines of open files."""
        del limits
        search = _compiled(query)
        counts = {source.path: _count(search, source, skip_binary=False) for source in sources}
        return Counted({path: count for path, count in counts.items() if count})

    def lines(self, query: SearchQuery, sources: Sequence[Source], limits: SearchLimits) -> list[list[MatchedLine]]:
        """Return the matched lines of each of the sources, with context, at most `max_matches` a file."""
        del limits
        search = _compiled(query)
        return [_shown(search, source, query) for source in sources]


def _compiled(query: SearchQuery) -> Any:
    # The package has no types of its own.
    try:
        re2: Any = import_module("re2")
    except ImportError as error:
        message = told("Searching needs ripgrep (rg on PATH) or google-re2, and neither is installed.")
        raise ToolError(ErrorKind.START_FAILED, message) from error
    if not query.fixed_strings and _SET_OPERATION.search(query.pattern):
        raise _bad(query, "class operations (&&, --, ~~) need ripgrep, which isn't installed")
    if query.spans_lines:
        raise _bad(query, "a pattern over several lines needs ripgrep, which isn't installed")
    options = re2.Options()
    options.case_sensitive = query.case_sensitive
    options.never_nl = True
    options.log_errors = False
    text = re2.escape(query.pattern) if query.fixed_strings else query.pattern
    try:
        return re2.compile(f"(?m:{text})".encode(), options)
    except re2.error as error:
        raise _bad(query, str(error.args[0] if error.args else error)) from error


def _bad(query: SearchQuery, reason: object) -> ToolError:
    said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return ToolError(
        ErrorKind.BAD_PATTERN,
        f"Bad search pattern {query.pattern!r}: {said}. Correct it, or search for plain text with `fixed_strings`.",
    )


def _text(source: Source) -> bytes:
    return fs.pread(source.descriptor, _LARGEST_BYTES, 0).replace(b"\r\n", b"\n")


def _spans(search: Any, text: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and first match of each matched line."""
    at = 0
    while at <= len(text) and (match := search.search(text, at)) is not None:
        start = text.rfind(b"\n", 0, match.start()) + 1
        end = text.find(b"\n", match.start())
        end = len(text) if end < 0 else end
        if start == len(text):
            return
        yield start, end, match.start()
        at = end + 1


def _count(search: Any, source: Source, skip_binary: bool = True) -> int:
    if skip_binary and b"\0" in fs.pread(source.descriptor, _BINARY_BYTES, 0):
        return 0
    text = _text(source)
    if skip_binary and b"\0" in text:
        return 0
    return sum(1 for _ in _spans(search, text))


def _shown(search: Any, source: Source, query: SearchQuery) -> list[MatchedLine]:
    text = _text(source)
    matched: dict[int, int] = {}
    number, counted_to = 1, 0
    for start, _, first in _spans(search, text):
        number += text.count(b"\n", counted_to, start)
        counted_to = start
        matched[number] = first - start
        if len(matched) >= query.max_matches:
            break
    lines = text.split(b"\n")
    last = len(lines) - (lines[-1] == b"")
    around = query.context_lines
    numbers = {near for at in matched for near in range(max(1, at - around), min(last, at + around) + 1)}
    return [_line(source, lines[at - 1], at, matched.get(at)) for at in sorted(numbers)]


def _line(source: Source, data: bytes, number: int, match: int | None) -> MatchedLine:
    at = len(data[: match or 0].decode("utf-8", "ignore"))
    return MatchedLine(number, cut_around(source.text_of(data), at), match is not None)
