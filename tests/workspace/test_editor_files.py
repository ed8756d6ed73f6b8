"""Files seen through an editor that has changes not saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from dogu.contract import ErrorKind, ToolError
from dogu.workspace.digest import digest_of
from dogu.workspace.editor_files import EditorFiles
from dogu.workspace.files import FileChange
from dogu.workspace.roots import Roots


class Buffers:
    """An editor with texts by path; a save writes them as UTF-8, or not at all."""

    def __init__(self, texts: dict[str, str] | None = None, *, saves: bool = True) -> None:
        self.texts = texts or {}
        self.writes = True
        self.saves = saves
        self.refuses = False

    def text(self, path: str) -> str | None:
        if path in self.texts:
            return self.texts[path]
        try:
            return Path(path).read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            return None

    def write(self, path: str, text: str) -> None:
        if self.refuses:
            raise ToolError(ErrorKind.IO_ERROR, "read-only buffer")
        self.texts[path] = text
        if self.saves:
            Path(path).write_text(text, newline="")


class Noted:
    """Notes changes as the journal does."""

    def __init__(self) -> None:
        self.old: list[bytes | None] = []
        self.ended: list[bool] = []

    def before_write(self, change: FileChange) -> None:
        self.old.append(change.old.read() if change.old else None)
        assert change.old is None or change.old.status.st_size == len(self.old[-1] or b"")

    def after_write(self, change: FileChange, done: bool) -> None:
        self.ended.append(done)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "a.txt"


def files_of(path: Path, editor: Buffers, noted: Noted | None = None) -> EditorFiles:
    return EditorFiles(editor, Roots(str(path.parent)), [noted] if noted else [])


def edited(path: Path, saved: bytes, text: str) -> bytes:
    path.write_bytes(saved)
    return files_of(path, Buffers({str(path): text})).read(str(path)).data


@pytest.mark.parametrize(
    ("saved", "text", "read"),
    [
        (b"a\r\nb\r\n", "a\nb\n", b"a\r\nb\r\n"),
        (b"a\r\nb\r\n", "a\nnew\nb\n", b"a\r\nnew\r\nb\r\n"),
        (b"a\nb\r\nc\n", "a\nb\nmore\nc\n", b"a\nb\r\nmore\nc\n"),
        (b"\xef\xbb\xbfa\n", "a\n", b"\xef\xbb\xbfa\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        ("é à\n".encode("utf-16"), "é ù\n", "é ù\n".encode("utf-16")),
        (b"a\xffb\n", "a\ufffdb\n", b"a\xffb\n"),
        (b"\xa3 12\nna\xefve\n", "\ufffd 12\nna\ufffdve\n", b"\xa3 12\nna\xefve\n"),
        (b"", "typed", b"typed"),
        (b"typed", "", b""),
    ],
)
def test_what_is_unsaved_reads_in_the_files_own_bytes(path: Path, saved: bytes, text: str, read: bytes) -> None:
    assert edited(path, saved, text) == read


def test_a_text_that_an_editor_misreads_as_western_is_not_a_change(path: Path) -> None:
    saved = "これは日本語の文章です。改行もあります。\n".encode("cp932")
    assert edited(path, saved, saved.decode("latin-1")) == saved


def test_unsaved_text_that_the_encoding_cannot_hold_is_told(path: Path) -> None:
    with pytest.raises(ToolError, match="unsaved changes") as raised:
        edited(path, "これは日本語の文章です。改行もあります。\n".encode("cp932"), "これは日本語の文章です。😀\n")
    assert raised.value.kind is ErrorKind.UNENCODABLE


def test_binaries_are_not_asked_of_the_editor(path: Path) -> None:
    assert edited(path, b"\x00\x01\x02binary", "text") == b"\x00\x01\x02binary"


def test_slices_are_of_the_unsaved_text(path: Path) -> None:
    path.write_text("saved")
    with files_of(path, Buffers({str(path): "unsaved"})).open(str(path)) as stream:
        assert stream.read() == b"unsaved"


def test_the_unsaved_text_is_what_an_undo_brings_back(path: Path) -> None:
    path.write_text("saved\n")
    noted = Noted()
    editor = Buffers({str(path): "unsaved\n"})
    files_of(path, editor, noted).write(str(path), b"new\n", digest_of(b"unsaved\n"))
    assert (noted.old, noted.ended) == ([b"unsaved\n"], [True])
    assert (path.read_bytes(), editor.texts[str(path)]) == (b"new\n", "new\n")


def test_staleness_is_judged_by_the_unsaved_text(path: Path) -> None:
    path.write_text("saved\n")
    files = files_of(path, Buffers({str(path): "unsaved\n"}))
    with pytest.raises(ToolError) as raised:
        files.write(str(path), b"new\n", digest_of(b"saved\n"))
    assert raised.value.kind is ErrorKind.STALE
    assert path.read_text() == "saved\n"


@pytest.mark.parametrize("data", [b"zwei\r\n", b"\xef\xbb\xbfzwei\n", "zwéi\n".encode("utf-16")])
def test_the_disk_holds_the_approved_bytes_though_the_editor_writes_others(path: Path, data: bytes) -> None:
    files_of(path, Buffers()).write(str(path), data, "")
    assert path.read_bytes() == data


def test_an_editor_that_does_not_save_is_helped(path: Path) -> None:
    path.write_text("old\n")
    files_of(path, Buffers(saves=False)).write(str(path), b"new\n", None)
    assert path.read_text() == "new\n"


def test_an_editor_that_refuses_is_obeyed(path: Path) -> None:
    path.write_text("old\n")
    editor, noted = Buffers(), Noted()
    editor.refuses = True
    with pytest.raises(ToolError, match="read-only buffer"):
        files_of(path, editor, noted).write(str(path), b"new\n", None)
    assert (path.read_text(), noted.ended) == ("old\n", [False])


def test_a_file_that_nobody_should_write_is_not_handed_to_the_editor(path: Path) -> None:
    path.write_text("old\n")
    path.chmod(0o444)
    editor = Buffers()
    with pytest.raises(ToolError) as raised:
        files_of(path, editor).write(str(path), b"new\n", None)
    assert (raised.value.kind, editor.texts) == (ErrorKind.PERMISSION_DENIED, {})


def test_a_binary_is_written_past_the_editor(path: Path) -> None:
    editor = Buffers()
    files_of(path, editor).write(str(path), b"\x00\x01\x02\x03", "")
    assert (path.read_bytes(), editor.texts) == (b"\x00\x01\x02\x03", {})


def test_outside_of_the_roots_the_editor_is_not_asked(path: Path, tmp_path: Path) -> None:
    root = path.parent / "root"
    root.mkdir()
    path.write_text("outside")
    files = EditorFiles(Buffers({str(path): "unsaved"}), Roots(str(root)))
    with pytest.raises(ToolError) as raised:
        files.read(str(path))
    assert raised.value.kind is ErrorKind.OUTSIDE_WORKSPACE
