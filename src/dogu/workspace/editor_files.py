"""Files that a user may have open in an editor, with changes not saved yet: what the editor shows is what is there.

A file reads as the editor's text, in the file's own bytes: its encoding, its byte order mark, its line endings. A
write goes through the editor, and afterwards the disk holds exactly the bytes that were approved. Containment,
protected places, staleness and the journal are `LocalFiles`'. What the editor can't hold (binaries, texts that it
can't read) is read and written as ever. Knows no protocol.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import BinaryIO, Protocol

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace import fs
from dogu.workspace.atomic_write import LARGEST_BYTES, AtomicWriter, OldFile, refuse_read_only
from dogu.workspace.digest import digest_of
from dogu.workspace.files import FileContent, LocalFiles, WriteObserver
from dogu.workspace.openat import Place
from dogu.workspace.pending_writes import PendingWrites
from dogu.workspace.roots import Roots
from dogu.workspace.syscalls import Syscalls, write_all
from dogu.workspace.text import decode
from dogu.workspace.text.media import HEAD_BYTES, is_binary, sniff
from dogu.workspace.text.rewrite import rewrite

LARGEST_ASKED_BYTES = 8 << 20
"""Larger files are read from the disk without asking the editor."""
_MISREADINGS = ("latin-1", "cp1252")


class Editor(Protocol):
    """A user's editor; its methods block and are called from worker threads. Paths are absolute, without links.

    `writes` says that it takes texts too.
    """

    writes: bool

    def text(self, path: str) -> str | None:
        """Return the text as the editor has it, unsaved changes included; None when it can't."""
        ...

    def write(self, path: str, text: str) -> None:
        """Have the editor take the text and save it. Raises `ToolError`."""
        ...


class EditorFiles(LocalFiles):
    """`LocalFiles` seen through an editor. See the module."""

    def __init__(
        self,
        editor: Editor,
        roots: Roots,
        observers: Sequence[WriteObserver] = (),
        *,
        pending: str | None = None,
        unprotected: Sequence[str] = (),
    ) -> None:
        writer = EditorWriter(editor, pending)
        super().__init__(roots, observers, pending=pending, unprotected=unprotected, writer=writer)
        self._editor = editor
        self._saved = LocalFiles(roots)

    def read(self, path: str, max_bytes: int | None = None, *, remember: bool = True) -> FileContent:
        """Return the whole file as the editor has it; see `Files.read`."""
        saved = self._saved.read(path, max_bytes, remember=False)
        data = _as_edited(self._editor, saved.real_path, saved.data)
        if data is not saved.data:
            saved = msgspec.structs.replace(saved, data=data, digest=digest_of(data))
            if max_bytes is not None and len(data) > max_bytes:
                message = f"File too large: {saved.path} has {len(data)} bytes unsaved, the limit is {max_bytes}."
                raise ToolError(ErrorKind.TOO_LARGE, message)
        if remember:
            self._seen[saved.real_path] = saved.digest
        return saved

    @contextmanager
    def open(self, path: str) -> Generator[BinaryIO]:
        """Open the file as the editor has it for reading slices of it; see `Files.open`."""
        with self._saved.open(path) as stream:
            if os.fstat(stream.fileno()).st_size > LARGEST_ASKED_BYTES:
                yield stream
                return
            data = stream.read(LARGEST_ASKED_BYTES)
            real = self._roots.real_of(stream.fileno(), self._roots.locate(path))
        yield BytesIO(_as_edited(self._editor, real, data))


