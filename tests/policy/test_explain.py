"""What `dogu policy explain` says."""

from __future__ import annotations

import json

import pytest

from dogu.policy.explain import explain, explain_lines, limit_of_exclusions, verdict_json, verdict_text
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode

_RULES = Rules.from_lists(["run_shell_command(git)"])


def test_every_simple_command_is_shown_with_its_rule_and_why() -> None:
    verdict = explain("git status && rm x", _RULES, ApprovalMode.DEFAULT)
    text = verdict_text(verdict)
    assert "deny" in text.splitlines()[0]
    assert "git status  [run_shell_command(git)]" in text
    assert "rm x: rm is not among the commands allowed" in text


def test_json_tells_the_same() -> None:
    found = verdict_json(explain("git 'status'", _RULES, ApprovalMode.DEFAULT))
    assert (found["gate"], found["verdict"]) == ("allow", "ask")
    assert found["commands"][0]["words"] == ["git", "status"]
    assert found["commands"][0]["rule"] == "run_shell_command(git)"
    json.dumps(found)


def test_rows_are_answered_in_order_with_their_own_lists() -> None:
    rows = [
        {"id": 1, "command": "rm x", "coreTools": None, "excludeTools": ["run_shell_command(rm)"]},
        {"id": 2, "command": "git log"},
        {"id": 3, "command": "git log", "coreTools": None, "excludeTools": None, "approvalMode": "yolo"},
    ]
    found = list(explain_lines([json.dumps(row).encode() for row in rows], _RULES, ApprovalMode.DEFAULT))
    assert [(each["id"], each["gate"], each["verdict"]) for each in found] == [
        (1, "deny", "deny"),
        (2, "allow", "ask"),
        (3, "allow", "allow"),
    ]


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"{}", b'{"command": 1}', b'{"command": "ls", "coreTools": "x"}', b"\xff", b"[" * 100_000,
     b'{"command": "ls", "coreTools": ["run_shell_command("]}', b'{"command": "ls", "approvalMode": "never"}'],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_refused_and_the_next_one_answered(line: bytes) -> None:
    bad, good = explain_lines([line, b"\n", b'{"id": 7, "command": "git log"}'], _RULES, ApprovalMode.DEFAULT)
    assert bad["gate"] == "deny"
    assert bad["error"]
    assert (good["id"], good["gate"]) == (7, "allow")


def test_a_lone_surrogate_is_refused_not_an_error() -> None:
    (found,) = explain_lines([b'{"command": "git \\ud800"}'], _RULES, ApprovalMode.DEFAULT)
    assert found["gate"] == "deny"


@pytest.mark.parametrize(
    ("core", "command", "is_told"),
    [
        (None, "gh repo sync a/b", True),
        (None, "git push", False),
        (["run_shell_command(gh)"], "gh repo view", False),
    ],
)
def test_what_an_exclusion_cannot_promise_is_told_where_it_let_a_command_pass(
    core: list[str] | None, command: str, is_told: bool
) -> None:
    rules = Rules.from_lists(core, ["run_shell_command(git push)"])
    limit = limit_of_exclusions(rules, explain(command, rules, ApprovalMode.YOLO))
    assert bool(limit) is is_told
    assert limit_of_exclusions(Rules(), explain(command, Rules(), ApprovalMode.YOLO)) == ""
