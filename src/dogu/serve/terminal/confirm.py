"""The question on the terminal: what will happen, and yes / always / edit first / no / no with a reason."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import TextIO

from anyio import to_thread

from dogu.contract.display import Display, FileDiff
from dogu.contract.errors import ToolError
from dogu.policy.verdict import Decision
from dogu.runtime.questions import Approved, ApprovedAlways, Declined, Outcome, Question
from dogu.serve.terminal.draw import draw
from dogu.serve.terminal.keys import read_key
from dogu.serve.terminal.style import Style
from dogu.workspace.visible import make_visible


class TerminalConfirm:
    """Asks on the terminal. `editor` is a command line; None means `$VISUAL`, `$EDITOR`, else `vi`.

    `asked` holds what was shown of the proposals asked about, by the ids of their calls.
    """

    def __init__(self, out: TextIO | None = None, style: Style | None = None, editor: str | None = None) -> None:
        self._out = out or sys.stdout
        self._style = style or Style.of(self._out)
        self.asked: dict[str, Display] = {}
        self._editor = editor or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"

    async def __call__(self, question: Question) -> Outcome:
        """Draw the question, wait for a key, and return what it means."""
        self.asked[question.call.call_id] = question.confirmation.display
        self._draw(question)
        can_edit = question.confirmation.revise is not None
        allowed = "ynrs" + ("a" if question.always_rule else "") + ("e" if can_edit else "")
        draft = question.confirmation.editable_text or ""
        while True:
            self._write(self._choices(question, can_edit))
            key = await read_key(allowed)
            self._write(f" {key or 'stop'}\n")
            if key == "e":
                draft, can_be_done = await to_thread.run_sync(self._edit, question, draft)
                if can_be_done:
                    return Approved(draft)
                continue
            return await self._outcome(key)

    async def go_on(self, question: str) -> bool:
        """Ask a plain yes or no."""
        self._write(f"\a\n{self._style.paint('?', 'yellow', 'bold')} {make_visible(question, keep='')} [y]es  [n]o ")
        key = await read_key("yn")
        self._write(f" {key or 'n'}\n")
        return key == "y"

    async def _outcome(self, key: str) -> Outcome:
        match key:
            case "y":
                return Approved()
            case "a":
                return ApprovedAlways()
            case "n":
                return Declined()
            case "r":
                return Declined(await self._reason())
            case _:
                return Declined(stop=True)

    def _draw(self, question: Question) -> None:
        style, confirmation = self._style, question.confirmation
        title = make_visible(confirmation.title, keep="")
        self._write(f"\a\n{style.paint('?', 'yellow', 'bold')} {style.paint(title, 'bold')}\n")
        self._write(draw(confirmation.display, style, whole=True) + "\n")
        for reason in confirmation.reasons:
            self._write(style.paint(make_visible(reason, keep=""), "yellow") + "\n")
        if question.verdict.reason:
            self._write(style.paint(f"Asked because: {make_visible(question.verdict.reason, keep='')}", "dim") + "\n")
        for command in question.verdict.commands:
            if command.verdict is not Decision.ALLOW:
                why = f"{' '.join(command.words)}: {command.reason}"
                self._write(style.paint(f"  {make_visible(why, keep='')}", "dim") + "\n")

    def _choices(self, question: Question, can_edit: bool) -> str:
        choices = ["[y]es"]
        if question.always_rule is not None:
            choices.append(f"[a]lways for {make_visible(question.always_rule.text, keep='')}")
        if can_edit:
            choices.append("[e]dit first")
        choices += ["[n]o", "no, with a [r]eason", "[s]top"]
        one_line = "  ".join(choices)
        fits = len(one_line) < shutil.get_terminal_size().columns - 2
        return self._style.paint(one_line if fits else "\n".join(choices), "bold") + " "

    async def _reason(self) -> str:
        from prompt_toolkit import PromptSession

        session: PromptSession[str] = PromptSession()
        try:
            return (await session.prompt_async("Reason: ")).strip()
        except (KeyboardInterrupt, EOFError):
            return ""

    def _edit(self, question: Question, draft: str) -> tuple[str, bool]:
        """Let the person edit the draft; return it, and whether it was changed and can be done."""
        confirmation = question.confirmation
        try:
            edited = self._in_editor(draft, _suffix(question))
        except OSError as error:
            self._write(f"\nThe editor {self._editor!r} could not be started: {error}. Set $EDITOR.\n")
            return draft, False
        if edited is None or edited == (confirmation.editable_text or ""):
            self._write("\nUnchanged.\n")
            return draft, False
        try:
            revised = confirmation.revise(edited) if confirmation.revise else confirmation
        except ToolError as error:
            # Kept: the next [e] goes on from it.
            self._write(f"\n{make_visible(error.message)}\n")
            return edited, False
        self._write("\n" + draw(revised.display, self._style) + "\n")
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

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _suffix(question: Question) -> str:
    display = question.confirmation.display
    extension = os.path.splitext(display.path)[1] if isinstance(display, FileDiff) else ".sh"
    return extension if extension.isascii() and extension[1:].isalnum() else ".txt"
