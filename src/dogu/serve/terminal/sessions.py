"""Sessions at the terminal: pick another one, begin anew, name and export this one, draw what was said before."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from anyio import to_thread

from dogu.agent.events import Event, PromptGiven, RecordedEvent, Rewound, TurnCancelled, TurnFailed
from dogu.agent.session.record import RecordSummary, read_record, record_file, summarize
from dogu.agent.slash import Offer, Said, SlashCommand
from dogu.contract import ErrorKind, ToolError
from dogu.language import say, told
from dogu.models.events import FunctionCallEvent, Retrying, TextDelta, ThoughtDelta, Usage
from dogu.runtime.events import CallOutput
from dogu.runtime.session_folder import StoredSession, read_facts, rename_session, stored_sessions
from dogu.serve.terminal.cells import fit, labelled

_MOST_OFFERED = 500
_MOST_REDRAWN = 2_000
_MOST_WORDS_CELLS = 70
_DAY_S = 86_400


class NextSession(msgspec.Struct, frozen=True):
    """What the terminal goes on with: the session of this id, a new one where it is empty; `clears` the screen.

    `is_unverified`: also where its record isn't as it was written. `adds` is a folder that it is to work in, too.
    """

    session_id: str = ""
    clears: bool = False
    is_unverified: bool = False
    adds: str = ""


class SessionPlace(msgspec.Struct, frozen=True):
    """This session's folder, where it works, and where all sessions are kept. Absolute.

    `check` raises `ToolError` where a session can't be gone on with: before this one is left.
    """

    path: str
    root: str
    state_folder: str
    check: Callable[[NextSession], None] = lambda _session: None

    @property
    def session_id(self) -> str:
        """What the session is called."""
        return os.path.basename(self.path)


def session_choice_commands(
    place: SessionPlace, go: Callable[[NextSession], None], ask: Callable[[str], Awaitable[bool]]
) -> list[SlashCommand]:
    """Make them; `go` leaves this session for another one, `ask` asks before something is lost."""
    sessions = _Sessions(place, go, ask)
    return [
        SlashCommand("resume", say("resume another session"), sessions.resume, "[ID]", offers=sessions.offers),
        SlashCommand("new", say("start a new session; this one is kept"), sessions.new),
        SlashCommand("clear", say("clear the screen and start a new session"), sessions.clear),
        SlashCommand("rename", say("name this session so that you find it again"), sessions.rename, "NAME"),
        SlashCommand("export", say("save this session as a web page"), sessions.export, "[FILE]"),
        SlashCommand("add-dir", say("also work in another folder"), sessions.add_folder, "FOLDER"),
    ]


class _Sessions:
    def __init__(
        self, place: SessionPlace, go: Callable[[NextSession], None], ask: Callable[[str], Awaitable[bool]]
    ) -> None:
        self._place = place
        self._go = go
        self._ask = ask

    async def resume(self, rest: str) -> Said:
        words = [word for word in rest.split() if word != "--unverified"]
        if unknown := [word for word in words if word.startswith("--")]:
            flags = {"flag": unknown[0], "flags": "--unverified"}
            return Said(say("/{name} doesn't know {flag}; it takes {flags}.", name="resume", **flags), is_failure=True)
        if words:
            session = NextSession(" ".join(words), is_unverified="--unverified" in rest.split())
            problem = await to_thread.run_sync(self._problem, session, abandon_on_cancel=True)
            if not problem:
                self._go(session)
            return Said(problem, is_failure=bool(problem))
        offers = await self.offers()
        lines = [f"  {offer.arguments}  {offer.words}  ({offer.detail})" for offer in offers[:20]]
        return Said("\n".join(lines) or say("There is no other session to resume."))

    def _problem(self, session: NextSession) -> str:
        """Say why a session can't be gone on with, and what can be done here; '' where it can be."""
        if session.session_id == self._place.session_id:
            return say("You are already in that session.")
        try:
            self._place.check(session)
        except ToolError as error:
            match error.kind:
                case ErrorKind.NOT_FOUND:
                    told = say(error.message).partition("`dogu")[0].rstrip()
                    return labelled(told) + say("/resume lists the sessions.")
                case ErrorKind.STALE:
                    return say(
                        "The record of {id} was damaged or changed. /resume {id} --unverified continues anyway.",
                        id=session.session_id,
                    )
                case _:
                    return say(error.message)
        except OSError as error:
            return say("It can't be read: {why}", why=error.strerror or str(error))
        return ""

    async def add_folder(self, rest: str) -> Said:
        folder = await to_thread.run_sync(os.path.realpath, self._located(rest))
        if not rest or not await to_thread.run_sync(os.path.isdir, folder):
            return Said(say("/add-dir takes an existing folder."), is_failure=True)
        has_begun = await to_thread.run_sync(self._has_begun)
        self._go(NextSession(self._place.session_id if has_begun else "", adds=folder))
        return Said("")

    async def offers(self) -> list[Offer]:
        """Offer the sessions that can be resumed: this folder's first, then the last used."""
        return await to_thread.run_sync(self._offered, abandon_on_cancel=True)

    async def new(self, _rest: str) -> Said:
        self._go(NextSession())
        return Said("")

    async def clear(self, _rest: str) -> Said:
        self._go(NextSession(clears=True))
        return Said("")

    async def rename(self, rest: str) -> Said:
        if not rest:
            return Said("/rename NAME", is_failure=True)
        try:
            await to_thread.run_sync(rename_session, self._place.path, rest)
        except OSError as error:
            return Said(say("It couldn't be renamed: {why}", why=error.strerror or str(error)), is_failure=True)
        return Said(say("This session is now named {name}.", name=rest))

    async def export(self, rest: str) -> Said:
        """Write the page; in place of a file that is something else only if the user says so."""
        if not await to_thread.run_sync(self._has_begun):
            return Said(say("There is nothing to export yet."), is_failure=True)
        path = f"{self._place.root}{os.sep}dogu-{self._place.session_id}.html" if not rest else self._located(rest)
        loses = await to_thread.run_sync(self._exported, path, False)
        if loses is None and not await self._ask(told("{path} already exists. Replace it with the page?", path=path)):
            return Said(say("Nothing was written."))
        return loses or await to_thread.run_sync(self._exported, path, True) or Said("")

    def _located(self, name: str) -> str:
        return os.path.join(self._place.root, os.path.expanduser(name))

    def _has_begun(self) -> bool:
        return os.path.exists(record_file(self._place.path))

    def _exported(self, path: str, replaces: bool) -> Said | None:
        """Write it; None where something else stands there, and `replaces` isn't said."""
        from dogu.serve.session_export import is_page, write_page

        if not replaces and os.path.lexists(path) and not os.path.isdir(path) and not is_page(path):
            return None
        try:
            write_page(StoredSession(self._place.path, read_facts(self._place.path)), path)
        except OSError as error:
            why = error.strerror or str(error)
            return Said(say("{name} can't be written: {why}", name=path, why=why), is_failure=True)
        return Said(say("Saved to {name}.", name=path))

    def _offered(self) -> list[Offer]:
        stored = [each for each in stored_sessions(self._place.state_folder) if each.has_record]
        others = [each for each in stored if each.path != self._place.path]
        here = [each for each in others if self._place.root in each.facts.roots[:1]]
        there = [each for each in others if self._place.root not in each.facts.roots[:1]]
        found = (_offer(each, is_here=at < len(here)) for at, each in enumerate([*here, *there][:_MOST_OFFERED]))
        return [offer for offer in found if offer.words]


