"""All that a session changed, as one diff a file: from before its first call to now."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from dogu.contract.content import Blob
from dogu.contract.display import FileDiff
from dogu.language import say
from dogu.runtime.journal.net import NetChange
from dogu.workspace.diff import unified_diff
from dogu.workspace.text import decode
from dogu.workspace.text.media import HEAD_BYTES, is_binary, picture_words, sniff

_MOST_CHARS = 200_000


def session_diffs(changes: Iterable[NetChange], roots: Sequence[str]) -> tuple[FileDiff, ...]:
    """Return a diff a file, its path relative to its root, its heading its note; past 200,000 characters no lines."""
    diffs: list[FileDiff] = []
    size = 0
    for change in changes:
        path = _relative(change.path, roots)
        unified, note = ("", "") if size > _MOST_CHARS else _diff(change, path)
        diffs.append(FileDiff(path, None, "", unified, (f"{_heading(change, path)} {note}".rstrip(),)))
        size += len(unified)
    return tuple(diffs)


def session_pictures(changes: Iterable[NetChange], roots: Sequence[str]) -> dict[str, list[Blob]]:
    """Return the images among what changed, by the same paths: as it was, and as it is."""
    found: dict[str, list[Blob]] = {}
    for change in changes:
        path = _relative(change.path, roots)
        for when, data in ((say("before"), change.old), (say("now"), change.new)):
            media_type = sniff((data or b"")[:HEAD_BYTES], path)
            if data and media_type is not None and media_type.startswith("image/"):
                found.setdefault(path, []).append(Blob(media_type, data, when))
    return found


def diff_text(diffs: Sequence[FileDiff]) -> str:
    """Return the diffs as one text."""
    return "\n".join(f"{diff.notes[0]}\n{diff.unified}".rstrip("\n") for diff in diffs)


def _diff(change: NetChange, path: str) -> tuple[str, str]:
    """Return the unified diff, and a word on why there is none."""
    contents = [content for content in (change.old, change.new) if content is not None]
    if change.problem or not contents:
        return "", ""
    if any(is_binary(content[:8192]) for content in contents):
        words = [_picture_words(content, path) for content in contents]
        return "", " → ".join(filter(None, words)) or say("(binary)")
    return unified_diff(decode(change.old or b"").text, decode(change.new or b"").text, path), ""


def _picture_words(content: bytes, path: str) -> str:
    media_type = sniff(content[:HEAD_BYTES], path) or ""
    return picture_words(content, media_type) if media_type.startswith("image/") else ""


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
    return f"{told} ({say(change.problem)})" if change.problem else told


def _relative(path: str, roots: Sequence[str]) -> str:
    for root in roots:
        real = os.path.realpath(root)
        if path.startswith(f"{real}/"):
            return path[len(real) + 1 :]
    return path
