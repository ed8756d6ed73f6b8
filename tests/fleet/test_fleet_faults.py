"""What goes wrong around tasks costs those that it meets, with the reason in their rows; the rest goes on."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import msgspec
import pytest

from dogu.contract import ErrorKind, ToolError
from dogu.fleet.driver import resume, run
from dogu.fleet.export import export, export_to
from dogu.fleet.plan import Plan
from dogu.fleet.rows import Reason, Row
from dogu.fleet.store import Fleet
from dogu.fleet.tasks import Task
from dogu.testing import FakeGemini, Turn, call
from dogu.testing.fake_gemini import GeminiRequest

_UNSHARE = shutil.which("unshare")


class Model:
    """Runs the prompt as a command; `refusals` requests are refused first."""

    def __init__(self) -> None:
        self.refusals = 0

    def __call__(self, request: GeminiRequest) -> Turn:
        if self.refusals:
            self.refusals -= 1
            return Turn(fault="e429")
        if len(request.contents) > 1:
            return Turn(text="done")
        return Turn(calls=(call("run_shell_command", command=str(request.contents[0]["parts"][0]["text"])),))


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Model, FakeGemini]]:
    model = Model()
    with FakeGemini(model) as fake:
        yield model, fake


@pytest.fixture
def model(served: tuple[Model, FakeGemini], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", served[1].base_url)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return served[0]


def rows_of(folder: Path) -> dict[str, Row]:
    with Fleet.open(str(folder)) as fleet:
        return {row.id: row for row in fleet.rows()}


def test_a_disk_that_is_full_costs_those_whom_it_meets(model: Model, tmp_path: Path) -> None:
    if _UNSHARE is None or subprocess.run([_UNSHARE, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace here")
    fill = "dd if=/dev/zero of=big bs=1M count=60"
    lines = [Task("fills", fill, check="true"), Task("prepares", "echo x", setup=f"{fill}; true", check="true")]
    lines += [Task(f"small{number}", "echo x > a.txt", check="test -f a.txt") for number in range(3)]
    (tmp_path / "t.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    (tmp_path / "disk").mkdir()
    words = f"{sys.executable} -m dogu fleet"
    script = (
        f"mount -t tmpfs -o size=24m none disk || exit 99; {words} run t.jsonl --out disk/out --jobs 1; echo $?; "
        f"{words} export disk/out --output rows.jsonl"
    )
    done = subprocess.run(
        [_UNSHARE, "-rm", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if done.returncode == 99:
        pytest.skip("no mounting here")
    assert done.stdout.splitlines()[-1] == "1", done.stderr
    lines_out = (tmp_path / "rows.jsonl").read_bytes().splitlines()
    rows = {row.id: row for row in (msgspec.json.decode(line, type=Row) for line in lines_out)}
    assert (rows["fills"].passed, rows["fills"].reason) == (False, Reason.WORLD)
    assert "space" in rows["fills"].message
    assert (rows["prepares"].passed, rows["prepares"].reason) == (False, Reason.WORLD)
    assert [rows[f"small{number}"].passed for number in range(3)] == [True] * 3


@pytest.mark.anyio
async def test_who_was_stopped_by_the_money_before_an_answer_begins_anew_and_all_that_was_spent_is_in_the_rows(
    model: Model, tmp_path: Path
) -> None:
    tasks = [Task(f"t{number}", "echo x > a.txt", check="test -f a.txt") for number in range(6)]
    first = await run(tasks, str(tmp_path / "out"), Plan(jobs=6, max_cost=0.00001))
    assert first.stopped
    with Fleet.open(str(tmp_path / "out")) as fleet:
        fleet.drive()
        fleet.change_plan(Plan(jobs=6))
        report = await resume(fleet)
        rows = list(fleet.rows())
        spent = fleet.spent_usd()
    assert report.passed == 6, rows
    assert sum(row.cost_usd or 0 for row in rows) == pytest.approx(spent, rel=1e-3)
    assert any(row.attempt > 1 for row in rows)


@pytest.mark.anyio
async def test_where_money_is_bounded_a_model_without_a_price_runs_nothing(model: Model, tmp_path: Path) -> None:
    plan = Plan(model="gemini-of-nobody", max_cost=1.0)
    await run([Task("t", "echo x > a.txt", check="test -f a.txt")], str(tmp_path / "out"), plan)
    row = rows_of(tmp_path / "out")["t"]
    assert (row.passed, row.reason, row.requests) == (False, Reason.WORLD, 0)
    assert "the price of gemini-of-nobody isn't known" in row.message


@pytest.mark.anyio
async def test_refusals_of_a_server_are_waited_out(model: Model, tmp_path: Path) -> None:
    model.refusals = 2
    report = await run([Task(f"t{n}", "echo x", check="true") for n in range(4)], str(tmp_path / "out"), Plan(jobs=4))
    assert (report.passed, model.refusals) == (4, 0)


@pytest.mark.anyio
async def test_a_server_that_refuses_for_longer_than_the_patience_is_the_rows_reason(
    model: Model, tmp_path: Path
) -> None:
    model.refusals = 10_000
    tasks = [Task(f"t{number}", "echo x", check="true") for number in range(3)]
    await run(tasks, str(tmp_path / "out"), Plan(jobs=3, retry_for_s=0.3))
    model.refusals = 0
    rows = rows_of(tmp_path / "out")
    assert {row.reason for row in rows.values()} == {Reason.MODEL}
    assert all(row.message for row in rows.values())
    assert len(rows) == 3


@pytest.mark.anyio
async def test_what_a_model_refused_is_exported_and_what_is_gone_is_told_not_taken_for_nothing(
    model: Model, tmp_path: Path
) -> None:
    await run([Task("done", "echo x > a.txt", check="true")], str(tmp_path / "done"), Plan())
    model.refusals = 10_000
    await run([Task("refused", "echo x")], str(tmp_path / "refused"), Plan(retry_for_s=0.3))
    model.refusals = 0
    with Fleet.open(str(tmp_path / "refused")) as fleet:
        for form in ("jsonl", "csv", "swebench", "atif"):
            export(fleet, form, (parts := list[bytes]()).append)
            assert b"refused" in b"".join(parts), form
        export_to(fleet, "traj", str(tmp_path / "traj"))
    for form, gone in (
        ("swebench", "tasks/done/patch.diff"),
        ("atif", "tasks/done/home/.dogu/sessions/*/record.jsonl"),
    ):
        (path,) = (tmp_path / "done").glob(gone)
        path.unlink()
        os.mkfifo(path)  # which nobody writes into
        with Fleet.open(str(tmp_path / "done")) as fleet, pytest.raises(ToolError, match=r"dogu fleet retry .* done"):
            export(fleet, form, list[bytes]().append)


@pytest.mark.anyio
async def test_what_had_no_answer_has_failed_and_is_tried_again_also_without_a_check(
    model: Model, tmp_path: Path
) -> None:
    model.refusals = 10_000
    report = await run([Task("a", "echo x"), Task("b", "echo x")], str(tmp_path / "out"), Plan(retry_for_s=0.3))
    model.refusals = 0
    assert (report.passed, report.failed, report.counts.unchecked) == (0, 2, 0)
    with Fleet.open(str(tmp_path / "out")) as fleet:
        fleet.drive()
        assert fleet.retry() == 2


@pytest.mark.anyio
async def test_without_a_model_nothing_is_done_and_each_row_says_so(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    report = await run([Task("a", "list files", check="true"), Task("b", "list files")], str(tmp_path / "out"), Plan())
    rows = rows_of(tmp_path / "out")
    assert {row.reason for row in rows.values()} == {Reason.MODEL}
    assert "no model is connected" in rows["b"].message
    assert (rows["b"].passed, report.counts.unchecked) == (False, 0)


def test_the_command_begins_nothing_without_a_model_and_says_how_to_go_on(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = os.environ["GEMINI_API_KEY"]
    monkeypatch.delenv("GEMINI_API_KEY")
    (tmp_path / "t.jsonl").write_text('{"id": "a", "prompt": "echo x > a.txt", "check": "test -f a.txt"}\n')
    dogu = [sys.executable, "-m", "dogu", "fleet"]
    for words in (["run", "t.jsonl", "--out", "out"], ["resume", "out"]):
        done = subprocess.run([*dogu, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, list((tmp_path / "out" / "tasks").glob("*"))) == (41, [])
        assert "dogu fleet resume" in done.stderr
    monkeypatch.setenv("GEMINI_API_KEY", key)
    done = subprocess.run([*dogu, "resume", "out"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, rows_of(tmp_path / "out")["a"].passed) == (0, True), done.stderr


def test_what_the_current_folder_calls_modules_is_none_of_a_workers(model: Model, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "a", "prompt": "echo x > a.txt", "check": "test -f a.txt"}\n')
    for name in ("msgspec", "httpx", "h2", "dogu"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')\nraise SystemExit(9)\n")
    words = [
        sys.executable,
        "-P",
        "-m",
        "dogu",
        "fleet",
        "run",
        "t.jsonl",
        "--out",
        "out",
    ]  # as the `dogu` script has it
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, (tmp_path / "imported").exists()) == (0, False), done.stderr


@pytest.mark.anyio
async def test_what_an_agent_without_a_sandbox_does_to_its_own_folders_is_no_defect_and_nothing_waits(
    model: Model, tmp_path: Path
) -> None:
    (tmp_path / "home" / ".dogu").mkdir()
    (tmp_path / "home" / ".dogu" / "settings.json").write_text('{"tools": {"sandbox": "off"}}')
    tasks = [
        Task("page", "rm -f ../session.html; mkfifo ../session.html", check="true"),
        Task("home", "rm -rf ../home/.dogu", check="true"),
    ]
    with anyio.fail_after(60):
        await run(tasks, str(tmp_path / "out"), Plan())
    rows = rows_of(tmp_path / "out")
    assert (rows["page"].passed, rows["page"].reason) == (True, Reason.DONE)
    assert (rows["home"].passed, rows["home"].reason) == (False, Reason.WORLD), rows["home"].message


def test_a_fleet_runs_also_where_standard_error_is_closed(model: Model, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "a", "prompt": "echo x > a.txt", "check": "test -f a.txt"}\n')
    words = f"{sys.executable} -m dogu fleet run t.jsonl --out out 2>&-"
    done = subprocess.run(["sh", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, rows_of(tmp_path / "out")["a"].passed) == (0, True)


def test_a_file_that_is_no_fleet_is_told(tmp_path: Path) -> None:
    (tmp_path / "fleet.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(ToolError, match="is damaged"):
        Fleet.open(str(tmp_path))


class Full(Fleet):
    """A fleet whose disk is full when the second row comes."""

    def finish(self, row: Row) -> None:
        if row.id == "t1":
            raise ToolError(ErrorKind.IO_ERROR, "no space left")
        super().finish(row)


@pytest.mark.anyio
async def test_a_fleet_that_cant_be_written_stops_and_goes_on_later(model: Model, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    tasks = [Task(f"t{number}", "echo x", check="true") for number in range(3)]
    with Full.create(out, Plan(jobs=1), tasks) as fleet:
        report = await resume(fleet)
        assert (report.stopped, report.counts.done) == ("no space left", 1)
    with Fleet.open(out) as fleet:
        report = await resume(fleet)
        assert (report.passed, report.stopped) == (3, "")
    assert {row.id: row.attempt for row in rows_of(tmp_path / "out").values()} == {"t0": 1, "t1": 2, "t2": 1}


@pytest.mark.anyio
async def test_a_task_that_cant_be_read_is_a_row_that_says_so_and_the_rest_goes_on(
    model: Model, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with Fleet.create(str(out), Plan(jobs=1), [Task(f"t{number}", "echo x", check="true") for number in range(3)]):
        pass
    with sqlite3.connect(out / "fleet.sqlite") as database:
        database.execute("UPDATE tasks SET task = 'garbage' WHERE id = 't1'")
    database.close()
    with Fleet.open(str(out)) as fleet:
        report = await resume(fleet)
    assert (report.passed, report.failed, report.stopped) == (2, 1, "")
    row = rows_of(out)["t1"]
    assert (row.reason, "line in" in row.message) == (Reason.WORLD, True)


class Steps:
    """Makes three commands of a task, one after the other, and remembers what it was told."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, request: GeminiRequest) -> Turn:
        texts = [part["text"] for content in request.contents for part in content["parts"] if "text" in part]
        self.prompts = [text for text in texts if "text" not in text]
        done = sum("functionResponse" in part for content in request.contents for part in content["parts"])
        if done >= 3:
            return Turn(text="done")
        return Turn(calls=(call("run_shell_command", command=f"echo {done} >> steps.txt; sleep 0.3"),))


