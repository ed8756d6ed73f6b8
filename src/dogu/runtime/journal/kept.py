"""The contents that the journal keeps: small ones in the log, each large one a file of its own; within a budget.

Large ones lie in `kept/` in the session's folder, or on the file system they came from, so that they needn't be copied:
the old file itself gets a second name there before the new one takes its place. What is read back is compared with the
digest it was kept under.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, Protocol

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.runtime.journal.log import JournalLog
from dogu.runtime.journal.states import (
    NOT_KEPT,
    Seen,
    State,
    is_stamp,
    make_device,
    put_attributes,
    see,
    time_of,
)
from dogu.workspace import fs
from dogu.workspace.digest import digest_of, digest_of_blocks
from dogu.workspace.held import head_of
from dogu.workspace.openat import Place, open_long
from dogu.workspace.snapshot.limits import SnapshotLimits
from dogu.workspace.text.media import HEAD_BYTES

IN_LOG_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 20
_MOVED_BYTES = 64 << 20
_PLACES = "kept.places"
_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC


class KeepBudget(Protocol):
    """Says whether so many more bytes may be kept."""

    def take(self, count: int) -> bool:
        """Make room for so many more bytes, older sessions' going first; False when there is none."""
        ...


class Keeping(msgspec.Struct, frozen=True):
    """How a journal keeps: `pending` as for `LocalFiles`, `key` seals its records, `budget` bounds the contents, and
    `limits` what is looked at around a command that has no layer."""

    pending: str | None = None
    key: bytes = b""
    budget: KeepBudget | None = None
    limits: SnapshotLimits | None = None


class Unlimited:
    """A budget without an end."""

    def take(self, count: int) -> bool:
        """Take anything."""
        return count >= 0


