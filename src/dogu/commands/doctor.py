"""`dogu doctor`: what is missing, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogu.app import Options, read_settings
from dogu.commands.running import run_async

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(_parser: ArgumentParser) -> None:
    """Declare the command's own arguments: it has none."""


def run(options: Options, _space: Namespace) -> int:
    """Check what dogu needs; the status is 1 when something that it can't do without is missing."""
    from dogu.app.checks import checks_of
    from dogu.serve.doctor import print_checks

    settings = read_settings(options)

    async def look() -> int:
        return 0 if print_checks([check async for check in checks_of(options, settings)]) else 1

    return run_async(look)
