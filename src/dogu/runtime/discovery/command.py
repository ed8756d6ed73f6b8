"""Tools found by a command: `tools.discoveryCommand` prints their declarations, `tools.callCommand` runs them.

Source: seeds: tool API, "command-based discovery".
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast

import msgspec

from dogu.contract import (
    CallContext,
    Confirmation,
    ErrorKind,
    JsonObject,
    Kind,
    Tool,
    ToolError,
    ToolFailure,
    ToolResult,
)
from dogu.contract.json_schema import plain_json_schema, schema_problem
from dogu.language import told
from dogu.workspace.process.command import KEPT_BYTES, Processes, ProcessResult, ShellCommand

_DISCOVERY_TIMEOUT_S = 30.0
_CALL_TIMEOUT_S = 600.0
_MOST_PRINTED_BYTES = 10_000_000  # of either command; past it the middle is left out
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")


class Discovered(msgspec.Struct, frozen=True):
    """What a discovery found, and what was wrong with what it didn't take, each in a sentence for the user."""

    tools: tuple[DiscoveredTool, ...]
    problems: tuple[str, ...]


class CommandRunner(msgspec.Struct, frozen=True):
    """How the two commands are run: where, with which environment, by whom."""

    processes: Processes
    directory: str
    environment: Callable[[], Mapping[str, str]]

    async def run(
        self, argv: Sequence[str], stdin: bytes, timeout_s: float, kept_bytes: int = KEPT_BYTES
    ) -> ProcessResult:
        """Run a program without a shell. Raises `ToolError` (START_FAILED)."""
        command = ShellCommand(
            shlex.join(argv),
            self.directory,
            self.environment(),
            timeout_s,
            None,
            argv=tuple(argv),
            stdin=stdin,
            kept_bytes=kept_bytes,
        )
        return await self.processes.run(command)


async def discover(
    discovery_command: str, call_command: str, runner: CommandRunner, taken_names: Iterable[str]
) -> Discovered:
    """Run the discovery command and make a tool of each declaration; whatever fails is told and costs only itself.

    The command prints a JSON array of declarations, bare or under `function_declarations`/`functionDeclarations`, each
    with its schema under `parameters` or `parametersJsonSchema`. It may take 30 s and print 10 MB.
    """
    name = repr(discovery_command)
    if not call_command.strip():
        return Discovered(
            (),
            (
                told(
                    "The discovery command {name} is set and tools.callCommand isn't: its tools could not be called.",
                    name=name,
                ),
            ),
        )
    try:
        argv, call_argv = shlex.split(discovery_command), shlex.split(call_command)
        result = await runner.run(argv, b"", _DISCOVERY_TIMEOUT_S, _MOST_PRINTED_BYTES)
    except ValueError as error:
        return Discovered(
            (),
            (
                told(
                    "The discovery command {name} or tools.callCommand can't be split into words: {error}.",
                    name=name,
                    error=error,
                ),
            ),
        )
    except ToolError as error:
        return Discovered(
            (), (told("The discovery command {name} did not start: {error}", name=name, error=error.message),)
        )
    if result.exit_code != 0:
        reason = result.error or told("exit code {code}, signal {signal}", code=result.exit_code, signal=result.signal)
        said = result.stderr.strip()[:500] or told("it printed no error")
        return Discovered(
            (), (told("The discovery command {name} failed ({reason}): {said}", name=name, reason=reason, said=said),)
        )
    if result.output_bytes > _MOST_PRINTED_BYTES:
        limit = _MOST_PRINTED_BYTES // 10**6
        return Discovered(
            (), (told("The discovery command {name} printed more than {limit} MB.", name=name, limit=limit),)
        )
    try:
        rows: object = json.loads(result.stdout)
    except (ValueError, RecursionError) as error:
        return Discovered((), (told("The discovery command {name} printed no JSON: {error}.", name=name, error=error),))
    if not isinstance(rows, list):
        return Discovered(
            (), (told("The discovery command {name} printed JSON that isn't an array of declarations.", name=name),)
        )
    return _tools_of(cast("list[object]", rows), tuple(call_argv), runner, set(taken_names))


