r"""`@path` in a prompt: which files the user means.

`@src/a.py`, `@"with blanks.md"` and `@with\ blanks.md`, at the start or after white space or an opening bracket, so
that an address like a@b.c is none. What a path names is read by the tool `read_many_files`, under the same rules as
any other call.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from dogu.contract.content import Content, Part, Text, parts_of, text_of
from dogu.contract.errors import ToolError
from dogu.runtime.events import Emit, ToolAnswer, ToolCall, emit_nothing

_AT = re.compile(r"""(?:(?<=^)|(?<=[\s(\[{"'「『（【]))@(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s\\"'`])+))""")
_MOST_CHARS = 256_000  # what the user names is wanted
_CLOSING = ".,;:!?)]}、。，；：！？）】」』"


def typed_text(content: Content) -> str:
    """Return what the user typed of a prompt, without what its `@` read into it."""
    return re.split(r"\n\nThe (?:files|resource \S+) named above:", text_of(content), maxsplit=1)[0]


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


RunCall: TypeAlias = Callable[[ToolCall, Emit], Awaitable[ToolAnswer]]
"""Runs one call, on record: `Runtime.run`."""


class Resources(Protocol):
    """What a prompt may name beside files, as `@server:uri`."""

    def names(self, written: str) -> bool:
        """Whether these words name a resource."""
        ...

    async def read(self, written: str, emit: Emit) -> Content:
        """Return what it holds, or why it can't be read."""
        ...


class PromptReader:
    """Turns a prompt's text into content, with the files that it names read into it by `run`.

    `exists` says whether a path, relative to the root or absolute, is there; a path that isn't stays a word, unless it
    names one of the `resources`.
    """

    def __init__(self, run: RunCall, exists: Callable[[str], bool], resources: Resources | None = None) -> None:
        self._run = run
        self._exists = exists
        self._resources = resources

    async def __call__(self, prompt: str, emit: Emit = emit_nothing) -> Content:
        """Return the prompt, followed by the files; a file that can't be read is told in its place."""
        named = at_paths(prompt)
        paths = [path for readings in named if (path := self._first_that_exists(readings))]
        found: list[Part] = []
        if paths:
            arguments = {"paths": paths, "max_chars": _MOST_CHARS}
            answer = await self._run(ToolCall("at", "read_many_files", arguments), emit)
            found += [Text("\n\nThe files named above:"), *parts_of(answer.result.llm_content)]
        found += await self._read_resources([each for each in named if not self._first_that_exists(each)], emit)
        if not found:
            return prompt
        first = found[0]
        assert isinstance(first, Text)
        return [Text(f"{prompt}{first.text}"), *found[1:]]

    async def _read_resources(self, named: list[list[str]], emit: Emit) -> list[Part]:
        """Read what is named without the closing punctuation of a sentence, which no URI ends with."""
        if self._resources is None:
            return []
        found: list[Part] = []
        for readings in named:
            if self._resources.names(readings[-1]):
                content = await self._resources.read(readings[-1], emit)
                found += [Text(f"\n\nThe resource {readings[-1]} named above:"), *parts_of(content)]
        return found

    def _first_that_exists(self, readings: list[str]) -> str | None:
        return next((path for path in readings if self._is_there(path)), None)

    def _is_there(self, path: str) -> bool:
        try:
            return self._exists(path)
        except ToolError:
            return False
