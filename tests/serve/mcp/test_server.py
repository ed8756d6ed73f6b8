"""The MCP door's server over a runtime, with the SDK's client in the same process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError
from mcp.server.lowlevel import Server
from pydantic import FileUrl

from dogu.app import Options, open_runtime
from dogu.contract import Blob, Content, Kind, Text, ToolResult, function_tool
from dogu.runtime.questions import Elicitation, Given
from dogu.runtime.runtime import Runtime
from dogu.serve.mcp.asking import ElicitationConfirm, elicit_client
from dogu.serve.mcp.caller import caller
from dogu.serve.mcp.door import mcp_server
from dogu.serve.mcp.offers import OfferedArgument, OfferedPrompt, OfferedResource, OfferedTemplate, Offers

pytestmark = pytest.mark.anyio

ERAS = ["legacy", "2026-07-28"]
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


async def _text() -> Content:
    return "the text"


async def _by_name(values: Mapping[str, str]) -> Content:
    return [Blob("image/png", values["name"].encode())]


async def _messages(values: Mapping[str, str]) -> Sequence[tuple[str, Content]]:
    return [
        ("user", [Text(f"about {values['topic']}"), Blob("text/plain", b"more", "notes://1")]),
        ("assistant", "Yes."),
    ]


def make_offers() -> Offers:
    def complete(argument: str, start: str) -> list[str]:
        return [word for word in ("one", "other") if word.startswith(start)] if argument == "topic" else []

    return Offers(
        OfferedResource("notes://all", "all", _text, description="All notes."),
        OfferedTemplate("notes://{name}/picture", "picture", _by_name, "image/png"),
        OfferedPrompt("about", "Talk about it.", _messages, (OfferedArgument("topic"),), complete),
    )


@asynccontextmanager
async def served(root: Path, offers: Offers | None = None) -> AsyncGenerator[tuple[Server[Any], Runtime]]:
    home = root / "home"
    home.mkdir()
    asking = ElicitationConfirm()
    options = Options(root=str(root), home=str(home))
    with anyio.fail_after(30):
        async with (
            open_runtime(options, confirm=asking) as runtime,
            mcp_server(runtime, asking, offers or Offers()) as server,
        ):
            yield server, runtime


async def say_yes(context: Any, params: Any) -> mcp_types.ElicitResult:
    return mcp_types.ElicitResult(action="accept", content={"name": "Ada", "answer": "yes"})


def text_of(result: mcp_types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))


class Heard:
    """Notifications, and a way to wait for them."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self._is_new = anyio.Event()

    async def __call__(self, message: Any) -> None:
        self.methods.append(getattr(message, "method", ""))
        self._is_new.set()
        self._is_new = anyio.Event()

    async def until(self, method: str) -> None:
        while method not in self.methods:
            await self._is_new.wait()


@pytest.mark.parametrize("mode", ERAS)
async def test_an_importers_resources_and_prompts_are_offered(tmp_path: Path, mode: str):
    async with served(tmp_path, make_offers()) as (server, _), Client(server, mode=mode) as client:
        listed = [each.uri for each in (await client.list_resources()).resources]
        templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
        [text] = (await client.read_resource("notes://all")).contents
        [picture] = (await client.read_resource("notes://a%20b/picture")).contents
        prompt = await client.get_prompt("about", {"topic": "tea"})
        reference = mcp_types.PromptReference(name="about")
        completed = await client.complete(reference, {"name": "topic", "value": "o"})
        for bad in ({}, None):
            with pytest.raises(MCPError, match="needs topic"):
                await client.get_prompt("about", bad)
        with pytest.raises(MCPError, match="no prompt"):
            await client.get_prompt("none")
    assert listed[0] == "notes://all"
    assert templates == ["notes://{name}/picture"]
    assert isinstance(text, mcp_types.TextResourceContents)
    assert text.text == "the text"
    assert isinstance(picture, mcp_types.BlobResourceContents)
    assert picture.mime_type == "image/png"
    assert [message.role for message in prompt.messages] == ["user", "user", "assistant"]
    assert isinstance(prompt.messages[1].content, mcp_types.EmbeddedResource)
    assert prompt.messages[1].content.resource.uri == "notes://1"
    assert completed.completion.values == ["one", "other"]


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_tools_and_offers_that_come_and_go_are_told(tmp_path: Path):
    offers, heard = make_offers(), Heard()
    async with (
        served(tmp_path, offers) as (server, runtime),
        Client(server, mode="legacy", message_handler=heard) as client,
    ):
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        await client.list_tools()
        runtime.registry.register(function_tool(lambda: "x", name="late", kind=Kind.READ))
        await heard.until("notifications/tools/list_changed")
        assert "late" in [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]
        offers.remove("about")
        await heard.until("notifications/prompts/list_changed")
        offers.add(OfferedResource("notes://new", "new", _text))
        await heard.until("notifications/resources/list_changed")
        await client.subscribe_resource("notes://all")  # pyright: ignore[reportDeprecated]  (the handshake's way)
        offers.resource_changed("notes://other")
        offers.resource_changed("notes://all")
        await heard.until("notifications/resources/updated")
    assert heard.methods.count("notifications/resources/updated") == 1


