"""Events of the agent as `session/update` notifications: the same for a turn under way and for a record."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, assert_never

import msgspec

from dogu.agent.events import (
    AskedEvent,
    Compacted,
    ElicitationAnswered,
    ElicitationMade,
    PromptGiven,
    QuestionAnswered,
    QuestionAsked,
    RecordedEvent,
    RecordGap,
    Rewound,
    SamplingAnswered,
    SessionBegun,
    SessionEvent,
    SessionForked,
    SessionResumed,
    StateChanged,
    StateEvent,
    TurnCancelled,
    TurnEnd,
    TurnEnded,
    TurnEvent,
    TurnFailed,
    UnknownEvent,
)
from dogu.agent.history import AllReplaced, ContentAdded, CutBack, LastReplaced
from dogu.contract.content import Blob, text_of
from dogu.contract.display import TodoList
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind
from dogu.language import said, say
from dogu.models.events import Finished, FunctionCallEvent, Retrying, TextDelta, ThoughtDelta, Usage
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Noted, ToolCall, Within
from dogu.runtime.registry import ToolRegistry
from dogu.serve.acp.blocks import blocks_of_content, display_content, locations_of, plan_of, text_content
from dogu.workspace.visible import visible_line

Json = dict[str, Any]

_MOST_LIVE_CHARS = 8_000
_MOST_RAW_CHARS = 40_000


class _Open(msgspec.Struct):
    """A call that the client was told of and that hasn't ended."""

    shown_id: str
    output: str = ""
    terminal: str = ""


