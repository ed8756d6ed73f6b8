"""What hands from other agents type, and what a typo is taken for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dogu.agent.slash import Said, SlashAnswer, SlashCommand, SlashCommands
from dogu.agent.slash.commands import jobs_command
from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.process.stored_jobs import StoredJobs

pytestmark = pytest.mark.anyio


def named(name: str) -> SlashCommand:
    async def run(rest: str) -> SlashAnswer:
        return Said(f"{name}: {rest}")

    return SlashCommand(name, "", run, "[WORDS]")


COMMANDS = SlashCommands([named(name) for name in ("mode", "rename", "stats", "quit", "new", "resume", "settings")])


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("plan", "mode: plan"),
        ("plan mend it", "mode: plan mend it"),
        ("chat save my work", "rename: my work"),
        ("chat resume 1", "resume: 1"),
        ("context", "stats: "),
        ("exit", "quit: "),
    ],
)
async def test_other_agents_names_do_what_they_do_there(typed: str, said: str):
    answer = await COMMANDS.run(typed)
    assert isinstance(answer, Said)
    assert answer.text == said
    assert COMMANDS.means(f"/{typed}")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("nwe", "new"), ("setings", "settings"), ("sett", "settings"), ("exti", "exit"), ("Resume", "resume")],
)
async def test_a_typo_is_told_what_it_may_mean(typed: str, meant: str):
    answer = await COMMANDS.run(typed)
    assert isinstance(answer, Said)
    assert f"did you mean /{meant}?" in answer.text


@pytest.mark.parametrize("typed", ["x", "modernise", "quantum", "chat", "chat dance", "renaming-all"])
async def test_what_is_far_from_every_name_is_taken_for_none(typed: str):
    answer = await COMMANDS.run(typed)
    assert isinstance(answer, Said)
    assert "/help lists them" in answer.text


async def test_a_job_that_ends_with_its_session_is_listed_read_and_stopped_and_cant_be_kept(tmp_path: Path):
    async with LocalProcesses() as processes:
        await processes.run(ShellCommand("echo ready; sleep 1000 &", str(tmp_path), {"PATH": "/usr/bin:/bin"}))
        (job,) = processes.jobs
        jobs = jobs_command(StoredJobs(str(tmp_path / "jobs")), lambda: processes.jobs)

        async def said(rest: str) -> str:
            answer = await jobs.run(rest)
            assert isinstance(answer, Said)
            return answer.text

        assert "running, ends with this session" in await said("")
        assert jobs.offers is not None
        (offer,) = await jobs.offers()
        assert [each.arguments for each in offer.then] == [f"output {job.pgid}", f"stop {job.pgid}"]
        assert await said(f"output {job.pgid}") == "ready\n"
        assert "ends with it" in await said(f"keep {job.pgid}")
        assert job.is_running
        assert "Stopped" in await said(f"stop {job.pgid}")
        assert not job.is_running


async def test_what_stands_behind_a_command_that_takes_nothing_is_refused():
    async def run(rest: str) -> SlashAnswer:
        return Said(f"Left.{rest}")

    commands = SlashCommands([SlashCommand("quit", "", run)])
    assert await commands.run("exit now") == Said("/quit takes no arguments: now", is_failure=True)
    assert await commands.run("quit  ") == Said("Left.")
