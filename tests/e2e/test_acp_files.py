"""`dogu acp` with an editor that holds unsaved texts and offers terminals."""

from __future__ import annotations

import os
from typing import Any

import anyio
import pytest

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
from dogu.workspace.sandbox.ladder import UNCONFINED
from e2e.acp_client import Editor, ask, capabilities, connected, connected_process, new_session
from e2e.program import Program

pytestmark = pytest.mark.anyio

FILES = capabilities(files=True)
TERMINALS = capabilities(terminal=True)


async def test_a_file_reads_as_the_editor_has_it(program: Program):
    path = program.root / "a.txt"
    path.write_text("saved\n")
    editor = Editor(buffers={str(path): "unsaved\n"})
    with FakeGemini([Turn(calls=[call("read_file", path=str(path))]), "done"]) as server:
        async with connected(program, editor, server, can=FILES) as connection:
            await ask(connection, await new_session(connection, program.root), "read")
        heard = server.requests[1].responses[0]["response"]
    assert heard["output"] == "unsaved\n"


async def test_an_edit_starts_from_the_unsaved_text_and_goes_to_the_editor_and_the_disk(program: Program):
    path = program.root / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\n")
    editor = Editor("allow-once", buffers={str(path): "one\ntwo\nmine\n"})
    edit = call("replace", file_path=str(path), old_string="two", new_string="zwei")
    with FakeGemini([Turn(calls=[edit]), "done"]) as server:
        async with connected_process(program, editor, server, can=FILES) as connection:
            session = await new_session(connection, program.root)
            await ask(connection, session, "edit")
            diff = editor.asked[0]["call"].content[0]
            assert path.read_bytes() == b"one\r\nzwei\r\nmine\r\n"
            await ask(connection, session, "/undo")
    assert (diff.old_text, diff.new_text) == ("one\r\ntwo\r\nmine\r\n", "one\r\nzwei\r\nmine\r\n")
    assert editor.written == [str(path)]
    assert path.read_bytes() == b"one\r\ntwo\r\nmine\r\n"  # what the user had typed isn't lost


async def test_what_was_approved_is_on_the_disk_whatever_the_editor_makes_of_it(program: Program):
    path = program.root / "a.txt"
    editor = Editor("allow-once")
    editor.saves = lambda text: text.upper().encode()
    write = call("write_file", file_path=str(path), content="as shown\n")
    with FakeGemini([Turn(calls=[write]), "done"]) as server:
        async with connected(program, editor, server, can=FILES) as connection:
            await ask(connection, await new_session(connection, program.root), "write")
    assert editor.written == [str(path)]
    assert path.read_text() == "as shown\n"


async def test_typing_between_the_question_and_the_answer_is_not_overwritten(program: Program):
    path = program.root / "a.txt"
    path.write_text("one\n")

    class Typing(Editor):
        async def request_permission(self, session_id: str, tool_call: object, options: list[Any], **_: object):
            self.buffers[str(path)] = "typed meanwhile\n"
            return await super().request_permission(session_id, tool_call, options)

    editor = Typing("allow-once")
    write = call("write_file", file_path=str(path), content="new\n")
    with FakeGemini([Turn(calls=[write]), "done"]) as server:
        async with connected(program, editor, server, can=FILES) as connection:
            await ask(connection, await new_session(connection, program.root), "write")
    assert editor.call("a.txt").raw_output["error"]["kind"] == "stale"
    assert editor.buffers[str(path)] == "typed meanwhile\n"
    assert path.read_text() == "one\n"


async def test_a_file_in_an_encoding_the_editor_does_not_know_stays_in_it(program: Program):
    path = program.root / "sjis.txt"
    text = "これは日本語の文章です。改行もあります。\n二行目も日本語です。\n"
    path.write_bytes(text.encode("cp932"))
    editor = Editor("allow-once", buffers={str(path): path.read_bytes().decode("utf-8", "replace")})
    edit = call("replace", file_path=str(path), old_string="二行目", new_string="三行目")
    with FakeGemini([Turn(calls=[edit]), "done"]) as server:
        async with connected(program, editor, server, can=FILES) as connection:
            await ask(connection, await new_session(connection, program.root), "edit")
    assert path.read_bytes() == text.replace("二行目", "三行目").encode("cp932")
    assert editor.written == []


async def test_places_outside_of_the_root_are_never_asked_of_the_editor(program: Program):
    outside = program.root.parent / "outside.txt"
    outside.write_text("secret")
    os.symlink(outside, program.root / "link.txt")
    calls = [call("read_file", path=str(outside)), call("read_file", path=str(program.root / "link.txt"))]
    editor = Editor("allow-once", buffers={str(outside): "secret", str(program.root / "link.txt"): "secret"})
    with FakeGemini([Turn(calls=calls), "done"]) as server:
        async with connected(program, editor, server, can=FILES) as connection:
            await ask(connection, await new_session(connection, program.root), "read")
        heard = [response["response"] for response in server.requests[1].responses]
    assert editor.read == []
    assert all("error" in response for response in heard)


async def test_a_command_runs_in_the_editors_terminal_when_that_was_chosen(program: Program):
    editor = Editor("allow-once")
    run = call("run_shell_command", command="echo hello; exit 3")
    with FakeGemini([Turn(calls=[run]), "done"]) as server:
        async with connected_process(program, editor, server, "--client-terminal", can=TERMINALS) as connection:
            await ask(connection, await new_session(connection, program.root), "run")
        heard = server.requests[1].responses[0]["response"]["output"]
    assert "Stdout: hello\n" in heard
    assert "Exit Code: 3" in heard
    assert [content.type for content in editor.call("echo hello").content] == ["terminal"]
    assert editor.ended == ["release t1"]
    assert UNCONFINED in str(editor.asked[0]["call"].content)


async def test_without_that_choice_commands_stay_in_our_own_hands(program: Program):
    editor = Editor("allow-once")
    with FakeGemini([Turn(calls=[call("run_shell_command", command="echo hello")]), "done"]) as server:
        async with connected(program, editor, server, can=TERMINALS) as connection:
            await ask(connection, await new_session(connection, program.root), "run")
    assert editor.terminals == {}


async def test_cancelling_kills_and_releases_the_editors_terminal(program: Program):
    editor = Editor("allow-once")
    run = call("run_shell_command", command="sleep 1000")
    with FakeGemini([Turn(calls=[run]), "done"]) as server:
        async with connected(program, editor, server, can=TERMINALS, uses_client_terminals=True) as connection:
            session = await new_session(connection, program.root)
            reasons: list[str] = []

            async def prompt() -> None:
                reasons.append(await ask(connection, session, "run"))

            async with anyio.create_task_group() as group:
                group.start_soon(prompt)
                await editor.until(lambda: bool(editor.terminals))
                await connection.cancel(session_id=session)
    assert reasons == ["cancelled"]
    assert editor.ended == ["kill t1", "release t1"]


async def test_a_demanded_sandbox_is_not_given_up_for_a_terminal(program: Program):
    settings = program.home / ".dogu"
    settings.mkdir()
    (settings / "settings.json").write_text('{"tools": {"sandbox": "on"}}')
    import acp

    with FakeGemini(["x"]) as server:
        async with connected(program, Editor(), server, can=TERMINALS, uses_client_terminals=True) as connection:
            with pytest.raises(acp.RequestError, match="require a sandbox"):
                await new_session(connection, program.root)
