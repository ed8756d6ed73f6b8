"""`dogu sessions`: which there are, what they did; export, delete, verify."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dogu.agent.session.lines import verify
from dogu.agent.session.record import record_file
from dogu.app import Options
from dogu.app.sessions import find_recorded, find_stored
from dogu.contract import ToolError
from dogu.language import say
from dogu.runtime.session_expiry import delete_session
from dogu.runtime.session_folder import is_in_use, stored_sessions
from dogu.serve.record import print_chain, print_session, print_sessions

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dogu.runtime.session_folder import StoredSession

_SUFFIX = {"atif": "trajectory.json"}
_ACTIONS = ("list", "show", "export", "delete", "verify")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="list")
    parser.add_argument("session", nargs="*", metavar="ID", help=say("the session (default: the last one here)"))
    parser.add_argument("--all", action="store_true", help=say("list those of every folder"))
    parser.add_argument("--json", action="store_true", help=say("print one JSON object"))
    parser.add_argument("--format", choices=["html", "json", "atif"], default="html", help=say("what to export"))
    parser.add_argument("-o", "--output", metavar="FILE", help=say("where to export to; - is standard output"))


def run(options: Options, space: Namespace) -> int:
    """Do what the action says."""
    act = {"list": _list, "show": _show, "export": _export, "delete": _delete, "verify": _verify}[space.action]
    return act(options, space)


def _list(options: Options, space: Namespace) -> int:
    stored = stored_sessions(options.state_folder, "" if space.all else options.real_root)
    return print_sessions(stored, as_json=space.json, of_all=space.all)


def _show(options: Options, space: Namespace) -> int:
    from dogu.app.undoing import entries_of

    stored = _one(options, space)
    try:
        entries = entries_of(options, stored)
    except ToolError:  # its folders are gone: what was said there is still known
        entries = []
    return print_session(stored, entries, as_json=space.json)


def _export(options: Options, space: Namespace) -> int:
    from dogu.serve.session_export import export_atif, export_html, export_json, open_private

    stored = _one(options, space, is_recorded=True)
    export = {"html": export_html, "json": export_json, "atif": export_atif}[space.format]
    name = space.output or (
        f"dogu-{stored.session_id}.{_SUFFIX.get(space.format, space.format)}" if sys.stdout.isatty() else "-"
    )
    if name == "-":
        export(stored, lambda text: sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace")))
        sys.stdout.buffer.flush()
        return 0
    try:
        with open(name, "w", encoding="utf-8", errors="backslashreplace", opener=open_private) as file:
            export(stored, file.write)
    except OSError as error:
        sys.stderr.write(say("{name} can't be written: {why}", name=name, why=error.strerror or str(error)) + "\n")
        return 1
    sys.stderr.write(say("Saved to {name}.", name=name) + "\n")
    return 0


def _delete(options: Options, space: Namespace) -> int:
    if not space.session:
        sys.stderr.write(say("Which session? dogu sessions delete ID") + "\n")
        return 2
    status = 0
    for stored in [find_stored(options, name) for name in space.session]:
        if is_in_use(stored.path):
            sys.stderr.write(say("Session {id} is in use by another process.", id=stored.session_id) + "\n")
            status = 1
            continue
        delete_session(stored)
        print(say("Deleted {id}. What it changed can't be undone any more.", id=stored.session_id))
    return status


def _verify(options: Options, space: Namespace) -> int:
    stored = _one(options, space, is_recorded=True)
    return print_chain(stored, verify(record_file(stored.path)), as_json=space.json)


def _one(options: Options, space: Namespace, *, is_recorded: bool = False) -> StoredSession:
    name = space.session[0] if space.session else ""
    return (find_recorded if is_recorded else find_stored)(options, name)
