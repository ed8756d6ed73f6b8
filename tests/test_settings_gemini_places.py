"""What Gemini CLI is set by beside its two settings.json: the system's files, extensions, variables, `.env`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dogu.agent.context.files import ContextFiles, ContextSources
from dogu.app.extending import skills_of
from dogu.app.options import Options, read_settings
from dogu.app.policy_files import rules_of
from dogu.contract import Kind
from dogu.policy.decide import decide
from dogu.policy.verdict import ApprovalMode, CallFacts
from dogu.settings import Settings, SettingsError, Trust, load_settings, record_trust
from dogu.settings.gemini_places import add_env_file, read_env_file


def put(file: Path, content: Mapping[str, Any] | str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def load(folder: Path, **environ: str) -> Settings:
    (folder / "root").mkdir(exist_ok=True)
    return load_settings(str(folder / "root"), str(folder / "home"), environ=environ)


def extension(folder: Path, name: str, manifest: Mapping[str, Any] | str, *, of: str = "home") -> Path:
    place = folder / of / ".gemini" / "extensions" / name
    whole = {"name": name, "version": "1", **manifest} if isinstance(manifest, Mapping) else manifest
    put(place / "gemini-extension.json", whole)
    return place


class TestSystem:
    def test_defaults_stand_below_all_files_and_settings_above_them(self, tmp_path: Path):
        defaults = put(tmp_path / "defaults.json", {"model": {"name": "lowest"}, "ui": {"theme": "light"}})
        system = put(tmp_path / "sys.json", {"tools": {"approvalMode": "plan", "exclude": ["glob"]}})
        put(tmp_path / "home/.gemini/settings.json", {"model": {"name": "own"}, "tools": {"approvalMode": "yolo"}})
        settings = load(
            tmp_path,
            GEMINI_CLI_SYSTEM_SETTINGS_PATH=str(system),
            GEMINI_CLI_SYSTEM_DEFAULTS_PATH=str(defaults),
        )
        assert settings.model.name == "own"
        assert settings.ui.theme == "light"
        assert settings.tools.approval_mode == "plan"
        assert settings.tools.exclude == ("glob",)

    def test_the_defaults_lie_beside_the_settings(self, tmp_path: Path):
        system = put(tmp_path / "settings.json", {})
        put(tmp_path / "system-defaults.json", {"tools": {"exclude": ["glob"]}})
        assert load(tmp_path, GEMINI_CLI_SYSTEM_SETTINGS_PATH=str(system)).tools.exclude == ("glob",)

    def test_a_file_that_a_variable_names_must_be_there(self, tmp_path: Path):
        with pytest.raises(SettingsError, match=r"gone\.json"):
            load(tmp_path, GEMINI_CLI_SYSTEM_SETTINGS_PATH=str(tmp_path / "gone.json"))

    def test_yolo_that_the_system_forbids_stays_forbidden(self, tmp_path: Path):
        system = put(tmp_path / "sys.json", {"security": {"disableYoloMode": True}})
        put(tmp_path / "home/.gemini/settings.json", {"tools": {"approvalMode": "yolo"}})
        with pytest.raises(SettingsError, match="yolo is switched off"):
            load(tmp_path, GEMINI_CLI_SYSTEM_SETTINGS_PATH=str(system))


class TestVariables:
    @pytest.mark.parametrize(
        ("value", "mode"), [("true", "on"), ("1", "on"), ("docker", "on"), ("FALSE", "off"), ("0", "off"), ("", "auto")]
    )
    def test_gemini_sandbox_is_above_the_files(self, tmp_path: Path, value: str, mode: str):
        assert load(tmp_path, GEMINI_SANDBOX=value).sandbox.mode == mode

    def test_what_gemini_sandbox_does_not_take_stops(self, tmp_path: Path):
        with pytest.raises(SettingsError, match=r"GEMINI_SANDBOX: tools\.sandbox"):
            load(tmp_path, GEMINI_SANDBOX="perhaps")

    def test_another_programs_sandbox_is_told_as_not_used(self, tmp_path: Path):
        put(tmp_path / "home/.gemini/settings.json", {"tools": {"sandbox": "docker"}})
        settings = load(tmp_path)
        assert settings.sandbox.mode == "on"
        assert "docker isn't used" in "\n".join(map(str, settings.warnings))

    def test_the_users_env_file_adds_what_the_environment_has_not(self, tmp_path: Path):
        put(
            tmp_path / ".gemini/.env",
            "# keys\nexport GEMINI_API_KEY=abc # mine\r\nA='x # y'\nB=\"two\\nlines\"\nC=\n D = d d \nE=a#b\nno line\n",
        )
        environ = {"A": "before"}
        add_env_file(str(tmp_path), environ)
        assert environ == {"A": "before", "GEMINI_API_KEY": "abc", "B": "two\nlines", "C": "", "D": "d d", "E": "a#b"}

    def test_an_env_file_that_is_not_there_says_nothing(self, tmp_path: Path):
        assert read_env_file(str(tmp_path / ".env")) == {}

    def test_a_folders_env_file_is_told_as_not_read(self, tmp_path: Path):
        put(tmp_path / "root/.gemini/.env", "GEMINI_SANDBOX=true\n")
        assert ".env: isn't read" in "\n".join(map(str, load(tmp_path).warnings))


class TestExtensions:
    def test_its_servers_are_started_and_its_exclusions_hold(self, tmp_path: Path):
        place = extension(
            tmp_path,
            "sec",
            {
                "mcpServers": {"e": {"command": "${extensionPath}${/}run", "cwd": "${workspacePath}", "trust": True}},
                "excludeTools": ["run_shell_command(rm -rf)"],
                "contextFileName": "SEC.md",
                "themes": [{"name": "x"}],
            },
        )
        put(place / "SEC.md", "be safe")
        settings = load(tmp_path)
        assert settings.mcp.servers == {"e": {"command": f"{place}/run", "cwd": str(tmp_path / "root")}}
        assert settings.tools.exclude == ("run_shell_command(rm -rf)",)
        assert settings.added[0].context_files == (str(place / "SEC.md"),)
        told = "\n".join(map(str, settings.warnings))
        assert "themes, mcpServers.e.trust" in told

    def test_the_settings_own_server_of_that_name_goes_first(self, tmp_path: Path):
        extension(tmp_path, "x", {"mcpServers": {"e": {"command": "theirs"}}})
        put(tmp_path / "home/.gemini/settings.json", {"mcpServers": {"e": {"command": "mine"}}})
        assert load(tmp_path).mcp.servers == {"e": {"command": "mine"}}

    def test_its_own_variables_are_filled_in(self, tmp_path: Path):
        place = extension(tmp_path, "x", {"mcpServers": {"e": {"command": "c", "env": {"K": "$MY_KEY"}}}})
        put(place / ".env", "MY_KEY=secret\n")
        assert load(tmp_path).mcp.servers["e"]["env"] == {"K": "secret"}

    def test_its_hooks_run(self, tmp_path: Path):
        place = extension(tmp_path, "x", {})
        hook = {"hooks": [{"type": "command", "command": "${extensionPath}/check"}]}
        put(place / "hooks/hooks.json", {"hooks": {"BeforeTool": [hook]}})
        (file,) = load(tmp_path).extensions.hooks.files
        assert file.value["BeforeTool"][0]["hooks"][0]["command"] == f"{place}/check"

    def test_one_that_came_with_a_folder_only_restricts_until_the_folder_is_trusted(self, tmp_path: Path):
        manifest = {"mcpServers": {"e": {"command": "c"}}, "excludeTools": ["glob"]}
        extension(tmp_path, "x", manifest, of="root")
        settings = load(tmp_path)
        assert settings.tools.exclude == ("glob",)
        assert settings.mcp.servers == {}
        record_trust(str(tmp_path / "root"), str(tmp_path / "home"), Trust.TRUSTED)
        assert load(tmp_path).mcp.servers == {"e": {"command": "c"}}

    @pytest.mark.parametrize(
        ("overrides", "is_on"),
        [
            (["!{root}/*"], False),
            (["!/*"], False),
            (["!/*", "{root}/"], True),
            (["!/elsewhere/*"], True),
            (["!{root}/below/*"], True),
        ],
    )
    def test_one_that_is_switched_off_for_the_folder_is_left_out(
        self, tmp_path: Path, overrides: list[str], is_on: bool
    ):
        extension(tmp_path, "x", {"excludeTools": ["glob"]})
        rules = [rule.replace("{root}", "/" + str(tmp_path / "root").lstrip("/")) for rule in overrides]
        put(tmp_path / "home/.gemini/extensions/extension-enablement.json", {"x": {"overrides": rules}})
        assert bool(load(tmp_path).added) == is_on

    @pytest.mark.parametrize(
        ("keys", "is_on"),
        [
            ({"admin": {"extensions": {"enabled": False}}}, False),
            ({"extensions": {"disabled": ["X"]}}, False),
            ({"security": {"blockGitExtensions": True}}, False),
            ({"security": {"allowedExtensions": ["^https://example[.]org/"]}}, False),
            ({"security": {"blockGitExtensions": True, "allowedExtensions": ["github[.]com"]}}, True),
            ({"security": {"allowedExtensions": []}}, True),
        ],
    )
    def test_the_settings_say_which_are_let_in(self, tmp_path: Path, keys: dict[str, Any], is_on: bool):
        place = extension(tmp_path, "x", {})
        put(place / ".gemini-extension-install.json", {"type": "git", "source": "https://github.com/a/b"})
        put(tmp_path / "home/.gemini/settings.json", keys)
        assert bool(load(tmp_path).added) == is_on

    def test_one_that_is_linked_is_read_where_it_lies(self, tmp_path: Path):
        place = extension(tmp_path, "x", {})
        put(tmp_path / "far/gemini-extension.json", {"name": "x", "version": "1", "excludeTools": ["glob"]})
        put(place / ".gemini-extension-install.json", {"type": "link", "source": str(tmp_path / "far")})
        assert load(tmp_path).tools.exclude == ("glob",)

    @pytest.mark.parametrize(
        "manifest", ['{"excludeTools": ["glob"', {"excludeTools": ["run_shel_command"]}, {"denyTools": ["glob"]}]
    )
    def test_one_whose_restriction_is_not_understood_stops(self, tmp_path: Path, manifest: Mapping[str, Any] | str):
        extension(tmp_path, "x", manifest)
        with pytest.raises(SettingsError, match=r"gemini-extension\.json"):
            load(tmp_path)

    def test_folders_without_a_manifest_are_none(self, tmp_path: Path):
        os.makedirs(tmp_path / "home/.gemini/extensions/empty")
        assert load(tmp_path).added == ()


class TestWhatAnExtensionBrings:
    def options(self, folder: Path) -> Options:
        (folder / "root").mkdir(exist_ok=True)
        return Options(root=str(folder / "root"), home=str(folder / "home"))

    def test_its_policies_restrict_and_allow_nothing(self, tmp_path: Path):
        place = extension(tmp_path, "x", {})
        rule = '[[rule]]\ntoolName = "{}"\ndecision = "{}"\npriority = 9\n'
        put(place / "policies" / "a.toml", rule.format("glob", "deny") + rule.format("write_file", "allow"))
        options = self.options(tmp_path)
        rules = rules_of(options, read_settings(options))
        assert rules.is_excluded("glob")
        facts = CallFacts("write_file", Kind.EDIT, None)
        assert decide(facts, rules, ApprovalMode.DEFAULT).decision == "ask"

    def test_its_skills_and_context_are_read(self, tmp_path: Path):
        place = extension(tmp_path, "x", {})
        put(place / "GEMINI.md", "Be safe.")
        put(place / "skills" / "audit" / "SKILL.md", "---\nname: audit\ndescription: Audits.\n---\nLook.\n")
        options = self.options(tmp_path)
        settings = read_settings(options)
        skills = skills_of(options, settings)
        assert skills is not None
        assert [skill.name for skill in skills.all()] == ["audit"]
        sources = ContextSources((str(tmp_path / "root"),), options.home, more=settings.added[0].context_files)
        assert [file.text.strip() for file in ContextFiles(sources).files] == ["Be safe."]

    def test_a_policy_that_is_not_understood_stops(self, tmp_path: Path):
        place = extension(tmp_path, "x", {})
        put(place / "policies" / "a.toml", "[[rule]]\ndecision = 'deny'\npriority = 1\n")
        options = self.options(tmp_path)
        with pytest.raises(SettingsError, match=r"a\.toml:1: rule 1"):
            rules_of(options, read_settings(options))
