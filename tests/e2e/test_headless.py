"""`dogu -p` in every ending: one last row, and an exit status that says what to do about it."""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import subprocess
import termios
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest

from dogu.commands.running import run_async
from dogu.commands.signals import DEADLY, release
from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.fake_messages import FakeMessages
from dogu.testing.fake_openai import FakeOpenAI
from dogu.testing.fake_responses import FakeResponses
from dogu.testing.turn import Turn, call
from e2e.program import PROGRAM, Program, ready_program
from processes import wait_for

_SCHEMA = Path(__file__).parents[2] / "docs" / "headless.schema.json"
_SLEEP = Turn(text="I will wait.", calls=[call("run_shell_command", command="touch started; exec sleep 1000")])


def environ(server: FakeGemini) -> dict[str, str]:
    return {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url}


@cache
def validator(definition: str = "") -> jsonschema_rs.Validator:
    schema = json.loads(_SCHEMA.read_text())
    if definition:
        schema = {"$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]}
    return jsonschema_rs.validator_for(schema)


def rows_of(output: bytes) -> list[dict[str, Any]]:
    """The lines of a stream, each of which keeps to the schema."""
    rows = [json.loads(line) for line in output.decode().split("\n")[:-1]]
    for row in rows:
        validator().validate(row)
    return rows


def result_of(output: bytes) -> dict[str, Any]:
    """The one object, which keeps to the schema."""
    row = json.loads(output)
    validator("JsonResult").validate(row)
    return row


def started(program: Program, server: FakeGemini, *words: str) -> subprocess.Popen[bytes]:
    """A run in the midst of a command."""
    process = subprocess.Popen(
        [*ready_program(), "-p", "go", "--approval-mode", "yolo", *words],
        cwd=program.root,
        env=program.environ(**environ(server)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for((program.root / "started").exists)
    return process


def ask(program: Program, turns: Sequence[Turn | str], *words: str) -> dict[str, Any]:
    with FakeGemini(turns) as server:
        done = program.run("-p", "go", "--output-format", "json", *words, environ=environ(server))
    row = result_of(done.stdout)
    assert row["exit_code"] == row["exitCode"] == done.returncode
    assert (row["status"] == "success") == (done.returncode == 0) == (not row["is_error"])
    return row


def test_a_run_that_went_well_says_all_that_it_did(program: Program):
    (program.root / "a.txt").write_text("one\ntwo\n")
    edit = call("replace", file_path=str(program.root / "a.txt"), old_string="one", new_string="three")
    calls = [edit, call("run_shell_command", command="echo new > b.txt; rm -f b.txt; echo c > c.txt")]
    row = ask(program, [Turn(text="First.", calls=calls), "Done."], "--approval-mode", "yolo")
    assert (row["response"], row["subtype"], row["reason"], row["num_turns"]) == ("Done.", "success", "done", 2)
    root = program.root
    assert row["changes"] == [
        {"path": f"{root}/a.txt", "change": "changed"},
        {"path": f"{root}/c.txt", "change": "created"},
    ]
    stats = row["stats"]
    assert stats["files"] == {"totalLinesAdded": 1, "totalLinesRemoved": 1}
    assert stats["tools"]["totalDecisions"]["auto_accept"] == 2
    (model,) = stats["models"].values()
    assert model["api"] == {"totalRequests": 2, "totalErrors": 0}
    assert model["tokens"]["prompt"] == stats["input_tokens"] == row["usage"]["input_tokens"] == 20


def test_the_stream_ends_with_the_same_row_and_every_line_keeps_to_the_schema(program: Program):
    turns = [
        Turn(thought="Hm.", text="Let me see.", calls=[call("list_directory", path=".")]),
        Turn(fault="e503"),
        "Ok.",
    ]
    with FakeGemini(turns) as server:
        done = program.run("-p", "go", "--output-format", "stream-json", environ=environ(server))
    rows = rows_of(done.stdout)
    kinds = [row["type"] for row in rows]
    assert kinds == ["init", "message", "thought", "message", "tool_use", "tool_result", "retry", "message", "result"]
    assert (rows[-1]["response"], rows[-1]["stats"]["models"]["gemini-2.5-pro"]["api"]["totalErrors"]) == ("Ok.", 1)


def test_what_was_refused_is_told_call_by_call(program: Program):
    write = call("write_file", file_path=str(program.root / "a.txt"), content="x")
    row = ask(program, [Turn(calls=[write]), "I could not."])
    (denial,) = row["permission_denials"]
    assert (row["exit_code"], row["reason"], denial["tool_name"]) == (56, "refused", "write_file")
    assert denial["tool_input"]["content"] == "x"
    assert row["response"] == "I could not."


@pytest.mark.parametrize(
    ("turns", "words", "code", "reason", "said"),
    [
        ([Turn(text="One.", calls=[call("list_directory", path=".")])] * 3, ["--max-turns", "2"], 53, "step_limit", "--max-turns"),
        ([Turn(text="One.", calls=[call("list_directory", path=".")], prompt_tokens=900_000)] * 3, ["--max-cost", "1", "--model", "gemini-2.5-pro"], 53, "budget", "--max-cost"),
        ([Turn(text="One.", calls=[call("list_directory", path=".")])] * 20, [], 53, "loop", "same calls"),
        ([_SLEEP], ["--timeout", "2.5", "--approval-mode", "yolo"], 53, "timeout", "--timeout"),
        ([Turn(text="One.", calls=[call("list_directory", path=".")]), Turn(fault="e403")], [], 41, "failed", "credentials"),
        ([Turn(text="One.", calls=[call("list_directory", path=".")]), Turn(fault="e503")], ["--retry-for", "0"], 75, "failed", "overloaded"),
        ([Turn(text="One.", calls=[call("list_directory", path=".")]), Turn(fault="e429-quota")], [], 41, "failed", "quota"),
        ([Turn(text="One.", calls=[call("list_directory", path=".")]), Turn(fault="e404")], [], 42, "failed", "no model"),
        ([Turn(text="One.", calls=[call("list_directory", path=".")]), Turn(fault="safety")], [], 42, "failed", "withheld"),
    ],
)  # fmt: skip
def test_an_ending_that_is_no_answer_says_why_and_keeps_what_was_said(
    program: Program, turns: list[Turn], words: list[str], code: int, reason: str, said: str
):
    row = ask(program, turns, *words)
    assert (row["exit_code"], row["reason"]) == (code, reason)
    assert said in row["error"]["message"]
    assert row["can_retry"] == (code == 75)
    assert row["response"].startswith(("One.", "I will wait."))
    assert row["stats"]["tokens"]["prompt"] > 0 or reason == "timeout"
    assert row["session_id"]


def test_tokens_of_failed_tries_are_in_the_row(program: Program):
    row = ask(program, [Turn(fault="malformed-call"), Turn(fault="malformed-call"), Turn(text="ok")])
    assert row["stats"]["tokens"]["prompt"] == 2010
    assert row["stats"]["models"]["gemini-2.5-pro"]["api"] == {"totalRequests": 3, "totalErrors": 2}


@pytest.mark.parametrize("output_format", ["json", "stream-json"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_row(program: Program, output_format: str, number: signal.Signals):
    with FakeGemini([_SLEEP]) as server:
        process = started(program, server, "--output-format", output_format)
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)
    row = result_of(out) if output_format == "json" else rows_of(out)[-1]
    assert (row["exit_code"], process.returncode, row["reason"]) == (128 + number, 128 + number, "cancelled")
    assert number.name in row["error"]["message"]
    assert row["response"] == "I will wait."
    assert row["stats"]["tokens"]["prompt"] == 10


def test_a_signal_behind_the_last_word_changes_nothing(program: Program):
    with FakeGemini(["Done."]) as server:
        command = [*PROGRAM, "-p", "go", "--output-format", "stream-json"]
        env = program.environ(**environ(server))
        with subprocess.Popen(command, cwd=program.root, env=env, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            last = next(row for line in process.stdout if (row := json.loads(line))["type"] == "result")
            process.send_signal(signal.SIGTERM)
            assert process.stdout.read() == b""
    assert (last["exit_code"], process.returncode) == (0, 0)


def test_no_signal_is_the_systems_again_behind_the_last_word(monkeypatch: pytest.MonkeyPatch):
    before, given = {number: signal.getsignal(number) for number in DEADLY}, list[tuple[int, object]]()
    give = signal.signal

    def noted(number: int, handler: Any) -> object:
        given.append((signal.Signals(number), handler))
        return give(number, handler)

    async def work() -> int:
        monkeypatch.setattr(signal, "signal", noted)
        return 0

    try:
        assert run_async(work, told=lambda _: None) == 0
        assert {signal.getsignal(number) for number in DEADLY} == {signal.SIG_IGN}
        assert not {number for number, handler in given if handler is signal.SIG_DFL}.intersection(DEADLY)
    finally:
        release()
    assert {number: signal.getsignal(number) for number in DEADLY} == before


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="nothing tells which signals are held back")
@pytest.mark.parametrize("mask", ["SigBlk", "SigCgt"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1])
def test_a_signal_before_the_session_is_open_leaves_the_row_too(program: Program, mask: str, number: signal.Signals):
    with subprocess.Popen(
        [*PROGRAM, "-p", "go", "--output-format", "json"],
        cwd=program.root,
        env=program.environ(),
        stdin=subprocess.PIPE,  # it stays open: the prompt isn't whole
        stdout=subprocess.PIPE,
    ) as process:
        status = Path(f"/proc/{process.pid}/status")
        wait_for(lambda: _is_in(mask, status.read_text(), signal.SIGTERM))
        process.send_signal(number)
        assert process.stdout is not None
        row = result_of(process.stdout.read())
    assert (row["exit_code"], process.returncode) == (128 + number, 128 + number)


def _is_in(mask: str, status: str, number: int) -> bool:
    """Whether a signal is held back (`SigBlk`) or heard (`SigCgt`)."""
    bits = next(line for line in status.splitlines() if line.startswith(f"{mask}:")).split()[1]
    return bool(int(bits, 16) >> (number - 1) & 1)


@pytest.mark.parametrize("input_format", ["text", "stream-json"])
def test_an_input_that_never_ends_is_bounded_by_the_time_limit(program: Program, input_format: str):
    words = [
        "-p",
        "" if input_format == "stream-json" else "go",
        "--timeout",
        "1",
        "--output-format",
        "stream-json",
        "--input-format",
        input_format,
    ]
    with FakeGemini([]) as server:
        env, pipe = program.environ(**environ(server)), subprocess.PIPE
        with subprocess.Popen([*PROGRAM, *words], cwd=program.root, env=env, stdin=pipe, stdout=pipe) as process:
            assert process.stdout is not None
            row = rows_of(process.stdout.read())[-1]
    assert (row["reason"], process.returncode) == ("timeout", 53)


def test_a_pipe_that_keeps_no_writer_waiting_loses_nothing(program: Program):
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    with FakeGemini([Turn(text="word " * 60_000)]) as server, open(reads, "rb") as reader:
        words = [*PROGRAM, "-p", "go", "--output-format", "json"]
        with subprocess.Popen(
            words, cwd=program.root, env=program.environ(**environ(server)), stdout=writes
        ) as process:
            os.close(writes)
            wait_for(lambda: _waiting_in(reads) >= 65_536)  # there is no room for more
            row = result_of(reader.read())
    assert (row["response"], process.returncode) == ("word " * 60_000, 0)


def _waiting_in(descriptor: int) -> int:
    waiting = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
    return waiting[0]


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"ALL_PROXY": "socks5://127.0.0.1:9"}, "proxy"),
        ({"SSL_CERT_FILE": "/nowhere"}, "No such file"),
        ({"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:99999"}, "Port out of range"),
    ],
)
def test_what_cannot_be_sent_is_told_as_the_settings_fault_at_once(
    program: Program, environment: dict[str, str], words: str
):
    known = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "https://example.com"}
    done = program.run("-p", "go", "--output-format", "json", environ=known | environment)
    row = result_of(done.stdout)
    assert (row["exit_code"], row["num_turns"]) == (42, 0)
    assert "The request can't be sent to" in row["error"]["message"]
    assert words in row["error"]["message"]


