from collections.abc import AsyncGenerator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.models.delays import delay_told
from dogu.models.events import MANY_TRIES, ModelError, ModelErrorKind, ModelEvent, Retrying, TextDelta
from dogu.models.retry import RetryPolicy, with_retries

POLICY = RetryPolicy(tries=4, first_delay_s=0.0)


@given(st.integers(1, 200), st.floats(0, 1, exclude_max=True))
def test_a_wait_of_ours_doubles_up_to_a_limit_and_is_never_less_than_half_of_it(attempt: int, chance: float) -> None:
    policy = RetryPolicy(first_delay_s=1, longest_delay_s=30)
    whole = min(30, 2 ** (attempt - 1))
    assert whole / 2 <= policy.delay_s(attempt, None, chance) <= whole


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True), st.integers(1, 9))
def test_a_server_that_asks_for_no_wait_hurries_nobody(told_s: float, chance: float, attempt: int) -> None:
    policy = RetryPolicy()
    assert policy.delay_s(attempt, told_s, chance) == policy.delay_s(attempt, None, chance)


@given(st.floats(1, 120), st.floats(0, 1, exclude_max=True))
def test_a_wait_that_was_told_is_never_shortened(told_s: float, chance: float) -> None:
    assert told_s <= RetryPolicy().delay_s(1, told_s, chance) <= told_s * 1.1 + 1e-9


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("12", 12.0),
        ("0.5", 0.5),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert delay_told({"retry-after": value}, [], "") == seconds


def test_a_date_in_the_future_is_the_time_until_then() -> None:
    told_s = delay_told({"retry-after": "Wed, 21 Oct 2065 07:28:00 GMT"}, [], "")
    assert told_s
    assert told_s > 1e6


@pytest.mark.anyio
async def test_the_hint_of_a_failure_reaches_the_next_attempt_only() -> None:
    hints: list[str] = []

    async def attempt(hint: str) -> AsyncGenerator[ModelEvent, None]:
        hints.append(hint)
        yield TextDelta("x")
        if len(hints) < 4:
            hinted = "do better" if len(hints) == 1 else ""
            raise ModelError(ModelErrorKind.MALFORMED, "no", most_tries=MANY_TRIES, hint=hinted)

    events = [event async for event in with_retries(attempt, POLICY)]
    assert hints == ["", "do better", "", ""]
    assert [event.attempt for event in events if isinstance(event, Retrying)] == [1, 2, 3]


@pytest.mark.anyio
async def test_what_cannot_be_retried_is_raised_as_it_is() -> None:
    async def attempt(hint: str) -> AsyncGenerator[ModelEvent, None]:
        raise ModelError(ModelErrorKind.AUTH, "no key")
        yield TextDelta("")

    with pytest.raises(ModelError, match=r"^no key$"):
        assert [event async for event in with_retries(attempt, POLICY)]


@pytest.mark.anyio
async def test_tries_end_with_the_time_for_them_and_a_longer_delay_of_the_servers_is_not_waited_for() -> None:
    for told_s, least in ((None, 3), (5.0, 1)):
        tries = 0

        async def attempt(hint: str, told_s: float | None = told_s) -> AsyncGenerator[ModelEvent, None]:
            nonlocal tries
            tries += 1
            raise ModelError(ModelErrorKind.RATE_LIMIT, "Slow down.", most_tries=MANY_TRIES, retry_after_s=told_s)
            yield TextDelta("")

        policy = RetryPolicy(first_delay_s=0.01, longest_delay_s=0.02, retry_for_s=0.1)
        with pytest.raises(ModelError) as raised:
            assert [event async for event in with_retries(attempt, policy)]
        assert tries >= least
        assert (tries == 1) == (told_s is not None)
        assert raised.value.retry_after_s == told_s
        assert raised.value.is_retryable


@pytest.mark.anyio
@pytest.mark.parametrize(("tries", "fact"), [(1, "No key k."), (2, "No key k. Tried 2 times.")])
async def test_what_happened_stands_alone_beside_the_message_with_the_advice(tries: int, fact: str) -> None:
    async def attempt(hint: str) -> AsyncGenerator[ModelEvent, None]:
        raise ModelError(ModelErrorKind.AUTH, "No key k.", most_tries=tries, advice="Set k.")
        yield TextDelta("")

    with pytest.raises(ModelError) as raised:
        _ = [event async for event in with_retries(attempt, POLICY)]
    assert (raised.value.fact, raised.value.message) == (fact, f"{fact} Set k.")
    raised.value.redact(lambda text: text.replace("k.", "[key]"))
    assert "k." not in raised.value.fact + raised.value.message


@pytest.mark.anyio
async def test_what_a_server_says_without_a_full_stop_gets_one_where_more_follows() -> None:
    async def attempt(hint: str) -> AsyncGenerator[ModelEvent, None]:
        raise ModelError(ModelErrorKind.RATE_LIMIT, "It says: slow down", most_tries=2)
        yield TextDelta("")

    heard: list[ModelEvent] = []

    async def hear() -> None:
        async for event in with_retries(attempt, POLICY):
            heard.append(event)

    with pytest.raises(ModelError, match=r"^It says: slow down\. Tried 2 times\.$"):
        await hear()
    assert [event.reason for event in heard if isinstance(event, Retrying)] == ["It says: slow down."]
