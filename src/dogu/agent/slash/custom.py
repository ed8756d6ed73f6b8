"""Commands of one's own as `/` commands: their files and shell commands go the way of every tool call."""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable, Iterable

from dogu.agent.extensions.commands import BadCommand, CustomCommand, CustomCommands
from dogu.agent.extensions.template import ARGS, File, Piece, Shell, Words, takes_args, with_args
from dogu.agent.slash import Said, Send, SlashAnswer, SlashCommand
from dogu.contract import ErrorKind, TerminalOutput, Text
from dogu.contract.content import Part, parts_of
from dogu.language import say
from dogu.runtime.calls import ToolAnswer, ToolCall
from dogu.workspace.truncation import middle_left_out

_NOT_RUN = frozenset(
    {
        ErrorKind.REFUSED,
        ErrorKind.DECLINED,
        ErrorKind.NOBODY_TO_ASK,
        ErrorKind.CANCELLED,
        ErrorKind.UNKNOWN_TOOL,
        ErrorKind.INVALID_ARGUMENTS,
        ErrorKind.START_FAILED,
        ErrorKind.DEFECT,
    }
)


class CustomSlashCommands:
    """A source of `/` commands over the command files; `run` runs the calls that their prompts ask for."""

    def __init__(self, files: CustomCommands, run: Callable[[ToolCall], Awaitable[ToolAnswer]]) -> None:
        self._files = files
        self._run_call = run
        self._numbers = itertools.count(1)

    def __call__(self) -> Iterable[SlashCommand]:
        """Make them of the files as they are now; a bad file's command says what is wrong with it."""
        return [self._command(entry) for entry in self._files.all()]

    def _command(self, entry: CustomCommand | BadCommand) -> SlashCommand:
        if isinstance(entry, BadCommand):
            return SlashCommand(entry.name, say("can't be used: {problem}", problem=entry.problem), _Bad(entry))

        async def run(rest: str) -> SlashAnswer:
            return await self._run(entry, rest)

        return SlashCommand(entry.name, entry.description, run, "[ARGS]" if takes_args(entry.pieces) else "")

    async def _run(self, command: CustomCommand, args: str) -> SlashAnswer:
        parts: list[Part] = []
        try:
            for piece in command.pieces:
                parts += await self._filled(command, piece, args)
        except _NotRunError as error:
            return Said(say("/{name} wasn't sent. {reason}", name=command.name, reason=str(error)))
        if args and not takes_args(command.pieces):
            parts.append(Text(f"\n\n/{command.name} {args}"))
        return Send(_joined(parts))

    async def _filled(self, command: CustomCommand, piece: Piece, args: str) -> list[Part]:
        match piece:
            case Words(text=text):
                return [Text(text.replace(ARGS, args))]
            case File(path=path):
                return await self._file(path)
            case Shell(command=line):
                return [Text(await self._shell(with_args(line, args), command.name))]

    async def _file(self, path: str) -> list[Part]:
        answer = await self._call("read_many_files", {"paths": [path]})
        if answer.result.error is not None:
            return [Text(f"[{path} could not be read: {answer.result.error.message}]")]
        return parts_of(answer.result.llm_content)

    async def _shell(self, line: str, name: str) -> str:
        answer = await self._call("run_shell_command", {"command": line, "description": f"for /{name}"})
        error, display = answer.result.error, answer.result.return_display
        if error is not None and error.kind in _NOT_RUN:
            raise _NotRunError(error.message)
        if not isinstance(display, TerminalOutput):
            return f"[Shell command failed: {error.message if error else display}]"
        output, _ = middle_left_out(display.output.removesuffix("\n"))
        return "\n".join(filter(None, [output, _status(display)]))

    async def _call(self, tool: str, args: dict[str, object]) -> ToolAnswer:
        call = ToolCall(f"command-{time.time_ns():x}-{next(self._numbers)}", tool, args)
        return await self._run_call(call)


class _NotRunError(Exception):
    """A shell command of the prompt was refused, declined or could not start."""


class _Bad:
    """What running a bad file's command says."""

    def __init__(self, entry: BadCommand) -> None:
        self._entry = entry

    async def __call__(self, _rest: str) -> SlashAnswer:
        return Said(say("/{name} can't be used: {problem}", name=self._entry.name, problem=self._entry.problem))


def _status(display: TerminalOutput) -> str:
    if display.exit_code:
        return f"[Shell command exited with code {display.exit_code}]"
    return "" if display.exit_code == 0 else f"[Shell command did not end by itself: {' '.join(display.notes)}]"


def _joined(parts: list[Part]) -> list[Part]:
    """Join texts that stand side by side."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + part.text)
        else:
            joined.append(part)
    return joined
