"""The question on the terminal: what will happen, and yes / always / edit first / no / no with a reason / stop.

And an MCP server's form, address or request, put before the user a field at a time.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from anyio import to_thread

from dogu.contract.display import CommandPreview, Display, FileDiff
from dogu.contract.errors import ToolError
from dogu.language import said, say
from dogu.policy.verdict import Decision
from dogu.runtime.questions import Approved, ApprovedAlways, Declined, Elicitation, Given, Outcome, Question
from dogu.serve.terminal.cells import fit_middle, hanging, indented, wrapped
from dogu.serve.terminal.draw import draw
from dogu.serve.terminal.screen import Choice, Screen
from dogu.workspace.visible import hidden_characters, make_visible, visible_line

_TRUE = ("y", "yes", "true", "1")
_FALSE = ("n", "no", "false", "0")


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
        choices = [Choice("y", say("[y]es")), Choice("n", say("[n]o")), Choice("s", say("[s]top"))]
        key = await screen.choose(choices)
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
    if schema.get("description"):
        screen.print(f"  {make_visible(str(schema['description']), keep='')}")
    options = _options(schema)
    for number, (_value, words) in enumerate(options, 1):
        screen.print(f"  {number}. {make_visible(words, keep='')}")
    default = schema.get("default", "")
    label = f"{title} [{make_visible(str(default), keep='')}]:" if default != "" else f"{title}:"
    while True:
        text = await screen.read_line(label)
        if text is None:
            return None
        text = text.strip()
        if not text and (default != "" or not is_required):
            return default
        try:
            return _value_of(text, schema, options)
        except ValueError as error:
            screen.print(screen.style.paint(f"  {error}", "yellow"))


def _options(schema: Mapping[str, Any]) -> list[tuple[Any, str]]:
    source = schema.get("items", schema) if schema.get("type") == "array" else schema
    titled = source.get("oneOf") or source.get("anyOf")
    if titled:
        return [(option.get("const"), str(option.get("title") or option.get("const"))) for option in titled]
    values = source.get("enum") or ()
    names = source.get("enumNames") or values
    return [(value, str(words)) for value, words in zip(values, names, strict=False)]


def _value_of(text: str, schema: Mapping[str, Any], options: list[tuple[Any, str]]) -> Any:
    kind = schema.get("type", "string")
    if kind == "array":
        return [_option_of(part.strip(), options) for part in text.split(",") if part.strip()]
    if options:
        return _option_of(text, options)
    if kind == "boolean":
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        raise ValueError(say("Answer yes or no."))
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            raise ValueError(say("A number is wanted here.")) from None
    return text


def _option_of(text: str, options: list[tuple[Any, str]]) -> Any:
    for number, (value, words) in enumerate(options, 1):
        if text in (str(number), str(value), words):
            return value
    if not options:
        return text
    raise ValueError(say("Choose one by its number."))


_LONGEST_WORDS_CHARS = 300
_MOST_LINES = 150


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
        self._draw(question, whole=False)
        draft = question.confirmation.editable_text or ""
        while True:
            key = await self._screen.choose(self._choices(question))
            if key == "e":
                draft, can_be_done = await self._edit(question, draft)
                if can_be_done:
                    self._told(say("Yes, as edited."))
                    return Approved(draft)
                continue
            if key == "o":
                self._draw(question, whole=True)
                continue
            outcome = await self._outcome(key)
            if outcome is not None:
                return outcome

    async def go_on(self, question: str) -> bool:
        """Ask a plain yes or no."""
        await self.settled()
        style = self._screen.style
        self._screen.print(f"{style.paint('?', 'yellow', 'bold')} {make_visible(say(question), keep='')}")
        key = await self._screen.choose([Choice("y", say("[y]es")), Choice("n", say("[n]o"))])
        self._told(say("Yes.") if key == "y" else say("No."))
        return key == "y"

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

    def _draw(self, question: Question, *, whole: bool) -> None:
        style, confirmation = self._screen.style, question.confirmation
        title = visible_line(say(confirmation.title))
        columns = self._screen.columns
        first, *more = hanging(f"? {title}", columns).split("\n")
        lines = [f"{style.paint('?', 'yellow', 'bold')} {style.paint(first[2:], 'bold')}"]
        lines += [style.paint(line, "bold") for line in more]
        lines.append(draw(confirmation.display, style, columns, whole=whole, most=_MOST_LINES))
        lines += [style.paint(wrapped(words, columns), "yellow") for words in _warnings(question)]
        reason = question.verdict.reason
        if reason and reason not in confirmation.reasons:
            because = say("Asked because: {reason}", reason=visible_line(say(reason)))
            lines.append(style.paint(wrapped(because, columns), "dim"))
        for command in question.verdict.commands:
            if command.verdict is not Decision.ALLOW:
                words = visible_line(" ".join(command.words))
                words = words if whole else fit_middle(words, _LONGEST_WORDS_CHARS)
                words = f"{words}: {make_visible(say(command.reason), keep='')}"
                lines.append(style.paint(indented(words, columns), "dim"))
        self._screen.print("\n".join(lines))

    def _choices(self, question: Question) -> list[Choice]:
        choices = [Choice("y", say("[y]es"))]
        if question.always_rule is not None:
            rule = visible_line(question.always_rule.text)
            choices.append(Choice("a", say("[a]lways for {rule}", rule=rule)))
        if question.confirmation.revise is not None:
            choices.append(Choice("e", say("[e]dit first")))
        if _is_folded(question.confirmation.display, self._screen):
            choices.append(Choice("o", say("[o]pen it whole")))
        words = say("[n]o"), say("no, with a [r]eason"), say("[s]top")
        return choices + [Choice(key, text) for key, text in zip("nrs", words, strict=True)]

    async def _edit(self, question: Question, draft: str) -> tuple[str, bool]:
        """Let the user edit the draft; return it, and whether it was changed and can be done."""
        confirmation, screen = question.confirmation, self._screen
        try:
            async with screen.outside():
                edited = await to_thread.run_sync(self._in_editor, draft, _suffix(question))
        except OSError as error:
            editor = visible_line(self._editor)
            told = say("The editor {editor} could not be started: {error}. Set $EDITOR.", editor=editor, error=error)
            screen.print(wrapped(told, screen.columns))
            return draft, False
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

    def _in_editor(self, text: str, suffix: str) -> str | None:
        with tempfile.NamedTemporaryFile(
            "w+", suffix=suffix, encoding="utf-8", errors="surrogateescape", newline=""
        ) as file:
            file.write(text)
            file.flush()
            status = subprocess.run([*shlex.split(self._editor), file.name], check=False).returncode
            with open(file.name, encoding="utf-8", errors="surrogateescape", newline="") as saved:
                return saved.read() if status == 0 else None


async def _at_once() -> None:
    return None


def _warnings(question: Question) -> list[str]:
    confirmation = question.confirmation
    words = [visible_line(say(reason)) for reason in confirmation.reasons]
    if isinstance(confirmation.display, CommandPreview):
        hidden = hidden_characters(confirmation.display.command)
        words += [say("The command {holds}.", holds=found) for found in hidden]
    return words


def _is_folded(display: Display, screen: Screen) -> bool:
    shown = draw(display, screen.style, screen.columns, most=_MOST_LINES)
    return shown != draw(display, screen.style, screen.columns, whole=True)


def _suffix(question: Question) -> str:
    display = question.confirmation.display
    extension = os.path.splitext(display.path)[1] if isinstance(display, FileDiff) else ".sh"
    return extension if extension.isascii() and extension[1:].isalnum() else ".txt"
