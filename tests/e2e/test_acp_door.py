"""The ACP door with the ACP SDK's client at the other end: in this process, and as `dogu acp` where the process is the point."""

from __future__ import annotations

import os

import acp
import anyio
import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.acp_client import Editor, ask, capabilities, connected, connected_process, new_session
from e2e.program import Program

pytestmark = pytest.mark.anyio


async def test_what_the_agent_can_is_told_and_a_session_begins_with_modes_and_commands(program: Program):
    editor = Editor()
    with FakeGemini(["hello"]) as server:
        async with connected_process(program, editor, server) as connection:
            told = await connection.initialize(1, capabilities())
            opened = await connection.new_session(cwd=str(program.root), mcp_servers=[])
            await editor.until(lambda: bool(editor.of_kind("available_commands_update")))
    can = told.agent_capabilities
    assert (told.protocol_version, can.load_session, can.prompt_capabilities.image) == (1, True, True)
    assert can.session_capabilities.list is not None
    assert can.session_capabilities.close is not None
    assert opened.modes.current_mode_id == "default"
    assert [mode.id for mode in opened.modes.available_modes] == ["default", "auto_edit", "plan", "yolo"]
    names = [command.name for command in editor.of_kind("available_commands_update")[0].available_commands]
    assert {"help", "mode", "undo"} <= {*names}


async def test_words_and_thoughts_stream_and_the_turn_ends_with_its_reason(program: Program):
    editor = Editor()
    with FakeGemini([Turn(thought="Let me see.", text="one two three", pieces=3)]) as server:
        async with connected(program, editor, server) as connection:
            session = await new_session(connection, program.root)
            answer = await connection.prompt(session_id=session, prompt=[acp.text_block("count")])
    assert answer.stop_reason == "end_turn"
    assert editor.said() == "one two three"
    assert len(editor.of_kind("agent_message_chunk")) == 3
    assert editor.said("agent_thought_chunk") == "Let me see."
    assert len({update.message_id for update in editor.of_kind("agent_message_chunk")}) == 1
    assert answer.usage.input_tokens > 0


async def test_a_new_session_is_named_by_its_first_prompt(program: Program):
    editor = Editor()
    with FakeGemini(["one", "two"]) as server:
        async with connected(program, editor, server) as connection:
            session = await new_session(connection, program.root)
            await ask(connection, session, "/help")
            await ask(connection, session, "  count\nto three ")
            await ask(connection, session, "again")
    assert [update.title for update in editor.of_kind("session_info_update")] == ["count to three"]


async def test_a_call_is_told_with_its_kind_places_input_status_and_content(program: Program):
    (program.root / "a.txt").write_text("one\ntwo\nthree\n")
    path = str(program.root / "a.txt")
    turns = [Turn(calls=[call("read_file", path=path, offset=1, limit=1)]), "done"]
    editor = Editor()
    with FakeGemini(turns) as server:
        async with connected(program, editor, server) as connection:
            await ask(connection, await new_session(connection, program.root), "read it")
    [started] = editor.of_kind("tool_call")
    assert (started.kind, started.status, started.raw_input["limit"]) == ("read", "pending", 1)
    assert [(place.path, place.line) for place in started.locations] == [(path, 2)]
    assert [update.status for update in editor.of_kind("tool_call_update")] == ["in_progress", "completed"]
    assert "two" in editor.call("a.txt").raw_output["output"]


async def test_a_change_is_asked_about_with_its_diff_and_made_when_allowed(program: Program):
    (program.root / "a.txt").write_text("one\ntwo\n")
    path = str(program.root / "a.txt")
    turns = [Turn(calls=[call("replace", file_path=path, old_string="two", new_string="zwei")]), "done"]
    editor = Editor("allow-once")
    with FakeGemini(turns) as server:
        async with connected(program, editor, server) as connection:
            reason = await ask(connection, await new_session(connection, program.root), "change it")
    assert reason == "end_turn"
    assert (program.root / "a.txt").read_text() == "one\nzwei\n"
    [asked] = editor.asked
    diff = asked["call"].content[0]
    assert (diff.type, diff.path, diff.old_text, diff.new_text) == ("diff", path, "one\ntwo\n", "one\nzwei\n")
    assert asked["call"].tool_call_id == editor.of_kind("tool_call")[0].tool_call_id
    done = editor.call("a.txt")
    assert (done.status, done.content[0].type, done.locations[0].line) == ("completed", "diff", 1)


