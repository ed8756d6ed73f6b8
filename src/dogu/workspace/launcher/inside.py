"""How a command that another program brings into its sandbox (bubblewrap) comes under its supervisor's own eye.

A few words of shell stand between: they run inside, compare the directory they stand in with the one that was opened
(the program resolves its path anew, which can be swapped meanwhile), tell their process's number, wait for a word and
become the command. The supervisor ends the program that stood between; the command is its own child then, and how it
ended is seen exactly. Standard library only: supervisors run this.
"""

from __future__ import annotations

import os
import signal
import socket
from functools import cache

TALK_NUMBER, DIRECTORY_NUMBER = 8, 9  # single digits: a shell's redirections take no more
_ABOVE = 20
_REPORT_BYTES = 64
MOVED = "moved"

# `[ -ef ]` is no part of POSIX, and known to dash, bash, busybox, ksh and zsh; `works` of bubblewrap tries it.
SHIM = (
    "/bin/sh",
    "-c",
    f"[ . -ef /proc/self/fd/{DIRECTORY_NUMBER} ] || {{ echo {MOVED} >&{TALK_NUMBER}; exit 125; }}; "
    f"echo $$ >&{TALK_NUMBER}; read -r go <&{TALK_NUMBER} || exit 125; "
    f'unset go; exec {TALK_NUMBER}>&- {DIRECTORY_NUMBER}<&- "$@"',
    "dogu",
)
"""The words to put before a command; it must be started with both descriptors."""


_HEEDING = ("/usr/bin/env", "--default-signal=INT,QUIT,TSTP")


@cache
def heeding() -> tuple[str, ...]:
    """Return the words before a command that give it the signals of a terminal's keys back; () if `env` can't here.

    The program that stands between hears those keys too, and ignores them: it would end, and the command with it.
    """
    nothing = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in range(3)]
    try:
        pid = os.posix_spawn(_HEEDING[0], [*_HEEDING, "true"], {"PATH": os.defpath}, file_actions=nothing)
    except OSError:
        return ()
    return _HEEDING if os.waitpid(pid, 0)[1] == 0 else ()


def hand_over(talk: int, directory: int, *kept: int) -> list[int]:
    """Put both descriptors where the shim looks for them; return where those of `kept` have gone meanwhile.

    Between fork and exec: what else is open at these numbers is closed.
    """
    import fcntl

    moved = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for each in (talk, directory, *kept)]
    os.dup2(moved[0], TALK_NUMBER, inheritable=True)
    os.dup2(moved[1], DIRECTORY_NUMBER, inheritable=True)
    return moved[2:]


class Inside:
    """The supervisor's end of the talk with a shim."""

    def __init__(self) -> None:
        self._near, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)

    @property
    def far(self) -> int:
        """The descriptor for the command's side, until it is started."""
        return self._far.fileno()

    @property
    def near(self) -> int:
        """The descriptor that is readable once the shim has spoken, or is gone."""
        return self._near.fileno()

    def started(self) -> None:
        """Let go of the command's side: its end is the end of the talk."""
        self._far.close()

    def hear(self) -> str:
        """Return what the shim says: its number, or that the directory was moved; "" when it never came to be."""
        try:
            return self._near.recv(_REPORT_BYTES).decode(errors="replace").strip()
        except OSError:
            return ""

    def release(self, between: int) -> None:
        """Let the command begin; the process `between`, if it isn't 0, is ended first: its child becomes ours."""
        if between:
            os.kill(between, signal.SIGKILL)
            os.waitpid(between, 0)
        try:
            self._near.send(b"go\n")
        except OSError:  # it was killed already
            pass
        self._near.close()

    def close(self) -> None:
        """End the talk: a shim that still waits gives up."""
        self._near.close()
