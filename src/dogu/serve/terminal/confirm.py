"""The question on the terminal: what will happen, and yes / always / edit first / no / no with a reason / stop.

And an MCP server's form, address or request, put before the user a field at a time.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from anyio import to_thread

from dogu.contract.display import CommandPreview, Display, FileDiff
from dogu.contract.errors import ToolError
from dogu.language import said, say, told
from dogu.policy.verdict import Decision
from dogu.runtime.questions import Approved, ApprovedAlways, Declined, Elicitation, Given, Outcome, Question
from dogu.runtime.runtime import Runtime
from dogu.serve.terminal.cells import fit_middle, hanging, indented, rows_of, wrapped
from dogu.serve.terminal.choices import Choice, Menu, OpenMenu
from dogu.serve.terminal.draw import draw
from dogu.serve.terminal.screen import Screen
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import hidden_characters, make_visible, visible_line

_LEFT_OUT = "-"
_MOST_NUMBERED = 9


async def answer_elicitation(screen: Screen, elicitation: Elicitation) -> Given | Declined:
    """Show who asks and what; return what the user filled in, or their no."""
    style = screen.style
    title = make_visible(said(elicitation.title), keep="")
    screen.print(f"{style.paint('?', 'yellow', 'bold')} {style.paint(title, 'bold')}")
    if elicitation.message:
        screen.print("\n".join(f"  │ {line}" for line in make_visible(elicitation.message).split("\n")))
    if elicitation.url:
        screen.print(f"  {make_visible(elicitation.url, keep='')}")
    if not elicitation.is_question:
        choices = [Choice("y", say("Yes")), Choice("n", say("No")), Choice("s", say("Stop"))]
        key = await screen.choose(Menu(choices))
        if key != "y":
            screen.print(style.paint("  " + (say("No.") if key == "n" else say("Stop.")), "dim"))
            return Declined(stop=key != "n")
        screen.print(style.paint("  " + say("Yes."), "dim"))
    values: dict[str, Any] = {}
    for name, schema in elicitation.fields.items():
        answer = await _ask(screen, name, schema, is_required=name in elicitation.required)
        if answer is None:
            return Declined(stop=True)
        if answer != "":
            values[name] = answer
    return Given(values)


async def _ask(screen: Screen, name: str, schema: Mapping[str, Any], *, is_required: bool) -> Any:
    """Ask until the answer is one that the field takes; '' leaves it out, None cancels."""
    title = visible_line(str(schema.get("title") or name))
    options = _options(schema)
    default = schema.get("default", "")
    about = make_visible(str(schema.get("description") or ""), keep="")
    heading = [screen.style.paint(f"  {title}", "bold")] * bool(options)
    for line in [*heading, *([hanging(f"  {about}", screen.columns)] * bool(about))]:
        screen.print(line)
    if options:
        return await _pick(screen, options, default, is_list=schema.get("type") == "array", is_required=is_required)
    label = f"{title} [{make_visible(str(default), keep='')}]:" if default != "" else f"{title}:"
    while True:
        text = await screen.read_line(label)
        if text is None:
            return None
        text = text.strip()
        if screen.is_live:  # elsewhere the terminal has shown it
            shown = visible_line(text or str(default)) or say("(nothing)")
            screen.print(screen.style.paint(indented(shown, screen.columns), "dim"))
        if not text and (default != "" or not is_required):
            return default
        try:
            return _value_of(text, schema)
        except ValueError as error:
            screen.print(screen.style.paint(f"  {error}", "yellow"))


async def _pick(
    screen: Screen, options: list[tuple[Any, str]], default: Any, *, is_list: bool, is_required: bool
) -> Any:
    """Let one of the options be picked, or several; as above. What was picked stays on the screen."""
    values = {str(number): value for number, (value, _words) in enumerate(options, 1)}
    choices = [Choice(key, words) for key, (_value, words) in zip(values, options, strict=True)]
    wanted = default if isinstance(default, list) else [default]  # pyright: ignore[reportUnknownVariableType]  (foreign JSON)
    given = [key for key, value in values.items() if value in wanted]
    is_long = len(choices) > _MOST_NUMBERED
    if is_list:
        keys = await screen.choose_some(Menu(choices, takes_some=True, picked=frozenset(given)))
        if keys is None:
            return None
    else:
        if not is_required:
            choices.append(Choice(_LEFT_OUT, say("Leave it out")))
        key = await screen.choose(Menu(choices, default="".join(given[:1]), filters=is_long))
        if not key:
            return None
        keys = [key] if key != _LEFT_OUT else []
    shown = ", ".join(visible_line(options[int(key) - 1][1]) for key in keys) or say("(nothing)")
    screen.print(screen.style.paint(indented(shown, screen.columns), "dim"))
    picked = [values[key] for key in keys]
    return picked if is_list else picked[0] if picked else ""


def _options(schema: Mapping[str, Any]) -> list[tuple[Any, str]]:
    source = schema.get("items", schema) if schema.get("type") == "array" else schema
    if source.get("type") == "boolean" and source is schema:
        return [(True, say("Yes")), (False, say("No"))]
    titled = source.get("oneOf") or source.get("anyOf")
    if titled:
        return [(option.get("const"), str(option.get("title") or option.get("const"))) for option in titled]
    values = source.get("enum") or ()
    names = source.get("enumNames") or values
    return [(value, str(words)) for value, words in zip(values, names, strict=False)]


def _value_of(text: str, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "string")
    if kind == "array":
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            raise ValueError(say("Enter a number.")) from None
    return text


_LONGEST_WORDS_CHARS = 300
_MOST_LINES = 40  # on a screen that only prints
_FEWEST_LINES = 4
_PLAIN = Style(has_color=False)
_BELOW = 6  # rows below a question: the input box, the status, what keys do


class TerminalConfirm:
    """Asks on the screen. `editor` is a command line; None means `$VISUAL`, `$EDITOR`, else `vi`.

    `asked` holds what was shown of the proposals asked about, by the ids of their calls. `own` are ids of calls that
    the user typed as such: they have said yes already. `settled` waits until what came before has been shown.
    """

    def __init__(self, screen: Screen, editor: str | None = None) -> None:
        self._screen = screen
        self.asked: dict[str, Display] = {}
        self.own: set[str] = set()
        self.settled: Callable[[], Awaitable[None]] = _at_once
        self._editor = editor or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"

    async def __call__(self, question: Question) -> Outcome:
        """Draw the question, wait for a key, and return what it means."""
        if question.call.call_id in self.own:
            return Approved()
        self.asked[question.call.call_id] = question.confirmation.display
        await self.settled()
        risks = _risks(question)
        choices = self._choices(question)
        rows, _ = OpenMenu(Menu(choices)).lines(self._screen.style, self._screen.columns or 80, self._screen.rows)
        room = self._draw(question, risks, len(rows) - 1)  # what keys do is counted below
        if _is_folded(question.confirmation.display, self._screen, room):
            choices.insert(len(choices) - 3, Choice("o", say("Show all of it")))
        is_danger = bool(risks or question.confirmation.always_ask or question.verdict.gate is not Decision.ALLOW)
        likely = "y" if question.confirmation.preview is None else "p"
        menu = Menu(choices, default="n" if is_danger or _hidden(question) else likely)
        draft = question.confirmation.editable_text or ""
        while True:
            key = await self._screen.choose(menu)
            if key == "e":
                draft, can_be_done = await self._edit(question, draft)
                if can_be_done:
                    self._told(say("Yes, as edited."))
                    return Approved(draft)
                continue
            if key == "o":
                self._draw_whole(question)
                continue
            outcome = await self._outcome(key)
            if outcome is not None:
                return outcome

    async def may_lose(self, question: str) -> bool:
        """Ask a plain yes or no about something that is lost by a yes: Enter says no."""
        return await self.go_on(question, default="n")

    async def go_on(self, question: str, *, default: str = "y") -> bool:
        """Ask a plain yes or no; closing it is a no."""
        is_yes = await self.decide(question, default=default)
        if is_yes is None:
            self._told(say("No."))
        return is_yes is True

    async def decide(self, question: str, *, default: str = "y") -> bool | None:
        """The same; None where it was closed without an answer."""
        await self.settled()
        style = self._screen.style
        words = hanging(f"? {make_visible(say(question), keep='')}", self._screen.columns)
        self._screen.print(f"{style.paint('?', 'yellow', 'bold')}{words[1:]}")
        key = await self._screen.choose(Menu([Choice("y", say("Yes")), Choice("n", say("No"))], default=default))
        if not key:
            return None
        self._told(say("Yes.") if key == "y" else say("No."))
        return key == "y"

    async def keep_jobs(self, runtime: Runtime) -> bool | None:
        """Ask whether background jobs live on, unless that was said beforehand; None where the question was closed."""
        running = await to_thread.run_sync(runtime.running_jobs)
        running = [job for job in running if job.can_be_kept]  # the others end with the session, whatever is said
        if not running or runtime.commands.keeps_jobs is not None:
            return runtime.commands.keeps_jobs is True
        commands = ", ".join(" ".join(job.command.split()) for job in running)
        return await self.decide(told("Still running: {commands}. Keep it running?", commands=commands))

    async def elicit(self, elicitation: Elicitation) -> Given | Declined:
        """Put an MCP server's form, address or request before the user."""
        await self.settled()
        return await answer_elicitation(self._screen, elicitation)

    async def _outcome(self, key: str) -> Outcome | None:
        """Say what the key means; None when the user thought better of it."""
        match key:
            case "y":
                self._told(say("Yes."))
                return Approved()
            case "a":
                self._told(say("Yes, always."))
                return ApprovedAlways()
            case "p" | "w":
                self._told(say("Run, and shown before it is kept."))
                return Approved(is_preview=True, is_always=key == "w")
            case "n":
                self._told(say("No."))
                return Declined()
            case "r":
                reason = await self._screen.read_line(say("Reason:"))
                if reason is None:
                    return None
                self._told(say("No: {reason}", reason=visible_line(reason)))
                return Declined(reason.strip())
            case _:
                self._told(say("Stop."))
                return Declined(stop=True)

    def _told(self, words: str) -> None:
        self._screen.print(self._screen.style.paint(indented(words, self._screen.columns), "dim"))

    def _draw(self, question: Question, risks: Sequence[str], choices: int) -> int:
        """Print the question so that its title stays in sight above so many choices; return the rows of its display."""
        screen, style, columns = self._screen, self._screen.style, self._screen.columns
        title = self._title(question, is_danger=bool(risks))
        told = [
            style.paint(f"{line}", "red", "bold")
            for risk in risks
            for line in hanging(f"! {say(risk)}", columns).split("\n")
        ]
        told += [style.paint(wrapped(words, columns), "yellow") for words in _warnings(question)]
        told += [style.paint(line, "dim") for line in _why(question, columns)]
        around = "\n".join([*title, *told]).count("\n") + 1
        room = max(_FEWEST_LINES, screen.rows - around - choices - _BELOW) if screen.rows else _MOST_LINES
        shown = draw(question.confirmation.display, style, columns, most=room)
        if screen.rows and (over := rows_of(shown, columns) - room) > 0:  # what stands beside what can be folded
            room = max(_FEWEST_LINES, room - over)
            shown = draw(question.confirmation.display, style, columns, most=room)
        screen.print("\n".join([*([""] if screen.rows else []), *title, shown, *told]))
        return room

    def _draw_whole(self, question: Question) -> None:
        """Print all of it, with the title once more below, where it can be seen."""
        whole = draw(question.confirmation.display, self._screen.style, self._screen.columns, whole=True)
        self._screen.print("\n".join([whole, *self._title(question, is_danger=False)]))

    def _title(self, question: Question, *, is_danger: bool) -> list[str]:
        style = self._screen.style
        title = visible_line(say(question.confirmation.title))
        first, *more = hanging(f"? {title}", self._screen.columns).split("\n")
        sign = style.paint("?", "red" if is_danger else "yellow", "bold")
        return [f"{sign} {style.paint(first[2:], 'bold')}", *(style.paint(line, "bold") for line in more)]

    def _choices(self, question: Question) -> list[Choice]:
        if question.confirmation.is_of_changes:
            words = say("Keep"), say("Keep some"), say("Discard"), say("Discard, and say why")
            return [Choice(key, text) for key, text in zip("yenr", words, strict=True)]
        choices = [Choice("y", say("Yes"))]
        if question.confirmation.preview is not None:
            choices.insert(0, Choice("p", say("Run it and show me"), say("what it changed, before that is kept")))
            if question.confirmation.is_contained:
                choices.append(Choice("w", say("Always run and show me"), say("in this session")))
        if question.always_rule is not None:
            choices.append(Choice("a", say("Always"), visible_line(say(question.always_rule.scope))))
        if question.confirmation.revise is not None:
            choices.append(Choice("e", say("Edit first")))
        words = say("No"), say("No, and say why"), say("Stop")
        return choices + [Choice(key, text) for key, text in zip("nrs", words, strict=True)]

    async def _edit(self, question: Question, draft: str) -> tuple[str, bool]:
        """Let the user edit the draft; return it, and whether it was changed and can be done."""
        confirmation, screen = question.confirmation, self._screen
        edited = await self.write_on(draft, _suffix(question))
        if edited is None or edited == (confirmation.editable_text or ""):
            self._told(say("Unchanged."))
            return draft, False
        try:
            revised = await to_thread.run_sync(confirmation.revise, edited) if confirmation.revise else confirmation
        except ToolError as error:
            # Kept: the next [e] goes on from it.
            screen.print(wrapped(make_visible(say(error.message)), screen.columns))
            return edited, False
        screen.print(draw(revised.display, screen.style, screen.columns))
        self.asked[question.call.call_id] = revised.display
        return edited, True

    async def write_on(self, draft: str, suffix: str = ".md") -> str | None:
        """Let the user edit a draft; None, and said why, where the editor fails."""
        try:
            async with self._screen.outside():
                return await to_thread.run_sync(self._in_editor, draft, suffix)
        except (OSError, ValueError) as error:
            editor, why = visible_line(self._editor), getattr(error, "strerror", None) or error
            told = say("The editor {editor} could not be started: {error}. Set $EDITOR.", editor=editor, error=why)
        except subprocess.CalledProcessError as error:
            editor, status = visible_line(self._editor), error.returncode
            told = say(
                "The editor {editor} failed (exit {status}): your edits weren't used.", editor=editor, status=status
            )
        self._screen.print(wrapped(told, self._screen.columns))
        return None

    def _in_editor(self, text: str, suffix: str) -> str:
        with tempfile.NamedTemporaryFile(
            "w+", suffix=suffix, encoding="utf-8", errors="surrogateescape", newline=""
        ) as file:
            file.write(text)
            file.flush()
            subprocess.run([*shlex.split(self._editor), file.name], check=True)
            with open(file.name, encoding="utf-8", errors="surrogateescape", newline="") as saved:
                return saved.read()


