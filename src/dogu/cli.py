"""The command line: words into options, options into a door."""

from __future__ import annotations

import os
import sys

from dogu.streams import give_up_output, is_of_output, open_closed_streams, prepare_streams

TYPE_CHECKING = False  # typing's own costs 8 ms, a third of `dogu --version`
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from types import ModuleType

    from _typeshed import SupportsWrite

    from dogu.app import Options
    from dogu.settings import SettingsFiles


# In English: where these are said, no catalog can be read.
_IN_ARCHIVE = "dogu can't run from an archive (a zipapp): install it, as with `pipx install .`\n"
_NO_MEMORY = "There isn't enough memory.\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    import gc

    open_closed_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    gc.disable()  # `run_async` looks for garbage once the program has started: what that makes is there to stay
    try:
        try:
            return _main(words)
        finally:
            sys.stdout.flush()  # not by the interpreter's end, which has no words for what goes wrong
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        give_up_output()
        return 141  # as a shell tells of SIGPIPE
    except Exception as error:  # the last line of defence: a defect is told, not dumped
        if isinstance(error, OSError) and is_of_output(error):
            return _tell_output_lost(error)
        if _wants_dump():
            raise
        return _tell_defect(error, is_last=argv is None)
    finally:
        if argv is None:  # the process ends: nobody is to look through its objects once more, which takes 40 ms
            gc.freeze()
        gc.enable()


def _say_no_more(_: object) -> None:
    """Leave out what objects complain of that were half made when the program failed, such as an event loop."""


def _main(words: list[str]) -> int:
    if words in (["--version"], ["-V"]):
        from dogu.version import __version__

        print(f"dogu {__version__}")
        return 0
    if sorted(words) in (["--json", "--version"], ["--json", "-V"]):
        return _print_version_as_json()
    prepare_streams()
    if not os.path.exists(__file__):  # what it starts are programs and tables beside this file
        sys.stderr.write(_IN_ARCHIVE)
        return 54
    return _run(words)


def _tell_output_lost(error: OSError) -> int:
    from dogu.language import say

    give_up_output()
    message = say("Standard output can't be written: {reason}.", reason=error.strerror)
    sys.stderr.write(f"{message}\n")
    return 74


def _wants_dump() -> bool:
    return bool(os.environ.get("DOGU_DEBUG"))


def _tell_defect(error: Exception, *, is_last: bool = False) -> int:
    if is_last:
        sys.unraisablehook = _say_no_more
    try:
        from dogu.serve.defects import failure_of

        failure = failure_of(error)
    except (ImportError, OSError, MemoryError):  # what is refused may be this
        sys.stderr.write(_NO_MEMORY if isinstance(error, MemoryError) else f"{type(error).__name__}: {error}\n")
        return 70
    sys.stderr.write(f"{failure.words}\n")
    return failure.code


def _print_version_as_json() -> int:
    import json
    import platform

    from dogu.version import __version__

    version = {
        "name": "dogu",
        "distribution": "dogu-agent",
        "version": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
    }
    print(json.dumps(version))
    return 0


def _run(words: list[str]) -> int:
    from dogu.commands.signals import hold, release

    hold()
    try:
        return _command(words)
    finally:
        release()


def _command(words: list[str]) -> int:
    from dogu.app import Options
    from dogu.commands import about
    from dogu.contract import ToolError
    from dogu.language import say
    from dogu.settings import SettingsError
    from dogu.settings.gemini_places import add_env_file

    try:
        add_env_file(os.path.expanduser("~"), os.environ)
    except SettingsError as error:
        sys.stderr.write(f"{say(str(error))}\n")
        return 52
    files = _choose_language(words)
    given, words = _common_before_command(words)
    name = words[0] if words and words[0] in about() else ""
    command = _imported(name)
    space = _parsed(name, words, given)
    if name in ("completion", "man"):
        vars(space).update(whole_parser=_whole_parser, command_parser=_command_parser)
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
        sys.stderr.write(f"{say(error.message)}\n")
        return 54


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
    from importlib import import_module

    from dogu.commands.signals import release

    command = import_module(f"dogu.commands.{name.replace('-', '_') or 'terminal'}")
    if name:
        release()
    return command


def _parsed(name: str, words: list[str], given: Namespace | None) -> Namespace:
    try:
        space = _command_parser(name).parse_intermixed_args(words[1:] if name else words, given)
    except SystemExit as ended:
        if ended.code == 2 and not name:
            _tell_as_json(words, "usage", str(ended.__context__ or ""))
        raise
    assert space is not None
    return space


def _tell_as_json(words: list[str], kind: str, why: str) -> None:
    """Say also as JSON what is wrong before a command takes over, where that was asked for."""
    from argparse import ArgumentParser

    probe = ArgumentParser(add_help=False, exit_on_error=False)
    probe.add_argument("--output-format", default="")
    wanted = probe.parse_known_args(words)[0].output_format
    if wanted in ("json", "stream-json"):
        from dogu.commands.print import tell_early
        from dogu.language import say

        tell_early(wanted, kind, why or say("The command line isn't understood: standard error says why."))


def _choose_language(words: list[str]) -> SettingsFiles | None:
    """Speak the language of `--lang`, else of the settings, else of the locale, before the first word is said.

    Return the settings files that were read for it.
    """
    import argparse

    from dogu.app.options import files_here
    from dogu.language import language_of_locale, say, speak

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
    from argparse import ArgumentParser

    from dogu.commands import about

    if not words or not words[0].startswith("--"):
        return None, words
    parser = ArgumentParser(prog="dogu", add_help=False, allow_abbrev=False)
    _common(parser)
    given, rest = parser.parse_known_args(words)
    return (given, rest) if rest and rest[0] in about() else (None, words)


