"""Sessions from outside: resumed, copied, listed, exported, verified, deleted, replayed."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
from dogu.workspace.sandbox.ladder import Sandbox, SandboxSettings, Step
from e2e.program import PROGRAM, Program

KEY = "a-key-that-is-a-secret"


def talk(
    program: Program, turns: Iterable[Turn | str], *words: str, environ: dict[str, str] | None = None
) -> list[Any]:
    """Run `dogu WORDS` against a model with these turns; return the process, and what the model was asked."""
    with FakeGemini(list(turns)) as server:
        given = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.base_url, **(environ or {})}
        done = program.run(*words, environ=given)
        assert done.returncode == 0, done.stderr
        return [done, *server.requests]


def slash(program: Program, command: str) -> str:
    done = program.run("--resume", "-p", command, "--model", "offline")
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def session_folder(program: Program) -> Path:
    (folder,) = (program.home / ".dogu" / "sessions").iterdir()
    return folder


def edit(program: Program, old: str, new: str) -> Turn:
    path = str(program.root / "a.txt")
    return Turn(calls=[call("replace", file_path=path, old_string=old, new_string=new)])


@pytest.fixture
def edited(program: Program) -> Program:
    """Two turns in one session: `one` became `two`, then `three`."""
    (program.root / "a.txt").write_text("one\n")
    talk(program, [edit(program, "one", "two"), "Done."], "-p", "first <b>", "--approval-mode", "yolo")
    talk(program, [edit(program, "two", "three"), "Done."], "--resume", "-p", "second", "--approval-mode", "yolo")
    return program


def test_a_session_goes_on_with_all_that_was_said(program: Program):
    talk(program, ["The word is xylophone."], "-p", "say a word")
    _, request = talk(program, ["xylophone"], "--resume", "-p", "which word?")
    assert [content["parts"][0]["text"] for content in request.contents] == [
        "say a word",
        "The word is xylophone.",
        "which word?",
    ]
    assert len([*(program.home / ".dogu" / "sessions").iterdir()]) == 1


def test_nothing_to_resume_is_told_and_so_are_ids_that_fit_none_or_several(program: Program):
    none = program.run("--resume", "-p", "x")
    assert none.returncode == 42
    assert b"No conversation" in none.stderr
    for _ in range(2):
        talk(program, ["hi"], "-p", "hello")
    assert b"2 sessions" in program.run("--resume", "2", "-p", "x").stderr
    assert b"no session 1999" in program.run("--resume", "1999", "-p", "x").stderr


def test_the_last_session_is_the_one_used_last_whatever_the_clock_says(program: Program):
    for word in ("first", "second"):
        talk(program, ["hi"], "-p", word)
    folders = sorted((program.home / ".dogu" / "sessions").iterdir())
    first = next(folder for folder in folders if b'"first"' in (folder / "record.jsonl").read_bytes())
    talk(program, ["hi"], "--resume", first.name, "-p", "third")
    for name in ("record.jsonl", "session.json"):
        os.utime(first / name, (0, 0))
    _, request = talk(program, ["hi"], "--resume", "-p", "fourth")
    assert [content["parts"][0]["text"] for content in request.contents if content["role"] == "user"] == [
        "first",
        "third",
        "fourth",
    ]


def test_resumed_from_elsewhere_it_works_where_it_worked(program: Program, tmp_path: Path):
    (program.root / "here.txt").touch()
    talk(program, ["hi"], "-p", "hello")
    session_id = session_folder(program).name
    elsewhere = Program(tmp_path, program.home)
    look = Turn(calls=[call("glob", pattern="*.txt")])
    _, _, answered = talk(elsewhere, [look, "ok"], "--resume", session_id, "-p", "look")
    assert "here.txt" in json.dumps(answered.contents[-1])
    refused = program.run("--resume", session_id, "--root", str(tmp_path), "-p", "x")
    assert b"worked in" in refused.stderr


def test_a_copy_goes_on_by_itself(edited: Program):
    original = session_folder(edited)
    record = (original / "record.jsonl").read_bytes()
    done, request = talk(edited, ["ok"], "--fork", "-p", "third")
    assert (original / "record.jsonl").read_bytes() == record
    assert len(request.contents) == 9
    assert original.name.encode() in done.stderr
    assert len([*original.parent.iterdir()]) == 2
    assert edited.run("sessions", "verify").returncode == 0


def test_while_another_process_holds_the_session_a_copy_goes_on(edited: Program):
    original = session_folder(edited)
    record = (original / "record.jsonl").read_bytes()
    with (original / "record.jsonl").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done, _ = talk(edited, ["ok"], "--resume", "-p", "third")
        assert b"in use by another process" in done.stderr
        assert b"in use" in edited.run("sessions", "delete", original.name).stderr
    assert (original / "record.jsonl").read_bytes() == record
    assert original.exists()


def test_the_mode_carries_on_unless_another_is_said(program: Program):
    path = program.root / "a.txt"
    write = Turn(calls=[call("write_file", file_path=str(path), content="x")])
    talk(program, ["hi"], "-p", "hello", "--approval-mode", "auto_edit")
    talk(program, [write, "ok"], "--resume", "-p", "write")
    assert path.exists()
    path.unlink()
    with FakeGemini([write, "ok"]) as server:
        environ = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.base_url}
        program.run("--resume", "-p", "write", "--approval-mode", "plan", environ=environ)
    assert not path.exists()


def test_a_limit_of_costs_is_about_the_whole_session(program: Program):
    limits = program.root / "limits.json"
    limits.write_text('{"model": {"prices": {"dear": {"input": 1000000, "output": 0}}}}')
    words = ["--settings", str(limits), "--model", "dear", "--output-format", "json"]
    (first, *_) = talk(program, ["hi"], "-p", "hello", "--max-cost", "50", *words)
    cost = json.loads(first.stdout)["stats"]["cost_usd"]
    assert cost > 0
    stopped = program.run("--resume", "-p", "more", "--max-cost", str(cost), *words, environ={"GEMINI_API_KEY": KEY})
    assert stopped.returncode == 53
    assert "this session has cost" in json.loads(stopped.stdout)["note"]
    more, *_ = talk(program, ["hi"], "--resume", "-p", "more", "--max-cost", str(cost + 1), *words)
    assert b"so far, and the limit is" in more.stderr
    assert json.loads(more.stdout)["stats"]["cost_usd"] == cost  # of this run
    shown = program.run("--resume", "-p", "/stats", *words[:4], environ={"GEMINI_API_KEY": KEY}).stdout
    assert b"dear: 2 requests" in shown
    assert f"${cost * 2:,.2f}".encode() in shown


def test_a_command_in_the_background_is_told_to_have_ended(program: Program):
    start = Turn(calls=[call("run_shell_command", command="sleep 997 & echo started")])
    talk(program, [start, "Started."], "-p", "start", "--approval-mode", "yolo")
    done, request = talk(program, ["ok"], "--resume", "-p", "and now?")
    assert b"sleep 997" in done.stderr
    assert "have ended: sleep 997" in json.dumps(request.contents[-1])


def test_no_key_gets_into_a_record(program: Program):
    secret = "another-secret-value"
    leak = Turn(text=f"{KEY} ", pieces=5, calls=[call("run_shell_command", command=f"echo {secret} {KEY}")])
    environ = {"MY_SERVICE_TOKEN": secret, "PASSWORD_STORE_DIR": "/some/where"}
    talk(program, [leak, "ok"], "-p", f"what is {secret}?", "--approval-mode", "yolo", environ=environ)
    record = (session_folder(program) / "record.jsonl").read_bytes()
    assert KEY.encode() not in record
    assert secret.encode() not in record
    assert record.count(b"[secret]") >= 5


def test_the_list_says_when_how_many_turns_which_model_and_the_first_prompt(edited: Program):
    lines = edited.run("sessions").stdout.decode().splitlines()
    folder = session_folder(edited)
    assert len(lines) == 1
    assert lines[0].startswith(folder.name)
    assert "first <b>" in lines[0]
    (row,) = json.loads(edited.run("sessions", "list", "--json").stdout)
    assert (row["id"], row["turns"], row["calls"], row["firstPrompt"]) == (folder.name, 2, 2, "first <b>")
    assert row["model"].startswith("gemini")
    assert row["canBeResumed"]
    shown = edited.run("sessions", "show").stdout.decode()
    assert shown.index("first <b>") < shown.index("a.txt") < shown.index("second")
    told = json.loads(edited.run("sessions", "show", "--json").stdout)
    assert [len(turn["changes"]) for turn in told["turns"]] == [1, 1]


def test_a_session_that_only_called_tools_without_changing_anything_leaves_nothing(program: Program):
    (program.root / "a.txt").write_text("x")
    assert program.run("call", "read_file", "path=a.txt").returncode == 0
    assert [*(program.home / ".dogu" / "sessions").iterdir()] == []


def test_delete_needs_an_id_and_takes_the_folder(edited: Program):
    folder = session_folder(edited)
    assert edited.run("sessions", "delete").returncode == 2
    assert edited.run("sessions", "delete", folder.name).returncode == 0
    assert not folder.exists()


def test_verify_sees_a_change_made_afterwards(edited: Program):
    assert edited.run("sessions", "verify").returncode == 0
    record = session_folder(edited) / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b"first <b>", b"first <i>"))
    done = edited.run("sessions", "verify")
    assert done.returncode == 1
    assert b"line " in done.stdout
    record.unlink()
    assert b"only its seal is there" in edited.run("sessions", "verify", session_folder(edited).name).stderr


def test_what_changed_is_shown_from_the_first_change_to_now_also_after_resuming(edited: Program):
    shown = slash(edited, "/diff")
    assert "-one\n+three\n" in shown
    assert shown.count("@@") == 2


def test_going_back_takes_files_and_conversation_back_also_after_resuming(edited: Program):
    listed = slash(edited, "/rewind")
    assert "first <b>" in listed
    assert "second" in listed
    assert "second" in slash(edited, "/rewind 2")
    assert (edited.root / "a.txt").read_text() == "two\n"
    done, request = talk(edited, ["ok"], "--resume", "-p", "third")
    assert b"gone back to before turn 2" in done.stderr
    said = [part["text"] for content in request.contents for part in content["parts"] if "text" in part]
    assert said == ["first <b>", "Done.", "third"]


def test_going_back_is_refused_where_somebody_else_changed_a_file_since(edited: Program):
    path = edited.root / "a.txt"
    path.write_text("mine\n")
    assert "stays where it is" in slash(edited, "/rewind 1")
    assert path.read_text() == "mine\n"
    assert "second" in slash(edited, "/rewind")
    assert "before turn 1" in slash(edited, "/rewind 1 --keep-files")
    assert path.read_text() == "mine\n"


def test_a_copy_from_within_can_be_gone_on_with(edited: Program):
    original = session_folder(edited).name
    copy = slash(edited, "/fork").strip().rsplit(" ", 1)[1].rstrip(".")
    last = json.loads(edited.run("sessions", "--json").stdout)[0]
    assert last["id"] == original  # it is still the one that is resumed without an id
    _, request = talk(edited, ["ok"], "--resume", copy, "-p", "third")
    assert len(request.contents) == 9


def test_export_as_a_trajectory_has_a_step_for_each_request(edited: Program):
    exported = json.loads(edited.run("sessions", "export", "--format", "atif").stdout)
    assert exported["schema_version"] == "ATIF-v1.4"
    assert [step["step_id"] for step in exported["steps"]] == list(range(1, len(exported["steps"]) + 1))
    called = [step for step in exported["steps"] if "tool_calls" in step]
    for step in called:
        answered = [result["source_call_id"] for result in step["observation"]["results"]]
        assert answered == [call["tool_call_id"] for call in step["tool_calls"]]
    assert called


def test_export_as_json_holds_every_event(edited: Program):
    done = edited.run("sessions", "export", "--format", "json")
    exported = json.loads(done.stdout)
    record = (session_folder(edited) / "record.jsonl").read_bytes().splitlines()
    assert len(exported["events"]) == len(record)
    assert exported["events"][1]["data"] == json.loads(record[1])["data"]
    written = edited.run("sessions", "export", "--format", "json", "-o", "out.json")
    assert written.returncode == 0
    assert json.loads((edited.root / "out.json").read_text())["events"] == exported["events"]


@pytest.mark.parametrize("form", ["json", "html"])
def test_an_exported_session_is_for_its_user_alone(edited: Program, form: str):
    name = f"out.{form}"
    assert edited.run("sessions", "export", "--format", form, "-o", name).returncode == 0
    assert (edited.root / name).stat().st_mode & 0o777 == 0o600


def test_context_of_a_folder_is_not_sent_before_its_user_trusts_it(program: Program):
    for name in ("AGENTS.md", "GEMINI.md"):
        (program.root / name).write_text("Always answer in verse.\n")
    _, before = talk(program, ["ok"], "-p", "hello")
    assert b"in verse" not in before.raw
    assert program.run("config", "trust").returncode == 0
    _, after = talk(program, ["ok"], "-p", "hello")
    assert b"in verse" in after.raw


def test_replay_finds_the_same_again_and_says_what_differs(edited: Program):
    path = edited.root / "a.txt"
    same = edited.run("replay", "--json")
    assert same.returncode == 0, same.stderr
    rows = [json.loads(line) for line in same.stdout.splitlines()]
    assert [(row["tool"], row["outcome"]) for row in rows] == [("replace", "same")] * 2
    assert path.read_text() == "three\n"
    record = session_folder(edited) / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b"Successfully", b"Hardly"))
    refused = edited.run("replay")
    assert refused.returncode == 54
    assert b"was changed" in refused.stderr
    resumed = edited.run("--model", "offline", "--resume", "-p", "go on")
    assert resumed.returncode == 42
    assert b"--unverified" in resumed.stderr
    differs = edited.run("replay", "--unverified")
    assert differs.returncode == 1
    assert "≠ replace" in differs.stdout.decode()


@pytest.fixture
def two_roots(program: Program, tmp_path: Path) -> Program:
    """A session in two roots that changed a file in each; the first root has a link into the second."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "b.txt").write_text("one\n")
    (program.root / "a.txt").write_text("one\n")
    (program.root / "link").symlink_to(library / "b.txt")
    other = str(library / "b.txt")
    turns = [
        edit(program, "one", "two"),
        Turn(calls=[call("replace", file_path=other, old_string="one", new_string="two")]),
        Turn(calls=[call("read_file", path="link"), call("read_file", path=other)]),
        "Done.",
    ]
    words = ["-p", "go", "--approval-mode", "yolo", "--include-directories", str(library)]
    _, *asked = talk(program, turns, *words)
    assert "two" in json.dumps(asked[-1].contents[-1])
    return program