class EditorWriter(AtomicWriter):
    """Writes through the editor, and then makes sure of the disk."""

    def __init__(self, editor: Editor, pending: str | None) -> None:
        self._own = Syscalls()
        super().__init__(PendingWrites(pending), self._own)
        self._editor = editor

    def write(
        self, place: Place, data: bytes, check: Callable[[OldFile | None], None], *, mode: int | None = None
    ) -> None:
        """Make `place` hold `data`, and the editor show it; `check` is told what the editor has. See `AtomicWriter`."""
        text = self._text_for(data)
        if text is None or mode is not None:
            super().write(place, data, check, mode=mode)
            return
        with self._locked(place) as folder:
            old = self._look(folder, place)
            try:
                is_held = self._checked(place, old, check)
                if old is not None:
                    refuse_read_only(folder, place, old)
            finally:
                if old is not None:
                    self._close(old.descriptor)
            failure = self._hand_over(place.path, text) if is_held else None
            self._make_sure(folder, place, data, failure)

    def _text_for(self, data: bytes) -> str | None:
        """The new content as the editor should be given it; None when it is none of the editor's."""
        if not self._editor.writes or not _is_text(data) or len(data) > LARGEST_ASKED_BYTES:
            return None
        text = decode(data).text
        return None if any("\ud800" <= character <= "\udfff" for character in text) else text

    def _checked(self, place: Place, old: OldFile | None, check: Callable[[OldFile | None], None]) -> bool:
        """Have checked what is there, as the editor has it; tell whether the editor holds the file."""
        if old is None:
            check(None)
            return True
        saved = old.read()
        edited, is_held = _reading(self._editor, place.path, saved)
        if edited is saved:
            check(old)
            return is_held
        with _as_old_file(old, edited, self._own) as unsaved:
            check(unsaved)
        return True

    def _hand_over(self, path: str, text: str) -> ToolError | None:
        try:
            self._editor.write(path, text)
        except ToolError as error:
            return error
        return None

    def _make_sure(self, folder: int, place: Place, data: bytes, failure: ToolError | None) -> None:
        """Let the disk hold exactly `data`, whatever the editor made of the text; an editor that refused is obeyed."""
        now = self._look(folder, place)
        try:
            if now is not None and now.holds(data):
                return
            if failure is not None:
                raise failure
            if now is None:
                self._create(folder, place, data, None)
            else:
                self._replace(folder, place, data, now)
        finally:
            if now is not None:
                self._close(now.descriptor)


def _as_edited(editor: Editor, path: str, saved: bytes) -> bytes:
    return _reading(editor, path, saved)[0]


def _reading(editor: Editor, path: str, saved: bytes) -> tuple[bytes, bool]:
    """The file's bytes as the editor has them (`saved` itself if nothing is unsaved), and whether it can hold it."""
    if not _is_text(saved) or len(saved) > LARGEST_ASKED_BYTES:
        return saved, False
    text = editor.text(path)
    if text is None:
        return saved, False
    return _edited(path, saved, text)


def _edited(path: str, saved: bytes, text: str) -> tuple[bytes, bool]:
    old = decode(saved)
    if "\ufffd" in text and "\ufffd" not in old.text:
        return saved, False  # the editor doesn't understand the file's encoding
    if _plain(text) == _plain(old.text):
        return saved, True
    if not old.is_utf8 and _is_misread(text, saved):
        return saved, False
    try:
        edited = rewrite(old, text).data
    except ToolError as error:
        message = f"{path} has unsaved changes that its encoding can't hold; they must be saved first. {error.message}"
        raise ToolError(ErrorKind.UNENCODABLE, message) from error
    if len(edited) > LARGEST_BYTES:
        raise ToolError(ErrorKind.TOO_LARGE, f"File too large: {path} has {len(edited)} bytes unsaved.")
    return edited, True


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _is_misread(text: str, saved: bytes) -> bool:
    """Whether the text is what an editor shows that takes the bytes for Western European ones."""
    return any(_plain(saved.decode(codec, "replace")) == _plain(text) for codec in _MISREADINGS)


def _is_text(data: bytes) -> bool:
    return not is_binary(data[:HEAD_BYTES]) and sniff(data[:HEAD_BYTES], "") is None


@contextmanager
def _as_old_file(saved: OldFile, edited: bytes, syscalls: Syscalls) -> Generator[OldFile]:
    """What the editor has unsaved, as the file that is about to be overwritten: that is what an undo brings back."""
    descriptor = fs.unnamed("unsaved")
    try:
        write_all(syscalls, descriptor, edited)
        fs.fchmod(descriptor, stat.S_IMODE(saved.status.st_mode))
        yield OldFile(saved.path, descriptor, digest_of(edited), os.fstat(descriptor), syscalls)
    finally:
        os.close(descriptor)
