"""Hooks around turns, and commands and skills of one's own, as an agent that was opened has them."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from dogu.agent.events import EndReason, TurnEnd
from dogu.agent.slash import Said, Send
from dogu.app import Options, open_agent
from dogu.contract.content import text_of
from dogu.runtime.events import Noted
from dogu.settings import Trust, record_trust
from dogu.testing import ScriptedModel, Turn, call
from processes import shared_fork_server

pytestmark = pytest.mark.anyio


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.root = folder / "home", folder / "project"
        self.home.mkdir()
        self.root.mkdir()
        self.options = Options(root=str(self.root), home=str(self.home), fork_server=shared_fork_server())
        self.notes: list[str] = []

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def hooks(self, **commands: str) -> None:
        hooks = {event: [{"hooks": [{"command": text, "name": "guard"}]}] for event, text in commands.items()}
        self.write("home/.dogu/settings.json", json.dumps({"hooks": hooks}))

    async def run(self, model: ScriptedModel, *prompts: str) -> list[TurnEnd]:
        def emit(event: object) -> None:
            if isinstance(event, Noted):
                self.notes.append(event.text)

        async with open_agent(self.options, model=model) as opened:
            return [await opened.agent.run(prompt, emit) for prompt in prompts]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def asked(model: ScriptedModel, number: int = -1) -> str:
    return json.dumps(model.requests[number].contents, ensure_ascii=False)


def printed(**output: Any) -> str:
    return f"cat > /dev/null; echo {shlex.quote(json.dumps(output))}"


@pytest.mark.parametrize("event", ["BeforeAgent", "UserPromptSubmit"])
async def test_a_hook_may_stop_a_prompt_before_the_model_sees_it(place: Place, event: str) -> None:
    place.hooks(**{event: "echo 'No keys in prompts.' >&2; exit 2"})
    model = ScriptedModel([])
    (end,) = await place.run(model, "my key is 123")
    assert end.reason is EndReason.STOPPED
    assert "No keys in prompts." in end.note
    assert model.requests == []


async def test_a_hook_may_add_to_the_prompt(place: Place) -> None:
    place.hooks(BeforeAgent=printed(hookSpecificOutput={"additionalContext": "It is Tuesday."}))
    model = ScriptedModel(["Yes."])
    await place.run(model, "Is it?")
    assert "It is Tuesday." in asked(model)


async def test_plain_text_of_a_claude_hook_is_added_to_the_prompt(place: Place) -> None:
    place.hooks(UserPromptSubmit="echo It is Tuesday.")
    model = ScriptedModel(["Yes."])
    await place.run(model, "Is it?")
    assert "It is Tuesday." in asked(model)


async def test_what_the_start_of_the_session_says_goes_with_the_first_prompt_alone(place: Place) -> None:
    place.hooks(SessionStart=printed(hookSpecificOutput={"additionalContext": "Use tabs."}))
    model = ScriptedModel(["a", "b"])
    await place.run(model, "one", "two")
    assert asked(model).count("Use tabs.") == 1


@pytest.mark.parametrize("event", ["AfterAgent", "Stop"])
async def test_a_hook_may_send_the_model_back_to_work(place: Place, event: str) -> None:
    body = 'grep -q \'"stop_hook_active":true\' && exit 0; echo "Run the tests." >&2; exit 2'
    place.hooks(**{event: body})
    model = ScriptedModel(["Done.", "Tests run."])
    (end,) = await place.run(model, "Work.")
    assert end.text == "Tests run."
    assert "Run the tests." in asked(model)
    assert any("Run the tests." in note for note in place.notes)


async def test_a_hook_that_is_never_content_ends_after_five_times(place: Place) -> None:
    place.hooks(AfterAgent="exit 2")
    model = ScriptedModel(["x"] * 6)
    (end,) = await place.run(model, "Work.")
    assert end.reason is EndReason.DONE
    assert len(model.requests) == 6


async def test_a_hook_after_a_turn_may_end_it(place: Place) -> None:
    place.hooks(AfterAgent=printed(**{"continue": False, "stopReason": "Enough for today."}))
    (end,) = await place.run(ScriptedModel(["x"]), "Work.")
    assert end.reason is EndReason.STOPPED
    assert "Enough for today." in end.note


async def test_a_failing_hook_takes_no_turn_down(place: Place) -> None:
    place.hooks(BeforeAgent="exit 1", AfterAgent="echo garbage", SessionStart="exit 9", SessionEnd="exit 9")
    (end,) = await place.run(ScriptedModel(["fine"]), "Work.")
    assert end.text == "fine"
    assert len(place.notes) == 2


async def test_a_hook_that_stops_at_a_call_stops_the_turn(place: Place) -> None:
    place.hooks(BeforeTool=printed(**{"continue": False, "stopReason": "no tools"}))
    model = ScriptedModel([Turn(calls=[call("list_directory", path=".")])])
    (end,) = await place.run(model, "Work.")
    assert end.reason is EndReason.STOPPED
    assert end.note == "Stopped by a hook."


async def test_hooks_are_listed(place: Place) -> None:
    place.hooks(BeforeTool="true")
    async with open_agent(place.options, model=ScriptedModel([])) as opened:
        answer = await opened.slash.run("hooks")
    assert isinstance(answer, Said)
    assert "BeforeTool: true" in answer.text


async def test_a_folders_commands_count_only_when_it_is_trusted(place: Place) -> None:
    place.write("project/.gemini/commands/git/commit.toml", 'prompt = "Commit."')
    place.write("home/.dogu/commands/mine.toml", 'prompt = "Mine."')
    async with open_agent(place.options, model=ScriptedModel([])) as opened:
        assert any("trust this folder" in note and ".gemini/commands" in note for note in opened.runtime.notes)
        assert isinstance(await opened.slash.run("git:commit"), Said)
        assert isinstance(await opened.slash.run("mine"), Send)
    record_trust(str(place.root), str(place.home), Trust.TRUSTED)
    async with open_agent(place.options, model=ScriptedModel([])) as opened:
        answer = await opened.slash.run("git:commit")
        assert isinstance(answer, Send)
        assert text_of(answer.content) == "Commit."


async def test_bad_and_shadowing_commands_are_told_at_the_start(place: Place) -> None:
    place.write("home/.gemini/commands/bad.toml", "prompt = ")
    place.write("home/.gemini/commands/help.toml", 'prompt = "x"')
    async with open_agent(place.options, model=ScriptedModel([])) as opened:
        notes = "\n".join(opened.runtime.notes)
        answer = await opened.slash.run("help")
    assert "bad.toml:1" in notes
    assert "/help is built in" in notes
    assert isinstance(answer, Said)


SKILL = "---\nname: pdf\ndescription: For PDFs.\n---\nRead forms.md.\n"


async def test_a_skill_is_told_activated_and_its_files_are_read(place: Place) -> None:
    place.write("home/.gemini/skills/pdf/SKILL.md", SKILL)
    place.write("home/.gemini/skills/pdf/forms.md", "Fill them.")
    file = f"{place.home}/.gemini/skills/pdf/forms.md"
    turns = [
        Turn(calls=[call("read_file", path=file)]),
        Turn(calls=[call("activate_skill", name="pdf")]),
        Turn(calls=[call("read_file", path=file)]),
        "Done.",
    ]
    model = ScriptedModel(turns)
    (end,) = await place.run(model, "Fill in the PDF.")
    before, _, after = (answer.result for answer in end.answers)
    assert before.error is not None
    assert "Fill them." in text_of(after.llm_content)
    declaration = next(each for each in model.requests[0].declarations if each.name == "activate_skill")
    assert "- pdf: For PDFs." in declaration.description


async def test_a_folders_skills_count_only_when_it_is_trusted_and_then_ask(place: Place) -> None:
    place.write("project/.agents/skills/pdf/SKILL.md", SKILL)
    async with open_agent(place.options, model=ScriptedModel([])) as opened:
        assert "activate_skill" not in opened.runtime.registry
    record_trust(str(place.root), str(place.home), Trust.TRUSTED)
    async with open_agent(place.options, model=ScriptedModel([])) as opened:
        answer = await opened.runtime.call("activate_skill", name="pdf")
        assert answer.result.error is not None
        assert answer.result.error.kind == "nobody_to_ask"
        listed = await opened.slash.run("skills")
        assert isinstance(listed, Said)
        assert "pdf: For PDFs." in listed.text


@pytest.mark.parametrize(
    "more", [{"skills": {"disabled": ["pdf"]}}, {"skills": {"enabled": False}}, {"excludeTools": ["activate_skill"]}]
)
async def test_skills_may_be_switched_off(place: Place, more: dict[str, Any]) -> None:
    place.write("home/.dogu/skills/pdf/SKILL.md", SKILL)
    place.write("home/.dogu/settings.json", json.dumps(more))
    async with open_agent(place.options, model=ScriptedModel([])) as opened:
        assert "activate_skill" not in opened.runtime.registry
