"""What tasks share: a rate, money, and what a server's refusals teach."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from dogu.fleet.limits import Bucket, SharedLimits, Spent

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_pays_its_debts_first() -> None:
    clock = Clock()
    bucket = Bucket(60, clock)
    bucket.take(3)
    assert bucket.wait_s() == pytest.approx(2)
    clock.now = 2.5
    assert bucket.wait_s() == 0
    clock.now = 1000.0
    assert bucket.wait_s() == 0
    bucket.take(1)
    assert bucket.wait_s() == 0  # saved up: one, not a thousand
    bucket.take(1)
    assert bucket.wait_s() == pytest.approx(1)


async def test_when_the_money_is_spent_no_request_is_sent() -> None:
    limits = SharedLimits(max_cost=1.0, spent_usd=0.4)
    assert await limits.begin(0) == ""
    await limits.end(Spent(10, 0.6))
    assert "spent its 1.00 USD" in await limits.begin(0)
    assert limits.is_spent


async def test_requests_under_way_count_as_what_they_are_likely_to_cost() -> None:
    kept: list[float] = []
    limits = SharedLimits(max_cost=1.0, keep=kept.append)
    assert await _passes(limits.begin)
    assert not await _passes(limits.begin)  # nobody knows yet what one costs
    await limits.end(Spent(10, 0.3))
    for _ in range(2):
        assert await _passes(limits.begin)
    assert not await _passes(limits.begin)  # a third would come to 1.20
    await limits.end(Spent(10, 0.3))
    await limits.end(Spent(10, 0.3))
    assert await _passes(limits.begin)  # alone, while there is any money
    assert kept == pytest.approx([0.3, 0.6, 0.9])


async def test_a_refusal_pauses_all_and_halves_what_is_under_way() -> None:
    clock = Clock()
    limits = SharedLimits(now=clock)
    for _ in range(8):
        await limits.begin(0)
    await limits.end(Spent(waits_s=30.0))
    with anyio.move_on_after(0.05) as scope:
        await limits.begin(0)
    assert scope.cancelled_caught
    clock.now = 31.0
    for _ in range(4):
        await limits.end(Spent())
    assert await _passes(limits.begin)  # 4 are allowed now, and 3 are under way
    assert not await _passes(limits.begin)


async def test_requests_are_let_go_in_the_order_in_which_they_came() -> None:
    clock = Clock()
    limits = SharedLimits(requests_per_minute=60, now=clock)
    order: list[int] = []

    async def ask(number: int) -> None:
        await limits.begin(0)
        order.append(number)
        await limits.end(Spent())

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(ask, number)
            await anyio.lowlevel.checkpoint()
        while len(order) < 4:
            clock.now += 1.0
            await limits.end(Spent(is_over=False))
            await anyio.lowlevel.checkpoint()
    assert order == [0, 1, 2, 3]


async def _passes(begin: Callable[[int], object]) -> bool:
    with anyio.move_on_after(0.05):
        await begin(0)  # pyright: ignore[reportGeneralTypeIssues]
        return True
    return False
