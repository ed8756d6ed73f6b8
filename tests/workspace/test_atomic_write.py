import errno
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.atomic_write import AtomicWriter
from dogu.workspace.files import LocalFiles, digest_of
from dogu.workspace.pending_writes import PendingWrites, recover
from dogu.workspace.roots import Roots
from dogu.workspace.syscalls import Syscalls
from dogu.workspace.system import SYSTEM, System

_FAULTS = Path(__file__).with_name("faulty_writes.py")
_AS_ROOT = getattr(os, "geteuid", int)() == 0


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


def refused(act: Callable[[], object]) -> ErrorKind:
    with pytest.raises(ToolError) as caught:
        act()
    return caught.value.kind


def faults(code: int) -> list[dict[str, Any]]:
    done = subprocess.run([sys.executable, _FAULTS, str(code)], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_killed_between_any_two_calls_the_file_is_old_or_new_and_the_next_start_cleans_up():
    reports = faults(0)
    assert {report["scenario"] for report in reports} == {"new", "swap", "in place"}
    for report in reports:
        assert report["recovered"] in ("old", "new", "missing"), report
        assert report["content"] != "torn" or report["scenario"] == "in place", report
        assert report["litter"] <= 1, report
        assert [name for name in report["left"] if not name.endswith(".new")] == [], report
    assert any(report["content"] == "torn" for report in reports), "the note of a write in place was never needed"


@pytest.mark.parametrize(
    "code", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT, errno.EMFILE, errno.EBUSY, errno.EXDEV]
)
def test_whatever_call_fails_the_file_is_as_before_or_the_write_was_done(code: int):
    reports = faults(code)
    assert len(reports) > 30
    for report in reports:
        assert report["litter"] == 0, report
        assert report["left"] == [], report
        if report["ended"] == "done":
            assert report["content"] == "new", report
        else:
            assert report["content"] == ("missing" if report["scenario"] == "new" else "old"), report


@pytest.mark.skipif(SYSTEM is System.POSIX, reason="extended attributes are Linux' own there")
def test_mode_owner_and_extended_attributes_stay(workspace: Path):
    target = workspace / "f"
    target.write_text("old")
    target.chmod(0o2751)
    if _AS_ROOT:
        os.chown(target, 1234, 4321)
        target.chmod(0o2751)
    attributes: dict[str, bytes] = {}
    if sys.platform == "linux":
        try:
            os.setxattr(target, "user.note", b"kept")
            attributes["user.note"] = b"kept"
        except OSError:
            attributes.clear()  # this file system has none
    before = target.stat()
    LocalFiles(Roots(str(workspace))).write("f", b"new", None)
    after = target.stat()
    assert target.read_text() == "new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino
    if attributes and sys.platform == "linux":
        assert os.getxattr(target, "user.note") == b"kept"


@pytest.mark.skipif(SYSTEM is System.POSIX, reason="extended attributes are Linux' own there")
def test_an_acl_the_folder_would_give_to_new_files_is_not_given_to_an_old_one(workspace: Path):
    if sys.platform != "linux":
        pytest.skip("no POSIX ACLs in extended attributes")
    # Version 2; owner rwx, user 4242 rwx, group r-x, mask rwx, others r-x.
    entries = ((1, 7, -1), (2, 7, 4242), (4, 5, -1), (16, 7, -1), (32, 5, -1))
    acl = (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + perm.to_bytes(2, "little") + (who & 0xFFFFFFFF).to_bytes(4, "little")
        for tag, perm, who in entries
    )
    target = workspace / "f"
    target.write_text("old")
    try:
        os.setxattr(workspace, "system.posix_acl_default", acl)
    except OSError:
        pytest.skip("this file system has no ACLs")
    LocalFiles(Roots(str(workspace))).write("f", b"new", None)
    assert "system.posix_acl_access" not in os.listxattr(target)
    os.setxattr(target, "system.posix_acl_access", acl)
    LocalFiles(Roots(str(workspace))).write("f", b"newer", None)
    assert os.getxattr(target, "system.posix_acl_access") == acl