def _tools_of(
    rows: list[object], call_argv: tuple[str, ...], runner: CommandRunner, taken_names: set[str]
) -> Discovered:
    tools: list[DiscoveredTool] = []
    problems: list[str] = []
    for row in _declarations(rows):
        problem = _problem(row, taken_names)
        if problem:
            problems.append(told("A discovered tool was left out: {problem}.", problem=problem))
            continue
        declaration = cast("JsonObject", row)
        taken_names.add(declaration["name"])
        tools.append(DiscoveredTool(declaration, call_argv, runner))
    return Discovered(tuple(tools), tuple(problems))


def _declarations(rows: list[object]) -> Iterator[object]:
    for row in rows:
        if isinstance(row, dict):
            found = cast("JsonObject", row)
            nested = found.get("function_declarations", found.get("functionDeclarations"))
            if isinstance(nested, list):
                yield from cast("list[object]", nested)
                continue
        yield row


def _problem(row: object, taken_names: set[str]) -> str:
    """What is wrong with a declaration; '' when nothing is."""
    if not isinstance(row, dict):
        return told("a declaration is {row}, not an object", row=json.dumps(row)[:80])
    declaration = cast("JsonObject", row)
    name = declaration.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return told(
            "{name} isn't a name that models accept (letters, digits, _ . : -, at most 64)", name=json.dumps(name)[:80]
        )
    if name in taken_names:
        return told("there is a tool named {name!r} already", name=name)
    if not isinstance(declaration.get("description", ""), str):
        return told("the description of {name!r} isn't a text", name=name)
    schema = _schema(declaration)
    if schema is None:
        return told("the parameters of {name!r} aren't an object schema", name=name)
    return schema_problem(name, schema)


def _schema(declaration: JsonObject) -> JsonObject | None:
    """The schema of the parameters in plain JSON Schema; None when it isn't one of an object."""
    found: object = {}
    for key in ("parameters", "parametersJsonSchema", "parameters_json_schema"):
        if declaration.get(key) is not None:
            found = declaration[key]
            break
    if not isinstance(found, dict):
        return None
    try:
        schema = plain_json_schema(cast("JsonObject", found))
    except RecursionError:
        return None
    return {"type": "object", "properties": {}, **schema} if schema.get("type", "object") == "object" else None


class DiscoveredTool(Tool[JsonObject]):
    """A tool that the discovery command declared: each call runs the call command with its name and arguments."""

    kind = Kind.OTHER

    def __init__(self, declaration: JsonObject, call_argv: tuple[str, ...], runner: CommandRunner) -> None:
        self.name = declaration["name"]
        self.description = declaration.get("description") or self.name
        self.parameter_schema = _schema(declaration) or {}
        self._argv = (*call_argv, self.name)
        self._runner = runner

    def get_description(self, args: JsonObject) -> str:
        """The arguments, as JSON."""
        return json.dumps(args, ensure_ascii=False)

    async def should_confirm_execute(self, args: JsonObject) -> Confirmation | None:
        """Show the program and what it is given."""
        shown = json.dumps(args, ensure_ascii=False, indent=2)
        return Confirmation(
            told("Call the discovered tool {name}?", name=self.name),
            told("{command}\n\nwith\n{arguments}", command=shlex.join(self._argv), arguments=shown),
        )

    async def execute(self, args: JsonObject, context: CallContext) -> ToolResult:
        """Run the call command; standard output is the result, a non-zero exit a failure."""
        stdin = json.dumps(args, ensure_ascii=False).encode("utf-8", "backslashreplace")
        result = await self._runner.run(self._argv, stdin, _CALL_TIMEOUT_S, _MOST_PRINTED_BYTES)
        if result.exit_code == 0 and not result.error:
            return ToolResult(result.stdout, result.stdout)
        fields = "\n".join(
            (
                f"Stdout: {result.stdout or '(empty)'}",
                f"Stderr: {result.stderr or '(empty)'}",
                f"Error: {result.error or '(none)'}",
                f"Exit Code: {'(none)' if result.exit_code is None else result.exit_code}",
                f"Signal: {'(none)' if result.signal is None else result.signal}",
            )
        )
        kind = ErrorKind.TIMED_OUT if result.timed_out else ErrorKind.REMOTE_FAILED
        return ToolResult(fields, fields, ToolFailure(kind, fields))
