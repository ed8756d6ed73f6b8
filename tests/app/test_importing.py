"""`dogu config import`: what another program's settings become, and that looking changes nothing."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dogu.app import Options, read_settings
from dogu.app.importing import Found, take_over, what_there_is
from dogu.app.policy_files import rules_of
from dogu.contract import Kind
from dogu.policy.decide import decide
from dogu.policy.verdict import ApprovalMode, CallFacts
from dogu.settings import Trust, record_trust


class Machine:
    def __init__(self, base: Path) -> None:
        self.home, self.root = base / "home", base / "root"
        self.home.mkdir()
        self.root.mkdir()
        record_trust(str(self.root), str(self.home), Trust.TRUSTED)

    @property
    def options(self) -> Options:
        return Options(root=str(self.root), home=str(self.home))

    def write(self, file: str, content: Any) -> None:
        path = self.home.parent / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def take(self, program: str) -> list[Found]:
        before = set(self.home.parent.rglob("*"))
        found = what_there_is(program, self.options)
        assert set(self.home.parent.rglob("*")) == before
        for each in found:
            take_over(each)
        return found

    def decide(self, command: str) -> str:
        rules = rules_of(self.options, read_settings(self.options))
        facts = CallFacts("run_shell_command", Kind.EXECUTE, command)
        return str(decide(facts, rules, ApprovalMode.DEFAULT).decision)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_claude_code_s_rules_become_rules(machine: Machine) -> None:
    permissions = {
        "allow": ["Bash(git log:*)", "Bash(npm run test)", "Edit", "Read(./src/**)", "mcp__files__read", "Bash(a * b)"],
        "deny": ["Bash(curl:*)", "Read(./.env)", "Read(./secrets/**)", "WebFetch(domain:evil.example)", "WebSearch"],
        "ask": ["Bash(git push:*)"],
        "defaultMode": "acceptEdits",
    }
    machine.write("root/.claude/settings.json", {"permissions": permissions})
    found = machine.take("claude")
    settings = read_settings(machine.options)
    assert settings.tools.allowed == (
        "run_shell_command(git log)",
        "run_shell_command(npm run test)",
        "replace",
        "files__read",
    )
    assert settings.tools.exclude == ("run_shell_command(curl)", "google_web_search")
    assert settings.tools.asked == ("run_shell_command(git push)",)
    assert settings.tools.approval_mode == "auto_edit"
    assert [machine.decide(command) for command in ("git log -3", "curl x", "git push")] == ["allow", "deny", "ask"]
    assert (machine.root / ".dogu" / "not-read.ignore").read_text() == "/.env\n/secrets/**\n"
    left = {each.theirs: each.restricts for each in found[-1].left}
    assert left == {"Read(./src/**)": False, "allow Bash(a * b)": False, "deny WebFetch(domain:evil.example)": True}


def test_claude_code_s_servers_context_and_commands_are_taken(machine: Machine) -> None:
    machine.write("home/.claude.json", {"mcpServers": {"time": {"type": "stdio", "command": "t", "args": ["x"]}}})
    machine.write("root/.mcp.json", {"mcpServers": {"far": {"type": "http", "url": "https://a.example/mcp"}}})
    machine.write("root/CLAUDE.md", "Be brief.")
    machine.write("home/.claude/CLAUDE.md", "Answer in verse.")
    machine.write(
        "home/.claude/commands/git/say.md", "---\ndescription: Says it.\n---\nSay $ARGUMENTS of !`git log`.\n"
    )
    machine.write("home/.claude/commands/two.md", "First $1, then $2.")
    machine.take("claude")
    settings = read_settings(machine.options)
    assert settings.mcp.servers["time"] == {"command": "t", "args": ["x"]}
    assert settings.mcp.servers["far"] == {"httpUrl": "https://a.example/mcp"}
    assert "CLAUDE.md" in settings.context.file_names
    assert (machine.home / ".gemini" / "GEMINI.md").read_text() == "Answer in verse."
    command = tomllib.loads((machine.home / ".dogu" / "commands" / "git" / "say.toml").read_text())
    assert command == {"description": "Says it.", "prompt": "Say {{args}} of !{git log}.\n"}
    assert not (machine.home / ".dogu" / "commands" / "two.toml").exists()


def test_a_command_or_memory_that_cannot_be_read_stays_behind_alone(machine: Machine) -> None:
    machine.write("home/.claude/commands/good.md", "Say it.")
    (machine.home / ".claude" / "commands" / "bad.md").write_bytes(b"\xff\xfe\xff")
    (machine.home / ".claude" / "commands" / "folder.md").mkdir()
    os.mkfifo(machine.home / ".claude" / "commands" / "pipe.md")
    (machine.home / ".claude" / "CLAUDE.md").write_bytes(b"\xe9t\xe9")
    found = machine.take("claude")
    left = {each.theirs: each.why for one in found for each in one.left}
    assert left.keys() == {"/bad", "/pipe", "CLAUDE.md"}
    assert left["/bad"].endswith("bad.md is not UTF-8: save it as UTF-8")
    assert left["/pipe"].endswith("pipe.md can't be read: is not a regular file")
    assert (machine.home / ".dogu" / "commands" / "good.toml").exists()


def test_codex_s_settings_become_ours(machine: Machine) -> None:
    machine.write(
        "home/.codex/config.toml",
        'model = "gpt-5.1"\nsandbox_mode = "workspace-write"\nnotify = ["x"]\n'
        '[mcp_servers.docs]\ncommand = "d"\nenabled_tools = ["a"]\ntool_timeout_sec = 2.5\n'
        '[mcp_servers.far]\nurl = "https://a.example"\nbearer_token_env_var = "TOKEN"\nenabled = false\n',
    )
    [found] = machine.take("codex")
    settings = read_settings(machine.options)
    assert (settings.model.provider, settings.model.name) == ("openai", "gpt-5.1")
    assert settings.sandbox.mode == "on"
    assert settings.sandbox.allowed_hosts == ()
    assert settings.mcp.servers["docs"] == {"command": "d", "includeTools": ["a"], "timeout": 2500}
    assert settings.mcp.servers["far"]["disabled"] is True
    assert [each.theirs for each in found.left] == ["notify"]


def test_gemini_cli_s_settings_hold_without_its_file(machine: Machine) -> None:
    written = {
        "tools": {"exclude": ["write_file"]},
        "mcpServers": {"a": {"command": "x"}},
        "ui": {"hideBanner": True},
        "coreTools": ["read_file", "write_file"],
    }
    machine.write("home/.gemini/settings.json", written)
    before = read_settings(machine.options)
    [found] = machine.take("gemini")
    assert [each.theirs for each in found.left] == ["ui.hideBanner"]
    (machine.home / ".gemini" / "settings.json").unlink()
    after = read_settings(machine.options)
    assert (after.tools.core, after.tools.exclude, after.mcp.servers) == (
        before.tools.core, before.tools.exclude, before.mcp.servers
    )  # fmt: skip


def test_a_server_that_could_not_start_is_left_behind_with_the_reason(machine: Machine) -> None:
    servers: dict[str, Any] = {
        **{"good": {"command": "a"}, "none": None, "text": "npx b", "empty": {}, "a.b": {"command": "c"}},
        **{"args": {"command": "a", "args": "-x"}, "late": {"command": "a", "timeout": "5s"}},
    }
    machine.write("home/.gemini/settings.json", {"mcpServers": servers})
    (found,) = machine.take("gemini")
    assert [taken.theirs for taken in found.taken] == ["good"]
    left = {left.theirs: left.why for left in found.left if left.theirs.startswith("mcpServers.")}
    assert left.keys() >= {f"mcpServers.{alias}" for alias in servers if alias != "good"}
    assert "args" in left["mcpServers.args"]


@pytest.mark.parametrize("name", ["allowed", "core", "exclude", "confirmationRequired"])
def test_an_entry_that_would_stop_the_start_is_left_behind_with_the_reason(machine: Machine, name: str) -> None:
    machine.write("home/.gemini/settings.json", {"tools": {name: ["read_file", "*", "read_*"]}})
    (found,) = machine.take("gemini")
    assert [(taken.key, taken.value) for taken in found.taken] == [(f"tools.{name}", ["read_file"])]
    left = [left for left in found.left if left.theirs.startswith(f"tools.{name}: ")]
    assert [left.theirs.partition(": ")[2] for left in left] == ["*", "read_*"]
    assert {left.restricts for left in left} == {name != "allowed"}
    (machine.home / ".gemini" / "settings.json").unlink()
    rules_of(machine.options, read_settings(machine.options))


def test_what_is_set_already_stays_and_twice_is_once(machine: Machine) -> None:
    machine.write("home/.dogu/settings.json", '{\n  // mine\n  "model": { "name": "mine" }\n}\n')
    machine.write("home/.codex/config.toml", 'model = "theirs"\n')
    machine.take("codex")
    text = (machine.home / ".dogu" / "settings.json").read_text()
    assert "// mine" in text
    assert read_settings(machine.options).model.name == "mine"
    machine.take("codex")
    assert (machine.home / ".dogu" / "settings.json").read_text() == text


def restricting(found: list[Found]) -> set[str]:
    return {left.theirs for each in found for left in each.left if left.restricts}


def test_what_claude_code_says_of_servers_is_kept(machine: Machine) -> None:
    machine.write("root/.mcp.json", {"mcpServers": {name: {"command": name} for name in ("a", "b", "c")}})
    settings = {
        "enabledMcpjsonServers": ["a", "b"],
        "disabledMcpjsonServers": ["b"],
        "deniedMcpServers": [{"serverName": "d"}],
        "allowedMcpServers": [{"serverCommand": ["x"]}],
        "permissions": {"deny": ["mcp__a", "mcp__a__rm"], "disableBypassPermissionsMode": "disable"},
        "disableAllHooks": True,
        "sandbox": {"enabled": True, "excludedCommands": ["docker"]},
    }
    machine.write("root/.claude/settings.json", settings)
    machine.write("home/.claude.json", {"projects": {str(machine.root): {"disabledMcpServers": ["e"]}}})
    found = machine.take("claude")
    ours = read_settings(machine.options)
    assert set(ours.mcp.servers) == {"a", "b"}
    assert set(ours.mcp.excluded) == {"b", "d", "e"}
    assert ours.tools.exclude == ("a__*", "a__rm")
    assert ours.tools.yolo_is_disabled
    assert not ours.extensions.hooks.is_enabled
    assert ours.sandbox.mode == "on"
    assert restricting(found) == {"allowedMcpServers", "sandbox.excludedCommands"}


def test_what_nobody_knows_may_restrict_and_is_told_so(machine: Machine) -> None:
    machine.write(
        "root/.claude/settings.json", {"model": "x", "newGuard": {"on": True}, "permissions": {"never": ["x"]}}
    )
    machine.write("home/.claude/settings.json", {"permissions": {"defaultMode": "dontAsk"}})
    assert restricting(machine.take("claude")) == {"newGuard", "permissions.never", "defaultMode dontAsk"}
    machine.write("home/.codex/config.toml", 'model_verbosity = "low"\n[shell_environment_policy]\nexclude = ["A*"]\n')
    assert restricting(machine.take("codex")) == {"shell_environment_policy"}


def test_codex_s_rules_and_approvals_become_rules(machine: Machine) -> None:
    machine.write(
        "home/.codex/config.toml",
        'approval_policy = "untrusted"\nweb_search = "disabled"\n'
        '[mcp_servers.docs]\ncommand = "d"\ndisabled_tools = ["b"]\ndefault_tools_approval_mode = "prompt"\nguard = 1\n'
        '[mcp_servers.docs.tools.read]\napproval_mode = "approve"\n',
    )
    machine.write(
        "home/.codex/rules/default.rules",
        'prefix_rule(pattern=["git", ["push", "fetch"]], decision="prompt", match=["git push"])\n'
        'prefix_rule(pattern=["rm", "-rf"], decision="forbidden")\n'
        'prefix_rule(pattern=["ls"])\n'
        'other_rule(pattern=["dd"])\n',
    )
    found = machine.take("codex")
    ours = read_settings(machine.options)
    assert ours.tools.exclude == ("google_web_search", "run_shell_command(rm -rf)")
    assert ours.tools.asked == ("docs__*", "run_shell_command(git push)", "run_shell_command(git fetch)")
    assert ours.tools.allowed == ("docs__read", "run_shell_command(ls)")
    assert ours.mcp.servers["docs"] == {"command": "d", "excludeTools": ["b"]}
    rules = f"{machine.home}/.codex/rules/default.rules"
    assert restricting(found) == {"mcp_servers.docs.guard", f"{rules}:4"}


def test_codex_s_sandbox_for_reading_means_plan_whatever_is_asked(machine: Machine) -> None:
    machine.write("home/.codex/config.toml", 'approval_policy = "untrusted"\nsandbox_mode = "read-only"\n')
    taken = [each for found in machine.take("codex") for each in found.taken]
    assert [each.value for each in taken if each.key == "tools.approvalMode"] == ["plan"]
    assert read_settings(machine.options).tools.approval_mode == "plan"


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("./.env", "/.env"),
        (".env", ".env"),
        (".env.*", ".env.*"),
        ("secrets/**", "secrets/**"),
        ("/abs", "/abs"),
        ("#x", "\\#x"),
        ("!x", "\\!x"),
    ],
)
def test_what_claude_code_may_not_read_is_hidden_as_it_says(machine: Machine, pattern: str, line: str) -> None:
    machine.write("root/.claude/settings.json", {"permissions": {"deny": [f"Read({pattern})"]}})
    (found,) = machine.take("claude")
    assert (machine.root / ".dogu" / "not-read.ignore").read_text() == f"{line}\n"
    assert found.left == []


@pytest.mark.parametrize("place", ["home", "root"])
@pytest.mark.parametrize("pattern", ["../x", "~/.ssh/**", "//etc/shadow", "a\nb"])
def test_what_lies_elsewhere_can_t_be_hidden_and_is_told(machine: Machine, place: str, pattern: str) -> None:
    machine.write(f"{place}/.claude/settings.json", {"permissions": {"deny": [f"Read({pattern})"]}})
    found = machine.take("claude")
    assert restricting(found) == {f"deny Read({pattern})"}


def test_a_wildcard_alone_means_the_tool(machine: Machine) -> None:
    machine.write("home/.claude/settings.json", {"permissions": {"deny": ["Bash(*)", "WebFetch(*)"]}})
    machine.take("claude")
    assert read_settings(machine.options).tools.exclude == ("run_shell_command", "web_fetch")


@pytest.mark.parametrize(
    ("program", "file", "content", "left"),
    [
        ("claude", ".claude/settings.json", '{"permissions": ["Bash"]}', "permissions"),
        ("claude", ".claude/settings.json", '{"permissions": {"deny": {"Bash": true}}}', "permissions.deny"),
        ("claude", ".claude/settings.json", '{"permissions": {"ask": ["Bash", 7]}}', "permissions.ask"),
        ("claude", ".claude/settings.json", '{"sandbox": true}', "sandbox"),
        ("claude", ".claude/settings.json", '{"hooks": []}', ""),
        ("claude", ".claude/settings.json", '{"hooks": [1]}', "hooks"),
        ("claude", ".claude/settings.json", '{"disabledMcpjsonServers": "a"}', "disabledMcpjsonServers"),
        ("codex", ".codex/config.toml", "mcp_servers = 1", "mcp_servers"),
        ("codex", ".codex/config.toml", "sandbox_workspace_write = 'x'", "sandbox_workspace_write"),
        ("codex", ".codex/config.toml", "[sandbox_workspace_write]\nreads = ['x']", "sandbox_workspace_write.reads"),
    ],
)
def test_what_is_of_another_kind_may_restrict_and_is_told_so(
    machine: Machine, program: str, file: str, content: str, left: str
) -> None:
    machine.write(f"home/{file}", content)
    assert restricting(machine.take(program)) == ({left} if left else set())


def test_folders_that_codex_trusts_are_its_own_and_what_else_is_said_of_them_restricts(machine: Machine) -> None:
    machine.write("home/.codex/config.toml", '[projects."/a"]\ntrust_level = "trusted"\n')
    assert restricting(machine.take("codex")) == set()
    machine.write("home/.codex/config.toml", '[projects."/a"]\ntrust_level = "trusted"\nsandbox = "x"\n')
    assert restricting(machine.take("codex")) == {"projects./a.sandbox"}


def test_a_hook_that_would_stop_every_start_stays_behind(machine: Machine) -> None:
    machine.write("home/.claude/settings.json", '{"hooks": {"PreToolUse": 7, "PostToolUse": []}}')
    found = machine.take("claude")
    assert restricting(found) == {"hooks.PreToolUse"}
    assert [each.key for one in found for each in one.taken] == ["hooks.PostToolUse"]