async def _at_once() -> None:
    return None


def _risks(question: Question) -> list[str]:
    shown = question.confirmation.display
    is_command = isinstance(shown, CommandPreview)
    from dogu.serve.terminal.risks import risks_of  # with it comes the judge, which no first prompt waits for

    return risks_of(question.verdict.commands, *((shown.command, shown.directory) if is_command else ()))


def _why(question: Question, columns: int) -> list[str]:
    """Say why it is asked, where it isn't the approval mode that asks: of each command, or as a whole."""
    verdict = question.verdict
    lines: list[str] = []
    for command in verdict.commands:
        if command.verdict is not Decision.ALLOW:
            words = fit_middle(visible_line(" ".join(command.words)), _LONGEST_WORDS_CHARS)
            words = f"{words}: {make_visible(say(command.reason), keep='')}"
            lines += indented(words, columns).split("\n")
    is_told = bool(lines) or verdict.gate is Decision.ALLOW or verdict.reason in question.confirmation.reasons
    if verdict.reason and not is_told:
        because = say("Asked because: {reason}", reason=visible_line(say(verdict.reason)))
        return wrapped(because, columns).split("\n")
    return lines


def _hidden(question: Question) -> list[str]:
    display = question.confirmation.display
    return list(hidden_characters(display.command)) if isinstance(display, CommandPreview) else []


def _warnings(question: Question) -> list[str]:
    confirmation = question.confirmation
    words = [visible_line(say(reason)) for reason in confirmation.reasons]
    return words + [say("The command {holds}.", holds=found) for found in _hidden(question)]


def _is_folded(display: Display, screen: Screen, most: int) -> bool:
    shown, whole = (draw(display, _PLAIN, screen.columns, whole=whole, most=most) for whole in (False, True))
    return shown != whole


def _suffix(question: Question) -> str:
    display = question.confirmation.display
    extension = os.path.splitext(display.path)[1] if isinstance(display, FileDiff) else ".sh"
    return extension if extension.isascii() and extension[1:].isalnum() else ".txt"
