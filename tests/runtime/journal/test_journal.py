import errno
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dogu.contract.errors import ErrorKind, ToolError
from dogu.runtime.journal import Journal, Keeping, watch
from dogu.runtime.journal.choice import Consent, Wanted
from dogu.runtime.journal.kept import Kept
from dogu.runtime.journal.remains import tidy
from dogu.runtime.journal.undo import UndoReport
from dogu.workspace.files import LocalFiles
from dogu.workspace.roots import Roots
from dogu.workspace.snapshot.limits import SnapshotLimits
from dogu.workspace.snapshot.trees import TreeSnapshots
from dogu.workspace.system import IS_LINUX

pytestmark = pytest.mark.anyio


@contextmanager
def locked_file_in(folder: Path) -> Generator[None]:
    """Have another program hold a lock on an empty file."""
    lock = (
        "import fcntl, sys; f = open('guard', 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", lock], cwd=folder, stdin=pipe, stdout=pipe) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        yield
        other.stdin.close()


class Session:
    """A workspace with a journal, as a door would have it."""

    def __init__(self, base: Path, limits: SnapshotLimits | None = None) -> None:
        self.base = base
        self.workspace = base / "ws"
        self.workspace.mkdir(exist_ok=True)
        self.folder = base / "state/sessions/one"
        self.roots = Roots(str(self.workspace))
        self.journal = Journal(str(self.folder), self.roots, Keeping(limits=limits))
        self.files = LocalFiles(self.roots, [self.journal])

    def path(self, name: str) -> Path:
        return self.workspace / name

    def name(self, path: str) -> str:
        return os.path.relpath(path, self.workspace).replace(os.sep, "/")

    async def write(self, name: str, data: bytes, call_id: str = "w") -> None:
        async with self.journal.call(call_id, f"Writing to {name}", snapshot=False):
            await to_thread.run_sync(self.files.write, name, data, None)

    async def command(self, act: Callable[[], object], call_id: str = "sh") -> None:
        async with self.journal.call(call_id, "a command", snapshot=True):
            act()

    def undo(self, *, force: bool = False, unsure: bool = True, **wanted: Any) -> UndoReport:
        """Undo what is wanted, by default also what somebody else may have done."""
        return self.journal.undo(Wanted(**wanted), Consent(force=force, unsure=unsure))

    def tree(self) -> dict[str, object]:
        """All that is in the workspace, but for times."""
        found: dict[str, object] = {}
        for folder, folders, names in os.walk(self.workspace):
            for name in folders + names:
                path = os.path.join(folder, name)
                status = os.lstat(path)
                held: object = None
                if stat.S_ISLNK(status.st_mode):
                    held = os.readlink(path)
                elif stat.S_ISREG(status.st_mode):
                    held = Path(path).read_bytes()
                mode = 0 if stat.S_ISLNK(status.st_mode) else status.st_mode
                found[self.name(path)] = (mode, held)
        return found

    def reopened(self) -> Journal:
        return Journal(str(self.folder), self.roots)


@pytest.mark.skipif(not IS_LINUX, reason="attributes are kept on Linux")
@pytest.mark.parametrize("act", ["write", "remove"])
async def test_a_tool_s_undo_brings_back_owner_and_attributes(session: Session, act: str):
    file = session.path("f")
    file.write_bytes(b"old")
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("no attributes on this file system")
    os.chown(file, os.getuid(), os.getgroups()[-1] if os.getgroups() else -1)
    owner = file.stat().st_gid
    async with session.journal.call("c", "c", snapshot=False):
        if act == "write":
            await to_thread.run_sync(session.files.write, "f", b"new", None)
        else:
            await to_thread.run_sync(session.files.remove, "f", session.files.read("f").digest)
    assert session.undo().done
    assert file.read_bytes() == b"old"
    assert os.getxattr(file, "user.note") == b"kept"
    assert file.stat().st_gid == owner


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def changed(report: UndoReport, session: Session) -> dict[str, str]:
    return {session.name(path): what for path, what in report.restored}


