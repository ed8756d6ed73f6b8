"""The shipped `dogu mcp`, driven by clients that others wrote: what their models and users hear of each way a call ends.

`make foreign` installs the clients and runs these. Gemini CLI, opencode and codex talk to this package's fakes of their
models' servers, which call the tools of dogu.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.fake_openai import FakeOpenAI, OpenAIRequest
from dogu.testing.fake_responses import FakeResponses, ResponsesRequest
from dogu.testing.turn import Call, Turn
from dogu.testing.wire_server import WireRequest
from e2e.program import PROGRAM, Program
from e2e.test_mcp_door import over_http
from foreign.clients import clients, few_clients

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(400)]

HOSTILE = "日本語 🎉 \u202e\u0000end\n"
WRITTEN = HOSTILE.replace("\u0000", "")


def calls_for(root: Path) -> list[tuple[str, dict[str, Any]]]:
    """A success with hostile text, a failure, wrong arguments, a big result, a time-out."""
    return [
        ("write_file", {"file_path": str(root / "made.txt"), "content": WRITTEN}),
        ("replace", {"file_path": str(root / "a.txt"), "old_string": "zzz", "new_string": "y"}),
        ("read_file", {"pth": "a.txt"}),
        ("run_shell_command", {"command": "seq 1 60000"}),
        ("run_shell_command", {"command": "sleep 30", "timeout_s": 1}),
    ]


def check_told(told: Sequence[str], root: Path) -> None:
    """Check what a client's model was told of those calls."""
    made, failed, wrong, big, late = told
    assert "Successfully created and wrote to new file" in made
    assert (root / "made.txt").read_text() == WRITTEN
    assert "0 occurrences found" in failed
    assert "'path'" in wrong  # some clients check arguments by the schema themselves
    assert "60000" in big
    assert len(big) < 60_000
    assert "Timed out after 1 s" in late
    for each in told:
        assert "-32602" not in each
        assert "does not match" not in each


def a_workspace(program: Program) -> Path:
    (program.root / "a.txt").write_text("one\n")
    return program.root


def texts_of(result: dict[str, Any]) -> str:
    return "".join(block.get("text", "") for block in result["content"])


@pytest.mark.short
class TestSdk:
    @pytest.mark.parametrize("transport", ["stdio", "http"])
    def test_each_ending_is_a_result_that_fits_the_declared_schema(self, program: Program, transport: str) -> None:
        root = a_workspace(program)
        steps = [{"name": name, "arguments": args} for name, args in calls_for(root)]
        words = ["mcp", "--approval-mode", "yolo"]
        if transport == "stdio":
            found = few_clients().sdk({"command": PROGRAM[0], "args": [*PROGRAM[1:], *words], "steps": steps}, program)
        else:
            here = few_clients()
            with over_http(program, *words[1:], "--root", str(root)) as url:
                found = here.sdk({"url": url, "steps": steps}, program)
        listed, *results = found
        assert {"read_file", "replace", "run_shell_command"} <= {*listed["tools"]}
        assert [result.get("thrown") for result in results] == [None] * len(steps)
        assert [bool(result.get("isError")) for result in results] == [False, True, True, False, True]
        check_told([texts_of(result) for result in results], root)
        assert ["structuredContent" in result for result in results] == [True, False, False, True, False]

    @pytest.mark.parametrize(("answer", "is_made"), [("accept", True), ("decline", False), (None, False)])
    def test_a_question_is_asked_by_elicitation_or_refused_in_words(
        self, program: Program, answer: str | None, is_made: bool
    ) -> None:
        root = a_workspace(program)
        step = {"name": "write_file", "arguments": {"file_path": str(root / "made.txt"), "content": "x\n"}}
        plan = {"command": PROGRAM[0], "args": [*PROGRAM[1:], "mcp"], "answer": answer, "steps": [step]}
        _, result = few_clients().sdk(plan, program)
        assert "thrown" not in result
        assert (root / "made.txt").exists() == is_made
        assert bool(result.get("isError")) == (not is_made)
        assert ["+x" in asked for asked in result["asked"]] == ([True] if answer else [])
        if answer == "decline":
            assert "declined" in texts_of(result)
        if answer is None:
            assert "approval" in texts_of(result)

    def test_a_cancelled_call_leaves_no_process(self, program: Program) -> None:
        mark = f"86{time.time_ns() % 10**9}"
        command = f"echo started; exec sleep {mark}"
        step = {"name": "run_shell_command", "arguments": {"command": command}, "cancelOnProgress": True}
        after = {"name": "read_file", "arguments": {"path": "a.txt"}}
        a_workspace(program)
        args = [*PROGRAM[1:], "mcp", "--approval-mode", "yolo"]
        _, cancelled, read = few_clients().sdk({"command": PROGRAM[0], "args": args, "steps": [step, after]}, program)
        assert "enough" in cancelled["thrown"]
        assert texts_of(read) == "one\n"
        gone_by = time.monotonic() + 20
        while (alive := _running(mark)) and time.monotonic() < gone_by:
            psutil.wait_procs(alive, timeout=0.2)
        assert not alive


def _running(word: str) -> list[psutil.Process]:
    return [each for each in psutil.process_iter(["cmdline"]) if word in (each.info["cmdline"] or ())]


def test_the_inspector_tells_a_failure_by_its_reason(program: Program) -> None:
    root, server = a_workspace(program), [*PROGRAM, "mcp", "--approval-mode", "yolo"]
    words = ["--method", "tools/call", "--tool-name", "replace"]
    for name, value in calls_for(root)[1][1].items():
        words += ["--tool-arg", f"{name}={value}"]
    inspector = clients().inspector
    (program.root / "config.json").write_text(
        json.dumps({"mcpServers": {"dogu": {"command": server[0], "args": server[1:]}}})
    )
    done = _run([*inspector, "--config", "config.json", "--server", "dogu", *words], program)
    assert "0 occurrences found" in done.stdout + done.stderr
    assert "-32602" not in done.stdout + done.stderr


