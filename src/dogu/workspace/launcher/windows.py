"""One command's supervisor on Windows: a process that holds the command in a job object, which nothing of it can leave.

The counterpart of `launcher`, `supervisor` and `child` elsewhere: one program, started by `process.windows` for each
command, that is told what to run over a socket. The command begins suspended and is put into its job before it does
anything; the system ends the whole job when the last handle to it is closed, and that is this process's. So whatever
happens to this program or to dogu, nothing stays. Standard library only.
"""

from __future__ import annotations

import _winapi
import marshal
import msvcrt
import os
import re
import select
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from dogu.workspace.launcher.descriptors import KEYS
from dogu.workspace.launcher.job_folder import KEEP, SIZES, STOP, STREAMS, JobFolder
from dogu.workspace.launcher.packets import Packets, is_ready
from dogu.workspace.launcher.ring import OutputRing
from dogu.workspace.launcher.telling import AT_LAST_S, SOON_S, Telling

assert sys.platform == "win32"

from dogu.workspace.launcher.job_object import (  # noqa: E402  (it has nothing for other systems)
    JobObject,
    PseudoConsole,
    console_code_page,
    open_shared,
    press_break,
    resume,
)

_GRACE_S = 2.0  # between Ctrl-Break and the end of the job
_LINGER_S = 0.2
_GIVE_UP_S = 5.0
_READ_BYTES = 256 * 1024
_PIPE_BYTES = 1024 * 1024
_SCREEN = re.compile(rb"\x1b\[\d+;\d+H|\x1b\[\?(?:47|1047|1049)h")
_DRAWN_IDLE_S = 10.0
_CREATE_SUSPENDED, _CREATE_NEW_PROCESS_GROUP, _CREATE_UNICODE_ENVIRONMENT = 0x4, 0x200, 0x400


