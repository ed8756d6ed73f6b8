"""Seals what is only ever added to: each piece over the one before, with a key of the user's own, and the length.

The key lies in the user's state folder, where no tool and no sandboxed command can read: whoever hasn't it can change
nothing unnoticed. A seal beside the file says how long it had become, so that an end cut off is noticed too; what was
added after the last seal can be cut off by a crash, and is not.
"""

from __future__ import annotations

import os
from hashlib import blake2b

import msgspec

from dogu.language import told
from dogu.workspace import fs
from dogu.workspace.private_file import read_private_file, write_private_file

SEAL_BYTES = 16
_KEY_NAME = "seal.key"
_KEY_BYTES = 32


class Seal(msgspec.Struct, frozen=True):
    """How far a file had come: its size in bytes, its lines where it has some, and the last piece's own seal in hex."""

    size: int
    last: str
    lines: int = 0


class _Written(msgspec.Struct, frozen=True):
    seal: Seal
    by: str


def key_of(state_folder: str) -> bytes:
    """Return the user's key, made when there is none. Raises OSError."""
    path = os.path.join(state_folder, _KEY_NAME)
    try:
        return _read_key(path)
    except FileNotFoundError:
        os.makedirs(state_folder, mode=0o700, exist_ok=True)
    beside = f"{path}.{os.urandom(4).hex()}.tmp"
    write_private_file(beside, os.urandom(_KEY_BYTES))
    try:
        fs.link(beside, path)
    except FileExistsError:
        pass  # another process was quicker: its key is the user's
    finally:
        os.unlink(beside)
    return _read_key(path)


def chained(key: bytes, before: bytes, body: bytes) -> bytes:
    """Return the seal of a piece that follows the one sealed `before`."""
    return blake2b(before + body, digest_size=SEAL_BYTES, key=key).digest()


def write_seal(path: str, key: bytes, seal: Seal) -> None:
    """Write down how far a file has come; where that can't be written, the seal before holds on."""
    try:
        write_private_file(path, msgspec.json.encode(_Written(seal, _signed(key, seal))), is_synced=False)
    except OSError:
        return


def read_seal(path: str, key: bytes) -> Seal | str | None:
    """Return the seal; None where there is none, and a sentence when it isn't as it was written."""
    try:
        written = msgspec.json.decode(read_private_file(path)[0], type=_Written)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError):
        return told("its seal can't be read")
    if written.by != _signed(key, written.seal):
        return told("its seal isn't ours")
    return written.seal


def _signed(key: bytes, seal: Seal) -> str:
    return chained(key, b"seal", msgspec.json.encode(seal)).hex()


def _read_key(path: str) -> bytes:
    return read_private_file(path)[0][:_KEY_BYTES]
