"""A conversation: messages in, turns out, in order; Ctrl-C cancels one thing and says what."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

import anyio
import msgspec
from anyio import to_thread
from anyio.abc import TaskGroup

from dogu.agent.events import Event, PromptGiven, TurnCancelled, TurnFailed
from dogu.agent.loop import Agent
from dogu.agent.slash import Offer, Said, Send, SlashCommand, SlashCommands
from dogu.agent.slash.model import Connections
from dogu.contract import Content, ToolError
from dogu.contract.content import parts_of
from dogu.language import say, sentence
from dogu.models.events import ModelError, ModelErrorKind
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.runtime import Runtime
from dogu.serve.exit_codes import ExitCode
from dogu.serve.terminal.cells import wrapped
from dogu.serve.terminal.choices import Choice, Menu
from dogu.serve.terminal.confirm import TerminalConfirm
from dogu.serve.terminal.connect import ConnectMenu
from dogu.serve.terminal.draw import advice_here, draw
from dogu.serve.terminal.feed import Feed, Inbox
from dogu.serve.terminal.message import copy_answer, sent_lines
from dogu.serve.terminal.own_commands import (
    AT_ONCE,
    Helpers,
    ShellLines,
    Trust,
    own_commands,
    trust_choices,
)
from dogu.serve.terminal.pictures import picture
from dogu.serve.terminal.screen import Doings, Message, Screen, TypedAhead
from dogu.serve.terminal.sessions import NextSession, SessionPlace, past_of, session_choice_commands
from dogu.serve.terminal.show import Show
from dogu.serve.terminal.status import StatusLine
from dogu.workspace.visible import make_visible, visible_line

_PAINTED_AFTER_S = 0.3
_TICK_S = 0.1
_LONGEST_END_S = 1.0
_LONG_S = 20.0  # of a turn that took so long, the user is told when it ends
_MOST_NUMBERED = 9
_MODES = (ApprovalMode.DEFAULT, ApprovalMode.AUTO_EDIT, ApprovalMode.PLAN)

_ADVICE = {  # what helps here, in the place of what the message says to every door
    ModelErrorKind.AUTH: sentence("/connect changes the key or the model."),
    ModelErrorKind.NOT_FOUND: sentence("/model lists the models."),
}

Prepare = Callable[[str], Awaitable[Content]]
T = TypeVar("T")


class Talk(msgspec.Struct, frozen=True):
    """What a conversation is held with. `prepare` turns a prompt's text into content (reads what `@path` names).

    `is_unconnected`: no model was chosen, and none is connected. `status` makes the line at the bottom. `is_resumed`:
    there is something to be drawn again. `keys` are the settings' own. `trust` keeps what the user says of the folder,
    which they are asked at the start with `asks_trust`.
    """

    agent: Agent
    runtime: Runtime
    prepare: Prepare
    slash: SlashCommands
    connections: Connections
    place: SessionPlace
    status: StatusLine
    trust: Callable[[bool], None]
    asks_trust: bool = False
    is_unconnected: bool = False
    is_resumed: bool = False
    keys: Mapping[str, str] = {}


class Conversation:
    """One user, one agent, one screen. `warm_up` is called in a thread once the prompt has been drawn."""

    def __init__(
        self, talk: Talk, screen: Screen, confirm: TerminalConfirm, *, warm_up: Sequence[Callable[[], None]] = ()
    ) -> None:
        self._talk = talk
        self._screen = screen
        self._warm_up = (talk.runtime.prepare, *warm_up)
        self._inbox = Inbox()
        self._scope: anyio.CancelScope | None = None
        self._group: TaskGroup | None = None
        self._notes_told = len(talk.runtime.notes)
        self._confirm = confirm
        self._shell = ShellLines(talk.runtime, confirm.own)
        self.show = Show(screen.style, lambda: screen.columns, screen.print, confirm.asked, draws=screen.is_live)
        self._menu = ConnectMenu(talk.connections, screen)
        self._trust = Trust(talk.trust, self._reopen)
        self._helpers = Helpers(lambda name: name in talk.runtime.registry)
        self._feed = Feed(self._shown, lambda: screen.is_typing)
        confirm.settled = self._feed.settled
        self.next: NextSession | None = None
        self._for_next: list[Message] = []
        self._unsent = Message("")
        self._has_ended = anyio.Event()
        talk.slash.register(
            *own_commands(screen, self._open, self._leave, talk.keys),
            *session_choice_commands(talk.place, self._go, confirm.may_lose),
            self._trust.command(),
            SlashCommand(
                "copy",
                say("copy the last answer to the clipboard"),
                lambda _rest: copy_answer(self.show.last_answer, screen),
            ),
            self._menu.command(),
            self._helpers.command(),
        )

    def _shown(self, event: Event) -> None:
        self._helpers.event(event)
        self.show.event(event)

    @property
    def typed_ahead(self) -> TypedAhead:
        """What was typed for the session that comes next."""
        return TypedAhead(tuple(self._for_next), self._unsent)

    async def run(self, ahead: TypedAhead, greeting: Sequence[str] = ()) -> ExitCode:
        """Converse until the user leaves."""
        for line in greeting:
            self._print(line)
        asks_trust = self._talk.asks_trust and self._screen.is_live and not ahead.messages
        if not asks_trust:
            self._menu.offer(is_first=self._talk.is_unconnected and not ahead.messages)
        for message in ahead.messages:
            self._inbox.put(message)
        if ahead.unsent.text or ahead.unsent.blobs:
            self._screen.give_back(ahead.unsent)
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(self._feed.run)
            is_live = self._screen.is_live
            if self._talk.is_resumed and not is_live:  # what is printed can't go above a prompt
                await self._redraw()
            group.start_soon(self._screen.run, self._doings())
            group.start_soon(self._talk.status.watch, self._screen.refresh)
            group.start_soon(self._prepare_later)
            group.start_soon(self._ask_trust if asks_trust else self._menu.open)
            if self._talk.is_resumed and is_live:
                await self._redraw()
            while not await self._do_all():
                pass
            self._screen.end()
            with anyio.move_on_after(_LONGEST_END_S):  # the terminal's last answers are read, and keys among them kept
                await self._has_ended.wait()
            group.cancel_scope.cancel()
        return ExitCode.DONE

    async def _ask_trust(self) -> None:
        """Ask whether what the folder brings is to count; typing anything else puts that off."""
        key = await self._screen.choose(Menu(trust_choices(), default="2", is_own=True, yields=True))
        if key in ("1", "3"):
            self._answer(await self._trust.answer("yes" if key == "1" else "no"))
        if key != "1":
            self._menu.offer(is_first=self._talk.is_unconnected)
            if key:
                await self._menu.open()

    def _reopen(self) -> None:
        has_begun = self._talk.is_resumed or bool(self._talk.agent.history.contents)
        self._go(NextSession(self._talk.place.session_id if has_begun else ""))

    async def _do_all(self) -> bool:
        """Do what is sent, until the user leaves; False where that was cancelled, when asked about background jobs."""
        while (message := await self._inbox.take()) is not None:
            await self._do(message)
            self._tell_notes()
            if not self._inbox.waiting:
                self._screen.rest()
        keep = await self._confirm.keep_jobs(self._talk.runtime)
        if keep is None and self._screen.is_live and not self._has_ended.is_set():
            self._print(say("Cancelled."), "dim")
            self._inbox.open(self._for_next)
            self.next, self._for_next = None, []
            return False
        await self._talk.runtime.settle_jobs(keep=keep is True)
        return True

    def _doings(self) -> Doings:
        return Doings(
            submit=self._submit,
            cancel=self._cancel,
            leave=lambda: self._go(None),
            ended=self._screen_ended,
            live=self._live,
            queued=lambda: self._inbox.waiting,
            unqueue=self._inbox.take_back,
            status=self._talk.status,
            open_last=lambda: self._open(0),
            show_plan=self._toggle_plan,
            next_mode=self._next_mode,
            edit_last=self._edit_last,
            background=self._to_background,
            write_on=self._confirm.write_on,
            is_busy=lambda: self._scope is not None,
        )

    async def _prepare_later(self) -> None:
        """Warm up once the prompt has been drawn: a thread that starts earlier would delay it.

        What fails here is done anew by what needs it, which says why it can't be.
        """
        await anyio.sleep(_PAINTED_AFTER_S)
        for prepare in self._warm_up:
            with suppress(OSError, RuntimeError, ToolError):
                await to_thread.run_sync(prepare, abandon_on_cancel=True)
        await self._menu.look_for_servers()

    def _submit(self, message: Message) -> None:
        if self.next is not None:
            self._for_next.append(message)
            return
        name = message.text[1:].partition(" ")[0] if message.text.startswith("/") else ""
        if self._group is not None and self._scope is not None and name in AT_ONCE and not message.blobs:
            self._group.start_soon(self._say, message.text[1:])
        else:
            self._inbox.put(message)
            self._screen.refresh()

    async def _do(self, message: Message) -> None:
        text = message.text
        if await self._menu.takes(text):
            return
        is_path = "/" in text[1:].partition(" ")[0]  # a prompt may begin with one
        if text.startswith("/") and not is_path and not message.blobs:
            self._echo(message)
            await self._command(message)
        elif text.startswith("!") and text.strip("! "):
            self._echo(message)
            await self._cancellable(partial(self._shell.run, text[1:], self._feed.put))
        else:
            self._echo(message)
            await self._turn(message)

    async def _command(self, message: Message) -> None:
        command = self._talk.slash.get(message.text[1:].strip())
        text = message.text[1:]
        if command is not None and command.offers is not None:
            offers = await self._cancellable(command.offers)
            if offers:
                picked = await self._pick(list(offers))
                if picked is None:
                    self._print(say("Nothing was changed."), "dim")
                    return
                text = f"{command.name} {picked}"
        match await self._cancellable(partial(self._talk.slash.run, text)):
            case Said() as answer:
                self._answer(answer)
            case Send(content=content):
                await self._turn(message, content)
            case _:
                pass

    async def _pick(self, offers: Sequence[Offer]) -> str | None:
        """Let one be picked, and one of what it offers then; None when the user thought better of it."""
        while offers:
            keys: dict[str, Offer] = {str(number): offer for number, offer in enumerate(offers, 1)}
            choices = [Choice(key, each.words or each.arguments, each.detail, each.about) for key, each in keys.items()]
            current = next((key for key, offer in keys.items() if offer.is_current), "")
            is_long = len(choices) > _MOST_NUMBERED
            key = await self._screen.choose(Menu(choices, default=current, filters=is_long, is_own=True))
            if not key:
                return None
            if not keys[key].then:
                return keys[key].arguments
            offers = keys[key].then
        return None

    async def _turn(self, message: Message, content: Content | None = None) -> None:
        began = time.monotonic()
        try:
            await self._cancellable(partial(self._run_turn, message, content))
            if time.monotonic() - began > _LONG_S:
                self._screen.notify(say("dogu is done: {prompt}", prompt=visible_line(message.text)[:60]))
        except ModelError as error:
            await self._feed.settled()
            self.show.end()
            advice = _ADVICE.get(error.kind)
            self._print(say(error.fact if advice else error.message), "red")
            if advice:
                self._print(say(advice), "dim")
            if not self._inbox.waiting:
                self._screen.give_back(message)

    async def _run_turn(self, message: Message, content: Content | None) -> None:
        prompt = self._shell.before(message.text) if content is None else ""
        if content is None:
            content = await self._talk.prepare(prompt)
            if message.blobs:
                content = [*parts_of(content), *message.blobs]
        typed = message.text if prompt != message.text else ""
        await self._talk.agent.run(content, self._feed.put, typed=typed)

    async def _cancellable(self, act: Callable[[], Awaitable[T]]) -> T | None:
        """Do the one thing that Ctrl-C cancels; None when it did. Raises `ModelError`."""
        self.show.begin()
        result: T | None = None
        failure: ModelError | None = None
        async with anyio.create_task_group() as group:
            self._scope = group.cancel_scope
            group.start_soon(self._tick)
            try:
                result = await act()
                await self._feed.settled()
            except ModelError as error:
                failure = error
            group.cancel_scope.cancel()
        self._scope = None
        self.show.calls.forget_running()
        self._screen.refresh()
        if failure is not None:
            raise failure
        return result

    async def _tick(self) -> None:
        """Keep the clock of the live line going."""
        while True:
            self._screen.refresh()
            await anyio.sleep(_TICK_S)

    async def _say(self, command: str) -> None:
        """Run a `/` command beside the turn under way."""
        answer = await self._talk.slash.run(command)
        if isinstance(answer, Said):
            self._answer(answer)

    def _answer(self, said: Said) -> None:
        """Print what a command answered; diffs as diffs are drawn, a draft in the input box."""
        if not said.diffs:
            self._print(said.text)
        if said.draft and self._screen.is_live:
            self._screen.give_back(Message(said.draft))
        for diff in said.diffs:
            self._screen.print(draw(diff, self._screen.style, self._screen.columns, whole=True))
            for blob in said.pictures.get(diff.path, ()):
                self._screen.print(picture(blob, self._screen.style, self._screen.columns, self.show.pictures))

    def _cancel(self) -> bool:
        if self._scope is None or self._scope.cancel_called:
            return False
        self._feed.hurry()
        self.show.end()
        self.show.calls.cancel()
        self._helpers.cancel()
        self._print(say("Cancelled. Changes already made are kept."), "yellow")
        self._scope.cancel()
        while (message := self._inbox.take_back()) is not None:
            self._screen.give_back(message)
        return True

    def _next_mode(self) -> None:
        """Take the next of the modes that ask for something."""
        policy = self._talk.runtime.policy
        at = _MODES.index(policy.mode) if policy.mode in _MODES else -1
        policy.mode = _MODES[(at + 1) % len(_MODES)]
        self._screen.refresh()

    def _to_background(self) -> bool:
        has_moved = self._talk.runtime.to_background()
        if has_moved:
            self._print(say("Moved to the background; /jobs shows it."), "dim")
        return has_moved

    def _toggle_plan(self) -> None:
        self.show.shows_plan = not self.show.shows_plan
        self._screen.refresh()

    def _edit_last(self) -> None:
        """Go back to before the last prompt, which comes back into the box."""
        if self._group is not None and self._scope is None:
            self._group.start_soon(self._rewind_last)

    async def _rewind_last(self) -> None:
        rewind = self._talk.slash.get("rewind")
        offers = await rewind.offers() if rewind is not None and rewind.offers is not None else ()
        if not offers:
            self._print(say("There is no prompt to edit."), "dim")
            return
        last = offers[0]
        picked = await self._pick(last.then) if last.then else last.arguments
        if picked is not None and self._scope is None:
            self._inbox.put(Message(f"/rewind {picked}", is_typed=False))

    def _go(self, session: NextSession | None) -> None:
        """Leave, for another session or for good."""
        self.next = session
        self._for_next += self._inbox.take_all()
        self._leave()

    async def _redraw(self) -> None:
        """Draw again what was said before, a little at a time, so that keys are heard meanwhile."""
        try:
            past = await to_thread.run_sync(past_of, self._talk.place.path, abandon_on_cancel=True)
        except OSError:
            return
        if past.left_out:
            self._print(say("… {count} earlier turns aren't shown.", count=past.left_out), "dim")
        for event in past.events:
            match event:
                case PromptGiven(shown=shown):
                    await self._feed.settled()
                    self.show.end()
                    self._echo(Message(shown), is_past=True)
                    self.show.begin()
                case TurnFailed(message=message):
                    await self._feed.settled()
                    self._print(say(message), "red")
                case TurnCancelled():
                    await self._feed.settled()
                    self._print(say("Cancelled."), "yellow")
                case _:
                    self._feed.put(event)
        await self._feed.settled()
        self.show.end()

    def _screen_ended(self, unsent: Message) -> None:
        self._unsent = unsent
        self._has_ended.set()
        self._leave()

    def _leave(self) -> None:
        self._inbox.close()
        if self._scope is not None:
            self.show.end()  # what was said so far stays on the screen
            self._scope.cancel()

    def _live(self, columns: int, rows: int) -> list[str]:
        plan = self.show.plan_lines(columns)[:rows]
        is_running = self._scope is not None and not self._scope.cancel_called
        gap = [""] if plan and not is_running else []  # behind what was said last
        return [*gap, *plan, *(self.show.live_lines(columns, rows - len(plan)) if is_running else [])]

    def _open(self, number: int) -> None:
        results = self.show.calls.results
        self._screen.print(results.opened(number or results.last, self._screen.style, self._screen.columns))

    def _echo(self, message: Message, *, is_spaced: bool = True, is_past: bool = False) -> None:
        """Print what was sent so that it stands out, with a gap below it; a plain screen has what was just typed."""
        style, is_live = self._screen.style, self._screen.is_live
        if not (is_live or is_past) or not message.is_typed:
            return
        lines = [style.paint(line, "prompt") for line in sent_lines(message.text, self._screen.columns)]
        pictures = [picture(blob, style, self._screen.columns, self.show.pictures) for blob in message.blobs]
        above, below = [""] if is_live else [], [""] if is_live and is_spaced else []
        self._screen.print("\n".join([*above, *lines, *pictures, *below]))

    def _tell_notes(self) -> None:
        """Say what went wrong behind the conversation since the last prompt, such as an MCP server that died."""
        notes = self._talk.runtime.notes
        for note in notes[self._notes_told :]:
            self._print(say(note), "yellow")
        self._notes_told = len(notes)

    def _print(self, text: str, *colors: str) -> None:
        if text:
            shown = wrapped(make_visible(advice_here(text)), self._screen.columns)
            self._screen.print(self._screen.style.paint(shown, *colors) if colors else shown)
