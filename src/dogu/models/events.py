"""What a model's stream gives, and the one error it raises; nothing here knows a wire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from dogu.language import joined, sentence, told


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the answer, as it arrived."""

    text: str


class ThoughtDelta(msgspec.Struct, frozen=True):
    """A piece of what the model says of its thinking."""

    text: str


class FunctionCallEvent(msgspec.Struct, frozen=True):
    """A call the model asks for, given only once the stream has ended as it should.

    `call_id` is unique in its turn, the model's own where it gave a usable one. `args` is None when what arrived is
    no JSON object; then `problem` says for the model what was wrong, and the call is answered with it, never run.
    """

    call_id: str
    name: str
    args: dict[str, Any] | None
    problem: str = ""


class Retrying(msgspec.Struct, frozen=True):
    """The request failed and is sent again after `delay_s`; deltas since the last try began are void.

    `attempt` counts the tries made so far, `of` is how many there will be at most, 0 when only time bounds them;
    `reason` is for the user. With `attempt` 0 nothing is sent again: what came so far was no part of the answer, which
    goes on. `asks_to_wait` where the server takes nothing from anybody with this key until then.
    """

    reason: str
    delay_s: float
    attempt: int
    of: int
    asks_to_wait: bool = False

    @property
    def note(self) -> str:
        """What happens, for the user."""
        if not self.attempt:
            return self.reason
        delay = f"{self.delay_s:.0f}"
        if self.of:
            words = sentence("Trying again in {delay} s ({attempt} of {of}): {reason}")
            return told(words, reason=self.reason, delay=delay, attempt=self.attempt, of=self.of)
        words = sentence("Trying again in {delay} s (tried {attempt} times so far): {reason}")
        return told(words, reason=self.reason, delay=delay, attempt=self.attempt)


class Usage(msgspec.Struct, frozen=True):
    """Tokens, as the server counted them; `prompt` includes `cached`, and `written`, what was put into its cache.

    `uncounted` is how many answers the server told no counts of: nobody knows what they cost.
    """

    prompt: int = 0
    output: int = 0
    thoughts: int = 0
    cached: int = 0
    total: int = 0
    written: int = 0
    uncounted: int = 0


class FinishReason(StrEnum):
    """Why an answer ended that is one."""

    STOP = "stop"
    LENGTH = "length"  # the limit of output tokens: the text is cut; without text or calls, thoughts took all of it
    PAUSE = "pause"  # the server goes on when it is given back what it said; never told to who asks the model
    OTHER = "other"  # a reason this version doesn't know, treated as stop


class Finished(msgspec.Struct, frozen=True):
    """The last event of a stream.

    `content` is the model's whole Content as wire JSON, thought signatures and unknown parts included, to be appended
    to the history as it is; it has at least one part. `calls` repeats the calls in order. `note` is for the user.
    """

    reason: FinishReason
    content: bytes
    calls: tuple[FunctionCallEvent, ...] = ()
    note: str = ""


ModelEvent: TypeAlias = TextDelta | ThoughtDelta | FunctionCallEvent | Retrying | Usage | Finished


class ModelErrorKind(StrEnum):
    """Why there is no answer. Closed."""

    AUTH = "auth"  # no key, a wrong one, no right
    QUOTA = "quota"  # used up; waiting a minute doesn't help
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"  # 5xx
    SAFETY = "safety"  # the answer was stopped
    BLOCKED = "blocked"  # the prompt was
    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"  # no such model or address
    TOO_LONG = "too_long"  # the history doesn't fit the model's context
    NETWORK = "network"
    TIMEOUT = "timeout"
    INCOMPLETE = "incomplete"  # cut, empty, or ended without saying so
    MALFORMED = "malformed"  # the model's call, or the server's JSON
    LOOP = "loop"  # what the model wrote has no end of its own


MANY_TRIES = 99  # as many as the policy has time for


class ModelError(Exception):
    """No answer. `message` is for the user and says what to do; it never holds a key.

    Whatever could be tried again has been when this reaches the agent; `is_retryable` says that the same request may
    well succeed later. `retry_after_s` is what the server asked for, when it did. `most_tries` bounds the tries that
    make sense for this failure, `hint` is what the model is told with the next one, and `advice` is what the user
    may do once there is no other; it then stands in `message`, behind what happened, the `fact`. `said` is what arrived
    together with the failure.
    """

    def __init__(
        self,
        kind: ModelErrorKind,
        message: str,
        *,
        most_tries: int = 1,
        retry_after_s: float | None = None,
        hint: str = "",
        advice: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.fact = message
        self.message = joined(" ", [message, advice]) if advice and most_tries == 1 else message
        self.most_tries = most_tries
        self.retry_after_s = retry_after_s
        self.hint = hint
        self.advice = advice
        self.said: Sequence[ModelEvent] = ()

    def redact(self, redacted: Callable[[str], str]) -> None:
        """Take a secret out of all it says."""
        self.fact, self.message = redacted(self.fact), redacted(self.message)

    @property
    def is_retryable(self) -> bool:
        """Whether another try makes sense."""
        return self.most_tries > 1

    @property
    def asks_to_wait(self) -> bool:
        """Whether the server takes nothing from anybody with this key for a while; else it is this request's matter."""
        return self.kind is ModelErrorKind.RATE_LIMIT or self.retry_after_s is not None