async def test_a_write_is_undone_to_the_byte_and_the_mode(session: Session):
    session.path("f").write_bytes(b"old\r\n\xff")
    session.path("f").chmod(0o751)
    before = session.tree()
    await session.write("f", b"new")
    report = session.undo()
    assert changed(report, session) == {"f": "restored"}
    assert session.tree() == before


async def test_a_removed_file_comes_back_to_the_byte_and_the_mode(session: Session):
    session.path("f").write_bytes(b"old\xff")
    session.path("f").chmod(0o640)
    before = session.tree()
    async with session.journal.call("d", "Delete f", snapshot=False):
        await to_thread.run_sync(session.files.remove, "f", session.files.read("f").digest)
    assert session.tree() == {}
    assert session.undo().done
    assert session.tree() == before


async def test_a_file_that_changed_is_not_removed(session: Session):
    session.path("f").write_bytes(b"old")
    digest = session.files.read("f").digest
    session.path("f").write_bytes(b"new")
    with pytest.raises(ToolError) as stale:
        session.files.remove("f", digest)
    assert stale.value.kind is ErrorKind.STALE
    assert session.path("f").read_bytes() == b"new"


async def test_a_name_that_is_no_text_is_written_and_undone(session: Session):
    name = os.fsdecode(b"n\xff")
    await session.write(name, b"new", call_id="\ud800")
    assert session.journal.entries()[0].title == "Writing to n\\udcff"
    assert session.undo().done
    assert session.tree() == {}


async def test_a_created_file_goes_with_its_folders_but_not_with_others_files(session: Session):
    await session.write("a/b/new", b"x")
    session.path("a/other").write_text("somebody's")
    report = session.undo()
    assert session.tree().keys() == {"a", "a/other"}
    assert [(os.path.basename(each.path), "other files" in each.reason) for each in report.refused] == [("a", True)]
    assert report.done


async def test_what_could_not_be_brought_back_can_be_undone_again(session: Session):
    session.path("f").write_text("old")
    before = session.tree()

    def act() -> None:
        session.path("f").unlink()
        session.path("g").write_text("new")

    await session.command(act)
    writes, failing = Kept.write_to, [True]

    def write(self: Kept, *args: Any) -> None:
        if failing:
            failing.clear()
            raise PermissionError(errno.EACCES, "no")
        writes(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kept, "write_to", write)
        report = session.undo()
        assert not report.done
        assert changed(report, session) == {"g": "removed"}
        assert [session.name(each.path) for each in report.refused] == ["f"]
        report = session.undo()
    assert report.done
    assert changed(report, session) == {"f": "brought back"}
    assert session.tree() == before


async def test_a_write_that_was_noted_and_then_killed_stands_in_no_undos_way(session: Session):
    async def noted(data: bytes) -> None:
        """What a kill between the note and the write leaves: a note, and the file as it was."""
        path = session.path("a")
        held = path.read_bytes() if path.exists() else None
        await session.write("a", data, "killed")
        path.unlink() if held is None else path.write_bytes(held)

    await noted(b"never made")
    await session.write("a", b"one", "1")
    await noted(b"never written")
    await noted(b"nor this")
    await session.write("a", b"two", "2")
    await noted(b"at last")
    report = session.reopened().undo(Wanted(to="1"))
    assert report.done, report
    assert not session.path("a").exists()


async def test_a_later_change_by_somebody_else_is_not_undone_unless_forced(session: Session):
    session.path("f").write_text("old")
    await session.write("f", b"ours")
    session.path("f").write_text("theirs")
    report = session.undo()
    assert not report.done
    assert "somebody has changed it" in report.refused[0].reason
    assert session.path("f").read_text() == "theirs"
    assert session.undo(force=True).done
    assert session.path("f").read_text() == "old"


