"""What only a terminal has: /quit, /open, /theme, /keys, /trust, /agents, and `!cmd`, a shell line of the user's own.

Such a line goes through the same tool, sandbox, limits and journal as the model's. Restrictions (`tools.core`,
`tools.exclude`) hold for it as well; nothing else asks, because the user typed it. It is shown and not sent to the
model; `!!cmd` also puts what it printed before the user's next prompt.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import msgspec
from anyio import to_thread

from dogu.agent.slash import Offer, Said, SlashCommand
from dogu.contract import ErrorKind, text_of
from dogu.language import said, say
from dogu.runtime.events import CallFinished, CallStarted, Emit, ToolAnswer, ToolCall
from dogu.runtime.runtime import Runtime
from dogu.serve.terminal.calls import elapsed_words
from dogu.serve.terminal.choices import Choice
from dogu.serve.terminal.key_names import KEY_ACTIONS, key_rows, keys_problems, plain_key_rows
from dogu.serve.terminal.screen import Screen
from dogu.serve.terminal.style import THEMES
from dogu.workspace.columns import padded, width

AT_ONCE = frozenset(("quit", "exit", "open", "theme", "keys", "help", "agents"))
"""Commands that needn't wait for the turn under way."""


def own_commands(
    screen: Screen, open_result: Callable[[int], None], leave: Callable[[], None], keys: Mapping[str, str]
) -> list[SlashCommand]:
    """Make them. `open_result` shows a result by its number, 0 for the last one; `keys` are the settings' own."""
    own = _Own(screen, open_result, leave, keys)
    return [
        SlashCommand("quit", say("leave (also Ctrl-D)"), own.quit),
        SlashCommand("open", say("show a folded result in full; the last one without a number"), own.open, "[NUMBER]"),
        SlashCommand(
            "theme",
            say("colors for a dark or a light background"),
            own.theme,
            "[dark | light]",
            lambda start: [theme for theme in THEMES if theme.startswith(start)],
            own.themes,
        ),
        SlashCommand("keys", say("show keyboard shortcuts"), own.keys),
    ]


class _Own:
    def __init__(
        self, screen: Screen, open_result: Callable[[int], None], leave: Callable[[], None], keys: Mapping[str, str]
    ) -> None:
        self._keys = keys
        self._screen = screen
        self._open_result = open_result
        self._leave = leave

    async def quit(self, _rest: str) -> Said:
        self._leave()
        return Said("")

    async def open(self, rest: str) -> Said:
        number = rest.lstrip("#")
        if number and not number.isdecimal():
            return Said(say("/open takes the number of a result."))
        self._open_result(int(number or 0))
        return Said("")

    async def themes(self) -> list[Offer]:
        words = {"dark": say("for a dark background"), "light": say("for a light background")}
        return [Offer(name, name, words[name], is_current=name == self._screen.style.theme) for name in THEMES]

    async def theme(self, rest: str) -> Said:
        style = self._screen.style
        if rest in THEMES:
            style.theme = rest
            self._screen.refresh()
        elif rest:
            return Said(say("There is no theme {name}. Themes: {themes}.", name=rest, themes=", ".join(THEMES)))
        told = say("Theme: {theme}. /settings ui.theme {theme} keeps it.", theme=style.theme)
        return Said(told)

    async def keys(self, _rest: str) -> Said:
        is_drawn = self._screen.is_live
        rows = key_rows(self._keys) if is_drawn else plain_key_rows()
        widest = max(width(key) for key, _ in rows)
        shown = [f"  {padded(key, widest)}  {words}" for key, words in rows]
        if not is_drawn:
            return Said("\n".join(shown))
        told = say(
            "ui.keys in ~/.dogu/settings.json changes them: {names}", names=", ".join(each.name for each in KEY_ACTIONS)
        )
        problems = [f"ui.keys: {problem}" for problem in keys_problems(self._keys)]
        return Said("\n".join([*shown, told, *problems]))


def trust_choices() -> list[Choice]:
    """Make the answers to whether what a folder brings is to count."""
    return [
        Choice("1", say("Trust this folder"), say("its settings, commands and instructions count like your own")),
        Choice("2", say("Not now")),
        Choice("3", say("Don't trust it"), say("its settings can only restrict")),
    ]


