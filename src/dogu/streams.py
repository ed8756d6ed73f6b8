"""The program's three standard streams as it needs them: there, able to hold any name, and no cause of another failure.

For `cli` alone; standard library only.
"""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from typing_extensions import Buffer


def open_closed_streams() -> None:
    """Open what the shell has closed, before a file of ours takes its place: there is no input, and errors go nowhere.

    A pipe that another program has made to keep no writer waiting does again. Standard output that is closed can't be
    written, which is told when something should be: what was asked for would be lost.
    """
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
        if descriptor and hasattr(os, "set_blocking"):  # Python's streams lose what such a pipe has no room for
            os.set_blocking(descriptor, True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  (as long as the program)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  (as above)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  (as above)


def prepare_streams() -> None:
    """Let any name or text be printed: what the stream can't hold is escaped, not fatal.

    What standard error can't take is lost, and the program's status stays what it was to be.
    """
    if sys.stderr is sys.__stderr__ and sys.stderr.encoding:
        written = io.BufferedWriter(_Unfailing(2), 1)
        sys.stderr = io.TextIOWrapper(written, sys.stderr.encoding, line_buffering=True, write_through=True)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  (text streams have it; a test's may not)


def give_up_output() -> None:
    """The reader went away: stop writing, and let the interpreter's last flush find nobody."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())


def is_of_output(error: OSError) -> bool:
    """Whether it is standard output that failed: then it fails again."""
    if error.filename is not None:
        return False
    try:
        os.write(sys.stdout.fileno(), b"\n")
    except (OSError, ValueError):
        return True
    return False


class _Unfailing(io.FileIO):
    """A descriptor that takes all it is given."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)

    def write(self, data: Buffer, /) -> int:
        """Write what can be written."""
        try:
            return super().write(data) or 0
        except OSError:
            return memoryview(data).nbytes
