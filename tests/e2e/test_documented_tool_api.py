"""The tool API's documents, sentence by sentence: the contract, the registry, the nine steps."""

import inspect
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest

import dogu
from cancelling import cancelled_when
from dogu.contract import CallContext, Confirmation, Text, text_of
from dogu.settings import load_settings
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn, call
from e2e.documented import open_documented

pytestmark = pytest.mark.anyio

# The documents' class names, and the tools they stand for.
BUILT_IN = {
    "LSTool": "list_directory",
    "ReadFileTool": "read_file",
    "WriteFileTool": "write_file",
    "GrepTool": "grep_search",
    "GlobTool": "glob",
    "EditTool": "replace",
    "ReadManyFilesTool": "read_many_files",
    "ShellTool": "run_shell_command",
    "WebFetchTool": "web_fetch",
    "WebSearchTool": "google_web_search",
    "MemoryTool": "save_memory",
}


class StampArgs(msgspec.Struct, kw_only=True):
    text: Annotated[str, msgspec.Meta(description="What to stamp.")]


class Stamp(dogu.Tool[StampArgs]):
    """Stamp a text, and remember each of the contract's methods that was called."""

    name, display_name, kind = "stamp", "Stamp", dogu.Kind.OTHER

    def __init__(self) -> None:
        self.steps: list[str] = []

    def validate_tool_params(self, raw: Any) -> StampArgs:
        self.steps.append("validate")
        return super().validate_tool_params(raw)

    def get_description(self, args: StampArgs) -> str:
        return f"Stamp {args.text}"

    async def should_confirm_execute(self, args: StampArgs) -> Confirmation | None:
        self.steps.append("should_confirm")
        return Confirmation("Stamp it?", f"**{args.text}**", proposal=args.text.upper())

    async def execute(self, args: StampArgs, context: CallContext) -> dogu.ToolResult:
        self.steps.append("execute")
        return dogu.ToolResult([Text(f"stamped {context.approved}"), dogu.Blob("image/png", b"png")], "*stamped*")


async def run_agent(
    folder: Path, tool: dogu.Tool[Any], *turns: Turn | str, confirm: Any = None
) -> tuple[ScriptedModel, list[object]]:
    """Run one prompt with the tool beside the built-in ones; return the model and the door's events."""
    model, events = ScriptedModel(turns), list[object]()
    options = dogu.Options(root=str(folder), home=str(folder / "home"))
    async with dogu.open_agent(options, model=model, tools=[tool], confirm=confirm) as opened:
        await opened.agent.run("go", events.append)
    return model, events


async def approve(_question: dogu.Question) -> dogu.Approved:
    return dogu.Approved()


class TestContract:
    @pytest.mark.requirement("api.system")
    @pytest.mark.requirement("api.tool.contract")
    @pytest.mark.requirement("api.tool.name")
    @pytest.mark.requirement("api.tool.display_name")
    @pytest.mark.requirement("api.tool.description")
    @pytest.mark.requirement("api.tool.parameter_schema")
    @pytest.mark.requirement("api.tool.get_description")
    async def test_a_tool_is_defined_by_its_contract(self) -> None:
        tool = Stamp()
        declaration = tool.declaration
        assert (declaration.name, tool.display_name) == ("stamp", "Stamp")
        assert declaration.description.startswith("Stamp a text")
        assert declaration.parameters == {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to stamp."}},
            "required": ["text"],
        }
        assert tool.get_description(StampArgs(text="x")) == "Stamp x"

    @pytest.mark.requirement("api.tool.name")
    async def test_names_are_unique(self) -> None:
        with pytest.raises(ValueError, match="stamp"):
            dogu.ToolRegistry([Stamp(), Stamp()])

    @pytest.mark.requirement("api.tool.validate")
    @pytest.mark.requirement("api.flow.4_validation")
    async def test_parameters_are_checked_and_a_wrong_one_stops_the_call(self, tmp_path: Path) -> None:
        tool = Stamp()
        with pytest.raises(dogu.ToolError, match="txt"):
            tool.validate_tool_params({"txt": "a"})
        tool = Stamp()
        model, _ = await run_agent(tmp_path, tool, Turn(calls=[call("stamp", text=1)]), "done", confirm=approve)
        assert "'text'" in model.requests[1].responses[0]["response"]["error"]
        assert tool.steps == ["validate"]

    @pytest.mark.requirement("api.result.llm_content")
    @pytest.mark.requirement("api.result.return_display")
    @pytest.mark.requirement("api.result.rich")
    @pytest.mark.requirement("api.tool.execute")
    async def test_a_result_holds_rich_content_for_the_model_and_a_display_for_the_user(self) -> None:
        result = await Stamp().execute(StampArgs(text="a"), CallContext(approved="A"))
        assert result.llm_content == [Text("stamped A"), dogu.Blob("image/png", b"png")]
        assert result.return_display == "*stamped*"
        assert dogu.ToolResult("text", dogu.FileDiff("a", None, "b", "")).llm_content == "text"


