"""`dogu undo` and `dogu sessions`: what any tool changed comes back, byte for byte."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn
from dogu.testing.turn import call as model_call
from dogu.workspace.system import IS_LINUX
from e2e.program import PROGRAM, Program

RAW = "日本語のテキスト\r\nlast".encode("cp932")


def call(program: Program, tool: str, **args: object) -> None:
    done = program.run("call", tool, json.dumps(args), "--approval-mode", "yolo")
    assert done.returncode == 0, done.stderr


def test_the_last_change_is_taken_back_then_the_one_before_across_sessions(program: Program):
    path = program.root / "a.txt"
    path.write_bytes(RAW)
    path.chmod(0o640)
    call(program, "replace", file_path=str(path), old_string="last", new_string="最後")
    call(program, "run_shell_command", command="rm a.txt; echo new > b.txt")
    assert not path.exists()

    done = program.run("undo", "--unsure")
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == RAW.replace(b"last", "最後".encode("cp932"))
    assert path.stat().st_mode & 0o777 == 0o640
    assert not (program.root / "b.txt").exists()

    assert program.run("undo", "--unsure").returncode == 0
    assert path.read_bytes() == RAW
    nothing = program.run("undo")
    assert nothing.returncode == 54
    assert b"no session" in nothing.stderr


@pytest.mark.skipif(not IS_LINUX, reason="names are UTF-8 there")
def test_a_file_whose_name_is_no_text_is_written_and_taken_back(program: Program):
    path = program.root / os.fsdecode(b"caf\xe9.txt")
    path.write_text("old\n")
    done = program.run("call", "write_file", f"file_path={path.name}", "content=new", "--approval-mode", "yolo")
    assert (done.returncode, done.stderr) == (0, b"")
    assert path.read_text() == "new"
    assert program.run("undo").returncode == 0
    assert path.read_text() == "old\n"


@pytest.mark.parametrize(("words", "left"), [((), {"a", "b"}), (("--turn",), set()), (("--to", "2"), {"a"})])
def test_a_whole_turn_or_all_back_to_a_call_is_undone_from_outside(
    program: Program, words: tuple[str, ...], left: set[str]
):
    calls = [model_call("write_file", file_path=name, content="new") for name in ("a", "b")]
    calls.append(model_call("run_shell_command", command="echo more > c"))
    with FakeGemini([Turn(calls=calls), Turn(text="Done.")]) as server:
        environ = {"GEMINI_API_KEY": "key", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        done = program.run("-p", "go", "--approval-mode", "yolo", environ=environ)
    assert done.returncode == 0, done.stderr
    assert b"Back to which call" in program.run("undo", "--to").stderr
    assert program.run("undo", "--unsure", *words).returncode == 0
    assert {path.name for path in program.root.iterdir()} == left


def test_what_others_changed_since_is_not_undone_unless_told_to(program: Program):
    path = program.root / "a.txt"
    path.write_text("one\n")
    call(program, "write_file", file_path=str(path), content="two\n")
    path.write_text("three, by hand\n")
    refused = program.run("undo")
    assert refused.returncode == 54
    assert b"a.txt" in refused.stderr
    assert path.read_text() == "three, by hand\n"
    assert program.run("undo", "--force").returncode == 0
    assert path.read_text() == "one\n"


def test_sessions_tell_what_was_done_by_which_call(program: Program):
    call(program, "write_file", file_path="new.txt", content="x")
    (line,) = program.run("sessions").stdout.decode().splitlines()
    assert str(program.root) in line
    shown = program.run("sessions", "show", line.split()[0]).stdout.decode()
    assert "created" in shown
    assert str(program.root / "new.txt") in shown


def test_a_session_that_kept_nothing_leaves_nothing(program: Program):
    assert program.run("call", "list_directory", "path=.").returncode == 0
    assert b"No session" in program.run("sessions").stdout


def test_what_was_undone_is_redone_and_a_file_is_undone_by_its_name(program: Program):
    for name in ("a.txt", "b.txt"):
        call(program, "write_file", file_path=name, content="new")
    assert b"a.txt" in program.run("undo", "a.txt", "--preview").stdout
    assert (program.root / "a.txt").exists()
    done = program.run("undo", "a.txt")
    assert done.returncode == 0, done.stderr
    assert b"Session 2" in done.stdout
    assert {path.name for path in program.root.iterdir()} == {"b.txt"}
    assert program.run("redo").returncode == 0
    assert {path.name for path in program.root.iterdir()} == {"a.txt", "b.txt"}
    assert program.run("redo").returncode == 54


def test_a_file_that_was_moved_goes_back_where_it_lay_when_it_is_undone_by_its_name(program: Program):
    (program.root / "d").mkdir(mode=0o750)
    (program.root / "d/a").write_text("1")
    call(program, "run_shell_command", command="mv d e; touch other")
    assert program.run("undo", "e/a", "--unsure").returncode == 0
    assert (program.root / "d/a").read_text() == "1"
    assert (program.root / "d").stat().st_mode & 0o777 == 0o750
    assert program.run("redo").returncode == 0
    assert (program.root / "e/a").read_text() == "1"


def test_who_works_in_their_home_keeps_the_journal_of_a_command_that_goes_on(program: Program):
    at_home = Program(program.home, program.home)
    (program.home / "a").write_text("1\n")
    done = at_home.run("call", "run_shell_command", '{"command": "echo 2 > a & wait"}', "--approval-mode", "yolo")
    assert b"put back" not in done.stdout
    assert (program.home / "a").read_text() == "2\n"
    assert at_home.run("undo", "--unsure").returncode == 0
    assert (program.home / "a").read_text() == "1\n"


def test_a_journal_that_was_changed_is_told_and_gone_on_with_when_told_to(program: Program):
    path = program.root / "a.txt"
    path.write_text("old")
    call(program, "write_file", file_path="a.txt", content="new")
    (journal,) = (program.home / ".dogu/sessions").glob("*/journal.log")
    data = bytearray(journal.read_bytes())
    data[-1] ^= 1
    journal.write_bytes(data)
    for words in ((), ("--unverified",)):
        assert program.run("undo", *words).returncode == 54
        assert path.read_text() == "new"


def test_a_redo_takes_the_undo_that_was_made_last_whichever_session_began_last(program: Program):
    call(program, "write_file", file_path="a", content="one")
    call(program, "write_file", file_path="b", content="two")
    assert program.run("undo").returncode == 0
    assert program.run("undo").returncode == 0
    assert sorted(path.name for path in program.root.iterdir()) == []
    assert program.run("redo").returncode == 0
    assert sorted(path.name for path in program.root.iterdir()) == ["a"]
    assert program.run("redo").returncode == 0
    assert sorted(path.name for path in program.root.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_journal_that_was_emptied_or_removed_is_told_and_what_an_older_session_did_is_still_undone(
    program: Program, is_there: bool
):
    call(program, "write_file", file_path="a", content="one")
    call(program, "write_file", file_path="b", content="two")
    newest = max(program.home.glob(".dogu/sessions/*/journal.log"))
    newest.unlink()
    if is_there:
        newest.touch()
    for _ in range(2):
        done = program.run("undo")
        assert done.returncode == 54
        assert b"bytes are gone" in done.stderr
    assert program.run("undo", "--unverified").returncode == 0
    assert sorted(path.name for path in program.root.iterdir()) == ["b"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mount namespaces are Linux's")
def test_another_file_system_inside_of_the_folder_is_told_with_the_call(program: Program):
    (program.root / "inside").mkdir()
    words = [
        *PROGRAM,
        "call",
        "run_shell_command",
        '{"command": "echo x > inside/x; echo y > y"}',
        "--approval-mode",
        "yolo",
    ]
    script = 'mount -t tmpfs none inside || exit 99; exec "$@"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", *words],
        cwd=program.root,
        env=program.environ(),
        capture_output=True,
        check=False,
    )
    if done.returncode in (1, 99) and b"dogu" not in done.stderr:
        pytest.skip(f"nothing is mounted here: {done.stderr.decode()}")
    assert f"what a command changes in {program.root}/inside can't be undone".encode() in done.stdout + done.stderr


@pytest.mark.skipif(not IS_LINUX or shutil.which("bwrap") is None, reason="no layers on this machine")
def test_a_preview_runs_a_command_unasked_and_keeps_nothing_and_is_refused_for_other_tools(program: Program):
    (program.root / "a.txt").write_text("old\n")
    shown = program.run("call", "run_shell_command", "command=sed -i s/old/new/ a.txt; rm -f b", "--preview")
    assert (shown.returncode, b"+new" in shown.stdout) == (0, True), shown
    assert (program.root / "a.txt").read_text() == "old\n"
    for mode in ((), ("--approval-mode", "yolo")):
        done = program.run("call", *mode, "write_file", "file_path=a.txt", "content=new", "--preview")
        assert done.returncode == 2
    assert (program.root / "a.txt").read_text() == "old\n"
