"""Notes of writes under way, in a folder of the user's own, so that what a killed process left is put right.

A note is locked by its writer while that lives; a note nobody locks belongs to a dead one. The folder must be where no
tool and no sandboxed command can write: a note is believed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

import msgspec

from dogu.contract.errors import ToolError
from dogu.language import told
from dogu.workspace import fs, openat
from dogu.workspace.os_errors import explain
from dogu.workspace.roots import Roots
from dogu.workspace.syscalls import Syscalls, read_all, write_all

_NOTE = ".write"
_UNFINISHED = ".new"
_KEPT = ".kept"
_STALE_AFTER_S = 60.0
_PAGE_BYTES = 4096
_TEMPORARY = re.compile(r"\.dogu-[0-9a-f]{16}\.tmp")


def temporary_name() -> str:
    """Return a new name for a temporary file, which `recover` knows again."""
    return f".dogu-{os.urandom(8).hex()}.tmp"


class _Header(msgspec.Struct, frozen=True):
    path: bytes
    in_place: bool
    old_bytes: int = 0
    new_bytes: int = 0


class Recovered(msgspec.Struct, frozen=True):
    """What was put right at `path`. `kept` names a file with the content from before when it could not be."""

    path: str
    what: str
    kept: str = ""

    def __str__(self) -> str:
        if not self.kept:
            return told("{path}: {what}.", path=self.path, what=self.what)
        return told("{path}: {what}; its old content is in {kept}.", path=self.path, what=self.what, kept=self.kept)


class PendingWrites:
    """The notes in `folder`; without a folder nothing is noted, and a kill may leave a temporary file or a torn one."""

    def __init__(self, folder: str | None, syscalls: Syscalls | None = None) -> None:
        self._folder = folder
        self._syscalls = syscalls or Syscalls()

    @contextmanager
    def temporary(self, path: str) -> Generator[None]:
        """Note that the temporary file `path` (absolute) exists while inside; failing to note it stops nothing."""
        note = self._begin_quietly(_Header(os.fsencode(path), in_place=False))
        try:
            yield
        finally:
            self._end(note)

    @contextmanager
    def in_place(self, path: str, old: bytes, new: bytes) -> Generator[None]:
        """Keep the content `path` had, on the disk, while it is overwritten. Raises `ToolError` when it can't be kept.

        Left by an exception that says it couldn't restore (`RestoreError`), the note stays for `recover`.
        """
        try:
            note = self._begin(_Header(os.fsencode(path), True, len(old), len(new)), old + new, durable=True)
        except OSError as error:
            raise explain(error, self._folder or "") from error  # not of the disk that the file is on
        try:
            yield
        except RestoreError:
            if note is not None:
                openat.close(note[0])
            raise
        except BaseException:
            self._end(note)
            raise
        self._end(note, durable=True)

    def _begin_quietly(self, header: _Header) -> tuple[int, str] | None:
        try:
            return self._begin(header)
        except OSError:
            return None

    def _begin(self, header: _Header, content: bytes = b"", durable: bool = False) -> tuple[int, str] | None:
        if self._folder is None:
            return None

        self._make_folder(self._folder)
        name = os.path.join(self._folder, os.urandom(8).hex())
        descriptor = fs.open(name + _UNFINISHED, os.O_RDWR | os.O_CREAT | os.O_EXCL | fs.O_CLOEXEC, 0o600)
        try:
            fs.flock(descriptor, fs.LOCK_EX | fs.LOCK_NB)
            write_all(self._syscalls, descriptor, msgspec.json.encode(header) + b"\n" + content)
            if durable:
                self._syscalls.fsync(descriptor)
            fs.rename(name + _UNFINISHED, name + _NOTE)
            if durable:
                self._sync(self._folder)
        except BaseException:
            _unlink_if_there(name + _UNFINISHED)
            _unlink_if_there(name + _NOTE)
            openat.close(descriptor)
            raise
        return descriptor, name + _NOTE

    def _make_folder(self, folder: str) -> None:
        """Make it and those above it, on the disk: a note in a folder that a loss of power takes away is none."""
        if os.path.isdir(folder):
            return
        above = os.path.dirname(folder)
        self._make_folder(above)
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        self._sync(above)

    def _end(self, note: tuple[int, str] | None, durable: bool = False) -> None:
        if note is None:
            return
        descriptor, name = note
        _unlink_if_there(name)
        openat.close(descriptor)
        if durable:
            try:
                self._sync(os.path.dirname(name))
            except OSError:
                pass  # should the note come back, `recover` finds the new content and drops it

    def _sync(self, folder: str) -> None:
        descriptor = fs.open(folder, os.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC)
        try:
            self._syscalls.fsync(descriptor)
        finally:
            openat.close(descriptor)


class RestoreError(OSError):
    """Writing in place failed, and so did putting the old content back."""


def recover(folder: str, roots: Roots) -> list[Recovered]:
    """Put right what killed processes left inside `roots`: remove temporary files, restore torn ones.

    A file that somebody has changed since isn't touched: what it held before is kept beside the notes, and told.
    """
    done: list[Recovered] = []
    for name in _names_in(folder):
        path = os.path.join(folder, name)
        try:
            descriptor = _lock(path)
        except OSError:
            continue
        try:
            found = _put_right(path, descriptor, roots)
        except (OSError, ToolError) as error:
            found = Recovered(path, told("could not be put right: {error}", error=error))
        finally:
            openat.close(descriptor)
        if found is not None:
            done.append(found)
    return done


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith((_NOTE, _UNFINISHED)))
    except OSError:
        return []


def _lock(path: str) -> int:
    descriptor = fs.open(path, os.O_RDWR | fs.O_NOFOLLOW | fs.O_CLOEXEC)
    try:
        fs.flock(descriptor, fs.LOCK_EX | fs.LOCK_NB)
    except OSError:
        openat.close(descriptor)
        raise
    return descriptor


def _put_right(note: str, descriptor: int, roots: Roots) -> Recovered | None:
    if note.endswith(_UNFINISHED):
        # Its writer may be about to lock it; nothing was touched before it had its final name.
        if time.time() - os.fstat(descriptor).st_mtime > _STALE_AFTER_S:
            _unlink_if_there(note)
        return None
    head, _, content = read_all(Syscalls(), descriptor, os.fstat(descriptor).st_size).partition(b"\n")
    try:
        header = msgspec.json.decode(head, type=_Header)
    except msgspec.MsgspecError:
        _unlink_if_there(note)
        return None
    path = os.fsdecode(header.path)
    if not any(path.startswith(root.rstrip("/") + "/") for root in roots.all):
        return None
    if not header.in_place:
        found = _remove_temporary(path, roots)
    else:
        old, new = content[: header.old_bytes], content[header.old_bytes :]
        if _restore(path, old, new, roots) is False:
            kept = note.removesuffix(_NOTE) + _KEPT
            fs.rename(note, kept)
            return Recovered(path, told("changed since an interrupted write; left as it is"), kept)
        found = Recovered(path, told("restored after an interrupted write"))
    _unlink_if_there(note)
    return found


def _remove_temporary(path: str, roots: Roots) -> Recovered | None:
    if not _TEMPORARY.fullmatch(os.path.basename(path)):
        return None
    try:
        place = roots.place(path)
    except ToolError:
        return None
    try:
        fs.unlink(place.name, dir_fd=place.parent)
    except FileNotFoundError:
        return None
    finally:
        openat.close(place.parent)
    return Recovered(path, told("removed a temporary file of an interrupted write"))


def _restore(path: str, old: bytes, new: bytes, roots: Roots) -> bool:
    syscalls = Syscalls()
    place = roots.place(path)
    try:
        target = syscalls.open(place.parent, place.name, os.O_RDWR)
    finally:
        openat.close(place.parent)
    try:
        now = read_all(syscalls, target, max(len(old), len(new)) + 1)
        if now in (old, new):
            return True
        if not _is_torn(now, old, new):
            return False
        write_all(syscalls, target, old)
        syscalls.truncate(target, len(old))
        syscalls.fsync(target)
    finally:
        openat.close(target)
    return True


def _is_torn(now: bytes, old: bytes, new: bytes) -> bool:
    if not min(len(old), len(new)) <= len(now) <= max(len(old), len(new)):
        return False
    for start in range(0, len(now), _PAGE_BYTES):
        page = now[start : start + _PAGE_BYTES]
        ours, theirs = new[start : start + len(page)], old[start : start + len(page)]
        # A page is the old one, the new one, the new one's beginning on the old one, or was never written.
        same = _common_length(page, ours)
        if page[same:] != theirs[same:] and page != theirs and page.strip(b"\0"):
            return False
    return True


def _common_length(one: bytes, other: bytes) -> int:
    pairs = zip(one, other, strict=False)
    return next((index for index, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _unlink_if_there(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