async def test_a_listener_of_2026_hears_what_it_asked_for(tmp_path: Path):
    async with (
        served(tmp_path) as (server, runtime),
        Client(server, mode="2026-07-28") as client,
        client.listen(tools_list_changed=True) as events,
    ):
        runtime.registry.register(function_tool(lambda: "x", name="late", kind=Kind.READ))
        async for event in events:
            assert type(event).__name__ == "ToolsListChanged"
            break


@pytest.mark.parametrize("mode", ERAS)
async def test_a_tool_asks_one_thing_after_the_other_and_runs_once_approved(tmp_path: Path, mode: str):
    ran: list[str] = []

    async def greet() -> str:
        """Greet somebody."""
        first = await caller().elicit("Who?", NAME, "who")
        second = await caller().elicit("Who else?", NAME, "else")
        ran.append("once")
        return f"{(first.content or {})['name']} and {(second.content or {})['name']}"

    async with served(tmp_path) as (server, runtime):
        runtime.registry.register(function_tool(greet, kind=Kind.OTHER))
        async with Client(server, mode=mode, elicitation_callback=say_yes) as client:
            assert text_of(await client.call_tool("greet", {})) == "Ada and Ada"
    assert ran == ["once"]


@pytest.mark.parametrize("mode", ERAS)
async def test_what_others_ask_reaches_the_user_of_the_running_call(tmp_path: Path, mode: str):
    given: list[Any] = []

    async def ask() -> str:
        """Ask for a name, as an MCP server would."""
        elicitation = Elicitation("sums asks", "Your name?", {"name": {"type": "string"}}, ("name",))
        given.append(await elicit_client(elicitation))
        return "asked"

    async with served(tmp_path) as (server, runtime):
        runtime.registry.register(function_tool(ask, kind=Kind.READ))
        async with Client(server, mode=mode, elicitation_callback=say_yes) as client:
            assert text_of(await client.call_tool("ask", {})) == "asked"
        async with Client(server, mode=mode) as client:
            await client.call_tool("ask", {})
    assert given[-2].values["name"] == "Ada"
    assert not isinstance(given[-1], Given)
    assert not isinstance(await elicit_client(Elicitation("t", "m")), Given)


@pytest.mark.parametrize("mode", ERAS)
async def test_a_missing_capability_is_the_protocols_error(tmp_path: Path, mode: str):
    async def think() -> str:
        """Have the client think."""
        caller().require("sampling")
        return "thought"

    async with served(tmp_path) as (server, runtime):
        runtime.registry.register(function_tool(think, kind=Kind.READ))
        async with Client(server, mode=mode) as client:
            with pytest.raises(MCPError, match="sampling") as raised:
                await client.call_tool("think", {})
    assert raised.value.error.data == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
async def test_messages_below_the_level_that_was_set_are_not_sent(tmp_path: Path):
    logged: list[Any] = []

    async def note(params: Any) -> None:
        logged.append(params.data)

    async def work() -> str:
        """Log."""
        await caller().log("info", "small")
        await caller().log("error", "big")
        return "done"

    async with served(tmp_path) as (server, runtime):
        runtime.registry.register(function_tool(work, kind=Kind.READ))
        async with Client(server, mode="legacy", logging_callback=note) as client:
            await client.set_logging_level("warning")  # pyright: ignore[reportDeprecated]  (the handshake's way)
            await client.call_tool("work", {})
    assert logged == ["big"]


