"""What all tasks of a fleet share of a provider: requests and tokens a minute, and money. Learnt from its answers.

The driver has the one `SharedLimits`; tasks see it through `Limits`, wherever they run.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import anyio
import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import told
from dogu.models.contents import RawContent
from dogu.models.delays import used_up_for
from dogu.models.events import ModelError, ModelErrorKind, ModelEvent, Retrying, Usage
from dogu.models.model import Model, WrappedModel
from dogu.models.transport_errors import HearHeaders

_MOST_AT_ONCE = 1_000.0
_SHORTEST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 60.0  # unrefused: what is used up for longer is told by a refusal, which may end the task


class Limits(Protocol):
    """What a task asks before each request, and says after it."""

    async def begin(self, account: str, tokens: int) -> str:
        """Wait until the account may send a request of about so many tokens; a text says why none may any more."""
        ...

    async def end(self, spent: Spent) -> None:
        """Say what the request came to."""
        ...


class Spent(msgspec.Struct, frozen=True):
    """What a request of an account used. `waits_s` is what the server asked to wait, if it was too much for it.

    `used_up_for_s` is how long nothing is left of one of its limits, as its answer said.
    """

    account: str = ""
    tokens: int = 0
    cost_usd: float = 0.0
    waits_s: float | None = None
    used_up_for_s: float = 0.0
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


class _Account:
    """What a provider takes by one key: so many a minute, so many at once, nothing until a time."""

    def __init__(self, requests: Bucket, tokens: Bucket) -> None:
        self.requests = requests
        self.tokens = tokens
        self.most_at_once = _MOST_AT_ONCE
        self.under_way = 0
        self.paused_until = 0.0
        self.turn = anyio.Lock()

    def wait_s(self, now: float) -> float:
        """How long until it takes a request."""
        return max(self.paused_until - now, self.requests.wait_s(), self.tokens.wait_s())

    @property
    def has_room(self) -> bool:
        """Whether one request more may be under way."""
        return self.under_way < max(1, int(self.most_at_once))

    def took(self, tokens: int) -> None:
        """Take note that a request was sent."""
        self.under_way += 1
        self.requests.take(1)
        self.tokens.take(tokens)

    def heard(self, spent: Spent, now: float) -> None:
        """Take note of what a request came to, and of what its answer says of the next."""
        self.paused_until = max(self.paused_until, now + max(spent.waits_s or 0.0, spent.used_up_for_s))
        if spent.waits_s is not None:
            self.most_at_once = max(1.0, min(self.most_at_once, float(self.under_way)) / 2)
        elif spent.is_over:
            self.most_at_once = min(_MOST_AT_ONCE, self.most_at_once + 1 / self.most_at_once)
        if spent.is_over:
            self.under_way = max(0, self.under_way - 1)
            self.tokens.take(spent.tokens)


class SharedLimits:
    """The limits themselves: first come, first served, so each task has its turn.

    What a server bears is found out for each account: how many requests are under way at once is halved when it refuses
    one, a little more with each that it takes; where an answer says that nothing is left of a limit, none is sent until
    that is renewed. Where there is a bound on money, those under way count as what they are likely to cost, so that
    many at once don't spend more than one after another would. `keep` is told what has been spent.
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
        self._per_minute = requests_per_minute, tokens_per_minute
        self._accounts: dict[str, _Account] = {}
        self._max_cost = max_cost
        self._now = now
        self._changed = anyio.Event()
        self.spent_usd = spent_usd

    @property
    def is_spent(self) -> bool:
        """Whether the money has come to its end."""
        return self._max_cost is not None and self.spent_usd >= self._max_cost

    @property
    def _is_affordable(self) -> bool:
        """Whether one request more leaves what all under way are likely to cost within the money; one alone always."""
        under_way = sum(account.under_way for account in self._accounts.values())
        if self._max_cost is None or not under_way:
            return True
        if self._likely_usd is None:
            return False  # the first one tells
        return self.spent_usd + (under_way + 1) * self._likely_usd <= self._max_cost

    def _account(self, name: str) -> _Account:
        if name not in self._accounts:
            requests, tokens = self._per_minute
            self._accounts[name] = _Account(Bucket(requests, self._now), Bucket(tokens, self._now))
        return self._accounts[name]

    def note_spent(self, usd: float) -> None:
        """Take note of what has been spent, where others count it; it never becomes less."""
        if usd > self.spent_usd:
            self.spent_usd = usd
            self._keep(usd)

    async def begin(self, account: str, tokens: int) -> str:
        """Wait for a turn; see `Limits`."""
        of = self._account(account)
        async with of.turn:
            while True:
                if self.is_spent:
                    return told("the fleet has spent its {limit:.2f} USD", limit=self._max_cost)
                changed = self._changed
                wait_s = of.wait_s(self._now())
                if wait_s <= 0 and of.has_room and self._is_affordable:
                    break
                with anyio.move_on_after(max(wait_s, _SHORTEST_PAUSE_S) if wait_s > 0 else None):
                    await changed.wait()
            of.took(tokens)
            return ""

    async def end(self, spent: Spent) -> None:
        """Take note of what a request came to; see `Limits`."""
        self._account(spent.account).heard(spent, self._now())
        if spent.is_over:
            self.note_spent(self.spent_usd + spent.cost_usd)
            if spent.tokens:
                self._likely_usd = max(self._likely_usd or 0.0, spent.cost_usd)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class LimitedModel(WrappedModel):
    """A model that asks the fleet before each request of an account. `cost_of` prices what it used."""

    def __init__(
        self,
        open_model: Callable[[HearHeaders], Model],
        limits: Limits,
        account: str,
        cost_of: Callable[[Usage], float],
    ) -> None:
        super().__init__(open_model(self._hear_headers))
        self._limits = limits
        self._account = account
        self._cost_of = cost_of
        self._used_up_for_s = 0.0

    def _hear_headers(self, headers: Mapping[str, str]) -> None:
        self._used_up_for_s = min(used_up_for(headers), _LONGEST_PAUSE_S)

    def stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Wait for the fleet's word, then ask the model. Raises `FleetSpentError` when the money is spent."""
        return self._stream(system, history, declarations)

    @asynccontextmanager
    async def _stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AsyncGenerator[AsyncIterator[ModelEvent]]:
        refused = await self._limits.begin(self._account, 0)
        if refused:
            raise FleetSpentError(refused)
        told_of = _Seen()
        try:
            async with self._inner.stream(system, history, declarations) as events:
                yield self._watched(events, told_of)
        except ModelError as error:
            if error.asks_to_wait:
                told_of.waits_s = error.retry_after_s or 1.0
            raise
        finally:
            used_up_for_s, self._used_up_for_s = self._used_up_for_s, 0.0
            usage = told_of.usage
            spent = Spent(self._account, usage.total, self._cost_of(usage), told_of.waits_s, used_up_for_s)
            with anyio.CancelScope(shield=True):
                await self._limits.end(spent)

    async def _watched(self, events: AsyncIterator[ModelEvent], seen: _Seen) -> AsyncGenerator[ModelEvent]:
        async for event in events:
            match event:
                case Usage():
                    seen.usage = event
                case Retrying(delay_s=delay_s, asks_to_wait=True):
                    await self._limits.end(Spent(self._account, waits_s=delay_s, is_over=False))
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
