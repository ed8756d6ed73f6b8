"""`dogu man`: the manual page, made of the parsers: `dogu man | man -l -`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dogu.commands import about
from dogu.commands.command_line import command_parser
from dogu.version import __version__

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dogu.app import Options

_ENDS = {
    "0": "Done.",
    "2": "The command line isn't understood.",
    "41": "No key for the model, or one that is refused or used up.",
    "42": "Bad input: a tool or arguments that there aren't, an empty prompt, a model that doesn't exist.",
    "52": "Settings that can't be understood.",
    "53": "A limit was reached: turns, cost, time.",
    "54": "The last call failed for good.",
    "56": "Something needed an approval, and nobody was there to give it.",
    "70": "A defect of dogu.",
    "74": "Standard output can't be written.",
    "75": "The provider or the network failed for now: try again later.",
    "128 and more": "Ended by a signal, as a shell tells it.",
}
_FILES = {
    "~/.dogu/settings.json, ~/.gemini/settings.json": "Your settings.",
    ".dogu/settings.json, .gemini/settings.json": "A folder's settings; they only restrict until you trust it.",
    "~/.dogu/sessions": "Records of sessions, with what it takes to undo them.",
    "GEMINI.md, AGENTS.md": "Instructions for the model.",
}


def add_arguments(_parser: ArgumentParser) -> None:
    """Declare the command's own arguments: none."""


def run(_options: Options, _space: Namespace) -> int:
    """Print the manual page."""
    parser = command_parser("")
    lines = [f'.TH DOGU 1 "" "dogu {__version__}" "User Commands"', ".SH NAME"]
    lines += ["dogu \\- an agent that reads, searches, edits and runs, with nothing lost", ".SH SYNOPSIS"]
    lines += [*_verbatim(_synopsis(parser.format_usage())), ".SH DESCRIPTION"]
    lines += [*_verbatim(parser.format_help().partition("\n\n")[2]), ".SH COMMANDS"]
    for name in about():
        lines += [f".SS dogu {name}", *_verbatim(command_parser(name).format_help())]
    lines += [".SH EXIT STATUS", *_rows(_ENDS), ".SH FILES", *_rows(_FILES)]
    lines += [".SH ENVIRONMENT", *_rows({"GEMINI_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY": "Keys of models."})]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _synopsis(usage: str) -> str:
    """What `usage:` leads, its later lines beneath the program's name."""
    first, *more = usage.partition(": ")[2].splitlines()
    return "\n".join([first, *(f"     {line.lstrip()}" for line in more)])


def _rows(rows: dict[str, str]) -> list[str]:
    return [line for name, text in rows.items() for line in (".TP", f".B {_escaped(name)}", _escaped(text))]


def _verbatim(text: str) -> list[str]:
    return [".nf", *map(_escaped, text.rstrip().splitlines()), ".fi"]


def _escaped(line: str) -> str:
    escaped = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