def test_hard_links_stay_one_file(workspace: Path):
    (workspace / "f").write_text("old and longer")
    os.link(workspace / "f", workspace / "g")
    files = LocalFiles(Roots(str(workspace)))
    with pytest.raises(ToolError, match="hard links"):
        files.write("f", b"new", None)
    assert "hard links" in (files.protected_reason("f") or "")  # now somebody was asked
    files.write("f", b"new", None)
    assert (workspace / "g").read_text() == "new"
    assert (workspace / "f").stat().st_nlink == 2


def test_a_link_stays_a_link_and_its_target_gets_the_content(workspace: Path):
    (workspace / "real").write_text("old")
    (workspace / "t").symlink_to("real")
    (workspace / "dangling").symlink_to("to_be")
    files = LocalFiles(Roots(str(workspace)))
    files.write("t", b"new", None)
    files.write("dangling", b"born", "")
    assert os.readlink(workspace / "t") == "real"
    assert (workspace / "real").read_text() == "new"
    assert (workspace / "to_be").read_text() == "born"


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_and_its_folders_follow_the_umask(workspace: Path, mask: int, mode: int):
    before = os.umask(mask)
    try:
        LocalFiles(Roots(str(workspace))).write("d/f", b"new", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((workspace / "d/f").stat().st_mode) == mode
    assert stat.S_IMODE((workspace / "d").stat().st_mode) == 0o777 & ~mask


def test_a_read_only_file_is_refused_although_its_folder_is_writable(workspace: Path):
    (workspace / "f").write_text("old")
    (workspace / "f").chmod(0o444)
    assert refused(lambda: LocalFiles(Roots(str(workspace))).write("f", b"new", None)) is ErrorKind.PERMISSION_DENIED
    assert (workspace / "f").read_text() == "old"


@pytest.mark.skipif(_AS_ROOT, reason="root may write into any folder")
def test_in_a_folder_that_takes_no_new_names_the_file_is_written_in_place(workspace: Path):
    (workspace / "f").write_text("old")
    workspace.chmod(0o555)
    try:
        LocalFiles(Roots(str(workspace))).write("f", b"new", None)
        assert (workspace / "f").read_text() == "new"
        assert (
            refused(lambda: LocalFiles(Roots(str(workspace))).write("g", b"new", None)) is ErrorKind.PERMISSION_DENIED
        )
    finally:
        workspace.chmod(0o755)


class WithoutExchange(Syscalls):
    def exchange(self, folder: int, one: str, other: str, into: int | None = None) -> None:
        raise OSError(errno.EINVAL, "no exchange")

    def rename_to_new(self, folder: int, old: str, new: str, into: int | None = None) -> None:
        raise OSError(errno.EINVAL, "no flags")


class IgnoresFlags(Syscalls):
    """A file system in user space that knows rename(2) only."""

    def exchange(self, folder: int, one: str, other: str, into: int | None = None) -> None:
        self.rename(folder, one, other)


@pytest.mark.parametrize("syscalls", [WithoutExchange(), IgnoresFlags()])
def test_where_names_cannot_change_places_a_plain_rename_does(workspace: Path, syscalls: Syscalls):
    (workspace / "f").write_text("old")
    files = LocalFiles(Roots(str(workspace)), writer=AtomicWriter(syscalls=syscalls))
    files.write("f", b"new", digest_of(b"old"))
    files.write("g", b"born", "")
    assert sorted((path.name, path.read_text()) for path in workspace.iterdir()) == [("f", "new"), ("g", "born")]


class SavesInBetween(Syscalls):
    """An editor saves the file just before the names change places."""

    def __init__(self, save: Callable[[], object]) -> None:
        self.save = save

    def exchange(self, folder: int, one: str, other: str, into: int | None = None) -> None:
        save, self.save = self.save, lambda: None
        save()
        super().exchange(folder, one, other, into)


def test_a_save_by_an_editor_in_the_last_moment_survives(workspace: Path):
    target = workspace / "f"

    def in_place() -> None:
        target.write_text("editor's")

    def by_rename() -> None:
        (workspace / "tmp").write_text("editor's")
        (workspace / "tmp").replace(target)

    # Windows lets nobody else rename over what is open.
    for save in (in_place,) if os.name == "nt" else (in_place, by_rename):
        target.write_text("old")
        files = LocalFiles(Roots(str(workspace)), writer=AtomicWriter(syscalls=SavesInBetween(save)))
        assert refused(lambda files=files: files.write("f", b"new", None)) is ErrorKind.STALE
        assert target.read_text() == "editor's"
        assert os.listdir(workspace) == ["f"]


def test_a_touch_in_the_last_moment_is_no_change(workspace: Path):
    target = workspace / "f"
    target.write_text("old")
    files = LocalFiles(
        Roots(str(workspace)), writer=AtomicWriter(syscalls=SavesInBetween(lambda: os.utime(target, (1, 1))))
    )
    files.write("f", b"new", digest_of(b"old"))
    assert target.read_text() == "new"


def test_an_equal_file_is_not_touched(workspace: Path):
    (workspace / "f").write_text("same")
    before = (workspace / "f").stat()
    LocalFiles(Roots(str(workspace))).write("f", b"same", None)
    assert (workspace / "f").stat() == before


def test_writers_of_one_file_take_turns(workspace: Path):
    (workspace / "f").write_text("0")
    lost: list[ErrorKind] = []

    def count_up() -> None:
        files = LocalFiles(Roots(str(workspace)))
        done = 0
        while done < 20:
            old = files.read("f")
            try:
                files.write("f", str(int(old.data) + 1).encode(), old.digest)
            except ToolError as error:
                lost.append(error.kind)
                continue
            done += 1

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (workspace / "f").read_text() == "80"
    assert set(lost) <= {ErrorKind.STALE}


def test_a_failed_write_leaves_no_folder_behind(workspace: Path):
    class Full(Syscalls):
        def pwrite(self, descriptor: int, data: memoryview, offset: int) -> int:
            raise OSError(errno.ENOSPC, "full")

    files = LocalFiles(Roots(str(workspace)), writer=AtomicWriter(syscalls=Full()))
    with pytest.raises(ToolError, match="No space left"):
        files.write("a/b/c", b"x", "")
    assert os.listdir(workspace) == []


def test_notes_of_the_living_and_of_other_workspaces_are_left_alone(tmp_path: Path, workspace: Path):
    pending = tmp_path / "pending"
    notes = PendingWrites(str(pending))
    temporary = workspace / ".dogu-0123456789abcdef.tmp"
    temporary.write_text("half")
    with notes.temporary(str(temporary)):
        assert recover(str(pending), Roots(str(workspace))) == []
        assert temporary.exists()


def test_a_torn_file_that_somebody_changed_since_is_left_and_the_old_content_kept(tmp_path: Path, workspace: Path):
    pending = tmp_path / "pending"
    target = workspace / "f"
    target.write_text("their own words")
    pending.mkdir()
    header = json.dumps({"path": _b64(str(target)), "in_place": True, "old_bytes": 8, "new_bytes": 8})
    (pending / "0.write").write_bytes(header.encode() + b"\nold text" + b"new text")
    (report,) = recover(str(pending), Roots(str(workspace)))
    assert target.read_text() == "their own words"
    assert report.path == str(target)
    assert Path(report.kept).read_bytes().endswith(b"old textnew text")


def test_a_torn_file_is_restored(tmp_path: Path, workspace: Path):
    pending = tmp_path / "pending"
    pending.mkdir()
    target = workspace / "f"
    old, new = b"o" * 10_000, b"n" * 20_000
    target.write_bytes(new[:5_000] + old[5_000:])
    header = json.dumps({"path": _b64(str(target)), "in_place": True, "old_bytes": len(old), "new_bytes": len(new)})
    (pending / "0.write").write_bytes(header.encode() + b"\n" + old + new)
    assert recover(str(pending), Roots(str(tmp_path / "pending"))) == []
    assert [found.path for found in recover(str(pending), Roots(str(workspace)))] == [str(target)]
    assert target.read_bytes() == old
    assert os.listdir(pending) == []


def _b64(path: str) -> str:
    from base64 import b64encode

    return b64encode(os.fsencode(path)).decode()