@pytest.mark.parametrize("headers", [{"X-A": "é"}, {"X A": "b"}, {"Content-Length": "3"}])
def test_headers_that_no_request_may_have_are_told_with_their_setting(program: Program, headers: dict[str, str]):
    (program.home / "s.json").write_text(json.dumps({"model": {"headers": headers}}))
    done = program.run("-p", "go", "--settings", str(program.home / "s.json"))
    assert done.returncode == 52
    assert "s.json:1: model.headers: takes" in done.stderr.decode()


def test_a_picture_that_never_comes_is_bounded_by_the_time_limit(program: Program):
    os.mkfifo(program.root / "pipe")
    done = program.run("-p", "go", "--image", "pipe", "--timeout", "1", "--output-format", "json")
    assert result_of(done.stdout)["reason"] == "timeout"


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["-p", "go"], 41, "auth"),
        (["-p", " "], 42, "bad_input"),
        (["-p", "go", "--max-turns", "many"], 2, "usage"),
        (["-p", "go", "--no-such-flag"], 2, "usage"),
        (["-p", "go", "--settings", "none.json"], 52, "settings"),
        (["-p", "go", "--resume", "never-was"], 42, "not_found"),
    ],
)
@pytest.mark.parametrize("output_format", ["json", "stream-json"])
def test_an_error_before_the_start_is_json_too(
    program: Program, output_format: str, words: list[str], code: int, kind: str
):
    done = program.run(*words, "--output-format", output_format)
    row = result_of(done.stdout) if output_format == "json" else rows_of(done.stdout)[-1]
    assert (row["exit_code"], done.returncode, row["error"]["type"]) == (code, code, kind)
    assert row["session_id"] == row["response"] == ""


