"""What all tasks of a fleet share of a provider: requests and tokens a minute, and money. Learnt from what is refused.

The driver has the one `SharedLimits`; tasks see it through `Limits`, wherever they run.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import anyio
import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import told
from dogu.models.contents import RawContent
from dogu.models.events import ModelError, ModelErrorKind, ModelEvent, Retrying, Usage
from dogu.models.model import Model
from dogu.models.wrapped import WrappedModel

_MOST_AT_ONCE = 1_000.0
_SHORTEST_PAUSE_S = 0.05


class Limits(Protocol):
    """What a task asks before each request, and says after it."""

    async def begin(self, tokens: int) -> str:
        """Wait until a request of about so many tokens may be sent; a text says why none may any more."""
        ...

    async def end(self, spent: Spent) -> None:
        """Say what the request came to."""
        ...


class Spent(msgspec.Struct, frozen=True):
    """What a request used. `waits_s` is what the server asked to wait, if it was too much for it."""

    tokens: int = 0
    cost_usd: float = 0.0
    waits_s: float | None = None
    is_over: bool = True


class Bucket:
    """So many a minute, saved up for at most a second's worth and one: debts are paid before the next."""

    def __init__(self, per_minute: float | None, now: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_minute / 60 if per_minute else None
        self._now = now
        self._level = 1.0
        self._seen = now()

    def wait_s(self) -> float:
        """How long until there is something in it."""
        if self._per_s is None:
            return 0.0
        now = self._now()
        self._level = min(max(1.0, self._per_s), self._level + (now - self._seen) * self._per_s)
        self._seen = now
        return max(0.0, -self._level / self._per_s) if self._level <= 0 else 0.0

    def take(self, amount: float) -> None:
        """Take out, if need be below nothing."""
        if self._per_s is not None:
            self._level -= amount


class SharedLimits:
    """The limits themselves: first come, first served, so each task has its turn.

    How many requests are under way at once is found out: halved when the server refuses one, a little more with each
    that it takes. Where there is a bound on money, those under way count as what they are likely to cost, so that many
    at once don't spend more than one after another would. `keep` is told what has been spent.
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        max_cost: float | None = None,
        spent_usd: float = 0.0,
        now: Callable[[], float] = time.monotonic,
        keep: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._keep = keep
        self._likely_usd: float | None = None  # what a request costs: the most that one has
        self._requests = Bucket(requests_per_minute, now)
        self._tokens = Bucket(tokens_per_minute, now)
        self._max_cost = max_cost
        self._now = now
        self._most_at_once = _MOST_AT_ONCE
        self._under_way = 0
        self._paused_until = 0.0
        self._turn = anyio.Lock()
        self._changed = anyio.Event()
        self.spent_usd = spent_usd

    @property
    def is_spent(self) -> bool:
        """Whether the money has come to its end."""
        return self._max_cost is not None and self.spent_usd >= self._max_cost

    @property
    def _is_affordable(self) -> bool:
        """Whether one request more leaves what all under way are likely to cost within the money; one alone always."""
        if self._max_cost is None or not self._under_way:
            return True
        if self._likely_usd is None:
            return False  # the first one tells
        return self.spent_usd + (self._under_way + 1) * self._likely_usd <= self._max_cost

    async def begin(self, tokens: int) -> str:
        """Wait for a turn; see `Limits`."""
        async with self._turn:
            while True:
                if self.is_spent:
                    return told("the fleet has spent its {limit:.2f} USD", limit=self._max_cost)
                changed = self._changed
                wait_s = max(self._paused_until - self._now(), self._requests.wait_s(), self._tokens.wait_s())
                if wait_s <= 0 and self._under_way < max(1, int(self._most_at_once)) and self._is_affordable:
                    break
                with anyio.move_on_after(max(wait_s, _SHORTEST_PAUSE_S) if wait_s > 0 else None):
                    await changed.wait()
            self._under_way += 1
            self._requests.take(1)
            self._tokens.take(tokens)
            return ""

    async def end(self, spent: Spent) -> None:
        """Take note of what a request came to; see `Limits`."""
        if spent.waits_s is not None:
            self._paused_until = max(self._paused_until, self._now() + spent.waits_s)
            self._most_at_once = max(1.0, min(self._most_at_once, float(self._under_way)) / 2)
        elif spent.is_over:
            self._most_at_once = min(_MOST_AT_ONCE, self._most_at_once + 1 / self._most_at_once)
        if spent.is_over:
            self._under_way = max(0, self._under_way - 1)
            self._tokens.take(spent.tokens)
            self.spent_usd += spent.cost_usd
            self._keep(self.spent_usd)
            if spent.tokens:
                self._likely_usd = max(self._likely_usd or 0.0, spent.cost_usd)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class LimitedModel(WrappedModel):
    """A model that asks the fleet before each request. `cost_of` prices what it used."""

    def __init__(self, inner: Model, limits: Limits, cost_of: Callable[[Usage], float]) -> None:
        super().__init__(inner)
        self._limits = limits
        self._cost_of = cost_of

    def stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Wait for the fleet's word, then ask the model. Raises `FleetSpentError` when the money is spent."""
        return self._stream(system, history, declarations)

    @asynccontextmanager
    async def _stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AsyncGenerator[AsyncIterator[ModelEvent]]:
        refused = await self._limits.begin(0)
        if refused:
            raise FleetSpentError(refused)
        told_of = _Seen()
        try:
            async with self._inner.stream(system, history, declarations) as events:
                yield self._watched(events, told_of)
        except ModelError as error:
            if error.kind in (ModelErrorKind.RATE_LIMIT, ModelErrorKind.OVERLOADED):
                told_of.waits_s = error.retry_after_s or 1.0
            raise
        finally:
            spent = Spent(told_of.usage.total, self._cost_of(told_of.usage), told_of.waits_s)
            with anyio.CancelScope(shield=True):
                await self._limits.end(spent)

    async def _watched(self, events: AsyncIterator[ModelEvent], seen: _Seen) -> AsyncGenerator[ModelEvent]:
        async for event in events:
            match event:
                case Usage():
                    seen.usage = event
                case Retrying(delay_s=delay_s):
                    await self._limits.end(Spent(waits_s=delay_s, is_over=False))
                case _:
                    pass
            yield event


class _Seen:
    """What was seen of one request."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.waits_s: float | None = None


class FleetSpentError(ModelError):
    """The fleet may spend no more: the task isn't done, and is none of the failed ones."""

    def __init__(self, message: str) -> None:
        super().__init__(ModelErrorKind.QUOTA, message)
