"""Where a session keeps what outlives a call: its record, whole outputs, the journal. Owner only.

`~/.dogu/sessions/<id>/session.json` says what session it is. Which was used last is told by a count of uses, kept in
`~/.dogu/session-uses`, and not by clocks, which jump.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from dogu.language import told
from dogu.workspace import fs
from dogu.workspace.private_file import open_regular, path_written, read_private_file, write_private_file, written_path

RECORD_NAME = "record.jsonl"
RECORD_SEAL_NAME = "record.seal"
SUMMARY_NAME = "summary.json"
_FACTS = "session.json"
_USES = "session-uses"
_LOCKED = (RECORD_NAME, "journal.lock")


class SessionFacts(msgspec.Struct, frozen=True):
    """What `session.json` says of a session. `began` is a POSIX time in seconds; `use` grows from use to use.

    `roots` are where it works (absolute, without symbolic links), the primary one first and all that it ever had;
    `origin` is the session that it was forked from; `name` is what the user calls it.
    """

    roots: list[str]
    began: float
    version: int = 1
    use: int = 0
    origin: str = ""
    name: str = ""


class StoredSession(msgspec.Struct, frozen=True):
    """A session that kept something."""

    path: str
    facts: SessionFacts

    @property
    def session_id(self) -> str:
        """What it is called."""
        return os.path.basename(self.path)

    @property
    def has_record(self) -> bool:
        """Whether it can be resumed."""
        return os.path.exists(os.path.join(self.path, RECORD_NAME))


class SessionFolder:
    """One session's folder, made when it is opened and removed at the end when nothing was kept in it.

    With `reopened`, that session goes on in its folder, and in `roots` too. Where the user's own folder can't be
    written, it is a temporary one, and `problem` says so. `use` counts the uses of all sessions, this one among them.
    """

    def __init__(
        self, state_folder: str, roots: Sequence[str] = (), *, origin: str = "", reopened: StoredSession | None = None
    ) -> None:
        sessions = os.path.join(os.path.realpath(state_folder), "sessions")
        self.problem = ""
        self._is_reopened = reopened is not None
        if reopened is not None:
            self.path, self.session_id = reopened.path, reopened.session_id
            self._kept = _last_number(self.path)
            self.use = reopened.facts.use
            known = [*dict.fromkeys((*reopened.facts.roots, *roots))]
            self._note_use(msgspec.structs.replace(reopened.facts, roots=known), os.path.dirname(self.path))
            return
        now_ns = time.time_ns()
        day = time.strftime("%Y%m%d-%H%M%S", time.localtime(now_ns // 10**9))
        self.session_id = f"{day}-{now_ns % 10**9 // 1000:06}-{os.urandom(2).hex()}"
        self.path = os.path.join(sessions, self.session_id)
        self._kept = 0
        self.use = 0
        facts = SessionFacts(list(roots), time.time(), origin=origin)
        try:
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            self.use = _next_use(sessions)
            facts = msgspec.structs.replace(facts, use=self.use)
            self._write(_FACTS, _encoded(facts))
        except OSError as error:
            with suppress(OSError):
                os.rmdir(self.path)
            if error.errno == errno.EMFILE:  # it could be written: the limit is this process's
                raise
            self.problem = told(
                "{path} can't be written ({strerror}): undo for this session only lasts until the machine restarts.",
                path=self.path,
                strerror=error.strerror,
            )
            self.path = os.path.realpath(_temporary_folder())
            try:
                self._write(_FACTS, _encoded(facts))
            except OSError:
                pass  # no room there, either: the session goes on, and what it would keep is told as it fails

    def keep_output(self, call_id: str, text: str) -> str:
        """Store a whole output and return its absolute path."""
        self._kept += 1
        name = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:40] or "output"
        name = f"{self._kept:04}-{name}.txt"
        self._write(name, text.encode("utf-8", "backslashreplace"))
        return os.path.join(self.path, name)

    def close(self, *, is_wanted: bool = False) -> None:
        """Remove the folder if nothing was kept, or a record alone that nobody wants or will find again.

        One that was reopened stays: it was wanted before, whatever became of it now.
        """
        if self._is_reopened:
            return
        names = set(os.listdir(self.path))
        is_wanted = is_wanted and RECORD_NAME in names and not self.problem
        if names <= {_FACTS, RECORD_NAME, RECORD_SEAL_NAME, SUMMARY_NAME} and not is_wanted:
            for name in names:
                os.unlink(os.path.join(self.path, name))
            os.rmdir(self.path)

    def _note_use(self, facts: SessionFacts, sessions: str) -> None:
        """Say that this session is the one used last; it goes on where that can't be written."""
        try:
            self.use = _next_use(sessions)
            used = msgspec.structs.replace(facts, use=self.use)
            write_private_file(os.path.join(self.path, _FACTS), _encoded(used), is_synced=False)
        except OSError:
            return

    def _write(self, name: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | fs.O_CLOEXEC
        with os.fdopen(fs.open(os.path.join(self.path, name), flags, 0o600), "wb") as file:
            file.write(data)


def _temporary_folder() -> str:
    """Make a folder among the temporary files. Raises OSError."""
    prefix = "dogu-session-"
    try:
        return tempfile.mkdtemp(prefix=prefix)
    except FileNotFoundError:  # a place is tried by writing to a file there, which nothing here may need
        for place in filter(None, (os.environ.get("TMPDIR"), "/tmp", "/var/tmp")):
            with suppress(OSError):
                return tempfile.mkdtemp(prefix=prefix, dir=place)
        raise


def stored_sessions(state_folder: str, root: str = "") -> list[StoredSession]:
    """Return the sessions kept, the last used first; with `root` (without symbolic links), those of it.

    A session is of its primary root, not of those that were included.
    """
    folder = os.path.join(os.path.realpath(state_folder), "sessions")
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    found: list[StoredSession] = []
    for name in names:
        path = os.path.join(folder, name)
        try:
            facts = read_facts(path)
        except OSError:
            continue
        if not root or root in facts.roots[:1]:
            found.append(StoredSession(path, facts))
    return sorted(found, key=lambda stored: (stored.facts.use, stored.session_id), reverse=True)


def rename_session(folder: str, name: str) -> None:
    """Give a session a name. Raises OSError."""
    facts = msgspec.structs.replace(read_facts(folder), name=name)
    write_private_file(os.path.join(folder, _FACTS), _encoded(facts), is_synced=False)


def is_in_use(folder: str) -> bool:
    """Whether another process works in the session of this folder."""
    for name in _LOCKED:
        try:
            descriptor = open_regular(os.path.join(folder, name), os.O_RDONLY)
        except OSError:
            continue
        try:
            fs.flock(descriptor, fs.LOCK_SH | fs.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
    return False


def read_facts(folder: str) -> SessionFacts:
    """Read what a session's folder says of it. Raises OSError, also where it isn't one's."""
    path = os.path.join(folder, _FACTS)
    try:
        facts = msgspec.json.decode(read_private_file(path)[0], type=SessionFacts)
    except msgspec.DecodeError as error:
        raise OSError(errno.EINVAL, f"{path} isn't a session's") from error
    return msgspec.structs.replace(facts, roots=[path_written(root) for root in facts.roots])


def _encoded(facts: SessionFacts) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(facts, roots=[written_path(root) for root in facts.roots]))


def _next_use(sessions: str) -> int:
    """Count one more use of any session; several processes may do so at once. Raises OSError."""
    descriptor = open_regular(os.path.join(os.path.dirname(sessions), _USES), os.O_RDWR | os.O_CREAT)
    try:
        fs.flock(descriptor, fs.LOCK_EX)
        written = fs.pread(descriptor, 20, 0).strip()
        use = (int(written) if written.isdigit() else 0) + 1
        fs.pwrite(descriptor, b"%-20d" % use, 0)
        return use
    finally:
        os.close(descriptor)


def _last_number(folder: str) -> int:
    """The number of the last whole output kept."""
    numbers = [int(name.partition("-")[0]) for name in os.listdir(folder) if re.fullmatch(r"\d{4,}-.*\.txt", name)]
    return max(numbers, default=0)
