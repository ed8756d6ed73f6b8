"""A view that was made once, in which one command after another gets a copy of its own.

To copy a tree of mounts costs the kernel a tenth of what it costs to make one. What a command may write and nobody else
sees (terminals, shared memory) is laid over it anew in each copy. A kept view is used only while it is what would be
made now: the same words, no mount added or gone on the machine, and each place, outside and in the view, what it was.
Standard library only.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from dogu.workspace.launcher import view
from dogu.workspace.launcher.libc import libc
from dogu.workspace.launcher.packets import Packets, is_ready, pair
from dogu.workspace.launcher.view import Steps

_MADE_WITHIN_S = 30.0  # a place may lie on a file system that hangs
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0

_Identity: TypeAlias = tuple[int, int]


class KeptView:
    """One view, by the words it was made of; `enter` is for the process that becomes a command.

    `mounts` and `root` are those of the view, `places` what lies where something was laid.
    """

    def __init__(
        self, steps: Steps, root: int, mounts: int, namespaces: list[int], places: dict[str, _Identity]
    ) -> None:
        self.steps = steps
        self._root = root
        self._mounts, self._changes = mounts, _changes_of(mounts)
        self._namespaces = namespaces
        self._places = places

    def is_as_made(self) -> bool:
        """Whether all that was shown or laid over something lies where it lay, in the view and on the machine.

        A mount goes where somebody outside renames or replaces what it lies on; what lies below looks the same then.
        """
        try:
            return (
                not self._changes.poll(0)
                and _are_sources(self.steps, self._places)
                and all(
                    _identity(os.stat(place[1:], dir_fd=self._root, follow_symlinks=False)) == was
                    for place, was in self._places.items()
                )
            )
        except OSError:
            return False

    def enter(self, directory: int) -> None:
        """Leave the machine's file system for a copy of it, for good; as `view.enter`, which see."""
        coming = view.Coming(directory)
        for namespace in self._namespaces:
            if libc().setns(namespace, 0) != 0:
                raise OSError(ctypes.get_errno(), "view", "setns")
        view.part(self.steps)
        coming.settle(self.steps)

    def close(self) -> None:
        """Let go of it; who lives in a copy of it keeps that."""
        for descriptor in (*self._namespaces, self._root, self._mounts):
            os.close(descriptor)


class KeptViews:
    """The view of the last commands of one supervisor, made to be kept once a second one sees the same."""

    def __init__(self) -> None:
        self._kept: KeptView | None = None
        self._last: Steps = ()
        self._can = True
        self._changes = _changes_of(os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC))

    def of(self, steps: Steps) -> KeptView | None:
        """Return the view that these words would make now; None where it is to be made for one command."""
        if self._changes.poll(0) or self._last != steps:
            self._let_go()
            self._last = steps
            return None
        if self._kept is None and self._can:
            self._can = False  # once it couldn't be, nothing is lost but this try
            with suppress(OSError):
                self._kept = _made(steps)
                self._can = self._kept is not None and _works(self._kept)
        if self._kept is not None and (not self._can or self._changes.poll(0) or not self._kept.is_as_made()):
            self._let_go()
        return self._kept

    def _let_go(self) -> None:
        if self._kept is not None:
            self._kept.close()
        self._kept, self._last = None, ()


def _made(steps: Steps) -> KeptView | None:
    """Have a child make the view and hand its namespaces over; None where that can't be, or isn't as outside."""
    near, far = pair()

    def hand_over() -> None:
        user, group = os.geteuid(), os.getegid()
        proc = os.open("/proc", _FOLDER)
        view.leave(steps, user, group)
        view.make(steps)
        names = ("mnt",) if user == 0 else ("user", "mnt")
        namespaces = [os.open(f"self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc) for name in names]
        mounts = os.open("self/mountinfo", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
        places = {place: _identity(os.lstat(place)) for place in _places(steps)}
        if _are_sources(steps, places):
            Packets(far).send(marshal.dumps(places), (os.open("/", _FOLDER), mounts, *namespaces))

    pid = _forked(hand_over)
    far.close()
    line = Packets(near)
    data, descriptors = line.receive() if is_ready(near, _MADE_WITHIN_S) else (b"", [])
    line.close()
    _ended(pid, is_wanted=bool(data))
    if not data:
        return None
    root, mounts, *namespaces = descriptors
    return KeptView(steps, root, mounts, namespaces, marshal.loads(data))


def _works(kept: KeptView) -> bool:
    """Try it out in a child."""

    def enter() -> None:
        kept.enter(os.open("/usr", _FOLDER))

    return _ended(_forked(enter), is_wanted=True) == 0


def _forked(act: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            act()
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def _ended(pid: int, *, is_wanted: bool) -> int:
    """Wait for the end of a child, which is about to come; a command may have stopped it."""
    os.kill(pid, signal.SIGCONT if is_wanted else signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _changes_of(mounts: int) -> select.poll:
    """Return what tells of each mount that is added or goes, in a namespace whose list is open. Source: proc(5)."""
    poll = select.poll()
    poll.register(mounts, select.POLLPRI)
    return poll


def _places(steps: Steps) -> list[str]:
    """Return where the words lay something over what is there."""
    laid = [step[2] if step[0] in ("--bind", "--ro-bind") else step[1] for step in steps if step[0] in _LAYING]
    return [*dict.fromkeys(laid)]


_LAYING = ("--bind", "--ro-bind", "--tmpfs", "--dev")


def _are_sources(steps: Steps, places: dict[str, _Identity]) -> bool:
    """Whether what is bound to a place is what lies where it comes from."""
    return all(_identity(os.stat(step[1])) == places[step[2]] for step in steps if step[0] in ("--bind", "--ro-bind"))


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino
