"""What a watched command is about to change, as it was until then: noted in a folder before each call goes on.

With it nothing needs to be looked at before the command: what it leaves alone isn't touched. `snapshot.told` reads it.
Standard library only.
"""

from __future__ import annotations

import marshal
import os
import stat
from contextlib import suppress
from typing import Any

from dogu.workspace import fs
from dogu.workspace.xattrs import kept_xattrs

LOG = "log"
_MOST_COPIED_BYTES = 64 << 20  # unless the file system shares what is copied
_SPARE_BYTES = 256 << 20
_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC
_BLOCK = 512
Move = tuple[bytes, bytes, int]
"""From where to where, b"" for elsewhere, and the inode, 0 for one that isn't known."""


class Before:
    """Notes in `folder` what paths were, in the order in which they are told of, and keeps what files held; None: does
    nothing, as somebody has looked beforehand.

    The log holds tuples: ("row", path, what it was or None), ("kept", inode, the number of the file that holds it, its
    size and mtime), ("lost", inode) of what is written unkept, and ("moved", moves), or "unmoved" where that turned out
    to have failed. `is_whole`: all could be noted.
    """

    def __init__(self, folder: bytes | None) -> None:
        self._folder = folder or b""
        self._log = -1
        self._count = 0
        self._held_bytes = 0
        self._known: set[int] = set()  # inodes: kept already, or the command's own
        self._rows: set[bytes] = set()  # paths that were noted, of what lies there since
        if folder is not None:
            with suppress(OSError):
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._log = os.open(os.path.join(folder, os.fsencode(LOG)), flags, 0o600)
                fs.flock(self._log, fs.LOCK_EX | fs.LOCK_NB)  # as long as more may come
        self.is_whole = self.is_noting

    @property
    def is_noting(self) -> bool:
        """Whether anything is noted."""
        return self._log >= 0

    def note(self, path: bytes) -> None:
        """Note what a path is, if anything, before it is changed for the first time."""
        if not self.is_noting or path in self._rows:
            return
        self._rows.add(path)
        try:
            row = _row(path)
        except FileNotFoundError:
            row = None
        self._write("row", path, row)

    def moved(self, moves: tuple[Move, ...], *, is_folder: bool) -> None:
        """Note what a rename is about to move. With a folder others come to its paths."""
        if is_folder:
            self._rows.clear()
        self._write("moved", moves)

    def has_failed(self, moves: tuple[Move, ...]) -> None:
        """Note that what was noted last as about to be moved so lies where it lay."""
        self._write("unmoved", moves)

    def made(self, inode: int) -> None:
        """Note that the command has made a file: what it held isn't kept."""
        self._known.add(inode)

    def leaves(self, path: bytes) -> None:
        """Note a folder, with all in it, that is about to leave the roots."""
        if not self.is_noting:
            return
        self.note(path)
        with suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    self.leaves(entry.path)
                else:
                    self.note(entry.path)
                    self.keep(entry.path, entry.inode(), goes=True)

    def begin_anew(self) -> None:
        """Keep again what changes from now on: what was noted until now has been asked for."""
        self._known.clear()
        self._rows.clear()

    def keep(self, path: bytes, inode: int, *, goes: bool) -> None:
        """Keep what a file holds that `goes` from its name, else is opened to be written. Raises nothing."""
        if not self.is_noting:
            return
        try:
            status = os.lstat(path)
            is_kept = inode in self._known or not stat.S_ISREG(status.st_mode) or self._keep(path, status, goes=goes)
            is_last = goes and status.st_nlink == 1  # the next file with this number is another one
        except OSError:
            is_kept = is_last = False
        if is_kept and not is_last:
            self._known.add(inode)
        else:
            self._known.discard(inode)
        if not is_kept and not goes:
            self._write("lost", inode)

    def close(self) -> None:
        """Note nothing more."""
        if self._log >= 0:
            os.close(self._log)
        self._log = -1

    def _keep(self, path: bytes, status: os.stat_result, *, goes: bool) -> bool:
        used = status.st_blocks * _BLOCK
        if not _has_room(self._folder, self._held_bytes + used):
            return False
        self._count += 1
        _store(path, os.path.join(self._folder, b"%d" % self._count), status, goes=goes)
        self._held_bytes += used
        self._write("kept", status.st_ino, self._count, status.st_size, status.st_mtime_ns)
        return True

    def _write(self, *entry: Any) -> None:
        if not self.is_noting:
            return
        data = marshal.dumps(entry)
        try:
            self.is_whole = os.write(self._log, data) == len(data) and self.is_whole
        except OSError:
            self.is_whole = False


class Going:
    """Keeps what files of at least `least_bytes` hold in `folder`, by their inode: where the roots were looked at,
    those too large, or too many, to be read. Whoever takes it compares size and time with what was seen then."""

    def __init__(self, folder: bytes, least_bytes: int) -> None:
        self._folder = folder
        self._least_bytes = least_bytes
        self._seen: set[int] = set()
        self._held_bytes = 0

    def keep(self, path: bytes, inode: int, *, goes: bool) -> None:
        """Keep what a file holds that `goes` from its name, else is opened to be written. Raises nothing."""
        if inode in self._seen:
            return
        self._seen.add(inode)
        with suppress(OSError):
            status = os.lstat(path)
            if not stat.S_ISREG(status.st_mode) or status.st_size < self._least_bytes:
                return
            self._held_bytes += status.st_blocks * _BLOCK  # which would be free else
            if _has_room(self._folder, self._held_bytes):
                _store(path, os.path.join(self._folder, b"%d" % inode), status, goes=goes)


def _row(path: bytes) -> tuple[Any, ...]:
    """Return what `snapshot.rows.SnapshotRow` holds, but for the place of a content. Raises OSError."""
    status = os.lstat(path)
    mode = status.st_mode
    owner = status.st_uid, status.st_gid
    if stat.S_ISLNK(mode):
        times = status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        return "link", mode, 0, times, os.readlink(path), owner, status.st_nlink, False, ()
    xattrs = kept_xattrs(path)
    if stat.S_ISDIR(mode):
        return "folder", mode, 0, (0, 0, status.st_ino), b"", owner, 1, False, xattrs
    kind = "file" if stat.S_ISREG(mode) else "fifo" if stat.S_ISFIFO(mode) else "other"
    is_file = kind == "file"
    times = status.st_mtime_ns, status.st_ctime_ns, status.st_ino
    size = status.st_size if is_file else 0
    return kind, mode, size, times, b"", owner, status.st_nlink, is_file and fs.is_sparse(status), xattrs


def _has_room(folder: bytes, held_bytes: int) -> bool:
    free = os.statvfs(folder)
    return free.f_bavail * free.f_frsize >= held_bytes + _SPARE_BYTES


def _store(path: bytes, target: bytes, status: os.stat_result, *, goes: bool) -> None:
    """Keep what a file holds: one whose only name goes by a second name, else by a copy. Raises OSError."""
    if goes and status.st_nlink == 1:
        with suppress(OSError):
            os.link(path, target, follow_symlinks=False)
            return
    _copy(path, target, status.st_blocks * _BLOCK)


def _copy(path: bytes, target: bytes, used: int) -> None:
    source = fs.open_own(os.fsdecode(path), _OPEN)
    try:
        status = os.fstat(source)
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        is_whole = False
        try:
            if not fs.clone(source, descriptor):
                if used > _MOST_COPIED_BYTES:
                    raise OSError("too large to be copied")
                fs.copy_content(source, descriptor)
            os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))
            is_whole = True
        finally:
            os.close(descriptor)
            if not is_whole:
                os.unlink(target)
    finally:
        os.close(source)