async def test_always_shows_the_narrow_rule_and_is_remembered(program: Program):
    calls = [call("write_file", file_path=str(program.root / f"{n}.txt"), content="x") for n in range(3)]
    editor = Editor("allow-always")
    with FakeGemini([Turn(calls=calls), "done"]) as server:
        async with connected(program, editor, server) as connection:
            await ask(connection, await new_session(connection, program.root), "write")
    [asked] = editor.asked
    assert asked["options"]["allow-always"].name == "Always allow: write_file, for this session"
    assert asked["options"]["allow-always"].kind == "allow_always"
    assert all((program.root / f"{n}.txt").exists() for n in range(3))


@pytest.mark.parametrize("choice", ["reject-once", "error", "cancelled", "no-such-option"])
async def test_whatever_is_not_clearly_a_yes_is_a_no(program: Program, choice: str):
    turns = [Turn(calls=[call("write_file", file_path=str(program.root / "a.txt"), content="x")]), "I see."]
    editor = Editor(choice)
    with FakeGemini(turns) as server:
        async with connected(program, editor, server) as connection:
            reason = await ask(connection, await new_session(connection, program.root), "write")
    assert not (program.root / "a.txt").exists()
    assert editor.call("a.txt").status == "failed"
    assert reason == ("end_turn" if choice == "reject-once" else "cancelled")


async def test_a_no_with_a_reason_reaches_the_model(program: Program):
    turns = [Turn(calls=[call("write_file", file_path=str(program.root / "a.txt"), content="x")]), "I see."]
    editor = Editor("reject-because")
    editor.form_answer = {"reason": "use another name"}
    with FakeGemini(turns) as server:
        async with connected(program, editor, server, can=capabilities(forms=True)) as connection:
            await ask(connection, await new_session(connection, program.root), "write")
        heard = server.requests[1].responses[0]["response"]
    assert "use another name" in heard["error"]


async def test_there_is_one_way_to_reject_for_clients_that_show_options_by_kind(program: Program):
    turns = [Turn(calls=[call("write_file", file_path=str(program.root / "a.txt"), content="x")]), "I see."]
    editor = Editor("reject-once")
    with FakeGemini(turns) as server:
        async with connected(program, editor, server) as connection:
            await ask(connection, await new_session(connection, program.root), "write")
    kinds = [option.kind for option in editor.asked[0]["options"].values()]
    assert kinds == ["allow_once", "allow_always", "reject_once"]


async def test_options_of_one_kind_are_told_apart_by_their_names(program: Program):
    turns = [Turn(calls=[call("run_shell_command", command="echo hi > made.txt")]), "I see."]
    editor = Editor("reject-once")
    with FakeGemini(turns) as server:
        async with connected(program, editor, server) as connection:
            await ask(connection, await new_session(connection, program.root), "make it")
    named = [(option.kind, option.name) for option in editor.asked[0]["options"].values()]
    once = [name for kind, name in named if kind == "allow_once"]
    assert len({name for _, name in named}) == len(named)
    if len(once) == 2:  # where the machine can run it aside
        assert once == ["Allow once, and keep what it changes", "Allow once, and show me what it changed"]


async def test_the_user_s_own_words_are_not_said_back_while_a_turn_runs(program: Program):
    (program.root / "a.txt").write_text("the file's text")
    editor = Editor()
    with FakeGemini(["one", "two"]) as server:
        async with connected(program, editor, server) as connection:
            session = await new_session(connection, program.root)
            await ask(connection, session, "look at @a.txt")
            await ask(connection, session, "again")
        assert "the file's text" in server.requests[0].prompt
    assert editor.of_kind("user_message_chunk") == []
    assert len({update.message_id for update in editor.of_kind("agent_message_chunk")}) == 2


