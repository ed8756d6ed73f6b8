"""What a process loads to be one that dogu was installed in without extras: other packages can't be imported in it."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path

_PROJECT = Path(__file__).parents[1] / "pyproject.toml"


class Missing:
    """Finds nothing of what isn't needed."""

    def __init__(self, needed: set[str]) -> None:
        self._needed = needed
        self._packages = {
            module: {_key(one) for one in where} for module, where in metadata.packages_distributions().items()
        }

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse what no needed package has."""
        whose = self._packages.get(name.partition(".")[0])
        if whose and not whose & self._needed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _named(wants: list[str]) -> Iterator[str]:
    return (re.split(r"[^\w.-]", want)[0] for want in wants if "extra ==" not in want)


def _with_all_that_need(names: Iterator[str], seen: set[str]) -> set[str]:
    for name in names:
        if _key(name) not in seen:
            seen.add(_key(name))
            try:
                _with_all_that_need(_named(metadata.requires(name) or []), seen)
            except metadata.PackageNotFoundError:
                continue
    return seen


_DIRECT: list[str] = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
sys.meta_path.insert(0, Missing(_with_all_that_need(_named(_DIRECT), {"dogu-agent", "pip"})))
for _name in ("dogu.app.agent", "dogu.commands.command_line"):  # what any command loads
    import_module(_name)
