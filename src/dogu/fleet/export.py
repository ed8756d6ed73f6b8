"""A fleet's rows for others: JSON lines, CSV, Parquet; SWE-bench's predictions; trajectories for others' viewers.

SWE-bench: one object a line, `{instance_id, model_name_or_path, model_patch}` (swebench.com, "predictions").
ATIF (Agent Trajectory Interchange Format) 1.4: Harbor's RFC 0001, `trajectory.json` for each task.
mini-swe-agent-1.1: the messages of OpenAI's wire, `ID/ID.traj.json` for each task, as its batch leaves them.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, BinaryIO

import msgspec

from dogu.agent.session.record import read_record
from dogu.contract import ErrorKind, ToolError
from dogu.extras import install_command
from dogu.fleet.rows import Reason, Row
from dogu.fleet.store import Fleet
from dogu.language import plain, sentence, told
from dogu.serve.trajectory import trajectory_of
from dogu.version import __version__
from dogu.workspace.private_file import whole_file
from dogu.workspace.small_file import open_regular_file

Write = Callable[[bytes], object]
FOLDERS = ("traj",)
FORMATS = ("jsonl", "csv", "parquet", "swebench", "atif", *FOLDERS)
_MOST_PARQUET_ROWS = 10_000
_ROLES = {"user": "user", "agent": "assistant", "system": "system"}
_COUNTS = frozenset(
    "attempt requests calls failed_calls check_exit_code files_changed lines_added lines_removed".split()
)


def export(fleet: Fleet, form: str, write: Write) -> None:
    """Write all rows, in the order of the tasks, in one of `FORMATS` that isn't among `FOLDERS`.

    Raises `ToolError` for Parquet where pyarrow isn't installed, and for a patch or a record that is gone.
    """
    match form:
        case "csv":
            _write_csv(fleet, write)
        case "parquet":
            _write_parquet(fleet, write)
        case "swebench":
            for row in fleet.rows():
                write(msgspec.json.encode(prediction(fleet, row)) + b"\n")
        case "atif":
            for row in fleet.rows():
                write(msgspec.json.encode(trajectory(fleet, row), enc_hook=plain) + b"\n")
        case _:
            for row in fleet.rows():
                write(msgspec.json.encode({**msgspec.to_builtins(row), "patch_text": patch_text(fleet, row)}) + b"\n")


def export_to(fleet: Fleet, form: str, path: str) -> None:
    """Write all rows to a file, whole or not at all; for one of `FOLDERS`, each task's messages into a folder.

    Raises OSError, and as `export` does.
    """
    if form in FOLDERS:
        _export_folder(fleet, path)
        return
    with _whole(path) as file:
        export(fleet, form, file.write)


def _export_folder(fleet: Fleet, folder: str) -> None:
    """Write each task's messages as mini-swe-agent's viewers look for them. Raises OSError."""
    for row in fleet.rows():
        place = os.path.join(folder, row.id)
        os.makedirs(place, exist_ok=True)
        with _whole(os.path.join(place, f"{row.id}.traj.json")) as file:
            file.write(msgspec.json.format(msgspec.json.encode(messages(fleet, row), enc_hook=plain)))


def _whole(path: str) -> AbstractContextManager[BinaryIO]:
    """Open a file that takes its place when all is written; a pipe takes it as it comes. Raises OSError."""
    is_file = os.path.isfile(path) or not os.path.exists(path)
    return whole_file(path) if is_file else open(path, "wb")


def patch_text(fleet: Fleet, row: Row) -> str:
    """Read a row's patch; empty where there is none. Raises `ToolError` where it is gone: that is another thing."""
    if not row.patch.file:
        return ""
    try:
        with open_regular_file(fleet.place(row.patch.file)) as file:
            return file.read().decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
    except OSError as error:
        raise _gone(fleet, row, row.patch.file, error) from error


def _gone(fleet: Fleet, row: Row, name: str, error: OSError) -> ToolError:
    words = sentence("{path} can't be read ({why}); `dogu fleet retry {folder} {id}` runs the task once more")
    why = error.strerror or str(error)
    message = told(words, path=fleet.place(name), why=why, folder=fleet.folder, id=row.id)
    return ToolError(ErrorKind.IO_ERROR, message)


def prediction(fleet: Fleet, row: Row) -> dict[str, str]:
    """Return a row as SWE-bench's harness reads it."""
    model = f"dogu/{row.model}" if row.model else "dogu"
    return {"instance_id": row.id, "model_name_or_path": model, "model_patch": patch_text(fleet, row)}


