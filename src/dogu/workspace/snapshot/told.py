"""What commands changed whose supervisors noted it beforehand (`launcher.before`): nothing is listed for it.

A command's notes are gone through in their order, since what they name may have been renamed meanwhile; what paths were
when it began is put beside what they are now. What was only moved, or had its attributes changed, still lies there with
what it held. Only where a file of several names was changed the folders are searched for the others.
"""

from __future__ import annotations

import marshal
import os
import shutil
import stat
import time
from collections import Counter
from collections.abc import Collection, Generator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec

from dogu.workspace import fs, openat
from dogu.workspace.launcher.before import LOG
from dogu.workspace.linked import names_by_inode
from dogu.workspace.sandbox.places import is_in
from dogu.workspace.snapshot.rows import TOLD, SnapshotRow, TreeChange, changes_of, stamp_of_status
from dogu.workspace.xattrs import read_xattrs

_UNKNOWN_TIME = -1  # of what was written to unkept: it holds something else now, whatever time it is given
_READ_BYTES = 64 << 20  # larger files are known by their stamps
_BLOCK_BYTES = 1 << 20
_MOST_ENDING_S, _ENDING_S = 30.0, 0.02  # a supervisor ends its command before
_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC
_Rows = dict[str, SnapshotRow | None]
_Stamp = tuple[int, int, int]


class _Held(msgspec.Struct, frozen=True):
    """A file that holds a content: one that was kept, or the file itself, as it was seen: `stamp` is size and mtime."""

    path: str
    stamp: tuple[int, int]
    is_kept: bool = True

    def is_one_of(self, inodes: Collection[int]) -> bool:
        """Whether it is a second name of one of these files: of what didn't go after all, and may be written to."""
        with suppress(OSError):
            return os.lstat(self.path).st_ino in inodes
        return False

    def is_still(self) -> bool:
        """Whether nobody has written to it since."""
        with suppress(OSError):
            status = os.lstat(self.path)
            return (status.st_size, status.st_mtime_ns) == self.stamp
        return False


