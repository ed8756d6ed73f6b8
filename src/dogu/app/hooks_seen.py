"""Which hooks of a folder the person has been told of."""

from __future__ import annotations

import os
from typing import Any

import msgspec


def unseen(file: str, root: str, keys: list[str]) -> list[str]:
    """Return those of `keys` that `file` doesn't name for this root, and put all of them there."""
    known = _known(file)
    seen: list[Any] = known.get(root, [])
    new = [key for key in keys if key not in seen]
    if new or len(seen) != len(keys):
        try:
            _write(file, known | {root: keys})
        except OSError:
            pass  # told again the next time
    return new


def _known(file: str) -> dict[str, list[Any]]:
    try:
        with open(file, "rb") as stream:
            return msgspec.json.decode(stream.read(), type=dict[str, list[Any]])
    except (OSError, msgspec.MsgspecError):
        return {}


def _write(file: str, known: dict[str, list[Any]]) -> None:
    os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
    unfinished = f"{file}.{os.getpid()}.tmp"
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(msgspec.json.encode(known))
        os.replace(unfinished, file)
    except OSError:
        os.unlink(unfinished)
        raise
