"""Puts an answer of the chat-completions wire together, however its server writes calls, as one Gemini content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from dogu.language import joined, told
from dogu.models.call_arguments import is_complete
from dogu.models.contents import ModelContent
from dogu.models.counts import Counts
from dogu.models.endings import calls_missing, cut_before_words, empty, ending_of, is_length, refused, unfinished
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    ModelError,
    ModelEvent,
    Retrying,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.models.openai_errors import stream_error
from dogu.models.reading import DONE, Answer, Arguments, Followed, decoded, says_something, text_in, word_in
from dogu.models.refusals import is_error
from dogu.models.schemas import PLAIN
from dogu.models.tagged_text import TaggedText
from dogu.models.translation import Tools, dicts, extras

_THOUGHT_FIELDS = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
_GIVEN_BACK = ("reasoning_details", "thinking_blocks", "extra_content", "reasoning_opaque")
_CALL_FIELDS = frozenset(("index", "id", "type", "function"))
_LONGEST_ID = 40
_CALLS_FOLLOW = frozenset(("tool_calls", "tool_use", "function_call"))
_UNREAD = (
    "What you wrote as a call can't be read as one. Call tools as functions; where you can't, end your answer with "
    '<tool_call>{"name": ..., "arguments": {...}}</tool_call> and nothing after it.'
)


class Habits:
    """How a server answers, as far as it differs from the documented way: learned from its answers alone."""

    def __init__(self) -> None:
        self.calls_natively = False  # then what stands in its text is text
        self.begins_in_thought = False  # the tag that opens a thought is in the model's prompt
        self._says_ends = False
        self._last_silent: tuple[bool, object] | None = None
        self._thoughts_alone = 0
        self._misses_calls = False

    def ended(self) -> None:
        """An answer said that it was finished: one that doesn't is cut."""
        self._says_ends, self._last_silent = True, None

    def ends_silently(self, said: object, *, is_framed: bool) -> bool:
        """Whether this is how the server ends: so did the answer before, whole by HTTP's framing, or just the same."""
        before, self._last_silent = self._last_silent, (is_framed, said)
        if before is None or self._says_ends:
            return False
        return (is_framed and before[0]) or said == before[1]

    def misses_calls(self, *, are_told: bool) -> bool:
        """Note whether an answer ended with calls that aren't there; whether the one before did not."""
        is_first, self._misses_calls = are_told and not self._misses_calls, are_told
        return is_first

    def answers_in_thoughts(self, *, is_alone: bool) -> bool:
        """Note whether an answer was nothing but thoughts; whether the one before was so too."""
        self._thoughts_alone = self._thoughts_alone + 1 if is_alone else 0
        return self._thoughts_alone > 1


class WireChoice(msgspec.Struct):
    """An answer (`message`, or `text` of an older wire), or the next piece of it (`delta`)."""

    index: int | None = None
    delta: dict[str, Any] | None = None
    message: dict[str, Any] | None = None
    text: str | None = None
    finish_reason: str | None = None
    usage: Any = None  # Kimi's place for it


class WireCompletion(msgspec.Struct):
    """One event of a stream, or a whole answer."""

    object: str = ""
    choices: list[WireChoice] | None = None
    usage: Any = None
    x_groq: dict[str, Any] | None = None  # Groq's place for it
    error: Any = None


class _GrowingCall:
    """A call whose pieces are still coming."""

    def __init__(self, index: object, call_id: str) -> None:
        self.index = index
        self.id = call_id
        self.name = ""
        self.arguments = ""
        self.extras: dict[str, Any] = {}

    def add(self, piece: dict[str, Any]) -> None:
        """Add a piece: names come whole, again and again, or in fragments before the arguments begin."""
        name, arguments = _name_in(piece), _arguments_in(piece)
        if name and name != self.name and not self.arguments:
            self.name += name
        is_whole_anew = len(self.arguments) > 1 and arguments.startswith(self.arguments) and is_complete(arguments)
        self.arguments = arguments if is_whole_anew else self.arguments + arguments
        self.extras |= extras(piece, _CALL_FIELDS)


