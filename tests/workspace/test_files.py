import os
from pathlib import Path

import pytest

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.files import FileChange, LocalFiles, digest_of
from dogu.workspace.roots import Roots


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/f").write_bytes(b"text\r\n\0")
    return tmp_path / "ws"


@pytest.fixture
def files(workspace: Path) -> LocalFiles:
    return LocalFiles(Roots(str(workspace)))


def kind_of(caught: pytest.ExceptionInfo[ToolError]) -> ErrorKind:
    return caught.value.kind


def test_a_file_is_read_whole_with_its_digest(files: LocalFiles, workspace: Path):
    read = files.read("f")
    assert read.data == b"text\r\n\0"
    assert read.path == f"{workspace}/f"
    assert read.digest == digest_of(read.data)
    with files.open("f") as stream:
        stream.seek(4)
        assert stream.read() == b"\r\n\0"


def test_a_file_past_the_limit_is_refused_before_it_is_read(files: LocalFiles, workspace: Path):
    assert files.read("f", max_bytes=7).data
    with pytest.raises(ToolError) as caught:
        files.read("f", max_bytes=6)
    assert kind_of(caught) is ErrorKind.TOO_LARGE
    os.truncate(workspace / "f", 1 << 40)
    with pytest.raises(ToolError) as caught:
        files.read("f")
    assert kind_of(caught) is ErrorKind.TOO_LARGE


def test_kinds_are_told_without_opening(files: LocalFiles, workspace: Path):
    os.mkfifo(workspace / "p")
    (workspace / "l").symlink_to("f")
    (workspace / "dangling").symlink_to("nothing")
    kinds = [files.kind(path) for path in ("f", "l", ".", "p", "nothing", "dangling", "no/such")]
    assert kinds == ["file", "file", "directory", "other", "missing", "missing", "missing"]
    with pytest.raises(ToolError):
        files.kind("/etc/passwd")


def test_a_write_needs_the_file_to_be_as_expected(files: LocalFiles, workspace: Path):
    with pytest.raises(ToolError) as caught:
        files.write("f", b"new", digest_of(b"something else"))
    assert kind_of(caught) is ErrorKind.STALE
    with pytest.raises(ToolError) as caught:
        files.write("f", b"new", "")
    assert kind_of(caught) is ErrorKind.STALE
    with pytest.raises(ToolError) as caught:
        files.write("gone/g", b"new", digest_of(b""))
    assert kind_of(caught) is ErrorKind.STALE
    assert not (workspace / "gone").exists()
    os.utime(workspace / "f", (1, 1))
    files.write("f", b"new", digest_of(b"text\r\n\0"))
    assert (workspace / "f").read_bytes() == b"new"


@pytest.mark.parametrize("path", ["d", "p", "f/x"])
def test_what_is_no_file_cannot_be_written(files: LocalFiles, workspace: Path, path: str):
    (workspace / "d").mkdir()
    os.mkfifo(workspace / "p")
    with pytest.raises(ToolError) as caught:
        files.write(path, b"x", None)
    assert kind_of(caught) is ErrorKind.WRONG_FILE_TYPE
    assert sorted(os.listdir(workspace)) == ["d", "f", "p"]


def test_the_session_remembers_what_it_read_and_wrote(files: LocalFiles, workspace: Path):
    (workspace / "l").symlink_to("f")
    assert files.seen_digest("f") is None
    files.read("f", remember=False)
    assert files.seen_digest("f") is None
    files.read("l")
    assert files.seen_digest("f") == digest_of(b"text\r\n\0")
    files.write("f", b"new", None)
    assert files.seen_digest("l") == digest_of(b"new")
    assert files.seen_digest("missing") is None


def test_a_protected_place_is_known_through_links_and_before_it_exists(files: LocalFiles, workspace: Path):
    (workspace / ".git").mkdir()
    (workspace / "innocent").symlink_to(".git")
    (workspace / "file").symlink_to(".GIT/config")
    for path in (".git/hooks/x", "sub/.git/config", "innocent/hooks/x", "file", "innocent/../.git/config"):
        assert files.protected_reason(path), path
    assert files.protected_reason("f") is None
    assert files.protected_reason("missing/f") is None


