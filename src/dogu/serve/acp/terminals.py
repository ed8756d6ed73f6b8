"""Commands in the client's own terminals (`terminal/*`), for those who chose that: no sandbox of ours reaches there."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any, cast

import anyio
import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.serve.acp.peer import ConnectionLostError, Peer, RpcError
from dogu.workspace.process.command import ProcessResult, Report, ShellCommand
from dogu.workspace.process.local import KEPT_BYTES
from dogu.workspace.system import path_of
from dogu.workspace.visible import strip_escapes

_LOOK_EVERY_S = 1.0
_END_TAKES_S = 5.0


class _Seen(msgspec.Struct):
    """What the client said of a terminal last."""

    output: str = ""
    truncated: bool = False
    has_exited: bool = False
    exit_code: int | None = None
    signal: int | None = None


class ClientTerminals:
    """`Processes` at the client; `show` is told each terminal's id, so that the call can be shown in it.

    `session_id` and `show` are set before the first command.
    """

    def __init__(self, peer: Peer) -> None:
        self.session_id = ""
        self.show: Callable[[str], None] = lambda _: None
        self._peer = peer

    async def run(self, command: ShellCommand, report: Report | None = None) -> ProcessResult:
        """Run to the end in a terminal of the client's, which shows the output by itself.

        Cancelled or out of time, the terminal is killed; in every case it is released. Raises `ToolError`
        (START_FAILED, IO_ERROR when the client is gone).
        """
        if command.has_terminal or command.until is not None:
            message = "Commands run in the user's editor here: 'pty' and 'wait_for' can't be had. Leave them out."
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
        started = time.monotonic()
        terminal = await self._create(command)
        self.show(terminal)
        seen = _Seen()
        error = ""
        try:
            error = await self._followed(terminal, command, seen)
        except ConnectionLostError as lost:
            raise ToolError(ErrorKind.IO_ERROR, "The user's editor is gone, and its terminals with it.") from lost
        except RpcError as failure:
            message = f"The user's editor lost sight of the command's terminal: {failure.message}"
            raise ToolError(ErrorKind.IO_ERROR, message) from failure
        finally:
            with anyio.move_on_after(_END_TAKES_S, shield=True):
                await self._end(terminal, seen)
        return ProcessResult(
            strip_escapes(seen.output.replace("\r\n", "\n")),
            "",
            exit_code=seen.exit_code,
            signal=seen.signal,
            pgid=0,
            error=error,
            timed_out=bool(error),
            truncated=seen.truncated,
            output_bytes=len(seen.output.encode("utf-8", "replace")),
            duration_s=time.monotonic() - started,
        )

    async def _create(self, command: ShellCommand) -> str:
        directory = command.directory
        folder = path_of(directory) if isinstance(directory, int) else directory
        program, *words = command.argv or ("bash", "-c", command.text)
        params = {
            "command": program,
            "args": words,
            "env": [{"name": name, "value": value} for name, value in command.environment.items()],
            "cwd": folder,
            "outputByteLimit": KEPT_BYTES,
        }
        try:
            created = await self._ask("terminal/create", params)
        except (RpcError, ConnectionLostError) as error:
            message = f"The user's editor could not open a terminal for the command: {error}"
            raise ToolError(ErrorKind.START_FAILED, message) from error
        return str(created.get("terminalId", ""))

    async def _followed(self, terminal: str, command: ShellCommand, seen: _Seen) -> str:
        """Follow it to its end; return why it was ended, '' when it ended by itself."""
        exited = anyio.Event()
        failures: list[Exception] = []

        async def wait() -> None:
            try:
                await self._ask("terminal/wait_for_exit", {"terminalId": terminal})
            except (RpcError, ConnectionLostError) as failure:
                failures.append(failure)
            exited.set()

        is_idle = False
        with anyio.move_on_after(command.timeout_s or None) as limit:
            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                is_idle = await self._until_idle(terminal, command.idle_timeout_s, seen, exited)
                group.cancel_scope.cancel()
        if failures:
            raise failures[0]
        if limit.cancelled_caught:
            return told("Timed out after {limit_s:g} s and was ended.", limit_s=command.timeout_s)
        return (
            told("Printed nothing for {limit_s:g} s and was ended.", limit_s=command.idle_timeout_s) if is_idle else ""
        )

    async def _until_idle(self, terminal: str, idle_s: float | None, seen: _Seen, exited: anyio.Event) -> bool:
        quiet_since = time.monotonic()
        while not exited.is_set():
            with anyio.move_on_after(_LOOK_EVERY_S):
                await exited.wait()
                return False
            if not idle_s:
                continue
            before = seen.output
            try:
                await self._look(terminal, seen)
            except (RpcError, ConnectionLostError):
                return False  # whoever waits for the exit hears the same
            if seen.output != before:
                quiet_since = time.monotonic()
            if time.monotonic() - quiet_since > idle_s:
                return True
        return False

    async def _end(self, terminal: str, seen: _Seen) -> None:
        try:
            await self._look(terminal, seen)
            if not seen.has_exited:
                await self._ask("terminal/kill", {"terminalId": terminal})
                await self._look(terminal, seen)
            await self._ask("terminal/release", {"terminalId": terminal})
        except (RpcError, ConnectionLostError):
            return  # the client has ended it, or is gone with it

    async def _look(self, terminal: str, seen: _Seen) -> None:
        told = await self._ask("terminal/output", {"terminalId": terminal})
        seen.output, seen.truncated = str(told.get("output", "")), bool(told.get("truncated"))
        status = told.get("exitStatus")
        if isinstance(status, dict):
            ending = cast("dict[str, Any]", status)
            code = ending.get("exitCode")
            seen.has_exited = True
            seen.exit_code = code if isinstance(code, int) else None
            seen.signal = _signal_number(ending.get("signal"))

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        result = await self._peer.request(method, {"sessionId": self.session_id, **params})
        return cast("dict[str, Any]", result) if isinstance(result, dict) else {}


def _signal_number(name: object) -> int | None:
    if isinstance(name, int):
        return name
    text = str(name or "").upper()
    known = {each.name: each.value for each in signal.Signals}
    return known.get(text) or known.get(f"SIG{text}")