async def test_a_conflict_on_one_path_leaves_that_path_alone(session: Session):
    def two() -> None:
        session.path("f").write_text("ours")
        session.path("g").write_text("ours")

    await session.command(two)
    session.path("g").write_text("theirs")
    report = session.undo()
    assert changed(report, session) == {"f": "removed"}
    assert [session.name(each.path) for each in report.refused] == ["g"]
    assert session.tree().keys() == {"g"}
    assert session.undo(force=True).done
    assert session.tree() == {}


async def test_what_no_word_brings_back_does_not_hold_up_the_calls_before_it(tmp_path: Path):
    session = Session(tmp_path, SnapshotLimits(file_bytes=1000))
    for name in ("first", "second"):
        session.path(name).write_text(name)
    session.path("large").write_bytes(b"x" * 2000)
    await session.command(lambda: session.path("first").write_text("changed"), "one")
    await session.command(lambda: session.path("large").write_bytes(b"y" * 2000), "two")
    await session.command(lambda: session.path("second").write_text("changed"), "three")

    for _ in range(2):
        (refusal,) = session.undo(unsure=False).refused
        assert session.name(refusal.path) == "second", "what a word would bring back is asked about again"
    assert changed(session.undo(), session) == {"second": "restored"}
    report = session.undo()
    assert [session.name(each.path) for each in report.refused] == ["large"]
    assert changed(session.undo(), session) == {"first": "restored"}
    with pytest.raises(ToolError, match="Nothing to undo"):
        session.undo()
    assert session.undo(call_id="two").refused  # named, it is tried again


async def test_what_changed_while_a_command_ran_is_only_undone_with_consent_or_by_its_name(session: Session):
    session.path("notes").write_text("before")

    def act() -> None:
        session.path("ours").write_text("the command's")
        session.path("mine").write_text("a person's, saved meanwhile")
        session.path("notes").write_text("before, and a person's line")

    await session.command(act)
    after = session.tree()
    report = session.undo(unsure=False)
    assert {(session.name(each.path), each.needs) for each in report.refused} == {
        ("ours", "unsure"),
        ("mine", "unsure"),
        ("notes", "unsure"),
    }
    assert session.tree() == after
    assert session.undo(unsure=False, path=str(session.path("ours"))).done
    assert session.tree().keys() == {"mine", "notes"}
    assert session.undo().done
    assert session.path("notes").read_text() == "before"


async def test_undone_is_redone_and_undone_again_step_by_step(session: Session):
    for text in (b"1", b"2", b"3"):
        await session.write("f", text, text.decode())
    session.undo()
    session.undo()
    assert session.path("f").read_bytes() == b"1"
    assert session.journal.redo().done
    assert session.path("f").read_bytes() == b"2"
    assert session.reopened().redo().done
    assert session.path("f").read_bytes() == b"3"
    with pytest.raises(ToolError, match="Nothing to redo"):
        session.journal.redo()
    assert session.undo(to="1").done
    assert not session.path("f").exists()
    assert session.journal.redo().done
    assert session.path("f").read_bytes() == b"3"


async def test_what_a_redo_had_to_leave_can_be_redone_later(session: Session):
    await session.write("f", b"ours")
    await session.write("g", b"ours too")
    assert session.undo(to="1").done
    session.path("f").write_bytes(b"a person's")
    assert not session.journal.redo().done
    assert session.path("g").read_bytes() == b"ours too"
    with pytest.raises(ToolError, match="Nothing to redo"):
        session.journal.redo()
    assert session.journal.redo(consent=Consent(force=True)).done
    assert session.path("f").read_bytes() == b"ours"


async def test_a_redo_takes_nothing_of_what_was_written_since(session: Session):
    await session.write("f", b"ours")
    session.undo()
    session.path("f").write_bytes(b"a person's")
    report = session.journal.redo()
    assert not report.done
    assert session.path("f").read_bytes() == b"a person's"