def test_a_folder_that_is_gone_and_an_output_that_is_closed_are_no_defects(program: Program):
    gone = program.root / "gone"
    gone.mkdir()
    script = 'cd gone && rmdir "$PWD" && exec "$@" --output-format json'
    words = [*PROGRAM, "-p", "go"]
    done = subprocess.run(
        ["sh", "-c", script, "sh", *words], cwd=program.root, env=program.environ(), capture_output=True, check=False
    )
    assert (done.returncode, result_of(done.stdout)["error"]["type"]) == (52, "settings")
    with FakeGemini(["Hello."]) as server:
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", *words],
            cwd=program.root,
            env=program.environ(**environ(server)),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (74, b"Standard output can't be written: Bad file descriptor.\n")


@pytest.mark.parametrize("output_format", ["json", "stream-json"])
def test_a_full_disk_for_the_output_is_told_on_standard_error(program: Program, output_format: str):
    with FakeGemini(["Hello."]) as server, open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, "-p", "go", "--output-format", output_format],
            cwd=program.root,
            env=program.environ(**environ(server)),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    row = json.loads(done.stderr.splitlines()[-1])
    assert (done.returncode, row["exit_code"], row["error"]["type"]) == (74, 74, "output_lost")
    assert row["response"] == ("Hello." if output_format == "json" else "")