class Kept:
    """The contents kept for the session in `folder`, over its log."""

    def __init__(self, folder: str, log: JournalLog, budget: KeepBudget | None = None) -> None:
        self._folder = folder
        self._log = log
        self._budget = budget or Unlimited()
        self._in_log: dict[str, State] = {}
        self._paths: dict[str, bytes | None] = {}  # by digest, the one path that may need it again; None for several
        self._known_places: list[str] = []
        self._noted: tuple[int, int] | None = None
        self._devices: dict[str, int] = {}

    def know(self, path: bytes, before: State) -> None:
        """Take up where a content lies in the log, and that a path may need it again."""
        if before.where > NOT_KEPT:
            self._in_log.setdefault(before.digest, before)
        if before.kind == "file" and self._paths.setdefault(before.digest, path) != path:
            self._paths[before.digest] = None

    def find(self, state: State) -> State | None:
        """Return the state with a place where its content is kept; None when it isn't kept."""
        if state.where > NOT_KEPT:
            return state
        if state.digest in self._in_log:
            return self._in_log[state.digest]
        return state if self.file_of(state) else None

    def file_of(self, state: State) -> str:
        """Return the file of its own that a content is kept in; '' when there is none."""
        name = _name_of(state)
        for place in self._places():
            path = f"{place}/{name}"
            if os.path.isfile(path):
                return path
        return ""

    def give_back(self, state: State, path: str, folder: int, name: str) -> bool:
        """Move a content that only `path` may need again to a name; False: it must be copied.

        It is kept again when this is undone, so that neither costs more than a name. Raises `ToolError` (STALE).
        """
        kept = self.file_of(state)
        is_sole = self._paths.get(state.digest) == os.fsencode(path)
        if not kept or not is_sole:
            return False
        status = os.lstat(kept)
        if status.st_nlink > 1:
            return False
        if state.size < _MOVED_BYTES and not is_stamp(state.digest):
            with _opened(kept) as file:
                if digest_of_blocks(iter(lambda: file.read(_BLOCK_BYTES), b"")) != state.digest:
                    raise damaged(kept, 0)
        try:
            fs.rename(kept, name, dst_dir_fd=folder)
        except OSError:
            return False
        return True

    def take_back(self, state: State, folder: int, name: str) -> None:
        """Remove what was made or moved to a name, or keep it again where that is all there is of it. Raises OSError.

        Where it can't be kept, it stays there.
        """
        has_others = fs.stat(name, dir_fd=folder, follow_symlinks=False).st_nlink > 1
        is_kept = state.kind != "file" or self.find(state) is not None
        if has_others or is_kept or not see(folder, name, state).state.has_same_content(state):
            fs.unlink(name, dir_fd=folder)
            return
        for place in self._places():
            with suppress(OSError):
                fs.rename(name, f"{place}/{_name_of(state)}", src_dir_fd=folder)
                return

    def can_keep_by_name(self, seen: Seen, beside: str = "") -> bool:
        """Whether a content that goes from its place can be kept by a second name, with room for it. Raises OSError."""
        if seen.status is None or seen.status.st_nlink != 1:
            return False
        place = self._place_for(beside)
        if place not in self._devices:
            self._devices[place] = os.stat(place).st_dev
        return self._devices[place] == seen.status.st_dev and self._budget.take(seen.room_bytes)

    def keep_by_name(self, folder: int, name: str, seen: Seen, *, beside: str = "") -> bool:
        """Give what is to go a second name, or copy it: once it is noted that it goes, not before.

        False when there is no room for it. Raises OSError.
        """
        target = f"{self._place_for(beside)}/{_name_of(seen.state)}"
        return _linked(folder, name, target) or self._copied(folder, name, target)

    def _place_for(self, beside: str) -> str:
        place = os.path.join(beside, "kept", os.path.basename(self._folder)) if beside else self._own_place
        self._make(place)
        return place

    def read(self, state: State) -> bytes | None:
        """Return a whole content; None when it wasn't kept. Raises `ToolError` when it is no longer as it was kept."""
        found = self.find(state)
        if found is None:
            return None
        if found.where > NOT_KEPT:
            data = self._log.content(found)
        else:
            with _opened(self.file_of(state)) as file:
                data = file.read()
        if not is_stamp(state.digest) and digest_of(data) != state.digest:
            raise damaged(self._log.path if found.where > NOT_KEPT else self.file_of(state), max(found.where, 0))
        return data

    def head(self, state: State) -> bytes | None:
        """Return the beginning of a content, as it is there now; None when it wasn't kept."""
        found = self.find(state)
        if found is None:
            return None
        if found.where > NOT_KEPT:
            return self._log.content(found)[:HEAD_BYTES]
        return head_of(self.file_of(state))

    def write_to(self, state: State, descriptor: int) -> None:
        """Write a content into an open, empty file, with its holes. Raises `ToolError` (NOT_FOUND, STALE), OSError."""
        found = self.find(state)
        if found is None:
            raise ToolError(ErrorKind.NOT_FOUND, told("what it held before wasn't kept"))
        if found.where > NOT_KEPT:
            _write_with_holes(descriptor, iter([self.read(state) or b""]), state)
            return
        path = self.file_of(state)
        source = fs.open_own(path, _OPEN)
        try:
            fs.copy_content(source, descriptor)
            if not _is_as_kept(descriptor, source, state):
                raise damaged(path, 0)
        finally:
            os.close(source)

    def keep_apart(self, folder: int, name: str, seen: Seen, *, beside: str = "", goes: bool) -> bool:
        """Keep a large content as a file of its own; one that `goes` from its place is only given a second name.

        False when there is no room for it. `beside` is a folder of the same file system. Raises OSError.
        """
        state = seen.state
        if self.file_of(state):
            return True
        target = os.path.join(self._place_for(beside), _name_of(state))
        if not self._budget.take(0 if goes and beside else seen.room_bytes):
            return False
        if goes and (seen.status is None or seen.status.st_nlink == 1) and _linked(folder, name, target):
            return True
        return self._copied(folder, name, target)

    def adopt(self, path: str, state: State) -> bool:
        """Take over a file that nobody else knows of as what is kept of a state. Raises OSError."""
        blocks: int | None = getattr(os.lstat(path), "st_blocks", None)  # Windows counts none
        if not self._budget.take(state.size if blocks is None else min(state.size, blocks * 512)):
            return False
        self._make(self._own_place)
        os.replace(path, os.path.join(self._own_place, _name_of(state)))
        return True

    def take_room(self, count: int) -> bool:
        """Whether so many more bytes may go into the log."""
        return self._budget.take(count)

    def remove(self) -> None:
        """Remove all that is kept in files of their own."""
        for place in self._places():
            shutil.rmtree(place, ignore_errors=True)

    @property
    def _own_place(self) -> str:
        return os.path.join(self._folder, "kept")

    def _places(self) -> list[str]:
        """Where this session's files may lie: other processes keep in new places, and find them here."""
        try:
            status = os.stat(os.path.join(self._folder, _PLACES))
            noted = status.st_ino, status.st_size
        except OSError:
            noted = 0, 0
        if noted != self._noted:
            self._noted = noted
            self._known_places = [self._own_place, *places_of(self._folder)]
        return self._known_places

    def _make(self, place: str) -> None:
        if place in self._known_places and os.path.isdir(place):
            return
        os.makedirs(place, mode=0o700, exist_ok=True)
        if place not in self._places():
            with open(os.path.join(self._folder, _PLACES), "a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{place}\n")

    def _copied(self, folder: int, name: str, target: str) -> bool:
        source = fs.open_own(name, _OPEN, dir_fd=folder)
        beside = f"{target}.tmp"
        try:
            descriptor = fs.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | fs.O_NOFOLLOW | fs.O_CLOEXEC, 0o600)
            try:
                fs.copy_content(source, descriptor)
                status = os.fstat(source)
                fs.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))
            finally:
                os.close(descriptor)
            os.replace(beside, target)
        except OSError as error:
            _unlink_if_there(beside)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return False
            raise
        finally:
            os.close(source)
        return True


