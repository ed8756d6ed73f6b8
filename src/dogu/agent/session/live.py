"""A session: everything that happens in it, recorded as it happens and before anybody sees it.

The record is `record.jsonl` in the session's folder (`lines` says how), from which `resume` makes the
conversation again and `record` gives the events to whoever shows them. Nothing can fail here: where the record
can't be written, the session goes on without and says so once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import msgspec

from dogu.agent.events import (
    PromptGiven,
    QuestionAnswered,
    QuestionAsked,
    RecordedEvent,
    RecordGap,
    SessionBegun,
    SessionResumed,
    StateChanged,
    TurnEnded,
)
from dogu.agent.history import AllReplaced
from dogu.agent.session.lines import VERSION, InUseError, LineFile
from dogu.agent.session.secrets import Secrets
from dogu.language import plain, told
from dogu.models.events import Retrying, TextDelta, ThoughtDelta, Usage
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Noted, Within
from dogu.runtime.questions import Approved, ApprovedAlways, Confirm, Declined, Outcome, Question
from dogu.runtime.session_folder import RECORD_NAME
from dogu.version import __version__

if TYPE_CHECKING:
    from dogu.agent.history import History, HistoryChange
    from dogu.agent.session.codec import EventWriter

_Piece = TextDelta | ThoughtDelta | CallOutput


class HeldBack:
    """Holds back the end of a stream while `held_back(text)` says that so many characters may begin a secret."""

    def __init__(self, held_back: Callable[[str], int]) -> None:
        self._held_back = held_back
        self._waiting: dict[tuple[type, str], _Piece] = {}
        self._helpers: dict[str, HeldBack] = {}

    def passed_on(self, event: RecordedEvent) -> list[RecordedEvent]:
        """Return what may be recorded now: an event that is no piece ends the streams it follows."""
        if isinstance(event, Within):
            helper = self._helpers.setdefault(event.call_id, HeldBack(self._held_back))
            return _within(event.call_id, helper.passed_on(event.event))
        if not isinstance(event, TextDelta | ThoughtDelta | CallOutput):
            return [*self._ended(event), event]
        key = (type(event), event.call_id if isinstance(event, CallOutput) else "")
        before = self._waiting.pop(key, None)
        text = (before.text if before else "") + event.text
        held = self._held_back(text)
        if held:
            self._waiting[key] = msgspec.structs.replace(event, text=text[-held:])
            text = text[:-held]
        return [msgspec.structs.replace(event, text=text) if text != event.text else event] if text else []

    def rest(self) -> list[RecordedEvent]:
        """Return all that is held back: the streams are over."""
        waiting, self._waiting = [*self._waiting.values()], {}
        return [*(each for call_id in list(self._helpers) for each in self._rest_of(call_id)), *waiting]

    def _rest_of(self, call_id: str) -> list[RecordedEvent]:
        helper = self._helpers.pop(call_id, None)
        return _within(call_id, helper.rest()) if helper is not None else []

    def _ended(self, event: RecordedEvent) -> list[RecordedEvent]:
        """Commands go on printing while other things happen; what a model says is over with whatever comes next."""
        if isinstance(event, Retrying):
            return self.rest()
        over = [key for key, piece in self._waiting.items() if not isinstance(piece, CallOutput)]
        if not isinstance(event, CallFinished):
            return [self._waiting.pop(key) for key in over]
        call_id = event.call.call_id
        over += [key for key in self._waiting if key == (CallOutput, call_id)]
        return [*self._rest_of(call_id), *(self._waiting.pop(key) for key in over)]


def _within(call_id: str, events: Iterable[RecordedEvent]) -> list[RecordedEvent]:
    calls = (each for each in events if isinstance(each, CallStarted | CallOutput | CallFinished | Noted))
    return [Within(call_id, each) for each in calls]


class Session:
    """The session of the folder `path` (absolute); its record is begun with the first event, and is one's own.

    `secrets` never get into it. `tell` is told once, in a sentence for the user, that it can't be written. `state` is
    asked for what resumes with it. `file` is the record, where this process has taken hold of it already.
    """

    def __init__(
        self,
        path: str,
        roots: Sequence[str] = (),
        *,
        secrets: Sequence[str] = (),
        tell: Callable[[str], None] = lambda _note: None,
        state: Callable[[], StateChanged] = StateChanged,
        file: LineFile | None = None,
    ) -> None:
        self.path = path
        self.session_id = os.path.basename(path)
        self._tell = tell
        self._state = state
        self._roots = tuple(roots)
        self._secrets = Secrets(secrets)
        self._streams = HeldBack(self._secrets.held_back)
        self._file = file
        self._history: History | None = None
        self._last_state: StateChanged | None = None
        self._is_broken = False
        self.has_prompts = False

    @cached_property
    def _writer(self) -> EventWriter:
        from dogu.agent.session.codec import EventWriter

        return EventWriter()

    @property
    def record_path(self) -> str:
        """The record's file; there from the first event on."""
        return os.path.join(self.path, RECORD_NAME)

    def resume(self, state: StateChanged) -> None:
        """Go on with the record of a session that had come to this state."""
        self.has_prompts = True
        self._last_state = state
        self.event(SessionResumed(__version__))

    def event(self, event: RecordedEvent) -> None:
        """Record an event, whole, before anybody is told of it; it outlives this process then."""
        if isinstance(event, PromptGiven | CallFinished | TurnEnded | Usage):
            self.has_prompts = self.has_prompts or isinstance(event, PromptGiven)
            self.note_state()
        for each in self._streams.passed_on(event):
            self._record(each)

    def watch(self, history: History) -> None:
        """Record each change of the conversation from now on."""
        self._history = history
        history.observe(self._changed)

    def recorded(self, confirm: Confirm) -> Confirm:
        """Return a `confirm` that records the question and the answer."""

        async def ask(question: Question) -> Outcome:
            confirmation = question.confirmation
            call_id = question.call.call_id
            reasons = confirmation.reasons or (question.verdict.reason,)
            self.event(
                QuestionAsked(call_id, question.call.name, confirmation.title, confirmation.display, tuple(reasons))
            )
            outcome = await confirm(question)
            self.event(_answered(question, outcome))
            return outcome

        return ask

    def close(self) -> None:
        """Write what is held back, and let others write the record."""
        for each in self._streams.rest():
            self._record(each)
        if self._file is not None:
            self._file.close()
            self._file = None

    def _changed(self, change: HistoryChange) -> None:
        self.event(change)

    def note_state(self) -> None:
        """Record what resumes besides the conversation, when it has changed."""
        state = self._state()
        if state != self._last_state:
            self._last_state = state
            self._record(state)

    def _record(self, event: RecordedEvent) -> None:
        if self._is_broken and not (isinstance(event, PromptGiven) and self._is_mended()):
            return
        encoded = self._writer.encode(event)
        if encoded is None:
            return
        try:
            self._write(*encoded)
        except (OSError, InUseError) as error:
            self._give_up(error)

    def _write(self, kind: str, data: object) -> None:
        if self._file is None:
            self._file = LineFile(self.record_path)
        if self._file.seq == 0:
            begun = SessionBegun(VERSION, self.session_id, self._roots, __version__)
            self._file.add("begun", time.time(), _encode(begun))
        self._file.add(kind, time.time(), self._secrets.mask(_encode(data)))

    def _give_up(self, error: Exception) -> None:
        """Stop recording until the next prompt; what is lost until then is told by a gap."""
        why = error.strerror or str(error) if isinstance(error, OSError) else told("another process writes it")
        if not self._is_broken:
            self._tell(
                told(
                    "This session can't be recorded ({why}). It goes on, but it may not be possible to resume it.",
                    why=why,
                )
            )
        self._is_broken = True

    def _is_mended(self) -> bool:
        """Try to go on after a failure: first of all the whole conversation, from which changes went missing."""
        contents = tuple(self._history.contents) if self._history is not None else ()
        try:
            self._write("gap", RecordGap("it could not be written"))
            encoded = self._writer.encode(AllReplaced(contents))
            if encoded is not None:
                self._write(*encoded)
        except (OSError, InUseError):
            return False
        self._is_broken = False
        return True


def _answered(question: Question, outcome: Outcome) -> QuestionAnswered:
    call_id, rule = question.call.call_id, question.always_rule
    match outcome:
        case Declined(reason=reason, stop=stop):
            return QuestionAnswered(call_id, "declined", reason, stop)
        case Approved(edited=str(text)):
            return QuestionAnswered(call_id, "edited", text)
        case ApprovedAlways():
            return QuestionAnswered(call_id, "always", rule=rule.text if rule is not None else "")
        case _:
            return QuestionAnswered(call_id, "approved")


def _encode(data: object) -> bytes:
    """Encode as JSON; names of files may hold bytes that are no characters, which JSON can't carry."""
    try:
        return msgspec.json.encode(data, enc_hook=plain)
    except UnicodeEncodeError:
        return msgspec.json.encode(_writable(msgspec.to_builtins(data, enc_hook=plain)))


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        table = cast("dict[Any, Any]", value)
        return {_writable(key): _writable(each) for key, each in table.items()}
    if isinstance(value, list | tuple):
        return [_writable(each) for each in cast("list[Any]", value)]
    return value
