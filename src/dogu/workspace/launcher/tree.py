"""The processes below a process: found, and ended. Standard library only: a command's supervisor runs this."""

from __future__ import annotations

import os
import signal
from contextlib import suppress


def descendants(pid: int, at_most: int = 1_000_000) -> list[int]:
    """Return every process below `pid`, parents before children; zombies included, `pid` itself not.

    One pass is no snapshot: who ends everything asks again until nothing is left. Stops early past `at_most`.
    """
    found: list[int] = []
    waiting = [pid]
    while waiting and len(found) < at_most:
        below = children(waiting.pop())
        found += below
        waiting += below
    return found


def children(pid: int) -> list[int]:
    """Return the processes that any thread of `pid` started or adopted; none when it is gone."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as listing:
                found += map(int, listing.read().split())
        except OSError:
            continue
    return found


def is_zombie(pid: int) -> bool:
    """Whether the process has ended (or is gone), whether or not its parent has taken notice."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return True


def lives(pid: int) -> bool:
    """Whether there is such a process; one that has ended and isn't collected counts."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def survivors(pid: int) -> list[int]:
    """Return the living processes below `pid`."""
    return [child for child in descendants(pid) if not is_zombie(child)]


def in_session(session: int) -> list[int]:
    """Return the living processes of a session, as far as the system tells."""
    found: list[int] = []
    with suppress(OSError):
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            with suppress(OSError):
                if os.getsid(pid) == session and not is_zombie(pid):
                    found.append(pid)
    return found


def ask_to_end(pids: list[int]) -> None:
    """Send SIGTERM, and SIGCONT so that a stopped process hears it."""
    for pid in pids:
        send(pid, signal.SIGTERM)
        send(pid, signal.SIGCONT)


def kill_below(pid: int) -> None:
    """Send SIGKILL to everything below `pid` that can be found now.

    Whole process groups first: the kernel lets no member of a group fork past a signal to the group, so a flood of
    forks ends at once, where killing one by one would lose the race. The group of `pid` itself is left alone.
    """
    signal_groups(children(pid), signal.SIGKILL, but_of=pid)
    below = descendants(pid)
    signal_groups(below, signal.SIGKILL, but_of=pid)
    for found in below:
        send(found, signal.SIGKILL)


def signal_groups(pids: list[int], number: int, but_of: int = 0) -> None:
    """Send a signal to the process groups of these processes; never to our own group, nor to that of `but_of`."""
    told = {os.getpgrp()}
    with suppress(OSError):
        told.add(os.getpgid(but_of))
    for pid in pids:
        try:
            group = os.getpgid(pid)
            if group not in told:
                told.add(group)
                os.killpg(group, number)
        except OSError:
            continue


def send(pid: int, number: int) -> None:
    """Send a signal; one that is gone, or that we may not signal, is passed over."""
    try:
        os.kill(pid, number)
    except OSError:
        pass


def task_count() -> int:
    """Return how many threads the machine runs: one cheap read that shows a flood of processes."""
    try:
        with open("/proc/loadavg", "rb") as load:
            return int(load.read().split()[3].split(b"/")[1])
    except (OSError, IndexError, ValueError):
        return 0
