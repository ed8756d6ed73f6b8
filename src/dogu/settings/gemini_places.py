"""Where else Gemini CLI is set: the system's two files, variables, and the user's `.env`.

Source: Gemini CLI, "Configuration": system defaults stand below all files, the system's settings above them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, MutableMapping

from dogu.language import told
from dogu.settings.layers import Layer, layer_of, read_layer
from dogu.settings.problems import Origin, SettingsError, SettingsWarning
from dogu.workspace.small_file import read_small_file
from dogu.workspace.system import IS_MAC, IS_WINDOWS

_LARGEST_ENV_BYTES = 100_000
_SETTINGS, _DEFAULTS = "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
_SWITCHES = {"true": True, "1": True, "false": False, "0": False}
# A line of a `.env` file: the value bare up to a comment, or in quotes.
_LINE = (
    r"""(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.]*)[ \t]*=[ \t]*"""
    r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\n#'"][^\n]*?|))[ \t]*(?:[ \t]\#[^\n]*)?$"""
)


def system_files(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the file of the system's defaults and that of its settings."""
    settings = environ.get(_SETTINGS) or os.path.join(_system_folder(environ), "settings.json")
    return environ.get(_DEFAULTS) or os.path.join(os.path.dirname(settings), "system-defaults.json"), settings


def system_layers(environ: Mapping[str, str]) -> tuple[Layer, Layer]:
    """Read both; a file that a variable names must be there. Raises `SettingsError`."""
    defaults, settings = system_files(environ)
    below = read_layer(defaults, environ, must_exist=bool(environ.get(_DEFAULTS)))
    return below, read_layer(settings, environ, must_exist=bool(environ.get(_SETTINGS)))


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """What `GEMINI_SANDBOX` says, which is above all files. Raises `SettingsError` for what it doesn't take."""
    wanted = environ.get("GEMINI_SANDBOX", "").strip().lower()
    values = {"tools.sandbox": _SWITCHES.get(wanted, wanted)} if wanted else {}
    return layer_of("GEMINI_SANDBOX", values)


def add_env_file(home: str, environ: MutableMapping[str, str]) -> None:
    """Take over what the user's `~/.gemini/.env` says and the environment doesn't.

    Raises `SettingsError` for a file that can't be read.
    """
    for name, value in read_env_file(os.path.join(home, ".gemini", ".env")).items():
        environ.setdefault(name, value)


def read_env_file(file: str) -> dict[str, str]:
    """Return the variables of a `.env` file, none where it isn't there. Raises `SettingsError`."""
    try:
        text = read_small_file(file, _LARGEST_ENV_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SettingsError(file, 0, "", told("can't be read: {strerror}", strerror=error.strerror)) from error
    except UnicodeDecodeError as error:
        raise SettingsError(file, 0, "", told("is not UTF-8: save it as UTF-8")) from error
    found: dict[str, str] = {}
    for match in re.finditer(_LINE, text):
        name, single, double, bare = match.groups()
        escaped = double.replace(r"\n", "\n").replace(r"\r", "\r") if double is not None else None
        value = single if single is not None else escaped if escaped is not None else bare
        if "\0" not in value:
            found[name] = value
    return found


def waiting_env_file(root: str) -> SettingsWarning | None:
    """Say that a folder has a `.env` file for Gemini CLI, which isn't read: what came with it would set variables."""
    file = os.path.join(root, ".gemini", ".env")
    if not os.path.exists(file):
        return None
    return SettingsWarning(Origin(file), "", told("isn't read: only the .env file in your own ~/.gemini is"))


def _system_folder(environ: Mapping[str, str]) -> str:
    if IS_MAC:
        return "/Library/Application Support/GeminiCli"
    if IS_WINDOWS:
        return os.path.join(environ.get("ProgramData") or r"C:\ProgramData", "gemini-cli")
    return "/etc/gemini-cli"
