"""Makes a conversation again from its record, as it stood when its process ended, however that was.

Every change of the history is in the record, so that replaying them makes the very contents again. What the history
doesn't have yet, because the process was killed within a step, is taken from the events since its last change: results
of calls that ended are answered with them, those that had begun as interrupted, the others as never run. None is run
again. Only lines that matter are decoded, one at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from dogu.agent.events import (
    ElicitationMade,
    PromptGiven,
    QuestionAnswered,
    Rewound,
    SessionBegun,
    StateChanged,
    sum_usage,
)
from dogu.agent.history import AllReplaced, ContentAdded, CutBack, History, HistoryChange, LastReplaced, apply_change
from dogu.agent.session.codec import EventReader
from dogu.agent.session.lines import VERSION, kind_of, parse_line, raw_lines
from dogu.agent.session.record import record_file
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.models.contents import RawContent
from dogu.models.events import Retrying, TextDelta, Usage
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, ToolCall

_MOST_OUTPUT_LINES = 2_000
_MOST_PRINTED_CHARS = 8_000


class OpenStep(msgspec.Struct):
    """What happened after the history's last change: `text` the model had said, calls by id."""

    text: str = ""
    begun: dict[str, ToolCall] = msgspec.field(default_factory=dict[str, ToolCall])
    results: dict[str, ToolResult] = msgspec.field(default_factory=dict[str, ToolResult])
    printed: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class Restored(msgspec.Struct):
    """A session as its record tells it. `turn` is the last prompt's number, `unreadable` counts lines that are none.

    `allowed` are the rules that "always" gave, in order. `gone_back_to` is the turn before which the session stands, if
    nothing was said since; 0 otherwise. `requests` are what each request to a model used, with the model's name.
    `elicitation` is what an MCP server had asked and nobody had answered.
    """

    contents: list[RawContent] = msgspec.field(default_factory=list[RawContent])
    usage: Usage = msgspec.field(default_factory=Usage)
    requests: list[tuple[str, Usage]] = msgspec.field(default_factory=list[tuple[str, Usage]])
    turn: int = 0
    state: StateChanged = msgspec.field(default_factory=StateChanged)
    step: OpenStep = msgspec.field(default_factory=OpenStep)
    last_prompt: str = ""
    next_prompt: str = ""
    allowed: dict[str, None] = msgspec.field(default_factory=dict[str, None])
    elicitation: ElicitationMade | None = None
    gone_back_to: int = 0
    is_mid_turn: bool = False
    unreadable: int = 0
    version: int = VERSION


class Interrupted(msgspec.Struct, frozen=True):
    """What was under way when the process ended: calls that had begun, calls never run, whether a turn was."""

    begun: tuple[ToolCall, ...] = ()
    not_run: tuple[ToolCall, ...] = ()
    is_mid_turn: bool = False


def restore(path: str, until_turn: int | None = None) -> Restored:
    """Read the record of a session's folder; as it stood before the prompt of `until_turn`, `next_prompt`.

    Raises OSError.
    """
    return _Replay().run(raw_lines(record_file(path)), until_turn)


def reopen(
    restored: Restored, watch: Callable[[History], None], done: Callable[[ToolCall], str] = lambda _call: ""
) -> tuple[History, Interrupted]:
    """Make the history, in which every call has its answer, and say what was interrupted.

    `watch` is given the history before that is mended. `done` says for the model what a call that had begun is known
    to have done.
    """
    history = History.reopened(restored.contents)
    watch(history)
    if restored.unreadable:
        history.replace(History.restored(restored.contents).contents)
    step = restored.step
    open_calls = [call for call in history.unanswered if call.call_id not in step.results]
    begun = tuple(call for call in open_calls if call.call_id in step.begun)
    not_run = tuple(call for call in open_calls if call.call_id not in step.begun)
    results = dict(step.results)
    results |= {call.call_id: _interrupted(step.printed.get(call.call_id, ""), done(call)) for call in begun}
    never_run = ToolError(ErrorKind.CANCELLED, "Not run: the program was ended before this call began.")
    results |= {call.call_id: ToolResult.failed(never_run) for call in not_run}
    history.interrupt(step.text, results)
    return history, Interrupted(begun, not_run, restored.is_mid_turn)


