"""Reads a small file of the user's whole, wherever it is: no FIFO is waited on, and no size is trusted."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from dogu.language import told
from dogu.workspace import fs


def open_regular_file(path: str) -> BinaryIO:
    """Open a file for reading, wherever links lead. Raises OSError, also for what is no regular file (errno 0)."""
    descriptor = fs.open(path, os.O_RDONLY | fs.O_NONBLOCK | fs.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, told("is not a regular file"))
    return os.fdopen(descriptor, "rb")


def read_small_file(path: str, most_bytes: int) -> bytes:
    """Return the content. Raises OSError, also for what is no regular file or is larger than `most_bytes` (errno 0)."""
    with open_regular_file(path) as stream:
        data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(0, told("is larger than {limit} bytes", limit=most_bytes))
    return data
