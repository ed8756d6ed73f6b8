"""Compiles the gettext catalogs when the package is built, installed for editing included."""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Catalogs(BuildHookInterface[Any]):
    """`src/dogu/locale/*.po` to `.mo`, beside them; only the compiled ones are needed where dogu runs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before anything is collected."""
        from babel.messages.mofile import write_mo
        from babel.messages.pofile import read_po

        folder = Path(self.root, "src", "dogu", "locale")
        for catalog in sorted(folder.glob("*.po")):
            beside = catalog.with_suffix(f".{os.getpid()}")
            with catalog.open("rb") as source, beside.open("wb") as compiled:
                write_mo(compiled, read_po(source))
            beside.replace(catalog.with_suffix(".mo"))  # whoever reads it meanwhile reads a whole one
        build_data["artifacts"].append("src/dogu/locale/*.mo")