class OpenAIAnswer(Answer):
    """An answer as it grows: `absorb` each chunk, then `finish`."""

    def __init__(
        self,
        origin: str = "",
        tools: Tools | None = None,
        habits: Habits | None = None,
        explain: Callable[[bytes], ModelError] = stream_error,
    ) -> None:
        self._origin = origin
        self._tools = tools or Tools(PLAIN)
        self._habits = habits or Habits()
        self._explain = explain
        self._tagged = TaggedText(
            self._tools,
            takes_calls=self._tools.are_declared and not self._habits.calls_natively,
            begins_in_thought=self._habits.begins_in_thought,
        )
        self._followed = Followed[WireChoice]()
        self._contents: list[str] = []  # as they came, tags and all
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._thought_fields: dict[str, list[str]] = {}
        self._given_back: dict[str, Any] = {}
        self._refusal = ""
        self._calls: list[_GrowingCall] = []
        self._counts = Counts()
        self._finish = ""
        self._is_done = False
        self._is_framed = False
        self._arguments = Arguments()
        self._thinks_in_content = False

    def is_complete(self) -> bool:
        """Whether a finish reason has come; the counts may still follow."""
        return self._is_done or bool(self._finish)

    def ended(self, *, is_framed: bool) -> None:
        """Note that the stream came to its end, and whether HTTP's framing says that nothing of it is missing."""
        self._is_framed = is_framed

    def finish(self) -> list[ModelEvent]:
        """Return the calls, the usage and `Finished`. Raises `ModelError` when this is no answer."""
        late = self._said("", is_last=True)
        self._check_end()
        has_calls = bool(self._calls or self._tagged.calls or self._tagged.unread)
        if self._habits.misses_calls(are_told=self._finish in _CALLS_FOLLOW and not has_calls):
            raise calls_missing()
        reason, note = ending_of(self._finish or "stop")
        if self._refusal and not self._calls:
            raise refused(self._refusal)
        content = ModelContent(self._origin)
        is_alone = self._has_thoughts() and not "".join(self._text).strip() and not self._calls
        if self._habits.answers_in_thoughts(is_alone=is_alone and reason is FinishReason.STOP):
            self._text.append("".join(self._thoughts))  # some servers give their answers as thoughts
            late.append(TextDelta(self._text[-1]))
        self._add_words(content)
        calls = self._add_calls(content)
        if not "".join(self._text).strip() and not calls:
            if reason is not FinishReason.LENGTH:
                raise empty()
            note = cut_before_words(self._finish)
            content.text("")
        notes = joined(" ", filter(None, (note, self._tools.problem())))
        return [*late, *calls, self.usage(), Finished(reason, content.encoded(), calls, notes)]

    def _check_end(self) -> None:
        """Raise `ModelError` for an answer that may be cut."""
        if self.is_complete():
            self._habits.ended()
            return
        said = ("".join(self._text), tuple((call.name, call.arguments) for call in self._calls))
        has_something = bool(said[0].strip() or said[1] or self._tagged.calls)
        if not has_something or not self._habits.ends_silently(said, is_framed=self._is_framed):
            raise unfinished()

    def _has_thoughts(self) -> bool:
        return bool("".join(self._thoughts).strip())

    def _add_words(self, content: ModelContent) -> None:
        """Add thoughts, with what goes back of them, and text."""
        fields = {field: "".join(pieces) for field, pieces in self._thought_fields.items()}
        first = next((field for field, thought in fields.items() if thought), next(iter(fields), ""))
        others = {field: thought for field, thought in fields.items() if field != first and thought}
        given = {**others, **self._given_back}
        wire: dict[str, Any] = {**({"field": first} if first else {}), **({"fields": given} if given else {})}
        if first and fields[first] != "".join(self._thoughts):
            wire = {"fields": {**fields, **self._given_back}}
        if self._thinks_in_content:
            wire["in_content"] = True
        thoughts, text = "".join(self._thoughts), "".join(self._text)
        if thoughts or wire:
            content.thought(thoughts, wire)
        if text:
            content.text(text)

    def usage(self) -> Usage:
        """Return what the server has counted so far."""
        return self._counts.usage()

    def _absorb(self, payload: bytes) -> list[ModelEvent]:
        if word_in(payload) == DONE:
            self._is_done = True
            return self._said("", is_last=True)
        chunk = decoded(payload, WireCompletion)
        if chunk is None:
            return []
        if is_error(chunk.error) or chunk.object == "error":
            raise self._explain(payload)
        self._counts.take(chunk.usage or (chunk.x_groq or {}).get("usage"))
        choice = self._followed.among(chunk.choices or ())
        if choice is None:
            return []
        self._counts.take(choice.usage)
        message = self._message_of(choice)
        self.heard += says_something(message)
        deltas = self._absorb_message(message)
        self._finish = choice.finish_reason or self._finish
        return [*deltas, *(self._said("", is_last=True) if self._finish or self._is_done else ())]

    def _message_of(self, choice: WireChoice) -> dict[str, Any]:
        """Return what is new in a choice: Perplexity says all of the answer so far beside each piece of it."""
        if choice.message is None or (choice.delta is not None and (self.heard or says_something(choice.delta))):
            return choice.delta or ({"content": choice.text} if choice.text else {})
        self._is_done = True
        before, whole = "".join(self._contents), text_in(choice.message.get("content"))
        if not before or not whole.startswith(before):
            return choice.message
        return {"content": whole[len(before) :], "tool_calls": choice.message.get("tool_calls")}

    def _absorb_message(self, message: dict[str, Any]) -> list[ModelEvent]:
        content = text_in(message.get("content"))
        self._contents += [content] if content else []
        deltas: list[ModelEvent] = []
        if thought := self._absorb_thoughts(message):
            deltas.append(ThoughtDelta(thought))
        deltas += self._said(content)
        if refusal := text_in(message.get("refusal")):
            self._refusal += refusal
            deltas.append(TextDelta(refusal))
        legacy = [{"index": 0, "function": call} for call in dicts(message.get("function_call"))]
        for call in dicts(message.get("tool_calls")) or legacy:  # llama.cpp's Python server says each call both ways
            if not call:
                continue
            self._habits.calls_natively = self._habits.calls_natively or bool(_name_in(call))
            self._growing(call).add(call)
            self._arguments.watch(_arguments_in(call))
        return deltas

    def _absorb_thoughts(self, message: dict[str, Any]) -> str:
        """Take the thoughts of a message, and return what is new of them: some servers say each in two fields."""
        new = ""
        for field in _THOUGHT_FIELDS:
            thought = message.get(field)
            if isinstance(thought, str):
                self._thought_fields.setdefault(field, []).append(thought)
                new = new or thought
        for field in _GIVEN_BACK:
            if (value := message.get(field)) is not None:
                self._given_back[field] = _grown(self._given_back.get(field), value)
        for piece in dicts(message.get("content")):  # Mistral's
            self._thinks_in_content = self._thinks_in_content or "thinking" in piece
            new += text_in(piece.get("thinking"))
        self._thoughts += [new] if new else []
        return new

    def _said(self, text: str, *, is_last: bool = False) -> list[ModelEvent]:
        """Take text and return what is known by now to be text, or a thought."""
        tagged, deltas = self._tagged, list[ModelEvent]()
        thought, said = tagged.feed(text, is_last=is_last, is_called=bool(self._calls))
        if tagged.was_thought:
            deltas += self._take_back()
        if tagged.was_text:  # it was expected to begin in a thought
            tagged.was_text, self._habits.begins_in_thought = False, False
            said, self._thoughts, thought = "".join(self._thoughts) + thought + said, [], ""
        if thought:
            self._thoughts.append(thought)
            deltas.append(ThoughtDelta(thought))
        if said:
            self._text.append(said)
            deltas.append(TextDelta(said))
        return deltas

    def _take_back(self) -> list[ModelEvent]:
        """Make a thought of the text so far: its end has come, and its beginning stands in the model's prompt."""
        self._tagged.was_thought, self._habits.begins_in_thought = False, True
        before, self._text = "".join(self._text) + self._tagged.taken_back, []
        if not before.strip():
            return []
        self._thoughts.append(before)
        words = told("What came so far was the model's thinking.")
        return [Retrying(words, 0.0, 0, 0), ThoughtDelta(before)]

    def _growing(self, piece: dict[str, Any]) -> _GrowingCall:
        """Find the call that a piece belongs to: by index and id, else one of them, else the last it continues."""
        index, call_id = piece.get("index"), str(piece.get("id") or "")
        name = _name_in(piece)
        at_index = [known for known in reversed(self._calls) if known.index == index]
        call = next((known for known in at_index if call_id and known.id == call_id), at_index[0] if at_index else None)
        if index is None:
            by_id = next((known for known in self._calls if call_id and known.id == call_id), None)
            call = by_id or (None if call_id or name else call)
        elif call is not None and name and call_id and call.id and call_id != call.id:
            goes_on = name == call.name and call.arguments and not is_complete(call.arguments)
            call = call if goes_on and not _arguments_in(piece).startswith("{") else None  # all may have the index 0
        elif call is not None and name and not call_id and is_complete(call.arguments):
            call = None  # the same, without ids: what is whole grows no more
        last = self._calls[-1] if self._calls else None
        if call is None and not (name or call_id) and last is not None and not is_complete(last.arguments):
            call = last  # SGLang counts a call's arguments as the next one
        if call is None:
            call = _GrowingCall(index, call_id)
            self._calls.append(call)
        call.id = call.id or call_id
        return call

    def _add_calls(self, content: ModelContent) -> tuple[FunctionCallEvent, ...]:
        for name, arguments in self._tagged.calls:
            self._calls.append(_GrowingCall(None, ""))
            self._calls[-1].name, self._calls[-1].arguments = name, arguments
        self._tagged.calls = []
        is_cut = is_length(self._finish) or not self._finish  # what is missing at the end then stays so
        calls: list[FunctionCallEvent] = []
        for before, call in zip([None, *self._calls], self._calls, strict=False):
            if before is not None and _is_echo(before, call):
                continue
            calls.append(self._tools.call(calls, call.id, call.name, call.arguments, is_cut=is_cut))
            given = {"call": call.extras} if call.extras else {}
            kept = {"keeps_id": True} if len(call.id) > _LONGEST_ID else {}  # it may hold what the server wants back
            content.call(calls[-1], call.arguments, {**given, **kept})
        if unread := self._tagged.unread:
            calls.append(self._tools.unread_call(calls, unread, _UNREAD, is_cut=is_length(self._finish)))
            content.call(calls[-1], unread)
        return tuple(calls)


