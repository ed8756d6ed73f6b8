"""Tries a request again when that makes sense, waiting as the server asked or with back-off, and says so."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from itertools import count
from typing import TypeAlias

import anyio
import msgspec

from dogu.language import joined, told
from dogu.models.events import MANY_TRIES, ModelError, ModelErrorKind, ModelEvent, Retrying

Attempt: TypeAlias = Callable[[str], AsyncGenerator[ModelEvent, None]]

_LONG_S = 3600.0  # a limit by the day or the month, which no patience outlasts


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often and how long.

    Tries go on for `retry_for_s` after the first failure, and are at most `tries` where that is set. The n-th wait is
    `first_delay_s` doubled n-1 times, at most `longest_delay_s`, between half and all of it by chance: clients that
    failed together come back apart. A delay that the server told is kept to, and a little more by chance; one that ends
    later than `retry_for_s` is not waited for, and one shorter than `first_delay_s` hurries nobody.
    """

    tries: int | None = None
    first_delay_s: float = 1.0
    longest_delay_s: float = 30.0
    retry_for_s: float = 600.0

    def delay_s(self, attempt: int, told_s: float | None, chance: float) -> float:
        """Return the wait after the given try (1-based); `chance` is in [0, 1)."""
        if told_s is not None and told_s >= self.first_delay_s:
            return told_s * (1 + chance / 10)
        longest = min(self.longest_delay_s, self.first_delay_s * 2 ** min(attempt - 1, 30))
        return longest * (1 + chance) / 2

    def most(self, error: ModelError) -> int | None:
        """Return how many tries make sense after this failure; None when only time bounds them."""
        bounds = [self.tries, error.most_tries if error.most_tries < MANY_TRIES else None]
        return min((bound for bound in bounds if bound is not None), default=None)


async def with_retries(attempt: Attempt, policy: RetryPolicy) -> AsyncGenerator[ModelEvent, None]:
    """Give the events of the first attempt that ends well; `attempt` is called with the hint of the failure before.

    Raises:
        ModelError: of the last attempt, saying how many there were.
    """
    hint = ""
    failing_since: float | None = None
    for number in count(1):
        try:
            async with aclosing(attempt(hint)) as events:
                async for event in events:
                    yield event
            return
        except ModelError as error:
            now = anyio.current_time()
            failing_since = now if failing_since is None else failing_since
            delay_s = policy.delay_s(number, error.retry_after_s, random.random())
            most = policy.most(error)
            has_time = 0 < policy.retry_for_s >= now + delay_s - failing_since
            if not has_time or (most is not None and number >= most):
                raise _final(error, number, now - failing_since) from error.__cause__
            failure = error

        hint = failure.hint
        yield Retrying(_closed(failure.message), delay_s, number, most or 0, failure.asks_to_wait)
        await anyio.sleep(delay_s)


def _final(error: ModelError, tries: int, for_s: float) -> ModelError:
    """Say in the message what waiting would have taken, or how often and how long it was tried."""
    told_s = error.retry_after_s
    more: list[str] = []
    if tries > 1 and for_s >= 60:
        more.append(told("Tried {tries} times in {time}.", tries=tries, time=_spoken(for_s)))
    elif tries > 1:
        more.append(told("Tried {tries} times.", tries=tries))
    if told_s is not None and error.is_retryable:
        more.append(told("The server asks to wait {time}.", time=_spoken(told_s)))
    fact = joined(" ", [_closed(error.fact) if more or error.advice else error.fact, *more])
    message = joined(" ", [fact, error.advice]) if error.advice else fact
    is_long = error.kind is ModelErrorKind.RATE_LIMIT and told_s is not None and told_s >= _LONG_S
    kind = ModelErrorKind.QUOTA if is_long else error.kind
    final = ModelError(kind, message, most_tries=error.most_tries, retry_after_s=told_s)
    final.fact, final.advice = fact, error.advice
    final.__traceback__ = error.__traceback__
    return final


def _closed(words: str) -> str:
    """End with a full stop what a server said without one: more follows."""
    return words + "." if words[-1:].isalnum() else words


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return told("{seconds:.0f} seconds", seconds=seconds)
    if seconds < 7200:
        return told("{minutes:.0f} minutes", minutes=seconds / 60)
    return told("{hours:.0f} hours", hours=seconds / 3600)
