"""What happens between requests: budgets, folders' notes, room, and what /stats, /memory and /compact say."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dogu
from dogu.agent.budget import Budget
from dogu.agent.events import Compacted, EndReason
from dogu.agent.slash import Said
from dogu.app.agent import Opened
from dogu.contract.declaration import FunctionDeclaration
from dogu.models.events import MANY_TRIES, ModelError, ModelErrorKind, ModelEvent, Usage
from dogu.models.prices import GEMINI, OPENAI, Price, price_of
from dogu.models.retry import RetryPolicy, with_retries
from dogu.serve.exit_codes import ExitCode, of_turn
from dogu.settings import SettingsError, Trust, record_trust
from dogu.testing.scripted_model import ModelRequest, ScriptedModel
from dogu.testing.turn import Turn, call

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def opened(
    tmp_path: Path, model: ScriptedModel, settings: dict[str, Any] | None = None, **more: Any
) -> AsyncGenerator[Opened]:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    file = tmp_path / "settings.json"
    file.write_bytes(msgspec.json.encode(settings or {}))
    record_trust(str(root), str(tmp_path / "home"), Trust.TRUSTED)
    options = dogu.Options(root=str(root), home=str(tmp_path / "home"), settings_file=str(file), **more)
    async with dogu.open_agent(options, model=model) as agent:
        yield agent


async def said(opened_agent: Opened, text: str) -> str:
    answer = await opened_agent.slash.run(text)
    assert isinstance(answer, Said)
    return answer.text


def look(number: int, tokens: int = 10) -> Turn:
    return Turn(calls=[call("list_directory", path=".", ignore=[str(number)])], prompt_tokens=tokens)


def test_a_price_is_known_by_the_models_family_or_not_at_all():
    assert price_of("gemini-2.5-flash", {}, GEMINI) == GEMINI["gemini-2.5-flash"]
    assert price_of("gemini-2.5-flash-preview-09-2025", {}, GEMINI) == GEMINI["gemini-2.5-flash"]
    assert price_of("gemini-2.5-flash-lite-001", {}, GEMINI) == GEMINI["gemini-2.5-flash-lite"]
    assert price_of("gpt-4o-2024-08-06", {}, OPENAI) == OPENAI["gpt-4o"]
    for unknown in ("gemini-2.5-flash-image", "gemini-flash-latest", "my-gpt-4o", "gpt-4o-mega", ""):
        assert price_of(unknown, {}, {**GEMINI, **OPENAI}) is None
    assert price_of("gpt-4o", {}, {}) is None
    assert price_of("gpt-4o", {"gpt-4o": Price(1, 1, 1)}, {}) == Price(1, 1, 1)


def test_a_request_costs_what_its_tokens_do():
    usage = Usage(prompt=100_000, cached=40_000, output=1_000, thoughts=3_000)
    assert GEMINI["gemini-2.5-pro"].of(usage) == pytest.approx(0.06 * 1.25 + 0.04 * 0.125 + 0.004 * 10)
    longer = Usage(prompt=300_000, output=1_000)
    assert GEMINI["gemini-2.5-pro"].of(longer) == pytest.approx(0.3 * 2.5 + 0.001 * 15)


def test_tokens_are_summed_by_model_and_an_unknown_price_is_never_guessed():
    budget = Budget(lambda model: Price(1, 1, 1) if model == "known" else None)
    for model in ("known", "known", "other"):
        budget.add(model, Usage(prompt=500_000))
    assert budget.cost_usd == 1.0
    assert budget.unpriced == ["other"]
    assert budget.by_model["known"].usage.prompt == 1_000_000
    assert budget.why_stop() == ""
    budget.max_cost_usd = 5.0
    assert "the price of other isn't known" in budget.why_stop()


_PRICED = {"model": {"prices": {"scripted": {"input": 1, "output": 1}}}}


async def test_a_budget_stops_before_the_next_request_and_says_so(tmp_path: Path):
    model = ScriptedModel([look(1, 600_000), look(2, 600_000), look(3)])
    async with opened(tmp_path, model, _PRICED, max_cost=1.0) as agent:
        end = await agent.agent.run("look")
        again = await agent.agent.run("look again")
        contents = [*agent.agent.history.contents]
    assert (end.reason, len(model.requests)) == (EndReason.BUDGET, 2)
    assert end.note == "Stopped: this session has cost $1.20, and the limit is $1.00. --max-cost sets a higher one."
    assert of_turn(end) is ExitCode.TURN_LIMIT
    assert again.reason is EndReason.BUDGET
    assert not any(b"look again" in content for content in contents)  # it can be sent again under a higher limit


class Failing(ScriptedModel):
    """Is paid for each of its tries, and fails in all of them."""

    tries = 0

    def stream(
        self, system: str, history: Sequence[bytes], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        async def attempt(_hint: str) -> AsyncGenerator[ModelEvent, None]:
            self.tries += 1
            yield Usage(prompt=600_000)
            raise ModelError(ModelErrorKind.INCOMPLETE, "cut", most_tries=MANY_TRIES)

        return aclosing(with_retries(attempt, RetryPolicy(tries=9, first_delay_s=0.0)))


async def test_tries_that_failed_count_before_another_is_sent(tmp_path: Path):
    model = Failing([])
    async with opened(tmp_path, model, _PRICED, max_cost=1.0) as agent:
        end = await agent.agent.run("look")
    assert (end.reason, model.tries) == (EndReason.BUDGET, 2)
    assert "this session has cost $1.20" in end.note


async def test_turns_are_limited_by_a_flag(tmp_path: Path):
    model = ScriptedModel([look(number) for number in range(5)])
    async with opened(tmp_path, model, max_turns=2) as agent:
        end = await agent.agent.run("look")
    assert (end.reason, len(model.requests)) == (EndReason.STEP_LIMIT, 2)
    assert of_turn(end) is ExitCode.TURN_LIMIT


async def test_a_limit_without_a_known_price_is_an_error_at_the_start(tmp_path: Path):
    with pytest.raises(SettingsError, match="the price of scripted isn't known"):
        async with opened(tmp_path, ScriptedModel([]), max_cost=1.0):
            pass


async def test_helpers_count_and_stop_too(tmp_path: Path):
    model = ScriptedModel(
        [
            Turn(calls=[call("run_subagent", task="look around")], prompt_tokens=10),
            look(1, 700_000),
            look(2, 700_000),
            "never",
        ]
    )
    async with opened(tmp_path, model, _PRICED, max_cost=1.0) as agent:
        end = await agent.agent.run("delegate")
        spent = await said(agent, "stats")
    assert (end.reason, len(model.requests)) == (EndReason.BUDGET, 3)
    error = next(answer.result.error for answer in end.answers if answer.call.name == "run_subagent")
    assert error is not None
    assert "may use no more of what the user allows" in error.message
    assert "scripted: 3 requests, 1,400,010 tokens in" in spent


async def test_a_folders_instructions_join_the_answer_of_the_call_that_touched_it(tmp_path: Path):
    (tmp_path / "root" / "src").mkdir(parents=True)
    (tmp_path / "root" / "src" / "GEMINI.md").write_text("Use tabs here.")
    (tmp_path / "root" / "src" / "a.py").write_text("x = 1\n")
    reads = [Turn(calls=[call("read_file", path="src/a.py")]) for _ in range(2)]
    model = ScriptedModel([*reads, "done"])
    async with opened(tmp_path, model) as agent:
        end = await agent.agent.run("read")
        listed = await said(agent, "memory list")
    first, second = (request.responses[0]["response"]["output"] for request in model.requests[1:])
    assert first.startswith("x = 1")
    assert "Use tabs here." in first
    assert "Use tabs" not in second
    assert "Use tabs" not in str(end.answers[0].result.llm_content)
    assert "loaded when its folder was first used" in listed


async def test_room_is_made_between_steps_and_what_folders_said_stays(tmp_path: Path):
    (tmp_path / "root" / "src").mkdir(parents=True)
    (tmp_path / "root" / "src" / "GEMINI.md").write_text("Use tabs here.")
    (tmp_path / "root" / "src" / "a.py").write_text("x = 1\n" * 150)

    def read(number: int) -> Turn:
        return Turn(calls=[call("read_file", path="src/a.py", offset=number, limit=140)], prompt_tokens=900 * number)

    def summary_or_done(request: ModelRequest) -> Turn | str:
        return "## Goal\nread" if "You summarise" in request.system else "done"

    model = ScriptedModel([*(read(number) for number in range(1, 13)), summary_or_done, summary_or_done])
    events: list[object] = []
    settings = {"model": {"contextWindow": 15_000}}
    async with opened(tmp_path, model, settings) as agent:
        end = await agent.agent.run("read it all", events.append)
        contents = list(agent.agent.history.contents)
        spoken = await said(agent, "stats")
    assert end.reason is EndReason.DONE
    (done,) = [event for event in events if isinstance(event, Compacted)]
    assert (done.summarised > 2, done.problem) == (True, "")
    assert "read it all" in contents[0].decode()
    assert b"".join(contents).count(b"Use tabs here.") == 1
    assert b"Use tabs here." in contents[0]
    assert "of 15,000 tokens" in spoken


async def test_a_conversation_that_is_too_long_for_the_model_is_sent_again_once(tmp_path: Path):
    too_long = Turn(error=ModelError(ModelErrorKind.TOO_LONG, "too long"))
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "big.txt").write_text("some words\n" * 1_500)
    model = ScriptedModel([Turn(calls=[call("read_file", path="big.txt")]), too_long, "done"])
    async with opened(tmp_path, model) as agent:
        end = await agent.agent.run("read")
    assert end.text == "done"
    assert len(model.requests[2].history[-1]) < len(model.requests[1].history[-1])
    again = ScriptedModel([Turn(calls=[call("read_file", path="big.txt")]), too_long, too_long, "never"])
    async with opened(tmp_path, again) as agent:
        with pytest.raises(ModelError, match="too long"):
            await agent.agent.run("read")
    assert len(again.requests) == 3


async def test_a_prompt_is_taken_back_when_its_first_request_fails(tmp_path: Path):
    model = ScriptedModel([Turn(error=ModelError(ModelErrorKind.NETWORK, "gone")), "hello"])
    async with opened(tmp_path, model) as agent:
        with pytest.raises(ModelError):
            await agent.agent.run("hi")
        assert agent.agent.history.contents == []
        assert (await agent.agent.run("hi")).text == "hello"


async def test_compact_sums_up_at_the_users_word(tmp_path: Path):
    turns = [look(1), "a long answer " * 500, "and more " * 500, "the sum", "fine"]
    model = ScriptedModel(turns)
    async with opened(tmp_path, model) as agent:
        assert "wasn't compacted" in await said(agent, "compact")
        await agent.agent.run("look")
        await agent.agent.run("go on")
        note = await said(agent, "compact the names")
        end = await agent.agent.run("thanks")
    assert "became a summary" in note
    assert model.requests[3].contents[0]["parts"][0]["text"].endswith("keep this: the names")
    assert "the sum" in model.requests[4].contents[0]["parts"][0]["text"]
    assert end.text == "fine"


async def test_what_changes_of_the_instructions_in_mid_session_is_told_beside_the_prompt(tmp_path: Path):
    (tmp_path / "root").mkdir()
    rules = tmp_path / "root" / "AGENTS.md"
    rules.write_text("Use tabs.")
    model = ScriptedModel(["one", "two", "three", "four"])
    async with opened(tmp_path, model) as agent:
        await agent.agent.run("hi")
        rules.write_text("Use spaces.")
        await said(agent, "memory refresh")
        await agent.agent.run("go on")
        rules.unlink()
        await said(agent, "memory refresh")
        await agent.agent.run("and on")
        await agent.agent.run("still")
    assert len({request.system for request in model.requests}) == 1
    last = [str(request.contents[-1]) for request in model.requests]
    assert "Use spaces." in last[1]
    assert f"no longer hold: {rules}" in last[2]
    assert "hold" not in last[3]


async def test_another_approval_mode_is_told_without_rewriting_what_came_first(tmp_path: Path):
    model = ScriptedModel(["one", "two", "three"])
    async with opened(tmp_path, model) as agent:
        await agent.agent.run("hi")
        await said(agent, "mode plan")
        await agent.agent.run("plan it")
        await agent.agent.run("more")
    assert "Approval mode: `default`" in model.requests[0].system
    assert len({request.system for request in model.requests}) == 1
    assert "From now on: Approval mode: `plan` (read and search only" in str(model.requests[1].contents[-1])
    assert "From now on" not in str(model.requests[2].contents[-1])


async def test_stats_tell_tokens_costs_calls_and_the_context(tmp_path: Path):
    model = ScriptedModel([look(1), Turn(calls=[call("read_file", path="none")]), "done"])
    async with opened(tmp_path, model, {"model": {"contextWindow": 2_000_000}}) as agent:
        assert "No requests to the model yet." in await said(agent, "stats")
        await agent.agent.run("look")
        spoken = await said(agent, "stats")
    assert "scripted: 3 requests, 30 tokens in (0 cached), 1 out, 0 thinking; cost not known" in spoken
    assert "list_directory: 1× (0 failed, 0 declined)" in spoken
    assert "read_file: 1× (1 failed, 0 declined)" in spoken
    assert "of 2,000,000 tokens" in spoken


async def test_memory_is_shown_listed_added_to_and_read_again(tmp_path: Path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "GEMINI.md").write_text("Use tabs. @more.md")
    (tmp_path / "root" / "more.md").write_text("Or spaces.")
    model = ScriptedModel(["one", "two"])
    async with opened(tmp_path, model) as agent:
        assert "Or spaces." in await said(agent, "memory show")
        listed = await said(agent, "memory")
        added = await said(agent, "memory add I like\n# green tea")
        (tmp_path / "root" / "AGENTS.md").write_text("New rule.")
        again = await said(agent, "memory refresh")
        wrong = await said(agent, "memory forget")
        nothing = await said(agent, "memory add")
        await agent.agent.run("hi")
    assert "imports" in listed
    assert added == "Remembered in ~/.gemini/GEMINI.md: I like # green tea"
    assert "AGENTS.md" in again
    assert wrong == nothing == "/memory [show | list | add TEXT | refresh]"
    assert "I like # green tea" in model.requests[0].system
    assert "New rule." in model.requests[0].system
    kept = (tmp_path / "home" / ".gemini" / "GEMINI.md").read_text()
    assert kept == "## Gemini Added Memories\n- I like # green tea\n"
