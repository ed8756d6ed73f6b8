"""The file of remembered rules."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from dogu.policy.policy import Policy, RememberedRules
from dogu.policy.rule import Rule
from dogu.policy.verdict import Decision

_ADD = """
import sys
from dogu.policy.policy import RememberedRules
from dogu.policy.rule import Rule
from dogu.policy.verdict import Decision
for number in range(20):
    RememberedRules(sys.argv[1], "/root").add(Rule("run_shell_command", Decision.ALLOW, (sys.argv[2], str(number))))
"""


def test_a_user_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rules.json"
    RememberedRules(str(path), "/root").add(Rule("run_shell_command", Decision.ALLOW, ("git", "log")))
    assert json.loads(path.read_text()) == {"/root": ["run_shell_command(git log)"]}
    assert path.stat().st_mode & 0o077 == 0


def test_each_root_has_its_own_rules(tmp_path: Path) -> None:
    path = str(tmp_path / "rules.json")
    RememberedRules(path, "/a").add(Rule("run_shell_command", Decision.ALLOW, ("ls",)))
    assert RememberedRules(path, "/b").load() == ()
    assert [rule.words for rule in RememberedRules(path, "/a").load()] == [("ls",)]


def test_a_file_that_is_no_json_or_holds_strange_entries_only_means_more_questions(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text("{")
    assert RememberedRules(str(path), "/a").load() == ()
    path.write_text('{"/a": ["run_shell_command(", "run_shell_command(ls)"]}')
    assert [rule.words for rule in RememberedRules(str(path), "/a").load()] == [("ls",)]


def test_two_processes_lose_none_of_their_rules(tmp_path: Path) -> None:
    path = str(tmp_path / "rules.json")
    processes = [subprocess.Popen([sys.executable, "-c", _ADD, path, name]) for name in ("one", "two")]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert len(RememberedRules(path, "/root").load()) == 40


def test_rules_outlive_the_session_those_of_whole_tools_do_not(tmp_path: Path) -> None:
    path = str(tmp_path / "rules.json")
    policy = Policy(remembered=RememberedRules(path, "/a"))
    policy.remember(Rule("run_shell_command", Decision.ALLOW, ("ls",)))
    policy.remember(Rule("replace", Decision.ALLOW))
    later = Policy(remembered=RememberedRules(path, "/a"))
    assert [rule.text for rule in later.rules.allowed] == ["run_shell_command(ls)"]
