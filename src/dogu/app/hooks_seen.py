"""Which hooks of a folder the person has been told of."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from dogu.workspace.private_file import write_private_file


def unseen(file: str, root: str, keys: list[str]) -> list[str]:
    """Return those of `keys` that `file` doesn't name for this root, and put all of them there."""
    known = _known(file)
    seen: list[Any] = known.get(root, [])
    new = [key for key in keys if key not in seen]
    if new or len(seen) != len(keys):
        try:
            os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
            write_private_file(file, msgspec.json.encode(known | {root: keys}), is_synced=False)
        except OSError:
            pass  # told again the next time
    return new


def _known(file: str) -> dict[str, list[Any]]:
    try:
        with open(file, "rb") as stream:
            return msgspec.json.decode(stream.read(), type=dict[str, list[Any]])
    except (OSError, msgspec.MsgspecError):
        return {}
