"""tools.sandboxAllowedHosts: what it takes is what the sandbox understands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.settings.values import ValueProblem, hosts
from dogu.workspace.sandbox.hosts import AllowedHosts


@pytest.mark.parametrize(
    "entry",
    ["example.com", "*.Example.com", "a.b:443", "localhost:3000", "10.0.0.0/8", "127.0.0.1", "::1", "[::1]:80", "fc00::/7"],
)  # fmt: skip
def test_hosts_are_taken(entry: str) -> None:
    assert hosts([entry]) == (entry,)
    assert AllowedHosts([entry]).written == (entry,)


@pytest.mark.parametrize(
    "value",
    ["example.com", [1], [""], ["*"], ["https://example.com"], ["a b"], ["a:0"], ["a:70000"], ["10.0.0.1/8"], ["a..b"], ["a.*"]],
)  # fmt: skip
def test_what_is_no_list_of_hosts_stops_the_start(value: object) -> None:
    with pytest.raises(ValueProblem):
        hosts(value)


@given(st.from_regex(r"(\*\.)?[a-z0-9.:/\[\]-]{1,20}", fullmatch=True))
def test_whatever_is_taken_is_understood(entry: str) -> None:
    try:
        hosts([entry])
    except ValueProblem:
        return
    AllowedHosts([entry])
