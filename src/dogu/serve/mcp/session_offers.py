"""The session's record as resources: what was called, what it changed, outputs too long for an answer."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator

from anyio import to_thread

from dogu.contract.content import Content
from dogu.runtime.journal.words import entry_lines
from dogu.runtime.runtime import Runtime
from dogu.runtime.session_folder import RECORD_NAME
from dogu.serve.mcp.offers import OfferedResource

_PREFIX = "dogu://session"
_LONGEST_BYTES = 16 << 20


def session_uri(runtime: Runtime, what: str) -> str:
    """Return the address of a part of the session's record: `record`, `changes`."""
    return f"{_PREFIX}/{os.path.basename(runtime.session_folder)}/{what}"


def session_resources(runtime: Runtime) -> Iterator[OfferedResource]:
    """Give what is kept of the session now."""
    changes = OfferedResource(
        session_uri(runtime, "changes"),
        "changes",
        _in_thread(lambda: _changes(runtime)),
        description="What this session changed, by call; `dogu undo` takes it back.",
    )
    yield changes
    folder = runtime.session_folder
    if os.path.exists(os.path.join(folder, RECORD_NAME)):
        yield OfferedResource(
            session_uri(runtime, "record"),
            "record",
            _in_thread(lambda: _text(os.path.join(folder, RECORD_NAME))),
            "application/jsonl",
            "Every call of this session with its result, one JSON object a line.",
        )
    for name in sorted(each for each in os.listdir(folder) if each.endswith(".txt")):
        yield OfferedResource(
            session_uri(runtime, f"output/{name}"),
            name,
            _in_thread(lambda name=name: _text(os.path.join(folder, name))),
            description="The whole output of a call, of which the answer held a part.",
        )


def _in_thread(make: Callable[[], Content]) -> Callable[[], Awaitable[Content]]:
    async def read() -> Content:
        return await to_thread.run_sync(make)

    return read


def _changes(runtime: Runtime) -> Content:
    lines = [line for entry in runtime.journal.entries() for line in entry_lines(entry)]
    return "\n".join(lines) or "Nothing was changed."


def _text(path: str) -> Content:
    """The end of the file, if it is very long."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _LONGEST_BYTES))
        text = file.read(_LONGEST_BYTES).decode("utf-8", "replace")
    left_out = size - _LONGEST_BYTES
    return f"[The first {left_out} bytes are left out.]\n{text}" if left_out > 0 else text
