"""GEMINI.md and AGENTS.md: what the people of a project want every session to know."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

DEFAULT_NAMES = ("GEMINI.md", "AGENTS.md")
_MOST_BYTES = 64 * 1024


class ContextFile(msgspec.Struct, frozen=True):
    """A context file as read; `text` ends with a sentence that says so when it was cut at 64 KiB."""

    path: str
    text: str


def read_context_files(
    root: str, home_folders: Sequence[str], names: Sequence[str] = DEFAULT_NAMES
) -> list[ContextFile]:
    """Read the context files, the most general first.

    First those in `home_folders`, then those from the repository's top (the nearest folder upwards that holds `.git`;
    without one, the root alone) down to the root. Unreadable and empty ones are left out; each is read once.
    """
    found: list[ContextFile] = []
    seen: set[tuple[int, int]] = set()
    for folder in [*home_folders, *_from_top(root)]:
        for name in names:
            context_file = _read(f"{folder.rstrip('/')}/{name}", seen)
            if context_file is not None:
                found.append(context_file)
    return found


def _from_top(root: str) -> list[str]:
    """The folders from the repository's top down to `root`."""
    folders = [root]
    folder = root
    while not os.path.lexists(f"{folder.rstrip('/')}/.git"):
        parent = os.path.dirname(folder)
        if parent == folder:
            return [root]
        folders.append(parent)
        folder = parent
    return folders[::-1]


def _read(path: str, seen: set[tuple[int, int]]) -> ContextFile | None:
    import stat

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or (facts.st_dev, facts.st_ino) in seen:
            return None
        seen.add((facts.st_dev, facts.st_ino))
        try:
            data = file.read(_MOST_BYTES + 1)
        except OSError:
            return None
    text = data[:_MOST_BYTES].decode("utf-8", "replace").strip()
    if len(data) > _MOST_BYTES:
        text += f"\n[Cut at {_MOST_BYTES} bytes; read_file reads the rest of {path}.]"
    return ContextFile(path, text) if text else None
