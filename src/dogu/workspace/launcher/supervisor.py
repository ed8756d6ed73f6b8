"""One command's supervisor: a small process that starts it, takes its output, watches the time and ends what it left.

A supervisor is the subreaper of its command, so that no descendant can leave it, whatever it forks, detaches or clears.
It runs in a process of its own (forked by the launcher), talks over one socket, and ends everything when that socket
closes: when this program goes, however it goes, nothing that it started stays. Standard library only.
"""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import time
from typing import TYPE_CHECKING, Any

from dogu.workspace.launcher import child, tree
from dogu.workspace.launcher.descriptors import KEYS, waking_pipe, widen
from dogu.workspace.launcher.family import MARK, Sweep, family_of
from dogu.workspace.launcher.inside import Inside
from dogu.workspace.launcher.job_folder import KEEP, STOP, JobFolder
from dogu.workspace.launcher.packets import Packets
from dogu.workspace.launcher.ring import OutputRing
from dogu.workspace.launcher.telling import AT_LAST_S, SOON_S, Telling
from dogu.workspace.launcher.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dogu.workspace.launcher.notices import Notices
    from dogu.workspace.launcher.renames import Renames
    from dogu.workspace.launcher.writes import Writes

GRACE_S = 2.0  # between SIGTERM and SIGKILL
LINGER_S = 0.2  # what the foreground's end leaves to late writers
_GIVE_UP_S = 5.0  # after SIGKILL: a process stuck in the kernel
_READ_BYTES = 256 * 1024
_MOST_BYTES_AFTER_END = 4 * 1024 * 1024
_SCREEN = re.compile(rb"\x1b\[\d+;\d+H|\x1b\[\?(?:47|1047|1049)h")
_DRAWN_IDLE_S = 10.0  # a command that drew a screen and then waits for keys, though it has no terminal


