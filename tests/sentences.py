"""The program's sentences, for tests: as `make catalogs` finds them, and a catalog in which each of them is marked."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

ROOT = Path(__file__).parent.parent


@cache
def catalogs() -> ModuleType:
    """Import scripts/catalogs.py."""
    spec = importlib.util.spec_from_file_location("catalogs", ROOT / "scripts" / "catalogs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sentences() -> dict[str, list[tuple[str, int]]]:
    """Every sentence with the files and lines it is said in."""
    return catalogs().sentences()


def write_known_catalog(folder: Path) -> Path:
    """Write a catalog that knows every sentence, so that the pseudo-locale marks each; return its folder."""
    known = Catalog(locale="ja")
    for message in sentences():
        known.add(message, f"{message}\N{ASTERISM}")
    with (folder / "ja.mo").open("wb") as file:
        write_mo(file, known)
    return folder
