"""A pseudo-terminal of a command's own: opened by its supervisor, typed into by the program. Standard library only."""

from __future__ import annotations

import fcntl
import os
import struct
import termios

_MOST_WAITING_BYTES = 256 * 1024  # typed, and not yet read by anybody


class Terminal:
    """The supervisor's end. What is typed waits here until the command reads.

    The command's end is held open too while the command lives: when nobody has it open, the terminal hangs up, and ends
    a program that has closed its streams, as many do just before they exit.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.master, self.slave = os.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.set_blocking(self.master, False)
        self._waiting = b""
        self._is_held = True

    def let_go(self) -> None:
        """Hold the command's end no more: once the others have closed it, the terminal is over."""
        if self._is_held:
            self._is_held = False
            os.close(self.slave)

    def type(self, data: bytes) -> None:
        """Take keys; what nobody reads is bounded, and more of it is dropped."""
        self._waiting = (self._waiting + data)[:_MOST_WAITING_BYTES]
        self.flush()

    def flush(self) -> None:
        """Hand over as much as the terminal takes now."""
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self.master, self._waiting[:1024]) :]
        except BlockingIOError:
            pass
        except OSError:  # nobody has it open any more
            self._waiting = b""

    def foreground(self) -> int:
        """Return the process group that reads what is typed; 0 for none."""
        try:
            return os.tcgetpgrp(self.master)
        except OSError:
            return 0


def take(slave: int) -> None:
    """Make the terminal the session's own: between fork and exec, after `setsid`."""
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