def test_replay_copies_all_roots_of_the_session(two_roots: Program, tmp_path: Path):
    done = two_roots.run("replay", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["tool"], row["outcome"]) for row in rows] == [("replace", "same")] * 2 + [("read_file", "same")] * 2
    assert (tmp_path / "library" / "b.txt").read_text() == "two\n"
    (tmp_path / "library").rename(tmp_path / "elsewhere")
    gone = two_roots.run("replay", "--json")
    assert b"Not copied: " + bytes(tmp_path / "library") in gone.stderr
    outcomes = [json.loads(line)["outcome"] for line in gone.stdout.splitlines()]
    assert outcomes == ["same", "differs", "differs", "differs"]


def test_a_root_within_another_is_copied_once(program: Program):
    inner = program.root / "packages" / "one"
    inner.mkdir(parents=True)
    (program.root / "a.txt").write_text("one\n")
    words = ["-p", "go", "--approval-mode", "yolo", "--include-directories", str(program.root)]
    talk(Program(inner, program.home), [edit(program, "one", "two"), "Done."], *words)
    done = Program(inner, program.home).run("replay")
    assert done.stdout.decode().startswith("= replace")


def test_further_roots_belong_to_the_session_but_it_is_not_theirs(two_roots: Program, tmp_path: Path):
    library = tmp_path / "library"
    read = Turn(calls=[call("read_file", path=str(library / "b.txt"))])
    done, _, answered = talk(two_roots, [read, "ok"], "--resume", "-p", "read it")
    assert "two" in json.dumps(answered.contents[-1])
    assert f"works in {library} too".encode() in done.stderr
    there = Program(library, two_roots.home)
    assert b"No conversation" in there.run("--resume", "-p", "x").stderr
    undone = two_roots.run("undo", "--turn")
    assert undone.returncode == 0, undone.stderr
    assert (library / "b.txt").read_text() == "one\n"


