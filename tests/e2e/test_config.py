"""`dogu config`, trust, doctor, policy explain: what is in force, and why."""

from __future__ import annotations

import json

import pytest

from e2e.program import Program


def test_the_settings_in_force_are_shown_without_keys(program: Program):
    (program.home / ".dogu").mkdir()
    (program.home / ".dogu" / "settings.json").write_text(
        '{"model": {"apiKey": "AIzaSecret"}, "excludeTools": ["glob"]}'
    )
    shown = program.run("config").stdout.decode()
    assert "tools.exclude is set in" in shown
    assert "settings.json:1" in shown
    assert "AIzaSecret" not in shown
    (program.home / ".dogu" / "settings.json").write_text(shown)
    again = program.run("config")
    assert again.returncode == 0, "it can be pasted into the settings"
    values = [text.partition("\n{")[2] for text in (shown, again.stdout.decode())]
    assert values[0] == values[1]
    assert '"exclude": ["glob"]' in values[0].replace("\n", "").replace("      ", "").replace("    ]", "]")


def test_a_folder_may_only_restrict_until_it_is_trusted(program: Program):
    folder = program.root / ".dogu"
    folder.mkdir()
    (folder / "settings.json").write_text('{"tools": {"approvalMode": "yolo"}}')
    call = ("call", "write_file", "file_path=a.txt", "content=x")
    assert program.run(*call).returncode == 56
    assert b"trust this folder" in program.run("config").stdout
    assert program.run("config", "trust").returncode == 0
    assert program.run(*call).returncode == 0
    assert program.run("config", "untrust").returncode == 0
    assert program.run(*call).returncode == 56


def test_an_excluded_command_is_refused_in_every_mode(program: Program):
    (program.home / ".gemini").mkdir()
    (program.home / ".gemini" / "settings.json").write_text('{"excludeTools": ["run_shell_command(rm)"]}')
    (program.root / "a.txt").write_text("x")
    done = program.run("call", "run_shell_command", "command=true && rm a.txt", "--approval-mode", "yolo", "--json")
    assert json.loads(done.stdout)["error"]["kind"] == "refused"
    assert (program.root / "a.txt").exists()


def test_a_restriction_that_is_not_understood_stops_the_start(program: Program):
    (program.home / ".gemini").mkdir()
    (program.home / ".gemini" / "settings.json").write_text('{"excludeTools": ["run_shell_command(rm"]}')
    done = program.run("call", "run_shell_command", "command=ls", "--approval-mode", "yolo")
    assert done.returncode == 52
    assert b"run_shell_command(rm" in done.stderr


def test_a_verdict_is_explained_to_people_and_to_scripts(program: Program):
    plain = program.run("policy", "explain", "git log > /etc/x").stdout.decode()
    assert plain.startswith("verdict: ask")
    rows = [
        {"id": 1, "command": "git status; rm x", "coreTools": ["run_shell_command(git)"], "excludeTools": None},
        {"id": 2, "command": "git status", "approvalMode": "yolo"},
        {"id": 3},
        {"id": 4, "command": "ls", "coreTools": ["run_shell_command("]},
    ]
    stdin = "\n".join([*map(json.dumps, rows), "{oops"]).encode()
    answers = [
        json.loads(line) for line in program.run("policy", "explain", "--jsonl", stdin=stdin).stdout.splitlines()
    ]
    assert [(answer["id"], answer["gate"]) for answer in answers] == [
        (1, "deny"),
        (2, "allow"),
        (3, "deny"),
        (4, "deny"),
        (None, "deny"),
    ]
    assert answers[0]["commands"][1] == {
        "words": ["rm", "x"],
        "rule": None,
        "verdict": "deny",
        "reason": "rm is not among the commands allowed",
    }
    assert answers[1]["verdict"] == "allow"


@pytest.mark.parametrize("words", [("call", "--jsonl", "calls.txt"), ("policy", "explain", "--jsonl", "ls")])
def test_a_word_that_would_do_nothing_beside_lines_is_refused(program: Program, words: tuple[str, ...]):
    done = program.run(*words)
    assert done.returncode == 2
    assert f"'{words[-1]}' would do nothing" in done.stderr.decode()


def test_the_doctor_tells_each_thing_and_what_to_do(program: Program):
    done = program.run("doctor")
    text = done.stdout.decode()
    for word in ("system", "model", "sandbox", "ripgrep", "bash", "commands", "terminal", "settings"):
        assert word in text
    assert "GEMINI_API_KEY" in text
    assert done.returncode == 0


def test_the_doctor_says_what_of_hooks_stops_every_start(program: Program):
    settings = program.root / ".dogu" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooks": {"AfterTool": 7}}')
    program.run("config", "trust")
    assert program.run("doctor").returncode == 0
    settings.write_text('{"hooks": {"BeforeTool": 7}}')
    done = program.run("doctor")
    assert done.returncode == 1
    assert b"hooks.BeforeTool: takes a list" in done.stdout


@pytest.mark.requirement("shell.limit.example.block_all")
@pytest.mark.parametrize(
    ("settings", "call", "told"),
    [
        (
            '{\n"excludeTools": ["run_shell_command"]}',
            ("run_shell_command", "command=ls -l"),
            "excluded by excludeTools",
        ),
        ('{\n"excludeTools": ["ShellTool"]}', ("ShellTool", "command=echo hello"), "excluded by excludeTools"),
        ('{\n"excludeTools": ["run_shell_command"]}', ("background_jobs",), "goes with run_shell_command"),
        ('{\n"tools": {"exclude": ["WriteFileTool"]}}', ("write_file", "file_path=a", "content=b"), "excludeTools"),
        (
            '{\n"coreTools": ["read_file"]}',
            ("WriteFileTool", "file_path=a", "content=b"),
            "not among the tools of coreTools",
        ),
    ],
)
def test_an_excluded_tool_is_told_with_the_line_that_excludes_it(
    program: Program, settings: str, call: tuple[str, ...], told: str
):
    program.settle(settings)
    refused = program.run("call", *call)
    assert refused.returncode == 56
    said = refused.stderr.decode()
    assert told in said
    assert "settings.json:2)" in said
    assert "no tool named" not in said


def test_the_documents_class_names_lead_to_their_tools(program: Program):
    (program.root / "a.txt").write_text("hello\n")
    assert b"L1: hello" in program.run("call", "GrepTool", "pattern=hello").stdout
    assert program.run("call", "ReadFileTool", f"path={program.root}/a.txt").stdout == b"hello\n"