class Supervisor:
    """Keeps one command from start to the end of its last descendant; `run` is the whole life.

    Ordered with streams of its own, the command writes to the descriptors that came with the order, and nothing of it
    is kept; it is told when it runs.
    """

    def __init__(self, control: Packets, order: dict[str, Any], descriptors: dict[str, int]) -> None:
        self._control = control
        self._order = order
        self._has_own_streams = order.get("has_own_streams", False)
        kept = () if self._has_own_streams else ("stdout", "stderr")
        self._rings = {stream: OutputRing(descriptors[stream]) for stream in kept}
        self._descriptors = descriptors
        self._pipes: dict[int, str] = {}
        self._terminal: Terminal | None = None
        self._draws = False
        self._inside: Inside | None = None
        self._renames: Renames | None = None
        self._writes: Writes | None = None
        self._poller = select.poll()
        self._pid = self._command_pid = 0
        self._status: int | None = None
        # foreground -> linger -> background, or asking -> killing, then over. Linger: a shell may end before the last
        # line of what it piped into has arrived. Asking (SIGTERM) comes before killing, so that a program can put its
        # files in order; killing gives up at last: a process stuck in the kernel would keep the whole call waiting.
        self._phase = "foreground"
        self._phase_until = 0.0
        self._reason = ""
        self._asked: set[int] = set()
        self._told = False
        self._folder: JobFolder | None = None
        self._telling = Telling(control)
        self._last_output = self._started = time.monotonic()
        self._tasks_before = tree.task_count()
        self._family = family_of(order["mark"])
        if isinstance(self._family, Sweep):
            order["environment"][MARK] = order["mark"]

    def run(self) -> bool:
        """Start the command and stay until nothing of it is left; whether nothing is left in this process either."""
        wake_read, wake_write = waking_pipe()
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        if not self._start():
            self._telling.flush(AT_LAST_S)
            return False
        inside = (self._inside.near,) if self._inside else ()
        notices = (self._notices.listener,) if self._notices and self._notices.listener >= 0 else ()
        for descriptor in (wake_read, self._control.fileno(), *self._pipes, *inside, *notices):
            self._poller.register(descriptor, select.POLLIN)
        while self._phase != "over":
            for descriptor, event in self._poller.poll(self._wait_ms()):
                if descriptor == wake_read:
                    _discard(wake_read)
                else:
                    self._hear(descriptor, event)
            self._turn(time.monotonic())
            self._telling.flush()
            if self._terminal:
                self._terminal.flush()
        if self._folder:
            self._folder.note_end(self._status, self._reason)
        self._telling.flush(AT_LAST_S)
        return self._let_go(wake_read, wake_write)

    def _let_go(self, *wakers: int) -> bool:
        """Close what was opened for the command; False, with nothing closed, where that was more than for most.

        A job's folder is one of these: other programs take this process's life for the job's.
        """
        has_more = self._order.get("terminal") or self._folder or self._inside or self._writes
        if has_more or self._pipes or (self._notices and self._notices.listener >= 0):
            return False
        signal.set_wakeup_fd(-1)
        self._control.close()
        for descriptor in (*wakers, *(ring.descriptor for ring in self._rings.values())):
            os.close(descriptor)
        return True

    def _hear(self, descriptor: int, event: int) -> None:
        if self._notices and descriptor == self._notices.listener:
            self._answer(self._notices, event)
        elif descriptor in self._pipes:
            self._take(descriptor)
        elif self._inside and descriptor == self._inside.near:
            self._hear_inside(self._inside)
        else:
            self._listen()

    @property
    def _notices(self) -> Notices | None:
        return self._renames or self._writes

    def _answer(self, notices: Notices, event: int) -> None:
        if not (event & select.POLLIN and notices.answer()):
            self._poller.unregister(notices.listener)
            notices.close()

    def _start(self) -> bool:
        out_write, err_write = self._outputs()
        streams = (out_write if self._terminal else self._descriptors["stdin"], out_write, err_write)
        complaint = self._spawn(streams) if child.is_spawned(self._order) else self._fork(streams)
        if self._pid and complaint:
            os.waitpid(self._pid, 0)
        if complaint:
            number, step, *path = complaint.decode(errors="replace").split(" ", 2)
            self._telling.tell("failed", errno=int(number), step=step, path="".join(path))
            return False
        if self._notices:
            self._notices.started()
        if self._has_own_streams:
            self._telling.tell("running")
        return True

    def _spawn(self, streams: Sequence[int]) -> bytes:
        """Start the command; return what keeps it from being one, empty once it is."""
        self._telling.tell("begun", supervisor=os.getpid())  # it runs before its number can be told
        self._telling.flush(SOON_S)
        self._pid, complaint = child.spawned(self._order, self._descriptors["directory"], streams)
        self._command_pid = self._pid
        if self._pid:
            self._tell_started()
        self._close(streams)
        return complaint

    def _fork(self, streams: Sequence[int]) -> bytes:
        """As `_spawn`, where Python has things to do before it is the command."""
        near, far = socket.socketpair()
        self._make_ends(self._order["confinement"] or {})
        self._pid = self._command_pid = os.fork()
        if self._pid == 0:
            talk = self._inside.far if self._inside else None
            near.close()
            child.become(self._order, self._descriptors["directory"], streams, far.fileno(), talk)
        if isinstance(self._family, Sweep):
            self._family.leader = self._pid
        if self._inside:
            self._inside.started()
        self._tell_started()
        far.close()
        self._close(streams)
        with near:
            return child.let_go(self._pid, near)

    def _tell_started(self) -> None:
        self._telling.tell("started", pid=self._pid, supervisor=os.getpid(), mark=self._order["mark"])
        self._telling.flush(SOON_S)

    def _close(self, streams: Sequence[int]) -> None:
        """Close what the command has now, but for its terminal."""
        written = set[int]() if self._terminal else set(streams)
        for descriptor in {*written, self._descriptors["stdin"], self._descriptors["directory"]}:
            os.close(descriptor)

    def _make_ends(self, confinement: dict[str, Any]) -> None:
        """Make this side's ends of the talks with what stands between us and the command."""
        if confinement.get("outer") and not self._order["view"]:
            self._inside = Inside()
        if confinement.get("layers"):
            from dogu.workspace.launcher.renames import Renames

            self._renames = Renames(confinement["layers"])
        elif self._order.get("watched"):
            from dogu.workspace.launcher.writes import Writes

            self._writes = Writes(self._order["watched"], self._order.get("keeps"), self._order.get("before"))
        if self._notices:
            self._order["told_to"] = self._notices.far

    def _outputs(self) -> tuple[int, int]:
        """Return what the command writes to, standard output and standard error."""
        if self._has_own_streams:
            return self._descriptors["stdout"], self._descriptors["stderr"]
        if self._order.get("terminal"):
            self._terminal = Terminal(*self._order["terminal"])
            self._pipes = {self._terminal.master: "stdout"}
            return self._terminal.slave, self._terminal.slave
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        self._pipes = {out_read: "stdout", err_read: "stderr"}
        for descriptor in self._pipes:
            os.set_blocking(descriptor, False)
            widen(descriptor)
        return out_write, err_write

    def _hear_inside(self, inside: Inside) -> None:
        """Take the command over from the program that brought it into its sandbox."""
        self._poller.unregister(inside.near)
        self._inside = None
        said = inside.hear()
        if not said.isdigit():
            inside.close()
            self._reason = self._reason or said or "sandbox"
            return
        # With numbers of its own, the program between is its init. With a terminal it leads the session: were it to
        # go, the terminal would hang up.
        if self._order["confinement"]["has_own_processes"] or self._terminal:
            inside.release(0)
        else:
            inside.release(self._pid)
            self._command_pid = int(said)

    def _take(self, descriptor: int) -> bool:
        """Read what one pipe holds, once; False at its end or when it is empty."""
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:  # a terminal that nobody has open any more
            data = b""
        stream = self._pipes[descriptor]
        if not data:
            self._poller.unregister(descriptor)
            del self._pipes[descriptor]
            self._terminal = None
            os.close(descriptor)
            return False
        self._draws = self._draws or bool(not self._terminal and _SCREEN.search(data))
        self._rings[stream].write(data)
        if self._folder:
            self._note_sizes(self._folder)
        self._last_output = time.monotonic()
        if self._order["live"] and not self._told:
            self._telling.keep_live(stream, data)
        return True

    def _listen(self) -> None:
        """Hear one word from the program; its end of the socket closed means end, unless the job is to be kept."""
        try:
            word, descriptors = self._control.receive()
        except BlockingIOError:
            return
        if not word:
            self._left_alone()
        elif word == b"folder" and descriptors:
            self._move_into(descriptors[0])
        else:
            self._obey(word)
        if word and self._control.has_more:
            self._listen()

    def _obey(self, word: bytes) -> None:
        """Do what a word says: status, written, release, keys for the terminal; end, as any other."""
        if word == b"status":
            self._telling.tell("status", **self._state())
        elif word == b"written":
            self._tell_written()
            self._telling.tell("told")
        elif word == b"release":
            self._release("asked")
        elif not word.startswith(KEYS):
            self._end("ended")
        elif self._terminal:
            self._terminal.type(word[len(KEYS) :])

    def _left_alone(self) -> None:
        self._poller.unregister(self._control.fileno())
        if not (self._folder and self._folder.is_wanted(KEEP)):
            self._end("closed")  # what it does until then is noted
        elif self._writes:
            self._writes.stop()

    def _release(self, why: str) -> None:
        """Let the command go on in the background, as if it had been started with `&`: its call ends now."""
        if self._phase in ("foreground", "linger") and not self._told:
            self._finish(self._reap(), moved=why)

    def _move_into(self, descriptor: int) -> None:
        """Go on printing into a folder's files, in which others find the job."""
        os.set_inheritable(descriptor, False)
        try:
            folder = JobFolder(descriptor)
            for stream, ring in self._rings.items():
                ring.copy_to(folder.outputs[stream])
        except OSError as error:
            self._telling.tell("unmoved", errno=error.errno or 0)
            return
        for stream, ring in self._rings.items():
            ring.go_on_in(folder.outputs[stream])
        self._folder = folder
        self._note_sizes(folder)
        self._telling.tell("moved", supervisor=os.getpid())

    def _note_sizes(self, folder: JobFolder) -> None:
        folder.note_sizes(self._rings["stdout"].total_bytes, self._rings["stderr"].total_bytes)

    def _turn(self, now: float) -> None:
        """Take one step: reap, look at the clocks, move to the next phase."""
        is_alone = self._reap()
        if self._writes:
            self._writes.hear()
        if self._phase == "foreground":
            self._watch(now)
        if self._phase not in ("asking", "killing") and self._is_flood():
            self._end("processes")
        if self._phase == "linger" and (now >= self._phase_until or (is_alone and not self._pipes)):
            self._finish(is_alone)
        if self._phase == "background":
            self._mind_background(is_alone)
        if self._phase in ("asking", "killing"):
            self._press(now, is_alone)
        if not self._told:
            self._telling.tell_live(now, self._bytes())

    def _mind_background(self, is_alone: bool) -> None:
        if is_alone:
            self._finish(is_alone)
        elif self._folder and self._folder.is_wanted(STOP):
            self._end("ended")

    def _reap(self) -> bool:
        """Collect every child that ended, our own and adopted ones; True when no descendant is left at all."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not (isinstance(self._family, Sweep) and self._family.lives())
            if pid == 0:
                return False
            if pid == self._command_pid:
                self._status = status
                if self._terminal:
                    self._terminal.let_go()

    def _watch(self, now: float) -> None:
        limit_s, idle_s = self._order["timeout_s"], self._order["idle_timeout_s"]
        if self._status is not None:
            self._phase, self._phase_until = "linger", now + LINGER_S
        elif limit_s and now - self._started >= limit_s:
            if self._order.get("is_released_in_time"):
                self._release("timeout")
            else:
                self._end("timeout")
        elif self._draws and now - self._last_output >= _DRAWN_IDLE_S:
            self._end("screen")
        elif idle_s and now - self._last_output >= idle_s:
            self._end("idle")

    def _is_flood(self) -> bool:
        """Whether too many processes live; what might be a flood stands still while it is counted."""
        most = self._order["max_processes"]
        if isinstance(self._family, Sweep):
            return len(self._family.known()) >= most
        if tree.task_count() - self._tasks_before < most:
            return False
        supervisor = os.getpid()
        first = tree.children(supervisor)
        tree.signal_groups(first, signal.SIGSTOP)
        if len(tree.descendants(supervisor, at_most=most)) >= most:
            return True
        tree.signal_groups(first, signal.SIGCONT)
        return False

    def _end(self, reason: str) -> None:
        """Begin to end everything; a flood of processes isn't asked first."""
        self._reason = self._reason or reason
        if self._phase in ("asking", "killing"):
            return
        now = time.monotonic()
        self._phase, self._phase_until = "asking", now + self._order.get("grace_s", GRACE_S)
        if reason == "processes":
            self._phase_until = now

    def _press(self, now: float, is_alone: bool) -> None:
        if is_alone:
            self._finish(is_alone)
            return
        if self._phase == "asking" and now < self._phase_until:
            newcomers = [pid for pid in self._family.members(at_once=False) if pid not in self._asked]
            self._asked.update(newcomers)
            tree.ask_to_end(newcomers)
            return
        if self._phase == "asking":
            self._phase, self._phase_until = "killing", now + _GIVE_UP_S
        self._family.kill()
        if now >= self._phase_until and not self._told:
            self._finish(is_alone, then="killing")

    def _finish(self, is_alone: bool, then: str = "background", moved: str = "") -> None:
        """Tell the end: of the foreground the first time, of the last background process the second."""
        self._drain()
        self._telling.tell_live(None, self._bytes())
        self._tell_written()
        self._telling.tell("ended" if self._told else "done", moved=moved, **self._state())
        self._told = True
        self._phase = "over" if is_alone else then

    def _tell_written(self) -> None:
        for part in self._writes.take() if self._writes else ():
            self._telling.tell("written", **part)

    def _drain(self) -> None:
        before = sum(ring.total_bytes for ring in self._rings.values())
        for descriptor in [*self._pipes]:
            while self._take(descriptor):
                if sum(ring.total_bytes for ring in self._rings.values()) - before > _MOST_BYTES_AFTER_END:
                    break

    def _state(self) -> dict[str, Any]:
        return {
            "status": self._status,
            "reason": self._reason,
            "pids": self._family.members(),
            "bytes": self._bytes(),
            "foreground": self._terminal.foreground() if self._terminal else 0,
            "refused_rename": bool(self._renames and self._renames.refused),
            "parted_names": bool(self._renames and self._renames.parted),
            "failure": next((ring.failure for ring in self._rings.values() if ring.failure), ""),
        }

    def _bytes(self) -> dict[str, int]:
        return {stream: ring.total_bytes for stream, ring in self._rings.items()}

    def _wait_ms(self) -> int:
        if self._phase == "background":
            return 500
        if self._phase in ("asking", "killing"):
            return 10 if not self._told else 200
        if self._phase == "linger":
            return 20
        if tree.task_count() - self._tasks_before > self._order["max_processes"] // 4:
            return 20
        return 500 if self._has_own_streams else 50 if self._telling.has_live else 100


def _discard(descriptor: int) -> None:
    try:
        os.read(descriptor, 4096)
    except BlockingIOError:
        pass
