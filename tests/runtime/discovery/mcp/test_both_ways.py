"""What MCP servers offer beside tools, and what they ask of us: real servers of the reference SDK, both generations."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

import dogu
from dogu.agent.at_paths import PromptReader
from dogu.agent.slash import Said, Send, SlashCommands
from dogu.app.mcp_servers import offer_in_prompts
from dogu.contract import Blob, text_of
from dogu.runtime.discovery.mcp.entries import read_entries
from dogu.runtime.discovery.mcp.host import Elicit, Host, Sample, Sampled, SamplingRequest, ask_nobody
from dogu.runtime.discovery.mcp.servers import McpServers, mcp_tools
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.runtime.runtime import Runtime

pytestmark = pytest.mark.anyio

SERVER = '''
import sys
from typing import Annotated
from pydantic import BaseModel
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.server.elicitation import ElicitationResult
import mcp_types as types

server = MCPServer("whole")

class Who(BaseModel):
    name: str
    loud: bool = False

async def whom() -> Elicit[Who]:
    return Elicit("Whom shall I greet?", Who)

@server.tool()
async def greet(answer: Annotated[ElicitationResult[Who], Resolve(whom)]) -> str:
    """Ask whom to greet."""
    return f"{answer.action} {getattr(answer, 'data', None)}"

async def roots() -> ListRoots:
    return ListRoots()

@server.tool()
async def where(found: Annotated[types.ListRootsResult, Resolve(roots)]) -> str:
    """Name the roots."""
    return ",".join(str(root.uri) for root in found.roots)

async def thought() -> Sample:
    message = types.SamplingMessage(role="user", content=types.TextContent(text="1 + 1?"))
    return Sample([message], max_tokens=50, system_prompt="Be short.")

@server.tool()
async def think(answer: Annotated[types.CreateMessageResult, Resolve(thought)]) -> str:
    """Ask the model."""
    return f"{answer.model}: {answer.content.text}"

@server.tool()
async def grow(ctx: Context) -> str:
    """Have one more tool, prompt and resource."""
    server.add_tool(lambda: "new", name="grown", description="A grown tool.")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"

@server.resource("text://{name}")
def text(name: str) -> str:
    """A text."""
    return f"the text {name}"

@server.resource("data://logo", mime_type="image/png")
def logo() -> bytes:
    """A logo."""
    return b"png bytes"

@server.prompt()
def review(path: str, tone: str = "kind") -> str:
    """Review a file."""
    return f"Review {path}, be {tone}."

@server.prompt()
def talk() -> list:
    """A talk."""
    from mcp.server.mcpserver.prompts.base import AssistantMessage, UserMessage
    return [UserMessage("Hello."), AssistantMessage("What is it?")]

if len(sys.argv) > 1:
    import socket, uvicorn
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical")).run(sockets=[listener])
else:
    server.run("stdio")
'''


@dataclass(frozen=True)
class Peer:
    """A server's command line, and a folder for what meets it."""

    folder: Path
    command: list[str]


@pytest.fixture
def peer(tmp_path: Path, python_with_mcp: list[str]) -> Peer:
    (tmp_path / "server.py").write_text(SERVER)
    return Peer(tmp_path, [*python_with_mcp, str(tmp_path / "server.py")])


@contextmanager
def row_of(peer: Peer, generation: str) -> Generator[dict[str, Any]]:
    """Give the settings of the server: one of 2025 over standard streams, or one of 2026 over HTTP, which it starts."""
    if generation == "2025":
        yield {"command": peer.command[0], "args": peer.command[1:]}
        return
    with subprocess.Popen(
        [*peer.command, "http"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield {"httpUrl": process.stdout.readline().strip()}
        finally:
            process.kill()


class Opened:
    """A runtime, its servers, and what a user may type."""

    def __init__(self, runtime: Runtime, servers: McpServers) -> None:
        self.runtime = runtime
        self.servers = servers
        self.slash = SlashCommands()
        resources = offer_in_prompts(servers, self.slash, runtime.run_tool)
        self.reader = PromptReader(
            runtime.run, lambda path: os.path.lexists(os.path.join(runtime.roots[0], path)), resources
        )

    async def call(self, tool: str, **args: Any) -> str:
        return str((await self.runtime.call(f"whole__{tool}", args)).result.llm_content)

    async def listed(self) -> None:
        for server in self.servers:
            await server.listed.wait()


@asynccontextmanager
async def opened(
    peer: Peer, generation: str, elicit: Elicit = ask_nobody, sample: Sample | None = None
) -> AsyncGenerator[Opened]:
    root, home = peer.folder / "root", peer.folder / "home"
    root.mkdir()
    options = dogu.Options(root=str(root), home=str(home), approval_mode="yolo")
    with row_of(peer, generation) as row:
        entries, _ = read_entries({"whole": row})
        with anyio.fail_after(60):
            async with dogu.open_runtime(options) as runtime:
                environment = {"PATH": os.environ["PATH"]}
                host = Host(runtime.roots, lambda: environment, elicit, sample, options.state_folder)
                async with mcp_tools(entries, runtime, host, wait_s=30) as servers:
                    assert runtime.notes == ()
                    found = Opened(runtime, servers)
                    await found.listed()
                    yield found


GENERATIONS = pytest.mark.parametrize("generation", ["2025", "2026"])


@GENERATIONS
async def test_the_generation_is_the_one_meant(peer: Peer, generation: str):
    async with opened(peer, generation) as found:
        assert [server.protocol[:4] for server in found.servers] == [generation]


@GENERATIONS
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Given({"name": "Ann", "loud": True}), "accept name='Ann' loud=True"),
        (Given({"name": "Ann"}), "accept name='Ann' loud=False"),
        (Declined(), "decline None"),
        (Declined(stop=True), "cancel None"),
    ],
)
async def test_a_form_is_asked_at_the_door_and_its_answer_reaches_the_server(
    peer: Peer, generation: str, answer: Given | Declined, told: str
):
    asked: list[Elicitation] = []

    async def elicit(elicitation: Elicitation) -> Given | Declined:
        asked.append(elicitation)
        return answer

    async with opened(peer, generation, elicit) as found:
        assert await found.call("greet") == told
    (elicitation,) = asked
    assert elicitation.title == "The MCP server whole asks:"
    assert elicitation.message == "Whom shall I greet?"
    assert elicitation.fields["name"]["type"] == "string"
    assert elicitation.required == ("name",)


