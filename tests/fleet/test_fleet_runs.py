"""A fleet of real processes against the fake Gemini: each task in a world of its own, each failure a row."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from jsonschema import Draft202012Validator

from dogu.fleet.driver import Report, run
from dogu.fleet.export import export, export_to
from dogu.fleet.plan import Plan
from dogu.fleet.report import page
from dogu.fleet.rows import Reason, Row
from dogu.fleet.store import Fleet
from dogu.fleet.tasks import Bounds, Task
from dogu.testing import FakeGemini, Turn, call
from dogu.testing.fake_gemini import GeminiRequest

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]


def answer(request: GeminiRequest) -> Turn:
    """Do what the prompt says, then rest."""
    prompt = str(request.contents[0]["parts"][0]["text"])
    if len(request.contents) > 1:
        return Turn(text=f"done: {prompt}")
    match prompt.split():
        case ["write", text]:
            return Turn(calls=(call("write_file", file_path="made.txt", content=f"{text}\n"),))
        case ["run", *words]:
            return Turn(calls=(call("run_shell_command", command=" ".join(words)),))
        case ["hang"]:
            return Turn(hangs=True)
        case _:
            return Turn(text="nothing to do")


class Ran:
    """A fleet that was run: its report, and its rows by id."""

    def __init__(self, folder: str, report: Report) -> None:
        self.folder = folder
        self.report = report
        with Fleet.open(folder) as fleet:
            self.rows = {row.id: row for row in fleet.rows()}

    def patch(self, row: Row) -> str:
        return Path(self.folder, row.patch.file).read_text()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("fleet")
    repo = folder / "repo"
    repo.mkdir()
    (folder / "home").mkdir()
    (repo / "a.txt").write_text("one\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"], ["tag", "v1"]):
        subprocess.run([*GIT, *words], cwd=repo, check=True)
    (repo / "a.txt").write_text("two\n")
    subprocess.run([*GIT, "commit", "-qam", "second"], cwd=repo, check=True)
    with pytest.MonkeyPatch.context() as patch, FakeGemini(answer) as fake:
        patch.setenv("GEMINI_API_KEY", "key")
        patch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        patch.setenv("HOME", str(folder / "home"))
        yield folder


@pytest.fixture(scope="module")
def ran(place: Path) -> Ran:
    repo = str(place / "repo")
    tasks = [
        Task("write", "write hello", repo=repo, check="grep -q hello made.txt", group="g"),
        Task("wrong", "write bye", repo=repo, check="echo looked; grep -q hello made.txt", group="g"),
        Task("commits", "run echo x >> a.txt && git -c user.name=a -c user.email=b commit -qam x", repo=repo),
        Task("wrecks", "run rm -rf .git a.txt", repo=repo),
        Task("old", "run cat a.txt", repo=repo, ref="v1", check="grep -q one a.txt"),
        Task("setup", "write x", repo=repo, setup="echo no; exit 3"),
        Task("clone", "write x", repo=str(place / "nowhere")),
        Task("ref", "write x", repo=repo, ref="nothing"),
        Task("slow", "hang", budget=Bounds(timeout_s=1.0), check="true"),
        Task(
            "files",
            "run cat given.txt",
            files={"given.txt": "given\n"},
            check_files={"t.sh": "exit 0"},
            check="sh t.sh",
        ),
        Task("home", "run echo $HOME > where.txt && touch $HOME/mine"),
        Task(
            "own",
            "run cat $HOME/set && echo more >> $HOME/set && touch $HOME/mine $TMPDIR/mine",
            setup="echo up > $HOME/set",
            check='test "$(cat $HOME/set)" = up && ! ls $HOME/mine $TMPDIR/mine',
        ),
        Task("bare", "run echo x > $HOME/mine", check='test -d "$HOME" && ! ls $HOME/mine && echo y > $HOME/left'),
        Task("hidden", "run ls -a", check_files={"secret.txt": "x"}, check="test -f secret.txt"),
        Task("checks", "write x", check="sleep 60", budget=Bounds(max_turns=9)),
    ]
    plan = Plan(jobs=6, workers=2, check_timeout_s=5.0)
    return Ran(str(place / "out"), anyio.run(run, tasks, str(place / "out"), plan))


def test_the_check_decides_and_its_output_is_kept(ran: Ran) -> None:
    assert (ran.rows["write"].passed, ran.rows["wrong"].passed) == (True, False)
    check = ran.rows["wrong"].check
    assert check is not None
    assert (check.exit_code, check.output.strip()) == (1, "looked")
    assert ran.rows["write"].text == "done: write hello"
    assert ran.rows["write"].usage.total > 0


def test_a_failed_check_is_told_with_its_command_and_exit_code(ran: Ran) -> None:
    words = [sys.executable, "-m", "dogu", "fleet", "show", ran.folder, "wrong"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    check = ran.rows["wrong"].check
    assert check is not None
    assert shown.startswith("✘ wrong  done, check: exit code 1, ")
    assert "\n--- check: exit code 1\n$ " in shown
    assert f"\n{check.output.strip()}\n" in shown


def test_the_patch_is_what_changed_whatever_was_done_to_git(ran: Ran) -> None:
    assert "+++ b/made.txt\n@@ -0,0 +1 @@\n+hello" in ran.patch(ran.rows["write"])
    assert "+x" in ran.patch(ran.rows["commits"])
    assert "deleted file" in ran.patch(ran.rows["wrecks"])
    assert (ran.rows["commits"].patch.added, ran.rows["wrecks"].patch.removed) == (1, 1)
    assert ran.patch(ran.rows["files"]) == ""  # what was given is no part of what it changed


def test_a_task_begins_at_its_ref_and_the_users_own_tree_isnt_touched(ran: Ran, place: Path) -> None:
    assert ran.rows["old"].passed is True
    status = subprocess.run(["git", "status", "--porcelain"], cwd=place / "repo", capture_output=True, check=True)
    assert status.stdout == b""


@pytest.mark.parametrize(
    ("task_id", "reason", "told"),
    [
        ("setup", Reason.SETUP, "exit code 3"),
        ("clone", Reason.WORLD, "nowhere"),
        ("ref", Reason.WORLD, "nothing"),
        ("slow", Reason.TIMEOUT, "1 s"),
        ("checks", Reason.CHECK, "5 s"),
    ],
)
def test_what_went_wrong_is_the_rows_reason(ran: Ran, task_id: str, reason: Reason, told: str) -> None:
    row = ran.rows[task_id]
    assert row.reason is reason
    assert told.lower() in row.message.lower()


def test_a_task_that_was_cut_short_may_still_have_been_done(ran: Ran) -> None:
    assert ran.rows["slow"].passed is True
    assert ran.rows["checks"].passed is False


def test_each_task_has_a_home_of_its_own(ran: Ran) -> None:
    assert f"+{ran.folder}/tasks/home/home" in ran.patch(ran.rows["home"])


def test_the_check_has_the_home_that_setup_left_and_the_agents_is_there_again(ran: Ran) -> None:
    for name, agents in (("own", "up\nmore\n"), ("bare", "x\n")):
        row, home = ran.rows[name], Path(ran.folder, "tasks", name, "home")
        assert row.passed, row
        assert (home / ("set" if name == "own" else "mine")).read_text() == agents
        assert not (home / "left").exists()
        assert Path(ran.folder, row.session, "record.jsonl").exists()
        assert not list(home.parent.glob("home-of-*"))


def test_what_the_check_brings_isnt_there_before(ran: Ran) -> None:
    assert ran.rows["hidden"].passed is True
    record = Path(ran.folder, ran.rows["hidden"].session, "record.jsonl").read_text()
    assert "secret.txt" not in record


def test_worlds_are_gone_and_records_stay(ran: Ran) -> None:
    assert not list(Path(ran.folder, "tasks").glob("*/work"))
    assert not list(Path(ran.folder, "tasks").glob("*/tmp"))
    assert Path(ran.folder, "tasks", "write", "session.html").exists()


def exported(ran: Ran, form: str) -> str:
    parts: list[bytes] = []
    with Fleet.open(ran.folder) as fleet:
        export(fleet, form, parts.append)
    return b"".join(parts).decode()


def test_exports_hold_every_row(ran: Ran) -> None:
    lines = [msgspec.json.decode(line) for line in exported(ran, "jsonl").splitlines()]
    assert [line["id"] for line in lines] == list(ran.rows)
    assert "+hello" in lines[0]["patch_text"]
    table = list(csv.DictReader(io.StringIO(exported(ran, "csv"))))
    assert [row["id"] for row in table] == list(ran.rows)
    assert table[0]["passed"] == "True"
    predictions = [msgspec.json.decode(line) for line in exported(ran, "swebench").splitlines()]
    assert predictions[0].keys() == {"instance_id", "model_name_or_path", "model_patch"}
    assert predictions[0]["model_patch"] == ran.patch(ran.rows["write"])


def test_a_trajectory_has_its_calls_and_what_they_gave(ran: Ran) -> None:
    whole: dict[str, Any] = msgspec.json.decode(exported(ran, "atif").splitlines()[0])
    steps = whole["steps"]
    assert [step["step_id"] for step in steps] == [1, 2, 3]
    assert [step["source"] for step in steps] == ["user", "agent", "agent"]
    assert steps[1]["tool_calls"][0]["function_name"] == "write_file"
    results = steps[1]["observation"]["results"]
    assert [result["source_call_id"] for result in results] == [steps[1]["tool_calls"][0]["tool_call_id"]]
    assert steps[2]["message"] == "done: write hello"
    assert whole["final_metrics"]["total_steps"] == 3


def test_every_trajectory_is_as_harbors_schema_has_it(ran: Ran) -> None:
    check = Draft202012Validator(msgspec.json.decode(Path(__file__).with_name("atif.schema.json").read_bytes()))
    for line in exported(ran, "atif").splitlines():
        whole: dict[str, Any] = msgspec.json.decode(line)
        check.validate(whole)
        steps = whole["steps"]
        assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
        for step in steps:
            called = {each["tool_call_id"] for each in step.get("tool_calls", ())}
            assert {each["source_call_id"] for each in step.get("observation", {"results": ()})["results"]} <= called


def test_messages_lie_where_mini_swe_agents_viewer_looks_for_them(ran: Ran, tmp_path: Path) -> None:
    with Fleet.open(ran.folder) as fleet:
        export_to(fleet, "traj", str(tmp_path))
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*.traj.json")} == {
        Path(task_id, f"{task_id}.traj.json") for task_id in ran.rows
    }
    whole = msgspec.json.decode((tmp_path / "write" / "write.traj.json").read_bytes())
    assert [message["role"] for message in whole["messages"]] == ["user", "assistant", "tool", "assistant", "exit"]
    asked, answered = whole["messages"][1:3]
    assert asked["extra"]["actions"][0]["file_path"] == "made.txt"
    assert answered["tool_call_id"] == asked["tool_calls"][0]["id"]
    assert whole["info"]["submission"] == ran.patch(ran.rows["write"])
    lost = msgspec.json.decode((tmp_path / "clone" / "clone.traj.json").read_bytes())
    assert lost["info"]["exit_status"] == "world"
    assert "nowhere" in lost["messages"][0]["content"]


def test_the_page_has_every_task_and_reaches_nothing(ran: Ran) -> None:
    text = Path(page_of(ran)).read_text()
    assert "default-src 'none'" in text
    assert "http://" not in text
    assert "https://" not in text
    assert all(f'"{task_id}"' in text for task_id in ran.rows)


def page_of(ran: Ran) -> str:
    from dogu.fleet.report import write_report

    with Fleet.open(ran.folder) as fleet:
        return write_report(fleet)


def test_a_models_words_are_no_part_of_the_pages_code(ran: Ran) -> None:
    with Fleet.open(ran.folder) as fleet:
        hostile = Row("h", False, Reason.MODEL, "</script><script>alert(1)</script><!--")
        text = page(fleet.counts(), [hostile])
    assert text.count("<script") == 1
    assert "<!--" not in text


def test_a_driver_that_is_killed_loses_and_repeats_nothing(place: Path) -> None:
    tasks = place / "many.jsonl"
    rows = [{"id": f"t{number}", "prompt": f"run sleep 0.2; echo {number}", "check": "true"} for number in range(6)]
    tasks.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    out = str(place / "killed")
    words = [sys.executable, "-m", "dogu", "fleet", "run", str(tasks), "--out", out, "--jobs", "2", "--workers", "1"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()  # a row is told when it is on the disk
    process.kill()
    process.wait()
    process.stderr.close()
    with Fleet.open(out) as fleet:
        before = {row.id: row.finished for row in fleet.rows()}
    assert first.split()[1] in before
    done = subprocess.run([*words[:4], "resume", out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with Fleet.open(out) as fleet:
        after = {row.id: row.finished for row in fleet.rows()}
    assert len(after) == 6
    assert {task_id: after[task_id] for task_id in before} == before


def test_a_fleets_folder_may_be_reached_by_a_link(place: Path) -> None:
    (place / "true").mkdir()
    (place / "link").symlink_to("true")
    out = str(place / "link" / "out")
    assert anyio.run(run, [Task("t", "write x", check="grep -q x made.txt")], out, Plan(jobs=1)).passed == 1


def test_a_worker_that_is_killed_costs_an_attempt(place: Path) -> None:
    out = str(place / "lost")
    pids: list[int] = []

    def watch(event: object) -> None:
        if type(event).__name__ == "Begun" and not pids:
            pids.append(_child())
            os.kill(pids[0], 9)

    report = anyio.run(lambda: run([Task("t", "write x", check="true")], out, Plan(jobs=1), watch=watch))
    assert report.passed == 1
    with Fleet.open(out) as fleet:
        row = fleet.row("t")
    assert row is not None
    assert row.attempt == 2


def _child() -> int:
    import psutil

    living = (child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE)
    return next(child.pid for child in living if "dogu.fleet.worker" in child.cmdline())


def test_a_fleet_stops_at_its_money_and_goes_on_with_more(place: Path) -> None:
    tasks = [Task(f"t{number}", "write x", check="true") for number in range(4)]
    out = str(place / "money")
    report = anyio.run(run, tasks, out, Plan(jobs=1, max_cost=0.00005))
    assert "spent" in report.stopped
    assert 0 < report.counts.done < 4
    assert report.counts.queued == 4 - report.counts.done
    done = subprocess.run(
        [sys.executable, "-m", "dogu", "fleet", "resume", out, "--max-cost", "5"], capture_output=True, check=False
    )
    assert done.returncode == 0
    with Fleet.open(out) as fleet:
        assert fleet.counts().passed == 4


def test_what_is_all_done_wasnt_stopped(place: Path) -> None:
    plan = Plan(jobs=2, max_failures=2)
    report = anyio.run(run, [Task(name, "write x", check="false") for name in "ab"], str(place / "all"), plan)
    assert (report.failed, report.stopped) == (2, "")


def test_a_fleet_stops_when_too_much_fails(place: Path) -> None:
    tasks = [Task(f"t{number}", "nothing", check="false") for number in range(6)]
    report = anyio.run(run, tasks, str(place / "failing"), Plan(jobs=1, max_failures=2))
    assert (report.failed, report.counts.queued) == (2, 4)
    assert "2 tasks failed" in report.stopped


def test_what_an_agent_leaves_where_the_check_lies_is_no_hindrance(place: Path) -> None:
    words = "mkdir -p hidden.sh/in; mkfifo other.sh; ln -s /etc link"
    checks = {"hidden.sh": "sh other.sh", "other.sh": "exit 3"}
    tasks = [
        Task("folder", f"run {words}", check_files=checks, check="sh hidden.sh"),
        Task("link", f"run {words}", check_files={"link/mine": "x"}, check="true"),
    ]
    out = str(place / "left")
    anyio.run(run, tasks, out, Plan(jobs=2, workers=1))
    with Fleet.open(out) as fleet:
        folder, link = fleet.row("folder"), fleet.row("link")
    assert folder is not None
    assert folder.check is not None
    assert folder.check.exit_code == 3
    assert link is not None
    assert (link.passed, link.reason) == (False, Reason.WORLD)
    assert "leads out" in link.message
