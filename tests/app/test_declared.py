"""What a model is told that it may call: what is of use where it is, now."""

from pathlib import Path

import pytest

import dogu
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.questions import Declined, Elicitation, approve
from dogu.testing.scripted_model import ScriptedModel

pytestmark = pytest.mark.anyio


def options(home: Path, settings: str = "{}") -> dogu.Options:
    (home / ".dogu").mkdir()
    (home / ".dogu" / "settings.json").write_text(settings)
    (home / "ws").mkdir()
    return dogu.Options(root=str(home / "ws"), home=str(home))


async def declines(_asked: Elicitation) -> Declined:
    return Declined()


@pytest.fixture(autouse=True)
def no_search_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)


async def test_without_a_user_and_a_search_neither_is_declared_and_a_call_hears_why(tmp_path: Path) -> None:
    async with dogu.open_agent(options(tmp_path), model=ScriptedModel(["ok"])) as opened:
        names = {each.name for each in opened.agent.executor.registry.declarations}
        assert "read_file" in names
        assert not {"ask_user", "google_web_search"} & names
        asked = await opened.runtime.call("google_web_search", query="x")
        assert "searxngUrl" in str(asked.result.llm_content)


async def test_with_a_user_and_a_search_both_are_declared(tmp_path: Path) -> None:
    chosen = options(tmp_path, '{"web": {"searxngUrl": "http://127.0.0.1:8888"}}')
    async with dogu.open_agent(chosen, model=ScriptedModel(["ok"]), confirm=approve, elicit=declines) as opened:
        names = {each.name for each in opened.agent.executor.registry.declarations}
        assert {"ask_user", "google_web_search"} <= names


async def test_declarations_follow_the_approval_mode(tmp_path: Path) -> None:
    async with dogu.open_agent(options(tmp_path), model=ScriptedModel(["ok"])) as opened:
        registry, policy = opened.agent.executor.registry, opened.runtime.policy
        before = registry.declarations
        policy.mode = ApprovalMode.PLAN
        planned = {each.name for each in registry.declarations}
        assert {"read_file", "grep_search", "write_todos"} <= planned
        assert not {"replace", "write_file", "save_memory"} & planned
        policy.mode = ApprovalMode.DEFAULT
        assert registry.declarations == before