@pytest.mark.skipif(
    Sandbox.detect(SandboxSettings(network=False)).step not in (Step.BUBBLEWRAP, Step.LANDLOCK),
    reason="no sandbox here keeps a command in its folder",
)
def test_replay_writes_nothing_outside_of_its_copy(program: Program, tmp_path: Path):
    outside = tmp_path / "outside"
    unconfined = tmp_path / "unconfined.json"
    unconfined.write_text('{"tools": {"sandbox": "off"}}')
    command = f"echo x >> {outside}; echo y >> {program.root}/inside; cat {program.root}/inside"
    turns = [Turn(calls=[call("run_shell_command", command=command)]), "ok"]
    talk(program, turns, "-p", "go", "--approval-mode", "yolo", "--settings", str(unconfined))
    outside.unlink()
    (row,) = [json.loads(line) for line in program.run("replay", "--json").stdout.splitlines()]
    assert row["outcome"] == "differs"
    assert not outside.exists()
    assert "Stdout: y" in row["now"]
    assert (program.root / "inside").read_text() == "y\n"


def test_a_process_told_to_end_closes_its_record_with_the_cancelled_turn(program: Program):
    with FakeGemini([Turn(text="slow", hangs=True)]) as server:
        environ = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.base_url}
        words = [*PROGRAM, "-p", "hello"]
        process = subprocess.Popen(words, cwd=program.root, env=program.environ(**environ), stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.01)
        process.terminate()
        process.wait(20)
    assert b'"turn_cancelled"' in (session_folder(program) / "record.jsonl").read_bytes()
    _, request = talk(program, ["hi"], "--resume", "-p", "again")
    assert [part["text"] for part in request.contents[0]["parts"]] == ["hello", "again"]


