"""`dogu redo`: do again what an undo took back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogu.app import Options
from dogu.app.undoing import UndoRequest
from dogu.commands.undo import add_consent, consent_of, undo
from dogu.language import say

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "call", nargs="?", metavar="CALL", help=say("the undo, or the call that was undone (default: the last undo)")
    )
    add_consent(parser)


def run(options: Options, space: Namespace) -> int:
    """Take back the last undo of a session of this folder."""
    request = UndoRequest(space.call or "", is_redo=True, consent=consent_of(space), is_unverified=space.unverified)
    return undo(options, space, request)
