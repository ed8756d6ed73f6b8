"""Commands of one's own: `commands/*.toml` files of the user and of the project, read anew when they change.

As `/` commands, the files and shell commands that their prompts name go the way of every tool call.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from dogu.agent.extensions.template import (
    ARGS,
    File,
    Piece,
    Shell,
    TemplateError,
    Words,
    parse_template,
    takes_args,
    with_args,
)
from dogu.agent.slash import Said, Send, SlashAnswer, SlashCommand
from dogu.contract import ErrorKind, TerminalOutput, Text
from dogu.contract.content import Part, parts_of
from dogu.language import say, told
from dogu.runtime.events import ToolAnswer, ToolCall
from dogu.workspace.small_file import read_small_file
from dogu.workspace.truncation import middle_left_out

_LARGEST_BYTES = 256 * 1024
_MOST_FILES = 500
_DEEPEST = 8
_NAME = re.compile(r"[^\s/:\x00-\x1f\x7f]+")
_AT_LINE = re.compile(r"^(.*?)\s*\(at line (\d+),.*\)$|^(.*?)\s*\(at end of document\)$", re.DOTALL)


class CustomCommand(msgspec.Struct, frozen=True):
    """A command as its file says it; `name` is without the slash, with a colon for each folder."""

    name: str
    file: str
    description: str
    pieces: tuple[Piece, ...]


class BadCommand(msgspec.Struct, frozen=True):
    """A file that is no command, and why: `problem` names file and line."""

    name: str
    problem: str


class CustomCommands:
    """The command files below `folders` (absolute, those that win last)."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = tuple(folders)
        self._read: dict[str, tuple[tuple[int, ...], CustomCommand | BadCommand]] = {}

    def all(self) -> list[CustomCommand | BadCommand]:
        """Look at the folders and return what is there now, one a name, sorted; only changed files are read."""
        found: dict[str, CustomCommand | BadCommand] = {}
        kept: dict[str, tuple[tuple[int, ...], CustomCommand | BadCommand]] = {}
        for folder in self._folders:
            for file, name, facts in _files(folder):
                signature = (facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size)
                known = self._read.get(file)
                entry = known[1] if known and known[0] == signature else read_command(file, name)
                kept[file] = (signature, entry)
                found[name] = entry
        self._read = kept
        return [found[name] for name in sorted(found)]


def read_command(file: str, name: str) -> CustomCommand | BadCommand:
    """Read one file; what is wrong with it is an answer."""
    import tomllib

    try:
        text = read_small_file(file, _LARGEST_BYTES).decode("utf-8-sig")
    except OSError as error:
        return BadCommand(name, f"{file}: {error.strerror}")
    except UnicodeDecodeError:
        return BadCommand(name, told("{file}: is not UTF-8", file=file))
    try:
        values = tomllib.loads(text)
        return CustomCommand(name, file, _description(values, name), parse_template(_prompt(values)))
    except tomllib.TOMLDecodeError as error:
        return BadCommand(name, _toml_problem(file, text, str(error)))
    except TemplateError as error:
        return BadCommand(name, f"{file}:{_line_of(text, error.near)}: {error}")


def _files(folder: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """Give (file, name, stat) of the `.toml` files below a folder, in order; links to folders aren't followed."""
    count = 0
    waiting = [(folder, "")]
    while waiting:
        place, prefix = waiting.pop()
        for entry in _entries(place):
            base = entry.name.removesuffix(".toml")
            if not _NAME.fullmatch(base):
                continue  # it couldn't be typed
            if entry.is_dir(follow_symlinks=False):
                if prefix.count(":") < _DEEPEST:
                    waiting.append((entry.path, f"{prefix}{entry.name}:"))
            elif entry.name.endswith(".toml") and (facts := _facts(entry)) is not None:
                yield entry.path, prefix + base, facts
                count += 1
                if count >= _MOST_FILES:
                    return


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _facts(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:
        return None


def _prompt(values: dict[str, Any]) -> str:
    prompt = values.get("prompt")
    if prompt is None:
        raise TemplateError(told('prompt is missing: write prompt = "..."'), "")
    if not isinstance(prompt, str) or not prompt.strip():
        raise TemplateError(told("prompt must be text that isn't empty"), "prompt")
    return prompt


def _description(values: dict[str, Any], name: str) -> str:
    description = values.get("description", "")
    if not isinstance(description, str):
        raise TemplateError(told("description must be text"), "description")
    return " ".join(description.split()) or name


def _toml_problem(file: str, text: str, message: str) -> str:
    found = _AT_LINE.match(message)
    if found is None:
        return told("{file}: isn't valid TOML: {message}", file=file, message=message)
    line = found[2] or str(text.count("\n") + 1)
    return told("{file}:{line}: isn't valid TOML: {message}", file=file, line=line, message=found[1] or found[3])


def _line_of(text: str, near: str) -> int:
    place = text.find(near) if near else -1
    return text.count("\n", 0, place) + 1 if place >= 0 else 1


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
            problem = say("can't be used: {problem}", problem=entry.problem)
            return SlashCommand(entry.name, problem, _Bad(entry), "[ARGS]")

        async def run(rest: str) -> SlashAnswer:
            return await self._run(entry, rest)

        return SlashCommand(entry.name, entry.description, run, "[ARGS]")

    async def _run(self, command: CustomCommand, args: str) -> SlashAnswer:
        parts: list[Part] = []
        try:
            for piece in command.pieces:
                parts += await self._filled(command, piece, args)
        except _NotRunError as error:
            text = say("/{name} wasn't sent. {reason}", name=command.name, reason=str(error))
            return Said(text, is_failure=True, refused=error.answer)
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
            raise _NotRunError(error.message, answer)
        if not isinstance(display, TerminalOutput):
            return f"[Shell command failed: {error.message if error else display}]"
        output, _ = middle_left_out(display.output.removesuffix("\n"))
        return "\n".join(filter(None, [output, _status(display)]))

    async def _call(self, tool: str, args: dict[str, object]) -> ToolAnswer:
        call = ToolCall(f"command-{time.time_ns():x}-{next(self._numbers)}", tool, args)
        return await self._run_call(call)


class _NotRunError(Exception):
    """A shell command of the prompt was refused, declined or could not start."""

    def __init__(self, message: str, answer: ToolAnswer) -> None:
        super().__init__(message)
        self.answer = answer


class _Bad:
    """What running a bad file's command says."""

    def __init__(self, entry: BadCommand) -> None:
        self._entry = entry

    async def __call__(self, _rest: str) -> SlashAnswer:
        text = say("/{name} can't be used: {problem}", name=self._entry.name, problem=self._entry.problem)
        return Said(text, is_failure=True)


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
