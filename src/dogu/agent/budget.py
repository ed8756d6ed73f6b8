"""What a session has used, by model, what that cost, and how much more it may."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from dogu.agent.events import Record, sum_usage
from dogu.language import told
from dogu.models.events import Usage
from dogu.models.model import Model
from dogu.models.prices import Price
from dogu.runtime.events import emit_nothing

_ANY = Usage(prompt=1, output=1)


class Spent(msgspec.Struct):
    """What one model was asked for and said. `cost_usd` is None when its price or its tokens aren't known."""

    usage: Usage
    requests: int
    cost_usd: float | None


class Ledger:
    """Adds up what requests used and cost; `price_of` knows a model's price, or None."""

    def __init__(self, price_of: Callable[[str], Price | None]) -> None:
        self.price_of = price_of
        self.by_model: dict[str, Spent] = {}

    def add(self, model: str, usage: Usage) -> None:
        """Count one request's tokens."""
        price = self.price_of(model)
        cost = None if price is None or (usage.uncounted and price.of(_ANY)) else price.of(usage)
        known = self.by_model.get(model)
        if known is None:
            self.by_model[model] = Spent(usage, 1, cost)
            return
        known.usage = sum_usage(known.usage, usage)
        known.requests += 1
        known.cost_usd = None if cost is None or known.cost_usd is None else known.cost_usd + cost

    @property
    def cost_usd(self) -> float:
        """What the models whose prices are known have cost."""
        return sum(spent.cost_usd or 0.0 for spent in self.by_model.values())

    @property
    def unpriced(self) -> list[str]:
        """The models that were asked and whose prices aren't known."""
        return [model for model, spent in self.by_model.items() if spent.cost_usd is None]


class Budget(Ledger):
    """Adds up what every request of a session used: the conversation's, and those of repairs, helpers and summaries.

    At `max_cost_usd` no further request is sent. What the session had cost before it was resumed counts; `run` is the
    ledger of this process alone.
    """

    def __init__(self, price_of: Callable[[str], Price | None], max_cost_usd: float | None = None) -> None:
        super().__init__(price_of)
        self.max_cost_usd = max_cost_usd
        self.run = Ledger(price_of)

    def add(self, model: str, usage: Usage) -> None:
        """Count one request's tokens."""
        super().add(model, usage)
        self.run.add(model, usage)

    def resume(self, requests: Iterable[tuple[str, Usage]]) -> None:
        """Count what was used by earlier processes of the session: the model and the tokens of each request."""
        for model, usage in requests:
            super().add(model, usage)

    @property
    def has_earlier(self) -> bool:
        """Whether earlier processes of the session used anything."""
        requests = sum(spent.requests for spent in self.by_model.values())
        return requests > sum(spent.requests for spent in self.run.by_model.values())

    def why_stop(self) -> str:
        """Say why no further request may be sent; empty when it may."""
        most = self.max_cost_usd
        if most is None:
            return ""
        if self.unpriced:
            return told(
                "Stopped: this session has a cost limit, but the price of {models} isn't known. Set "
                'it in the settings, under "model": {{"prices": ...}}.',
                models=", ".join(self.unpriced),
            )
        if self.cost_usd < most:
            return ""
        return told(
            "Stopped: this session has cost {cost}, and the limit is {most}. --max-cost sets a higher one.",
            cost=usd(self.cost_usd),
            most=usd(most),
        )


class Meter:
    """Counts the tokens of every request of a session, at `model`'s price, and says when `budget` allows no other.

    `usage` begins with what the session had used before it was resumed.
    """

    def __init__(
        self, model: Model, record: Record = emit_nothing, budget: Budget | None = None, usage: Usage | None = None
    ) -> None:
        self.usage = usage or Usage()
        self.budget = budget
        self._model = model
        self._record = record

    def add(self, usage: Usage) -> None:
        """Count a request of a turn, whose events are recorded."""
        self.usage = sum_usage(self.usage, usage)
        if self.budget is not None:
            self.budget.add(self._model.name, usage)

    def count(self, usage: Usage) -> None:
        """Count and record a request of another kind: a repair's, a summary's, a search's."""
        self.add(usage)
        self._record(usage)

    def why_stop(self) -> str:
        """Say for the user why no further request may be sent; empty when it may."""
        return self.budget.why_stop() if self.budget is not None else ""

    def cost_usd(self) -> float | None:
        """Return what all requests of this process have cost so far; None when a price isn't known."""
        if self.budget is None or self.budget.run.unpriced:
            return None
        return self.budget.run.cost_usd

    def session_cost_usd(self) -> float | None:
        """Return what `usage` has cost, also before the session was resumed; None when a price isn't known."""
        return None if self.budget is None or self.budget.unpriced else self.budget.cost_usd


def usd(amount: float) -> str:
    """Write an amount of US dollars, small ones to the hundredth of a cent."""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"
