"""The `/` commands about what this session did and how to go back: undo, done, diff, rewind, fork."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from anyio import to_thread

from dogu.agent.loop import Agent
from dogu.agent.session.live import Session
from dogu.agent.slash import Said, SlashCommand
from dogu.agent.slash.rewind import RewindCommand
from dogu.contract import ToolError
from dogu.language import say
from dogu.runtime.journal.words import entry_lines, undo_lines
from dogu.runtime.runtime import Runtime


def session_commands(agent: Agent, runtime: Runtime, session: Session, fork: Callable[[], str]) -> list[SlashCommand]:
    """Make them over the session; `fork` copies it as it stands and returns the copy's id."""
    commands = _SessionCommands(runtime, fork)
    rewind = RewindCommand(agent, runtime, session)
    return [
        SlashCommand("undo", say("take back the last change"), commands.undo, "[CALL | to CALL | turn] [--force]"),
        SlashCommand("done", say("what this session changed, by call"), commands.done),
        SlashCommand("diff", say("what this session changed, by file"), commands.diff),
        SlashCommand(
            "rewind",
            say("go back to before a turn, files and conversation; without TURN: which there are"),
            rewind,
            "[TURN] [--keep-files] [--force]",
            rewind.complete,
        ),
        SlashCommand("fork", say("copy this session, to continue the copy later"), commands.fork),
    ]


class _SessionCommands:
    def __init__(self, runtime: Runtime, fork: Callable[[], str]) -> None:
        self._runtime = runtime
        self._journal = runtime.journal
        self._fork = fork

    async def undo(self, rest: str) -> Said:
        journal = self._journal
        words = rest.removesuffix("--force").strip()
        undo = partial(journal.undo, force=rest.endswith("--force"))
        match words.split():
            case ["turn"]:
                undo = partial(undo, turn=journal.turn)
            case ["to", name]:
                undo = partial(undo, to=name)
            case _:
                undo = partial(undo, call_id=words)
        try:
            report = await to_thread.run_sync(undo)
        except ToolError as error:
            return Said(error.message)
        return Said("\n".join(undo_lines(report)))

    async def done(self, _rest: str) -> Said:
        entries = await to_thread.run_sync(self._journal.entries)
        return Said("\n".join(line for entry in entries for line in entry_lines(entry)) or say("Nothing was changed."))

    async def diff(self, _rest: str) -> Said:
        from dogu.agent.session.diff import diff_text, session_diffs

        changes = await to_thread.run_sync(self._journal.net)
        diffs = session_diffs(changes, self._runtime.roots)
        return Said(diff_text(diffs) or say("Nothing was changed."), diffs)

    async def fork(self, _rest: str) -> Said:
        try:
            session_id = await to_thread.run_sync(self._fork)
        except OSError as error:
            return Said(say("This session can't be copied: {why}.", why=error.strerror or str(error)))
        return Said(say("Session copied. To continue the copy: dogu --resume {id}", id=session_id))