def flat(row: Row) -> dict[str, Any]:
    """Return a row as one of a table: a name and a plain value each."""
    usage = msgspec.structs.asdict(row.usage)
    return {
        "id": row.id,
        "group": row.group,
        "model": row.model,
        "passed": row.passed,
        "reason": str(row.reason),
        "message": row.message,
        "attempt": row.attempt,
        "requests": row.requests,
        "calls": row.calls,
        "failed_calls": sum(row.errors.values()),
        **{f"{name}_tokens": usage[name] for name in ("prompt", "output", "thoughts", "cached", "total")},
        "cost_usd": row.cost_usd,
        "wall_s": row.wall_s,
        "cpu_s": row.cpu_s,
        "check_exit_code": row.check.exit_code if row.check else None,
        "files_changed": row.patch.files,
        "lines_added": row.patch.added,
        "lines_removed": row.patch.removed,
        "patch_file": row.patch.file,
        "session": row.session,
        "finished": datetime.fromtimestamp(row.finished, UTC).isoformat(timespec="seconds") if row.finished else "",
    }


_COLUMNS = (*flat(Row("", None, Reason.DONE)),)


def _write_csv(fleet: Fleet, write: Write) -> None:
    class _Text:
        def write(self, text: str) -> object:
            return write(text.encode("utf-8", "replace"))

    writer = csv.DictWriter(_Text(), _COLUMNS)
    writer.writeheader()
    for row in fleet.rows():
        writer.writerow({name: _unformulated(value) for name, value in flat(row).items()})


def _unformulated(value: Any) -> Any:
    """Keep a spreadsheet from taking a model's or a program's words for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _write_parquet(fleet: Fleet, write: Write) -> None:
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        command = install_command("fleet")
        message = told("Parquet needs pyarrow, which isn't installed: {command}", command=command)
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message) from None
    sink: Any = arrow.BufferOutputStream()
    schema = arrow.schema([(name, _arrow_type(arrow, name)) for name in (*_COLUMNS, "patch")])
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in _batches({**flat(row), "patch": patch_text(fleet, row)} for row in fleet.rows()):
            writer.write_table(arrow.Table.from_pylist(batch, schema))
    write(memoryview(sink.getvalue()).tobytes())


def _arrow_type(arrow: Any, name: str) -> Any:
    if name == "passed":
        return arrow.bool_()
    if name in ("cost_usd", "wall_s", "cpu_s"):
        return arrow.float64()
    is_count = name.endswith("_tokens") or name in _COUNTS
    return arrow.int64() if is_count else arrow.string()


def _batches(rows: Iterator[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) >= _MOST_PARQUET_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def trajectory(fleet: Fleet, row: Row) -> dict[str, Any]:
    """Return what a task's agent did, as an ATIF trajectory. Raises `ToolError` where its record is gone."""
    recorded = read_record(fleet.place(row.session)) if row.session else ()
    about = {"task_id": row.id, "passed": row.passed, "reason": str(row.reason)}
    why = f"{row.reason}: {row.message}"
    try:
        return trajectory_of(recorded, os.path.basename(row.session) or row.id, row.model, row.cost_usd, about, why)
    except OSError as error:
        raise _gone(fleet, row, row.session, error) from error


def messages(fleet: Fleet, row: Row) -> dict[str, Any]:
    """Return what a task's agent did as mini-swe-agent's `.traj.json`: a message a step, and one that ends it."""
    patch = patch_text(fleet, row)
    status = "Submitted" if row.reason is Reason.DONE else str(row.reason)
    said = [message for step in trajectory(fleet, row)["steps"] for message in _messages(step)]
    end = {"role": "exit", "content": row.message or row.text, "extra": {"exit_status": status, "submission": patch}}
    return {
        "info": {
            "model_stats": {"instance_cost": row.cost_usd or 0.0, "api_calls": row.requests},
            "config": {"agent_type": f"dogu {__version__}", "model": {"model_name": row.model}},
            "exit_status": status,
            "submission": patch,
        },
        "messages": [*said, end],
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": row.id,
    }


def _messages(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A step as a message of its own, and one for each of its calls' results."""
    message: dict[str, Any] = {"role": _ROLES[step["source"]], "content": step["message"]}
    calls = step.get("tool_calls", ())
    if calls:
        message["tool_calls"] = [_function(call) for call in calls]
    if "reasoning_content" in step:
        message["reasoning_content"] = step["reasoning_content"]
    actions = [{**call["arguments"], "tool_call_id": call["tool_call_id"]} for call in calls]
    yield {**message, "extra": {"timestamp": step["timestamp"], **({"actions": actions} if actions else {})}}
    for result in step.get("observation", {}).get("results", ()):
        yield {"role": "tool", "tool_call_id": result["source_call_id"], "content": result["content"]}


def _function(call: dict[str, Any]) -> dict[str, Any]:
    text = msgspec.json.encode(call["arguments"]).decode()
    return {
        "id": call["tool_call_id"],
        "type": "function",
        "function": {"name": call["function_name"], "arguments": text},
    }
