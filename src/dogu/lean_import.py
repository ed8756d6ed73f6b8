"""Importing a library without the parts that aren't used: the SDK of MCP is most of what its door costs to start."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Generator
from contextlib import contextmanager
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
def lean_import(*packages: str) -> Generator[None]:
    """Import what follows without the bodies of these packages, and have pydantic's models built when they are used.

    Raises `ModuleNotFoundError` where a package isn't installed.
    """
    for name in packages:
        _put_off(name)
    from pydantic import BaseModel

    BaseModel.model_config["defer_build"] = True  # a model takes it from those it is made of
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]


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
