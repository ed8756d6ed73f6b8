"""All that a session changed, as one diff a file: from before its first call to now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dogu.language import say
from dogu.runtime.journal_net import NetChange

_MOST_CHARS = 200_000


def diff_text(changes: Iterable[NetChange], roots: Sequence[str]) -> str:
    """Return the diffs, one after another, paths relative to their root; past 200,000 characters only names."""
    parts: list[str] = []
    size = 0
    for change in changes:
        path = _relative(change.path, roots)
        part = _heading(change, path) if size > _MOST_CHARS else _diff(change, path)
        parts.append(part)
        size += len(part)
    return "\n".join(part.rstrip("\n") for part in parts)


def _diff(change: NetChange, path: str) -> str:
    from dogu.workspace.diff import unified_diff
    from dogu.workspace.media import is_binary
    from dogu.workspace.text import decode

    contents = [content for content in (change.old, change.new) if content is not None]
    heading = _heading(change, path)
    if change.problem or not contents:
        return heading
    if any(is_binary(content[:8192]) for content in contents):
        return heading + " " + say("(binary)")
    diff = unified_diff(decode(change.old or b"").text, decode(change.new or b"").text, path)
    return f"{heading}\n{diff}" if diff else heading


def _heading(change: NetChange, path: str) -> str:
    before, now = change.before, change.now
    if before.kind == "missing":
        told = say("created {path}", path=path)
    elif now.kind == "missing":
        told = say("deleted {path}", path=path)
    elif before.kind != now.kind:
        told = say("{path}: {before} became {now}", path=path, before=before.kind, now=now.kind)
    elif (before.digest, before.target) == (now.digest, now.target):
        told = say("{path}: mode {before} became {now}", path=path, before=f"{before.mode:04o}", now=f"{now.mode:04o}")
    else:
        told = say("changed {path}", path=path)
    return f"{told} ({change.problem})" if change.problem else told


def _relative(path: str, roots: Sequence[str]) -> str:
    import os

    for root in roots:
        real = os.path.realpath(root)
        if path.startswith(f"{real}/"):
            return path[len(real) + 1 :]
    return path
