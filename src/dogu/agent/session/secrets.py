"""Keeps the program's own keys, and what settings call secret, out of the record."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

MASK = "[secret]"
_SHORTEST = 8


class Secrets:
    """Masks `values`; those under 8 characters are too common to be told from other text and are left."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = sorted({value for value in values if len(value) >= _SHORTEST}, key=len, reverse=True)
        spellings = sorted({spelled for value in self._values for spelled in _spellings(value)}, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, spellings))) if spellings else None

    def mask(self, encoded: bytes) -> bytes:
        """Return JSON with the secrets in its texts masked, also where it is JSON within JSON."""
        return self._pattern.sub(MASK.encode(), encoded) if self._pattern is not None else encoded

    def held_back(self, text: str) -> int:
        """Return how many characters at the end of a stream so far may be the beginning of a secret."""
        return max((_overlap(text, value) for value in self._values), default=0)


def _overlap(text: str, value: str) -> int:
    for length in range(min(len(text), len(value) - 1), 0, -1):
        if text.endswith(value[:length]):
            return length
    return 0


def _spellings(value: str) -> Iterable[bytes]:
    """How a value may stand in JSON: as it is, escaped as Google's servers do, in JSON within JSON."""
    quoted = msgspec.json.encode(value.encode("utf-8", "replace").decode())[1:-1]
    once = quoted.decode()
    yield quoted
    yield "".join(f"\\u{ord(char):04x}" if char in "<>&='" else char for char in once).encode()
    yield msgspec.json.encode(once)[1:-1]