async def test_calls_are_undone_one_after_the_other(session: Session):
    for content in (b"1", b"2", b"3"):
        await session.write("f", content, call_id=content.decode())
    for expected in ("2", "1"):
        assert session.undo().done
        assert session.path("f").read_text() == expected
    session.undo()
    assert not session.path("f").exists()
    with pytest.raises(ToolError) as caught:
        session.undo()
    assert caught.value.kind is ErrorKind.NOT_FOUND


async def test_one_call_cannot_be_undone_from_under_a_later_one(session: Session):
    await session.write("f", b"1", "first")
    await session.write("f", b"2", "second")
    await session.write("g", b"3", "third")
    report = session.undo(call_id="first")
    assert "undo that first" in report.refused[0].reason
    assert session.undo(call_id="third").done
    assert session.tree().keys() == {"f"}


async def test_several_calls_a_turn_and_all_back_to_a_point_are_undone_at_once(session: Session):
    session.journal.next_turn()
    await session.write("f", b"1", "a")
    session.journal.next_turn()
    await session.write("f", b"2", "b")
    await session.write("g", b"2", "c")
    session.journal.next_turn()
    await session.write("f", b"3", "d")
    assert [entry.turn for entry in session.journal.entries()] == [1, 2, 2, 3]
    assert session.undo(to="d").calls == (4,)
    assert session.undo(turn=2).calls == (3, 2)
    assert session.path("f").read_text() == "1"
    assert not session.path("g").exists()
    await session.write("g", b"4", "e")
    assert session.undo(last=2).calls == (6, 1) or session.tree() == {}


async def test_all_that_a_command_did_is_undone(session: Session):
    session.path("keep").write_text("untouched")
    session.path("edited").write_text("before\n")
    session.path("gone").write_bytes(b"\0binary\xff")
    session.path("gone").chmod(0o600)
    session.path("moved").write_text("moved")
    session.path("script").write_text("#!/bin/sh\n")
    session.path("deep/er").mkdir(parents=True)
    session.path("deep/er/f").write_text("deep")
    session.path("link").symlink_to("keep")
    session.path("broken").symlink_to("/nowhere")
    before = session.tree()

    def act() -> None:
        with session.path("edited").open("a") as stream:
            stream.write("more\n")
        session.path("gone").unlink()
        session.path("moved").rename(session.path("elsewhere"))
        session.path("script").chmod(0o755)
        shutil.rmtree(session.path("deep"))
        session.path("link").unlink()
        session.path("link").symlink_to("edited")
        session.path("broken").unlink()
        session.path("broken").write_text("a file now")
        session.path("new/folder").mkdir(parents=True)
        session.path("new/folder/f").write_text("x")

    await session.command(act)
    after = session.tree()
    (entry,) = session.journal.entries()
    what = {session.name(change.path): change.what for change in entry.changes}
    assert what["edited"] == "changed"
    assert what["gone"] == "deleted"
    assert what["elsewhere"] == "created"
    assert what["script"] == "mode changed"
    assert what["broken"] == "link became file"
    assert "keep" not in what
    report = session.undo()
    assert report.refused == ()
    assert session.tree() == before
    assert session.undo(call_id="undo-2").done
    assert session.tree() == after
    assert session.undo().done
    assert session.tree() == before


async def test_what_changes_between_commands_is_nobodys_call(session: Session):
    session.path("f").write_text("1")
    await session.command(lambda: session.path("g").write_text("ours"))
    session.path("f").write_text("the person's")
    await session.command(lambda: session.path("h").write_text("ours"))
    assert [len(entry.changes) for entry in session.journal.entries()] == [1, 1]
    session.undo(last=2)
    assert session.path("f").read_text() == "the person's"


async def test_a_change_that_leaves_size_and_times_is_seen(session: Session):
    session.path("f").write_text("aaaa")
    os.utime(session.path("f"), (1, 1))

    def act() -> None:
        session.path("f").write_text("bbbb")
        os.utime(session.path("f"), (1, 1))

    await session.command(act)
    session.undo()
    assert session.path("f").read_text() == "aaaa"