def places_of(folder: str) -> list[str]:
    """Return the folders outside of a session's own where its large contents lie."""
    try:
        with open(os.path.join(folder, _PLACES), encoding="utf-8", errors="surrogateescape") as file:
            return [line.rstrip("\n") for line in file if os.path.isabs(line)]
    except OSError:
        return []


def damaged(path: str, offset: int) -> ToolError:
    """Return the error of a content that isn't as it was kept."""
    why = told("what was kept of it is damaged ({path}, byte {offset})", path=path, offset=offset)
    return ToolError(ErrorKind.STALE, why)


def take_source(source: str, state: State, place: Place, *, has_marks: bool) -> None:
    """Move a new entry, in this state, to a place, or copy it there from another file system. Raises OSError."""
    name = place.name
    folder = open_long(os.path.dirname(source))
    try:
        own = os.path.basename(source)
        try:
            fs.rename(own, name, src_dir_fd=folder, dst_dir_fd=place.parent)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy_source(folder, own, state, place)
    finally:
        os.close(folder)
    if has_marks or state.xattrs is not None:
        put_attributes(place, state, has_marks=has_marks)


def _copy_source(folder: int, own: str, state: State, place: Place) -> None:
    name = place.name
    match state.kind:
        case "link":
            fs.symlink(os.fsdecode(state.target), name, dir_fd=place.parent)
        case "fifo":
            fs.mkfifo(name, 0o600, dir_fd=place.parent)
        case "device":
            make_device(state, place, name)
        case _:
            source = fs.open_own(own, _OPEN, dir_fd=folder)
            target = fs.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | fs.O_CLOEXEC, 0o600, dir_fd=place.parent)
            try:
                fs.copy_content(source, target)
                fs.utime(target, ns=(state.mtime_ns, state.mtime_ns))
            finally:
                os.close(source)
                os.close(target)
    put_attributes(place, state, has_marks=False)


def _opened(path: str) -> BinaryIO:
    """Open a file that was kept by a second name, with the mode it had."""
    return open(fs.open_own(path, _OPEN), "rb")


def _write_with_holes(descriptor: int, blocks: Iterator[bytes], state: State) -> None:
    """Write; where the file was sparse, pages of zeros stay holes."""
    page = 4096
    at = 0
    for data in blocks:
        if not state.is_sparse:
            at += fs.write_at(descriptor, data, at)
            continue
        for start in range(0, len(data), page):
            piece = data[start : start + page]
            if piece.count(0) != len(piece):
                fs.write_at(descriptor, piece, at)
            at += len(piece)
    os.ftruncate(descriptor, at)


def _linked(folder: int, name: str, target: str) -> bool:
    try:
        fs.link(name, target, src_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def _is_as_kept(descriptor: int, source: int, state: State) -> bool:
    """Whether what was copied is what was kept; where that is known by its stamp, whether the kept file has it."""
    if is_stamp(state.digest):
        status = os.fstat(source)
        return (status.st_size, status.st_mtime_ns) == (state.size, time_of(state))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return digest_of_blocks(iter(lambda: os.read(descriptor, _BLOCK_BYTES), b"")) == state.digest


def _name_of(state: State) -> str:
    return digest_of(state.digest.encode()) if is_stamp(state.digest) else state.digest


def _unlink_if_there(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
