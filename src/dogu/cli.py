"""The command line: words into options, options into a door."""

from __future__ import annotations

import os
import sys

from dogu.streams import give_up_output, is_of_output, open_closed_streams, prepare_streams

TYPE_CHECKING = False  # typing's own costs 8 ms, a third of `dogu --version`
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from types import ModuleType

    from dogu.app import Options


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
    from dogu.commands.parsers import choose_language, common_before_command
    from dogu.contract import ToolError
    from dogu.language import say
    from dogu.settings import SettingsError
    from dogu.settings.gemini_places import add_env_file

    try:
        add_env_file(os.path.expanduser("~"), os.environ)
    except SettingsError as error:
        sys.stderr.write(f"{say(str(error))}\n")
        return 52
    files = choose_language(words)
    given, words = common_before_command(words)
    name = words[0] if words and words[0] in about() else ""
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
    from dogu.commands.parsers import command_module
    from dogu.commands.signals import release

    command = command_module(name)
    if name:
        release()
    return command


def _parsed(name: str, words: list[str], given: Namespace | None) -> Namespace:
    from dogu.commands.parsers import command_parser

    try:
        space = command_parser(name).parse_intermixed_args(words[1:] if name else words, given)
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


def _guard_terminal() -> None:
    """Have nothing obeyed of what a command prints of a model's, a file's or a program's words."""
    if sys.stdout.isatty() or sys.stderr.isatty():
        from dogu.workspace.visible import guard_terminal

        guard_terminal()


if __name__ == "__main__":
    sys.exit(main())