class _Replay:
    def __init__(self) -> None:
        self._restored = Restored()
        self._reader = EventReader()
        self._last_prompt = b""
        self._since: list[bytes] = []
        self._outputs: deque[bytes] = deque(maxlen=_MOST_OUTPUT_LINES)
        self._acts: dict[bytes, Callable[[bytes], None]] = {
            b"begun": self._begun,
            b"prompt": self._prompt,
            b"answered": self._answered,
            b"rewound": self._rewound,
            b"enquired": self._elicited,
            b"enquiry_answered": self._elicited,
            b"resumed": self._elicited,
            b"state": self._state,
            b"usage": self._usage,
            b"turn_ended": self._rest,
            b"turn_failed": self._failed,
            b"turn_cancelled": self._rest,
            b"call_output": self._outputs.append,
            **dict.fromkeys((b"text", b"retrying", b"call_started", b"call_finished"), self._since.append),
            **dict.fromkeys((b"history_added", b"history_last", b"history_cut", b"history_all"), self._change),
        }

    def run(self, lines: Iterable[bytes], until_turn: int | None) -> Restored:
        restored = self._restored
        for line in lines:
            act = self._acts.get(kind_of(line))
            if act is None:
                restored.unreadable += not kind_of(line)
                continue
            if until_turn is not None and act == self._prompt and self._turn_of(line) == until_turn:
                restored.next_prompt = self._shown(line)
                break
            act(line)
        self._read_step()
        return restored

    def _decode(self, line: bytes) -> Any:
        parsed = parse_line(line)
        if parsed is None:
            self._restored.unreadable += 1
            return None
        return self._reader.decode(parsed.kind, parsed.data)

    def _begun(self, line: bytes) -> None:
        if isinstance(begun := self._decode(line), SessionBegun):
            self._restored.version = begun.version

    def _turn_of(self, line: bytes) -> int:
        try:
            return msgspec.json.decode(line, type=_PromptLine).data.turn
        except msgspec.DecodeError:
            return 0

    def _shown(self, line: bytes) -> str:
        prompt = self._decode(line)
        return prompt.shown if isinstance(prompt, PromptGiven) else ""

    def _prompt(self, line: bytes) -> None:
        self._restored.turn = max(self._restored.turn, self._turn_of(line))
        self._restored.is_mid_turn = True
        self._restored.gone_back_to = 0
        self._last_prompt = line
        self._clear_step()

    def _rewound(self, line: bytes) -> None:
        if isinstance(rewound := self._decode(line), Rewound):
            self._restored.gone_back_to = rewound.turn

    def _elicited(self, line: bytes) -> None:
        event = self._decode(line)
        self._restored.elicitation = event if isinstance(event, ElicitationMade) else None

    def _answered(self, line: bytes) -> None:
        if b'"always"' in line and isinstance(answered := self._decode(line), QuestionAnswered) and answered.rule:
            self._restored.allowed[answered.rule] = None

    def _rest(self, _line: bytes) -> None:
        self._restored.is_mid_turn = False

    def _failed(self, line: bytes) -> None:
        """The half answer of a failed request is no part of the history."""
        self._rest(line)
        self._clear_step()

    def _state(self, line: bytes) -> None:
        if isinstance(state := self._decode(line), StateChanged):
            self._restored.state = state

    def _usage(self, line: bytes) -> None:
        if isinstance(usage := self._decode(line), Usage):
            self._restored.usage = sum_usage(self._restored.usage, usage)
            self._restored.requests.append((self._restored.state.model, usage))

    def _change(self, line: bytes) -> None:
        change: HistoryChange | None = self._decode(line)
        if isinstance(change, ContentAdded | LastReplaced | CutBack | AllReplaced):
            apply_change(self._restored.contents, change)
        self._clear_step()

    def _clear_step(self) -> None:
        self._since.clear()
        self._outputs.clear()

    def _read_step(self) -> None:
        if self._last_prompt:
            self._restored.last_prompt = self._shown(self._last_prompt)
        step = self._restored.step
        for line in [*self._since, *self._outputs]:
            match self._decode(line):
                case TextDelta(text=text):
                    step.text += text
                case Retrying():
                    step.text = ""
                case CallStarted(call=call):
                    step.begun[call.call_id] = call
                case CallFinished(call=call, result=result):
                    step.results[call.call_id] = result
                case CallOutput(call_id=call_id, text=text):
                    step.printed[call_id] = (step.printed.get(call_id, "") + text)[-_MOST_PRINTED_CHARS:]
                case _:
                    pass


class _Turn(msgspec.Struct):
    turn: int = 0


class _PromptLine(msgspec.Struct):
    data: _Turn


def _interrupted(printed: str, done: str) -> ToolResult:
    told = (
        "Interrupted: the program was ended while this call ran. It may have been done in part, and is not run again "
        "by itself: look at what it did before you repeat it."
    )
    told += f"\n{done}" if done else ""
    told += f"\nIt had printed:\n{printed}" if printed else ""
    return ToolResult.failed(ToolError(ErrorKind.CANCELLED, told))
