"""`dogu config`: the settings in force; trust this folder's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogu.app import Options
from dogu.app.configuring import set_trust, show_settings

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("action", nargs="?", choices=["show", "trust", "untrust"], default="show")


def run(options: Options, space: Namespace) -> int:
    """Show the settings in force, or say whether this folder's own may allow more than yours."""
    if space.action == "show":
        return show_settings(options)
    return set_trust(options, is_trusted=space.action == "trust")
