"""A fleet's state: what is done stays done, what was cut short begins anew, and one process drives it."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from dogu.cli import main
from dogu.contract import ToolError
from dogu.fleet.export import export_to
from dogu.fleet.plan import Plan
from dogu.fleet.rows import Reason, Row
from dogu.fleet.store import DamagedError, DamagedTaskError, Fleet
from dogu.fleet.tasks import Task


def made(folder: Path, count: int = 3) -> Fleet:
    return Fleet.create(str(folder), Plan(jobs=2), (Task(f"t{number}", "x") for number in range(count)))


def test_what_was_begun_and_cut_short_begins_anew_and_what_is_done_stays(tmp_path: Path) -> None:
    with made(tmp_path / "out") as fleet:
        fleet.drive()
        first, second = fleet.next_task(), fleet.next_task()
        assert first is not None
        assert second is not None
        fleet.finish(Row("t0", True, Reason.DONE, cost_usd=0.5))
    with Fleet.open(str(tmp_path / "out")) as fleet:  # the process died with t1 under way
        assert fleet.take_back() == ["t1"]
        again = fleet.next_task()
        assert again is not None
        assert (again[0].id, again[1]) == ("t1", 2)
        counts = fleet.counts()
        assert (counts.done, counts.running, counts.queued, counts.cost_usd) == (1, 1, 1, 0.5)
        assert fleet.plan.jobs == 2


def test_a_task_has_one_row_however_often_it_is_given(tmp_path: Path) -> None:
    with made(tmp_path / "out") as fleet:
        fleet.next_task()
        fleet.finish(Row("t0", True, Reason.DONE))
        fleet.finish(Row("t0", False, Reason.LOST))
        fleet.finish(Row("t1", False, Reason.LOST))  # never begun
        assert [(row.id, row.passed) for row in fleet.rows()] == [("t0", True)]


def test_nothing_is_recorded_once_the_folder_isnt_where_patches_are_written(tmp_path: Path) -> None:
    with made(tmp_path / "out") as fleet:
        fleet.next_task()
        (tmp_path / "out").rename(tmp_path / "moved")
        (tmp_path / "out").mkdir()  # as what runs makes it again
        with pytest.raises(DamagedError, match="moved or deleted while it was in use"):
            fleet.finish(Row("t0", True, Reason.DONE))
    with Fleet.open(str(tmp_path / "moved")) as fleet:
        assert fleet.take_back() == ["t0"]


def changed_by_hand(folder: Path, *statements: str) -> Fleet:
    """Open a fleet of which two are done and one waits, after somebody wrote into its file."""
    with made(folder) as fleet:
        for number in range(2):
            fleet.next_task()
            fleet.finish(Row(f"t{number}", True, Reason.DONE, cost_usd=0.5))
    with sqlite3.connect(folder / "fleet.sqlite") as database:
        for statement in statements:
            database.execute(statement)
    database.close()
    return Fleet.open(str(folder))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM meta WHERE name = 'plan'",
        """UPDATE meta SET value = '{"jobs": "x"}' WHERE name = 'plan'""",
        "UPDATE meta SET value = 7 WHERE name = 'plan'",
        "DROP TABLE rows",
        "UPDATE tasks SET task = 'garbage'",
    ],
)
def test_a_damaged_file_is_told_as_such_with_what_is_left(tmp_path: Path, statement: str) -> None:
    with changed_by_hand(tmp_path / "out", statement) as fleet, pytest.raises(ToolError, match=r"damaged.*begins anew"):
        list(map(repr, (fleet.counts(), fleet.plan, fleet.task("t0"))))


def test_a_run_that_meets_damage_stops_and_says_what_begins_anew_but_not_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    changed_by_hand(tmp_path / "out", "ALTER TABLE tasks DROP COLUMN begun").close()  # which only the next task needs
    assert main(["fleet", "resume", str(tmp_path / "out"), "--model", "offline"]) == 53
    said = capsys.readouterr().out
    assert "2 of 3 done" in said
    assert "is damaged (no such column: begun)" in said
    assert "begins anew" in said
    assert "continues" not in said


def test_a_file_that_is_no_database_any_more_is_told_as_damaged(tmp_path: Path) -> None:
    changed_by_hand(tmp_path / "out").close()
    (tmp_path / "out" / "fleet.sqlite").write_bytes(b"garbage" * 1000)
    with pytest.raises(ToolError, match="damaged"):
        Fleet.open(str(tmp_path / "out"))


def test_a_row_that_is_garbage_names_its_task_and_another_try_replaces_it(tmp_path: Path) -> None:
    with changed_by_hand(tmp_path / "out", "UPDATE rows SET row = 'garbage' WHERE id = 't1'") as fleet:
        with pytest.raises(ToolError, match=r"what came of t1 can't be read.*retry .* t1"):
            list(fleet.rows())
        assert fleet.retry(["t1"]) == 1
        assert [row.id for row in fleet.rows()] == ["t0"]
        assert fleet.spent_usd() == 0.5  # it says nothing, and stops nothing


def test_a_task_that_is_garbage_is_begun_and_said_to_be_unreadable(tmp_path: Path) -> None:
    with changed_by_hand(tmp_path / "out", "UPDATE tasks SET task = 'garbage' WHERE id = 't2'") as fleet:
        with pytest.raises(DamagedTaskError, match="the task can't be read") as told:
            fleet.next_task()
        assert (told.value.task_id, told.value.attempt) == ("t2", 1)
        assert (fleet.counts().queued, fleet.counts().running) == (0, 1)


def test_a_fleet_of_another_format_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="has the format 2, this dogu reads 1"):
        changed_by_hand(tmp_path / "out", "UPDATE meta SET value = '2' WHERE name = 'version'")


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "nul\0", "caf\udce9"])
def test_a_folder_whose_name_cant_be_printed_as_one_line_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ToolError, match="control characters"):
        made(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("action", ["export", "report"])
@pytest.mark.parametrize("name", ["fleet.sqlite", "tasks/t0/patch.diff", "../link/fleet.sqlite-wal"])
def test_nothing_is_written_over_the_fleets_own_files(
    tmp_path: Path, action: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path / "out").close()
    (tmp_path / "link").symlink_to("out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert main(["fleet", action, str(tmp_path / "out"), "--output", str(tmp_path / "out" / name)]) == 42
    assert "is the fleet's own" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_one_process_drives_a_fleet(tmp_path: Path) -> None:
    with made(tmp_path / "out") as fleet, Fleet.open(fleet.folder) as other:
        fleet.drive()
        with pytest.raises(ToolError, match="being run by another process"):
            other.drive()
        assert other.counts().total == 3  # looking is free


def test_failed_tasks_are_queued_again_and_their_rows_kept(tmp_path: Path) -> None:
    with made(tmp_path / "out") as fleet:
        for number, passed in enumerate((True, False, None)):
            fleet.next_task()
            fleet.finish(Row(f"t{number}", passed, Reason.DONE))
        assert fleet.retry() == 1
        assert [row.id for row in fleet.rows()] == ["t0", "t2"]
        assert fleet.retry(["t0"]) == 1
        assert fleet.counts().queued == 2


def test_a_folder_with_other_files_is_refused_and_one_without_a_fleet_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ToolError, match="isn't empty"):
        made(tmp_path)
    with pytest.raises(ToolError, match="holds no fleet"):
        Fleet.open(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_tasks_that_cant_be_read_leave_no_fleet(tmp_path: Path) -> None:
    def broken() -> object:
        yield Task("a", "x")
        raise ToolError("invalid_arguments", "line 2")  # pyright: ignore[reportArgumentType]

    with pytest.raises(ToolError):
        Fleet.create(str(tmp_path / "out"), Plan(), broken())  # pyright: ignore[reportArgumentType]
    with pytest.raises(ToolError, match="holds no fleet"):
        Fleet.open(str(tmp_path / "out"))
    made(tmp_path / "out").close()  # what was left is no hindrance


def test_many_tasks_are_queued_and_taken_in_order(tmp_path: Path) -> None:
    with made(tmp_path / "out", 20_000) as fleet:
        taken = [fleet.next_task() for _ in range(20)]
        assert [found[0].id for found in taken if found] == [f"t{number}" for number in range(20)]


def test_a_fleet_that_nobody_may_write_can_be_looked_at_and_isnt_run(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace here")
    with made(tmp_path / "o ?#%41") as fleet:
        fleet.next_task()
        fleet.finish(Row("t0", True, Reason.DONE))
    words = f"{sys.executable} -m dogu fleet"
    script = (
        f"mount --bind 'o ?#%41' 'o ?#%41' && mount -o remount,ro,bind 'o ?#%41' || exit 99; "
        f"{words} status 'o ?#%41' && {words} export 'o ?#%41' --format csv; {words} resume 'o ?#%41'; echo $?"
    )
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if done.returncode == 99:
        pytest.skip("no mounting here")
    first, *_, row, status = done.stdout.splitlines()
    assert first.startswith("3 tasks: 2 waiting, 0 begun, 1 passed")
    assert row.startswith("t0,")
    assert status == "54"
    assert "can't be written: Read-only file system" in done.stderr


def test_an_export_that_fails_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("of before\n")
    with changed_by_hand(tmp_path / "out", "UPDATE rows SET row = 'garbage' WHERE id = 't1'") as fleet:
        with pytest.raises(ToolError, match="what came of t1 can't be read"):
            export_to(fleet, "csv", str(table))
        assert table.read_text() == "of before\n"
        fleet.retry(["t1"])
        export_to(fleet, "csv", str(table))
    assert table.read_text().splitlines()[1].startswith("t0,")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows.csv"]
