"""`dogu completion`: what a shell needs to complete dogu's words, made of its parsers."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser
from typing import TYPE_CHECKING, Any, cast

import shtab

from dogu.commands.command_line import whole_parser
from dogu.language import say

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from dogu.app import Options

_FOLDERS = ("root", "include_directories")
_FILES = ("settings", "output")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])
    parser.epilog = say(
        'bash: eval "$(dogu completion bash)" in ~/.bashrc. zsh: dogu completion zsh > DIR/_dogu, with DIR in $fpath. '
        "fish: dogu completion fish > ~/.config/fish/completions/dogu.fish. `make install` has put them in place."
    )


def run(_options: Options, space: Namespace) -> int:
    """Print the completion of one shell."""
    parser = whole_parser()
    for action in _actions(parser):
        kind = shtab.DIRECTORY if action.dest in _FOLDERS else shtab.FILE if action.dest in _FILES else None
        if kind is not None:
            setattr(action, "complete", kind)  # noqa: B010  (what shtab reads; argparse's type doesn't know it)
    complete: Any = shtab.complete
    sys.stdout.write(f"{complete(parser, space.shell)}\n")
    return 0


def _actions(parser: ArgumentParser) -> Iterator[Action]:
    """Give every option and argument, those of the commands too."""
    for action in parser._actions:  # argparse has no public way to them
        yield action
        choices = cast("object", action.choices)
        if isinstance(choices, dict):
            for command in cast("dict[str, ArgumentParser]", choices).values():
                yield from _actions(command)