async def test_a_touch_is_no_change(session: Session):
    session.path("f").write_text("aaaa")
    await session.command(lambda: os.utime(session.path("f"), (1, 1)))
    assert session.journal.entries() == []


async def test_a_command_that_fails_or_is_cancelled_is_recorded_all_the_same(session: Session):
    def act() -> None:
        session.path("f").write_text("half")
        raise ToolError(ErrorKind.CANCELLED, "cancelled")

    with pytest.raises(ToolError):
        await session.command(act)
    session.undo()
    assert session.tree() == {}


async def test_a_command_whose_changes_cannot_be_recorded_is_not_run(session: Session):
    session.folder.parent.mkdir(parents=True)
    session.folder.mkdir()
    (session.folder / "journal.log").mkdir()
    with pytest.raises(ToolError, match="Not run"):
        await session.command(lambda: session.path("f").write_text("x"))
    assert not session.path("f").exists()


async def test_a_call_cancelled_while_it_begins_leaves_nothing_open(session: Session):
    with anyio.CancelScope() as scope:
        scope.cancel()
        await session.command(lambda: session.path("f").write_text("x"))
    assert session.tree() == {}
    await session.command(lambda: session.path("g").write_text("x"))
    assert [change.path for entry in session.journal.entries() for change in entry.changes] == [
        f"{session.workspace}/g"
    ]


async def test_a_write_that_failed_is_not_in_the_journal(session: Session):
    session.path("f").write_text("old")
    session.path("f").chmod(0o444)
    with pytest.raises(ToolError):
        await session.write("f", b"new")
    assert session.journal.entries() == []


async def test_a_tool_that_writes_through_us_and_behind_our_back_is_recorded_once(session: Session):
    session.path("f").write_text("0")

    def act() -> None:
        session.files.write("f", b"1", None)
        session.files.write("g", b"1", None)
        session.path("f").write_text("2")

    await session.command(act)
    session.undo()
    assert session.tree().keys() == {"f"}
    assert session.path("f").read_text() == "0"


async def test_what_is_too_large_to_be_kept_is_told_and_the_rest_is_undone(tmp_path: Path):
    session = Session(tmp_path, SnapshotLimits(file_bytes=1000))
    session.path("large").write_bytes(b"x" * 2000)
    session.path("f").write_text("old")

    def act() -> None:
        session.path("large").write_bytes(b"y" * 2000)
        session.path("f").write_text("new")
        session.path("large_and_new").write_bytes(b"z" * 2000)

    await session.command(act)
    assert "too large" in session.journal.entries()[0].notes[0]
    report = session.undo()
    assert not report.done
    assert [session.name(each.path) for each in report.refused] == ["large"]
    assert "wasn't kept" in report.refused[0].reason
    assert session.path("f").read_text() == "old"
    assert session.path("large").read_bytes() == b"y" * 2000
    assert not session.path("large_and_new").exists()


async def test_too_many_entries_are_told_and_the_command_runs(tmp_path: Path):
    session = Session(tmp_path, SnapshotLimits(entries=10))
    for number in range(20):
        session.path(str(number)).write_text("x")
    await session.command(lambda: session.path("f").write_text("x"))
    assert session.path("f").exists()
    (entry,) = session.journal.entries()
    assert "more than 10 entries" in entry.notes[0]
    with pytest.raises(ToolError):
        session.undo()


async def test_a_tree_of_too_many_entries_is_not_looked_at_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watch, "_REST", 1e9)
    session = Session(tmp_path, SnapshotLimits(entries=0))
    session.path("f").write_text("x")
    session.journal.prepare()
    monkeypatch.setattr(TreeSnapshots, "look", pytest.fail)
    await session.command(lambda: session.path("f").unlink())
    (entry,) = session.journal.entries()
    assert "more than 0 entries" in entry.notes[0]


