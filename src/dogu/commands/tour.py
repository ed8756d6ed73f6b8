"""`dogu tour`: what dogu does, seen in a minute."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from dogu.app import Options, open_agent
from dogu.commands.running import run_async
from dogu.models.offline import Offline
from dogu.serve.terminal.tour import TourConfirm, play_tour, write_sample_project

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


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
