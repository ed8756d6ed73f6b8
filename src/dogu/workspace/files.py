"""Files of the workspace: read whole, open for slices, write atomically; each by descriptor inside the roots.

Below: `roots` (what a path opens), `atomic_write` (how bytes replace bytes). Above: the tools, and the journal as an
observer. No encoding is known here: bytes in, bytes out.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import BinaryIO, Literal, Protocol

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import sentence, told
from dogu.workspace import openat
from dogu.workspace.atomic_write import LARGEST_BYTES, AtomicWriter, OldFile
from dogu.workspace.digest import digest_of
from dogu.workspace.openat import Place
from dogu.workspace.os_errors import explain
from dogu.workspace.pending_writes import PendingWrites, RestoreError
from dogu.workspace.protected import LOOKED_AT_BYTES, protected_reason, secret_content_reason, secret_reason
from dogu.workspace.roots import Roots, slashed
from dogu.workspace.sandbox.git_named import is_named, named_by_git

FileKind = Literal["file", "directory", "missing", "other"]


class FileContent(msgspec.Struct, frozen=True):
    """A file as read at one moment.

    `path` is absolute, `digest` hex of `data`, `mode` the permission bits, `links` the number of its names, and
    `real_path` differs from `path` when a symbolic link led there.
    """

    path: str
    data: bytes
    digest: str
    mode: int = 0o644
    links: int = 1
    real_path: str = ""


class FileChange(msgspec.Struct, frozen=True):
    """One write: `path` absolute and without links; `old` and `old_mode` None for a new file, `new` for one that goes.

    `made` are the folders made for it, absolute, outermost first. `old` can be read until `before_write` returns;
    `new_digest` is that of `new`.
    """

    path: str
    old: OldFile | None
    new: bytes | None
    old_mode: int | None = None
    made: tuple[str, ...] = ()
    new_digest: str = ""


class WriteObserver(Protocol):
    """Is told of each write; the journal is one."""

    def before_write(self, change: FileChange) -> None:
        """Take note of what is about to happen; raising OSError or `ToolError` stops the write."""
        ...

    def after_write(self, change: FileChange, done: bool) -> None:
        """Take note of how it ended; not `done` means that nothing has changed."""
        ...


class Files(Protocol):
    """What tools ask of the file system. One instance a session: it remembers what the session has seen."""

    def read(self, path: str, max_bytes: int | None = None, *, remember: bool = True) -> FileContent:
        """Return the whole file. Raises `ToolError` (TOO_LARGE past `max_bytes`, NOT_FOUND, ...).

        With `remember` the session counts as having seen this content (`seen_digest`); leave it off when the model
        won't see it.
        """
        ...

    def open(self, path: str) -> AbstractContextManager[BinaryIO]:
        """Open a regular file for reading slices of it. Raises `ToolError`."""
        ...

    def exists(self, path: str) -> bool:
        """Whether `path` names something, links followed inside the roots."""
        ...

    def kind(self, path: str) -> FileKind:
        """Say what `path` names, links followed inside the roots; never opens it for reading."""
        ...

    def write(self, path: str, data: bytes, expected: str | None, *, mode: int | None = None) -> None:
        """Replace or create the file, atomically and durably, making parents; `mode` is that of a new file.

        `expected` is the digest the file must still have, `""` for "must not exist", None for "whatever it is".
        Raises `ToolError` (STALE when it isn't as expected, PROTECTED when the place is protected and
        `protected_reason` hasn't been asked about it, ...); then nothing has changed.
        """
        ...

    def remove(self, path: str, expected: str) -> None:
        """Remove a regular file that still has this digest, durably. Raises as `write`, and NOT_FOUND."""
        ...

    def seen_digest(self, path: str) -> str | None:
        """Return the digest of what this session last read (remembered) or wrote at `path`, or None."""
        ...

    def protected_reason(self, path: str) -> str | None:
        """Say why writing to `path` must be asked whatever the mode, or None."""
        ...

    def secret_reason(self, path: str) -> str | None:
        """Say why showing the content of `path` to a model must be asked, or None."""
        ...


_OTHER_NAMES = sentence("The file has other names (hard links), which may lie outside the workspace.")
_MAKES_A_REPOSITORY = sentence("HEAD and config make a folder a repository, whose settings name programs that git runs")
_NAMED_BY_GIT = sentence("version control runs hooks and programs named there")
_BARE = frozenset(("HEAD", "config"))
_PACKAGES = frozenset(("node_modules", "site-packages", ".venv", "venv", ".pnpm-store", "target", "vendor", ".git"))


def _is_of_packages(path: str) -> bool:
    """Whether package managers made it, which link the same file into many projects."""
    return not _PACKAGES.isdisjoint(path.split("/"))


def _read_whole(stream: BinaryIO, size: int, limit: int) -> bytes:
    """Read what there is, which may have grown since its size was asked; the room for the limit isn't taken at once."""
    data = stream.read(size + 1)
    return data if len(data) <= size else data + stream.read(limit + 1 - len(data))


class LocalFiles:
    """The files of this machine below `roots`.

    `pending` is a folder of the user's own, outside of what tools and sandboxed commands may write, for the notes from
    which `pending_writes.recover` puts right what a killed process left; None goes without. `unprotected` are the
    protected files and folders that the user lets be written without a question, as paths.
    """

    def __init__(
        self,
        roots: Roots,
        observers: Sequence[WriteObserver] = (),
        *,
        pending: str | None = None,
        unprotected: Sequence[str] = (),
        writer: AtomicWriter | None = None,
    ) -> None:
        self._roots = roots
        self._observers = tuple(observers)
        self._writer = writer or AtomicWriter(PendingWrites(pending))
        self._unprotected = tuple(slashed(os.path.join(roots.primary, path)).rstrip("/") for path in unprotected)
        self._seen: dict[str, str] = {}
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def read(self, path: str, max_bytes: int | None = None, *, remember: bool = True) -> FileContent:
        """Return the whole file; see `Files.read`."""
        located = self._roots.locate(path)
        limit = LARGEST_BYTES if max_bytes is None else max_bytes
        with self.open(located) as stream:
            status = os.fstat(stream.fileno())
            try:
                data = _read_whole(stream, status.st_size, limit) if status.st_size <= limit else b""
            except OSError as error:
                raise explain(error, located) from error
            if status.st_size > limit or len(data) > limit:
                size = max(status.st_size, len(data))
                message = f"File too large: {located} has {size} bytes, the limit is {limit}. Read a part of it."
                raise ToolError(ErrorKind.TOO_LARGE, message)
            real = self._roots.real_of(stream.fileno(), located)
        mode = stat.S_IMODE(status.st_mode)
        content = FileContent(located, data, digest_of(data), mode, status.st_nlink, real)
        if remember:
            self._seen[real] = content.digest
        return content

    @contextmanager
    def open(self, path: str) -> Generator[BinaryIO]:
        """Open a regular file for reading slices of it; see `Files.open`."""
        with os.fdopen(self._roots.open_file(path), "rb") as stream:
            yield stream

    def exists(self, path: str) -> bool:
        """Whether `path` names something; see `Files.exists`."""
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
            openat.close(handle)
        if stat.S_ISREG(mode):
            return "file"
        return "directory" if stat.S_ISDIR(mode) else "other"

    def write(self, path: str, data: bytes, expected: str | None, *, mode: int | None = None) -> None:
        """Replace or create the file; see `Files.write`."""
        located = self._roots.locate(path)
        with self._lock:
            digest = digest_of(data)
            place = self._roots.place(located, create=True)
            try:
                try:
                    self._refuse_untold(place)
                    self._write_at(place, data, digest, expected, mode)
                finally:
                    openat.close(place.parent)  # Windows may remove no folder that is open
            except BaseException as error:
                self._roots.remove_folders(place.made)
                if isinstance(error, RestoreError):
                    raise _unrestored(error, located) from error
                if isinstance(error, OSError):
                    raise explain(error, located) from error
                raise
            self._seen[place.path] = digest

    def remove(self, path: str, expected: str) -> None:
        """Remove a regular file; see `Files.remove`."""
        located = self._roots.locate(path)
        with self._lock:
            place = self._roots.place(located)
            try:
                self._refuse_untold(place)
                with self._observed() as observe:
                    self._writer.remove(place, lambda old: observe(place, old, None, "", expected))
            except OSError as error:
                raise explain(error, located) from error
            finally:
                openat.close(place.parent)
            self._seen.pop(place.path, None)

    def seen_digest(self, path: str) -> str | None:
        """Return the digest this session knows; see `Files.seen_digest`."""
        return self._seen.get(self._roots.real(path)) if self._seen else None

    def protected_reason(self, path: str) -> str | None:
        """Say why writing there must be asked; see `Files.protected_reason`."""
        located = self._roots.locate(path)
        real = self._roots.real(located)
        reason = self._why_protected(real, located)
        if reason:
            self._told.add(real)
        return reason

    def secret_reason(self, path: str) -> str | None:
        """Say why showing it to a model must be asked; see `Files.secret_reason`."""
        located = self._roots.locate(path)
        real = self._roots.real(located)
        return (
            secret_reason(self._named(located)) or secret_reason(self._named(real)) or self._why_content_is_secret(real)
        )

    def _why_content_is_secret(self, real: str) -> str | None:
        """Look into the file: a key by any other name, and what has other names, which may lie outside of the roots."""
        try:
            with self.open(real) as stream:
                if os.fstat(stream.fileno()).st_nlink > 1 and not _is_of_packages(real):
                    return told(_OTHER_NAMES)
                return secret_content_reason(stream.read(LOOKED_AT_BYTES))
        except (OSError, ToolError):  # no file that can be read: whoever reads it says why
            return None

    def _why_protected(self, real: str, spelled: str = "") -> str | None:
        if any(real == place or real.startswith(place + "/") for place in self._unprotected):
            return None
        named = [self._named(path) for path in (real, spelled) if path]
        reason = next(filter(None, map(protected_reason, named)), None)
        return reason or self._why_its_neighbours_protect(real)

    def _why_its_neighbours_protect(self, real: str) -> str | None:
        """What its own name doesn't say: what git's settings name, a bare repository of ordinary files, other names."""
        folder, name = os.path.split(real)
        if is_named(real, named_by_git(self._roots.root_of(real))):
            return told("{name} decides what runs later: {reason}.", name=name, reason=_NAMED_BY_GIT)
        if name in _BARE and any(self.kind(os.path.join(folder, other)) == "file" for other in _BARE - {name}):
            return told("{name} decides what runs later: {reason}.", name=name, reason=_MAKES_A_REPOSITORY)
        try:
            handle = self._roots.open_handle(real)
        except ToolError:
            return None
        try:
            status = os.fstat(handle)
        finally:
            openat.close(handle)
        return told(_OTHER_NAMES) if stat.S_ISREG(status.st_mode) and status.st_nlink > 1 else None

    def _named(self, path: str) -> str:
        # Where the root itself lies says nothing; what it is called does.
        return "/".join([os.path.basename(self._roots.root_of(path)), self._roots.relative(path)])

    def _refuse_untold(self, place: Place) -> None:
        reason = self._why_protected(place.path)
        if reason and place.path not in self._told:
            message = f"Protected place, and nobody was asked about it: {place.path}: {reason} Try again."
            raise ToolError(ErrorKind.PROTECTED, message)

    def _write_at(self, place: Place, data: bytes, digest: str, expected: str | None, mode: int | None) -> None:
        with self._observed() as observe:
            self._writer.write(place, data, lambda old: observe(place, old, data, digest, expected), mode=mode)

    @contextmanager
    def _observed(self) -> Generator[_Observe]:
        """Tell the observers of one change before it is made, and afterwards how it ended."""
        told: list[FileChange] = []

        def observe(place: Place, old: OldFile | None, new: bytes | None, digest: str, expected: str | None) -> None:
            found = old.digest if old else ""
            _check_expected(place.path, found, expected)
            if found == digest:
                return
            mode = stat.S_IMODE(old.status.st_mode) if old else None
            told.append(FileChange(place.path, old, new, mode, place.made, digest))
            for observer in self._observers:
                observer.before_write(told[0])

        done = False
        try:
            yield observe
            done = True
        finally:
            if told:
                for observer in self._observers:
                    observer.after_write(told[0], done)


_Observe = Callable[[Place, OldFile | None, bytes | None, str, str | None], None]


def _check_expected(path: str, found: str, expected: str | None) -> None:
    """Compare digests; an empty one is that of no file."""
    if expected is None or expected == found:
        return
    if not found:
        what = "is gone"
    elif expected == "":
        what = "exists by now"
    else:
        what = "has changed since it was read"
    raise ToolError(ErrorKind.STALE, f"File {what}: {path}. Nothing was written; read it again, then try anew.")


def _unrestored(error: RestoreError, path: str) -> ToolError:
    message = (
        f"Writing {path} failed ({os.strerror(error.errno or 0)}), and so did putting its old content back. "
        "The old content is kept and will be restored when dogu starts again; don't write the file until then."
    )
    return ToolError(ErrorKind.IO_ERROR, message)
