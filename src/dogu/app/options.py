"""What the command line, or an importer, says; and the settings that come of it."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from dogu.settings import Settings, load_settings


class Options(msgspec.Struct, frozen=True):
    """What is said above the settings files; None and empty say nothing.

    `root` may be relative to the present folder, which is the default; `home` is where settings and sessions are.
    """

    root: str = ""
    include_directories: tuple[str, ...] = ()
    settings_file: str | None = None
    approval_mode: str | None = None
    model: str | None = None
    home: str = msgspec.field(default_factory=lambda: os.path.expanduser("~"))

    @property
    def absolute_root(self) -> str:
        """The workspace root."""
        return os.path.abspath(self.root or os.getcwd())

    @property
    def real_root(self) -> str:
        """The workspace root without symbolic links, as sessions know it."""
        return os.path.realpath(self.absolute_root)

    @property
    def state_folder(self) -> str:
        """Where sessions and notes are kept."""
        return os.path.join(self.home, ".dogu")

    @classmethod
    def of(cls, space: Any) -> Options:
        """Take the options from parsed arguments."""
        return cls(
            space.root or "",
            tuple(os.path.abspath(folder) for folder in space.include_directories or ()),
            space.settings,
            space.approval_mode,
            space.model,
        )


def read_settings(options: Options) -> Settings:
    """Read the settings files and put the options above them. Raises `SettingsError`."""
    overrides = {
        "tools.approvalMode": options.approval_mode,
        "model.name": options.model,
        "context.includeDirectories": options.include_directories or None,
    }
    return load_settings(options.absolute_root, options.home, options.settings_file, overrides)
