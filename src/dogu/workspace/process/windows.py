"""Commands on Windows: the shells there are, what a command line is, and a supervisor's process for each command.

The counterpart of `launch`; the line to the supervisor is the same. What it does with a command
is in `launcher.windows`.
"""

from __future__ import annotations

import _winapi
import base64
import ctypes
import marshal
import msvcrt
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from ctypes import wintypes
from typing import Any

from anyio import CapacityLimiter, to_thread

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace.launcher import packets
from dogu.workspace.launcher.packets import Packets
from dogu.workspace.process.command import MAX_PROCESSES, ShellCommand
from dogu.workspace.process.launch import Launch
from dogu.workspace.process.supervisor_line import SupervisorLine
from dogu.workspace.process.talked_to import Start, TalkedTo, until_running
from dogu.workspace.system import path_of

assert sys.platform == "win32"

_PROGRAM = "import sys; sys.path.append({!r}); from dogu.workspace.launcher.windows import main; main()"
_CREATE_NEW_PROCESS_GROUP, _CREATE_NO_WINDOW = 0x200, 0x08000000
_LONGEST_FOR_CMD_CHARS = 8_191
_LONGEST_LINE_CHARS = 32_766
_DELETE_ON_CLOSE, _TEMPORARY, _SHARE_ALL, _CREATE_NEW = 0x04000000, 0x100, 7, 1
_STARTING_TAKES_S = 30.0
_GRACE_S = 2.0  # between Ctrl-Break and the end of the job
_PIECE_BYTES = 1 << 18
_NEVER_IN_BATCH = re.compile(r'["%!\r\n]')
SHELL_OPTIONS = ("/d", "/e:on", "/v:off", "/s", "/c")
"""No AutoRun; extensions as the judge of commands knows them; the text between the outer quotes is taken as it is."""


def command_line(command: ShellCommand) -> tuple[str | None, str]:
    """Return the program, None for the first of the words, and its whole command line. Raises `ToolError`."""
    if command.argv:
        place = command.directory
        folder = place if isinstance(place, str) else path_of(place)
        return _of_words(command.argv, command.environment, folder)
    if command.shell == "powershell":
        return _powershell(command)
    if command.shell == "bash":
        bash = git_bash(command.environment)
        if bash is None:
            raise _failed(told("Git Bash isn't here (tools.shell.program is bash)"))
        line = f"{subprocess.list2cmdline([bash, '-c'])} {_quoted(command.text)}"
        if len(line) > _LONGEST_LINE_CHARS:
            raise _too_long(_LONGEST_LINE_CHARS)
        return bash, line
    text = command.text.rstrip("\r\n")
    if re.search(r"[\r\n]", text):
        raise ToolError(
            ErrorKind.INVALID_ARGUMENTS,
            told("cmd.exe reads one line, and the command has several: join them by & or &&, or run a file."),
        )
    line = f'"{cmd_exe()}" {" ".join(SHELL_OPTIONS)} "{text}"'
    if len(line) > _LONGEST_FOR_CMD_CHARS:
        raise _too_long(_LONGEST_FOR_CMD_CHARS)
    return cmd_exe(), line


def cmd_exe() -> str:
    """The system's own shell, whatever COMSPEC says."""
    return os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "cmd.exe")


def git_bash(environment: Mapping[str, str]) -> str | None:
    """Where Git for Windows has its bash; System32's, which is another system's (WSL), is none."""
    folders = [environment.get(name, "") for name in ("PROGRAMFILES", "PROGRAMW6432", "LOCALAPPDATA")]
    usual = [os.path.join(folder, *rest) for folder in folders if folder for rest in (
        ("Git", "bin", "bash.exe"), ("Programs", "Git", "bin", "bash.exe"))]  # fmt: skip
    found = found_program("bash.exe", environment)
    if found is not None and "\\system32\\" not in found.lower() and "\\windowsapps\\" not in found.lower():
        usual.append(found)
    return next((path for path in usual if os.path.isfile(path)), None)


def _quoted(word: str) -> str:
    """Quote a word in any case: Git Bash's own start takes `'`, `*` and `@` for its own in one without quotes."""
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', word)
    backslashes = len(escaped) - len(escaped.rstrip("\\"))
    return f'"{escaped}{backslashes * chr(92)}"'


def _powershell(command: ShellCommand) -> tuple[str, str]:
    found = found_program("pwsh.exe", command.environment) or found_program("powershell.exe", command.environment)
    if found is None:
        raise _failed(told("PowerShell isn't here (tools.shell.program is powershell)"))
    encoded = base64.b64encode(command.text.encode("utf-16-le")).decode()
    options = ["-NoLogo", "-NoProfile", "-NonInteractive", "-OutputFormat", "Text", "-EncodedCommand", encoded]
    line = subprocess.list2cmdline([found, *options])
    if len(line) > _LONGEST_LINE_CHARS:
        raise _too_long(_LONGEST_LINE_CHARS)
    return found, line


