"""Replace a file's content so that, killed at any instant, it is the old or the new one, and on the disk.

A temporary file in the same folder takes the attributes of the old one, is synced and changes places with it. Where
that would break a hard link, change an owner or can't be, the file is written in place behind a note that restores.
Source: rename(2), fsync(2); Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace import fs, openat
from dogu.workspace.digest import digest_of, digest_of_blocks
from dogu.workspace.openat import Place, is_regular
from dogu.workspace.pending_writes import PendingWrites, RestoreError, temporary_name
from dogu.workspace.syscalls import CANNOT, Syscalls, blocks_of, move, read_all, write_all
from dogu.workspace.xattrs import kept_xattrs

LARGEST_BYTES = 1 << 30
_LOCK_WAIT_S = 10.0
_LOCK_STEP_S = 0.002
_WRITE_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV)
_TRIES = 3


class OldFile(msgspec.Struct, frozen=True):
    """The file as found under the lock: open for reading, the digest of its bytes, its fstat.

    The bytes aren't kept: beside the new ones, they would be a second copy of a large file.
    """

    path: str
    descriptor: int
    digest: str
    status: os.stat_result
    syscalls: Syscalls

    def blocks(self) -> Iterator[bytes]:
        """Read it piece by piece. Raises `ToolError` (STALE) at the end when they aren't the bytes found before."""
        digest = sha256()
        for block in blocks_of(self.syscalls, self.descriptor, LARGEST_BYTES + 1):
            digest.update(block)
            yield block
        if digest.hexdigest() != self.digest:
            raise _stale(self.path)

    def attributes(self) -> tuple[tuple[str, bytes], ...] | None:
        """Return its extended attributes, sorted; see `kept_xattrs`."""
        return kept_xattrs(self.descriptor)

    def read(self) -> bytes:
        """Read all of it; see `blocks`."""
        data = read_all(self.syscalls, self.descriptor, LARGEST_BYTES + 1)
        if digest_of(data) != self.digest:
            raise _stale(self.path)
        return data

    def holds(self, data: bytes) -> bool:
        """Whether its bytes are these."""
        if len(data) != self.status.st_size:
            return False
        at = 0
        for block in blocks_of(self.syscalls, self.descriptor, LARGEST_BYTES + 1):
            if data[at : at + len(block)] != block:
                return False
            at += len(block)
        return at == len(data)


class _InPlaceError(Exception):
    """The temporary file can't take the old one's place."""


