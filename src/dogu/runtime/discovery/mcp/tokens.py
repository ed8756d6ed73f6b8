"""Logins to MCP servers, by the server's address: in the keyring where there is one, else in a file of the user's.

The file is `mcp_logins.json`, mode 0600. For a login that the keyring holds it says only that, so that a server without
a login never wakes the keyring.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

from dogu.contract import JsonObject
from dogu.workspace import system_keyring
from dogu.workspace.private_file import changing_json, read_json
from dogu.workspace.system_keyring import NoKeyringError

_IN_KEYRING = {"kept_in": "keyring"}


class TokenStore:
    """The logins kept in a folder; '' keeps none. All methods block."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, "mcp_logins.json")

    def load(self, address: str) -> JsonObject:
        """Return what is kept of a server; empty when nothing is, or when the keyring won't say."""
        kept = read_json(self._path, dict[str, dict[str, Any]]).get(address) if self._folder else None
        if kept != _IN_KEYRING:
            return dict(kept or {})
        try:
            return msgspec.json.decode(system_keyring.load(address) or "{}", type=dict[str, Any])
        except (NoKeyringError, msgspec.DecodeError):
            return {}

    def save(self, address: str, login: Mapping[str, Any]) -> None:
        """Keep a server's login. Raises `OSError`."""
        if not self._folder:
            return
        try:
            system_keyring.store(address, msgspec.json.encode(login).decode())
            login = _IN_KEYRING
        except NoKeyringError:
            pass
        with self._changing() as logins:
            logins[address] = dict(login)

    def forget(self, address: str) -> bool:
        """Forget a server's login; return whether there was one. Raises `OSError`."""
        if not self._folder or address not in read_json(self._path, dict[str, dict[str, Any]]):
            return False
        with self._changing() as logins:
            if logins.pop(address, None) == _IN_KEYRING:
                with suppress(NoKeyringError):
                    system_keyring.remove(address)
        return True

    @contextmanager
    def _changing(self) -> Generator[dict[str, JsonObject]]:
        with changing_json(self._path, dict[str, dict[str, Any]], indent=2) as logins:
            yield logins
