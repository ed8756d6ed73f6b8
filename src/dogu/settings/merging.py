"""Layers into one value a key: how they add up, and what a folder may set before it is trusted."""

from __future__ import annotations

from typing import Any

from dogu.language import told
from dogu.settings.extensions import FromFile
from dogu.settings.keys import KEYS, Combine, Key, KeyReach
from dogu.settings.layers import Layer, Value
from dogu.settings.problems import Origin, SettingsError, SettingsWarning
from dogu.settings.tools import intersect

WAITS_FOR_TRUST = told(
    "not used until you trust this folder (`dogu config trust`), because it would allow more than your own settings do"
)


class Merging:
    """Adds layers up, lowest first: a value by key, and who set it."""

    def __init__(self, *, folder_is_trusted: bool) -> None:
        self._folder_is_trusted = folder_is_trusted
        self.values = {key.name: key.default for key in KEYS}
        self.origins: dict[str, Origin] = {}
        self.places: dict[str, Origin] = {}
        self.warnings: list[SettingsWarning] = []

    def add(self, layer: Layer) -> None:
        """Put a layer above those before; what it may not set yet is told."""
        self.warnings += layer.warnings
        waiting: list[str] = []
        for key in KEYS:
            found = layer.values.get(key.name)
            if found is None:
                continue
            if layer.is_project and not self._folder_is_trusted and not self._may_set(key, found):
                waiting.append(key.name)
                continue
            is_whole = key.combine is Combine.BY_FILE
            value = (FromFile(found.origin, layer.is_project, found.value),) if is_whole else found.value
            self.values[key.name] = _combined(key, self.values[key.name], value)
            self.origins[key.name] = found.origin
            self.places.update({name: at for name, at in layer.places.items() if name.startswith(f"{key.name}.")})
        if waiting:
            self.warnings.append(SettingsWarning(Origin(layer.name), ", ".join(waiting), WAITS_FOR_TRUST))

    def _may_set(self, key: Key, found: Value) -> bool:
        if key.reach is KeyReach.STRICTER and key.is_stricter is not None:
            return key.is_stricter(found.value, self.values[key.name])
        return key.reach is KeyReach.ALWAYS

    def check(self) -> None:
        """Raise `SettingsError` where two values can't both be meant."""
        forbidding = [key for key in ("security.disableYoloMode", "admin.secureModeEnabled") if self.values[key]]
        if forbidding and self.values["tools.approvalMode"] == "yolo":
            by = self.origins[forbidding[0]]
            set_by = self.origins["tools.approvalMode"]
            raise SettingsError(
                set_by.file, set_by.line, "tools.approvalMode", told("yolo is switched off by {by}", by=by)
            )


def _combined(key: Key, present: Any, new: Any) -> Any:
    match key.combine:
        case Combine.ADD:
            return tuple(dict.fromkeys((*present, *new)))
        case Combine.INTERSECT:
            if present is None or new is None:
                return new if present is None else present
            return (
                intersect(present, new) if key.name == "tools.core" else tuple(name for name in present if name in new)
            )
        case Combine.BY_NAME:
            return {**present, **new}
        case Combine.BY_FILE:
            return (*present, *new)
        case Combine.REPLACE:
            return new