def test_a_task_goes_on_from_its_record_when_the_driver_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "t.jsonl").write_text(
        '{"id": "t", "prompt": "count", "setup": "echo set >> up.txt", "check": "true"}\n'
    )
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with FakeGemini(steps := Steps()) as fake:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        words = [sys.executable, "-m", "dogu", "fleet"]
        driver = subprocess.Popen([*words, "run", "t.jsonl", "--out", "out"], cwd=tmp_path, stderr=subprocess.DEVNULL)
        second = tmp_path / "out/tasks/t/work/steps.txt"
        while not second.exists() or second.read_text() != "0\n1\n":
            assert driver.poll() is None
            time.sleep(0.02)
        driver.kill()
        driver.wait()
        done = subprocess.run([*words, "resume", "out"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    row = rows_of(tmp_path / "out")["t"]
    assert (row.passed, row.attempt, row.continued) == (True, 2, True)
    assert row.requests >= 4
    patch = (tmp_path / "out/tasks/t/patch.diff").read_text()
    assert patch.count("+set\n") == 1  # it wasn't set up again
    assert "+0\n" in patch
    assert any("cut short" in prompt for prompt in steps.prompts)
    assert not list((tmp_path / "out/tasks").glob("*/begun.json"))


@pytest.mark.anyio
async def test_workers_have_what_the_plan_says_of_the_agent(
    served: tuple[Model, FakeGemini], model: Model, tmp_path: Path
) -> None:
    fake = served[1]
    begun = len(fake.requests)
    plan = Plan(jobs=2, model="gemini-2.5-pro", system_prompt="Be a clerk.", append_system_prompt="Say little.")
    tasks = [Task("a", "echo x"), Task("b", "echo x", model="gemini-2.5-flash")]
    await run(tasks, str(tmp_path / "out"), plan)
    asked = fake.requests[begun:]
    assert {request.model for request in asked} == {"gemini-2.5-pro", "gemini-2.5-flash"}
    assert all("Be a clerk." in request.system and "Say little." in request.system for request in asked)
    assert {row.id: row.model for row in rows_of(tmp_path / "out").values()} == {
        "a": "gemini-2.5-pro",
        "b": "gemini-2.5-flash",
    }
