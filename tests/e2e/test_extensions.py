"""Hooks, skills and commands of one's own through every door: call, print, terminal, MCP, ACP."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pexpect
import pytest

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
from e2e.program import PROGRAM, Program

pytestmark = pytest.mark.anyio


@pytest.fixture
def guarded(program: Program) -> Program:
    """A home whose hook refuses to read secret.txt, and one command."""
    (program.root / "secret.txt").write_text("SECRET\n")
    (program.root / "a.txt").write_text("alpha\n")
    guard = "grep -q secret.txt && { echo 'Not this one.' >&2; exit 2; }; echo '{\"systemMessage\": \"seen\"}'"
    hooks = {"BeforeTool": [{"matcher": "read", "hooks": [{"name": "guard", "command": guard}]}]}
    write(program, ".dogu/settings.json", json.dumps({"hooks": hooks}))
    write(program, ".dogu/commands/show/file.toml", "description = 'Show it.'\nprompt = 'Show {{args}}: @{a.txt}'")
    return program


def write(program: Program, name: str, text: str) -> None:
    file = program.home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def key(server: FakeGemini) -> dict[str, str]:
    return {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url}


def reads(path: str) -> Turn:
    return Turn(calls=[call("read_file", path=path)])


def answered(server: FakeGemini) -> list[str]:
    return [json.dumps(response["response"]) for request in server.requests for response in request.responses]


def test_a_call_without_a_model(guarded: Program) -> None:
    refused = guarded.run("call", "read_file", "path=secret.txt")
    assert refused.returncode == 56
    assert "Not this one." in refused.stderr.decode()
    let_in = guarded.run("call", "read_file", "path=a.txt")
    assert (let_in.returncode, "alpha" in let_in.stdout.decode()) == (0, True)
    assert "guard: seen" in let_in.stderr.decode()


@pytest.mark.parametrize(
    ("text", "code", "denied"), [("prompt = 'x !{false}'", 56, ["run_shell_command"]), ("prompt = 5", 42, [])]
)
def test_a_command_whose_prompt_was_never_sent_is_no_success(
    program: Program, text: str, code: int, denied: list[str]
) -> None:
    write(program, ".dogu/commands/f.toml", text)
    with FakeGemini([]) as server:
        done = program.run("-p", "/f", "--output-format", "json", environ=key(server))
    row = json.loads(done.stdout)
    assert (done.returncode, row["exit_code"], row["status"]) == (code, code, "error")
    assert [denial["tool_name"] for denial in row["permission_denials"]] == denied
    assert server.requests == []


def test_one_answer(guarded: Program) -> None:
    with FakeGemini([reads("secret.txt"), reads("a.txt"), "done"]) as server:
        done = guarded.run("-p", "read them", "--output-format", "stream-json", environ=key(server))
        first, second = answered(server)
    assert "Not this one." in first
    assert "alpha" in second
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["text"] for line in lines if line["type"] == "noted"] == ["guard: seen"]


def test_a_prompt_that_a_hook_stops_is_told_and_ends_with_a_status(program: Program) -> None:
    hooks = {"UserPromptSubmit": [{"hooks": [{"command": "echo 'No keys.' >&2; exit 2"}]}]}
    write(program, ".gemini/settings.json", json.dumps({"hooks": hooks}))
    with FakeGemini([]) as server:
        done = program.run("-p", "my key", environ=key(server))
        assert server.requests == []
    assert done.returncode == 42
    assert "No keys." in done.stderr.decode()


def test_a_command_of_one_s_own_as_one_answer(guarded: Program) -> None:
    with FakeGemini(["shown"]) as server:
        done = guarded.run("-p", "/show:file me", environ=key(server))
        prompt = server.requests[0].prompt
    assert done.stdout.decode() == "shown\n"
    assert prompt.startswith("Show me: ")
    assert "alpha" in prompt


def test_the_terminal(guarded: Program) -> None:
    with FakeGemini([reads("secret.txt"), "well", "shown"]) as server:
        environ = guarded.environ(NO_COLOR="1", **key(server))
        child: pexpect.spawn[str] = pexpect.spawn(
            shlex.join(PROGRAM), cwd=str(guarded.root), env=environ, encoding="utf-8", timeout=20, dimensions=(40, 100)
        )
        child.expect("›")
        child.send("read it\r")
        child.expect("Not this one")
        child.expect("well")
        child.send("/show:file me\r")
        child.expect("shown")
        child.close(force=True)
        assert "Show me: " in server.requests[-1].prompt


async def test_an_mcp_client(guarded: Program) -> None:
    mcp: Any = pytest.importorskip("mcp", reason="needs the mcp extra")
    server = mcp.StdioServerParameters(
        command=PROGRAM[0], args=[*PROGRAM[1:], "mcp"], env=guarded.environ(), cwd=guarded.root
    )
    async with mcp.Client(server) as client:
        refused = await client.call_tool("read_file", {"path": "secret.txt"})
        let_in = await client.call_tool("read_file", {"path": "a.txt"})
    assert refused.is_error
    assert "Not this one." in str(refused.content)
    assert "alpha" in str(let_in.content)


async def test_an_editor(guarded: Program) -> None:
    pytest.importorskip("acp", reason="needs the acp extra")
    from e2e.acp_client import Editor, ask, connected, new_session

    editor = Editor()
    with FakeGemini([reads("secret.txt"), reads("a.txt"), "done", "shown"]) as server:
        async with connected(guarded, editor, server) as connection:
            session = await new_session(connection, guarded.root)
            await ask(connection, session, "read them")
            await ask(connection, session, "/show:file me")
            names = [each.name for each in editor.of_kind("available_commands_update")[0].available_commands]
        first, second = answered(server)
        prompt = server.requests[-1].prompt
    assert "Not this one." in first
    assert "alpha" in second
    assert "guard: seen" in editor.said()
    assert "show:file" in names
    assert "Show me: " in prompt
