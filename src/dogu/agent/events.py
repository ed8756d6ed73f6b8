"""Everything that can happen in a session, as two unions: `Event` is told to doors, `RecordedEvent` goes on record.

A door matches on all of `Event` and ends with `assert_never`: a new event is a type error in each door that forgets it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from dogu.agent.at_paths import typed_text
from dogu.agent.history import HistoryChange
from dogu.contract.content import Content
from dogu.contract.display import Display
from dogu.language import joined, say
from dogu.models.events import ModelEvent, Usage
from dogu.runtime.events import CallEvent, ToolAnswer, Within


class EndReason(StrEnum):
    """Why a turn came to rest."""

    DONE = "done"
    STOPPED = "stopped"  # the user declined a call and said stop
    STEP_LIMIT = "step_limit"
    BUDGET = "budget"  # it may cost no more
    LOOP = "loop"
    CUT = "cut"  # at the limit of output tokens, again and again
    TIMEOUT = "timeout"  # the run may take no longer


class TurnEnd(msgspec.Struct, frozen=True):
    """A turn at rest: the model's last words, its calls and its helpers', and a sentence for the user."""

    reason: EndReason
    text: str
    answers: tuple[ToolAnswer, ...] = ()
    usage: Usage = msgspec.field(default_factory=Usage)
    note: str = ""


class TurnEnded(msgspec.Struct, frozen=True):
    """The event that ends a turn's events."""

    end: TurnEnd


class SessionBegun(msgspec.Struct, frozen=True):
    """The first event: the record's version, which session this is, where it works (absolute, without links)."""

    version: int
    session_id: str
    roots: tuple[str, ...] = ()
    program: str = ""


class SessionForked(msgspec.Struct, frozen=True):
    """All before was the session `origin`; what follows is the session `session_id`."""

    session_id: str
    origin: str


class SessionResumed(msgspec.Struct, frozen=True):
    """Another process goes on; what was under way before it never ended."""

    program: str = ""


class PromptGiven(msgspec.Struct, frozen=True):
    """The user's prompt, with what `@path` read into it. `turn` counts the session's prompts from 1.

    `typed` is what the user typed, where the prompt says something else: a `/` command that stands for it.
    """

    content: Content
    turn: int = 0
    typed: str = ""

    @property
    def shown(self) -> str:
        """What the user is shown of it."""
        return self.typed or typed_text(self.content)


class TurnFailed(msgspec.Struct, frozen=True):
    """The model gave no answer; `kind` is a `ModelErrorKind`."""

    kind: str
    message: str


class TurnCancelled(msgspec.Struct, frozen=True):
    """The user cancelled the turn, or the program was told to end."""


class QuestionAsked(msgspec.Struct, frozen=True):
    """A call waits for the user; a `FileDiff` in it keeps its unified text only."""

    call_id: str
    tool: str
    title: str
    display: Display = ""
    reasons: tuple[str, ...] = ()


class QuestionAnswered(msgspec.Struct, frozen=True):
    """What the user said: `approved`, `always`, `edited` or `declined`; `said` is their reason or text.

    `rule` is what "always" allows from then on, as settings spell it.
    """

    call_id: str
    outcome: str
    said: str = ""
    stop: bool = False
    rule: str = ""


class ElicitationMade(msgspec.Struct, frozen=True):
    """An MCP server asks the user: for what `fields` name (by name, with their titles), for a yes, to open `url`.

    `title` names the asker, in the user's language; `message` is the asker's own text. What follows `?` in an
    address isn't kept: it may let somebody in.
    """

    title: str
    message: str = ""
    fields: dict[str, str] = {}
    url: str = ""

    @property
    def note(self) -> str:
        """What was asked, for the user."""
        return joined("\n", filter(None, (self.title, self.message, self.url, ", ".join(self.fields.values()))))


