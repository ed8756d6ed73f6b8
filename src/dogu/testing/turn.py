"""What a fake model is told to answer: turns and their calls, shared by all the fakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Call(msgspec.Struct, frozen=True):
    """A function call the fake model makes. `id` empty: the fake gives none on the wire, or one of its own."""

    name: str
    args: Mapping[str, Any] = {}
    id: str = ""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: thoughts, then text (streamed in `pieces` pieces), then calls.

    `delay_s` passes before the first event, on the wire `pace_s` after each piece; `hangs` never answers; `error` is
    raised instead (an exception for `ScriptedModel`), `fault` names a fault of the wire (for the fake servers, see
    `docs/testing.md`). `parts` are parts of Gemini's wire, sent as they are after the others; `metadata` are fields of
    its candidate beside the content, such as `grounding` and `url_context` of `dogu.testing.fake_gemini_web` make.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    thought: str = ""
    pieces: int = 1
    finish: str = "STOP"
    delay_s: float = 0.0
    pace_s: float = 0.0
    hangs: bool = False
    error: Exception | None = None
    fault: str = ""
    parts: Sequence[Mapping[str, Any]] = ()
    metadata: Mapping[str, Any] = {}
    prompt_tokens: int = 10
    cached_tokens: int = 0


def call(name: str, /, **args: Any) -> Call:
    """Write a call as one would in Python: `call("read_file", path="a.py")`."""
    return Call(name, args)


def pieces_of(text: str, count: int) -> list[str]:
    """Cut the text in at most `count` pieces of nearly equal length; none when it is empty."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[start : start + size] for start in range(0, len(text), size)]
