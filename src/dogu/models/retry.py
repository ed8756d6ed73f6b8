"""Tries a request again when that makes sense, waiting as the server asked or with back-off, and says so."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeAlias

import anyio
import msgspec

from dogu.language import told
from dogu.models.events import ModelError, ModelErrorKind, ModelEvent, Retrying

Attempt: TypeAlias = Callable[[str], AsyncGenerator[ModelEvent, None]]


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often and how long.

    The n-th wait is `first_delay_s` doubled n-1 times, at most `longest_delay_s`, between half and all of it by chance:
    clients that failed together come back apart. A delay that the server told is kept to, and a little more by chance;
    one longer than `longest_told_s` is not waited for.
    """

    tries: int = 6
    first_delay_s: float = 1.0
    longest_delay_s: float = 30.0
    longest_told_s: float = 120.0

    def delay_s(self, attempt: int, told_s: float | None, chance: float) -> float:
        """Return the wait after the given try (1-based); `chance` is in [0, 1)."""
        if told_s is not None:
            return told_s * (1 + chance / 10)
        longest = min(self.longest_delay_s, self.first_delay_s * 2 ** min(attempt - 1, 30))
        return longest * (1 + chance) / 2

    def is_worth_it(self, attempt: int, error: ModelError) -> bool:
        """Whether another try follows the given one."""
        told_s = error.retry_after_s or 0.0
        return attempt < min(self.tries, error.most_tries) and told_s <= self.longest_told_s


async def with_retries(attempt: Attempt, policy: RetryPolicy) -> AsyncGenerator[ModelEvent, None]:
    """Give the events of the first attempt that ends well; `attempt` is called with the hint of the failure before.

    Raises:
        ModelError: of the last attempt, saying how many there were.
    """
    hint = ""
    for number in range(1, policy.tries + 1):
        try:
            async with aclosing(attempt(hint)) as events:
                async for event in events:
                    yield event
            return
        except ModelError as error:
            if not policy.is_worth_it(number, error):
                raise _final(error, number, policy) from error.__cause__
            failure = error

        delay_s = policy.delay_s(number, failure.retry_after_s, random.random())
        hint = failure.hint
        yield Retrying(failure.message, delay_s, number, min(policy.tries, failure.most_tries))
        await anyio.sleep(delay_s)


def _final(error: ModelError, tries: int, policy: RetryPolicy) -> ModelError:
    """Say in the message what waiting would have taken, or how often it was tried."""
    told_s = error.retry_after_s
    kind = error.kind
    message = error.message
    if told_s is not None and told_s > policy.longest_told_s:
        message += " " + told("The server asks to wait {time}.", time=_spoken(told_s))
        kind = ModelErrorKind.QUOTA if kind is ModelErrorKind.RATE_LIMIT else kind
    elif tries > 1:
        message += " " + told("Tried {tries} times.", tries=tries)
    message += f" {error.advice}" if error.advice else ""
    final = ModelError(kind, message, most_tries=error.most_tries, retry_after_s=told_s)
    final.__traceback__ = error.__traceback__
    return final


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return told("{seconds:.0f} seconds", seconds=seconds)
    if seconds < 7200:
        return told("{minutes:.0f} minutes", minutes=seconds / 60)
    return told("{hours:.0f} hours", hours=seconds / 3600)
