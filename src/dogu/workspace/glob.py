"""Find files by glob: `*`, `?`, `[...]`, `{a,b}` (nested), `**` for any number of folders; newest first.

A pattern is matched a folder at a time, so only folders that can hold a match are read, and only what matched is
stat'ed. Every matcher's time is bounded (`ignore_pattern`); none is a backtracking regular expression. Above: the tools
and `search`. Below: `walk`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.glob_braces import expand_braces
from dogu.workspace.ignore import DEFAULT_EXCLUDED, FolderRules, Ignore
from dogu.workspace.ignore.pattern import NeverMatchesError, has_wildcard, regex_of, tokens_of
from dogu.workspace.walk import Walk, WalkCounts, WalkedFolder

_ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

_LONGEST_CHARS = 4_096

Check = Callable[[], bool]
"""Asked once a folder: whether to go on. It may raise to stop at once."""


class _Segment(msgspec.Struct, frozen=True):
    """What one part of a path must be; `any_depth` is `**`. `text` is compared in lower case unless `exact`."""

    text: str
    exact: bool
    any_depth: bool
    suffix: str | None
    literal: str | None
    regex: Callable[[str], object] | None

    def matches(self, name: str) -> bool:
        folded = name if self.exact else name.lower()
        if self.literal is not None:
            return folded == self.literal
        if self.suffix is not None:
            return folded.endswith(self.suffix)
        return (self.regex is not None and self.regex(name) is not None) or name == self.text


def _segment(text: str, exact: bool) -> _Segment:
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
        joined = "\0".join(["", *names, ""])
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
        """Tell whether the pattern spells `name` out here."""
        return any(self._pattern.ways[way][at].literal == name for way, at in self._movers)

    def _is_match(self, name: str) -> bool:
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
        """Tell whether the path of a file, relative and with `/`, matches."""
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
        """Tell whether a glob matches the path, relative and with `/`, of a file or folder."""
        return any(pattern.matches(path) for pattern in self._patterns)


def split_base(pattern: str) -> tuple[str, str]:
    """Split off what must be a folder's path and not a glob: of an absolute pattern or one with `..`, all before the
    first wildcard. Returns that folder (empty: none) and the glob relative to it."""
    parts = pattern.split("/")
    if not pattern.startswith("/") and ".." not in parts:
        return "", pattern
    end = next((at for at, part in enumerate(parts[:-1]) if has_wildcard(part) or "{" in part), len(parts) - 1)
    folder = "/".join(parts[:end])
    return folder or ("/" if pattern.startswith("/") else ""), "/".join(parts[end:])


class FoundFiles(msgspec.Struct):
    """What a glob found: `paths` relative to the start, newest first, ties by path; `is_complete` unless stopped."""

    paths: list[str] = msgspec.field(default_factory=list[str])
    counts: WalkCounts = msgspec.field(default_factory=WalkCounts)
    is_complete: bool = True


class GlobQuery(msgspec.Struct, frozen=True):
    """What to find, and what to leave out: `ignored` are globs, `rules` those of the start folder, `excluded` names of
    folders that aren't entered unless the pattern names them."""

    pattern: GlobPattern
    ignored: PathFilter | None = None
    ignore: Ignore | None = None
    rules: FolderRules | None = None
    excluded: Collection[str] = DEFAULT_EXCLUDED

    def find(self, descriptor: int, go_on: Check | None = None) -> FoundFiles:
        """Find regular files, and symbolic links that don't lead to folders, below an open folder."""
        search = _Search(self, go_on)
        if self._is_there(descriptor):
            search.take_literal(descriptor)
        else:
            search.run(descriptor)
        return search.result()

    def _is_there(self, start: int) -> bool:
        """Tell whether a file has the very name of the pattern, wildcards and all."""
        parts = self.pattern.text.split("/")
        if not has_wildcard(self.pattern.text) and "{" not in self.pattern.text:
            return False
        if any(part in ("", ".", "..") for part in parts):
            return False
        descriptor = os.dup(start)
        try:
            for part in parts[:-1]:
                above = descriptor
                descriptor = os.open(part, _ENTER, dir_fd=above)
                os.close(above)
            mode = os.stat(parts[-1], dir_fd=descriptor, follow_symlinks=False).st_mode
        except (OSError, ValueError):
            return False
        finally:
            os.close(descriptor)
        return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


class _Search:
    def __init__(self, query: GlobQuery, go_on: Check | None) -> None:
        self._query = query
        self._go_on = go_on
        self._here = query.pattern.start()
        self._stages = {"": self._here}
        self._found: list[tuple[int, str]] = []
        self._is_complete = True
        self._counts = WalkCounts()

    def run(self, descriptor: int) -> None:
        query = self._query
        walk = Walk(query.ignore, query.rules, (), self._enters, self._counts)
        for folder in walk.folders(descriptor):
            matched = folder.names and self._here.files(folder.names)
            if matched:
                self._keep(folder, matched)
            if self._go_on is not None and not self._go_on():
                self._is_complete = False
                break

    def take_literal(self, start: int) -> None:
        """Take the one file that the pattern names as it stands."""
        folder, _, name = self._query.pattern.text.rpartition("/")
        rules = self._query.rules
        if rules is not None and self._query.ignore is not None:
            for part in folder.split("/") if folder else ():
                rules = rules.entered(part, rules.why_ignored(part, is_folder=True))
        descriptor = os.dup(start)
        for part in folder.split("/") if folder else ():
            above = descriptor
            try:
                descriptor = os.open(part, _ENTER, dir_fd=above)
            finally:
                os.close(above)
        try:
            self._keep(WalkedFolder(f"{folder}/" if folder else "", [name], descriptor, rules), [name])
        finally:
            os.close(descriptor)

    def result(self) -> FoundFiles:
        self._found.sort()
        return FoundFiles([path for _, path in self._found], self._counts, self._is_complete)

    def _enters(self, path: str, names: list[str]) -> list[str]:
        # A folder's own names are asked for right after this, before any other folder's.
        stage = self._here = self._stages.pop(path)
        query = self._query
        kept: list[str] = []
        for name in names:
            inner = stage.entered(name)
            if inner is None or (name in query.excluded and not stage.names_exactly(name)):
                continue
            if query.ignored is None or not query.ignored.matches(path + name):
                self._stages[f"{path}{name}/"] = inner
                kept.append(name)
        return kept

    def _keep(self, folder: WalkedFolder, matched: list[str]) -> None:
        ignored, path, found = self._query.ignored, folder.path, self._found
        if ignored is not None:
            matched = [name for name in matched if not ignored.matches(path + name)]
        for name in folder.kept(matched, self._counts):
            try:
                status = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) or _is_link_to_file(name, folder.descriptor, status.st_mode):
                found.append((-status.st_mtime_ns, path + name))


def _is_link_to_file(name: str, descriptor: int, mode: int) -> bool:
    """Tell whether this is a symbolic link that leads to anything but a folder, or nowhere."""
    if not stat.S_ISLNK(mode):
        return False
    try:
        return not stat.S_ISDIR(os.stat(name, dir_fd=descriptor).st_mode)
    except OSError:
        return True