class ElicitationAnswered(msgspec.Struct, frozen=True):
    """How the last elicitation ended: `given`, `declined`, `closed` without an answer, `nobody` there, or `cancelled`.

    `values` are what the user filled in, by the field's name, secrets masked; `said` is their reason.
    """

    outcome: str
    values: dict[str, Any] = {}
    said: str = ""

    @property
    def note(self) -> str:
        """What was answered, for the user."""
        words = {
            "given": say("Answered: yes."),
            "declined": say("Answered: no."),
            "closed": say("Closed without an answer."),
            "nobody": say("Nobody was there to answer: declined."),
            "cancelled": say("Cancelled."),
        }
        values = [f"{name}: {value}" for name, value in self.values.items()]
        return "\n".join(filter(None, (words.get(self.outcome, self.outcome), self.said, *values)))


class SamplingAnswered(msgspec.Struct, frozen=True):
    """The model answered for an MCP server, at the user's word; with a `problem`, a sentence, it did not."""

    model: str = ""
    text: str = ""
    problem: str = ""

    @property
    def note(self) -> str:
        """What the server was answered, for the user."""
        if self.problem:
            return say("The model gave no answer: {reason}", reason=self.problem)
        return say("{model} answered: {text}", model=self.model, text=self.text)


class StateChanged(msgspec.Struct, frozen=True):
    """What else resumes: the approval mode, the model, the commands that run in the background."""

    mode: str = ""
    model: str = ""
    jobs: tuple[str, ...] = ()


class Rewound(msgspec.Struct, frozen=True):
    """The session went back to before this turn."""

    turn: int


class Compacted(msgspec.Struct, frozen=True):
    """Room was made in the conversation: results `shortened` in so many contents, so many older ones `summarised`.

    `kept` contents are left as they were. With a `problem`, a sentence for the user, nothing was changed.
    """

    before_tokens: int
    after_tokens: int = 0
    summarised: int = 0
    shortened: int = 0
    kept: int = 0
    summary: str = ""
    problem: str = ""

    @property
    def note(self) -> str:
        """What was done, for the user."""
        if self.problem:
            return say("The conversation wasn't compacted. {reason}", reason=self.problem)
        if self.summarised:
            return say(
                "To make room, {older} older messages became a summary; the newest {kept} and the session's "
                "record are unchanged. About {before} tokens became {after}.",
                older=self.summarised,
                kept=self.kept,
                before=f"{self.before_tokens:,}",
                after=f"{self.after_tokens:,}",
            )
        return say(
            "To make room, older results of calls were shortened in {count} messages; the session's "
            "record is unchanged. About {before} tokens became {after}.",
            count=self.shortened,
            before=f"{self.before_tokens:,}",
            after=f"{self.after_tokens:,}",
        )


class RecordGap(msgspec.Struct, frozen=True):
    """Events weren't recorded, because nothing could be written; the history that follows is whole again."""

    reason: str = ""


class UnknownEvent(msgspec.Struct, frozen=True):
    """An event of a kind that this version doesn't know, as its JSON."""

    kind: str
    data: object = None


TurnEvent: TypeAlias = PromptGiven | Compacted | TurnEnded
Event: TypeAlias = ModelEvent | CallEvent | TurnEvent
"""What a door is told of a turn."""

AskedEvent: TypeAlias = QuestionAsked | QuestionAnswered | ElicitationMade | ElicitationAnswered | SamplingAnswered
SessionEvent: TypeAlias = SessionForked | SessionResumed | Rewound | RecordGap | TurnFailed | TurnCancelled
StateEvent: TypeAlias = SessionBegun | StateChanged | HistoryChange | UnknownEvent
RecordedEvent: TypeAlias = Event | Within | AskedEvent | SessionEvent | StateEvent
"""What a record may hold; a door that shows records matches on all of it."""

Emit: TypeAlias = Callable[[Event], None]
Record: TypeAlias = Callable[[RecordedEvent], None]


def sum_usage(first: Usage, second: Usage) -> Usage:
    """Add up tokens."""
    return Usage(*map(sum, zip(msgspec.structs.astuple(first), msgspec.structs.astuple(second), strict=True)))