async def test_the_model_and_the_mode_are_options_that_can_be_chosen(program: Program):
    program.settle('{"model": {"name": "gemini-a", "profiles": {"fast": {"name": "gemini-b"}}}}')
    before = [file.read_bytes() for file in program.home.rglob("settings.json")]
    editor = Editor()
    with FakeGemini(["one", "two"]) as server:
        async with connected(program, editor, server) as connection:
            opened = await connection.new_session(cwd=str(program.root), mcp_servers=[])
            mode, model = opened.config_options
            assert (mode.id, mode.current_value, len(mode.options)) == ("mode", "default", 4)
            assert (model.id, model.category, model.current_value) == ("model", "model", "gemini-a")
            assert {"gemini-a", "fast"} <= {option.value for option in model.options}
            chosen = await connection.set_config_option(session_id=opened.session_id, config_id="model", value="fast")
            assert chosen.config_options[1].current_value == "gemini-b"
            await connection.set_config_option(session_id=opened.session_id, config_id="mode", value="plan")
            await ask(connection, opened.session_id, "hi")
            await ask(connection, opened.session_id, "/mode auto_edit")
            await editor.until(lambda: bool(editor.of_kind("config_option_update")))
            for option, value in (("model", "no-such-model"), ("size", "large"), ("mode", "fast")):
                with pytest.raises(acp.RequestError, match="There is no"):
                    await connection.set_config_option(session_id=opened.session_id, config_id=option, value=value)
        assert [request.model for request in server.requests] == ["gemini-b"]
    assert editor.of_kind("config_option_update")[-1].config_options[0].current_value == "auto_edit"
    assert [file.read_bytes() for file in program.home.rglob("settings.json")] == before


async def test_modes_are_set_by_the_client_and_by_a_command(program: Program):
    turns = [Turn(calls=[call("write_file", file_path=str(program.root / "a.txt"), content="x")]), "done"]
    editor = Editor("reject-once")
    with FakeGemini(turns) as server:
        async with connected(program, editor, server) as connection:
            session = await new_session(connection, program.root)
            await connection.set_session_mode(session_id=session, mode_id="auto_edit")
            await ask(connection, session, "write")
            assert await ask(connection, session, "/mode plan") == "end_turn"
            await editor.until(lambda: bool(editor.of_kind("current_mode_update")))
            with pytest.raises(acp.RequestError, match="There is no mode fast"):
                await connection.set_session_mode(session_id=session, mode_id="fast")
    assert editor.asked == []
    assert (program.root / "a.txt").exists()
    assert [update.current_mode_id for update in editor.of_kind("current_mode_update")] == ["plan"]
    assert "Approval mode: plan" in editor.said()


async def test_output_is_told_while_the_command_runs_and_cancelling_ends_it(program: Program):
    command = "echo $$ > pid; echo first; sleep 1000"
    editor = Editor("allow-once")
    with FakeGemini([Turn(calls=[call("run_shell_command", command=command)]), "done"]) as server:
        async with connected_process(program, editor, server) as connection:
            session = await new_session(connection, program.root)
            reasons: list[str] = []

            async def run() -> None:
                reasons.append(await ask(connection, session, "run"))

            async with anyio.create_task_group() as group:
                group.start_soon(run)
                await editor.until(lambda: any(u.content for u in editor.of_kind("tool_call_update")))
                await connection.cancel(session_id=session)
            shown = [u.content[0].content.text for u in editor.of_kind("tool_call_update") if u.content]
            assert await ask(connection, session, "/done") == "end_turn"
    assert reasons == ["cancelled"]
    assert "first" in shown[0]
    assert editor.call("echo first").status == "failed"
    with pytest.raises(ProcessLookupError):
        os.kill(int((program.root / "pid").read_text()), 0)


async def test_cancelling_while_asked_is_a_no(program: Program):
    turns = [Turn(calls=[call("write_file", file_path=str(program.root / "a.txt"), content="x")]), "done"]
    editor = Editor("allow-once")
    editor.hangs = True
    with FakeGemini(turns) as server:
        async with connected(program, editor, server) as connection:
            session = await new_session(connection, program.root)
            reasons: list[str] = []

            async def run() -> None:
                reasons.append(await ask(connection, session, "write"))

            async with anyio.create_task_group() as group:
                group.start_soon(run)
                await editor.is_asked.wait()
                await connection.cancel(session_id=session)
    assert reasons == ["cancelled"]
    assert not (program.root / "a.txt").exists()
    assert editor.call("a.txt").status == "failed"


