"""The shipped `dogu acp`, driven by an ACP client that others wrote, over a fake of Gemini's server."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from typing import Any

import psutil
import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Call, Turn
from e2e.program import PROGRAM, Program
from foreign.clients import few_clients, neovim
from foreign.test_mcp_clients import a_workspace, calls_for, check_told

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(300)]

Message = dict[str, Any]


def keys_of(fake: FakeGemini) -> dict[str, str]:
    return {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": fake.base_url}


def talk(
    program: Program, fake: FakeGemini, *words: str, limit_s: float = 120
) -> tuple[subprocess.CompletedProcess[str], list[Message]]:
    """Have acpx prompt dogu once; return how it ended, and all that passed between them."""
    agent = " ".join([*PROGRAM, "acp"])
    done = subprocess.run(
        [*few_clients().acpx, "--agent", agent, "--format", "json", *words, "exec", "go on then"],
        env=program.environ(**keys_of(fake)),
        cwd=program.root,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def updates(messages: Sequence[Message], kind: str) -> list[Message]:
    found = [message["params"]["update"] for message in messages if message.get("method") == "session/update"]
    return [update for update in found if update["sessionUpdate"] == kind]


def told_by(fake: FakeGemini) -> list[str]:
    """What the model was told of each call."""
    parts = [part for content in fake.requests[-1].contents for part in content["parts"]]
    answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    return [str(answer.get("output") or answer.get("error")) for answer in answers]


def calling(calls: Sequence[tuple[str, dict[str, Any]]]) -> FakeGemini:
    """A model that makes these calls, one a step, and then says that all is done."""

    def answer(request: GeminiRequest) -> Turn | str:
        done = sum("functionResponse" in part for content in request.contents for part in content["parts"])
        return Turn(calls=[Call(*calls[done])]) if done < len(calls) else "All done 🎉"

    return FakeGemini(answer)


@pytest.mark.short
def test_each_ending_of_a_call_reaches_the_model_and_the_user(program: Program) -> None:
    root = a_workspace(program)
    with calling(calls_for(root)) as fake:
        done, messages = talk(program, fake, "--approve-all")
        told = told_by(fake)
    assert done.returncode == 0, done.stderr
    check_told(told, root)
    ends = [update["status"] for update in updates(messages, "tool_call_update") if "rawOutput" in update]
    assert ends == ["completed", "failed", "failed", "completed", "failed"]
    assert "".join(chunk["content"]["text"] for chunk in updates(messages, "agent_message_chunk")) == "All done 🎉"
    assert updates(messages, "user_message_chunk") == []
    asked = [message["params"] for message in messages if message.get("method") == "session/request_permission"]
    kinds = [[option["kind"] for option in question["options"]] for question in asked]
    assert kinds
    assert all(each.count("reject_once") == 1 for each in kinds), "two that a client would show as one and the same"
    (diff,) = [block for block in asked[0]["toolCall"]["content"] if block["type"] == "diff"]
    assert (diff["path"], diff["newText"]) == (str(root / "made.txt"), (root / "made.txt").read_text())
    assert messages[-1]["result"]["stopReason"] == "end_turn"


@pytest.mark.short
def test_what_the_user_refuses_is_not_done_and_the_model_hears_it(program: Program) -> None:
    root = a_workspace(program)
    with calling(calls_for(root)[:1]) as fake:
        talk(program, fake, "--deny-all")
        (told,) = told_by(fake)
    assert not (root / "made.txt").exists()
    assert "declined" in told


def test_a_model_is_chosen_by_the_client(program: Program) -> None:
    program.settle('{"model": {"profiles": {"fast": {"name": "gemini-fast"}}}}')
    with calling([]) as fake:
        done, messages = talk(program, fake, "--model", "fast")
        models = [request.model for request in fake.requests]
    assert done.returncode == 0, done.stderr + done.stdout
    (opened,) = [message["result"] for message in messages if "sessionId" in (message.get("result") or {})]
    assert {option["id"] for option in opened["configOptions"]} == {"mode", "model"}
    assert models == ["gemini-fast"]


def test_a_client_that_gives_up_leaves_no_process(program: Program) -> None:
    mark = f"87{time.time_ns() % 10**9}"
    with calling([("run_shell_command", {"command": f"exec sleep {mark}"})]) as fake:
        done, _ = talk(program, fake, "--approve-all", "--timeout", "6")
    assert done.returncode != 0
    assert not still_running(mark)


def still_running(word: str) -> list[psutil.Process]:
    """Wait until no process has the word in its command line; return those that go on."""
    gone_by = time.monotonic() + 20
    while (alive := _running(word)) and time.monotonic() < gone_by:
        psutil.wait_procs(alive, timeout=0.2)
    return alive


def _running(word: str) -> list[psutil.Process]:
    return [each for each in psutil.process_iter(["cmdline"]) if word in (each.info["cmdline"] or ())]


class TestNeovim:
    """Codecompanion shows what is asked, and its user answers by the keys that it names."""

    def test_what_the_user_accepts_is_done(self, program: Program) -> None:
        root = a_workspace(program)
        with calling(calls_for(root)) as fake:
            done = neovim(program, **keys_of(fake), DOGU_NVIM_STEPS="Accept,Accept,Accept")
            told = told_by(fake)
        check_told(told, root)
        assert "`g3` - Reject" in done.stdout
        assert done.stdout.count("Reject") == done.stdout.count("Please select an option"), "one that refuses, not two"
        assert "All done 🎉" in done.stdout
        assert done.stderr == ""

    def test_what_the_user_rejects_is_not_done_and_the_model_hears_it(self, program: Program) -> None:
        root = a_workspace(program)
        with calling(calls_for(root)[:1]) as fake:
            done = neovim(program, **keys_of(fake), DOGU_NVIM_STEPS="Reject")
            (told,) = told_by(fake)
        assert "You selected: Reject" in done.stdout
        assert "declined" in told
        assert not (root / "made.txt").exists()

    def test_what_the_user_stops_leaves_no_process(self, program: Program) -> None:
        mark = f"88{time.time_ns() % 10**9}"
        a_workspace(program)
        with calling([("run_shell_command", {"command": f"exec sleep {mark}"})]) as fake:
            done = neovim(program, **keys_of(fake), DOGU_NVIM_STEPS="Accept", DOGU_NVIM_STOPS_AT=mark)
            requests = len(fake.requests)
        assert done.returncode == 0, "the command never ran"
        assert requests == 1
        assert not still_running(mark)
