"""Events as JSON and back: what a line of the record holds, by kind.

A call's arguments stand with its beginning, the model's whole answer with the history that it is added to: neither is
repeated with the events that follow, `EventReader` puts them together again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from dogu.agent import events as ours
from dogu.agent.events import EndReason, RecordedEvent, TurnEnd, TurnEnded
from dogu.agent.history import AllReplaced, ContentAdded, CutBack, LastReplaced
from dogu.contract.content import Blob, Content, Text, parts_of
from dogu.contract.display import CommandPreview, Display, FileDiff, PatchDiff, TerminalOutput, TodoList, markdown_of
from dogu.contract.errors import ErrorKind
from dogu.contract.result import ToolFailure, ToolResult
from dogu.language import plain
from dogu.models.events import Finished, FinishReason, FunctionCallEvent, Retrying, TextDelta, ThoughtDelta, Usage
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Noted, ToolCall, Within
from dogu.runtime.recorded_messages import messages_data, said_again

_LARGEST_TEXTS_CHARS = 256 * 1024
_T = TypeVar("_T")

# Events whose fields are JSON as they are.
_PLAIN: dict[str, type] = {
    "begun": ours.SessionBegun,
    "forked": ours.SessionForked,
    "resumed": ours.SessionResumed,
    "turn_failed": ours.TurnFailed,
    "turn_cancelled": ours.TurnCancelled,
    "answered": ours.QuestionAnswered,
    "enquired": ours.ElicitationMade,
    "enquiry_answered": ours.ElicitationAnswered,
    "sampled": ours.SamplingAnswered,
    "state": ours.StateChanged,
    "rewound": ours.Rewound,
    "compacted": ours.Compacted,
    "gap": ours.RecordGap,
    "text": TextDelta,
    "thought": ThoughtDelta,
    "retrying": Retrying,
    "usage": Usage,
    "call_output": CallOutput,
    "noted": Noted,
}
_KINDS = {event_type: kind for kind, event_type in _PLAIN.items()}
_DISPLAYS: dict[str, type] = {
    "diff": FileDiff,
    "patch": PatchDiff,
    "terminal": TerminalOutput,
    "command": CommandPreview,
    "todos": TodoList,
}


class EventWriter:
    """Turns events into `(kind, data)`; knows which calls' arguments are written already."""

    def __init__(self) -> None:
        self._begun: set[str] = set()

    def encode(self, event: RecordedEvent) -> tuple[str, Any] | None:
        """Return the kind and what `msgspec.json` can encode; None for an event that another one holds already."""
        encoded = self._encode(event)
        if encoded is None or isinstance(event, Within):
            return encoded
        kind, data = encoded
        said = messages_data(event)
        return kind, {**msgspec.to_builtins(data, enc_hook=plain), "said": said} if said else data

    def _encode(self, event: RecordedEvent) -> tuple[str, Any] | None:
        kind = _KINDS.get(type(event))
        if kind is not None:
            return kind, event
        match event:
            case FunctionCallEvent():
                return None
            case CallStarted() | CallFinished():
                return self._call(event)
            case Within(call_id=call_id, event=inner):
                encoded = self.encode(inner)
                return encoded and ("within", {"call_id": call_id, "kind": encoded[0], "data": encoded[1]})
            case _:
                known = _WRITERS.get(type(event))
                return known(event) if known else (f"{type(event).__module__}.{type(event).__qualname__}", event)

    def _call(self, event: CallStarted | CallFinished) -> tuple[str, Any]:
        call = event.call
        data: dict[str, Any] = {"call_id": call.call_id, "name": call.name, "display_name": event.display_name}
        if isinstance(event, CallStarted):
            self._begun.add(call.call_id)
            return "call_started", {**data, "description": event.description, "args": call.args}
        if call.call_id not in self._begun:
            data |= {"args": call.args, "problem": call.problem}
        self._begun.discard(call.call_id)
        return "call_finished", {**data, "result": result_data(event.result)}


def _line_of(content: bytes) -> msgspec.Raw:
    """A content without line breaks: JSON has them between its words only."""
    return msgspec.Raw(content.replace(b"\n", b" ").replace(b"\r", b" "))


_WRITERS: dict[type, Callable[[Any], tuple[str, Any]]] = {
    ContentAdded: lambda event: ("history_added", _line_of(event.content)),
    LastReplaced: lambda event: ("history_last", _line_of(event.content)),
    CutBack: lambda event: (
        "history_cut",
        {"length": event.length, "last": _line_of(event.last) if event.length else None},
    ),
    AllReplaced: lambda event: ("history_all", [_line_of(content) for content in event.contents]),
    ours.PromptGiven: lambda event: (
        "prompt",
        {"turn": event.turn, "content": content_data(event.content), **({"typed": event.typed} if event.typed else {})},
    ),
    ours.QuestionAsked: lambda event: ("asked", _question(event)),
    Finished: lambda event: ("finished", {"reason": event.reason, "note": event.note}),
    TurnEnded: lambda event: (
        "turn_ended",
        {"reason": event.end.reason, "note": event.end.note, "usage": event.end.usage},
    ),
}


def _question(event: ours.QuestionAsked) -> dict[str, Any]:
    display = event.display
    if isinstance(display, FileDiff):
        display = _without_texts(display)
    elif isinstance(display, PatchDiff):
        display = PatchDiff(tuple(map(_without_texts, display.files)))
    names = {"call_id": event.call_id, "tool": event.tool, "title": event.title}
    return {**names, "display": display_data(display), "reasons": event.reasons}


