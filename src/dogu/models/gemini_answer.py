"""Puts Gemini's answer together from its chunks: deltas to show, and one content for the history with nothing lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from dogu.language import joined, told
from dogu.models.call_arguments import NO_NAME, UNNAMED, call_id_of, read_arguments, sound_name
from dogu.models.counts import Counts
from dogu.models.endings import empty, ending_of, spent_on_thoughts, unfinished
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.models.gemini_errors import blocked_prompt, stream_error
from dogu.models.gemini_wire import NO_SIGNATURE, PlainText, WireChunk, WireFunctionCall, WirePart
from dogu.models.reading import decoded, events_of, loosely
from dogu.models.refusals import is_error
from dogu.models.schemas import GEMINI
from dogu.models.translation import Tools

_KNOWN_FIELDS = frozenset(("text", "thought", "thoughtSignature", "functionCall"))


class GeminiAnswer:
    """An answer as it grows: `absorb` each chunk, then `finish`.

    With `needs_signature` the model takes its calls back only with a thought signature on the first of them.
    """

    def __init__(self, tools: Tools | None = None, *, needs_signature: bool = False) -> None:
        self._tools = tools or Tools(GEMINI)
        self._needs_signature = needs_signature
        self._parts: list[bytes] = []  # encoded, as they will stand in the history
        self._plain: list[str] = []  # pieces of the plain text that grows now
        self._plain_is_thought = False
        self._has_substance = False  # more than thoughts
        self._calls: list[FunctionCallEvent] = []
        self._counts = Counts()
        self._finish = ""
        self._finish_message = ""
        self._block = ""
        self._chunks = 0

    def is_complete(self) -> bool:
        """Whether a finish reason has come."""
        return bool(self._finish or self._block)

    def absorb(self, payloads: Sequence[bytes]) -> list[ModelEvent]:
        """Take chunks that arrived together and return the deltas, neighbours joined.

        Raises:
            ModelError: MALFORMED for what is no chunk, or what an error in the stream says.
        """
        return events_of(payloads, self.is_complete, self._absorb)

    def _absorb(self, payload: bytes) -> list[ModelEvent]:
        chunk = decoded(payload, WireChunk)
        pieces: list[PlainText] = []
        if chunk is not None:
            self._absorb_chunk(chunk, pieces)
        return [ThoughtDelta(piece.text) if piece.thought else TextDelta(piece.text) for piece in pieces]

    def ended(self, *, is_framed: bool) -> None:
        """A finish reason says it all."""

    def finish(self) -> list[ModelEvent]:
        """Return the calls, the usage and `Finished`.

        Raises:
            ModelError: SAFETY, BLOCKED, INCOMPLETE or MALFORMED when this is no answer.
        """
        self._end_plain()
        if self._block:
            raise blocked_prompt(self._block)
        if not self._finish:
            raise unfinished() if self._chunks else _none_at_all()
        reason, note = ending_of(self._finish, self._finish_message)
        if not self._has_substance:
            if reason is not FinishReason.LENGTH:
                raise empty(self._finish)
            note = spent_on_thoughts()
            self._parts.append(b'{"text":""}')
        content = b'{"role":"model","parts":[' + b",".join(self._parts) + b"]}"
        calls = tuple(self._calls)
        notes = joined(" ", filter(None, (note, self._tools.problem())))
        return [*calls, self.usage(), Finished(reason, content, calls, notes)]

    def usage(self) -> Usage:
        """Return what the server has counted so far."""
        return self._counts.usage()

    def _absorb_chunk(self, chunk: WireChunk, pieces: list[PlainText]) -> None:
        if is_error(chunk.error):
            raise stream_error(msgspec.json.encode(chunk.error))
        feedback = chunk.prompt_feedback
        if feedback and feedback.block_reason:
            self._block = ": ".join(filter(None, (feedback.block_reason, feedback.block_reason_message)))
        self._counts.take(chunk.usage_metadata)
        if not chunk.candidates:
            return
        self._chunks += 1
        candidate = chunk.candidates[0]
        for raw in (candidate.content and candidate.content.parts) or ():
            self._absorb_part(raw, pieces)
        self._finish = candidate.finish_reason or self._finish
        self._finish_message = candidate.finish_message or self._finish_message

    def _absorb_part(self, raw: msgspec.Raw, pieces: list[PlainText]) -> None:
        try:
            plain = msgspec.json.decode(raw, type=PlainText)
        except msgspec.ValidationError:
            self._absorb_other(raw, pieces)
            return
        except (msgspec.DecodeError, UnicodeDecodeError):
            if (whole := loosely(bytes(raw))) is not None:
                self._absorb_part(msgspec.Raw(msgspec.json.encode(whole)), pieces)
            return
        pieces.append(plain)
        if plain.thought != self._plain_is_thought:
            self._end_plain()
            self._plain_is_thought = plain.thought
        self._plain.append(plain.text)

    def _absorb_other(self, raw: msgspec.Raw, pieces: list[PlainText]) -> None:
        """Keep a part byte for byte, unless it is a call that the wire would not take back."""
        found = _other_part(raw)
        if found is None:
            return
        part, encoded = found
        self._end_plain()
        if part.text:
            pieces.append(PlainText(part.text, bool(part.thought)))
        if not part.thought and (part.text is None or part.text.strip()):
            self._has_substance = True
        if part.function_call is not None:
            is_unsigned = self._needs_signature and not self._calls and not part.thought_signature
            encoded = self._absorb_call(
                encoded, part.function_call, {"thoughtSignature": NO_SIGNATURE} if is_unsigned else {}
            )
        self._parts.append(encoded)

    def _absorb_call(self, encoded: bytes, call: WireFunctionCall, more: dict[str, str]) -> bytes:
        """Note the call and return its part with an id of its own, a name, arguments that are an object, and `more`."""
        args, problem = read_arguments(bytes(call.args))
        if not call.name:
            args, problem = None, NO_NAME
        taken = {known.call_id for known in self._calls}
        call_id = call_id_of(call.id, taken)
        event = FunctionCallEvent(call_id, self._tools.name_of(call.name or UNNAMED), args, problem)
        self._calls.append(event)
        name = sound_name(event.name)  # what the wire takes back; the call is answered by what was asked for
        is_sound = call.id == call_id and call.name == name and bytes(call.args)[:1] == b"{"
        if is_sound and not more:
            return encoded
        part = cast("dict[str, Any]", msgspec.json.decode(encoded))
        part["functionCall"] |= {"id": call_id, "name": name, "args": args or {}}
        return msgspec.json.encode(part | more)

    def _end_plain(self) -> None:
        text = "".join(self._plain)
        self._plain = []
        if text:
            part = {"text": text, "thought": True} if self._plain_is_thought else {"text": text}
            self._parts.append(msgspec.json.encode(part))
            self._has_substance = self._has_substance or bool(text.strip() and not self._plain_is_thought)


def _other_part(raw: msgspec.Raw) -> tuple[WirePart, bytes] | None:
    """Read a part, and return it as it is kept; an unknown kind has no known field, one that holds nothing is None."""
    try:
        fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return None
    present = {field for field, value in fields.items() if bytes(value) != b"null"}
    if not present - {"thought"}:
        return None
    if not present & {"text", "functionCall"}:
        return WirePart(), bytes(raw)
    try:
        return msgspec.json.decode(raw, type=WirePart), bytes(raw)
    except msgspec.ValidationError:
        return _mended_part(fields, bytes(raw))


def _mended_part(fields: dict[str, msgspec.Raw], raw: bytes) -> tuple[WirePart, bytes] | None:
    """Read a part whose known fields aren't all what they should be, and write those that are."""
    part = decoded(raw, WirePart)
    if part is None or (part.text is None and part.function_call is None):
        return None
    kept: dict[str, Any] = {name: value for name, value in fields.items() if name not in _KNOWN_FIELDS}
    known = {"text": part.text, "thought": part.thought, "thoughtSignature": part.thought_signature}
    kept |= {name: value for name, value in known.items() if value is not None}
    if (call := part.function_call) is not None:
        named = {"id": call.id, "name": call.name}
        args = {"args": call.args} if bytes(call.args) else {}
        kept["functionCall"] = {name: value for name, value in named.items() if value is not None} | args
    return part, msgspec.json.encode(kept)


def _none_at_all() -> ModelError:
    message = told("The server ended the stream without an answer.")
    return ModelError(ModelErrorKind.INCOMPLETE, message, most_tries=3)
