"""Where a session keeps what outlives a call: whole outputs, the journal. `~/.dogu/sessions/<id>`, owner only."""

from __future__ import annotations

import os
import re
import time


class SessionFolder:
    """One session's folder, made when it is opened and removed at the end when nothing was kept in it."""

    def __init__(self, state_folder: str, session_id: str = "") -> None:
        self.session_id = session_id or time.strftime("%Y%m%d-%H%M%S-") + os.urandom(3).hex()
        self.path = os.path.join(os.path.realpath(state_folder), "sessions", self.session_id)
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        self._kept = 0

    def keep_output(self, call_id: str, text: str) -> str:
        """Store a whole output and return its absolute path."""
        self._kept += 1
        name = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:40] or "output"
        path = os.path.join(self.path, f"{self._kept:04}-{name}.txt")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
        return path

    def close(self) -> None:
        """Remove the folder if it is empty."""
        try:
            os.rmdir(self.path)
        except OSError:
            return  # something was kept, and stays


def session_folders(state_folder: str) -> list[str]:
    """Return the paths of the sessions kept, the newest first."""
    folder = os.path.join(os.path.realpath(state_folder), "sessions")
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except FileNotFoundError:
        return []
    return [os.path.join(folder, name) for name in names]