async def test_two_sessions_at_once_have_their_own_folders_modes_and_turns(program: Program):
    other = program.root.parent / "other"
    other.mkdir()
    (program.root / "here.txt").write_text("1")
    (other / "there.txt").write_text("2")

    def turn(request: GeminiRequest) -> Turn | str:
        return "done" if request.responses else Turn(calls=[call("list_directory", path=".")])

    editor = Editor("allow-once")
    with FakeGemini([turn] * 4) as server:
        async with connected(program, editor, server) as connection:
            first, second = [await new_session(connection, root) for root in (program.root, other)]
            await connection.set_session_mode(session_id=second, mode_id="plan")
            async with anyio.create_task_group() as group:
                group.start_soon(ask, connection, first, "list")
                group.start_soon(ask, connection, second, "list")
            calls = {
                session: editor.of_kind("tool_call_update", session)[-1].raw_output["output"]
                for session in (first, second)
            }
            with pytest.raises(acp.RequestError, match="not open here"):
                await ask(connection, "no-such-session", "x")
    assert "here.txt" in calls[first]
    assert "there.txt" not in calls[first]
    assert "there.txt" in calls[second]


async def test_the_models_plan_is_told_as_a_plan(program: Program):
    todos = [{"description": "look", "status": "completed"}, {"description": "change", "status": "in_progress"}]
    editor = Editor("allow-once")
    with FakeGemini([Turn(calls=[call("write_todos", todos=todos)]), "done"]) as server:
        async with connected(program, editor, server) as connection:
            await ask(connection, await new_session(connection, program.root), "plan it")
    [plan] = editor.of_kind("plan")
    assert [(entry.content, entry.status) for entry in plan.entries] == [
        ("look", "completed"),
        ("change", "in_progress"),
    ]


@pytest.mark.parametrize("has_forms", [True, False])
async def test_what_the_model_asks_the_user_is_a_form_or_a_choice(program: Program, has_forms: bool):
    options = [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}]
    question = {"question": "Which color?", "header": "Color", "type": "choice", "options": options}
    editor = Editor("choice-1")
    with FakeGemini([Turn(calls=[call("ask_user", questions=[question])]), "done"]) as server:
        async with connected(program, editor, server, can=capabilities(forms=has_forms)) as connection:
            await ask(connection, await new_session(connection, program.root), "ask me")
        heard = str(server.requests[1].responses[0]["response"])
    assert len(editor.forms) == (1 if has_forms else 0)
    assert ("blue" in heard) == (not has_forms)


@pytest.mark.parametrize(("finish", "reason"), [("STOP", "end_turn"), ("MAX_TOKENS", "max_tokens")])
async def test_the_reason_a_turn_stopped_for_is_told(program: Program, finish: str, reason: str):
    with FakeGemini([Turn(text="well", finish=finish)] * 6) as server:
        async with connected(program, Editor(), server) as connection:
            assert await ask(connection, await new_session(connection, program.root), "hi") == reason


async def test_too_many_requests_for_one_prompt_are_told(program: Program):
    settings = program.home / ".dogu"
    settings.mkdir()
    (settings / "settings.json").write_text('{"maxSessionTurns": 2}')
    editor = Editor("allow-once")
    with FakeGemini([Turn(calls=[call("list_directory", path=".")])] * 3) as server:
        async with connected(program, editor, server) as connection:
            reason = await ask(connection, await new_session(connection, program.root), "hi")
    assert reason == "max_turn_requests"
    assert "Stopped" in editor.said()


async def test_an_answer_that_the_model_withholds_is_a_refusal(program: Program):
    editor = Editor()
    with FakeGemini([Turn(fault="safety")]) as server:
        async with connected(program, editor, server) as connection:
            assert await ask(connection, await new_session(connection, program.root), "hi") == "refusal"
    assert "safety" in editor.said().lower()


async def test_a_model_that_gives_no_answer_is_an_error_in_words_and_the_session_goes_on(program: Program):
    with FakeGemini([Turn(fault="e403"), "here I am"]) as server:
        editor = Editor()
        async with connected(program, editor, server) as connection:
            session = await new_session(connection, program.root)
            with pytest.raises(acp.RequestError) as raised:
                await ask(connection, session, "hi")
            assert await ask(connection, session, "hi again") == "end_turn"
    assert raised.value.code == -32000
    assert "key" in str(raised.value).lower()
    assert editor.said().endswith("here I am")
