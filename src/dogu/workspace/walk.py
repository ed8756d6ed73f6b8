"""Walk a tree by descriptors, a folder at a time, leaving out what the ignore rules say.

Symbolic links are listed and never followed, so no loop and no way out of the tree; depth is limited by the file
system alone (a 1,000-deep tree takes a few descriptors). Above: `glob`, `search`. Below: `ignore`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

import msgspec

from dogu.workspace import fs, openat
from dogu.workspace.ignore import DEFAULT_EXCLUDED, FolderRules, Ignore

_ENTER = os.O_RDONLY | fs.O_DIRECTORY | fs.O_NOFOLLOW | fs.O_CLOEXEC | fs.O_NONBLOCK
_MOST_OPEN = 64

Enters = Callable[[str, list[str]], list[str]]
"""Which folders to go into, given the path of the folder they are in (with a final slash, or empty) and their names;
called once for each folder, before it is yielded."""


class WalkCounts(msgspec.Struct):
    """What a walk left out, and why; it grows while the walk goes on."""

    git_ignored_files: int = 0
    git_ignored_folders: int = 0
    gemini_ignored: int = 0
    unreadable: int = 0


class WalkedFolder(NamedTuple):
    """One folder: `path` is relative to the start, empty or with a final slash; `names` are its entries that are no
    folders, in no order; `descriptor` is open until the next step of the walk."""

    path: str
    names: list[str]
    descriptor: int
    rules: FolderRules | None

    def filtered(self, names: list[str], counts: WalkCounts) -> list[str]:
        """Return `names` without the ignored ones, which are counted."""
        ignored = self.rules.ignored(names, are_folders=False) if self.rules else {}
        if not ignored:
            return names
        from_gemini = sum(reason == "gemini" for reason in ignored.values())
        counts.gemini_ignored += from_gemini
        counts.git_ignored_files += len(ignored) - from_gemini
        return [name for name in names if name not in ignored]


class _Frame(msgspec.Struct):
    descriptor: int  # -1 when closed meanwhile
    path: str
    names: tuple[str, ...]  # the parts of `path`
    rules: FolderRules | None
    folders: list[str] = msgspec.field(default_factory=list[str])


class Walk(msgspec.Struct, frozen=True):
    """A walk of one tree.

    `ignore` gives the rules of folders below the start, `rules` those of the start itself; without them nothing is
    ignored. `excluded` are names of folders never entered. `enters` narrows the walk.
    """

    ignore: Ignore | None = None
    rules: FolderRules | None = None
    excluded: Collection[str] = DEFAULT_EXCLUDED
    enters: Enters | None = None
    counts: WalkCounts = msgspec.field(default_factory=WalkCounts)

    def folders(self, descriptor: int) -> Iterator[WalkedFolder]:
        """Yield the start, whose descriptor stays the caller's, and each folder below it; a parent before its own.

        A folder that vanishes or becomes something else meanwhile is passed over; one that can't be read is counted.
        """
        frames = [_Frame(os.dup(descriptor), "", (), self.rules)]
        try:
            walked = self._read(frames[0])
            if walked is not None:
                yield walked
            while frames:
                frame = frames[-1]
                if not frame.folders:
                    _close(frames.pop())
                    continue
                child = self._step(frame, frame.folders.pop(), descriptor)
                if child is None:
                    continue
                frames.append(child)
                walked = self._read(child)
                if walked is not None:
                    yield walked
                _make_room(frames)
        finally:
            for frame in frames:
                _close(frame)

    def _step(self, frame: _Frame, name: str, start: int) -> _Frame | None:
        try:
            if frame.descriptor < 0:
                frame.descriptor = openat.enter(start, frame.names)
            descriptor = fs.open(name, _ENTER, dir_fd=frame.descriptor)
        except PermissionError:
            self.counts.unreadable += 1
            return None
        except OSError:
            return None
        rules = frame.rules.entered(name) if frame.rules else None
        return _Frame(descriptor, f"{frame.path}{name}/", (*frame.names, name), rules)

    def _read(self, frame: _Frame) -> WalkedFolder | None:
        folders: list[str] = []
        names: list[str] = []
        try:
            with fs.scandir(frame.descriptor) as entries:
                for entry in entries:
                    (folders if entry.is_dir(follow_symlinks=False) else names).append(entry.name)
        except OSError:
            self.counts.unreadable += 1
            return None
        if frame.rules and self.ignore and frame.path:
            frame.rules = self.ignore.rules_below(
                frame.rules, frame.descriptor, ".git" in folders or ".git" in names, ".gitignore" in names
            )
        frame.folders = self._entered(frame, folders)
        return WalkedFolder(frame.path, names, frame.descriptor, frame.rules)

    def _entered(self, frame: _Frame, folders: list[str]) -> list[str]:
        excluded = self.excluded
        filtered = [name for name in folders if name not in excluded] if excluded else folders
        if self.enters is not None:
            filtered = self.enters(frame.path, filtered)
        ignored = frame.rules.ignored(filtered, are_folders=True) if frame.rules and filtered else {}
        if ignored:
            from_gemini = sum(reason == "gemini" for reason in ignored.values())
            self.counts.gemini_ignored += from_gemini
            self.counts.git_ignored_folders += len(ignored) - from_gemini
            filtered = [name for name in filtered if name not in ignored]
        return filtered


def _close(frame: _Frame) -> None:
    if frame.descriptor >= 0:
        os.close(frame.descriptor)
        frame.descriptor = -1


def _make_room(frames: list[_Frame]) -> None:
    """Close what isn't needed soon: the shallowest folder's handle, which can be found again from the start."""
    if len(frames) > _MOST_OPEN:
        _close(frames[-_MOST_OPEN - 1])
