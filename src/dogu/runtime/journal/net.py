"""What became of the workspace since a session began: each path as it was before the first call, and as it is now."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping

import msgspec

from dogu.contract.errors import ToolError
from dogu.language import told
from dogu.runtime.journal.entries import PathChange
from dogu.runtime.journal.reach import JournalReach, look_at
from dogu.runtime.journal.states import State

_LARGEST_BYTES = 8 << 20


class NetChange(msgspec.Struct, frozen=True):
    """A path (absolute) that calls changed. `old` and `new` are contents; None for what is no file.

    `problem` says why a content can't be shown.
    """

    path: str
    before: State
    now: State
    old: bytes | None = None
    new: bytes | None = None
    problem: str = ""


def net_to_now(
    changes: Mapping[str, PathChange], reach: JournalReach, content: Callable[[State], bytes | None]
) -> Generator[NetChange]:
    """Give the changes whose path isn't again as it was, by path; `content` finds what a state's file held."""
    for path, change in sorted(changes.items()):
        before = change.before
        try:
            now = look_at(reach, path, change.after).state
        except ToolError as error:
            yield NetChange(path, before, change.after, problem=error.message)
            continue
        if not now.is_same_as(before):
            yield _with_contents(NetChange(path, before, now), reach, content)


def _with_contents(change: NetChange, reach: JournalReach, content: Callable[[State], bytes | None]) -> NetChange:
    if max(change.before.size, change.now.size) > _LARGEST_BYTES:
        return msgspec.structs.replace(change, problem=told("too large to be shown"))
    old = content(change.before) if change.before.kind == "file" else None
    if change.before.kind == "file" and old is None and change.before.digest != change.now.digest:
        return msgspec.structs.replace(change, problem=told("what it held before was too large to be kept"))
    new = None
    if change.now.kind == "file":
        try:
            with os.fdopen(reach.open_file(change.path), "rb") as stream:
                new = stream.read(_LARGEST_BYTES + 1)
        except (OSError, ToolError) as error:
            return msgspec.structs.replace(change, problem=str(error))
    return msgspec.structs.replace(change, old=old if old is not None else _unless_kept(change, new), new=new)


def _unless_kept(change: NetChange, new: bytes | None) -> bytes | None:
    """A file of which only the mode changed holds now what it held before."""
    return new if change.before.kind == "file" else None
