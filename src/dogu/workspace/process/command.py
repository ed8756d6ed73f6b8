"""A command as it is asked for, and what came of it: what whoever runs commands takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from dogu.contract.errors import ToolError
from dogu.workspace import system
from dogu.workspace.staged import Written

IDLE_TIMEOUT_S = 300.0
KEPT_BYTES = 1024 * 1024  # of a stream, in memory; the ring on disk holds more
MAX_PROCESSES = 1000
DEFAULT_SHELL = system.DEFAULT_SHELL
ROWS, COLUMNS = 30, 100  # of a command's terminal


class NoLayerError(ToolError):
    """The layers that the command should have run in can't be made here: nothing has run."""


class NotToldError(ToolError):
    """The kernel doesn't tell what the command writes, and nobody has looked at the roots: nothing has run."""


class AskHost(Protocol):
    """Asks whether a command may reach a host that isn't listed; `private` are addresses that aren't the internet's."""

    async def __call__(self, command: str, host: str, port: int, private: Sequence[str]) -> bool:
        """Whether it may."""
        ...


class Until(msgspec.Struct, frozen=True):
    """What ends the wait: output that matches `pattern` (RE2's, any line), `quiet_s` without output, `at_most_s`."""

    pattern: str = ""
    quiet_s: float | None = None
    at_most_s: float | None = None


class ShellCommand(msgspec.Struct, frozen=True):
    """What to run and within which bounds.

    `text` goes unchanged to `bash -c`, on Windows to the `shell` named: `cmd`, `powershell` or `bash`;
    `argv`, if given, runs instead, without a shell. `directory` is a path or an
    open descriptor (the caller's to close). `environment` is all of the child's environment. Times and sizes of None or
    0 mean no limit; `idle_timeout_s` is time without output. `confinement` is a sandbox's order (`sandbox.confine`).
    Of a stream longer than `kept_bytes` the middle is left out. `ask_host` is asked, while the foreground runs, for
    hosts that a confinement with a list of them doesn't name. With `has_terminal` it runs in a pseudo-terminal. With
    `until` it is waited for no longer than that, and goes on in the background; so does one past its `timeout_s` that
    `is_released_in_time`. `is_contained`: nothing of it can leave its confinement.
    What it writes beneath the folders `watched` (absolute, real) is noted, where the kernel tells it; what goes by that
    it `keeps` in a folder, if it has so many bytes. Where nobody has looked at them, what it changes is noted in the
    folder `before`; then it doesn't run where the kernel doesn't tell (`NotToldError`).
    """

    text: str
    directory: str | int
    environment: Mapping[str, str]
    timeout_s: float | None = None
    idle_timeout_s: float | None = IDLE_TIMEOUT_S
    argv: tuple[str, ...] = ()
    stdin: bytes = b""
    max_processes: int = MAX_PROCESSES
    max_memory_bytes: int | None = None
    confinement: Mapping[str, Any] | None = None
    kept_bytes: int = KEPT_BYTES
    ask_host: AskHost | None = None
    has_terminal: bool = False
    until: Until | None = None
    is_released_in_time: bool = False
    is_contained: bool = False
    watched: tuple[str, ...] = ()
    keeps: tuple[str, int] | None = None
    before: str = ""
    shell: str = DEFAULT_SHELL

    @property
    def terminal(self) -> tuple[int, int] | None:
        """The rows and columns of its pseudo-terminal; None without one."""
        return (ROWS, COLUMNS) if self.has_terminal else None

    @property
    def goes_on(self) -> bool:
        """Whether it may be left running in the background, though its text doesn't say so."""
        return self.has_terminal or self.until is not None or self.is_released_in_time


class ProcessResult(msgspec.Struct, frozen=True):
    """How a command ended and what it printed.

    Exactly one of `exit_code` and `signal` is set, unless its supervisor was lost. `error` says why it was ended, if it
    was. `background_pids` live on. `output_files` name the longer record of a stream that was cut, per stream.
    `refused_hosts` were asked for while it ran and aren't among those it may reach. `moved` says why it goes on in the
    background: `asked` by the user, `timeout`, or its wait was over: `matched`, `quiet`, `waited`. `refused_rename`: it
    wanted to rename a folder, or to link a file that was there, which its layer couldn't do; `parted_names`: it renamed
    a file of several names, which is one of its own there. `written` is what it is known to have written until then.
    """

    stdout: str
    stderr: str
    exit_code: int | None
    signal: int | None
    pgid: int
    error: str = ""
    background_pids: tuple[int, ...] = ()
    timed_out: bool = False
    truncated: bool = False
    output_bytes: int = 0
    output_files: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    duration_s: float = 0.0
    refused_hosts: tuple[str, ...] = ()
    refused_rename: bool = False
    parted_names: bool = False
    moved: str = ""
    written: Written | None = None


Report = Callable[[str], None]


class Processes(Protocol):
    """Whatever can run a command: this machine, or another."""

    async def run(self, command: ShellCommand, report: Report | None = None) -> ProcessResult:
        """Run to the end of the foreground; live output goes to `report` at most 10 times a second."""
        ...
