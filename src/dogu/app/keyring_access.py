"""Gemini with a key from the keyring, which is asked with the first request: at the start it would cost a wait."""

from __future__ import annotations

from anyio import to_thread

from dogu.app.credentials import key_in_keyring
from dogu.models.gemini import KeyAccess


class KeyringAccess(KeyAccess):
    """As `KeyAccess`, with a reference in the key's place until it is needed."""

    async def headers(self) -> dict[str, str]:
        """Return the key's header. Raises `ModelError` (AUTH)."""
        if self._key.startswith("keyring:"):
            self._key = await to_thread.run_sync(key_in_keyring, self._key)
        return await super().headers()
