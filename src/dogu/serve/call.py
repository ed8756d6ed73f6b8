"""The door without a model: one call from the command line, or calls as lines of JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, TextIO, assert_never, cast

from dogu.contract.content import Blob, Text, parts_of
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.language import say, told
from dogu.runtime.events import CallEvent, CallFinished, CallOutput, CallStarted, Noted, ToolCall
from dogu.runtime.jobs import settled_rows
from dogu.runtime.runtime import Runtime
from dogu.serve.exit_codes import ExitCode, of_call
from dogu.serve.failures import failure_words
from dogu.serve.private_streams import lines_of
from dogu.serve.wire import result_json, to_line


async def call_once(runtime: Runtime, tool: str, words: Sequence[str], *, as_json: bool) -> ExitCode:
    """Run one call and print its result: `llm_content` on standard output, errors on standard error, or JSON.

    What it leaves running in the background is kept, since there is no session to end with.
    """
    try:
        args = _arguments(runtime, tool, words)
    except ToolError as error:
        result = ToolResult.failed(error)
    else:
        show = partial(_show_live, prints_output=not as_json and sys.stderr.isatty())
        result = (await runtime.call(tool, args, emit=show)).result
    jobs = await runtime.settle_jobs(keep=True)
    if as_json:
        more = {"jobs": settled_rows(jobs)} if jobs else {}
        print(to_line({**result_json(result), **more}), flush=True)
    else:
        _print_plain(result, sys.stderr if result.error else sys.stdout)
    return of_call(result.error.kind if result.error else None)


def _show_live(event: CallEvent, *, prints_output: bool) -> None:
    match event:
        case CallOutput(text=text):
            if prints_output:
                sys.stderr.write(text)
        case Noted(text=text):
            sys.stderr.write(f"{text}\n")
        case CallStarted() | CallFinished():
            pass
        case _:
            assert_never(event)


async def call_lines(runtime: Runtime, descriptor: int) -> ExitCode:
    """Run the calls of JSON lines `{id?, tool, args}` in order, each answered by one line before the next is read.

    The answer is `{id?, llmContent, returnDisplay, error}`. A line that is no call is answered with an error. The exit
    status is that of the worst call: 56 before 54 before 42. Background jobs that still run at the end of the lines are
    ended, unless they are to be kept; one more line `{jobs}` says so where there were any.
    """
    worst = ExitCode.DONE
    async for line in lines_of(descriptor):
        if not line or not line.strip():
            continue
        row, result = await _answer_line(runtime, line)
        answer = {"id": row["id"]} if "id" in row else {}
        print(to_line({**answer, **result_json(result)}), flush=True)
        worst = max(worst, of_call(result.error.kind if result.error else None))
    if jobs := await runtime.settle_jobs():
        print(to_line({"jobs": settled_rows(jobs)}), flush=True)
    return worst


async def _answer_line(runtime: Runtime, line: bytes) -> tuple[dict[str, Any], ToolResult]:
    row: dict[str, Any] = {}
    try:
        row = _row(line)
        if unknown := sorted(row.keys() - {"id", "tool", "args"}):
            raise _bad(told("unknown key {unknown!r}; a line is {{id?, tool, args}}", unknown=unknown[0]))
        tool, args = row.get("tool"), row.get("args", {})
        if not isinstance(tool, str) or not isinstance(args, dict):
            raise _bad(told('"tool" must be a name and "args" an object'))
    except ToolError as error:
        return row, ToolResult.failed(error)
    call = ToolCall(str(row.get("id", "")), tool, cast("dict[str, Any]", args))
    return row, (await runtime.run(call)).result


def _row(line: bytes) -> dict[str, Any]:
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _bad(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise _bad(told("not an object; a line is {id?, tool, args}"))
    return cast("dict[str, Any]", row)


def _arguments(runtime: Runtime, tool: str, words: Sequence[str]) -> dict[str, Any]:
    """Arguments from one JSON object, or from `key=value` words: as JSON where the tool wants more than text."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return _row(words[0].encode("utf-8", "surrogateescape"))
    properties = runtime.registry.get(tool).parameter_schema.get("properties", {})
    args: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise _bad(told("{word!r} is neither a JSON object nor key=value", word=word))
        args[key] = _value(value, properties.get(key, {}))
    return args


def _value(value: str, schema: dict[str, Any]) -> Any:
    if schema.get("type") in (None, "string"):
        return value
    try:
        parsed: Any = json.loads(value)
    except ValueError:
        parsed = value
    is_one = schema.get("type") == "array" and not isinstance(parsed, list)
    return [cast("Any", parsed)] if is_one else cast("Any", parsed)


def _bad(reason: str) -> ToolError:
    return ToolError(ErrorKind.INVALID_ARGUMENTS, told("Invalid call: {reason}.", reason=reason))


def _print_plain(result: ToolResult, out: TextIO) -> None:
    for part in parts_of(result.llm_content):
        match part:
            case Text(text=text):
                if result.error and text == result.error.message:
                    text = failure_words(result.error)
                out.write(text if text.endswith("\n") else f"{text}\n")
            case Blob(media_type=media_type, data=data, name=name):
                size = len(data)
                if name:
                    shown = say(
                        "[{kind}, {count} bytes, {name}; --json prints it]", kind=media_type, count=size, name=name
                    )
                else:
                    shown = say("[{kind}, {count} bytes; --json prints it]", kind=media_type, count=size)
                out.write(f"{shown}\n")
    out.flush()
