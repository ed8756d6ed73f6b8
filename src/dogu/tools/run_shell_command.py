"""run_shell_command: a command line, run by bash (seeds: shell tool)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from anyio import to_thread

from dogu.contract import (
    CallContext,
    CommandPreview,
    Confirmation,
    ErrorKind,
    JsonObject,
    Kind,
    TerminalOutput,
    Tool,
    ToolError,
    ToolFailure,
    ToolResult,
    sentence,
    told,
)
from dogu.workspace.layer.running import CommandRunner, How, Settled, check_talk
from dogu.workspace.process.command import (
    DEFAULT_SHELL,
    IDLE_TIMEOUT_S,
    AskHost,
    Processes,
    ProcessResult,
    ShellCommand,
    Until,
)
from dogu.workspace.sandbox.ladder import UNCONFINED

if TYPE_CHECKING:
    from dogu.workspace.layer.running import CommandLayers
    from dogu.workspace.roots import Roots
    from dogu.workspace.sandbox.ladder import Sandbox

_LONGEST_DESCRIPTION_CHARS = 120
_MOST_SHOWN = 10
_LONGEST_ECHO_CHARS = 1_000
_MOST_READ_CHARS = 20_000  # of each stream, for what looks like a refusal
_PTY_QUIET_S = 1.5
_PTY_AT_MOST_S = 30.0
_MATCH_AT_MOST_S = 60.0
_MOST_OFFERS = 2  # a client of MCP has the same question made twice for one answer
_CALLED_BY = {"bash": "`bash -c`", "cmd": "`cmd.exe /c`", "powershell": "PowerShell"}
_COMMAND_OF = {
    "bash": "Exact command line to run as `bash -c <command>`.",
    "cmd": "Exact command line, on one line, to run as `cmd.exe /c <command>`; a program of the folder itself is "
    "called as `.\\name`.",
    "powershell": "Exact text to run in PowerShell.",
}
_OUTSIDE = sentence(
    "The sandbox may have refused a part of it before: this runs it once outside, with all that you may do."
)


_LONGEST_CHARS = 1_000_000


class RunShellCommandArgs(msgspec.Struct, kw_only=True):
    """What run_shell_command takes."""

    command: Annotated[str, msgspec.Meta(description="Exact command line to run as `bash -c <command>`.")]
    description: Annotated[
        str | None, msgspec.Meta(description="Brief description of the command's purpose, shown to the user.")
    ] = None
    directory: Annotated[
        str | None,
        msgspec.Meta(
            description="Directory to run in: relative to the project root, or absolute inside it. Default: the root."
        ),
    ] = None
    timeout_s: Annotated[
        Annotated[float, msgspec.Meta(gt=0)] | None,
        msgspec.Meta(description="Seconds after which the command is ended. Default: no limit."),
    ] = None
    on_timeout: Annotated[
        Literal["end", "background"],
        msgspec.Meta(description="Whether timeout_s ends the command or lets it go on in the background."),
    ] = "end"
    wait_for: Annotated[
        str | None,
        msgspec.Meta(
            description="Return once the output matches this regular expression (after 60 s, or timeout_s, at most), "
            "and let the command go on in the background: to see a server start."
        ),
    ] = None
    pty: Annotated[
        bool,
        msgspec.Meta(
            description="Run in a terminal of its own, for programs that ask or draw: returns what stands there once "
            "the command ends or is quiet (after 30 s, or timeout_s, at most); send_input types into it."
        ),
    ] = False


class ShellLimits(msgspec.Struct, frozen=True):
    """What bounds a command: time in all, and without output (None for none), and who allows a host not listed.

    `layers` are what it runs in, where that can be; `shell` is what reads the commands.
    """

    timeout_s: float | None = None
    idle_timeout_s: float | None = IDLE_TIMEOUT_S
    ask_host: AskHost | None = None
    layers: CommandLayers | None = None
    shell: str = DEFAULT_SHELL


class ApprovedCommand(msgspec.Struct, frozen=True):
    """The tool's proposal: what to run, and how."""

    args: RunShellCommandArgs
    how: How = How()


