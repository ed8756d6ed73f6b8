"""`dogu -p` against the wire of Gemini: what is sent, what is printed, how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.program import PROGRAM, Program
from processes import running_in, wait_for

_PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"
)


def key(server: FakeGemini, **more: str) -> dict[str, str]:
    return {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url, **more}


def make_project(root: Path) -> None:
    for number in range(3):
        (root / f"file{number}.py").write_text(f"value = {number}  # needle\n")
    (root / "picture.png").write_bytes(_PNG)


def session_calls(root: Path) -> list[list[Any]]:
    """The calls of a whole session, a list a turn."""
    return [
        [call("glob", pattern="*.py")],
        [call("grep_search", pattern="needle")],
        [call("read_file", path=str(root / f"file{number}.py")) for number in range(3)],
        [call("replace", file_path=str(root / "file1.py"), old_string="value = 1", new_string="value = 100")],
        [call("run_shell_command", command="cat file1.py")],
        [call("read_file", path=str(root / "picture.png"))],
    ]


def outputs(requests: list[GeminiRequest]) -> list[dict[str, Any]]:
    return [response["response"] for request in requests for response in request.responses]


def test_a_whole_session_over_the_wire_and_the_same_calls_without_a_model(program: Program):
    make_project(program.root)
    calls = session_calls(program.root)
    turns = [*[Turn(calls=turn) for turn in calls], Turn(text="All is done.")]
    with FakeGemini(turns) as server:
        done = program.run("-p", "go", "--approval-mode", "yolo", environ=key(server))
        assert server.problems == []
        answers = outputs(server.requests)
        picture = server.requests[-1].contents[-1]["parts"]
    assert (done.returncode, done.stdout.decode()) == (0, "All is done.\n")
    assert (program.root / "file1.py").read_text() == "value = 100  # needle\n"
    assert len(answers) == 8
    root = program.root
    found = [str(root / f"file{number}.py") for number in range(3)]
    assert answers[0]["output"].startswith(f'Found 3 file(s) matching "*.py" within {root}, sorted by modification')
    assert sorted(answers[0]["output"].split("\n")[1:]) == found
    assert answers[1]["output"].startswith('Found 3 matches for pattern "needle" in path "."')
    assert [answer["output"] for answer in answers[2:5]] == [f"value = {number}  # needle\n" for number in range(3)]
    assert answers[5]["output"] == f"Successfully modified file: {root}/file1.py (1 replacements)."
    assert answers[6]["output"].startswith("Command: cat file1.py\nDirectory: (root)\nStdout: value = 100  # needle\n")
    assert any("inlineData" in part for part in picture)

    (program.root / "file1.py").write_text("value = 1  # needle\n")
    rows = [
        json.dumps({"id": n, "tool": c.name, "args": dict(c.args)}) for n, c in enumerate(c for t in calls for c in t)
    ]
    again = program.run("call", "--jsonl", "--approval-mode", "yolo", stdin="\n".join(rows).encode())
    assert again.returncode == 0
    results = [json.loads(line) for line in again.stdout.decode().split("\n")[:-1]]
    assert [row["id"] for row in results] == list(range(8))
    texts = [row["llmContent"] for row in results]
    assert sorted(texts[0].split("\n")[1:]) == found
    assert texts[1:6] == [answer["output"] for answer in answers[1:6]]
    assert texts[6].split("Process Group")[0] == answers[6]["output"].split("Process Group")[0]
    assert texts[7]["inlineData"]["mimeType"] == "image/png"


def test_the_key_never_shows(program: Program):
    with FakeGemini([], key="another") as server:
        done = program.run("-p", "go", environ=key(server, GEMINI_API_KEY="AIzaSecretSecret"))
    assert done.returncode == 41
    assert b"AIzaSecret" not in done.stdout + done.stderr
    assert b"key" in done.stderr


def test_without_a_key_it_says_how_to_connect(program: Program):
    done = program.run("-p", "go")
    assert done.returncode == 41
    assert b"GEMINI_API_KEY" in done.stderr


def test_piped_input_joins_the_prompt(program: Program):
    with FakeGemini(lambda request: f"You said: {request.prompt}") as server:
        done = program.run("-p", "Explain:", stdin="日本語の入力".encode(), environ=key(server))
    assert done.stdout.decode() == "You said: Explain:\n\n日本語の入力\n"


def test_a_file_named_in_the_prompt_is_read_into_it(program: Program):
    (program.root / "notes.md").write_text("buy tea\n")
    with FakeGemini(lambda request: "read: " + str("buy tea" in request.prompt)) as server:
        done = program.run("-p", "what is in @notes.md?", environ=key(server))
    assert done.stdout == b"read: True\n"


def test_an_edit_without_a_user_is_refused_and_the_file_stays(program: Program):
    (program.root / "a.txt").write_text("one\n")
    edit = call("replace", file_path=str(program.root / "a.txt"), old_string="one", new_string="two")
    with FakeGemini([Turn(calls=[edit]), Turn(text="Not allowed.")]) as server:
        done = program.run("-p", "change it", environ=key(server))
        assert "nobody is here to ask" in outputs(server.requests)[0]["error"]
    assert done.returncode == 56
    assert (program.root / "a.txt").read_text() == "one\n"


def test_an_empty_prompt_is_bad_input(program: Program):
    assert program.run("-p", " ").returncode == 42
    assert program.run("-p").returncode == 42


@pytest.mark.parametrize(
    ("words", "stdin", "prompt"),
    [
        (["-p", "fix", "the", "tests"], b"", "fix the tests"),
        (["-p", "--approval-mode", "plan", "fix the tests"], b"", "fix the tests"),
        (["-p"], b"fix the tests", "fix the tests"),
        (["-p", "--output-format", "text"], b"fix the tests", "fix the tests"),
        (["-p", "fix"], b"the tests", "fix\n\nthe tests"),
    ],
)
def test_a_prompt_stands_anywhere_and_is_asked_whole(program: Program, words: list[str], stdin: bytes, prompt: str):
    with FakeGemini(["Done."]) as server:
        environ = {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        assert program.run(*words, stdin=stdin, environ=environ).returncode == 0
    assert server.requests[0].prompt.endswith(prompt)


def test_unknown_words_are_a_usage_error(program: Program):
    assert program.run("--no-such-flag").returncode == 2


def test_a_broken_settings_file_is_told_with_file_and_line(program: Program):
    (program.home / ".gemini").mkdir()
    (program.home / ".gemini" / "settings.json").write_text('{\n  "coreTools": "run_shell_command(git)",\n  oops\n}')
    done = program.run("-p", "hi")
    assert done.returncode == 52
    assert b".gemini/settings.json" in done.stderr
    assert b"3" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_no_child_left(program: Program, number: signal.Signals):
    marker = program.root / "started"
    turns = [Turn(calls=[call("run_shell_command", command="touch started; exec sleep 1000")])]
    with FakeGemini(turns) as server:
        process = subprocess.Popen(
            [*PROGRAM, "-p", "go", "--approval-mode", "yolo"],
            cwd=program.root,
            env=program.environ(**key(server)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wait_for(marker.exists)
        process.send_signal(number)
        process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert [process for process in running_in(program.root) if "sleep" in process.command] == []


def test_a_reader_that_goes_away_is_no_traceback(program: Program):
    with FakeGemini(["x" * 2_000_000]) as server:
        process = subprocess.Popen(
            [*PROGRAM, "-p", "go"],
            cwd=program.root,
            env=program.environ(**key(server)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()
        process.stderr.close()
        process.wait(timeout=20)
    assert b"Traceback" not in errors


def test_what_it_cost_is_told_where_the_price_is_known(program: Program):
    def cost(model: str) -> float | None:
        with FakeGemini([Turn(text="Hello.", prompt_tokens=1000)]) as server:
            done = program.run("-p", "hi", "--model", model, "--output-format", "json", environ=key(server))
        return json.loads(done.stdout)["stats"]["cost_usd"]

    assert cost("gemini-2.5-pro") == pytest.approx(0.00126, rel=0.05)
    assert cost("gemini-2.5-unheard-of") is None
