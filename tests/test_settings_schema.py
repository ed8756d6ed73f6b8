"""The JSON Schema of settings.json says what the table of keys takes."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from dogu.settings import SettingsError, load_settings
from dogu.settings.json import parse_json_with_comments
from dogu.settings.keys import KEYS
from dogu.settings.schema import settings_schema

HERE = Path(__file__).parent
VALIDATOR = jsonschema_rs.validator_for(settings_schema())
DOCUMENTED: dict[str, Any] = tomllib.loads((HERE / "gemini_cli_keys.toml").read_text())
SPELLINGS = {spelling for key in KEYS for spelling in (key.name, *key.also)}


VALUES: list[Any] = [None, True, False, 0, -1, 1.5, 1e308, 10**18, "", "x", "5", [], ["x"], [1], [[]], {}, {"x": 1}]


def nested(name: str, value: Any) -> dict[str, Any]:
    for group in reversed(name.split(".")):
        value = {group: value}
    return value


def examples() -> list[str]:
    page = (HERE.parent / "docs" / "settings.md").read_text(encoding="utf-8")
    found = re.findall(r"```jsonc?\n(.*?)```", page, re.DOTALL)
    return [text for text in found if "TRUST_FOLDER" not in text]


@pytest.mark.parametrize("text", examples())
def test_every_example_of_the_page_fits(text: str) -> None:
    VALIDATOR.validate(parse_json_with_comments(text).values)


@pytest.mark.parametrize("name", sorted(SPELLINGS & DOCUMENTED.keys()))
def test_what_a_key_takes_fits(name: str) -> None:
    VALIDATOR.validate(nested(name, DOCUMENTED[name]))


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_what_the_schema_refuses_the_program_refuses(key: Any, tmp_path: Path) -> None:
    folder = tmp_path / ".dogu"
    folder.mkdir()
    for wrong in (*VALUES, 7.5e12, "no such choice", [7], {"a": 7}):
        if VALIDATOR.is_valid(nested(key.name, wrong)):
            continue
        (folder / "settings.json").write_text(json.dumps(nested(key.name, wrong)))
        try:
            settings = load_settings(str(tmp_path / "root"), str(tmp_path), environ={})
        except SettingsError:
            continue
        assert settings.warnings


# What a text or an entry must look like is said by the program alone.
FINER = {
    "tools.sandboxAllowedHosts",
    "model.prices",
    "model.headers",
    "ui.keys",
    "tools.sandbox",
    "hooks",
    "mcpServers",
}


@pytest.mark.parametrize("key", [key for key in KEYS if key.name not in FINER], ids=lambda key: key.name)
def test_what_the_program_refuses_the_schema_refuses(key: Any, tmp_path: Path) -> None:
    file = tmp_path / "home" / ".dogu" / "settings.json"
    file.parent.mkdir(parents=True)
    wrong: list[Any] = []
    for value in VALUES:
        file.write_text(json.dumps(nested(key.name, value)))
        try:
            load_settings(str(tmp_path / "root"), str(tmp_path / "home"), environ={})
        except SettingsError as error:
            if VALIDATOR.is_valid(nested(key.name, value)):
                wrong.append((value, str(error)))
    assert wrong == []


def test_every_spelling_is_there_and_the_schema_itself_is_taken(tmp_path: Path) -> None:
    text = json.dumps(settings_schema())
    assert all(f'"{spelling.rpartition(".")[2]}"' in text for spelling in SPELLINGS)
    (tmp_path / ".dogu").mkdir()
    (tmp_path / ".dogu" / "settings.json").write_text('{"$schema": "./settings.schema.json"}')
    assert load_settings(str(tmp_path / "root"), str(tmp_path), environ={}).warnings == ()
