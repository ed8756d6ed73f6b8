"""The command line: its words into options and a command; a parser a command, with the options that all share."""

from __future__ import annotations

import argparse
import os
import sys
from argparse import ArgumentParser, BooleanOptionalAction, RawDescriptionHelpFormatter
from importlib import import_module
from typing import TYPE_CHECKING, cast

from dogu.app.options import Options, files_here
from dogu.commands import about, seconds
from dogu.commands.signals import release
from dogu.contract import ToolError
from dogu.language import LANGUAGES, PSEUDO, language_of_locale, say, speak
from dogu.settings import SettingsError, SettingsFiles
from dogu.settings.gemini_places import add_env_file
from dogu.workspace.columns import padded
from dogu.workspace.visible import guard_terminal

if TYPE_CHECKING:
    from argparse import Namespace
    from types import ModuleType

    from _typeshed import SupportsWrite

_MARK = "\0"  # no word of a command line has it


def run(words: list[str]) -> int:
    """Run the command that the words name, and return the program's exit status."""
    try:
        add_env_file(os.path.expanduser("~"), os.environ)
    except SettingsError as error:
        sys.stderr.write(f"{say(str(error))}\n")
        return 52
    files = _choose_language(words)
    given, words = _common_before_command(_with_help(words))
    name = words[0] if words and words[0] in about() else ""
    if not name and _is_misspelled(words):
        return 2
    command = _imported(name)
    space = _parsed(name, words, given)
    if name and name not in ("acp", "mcp", "tour"):
        _guard_terminal()
    try:
        options = Options.of(space, files)
    except SettingsError as error:
        if not name:
            _tell_as_json(words, "settings", str(error))
        sys.stderr.write(f"{say(str(error))}\n")
        return 52
    _finish_what_was_killed(options)
    try:
        return command.run(options, space)
    except SettingsError as error:
        sys.stderr.write(f"{say(str(error))}\n")
        return 52
    except ToolError as error:
        from dogu.serve.exit_codes import of_call

        sys.stderr.write(f"{say(error.message)}\n")
        return of_call(error.kind)


def _with_help(words: list[str]) -> list[str]:
    return [*words[1:], "--help"] if words[:1] == ["help"] and len(words) <= 2 else words


def _is_misspelled(words: list[str]) -> bool:
    """Whether the line begins with a command's name misspelled, which has been told: a prompt would cost money."""
    if not words or words[0].startswith("-") or not words[0].replace("-", "").isalpha():
        return False
    from difflib import get_close_matches

    nearest = get_close_matches(words[0], about(), 1, 0.82)
    for name in nearest:
        refusal = say(
            "There is no command {word}. Did you mean dogu {name}? To ask the model: dogu -p '{word}'",
            word=words[0],
            name=name,
        )
        _tell_as_json(words, "usage", refusal)
        sys.stderr.write(f"{refusal}\n")
    return bool(nearest)


def _finish_what_was_killed(options: Options) -> None:
    """Whatever dogu is to do now, nothing half done of a killed one stays in a workspace."""
    pending = os.path.join(options.state_folder, "pending")
    try:
        is_any = any(name.endswith(".journal") for name in os.listdir(pending))
    except OSError:
        return
    if is_any:
        from dogu.app.undoing import finish_interrupted

        for line in finish_interrupted(options, pending):
            sys.stderr.write(f"{line}\n")


def _imported(name: str) -> ModuleType:
    """Return a command's module; signals that waited come now, but to the door that has words for them itself."""
    command = command_module(name)
    if name:
        release()
    return command


def _parsed(name: str, words: list[str], given: Namespace | None) -> Namespace:
    words = words[1:] if name else words
    try:
        space = command_parser(name).parse_intermixed_args(_with_marks(words), given)
    except SystemExit as ended:
        if ended.code == 2 and not name:
            _tell_as_json(words, "usage", str(ended.__context__ or ""))
        raise
    assert space is not None
    for key, value in vars(space).items():
        is_list = isinstance(value, list)
        setattr(space, key, [*map(_without_mark, cast("list[object]", value))] if is_list else _without_mark(value))
    return space


def _with_marks(words: list[str]) -> list[str]:
    """Mark what stands behind `--`, which is no option: the second pass of an intermixed line forgets that."""
    end = words.index("--") if "--" in words else len(words)
    return [*words[:end], *(_MARK + word for word in words[end + 1 :])]


def _without_mark(value: object) -> object:
    return value.removeprefix(_MARK) if isinstance(value, str) else value


def _tell_as_json(words: list[str], kind: str, why: str) -> None:
    """Say also as JSON what is wrong before a command takes over, where that was asked for."""
    probe = ArgumentParser(add_help=False, exit_on_error=False)
    probe.add_argument("--output-format", default="")
    wanted = probe.parse_known_args(words)[0].output_format
    if wanted in ("json", "stream-json"):
        from dogu.commands.print import tell_early

        tell_early(wanted, kind, why or say("The command line isn't valid: standard error says why."))


def _guard_terminal() -> None:
    """Have nothing obeyed of what a command prints of a model's, a file's or a program's words."""
    if sys.stdout.isatty() or sys.stderr.isatty():
        guard_terminal()


def command_module(name: str) -> ModuleType:
    """Return the module of a command, or with no name of the terminal."""
    return import_module(f"dogu.commands.{name.replace('-', '_') or 'terminal'}")


