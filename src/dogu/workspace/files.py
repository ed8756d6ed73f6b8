"""Files of the workspace: read whole, open for slices, write atomically; each by descriptor inside the roots."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Literal, Protocol

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.atomic_write import replace_file
from dogu.workspace.os_errors import explain
from dogu.workspace.protected import protected_reason
from dogu.workspace.roots import Roots

FileKind = Literal["file", "directory", "missing", "other"]
_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class FileContent:
    """A file as read at one moment: `path` absolute, `digest` hex of `data`, `mode` its permission bits."""

    path: str
    data: bytes
    digest: str
    mode: int = 0o644


class WriteObserver(Protocol):
    """Is told of each write; the journal is one."""

    def before_write(self, path: str, old: bytes | None, new: bytes) -> None:
        """Take note that `path` (absolute, without links) is about to change; raising OSError stops the write."""
        ...

    def after_write(self, path: str, done: bool) -> None:
        """Take note of how it ended."""
        ...


class Files(Protocol):
    """What tools ask of the file system."""

    def read(self, path: str, max_bytes: int | None = None, *, remember: bool = True) -> FileContent:
        """Return the whole file. Raises `ToolError` (TOO_LARGE past `max_bytes`, NOT_FOUND, ...).

        With `remember` the session counts as having seen this content (see `seen_digest`); leave it off when the model
        won't see it.
        """
        ...

    def open(self, path: str) -> AbstractContextManager[BinaryIO]:
        """Open a regular file for reading slices of it. Raises `ToolError`."""
        ...

    def exists(self, path: str) -> bool:
        """Tell whether `path` names something, links followed inside the roots."""
        ...

    def kind(self, path: str) -> FileKind:
        """Say what `path` names, links followed inside the roots; never opens it for reading."""
        ...

    def write(self, path: str, data: bytes, expected: str | None) -> None:
        """Replace or create the file, atomically and durably, making parents.

        `expected` is the digest the file must still have, `""` for "must not exist", None for "whatever it is".
        Raises `ToolError` (STALE when it isn't as expected, ...); then nothing has changed.
        """
        ...

    def seen_digest(self, path: str) -> str | None:
        """Return the digest of what this session last read (remembered) or wrote at `path`, or None."""
        ...

    def protected_reason(self, path: str) -> str | None:
        """Say why writing to `path` must be asked whatever the mode, or None."""
        ...


def digest_of(data: bytes) -> str:
    """Return the hex digest by which a file's content is known."""
    from hashlib import blake2b

    return blake2b(data, digest_size=32).hexdigest()


class LocalFiles:
    """The files of this machine below `roots`; one instance a session."""

    def __init__(self, roots: Roots, observers: Sequence[WriteObserver] = ()) -> None:
        self._roots = roots
        self._observers = tuple(observers)
        self._seen: dict[str, str] = {}

    def read(self, path: str, max_bytes: int | None = None, *, remember: bool = True) -> FileContent:
        """Return the whole file; see `Files.read`."""
        located = self._roots.locate(path)
        with self.open(located) as stream:
            status = os.fstat(stream.fileno())
            limit = _MOST_BYTES if max_bytes is None else max_bytes
            try:
                data = stream.read(limit + 1) if status.st_size <= limit else b""
            except OSError as error:
                raise explain(error, located) from error
        if status.st_size > limit or len(data) > limit:
            size = max(status.st_size, len(data))
            raise ToolError(ErrorKind.TOO_LARGE, f"File too large: {located} has {size} bytes, the limit is {limit}.")
        content = FileContent(located, data, digest_of(data), stat.S_IMODE(status.st_mode))
        if remember:
            self._seen[self._roots.real(located)] = content.digest
        return content

    @contextmanager
    def open(self, path: str) -> Generator[BinaryIO]:
        """Open a regular file for reading slices of it; see `Files.open`."""
        with os.fdopen(self._roots.open_file(path), "rb") as stream:
            yield stream

    def exists(self, path: str) -> bool:
        """Tell whether `path` names something; see `Files.exists`."""
        return self.kind(path) != "missing"

    def kind(self, path: str) -> FileKind:
        """Say what `path` names; see `Files.kind`."""
        try:
            handle = self._roots.open_handle(path)
        except ToolError as error:
            if error.kind is ErrorKind.NOT_FOUND:
                return "missing"
            raise
        try:
            mode = os.fstat(handle).st_mode
        finally:
            os.close(handle)
        if stat.S_ISREG(mode):
            return "file"
        return "directory" if stat.S_ISDIR(mode) else "other"

    def write(self, path: str, data: bytes, expected: str | None) -> None:
        """Replace or create the file; see `Files.write`."""
        located = self._roots.locate(path)
        old = self.read(located, remember=False) if self.kind(located) != "missing" else None
        if expected is not None and expected != (old.digest if old else ""):
            raise ToolError(ErrorKind.STALE, f"File has changed since it was read: {located}. Read it again.")
        place = self._roots.place(located, create=True)
        try:
            for observer in self._observers:
                observer.before_write(place.path, old.data if old else None, data)
            replace_file(place, data)
        except OSError as error:
            raise explain(error, located) from error
        finally:
            os.close(place.parent)
        for observer in self._observers:
            observer.after_write(place.path, True)
        self._seen[place.path] = digest_of(data)

    def seen_digest(self, path: str) -> str | None:
        """Return the digest this session knows; see `Files.seen_digest`."""
        return self._seen.get(self._roots.real(path))

    def protected_reason(self, path: str) -> str | None:
        """Say why writing there must be asked; see `Files.protected_reason`."""
        located = self._roots.locate(path)
        return protected_reason(located) or protected_reason(self._roots.real(located))