def test_where_no_file_may_grow_reads_go_on_and_what_writes_says_why(program: Program):
    (program.root / "a.txt").write_text("here\n")

    def call(tool: str, arguments: str) -> subprocess.CompletedProcess[bytes]:
        words = ["bash", "-c", 'ulimit -f 0; exec "$@"', "-", *PROGRAM, "call", tool, arguments]
        words += ["--approval-mode", "yolo"]
        environ = program.environ()
        return subprocess.run(words, cwd=program.root, env=environ, capture_output=True, timeout=60, check=False)

    assert b"here" in call("read_file", '{"path": "a.txt"}').stdout
    assert b"L1: here" in call("grep_search", '{"pattern": "her"}').stdout
    for done in (
        call("write_file", '{"file_path": "b.txt", "content": "x"}'),
        call("run_shell_command", '{"command": "true"}'),
    ):
        assert done.returncode == 54
        assert b"ulimit -f" in done.stdout + done.stderr


def test_with_no_room_for_the_record_the_answer_comes_and_it_is_said_once(program: Program):
    """`ulimit -f` is a disk that gets full: no file grows past 1 KiB."""
    with FakeGemini([Turn(text="x" * 3000, pieces=5)]) as server:
        keys = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.base_url}
        environ = program.environ(**keys, PYTHONDONTWRITEBYTECODE="1")  # Python leaves half a file there, for good
        words = ["bash", "-c", 'ulimit -f 1; exec "$@"', "-", *PROGRAM, "-p", "hello"]
        done = subprocess.run(words, cwd=program.root, env=environ, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"x") == 3000
    assert done.stderr.count(b"can't be recorded") == 1
    _, request = talk(program, ["hi"], "--resume", "-p", "again")
    assert request.contents[0]["role"] == "user"
