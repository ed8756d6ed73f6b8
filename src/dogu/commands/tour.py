"""`dogu tour`: what dogu does, seen in a minute."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING

from dogu.agent.events import EndReason
from dogu.agent.loop import Agent
from dogu.app import Options, open_agent
from dogu.commands.running import run_async
from dogu.contract.display import Display
from dogu.language import say, sentence
from dogu.models.offline import Offline
from dogu.runtime.questions import Approved, Outcome, Question
from dogu.serve.exit_codes import ExitCode
from dogu.serve.terminal.draw import draw
from dogu.serve.terminal.show import Show
from dogu.serve.terminal.style import Style

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_HELLO = """\
GREETING = "Hello"


def greet(name):
    # TODO: more languages
    return f"{GREETING}, {name}!"
"""

_SAMPLE = {
    "README.md": "# Greeter\n\nSays hello in many languages.\n",
    "greeter/__init__.py": "",
    "greeter/hello.py": _HELLO,
    "main.py": 'from greeter.hello import greet\n\nprint(greet("world"))\n',
}

_STEPS = (
    sentence("list files"),
    sentence("read README.md"),
    sentence("find *.py"),
    sentence("search for TODO"),
    sentence('replace "Hello" with "こんにちは" in greeter/hello.py'),
    sentence("run python3 main.py"),
)


def write_sample_project(folder: str) -> None:
    """Write the sample project into an empty folder."""
    for name, text in _SAMPLE.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class TourConfirm:
    """Shows each question, and says yes for the visitor: the project is a temporary copy."""

    def __init__(self) -> None:
        self._style = Style.of(sys.stdout)
        self.asked: dict[str, Display] = {}

    async def __call__(self, question: Question) -> Outcome:
        """Draw the question and approve it."""
        self.asked[question.call.call_id] = question.confirmation.display
        title = self._style.paint(f"? {say(question.confirmation.title)}", "yellow", "bold")
        print(f"{title}\n{draw(question.confirmation.display, self._style, shutil.get_terminal_size().columns)}")
        print(self._style.paint(say("Yes (the tour answers for you)"), "dim"), flush=True)
        return Approved()


async def play_tour(agent: Agent, confirm: TourConfirm) -> ExitCode:
    """Play the steps, one turn each; the exit status is 0 only when every one of them worked."""
    style = Style.of(sys.stdout)
    show = Show(style, lambda: shutil.get_terminal_size().columns, print, confirm.asked)
    code = ExitCode.DONE
    for step in map(say, _STEPS):
        print(f"\n{style.paint('› ' + step, 'cyan', 'bold')}", flush=True)
        end = await agent.run(step, show.event)
        if end.reason is not EndReason.DONE or not end.answers or any(answer.result.error for answer in end.answers):
            code = ExitCode.TOOL_FAILED
    return code


def add_arguments(_parser: ArgumentParser) -> None:
    """Declare the command's own arguments: it has none."""


def run(_options: Options, _space: Namespace) -> int:
    """Play the tour in a temporary copy of the sample project, with a home of its own."""

    async def tour(folder: str) -> int:
        root, home = os.path.join(folder, "greeter"), os.path.join(folder, "home")
        write_sample_project(root)
        os.mkdir(home)
        visit = Options(root=root, home=home)
        confirm = TourConfirm()
        async with open_agent(visit, confirm=confirm, model=Offline()) as opened:
            print("\n".join(opened.greeting()[:-1]))
            return await play_tour(opened.agent, confirm)

    with tempfile.TemporaryDirectory(prefix="dogu-tour-") as folder:
        return run_async(lambda: tour(folder))
