"""Every example of the shell document, and what it says of restrictions."""

from __future__ import annotations

import pytest

from dogu.contract.tool import Kind
from dogu.contract.tool_names import SHELL_TOOL
from dogu.policy.decide import decide
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode, CallFacts
from policy.judging import entries, gate


def verdict(command: str, core: list[str] | None = None, exclude: list[str] | None = None) -> str:
    rules = Rules.from_lists(entries(core), entries(exclude))
    return str(decide(CallFacts(SHELL_TOOL, Kind.EXECUTE, command), rules, ApprovalMode.YOLO).gate)


@pytest.mark.requirement("shell.limit.core")
@pytest.mark.requirement("shell.limit.settings")
def test_only_the_listed_command_runs() -> None:
    assert verdict("git status", ["git"]) == "allow"
    assert verdict("npm install", ["git"]) == "deny"


@pytest.mark.requirement("shell.limit.core.wildcard")
def test_the_tools_name_alone_lets_any_command_run_that_is_not_blocked() -> None:
    assert verdict("anything at all", ["*"]) == "allow"
    assert verdict("anything at all", ["*", "ls"]) == "allow"


@pytest.mark.requirement("shell.limit.exclude")
@pytest.mark.requirement("shell.limit.example.block_rm")
@pytest.mark.parametrize(
    ("command", "expected"), [("rm -rf /", "deny"), ("git status", "allow"), ("npm install", "allow")]
)
def test_a_blocked_prefix_blocks_and_the_rest_runs(command: str, expected: str) -> None:
    assert verdict(command, ["*"], ["rm"]) == expected


@pytest.mark.requirement("shell.limit.example.allow_two")
@pytest.mark.parametrize(
    ("command", "expected"), [("git status", "allow"), ("npm install", "allow"), ("ls -l", "deny")]
)
def test_two_prefixes_allow_two_programs(command: str, expected: str) -> None:
    assert verdict(command, ["git", "npm"]) == expected


@pytest.mark.requirement("shell.limit.deny_first")
@pytest.mark.requirement("shell.limit.example.deny_first")
def test_what_is_blocked_wins_over_what_is_allowed() -> None:
    assert verdict("git push origin main", ["git"], ["git push"]) == "deny"
    assert verdict("git status", ["git"], ["git push"]) == "allow"
    assert verdict("git push", ["git push"], ["git"]) == "deny"


@pytest.mark.requirement("shell.limit.example.block_all")
@pytest.mark.parametrize("command", ["ls -l", "git status", "echo hello"])
def test_excluding_the_tool_blocks_every_command(command: str) -> None:
    assert verdict(command, None, ["*"]) == "deny"


@pytest.mark.requirement("shell.limit.chains")
@pytest.mark.parametrize("operator", ["&&", "||", ";", "|", "&", "\n", " && ", " ;\n", "|&"])
def test_each_part_of_a_chain_must_be_allowed(operator: str) -> None:
    assert gate(f"git status{operator}npm install", ["git", "npm"]) == "allow"
    assert gate(f"git status{operator}ls -l", ["git", "npm"]) == "deny"
    assert gate(f"git status{operator}rm x", ["*"], ["rm"]) == "deny"


@pytest.mark.requirement("shell.limit.prefix")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git", "allow"),
        ("git log", "allow"),
        ("gitevil", "deny"),
        ("git-lfs pull", "deny"),
        ("git.exe log", "deny"),
        ("GIT log", "deny"),
        ("'git log'", "deny"),
        ("git\\ log", "deny"),
        ("./git log", "deny"),
        ("../git log", "deny"),
        ("git\u00a0log", "deny"),
        ("git\u200b log", "deny"),
        ("git\vlog", "deny"),
        ("/usr/bin/git log", "allow"),
        ('"git" log', "allow"),
        ("\\git log", "allow"),
        ("git \\\nlog", "allow"),
    ],
)
def test_a_rule_is_a_prefix_of_words(command: str, expected: str) -> None:
    assert gate(command, ["git"]) == expected


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("git log", "git log -5", "allow"),
        ("git log", "git status", "deny"),
        ("git log", "git", "deny"),
        ("git log", "git log-x", "deny"),
        ('echo "hello"', "echo hello you", "allow"),
        ("npm  run  build", "npm run build", "allow"),
        ("./run.sh", "./run.sh a", "allow"),
        ("./run.sh", "run.sh", "deny"),
        ("/usr/bin/git", "/usr/bin/git log", "allow"),
        ("git && npm", "git log && npm i", "deny"),
        ("g?t", "git log", "ask"),
        ("git *", "git log", "ask"),
        ("find . -delete", "find . -delete", "allow"),
        ("python -c", "python -c 'print(1)'", "allow"),
        ("bash x.sh", "bash x.sh", "allow"),
    ],
)
def test_the_words_of_a_rule_cover_what_they_say(rule: str, command: str, expected: str) -> None:
    assert gate(command, [rule]) == expected


@pytest.mark.parametrize(
    "command", ["git push", "git -C . push", "git --git-dir x push", "git -p pu''sh", "env git push"]
)
def test_options_before_a_subcommand_do_not_hide_it(command: str) -> None:
    assert gate(command, ["*"], ["git push"]) == "deny"


@pytest.mark.parametrize("command", ["git log push", "git pushx", "git commit -m push", "git stash push"])
def test_a_word_elsewhere_is_not_the_subcommand(command: str) -> None:
    assert gate(command, ["*"], ["git push"]) == "allow"


@pytest.mark.parametrize("command", ["docker -H x rm y", "kubectl -n x delete y", "cargo +nightly publish"])
def test_an_option_that_may_take_a_value_before_a_subcommand_is_asked_about(command: str) -> None:
    words = command.split()
    assert gate(command, ["*"], [f"{words[0]} {words[-2] if len(words) > 3 else words[-1]}"]) in ("ask", "deny")


@pytest.mark.parametrize(
    "command", ["", " ", "\n", "git status &&", "git 'x", "fi", "git $(", "cat <<E\nx", "a \x00", "( )"]
)
def test_what_bash_would_refuse_is_refused_everywhere(command: str) -> None:
    assert gate(command) == "deny"
    assert gate(command, ["*"], ["rm"]) == "deny"
    assert gate(command, ["git", "cat", "a"]) == "deny"


@pytest.mark.parametrize("command", ["git log \x1b[2K", "git status\rrm x", "git log \u202e", "git log \x7f"])
def test_what_could_hide_on_a_screen_is_asked_about(command: str) -> None:
    assert gate(command, ["git"]) == "ask"
