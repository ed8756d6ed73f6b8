"""Find files by glob, newest first: only folders that can hold a match are read, only what matched is stat'ed.

What a glob matches says `pattern`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection

import msgspec

from dogu.workspace import fs, openat
from dogu.workspace.glob.pattern import GlobPattern as GlobPattern
from dogu.workspace.glob.pattern import PathFilter as PathFilter
from dogu.workspace.glob.pattern import split_base as split_base
from dogu.workspace.ignore import DEFAULT_EXCLUDED, FolderRules, Ignore
from dogu.workspace.ignore.pattern import has_wildcard
from dogu.workspace.walk import Walk, WalkCounts, WalkedFolder

Check = Callable[[], bool]
"""Asked once a folder: whether to go on. It may raise to stop at once."""


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
        """Whether a file has the very name of the pattern, wildcards and all."""
        parts = self.pattern.text.split("/")
        if not has_wildcard(self.pattern.text) and "{" not in self.pattern.text:
            return False
        if any(part in ("", ".", "..") for part in parts):
            return False
        try:
            folder = openat.enter(start, parts[:-1])
            try:
                mode = fs.stat(parts[-1], dir_fd=folder, follow_symlinks=False).st_mode
            finally:
                os.close(folder)
        except (OSError, ValueError):
            return False
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
        descriptor = openat.enter(start, folder.split("/") if folder else ())
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
        filtered: list[str] = []
        for name in names:
            inner = stage.entered(name)
            if inner is None or (name in query.excluded and not stage.names_exactly(name)):
                continue
            if query.ignored is None or not query.ignored.matches(path + name):
                self._stages[f"{path}{name}/"] = inner
                filtered.append(name)
        return filtered

    def _keep(self, folder: WalkedFolder, matched: list[str]) -> None:
        ignored, path, found = self._query.ignored, folder.path, self._found
        if ignored is not None:
            matched = [name for name in matched if not ignored.matches(path + name)]
        for name in folder.filtered(matched, self._counts):
            try:
                status = fs.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) or _is_link_to_file(name, folder.descriptor, status.st_mode):
                found.append((-status.st_mtime_ns, path + name))


def _is_link_to_file(name: str, descriptor: int, mode: int) -> bool:
    """Whether this is a symbolic link that leads to anything but a folder, or nowhere."""
    if not stat.S_ISLNK(mode):
        return False
    try:
        return not stat.S_ISDIR(fs.stat(name, dir_fd=descriptor).st_mode)
    except OSError:
        return True
