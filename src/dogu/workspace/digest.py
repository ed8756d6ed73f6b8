"""The digest by which a file's content is known: hex SHA-256, which processors help with."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256


def digest_of(data: bytes) -> str:
    """Return the digest of a content."""
    return digest_of_blocks((data,))


def digest_of_blocks(blocks: Iterable[bytes]) -> str:
    """Return the digest of a content that comes in pieces."""
    digest = sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()