async def test_another_process_undoes_what_a_finished_session_did(session: Session):
    session.path("f").write_text("old")
    await session.write("f", b"new")
    await session.command(lambda: session.path("f").unlink())
    session.journal.close()
    assert sorted(os.listdir(session.folder)) == ["journal.log", "journal.seal"]
    other = session.reopened()
    assert [entry.title for entry in other.entries()] == ["Writing to f", "a command"]
    other.undo(Wanted(last=2), Consent(unsure=True))
    assert session.path("f").read_text() == "old"
    assert all(entry.is_undone for entry in session.reopened().entries() if not entry.is_undo)


async def test_a_session_without_changes_leaves_nothing(session: Session):
    await session.command(lambda: None)
    session.journal.close()
    assert os.listdir(session.folder) == []


_KILLED = """
import os, signal, sys, anyio
from dogu.runtime.journal import Journal, Keeping, watch
from dogu.runtime.journal.choice import Wanted
from dogu.runtime.journal.remains import tidy
from dogu.workspace.roots import Roots
workspace, folder = sys.argv[1:]
async def main():
    async with Journal(folder, Roots(workspace)).call("c", "killed", snapshot=True):
        os.unlink(workspace + "/gone")
        with open(workspace + "/new", "w") as stream: stream.write("x")
        with open(workspace + "/f", "a") as stream: stream.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
anyio.run(main)
"""


async def test_what_a_command_did_is_undone_although_the_program_was_killed(session: Session):
    session.path("f").write_text("old")
    session.path("gone").write_text("gone")
    before = session.tree()
    process = await to_thread.run_sync(
        lambda: subprocess.run([sys.executable, "-c", _KILLED, session.workspace, session.folder], check=False)
    )
    assert process.returncode == -9
    assert session.tree() != before
    tidy(str(session.folder.parent))
    assert session.undo().done
    assert session.tree() == before


async def test_what_a_killed_session_leaves_is_tidied_up_and_a_living_ones_is_not(session: Session):
    await session.command(lambda: session.path("f").write_text("x"))
    tidy(str(session.folder.parent))
    assert "tree.pack" in os.listdir(session.folder)
    ended = _KILLED.replace("os.kill(", "(lambda *_: None)(") + "os._exit(0)"
    folder = session.base / "state/sessions/two"
    session.path("gone").write_text("x")
    await to_thread.run_sync(
        lambda: subprocess.run([sys.executable, "-c", ended, session.workspace, folder], check=True)
    )
    assert "tree.pack" in os.listdir(folder)
    tidy(str(folder.parent))
    assert sorted(os.listdir(folder)) == ["journal.log", "journal.seal"]


async def test_a_command_still_running_in_another_process_is_left_alone(session: Session):
    async with session.journal.call("c", "running", snapshot=True):
        session.path("f").write_text("x")
        with pytest.raises(ToolError) as caught:
            session.reopened().undo()
        assert caught.value.kind is ErrorKind.REFUSED
    assert session.reopened().undo(consent=Consent(unsure=True)).done


async def test_a_torn_record_at_the_end_counts_as_not_written(session: Session):
    await session.write("f", b"1")
    log = session.folder / "journal.log"
    whole = log.read_bytes()
    await session.write("f", b"2")
    for cut in (len(whole) + 1, len(whole) + 30, len(log.read_bytes()) - 1):
        log.write_bytes((whole + b"garbage" * 100)[:cut])
        assert len(session.reopened().entries()) == 1
    session.path("f").write_bytes(b"1")
    other = session.reopened()
    assert other.undo().done
    assert len(session.reopened().entries()) == 2


async def test_a_removed_seal_is_told(session: Session):
    await session.write("f", b"1")
    assert session.reopened().problems() == []
    (session.folder / "journal.seal").unlink()
    assert ["its seal is gone" in each.what for each in session.reopened().problems()] == [True]


