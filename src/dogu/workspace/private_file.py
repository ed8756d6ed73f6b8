"""Writes a small file that is the user's alone: whole or not at all, whoever else writes it at the same time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager


def write_private_file(path: str, data: bytes, *, is_synced: bool = True, mode: int = 0o600) -> None:
    """Make or replace the file; its folder must be there. With `is_synced` the content is on the disk before.

    A link at `path` is replaced, not followed. Raises OSError; then what was there is still there.
    """
    beside = f"{path}.{os.urandom(4).hex()}.tmp"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(data)
            if is_synced:
                file.flush()
                os.fsync(descriptor)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


@contextmanager
def lock_of_file(path: str) -> Generator[None]:
    """Let one process at a time read the file and write it again; its folder is made. Raises OSError."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(f"{path}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
