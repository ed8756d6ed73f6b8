"""One search of a folder or file: count with an engine, keep what the rules let through, show the first by path.

Above: `search`. Below: `search_ripgrep`, `search_re2`, `walk`.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import sentence, told
from dogu.workspace import fs
from dogu.workspace.glob import PathFilter
from dogu.workspace.ignore import DEFAULT_EXCLUDED, FolderRules, Ignore, PathRules
from dogu.workspace.ignore.lookup import governing_rules
from dogu.workspace.roots import Roots
from dogu.workspace.search.program import Engines, nominate
from dogu.workspace.search.query import (
    Counted,
    FileMatches,
    MatchedLine,
    SearchLimits,
    SearchQuery,
    SearchResult,
)
from dogu.workspace.search.re2 import Re2, differences
from dogu.workspace.search.ripgrep import Ripgrep
from dogu.workspace.search.secrets import SecretFiles, globs_without, not_searched
from dogu.workspace.search.source import Source, open_beneath, source_of
from dogu.workspace.walk import Walk, WalkCounts

_MOST_OPEN = 100
_SHOWING_S = 5.0
_MOST_COUNTED = 5_000
_LONGEST_CHARS = 16_384
_GIT, _AT_LEAST_GIT = sentence("{count} git-ignored"), sentence("at least {count} git-ignored")
_GEMINI, _AT_LEAST_GEMINI = sentence("{count} gemini-ignored"), sentence("at least {count} gemini-ignored")
_IGNORED = {
    "git": sentence("{path} is git-ignored and was not searched; pass respect_git_ignore=false to search it"),
    "gemini": sentence("{path} is gemini-ignored and was not searched"),
}


class _Folder(msgspec.Struct, frozen=True):
    """A folder to search: its handle, the rules of its entries, and which of them hold secrets."""

    descriptor: int
    ignore: Ignore
    rules: FolderRules
    is_root: bool
    secrets: SecretFiles


class SearchRun:
    """Searches with the engines there are."""

    def __init__(self, roots: Roots, engines: Engines) -> None:
        self._roots = roots
        self._engines = engines

    def search(self, query: SearchQuery, limits: SearchLimits) -> SearchResult:
        """Search a folder or a file. Raises `ToolError`."""
        _check_lengths(query)
        path = self._roots.locate(query.path)
        handle = self._roots.open_handle(path)
        try:
            is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        finally:
            os.close(handle)
        return self._search_folder(query, path, limits) if is_folder else self._search_file(query, path, limits)

    def _engine(self) -> Ripgrep | Re2:
        return Ripgrep(self._engines.rg) if self._engines.rg else Re2()

    def _search_file(self, query: SearchQuery, path: str, limits: SearchLimits) -> SearchResult:
        engine = self._engine()
        root, relative = self._place(path)
        ignore = Ignore(root, more=self._roots.ignore_files)
        with _closing(self._roots.open_directory(root)) as descriptor:
            if ignore.why_ignored(descriptor, relative) == "gemini":
                raise ToolError(
                    ErrorKind.IGNORED, f"File is hidden by .geminiignore: {path}. Search elsewhere, or ask the user."
                )
        if SecretFiles(self._roots, path).hold():
            return SearchResult(engine=engine.name, notes=not_searched([os.path.basename(path)]))
        source = source_of(os.path.basename(path), self._roots.open_file(path), not query.pattern.isascii())
        try:
            counted = engine.count_sources(query, [source], limits)
            shown = [] if query.names_only or not counted.by_path else engine.lines(query, [source], limits)[0]
            files = [FileMatches(name, shown, source.encoding) for name in counted.by_path]
        finally:
            source.close()
        result = SearchResult(files, sum(counted.by_path.values()), len(files), counted.is_complete, engine.name)
        result.notes += differences(query) if isinstance(engine, Re2) else []
        return result

    def _search_folder(self, query: SearchQuery, path: str, limits: SearchLimits) -> SearchResult:
        _, relative = self._place(path)
        ignore, rules = governing_rules(self._roots, path, respects_git=query.respect_git_ignore)
        if rules.reason:
            return SearchResult(notes=[told(_IGNORED[rules.reason], path=path)])
        secrets = SecretFiles(self._roots, path)
        if secrets.hold():
            return SearchResult(
                notes=[told("{path} was not searched: it is for people only; ask with read_file", path=path)]
            )
        with _closing(self._roots.open_directory(path)) as descriptor:
            return self._search_below(query, _Folder(descriptor, ignore, rules, relative == ".", secrets), limits)

    def _search_below(self, query: SearchQuery, folder: _Folder, limits: SearchLimits) -> SearchResult:
        engine = self._engine()
        if isinstance(engine, Ripgrep):
            result = SearchResult(engine=engine.name)
            walked = _first_left_out(folder)
            reads_git = query.respect_git_ignore and walked.is_plain
            flags = [*_ripgrep_flags(reads_git, folder), *globs_without(walked.secret)]
            counted = engine.count(query, folder.descriptor, flags, limits)
        else:
            result, counted, walked = self._count_in_process(engine, query, folder, limits)
        result.is_complete = counted.is_complete
        filtered = _kept(counted, query, folder)
        filtered = {path: count for path, count in filtered.items() if not folder.secrets.hold(path)}
        result.notes += _left_out(counted.unreadable, walked)
        result.notes += not_searched(_included(query, walked.secret), is_all=walked.is_all)
        result.file_count = len(filtered)
        result.total = sum(filtered.values())
        if query.names_only:
            result.files = [FileMatches(path) for path in sorted(filtered)[: query.max_matches]]
            return result
        # Showing must not be starved by a count that used up the time.
        showing = SearchLimits(max(limits.deadline, time.monotonic() + _SHOWING_S), limits.go_on)
        result.files, verified = _shown(engine, query, folder.descriptor, filtered, showing)
        result.total += sum(verified[path] - filtered[path] for path in verified)
        result.file_count -= sum(not count for count in verified.values())
        return result

    def _count_in_process(
        self, engine: Re2, query: SearchQuery, folder: _Folder, limits: SearchLimits
    ) -> tuple[SearchResult, Counted, _LeftOut]:
        result = SearchResult(engine=engine.name, notes=differences(query))
        nominated = None
        walked = WalkCounts()
        if self._engines.nominates:
            nominated = nominate(query, folder.descriptor, folder.ignore.in_repository, limits)
        if nominated is not None:
            result.engine = nominated.program
            result.notes += nominated.notes
            paths: Iterable[str] = (path for path in nominated.paths if DEFAULT_EXCLUDED.isdisjoint(path.split("/")))
        else:
            paths = _walked(folder, walked)
        secret: list[str] = []
        searched = _not_secret(folder, _included(query, paths), secret)
        counted = engine.count(query, folder.descriptor, searched, limits)
        left_out = _first_left_out(folder) if nominated else _LeftOut(walked, counted.is_complete, secret=secret)
        return result, counted, left_out

    def _place(self, path: str) -> tuple[str, str]:
        """Return the root that `path` is in and the path relative to it, both without symbolic links."""
        real = self._roots.real(path)
        return self._roots.root_of(real), self._roots.relative(real)


def _check_lengths(query: SearchQuery) -> None:
    """Refuse what no program takes as an argument, and no text holds. Raises `ToolError`."""
    for name, text in (("pattern", query.pattern), ("include", query.include or "")):
        if len(text) > _LONGEST_CHARS:
            message = (
                f"Search {name} too long: {len(text)} characters, {_LONGEST_CHARS} at most. Search for a part of it."
            )
            raise ToolError(ErrorKind.BAD_PATTERN, message)


@contextmanager
def _closing(descriptor: int) -> Generator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _ripgrep_flags(reads_git: bool, folder: _Folder) -> list[str]:
    """Choose what ripgrep may leave out by itself: never more than our rules, which are asked about every match."""
    flags = [] if reads_git else ["--no-ignore-vcs"]
    if not folder.ignore.in_repository:
        flags += ["--no-require-git", "--no-ignore-parent"]
    if folder.is_root and folder.ignore.has_gemini_rules:
        flags.append("--ignore-file=./.geminiignore")
    return flags


class _LeftOut(NamedTuple):
    """What the rules leave out, of all entries or the first ones, and the `secret` files among the others; `is_plain`
    unless a `.gitignore` is no plain file, which ripgrep would follow or wait for."""

    counts: WalkCounts
    is_all: bool
    is_plain: bool = True
    secret: Sequence[str] = ()


def _first_left_out(folder: _Folder) -> _LeftOut:
    """Count what the rules leave out, in big trees among the first entries only: search must not wait for a walk."""
    counts = WalkCounts()
    walk = Walk(folder.ignore, folder.rules, counts=counts)
    seen = 0
    is_plain = True
    secret: list[str] = []
    for inner in walk.folders(folder.descriptor):
        secret += (
            path for name in inner.filtered(inner.names, counts) if folder.secrets.hold(path := inner.path + name)
        )
        if ".gitignore" in inner.names:
            is_plain = is_plain and _is_plain(".gitignore", inner.descriptor)
        seen += len(inner.names) + 1
        if seen > _MOST_COUNTED:
            return _LeftOut(counts, False, is_plain, secret)
    return _LeftOut(counts, True, is_plain, secret)


def _is_plain(name: str, folder: int) -> bool:
    try:
        return stat.S_ISREG(fs.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return True


def _left_out(unreadable: int, walked: _LeftOut) -> list[str]:
    counts = walked.counts
    git, gemini = counts.git_ignored_files + counts.git_ignored_folders, counts.gemini_ignored
    notes: list[str] = []
    if git:
        notes.append(told(_GIT if walked.is_all else _AT_LEAST_GIT, count=git))
    if gemini:
        notes.append(told(_GEMINI if walked.is_all else _AT_LEAST_GEMINI, count=gemini))
    if unreadable or counts.unreadable:
        most = max(unreadable, counts.unreadable)
        notes.append(told("{count} entries could not be read: permission denied", count=most))
    return notes


def _kept(counted: Counted, query: SearchQuery, folder: _Folder) -> dict[str, int]:
    included = set(_included(query, counted.by_path))
    ignored = PathRules(folder.ignore, folder.rules, folder.descriptor).ignored(counted.by_path)
    return {path: count for path, count in counted.by_path.items() if path in included and path not in ignored}


def _included(query: SearchQuery, paths: Iterable[str]) -> Iterable[str]:
    if query.include is None:
        return paths
    wanted = not query.include.startswith("!")
    include = PathFilter([query.include.removeprefix("!")], case_sensitive=True)
    return (path for path in paths if include.matches(path) == wanted)


def _walked(folder: _Folder, counts: WalkCounts) -> Iterable[str]:
    walk = Walk(folder.ignore, folder.rules, counts=counts)
    for inner in walk.folders(folder.descriptor):
        for name in inner.filtered(inner.names, counts):
            yield inner.path + name


def _not_secret(folder: _Folder, paths: Iterable[str], secret: list[str]) -> Iterable[str]:
    for path in paths:
        if folder.secrets.hold(path):
            secret.append(path)
        else:
            yield path


def _shown(
    engine: Ripgrep | Re2, query: SearchQuery, folder: int, counts: dict[str, int], limits: SearchLimits
) -> tuple[list[FileMatches], dict[str, int]]:
    """Return the first matches by path, `max_matches` of them, and what a closer look corrected of the counts.

    A file nominated by another encoding's bytes may turn out to hold no match.
    """
    files: list[FileMatches] = []
    corrected: dict[str, int] = {}
    room = query.max_matches
    paths = sorted(counts)
    at = 0
    while at < len(paths) and room > 0:
        batch: list[str] = []
        expected = 0
        while at < len(paths) and expected < room and len(batch) < _MOST_OPEN:
            batch.append(paths[at])
            expected += counts[paths[at]]
            at += 1
        for found in _lines_of(engine, query, folder, batch, limits):
            matches = sum(line.is_match for line in found.lines)
            if matches < min(counts[found.path], query.max_matches) and found.is_decoded:
                corrected[found.path] = matches
            if matches and room > 0:
                files.append(FileMatches(found.path, _first_matches(found.lines, room, query), found.encoding))
            room -= matches
    return files, corrected


class _Lines(NamedTuple):
    path: str
    lines: list[MatchedLine]
    encoding: str
    is_decoded: bool


def _lines_of(
    engine: Ripgrep | Re2, query: SearchQuery, folder: int, paths: Sequence[str], limits: SearchLimits
) -> list[_Lines]:
    sources: list[Source] = []
    try:
        for path in paths:
            try:
                sources.append(source_of(path, open_beneath(folder, path), not query.pattern.isascii()))
            except OSError:
                continue
        decoded = [bool(source.encoding) for source in sources]
        found = engine.lines(query, sources, limits) if sources else []
        return [
            _Lines(source.path, lines, source.encoding, was_decoded or not query.pattern.isascii())
            for source, lines, was_decoded in zip(sources, found, decoded, strict=True)
        ]
    finally:
        for source in sources:
            source.close()


def _first_matches(lines: list[MatchedLine], most: int, query: SearchQuery) -> list[MatchedLine]:
    """Cut a file's lines behind its `most`-th match and that one's context."""
    seen = 0
    for at, line in enumerate(lines):
        seen += line.is_match
        if seen > most:
            last = next((near for near in range(at - 1, -1, -1) if lines[near].is_match), 0)
            return [line for line in lines[:at] if line.number <= lines[last].number + query.context_lines]
    return lines