async def test_a_folder_that_became_a_link_is_not_followed(session: Session):
    await session.write("d/f", b"1")
    session.path("d").rename(session.path("elsewhere"))
    session.path("d").symlink_to("elsewhere")
    assert not session.undo().done
    session.undo(force=True)
    assert session.path("elsewhere/f").read_bytes() == b"1"


def git(session: Session, *words: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(session.base),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    done = subprocess.run(["git", *words], cwd=session.workspace, env=environment, check=True, capture_output=True)
    return done.stdout.decode()


def commit_and_leave(session: Session) -> None:
    session.path("f").write_text("2")
    git(session, "commit", "-qam", "two")
    git(session, "checkout", "-qb", "other")


_GIT: dict[str, Callable[[Session], object]] = {
    "a commit": commit_and_leave,
    "the repository removed": lambda session: shutil.rmtree(session.path(".git")),
    "garbage collected": lambda session: (
        git(session, "branch", "-qD", "gone"),
        git(session, "reflog", "expire", "--expire=now", "--all"),
        git(session, "gc", "-q", "--prune=now"),
    ),
    "a stash dropped": lambda session: git(session, "stash", "drop", "-q"),
    "a reset": lambda session: git(session, "reset", "-q", "--hard", "HEAD~1"),
}


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
@pytest.mark.parametrize("act", _GIT.values(), ids=[*_GIT])
async def test_git_is_as_before_after_undo(session: Session, act: Callable[[Session], object]):
    git(session, "init", "-q")
    for text in ("1", "2", "3"):
        session.path("f").write_text(text)
        session.path("large").write_bytes(os.urandom(1_100_000))
        git(session, "add", "-A")
        git(session, "commit", "-qm", text)
    git(session, "branch", "gone", "HEAD~1")
    git(session, "repack", "-qd")
    session.path("f").write_text("stashed")
    git(session, "stash", "-q")
    before = session.tree()
    await session.command(lambda: act(session))
    after = session.tree()
    assert after != before
    assert session.undo().refused == ()
    assert session.tree() == before
    git(session, "fsck", "--strict")
    assert git(session, "stash", "list")
    assert session.journal.redo(consent=Consent(unsure=True)).refused == ()
    assert session.tree() == after


def _commit_on_top(session: Session) -> None:
    session.path("theirs").write_text("x")
    git(session, "add", "theirs")
    git(session, "commit", "-qm", "theirs")


_THEIRS: dict[str, Callable[[Session], object]] = {
    "a commit on top": _commit_on_top,
    "a branch": lambda session: git(session, "branch", "theirs"),
}


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
@pytest.mark.parametrize("act", _THEIRS.values(), ids=[*_THEIRS])
async def test_a_repository_that_somebody_goes_on_with_is_left_whole(
    session: Session, act: Callable[[Session], object]
):
    git(session, "init", "-q")
    session.path("f").write_text("1")
    git(session, "add", "f")
    git(session, "commit", "-qm", "one")

    def commit() -> None:
        session.path("f").write_text("2")
        git(session, "commit", "-qam", "two")

    await session.command(commit)
    act(session)
    refs = git(session, "show-ref")
    report = session.undo()
    assert changed(report, session) == {"f": "restored"}
    assert "as a whole" in " ".join(each.reason for each in report.refused)
    assert git(session, "show-ref") == refs
    git(session, "fsck", "--strict")
    session.undo(force=True)
    git(session, "fsck", "--strict")


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
async def test_a_commit_in_a_worktree_is_undone_in_its_repository(session: Session):
    session.path("f").write_text("1")
    git(session, "init", "-q")
    git(session, "add", "f")
    git(session, "commit", "-qm", "one")
    git(session, "worktree", "add", "-q", str(session.base / "tree"), "-b", "side")
    folder, roots = str(session.base / "state/sessions/two"), Roots(str(session.base / "tree"))
    journal = Journal(folder, roots)
    head = git(session, "rev-parse", "side")
    async with journal.call("c", "git commit", snapshot=True):
        (session.base / "tree/f").write_text("2")
        git(session, "-C", str(session.base / "tree"), "commit", "-qam", "two")
    assert git(session, "rev-parse", "side") != head
    with locked_file_in(session.base):  # above the repository, which is in no root: it guards nothing in there
        assert journal.undo(Wanted(path=str(session.base))).refused == ()
    assert git(session, "rev-parse", "side") == head
    assert git(session, "-C", str(session.base / "tree"), "status", "--porcelain") == ""
    git(session, "fsck", "--strict")
    journal.close()


_NAMES = st.sampled_from(["a", "b", "d/c", "d/e", "bad\udcff"])
_STEP = st.tuples(
    st.sampled_from(["write", "delete", "mkdir", "link", "chmod", "rename"]), _NAMES, _NAMES, st.binary(max_size=3)
)


def apply(workspace: Path, step: tuple[str, str, str, bytes]) -> None:
    what, name, other, data = step
    path, second = workspace / name, workspace / other
    try:
        path.parent.mkdir(exist_ok=True)
        second.parent.mkdir(exist_ok=True)
        match what:
            case "write":
                path.write_bytes(data)
            case "delete":
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            case "mkdir":
                path.mkdir()
            case "link":
                path.symlink_to(other)
            case "chmod":
                path.chmod(0o600 + (data[0] % 8 if data else 0))
            case _:
                path.rename(second)
    except OSError:
        return


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_STEP, max_size=8), st.lists(st.lists(_STEP, min_size=1, max_size=6), min_size=1, max_size=3))
async def test_undoing_any_commands_brings_back_bytes_modes_and_neighbours(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[str, str, str, bytes]],
    commands: list[list[tuple[str, str, str, bytes]]],
):
    session = Session(tmp_path_factory.mktemp("any"))
    for step in first:
        apply(session.workspace, step)
    before = session.tree()
    for steps in commands:
        await session.command(lambda steps=steps: [apply(session.workspace, step) for step in steps])
    entries = session.journal.entries()
    if entries:
        report = session.undo(last=len(entries))
        assert report.refused == ()
    assert session.tree() == before
    session.journal.close()