class _Folder(JobFolder):
    """A job's folder by its path: Windows opens nothing beneath a folder's handle."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._sizes = self._made(SIZES)
        self.outputs = {stream: self._made(stream) for stream in STREAMS}

    def _made(self, name: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_BINARY | os.O_NOINHERIT
        return os.open(os.path.join(self._folder, name), flags, 0o600)

    def is_wanted(self, name: str) -> bool:
        """Whether somebody asked for it (`KEEP`, `STOP`)."""
        return os.path.lexists(os.path.join(self._folder, name))


class Supervisor:
    """Keeps one command from start to the end of its last descendant; `run` is the whole life."""

    def __init__(self, control: Packets, order: dict[str, Any]) -> None:
        self._control = control
        self._order = order
        self._has_own_streams = bool(order.get("streams"))
        self._job = JobObject(order["max_processes"], order["max_memory_bytes"])
        self._lock = threading.Lock()  # of what the threads that read the pipes share with this one
        self._rings = {} if self._has_own_streams else {name: OutputRing(open_shared(order[name])) for name in STREAMS}
        self._telling = Telling(control)
        self._readers: list[threading.Thread] = []
        self._last_output = self._started = time.monotonic()
        self._draws = False
        self._wake_read, self._wake_write = socket.socketpair()
        self._process = self._pid = 0
        self._status: int | None = None
        self._phase = "foreground"  # as elsewhere: foreground, linger, background, asking, killing, over
        self._phase_until = 0.0
        self._reason = ""
        self._told = False
        self._hears = True
        self._folder: _Folder | None = None
        self._console = PseudoConsole(*order["terminal"]) if order.get("terminal") else None

    def run(self) -> None:
        """Start the command and stay until nothing of it is left."""
        try:
            self._start()
        except OSError as error:
            self._tell("failed", errno=error.errno or 0, step="exec", reason=error.strerror or str(error))
            self._telling.flush(AT_LAST_S)
            return
        self._tell("started", pid=self._pid)
        if self._has_own_streams:
            self._tell("running")
        while self._phase != "over":
            self._listen(self._wait_s())
            self._turn(time.monotonic())
        if self._folder:
            self._folder.note_end(self._status, self._reason)
        self._telling.flush(AT_LAST_S)

    # the command

    def _start(self) -> None:
        order = self._order
        if self._console:
            made = self._console.start(order["program"], order["line"], order["environment"], order["directory"])
            self._process, thread, self._pid = made
            outputs = {"stdout": self._console.output}
        else:
            thread, outputs = self._start_with_streams(list(order["streams"] or ()))
        try:
            self._job.take(self._process)
        except OSError:
            _winapi.TerminateProcess(self._process, 1)
            raise
        for stream, descriptor in outputs.items():
            self._readers.append(self._thread(self._read, stream, descriptor))
        self._thread(self._wait_for_it)
        resume(thread)
        _winapi.CloseHandle(thread)

    def _start_with_streams(self, given: list[int]) -> tuple[int, dict[str, int]]:
        """Start it, suspended, with the streams given, or with pipes; return its thread, and what to read of them."""
        order = self._order
        pipes: dict[str, int] = {}
        if not given:
            source, feed = _winapi.CreatePipe(None, 0)
            given.append(source)
            for stream in STREAMS:
                reader, writer = _winapi.CreatePipe(None, _PIPE_BYTES)
                pipes[stream] = msvcrt.open_osfhandle(reader, os.O_RDONLY)
                given.append(writer)
            self._feed(feed, order["stdin"])
        for handle in given:
            os.set_handle_inheritable(handle, True)
        start = subprocess.STARTUPINFO(
            dwFlags=subprocess.STARTF_USESTDHANDLES,
            hStdInput=given[0],
            hStdOutput=given[1],
            hStdError=given[2],
            lpAttributeList={"handle_list": [*dict.fromkeys(given)]},
        )
        flags = _CREATE_SUSPENDED | _CREATE_NEW_PROCESS_GROUP | _CREATE_UNICODE_ENVIRONMENT
        try:
            self._process, thread, self._pid, _ = _winapi.CreateProcess(
                order["program"],
                order["line"],
                None,
                None,
                True,
                flags,
                order["environment"],
                order["directory"],
                start,
            )
        finally:
            for handle in given:
                _winapi.CloseHandle(handle)
        return thread, pipes

    def _thread(self, act: Any, *args: Any) -> threading.Thread:
        thread = threading.Thread(target=act, args=args, daemon=True)
        thread.start()
        return thread

    def _feed(self, handle: int, data: bytes) -> None:
        """Write standard input, and close it: with nothing to write, the command finds its end at once."""
        descriptor = msvcrt.open_osfhandle(handle, os.O_WRONLY)

        def feed() -> None:
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(descriptor, rest[:_READ_BYTES]) :]
            except OSError:  # it doesn't read on
                pass
            finally:
                os.close(descriptor)

        if data:
            self._thread(feed)
        else:
            os.close(descriptor)

    def _wait_for_it(self) -> None:
        _winapi.WaitForSingleObject(self._process, _winapi.INFINITE)
        self._wake()

    def _read(self, stream: str, descriptor: int) -> None:
        while True:
            try:
                data = os.read(descriptor, _READ_BYTES)
            except OSError:
                data = b""
            if not data:
                os.close(descriptor)
                self._wake()
                return
            with self._lock:
                is_first = self._take(stream, data)
            if is_first:
                self._wake()

    def _take(self, stream: str, data: bytes) -> bool:
        """Keep what was printed; whether it is the first that is to be shown live."""
        self._draws = self._draws or bool(not self._console and _SCREEN.search(data))
        self._rings[stream].write(data)
        if self._folder:
            self._folder.note_sizes(self._rings["stdout"].total_bytes, self._rings["stderr"].total_bytes)
        self._last_output = time.monotonic()
        if not self._order["live"] or self._told:
            return False
        is_first = not self._telling.has_live
        self._telling.keep_live(stream, data)
        return is_first

    def _wake(self) -> None:
        try:
            self._wake_write.send(b"x")
        except OSError:
            pass

    # the talk

    def _listen(self, wait_s: float) -> None:
        ends = [self._wake_read, *([self._control.socket] if self._hears else [])]
        ready = select.select(ends, [], [], wait_s)[0]
        if self._wake_read in ready:
            self._wake_read.recv(4096)
        if self._control.socket not in ready:
            return
        try:
            while self._hears:
                word, _ = self._control.receive()
                self._obey(word)
        except BlockingIOError:
            pass

    def _obey(self, word: bytes) -> None:
        if not word:  # nobody is there any more: that ends it, unless it is to be kept
            self._hears = False
            if not (self._folder and self._folder.is_wanted(KEEP)):
                self._end("closed")
        elif word == b"status":
            self._tell("status", **self._state())
        elif word == b"release":
            self._release("asked")
        elif word.startswith(KEYS):
            if self._console:
                self._console.type(word[len(KEYS) :])
        elif word.startswith(b"folder\0"):
            self._move_into(os.fsdecode(word[len(b"folder\0") :]))
        else:
            self._end("ended")

    def _move_into(self, path: str) -> None:
        try:
            folder = _Folder(path)
            with self._lock:
                for stream, ring in self._rings.items():
                    ring.copy_to(folder.outputs[stream])
                    ring.go_on_in(folder.outputs[stream])
                folder.note_sizes(self._rings["stdout"].total_bytes, self._rings["stderr"].total_bytes)
                self._folder = folder
        except OSError:
            self._tell("unmoved")
            return
        self._tell("moved", supervisor=os.getpid())

    def _release(self, why: str) -> None:
        if self._phase in ("foreground", "linger") and not self._told:
            self._finish(is_alone=False, moved=why)

    def _tell(self, event: str, **facts: Any) -> None:
        self._telling.tell(event, **facts)
        self._telling.flush(SOON_S)

    # the clock

    def _turn(self, now: float) -> None:
        self._reap()
        is_alone = self._phase != "foreground" and not self._job.pids()
        if is_alone and self._console:
            self._console.close()
        if self._phase == "foreground":
            self._watch(now)
        if self._phase not in ("asking", "killing") and self._is_flood():
            self._end("processes")
        if self._phase == "linger" and (now >= self._phase_until or (is_alone and not self._is_read())):
            self._finish(is_alone)
        if self._phase == "background":
            self._mind_background(is_alone)
        if self._phase in ("asking", "killing"):
            self._press(now, is_alone)
        self._telling.flush()
        if not self._told:
            self._send_live(now)

    def _mind_background(self, is_alone: bool) -> None:
        if is_alone:
            self._finish(is_alone)
        elif self._folder and self._folder.is_wanted(STOP):
            self._end("ended")

    def _is_read(self) -> bool:
        return any(reader.is_alive() for reader in self._readers)

    def _reap(self) -> None:
        if self._status is None and _winapi.WaitForSingleObject(self._process, 0) == _winapi.WAIT_OBJECT_0:
            self._status = _winapi.GetExitCodeProcess(self._process)

    def _is_flood(self) -> bool:
        most = self._order["max_processes"]
        return bool(most) and self._job.count() >= most

    def _watch(self, now: float) -> None:
        limit_s, idle_s = self._order["timeout_s"], self._order["idle_timeout_s"]
        if self._status is not None:
            self._phase, self._phase_until = "linger", now + _LINGER_S
        elif limit_s and now - self._started >= limit_s:
            if self._order["is_released_in_time"]:
                self._release("timeout")
            else:
                self._end("timeout")
        elif self._draws and now - self._last_output >= _DRAWN_IDLE_S:
            self._end("screen")
        elif idle_s and now - self._last_output >= idle_s:
            self._end("idle")

    def _end(self, reason: str) -> None:
        """Begin to end everything: Ctrl-Break lets programs put their files in order; a flood isn't asked."""
        self._reason = self._reason or reason
        if self._phase in ("asking", "killing"):
            return
        is_asked = reason != "processes" and self._is_asked_to_end()
        self._phase = "asking"
        self._phase_until = time.monotonic() + (self._order["grace_s"] if is_asked else 0.0)

    def _is_asked_to_end(self) -> bool:
        """Press Ctrl-Break, in a terminal Ctrl-C; False where that can't be."""
        if self._console:
            self._console.type(b"\x03")
        return bool(self._console) or press_break(self._pid)

    def _press(self, now: float, is_alone: bool) -> None:
        if is_alone:
            self._finish(is_alone)
        elif self._phase == "killing":
            if now >= self._phase_until and not self._told:
                self._finish(is_alone, then="killing")
        elif now >= self._phase_until:
            self._phase, self._phase_until = "killing", now + _GIVE_UP_S
            self._job.end()

    def _finish(self, is_alone: bool, then: str = "background", moved: str = "") -> None:
        """Tell the end: of the foreground the first time, of the last background process the second."""
        if is_alone:
            for reader in self._readers:
                reader.join(_LINGER_S)
        self._reap()
        self._send_live(None)
        self._tell("ended" if self._told else "done", moved=moved, **self._state())
        self._told = True
        self._phase = "over" if is_alone else then

    def _send_live(self, now: float | None) -> None:
        with self._lock:
            self._telling.tell_live(now, self._bytes())
        self._telling.flush()

    def _state(self) -> dict[str, Any]:
        with self._lock:
            totals = self._bytes()
            failure = next((ring.failure for ring in self._rings.values() if ring.failure), "")
        return {
            "status": self._status,
            "reason": self._reason,
            "pids": self._job.pids(),
            "bytes": totals,
            "foreground": 0,
            "failure": failure,
            "code_page": console_code_page(),
        }

    def _bytes(self) -> dict[str, int]:
        return {stream: ring.total_bytes for stream, ring in self._rings.items()}

    def _wait_s(self) -> float:
        if self._phase == "background":
            return 0.5
        if self._phase in ("asking", "killing"):
            return 0.02
        return 0.02 if self._phase == "linger" else 0.05 if self._telling.has_live else 0.1


def main() -> None:
    """Take the socket that standard input describes, the order from it, and run it."""
    size = int.from_bytes(sys.stdin.buffer.read(4), "little")
    described = sys.stdin.buffer.read(size)
    if not size or len(described) < size:
        return
    control = Packets(socket.fromshare(described))
    while True:
        is_ready(control.socket, None)
        try:
            packed, _ = control.receive()
            break
        except BlockingIOError:
            continue
    if packed:
        Supervisor(control, marshal.loads(packed)).run()