def _is_echo(before: _GrowingCall, call: _GrowingCall) -> bool:
    """Whether a call is but the name of the one before said again: some servers end a call so."""
    return (
        call.name == before.name
        and call.index == before.index
        and not call.id
        and not call.arguments
        and bool(before.arguments)
    )


def _name_in(piece: dict[str, Any]) -> str:
    name = _function_in(piece).get("name")
    return name if isinstance(name, str) else ""


def _arguments_in(piece: dict[str, Any]) -> str:
    """Return a piece of the arguments, which some servers give as the object."""
    arguments: object = _function_in(piece).get("arguments")
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def _function_in(piece: dict[str, Any]) -> dict[str, Any]:
    found = dicts(piece.get("function"))
    return found[0] if found else {}


def _grown(before: object, piece: object) -> object:
    """Join what comes in pieces: lists by the items' index and type, whose texts grow; the rest is as it came last.

    Without an index, neighbours of one type are one item until it is signed.
    """
    items, news = dicts(cast("object", before)) if isinstance(before, list) else [], dicts(piece)
    if not isinstance(piece, list) or not news:
        return cast("object", piece)
    for new in news:
        same = next((item for item in items if _place(item) == _place(new) and "index" in new), None)
        if same is None and items and _goes_on(items[-1], new):
            same = items[-1]
        if same is None:
            items.append(new)
            continue
        for key, value in new.items():
            grows = key in ("text", "summary", "data", "thinking") and isinstance(value, str)
            same[key] = f"{same.get(key) or ''}{value}" if grows else same.get(key) if value is None else value
    return items


def _goes_on(item: dict[str, Any], new: dict[str, Any]) -> bool:
    is_text = not (item.keys() | new.keys()) & {"index", "id", "data"}
    return is_text and item.get("type") == new.get("type") and not item.get("signature")


def _place(item: dict[str, Any]) -> tuple[object, object]:
    return item.get("index"), item.get("type")