class Updates:
    """One session's. `send` takes the content of an update; `roots[0]` is what relative paths are relative to."""

    def __init__(self, send: Callable[[Json], None], registry: ToolRegistry, roots: tuple[str, ...]) -> None:
        self._send = send
        self._registry = registry
        self.root = roots[0]
        self._open: dict[str, _Open] = {}
        self._used: set[str] = set()
        self._messages = 0
        self._speaker = ""

    def event(self, event: RecordedEvent) -> None:
        """Tell the client of an event, of a turn under way or of a record."""
        match event:
            case TextDelta(text=text):
                self._chunk("agent_message_chunk", say(text))
            case ThoughtDelta(text=text):
                self._chunk("agent_thought_chunk", text)
            case Retrying():
                self._retrying(event)
            case FunctionCallEvent(call_id=call_id, name=name, args=args):
                self._pending(ToolCall(call_id, name, args), name)
            case CallStarted() | CallOutput() | CallFinished():
                self._call_event(event)
            case Finished() | Usage():
                pass  # the answer to the prompt says them
            case _:
                self._turn_event(event)

    def live(self, event: RecordedEvent) -> None:
        """Tell the client of an event of a turn under way: what the user has just said, it shows already."""
        if isinstance(event, PromptGiven):
            self._speaker = ""
        else:
            self.event(event)

    def say(self, text: str) -> None:
        """Say something to the user that isn't the model's."""
        self._speaker = ""
        self._chunk("agent_message_chunk", say(text))
        self._speaker = ""

    def shown_id(self, call: ToolCall, title: str = "") -> str:
        """Return the id by which the client knows the call; it is told of the call first, if it wasn't."""
        if call.call_id not in self._open:
            self._pending(call, title or call.name)
        return self._open[call.call_id].shown_id

    def show_terminal(self, terminal: str) -> None:
        """Show the command that runs in this terminal of the client's."""
        for call_id, opened in reversed(self._open.items()):
            if not opened.terminal:
                opened.terminal = terminal
                self._update(call_id, content=[{"type": "terminal", "terminalId": terminal}])
                return

    def end_all(self) -> None:
        """End the calls that were cancelled: the client must not wait for them."""
        for call_id in list(self._open):
            self._update(call_id, status="failed", content=[text_content(say("Cancelled."))])
            del self._open[call_id]
        self._speaker = ""

    def _turn_event(self, event: TurnEvent | Noted | Within | AskedEvent | SessionEvent | StateEvent) -> None:
        match event:
            case PromptGiven(content=content, typed=typed):
                self._prompt(typed or content)
            case TurnFailed(message=note) | TurnEnded(end=TurnEnd(note=note)) | Noted(text=note) | Compacted(note=note):
                self.say(note)
            case ElicitationMade(note=note) | ElicitationAnswered(note=note) | SamplingAnswered(note=note):
                self.say(note)
            case QuestionAsked() | QuestionAnswered() | Within() | TurnCancelled():
                pass  # a call that is shown again has been decided, and its end says what became of it
            case SessionBegun() | SessionForked() | SessionResumed() | Rewound() | RecordGap() | StateChanged():
                pass
            case ContentAdded() | LastReplaced() | CutBack() | AllReplaced() | UnknownEvent():
                pass  # what the model knows, which the events above say
            case _:
                assert_never(event)

    def _call_event(self, event: CallStarted | CallOutput | CallFinished) -> None:
        match event:
            case CallStarted(call=call, description=description):
                self.shown_id(call, description)
                self._update(call.call_id, status="in_progress", title=self._named(call.name, description))
            case CallOutput(call_id=call_id, text=text):
                self._output(call_id, text)
            case CallFinished(call=call, result=result):
                self.shown_id(call)
                self._finished(call, result)
            case _:
                assert_never(event)

    def _output(self, call_id: str, text: str) -> None:
        opened = self._open.get(call_id)
        if opened is None:
            return
        opened.output = (opened.output + text)[-_MOST_LIVE_CHARS:]
        if not opened.terminal:
            self._update(call_id, content=[text_content(opened.output)])

    def _prompt(self, content: Any) -> None:
        self._next("user_message_chunk")
        for block in blocks_of_content(content):
            self._send({"sessionUpdate": "user_message_chunk", "content": block, "messageId": f"m{self._messages}"})
        self._speaker = ""

    def _chunk(self, kind: str, text: str) -> None:
        if not text:
            return
        self._next(kind)
        block = {"type": "text", "text": text}
        self._send({"sessionUpdate": kind, "content": block, "messageId": f"m{self._messages}"})

    def _next(self, kind: str) -> None:
        """Begin another message when somebody else speaks."""
        if self._speaker != kind:
            self._messages += 1
            self._speaker = kind

    def _retrying(self, event: Retrying) -> None:
        self._speaker = ""  # what was said since the last try is void; what follows is another message
        text = say(event.note)
        self._chunk("agent_thought_chunk", text)
        self._speaker = ""

    def _pending(self, call: ToolCall, title: str) -> None:
        self._speaker = ""
        shown_id, number = call.call_id or "call", 1
        while shown_id in self._used:
            number += 1
            shown_id = f"{call.call_id or 'call'}~{number}"
        self._used.add(shown_id)
        self._open[call.call_id] = _Open(shown_id)
        started: Json = {"sessionUpdate": "tool_call", "toolCallId": shown_id, "status": "pending"}
        started["title"], started["kind"] = self._title(call, title), self._kind(call.name)
        if call.args is not None:
            started["rawInput"] = dict(call.args)
            started["locations"] = list(locations_of(call.args, self.root))
        self._send(started)

    def _title(self, call: ToolCall, fallback: str) -> str:
        try:
            tool = self._registry.get(call.name)
            title = tool.get_description(tool.validate_tool_params(call.args or {}))
        except ToolError:
            title = fallback
        return self._named(call.name, title)

    def _named(self, name: str, description: str) -> str:
        """What a call is shown as. The kind says what our own tools do; of others' tools the name must."""
        is_others = name in self._registry and self._registry.get(name).kind is Kind.OTHER
        words = said(description)
        return visible_line(words if name in words or not is_others else f"{name} {words}")

    def _kind(self, name: str) -> str:
        if name not in self._registry:
            return "other"
        return kind_of(self._registry.get(name).kind)

    def _finished(self, call: ToolCall, result: ToolResult) -> None:
        opened = self._open[call.call_id]
        if isinstance(result.return_display, TodoList):
            self._send({"sessionUpdate": "plan", "entries": plan_of(result.return_display)})
        content = list(self._result_content(call, result))
        if opened.terminal:
            content = [{"type": "terminal", "terminalId": opened.terminal}]
        raw: Json = {"output": text_of(result.llm_content)[:_MOST_RAW_CHARS]}
        if result.error is not None:
            raw = {"error": {"kind": str(result.error.kind), "message": result.error.message}}
        changes: Json = {"status": "failed" if result.error else "completed", "content": content, "rawOutput": raw}
        places = list(locations_of(call.args or {}, self.root, result.return_display))
        if places:
            changes["locations"] = places
        self._update(call.call_id, **changes)
        del self._open[call.call_id]

    def _result_content(self, call: ToolCall, result: ToolResult) -> Iterator[Json]:
        named = _path_of(call.args or {})
        yield from display_content(result.return_display, self.root, os.path.join(self.root, named) if named else "")
        if result.error is not None and result.error.kind is ErrorKind.DECLINED:
            return
        if isinstance(result.llm_content, str):
            if not result.return_display and result.llm_content:
                yield text_content(result.llm_content[:_MOST_RAW_CHARS])
            return
        pictures = [
            part
            for part in result.llm_content
            if isinstance(part, Blob) and part.media_type.startswith(("image/", "audio/"))
        ]
        yield from ({"type": "content", "content": block} for block in blocks_of_content(pictures))

    def _update(self, call_id: str, **changes: Any) -> None:
        shown_id = self._open[call_id].shown_id
        self._send({"sessionUpdate": "tool_call_update", "toolCallId": shown_id, **changes})


def kind_of(kind: Kind) -> str:
    """Return the protocol's word for a kind of tool; the words are the same."""
    return kind.value


def _path_of(args: Mapping[str, Any]) -> str:
    path = args.get("file_path") or args.get("path") or args.get("absolute_path") or ""
    return path if isinstance(path, str) else ""