class Trust:
    """Whether what the folder brings counts: `keep` keeps what the user says, `reopen` opens the session anew.

    Settings are read when a session is opened.
    """

    def __init__(self, keep: Callable[[bool], None], reopen: Callable[[], None]) -> None:
        self._keep = keep
        self._reopen = reopen

    def command(self) -> SlashCommand:
        """Make `/trust`."""
        words = say("trust this folder's settings and instructions, or don't")
        return SlashCommand("trust", words, self.answer, "yes | no", offers=self._offers)

    async def answer(self, rest: str) -> Said:
        """Take `yes` or `no`."""
        if rest not in ("yes", "no"):
            return Said(say("Type /trust yes or /trust no."), is_failure=True)
        try:
            await to_thread.run_sync(self._keep, rest == "yes")
        except OSError as error:
            return Said(say("That couldn't be saved: {why}", why=error.strerror or str(error)), is_failure=True)
        self._reopen()
        return Said(say("Trusted.") if rest == "yes" else say("Not trusted: its settings can only restrict."))

    async def _offers(self) -> list[Offer]:
        yes, _, no = trust_choices()
        return [Offer("yes", yes.words, yes.detail), Offer("no", no.words, no.detail)]


class _Task(msgspec.Struct):
    """What a helper is given to do, what it called, and how it ended; `outcome` is empty while it works."""

    task: str
    started: float
    calls: list[str] = msgspec.field(default_factory=list[str])
    outcome: str = ""
    last_words: str = ""

    @property
    def state(self) -> str:
        """Say in a few words how it stands."""
        calls = say("calls: {count}", count=len(self.calls))
        words = [self.outcome] if self.outcome else [say("working"), elapsed_words(time.monotonic() - self.started)]
        return " · ".join([*words, calls])


class Helpers:
    """The helpers that the model gave tasks to in this session (`run_subagent`), for `/agents`."""

    def __init__(self, tools: Callable[[str], bool]) -> None:
        self._has_tool = tools
        self._helpers: dict[str, _Task] = {}

    def event(self, event: object) -> None:
        """Take what happened to a call."""
        match event:
            case CallStarted(call=call, description=description) if call.name == _HELPER:
                self._helpers[call.call_id] = _Task(said(description), time.monotonic())
            case CallStarted(call=call) if helper := self._helpers.get(call.parent):
                helper.calls.append(f"{event.display_name}  {said(event.description)}")
            case CallFinished(call=call, result=result) if helper := self._helpers.get(call.call_id):
                error = result.error
                helper.last_words = said(error.message) if error else text_of(result.llm_content)
                is_declined = error is not None and error.kind is ErrorKind.DECLINED
                helper.outcome = say("declined") if is_declined else say("failed") if error else say("done")
            case _:
                pass

    def cancel(self) -> None:
        """Say of those that work that they were cancelled."""
        for helper in self._helpers.values():
            helper.outcome = helper.outcome or say("cancelled")

    def command(self) -> SlashCommand:
        """Make `/agents`."""
        return SlashCommand(
            "agents", say("show the helpers that the model started"), self._run, "[NUMBER]", offers=self._offers
        )

    async def _offers(self) -> list[Offer]:
        return [Offer(str(number), each.task, each.state) for number, each in enumerate(self._helpers.values(), 1)]

    async def _run(self, rest: str) -> Said:
        helpers = list(self._helpers.values())
        if not self._has_tool(_HELPER):
            return Said(say("Helpers are off: the settings leave out run_subagent."))
        if not helpers:
            return Said(say("No helpers yet. Ask for some, such as “have helpers look through each folder”."))
        if not rest:
            return Said("\n".join(f"{at}. {each.task} ({each.state})" for at, each in enumerate(helpers, 1)))
        if not rest.isdecimal() or not 0 < int(rest) <= len(helpers):
            return Said(say("There is no helper {number}. /agents lists them.", number=rest), is_failure=True)
        helper = helpers[int(rest) - 1]
        calls = [f"  {call}".rstrip() for call in helper.calls]
        words = ["", helper.last_words] if helper.last_words else []
        return Said("\n".join([f"{helper.task} ({helper.state})", *calls, *words]))


_HELPER = "run_subagent"
_MOST_SENT_CHARS = 20_000


class ShellLines:
    """Runs the user's own lines. `own` is told each call's id before it runs."""

    def __init__(self, runtime: Runtime, own: set[str]) -> None:
        self._runtime = runtime
        self._own = own
        self._count = 0
        self._to_send: list[str] = []

    async def run(self, line: str, emit: Emit) -> ToolAnswer:
        """Run what was typed after the first `!`."""
        is_sent = line.startswith("!")
        command = line.removeprefix("!").strip()
        self._count += 1
        call = ToolCall(f"own-{self._count}", "run_shell_command", {"command": command})
        self._own.add(call.call_id)
        try:
            answer = await self._runtime.run(call, emit)
        finally:
            self._own.discard(call.call_id)
        if is_sent:
            self._to_send.append(text_of(answer.result.llm_content)[:_MOST_SENT_CHARS])
        return answer

    def before(self, prompt: str) -> str:
        """Return the prompt with what `!!` lines printed before it."""
        if not self._to_send:
            return prompt
        sent, self._to_send = self._to_send, []
        return "\n\n".join(["I ran this myself:", *sent, prompt])
