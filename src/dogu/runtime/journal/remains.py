"""What killed sessions leave behind: commits to be finished, which are noted while they last, and looks."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress

from dogu.contract.errors import ToolError
from dogu.language import told
from dogu.runtime.journal.entries import Entries
from dogu.runtime.journal.log import FILE_NAME, JournalLog
from dogu.runtime.journal.undo import UndoRefusal
from dogu.runtime.journal.watch import discard_remains, has_remains
from dogu.workspace import fs
from dogu.workspace.layer.make import COMMITTING, aside_of

_NOTE = ".journal"
_LAYER = re.compile(r".*?/layer-[0-9a-f]+(?=/upper/)", re.DOTALL)
_WAITS_FOR_UNDO_S = 7 * 24 * 3600.0


def tidy(sessions: str) -> None:
    """Remove what the looks of killed sessions left in the folders below `sessions`.

    Those of the living are left alone, and for a week those of a call whose changes nobody has found out about yet.
    """
    try:
        names = os.listdir(sessions)
    except FileNotFoundError:
        return
    for name in names:
        folder = os.path.join(sessions, name)
        if has_remains(folder):
            known = Entries()
            known.add(JournalLog(os.path.join(folder, FILE_NAME)).read_new())
            newest_s = max((record.time_s for record in known.unseen.values()), default=0.0)
            if time.time() - newest_s > _WAITS_FOR_UNDO_S:
                discard_remains(folder)


@contextmanager
def noted(pending: str, folder: str, sources: Iterable[str]) -> Generator[None]:
    """Note, while inside, that the session in `folder` is committing, and in the layers that they are needed."""
    markers = {layer for source in sources if (layer := _layer_of(source))}
    os.makedirs(pending, mode=0o700, exist_ok=True)
    path = os.path.join(pending, os.urandom(8).hex() + _NOTE)
    descriptor = fs.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | fs.O_CLOEXEC, 0o600)
    try:
        fs.flock(descriptor, fs.LOCK_EX)
        os.write(descriptor, os.fsencode(folder))
        for layer in markers:
            with suppress(OSError):
                os.close(fs.open(os.path.join(layer, COMMITTING), os.O_WRONLY | os.O_CREAT | fs.O_CLOEXEC, 0o600))
        try:
            yield
        except ToolError:  # before anything was done: a path that can't be done is told with the others
            _forget(path, markers)
            raise
        _forget(path, markers)
    finally:
        os.close(descriptor)


def _forget(note: str, layers: Iterable[str]) -> None:
    for name in (*(os.path.join(layer, COMMITTING) for layer in layers), note):
        with suppress(OSError):
            fs.unlink(name)


def interrupted(pending: str) -> list[tuple[str, str]]:
    """Return the notes of killed processes, each with the folder of the session that it is about."""
    found: list[tuple[str, str]] = []
    try:
        names = sorted(fs.listdir(pending))
    except OSError:
        return []
    for name in names:
        path = os.path.join(pending, name)
        if not name.endswith(_NOTE):
            continue
        with suppress(OSError):
            descriptor = fs.open(path, os.O_RDWR | fs.O_NOFOLLOW | fs.O_CLOEXEC)
            try:
                fs.flock(descriptor, fs.LOCK_EX | fs.LOCK_NB)
                found.append((path, os.fsdecode(os.read(descriptor, 8192))))
            finally:
                os.close(descriptor)
    return found


def let_go(sources: Iterable[str], refused: Sequence[UndoRefusal]) -> list[str]:
    """Let go of the layers that a killed commit took from; what could not be put in place is kept.

    Returns where that is then, in words for a user.
    """
    kept: list[str] = []
    paths = ", ".join(each.path for each in refused[:3])
    for layer in {layer for source in sources if (layer := _layer_of(source))}:
        with suppress(OSError):
            fs.unlink(os.path.join(layer, COMMITTING))
            if refused:
                folder = aside_of(layer)
                fs.rename(layer, folder)
                kept.append(
                    told(
                        "Not put in place: {paths}. The command's own version is in {folder}.",
                        paths=paths,
                        folder=folder,
                    )
                )
    return kept


def _layer_of(source: str) -> str:
    """Return the layer's own folder that a new entry lies in, which may be called like one itself; '' for none."""
    found = _LAYER.match(source)
    return found[0] if found else ""
