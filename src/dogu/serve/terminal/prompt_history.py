"""What was typed in this folder, for ↑ and Ctrl-R: one file a folder, for its owner's eyes only."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b

import msgspec
from prompt_toolkit.history import History

from dogu.workspace import fs

_MOST_READ_BYTES = 512 * 1024
_MOST_FILE_BYTES = 2 * 1024 * 1024
_MOST_ENTRY_CHARS = 20_000


class FolderHistory(History):
    """Reads the last half megabyte when it is first needed, and appends; what can't be kept isn't."""

    def __init__(self, state_folder: str, root: str) -> None:
        super().__init__()

        name = blake2b(os.fsencode(root), digest_size=12).hexdigest()
        self._path = os.path.join(state_folder, "history", f"{name}.jsonl")

    def load_history_strings(self) -> Iterable[str]:
        """Return what was typed, the newest first."""
        try:
            with open(self._path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _MOST_READ_BYTES))
                lines = file.read().split(b"\n")
        except OSError:
            return []
        found: list[str] = []
        for line in reversed(lines):
            try:
                text = msgspec.json.decode(line, type=str)
            except msgspec.DecodeError:
                continue  # cut at the beginning, or torn by a crash
            if not found or found[-1] != text:
                found.append(text)
        return found

    def store_string(self, string: str) -> None:
        """Append what was typed."""
        line = msgspec.json.encode(string[:_MOST_ENTRY_CHARS].encode("utf-8", "replace").decode()) + b"\n"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | fs.O_CLOEXEC
            with os.fdopen(fs.open(self._path, flags, 0o600), "ab") as file:
                if file.tell() > _MOST_FILE_BYTES:
                    self._shorten()
                file.write(line)
        except OSError:
            return  # a full disk must not stop the conversation

    def _shorten(self) -> None:
        with open(self._path, "r+b") as file:
            file.seek(-_MOST_READ_BYTES, os.SEEK_END)
            file.readline()
            kept = file.read()
            file.seek(0)
            file.write(kept)
            file.truncate()