@GENERATIONS
async def test_the_roots_are_told(peer: Peer, generation: str):
    async with opened(peer, generation) as found:
        assert await found.call("where") == (peer.folder / "root").as_uri()


@GENERATIONS
async def test_sampling_is_asked_and_then_answered_by_the_model(peer: Peer, generation: str):
    asked: list[Elicitation] = []
    sampled: list[SamplingRequest] = []

    async def elicit(elicitation: Elicitation) -> Given:
        asked.append(elicitation)
        return Given()

    async def sample(request: SamplingRequest) -> Sampled:
        sampled.append(request)
        return Sampled("2", "a-model")

    async with opened(peer, generation, elicit, sample) as found:
        assert await found.call("think") == "a-model: 2"
    assert asked[0].title == "The MCP server whole wants the model to answer this for it:"
    assert asked[0].message == "[system] Be short.\n[user] 1 + 1?"
    assert sampled == [SamplingRequest("Be short.", (("user", "1 + 1?"),), 50)]


@GENERATIONS
async def test_sampling_that_is_declined_never_reaches_the_model(peer: Peer, generation: str):
    async def elicit(_elicitation: Elicitation) -> Declined:
        return Declined()

    async def sample(_request: SamplingRequest) -> Sampled:
        raise AssertionError("the model was asked")

    async with opened(peer, generation, elicit, sample) as found:
        assert "rejected" in await found.call("think")


@GENERATIONS
async def test_a_tool_that_comes_later_is_there_later(peer: Peer, generation: str):
    async with opened(peer, generation) as found:
        assert await found.call("grow") == "grown"
        for _ in range(2000):
            if "whole__grown" in found.runtime.registry:
                break
            await anyio.sleep(0.01)
        assert await found.call("grown") == "new"


@GENERATIONS
async def test_a_resource_named_in_a_prompt_is_read_into_it(peer: Peer, generation: str):
    async with opened(peer, generation) as found:
        content = await found.reader("Sum up @whole:text://a, please.")
        assert text_of(content) == (
            "Sum up @whole:text://a, please.\n\nThe resource whole:text://a named above:\n[text://a]\nthe text a"
        )


@GENERATIONS
async def test_a_resource_of_bytes_is_a_blob(peer: Peer, generation: str):
    async with opened(peer, generation) as found:
        content = await found.reader("What is @whole:data://logo?")
        assert isinstance(content, list)
        assert [(part.media_type, part.data) for part in content if isinstance(part, Blob)] == [
            ("image/png", b"png bytes")
        ]


async def test_what_names_no_server_stays_a_word_and_a_missing_resource_is_told(peer: Peer):
    async with opened(peer, "2025") as found:
        assert await found.reader("mail a@b:c and @none:text://a") == "mail a@b:c and @none:text://a"
        assert "failed in reading nope://x" in text_of(await found.reader("@whole:nope://x"))


async def test_an_excluded_reader_reads_nothing(peer: Peer):
    async with opened(peer, "2025") as found:
        rules = found.runtime.policy.rules
        found.runtime.policy._rules = type(rules).from_lists(exclude=["read_mcp_resource"])
        assert "read_mcp_resource is excluded" in text_of(await found.reader("@whole:text://a"))


@GENERATIONS
async def test_a_prompt_is_a_slash_command_with_arguments(peer: Peer, generation: str):
    async with opened(peer, generation) as found:
        command = found.slash.get("whole:review")
        assert command is not None
        assert (command.help, command.arguments) == ("Review a file.", "path=... [tone=...]")
        assert command.complete("pa") == ["path="]
        assert await found.slash.run("whole:review a.py") == Send("Review a.py, be kind.")
        assert await found.slash.run("whole:review tone=hard path='my file.py'") == Send("Review my file.py, be hard.")
        assert await found.slash.run("whole:review a.py very kind") == Send("Review a.py, be very kind.")
        assert await found.slash.run("whole:review") == Said("/whole:review needs path.", is_failure=True)
        assert await found.slash.run("whole:talk") == Send("Hello.\n[assistant]\nWhat is it?")