def _offer(stored: StoredSession, *, is_here: bool) -> Offer:
    try:
        summary = summarize(stored.path)
    except OSError:
        summary = RecordSummary()
    turns = say("{count} turns", count=len(summary.turns))
    folder = "" if is_here else _short(next(iter(stored.facts.roots), ""))
    detail = " · ".join(filter(None, (age_words(time.time() - (summary.last_s or stored.facts.began)), turns, folder)))
    words = fit(" ".join((stored.facts.name or summary.first_prompt).split()), _MOST_WORDS_CELLS)
    return Offer(stored.session_id, words, detail)


def age_words(seconds: float) -> str:
    """Say how long ago something was, in one unit."""
    for unit_s, words in (
        (_DAY_S, say("{count} d ago", count=int(seconds // _DAY_S))),
        (3_600, say("{count} h ago", count=int(seconds // 3_600))),
        (60, say("{count} min ago", count=int(seconds // 60))),
    ):
        if seconds >= unit_s:
            return words
    return say("just now")


def _short(folder: str) -> str:
    home = os.path.expanduser("~")
    return f"~{folder.removeprefix(home)}" if folder == home or folder.startswith(f"{home}{os.sep}") else folder


class Past(msgspec.Struct, frozen=True):
    """What is drawn again of a session: its last events, and how many turns stand before them."""

    events: Sequence[Event | TurnFailed | TurnCancelled]
    left_out: int = 0


def past_of(path: str) -> Past:
    """Read what a door was shown of a session, its last turns; those taken back are left out. Blocks."""
    turns: deque[list[RecordedEvent]] = deque([[]])
    count = left_out = 0
    for recorded in read_record(path):
        event = recorded.event
        if isinstance(event, Rewound):
            while len(turns) > 1 and _turn_of(turns[-1]) >= event.turn:
                count -= len(turns.pop())
        elif isinstance(event, PromptGiven):
            turns.append([event])
            count += 1
        elif isinstance(event, Retrying):  # what an answer had begun was taken back
            count -= _take_back(turns[-1])
        elif _is_shown(event):
            turns[-1].append(event)
            count += 1
        while count > _MOST_REDRAWN and len(turns) > 1:
            gone = turns.popleft()
            count -= len(gone)
            left_out += _turn_of(gone) > 0
    return Past([event for turn in turns for event in turn], left_out)  # pyright: ignore[reportArgumentType]  (`_is_shown` let them pass)


def _take_back(events: list[RecordedEvent]) -> int:
    """Drop the text that stands last; return how many events it was."""
    before = len(events)
    while events and isinstance(events[-1], TextDelta | ThoughtDelta):
        events.pop()
    return before - len(events)


def _turn_of(events: Sequence[RecordedEvent]) -> int:
    first = events[0] if events else None
    return first.turn if isinstance(first, PromptGiven) else 0


def _is_shown(event: RecordedEvent) -> bool:
    """Whether it is drawn again: not what was there only while it ran."""
    is_passing = isinstance(event, Usage | FunctionCallEvent | CallOutput)
    return not is_passing and isinstance(event, Event | TurnFailed | TurnCancelled)