class EventReader:
    """Turns `(kind, data)` back into events, in their order: a call that ends is given what its beginning said."""

    def __init__(self) -> None:
        self._begun: dict[str, ToolCall] = {}
        self._readers: dict[str, Callable[[Any], RecordedEvent]] = {
            "call_started": self._started,
            "call_finished": self._finished,
            "within": self._within,
            "history_added": lambda data: ContentAdded(bytes(data)),
            "history_last": lambda data: LastReplaced(bytes(data)),
            "history_cut": _cut,
            "history_all": _all,
            "prompt": lambda data: ours.PromptGiven(content_of(data["content"]), data["turn"], data.get("typed", "")),
            "asked": _asked,
            "finished": lambda data: Finished(FinishReason(data["reason"]), b"", (), data["note"]),
            "turn_ended": _turn_ended,
        }

    def decode(self, kind: str, data: msgspec.Raw) -> RecordedEvent:
        """Return the event. Raises `msgspec.ValidationError`, `KeyError` or `ValueError` for data that isn't one."""
        event = self._decode(kind, data)
        if kind == "within" or b'"said":[[' not in bytes(data):
            return event
        fields = msgspec.json.decode(data)
        return said_again(event, fields["said"]) if "said" in fields else event

    def _decode(self, kind: str, data: msgspec.Raw) -> RecordedEvent:
        if kind in _PLAIN:
            return cast("RecordedEvent", msgspec.json.decode(data, type=_PLAIN[kind]))
        reader = self._readers.get(kind)
        if reader is None:
            return ours.UnknownEvent(kind, msgspec.json.decode(data))
        return reader(data if kind.startswith("history_") else msgspec.json.decode(data))

    def _started(self, data: dict[str, Any]) -> CallStarted:
        call = ToolCall(data["call_id"], data["name"], data["args"])
        self._begun[call.call_id] = call
        return CallStarted(call, data["display_name"], data["description"])

    def _finished(self, data: dict[str, Any]) -> CallFinished:
        call = self._begun.pop(data["call_id"], None)
        if call is None or "args" in data:
            call = ToolCall(data["call_id"], data["name"], data.get("args"), data.get("problem", ""))
        return CallFinished(call, data["display_name"], result_of(data["result"]))

    def _within(self, data: dict[str, Any]) -> Within | ours.UnknownEvent:
        inner = self.decode(data["kind"], msgspec.Raw(msgspec.json.encode(data["data"])))
        if isinstance(inner, CallStarted | CallOutput | CallFinished | Noted):
            return Within(data["call_id"], inner)
        return ours.UnknownEvent("within", data)


def content_data(content: Content) -> Any:
    """Return the content as JSON: a text, or a list of `{"text"}` and `{"media_type", "data", "name"}`."""
    if isinstance(content, str):
        return content
    return [part if isinstance(part, Blob) else {"text": part.text} for part in parts_of(content)]


def content_of(data: Any) -> Content:
    """Return the content of its JSON."""
    if isinstance(data, str):
        return data
    return [
        (Text(part["text"]) if "text" in part else msgspec.convert(part, Blob))
        for part in cast("list[dict[str, Any]]", data)
    ]


def result_data(result: ToolResult) -> dict[str, Any]:
    """Return the result as JSON."""
    data: dict[str, Any] = {"llm": content_data(result.llm_content), "display": display_data(result.return_display)}
    return data | {"error": result.error} if result.error else data


def result_of(data: Mapping[str, Any]) -> ToolResult:
    """Return the result of its JSON."""
    error = data.get("error")
    failure = ToolFailure(ErrorKind(error["kind"]), error["message"]) if error else None
    return ToolResult(content_of(data["llm"]), display_of(data["display"]), failure)


def display_data(display: Display) -> Any:
    """Return the display as JSON; the texts of a large diff are left out, its unified form stays."""
    if isinstance(display, FileDiff) and len(display.old_text or "") + len(display.new_text) > _LARGEST_TEXTS_CHARS:
        display = _without_texts(display)
    elif isinstance(display, PatchDiff):
        texts = sum(len(file.old_text or "") + len(file.new_text) for file in display.files)
        display = PatchDiff(tuple(map(_without_texts, display.files))) if texts > _LARGEST_TEXTS_CHARS else display
    for kind, display_type in _DISPLAYS.items():
        if isinstance(display, display_type):
            return {kind: display}
    return display if isinstance(display, str) else markdown_of(display)


def display_of(data: Any) -> Display:
    """Return the display of its JSON."""
    if isinstance(data, str):
        return data
    ((kind, fields),) = cast("dict[str, Any]", data).items()
    return cast("Display", msgspec.convert(fields, _DISPLAYS[kind]))


def _without_texts(diff: FileDiff) -> FileDiff:
    return FileDiff(diff.path, None if diff.old_text is None else "", "", diff.unified, diff.notes)


def _cut(data: msgspec.Raw) -> CutBack:
    cut = msgspec.json.decode(data, type=_Cut)
    return CutBack(cut.length, bytes(cut.last) if cut.length else b"")


def _all(data: msgspec.Raw) -> AllReplaced:
    return AllReplaced(tuple(bytes(content) for content in msgspec.json.decode(data, type=list[msgspec.Raw])))


class _Cut(msgspec.Struct):
    length: int
    last: msgspec.Raw


def _asked(data: dict[str, Any]) -> ours.QuestionAsked:
    display, reasons = display_of(data["display"]), tuple(data["reasons"])
    return ours.QuestionAsked(data["call_id"], data["tool"], data["title"], display, reasons)


def _turn_ended(data: dict[str, Any]) -> TurnEnded:
    usage = msgspec.convert(data["usage"], Usage)
    return TurnEnded(TurnEnd(EndReason(data["reason"]), "", (), usage, data["note"]))
