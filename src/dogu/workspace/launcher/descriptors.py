"""What the launcher and this program agree on: where the socket is and which descriptors come with an order."""

from __future__ import annotations

import os
import sys

SECCOMP_NUMBER = 100  # where bubblewrap finds the filter; past all that a supervisor has open
SOCKET_NUMBER = 3
_PIPE_BYTES = 1024 * 1024
DESCRIPTOR_NAMES = ("control", "directory", "stdin", "stdout", "stderr", "order")
SHELLS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
"""Where bash is, whatever a PATH says."""
KEYS = b"keys\0"
"""What a word begins with that is typed into a command's terminal."""


def waking_pipe() -> tuple[int, int]:
    """Return a pipe that signals write to, and never block."""
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends


def widen(descriptor: int) -> None:
    """Let a pipe hold a megabyte, where the system lets one say so."""
    try:
        if sys.platform == "linux":
            import fcntl

            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except OSError:  # past the user's share of pipe memory: the default size works too, slower
        pass