class RunShellCommand(Tool[RunShellCommandArgs]):
    """Run a command line with `bash -c` in the project and return what it printed and how it ended.

    Returns when the foreground command has ended. `command &` starts a background process, whose PIDs are returned; it
    goes on running until the session ends. Standard input is closed and there is no terminal, without `pty`: use
    non-interactive flags (`npm init -y`, `git --no-pager`). A command that prints nothing for 5 minutes is ended.
    Result, one field a line: Command, Directory, Stdout, Stderr, Error, Exit Code, Signal, Background PIDs, Process
    Group PGID; `(none)` or `(empty)` where there is nothing.
    """

    name = "run_shell_command"
    display_name = "Shell"
    kind = Kind.EXECUTE
    aliases = {"dir_path": "directory"}
    shell = DEFAULT_SHELL

    # `find_sandbox` is asked once, when the first command runs: finding out costs some 10 ms. `has_user` says that
    # questions find somebody: what the sandbox refused is then offered to be run outside when it is asked for again.
    def __init__(
        self,
        roots: Roots,
        processes: Processes,
        environment: Callable[[], Mapping[str, str]],
        limits: ShellLimits | None = None,
        find_sandbox: Callable[[], Sandbox | None] | None = None,
        *,
        has_user: bool = False,
    ) -> None:
        self._roots = roots
        self._limits = limits or ShellLimits()
        self.shell = self._limits.shell
        self.records_changes = self._limits.layers is not None
        self._find_sandbox = cache(find_sandbox or (lambda: None))
        self._runner = CommandRunner(roots.all, processes, environment, self._find_sandbox, self._limits.layers)
        self._has_user = has_user
        self._offers_left: dict[tuple[str, str], int] = {}  # of commands that the sandbox refused, by where they ran

    def describe(self, words: str) -> str:
        """Say which shell it is; elsewhere than on Windows that is bash."""
        if self.shell == "powershell":
            words = words.replace("`command &` starts", "`Start-Process -NoNewWindow` starts")
        elif self.shell == "cmd":
            words = words.replace("`command &` starts", "`start /b command` starts")
        return words.replace("`bash -c`", _CALLED_BY[self.shell])

    def publish(self, schema: JsonObject) -> JsonObject:
        """Say of the command which shell reads it."""
        if self.shell == "bash":
            return schema
        properties = schema["properties"]
        command = {**properties["command"], "description": _COMMAND_OF[self.shell]}
        return {**schema, "properties": {**properties, "command": command}}

    def validate_tool_params(self, raw: Mapping[str, Any]) -> RunShellCommandArgs:
        """Check the arguments; a command of nothing but spaces is none."""
        args = super().validate_tool_params(raw)
        if not args.command.strip():
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, "The command is empty: say in 'command' what to run.")
        if len(args.command) > _LONGEST_CHARS:
            too_long = f"The command is too long ({len(args.command)} characters, at most {_LONGEST_CHARS})"
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"{too_long}: write it to a file and run that.")
        check_talk(args.command, args.wait_for or "", has_terminal=args.pty)
        return args

    def adapt(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Take another generation's `is_background`: bash itself says it by `&`."""
        rest = {name: value for name, value in raw.items() if name != "is_background"}
        if self.shell == "powershell":
            return rest
        command = rest.get("command")
        if raw.get("is_background") not in (True, "true") or not isinstance(command, str):
            return rest
        if self.shell == "cmd":
            is_apart = command.lstrip().lower().startswith("start ")
            return rest if is_apart else {**rest, "command": f'start "" /b cmd /d /s /c "{command}"'}
        return rest if command.rstrip().endswith("&") else {**rest, "command": f"({command}\n) &"}

    def get_description(self, args: RunShellCommandArgs) -> str:
        """The command, where it runs, and what for, in one line."""
        where = f" [in {args.directory}]" if args.directory else ""
        why = f" ({args.description})" if args.description else ""
        command = " ".join(args.command.split())
        if len(command) > _LONGEST_DESCRIPTION_CHARS:
            half = _LONGEST_DESCRIPTION_CHARS // 2
            command = f"{command[:half]} ... {command[-half:]}"
        return f"{command}{where}{why}".replace("\n", " ")

    async def should_confirm_execute(self, args: RunShellCommandArgs) -> Confirmation | None:
        """Show the command as it will run; it can be edited first."""
        os.close(self._open_directory(args))

        is_outside = self._offers_left.get(self._key(args), 0) > 0
        if is_outside:
            self._offers_left[self._key(args)] -= 1

        def revise(text: str) -> Confirmation:
            edited = self.validate_tool_params({**msgspec.structs.asdict(args), "command": text})
            return self._question(edited, is_outside, revise)

        if not self._find_sandbox.cache_info().currsize:
            await to_thread.run_sync(self._find_sandbox)
        return self._question(args, is_outside, revise)

    def _question(
        self, args: RunShellCommandArgs, is_outside: bool, revise: Callable[[str], Confirmation]
    ) -> Confirmation:
        sandbox = self._find_sandbox()
        reach = sandbox.reach if sandbox is not None and not is_outside else UNCONFINED
        directory = self._roots.locate(args.directory or "")
        return Confirmation(
            told("Run this command OUTSIDE the sandbox?") if is_outside else told("Run this command?"),
            CommandPreview(args.command, directory, args.description or "", (reach,)),
            proposal=ApprovedCommand(args, How(is_outside=is_outside)),
            is_contained=sandbox is not None and sandbox.holds_all and not is_outside,
            reading=ApprovedCommand(args, How(is_reading=True)),
            preview=ApprovedCommand(args, How(is_preview=True)) if self._runner.can_preview(is_outside) else None,
            editable_text=args.command,
            revise=revise,
            always_ask=is_outside,
            reasons=(_OUTSIDE,) if is_outside else (),
        )

    async def execute(self, args: RunShellCommandArgs, context: CallContext) -> ToolResult:
        """Run it; cancelled, everything it started is ended first."""
        approved = context.approved if isinstance(context.approved, ApprovedCommand) else ApprovedCommand(args)
        args = approved.args
        directory = self._open_directory(args)
        try:
            command = self._command(args, directory, approved.how.is_outside)
            result, settled = await self._runner.run(command, approved.how, context)
        finally:
            os.close(directory)
        if approved.how.is_outside:
            self._offers_left[self._key(args)] = _MOST_OFFERS  # it is known to need it; each time is asked for
            remarks = [told("Ran outside the sandbox, as the user allowed.")]
        else:
            remarks = [*settled.remarks, *self._refusals(args, result, settled.put_back)]
            if approved.how.is_reading and result.exit_code != 0:
                remarks.append(told("In approval mode plan a command reaches no network."))
        return _told(args, result, [*remarks, *_warnings(settled.runs_later)], settled)

    def _command(self, args: RunShellCommandArgs, directory: int, is_outside: bool) -> ShellCommand:
        sandbox = self._find_sandbox()
        until = _until(args)
        return ShellCommand(
            args.command,
            directory,
            {},
            timeout_s=self._limits.timeout_s if until else args.timeout_s or self._limits.timeout_s,
            idle_timeout_s=self._limits.idle_timeout_s,
            has_terminal=args.pty,
            until=until,
            shell=self.shell,
            is_released_in_time=args.on_timeout == "background",
            is_contained=sandbox is not None and sandbox.holds_all and not is_outside,
            ask_host=self._limits.ask_host if sandbox is not None and sandbox.asks_for_hosts else None,
        )

    def _refusals(self, args: RunShellCommandArgs, result: ProcessResult, put_back: Sequence[str]) -> list[str]:
        sandbox = self._find_sandbox()
        if sandbox is None:
            return []
        refused: list[str] = []
        if put_back:
            refused.append(told("The sandbox put back what runs later: {shown}.", shown=_listed(put_back)))
        if result.exit_code != 0 or result.stderr or result.refused_hosts:
            output = f"{result.stderr[-_MOST_READ_CHARS:]}\n{result.stdout[-_MOST_READ_CHARS:]}"
            directory = self._roots.locate(args.directory or "")
            refused += filter(None, [sandbox.denial(output, result.refused_hosts, directory, self._roots.all)])
        if not refused:
            return []
        if self._has_user and self._offers_left.setdefault(self._key(args), _MOST_OFFERS):
            return [
                *refused,
                told("If it is needed, call it again unchanged: the user is asked to let it run outside, once."),
            ]
        return [*refused, told("If it is needed, say so in your answer: the user can run it themselves.")]

    def _key(self, args: RunShellCommandArgs) -> tuple[str, str]:
        return args.command, self._roots.locate(args.directory or "")

    def _open_directory(self, args: RunShellCommandArgs) -> int:
        return self._roots.open_directory(args.directory or ".")


def _until(args: RunShellCommandArgs) -> Until | None:
    """How long a command that goes on by itself is waited for; None for one that is waited for to its end."""
    if args.wait_for:
        return Until(args.wait_for, None, args.timeout_s or _MATCH_AT_MOST_S)
    return Until("", _PTY_QUIET_S, args.timeout_s or _PTY_AT_MOST_S) if args.pty else None


def _moved(args: RunShellCommandArgs, result: ProcessResult) -> list[str]:
    """Say why the command goes on in the background, and what can be done with it."""
    why = {
        "": "",
        "asked": told("The user moved it to the background."),
        "timeout": told("It goes on in the background after {limit_s:g} s.", limit_s=args.timeout_s or 0),
        "matched": told("The output matched; it goes on in the background."),
        "quiet": told("It is quiet, and goes on in the background."),
        "waited": told("The wait is over, and it goes on in the background."),
    }[result.moved]
    if not why:
        return []
    if args.pty:
        return [why, told("send_input types into {pid}, stop_background_job ends it.", pid=result.pgid)]
    return [why, told("background_jobs reads {pid}, stop_background_job ends it.", pid=result.pgid)]


def _warnings(changed: Sequence[str]) -> list[str]:
    return [told("This changed what runs later: {shown}.", shown=_listed(changed))] if changed else []


def _listed(paths: Sequence[str]) -> str:
    shown, more = ", ".join(paths[:_MOST_SHOWN]), len(paths) - _MOST_SHOWN
    return told("{shown} and {more} more", shown=shown, more=more) if more > 0 else shown


def _told(args: RunShellCommandArgs, result: ProcessResult, remarks: list[str], settled: Settled) -> ToolResult:
    moved = _moved(args, result)
    shown_remarks = [*moved[:1], *remarks, *_files(result, "More of {stream} is in {path}.")]
    remarks = [*moved, *remarks, *_files(result, "More of {stream} is in {path}: read_file reads it.")]
    fields = {
        "Command": _echo(args.command),
        "Directory": args.directory or "(root)",
        "Stdout": result.stdout or "(empty)",
        "Stderr": result.stderr or "(empty)",
        "Error": " ".join([result.error, *remarks]).strip() or "(none)",
        "Exit Code": "(none)" if result.exit_code is None else str(result.exit_code),
        "Signal": "(none)" if result.signal is None else str(result.signal),
        "Background PIDs": ", ".join(map(str, result.background_pids)) or "(none)",
        "Process Group PGID": str(result.pgid) if result.pgid else "(none)",
    }
    content = "\n".join(f"{name}: {value}" for name, value in fields.items())
    if settled.dry_run:
        content += "\n" + told("What it would have changed:") + f"\n{settled.dry_run}"
    failure = None
    if result.error:
        failure = ToolFailure(ErrorKind.TIMED_OUT if result.timed_out else ErrorKind.IO_ERROR, result.error)
    elif settled.conflict:
        failure = ToolFailure(ErrorKind.STALE, settled.conflict)
    return ToolResult(content, _shown(args, result, [*shown_remarks, *filter(None, [settled.summary])]), failure)


def _files(result: ProcessResult, words: str) -> list[str]:
    return [told(words, stream=stream, path=path) for stream, path in result.output_files.items() if path]


def _echo(command: str) -> str:
    """Return the command as the result names it: the model knows what it sent, a long one's beginning will do."""
    if len(command) <= _LONGEST_ECHO_CHARS:
        return command
    return f"{command[:_LONGEST_ECHO_CHARS]}... [{len(command) - _LONGEST_ECHO_CHARS} more characters]"


def _shown(args: RunShellCommandArgs, result: ProcessResult, remarks: list[str]) -> TerminalOutput:
    notes: list[str] = []
    if result.error:
        notes.append(result.error)
    elif result.signal is not None:
        notes.append(told("Ended by signal {signal}.", signal=result.signal))
    elif result.exit_code:
        notes.append(told("Exit code {code}.", code=result.exit_code))
    if result.background_pids:
        notes.append(told("Still running in the background: {job}.", job=result.pgid))  # the number `/jobs` knows it by
    notes += remarks
    between = "\n" if result.stdout and result.stderr and not result.stdout.endswith("\n") else ""
    return TerminalOutput(args.command, result.stdout + between + result.stderr, result.exit_code, tuple(notes))
