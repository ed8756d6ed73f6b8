"""A background job's folder: what it printed, and by which files other programs say what they want of it.

The supervisor writes it, any program of the same user reads it, also when the one that started the job is gone. What is
wanted is asked by the name of a file (`keep`, `stop`) and never by a signal: no other process can be hit. Standard
library only.
"""

from __future__ import annotations

import os
import struct

from dogu.workspace.launcher.ring import write_at

KEEP, STOP, ENDED, SIZES = "keep", "stop", "ended", "sizes"
STREAMS = ("stdout", "stderr")
_SIZES = struct.Struct("<QQ")


class JobFolder:
    """The supervisor's side of a folder, given as a descriptor that it takes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._sizes = self._made(SIZES)
        self.outputs = {stream: self._made(stream) for stream in STREAMS}

    def _made(self, name: str) -> int:
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=self._descriptor)

    def note_sizes(self, stdout_bytes: int, stderr_bytes: int) -> None:
        """Say how much was printed so far: the files alone don't tell it, once they are rings."""
        try:
            write_at(self._sizes, _SIZES.pack(stdout_bytes, stderr_bytes), 0)
        except OSError:  # a full disk; the ring tells that it lost something
            pass

    def is_wanted(self, name: str) -> bool:
        """Whether somebody asked for it (`KEEP`, `STOP`)."""
        try:
            os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except OSError:
            return False
        return True

    def note_end(self, status: int | None, reason: str) -> None:
        """Say how the job ended."""
        import json  # what starts with every command does without it

        try:
            descriptor = self._made(ENDED)
            os.write(descriptor, json.dumps({"status": status, "reason": reason}).encode())
            os.close(descriptor)
        except OSError:  # its supervisor is gone then, which says it too
            pass


def read_sizes(folder: str) -> dict[str, int]:
    """Return how many bytes each stream had printed at the last word; none where nothing was noted."""
    try:
        with open(os.path.join(folder, SIZES), "rb") as file:
            return dict(zip(STREAMS, _SIZES.unpack(file.read(_SIZES.size)), strict=True))
    except (OSError, struct.error):
        return dict.fromkeys(STREAMS, 0)
