"""Where a session keeps what outlives a call: whole outputs, the journal. `~/.dogu/sessions/<id>`, owner only."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence

import msgspec

_FACTS = "session.json"


class SessionFolder:
    """One session's folder, made when it is opened and removed at the end when nothing was kept in it.

    `session.json` in it says which roots (absolute, without symbolic links) it worked in and when it began. Where the
    person's own folder can't be written, it is a temporary one, and `problem` says so.
    """

    def __init__(self, state_folder: str, roots: Sequence[str] = ()) -> None:
        now_ns = time.time_ns()  # ids sort by time
        day = time.strftime("%Y%m%d-%H%M%S", time.localtime(now_ns // 10**9))
        self.session_id = f"{day}-{now_ns % 10**9 // 1000:06}-{os.urandom(2).hex()}"
        self.path = os.path.join(os.path.realpath(state_folder), "sessions", self.session_id)
        self._kept = 0
        facts = msgspec.json.encode(SessionFacts(list(roots), time.time()))
        self.problem = ""
        try:
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            self._write(_FACTS, facts)
        except OSError as error:
            import tempfile

            self.problem = (
                f"{self.path} can't be written ({error.strerror}): this session's undo ends with the machine's."
            )
            self.path = os.path.realpath(tempfile.mkdtemp(prefix="dogu-session-"))
            self._write(_FACTS, facts)

    def keep_output(self, call_id: str, text: str) -> str:
        """Store a whole output and return its absolute path."""
        self._kept += 1
        name = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:40] or "output"
        name = f"{self._kept:04}-{name}.txt"
        self._write(name, text.encode("utf-8", "backslashreplace"))
        return os.path.join(self.path, name)

    def close(self) -> None:
        """Remove the folder if nothing was kept."""
        if os.listdir(self.path) == [_FACTS]:
            os.unlink(os.path.join(self.path, _FACTS))
            os.rmdir(self.path)

    def _write(self, name: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(os.path.join(self.path, name), flags, 0o600), "wb") as file:
            file.write(data)


class SessionFacts(msgspec.Struct, frozen=True):
    """What `session.json` says of a session; `began` is a POSIX time in seconds."""

    roots: list[str]
    began: float
    version: int = 1


class KeptSession(msgspec.Struct, frozen=True):
    """A session that kept something."""

    path: str
    facts: SessionFacts

    @property
    def session_id(self) -> str:
        """What it is called."""
        return os.path.basename(self.path)


def kept_sessions(state_folder: str, root: str = "") -> list[KeptSession]:
    """Return the sessions kept, the newest first; with `root` (without symbolic links), those that worked in it."""
    folder = os.path.join(os.path.realpath(state_folder), "sessions")
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except FileNotFoundError:
        return []
    found: list[KeptSession] = []
    for name in names:
        path = os.path.join(folder, name)
        try:
            with open(os.path.join(path, _FACTS), "rb") as file:
                facts = msgspec.json.decode(file.read(), type=SessionFacts)
        except (OSError, msgspec.DecodeError):
            continue
        if not root or root in facts.roots:
            found.append(KeptSession(path, facts))
    return found
