"""The `/` commands about what this session did and how to go back: undo, done, diff, rewind, fork.

`/rewind` takes the files back by the journal and the conversation by the record, together.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial

from anyio import to_thread

from dogu.agent.events import Rewound
from dogu.agent.loop import Agent
from dogu.agent.session.live import Session
from dogu.agent.session.record import RecordSummary, TurnSummary, summarize
from dogu.agent.session.resume import restore
from dogu.agent.slash import Offer, Said, SlashCommand
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say
from dogu.runtime.journal.choice import Consent, Wanted
from dogu.runtime.journal.undo import UndoReport
from dogu.runtime.journal.words import damage_lines, entry_lines, plan_lines, undo_lines
from dogu.runtime.runtime import Runtime


def session_commands(agent: Agent, runtime: Runtime, session: Session, fork: Callable[[], str]) -> list[SlashCommand]:
    """Make them over the session; `fork` copies it as it stands and returns the copy's id."""
    commands = _SessionCommands(runtime, fork)
    rewind = RewindCommand(agent, runtime, session)
    return [
        SlashCommand(
            "undo",
            say("undo the last change"),
            commands.undo,
            "[CALL | FILE | to CALL | turn] [--preview] [--unsure] [--force]",
        ),
        SlashCommand(
            "redo",
            say("redo what was undone"),
            commands.redo,
            "[CALL] [--unsure] [--force]",
        ),
        SlashCommand("done", say("what this session changed, by call"), commands.done),
        SlashCommand("diff", say("what this session changed, by file"), commands.diff),
        SlashCommand(
            "rewind",
            say("go back to before a turn: conversation and files"),
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
        self._folder = runtime.roots[0]
        self._fork = fork

    async def undo(self, rest: str) -> Said:
        if problem := _flags_problem("undo", rest):
            return problem
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
            return await self._said(lambda: plan_lines(self._journal.plan(wanted, consent), self._folder), goes_on)
        return await self._said(lambda: undo_lines(self._journal.undo(wanted, consent), self._folder), goes_on)

    async def redo(self, rest: str) -> Said:
        if problem := _flags_problem("redo", rest):
            return problem
        words, consent, is_preview, goes_on = _flags_of(rest)
        call = " ".join(words)
        if is_preview:
            wanted = Wanted(call_id=call)
            plan = partial(self._journal.plan, wanted, consent, is_redo=True)
            return await self._said(lambda: plan_lines(plan(), self._folder), goes_on)
        return await self._said(lambda: undo_lines(self._journal.redo(call, consent), self._folder), goes_on)

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
        lines = [line for entry in entries for line in entry_lines(entry, self._folder)]
        return Said("\n".join(lines) or say("Nothing was changed."))

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
        return Said(
            say("Session copied. To continue it: /resume {id}, or in a shell dogu --resume {id}", id=session_id)
        )


_FLAGS = ("--preview", "--unsure", "--force", "--unverified")


def _flags_problem(name: str, rest: str) -> Said | None:
    unknown = [word for word in rest.split() if word.startswith("--") and word not in _FLAGS]
    told = say(
        "/{name} doesn't know {flag}; it takes {flags}.", name=name, flag=" ".join(unknown), flags=", ".join(_FLAGS)
    )
    return Said(told, is_failure=True) if unknown else None


def _flags_of(rest: str) -> tuple[list[str], Consent, bool, bool]:
    """Return the words, what the user consents to, whether to preview only, and to go on with a damaged journal."""
    flags = {word for word in rest.split() if word.startswith("--")}
    words = [word for word in rest.split() if not word.startswith("--")]
    consent = Consent(force="--force" in flags, unsure="--unsure" in flags)
    return words, consent, "--preview" in flags, "--unverified" in flags


def _time_of(turn: TurnSummary) -> str:
    return time.strftime("%H:%M:%S", time.localtime(turn.time_s))


class RewindCommand:
    """Lists the turns, or goes back to before one; where a file was changed by somebody else since, nothing is done."""

    def __init__(self, agent: Agent, runtime: Runtime, session: Session) -> None:
        self._agent = agent
        self._runtime = runtime
        self._session = session

    async def __call__(self, rest: str) -> Said:
        """Take `[TURN] [--keep-files] [--force]`."""
        if self._agent.is_in_turn:
            return Said(say("A turn is running: cancel it first."))
        flags = {word for word in rest.split() if word.startswith("--")}
        words = [word for word in rest.split() if not word.startswith("--")]
        summary = await to_thread.run_sync(self._summary)
        if summary is None or not summary.turns:
            return Said(say("There is no turn to go back to."))
        if not words:
            return Said(await to_thread.run_sync(self._listed, summary.turns))
        found = [turn for turn in summary.turns if words == [str(turn.turn)]]
        if not found and not flags:
            return Said(say("There is no turn {turn}. /rewind lists the turns.", turn=" ".join(words)))
        if not found or not flags <= {"--keep-files", "--force", "--unsure"}:
            usage = "/rewind TURN [--keep-files] [--unsure] [--force]"
            return Said(say("{usage}: /rewind lists the turns.", usage=usage))
        try:
            return await self._rewind(found[0].turn, summary, flags)
        except ToolError as error:
            return Said(error.message)

    async def offers(self) -> list[Offer]:
        """Offer the turns, the newest first; where one changed files, these may stay as they are."""
        summary = await to_thread.run_sync(self._summary)
        if summary is None or self._agent.is_in_turn:
            return []
        return await to_thread.run_sync(self._offered, summary.turns)

    def complete(self, start: str) -> Sequence[str]:
        """Offer the turns."""
        summary = self._summary()
        turns = [str(turn.turn) for turn in summary.turns] if summary else []
        return [turn for turn in turns if turn.startswith(start)]

    def _summary(self) -> RecordSummary | None:
        try:
            return summarize(self._session.path)
        except OSError:
            return None

    def _listed(self, turns: Sequence[TurnSummary]) -> str:
        lines: list[str] = []
        for turn in turns:
            files = self._changed_in(turn.turn)
            what = say("calls: {calls}", calls=turn.calls)
            if files:
                what = say("calls: {calls}, files changed: {files}", calls=turn.calls, files=files)
            lines.append(f"{turn.turn:>4}  {_time_of(turn)}  {turn.prompt[:80]}  ({what})")
        return "\n".join([*lines, say("/rewind TURN goes back to before it.")])

    def _offered(self, turns: Sequence[TurnSummary]) -> list[Offer]:
        offers: list[Offer] = []
        changed = 0  # by that turn and those after it: they go, too
        for turn in reversed(turns):
            files, detail = self._changed_in(turn.turn), _time_of(turn)
            changed += files
            if files:
                detail = say("{time}, files changed: {files}", time=detail, files=files)
            both = Offer(f"{turn.turn}", say("Go back, and undo the file changes since"))
            then = (both, Offer(f"{turn.turn} --keep-files", say("Go back, and keep the files as they are")))
            offers.append(Offer(f"{turn.turn}", turn.prompt, detail, then=then if changed else ()))
        return offers

    def _changed_in(self, turn: int) -> int:
        """Return how many files a turn changed and nobody took back since."""
        entries = self._runtime.journal.entries()
        own = (each for each in entries if each.turn == turn and not each.is_undone and not each.is_undo)
        return len({change.path for entry in own for change in entry.changes})

    async def _rewind(self, turn: int, summary: RecordSummary, flags: set[str]) -> Said:
        told: list[str] = []
        if "--keep-files" not in flags:
            consent = Consent(force="--force" in flags, unsure="--unsure" in flags)
            report = await to_thread.run_sync(self._undo, turn, consent)
            if isinstance(report, list):
                return Said("\n".join([*report, say("The conversation stays where it is.")]))
            told += undo_lines(report, self._runtime.roots[0]) if report is not None else []
        restored = await to_thread.run_sync(restore, self._session.path, turn)
        prompt = restored.next_prompt
        self._agent.history.go_back(restored.contents)
        self._session.event(Rewound(turn))
        told.append(say("Back to before turn {turn}: {prompt}", turn=turn, prompt=prompt))
        if turn <= summary.forked_after:
            told.append(say("The files stay as they were when this copy of {id} was made.", id=summary.origin))
        return Said("\n".join(told), draft=prompt)

    def _undo(self, turn: int, consent: Consent) -> UndoReport | list[str] | None:
        """Undo the files' changes, all or none: a list says why none, None that there are none."""
        try:
            plan = self._runtime.journal.plan(Wanted(since=turn), consent)
            if plan.refused:
                return plan_lines(plan, self._runtime.roots[0])
            return self._runtime.journal.undo(Wanted(since=turn), consent)
        except ToolError as error:
            if error.kind is ErrorKind.NOT_FOUND:
                return None
            raise
