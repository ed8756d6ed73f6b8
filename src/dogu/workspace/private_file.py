"""Reads and writes small files that are the user's alone: whole or not at all, one after another whoever writes.

Only a regular file is ever replaced. A link to one is followed, for those who keep their settings elsewhere; a device,
a FIFO or a folder is refused, at the end of a link too: as root, a rename would replace the machine's own.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO, TypeVar

import msgspec

from dogu.language import told
from dogu.workspace import fs

_LOCK_WAIT_S = 10.0
_LOCK_STEP_S = 0.005
_STALE_AFTER_S = 60.0

Kept = TypeVar("Kept")


def written_path(path: str) -> str:
    """Return an absolute path as a JSON file can hold it: where its bytes are no UTF-8, `bytes:` and percent signs."""
    if _is_encodable(path):
        return path
    from urllib.parse import quote

    return f"bytes:{quote(os.fsencode(path))}"


def path_written(text: str) -> str:
    """Return the path that `written_path` made the text of."""
    if not text.startswith("bytes:"):
        return text
    from urllib.parse import unquote_to_bytes

    return os.fsdecode(unquote_to_bytes(text.removeprefix("bytes:")))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_private_file(path: str, data: bytes, *, is_synced: bool = True, mode: int = 0o600) -> None:
    """Make or replace the file; its folder must be there. With `is_synced` the content is on the disk before.

    Raises OSError, also where anything but a regular file is there; then what was there is still there.
    """
    with whole_file(path, is_synced=is_synced, mode=mode) as file:
        file.write(data)


@contextmanager
def whole_file(path: str, *, is_synced: bool = True, mode: int | None = None) -> Generator[BinaryIO]:
    """Open a file that takes its place when all is written, as `write_private_file` writes one.

    Without a `mode` it has that of the file it replaces, and a new one that of any new file.
    """
    path = _regular_or_nothing(path)
    if mode is None and os.path.exists(path):
        mode = stat.S_IMODE(os.stat(path).st_mode)
    beside = f"{path}.{os.urandom(4).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | fs.O_CLOEXEC
    descriptor = fs.open(beside, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                fs.fchmod(descriptor, mode)
            yield file
            if is_synced:
                file.flush()
                fs.fsync(descriptor)
        os.replace(beside, _regular_or_nothing(path))
    except BaseException:
        os.unlink(beside)
        raise


def read_private_file(path: str) -> tuple[bytes, int]:
    """Return what a regular file holds, and its permission bits. Raises OSError, at once for a FIFO or a device."""
    with open(path, "rb", opener=open_regular) as file:
        return file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)


def read_json(path: str, kind: type[Kept]) -> Kept:
    """Return the table that `changing_json` writes; an empty one where there is none, or none that can be read."""
    try:
        return msgspec.json.decode(read_private_file(path)[0], type=kind)
    except (OSError, msgspec.DecodeError):
        return msgspec.convert({}, kind)


@contextmanager
def lock_of_file(path: str) -> Generator[None]:
    """Let one process at a time read the file and write it again; its folder is made. Not to be taken twice.

    It is the folder that is locked, as for every file that dogu writes. Raises OSError, also when another keeps it.
    """
    folder, name = os.path.split(_regular_or_nothing(path))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor = fs.open(folder, os.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC)
    try:
        lock = _lock(descriptor, folder)
        try:
            _remove_left_over(descriptor, name)
            yield
        finally:
            os.close(lock)
    finally:
        os.close(descriptor)


@contextmanager
def changing_json(path: str, kind: type[Kept], *, is_synced: bool = True, indent: int = 0) -> Generator[Kept]:
    """Read a table, have it changed and write it, nobody coming in between; nothing is written when it stays as it was.

    A file that isn't there is an empty table. Raises OSError: a damaged file too is no reason to lose what it holds.
    """
    with lock_of_file(path):
        try:
            before, mode = read_private_file(path)
        except FileNotFoundError:
            before, mode = b"", 0o600
        try:
            table = msgspec.json.decode(before or b"{}", type=kind)
        except msgspec.DecodeError as error:
            why = told("it can't be read ({error}): fix or remove it", error=error)
            raise OSError(errno.EINVAL, why, path) from error
        was = msgspec.json.encode(table)
        yield table
        now = msgspec.json.encode(table)
        if now != was or not before:
            data = msgspec.json.format(now, indent=indent) if indent else now
            write_private_file(path, data + b"\n", is_synced=is_synced, mode=mode & 0o700 | 0o600)


def _regular_or_nothing(path: str) -> str:
    """Return where the file is or will be, links followed. Raises OSError where something else is."""
    real = os.path.realpath(path)
    try:
        if not stat.S_ISREG(os.lstat(real).st_mode):
            raise _not_regular(path, real)
    except FileNotFoundError:
        pass
    return real


def _not_regular(path: str, real: str = "") -> OSError:
    if os.path.isdir(path):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    where = told(" (a link to {real})", real=real) if real and real != os.path.abspath(path) else ""
    return OSError(errno.EINVAL, told("it isn't a regular file{where}, and is left alone", where=where), path)


def open_regular(path: str, flags: int) -> int:
    """Open a regular file, as `open`'s `opener`. Raises OSError, at once for a FIFO or a device."""
    descriptor = fs.open(path, flags | fs.O_NONBLOCK | fs.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_regular(path)
    return descriptor


def _lock(descriptor: int, folder: str) -> int:
    deadline_s = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return fs.lock_folder(descriptor)
        except BlockingIOError as error:
            if time.monotonic() > deadline_s:
                why = told("another program keeps this folder locked: try again later")
                raise OSError(errno.EAGAIN, why, folder) from error
            time.sleep(_LOCK_STEP_S)


def _remove_left_over(folder: int, name: str) -> None:
    """Remove what killed writers of this file left beside it."""
    left_over = re.compile(re.escape(name) + r"\.[0-9a-f]{8}\.tmp")
    for found in fs.listdir(folder):
        if left_over.fullmatch(found):
            with suppress(OSError):
                if time.time() - fs.stat(found, dir_fd=folder, follow_symlinks=False).st_mtime > _STALE_AFTER_S:
                    fs.unlink(found, dir_fd=folder)
