"""Importing a library without the parts that aren't used: the SDK of MCP is most of what its door costs to start."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """A package whose modules are imported without its own body, which runs when a name of it is first missed."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.__spec__ is None or self.__spec__.loader is None:
            raise AttributeError(name)
        object.__setattr__(self, "__class__", ModuleType)
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


@contextmanager
def lean_import(*packages: str, without: Sequence[str] = ()) -> Generator[None]:
    """Import what follows without the bodies of these packages, and have pydantic's models built when they are used.

    Modules in `without` aren't imported at all, nor what is in them: names that are taken from them are classes that
    do for annotations, and make nothing. Whoever imports one afterwards gets the real one. Raises
    `ModuleNotFoundError` where a package isn't installed.
    """
    for name in packages:
        _put_off(name)
    from pydantic import BaseModel

    absent = _Absent(tuple(name for name in without if name not in sys.modules))
    sys.meta_path.insert(0, absent)
    BaseModel.model_config["defer_build"] = True  # a model takes it from those it is made of
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]
        sys.meta_path.remove(absent)
        for name in absent.imported:
            del sys.modules[name]


class _StandIn(ModuleType):
    """A module that isn't there."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__new__": _refuse})


def _refuse(cls: type, *_given: object, **_more: object) -> Any:
    message = f"{cls.__name__} was taken for one that isn't used, and wasn't imported"
    raise AssertionError(message)


class _Absent(MetaPathFinder, Loader):
    """Finds stand-ins for modules and for all within them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.imported: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if any(fullname == name or fullname.startswith(f"{name}.") for name in self._names):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        self.imported.append(module.__name__)


def _put_off(name: str) -> None:
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(name, name=name)
    package = _Package(name)
    package.__spec__ = spec
    package.__path__ = spec.submodule_search_locations or []
    package.__package__, package.__file__, package.__loader__ = name, spec.origin, spec.loader
    sys.modules[name] = package
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, package)