def test_a_reader_that_went_away_ends_the_run(program: Program):
    with FakeGemini([_SLEEP]) as server:
        process = started(program, server, "--output-format", "stream-json")
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        os.kill(process.pid, signal.SIGTERM)
        errors = process.stderr.read()
        process.stderr.close()
        process.wait(timeout=20)
    assert b"Traceback" not in errors
    assert json.loads(errors.splitlines()[-1])["type"] == "result"


@pytest.mark.parametrize("words", [["-p", "x"], ["-p", "x", "--output-format", "stream-json"], []])
def test_a_session_to_go_on_with_that_is_not_there_is_wrong_input_at_every_door(program: Program, words: list[str]):
    master, terminal = os.openpty()
    try:
        done = subprocess.run(
            [*PROGRAM, "--resume", "1999", *words],
            cwd=program.root,
            env=program.environ(),
            stdin=terminal,
            stdout=subprocess.PIPE if words else terminal,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(master)
        os.close(terminal)
    assert done.returncode == 42
    assert b"no session 1999" in (done.stdout or b"") + done.stderr
    if "stream-json" in words:
        assert rows_of(done.stdout)[-1]["exit_code"] == 42


def test_a_call_whose_arguments_have_no_end_is_a_loop(program: Program):
    endless = Turn(calls=[call("write_file", file_path="a.txt", content="over and over. " * 4_000)], pieces=100)
    with FakeOpenAI([endless, endless]) as server:
        key = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "k"}
        done = program.run("--model", "gpt-5.1", "-p", "go", "--output-format", "json", environ=key)
        assert len(server.requests) == 2
    row = result_of(done.stdout)
    assert (done.returncode, row["reason"]) == (53, "loop")


