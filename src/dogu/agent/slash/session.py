"""The `/` commands about what this session did and how to go back: undo, done, diff, rewind, fork."""

from __future__ import annotations

import os
from collections.abc import Callable

from anyio import to_thread

from dogu.agent.loop import Agent
from dogu.agent.session.live import Session
from dogu.agent.slash import Said, SlashCommand
from dogu.agent.slash.rewind import RewindCommand
from dogu.contract import ToolError
from dogu.language import say
from dogu.runtime.journal.choice import Consent, Wanted
from dogu.runtime.journal.words import damage_lines, entry_lines, plan_lines, undo_lines
from dogu.runtime.runtime import Runtime


def session_commands(agent: Agent, runtime: Runtime, session: Session, fork: Callable[[], str]) -> list[SlashCommand]:
    """Make them over the session; `fork` copies it as it stands and returns the copy's id."""
    commands = _SessionCommands(runtime, fork)
    rewind = RewindCommand(agent, runtime, session)
    return [
        SlashCommand(
            "undo",
            say("take back the last change"),
            commands.undo,
            "[CALL | FILE | to CALL | turn] [--preview] [--unsure] [--force]",
        ),
        SlashCommand("redo", say("do again what an undo took back"), commands.redo, "[CALL] [--unsure] [--force]"),
        SlashCommand("done", say("what this session changed, by call"), commands.done),
        SlashCommand("diff", say("what this session changed, by file"), commands.diff),
        SlashCommand(
            "rewind",
            say("go back to before a turn: the conversation, and the files"),
            rewind,
            "[TURN] [--keep-files] [--unsure] [--force]",
            rewind.complete,
            rewind.offers,
        ),
        SlashCommand("fork", say("copy this session, to continue the copy later"), commands.fork),
    ]


class _SessionCommands:
    def __init__(self, runtime: Runtime, fork: Callable[[], str]) -> None:
        self._runtime = runtime
        self._journal = runtime.journal
        self._fork = fork

    async def undo(self, rest: str) -> Said:
        words, consent, is_preview, goes_on = _flags_of(rest)
        match words:
            case ["turn"]:
                wanted = Wanted(turn=self._journal.turn)
            case ["to", name]:
                wanted = Wanted(to=name)
            case []:
                wanted = Wanted()
            case _:
                wanted = await to_thread.run_sync(self._named, " ".join(words))
        if is_preview:
            return await self._said(lambda: plan_lines(self._journal.plan(wanted, consent)), goes_on)
        return await self._said(lambda: undo_lines(self._journal.undo(wanted, consent)), goes_on)

    async def redo(self, rest: str) -> Said:
        words, consent, is_preview, goes_on = _flags_of(rest)
        call = " ".join(words)
        if is_preview:
            wanted = Wanted(call_id=call)
            return await self._said(lambda: plan_lines(self._journal.plan(wanted, consent, is_redo=True)), goes_on)
        return await self._said(lambda: undo_lines(self._journal.redo(call, consent)), goes_on)

    async def _said(self, act: Callable[[], list[str]], goes_on: bool) -> Said:
        """Do it and say what came of it; not with a journal that isn't as it was written, unless told to."""

        def lines() -> list[str]:
            problems = self._journal.problems()
            if problems and not goes_on:
                said = damage_lines(problems, self._journal.folder)
                return [*said, say("Nothing was done. --unverified goes on with the rest.")]
            return act()

        try:
            return Said("\n".join(await to_thread.run_sync(lines)))
        except ToolError as error:
            return Said(error.message)

    def _named(self, name: str) -> Wanted:
        """A call, where one is called so; else a file or folder."""
        if name.isdigit() or any(name == entry.call_id for entry in self._journal.entries()):
            return Wanted(call_id=name)
        folder, last = os.path.split(os.path.join(self._runtime.roots[0], name))
        return Wanted(path=os.path.join(os.path.realpath(folder), last))

    async def done(self, _rest: str) -> Said:
        entries = await to_thread.run_sync(self._journal.entries)
        return Said("\n".join(line for entry in entries for line in entry_lines(entry)) or say("Nothing was changed."))

    async def diff(self, _rest: str) -> Said:
        from dogu.agent.session.diff import diff_text, session_diffs, session_pictures

        changes = await to_thread.run_sync(lambda: list(self._journal.net()))
        diffs, pictures = session_diffs(changes, self._runtime.roots), session_pictures(changes, self._runtime.roots)
        return Said(diff_text(diffs) or say("Nothing was changed."), diffs, pictures=pictures)

    async def fork(self, _rest: str) -> Said:
        try:
            session_id = await to_thread.run_sync(self._fork)
        except OSError as error:
            return Said(say("This session can't be copied: {why}.", why=error.strerror or str(error)))
        return Said(say("Session copied. To continue the copy: dogu --resume {id}", id=session_id))


def _flags_of(rest: str) -> tuple[list[str], Consent, bool, bool]:
    """Return the words, what the user consents to, whether to preview only, and to go on with a damaged journal."""
    flags = {word for word in rest.split() if word.startswith("--")}
    words = [word for word in rest.split() if not word.startswith("--")]
    consent = Consent(force="--force" in flags, unsure="--unsure" in flags)
    return words, consent, "--preview" in flags, "--unverified" in flags