def _choose_language(words: list[str]) -> SettingsFiles | None:
    """Speak the language of `--lang`, else of the settings, else of the locale, before the first word is said.

    Return the settings files that were read for it.
    """
    wanted = ""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word == "--lang":
            wanted = following
        elif word.startswith("--lang="):
            wanted = word.removeprefix("--lang=")
    files = files_here()
    speak(wanted or (files.language if files is not None else "") or language_of_locale())
    setattr(argparse, "_", say)  # noqa: B010  (its own headings and errors; the name is no public one of its module)
    return files


def _common_before_command(words: list[str]) -> tuple[Namespace | None, list[str]]:
    """Take the common options that stand before a command's name: `dogu --root DIR doctor`."""
    if not words or not words[0].startswith("--"):
        return None, words
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    _common(parser)
    try:
        given, rest = parser.parse_known_args(words)
    except argparse.ArgumentError:
        return None, words  # the program's own parser says it, with all of its options
    return (given, rest) if rest and rest[0] in about() else (None, words)


def _usage_of(parser: ArgumentParser) -> str:
    """Work the usage out here: argparse would cut an English heading's length from it, whatever the language."""
    return parser.format_usage().removeprefix(say("usage: ")).strip().replace("%", "%%")


def command_parser(name: str) -> ArgumentParser:
    """Make the parser of a command, or with no name of the program where none is named."""
    parser = _parser_of(name)
    command_module(name).add_arguments(parser)
    _common(parser)
    parser.usage = _usage_of(parser)
    return parser


def whole_parser() -> ArgumentParser:
    """Make one parser of all, for what describes the program; each start makes that of its command only."""
    whole = ArgumentParser(prog="dogu", formatter_class=RawDescriptionHelpFormatter)
    own = command_parser("")
    whole.usage, whole.description = own.usage, own.description
    for action in own._actions:  # argparse has no public way to them
        if action.option_strings and action.dest != "help":
            whole._add_action(action)
    commands = whole.add_subparsers(metavar="COMMAND")
    for name, description in about().items():
        command = commands.add_parser(name, help=description)
        command_module(name).add_arguments(command)
        _common(command)
    return whole


def _parser_of(name: str) -> ArgumentParser:
    program = f"dogu {name}".strip()
    description = about()[name] if name else _overview()

    class Parser(ArgumentParser):
        """Tells when its help can't be written, which argparse keeps to itself."""

        def print_help(self, file: SupportsWrite[str] | None = None) -> None:
            (file or sys.stdout).write(self.format_help())

    return Parser(prog=program, description=description, formatter_class=RawDescriptionHelpFormatter)


def _overview() -> str:
    rows = {
        "dogu": say("talk in the terminal"),
        say('dogu "question"'): say("the same, with a first prompt"),
        say('dogu -p "question"'): say("answer one prompt and exit (piped input is added to it)"),
        **{f"dogu {name}": text for name, text in about().items()},
    }
    title = say("A coding agent that reads, searches, edits and runs in this folder, and loses nothing.")
    return "\n".join([title, "", *(f"  {padded(usage, 20)} {text}" for usage, text in rows.items())])


def _common(parser: ArgumentParser) -> None:
    group = parser.add_argument_group(say("common"))
    group.add_argument("--root", metavar="DIR", help=say("the workspace root (default: the current folder)"))
    group.add_argument(
        "--include-directories", metavar="DIR", action="append", help=say("one more root; may be repeated")
    )
    group.add_argument("--settings", metavar="FILE", help=say("one more settings file, above the others"))
    group.add_argument(
        "--approval-mode", choices=["default", "auto_edit", "plan", "yolo"], help=say("which actions ask first")
    )
    group.add_argument(
        "--commands",
        choices=["keep", "ask", "discard"],
        help=say("whether what a command changed is kept: always, when you have seen it and say yes, or never"),
    )
    group.add_argument("--model", metavar="NAME", help=say("the model, a profile of the settings, or `offline`"))
    group.add_argument("--effort", choices=["none", "low", "medium", "high"], help=say("how much the model thinks"))
    group.add_argument("--system-prompt", metavar="TEXT", help=say("the system prompt, in place of dogu's own"))
    group.add_argument("--append-system-prompt", metavar="TEXT", help=say("a text added to the system prompt"))
    group.add_argument("--max-turns", metavar="N", type=int, help=say("the most requests to the model for one prompt"))
    group.add_argument(
        "--max-cost",
        metavar="USD",
        type=float,
        help=say("the most that the session may cost in US dollars, resumed or not"),
    )
    group.add_argument(
        "--retry-for",
        metavar="TIME",
        type=seconds,
        help=say("how long to retry after rate limits, overloads and broken connections (10m)"),
    )
    group.add_argument(
        "--allowed-tools",
        metavar="LIST",
        action="append",
        help=say("what runs without asking: 'write_file, run_shell_command(git log)'; may be repeated"),
    )
    group.add_argument(
        "--container",
        action="store_true",
        help=say("for a machine that is thrown away: no sandbox, all of it is a root, nothing asks (yolo)"),
    )
    group.add_argument(
        "--keep-jobs",
        action=BooleanOptionalAction,
        default=None,
        help=say("keep background jobs after the session, or end them (dogu jobs lists and stops them)"),
    )
    group.add_argument("--lang", choices=[*LANGUAGES, PSEUDO], metavar="LANG", help=say("en, ja, ko, zh-CN or zh-TW"))