class AtomicWriter:
    """Writes files at places in the workspace, one at a time for each folder, other processes included."""

    def __init__(self, pending: PendingWrites | None = None, syscalls: Syscalls | None = None) -> None:
        self._syscalls = syscalls or Syscalls()
        self._pending = pending or PendingWrites(None)

    def write(
        self, place: Place, data: bytes, check: Callable[[OldFile | None], None], *, mode: int | None = None
    ) -> None:
        """Make `place` hold `data`; `check` is told what is there (None: nothing) and may raise to stop it.

        A new file has the permission bits `mode`, or those that the umask leaves.

        A file already equal isn't touched. Raises OSError or `ToolError` (STALE when it changes meanwhile,
        WRONG_FILE_TYPE, PERMISSION_DENIED); then nothing has changed.
        """
        with self._locked(place) as folder:
            old = self._look(folder, place)
            try:
                check(old)
                if old is None:
                    self._create(folder, place, data, mode)
                elif not old.holds(data):
                    self._replace(folder, place, data, old)
            finally:
                if old is not None:
                    self._close(old.descriptor)

    def remove(self, place: Place, check: Callable[[OldFile | None], None]) -> None:
        """Remove the file at `place`; `check` and what is raised are as for `write`, FileNotFoundError beside them."""
        with self._locked(place) as folder:
            old = self._look(folder, place)
            try:
                check(old)
                if old is None:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.path)
                self._take_away(folder, place, old)
            finally:
                if old is not None:
                    self._close(old.descriptor)

    def _take_away(self, folder: int, place: Place, old: OldFile) -> None:
        # Under another name first: what another program put there between our look and now is seen, and goes back.
        with self._temporary(folder, place) as name:
            move(self._syscalls, folder, place.name, name)
            try:
                self._check_unchanged(folder, name, place, old)
                self._sync(folder)
            except BaseException:
                move(self._syscalls, folder, name, place.name)
                raise

    @contextmanager
    def _locked(self, place: Place) -> Generator[int]:
        try:
            folder = fs.open(".", os.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC, dir_fd=place.parent)
        except PermissionError:
            # A folder that may be entered but not read can be neither locked nor synced.
            yield place.parent
            return
        lock = -1
        try:
            lock = _lock(folder, place.path)
            yield folder
        finally:
            self._close(folder)
            self._close(lock)

    def _look(self, folder: int, place: Place) -> OldFile | None:
        try:
            descriptor = self._syscalls.open(folder, place.name, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            status = self._syscalls.status(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place.path)
            if not is_regular(descriptor):
                raise OSError(errno.ENXIO, os.strerror(errno.ENXIO), place.path)
            if status.st_size > LARGEST_BYTES:
                raise ToolError(ErrorKind.TOO_LARGE, f"File too large to be overwritten: {place.path}.")
            digest = digest_of_blocks(blocks_of(self._syscalls, descriptor, LARGEST_BYTES + 1))
            return OldFile(place.path, descriptor, digest, status, self._syscalls)
        except BaseException:
            self._close(descriptor)
            raise

    def _replace(self, folder: int, place: Place, data: bytes, old: OldFile) -> None:
        refuse_read_only(folder, place, old)
        # What a program writes on stays what it writes.
        if old.status.st_nlink > 1 or fs.is_open_for_writing(place.path):
            self._write_in_place(folder, place, data, old)
            return
        try:
            self._swap(folder, place, data, old)
        except _InPlaceError:
            self._write_in_place(folder, place, data, old)

    def _create(self, folder: int, place: Place, data: bytes, mode: int | None) -> None:
        with self._temporary(folder, place) as name:
            self._fill(folder, name, data, 0o666, None)
            if mode is not None:
                fs.chmod(name, mode, dir_fd=folder)
            try:
                self._name_new(folder, name, place.name)
            except FileExistsError as error:
                raise _stale(place.path) from error
            try:
                self._sync(folder)
            except OSError:
                self._remove(folder, place.name)
                raise

    def _name_new(self, folder: int, temporary: str, name: str) -> None:
        try:
            self._syscalls.rename_to_new(folder, temporary, name)
        except OSError as error:
            if error.errno not in CANNOT:
                raise
            self._syscalls.link(folder, temporary, name)

    def _swap(self, folder: int, place: Place, data: bytes, old: OldFile) -> None:
        with self._temporary(folder, place) as name:
            with _in_place_where_refused():
                self._fill(folder, name, data, 0o600, old)
            self._check_unchanged(folder, place.name, place, old)
            try:
                with _in_place_where_refused():
                    self._syscalls.exchange(folder, name, place.name)
            except OSError as error:
                if error.errno not in CANNOT:
                    raise
                self._check_unchanged(folder, place.name, place, old)  # nothing could be put back afterwards
                with _in_place_where_refused():
                    self._syscalls.rename(folder, name, place.name)
                with suppress(OSError):  # it is done, and can't be taken back
                    self._sync(folder)
                return
            try:
                if self._is_there(folder, name):
                    self._check_unchanged(folder, name, place, old)
                # else the file system knows no flags of rename(2), and has put the new file over the old one.
                self._sync(folder)
            except BaseException:
                self._syscalls.exchange(folder, name, place.name)
                raise

    def _is_there(self, folder: int, name: str) -> bool:
        try:
            self._syscalls.status_of(folder, name)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def _temporary(self, folder: int, place: Place) -> Generator[str]:
        name = temporary_name()
        with self._pending.temporary(openat.joined(os.path.dirname(place.path), [name])):
            try:
                yield name
            finally:
                self._remove(folder, name)

    def _remove(self, folder: int, name: str) -> None:
        for _ in range(_TRIES):
            try:
                self._syscalls.unlink(folder, name)
            except FileNotFoundError:
                return
            except OSError:
                continue
            return

    def _fill(self, folder: int, name: str, data: bytes, mode: int, old: OldFile | None) -> None:
        descriptor = self._syscalls.open(folder, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            write_all(self._syscalls, descriptor, data)
            if old is not None and not copy_attributes(self._syscalls, old.descriptor, descriptor):
                raise _InPlaceError
            self._syscalls.fsync(descriptor)
        finally:
            self._close(descriptor)

    def _check_unchanged(self, folder: int, name: str, place: Place, old: OldFile) -> None:
        """Check that `name` is still the file we looked at, with the bytes it had."""
        try:
            now = self._syscalls.status_of(folder, name)
        except FileNotFoundError as error:
            raise _stale(place.path) from error
        if (now.st_dev, now.st_ino) == (old.status.st_dev, old.status.st_ino):
            if (now.st_size, now.st_mtime_ns) == (old.status.st_size, old.status.st_mtime_ns):
                return
            old.read()
            return
        raise _stale(place.path)

    def _write_in_place(self, folder: int, place: Place, data: bytes, old: OldFile) -> None:
        descriptor = self._syscalls.open(folder, place.name, os.O_RDWR)
        try:
            self._check_unchanged(folder, place.name, place, old)
            before = old.read()
            with self._pending.in_place(place.path, before, data):
                try:
                    self._overwrite(descriptor, data, len(before), old)
                except BaseException:
                    self._put_back(descriptor, place, before)
                    raise
        finally:
            self._close(descriptor)

    def _overwrite(self, descriptor: int, data: bytes, old_bytes: int, old: OldFile) -> None:
        write_all(self._syscalls, descriptor, data)
        if len(data) < old_bytes:
            self._syscalls.truncate(descriptor, len(data))
        mode = stat.S_IMODE(old.status.st_mode)
        if stat.S_IMODE(self._syscalls.status(descriptor).st_mode) != mode:
            # The system takes setuid and setgid away from a file that is written to.
            self._syscalls.set_mode(descriptor, mode)
        self._syscalls.fsync(descriptor)

    def _put_back(self, descriptor: int, place: Place, before: bytes) -> None:
        for attempt in range(_TRIES):
            try:
                write_all(self._syscalls, descriptor, before)
                self._syscalls.truncate(descriptor, len(before))
                self._syscalls.fsync(descriptor)
            except OSError as error:
                if attempt == _TRIES - 1:
                    raise RestoreError(error.errno, "Writing failed, and restoring too", place.path) from error
                continue
            return

    def _close(self, descriptor: int) -> None:
        try:
            self._syscalls.close(descriptor)
        except OSError:
            pass  # fsync has told what could go wrong

    def _sync(self, folder: int) -> None:
        try:
            self._syscalls.fsync(folder)
        except OSError as error:
            # Some file systems can't sync a folder, and a handle of an unreadable one can't be synced.
            if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):
                raise


@contextmanager
def _in_place_where_refused() -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _WRITE_IN_PLACE:
            raise _InPlaceError from error
        raise


def refuse_read_only(folder: int, place: Place, old: OldFile) -> None:
    """Refuse what nobody should write to. Raises OSError (EROFS), `ToolError` (PERMISSION_DENIED)."""
    if fs.is_read_only_system(folder):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), place.path)
    mode = stat.S_IMODE(old.status.st_mode)
    # Root may write anything; a mode without a single w says that nobody should.
    if not mode & 0o222 or not fs.access(place.name, os.W_OK, dir_fd=folder, effective_ids=_EFFECTIVE):
        raise ToolError(
            ErrorKind.PERMISSION_DENIED,
            f"Permission denied: {place.path} is read-only (mode {mode:04o}). Make it writable first, if it should be.",
        )


