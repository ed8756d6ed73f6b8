"""Undoing what a command did to a place that runs later: written and removed through handles that follow no link.

A job of the command's may still run and swap folders for links: what was opened beneath a root stays beneath it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from dogu.workspace import fs, openat

MOST_BYTES = 1024 * 1024  # of one file; a longer one can't be put back


def read(path: str, roots: Sequence[str]) -> bytes | None:
    """Return the content of a plain file in one of the roots (absolute, real), or where a link leads.

    None where it is neither, or too long.
    """
    try:
        with _folder_of(path, roots) as (folder, name):
            if stat.S_ISLNK(fs.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                return os.fsencode(os.readlink(name, dir_fd=folder))
            descriptor = fs.open(name, os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC, dir_fd=folder)
            with open(descriptor, "rb") as file:
                content = file.read(MOST_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= MOST_BYTES else None


def remove(path: str, roots: Sequence[str]) -> bool:
    """Remove a file, a link or an empty folder; whether that went."""
    try:
        with _folder_of(path, roots) as (folder, name):
            if stat.S_ISDIR(fs.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                fs.rmdir(name, dir_fd=folder)
            else:
                fs.unlink(name, dir_fd=folder)
    except OSError:
        return False
    return True


def write(path: str, roots: Sequence[str], content: bytes, mode: int) -> bool:
    """Put a new file with this content and mode in the place of whatever is there, or a link; whether that went."""
    try:
        with _folder_of(path, roots) as (folder, name):
            temporary = f".dogu-{os.getpid()}-{name}"
            if stat.S_ISLNK(mode):
                os.symlink(os.fsdecode(content), temporary, dir_fd=folder)
                fs.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                return True
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | fs.O_NOFOLLOW | fs.O_CLOEXEC
            with open(fs.open(temporary, flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(content)
                fs.fchmod(file.fileno(), stat.S_IMODE(mode))
            fs.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        return False
    return True


@contextmanager
def _folder_of(path: str, roots: Sequence[str]) -> Generator[tuple[int, str]]:
    """Open the folder that a path lies in, beneath the nearest root, following no link; give it and the last name."""
    root = max((root for root in roots if path.startswith(f"{root}/")), key=len, default="")
    if not root:
        raise FileNotFoundError(path)
    *parents, name = openat.parts_of(path[len(root) :])
    handle = openat.open_root(root)
    try:
        folder = openat.enter(handle, parents)
    finally:
        os.close(handle)
    try:
        yield folder, name
    finally:
        os.close(folder)
