"""`dogu undo`: take back what a session changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogu.app import Options
from dogu.app.undoing import UndoRequest, undo
from dogu.language import say
from dogu.serve.record import print_undo

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("call", nargs="?", metavar="CALL", help=say("the call to undo (default: the last change)"))
    parser.add_argument("--session", metavar="ID", help=say("the session (default: the last one of this folder)"))
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--to", action="store_true", help=say("undo everything back to CALL, CALL included"))
    which.add_argument("--turn", action="store_true", help=say("undo all that was done for the same prompt"))
    parser.add_argument("--force", action="store_true", help=say("undo although something changed the file since"))


def run(options: Options, space: Namespace) -> int:
    """Take back what a session of this folder changed."""
    wanted = UndoRequest(space.call or "", to=space.to, turn=space.turn, force=space.force)
    return print_undo(undo(options, space.session or "", wanted))
