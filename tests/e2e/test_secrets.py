"""Files that hold secrets: what no model is shown without a user's yes, whatever the mode."""

from __future__ import annotations

import pytest

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
from e2e.program import Program

SECRET = b"hunter2"
CALLS = [
    ("read_file", "path=.env"),
    ("read_file", "path=settings"),
    ("read_many_files", "paths=.env"),
    ("read_many_files", "paths=.*", "use_default_excludes=false"),
    ("grep_search", "pattern=PASSWORD"),
    ("grep_search", "pattern=PASSWORD", "path=.env"),
    ("grep_search", "pattern=PASSWORD", "context_lines=5", "respect_git_ignore=false"),
    ("grep_search", "pattern=PASSWORD", "names_only=true"),
    ("list_directory", "path=."),
    ("glob", "pattern=**/*"),
]


@pytest.fixture
def project(program: Program) -> Program:
    (program.root / ".env").write_bytes(b"PASSWORD=" + SECRET + b"\n")
    (program.root / "settings").symlink_to(".env")
    return program


@pytest.mark.parametrize("mode", ["default", "yolo"])
def test_reading_one_without_a_user_is_refused(project: Program, mode: str):
    done = project.run("call", "read_file", "path=.env", "--approval-mode", mode)
    assert done.returncode == 56
    assert b"nobody is here to ask" in done.stderr
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_no_tool_that_reads_shows_its_content(project: Program, words: tuple[str, ...]):
    done = project.run("call", *words, "--approval-mode", "yolo")
    assert done.stdout + done.stderr
    assert b"Traceback" not in done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_one_named_in_a_prompt_or_read_by_a_model_is_not_sent(project: Program):
    environ = {"GEMINI_API_KEY": "test-key"}
    with FakeGemini([Turn(calls=[call("read_file", path=".env")]), Turn(text="I may not.")]) as server:
        environ["GOOGLE_GEMINI_BASE_URL"] = server.base_url
        done = project.run("-p", "what is in @.env ?", "--approval-mode", "yolo", environ=environ)
        sent = repr([request.contents for request in server.requests])
    assert done.returncode == 56
    assert "it may hold passwords and keys. Ask with read_file" in sent
    assert SECRET.decode() not in sent
