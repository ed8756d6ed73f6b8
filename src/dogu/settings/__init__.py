"""settings.json into frozen values: what every component is given, and by whom it was set.

Only `app` imports this module; a component never sees it, but is handed its own few values.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dogu.settings.extensions import ExtensionSettings
from dogu.settings.gemini_places import environment_layer, system_layers, waiting_env_file
from dogu.settings.groups import (
    ContextSettings,
    McpSettings,
    ModelSettings,
    SandboxSettings,
    SearchSettings,
    SessionSettings,
    Settings,
    ShellSettings,
    ToolSettings,
    UiSettings,
    WebSettings,
    settings_of,
)
from dogu.settings.layers import flags_layer, read_layer
from dogu.settings.merging import Merging
from dogu.settings.problems import Origin, SettingsError, SettingsWarning
from dogu.settings.trust import Trust, record_trust, trust_of

__all__ = [
    "ContextSettings",
    "ExtensionSettings",
    "McpSettings",
    "ModelSettings",
    "Origin",
    "SandboxSettings",
    "SearchSettings",
    "SessionSettings",
    "Settings",
    "SettingsError",
    "SettingsFiles",
    "SettingsWarning",
    "ShellSettings",
    "ToolSettings",
    "Trust",
    "UiSettings",
    "WebSettings",
    "load_settings",
    "record_trust",
    "trust_of",
]

if TYPE_CHECKING:
    from dogu.settings.gemini_extensions import Extension

_EXTENSIONS = os.path.join(".gemini", "extensions")


def load_settings(
    root: str,
    home: str,
    settings_file: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read all settings for a workspace, lowest first: built in, the user's, the folder's, `settings_file`, flags.

    Gemini CLI's extensions stand below the files beside them, the system's defaults below all, its settings above them.
    `overrides` holds flags by key (`tools.approvalMode`), None where one wasn't used. Deny lists add up and allow lists
    intersect; a folder's settings only restrict until the user trusts it, and what had to wait is told in `warnings`.

    Raises `SettingsError` with file, line and key for what can't be understood.
    """
    return SettingsFiles(root, home, environ).settings(settings_file, overrides)


class SettingsFiles:
    """The user's and a folder's settings files, read once; what the command line says is put above them later.

    Raises `SettingsError`. Files that change afterwards aren't looked at again: a door that stays open reads anew.
    """

    def __init__(self, root: str, home: str, environ: Mapping[str, str] | None = None) -> None:
        self.place = root, home
        self._environ = os.environ if environ is None else environ
        self._trust = trust_of(root, home)
        defaults, system = system_layers(self._environ)
        own = [
            read_layer(os.path.join(folder, "settings.json"), self._environ, is_project=is_project)
            for folder, is_project in _folders(root, home)
        ]
        above = [system, environment_layer(self._environ)]
        self._layers = [defaults, *own, *above]
        self._extensions = tuple(self._find_extensions(root, home))
        added = [(extension.is_project, layer) for extension in self._extensions for layer in extension.layers]
        users, folders = ([layer for is_project, layer in added if is_project is wanted] for wanted in (False, True))
        self._layers = [defaults, *users, *(layer for layer in own if not layer.is_project), *folders]
        self._layers += [*(layer for layer in own if layer.is_project), *above]
        self._waiting = waiting_env_file(root) if os.path.realpath(root) != os.path.realpath(home) else None

    @property
    def language(self) -> str:
        """The language that they set; empty when they set none."""
        return str(self._merged().values["ui.language"])

    def settings(self, settings_file: str | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
        """Put another file and flags above them; see `load_settings`."""
        merging = self._merged()
        if settings_file is not None:
            merging.add(read_layer(settings_file, self._environ, must_exist=True))
        merging.add(flags_layer(overrides or {}))
        merging.check()
        if self._waiting is not None:
            merging.warnings.append(self._waiting)
        return msgspec.structs.replace(settings_of(merging, self._trust), added=self._extensions)

    def _find_extensions(self, root: str, home: str) -> Iterator[Extension]:
        places = [(os.path.join(folder, "extensions"), is_project) for folder, is_project in _folders(root, home)]
        places = [place for place in places if place[0].endswith(_EXTENSIONS) and os.path.lexists(place[0])]
        if not places:
            return
        from dogu.settings.gemini_extensions import Limits, find_extensions

        values = self._merged().values
        limits = Limits(
            values["admin.extensions.enabled"],
            values["extensions.disabled"],
            values["security.blockGitExtensions"],
            values["security.allowedExtensions"],
        )
        for place, is_project in places:
            yield from find_extensions(place, root, limits, self._environ, is_project=is_project)

    def _merged(self) -> Merging:
        merging = Merging(folder_is_trusted=self._trust is Trust.TRUSTED)
        for layer in self._layers:
            merging.add(layer)
        return merging


def _folders(root: str, home: str) -> list[tuple[str, bool]]:
    folders = [(os.path.join(home, name), False) for name in (".gemini", ".dogu")]
    if os.path.realpath(root) != os.path.realpath(home):
        folders += [(os.path.join(root, name), True) for name in (".gemini", ".dogu")]
    return folders
