"""Two fleets over the same tasks, paired: what a change of model, prompt or tool did to success and cost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import exp, lgamma, log

import msgspec

from dogu.fleet.rows import Row

_SAMPLES = 2_000
_SEED = 20_261_122  # the same two fleets give the same interval
_TAIL = 0.025
_FEWEST = 6  # with fewer pairs no order of signs is rarer than one in twenty


class Difference(msgspec.Struct, frozen=True):
    """A mean of A and of B over `pairs` tasks, and B minus A with its 95 % interval; None where they are too few."""

    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    pairs: int = 0

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves no room for none."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Comparison(msgspec.Struct, frozen=True):
    """What comes of pairing by task. `only_a` passed in A and not in B, `only_b` the other way; ids, sorted.

    `errors` are failed calls by tool and kind, in A and B; `unpaired` are tasks that one of them hasn't done.
    """

    pairs: int
    unpaired: int
    success: Difference
    cost_usd: Difference | None
    requests: Difference
    failed_calls: Difference
    wall_s: Difference
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    errors: dict[str, tuple[int, int]]


def compare(first: Iterable[Row], second: Iterable[Row]) -> Comparison:
    """Pair the rows of two fleets by task. A row without a check counts as passed when its agent was done."""
    a, b = ({row.id: row for row in rows} for rows in (first, second))
    ids = sorted(a.keys() & b.keys())
    rows = [(a[task_id], b[task_id]) for task_id in ids]

    def difference(value: Callable[[Row], float]) -> Difference:
        return _difference([(value(one), value(other)) for one, other in rows])

    costs = [(a.cost_usd, b.cost_usd) for a, b in rows if a.cost_usd is not None and b.cost_usd is not None]
    counts = [Counter[str](), Counter[str]()]
    for pair in rows:
        for count, row in zip(counts, pair, strict=True):
            count.update(row.errors)
    return Comparison(
        pairs=len(ids),
        unpaired=len(a.keys() ^ b.keys()),
        success=_success_difference([(succeeded(one), succeeded(other)) for one, other in rows]),
        cost_usd=_difference(costs) if costs else None,
        requests=difference(lambda row: row.requests),
        failed_calls=difference(lambda row: sum(row.errors.values())),
        wall_s=difference(lambda row: row.wall_s),
        only_a=tuple(one.id for one, other in rows if succeeded(one) and not succeeded(other)),
        only_b=tuple(one.id for one, other in rows if succeeded(other) and not succeeded(one)),
        errors={name: (counts[0][name], counts[1][name]) for name in sorted(counts[0] | counts[1])},
    )


def succeeded(row: Row) -> bool:
    """Whether a row counts as a success."""
    return row.passed if row.passed is not None else row.reason == "done"


def interval(successes: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a rate (Wilson's)."""
    if not total:
        return 0.0, 1.0
    z = 1.959964
    rate = successes / total
    middle = (rate + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * (rate * (1 - rate) / total + z * z / (4 * total * total)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def _difference(pairs: Sequence[tuple[float, float]]) -> Difference:
    """Compare means: Student's interval of the paired differences, or where it is wider that of resampling."""
    count = len(pairs)
    if not count:
        return Difference(0.0, 0.0, 0.0, None, None)
    changes = [b - a for a, b in pairs]
    mean_a, mean_b = (sum(pair[side] for pair in pairs) / count for side in (0, 1))
    mean = sum(changes) / count
    if count < _FEWEST:
        return Difference(mean_a, mean_b, mean, None, None, count)
    chance = random.Random(_SEED)
    means = sorted(sum(chance.choices(changes, k=count)) / count for _ in range(_SAMPLES))
    low, high = means[int(_SAMPLES * _TAIL)], means[int(_SAMPLES * (1 - _TAIL)) - 1]
    deviation = (sum((change - mean) ** 2 for change in changes) / (count - 1)) ** 0.5
    half = _student(count - 1) * deviation / count**0.5
    return Difference(mean_a, mean_b, mean, min(low, mean - half), max(high, mean + half), count)


def _success_difference(pairs: Sequence[tuple[bool, bool]]) -> Difference:
    """Compare rates: Newcombe's interval for pairs (his method 10), or where it is wider the exact one of those that
    differ, so that it is clear only where McNemar's exact test says so. Right for few and for ties."""
    count = len(pairs)
    if not count:
        return Difference(0.0, 0.0, 0.0, None, None)
    both, only_a, only_b = (pairs.count(kind) for kind in ((True, True), (True, False), (False, True)))
    neither = count - both - only_a - only_b
    a, b = both + only_a, both + only_b
    (low_a, high_a), (low_b, high_b) = interval(a, count), interval(b, count)
    rate_a, rate_b = a / count, b / count
    product = a * (count - a) * b * (count - b)
    alike = both * neither - only_a * only_b
    phi = (max(alike - count / 2, 0) if alike > 0 else alike) / product**0.5 if product else 0.0

    def half(down: float, up: float) -> float:
        return max(0.0, down * down - 2 * phi * down * up + up * up) ** 0.5

    difference = rate_b - rate_a
    low = difference - half(rate_b - low_b, high_a - rate_a)
    high = difference + half(high_b - rate_b, rate_a - low_a)
    differing = only_a + only_b
    if differing:
        least, most = _exact(only_b, differing)
        low = min(low, (2 * least - 1) * differing / count)
        high = max(high, (2 * most - 1) * differing / count)
    return Difference(rate_a, rate_b, difference, max(-1.0, low), min(1.0, high), count)


def _exact(successes: int, total: int) -> tuple[float, float]:
    """Return Clopper and Pearson's 95 % interval of a rate."""

    def at_most(most: int, rate: float) -> float:
        if not 0 < rate < 1:
            return float(rate <= 0 or most >= total)
        ways = (lgamma(total + 1) - lgamma(each + 1) - lgamma(total - each + 1) for each in range(most + 1))
        return sum(exp(way + each * log(rate) + (total - each) * log(1 - rate)) for each, way in enumerate(ways))

    def found(is_below: Callable[[float], bool]) -> float:
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if is_below(middle) else (low, middle)
        return low

    least = found(lambda rate: 1 - at_most(successes - 1, rate) < _TAIL) if successes else 0.0
    return least, found(lambda rate: at_most(successes, rate) > _TAIL) if successes < total else 1.0


def _student(freedom: int) -> float:
    """Return the 97.5 % point of Student's distribution (Cornish and Fisher; to a hundredth from 5 on)."""
    z = 1.959964
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
