"""What MCP servers ask, and what they are answered: in the record, in the page, after a kill; secrets never."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

import dogu
from agent.session.recorded import Recorded
from dogu.agent.events import ElicitationAnswered, ElicitationMade, RecordedEvent, SamplingAnswered
from dogu.agent.mcp import Elicit, recorded_elicitations, recorded_sampling
from dogu.agent.session.record import read_record
from dogu.agent.session.resume import restore
from dogu.contract.errors import ErrorKind, ToolError
from dogu.runtime.discovery.mcp.host import Sampled, SamplingRequest
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.runtime.session_folder import SessionFacts, StoredSession
from dogu.serve.session_export import export_html
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn, call

pytestmark = pytest.mark.anyio

SERVER = """
from pydantic import BaseModel
from mcp.server.mcpserver import Context, MCPServer
server = MCPServer("whole")
class Who(BaseModel):
    name: str
    apiKey: str
@server.tool()
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit("Whom shall I <b>greet</b>?", Who)
    return answer.action
server.run("stdio")
"""
FORM = Elicitation(
    "The MCP server s asks:",
    "Who are you?",
    {
        "user": {"type": "string", "title": "Your name"},
        "accessToken": {"type": "string"},
        "x": {"type": "string", "title": "Your API key"},
        "y": {"type": "string", "format": "password"},
    },
)


def events_of(recorded: Recorded) -> list[RecordedEvent]:
    return [each.event for each in read_record(str(recorded.folder))][1:]


def asking(recorded: Recorded, answer: Given | Declined | None) -> Elicit:
    async def elicit(_elicitation: Elicitation) -> Given | Declined | None:
        assert isinstance(events_of(recorded)[-1], ElicitationMade)  # recorded before it is asked
        return answer

    return recorded_elicitations(elicit, recorded.session.event)


async def test_what_was_asked_and_answered_is_recorded_without_secrets(tmp_path: Path):
    recorded = Recorded(tmp_path, [])
    values = {"user": "Ann", "accessToken": "tok-123456", "x": "key-123456", "y": "pass-123456"}
    assert await asking(recorded, Given(values))(FORM) == Given(values)
    made, answered = events_of(recorded)
    assert made == ElicitationMade(
        FORM.title,
        "Who are you?",
        {"user": "Your name", "accessToken": "accessToken", "x": "Your API key", "y": "y"},
    )
    masked = dict.fromkeys(("accessToken", "x", "y"), "[secret]")
    assert answered == ElicitationAnswered("given", {"user": "Ann"} | masked)
    assert b"-123456" not in recorded.record


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Declined("why?"), ElicitationAnswered("declined", said="why?")),
        (Declined(stop=True), ElicitationAnswered("closed")),
        (None, ElicitationAnswered("nobody")),
    ],
)
async def test_a_no_is_recorded_as_the_no_it_was(tmp_path: Path, answer: Declined | None, outcome: ElicitationAnswered):
    recorded = Recorded(tmp_path, [])
    assert await asking(recorded, answer)(FORM) == answer
    assert events_of(recorded)[-1] == outcome


async def test_an_address_is_recorded_without_what_lets_somebody_in(tmp_path: Path):
    recorded = Recorded(tmp_path, [])
    elicitation = Elicitation("t", "", url="https://ann:pw@host.test/login?code=s3cret#frag")
    await asking(recorded, Given())(elicitation)
    made = events_of(recorded)[0]
    assert isinstance(made, ElicitationMade)
    assert made.url == "https://host.test/login?…"
    assert b"s3cret" not in recorded.record


async def test_cancelled_while_it_waits_it_is_recorded_as_cancelled(tmp_path: Path):
    recorded = Recorded(tmp_path, [])

    async def elicit(_elicitation: Elicitation) -> Given:
        scope.cancel()
        await anyio.sleep_forever()
        return Given()

    with anyio.CancelScope() as scope:
        await recorded_elicitations(elicit, recorded.session.event)(FORM)
    assert events_of(recorded)[-1] == ElicitationAnswered("cancelled")
    assert restore(str(recorded.folder)).elicitation is None


async def test_a_question_that_was_open_when_the_process_died_is_known_when_it_is_resumed(tmp_path: Path):
    recorded = Recorded(tmp_path, [])
    recorded.session.event(ElicitationMade("t", "m"))
    assert restore(str(recorded.folder)).elicitation == ElicitationMade("t", "m")
    recorded.session.close()
    recorded.resume().session.event(ElicitationMade("later"))
    assert restore(str(recorded.folder)).elicitation == ElicitationMade("later")


async def test_what_the_model_answers_for_a_server_is_recorded(tmp_path: Path):
    recorded = Recorded(tmp_path, [])

    async def sample(request: SamplingRequest) -> Sampled:
        if not request.max_tokens:
            raise ToolError(ErrorKind.REMOTE_FAILED, "No answer.")
        return Sampled("2", "a-model")

    ask = recorded_sampling(sample, recorded.session.event)
    await ask(SamplingRequest("", (), 5))
    with pytest.raises(ToolError):
        await ask(SamplingRequest("", (), 0))
    assert events_of(recorded) == [SamplingAnswered("a-model", "2"), SamplingAnswered(problem="No answer.")]


async def test_through_a_server_it_is_in_the_record_and_in_the_page(tmp_path: Path):
    (tmp_path / "root").mkdir()
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    options = dogu.Options(
        root=str(tmp_path / "root"),
        home=str(tmp_path / "home"),
        approval_mode="yolo",
        mcp_servers={"whole": {"command": sys.executable, "args": [str(script)]}},
    )

    async def elicit(_elicitation: Elicitation) -> Given:
        return Given({"name": "Ann", "apiKey": "key-123456"})

    model = ScriptedModel([Turn(calls=[call("whole__greet")]), "done"])
    with anyio.fail_after(60):
        async with dogu.open_agent(options, model=model, elicit=elicit) as opened:
            while "whole__greet" not in opened.runtime.registry:  # noqa: ASYNC110  (what is waited for has no event)
                await anyio.sleep(0.01)
            end = await opened.agent.run("greet")
            folder = opened.session.path
    assert [answer.result.llm_content for answer in end.answers] == ["accept"]
    page: list[str] = []
    export_html(StoredSession(folder, SessionFacts(["/project"], 0.0)), page.append)
    shown = "".join(page)
    assert "The MCP server whole asks:" in shown
    assert "Whom shall I &lt;b&gt;greet&lt;/b&gt;?" in shown
    assert "name: Ann" in shown
    assert "key-123456" not in shown
    assert b"key-123456" not in (Path(folder) / "record.jsonl").read_bytes()
