"""Rules in the format of Gemini CLI's policy engine, judged as calls are."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from dogu.app import Options, read_settings
from dogu.app.policy_files import rules_of
from dogu.contract import Kind
from dogu.policy.decide import decide
from dogu.policy.file_rules import read_rules
from dogu.policy.rule import RestrictionError
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode, CallFacts, Decision, Verdict
from dogu.settings import SettingsError, Trust, record_trust

DENY, ASK, ALLOW = Decision.DENY, Decision.ASK, Decision.ALLOW


def rules(text: str) -> Rules:
    tables = enumerate(tomllib.loads(text)["rule"], 1)
    read = [rule for at, table in tables for rule in read_rules(table, f"rule {at}", 4)]
    return Rules(files=tuple(sorted(read, key=lambda rule: -rule.priority)))


def shell(command: str) -> CallFacts:
    return CallFacts("run_shell_command", Kind.EXECUTE, command, args={"command": command})


def call(tool: str, kind: Kind = Kind.OTHER, **args: Any) -> CallFacts:
    return CallFacts(tool, kind, args=args, is_built_in="__" not in tool)


def judged(text: str, facts: CallFacts, mode: ApprovalMode = ApprovalMode.YOLO) -> Verdict:
    return decide(facts, rules(text), mode)


DENY_RM = '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "rm -rf"\ndecision = "deny"\npriority = 100\n'


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("rm -rf build", DENY),
        ("ls; rm -rf build", DENY),
        ("bash -c 'rm -rf build'", DENY),
        ("sudo rm -rf build", DENY),
        ("$(echo rm) -rf build", ASK),
        ("echo rm", ALLOW),
    ],
)
def test_a_denied_command_is_denied_wherever_it_stands(command: str, decision: Decision) -> None:
    assert judged(DENY_RM, shell(command)).decision is decision


def test_a_message_of_the_rule_is_the_reason() -> None:
    text = DENY_RM + 'denyMessage = "Deletion is permanent"\n'
    assert "Deletion is permanent" in str(judged(text, shell("rm -rf x")).reason)


BY_PRIORITY = """
[[rule]]
toolName = "run_shell_command"
decision = "deny"
priority = 10
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "git log"]
decision = "allow"
priority = 200
[[rule]]
toolName = "run_shell_command"
commandPrefix = "git push"
decision = "ask_user"
priority = 300
"""


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("git status", ALLOW),
        ("git log && git status -s", ALLOW),
        ("git status && ls", DENY),
        ("git push", DENY),
        ("git commit", DENY),
    ],
)
def test_the_highest_priority_wins_for_each_part(command: str, decision: Decision) -> None:
    mode = ApprovalMode.DEFAULT
    if command == "git push":  # answered for as a whole by the question above the denial of everything else
        decision = ASK
    assert judged(BY_PRIORITY, shell(command), mode).decision is decision


def test_a_question_is_asked_in_every_mode() -> None:
    text = '[[rule]]\ntoolName = ["write_file", "replace"]\ndecision = "ask_user"\npriority = 10\n'
    for mode in (ApprovalMode.DEFAULT, ApprovalMode.AUTO_EDIT, ApprovalMode.YOLO):
        assert judged(text, call("write_file", Kind.EDIT, file_path="a"), mode).decision is ASK
    assert judged(text, call("apply_patch", Kind.EDIT, input="x")).decision is ASK


@pytest.mark.parametrize("tool", ["send_input", "read_many_files", "apply_patch"])
def test_a_tool_that_does_what_another_does_is_asked_where_its_arguments_cannot_tell(tool: str) -> None:
    rule = "[[rule]]\ntoolName = '{}'\nargsPattern = 'secret'\ndecision = 'deny'\npriority = 1\n"
    text = DENY_RM + rule.format("read_file") + rule.format("replace")
    assert judged(text, call(tool, text="rm -rf x")).decision is ASK


def test_a_rule_of_one_mode_holds_in_that_mode_only() -> None:
    text = '[[rule]]\ntoolName = "write_file"\ndecision = "deny"\npriority = 1\nmodes = ["autoEdit"]\n'
    facts = call("write_file", Kind.EDIT, file_path="a")
    assert judged(text, facts, ApprovalMode.AUTO_EDIT).decision is DENY
    assert judged(text, facts, ApprovalMode.YOLO).decision is ALLOW


@pytest.mark.parametrize(
    ("name", "server", "tool", "is_meant"),
    [
        ("*", "", "read_file", True),
        ("*", "", "a__b", True),
        ("mcp_*", "", "a__b", True),
        ("mcp_*", "", "read_file", False),
        ("mcp_my-server_*", "", "my-server__go", True),
        ("mcp_my-server_*", "", "other__go", False),
        ("mcp_*_go", "", "other__go", True),
        ("mcp_*_go", "", "other__stay", False),
        ("mcp_other_go", "", "other__go", True),
        ("go", "other", "other__go", True),
        ("go", "other", "third__go", False),
        ("*", "*", "third__go", True),
        ("*", "*", "read_file", False),
        ("", "other", "other__go", True),
        ("ReadFileTool", "", "read_file", True),
        ("search_file_content", "", "grep_search", True),
    ],
)
def test_names_and_wildcards(name: str, server: str, tool: str, is_meant: bool) -> None:
    text = '[[rule]]\ndecision = "deny"\npriority = 1\n'
    text += f'toolName = "{name}"\n' if name else ""
    text += f'mcpName = "{server}"\n' if server else ""
    assert (judged(text, call(tool)).decision is DENY) is is_meant
    assert rules(text).is_excluded(tool) is is_meant


@pytest.mark.parametrize(("tool", "is_meant"), [("a__go", True), ("b-c__go", True), ("d__go", False), ("go", False)])
def test_a_list_of_servers_is_about_each(tool: str, is_meant: bool) -> None:
    text = '[[rule]]\nmcpName = ["a", "b-c"]\ndecision = "deny"\npriority = 1\n'
    assert (judged(text, call(tool)).decision is DENY) is is_meant


@pytest.mark.parametrize(
    ("pattern", "args", "decision"),
    [
        (r'"file_path":"[^"]*\\.env"', {"path": "conf/.env"}, DENY),
        (r'"path":"[^"]*\\.env"', {"path": "conf/.env"}, DENY),
        (r'"file_path":"[^"]*\\.env"', {"path": "conf/env"}, ALLOW),
    ],
)
def test_a_pattern_is_about_the_arguments_under_either_name(
    pattern: str, args: dict[str, str], decision: Decision
) -> None:
    text = f"[[rule]]\ntoolName = 'read_file'\nargsPattern = \"{pattern.replace(chr(34), chr(92) + chr(34))}\"\n"
    text += 'decision = "deny"\npriority = 1\n'
    assert judged(text, call("read_file", Kind.READ, **args)).decision is decision


def test_a_regular_expression_of_commands_looks_at_each_of_them() -> None:
    text = "[[rule]]\ntoolName = 'run_shell_command'\ncommandRegex = 'git (commit|push)'\ndecision = 'deny'\npriority = 1\n"
    assert judged(text, shell("git push")).decision is DENY
    assert judged(text, shell("ls && git 'push'")).decision is DENY
    assert judged(text, shell("git log")).decision is ALLOW


@pytest.mark.parametrize(
    ("regex", "command", "decision"),
    [
        ("^curl", "curl x", DENY),
        ("^curl (x|y)$", "curl x", DENY),
        ("^curl (x|y)$", "curl xy", ALLOW),
        ("^curl", "echo curl", ALLOW),
        ("price\\\\$", "echo price$", ALLOW),
    ],
)
def test_ends_of_a_command_are_ends_of_what_stands_in_the_arguments(
    regex: str, command: str, decision: Decision
) -> None:
    text = f"[[rule]]\ntoolName = 'run_shell_command'\ncommandRegex = '{regex}'\npriority = 1\n"
    assert judged(f"{text}decision = 'deny'\n", shell(command)).decision is decision
    assert judged(f"{text}decision = 'allow'\n", shell(command)).decision is not DENY


def test_a_pattern_that_looks_ahead_is_understood_and_one_that_may_take_for_ever_refused() -> None:
    text = "[[rule]]\ntoolName = 'read_file'\nargsPattern = '(?!x)a'\ndecision = 'deny'\npriority = 1\n"
    assert judged(text, call("read_file", Kind.READ, path="a")).decision is DENY
    with pytest.raises(RestrictionError, match="forever"):
        rules(text.replace("(?!x)a", "(?!x)(a+)+$"))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ('toolName = "read_file"\ndecision = "deny"', "priority"),
        ('toolName = "read_file"\npriority = 1', "decision"),
        ('toolName = "read_file"\ndecision = "forbid"\npriority = 1', "decision"),
        ('toolName = "read_file"\ndecision = "deny"\npriority = 1000', "priority"),
        ('toolName = "read_file"\ndecision = "deny"\npriority = 1\nwhen = "never"', "when"),
        ('toolName = "read_file"\ncommandPrefix = "a"\ndecision = "deny"\npriority = 1', "toolName"),
        ('toolName = "read_file"\ndecision = "deny"\npriority = 1\nmodes = ["slow"]', "modes"),
        ('decision = "deny"\npriority = 1', "toolName"),
    ],
)
def test_what_is_not_understood_is_refused(fields: str, why: str) -> None:
    with pytest.raises(RestrictionError, match=why):
        rules(f"[[rule]]\n{fields}\n")


class Folders:
    def __init__(self, base: Path) -> None:
        self.home, self.root = base / "home", base / "root"
        self.home.mkdir()
        self.root.mkdir()

    def write(self, file: str, text: str) -> None:
        path = self.home.parent / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def decide(self, command: str, *, is_attended: bool = True) -> Decision:
        options = Options(root=str(self.root), home=str(self.home))
        found = rules_of(options, read_settings(options), is_attended=is_attended)
        return decide(shell(command), found, ApprovalMode.DEFAULT).decision


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


ALLOW_MAKE = '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "make"\ndecision = "allow"\npriority = 200\n'


def test_the_users_policies_are_read(folders: Folders) -> None:
    folders.write("home/.gemini/policies/mine.toml", DENY_RM)
    assert folders.decide("rm -rf x") is DENY


def test_a_folder_that_is_not_trusted_restricts_and_does_not_allow(folders: Folders) -> None:
    folders.write("root/rules/team.toml", DENY_RM + ALLOW_MAKE)
    folders.write("root/.gemini/settings.json", '{"policyPaths": ["rules"]}')
    assert folders.decide("rm -rf x") is DENY
    before = folders.decide("make")
    record_trust(str(folders.root), str(folders.home), Trust.TRUSTED)
    assert (before, folders.decide("make")) == (ASK, ALLOW)


def test_a_rule_may_hold_only_where_nobody_is_there(folders: Folders) -> None:
    folders.write("home/.gemini/policies/a.toml", DENY_RM + "interactive = false\n")
    assert folders.decide("rm -rf x", is_attended=False) is DENY
    assert folders.decide("rm -rf x") is ASK


@pytest.mark.parametrize("text", ["[[rule]\n", "[[safety_checker]]\ntoolName = '*'\n", "[[rule]]\ntoolName = 'run_shel_command'\ndecision = 'deny'\npriority = 1\n"])  # fmt: skip
def test_a_file_that_is_not_understood_stops_the_start(folders: Folders, text: str) -> None:
    folders.write("home/.gemini/policies/a.toml", text)
    with pytest.raises(SettingsError, match=r"a\.toml"):
        folders.decide("ls")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            DENY_RM + "\n# and\n[[ rule ]]\ntoolName = 'glob'\npriority = 1\n",
            r"a\.toml:\d+: rule 2: decision is missing",
        ),
        ("[[rule]]\ntoolName = 'glob'\ndecision = 'deny'\n", r"a\.toml:1: rule 1: priority is missing"),
        ("\n[[rule]]\ntoolName = 'glob'\ndecision = 'no'\npriority = 1\n", r"a\.toml:2: rule 1: decision takes .*'no'"),
        ("rule = [{ toolName = 'glob', priority = 1 }]\n", r"a\.toml: rule 1: decision is missing"),
    ],
)
def test_a_rule_that_is_not_understood_is_named_with_its_line(folders: Folders, text: str, why: str) -> None:
    folders.write("home/.gemini/policies/a.toml", text)
    with pytest.raises(SettingsError, match=why):
        folders.decide("ls")


def test_a_byte_order_mark_is_no_part_of_a_file(folders: Folders) -> None:
    folders.write("home/.gemini/policies/mine.toml", "\ufeff" + DENY_RM)
    assert folders.decide("rm -rf x") is DENY


def test_a_variable_in_the_path_of_a_file_is_replaced(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULES", str(folders.root))
    folders.write("root/team.toml", DENY_RM)
    folders.write("home/.gemini/settings.json", '{"policyPaths": ["${RULES}/team.toml"]}')
    assert folders.decide("rm -rf x") is DENY
    monkeypatch.delenv("RULES")
    with pytest.raises(SettingsError, match="RULES isn't set"):
        folders.decide("ls")


def test_a_file_that_the_settings_name_must_be_there(folders: Folders) -> None:
    folders.write("home/.gemini/settings.json", '{"policyPaths": ["nowhere.toml"]}')
    with pytest.raises(SettingsError, match="nowhere"):
        folders.decide("ls")


def test_what_must_be_confirmed_is_asked_though_it_is_allowed(folders: Folders) -> None:
    keys = '{"tools": {"allowed": ["run_shell_command(git)"], "confirmationRequired": ["run_shell_command(git push)"]}}'
    folders.write("home/.gemini/settings.json", keys)
    assert folders.decide("git status") is ALLOW
    assert folders.decide("git status && git push") is ASK