class TestRegistry:
    @pytest.mark.requirement("api.registry.register")
    @pytest.mark.requirement("api.registry.get")
    @pytest.mark.requirement("api.builtin.set")
    async def test_the_built_in_tools_are_registered_and_found_by_name(self, tmp_path: Path) -> None:
        async with dogu.open_runtime(dogu.Options(root=str(tmp_path), home=str(tmp_path))) as runtime:
            for class_name, name in BUILT_IN.items():
                assert runtime.registry.get(name).name == runtime.registry.get(class_name).name == name
            with pytest.raises(dogu.ToolError, match="read_file"):
                runtime.registry.get("readfile")

    @pytest.mark.requirement("api.capabilities")
    async def test_a_model_acts_on_the_machine_by_tools(self, tmp_path: Path) -> None:
        shows = call("run_shell_command", command="type a.txt" if os.name == "nt" else "cat a.txt")
        calls = [call("write_file", file_path="a.txt", content="one\n"), shows]
        model, _ = await run_agent(tmp_path, Stamp(), *(Turn(calls=[each]) for each in calls), "done", confirm=approve)
        assert (tmp_path / "a.txt").read_text() == "one\n"
        assert "Stdout: one" in model.requests[2].responses[0]["response"]["output"]

    @pytest.mark.requirement("api.registry.declarations")
    async def test_every_registered_tool_is_declared_to_the_model(self, tmp_path: Path) -> None:
        model = ScriptedModel(["done"])
        options = dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"))
        async with dogu.open_agent(options, model=model, tools=[Stamp()]) as opened:
            registered = {tool.name for tool in opened.runtime.registry}
            await opened.agent.run("go")
        declared = {declaration.name: declaration.parameters for declaration in model.requests[0].declarations}
        assert registered - declared.keys() == {"ask_user", "google_web_search", "send_input"}, "none is of use yet"
        assert declared["stamp"]["required"] == ["text"]
        assert all(schema["type"] == "object" for schema in declared.values())

    @pytest.mark.requirement("api.builtin.contract")
    async def test_each_built_in_tool_keeps_the_contract(self, tmp_path: Path) -> None:
        async with dogu.open_runtime(dogu.Options(root=str(tmp_path), home=str(tmp_path))) as runtime:
            for tool in runtime.registry:
                assert isinstance(tool, dogu.Tool)
                assert not inspect.isabstract(type(tool))

    @pytest.mark.requirement("api.builtin.read_many_files")
    async def test_several_files_are_read_and_joined_as_at_in_a_prompt_does(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("one\n")
        (tmp_path / "b.txt").write_text("two\n")
        options = dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"))
        model = ScriptedModel(["done"])
        async with dogu.open_agent(options, model=model) as opened:
            both = await opened.runtime.call("read_many_files", paths=["*.txt"])
            prompt = await opened.read_prompt("look at @a.txt")
            await opened.agent.run(prompt)
        text = text_of(both.result.llm_content)
        assert text.index("one") < text.index("two")
        assert f"--- {tmp_path / 'a.txt'} ---" in text
        assert "one" in json.dumps(model.requests[0].contents)


class TestFlow:
    @pytest.mark.requirement("api.flow.1_request")
    @pytest.mark.requirement("api.flow.2_received")
    @pytest.mark.requirement("api.flow.3_lookup")
    @pytest.mark.requirement("api.flow.4_validation")
    @pytest.mark.requirement("api.flow.5_asked")
    @pytest.mark.requirement("api.flow.5_prompted")
    @pytest.mark.requirement("api.flow.5_decision")
    @pytest.mark.requirement("api.flow.6_execution")
    @pytest.mark.requirement("api.flow.7_result")
    @pytest.mark.requirement("api.flow.8_response")
    @pytest.mark.requirement("api.flow.9_display")
    @pytest.mark.requirement("api.tool.should_confirm")
    @pytest.mark.requirement("api.registry.declarations")
    async def test_the_nine_steps(self, tmp_path: Path) -> None:
        tool = Stamp()

        async def confirm(question: dogu.Question) -> dogu.Approved:
            assert (question.confirmation.title, question.description) == ("Stamp it?", "Stamp it")
            tool.steps.append("confirmed")
            return dogu.Approved()

        turns = [Turn(calls=[call("stamp", text="it")]), "It is stamped."]
        model, events = await run_agent(tmp_path, tool, *turns, confirm=confirm)
        assert [declaration.name for declaration in model.requests[0].declarations][-1] == "stamp"
        assert tool.steps == ["validate", "should_confirm", "confirmed", "execute"]
        (response,) = model.requests[1].responses
        assert response["name"] == "stamp"
        assert "stamped IT" in response["response"]["output"]
        (finished,) = [event for event in events if isinstance(event, dogu.CallFinished)]
        assert finished.result.return_display == "*stamped*"
        assert [event.text for event in events if isinstance(event, dogu.TextDelta)] == ["It is stamped."]

    @pytest.mark.requirement("api.flow.5_decision")
    async def test_no_means_that_it_does_not_run(self, tmp_path: Path) -> None:
        async def decline(_question: dogu.Question) -> dogu.Declined:
            return dogu.Declined("use ink")

        tool = Stamp()
        model, _ = await run_agent(tmp_path, tool, Turn(calls=[call("stamp", text="it")]), "done", confirm=decline)
        assert "use ink" in model.requests[1].responses[0]["response"]["error"]
        assert "execute" not in tool.steps

    @pytest.mark.requirement("api.flow.6_execution")
    async def test_a_call_can_be_cancelled(self, tmp_path: Path) -> None:
        options = dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"), approval_mode="yolo")
        async with dogu.open_runtime(options) as runtime:
            started = tmp_path / "started"
            command = "touch started; sleep 60; touch done"
            if os.name == "nt":
                waits = "import time; open('started', 'w'); time.sleep(60); open('done', 'w')"
                command = f'"{sys.executable}" -c "{waits}"'
            call_it = partial(runtime.call, "run_shell_command", command=command)
            await cancelled_when(started.exists, call_it)
        assert not (tmp_path / "done").exists()


class TestCustomTools:
    @pytest.mark.requirement("api.custom.programmatic")
    @pytest.mark.requirement("api.custom.flexible")
    async def test_a_function_becomes_a_tool(self, tmp_path: Path) -> None:
        async def add(one: int, other: int) -> int:
            """Add two numbers."""
            return one + other

        tool = dogu.function_tool(add, kind=dogu.Kind.READ)
        model, _ = await run_agent(tmp_path, tool, Turn(calls=[call("add", one=1, other=2)]), "done")
        assert model.requests[1].responses[0]["response"] == {"output": "3"}

    @pytest.mark.requirement("api.registry.discovery")
    @pytest.mark.requirement("api.registry.discovery_command")
    @pytest.mark.requirement("api.custom.discovery_setting")
    @pytest.mark.requirement("api.custom.discovery_output")
    @pytest.mark.requirement("api.custom.discovered_tool")
    @pytest.mark.requirement("api.custom.call_command")
    @pytest.mark.parametrize(
        "settings",
        [
            {"tools": {"discoveryCommand": "bin/tools", "callCommand": "bin/tools"}},
            {"toolDiscoveryCommand": "bin/tools", "toolCallCommand": "bin/tools"},
        ],
        ids=["documented", "older"],
    )
    async def test_a_command_s_tools_are_found_and_run(self, tmp_path: Path, settings: dict[str, Any]) -> None:
        program = '#!/bin/sh\nif [ $# = 0 ]; then cat "${0%/*}/tools.json"; else echo "$1 got $(cat)"; fi\n'
        of_windows = (
            "import sys\n"
            "if len(sys.argv) > 1: print(sys.argv[1], 'got', sys.stdin.read())\n"
            "else: print(open(sys.path[0] + '/tools.json').read())\n"
        )
        batch = f'@"{sys.executable}" "%~dp0tools.py" %*\r\n'
        called = "bin/tools" if os.name != "nt" else "bin/tools.cmd"
        parameters = {"type": "OBJECT", "properties": {"to": {"type": "STRING"}}, "required": ["to"]}
        declared = [{"name": "greet", "description": "Greet.", "parameters": parameters}]
        async with open_documented(
            tmp_path,
            json.dumps(settings).replace("bin/tools", called),
            files={
                "bin/tools": program,
                "bin/tools.cmd": batch,
                "bin/tools.py": of_windows,
                "bin/tools.json": json.dumps(declared),
            },
        ) as tools:
            assert "greet" in [declaration.name for declaration in tools.runtime.registry.declarations]
            assert await tools.text("greet", to="you") == 'greet got {"to": "you"}\n'
            assert (await tools.error("greet", to=1))[0] == "invalid_arguments"

    @pytest.mark.requirement("api.custom.discovery_setting")
    @pytest.mark.requirement("api.custom.mcp_setting")
    async def test_discovery_and_servers_are_set_in_settings_json(self, tmp_path: Path) -> None:
        (tmp_path / ".gemini").mkdir()
        servers = {"one": {"command": "a"}, "two": {"httpUrl": "http://127.0.0.1:1"}}
        written = {
            "tools": {"discoveryCommand": "bin/get_tools", "callCommand": "bin/call_tool"},
            "mcpServers": servers,
            "mcp": {"serverCommand": "bin/server"},
        }
        (tmp_path / ".gemini" / "settings.json").write_text(json.dumps(written))
        settings = load_settings(str(tmp_path), str(tmp_path))
        assert (settings.tools.discovery_command, settings.tools.call_command) == ("bin/get_tools", "bin/call_tool")
        assert (settings.mcp.servers, settings.mcp.server_command) == (servers, "bin/server")
