"""The entries of a folder as last seen, and packed: some sixty bytes each, where objects would take five hundred."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

BY_LINK = -2
RowKind = Literal["file", "link", "folder", "fifo", "other"]


class SnapshotRow(NamedTuple):
    """One entry as last seen. `stamp` is mtime, ctime and inode; `where` the content's place, -1 when not kept,
    `BY_LINK` when the file has a second name instead. `links` counts a file's names; attributes are those that undo
    keeps, None where they can't be read.

    `is_fresh`: it changed so shortly before the look that the same stamp may yet come to mean another content.
    """

    kind: RowKind
    mode: int
    size: int
    stamp: tuple[int, int, int]
    where: int = -1
    target: bytes = b""
    is_fresh: bool = False
    owner: tuple[int, int] = (0, 0)
    links: int = 1
    is_sparse: bool = False
    xattrs: tuple[tuple[str, bytes], ...] | None = ()

    @property
    def is_lost(self) -> bool:
        """Whether this is a file whose content isn't kept."""
        return self.kind == "file" and self.where == -1


_DECODER = msgspec.msgpack.Decoder(list[tuple[bytes, SnapshotRow]])


def packed(rows: Mapping[str, SnapshotRow]) -> bytes:
    """Pack the rows of a folder, by name."""
    return msgspec.msgpack.encode([(os.fsencode(name), row) for name, row in rows.items()])


def unpacked(data: bytes) -> dict[str, SnapshotRow]:
    """Return the rows of a folder, by name."""
    return {os.fsdecode(name): row for name, row in _DECODER.decode(data)}