def found_program(name: str, environment: Mapping[str, str]) -> str | None:
    """Find a program as Windows' shells do, but for the current folder: on the PATH, with the endings of PATHEXT."""
    endings = [each for each in environment.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";") if each]
    has_ending = os.path.splitext(name)[1].lower() in {each.lower() for each in endings}
    names = [name] if has_ending else [name + ending for ending in endings]
    folders = [""] if os.path.dirname(name) else environment.get("PATH", "").split(os.pathsep)
    for folder in folders:
        for each in names:
            path = os.path.join(folder.strip('"'), each)
            if (folder or os.path.dirname(name)) and os.path.isfile(path):
                return path
    return None


def _of_words(argv: Sequence[str], environment: Mapping[str, str], folder: str) -> tuple[str | None, str]:
    """A program and its words. A batch file is read by cmd.exe, which must find no more in them than words."""
    name = os.path.join(folder, argv[0]) if os.path.dirname(argv[0]) else argv[0]
    program = found_program(os.path.normpath(name), environment)
    if program is None:
        raise FileNotFoundError(2, os.strerror(2), argv[0])
    if not program.lower().endswith((".bat", ".cmd")):
        line = subprocess.list2cmdline([program, *argv[1:]])
        if len(line) > _LONGEST_LINE_CHARS:
            raise _too_long(_LONGEST_LINE_CHARS)
        return program, line
    odd = next((word for word in (program, *argv[1:]) if _NEVER_IN_BATCH.search(word)), None)
    if odd is not None:
        raise _failed(told("a batch file can't be given {word!r}", word=odd[:40]))
    words = " ".join(f'"{word}"' for word in (program, *argv[1:]))
    return cmd_exe(), f'"{cmd_exe()}" {" ".join(SHELL_OPTIONS)} "{words}"'


def _failed(why: str) -> ToolError:
    return ToolError(ErrorKind.START_FAILED, told("The command could not start: {why}.", why=why))


def _too_long(most: int) -> ToolError:
    message = told("It is too long for a command line ({most} characters): write it to a file and run that.", most=most)
    return ToolError(ErrorKind.INVALID_ARGUMENTS, message)


def windows_order(command: ShellCommand, *, is_live: bool) -> dict[str, Any]:
    """Return the command as its supervisor takes it. Raises `ToolError`."""
    if command.has_terminal and not hasattr(ctypes.windll.kernel32, "CreatePseudoConsole"):
        raise _failed(told("before Windows 10 1809 commands have no terminal: leave 'pty' out"))
    try:
        program, line = command_line(command)
    except OSError as error:
        raise _failed(f"{command.argv[0]}: {error.strerror}") from error
    return {
        "program": program,
        "line": line,
        "environment": dict(command.environment),
        "timeout_s": command.timeout_s,
        "idle_timeout_s": command.idle_timeout_s,
        "max_processes": command.max_processes,
        "max_memory_bytes": command.max_memory_bytes,
        "live": is_live or command.until is not None,
        "is_released_in_time": command.is_released_in_time,
        "grace_s": _GRACE_S,
        "terminal": command.terminal,
    }


class WindowsLaunch(Launch):
    """Starts a supervisor's process for each command; nothing is kept running between them."""

    def start(self) -> None:
        """There is nothing to start beforehand."""

    def order(self, order: dict[str, Any], directory: str | int, stdin: bytes) -> SupervisorLine:
        """Have a supervisor made for an order and return the line to it; the caller closes it. Raises `ToolError`."""
        outputs: dict[str, int] = {}
        names: dict[str, str] = {}
        try:
            for stream in ("stdout", "stderr"):
                names[stream], outputs[stream] = _unnamed_file()
            return self._supervised({**order, **names, "stdin": stdin, "streams": None}, directory, outputs)
        except BaseException as error:
            for descriptor in outputs.values():
                os.close(descriptor)
            if isinstance(error, OSError):
                raise _failed(error.strerror or str(error)) from error
            raise

    def open(
        self,
        order: dict[str, Any],
        directory: str | int,
        streams: Sequence[int],
        outputs: Mapping[str, int] | None = None,
    ) -> SupervisorLine:
        """Have a supervisor made for an order with these descriptors as its three streams. Raises `ToolError`."""
        try:
            return self._supervised({**order, "stdin": b""}, directory, dict(outputs or {}), streams)
        except OSError as error:
            raise _failed(error.strerror or str(error)) from error

    def close(self, *, wait: bool = True) -> None:
        """Each supervisor ends with its own line."""

    def _supervised(
        self, order: dict[str, Any], directory: str | int, outputs: dict[str, int], streams: Sequence[int] = ()
    ) -> SupervisorLine:
        if not sys.executable:
            raise _failed(told("that needs Python's program"))
        place = directory if isinstance(directory, str) else path_of(directory)
        source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        near, far = packets.pair()
        with far:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM.format(source)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=os.path.dirname(cmd_exe()),  # it must not keep the command's folder from being moved
                creationflags=_CREATE_NEW_PROCESS_GROUP | _CREATE_NO_WINDOW,
            )
            assert process.stdin is not None
            control = Packets(near)
            try:
                given = [_duplicated(each, process.pid) for each in streams] or None
                described = far.share(process.pid)
                process.stdin.write(len(described).to_bytes(4, "little") + described)
                process.stdin.close()
                packed = marshal.dumps({**order, "directory": os.path.normpath(place), "streams": given})
                control.send_waiting(packed, _STARTING_TAKES_S)
            except BaseException:
                near.close()
                process.kill()
                process.wait()
                raise
            process.returncode = 0  # it outlives this object, and ends with its line
        return SupervisorLine(control, outputs)


