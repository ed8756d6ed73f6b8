"""Reads a small file of the person's whole, wherever it is: no FIFO is waited on, and no size is trusted."""

from __future__ import annotations

import os
import stat

from dogu.language import told


def read_small_file(path: str, most_bytes: int) -> bytes:
    """Return the content. Raises OSError, also for what is no regular file or is larger than `most_bytes`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, told("is not a regular file"))
        data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(0, told("is larger than {limit} bytes", limit=most_bytes))
    return data
