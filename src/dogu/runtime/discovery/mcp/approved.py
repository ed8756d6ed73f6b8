"""What MCP servers said of their tools when the person approved them: one that says otherwise later is asked about.

Kept beside the remembered rules, in `approved_tools.json`: by root, by the tool's name.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

import msgspec

from dogu.workspace.private_file import lock_of_file, write_private_file

_LONGEST_KEPT_CHARS = 20_000


class ApprovedDeclarations:
    """The approved declarations of one root. With no folder, or while `keeps` says no, they hold for this session."""

    def __init__(self, folder: str, root: str, keeps: Callable[[], bool]) -> None:
        self._path = os.path.join(folder, "approved_tools.json") if folder else ""
        self._root = root
        self._keeps = keeps
        self._kept: dict[str, str] | None = None

    def before(self, name: str, declaration: str) -> str | None:
        """Return what was approved, if it was something else; None for the same, or when nothing was."""
        approved = self._approved().get(name)
        return None if approved is None or approved in (declaration, _digest(declaration)) else approved

    def holds(self, name: str, declaration: str) -> bool:
        """Whether exactly this was approved already."""
        return self._approved().get(name) in (declaration, _digest(declaration))

    def approve(self, name: str, declaration: str) -> None:
        """Take note of an approval. Blocks. Where nothing can be kept it holds for this session."""
        approved = self._approved()
        kept = declaration if len(declaration) <= _LONGEST_KEPT_CHARS else _digest(declaration)
        if approved.get(name) == kept:
            return
        approved[name] = kept
        if self._path and self._keeps():
            try:
                self._write(name, kept)
            except OSError:
                return

    def _approved(self) -> dict[str, str]:
        if self._kept is None:
            self._kept = dict(self._read().get(self._root, {}))
        return self._kept

    def _write(self, name: str, declaration: str) -> None:
        with lock_of_file(self._path):
            everything = self._read()
            everything.setdefault(self._root, {})[name] = declaration
            write_private_file(self._path, msgspec.json.format(msgspec.json.encode(everything)) + b"\n")

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, dict[str, str]])
        except (OSError, msgspec.DecodeError):
            return {}


def _digest(declaration: str) -> str:
    return "sha256:" + hashlib.sha256(declaration.encode("utf-8", "replace")).hexdigest()