def _duplicated(descriptor: int, pid: int) -> int:
    """Give a descriptor's handle to another process; return its number there."""
    target = _winapi.OpenProcess(0x40, False, pid)  # PROCESS_DUP_HANDLE
    try:
        handle = msvcrt.get_osfhandle(descriptor)
        return _winapi.DuplicateHandle(
            _winapi.GetCurrentProcess(), handle, target, 0, False, _winapi.DUPLICATE_SAME_ACCESS
        )
    finally:
        _winapi.CloseHandle(target)


def _unnamed_file() -> tuple[str, int]:
    """Open a file that goes with its last handle, whatever happens; return its path for as long."""
    path = os.path.join(tempfile.gettempdir(), f"dogu-{os.urandom(12).hex()}.tmp")
    flags = _DELETE_ON_CLOSE | _TEMPORARY
    access = _winapi.GENERIC_READ | _winapi.GENERIC_WRITE
    handle = _create_file(path, access, _SHARE_ALL, _CREATE_NEW, flags)
    return path, msvcrt.open_osfhandle(handle, os.O_RDWR | os.O_BINARY)


def _create_file(path: str, access: int, share: int, disposition: int, flags: int) -> int:
    create = ctypes.WinDLL("kernel32", use_last_error=True).CreateFileW
    create.restype = wintypes.HANDLE
    handle = create(path, access, share, None, disposition, flags, None)
    if handle in (None, wintypes.HANDLE(-1).value):
        raise ctypes.WinError(ctypes.get_last_error())
    return int(handle)


class _TalkedTo(TalkedTo):
    """A program whose streams are read and written by threads: pipes can't be waited for here."""

    def __init__(self, line: SupervisorLine, stdin: int, outputs: Mapping[str, int]) -> None:
        super().__init__(line, stdin, outputs)
        self._threads = CapacityLimiter(3)

    async def send(self, data: bytes) -> None:
        """Write all of the data to standard input. Raises OSError when nobody reads it any more."""
        rest = memoryview(data)
        while rest:
            if self._stdin < 0 or self.ended.is_set():
                raise BrokenPipeError
            piece = bytes(rest[:_PIECE_BYTES])
            written = await to_thread.run_sync(
                os.write, self._stdin, piece, limiter=self._threads, abandon_on_cancel=True
            )
            rest = rest[written:]

    async def receive(self, stream: str) -> bytes:
        """Return what `stdout` or `stderr` holds, as soon as it holds something; b"" at its end."""
        try:
            return await to_thread.run_sync(
                os.read, self._outputs[stream], _PIECE_BYTES, limiter=self._threads, abandon_on_cancel=True
            )
        except OSError:
            return b""

    def close_input(self) -> None:
        """Let the program find the end of its standard input."""
        if self._stdin >= 0:
            with suppress(OSError):
                os.close(self._stdin)
            self._stdin = -1


async def started(launch: Launch, start: Start) -> TalkedTo:
    """Start a program to be talked to. Raises `OSError` when it can't be started."""
    theirs: list[int] = []
    ours: list[int] = []
    is_started = False
    try:
        for number in range(3):
            reader, writer = os.pipe()
            theirs.append(writer if number else reader)
            ours.append(reader if number else writer)
        line = _opened(launch, start, theirs)
        try:
            await until_running(line, start)
            is_started = True
        finally:
            if not is_started:
                line.close()
    finally:
        for descriptor in theirs if is_started else [*theirs, *ours]:
            os.close(descriptor)
    return _TalkedTo(line, ours[0], {"stdout": ours[1], "stderr": ours[2]})


def _opened(launch: Launch, start: Start, streams: Sequence[int]) -> SupervisorLine:
    try:
        program, line = _of_words(start.argv, start.environment, start.directory)
        order = {
            "program": program,
            "line": line,
            "environment": dict(start.environment),
            "timeout_s": None,
            "idle_timeout_s": None,
            "max_processes": MAX_PROCESSES,
            "max_memory_bytes": None,
            "live": False,
            "is_released_in_time": False,
            "grace_s": start.grace_s,
        }
        return launch.open(order, start.directory, streams)
    except ToolError as error:
        raise OSError(error.message) from error
