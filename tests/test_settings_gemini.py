"""Settings of Gemini CLI: every key it documents is understood, told as without effect, or stops where it restricts."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dogu.app import Options
from dogu.app.options import read_settings
from dogu.settings import Settings, SettingsError, load_settings
from dogu.settings.keys import KEYS
from dogu.settings.layers import Layer, read_layer

DOCUMENTED: dict[str, Any] = tomllib.loads((Path(__file__).parent / "gemini_cli_keys.toml").read_text())
STOPS = {"security.enableConseca", "admin.mcp.config"}  # they restrict, in ways that dogu can't
UNDERSTOOD = {spelling for key in KEYS for spelling in (key.name, *key.also)}


def nested(keys: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in keys.items():
        *groups, last = name.split(".")
        place = tree
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = value
    return tree


def layer_of(folder: Path, keys: dict[str, Any]) -> Layer:
    file = folder / "settings.json"
    file.write_text(json.dumps(nested(keys)))
    return read_layer(str(file), {})


def place(folder: Path, keys: dict[str, Any]) -> None:
    home, root = folder / "home", folder / "root"
    (home / ".gemini").mkdir(parents=True)
    root.mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(nested(keys)))


def load(folder: Path, keys: dict[str, Any]) -> Settings:
    place(folder, keys)
    return load_settings(str(folder / "root"), str(folder / "home"), environ={})


@pytest.mark.parametrize("name", DOCUMENTED)
def test_each_documented_key_is_understood_or_told_or_stops(tmp_path: Path, name: str) -> None:
    if name in STOPS:
        with pytest.raises(SettingsError) as stopped:
            layer_of(tmp_path, {name: DOCUMENTED[name]})
        assert stopped.value.key == name or stopped.value.key.startswith(f"{name}.")
        return
    layer = layer_of(tmp_path, {name: DOCUMENTED[name]})
    told = [key for warning in layer.warnings for key in warning.keys]
    is_understood = name in UNDERSTOOD or name.startswith("hooks.")
    assert is_understood or any(name.startswith(key) for key in told)
    assert not [warning for warning in layer.warnings if not warning.keys]


def test_all_documented_keys_at_once_are_told_in_one_line_a_file(tmp_path: Path) -> None:
    together = {name: value for name, value in DOCUMENTED.items() if name not in STOPS}
    layer = layer_of(tmp_path, together)
    *others, warning = layer.warnings
    assert [other.key for other in others] == ["tools.sandbox"]
    assert len(str(warning)) < 400
    beginnings = tuple(warning.keys)
    untold = [name for name in together if not name.startswith(beginnings)]
    assert all(name in UNDERSTOOD or name.startswith("hooks.") for name in untold)


def test_what_stops_may_stand_there_with_the_value_that_restricts_nothing(tmp_path: Path) -> None:
    assert layer_of(tmp_path, {"security.enableConseca": False, "admin.mcp.config": {}}).warnings


@pytest.mark.parametrize("key", ["security.lockEverything", "admin.shell.enabledHosts", "policies"])
def test_a_key_that_nobody_knows_among_those_that_guard_stops(tmp_path: Path, key: str) -> None:
    with pytest.raises(SettingsError, match="drops none in silence"):
        layer_of(tmp_path, {key: ["x"]})


def test_secure_mode_forbids_yolo_and_answers_for_good(tmp_path: Path) -> None:
    settings = load(tmp_path, {"admin.secureModeEnabled": True})
    assert settings.tools.yolo_is_disabled
    assert settings.tools.always_is_disabled
    with pytest.raises(SettingsError, match="switched off by"):
        load_settings(
            str(tmp_path / "root"), str(tmp_path / "home"), overrides={"tools.approvalMode": "yolo"}, environ={}
        )


def test_switches_of_gemini_cli_switch_the_same_here(tmp_path: Path) -> None:
    keys = {
        "useWriteTodos": False,
        "experimental.enableAgents": False,
        "admin.mcp.enabled": False,
        "admin.skills.enabled": False,
        "tools.disableLLMCorrection": True,
        "security.toolSandboxing": True,
        "security.enablePermanentToolApproval": False,
        "security.environmentVariableRedaction.blocked": ["LANG"],
    }
    settings = load(tmp_path, keys)
    assert settings.tools.exclude == ("run_subagent", "write_todos")
    assert settings.mcp.allowed == ()
    assert not settings.extensions.skills.is_enabled
    assert not settings.model.edit_repair
    assert settings.sandbox.mode == "on"
    assert not settings.tools.always_is_kept
    assert settings.shell.withheld == ("LANG",)


@pytest.mark.parametrize(
    ("written", "mode", "network", "paths"),
    [
        ({"command": "docker", "image": "registry/image:latest"}, "on", True, ()),
        ({"enabled": True}, "on", True, ()),
        ({"enabled": False, "networkAccess": False, "allowedPaths": ["/data"]}, "off", True, ()),
        ({"enabled": True, "networkAccess": False, "allowedPaths": ["/data"]}, "on", False, ("/data",)),
        ({"network_access": False}, "on", False, ()),
        ({}, "on", True, ()),
    ],
)
def test_a_sandbox_as_an_object_is_understood_where_it_restricts(
    tmp_path: Path, written: dict[str, Any], mode: str, network: bool, paths: tuple[str, ...]
) -> None:
    settings = load(tmp_path, {"tools.sandbox": written})
    found = settings.sandbox
    assert (found.mode, found.network_is_allowed, found.allowed_paths) == (mode, network, paths)
    told = "\n".join(map(str, settings.warnings))
    assert ("docker isn't used" in told, "tools.sandbox.image" in told) == ("command" in written, "image" in written)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ({"enabled": 1}, "tools.sandbox.enabled"),
        ({"enabled": True, "readOnly": True}, "tools.sandbox.readOnly"),
        ({"networkAccess": "no"}, "tools.sandbox.networkAccess"),
        ({"allowedPaths": "/data"}, "tools.sandbox.allowedPaths"),
        ({"command": "qemu"}, "tools.sandbox"),
    ],
)
def test_what_isnt_understood_of_a_sandbox_stops(tmp_path: Path, written: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingsError) as stopped:
        load(tmp_path, {"tools.sandbox": written})
    assert stopped.value.key == key


def test_a_folder_that_isnt_trusted_can_describe_only_a_stricter_sandbox(tmp_path: Path) -> None:
    folder = tmp_path / "root" / ".gemini"
    folder.mkdir(parents=True)
    written = {"enabled": True, "networkAccess": False, "allowedPaths": ["/"]}
    (folder / "settings.json").write_text(json.dumps({"tools": {"sandbox": written}}))
    found = load_settings(str(tmp_path / "root"), str(tmp_path / "home"), environ={}).sandbox
    assert (found.mode, found.network_is_allowed, found.allowed_paths) == ("on", False, ())


@pytest.mark.parametrize("way", ["oauth-personal", "nonsense", "gemini-api-key"])
def test_a_prescribed_way_to_log_in_that_dogu_has_not_or_was_not_told_stops(tmp_path: Path, way: str) -> None:
    place(tmp_path, {"security.auth.enforcedType": way})
    with pytest.raises(SettingsError) as stopped:
        read_settings(Options(root=str(tmp_path / "root"), home=str(tmp_path / "home")))
    assert stopped.value.key == "security.auth.enforcedType"


def test_half_a_character_is_told_as_that(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="holds half of a character"):
        load(tmp_path, {"tools.exclude": ["\ud800"]})
