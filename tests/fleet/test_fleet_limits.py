"""What tasks share: a rate, money, and what a server's refusals teach."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import anyio
import msgspec
import pytest

from dogu.app.model_choice import account_of, open_model
from dogu.contract.declaration import FunctionDeclaration
from dogu.fleet.limits import Bucket, LimitedModel, SharedLimits, Spent
from dogu.models.contents import RawContent
from dogu.models.events import ModelEvent, Retrying, TextDelta
from dogu.settings import ModelSettings

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
    assert await limits.begin("key", 0) == ""
    await limits.end(Spent("key", 10, 0.6))
    assert "spent its 1.00 USD" in await limits.begin("key", 0)
    assert limits.is_spent


async def test_requests_under_way_count_as_what_they_are_likely_to_cost() -> None:
    kept: list[float] = []
    limits = SharedLimits(max_cost=1.0, keep=kept.append)
    assert await _passes(limits.begin)
    assert not await _passes(limits.begin)  # nobody knows yet what one costs
    await limits.end(Spent("key", 10, 0.3))
    for _ in range(2):
        assert await _passes(limits.begin)
    assert not await _passes(limits.begin)  # a third would come to 1.20
    await limits.end(Spent("key", 10, 0.3))
    await limits.end(Spent("key", 10, 0.3))
    assert await _passes(limits.begin)  # alone, while there is any money
    assert kept == pytest.approx([0.3, 0.6, 0.9])


async def test_a_refusal_pauses_all_and_halves_what_is_under_way() -> None:
    clock = Clock()
    limits = SharedLimits(now=clock)
    for _ in range(8):
        await limits.begin("key", 0)
    await limits.end(Spent("key", waits_s=30.0))
    with anyio.move_on_after(0.05) as scope:
        await limits.begin("key", 0)
    assert scope.cancelled_caught
    clock.now = 31.0
    for _ in range(4):
        await limits.end(Spent("key"))
    assert await _passes(limits.begin)  # 4 are allowed now, and 3 are under way
    assert not await _passes(limits.begin)


async def test_what_an_answer_says_is_used_up_is_waited_for_by_that_account_alone() -> None:
    clock = Clock()
    limits = SharedLimits(now=clock)
    for account in ("one", "two"):
        await limits.begin(account, 0)
    await limits.end(Spent("one", used_up_for_s=6.0))
    await limits.end(Spent("two"))
    assert not await _passes(limits.begin, "one")
    assert await _passes(limits.begin, "two")
    clock.now = 6.5
    for _ in range(8):
        assert await _passes(limits.begin, "one")  # nothing was refused: as many at once as before


class _Failing:
    """A model whose request is sent again after half a minute."""

    name = "failing"
    takes_media_in_answers = False

    def __init__(self, *, asks_to_wait: bool) -> None:
        self._asks_to_wait = asks_to_wait

    @asynccontextmanager
    async def stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AsyncGenerator[AsyncIterator[ModelEvent]]:
        async def events() -> AsyncGenerator[ModelEvent]:
            yield Retrying("It failed.", 30.0, 1, 0, self._asks_to_wait)

        yield events()

    async def aclose(self) -> None: ...


@pytest.mark.parametrize("asks_to_wait", [True, False])
async def test_one_tasks_failures_hold_up_no_other_unless_the_server_says_so(asks_to_wait: bool) -> None:
    limits = SharedLimits(now=Clock())
    model = LimitedModel(lambda _: _Failing(asks_to_wait=asks_to_wait), limits, "key", lambda _: 0.0)
    async with model.stream("", [], ()) as events:
        assert [event async for event in events] == [Retrying("It failed.", 30.0, 1, 0, asks_to_wait)]
        assert await _passes(limits.begin) is not asks_to_wait


class _LastOne(BaseHTTPRequestHandler):
    """A server whose every answer says that it was the last one for half a minute."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        said = {"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": "stop"}]}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("x-ratelimit-remaining-requests", "0")
        self.send_header("x-ratelimit-reset-requests", "30s")
        self.send_header("x-ratelimit-remaining-tokens", "9000")
        self.send_header("x-ratelimit-reset-tokens", "50s")
        self.end_headers()
        self.wfile.write(b"data: " + msgspec.json.encode(said) + b"\n\ndata: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:
        pass


async def test_a_server_that_says_what_is_left_needn_t_refuse() -> None:
    clock = Clock()
    limits = SharedLimits(now=clock)
    with ThreadingHTTPServer(("127.0.0.1", 0), _LastOne) as server:
        Thread(target=server.serve_forever).start()
        address = f"http://127.0.0.1:{server.server_port}/v1"
        settings = ModelSettings(
            name="some",
            provider="openai_compatible",
            base_url=address,
            api_key="k",
            max_session_turns=1,
            edit_repair=False,
        )
        model = LimitedModel(partial(open_model, settings, {}), limits, account_of(settings, {}), lambda _: 0.0)
        async with model.stream("", [b'{"role": "user", "parts": [{"text": "Hello"}]}'], ()) as events:
            assert [event.text async for event in events if isinstance(event, TextDelta)] == ["Hi."]
        await model.aclose()
        server.shutdown()
    assert not await _passes(limits.begin, account_of(settings, {}))
    assert await _passes(limits.begin, account_of(msgspec.structs.replace(settings, api_key="other"), {}))
    clock.now = 31.0
    assert await _passes(limits.begin, account_of(settings, {}))


async def test_requests_are_let_go_in_the_order_in_which_they_came() -> None:
    clock = Clock()
    limits = SharedLimits(requests_per_minute=60, now=clock)
    order: list[int] = []

    async def ask(number: int) -> None:
        await limits.begin("key", 0)
        order.append(number)
        await limits.end(Spent("key"))

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(ask, number)
            await anyio.lowlevel.checkpoint()
        while len(order) < 4:
            clock.now += 1.0
            await limits.end(Spent("key", is_over=False))
            await anyio.lowlevel.checkpoint()
    assert order == [0, 1, 2, 3]


async def _passes(begin: Callable[[str, int], object], account: str = "key") -> bool:
    with anyio.move_on_after(0.05):
        await begin(account, 0)  # pyright: ignore[reportGeneralTypeIssues]
        return True
    return False