@pytest.mark.parametrize("input_format", ["text", "stream-json"])
def test_standard_input_that_cannot_be_read_is_wrong_input(program: Program, input_format: str):
    with (program.root / "out").open("wb") as unreadable:
        words = ["--input-format", input_format, "--output-format", "stream-json", "--model", "offline"]
        done = subprocess.run(
            [*PROGRAM, *words],
            cwd=program.root,
            env=program.environ(),
            stdin=unreadable,
            capture_output=True,
            timeout=60,
            check=False,
        )
    row = rows_of(done.stdout)[-1]
    assert (done.returncode, row["exit_code"]) == (42, 42)
    assert "Standard input can't be read" in row["error"]["message"]


def test_the_schema_is_that_of_the_rows():
    from dogu.serve.run_rows import row_schema

    assert json.loads(_SCHEMA.read_text()) == row_schema()


def test_what_every_request_begins_with_stays_small(program: Program):
    """Four letters count as a token, as everywhere; less than 4,000 above the 3,964 that it once was."""
    with FakeGemini(["ok"]) as server:
        assert program.run("-p", "go", environ=environ(server)).returncode == 0
        (request,) = server.requests
    begins = len(json.dumps(request.body["tools"], ensure_ascii=False)) + len(request.system)
    assert begins // 4 < 3_964 + 4_000
    assert "ask_user" not in request.tool_names  # nobody is there


