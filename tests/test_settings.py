"""Settings: where they are read from, how they add up, and that no restriction is dropped in silence."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies

from dogu.app import Options
from dogu.app.settings_command import SECRET_KEYS, SettingsCommand
from dogu.settings import Settings, SettingsError, Trust, load_settings, record_trust, trust_of
from dogu.settings.about import ABOUT
from dogu.settings.json import JsonError, parse_json_with_comments
from dogu.settings.keys import KEYS, Combine, Key, KeyReach
from dogu.settings.tools import intersect


@dataclass
class Place:
    home: Path
    root: Path

    def write(self, where: str, content: Any) -> Path:
        """Write `home/.gemini` and its like; a dict as JSON, a text as it is."""
        file = self.home.parent / where / "settings.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    def load(self, overrides: dict[str, Any] | None = None, **environ: str) -> Settings:
        return load_settings(str(self.root), str(self.home), overrides=overrides, environ=environ)

    def error(self, **environ: str) -> SettingsError:
        with pytest.raises(SettingsError) as caught:
            self.load(None, **environ)
        return caught.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "home", tmp_path / "root")
    made.home.mkdir()
    made.root.mkdir()
    return made


def told(settings: Settings) -> str:
    return "\n".join(map(str, settings.warnings))


class TestFiles:
    def test_without_any_file_everything_is_built_in(self, place: Place) -> None:
        settings = place.load()
        assert settings.tools.core is None
        assert settings.tools.approval_mode == "default"
        assert settings.shell.inactivity_timeout_s == 300
        assert settings.shell.timeout_s is None
        assert settings.search.max_matches == 500
        assert settings.context.file_names == ("GEMINI.md", "AGENTS.md")
        assert settings.warnings == ()
        assert settings.origins == {}

    def test_each_place_wins_over_the_one_before(self, place: Place, tmp_path: Path) -> None:
        record_trust(str(place.root), str(place.home), Trust.TRUSTED)
        for number, where in enumerate(("home/.gemini", "home/.dogu", "root/.gemini", "root/.dogu"), 1):
            place.write(where, {"maxMatches": number})
            assert place.load().search.max_matches == number
        extra = place.write("extra", {"maxMatches": 5})
        assert load_settings(str(place.root), str(place.home), str(extra)).search.max_matches == 5
        flags = {"tools.search.maxMatches": 6, "model.name": None}
        assert load_settings(str(place.root), str(place.home), str(extra), flags).search.max_matches == 6

    def test_where_a_value_was_set_is_kept(self, place: Place) -> None:
        file = place.write("home/.gemini", '{\n\n  "model": {"name":\n "m"}}')
        assert str(place.load().origins["model.name"]) == f"{file}:3"
        assert str(place.load({"model.name": "x"}).origins["model.name"]) == "command line"

    def test_a_settings_file_that_was_asked_for_must_be_there(self, place: Place) -> None:
        with pytest.raises(SettingsError, match=r"missing\.json: can't be read: (No such f|F)ile"):
            load_settings(str(place.root), str(place.home), str(place.root / "missing.json"))

    def test_a_home_that_is_the_workspace_is_read_once_and_as_the_users(self, place: Place) -> None:
        place.write("home/.gemini", {"tools": {"allowed": ["replace"]}})
        settings = load_settings(str(place.home), str(place.home), environ={})
        assert settings.tools.allowed == ("replace",)
        assert settings.warnings == ()

    def test_a_fifo_for_a_file_does_not_hang_the_start(self, place: Place) -> None:
        (place.root / ".gemini").mkdir()
        os.mkfifo(place.root / ".gemini" / "settings.json")
        assert "not a regular file" in str(place.error())

    def test_a_directory_for_a_file_is_an_error(self, place: Place) -> None:
        (place.root / ".gemini" / "settings.json").mkdir(parents=True)
        assert "not a regular file" in str(place.error())

    def test_a_file_that_is_not_utf_8_is_an_error_with_its_line(self, place: Place) -> None:
        place.write("home/.gemini", "{}").write_bytes(b'{\n "model": "\xff"}')
        assert place.error().line == 2

    def test_a_byte_order_mark_is_no_error(self, place: Place) -> None:
        place.write("home/.gemini", '\ufeff{"lang": "ja"}')
        assert place.load().ui.language == "ja"

    def test_an_empty_file_sets_nothing(self, place: Place) -> None:
        place.write("home/.gemini", " // nothing yet\n")
        assert place.load().origins == {}


class TestJson:
    def test_comments_and_trailing_commas_are_read_and_texts_that_look_like_them_kept(self) -> None:
        text = '// a\n{"a": "http://x/*y*/", /* b\n */ "b": [1, "c,]", // d\n ], "e": {"f": null,},}'
        document = parse_json_with_comments(text)
        assert document.values == {"a": "http://x/*y*/", "b": [1, "c,]"], "e": {"f": None}}
        assert document.lines[("b",)] == 3
        assert document.lines[("b", 1)] == 3
        assert document.lines[("e", "f")] == 4

    @pytest.mark.parametrize(
        ("text", "line", "message"),
        [
            ('{"a": 1\n "b": 2}', 2, "expected ',' after the value of 'a'"),
            ('{"a": }', 1, "expected a value"),
            ('{\n"a": "b\n"}', 2, "isn't closed on its line"),
            ("{/* a\n", 1, "doesn't end"),
            ("[1]", 1, "begin with {"),
            ("{} {}", 1, "after the end"),
            ('{"a": 1,\n\n"a": 2}', 3, "written twice (first in line 1)"),
            ("{'a': 1}", 1, "isn't allowed here"),
            ("{a: 1}", 1, "expected a key in double quotes"),
            ('{"a": tru}', 1, "expected a value, found 'tru'"),
            ('{"a": "\\x"}', 1, "isn't a JSON value"),
            ('{"a": 1e999}', 1, "isn't a JSON value"),
            ('{"a":' + "[" * 60, 1, "nested deeper"),
            ('{"a"', 1, "found the end of the file"),
            ('{,"a":1}', 1, "expected a key in double quotes"),
        ],
    )
    def test_what_is_no_json_is_told_with_its_line(self, text: str, line: int, message: str) -> None:
        with pytest.raises(JsonError) as caught:
            parse_json_with_comments(text)
        assert message in caught.value.message
        assert caught.value.line == line

    @given(
        strategies.dictionaries(
            strategies.text(),
            strategies.recursive(
                strategies.none() | strategies.booleans() | strategies.integers(-(2**53), 2**53) | strategies.text(),
                lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
                max_leaves=8,
            ),
        )
    )
    def test_plain_json_is_read_as_any_reader_reads_it(self, value: dict[str, Any]) -> None:
        for indent in (None, 2):
            assert parse_json_with_comments(json.dumps(value, indent=indent)).values == value

    @given(strategies.text(alphabet='{}[]:,"\\/*\n 0-1.eatrufnls\ud800é', max_size=40))
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        line = 1
        try:
            parse_json_with_comments(text)
        except JsonError as error:
            line = error.line
        assert 1 <= line <= text.count("\n") + 1


class TestKeys:
    @pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
    def test_both_generations_mean_the_same(self, place: Place, key: Any) -> None:
        examples = ("read_file", ["read_file"], True, False, 7, {"server": {"command": "x"}}, "plan", "ja", "offline")
        for example in examples:
            loaded: list[Settings] = []
            for spelling in (key.name, *key.also):
                nested: Any = example
                for part in reversed(spelling.split(".")):
                    nested = {part: nested}
                for written in (nested, {spelling: example}):
                    place.write("home/.gemini", written)
                    try:
                        loaded.append(msgspec.structs.replace(place.load(), warnings=()))
                    except SettingsError:
                        continue
            assert all(settings == loaded[0] for settings in loaded), example

    def test_snake_case_is_read_as_camel_case(self, place: Place) -> None:
        place.write("home/.dogu", {"model": {"edit_repair": False}, "exclude_tools": ["glob"]})
        settings = place.load()
        assert settings.model.edit_repair is False
        assert settings.tools.exclude == ("glob",)

    def test_a_flat_model_and_a_nested_one_are_both_read(self, place: Place) -> None:
        place.write("home/.gemini", {"model": "a"})
        place.write("home/.dogu", {"model": {"baseUrl": "http://127.0.0.1:1"}})
        assert (place.load().model.name, place.load().model.base_url) == ("a", "http://127.0.0.1:1")

    def test_two_spellings_in_one_file_that_disagree_are_an_error(self, place: Place) -> None:
        place.write("home/.gemini", {"model": {"name": "a"}, "model.name": "b"})
        assert place.error().key == "model.name"

    def test_two_spellings_of_a_deny_list_in_one_file_add_up(self, place: Place) -> None:
        place.write("home/.gemini", {"excludeTools": ["glob"], "tools": {"exclude": ["read_file"]}})
        assert place.load().tools.exclude == ("glob", "read_file")

    @pytest.mark.parametrize(
        ("written", "key", "message"),
        [
            ({"model": {"name": 5}}, "model.name", "takes a text, not 5"),
            ({"maxMatches": 0}, "maxMatches", "takes a whole number from 1 to 1,000,000, not 0"),
            ({"maxMatches": True}, "maxMatches", "not true"),
            ({"tools": {"shell": {"timeout": "1"}}}, "tools.shell.timeout", 'a number from 0 to 10,000,000, not "1"'),
            ({"approvalMode": "yes"}, "approvalMode", "takes one of plan, default, auto_edit, yolo"),
            ({"coreTools": "read_file"}, "coreTools", "takes a list of texts"),
            ({"lang": "fr"}, "lang", "takes one of en, ja, ko, zh-CN, zh-TW"),
            ({"tools": {"sandbox": "maybe"}}, "tools.sandbox", "takes one of on, auto, off"),
            ({"includeDirectories": ["a\0"]}, "includeDirectories", "takes a text"),
        ],
    )
    def test_a_value_that_a_key_does_not_take_is_told_with_file_line_and_key(
        self, place: Place, written: Any, key: str, message: str
    ) -> None:
        file = place.write("home/.gemini", json.dumps(written, indent=1))
        error = place.error()
        assert (error.file, error.key, error.exit_code) == (str(file), key, 52)
        assert error.line >= 2
        assert message in error.message
        assert str(error).startswith(f"{file}:{error.line}: {key}: ")

    @pytest.mark.parametrize(
        ("written", "key", "line"),
        [({"mcpServers": {"a": 1, "b": {}}}, "mcpServers.a", 3), ({"mcpServers": 5}, "mcpServers", 2)],
    )
    def test_a_bad_server_never_stops_the_start(self, place: Place, written: Any, key: str, line: int) -> None:
        file = place.write("home/.gemini", json.dumps(written, indent=1))
        settings = place.load()
        assert [(warning.origin.file, warning.origin.line, warning.key) for warning in settings.warnings] == [
            (str(file), line, key)
        ]
        assert "a" not in settings.mcp.servers

    def test_where_each_key_of_a_server_is_written_is_kept(self, place: Place) -> None:
        file = place.write("home/.dogu", '{"mcpServers": {\n"a": {\n"command": "x"}}}')
        places = {name: (origin.file, origin.line) for name, origin in place.load().mcp.places.items()}
        assert places == {"a": (str(file), 2), "a.command": (str(file), 3)}

    def test_an_unset_variable_of_a_server_is_told_with_its_key(self, place: Place) -> None:
        place.write("home/.dogu", {"mcpServers": {"a": {"url": "http://b", "headers": {"X": "Bearer $NONE"}}}})
        (warning,) = place.load().warnings
        assert warning.key == "mcpServers.a.headers.X"
        assert "NONE isn't set" in warning.message

    @pytest.mark.parametrize(
        "text",
        [
            '{"mcpServers": {"a": {"command": "x"}',
            '{"mcpServers": {"a": {"command": "npx" "-y"}}}',
            '{"ui": {"language": }}',
            "{,}",
        ],
    )
    def test_what_is_no_json_is_left_out_and_told_where_nothing_in_it_could_restrict(
        self, place: Place, text: str
    ) -> None:
        file = place.write("home/.dogu", text)
        place.write("home/.gemini", {"excludeTools": ["glob"]})
        settings = place.load()
        assert [str(warning).startswith(f"{file}:1: ") for warning in settings.warnings] == [True]
        assert settings.tools.exclude == ("glob",)

    @pytest.mark.parametrize(
        "text",
        [
            '{"excludeTools": ["glob"',
            '{"tools": {"core": []} "x"}',
            "{tools: {exclude: []}}",
            '{"approvalMode": "plan",,}',
            '{"\\u0063ore": [',
            '{"disable_yolo_mode": true',
            '{"model": {"baseUrl": "http://localhost"}',
            '{"toolz": 1, // "sandbox"',
            '{"excludedTools": [}',
            '{"ex\u200bcludeTools": [}',
            '{"hooks": {"BeforeTool": [',
            '{"maxSessionTurns": 3,,}',
            '{"tools": {"shell": {"timeout": 3,,}}}',
            '{"fileFiltering": {"respectGitIgnore": True}}',
        ],
    )
    def test_what_is_no_json_stops_the_start_where_something_in_it_could_restrict(
        self, place: Place, text: str
    ) -> None:
        file = place.write("home/.dogu", text)
        error = place.error()
        assert (error.file, error.line) == (str(file), 1)
        assert "may be a restriction" in error.message

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32"])
    def test_an_encoding_that_may_hide_a_restriction_stops_the_start(self, place: Place, encoding: str) -> None:
        file = place.write("home/.dogu", "{}")
        file.write_bytes('{"excludeTools": ["glob"]}'.encode(encoding))
        assert "UTF-8" in place.error().message

    @pytest.mark.parametrize("name", [".dogu/settings.json", ".gemini/settings.json", ".gemini/extensions"])
    def test_a_link_to_nowhere_is_no_file_that_is_not_there(self, place: Place, name: str) -> None:
        (place.home / name).parent.mkdir(parents=True, exist_ok=True)
        (place.home / name).symlink_to("elsewhere")
        assert place.error().file.endswith(name)

    def test_a_file_that_was_asked_for_must_be_json(self, place: Place, tmp_path: Path) -> None:
        (tmp_path / "mine.json").write_text("{,}")
        with pytest.raises(SettingsError):
            load_settings(str(place.root), str(place.home), str(tmp_path / "mine.json"), environ={})

    def test_values_have_lenient_spellings(self, place: Place) -> None:
        place.write("home/.gemini", {"approvalMode": "autoEdit", "lang": "zh-cn", "sandbox": "docker"})
        settings = place.load()
        assert (settings.tools.approval_mode, settings.ui.language, settings.sandbox.mode) == (
            "auto_edit",
            "zh-CN",
            "on",
        )

    def test_null_leaves_a_key_as_it_was(self, place: Place) -> None:
        place.write("home/.gemini", {"model": {"name": None}})
        assert place.load().origins == {}

    def test_no_limit_is_written_as_zero_or_minus_one(self, place: Place) -> None:
        place.write("home/.gemini", {"tools": {"shell": {"inactivityTimeout": 0}}, "maxSessionTurns": -1})
        settings = place.load()
        assert settings.shell.inactivity_timeout_s is None
        assert settings.model.max_session_turns is None


class TestVariables:
    def test_variables_are_expanded_in_every_text(self, place: Place) -> None:
        place.write(
            "home/.gemini",
            {"mcpServers": {"a": {"env": {"K": "${TOKEN}!"}, "args": ["$TOKEN", "${NONE:-b c}", "5$"]}}},
        )
        assert place.load(TOKEN="t").mcp.servers["a"] == {"env": {"K": "t!"}, "args": ["t", "b c", "5$"]}

    def test_an_unset_variable_stays_and_is_told(self, place: Place) -> None:
        place.write("home/.gemini", '{"model":\n{"name": "$NO_SUCH"}}')
        settings = place.load()
        assert settings.model.name == "$NO_SUCH"
        assert "settings.json:2: model.name: the environment variable NO_SUCH isn't set" in told(settings)

    def test_an_unset_variable_in_a_restriction_stops_the_start(self, place: Place) -> None:
        place.write("home/.gemini", {"excludeTools": ["run_shell_command($NO_SUCH)"]})
        assert "NO_SUCH" in place.error().message

    def test_flags_are_not_expanded_again(self, place: Place) -> None:
        assert place.load({"model.name": "$A"}, A="b").model.name == "$A"


class TestRestrictions:
    def test_deny_lists_add_up(self, place: Place) -> None:
        place.write("home/.gemini", {"excludeTools": ["run_shell_command(rm)"]})
        place.write("root/.gemini", {"tools": {"exclude": ["WriteFileTool"]}})
        settings = place.load({"tools.exclude": ["glob"]})
        assert settings.tools.exclude == ("run_shell_command(rm)", "write_file", "glob")

    def test_allow_lists_intersect(self, place: Place) -> None:
        place.write("home/.gemini", {"coreTools": ["run_shell_command(git)", "ReadFileTool", "glob"]})
        place.write("root/.dogu", {"coreTools": ["ShellTool", "read_file"]})
        assert place.load().tools.core == ("run_shell_command(git)", "read_file")

    def test_allow_lists_with_nothing_in_common_allow_nothing(self, place: Place) -> None:
        place.write("home/.gemini", {"coreTools": ["run_shell_command(git)"]})
        place.write("root/.dogu", {"coreTools": ["run_shell_command(gitevil)"]})
        assert place.load().tools.core == ()

    def test_the_longer_of_two_prefixes_is_what_both_allow(self) -> None:
        shell = "run_shell_command"
        assert intersect([f"{shell}(git)"], [f"{shell}(git log)", f"{shell}(npm)"]) == (f"{shell}(git log)",)
        assert intersect([shell], [f"{shell}(git)"]) == (f"{shell}(git)",)
        assert intersect([f"{shell}(git lo)"], [f"{shell}(git log)"]) == ()

    def test_class_names_of_the_documents_name_tools(self, place: Place) -> None:
        names = [
            "LSTool",
            "ReadFileTool",
            "WriteFileTool",
            "GrepTool",
            "GlobTool",
            "EditTool",
            "ReadManyFilesTool",
            "ShellTool",
        ]
        place.write("home/.gemini", {"coreTools": [*names, "WebFetchTool", "WebSearchTool", "MemoryTool"]})
        core = "list_directory read_file write_file grep_search glob replace read_many_files run_shell_command"
        assert place.load().tools.core == (*core.split(), "web_fetch", "google_web_search", "save_memory")

    def test_settings_and_rules_know_the_same_names(self, place: Place) -> None:
        place.write("home/.gemini", {"excludeTools": ["SmartEditTool", "ShellTool(rm)"]})
        settings = place.load()
        assert settings.tools.exclude == ("replace", "run_shell_command(rm)")
        assert not settings.warnings

    @pytest.mark.parametrize(
        "written",
        [
            {"excludeTool": ["glob"]},
            {"excludedTools": ["glob"]},
            {"exclude": ["glob"]},
            {"coretools": ["glob"]},
            {"coreTool": ["glob"]},
            {"tools": {"excludes": ["glob"]}},
            {"tools": {"cores": ["glob"]}},
            {"tools": {"deny": ["glob"]}},
            {"tool": {"exclude": ["glob"]}},
            {"Tools": {"core": ["glob"]}},
            {"permissions": {"deny": ["glob"]}},
            {"blockedCommands": ["rm"]},
            {"mcp": {"exclude": ["a"]}},
            {"tools": ["glob"]},
            {"tools": {"core": None}},
            {"tools": {"exclude": "glob"}},
            {"tools": {"exclude": [["glob"]]}},
            {"excludeTools": ["run_shell_command()"]},
            {"excludeTools": ["run_shell_command(rm"]},
            {"excludeTools": ["run_shell_command(rm:*)"]},
            {"excludeTools": ["run_shell_command(rm *)"]},
            {"excludeTools": ["rm -rf"]},
            {"excludeTools": ["read_file(secrets)"]},
            {"excludeTools": [""]},
            {"excludeTools": ["run_shell_comand"]},
            {"excludeTools": ["ReadFile"]},
            {"sandbox": 1},
            {"approvalMode": 1},
        ],
        ids=json.dumps,
    )
    @pytest.mark.parametrize("where", ["home/.gemini", "root/.dogu"])
    def test_a_restriction_that_is_not_understood_stops_the_start(
        self, place: Place, where: str, written: dict[str, Any]
    ) -> None:
        file = place.write(where, written)
        error = place.error()
        assert error.file == str(file)
        assert error.line == 1
        assert error.key

    def test_the_error_says_what_was_meant(self, place: Place) -> None:
        place.write("home/.gemini", {"excludeTool": ["glob"]})
        assert "did you mean excludeTools?" in place.error().message
        place.write("home/.gemini", {"excludeTools": ["run_shell_command(git push:*)"]})
        assert "write run_shell_command(git push)" in place.error().message
        place.write("home/.gemini", {"excludeTools": ["run_shell_comand(rm)"]})
        assert "did you mean 'run_shell_command'?" in place.error().message

    def test_a_discovered_tool_can_be_excluded(self, place: Place) -> None:
        place.write("home/.gemini", {"excludeTools": ["server__delete", "deploy"]})
        settings = place.load()
        assert settings.tools.exclude == ("server__delete", "deploy")
        assert "'deploy' isn't a built-in tool" in told(settings)
        assert "server__delete" not in told(settings)

    def test_an_unknown_key_is_told_with_the_nearest(self, place: Place) -> None:
        place.write("home/.dogu", '{"modle": "x",\n"model": {"nmae": "x"}, "zzz": 1}')
        settings = place.load()
        assert "settings.json:1: modle: unknown key: did you mean model?" in told(settings)
        assert "settings.json:2: model.nmae: unknown key: did you mean model.name?" in told(settings)
        assert "settings.json:2: zzz: unknown key" in told(settings)

    def test_what_is_meant_for_gemini_cli_alone_is_told_in_one_line(self, place: Place) -> None:
        theirs = {
            "theme": "GitHub",
            "ui": {"hideBanner": True, "footer": {"hideCWD": True}},
            "security": {"auth": {"selectedType": "oauth-personal"}},
            "tools": {"usePty": True, "shell": {"showColor": True}},
            "$schema": "https://example.org/schema.json",
        }
        place.write("home/.gemini", theirs)
        [warning] = place.load().warnings
        names = "ui.hideBanner, ui.footer, security.auth.selectedType, tools.usePty, tools.shell.showColor"
        assert warning.message.endswith(f"5 keys of Gemini CLI have no effect here: {names}")
        place.write("home/.dogu", theirs)
        assert len(place.load().warnings) == 2

    def test_yolo_that_is_switched_off_is_an_error_for_the_flag_too(self, place: Place) -> None:
        place.write("home/.gemini", {"security": {"disableYoloMode": True}})
        with pytest.raises(SettingsError, match=r"command line: tools\.approvalMode: yolo is switched off by .*json:1"):
            place.load({"tools.approvalMode": "yolo"})


WIDENING: list[dict[str, Any]] = [
    {"allowedTools": ["run_shell_command"]},
    {"approvalMode": "yolo"},
    {"approvalMode": "auto_edit"},
    {"toolDiscoveryCommand": "curl evil"},
    {"toolCallCommand": "curl evil"},
    {"mcpServerCommand": "curl evil"},
    {"mcpServers": {"a": {"command": "curl"}}},
    {"sandbox": False},
    {"tools": {"sandboxAllowedPaths": ["/"]}},
    {"tools": {"writableProtectedPaths": [".git"]}},
    {"tools": {"shell": {"environment": ["AWS_SECRET_ACCESS_KEY"]}}},
    {"tools": {"shell": {"inactivityTimeout": 0}}},
    {"tools": {"search": {"timeout": 3000}}},
    {"model": {"baseUrl": "https://evil.example"}},
    {"model": {"provider": "openai_compatible"}},
    {"includeDirectories": ["/"]},
    {"contextFileName": "/etc/passwd"},
    {"preferredEditor": "curl evil"},
    {"fileFiltering": {"respectGitIgnore": False}},
    {"maxSessionTurns": 100000},
]


class TestTrust:
    @pytest.mark.parametrize("written", WIDENING, ids=json.dumps)
    def test_a_folder_may_not_widen_until_it_is_trusted(self, place: Place, written: dict[str, Any]) -> None:
        place.write("home/.gemini", {"maxSessionTurns": 10})
        before = place.load()
        file = place.write("root/.gemini", written)
        settings = place.load()
        assert settings.trust is Trust.UNKNOWN
        assert settings.origins == before.origins
        assert f"{file}: " in told(settings)
        assert "until you trust this folder" in told(settings)
        record_trust(str(place.root), str(place.home), Trust.TRUSTED)
        trusted = place.load()
        assert "until you trust this folder" not in told(trusted)
        assert trusted.origins != before.origins

    def test_a_folder_that_is_not_trusted_may_restrict(self, place: Place) -> None:
        place.write("home/.gemini", {"approvalMode": "auto_edit"})
        place.write(
            "root/.gemini",
            {
                "approvalMode": "plan",
                "coreTools": ["glob"],
                "excludeTools": ["read_file"],
                "sandbox": True,
                "network": False,
                "tools": {"shell": {"timeout": 10, "inactivityTimeout": 10}},
                "maxSessionTurns": 3,
                "mcp": {"excluded": ["a"], "allowed": ["b"]},
                "security": {"disableYoloMode": True},
            },
        )
        settings = place.load()
        assert settings.warnings == ()
        assert settings.tools.approval_mode == "plan"
        assert settings.tools.core == ("glob",)
        assert settings.tools.exclude == ("read_file",)
        assert settings.tools.yolo_is_disabled
        assert (settings.sandbox.mode, settings.sandbox.network_is_allowed) == ("on", False)
        assert (settings.shell.timeout_s, settings.shell.inactivity_timeout_s) == (10, 10)
        assert settings.model.max_session_turns == 3
        assert (settings.mcp.allowed, settings.mcp.excluded) == (("b",), ("a",))

    def test_trust_holds_for_what_is_below_and_the_nearest_answer_wins(self, place: Place) -> None:
        home, root = str(place.home), str(place.root)
        deeper = place.root / "a" / "b"
        deeper.mkdir(parents=True)
        assert trust_of(root, home) is Trust.UNKNOWN
        record_trust(root, home, Trust.TRUSTED)
        record_trust(str(place.root / "a"), home, Trust.DISTRUSTED)
        assert trust_of(root, home) is Trust.TRUSTED
        assert trust_of(str(deeper), home) is Trust.DISTRUSTED
        assert trust_of(str(place.root.parent), home) is Trust.UNKNOWN

    def test_the_file_of_answers_is_the_users_alone(self, place: Place) -> None:
        record_trust(str(place.root), str(place.home), Trust.TRUSTED)
        file = place.home / ".dogu" / "trustedFolders.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert json.loads(file.read_text()) == {str(place.root): "TRUST_FOLDER"}
        assert [*file.parent.iterdir()] == [file]

    @pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 5}', "\xff"])
    def test_a_damaged_file_of_answers_trusts_nothing(self, place: Place, content: str) -> None:
        (place.home / ".dogu").mkdir()
        (place.home / ".dogu" / "trustedFolders.json").write_text(content, encoding="latin-1")
        assert trust_of(str(place.root), str(place.home)) is Trust.UNKNOWN

    def test_a_symlink_to_a_trusted_folder_is_that_folder(self, place: Place, tmp_path: Path) -> None:
        record_trust(str(place.root), str(place.home), Trust.TRUSTED)
        (tmp_path / "link").symlink_to(place.root)
        assert trust_of(str(tmp_path / "link"), str(place.home)) is Trust.TRUSTED


def test_importing_settings_loads_nothing_heavy() -> None:
    heavy = ("asyncio", "difflib", "tempfile", "subprocess", "httpx2", "anyio", "pydantic")
    script = f"import sys, dogu.settings; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def documented_keys() -> dict[str, list[str]]:
    """Return the cells of every table row of docs/settings.md, by key."""
    text = (Path(__file__).parent.parent / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split(" |")] for line in text.splitlines() if line[:3] == "| `"]
    return {cells[0].strip("`"): cells[1:] for cells in rows}


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_key_is_documented_with_its_spellings_and_its_reach(key: Key) -> None:
    spellings, default, reach, _ = documented_keys()[key.name]
    assert spellings == ", ".join(f"`{name}`" for name in key.also)
    assert default
    stricter = "restrict" if key.combine in (Combine.ADD, Combine.INTERSECT, Combine.BY_FILE) else "set it"
    assert reach == {KeyReach.ALWAYS: stricter, KeyReach.STRICTER: "make it stricter", KeyReach.WAITS: "–"}[key.reach]


def test_no_key_is_documented_that_does_not_exist() -> None:
    assert set(documented_keys()) == {key.name for key in KEYS}


def test_every_key_that_is_listed_says_what_it_is_for() -> None:
    assert set(ABOUT) == {key.name for key in KEYS} - {*SECRET_KEYS}
    assert not [words for words in ABOUT.values() if not 10 <= len(words) <= 70]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "told"),
    [("model.nme", "There is no setting model.nme. Did you mean model.name?"), ("x", "There is no setting x.")],
)
async def test_a_misspelled_setting_is_told_with_the_nearest(name: str, told: str) -> None:
    said = await SettingsCommand(Options()).run(f"{name} foo")
    assert (said.text, said.is_failure) == (told, True)


def test_the_parts_of_settings_are_imported_by_settings_alone() -> None:
    source = Path(__file__).parent.parent / "src" / "dogu"
    importers = {
        file.relative_to(source).as_posix()
        for file in source.rglob("*.py")
        if "dogu.settings_" in file.read_text(encoding="utf-8") and not file.name.startswith("settings")
    }
    assert importers == set()