class _Notes:
    """One command's notes in a folder, read from where they were read last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._position = 0
        self.rows: _Rows = {}
        self.paths: set[str] = set()
        self.moved_to: list[str] = []
        self.kept: dict[_Stamp, list[_Held]] = {}
        self._files: dict[int, SnapshotRow] = {}
        self._origins: dict[int, str] = {}
        self.lost: set[int] = set()
        self._moves: list[tuple[str, str]] = []

    def read(self) -> None:
        """Take what was noted since; it begins anew."""
        self.rows, self.paths, self.moved_to, self.kept, self._files, self._moves = {}, set(), [], {}, {}, []
        self._origins, self.lost = {}, set()
        for kind, first, *rest in _without_failed([*self._entries()]):
            if kind == "kept":
                self._take_kept(first, *rest)
            elif kind == "lost":
                self.lost.add(first)
            elif kind == "row":
                self._take_row(os.fsdecode(first), rest[0])
            else:
                for old, new, _ in first:
                    self._take_move(os.fsdecode(old), os.fsdecode(new))

    def is_going_on(self) -> bool:
        """Whether a supervisor may yet note something."""
        with suppress(FileNotFoundError), open(os.path.join(self.folder, LOG), "rb") as log:
            try:
                fs.flock(log.fileno(), fs.LOCK_EX | fs.LOCK_NB)
            except OSError:
                return True
        return False

    def origin(self, path: str) -> str:
        """Return where what lies at a path lay when the command began; "" for what came there since."""
        for old, new in reversed(self._moves):
            if new and (path == new or path.startswith(f"{new}/")):
                if not old:
                    return ""
                path = old + path[len(new) :]
            elif old and (path == old or path.startswith(f"{old}/")):
                return ""
        return path

    def noted_of(self, row: SnapshotRow) -> SnapshotRow:
        """Return how a file of several names was that has been told of by another of them; else the row as it is."""
        known = self._files.get(row.stamp[2])
        return row if known is None or known.links < 2 else known

    def _take_row(self, path: str, facts: tuple[Any, ...] | None) -> None:
        origin = self.origin(path)
        row = None
        if facts is not None:
            kind, mode, size, stamp, target, owner, links, is_sparse, xattrs = facts
            row = SnapshotRow(kind, mode, size, stamp, -1, target, False, owner, links, is_sparse, xattrs)
            row = self._first_of(row, origin)
        if origin:
            self.rows.setdefault(origin, row)
        self.paths.add(path)

    def _first_of(self, row: SnapshotRow, origin: str) -> SnapshotRow:
        """Return how a file was that has been told of before by another of its names, or where it lay then."""
        known = self._files.get(row.stamp[2])
        is_it = known is not None and (known.links > 1 or (origin and origin == self._origins.get(row.stamp[2])))
        if row.kind != "folder" and not is_it:
            self._files[row.stamp[2]], self._origins[row.stamp[2]] = row, origin
            self.lost.discard(row.stamp[2])
            return row
        return row if known is None else known

    def _take_kept(self, inode: int, number: int, size: int, mtime_ns: int) -> None:
        if inode in self._files and inode not in self.lost:
            held = _Held(f"{self.folder}/{number}", (size, mtime_ns))
            self.kept.setdefault(self._files[inode].stamp, []).append(held)

    def _take_move(self, old: str, new: str) -> None:
        self._moves.append((old, new))
        self.moved_to += [new] if new and "\0" not in new else []

    def _entries(self) -> Generator[tuple[Any, ...]]:
        with suppress(OSError), open(os.path.join(self.folder, LOG), "rb") as log:
            log.seek(self._position)
            while True:
                try:
                    entry = marshal.load(log)
                except (EOFError, ValueError, TypeError):
                    return  # the end, which may be torn
                self._position = log.tell()
                yield entry


class ToldChanges:
    """What is told of commands over `roots` (absolute, real), each of which notes in a folder below `folder`."""

    def __init__(self, folder: str, roots: Sequence[str], exclude: Sequence[str]) -> None:
        self._folder = folder
        self._roots = roots
        inside = [each for each in map(os.path.realpath, exclude) if is_in(each, roots)]
        self._exclude = tuple(f"{each}/" for each in inside)
        self._closed = openat.Closed(roots)
        self._notes: list[_Notes] = []
        self._open: _Rows = {}  # what was open for writing when it was looked at last
        self._held: list[_Held] = []

    @property
    def is_empty(self) -> bool:
        """Whether nobody notes anything here."""
        return not self._notes

    def begin(self) -> str:
        """Return a new folder for a command's supervisor to note in. Raises OSError."""
        folder = os.path.join(self._folder, f"{len(self._notes)}-{os.urandom(4).hex()}")
        os.makedirs(folder, mode=0o700)
        self._notes.append(_Notes(folder))
        return folder

    def resume(self) -> None:
        """Take up what the supervisors of a process that is dead have noted, once they have ended their commands."""
        with suppress(OSError):
            self._notes = [_Notes(entry.path) for entry in os.scandir(self._folder) if entry.is_dir()]
        until_s = time.monotonic() + _MOST_ENDING_S
        for notes in self._notes:
            while notes.is_going_on() and time.monotonic() < until_s:
                time.sleep(_ENDING_S)

    def look(self) -> list[TreeChange]:
        """Return what changed since the last look of what is told, by path."""
        if self.is_empty:
            return []
        before: _Rows = dict(self._open)
        kept: dict[_Stamp, list[_Held]] = {}
        try:
            for notes in self._notes:
                notes.read()
                for path, row in notes.rows.items():
                    if path not in before or _is_newer(row, before[path]):
                        before[path] = row
                for stamp, held in notes.kept.items():
                    kept.setdefault(stamp, []).extend(held)
                self._add_moved(notes, before)
            for notes in self._notes:
                before = dict.fromkeys(notes.paths, None) | before
            before = {path: row for path, row in before.items() if self._is_ours(path)}
            after: _Rows = {path: self._row(path) for path in before}
            self._place(before, after, kept)
            self._add_other_names(before, after)
        finally:
            self._closed.close()
        self._keep_open(after)
        return changes_of({path: (row, after[path]) for path, row in before.items()})

    def names_of(self, inodes: Collection[int]) -> dict[int, list[str]]:
        """Return the paths at which files lie now, by inode."""
        return names_by_inode(self._roots, inodes)

    def content(self, row: SnapshotRow) -> bytes | None:
        """Return what a file held when `row` was seen, or None where it wasn't kept or is no longer that."""
        path = self.file_of(row) if row.size <= _READ_BYTES else ""
        with suppress(OSError):
            return _read(path) if path else None
        return None

    def file_of(self, row: SnapshotRow) -> str:
        """Return the file that holds what a row's file held; "" where there is none."""
        if row.where < TOLD:
            return ""
        held = self._held[row.where - TOLD]
        return held.path if held.is_still() else ""

    def is_kept_apart(self, row: SnapshotRow) -> bool:
        """Whether the content lies in a file that is nobody else's."""
        return row.where >= TOLD and self._held[row.where - TOLD].is_kept

    def forget(self) -> None:
        """Let go of all that was noted: nothing of it goes on."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._notes, self._open, self._held = [], {}, []

    def _is_ours(self, path: str) -> bool:
        return is_in(path, self._roots) and not f"{path}/".startswith(self._exclude)

    def _add_moved(self, notes: _Notes, before: _Rows) -> None:
        """Add what lies in the folders that were moved: where it was, and that nothing was where it is."""
        for folder in notes.moved_to:
            for path in self._below(folder):
                origin = notes.origin(path)
                if origin and origin not in before:
                    row = self._row(path)
                    before[origin] = row if row is None else notes.noted_of(row)
                notes.paths.add(path)

    def _below(self, folder: str) -> Generator[str]:
        waiting = [folder]
        while waiting:
            try:
                with os.scandir(waiting[-1]) as entries:
                    found = [*entries]
            except PermissionError:
                if self._closed.let_in(waiting[-1]):
                    continue
                found = []
            except OSError:
                found = []
            waiting.pop()
            for entry in found:
                yield entry.path
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)

    def _row(self, path: str) -> SnapshotRow | None:
        """Return what lies at a path now; a file's content lies there."""
        try:
            handle = openat.open_root(os.path.dirname(path))
        except PermissionError:
            return self._row(path) if self._closed.let_in(os.path.dirname(path)) else None
        except OSError:
            return None
        name = os.path.basename(path) or "."
        try:
            status = fs.stat(name, dir_fd=handle, follow_symlinks=False)
            return self._seen(path, name, handle, status)
        except PermissionError:
            return self._row(path) if self._closed.let_in(os.path.dirname(path)) else None
        except OSError:
            return None
        finally:
            os.close(handle)

    def _seen(self, path: str, name: str, folder: int, status: os.stat_result) -> SnapshotRow:
        mode, stamp = status.st_mode, stamp_of_status(status)
        row = SnapshotRow("other", mode, 0, stamp, owner=(status.st_uid, status.st_gid), links=status.st_nlink)
        if stat.S_ISLNK(mode):
            return row._replace(kind="link", target=os.fsencode(fs.readlink(name, dir_fd=folder)))
        row = row._replace(xattrs=read_xattrs(folder, name))
        if stat.S_ISDIR(mode):
            real = stat.S_IFDIR | self._closed.mode_of(path, stat.S_IMODE(mode))
            return row._replace(kind="folder", mode=real, links=1)
        if not stat.S_ISREG(mode):
            return row._replace(kind="fifo" if stat.S_ISFIFO(mode) else "other")
        row = row._replace(kind="file", size=status.st_size, is_sparse=fs.is_sparse(status))
        return self._with_place(row, _Held(path, (status.st_size, status.st_mtime_ns), is_kept=False))

    def _with_place(self, row: SnapshotRow, held: _Held) -> SnapshotRow:
        self._held.append(held)
        return row._replace(where=TOLD + len(self._held) - 1)

    def _place(self, before: _Rows, after: _Rows, kept: dict[_Stamp, list[_Held]]) -> None:
        """Say of what was there before where its content lies: one that was kept, or the file that it lies in yet."""
        lost = {inode for notes in self._notes for inode in notes.lost}
        now = {row.stamp[2]: row for row in after.values() if row is not None and row.kind == "file"}
        places: dict[_Stamp, int] = {}
        for path, row in before.items():
            if row is None or row.kind != "file" or row.where >= TOLD:
                continue
            known = kept.get(row.stamp, ())
            held = next((each for each in known if each.is_still() and not each.is_one_of(now)), None)
            there = now.get(row.stamp[2])
            if row.stamp in places:
                before[path] = row._replace(where=places[row.stamp])
            elif held is not None:
                before[path] = self._with_place(row, held)
            elif there is not None:
                is_whole = there.size == row.size and (there.stamp == row.stamp or there.stamp[2] not in lost)
                unkept = (_UNKNOWN_TIME, *row.stamp[1:])
                before[path] = row._replace(where=there.where) if is_whole else row._replace(stamp=unkept)
            placed = before[path]
            places[row.stamp] = placed.where if placed is not None else row.where
        for path, row in after.items():
            after[path] = self._like(before.get(path), row)

    def _like(self, old: SnapshotRow | None, new: SnapshotRow | None) -> SnapshotRow | None:
        """Return the row of what is there now with the same place as before, where it holds the same."""
        if old is None or new is None or old.kind != "file" or new.kind != "file" or old.size != new.size:
            return new
        is_known = old.where < TOLD or new.where < TOLD or old.where == new.where or new.size > _READ_BYTES
        if is_known or not _hold_the_same(self.file_of(old), self.file_of(new)):
            return new
        return new._replace(where=old.where)

    def _add_other_names(self, before: _Rows, after: _Rows) -> None:
        """Add the other names of files that may have been written to by one of them."""
        known = Counter(row.stamp[2] for row in before.values() if row is not None)
        linked = {row.stamp[2]: row for row in before.values() if row is not None and row.links > known[row.stamp[2]]}
        for inode, paths in self.names_of(linked).items():
            for path in paths:
                if path not in before and self._is_ours(path):
                    before[path] = linked[inode]
                    after[path] = self._like(before[path], self._row(path))

    def _keep_open(self, after: _Rows) -> None:
        """Keep what files hold now that somebody writes to yet: no call that opens them will be told of."""
        self._open = {}
        for path, row in after.items():
            if row is None or row.kind != "file" or not fs.is_open_for_writing(path):
                continue
            target = os.path.join(self._folder, os.urandom(8).hex())
            with suppress(OSError):
                shutil.copyfile(path, target)
                status = os.stat(target)
                self._open[path] = self._with_place(row, _Held(target, (status.st_size, status.st_mtime_ns)))


def _without_failed(entries: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Leave the renames out that were found to have failed."""
    failed = Counter[tuple[Any, ...]]()
    left: list[tuple[Any, ...]] = []
    for kind, *rest in reversed(entries):
        if kind == "unmoved":
            failed[tuple(rest)] += 1
        elif kind == "moved" and failed[tuple(rest)]:
            failed[tuple(rest)] -= 1
        else:
            left.append((kind, *rest))
    return left[::-1]


def _is_newer(row: SnapshotRow | None, known: SnapshotRow | None) -> bool:
    """Whether a note is of something that came after what was seen last."""
    return row is None or known is None or row.stamp[1] > known.stamp[1]


def _read(path: str) -> bytes:
    with _opened(path) as file:
        return file.read()


def _hold_the_same(one: str, other: str) -> bool:
    if not one or not other:
        return False
    with suppress(OSError), _opened(one) as left, _opened(other) as right:
        while block := left.read(_BLOCK_BYTES):
            if block != right.read(_BLOCK_BYTES):
                return False
        return not right.read(1)
    return False


def _opened(path: str) -> BinaryIO:
    return os.fdopen(fs.open_own(path, _OPEN), "rb")