@pytest.mark.parametrize(
    ("fake", "model", "said"),
    [
        (FakeGemini, {"provider": "gemini", "name": "gemini-3-pro"}, "contents"),
        (FakeOpenAI, {"provider": "openai_compatible", "name": "any"}, "messages"),
        (FakeResponses, {"provider": "openai_responses", "name": "gpt-5.4"}, "input"),
        (FakeMessages, {"provider": "anthropic", "name": "claude-sonnet-5"}, "messages"),
    ],
    ids=["gemini", "chat", "responses", "messages"],
)
def test_each_request_begins_with_all_of_the_last_one(program: Program, fake: Any, model: dict[str, str], said: str):
    """What was remembered meanwhile, and what a command changed, rewrites nothing that a cache holds."""
    memory = call("save_memory", fact="The user likes tea.")
    edit = call("run_shell_command", command="echo x > b.txt; echo '# Rules' > GEMINI.md")
    turns = [Turn(thought="Hm.", calls=[memory]), Turn(text="Next.", calls=[edit]), Turn(calls=[memory, edit]), "Done."]
    with fake(turns) as server:
        program.settle(json.dumps({"model": {**model, "baseUrl": server.base_url}}))
        keys: dict[str, str] = dict.fromkeys(("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "test-key")
        done = program.run("-p", "go", "--approval-mode", "yolo", environ=keys)
        assert (done.returncode, server.problems) == (0, [])
        bodies = [_without_marks(request.body) for request in server.requests]
    assert len(bodies) == len(turns)
    for before, after in pairwise(bodies):
        assert after[said][: len(before[said])] == before[said]
        assert {**after, said: []} == {**before, said: []}


def _without_marks(value: Any) -> Any:
    """Leave out Anthropic's marks of what to cache, which move on with the conversation."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _without_marks(item) for name, item in fields.items() if name != "cache_control"}
    return [_without_marks(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def test_our_words_are_replaced_and_added_to_by_flags(program: Program):
    with FakeGemini(["ok"]) as server:
        words = ("--system-prompt", "Be a pirate.", "--append-system-prompt", "Say little.")
        assert program.run("-p", "go", *words, environ=environ(server)).returncode == 0
        (request,) = server.requests
    assert request.system.startswith("Be a pirate.")
    assert "Say little." in request.system
    assert "You are dogu" not in request.system


_SHAPE = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


def shape_file(program: Program, schema: object = _SHAPE) -> str:
    file = program.home / "shape.json"
    file.write_text(json.dumps(schema))
    return str(file)


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_an_answer_in_a_given_shape_is_validated_and_asked_for_again(program: Program, output_format: str):
    turns = [
        Turn(text="I think it is two.", calls=[call("final_answer", count="two")]),
        "It is 2.",
        Turn(text="Well.", calls=[call("final_answer", count=2)]),
    ]
    with FakeGemini(turns) as server:
        words = ["-p", "count", "--output-format", output_format, "--output-schema", shape_file(program)]
        done = program.run(*words, environ=environ(server))
        refused = str(server.requests[1].responses[0]["response"])
        assert "final_answer" in str(server.requests[2].contents[-1])
        assert len(server.requests) == 3  # the call itself ends the run
    assert "integer" in refused
    assert done.returncode == 0
    if output_format == "text":
        assert done.stdout == b'{"count": 2}\n'
    else:
        assert result_of(done.stdout)["structured_output"] == {"count": 2}


@pytest.mark.parametrize(("said", "schema"), [('{"count": 2}', None), ("```json\n[1]\n```", {"type": "array"})])
def test_an_answer_that_is_said_in_the_shape_is_taken(program: Program, said: str, schema: object):
    row = ask(program, [said], "--output-schema", shape_file(program, schema or _SHAPE))
    assert (row["exit_code"], row["num_turns"]) == (0, 1)
    assert row["structured_output"] in ({"count": 2}, [1])


def test_a_provider_is_asked_for_the_shape_in_its_own_way(program: Program):
    with FakeGemini([Turn(calls=[call("glob", pattern="*")]), '{"answer": [1]}']) as server:
        shape = shape_file(program, {"type": "array", "items": {"type": "integer"}})
        words = ["-p", "go", "--model", "gemini-3-pro", "--output-schema", shape]
        done = program.run(*words, environ=environ(server))
        assert all("responseJsonSchema" in request.body["generationConfig"] for request in server.requests)
        assert all("final_answer" not in request.tool_names for request in server.requests)
    assert (done.returncode, done.stdout) == (0, b"[1]\n")


def test_an_answer_that_never_takes_the_shape_is_an_error(program: Program):
    row = ask(program, ["No.", "No.", "Never."], "--output-schema", shape_file(program, {"type": "array"}))
    assert (row["exit_code"], row["error"]["type"]) == (54, "no_structured_output")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--output-schema", "none.json"], "none.json: No such file"),
        (["--output-schema", "{shape}"], "isn't a JSON schema"),
        (["--image", "{shape}"], "isn't a picture"),
    ],
)
def test_what_cannot_be_taken_is_told_before_the_start(program: Program, words: list[str], said: str):
    shape = shape_file(program, {"type": "nonsense"})
    done = program.run("-p", "go", "--output-format", "json", *(word.format(shape=shape) for word in words))
    row = result_of(done.stdout)
    assert (done.returncode, row["exit_code"]) == (42, 42)
    assert said in row["error"]["message"]


def test_a_picture_goes_to_the_model_beside_the_prompt(program: Program):
    picture = program.home / "dot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00")
    with FakeGemini(["A dot."]) as server:
        done = program.run("-p", "What is it?", "--image", str(picture), environ=environ(server))
        parts = server.requests[0].contents[-1]["parts"]
    assert done.stdout == b"A dot.\n"
    assert parts[0] == {"text": "What is it?"}
    assert parts[1]["inlineData"]["mimeType"] == "image/png"


def test_a_conversation_by_pipe_has_a_result_for_each_prompt(program: Program):
    lines: list[object] = [
        {"type": "user", "message": {"role": "user", "content": "one"}},
        {"type": "what"},
        {"type": "message", "role": "user", "content": [{"type": "text", "text": "two"}]},
    ]
    with FakeGemini(lambda request: f"You said {request.prompt}.") as server:
        words = ["--input-format", "stream-json", "--output-format", "stream-json"]
        stdin = "\n".join(map(json.dumps, lines)).encode()
        done = program.run(*words, stdin=stdin, environ=environ(server))
        assert len(server.requests[1].contents) == 3
    results = [row for row in rows_of(done.stdout) if row["type"] == "result"]
    assert [(row["exit_code"], row["response"]) for row in results[::2]] == [(0, "You said one."), (0, "You said two.")]
    assert (results[1]["exit_code"], results[1]["response"], done.returncode) == (42, "", 42)


def test_lines_of_a_conversation_that_are_no_prompt_are_told_and_the_next_is_taken(program: Program):
    no_source = {"type": "user", "message": {"content": [{"type": "image"}]}}
    nested = b'{"type": "user", "message": ' + b"[" * 100_000
    lines = [b'{"content": "\xff"}', b"\x00", nested, json.dumps(no_source).encode(), b'{"content": "half \\ud83d"}']
    with FakeGemini(lambda request: f"You said {request.prompt}.") as server:
        words = ["--input-format", "stream-json", "--output-format", "stream-json"]
        done = program.run(*words, stdin=b"\r\n".join(lines), environ=environ(server))
    results = [row for row in rows_of(done.stdout) if row["type"] == "result"]
    assert [row["exit_code"] for row in results] == [42, 42, 42, 42, 0]
    assert '"media_type"' in results[3]["error"]["message"]
    assert results[-1]["response"] == "You said half \ufffd."


def test_a_conversation_without_a_prompt_is_bad_input(program: Program):
    with FakeGemini([]) as server:
        words = ["--input-format", "stream-json", "--output-format", "stream-json"]
        done = program.run(*words, environ=environ(server))
    row = rows_of(done.stdout)[-1]
    assert (done.returncode, row["exit_code"], row["error"]["type"]) == (42, 42, "bad_input")


def test_tools_named_on_the_command_line_need_no_question(program: Program):
    calls = [call("run_shell_command", command=command) for command in ("touch a.txt", "rm a.txt")]
    row = ask(program, [Turn(calls=calls), "Ok."], "--allowed-tools", "write_file, run_shell_command(touch a.txt)")
    assert [denial["tool_input"]["command"] for denial in row["permission_denials"]] == ["rm a.txt"]
    assert (program.root / "a.txt").exists()


def test_in_a_container_nothing_asks_and_the_whole_machine_may_be_written(program: Program):
    rows = [
        {"tool": "run_shell_command", "args": {"command": 'program=echo; "$program" hi; $(echo echo) there'}},
        {"tool": "write_file", "args": {"file_path": str(program.home / "outside.txt"), "content": "x"}},
        {"tool": "run_shell_command", "args": {"command": f"touch {program.home}/by-command"}},
    ]
    stdin = "\n".join(map(json.dumps, rows)).encode()
    done = program.run("call", "--jsonl", "--container", stdin=stdin)
    assert done.returncode == 0, done.stdout
    assert (program.home / "outside.txt").exists()
    assert (program.home / "by-command").exists()
    assert b"can't be undone" in done.stderr
