"""`dogu doctor`: what is missing, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogu.app import Options, read_settings
from dogu.app.checks import broken_settings, checks_of
from dogu.commands.running import run_async
from dogu.serve.doctor import check_system, check_terminal, print_checks
from dogu.settings import SettingsError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(_parser: ArgumentParser) -> None:
    """Declare the command's own arguments: it has none."""


def run(options: Options, _space: Namespace) -> int:
    """Check what dogu needs; the status is 1 when something that it can't do without is missing."""
    try:
        settings = read_settings(options)
    except SettingsError as error:
        print_checks([check_system(), broken_settings(error), check_terminal()])
        return 1

    async def look() -> int:
        return 0 if print_checks([check async for check in checks_of(options, settings)]) else 1

    return run_async(look)
