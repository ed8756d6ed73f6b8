"""The processes that a command has started, whatever they did since: found, counted and ended. Standard library only.

On Linux a supervisor is their subreaper, so that they are below it in `/proc`. Elsewhere there is no such thing: they
are those below it, those of the command's sessions, those seen before, and those that carry its mark in their
environment, as `ps` tells.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Protocol

from dogu.workspace.launcher import tree
from dogu.workspace.system import IS_LINUX, IS_MAC

MARK = b"DOGU_COMMAND"
"""The variable by which a command's processes are known where there is no subreaper."""
_MOST_SCANNED = 40_000
_CLOCK_S = 2.0  # starts are told in whole seconds
_LOOK_S = 0.2  # a look costs some 10 ms: not oftener, but for an end
_KNOWN_S = 1.0
_LOOKS_APART = 50  # of 50 jobs on a busy machine, each look takes half a second


class Family(Protocol):
    """All living processes that one command has started, but for its supervisor."""

    def end(self, until: float) -> None:
        """Kill until none lives any more, or a time on the monotonic clock has come."""
        while self.members() and time.monotonic() < until:
            self.kill()
            time.sleep(0.01)

    def members(self, *, at_once: bool = True) -> list[int]:
        """Return the living ones; a little old, if `at_once` is False."""
        ...

    def kill(self) -> None:
        """Send SIGKILL to all that can be found now."""
        ...


class Descendants(Family):
    """What is below a process that is its subreaper."""

    def __init__(self, subreaper: int) -> None:
        self._subreaper = subreaper

    def members(self, *, at_once: bool = True) -> list[int]:
        """See `Family`."""
        del at_once
        return tree.survivors(self._subreaper)

    def kill(self) -> None:
        """See `Family`."""
        tree.kill_below(self._subreaper)


class Session(Family):
    """What is left in a session, where its subreaper is gone."""

    def __init__(self, session: int) -> None:
        self._session = session

    def members(self, *, at_once: bool = True) -> list[int]:
        """See `Family`."""
        del at_once
        return tree.in_session(self._session)

    def kill(self) -> None:
        """See `Family`."""
        for pid in self.members():
            tree.send(pid, signal.SIGKILL)


class Sweep(Family):
    """What `ps`, sessions and a mark tell. `leader` is the command's first process, which leads a session.

    `supervisor`, when it isn't this process: what is below it is the command's.
    """

    def __init__(self, mark: bytes, began: float | None = None, supervisor: int | None = None, leader: int = 0) -> None:
        self.leader = leader
        self._supervisor = os.getpid() if supervisor is None else supervisor
        self._mark = mark
        self._began = time.time() if began is None else began
        self._known: dict[int, str] = {}
        self._sessions: set[int] = set()
        self._looked_at, self._look_took_s = time.monotonic(), 0.0
        self._members: list[int] = []

    def members(self, *, at_once: bool = True) -> list[int]:
        """Return the living ones."""
        now = time.monotonic()
        if at_once or now - self._looked_at >= _LOOK_S or not self._members:
            self._looked_at, self._members = now, self._look()
            self._look_took_s = time.monotonic() - now
        return self._members

    def known(self) -> list[int]:
        """Return those of the last look; it is repeated each second, or for a fiftieth of the time."""
        if time.monotonic() - self._looked_at >= max(_KNOWN_S, self._look_took_s * _LOOKS_APART):
            self.members()
        return self._members

    def lives(self) -> bool:
        """Whether any lives. `ps` is asked at once only where all that are known have gone."""
        return any(map(tree.lives, self.known())) or bool(self.members(at_once=False))

    def kill(self) -> None:
        """Send SIGKILL, to groups first; those that were started meanwhile are found the next time."""
        found = self.members()
        tree.signal_groups(found, signal.SIGKILL)
        for pid in found:
            tree.send(pid, signal.SIGKILL)

    def _look(self) -> list[int]:
        rows = _processes()
        if not rows:
            return self._in_session()
        own, is_member = os.getpid(), {self._supervisor}
        self._sessions |= {self.leader} - {0}
        found: list[int] = []
        grown = True
        while grown:  # a child may stand before its parent
            grown = False
            for pid, row in rows.items():
                if pid not in is_member and self._belongs(pid, row, is_member):
                    is_member.add(pid)
                    found.append(pid)
                    grown = True
        self._known = {pid: rows[pid].born for pid in found}
        self._sessions |= {session for pid in found if (session := _session(pid)) not in (0, _session(own))}
        return [pid for pid in found if not rows[pid].is_zombie]

    def _belongs(self, pid: int, row: _Row, is_member: set[int]) -> bool:
        """Whether a process is the command's; never one that was there before, whatever else speaks for it."""
        if pid <= 1 or row.is_own_helper or row.born_at < self._began - _CLOCK_S:
            return False
        is_seen = self._known.get(pid) == row.born
        if row.parent in is_member or is_seen or self._mark in row.words:
            return True
        # Session 0 is no session: what was started from outside of this space of processes, and what is gone by now.
        return _session(pid) in self._sessions - {0}

    def _in_session(self) -> list[int]:
        """Without `ps`: the processes of the command's session, by asking of each number that was given out since."""
        newest = _newest_pid()
        numbers = range(self.leader, newest + 1) if newest >= self.leader else [*range(2, newest + 1), self.leader]
        if self.leader <= 1:
            return []
        return [pid for pid in numbers[:_MOST_SCANNED] if _session(pid) == self.leader and tree.lives(pid)]


class _Row:
    def __init__(self, parent: int, state: str, born: str, words: bytes) -> None:
        self.parent = parent
        self.is_zombie = state.startswith(("Z", "X"))
        self.born = born
        self.born_at = _seconds(born)
        self.words = words
        self.is_own_helper = False


def _processes() -> dict[int, _Row]:
    """Return all processes, with their environment where that may be seen; none where `ps` can't tell."""
    import subprocess

    words = ["ps", "-axEww"] if IS_MAC else ["ps", "axeww"]
    command = [*words, "-o", "pid=,ppid=,stat=,lstart=,command="]
    environment, nothing = {"PATH": _PATH, "LC_ALL": "C"}, subprocess.DEVNULL
    try:
        with subprocess.Popen(
            command, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing, env=environment
        ) as process:
            out = process.communicate(timeout=10)[0]
    except (OSError, subprocess.SubprocessError):
        return {}
    rows: dict[int, _Row] = {}
    for line in out.splitlines():
        fields = line.split(None, 8)
        if len(fields) >= 8 and fields[0].isdigit() and fields[1].isdigit():
            born = b" ".join(fields[3:8]).decode("ascii", "replace")
            words_of = fields[8] if len(fields) > 8 else b""
            rows[int(fields[0])] = _Row(int(fields[1]), fields[2].decode("ascii", "replace"), born, words_of)
    if process.pid in rows:
        rows[process.pid].is_own_helper = True
    return rows if os.getpid() in rows else {}


_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


def _seconds(born: str) -> float:
    """Return a start as `ps` spells it in seconds since 1970; 0, long ago, for what can't be read."""
    try:
        return time.mktime(time.strptime(born, "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return 0.0


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _newest_pid() -> int:
    try:
        pid = os.fork()
    except OSError:  # there are too many
        return _MOST_SCANNED
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def family_of(mark: bytes) -> Family:
    """Return the family of a command that carries the mark."""
    return Descendants(os.getpid()) if IS_LINUX else Sweep(mark)


def new_mark() -> bytes:
    """Make a mark that no other command has."""
    return os.urandom(12).hex().encode()
