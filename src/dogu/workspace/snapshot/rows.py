"""The entries of a folder as last seen, and packed: some sixty bytes each, where objects would take five hundred."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

BY_LINK = -2
TOLD = 1 << 60
RowKind = Literal["file", "link", "folder", "fifo", "other"]


class SnapshotRow(NamedTuple):
    """One entry as last seen. `stamp` is mtime, ctime and inode; `where` the content's place, -1 when not kept,
    `BY_LINK` when the file has a second name instead, from `TOLD` on a place among a command's notes (`told`). `links`
    counts a file's names; attributes are those that undo keeps, None where they can't be read.

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


class TreeChange(NamedTuple):
    """What became of one path (absolute) between two looks; None is missing.

    `is_time_only`: it is a file that was written again, or is another one, and holds the same.
    """

    path: str
    before: SnapshotRow | None
    after: SnapshotRow | None
    is_time_only: bool = False


def changes_of(found: Mapping[str, tuple[SnapshotRow | None, SnapshotRow | None]]) -> list[TreeChange]:
    """Return what changed, by path, of what was seen before and after."""
    return sorted(
        (
            TreeChange(path, *change, is_time_only=not differ(*change))
            for path, change in found.items()
            if differ(*change) or _was_written_again(*change)
        ),
        key=lambda change: change.path,
    )


def stamp_of_status(status: os.stat_result) -> tuple[int, int, int]:
    """Return the stamp of a row; a folder's times change with what is in it, which is looked at by itself."""
    times = (0, 0) if stat.S_ISDIR(status.st_mode) else (status.st_mtime_ns, status.st_ctime_ns)
    return times[0], times[1], status.st_ino


def differ(old: SnapshotRow | None, new: SnapshotRow | None) -> bool:
    """Whether two looks at a path saw something else than another time."""
    if old is None or new is None:
        return old is not new
    if (old.kind, old.mode, old.size, old.target, old.owner) != (new.kind, new.mode, new.size, new.target, new.owner):
        return True
    if None not in (old.xattrs, new.xattrs) and old.xattrs != new.xattrs:
        return True
    if (old.where == BY_LINK or old.links > 1) and old.stamp[2] != new.stamp[2]:
        return True
    if new.kind != "file" or old.where == BY_LINK:
        return False
    return old.stamp != new.stamp if -1 in (old.where, new.where) else old.where != new.where


def _was_written_again(old: SnapshotRow | None, new: SnapshotRow | None) -> bool:
    """Whether a file that holds the same is another one now, or says that it was written at another time."""
    if old is None or new is None or new.kind != "file":
        return False
    return (old.stamp[0], old.stamp[2]) != (new.stamp[0], new.stamp[2])
