"""Two fleets are paired by task, and a difference is told with what chance alone could make of it."""

from __future__ import annotations

from dogu.fleet.compare import compare, interval
from dogu.fleet.rows import Reason, Row


def rows(passed: list[bool], errors: int = 0) -> list[Row]:
    return [
        Row(f"t{number}", each, Reason.DONE, cost_usd=0.1 + each, errors={"replace: edit_not_found": errors})
        for number, each in enumerate(passed)
    ]


def test_a_clear_difference_is_told_as_clear_and_a_small_one_is_not() -> None:
    found = compare(rows([False] * 30 + [True] * 10), rows([True] * 30 + [True] * 10, errors=2))
    assert (found.success.a, found.success.b) == (0.25, 1.0)
    assert found.success.is_clear
    low, high = found.success.low, found.success.high
    assert low is not None
    assert high is not None
    assert 0.5 < low < 0.75 < high <= 1.0
    assert len(found.only_b) == 30
    assert found.only_a == ()
    assert found.errors == {"replace: edit_not_found": (0, 80)}
    assert not compare(rows([True, False] * 20), rows([True, False] * 19 + [True, True])).success.is_clear


def test_only_tasks_that_both_have_count() -> None:
    found = compare(rows([True] * 5), rows([True] * 3))
    assert (found.pairs, found.unpaired) == (3, 2)
    assert compare([], []).pairs == 0


def test_a_task_without_a_check_counts_by_its_agent() -> None:
    a, b = Row("t", None, Reason.DONE), Row("t", None, Reason.TIMEOUT)
    assert compare([a], [b]).only_a == ("t",)


def test_an_interval_of_a_rate_stays_within_bounds() -> None:
    assert interval(0, 0) == (0.0, 1.0)
    low, high = interval(10, 10)
    assert 0.69 < low < 0.73
    assert 0.999 < high <= 1.0


def test_few_tasks_and_ties_tell_no_difference() -> None:
    for count in range(1, 6):
        found = compare(rows([False] * count), rows([True] * count))
        assert not found.success.is_clear  # McNemar's exact test: at best 1 in 16
        assert found.requests.low is None
        assert not found.requests.is_clear
    assert compare(rows([False] * 6), rows([True] * 6)).success.is_clear
    tied = compare(rows([True] * 8), rows([True] * 8)).success
    assert tied.low is not None
    assert tied.high is not None
    assert tied.low < -0.2 < 0.2 < tied.high  # eight ties don't prove that there is no difference


def test_a_row_without_a_cost_takes_nothing_from_the_others() -> None:
    a, b = rows([True] * 8), rows([False] * 8)
    a[0] = Row("t0", True, Reason.DONE)
    found = compare(a, b).cost_usd
    assert found is not None
    assert found.pairs == 7
