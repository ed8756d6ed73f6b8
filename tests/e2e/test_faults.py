"""What the machine refuses, said in words: no memory, no room, nowhere to write, a folder that isn't there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import dogu
from dogu.workspace.system import IS_LINUX
from e2e.program import PROGRAM, Program, ready_program

_OFFLINE = ("--model", "offline")


def in_bash(
    program: Program, script: str, *, before: tuple[str, ...] = (), words: Sequence[str] = PROGRAM, **environ: str
) -> tuple[int, str, str]:
    """Run a script in which `dogu` is the program, or what else the words run."""
    text = f'dogu() {{ {shlex.join(words)} "$@"; }}\n{script}'
    done = subprocess.run(
        [*before, "bash", "-c", text],
        cwd=program.root,
        env=program.environ(**environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def mounts() -> tuple[str, ...]:
    """What runs a program where it may mount."""
    unshare = shutil.which("unshare")
    words = (unshare or "", "-rm")
    if (
        unshare is None
        or subprocess.run([*words, "mount", "-t", "tmpfs", "t", "/mnt"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no mount namespace here")
    return words


def test_little_memory_is_enough_for_a_little_file(program: Program) -> None:
    (program.root / "a.txt").write_text("alpha\n")
    code, out, err = in_bash(program, "ulimit -v 250000; dogu call read_file path=a.txt")
    assert (code, out.strip(), err) == (0, "alpha", "")


def test_a_file_that_memory_is_too_small_for_costs_its_call_and_is_told(program: Program) -> None:
    with open(program.root / "big.txt", "wb") as file:
        file.truncate(400_000_000)
    limited = "ulimit -v 300000; dogu call write_file file_path=big.txt content=x --approval-mode yolo"
    code, _, err = in_bash(program, limited)
    assert "defect" not in err
    assert code in (0, 54)


@pytest.mark.parametrize("words", ["call list_directory path=.", "tools", "--version", "config schema", "-p hi --model offline", "-p hi --model offline --output-format json"])  # fmt: skip
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_told(program: Program, words: str, unbuffered: str) -> None:
    code, _, err = in_bash(program, f"dogu {words} > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert "Standard output can't be written: No space left on device" in err
    assert "defect" not in err
    assert code == 74


@pytest.mark.parametrize("words", [(), ("tools",), ("-p", "hi", *_OFFLINE), ("mcp",), ("config", "trust"), ("policy", "explain", "ls")])  # fmt: skip
def test_a_root_that_is_not_there_is_an_error_and_not_the_tour(program: Program, words: tuple[str, ...]) -> None:
    missing = program.root / "missing"
    done = program.run("--root", str(missing), *words)
    assert done.returncode == 52
    assert f"--root: {missing} isn't a folder" in done.stderr.decode()
    assert not done.stdout


def test_a_session_is_not_resumed_without_a_prompt_or_a_terminal(program: Program) -> None:
    done = program.run("--resume")
    assert (done.returncode, done.stdout) == (42, b"")
    assert b"The prompt is empty" in done.stderr


def test_a_model_without_a_key_is_named(program: Program) -> None:
    done = program.run("-p", "hi", "--model", "foo")
    assert (done.returncode, done.stdout) == (41, b"")
    assert done.stderr.startswith(b"No key is set for foo. Set GEMINI_API_KEY")


@pytest.mark.parametrize("words", ["tools", "undo", "sessions", "-p hi"])
def test_a_present_folder_that_is_gone_is_told(program: Program, words: str) -> None:
    code, _, err = in_bash(program, f"mkdir gone && cd gone && rmdir ../gone && dogu {words}")
    assert code == 52
    assert "the current folder is gone" in err


def test_a_home_that_is_a_file_is_told_and_tools_work(program: Program) -> None:
    home = program.root.parent / "file"
    home.touch()
    done = program.run("call", "list_directory", "path=.", environ={"HOME": str(home)})
    assert done.returncode == 0
    assert b"can't be written (Not a directory)" in done.stderr
    assert program.run("mcp-servers", "add", "a", "--", "x", environ={"HOME": str(home)}).returncode == 54


@pytest.mark.parametrize(("name", "code"), [(".gitignore", 0), (".geminiignore", 52)])
def test_an_ignore_file_that_cannot_be_read_is_told_and_one_that_hides_stops(
    program: Program, name: str, code: int
) -> None:
    file = program.root / name
    file.write_text("x\n")
    file.chmod(0)
    without: tuple[str, ...] = ()
    if os.access(file, os.R_OK):
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root may read everything, and there is no setpriv")
        without = (setpriv, "--bounding-set=-dac_override,-dac_read_search")
    ended, out, err = in_bash(program, "dogu call list_directory path=.", before=without)
    assert ended == code
    assert f"{name}" in err
    assert "can't be read" in err
    assert bool(out) is (code == 0)


def test_a_full_home_is_named_and_not_the_disk_of_the_workspace(program: Program, mounts: tuple[str, ...]) -> None:
    (program.root / "big.txt").write_text("x" * 300_000)
    script = f"mount -t tmpfs -o size=150k t {program.home} && dogu call write_file file_path=big.txt content=y"
    code, _, err = in_bash(program, f"{script} --approval-mode yolo", before=mounts)
    assert code == 54
    assert f"No space left on the device of {program.home}" in err
    assert (program.root / "big.txt").stat().st_size == 300_000


def test_a_full_disk_is_no_defect_whatever_it_stops(program: Program, mounts: tuple[str, ...]) -> None:
    fill = f"mount -t tmpfs -o size=100k t {program.home} && head -c 200k /dev/zero > {program.home}/fill 2>/dev/null"
    code, _, err = in_bash(program, f"{fill}; dogu config trust", before=mounts)
    assert (code, err) == (54, "No space is left on the disk: free some, then try again.\n")


def test_a_full_folder_for_temporary_files_loses_no_output(program: Program, mounts: tuple[str, ...]) -> None:
    temporary = program.root.parent / "tmp"
    temporary.mkdir()
    fill = f"mount -t tmpfs -o size=100k t {temporary} && head -c 200k /dev/zero > {temporary}/fill 2>/dev/null"
    call = "dogu call run_shell_command 'command=seq 3' --approval-mode yolo --json"
    code, out, _ = in_bash(program, f"{fill}; {call}", before=mounts, TMPDIR=str(temporary))
    assert code == 0
    assert "Stdout: 1\n2\n3" in json.loads(out)["llmContent"]


def test_a_folder_for_temporary_files_that_is_read_only_is_left_out(program: Program, mounts: tuple[str, ...]) -> None:
    temporary = program.root.parent / "tmp"
    temporary.mkdir()
    seal = f"mount --bind {temporary} {temporary} && mount -o remount,ro,bind {temporary}"
    call = "dogu call run_shell_command 'command=seq 3' --approval-mode yolo --json"
    code, out, _ = in_bash(program, f"{seal} && {call}", before=mounts, TMPDIR=str(temporary))
    assert code == 0
    assert "Stdout: 1\n2\n3" in json.loads(out)["llmContent"]


def test_a_named_folder_that_is_not_there_is_left_out(program: Program) -> None:
    there = Path(program.root.parent, "there")
    there.mkdir()
    program.settle(json.dumps({"context": {"includeDirectories": ["../there", "nowhere", "~/no"]}}))
    done = program.run("call", "list_directory", f"path={there}")
    assert done.returncode == 0
    assert done.stderr.count(b"isn't a folder: left out") == 2


def test_what_waits_for_trust_is_told_at_every_door(program: Program) -> None:
    (program.root / ".gemini").mkdir()
    (program.root / ".gemini" / "settings.json").write_text('{"toolDiscoveryCommand": "echo []"}')
    for words in (("tools",), ("call", "list_directory", "path=."), ("-p", "list files", *_OFFLINE), ("mcp",)):
        told = program.run(*words).stderr
        assert b"tools.discoveryCommand: not used until you trust this folder (`dogu config trust`)" in told, words
    assert b"not used until" in program.run("doctor").stdout


def test_a_pattern_that_no_program_takes_is_refused_in_words(program: Program) -> None:
    rows = [{"id": 1, "tool": "grep_search", "args": {"pattern": "é" * 5_000_000}}]
    rows += [{"id": 2, "tool": "grep_search", "args": {"pattern": "é" * 1_000}}]
    rows += [{"id": 3, "tool": "grep_search", "args": {"pattern": "é" * 16_384}}]
    rows += [{"id": 4, "tool": "grep_search", "args": {"pattern": "a", "include": "b" * 5_000_000}}]
    (program.root / "a.txt").write_text("alpha\n")
    done = program.run("call", "--jsonl", stdin="\n".join(map(json.dumps, rows)).encode())
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(answer.get("error") or {}).get("kind") for answer in answers] == [
        "bad_pattern",
        None,
        "bad_pattern" if IS_LINUX else None,  # RE2 takes longer ones
        "bad_pattern",
    ]
    assert all(len(answer["llmContent"]) < 2_000 for answer in answers if answer["error"])


def test_a_large_file_s_texts_are_not_sent_with_its_diff(program: Program) -> None:
    lines = [f"line {number} of a large file\n" for number in range(100_000)]
    (program.root / "big.txt").write_text("".join(lines))
    path = str(program.root / "big.txt")
    row = {"tool": "replace", "args": {"file_path": path, "old_string": lines[77_777], "new_string": "new\n"}}
    rewritten = {"tool": "write_file", "args": {"file_path": path, "content": "x\n" * 1_500_000}}
    stdin = "\n".join(map(json.dumps, (row, rewritten))).encode()
    done = program.run("call", "--jsonl", "--approval-mode", "yolo", stdin=stdin)
    first, second = (json.loads(line)["returnDisplay"] for line in done.stdout.splitlines())
    assert "-line 77777 of a large file\n+new\n" in first["fileDiff"]
    assert "originalContent" not in first
    assert len(json.dumps(first)) < 10_000
    assert len(json.dumps(second)) < 1_200_000
    assert "more characters of the diff" in second["fileDiff"]


def test_a_client_that_is_not_there_ends_the_mcp_door(program: Program) -> None:
    done = subprocess.run(
        [*ready_program(), "mcp"], cwd=program.root, env=program.environ(), stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_tour_ends_without_a_word_of_cancelling(program: Program) -> None:
    done = program.run()
    assert done.returncode == 0
    assert not done.stderr


@pytest.mark.parametrize("closed", ["<&-", "<&- 2>&-"])
@pytest.mark.parametrize("words", ["call list_directory path=.", "--model offline -p 'list files'", "mcp", "acp"])
def test_what_the_shell_closed_is_no_defect(program: Program, words: str, closed: str) -> None:
    code, _, err = in_bash(program, f"dogu {words} {closed}")
    assert (code, err) == (0, "")


@pytest.mark.parametrize("words", ["call list_directory path=.", "tools", "doctor --help"])
def test_output_that_was_closed_is_lost_and_told(program: Program, words: str) -> None:
    code, _, err = in_bash(program, f"dogu {words} >&-")
    assert (code, err) == (74, "Standard output can't be written: Bad file descriptor.\n")
    assert in_bash(program, f"dogu {words} <&- >&- 2>&-")[0] == 74


@pytest.mark.parametrize("errors", ["2>/dev/full", "2>&-"])
def test_errors_that_cannot_be_written_leave_the_status_as_it_is(program: Program, errors: str) -> None:
    assert in_bash(program, f"dogu call nope {errors}")[0] == 42


@pytest.mark.parametrize("words", ["--help", "doctor --help"])
def test_help_that_cannot_be_written_is_told(program: Program, words: str) -> None:
    code, _, err = in_bash(program, f"dogu {words} > /dev/full")
    assert (code, err) == (74, "Standard output can't be written: No space left on device.\n")


@pytest.mark.parametrize("words", ["config trust", "sessions", "undo", "redo", "jobs", "replay x"])
def test_an_own_folder_that_cannot_be_used_is_told(program: Program, words: str) -> None:
    home = program.root.parent / "file"
    home.touch()
    done = program.run(*words.split(), environ={"HOME": str(home)})
    assert done.returncode == 54 or (done.returncode == 0 and words == "jobs")
    assert b"defect" not in done.stderr
    done = program.run("doctor", environ={"HOME": str(home)})
    assert done.returncode == 1
    assert b"file can't be written" in done.stdout


@pytest.mark.parametrize("limit", [10, 14, 20, 24, 30, 96])
def test_too_few_files_that_may_be_open_are_told_as_that(program: Program, limit: int) -> None:
    words = "dogu --approval-mode yolo call run_shell_command command='echo hi'"
    code, out, err = in_bash(program, f"ulimit -n {limit}; {words}")
    assert (code == 0 and "hi" in out) or (code == 54 and ("ulimit -n" in err or "Too many open files" in err))
    assert "defect" not in err
    assert "Bad file descriptor" not in err
    assert "Try again" not in err


@pytest.mark.parametrize("limit", [5, 6])
def test_a_start_with_too_few_files_says_so_and_nothing_more(program: Program, limit: int) -> None:
    code, _, err = in_bash(program, f"ulimit -n {limit}; dogu call list_directory path=.")
    assert (code, len(err.splitlines())) == (54, 1), err
    assert "ulimit -n" in err


def test_a_limit_of_files_sizes_is_no_fault_of_the_temporary_folder(program: Program) -> None:
    words = "dogu --approval-mode yolo call run_shell_command command='echo hi'"
    code, _, err = in_bash(program, f"ulimit -f 0; {words}")
    assert (code == 54) is ("ulimit -f" in err), err
    assert "TMPDIR" not in err


def test_a_proxy_that_is_no_address_is_named_as_what_is_wrong(program: Program) -> None:
    environ = {"HTTPS_PROXY": "::::bogus", "GEMINI_API_KEY": "x"}
    done = program.run("--retry-for", "0", "-p", "hi", environ=environ)
    assert done.returncode != 0
    assert b"HTTPS_PROXY" in done.stderr
    assert b"isn't a server's address" not in done.stderr


def test_bytes_that_are_no_text_in_the_locale_are_told_as_that(program: Program) -> None:
    words = "dogu --approval-mode yolo call run_shell_command command='echo 日本'"
    code, _, err = in_bash(program, words, LC_ALL="POSIX", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert code != 0
    assert "LC_ALL=C.UTF-8" in err


def test_an_archive_says_that_it_must_be_installed(program: Program, tmp_path: Path) -> None:
    source = Path(dogu.__file__).parent
    with zipfile.ZipFile(tmp_path / "d.pyz", "w") as archive:
        for file in source.rglob("*.py"):
            archive.write(file, f"dogu/{file.relative_to(source)}")
        archive.writestr("__main__.py", "import dogu.cli\ndogu.cli.main()\n")
    python = shlex.quote(sys.executable)
    code, _, err = in_bash(program, f"{python} {shlex.quote(str(tmp_path / 'd.pyz'))} --lang ja call glob pattern='*'")
    assert (code, err.count("\n")) == (54, 1), err
    assert "can't run from an archive" in err


def test_no_memory_for_the_start_is_told(program: Program) -> None:
    for kilobytes in (25_000, 30_000, 35_000):
        code, _, err = in_bash(program, f"ulimit -v {kilobytes}; dogu call list_directory path=.")
        assert code in (0, 54, 127, 139), err  # the last two: Python itself can't be loaded
        assert "defect" not in err


@pytest.mark.parametrize("port", ["70000", "-1", "abc"])
def test_a_port_that_is_none_is_wrong_usage(program: Program, port: str) -> None:
    done = program.run("mcp", f"--http={port}")
    assert done.returncode == 2
    assert b"invalid port value" in done.stderr


def test_a_folder_whose_name_is_no_utf8_works(program: Program) -> None:
    script = """
    mkdir "$(printf 'bad\\377')" && cd "$(printf 'bad\\377')" && echo TODO > x.txt
    dogu config trust && dogu call grep_search pattern=TODO && dogu --model offline -p 'list files'
    dogu --approval-mode yolo call write_file file_path=y.txt content=q && dogu undo && ls && dogu sessions
    dogu config | head -1; dogu mcp < /dev/null
    """
    code, out, err = in_bash(program, script, words=ready_program())
    assert (code, err) == (0, "")
    assert "L1: TODO" in out
    assert "removed:" in out
    assert "y.txt\n" not in out.partition("removed:")[2].partition("\n")[2]
    assert "list files" in out
    assert "trusted: its own settings count" in out


def test_doctor_reads_what_a_start_reads(program: Program) -> None:
    policies = program.root.parent / "home" / ".gemini" / "policies"
    (policies).mkdir(parents=True)
    (policies / "a.toml").write_text("[[rule]]\ndecision = 'deny'\n")
    done = program.run("doctor")
    assert done.returncode == 1
    assert "✘ rules" in done.stdout.decode()
    assert b"rule 1: priority is missing" in done.stdout


def test_input_without_an_end_is_refused_and_a_signal_is_heard_before(program: Program) -> None:
    code, _, err = in_bash(program, "dogu --model offline -p x </dev/zero")
    assert (code, err) == (42, "stdin is larger than 64 MB.\n")
    assert in_bash(program, f"timeout -k 20 1 {shlex.join(PROGRAM)} mcp </dev/zero")[0] == 124


@pytest.mark.parametrize("door", ["mcp", "acp"])
def test_input_that_may_only_be_written_is_told(program: Program, door: str) -> None:
    code, _, err = in_bash(program, f"dogu {door} 0>written")
    assert (code, err) == (54, "Standard input can't be read: Bad file descriptor.\n")


def test_a_folder_for_temporary_files_that_takes_none_is_left_out(program: Program) -> None:
    words = ("--approval-mode", "yolo", "call", "run_shell_command", "command=echo hi")
    done = program.run(*words, environ={"TMPDIR": "/proc"})
    assert (done.returncode, b"hi" in done.stdout, done.stderr) == (0, True, b"")