def _usage_of(parser: ArgumentParser) -> str:
    """Work the usage out here: argparse would cut an English heading's length from it, whatever the language."""
    from dogu.language import say

    return parser.format_usage().removeprefix(say("usage: ")).strip().replace("%", "%%")


def _command_parser(name: str) -> ArgumentParser:
    """Make the parser of a command, or with no name of the program where none is named."""
    from importlib import import_module

    parser = _parser_of(name)
    import_module(f"dogu.commands.{name.replace('-', '_') or 'terminal'}").add_arguments(parser)
    _common(parser)
    parser.usage = _usage_of(parser)
    return parser


def _whole_parser() -> ArgumentParser:
    """Make one parser of all, for what describes the program; each start makes that of its command only."""
    from argparse import ArgumentParser, RawDescriptionHelpFormatter
    from importlib import import_module

    from dogu.commands import about

    whole = ArgumentParser(prog="dogu", formatter_class=RawDescriptionHelpFormatter)
    own = _command_parser("")
    whole.usage, whole.description = own.usage, own.description
    for action in own._actions:  # argparse has no public way to them
        if action.option_strings and action.dest != "help":
            whole._add_action(action)
    commands = whole.add_subparsers(metavar="COMMAND")
    for name, description in about().items():
        command = commands.add_parser(name, help=description)
        import_module(f"dogu.commands.{name.replace('-', '_')}").add_arguments(command)
        _common(command)
    return whole


def _parser_of(name: str) -> ArgumentParser:
    from argparse import ArgumentParser, RawDescriptionHelpFormatter

    from dogu.commands import about

    program = f"dogu {name}".strip()
    description = about()[name] if name else _overview()

    class Parser(ArgumentParser):
        """Tells when its help can't be written, which argparse keeps to itself."""

        def print_help(self, file: SupportsWrite[str] | None = None) -> None:
            (file or sys.stdout).write(self.format_help())

    return Parser(prog=program, description=description, formatter_class=RawDescriptionHelpFormatter)


def _overview() -> str:
    from dogu.commands import about
    from dogu.language import say
    from dogu.workspace.columns import padded

    rows = {
        "dogu": say("talk in the terminal"),
        say('dogu "question"'): say("the same, with a first prompt"),
        say('dogu -p "question"'): say("answer one prompt and exit (piped input is added to it)"),
        **{f"dogu {name}": text for name, text in about().items()},
    }
    title = say("An agent that reads, searches, edits and runs, in this folder, with nothing lost.")
    return "\n".join([title, "", *(f"  {padded(usage, 20)} {text}" for usage, text in rows.items())])


def _common(parser: ArgumentParser) -> None:
    from argparse import BooleanOptionalAction

    from dogu.commands import seconds
    from dogu.language import LANGUAGES, PSEUDO, say

    group = parser.add_argument_group(say("common"))
    group.add_argument("--root", metavar="DIR", help=say("the workspace root (default: the current folder)"))
    group.add_argument(
        "--include-directories", metavar="DIR", action="append", help=say("one more root; may be repeated")
    )
    group.add_argument("--settings", metavar="FILE", help=say("one more settings file, above the others"))
    group.add_argument("--approval-mode", choices=["default", "auto_edit", "plan", "yolo"], help=say("what asks first"))
    group.add_argument(
        "--commands",
        choices=["keep", "ask", "discard"],
        help=say("what becomes of what a command changed: kept, kept if you say so when you have seen it, or never"),
    )
    group.add_argument("--model", metavar="NAME", help=say("the model, a profile of the settings, or `offline`"))
    group.add_argument("--effort", choices=["none", "low", "medium", "high"], help=say("how much the model thinks"))
    group.add_argument(
        "--system-prompt", metavar="TEXT", help=say("what the model is told first, instead of our words")
    )
    group.add_argument("--append-system-prompt", metavar="TEXT", help=say("what the model is told besides"))
    group.add_argument(
        "--max-turns", metavar="N", type=int, help=say("requests to the model that each prompt may lead to")
    )
    group.add_argument(
        "--max-cost",
        metavar="USD",
        type=float,
        help=say("US dollars that the session may cost in all, also when it is resumed"),
    )
    group.add_argument(
        "--retry-for",
        metavar="TIME",
        type=seconds,
        help=say("how long a request that meets a rate limit, an overload or a broken line is sent again (10m)"),
    )
    group.add_argument(
        "--allowed-tools",
        metavar="LIST",
        action="append",
        help=say("what needs no question: 'write_file, run_shell_command(git log)'; may be repeated"),
    )
    group.add_argument(
        "--container",
        action="store_true",
        help=say("this machine is thrown away: no sandbox, the whole of it is a root, nothing asks (yolo)"),
    )
    group.add_argument(
        "--keep-jobs",
        action=BooleanOptionalAction,
        default=None,
        help=say("background jobs live on after the session, or don't (dogu jobs lists and stops them)"),
    )
    group.add_argument("--lang", choices=[*LANGUAGES, PSEUDO], metavar="LANG", help=say("en, ja, ko, zh-CN or zh-TW"))


def _guard_terminal() -> None:
    """Have nothing obeyed of what a command prints of a model's, a file's or a program's words."""
    if sys.stdout.isatty() or sys.stderr.isatty():
        from dogu.workspace.visible import guard_terminal

        guard_terminal()


if __name__ == "__main__":
    sys.exit(main())
