"""Where a command and somebody else have changed one text: both changes put together, if they go together.

What a file held when the command began is noted soon after the command has written to it, as long as nobody else has:
it isn't kept by anyone else. Git does the merging (`git merge-file`), which needs no repository; marks of conflicts are
never written.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import msgspec

from dogu.workspace.fs import walked
from dogu.workspace.layer.make import Layer, Layers
from dogu.workspace.small_file import open_regular_file
from dogu.workspace.staged import StagedChange

_MOST_FILES, _MOST_ENTRIES = 500, 5_000
_MOST_BYTES = 256 * 1024  # of one file; in all sixty-four times as much
_FIRST_S, _LAST_S = 0.1, 2.0
_GIT_S = 20.0


class Merged(msgspec.Struct, frozen=True):
    """Both changes of one text put together, over `theirs`, which was last changed at `since_ns` (its ctime)."""

    change: StagedChange
    theirs: str
    text: str
    since_ns: int


class Bases:
    """What the files that a command changes held when it began, as far as it is small text."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._found: dict[str, bytes | None] = {}
        self._left_bytes = 64 * _MOST_BYTES

    @contextmanager
    def watched(self) -> Generator[None]:
        """Look again and again, ever more rarely, and once at the end."""
        is_over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(is_over,), name="bases", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def _watch(self, is_over: threading.Event) -> None:
        wait_s = _FIRST_S
        while not is_over.wait(wait_s) and len(self._found) < _MOST_FILES:
            self._look()
            wait_s = min(_LAST_S, wait_s * 1.2)
        self._look()

    def _look(self) -> None:
        for layer in self._layers.all:
            for path in _written(layer):
                if path not in self._found and len(self._found) < _MOST_FILES:
                    self._found[path] = self._read(path, layer.began_ns)

    def merged(self, change: StagedChange) -> Merged | None:
        """Put the command's change and somebody else's together; None where they don't go together, or none is known.

        Blocks. Raises OSError.
        """
        base = self._found.get(change.path)
        git = shutil.which("git")
        if base is None or git is None or not change.source or _status(change.source) is None:
            return None
        status = os.lstat(change.path)
        ours, theirs = _text_of(change.source), _text_of(change.path)
        if ours is None or theirs is None or os.lstat(change.path).st_ctime_ns != status.st_ctime_ns:
            return None
        text = _merge(git, ours, base, theirs)
        if text is None:
            return None
        try:
            return Merged(change, theirs.decode(), text.decode(), status.st_ctime_ns)
        except UnicodeDecodeError:
            return None

    def _read(self, path: str, began_ns: int) -> bytes | None:
        """Read what was there when the command began; None once somebody else has changed it."""
        status = _status(path)
        if status is None or status.st_size > min(_MOST_BYTES, self._left_bytes) or status.st_ctime_ns > began_ns:
            return None
        data = _text_of(path)
        again = _status(path)
        if data is None or again is None or again.st_ctime_ns > began_ns or len(data) != status.st_size:
            return None
        self._left_bytes -= len(data)
        return data


def _written(layer: Layer) -> Generator[str]:
    """Give the paths of the files that lie in a layer."""
    left = _MOST_ENTRIES
    for folder, _, names in walked(layer.upper):
        left -= len(names) + 1
        if left < 0:
            return
        for name in names:
            yield os.path.join(layer.root, os.path.relpath(os.path.join(folder, name), layer.upper))


def _status(path: str) -> os.stat_result | None:
    """Return the status of a file; None for anything else."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _text_of(path: str) -> bytes | None:
    try:
        with open_regular_file(path) as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError:
        return None
    return None if b"\0" in data or len(data) > _MOST_BYTES else data


def _merge(git: str, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    with TemporaryDirectory(prefix="dogu-merge-") as folder:
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        environment = {
            "PATH": os.defpath,
            "HOME": folder,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": folder,
        }
        words = [git, "merge-file", "-p", "-q", "ours", "base", "theirs"]
        try:
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=_GIT_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None