@pytest.mark.parametrize("mode", ERAS)
async def test_a_tools_own_progress_is_told(tmp_path: Path, mode: str):
    told: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    async def work() -> str:
        """Work."""
        await caller().progress(1, 2)
        await caller().progress(2, 2, "done")
        return "done"

    async with served(tmp_path) as (server, runtime):
        runtime.registry.register(function_tool(work, kind=Kind.READ))
        async with Client(server, mode=mode) as client:
            await client.call_tool("work", {}, progress_callback=hear)
    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize("mode", ERAS)
async def test_every_kind_of_content_is_a_block(tmp_path: Path, mode: str):
    def give() -> ToolResult:
        """Give everything."""
        blobs = [("image/png", b"p", ""), ("audio/wav", b"a", ""), ("application/zip", b"z", "/tmp/a b.zip")]
        texts = [("text/plain", b"t", "notes://1"), ("text/plain", b"\xff", "bad")]
        return ToolResult([Text("x"), *(Blob(*each) for each in [*blobs, *texts])])

    async with served(tmp_path) as (server, runtime):
        runtime.registry.register(function_tool(give, kind=Kind.READ))
        async with Client(server, mode=mode) as client:
            blocks = (await client.call_tool("give", {})).content
    assert [block.type for block in blocks] == ["text", "image", "audio", "resource", "resource", "resource"]
    resources = [block.resource for block in blocks if isinstance(block, mcp_types.EmbeddedResource)]
    assert [each.uri for each in resources] == ["file:///tmp/a%20b.zip", "notes://1", "dogu:///bad"]
    assert [type(each).__name__ for each in resources] == [
        "BlobResourceContents",
        "TextResourceContents",
        "BlobResourceContents",
    ]


async def test_a_call_outside_of_mcp_has_no_client():
    from dogu.contract import ToolError

    with pytest.raises(ToolError, match="didn't come over MCP"):
        caller()


class Opening:
    """Opens runtimes for clients' roots, and fails as said: '' not at all, `opening`, or `open` once `now` is set."""

    def __init__(self, asking: ElicitationConfirm, home: Path) -> None:
        self._asking = asking
        self._home = home
        self.fails = ""
        self.now = anyio.Event()

    @asynccontextmanager
    async def __call__(self, roots: tuple[str, ...]) -> AsyncGenerator[Runtime]:
        if self.fails == "opening":
            raise KeyError("of nobody")
        options = Options(root=roots[0], home=str(self._home))
        async with open_runtime(options, confirm=self._asking) as runtime, anyio.create_task_group() as group:
            if self.fails == "open":
                group.start_soon(self._fail)
            yield runtime
            group.cancel_scope.cancel()

    async def _fail(self) -> None:
        await self.now.wait()
        raise KeyError("of nobody")


async def test_a_defect_in_a_client_s_workspace_costs_the_calls_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    home, first, there = (tmp_path / name for name in ("home", "first", "there"))
    for folder in (home, first, there):
        folder.mkdir()
    (there / "a.txt").write_text("there")
    asking = ElicitationConfirm()
    opening = Opening(asking, home)

    async def roots(context: Any) -> mcp_types.ListRootsResult:
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=FileUrl(there.as_uri()))])

    async def read() -> mcp_types.CallToolResult:
        return await client.call_tool("read_file", {"path": "a.txt"})

    with anyio.fail_after(30):
        async with (
            open_runtime(Options(root=str(first), home=str(home)), confirm=asking) as runtime,
            mcp_server(runtime, asking, Offers(), opening) as server,
            Client(server, mode="legacy", list_roots_callback=roots) as client,
        ):
            opening.fails = "opening"
            refused = await read()
            assert (await client.list_tools()).tools
            opening.fails = "open"
            answered = await read()
            opening.now.set()
            heard = ""
            while "a defect of dogu" not in heard:
                await anyio.lowlevel.checkpoint()
                heard += capsys.readouterr().err
            opening.fails = ""
            again = await read()
    assert refused.is_error
    assert "a defect of dogu: KeyError: 'of nobody'" in text_of(refused)
    assert (text_of(answered), text_of(again)) == ("there", "there")
