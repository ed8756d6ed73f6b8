r"""`@path` in a prompt: which files the person means.

`@src/a.py`, `@"with blanks.md"` and `@with\ blanks.md`, at the start or after white space or an opening bracket, so
that an address like a@b.c is none. What a path names is read by the tool `read_many_files`, under the same rules as
any other call.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dogu.contract.content import Content, Text, parts_of
from dogu.contract.errors import ToolError
from dogu.runtime.calls import ToolCall
from dogu.runtime.events import Emit, emit_nothing
from dogu.runtime.executor import Executor

_AT = re.compile(r"""(?:(?<=^)|(?<=[\s(\[{"'「『（【]))@(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s\\"'`])+))""")
_CLOSING = ".,;:!?)]}、。，；：！？）】」』"


def at_paths(prompt: str) -> list[list[str]]:
    """Return for each `@path` the readings to try in order: as written, then without closing punctuation."""
    found: list[list[str]] = []
    for match in _AT.finditer(prompt):
        quoted = match.group(1) or match.group(2)
        if quoted:
            readings = [quoted]
        else:
            written = re.sub(r"\\(.)", r"\1", match.group(3))
            shorter = written.rstrip(_CLOSING)
            readings = [written, shorter] if shorter and shorter != written else [written]
        if readings not in found:
            found.append(readings)
    return found


class PromptReader:
    """Turns a prompt's text into content, with the files that it names read into it.

    `exists` says whether a path, relative to the root or absolute, is there; a path that isn't stays a word.
    """

    def __init__(self, executor: Executor, exists: Callable[[str], bool]) -> None:
        self._executor = executor
        self._exists = exists

    async def __call__(self, prompt: str, emit: Emit = emit_nothing) -> Content:
        """Return the prompt, followed by the files; a file that can't be read is told in its place."""
        paths = [path for readings in at_paths(prompt) if (path := self._first_that_exists(readings))]
        if not paths:
            return prompt
        answer = await self._executor.run(ToolCall("at", "read_many_files", {"paths": paths}), emit)
        heading = Text(f"{prompt}\n\nThe files named above:")
        return [heading, *parts_of(answer.result.llm_content)]

    def _first_that_exists(self, readings: list[str]) -> str | None:
        return next((path for path in readings if self._is_there(path)), None)

    def _is_there(self, path: str) -> bool:
        try:
            return self._exists(path)
        except ToolError:
            return False
