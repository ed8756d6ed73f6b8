"""A plain conversation: prompts in, turns out, Ctrl-C cancels the turn and nothing else."""

from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio
import msgspec
from anyio import to_thread

from dogu.agent.loop import Agent
from dogu.contract import Content, Display, ToolError
from dogu.models.events import ModelError
from dogu.policy.mode import ApprovalMode
from dogu.runtime.runtime import Runtime
from dogu.serve.exit_codes import ExitCode
from dogu.serve.record import entry_lines, undo_lines
from dogu.serve.terminal.show import Show
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

_PAINTED_AFTER_S = 0.3

Prepare = Callable[[str], Awaitable[Content]]


class Command(msgspec.Struct, frozen=True):
    """A `/` command: what `/help` says, and its act, which returns what to print."""

    help: str
    run: Callable[[str], Awaitable[str] | str]


class Conversation:
    """One person, one agent, one terminal. `prepare` turns a prompt's text into content (reads what `@path` names)."""

    def __init__(
        self,
        agent: Agent,
        runtime: Runtime,
        prepare: Prepare,
        *,
        asked: dict[str, Display] | None = None,
        yolo_is_disabled: bool = False,
        greeting: Sequence[str] = (),
    ) -> None:
        self._agent = agent
        self._runtime = runtime
        self._prepare = prepare
        self._greeting = greeting
        self._yolo_is_disabled = yolo_is_disabled
        self._out = sys.stdout
        self._style = Style.of(self._out)
        self._show = Show(self._out, self._style, asked)
        self._is_over = False
        self._notes_told = len(runtime.notes)
        self._commands: dict[str, Command] = {
            "help": Command("what can be typed here", self._help),
            "tools": Command("the tools the model has", self._tools),
            "mode": Command("show or set the approval mode: default, auto_edit, plan, yolo", self._mode),
            "undo": Command("take back the last change; /undo CALL, /undo to CALL, /undo turn; --force", self._undo),
            "done": Command("what this session changed, by call", self._done),
            "stats": Command("tokens used so far", self._stats),
            "quit": Command("end (Ctrl-D does too)", self._quit),
        }

    async def run(self, first_prompt: str = "") -> ExitCode:
        """Converse until the person leaves."""
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import InMemoryHistory

        for line in self._greeting:
            self._print(line)
        session: PromptSession[str] = PromptSession(history=InMemoryHistory())
        async with anyio.create_task_group() as group:
            group.start_soon(self._prepare_later)
            if first_prompt:
                await self._turn(first_prompt)
            while not self._is_over:
                self._tell_notes()
                text = await self._ask(session)
                if text.startswith("/"):
                    await self._command(text[1:])
                elif text:
                    await self._turn(text)
            group.cancel_scope.cancel()
        return ExitCode.DONE

    async def _prepare_later(self) -> None:
        """Warm up once the prompt has been drawn: a thread that starts earlier would delay it."""
        await anyio.sleep(_PAINTED_AFTER_S)
        await to_thread.run_sync(self._runtime.prepare)

    def _tell_notes(self) -> None:
        """Say what went wrong behind the conversation since the last prompt, such as an MCP server that died."""
        notes = self._runtime.notes
        for note in notes[self._notes_told :]:
            self._print(self._style.paint(make_visible(note, keep=""), "yellow"))
        self._notes_told = len(notes)

    async def _ask(self, session: PromptSession[str]) -> str:
        from prompt_toolkit.formatted_text import ANSI

        try:
            return (await session.prompt_async(ANSI("\n" + self._style.paint("› ", "cyan", "bold")))).strip()
        except KeyboardInterrupt:
            self._print(self._style.paint("Ctrl-D or /quit ends.", "dim"))
        except EOFError:
            self._is_over = True
        return ""

    async def _turn(self, text: str) -> None:
        """Run one turn; Ctrl-C cancels it."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._cancel_on_interrupt, group.cancel_scope)
            try:
                await self._agent.run(await self._prepare(text), self._show.event)
            except ModelError as error:
                self._print("\n" + self._style.paint(make_visible(error.message), "red"))
            group.cancel_scope.cancel()

    async def _cancel_on_interrupt(self, scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            async for _ in signals:
                self._print("\n" + self._style.paint("Cancelled. What was done stays done.", "yellow"))
                scope.cancel()
                return

    async def _command(self, text: str) -> None:
        import inspect

        name, _, rest = text.partition(" ")
        command = self._commands.get(name)
        if command is None:
            self._print(f"There is no command /{make_visible(name, keep='')}. /help lists them.")
            return
        answer = command.run(rest.strip())
        self._print(await answer if inspect.isawaitable(answer) else answer)

    def _help(self, _rest: str) -> str:
        lines = [f"  /{name:<8} {command.help}" for name, command in self._commands.items()]
        return "\n".join([*lines, "  @path     reads a file into your prompt", "  Ctrl-C    cancels what runs"])

    def _tools(self, _rest: str) -> str:
        return "\n".join(f"  {tool.name:<20} {tool.display_name}" for tool in self._runtime.registry)

    def _mode(self, rest: str) -> str:
        policy = self._runtime.policy
        if rest:
            try:
                mode = ApprovalMode(rest)
            except ValueError:
                return f"No approval mode {make_visible(rest, keep='')}: {', '.join(ApprovalMode)}."
            if mode is ApprovalMode.YOLO and self._yolo_is_disabled:
                return "The settings switch yolo off (security.disableYoloMode)."
            policy.mode = mode
        return f"Approval mode: {policy.mode}"

    async def _undo(self, rest: str) -> str:
        journal = self._runtime.journal
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
            return make_visible(error.message)
        return "\n".join(undo_lines(report))

    async def _done(self, _rest: str) -> str:
        entries = await to_thread.run_sync(self._runtime.journal.entries)
        return "\n".join(line for entry in entries for line in entry_lines(entry)) or "Nothing was changed."

    def _stats(self, _rest: str) -> str:
        usage = self._agent.usage
        return f"Tokens: {usage.prompt} in ({usage.cached} cached), {usage.output} out, {usage.thoughts} thinking."

    def _quit(self, _rest: str) -> str:
        self._is_over = True
        return ""

    def _print(self, text: str) -> None:
        if text:
            self._out.write(f"{text}\n")
            self._out.flush()