def test_a_protected_place_nobody_was_asked_about_is_not_written(files: LocalFiles, workspace: Path):
    with pytest.raises(ToolError) as caught:
        files.write(".git/hooks/x", b"x", None)
    assert kind_of(caught) is ErrorKind.PROTECTED
    assert not (workspace / ".git").exists()
    assert files.protected_reason(".git/hooks/x")
    files.write(".git/hooks/x", b"x", "")
    assert (workspace / ".git/hooks/x").read_bytes() == b"x"


def test_a_place_the_user_has_freed_is_written_without_a_question(workspace: Path):
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode/trap").symlink_to("../.git")
    files = LocalFiles(Roots(str(workspace)), unprotected=[".vscode/", "sub/.envrc"])
    assert files.protected_reason(".vscode/settings.json") is None
    files.write(".vscode/settings.json", b"{}", "")
    assert files.protected_reason("sub/.envrc") is None
    for path in (".vscode/trap/config", "sub/.envrc2/../.bashrc", ".vscode2/../.idea/x", "sub/.vscode/x"):
        assert files.protected_reason(path), path


def test_a_secret_file_is_known_through_links(files: LocalFiles, workspace: Path):
    (workspace / ".env").write_text("KEY=1")
    (workspace / "settings").symlink_to(".env")
    assert files.secret_reason("settings")
    assert files.secret_reason("f") is None


class Recording:
    def __init__(self) -> None:
        self.told: list[tuple[str, FileChange]] = []
        self.old: list[bytes] = []

    def before_write(self, change: FileChange) -> None:
        self.old.append(change.old.read() if change.old else b"")
        self.told.append(("before", change))
        if change.new == b"stop":
            raise OSError(28, "full")

    def after_write(self, change: FileChange, done: bool) -> None:
        self.told.append(("done" if done else "failed", change))


def test_observers_hear_of_each_write_and_may_stop_it(workspace: Path):
    observer = Recording()
    files = LocalFiles(Roots(str(workspace)), [observer])
    files.write("d/e/g", b"new", "")
    made = (f"{workspace}/d", f"{workspace}/d/e")
    first = FileChange(f"{workspace}/d/e/g", None, b"new", None, made, digest_of(b"new"))
    assert observer.told == [("before", first), ("done", first)]
    with pytest.raises(ToolError, match="No space left"):
        files.write("f", b"stop", None)
    assert [what for what, _ in observer.told[2:]] == ["before", "failed"]
    assert observer.old == [b"", b"text\r\n\0"]
    assert (workspace / "f").read_bytes() == b"text\r\n\0"


def test_observers_hear_nothing_of_a_write_that_changes_nothing(workspace: Path):
    observer = Recording()
    LocalFiles(Roots(str(workspace)), [observer]).write("f", b"text\r\n\0", None)
    assert observer.told == []


def test_a_large_file_and_an_empty_one_come_back_byte_for_byte(files: LocalFiles, workspace: Path):
    large = os.urandom(1 << 16) * 200
    files.write("large", large, "")
    files.write("empty", b"", "")
    assert files.read("large").data == large
    assert files.read("empty").data == b""
    files.write("large", b"", digest_of(large))
    assert (workspace / "large").read_bytes() == b""


PRIVATE = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize("name", ["server.key", "notes.txt", "deep/README.md"])
def test_a_private_key_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"kept here:\n{PRIVATE}")
    assert "private key" in (LocalFiles(Roots(str(tmp_path))).secret_reason(name) or "")
    path.write_text('HEADER = "-----BEGIN OPENSSH PRIVATE KEY-----"  # what a parser looks for\n')
    assert LocalFiles(Roots(str(tmp_path))).secret_reason(name) is None


def test_a_file_with_other_names_is_asked_about(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").write_text("x")
    os.link(tmp_path / "outside", root / "inside")
    files = LocalFiles(Roots(str(root)))
    assert "hard links" in (files.secret_reason("inside") or "")
    with pytest.raises(ToolError, match="nobody was asked"):
        files.write("inside", b"y", None)
    assert (tmp_path / "outside").read_text() == "x"


@pytest.mark.parametrize("name", ["HEAD", "config"])
def test_what_makes_a_folder_a_repository_is_asked_about(tmp_path: Path, name: str) -> None:
    files = LocalFiles(Roots(str(tmp_path)))
    assert files.protected_reason(f"evil/{name}") is None
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / ("config" if name == "HEAD" else "HEAD")).write_text("")
    assert "repository" in (files.protected_reason(f"evil/{name}") or "")