async def test_a_turn_is_undone_with_all_that_follow(session: Session):
    for turn, text in ((1, b"one"), (2, b"two"), (3, b"three")):
        session.journal.next_turn()
        await session.write("f", text, f"call-{turn}")
    report = session.undo(since=2)
    assert report.done
    assert session.path("f").read_bytes() == b"one"
    with pytest.raises(ToolError):
        session.undo(since=2)


async def test_the_net_of_all_calls_is_from_before_the_first_to_now(session: Session):
    session.path("changed").write_bytes(b"old")
    session.path("deleted").write_bytes(b"gone")
    session.path("and back").write_bytes(b"same")
    for data in (b"new", b"newer"):
        await session.write("changed", data)
    await session.write("made", b"made")
    await session.command(lambda: session.path("deleted").unlink())
    for data in (b"other", b"same"):
        await session.write("and back", data)
    await session.write("undone", b"x")
    session.undo()
    session.path("changed").write_bytes(b"by hand")  # what it is now counts, whoever made it so
    for journal in (session.journal, session.reopened()):
        found = {session.name(change.path): (change.old, change.new) for change in journal.net()}
        assert found == {"changed": (b"old", b"by hand"), "deleted": (b"gone", None), "made": (None, b"made")}
        journal.close()


async def test_what_could_not_be_recorded_is_told_with_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(tmp_path)

    def fail(_watch: watch.ChangeWatch, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with session.journal.call("c", "a command", snapshot=True) as notes:
        session.path("a").write_text("new")
        monkeypatch.setattr(watch.ChangeWatch, "as_records", fail)
    assert notes == [f"What it changed couldn't be recorded for undo in {session.folder}: No space left on device."]
