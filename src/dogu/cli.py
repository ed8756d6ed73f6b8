"""The command line: words into options, options into a door."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing's own costs 8 ms, a third of `dogu --version`
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dogu.app import Options

COMMANDS = ("config", "call", "tools", "policy", "undo", "sessions", "mcp", "doctor", "tour")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words in (["--version"], ["-V"]):
        from dogu.version import __version__

        print(f"dogu {__version__}")
        return 0
    _prepare_streams()
    try:
        return _run(words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _give_up_output()
        return 1
    except Exception as error:  # the last line of defence: a defect is told, not dumped
        import os

        if os.environ.get("DOGU_DEBUG"):
            raise
        sys.stderr.write(f"dogu failed, which is a defect of dogu: {type(error).__name__}: {error}\n")
        sys.stderr.write("DOGU_DEBUG=1 shows where.\n")
        return 1


def _run(words: list[str]) -> int:
    from dogu.app import Options
    from dogu.contract import ToolError
    from dogu.settings import SettingsError

    command = words[0] if words and words[0] in COMMANDS else ""
    parser = _parser_of(command)
    space = parser.parse_intermixed_args(words[1:] if command else words)
    try:
        return _run_command(command, Options.of(space), space)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 52
    except ToolError as error:
        sys.stderr.write(f"{error.message}\n")
        return 54


def _run_command(command: str, options: Options, space: Namespace) -> int:
    from dogu import commands

    if command:
        return getattr(commands, f"run_{command}")(options, space)
    if space.print is not None or space.output_format != "text" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return commands.run_print(options, space)
    return commands.run_terminal(options, space)


def _parser_of(command: str) -> ArgumentParser:
    from argparse import ArgumentParser, RawDescriptionHelpFormatter

    parser = ArgumentParser(
        prog=f"dogu {command}".strip(), description=_ABOUT[command], formatter_class=RawDescriptionHelpFormatter
    )
    if command in _COMMAND_ARGUMENTS:
        _COMMAND_ARGUMENTS[command](parser)
    _common(parser)
    return parser


def _common(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("common")
    group.add_argument("--root", metavar="DIR", help="the workspace root (default: the present folder)")
    group.add_argument("--include-directories", metavar="DIR", action="append", help="one more root; may be repeated")
    group.add_argument("--settings", metavar="FILE", help="one more settings file, above the others")
    group.add_argument("--approval-mode", choices=["default", "auto_edit", "plan", "yolo"], help="what asks first")
    group.add_argument("--model", metavar="NAME", help="the model, or `offline`")


def _main_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("question", nargs="*", help="a first prompt; @path reads a file into it")
    parser.add_argument("-p", "--print", metavar="PROMPT", help="answer this and exit, without a person")
    parser.add_argument("--output-format", choices=["text", "json", "stream-json"], default="text")
    parser.add_argument("-V", "--version", action="store_true", help="print the version")


def _call_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tool", nargs="?", help="the tool's name; `dogu tools` lists them")
    parser.add_argument("arguments", nargs="*", help="one JSON object, or key=value ...")
    parser.add_argument("--json", action="store_true", help="print {llmContent, returnDisplay, error}")
    parser.add_argument("--jsonl", action="store_true", help="read {id?, tool, args} lines, answer each with one line")


def _config_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["show", "trust", "untrust"], default="show")


def _tools_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--declarations", action="store_true", help="print the FunctionDeclarations as sent, as JSON")


def _policy_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=["explain"])
    parser.add_argument("text", nargs="?", metavar="COMMAND", help="the shell command to judge")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--jsonl", action="store_true", help="judge {id?, command, coreTools?, ...} lines")


def _undo_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("call", nargs="?", metavar="CALL", help="the call to undo (default: the last change)")
    parser.add_argument("--session", metavar="ID", help="the session (default: the last one of this folder)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--to", action="store_true", help="undo everything back to CALL, CALL included")
    which.add_argument("--turn", action="store_true", help="undo all that was done for the same prompt")
    parser.add_argument("--force", action="store_true", help="undo although something changed the file since")


def _sessions_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["list", "show"], default="list")
    parser.add_argument("session", nargs="?", metavar="ID", help="the session to show (default: the last one)")


def _mcp_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--http", metavar="PORT", type=int, help="serve over HTTP at this port of 127.0.0.1 (0: any)")


_COMMAND_ARGUMENTS = {
    "": _main_arguments,
    "call": _call_arguments,
    "config": _config_arguments,
    "tools": _tools_arguments,
    "policy": _policy_arguments,
    "undo": _undo_arguments,
    "sessions": _sessions_arguments,
    "mcp": _mcp_arguments,
}

_ABOUT = {
    "": """\
An agent that reads, searches, edits and runs, in this folder, with nothing lost.

  dogu                        talk in the terminal
  dogu "question"             the same, with a first prompt
  dogu -p "question"          one answer, without a person (piped input joins the prompt)
  dogu call TOOL key=value    one tool call, without a model
  dogu tools                  the tools
  dogu policy explain 'CMD'   may this command run, and why
  dogu undo                   take back the last change a session made
  dogu sessions               what was done, by which call
  dogu mcp                    serve the same tools to another agent, over MCP
  dogu config                 the settings in force; trust this folder's own
  dogu doctor                 check the key, the sandbox, ripgrep, the settings
  dogu tour                   a short tour in a temporary copy of a sample project""",
    "config": "Show the settings in force and where they come from; trust this folder's own settings, or don't.",
    "call": "Run one tool call, or calls from JSON lines, without a model.",
    "tools": "List the tools of this workspace.",
    "policy": "Say whether a shell command may run under the settings in force, and why.",
    "undo": "Take back what a session changed, byte for byte.",
    "sessions": "List sessions, or show what one did.",
    "mcp": "Serve the tools to another agent over the Model Context Protocol: standard streams, or HTTP.",
    "doctor": "Check what dogu needs, and say what to do about what is missing.",
    "tour": "See dogu list, read, search, edit and run in a temporary copy of a sample project.",
}


def _prepare_streams() -> None:
    """Let any name or text be printed: what the stream can't hold is escaped, not fatal."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  (text streams have it; a test's may not)


def _give_up_output() -> None:
    """The reader went away: stop writing, and let the interpreter's last flush find nobody."""
    import os

    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
