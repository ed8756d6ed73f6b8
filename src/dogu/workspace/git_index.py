"""What git's index says, apart from what git remembers of the files: it writes that anew where somebody only looks.

Source: gitformat-index(5).
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from hashlib import sha1, sha256

from dogu.workspace.digest import digest_of_blocks

_INDEX = b"DIRC"
_HEADER = struct.Struct(">4sII")
_STATUS_BYTES = 40  # times, device, inode, mode, owner, size: what git remembers of a file
_MODE_AT = 24
_HAS_MORE_FLAGS = 0x40
_WITHOUT_PADDING = 4  # the version whose entries follow one another at once, and share the beginnings of names
_EXTENSION = struct.Struct(">4sI")
_CACHES = (b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT")  # worked out anew from the rest


def digest_of_index(data: bytes) -> str:
    """Return the digest of what git's index says, leaving out what it remembers of the files; "" of anything else.

    Git rewrites it where somebody only looks (`git status`): names, modes, objects and flags are then what they were.
    """
    if not data.startswith(_INDEX):
        return ""
    try:
        return digest_of_blocks(_said_by(data))
    except (struct.error, ValueError, IndexError):
        return ""


def _said_by(data: bytes) -> Generator[bytes]:
    _, version, count = _HEADER.unpack_from(data)
    hash_bytes = _hash_bytes(data)
    at, end = _HEADER.size, len(data) - hash_bytes
    yield b"%d %d" % (version, count)
    for _ in range(count):
        flags_at = at + _STATUS_BYTES + hash_bytes
        name_at = flags_at + (4 if data[flags_at] & _HAS_MORE_FLAGS else 2)
        if version == _WITHOUT_PADDING:  # first, how much of the name before it is cut off
            while data[name_at] & 0x80:
                name_at += 1
            name_at += 1
        name_end = data.index(0, name_at, end)
        yield data[at + _MODE_AT : at + _MODE_AT + 4]
        yield data[at + _STATUS_BYTES : name_end + 1]
        at = name_end + 1 if version == _WITHOUT_PADDING else at + ((name_end - at + 8) & ~7)
    while at < end:
        name, size = _EXTENSION.unpack_from(data, at)
        if name not in _CACHES:
            yield data[at : at + _EXTENSION.size + size]
        at += _EXTENSION.size + size


def _hash_bytes(data: bytes) -> int:
    """Return how long the repository's hashes are: the index ends in one of all before it. Raises ValueError."""
    for make in (sha1, sha256):
        size = make().digest_size
        if make(data[:-size], usedforsecurity=False).digest() == data[-size:]:
            return size
    raise ValueError