_EFFECTIVE = os.access in os.supports_effective_ids


def _lock(folder: int, path: str) -> int:
    """Return the descriptor that keeps the folder locked; -1 where folders can't be."""
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return fs.lock_folder(folder)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                message = f"Another program keeps the folder of {path} locked. Try again later."
                raise ToolError(ErrorKind.IO_ERROR, message) from error
            time.sleep(_LOCK_STEP_S)
        except OSError:
            return -1  # not every file system can lock a folder


def _stale(path: str) -> ToolError:
    message = f"File changed while it was being written: {path}. Nothing was written; read it again."
    return ToolError(ErrorKind.STALE, message)


def copy_attributes(syscalls: Syscalls, source: int, target: int) -> bool:
    """Give the open file `target` the owner, mode, ACL and extended attributes of `source`.

    Returns False when that isn't possible; then `target` must not take the place of `source`.
    """
    wanted = syscalls.status(source)
    try:
        _copy_owner(syscalls, wanted, target)
        _copy_xattrs(syscalls, syscalls.xattrs(source), target)
        syscalls.set_mode(target, stat.S_IMODE(wanted.st_mode))
    except PermissionError:
        return False
    got = syscalls.status(target)
    return _facts(got) == _facts(wanted) and syscalls.xattrs(target) == syscalls.xattrs(source)


def _facts(status: os.stat_result) -> tuple[int, int, int]:
    return stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid


def _copy_owner(syscalls: Syscalls, wanted: os.stat_result, target: int) -> None:
    now = syscalls.status(target)
    if (now.st_uid, now.st_gid) != (wanted.st_uid, wanted.st_gid):
        syscalls.set_owner(target, wanted.st_uid, wanted.st_gid)


def _copy_xattrs(syscalls: Syscalls, wanted: dict[str, bytes], target: int) -> None:
    now = syscalls.xattrs(target)
    for name in now.keys() - wanted.keys():
        syscalls.remove_xattr(target, name)
    for name, value in wanted.items():
        if now.get(name) != value:
            syscalls.set_xattr(target, name, value)