class TestAgents:
    """Each runs a model's calls, and the model is told what came of them."""

    def test_gemini_cli(self, program: Program) -> None:
        here, root = clients(), a_workspace(program)
        server = {**_server(root), "trust": True}
        settings = {"mcpServers": {"dogu": server}, "security": {"auth": {"selectedType": "gemini-api-key"}}}
        (program.home / ".gemini").mkdir(exist_ok=True)
        (program.home / ".gemini" / "settings.json").write_text(json.dumps(settings))

        def answer(request: GeminiRequest) -> Turn | str:
            done = [part for content in request.contents for part in content["parts"] if "functionResponse" in part]
            return _next_call(request.tool_names, len(done), calls_for(root))

        with FakeGemini(answer) as fake:
            keys = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": fake.base_url}
            trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_COLOR": "1"}
            _run([*here.gemini, "-p", "go", "--yolo"], program, **keys, **trusted)
            history = [part for content in fake.requests[-1].contents for part in content["parts"]]
        told = [str(part["functionResponse"]["response"]) for part in history if "functionResponse" in part]
        assert len(told) == len(calls_for(root))
        check_told([text.replace("\\'", "'") for text in told], root)

    def test_opencode(self, program: Program) -> None:
        here, root = clients(), a_workspace(program)

        def answer(request: OpenAIRequest) -> Turn | str:
            names = [tool["function"]["name"] for tool in request.body.get("tools", ())]
            done = [message for message in request.messages if message.get("role") == "tool"]
            return _next_call(names, len(done), calls_for(root))

        with FakeOpenAI([answer] * 40) as fake:
            options = {"baseURL": fake.base_url, "apiKey": "k"}
            provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": {"name": "m"}}}
            command = [*PROGRAM, "mcp", "--approval-mode", "yolo"]
            config = {
                **{"provider": {"fake": provider}, "model": "fake/m", "small_model": "fake/m"},
                **{"autoupdate": False, "share": "disabled"},
                "mcp": {"dogu": {"type": "local", "command": command, "enabled": True}},
            }
            (root / "opencode.json").write_text(json.dumps(config))
            quiet = {f"OPENCODE_DISABLE_{what}": "1" for what in ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD")}
            _run([*here.opencode, "run", "go"], program, **quiet)
            told = [str(each["content"]) for each in fake.requests[-1].messages if each.get("role") == "tool"]
        assert len(told) == len(calls_for(root))
        # A result this big it keeps in a file; the model is told where.
        told[3] = Path(found[1]).read_text()[:50_000] if (found := re.search(r"(/\S+/tool_\w+)", told[3])) else told[3]
        check_told(told, root)

    def test_codex(self, program: Program) -> None:
        here, root = clients(), a_workspace(program)

        def answer(request: ResponsesRequest) -> Turn | str:
            done = [item for item in request.items if item.get("type") == "function_call_output"]
            names = [tool["name"] for each in request.body["tools"] for tool in each.get("tools", ())]
            return _next_call(names, len(done), calls_for(root))

        with CodexResponses([answer] * 40) as fake:
            (program.home / ".codex").mkdir()
            (program.home / ".codex" / "config.toml").write_text(
                f'''model = "another"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{fake.base_url}"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[mcp_servers.dogu]
command = {json.dumps(PROGRAM[0])}
args = {json.dumps([*PROGRAM[1:], "mcp", "--approval-mode", "yolo"])}
cwd = {json.dumps(str(root))}
required = true
'''
            )
            words = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"]
            _run([*here.codex, *words], program, OPENAI_API_KEY="k")
            outputs = [item for item in fake.requests[-1].items if item.get("type") == "function_call_output"]
        told = [json.dumps(item["output"], ensure_ascii=False) for item in outputs]
        assert len(told) == len(calls_for(root))
        check_told(told, root)


class CodexResponses(FakeResponses):
    """Takes what codex sends beyond the documented wire, and calls its MCP tools in their namespace."""

    def request_of(self, wire: WireRequest) -> ResponsesRequest:
        request = ResponsesRequest(wire.headers, json.loads(wire.body))
        self.requests.append(request)
        return request

    def _items_of(self, turn: Turn, body: dict[str, Any]) -> list[dict[str, Any]]:
        items = super()._items_of(turn, body)
        return [{**item, "namespace": "mcp__dogu"} if item["type"] == "function_call" else item for item in items]


def _next_call(names: Sequence[str], done: int, calls: Sequence[tuple[str, dict[str, Any]]]) -> Turn | str:
    """The next of the calls, by the name that the client gives the tool; a text when there is none, or no tool."""
    if done >= len(calls):
        return "All is done."
    name, args = calls[done]
    prefixed_first = sorted(names, key=lambda each: "dogu" not in each)  # the client may have one of that name itself
    declared = next((each for each in prefixed_first if re.fullmatch(rf"(\w*dogu_+)?{name}", each)), None)
    return Turn(calls=[Call(declared, args)]) if declared else "There is no such tool."


def _server(root: Path) -> dict[str, Any]:
    args = [*PROGRAM[1:], "mcp", "--approval-mode", "yolo"]
    return {"command": PROGRAM[0], "args": args, "cwd": str(root)}


def _run(words: Sequence[str], program: Program, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        words,
        env=program.environ(**more),
        cwd=program.root,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    (program.home / "told.txt").write_text(done.stdout + done.stderr)
    return done
