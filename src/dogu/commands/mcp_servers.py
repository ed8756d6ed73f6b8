"""`dogu mcp-servers`: see, add, remove, try and log in to MCP servers."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from anyio import to_thread

from dogu.app import Options
from dogu.app.mcp_commands import add_entry, log_in, log_out, look_at, remove_entry
from dogu.commands.running import run_async
from dogu.contract import ErrorKind, ToolError
from dogu.language import plain, say
from dogu.workspace.visible import make_visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dogu.app.mcp_commands import ServerState

_ACTIONS = ["list", "add", "remove", "test", "login", "logout"]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="list")
    parser.add_argument("alias", nargs="?", help=say("the server's name in the settings"))
    parser.add_argument("command", nargs="*", help=say("add: the program and its arguments, after --"))
    parser.add_argument("--url", help=say("add: the address of a remote server"))
    parser.add_argument("--env", metavar="NAME=VALUE", action="append", help=say("add: a variable for the program"))
    parser.add_argument("--header", metavar="NAME=VALUE", action="append", help=say("add: a header of each request"))
    parser.add_argument("--timeout", metavar="MS", type=int, help=say("add: milliseconds that one call may take"))
    parser.add_argument("--trust", action="store_true", help=say("add: its calls need no approval"))
    parser.add_argument("--project", action="store_true", help=say("add: to this folder's settings, not to yours"))
    parser.add_argument("--json", action="store_true", help=say("print one JSON object"))


def run(options: Options, space: Namespace) -> int:
    """Do what the action says."""
    if space.action == "list":
        return _show(options, space, "")
    if space.action == "add" and not (space.alias and (space.command or space.url)):
        sys.stderr.write(say("Which server? dogu mcp-servers add NAME -- COMMAND, or NAME --url ADDRESS") + "\n")
        return 2
    if not space.alias:
        sys.stderr.write(say("Which server? dogu mcp-servers list shows them.") + "\n")
        return 2
    match space.action:
        case "add":
            return _add(options, space)
        case "remove":
            return _remove(options, space.alias)
        case "login":
            return _log_in(options, space.alias)
        case "logout":
            return _log_out(options, space.alias)
        case _:
            return _show(options, space, space.alias)


def _show(options: Options, space: Namespace, alias: str) -> int:
    async def look() -> int:
        states, problems = await look_at(options, alias)
        if space.json:
            answer = {"servers": states, "problems": problems}
            sys.stdout.write(msgspec.json.format(msgspec.json.encode(answer, enc_hook=plain)).decode() + "\n")
        else:
            for problem in problems:
                sys.stderr.write(f"{say(problem)}\n")
            _print_states(states, whole=bool(alias))
        return 0 if all(state.state == "ready" for state in states) and not problems else 1

    return run_async(look)


def _print_states(states: Sequence[ServerState], *, whole: bool) -> None:
    if not states:
        print(say("There are no MCP servers. To add one: dogu mcp-servers add NAME -- COMMAND"))
    for state in states:
        lines = [f"{state.alias}: {_state(state)}", f"  {state.way}"]
        words = (*say(state.problem).splitlines(), state.advice, *map(say, state.notes))
        lines += [f"  {line}" for line in words if line]
        for heading, names in (
            (say("tools"), state.tools),
            (say("prompts"), state.prompts),
            (say("resources"), state.resources),
        ):
            lines += _listed(heading, names, len(names) if whole else 20)
        for name, description in state.descriptions.items() if whole else ():
            lines += ["", f"  {name}", *(f"    {line}" for line in description.splitlines())]
        print(make_visible("\n".join(lines)))


def _state(state: ServerState) -> str:
    if state.state == "ready":
        return say("ready, {count} tools, protocol {protocol}", count=len(state.tools), protocol=state.protocol)
    return say("needs a login") if state.state == "wants login" else say("can't be used")


def _listed(heading: str, names: Sequence[str], most: int) -> list[str]:
    if not names:
        return []
    more = [say("and {count} more", count=len(names) - most)] if len(names) > most else []
    return [f"  {heading}: {', '.join([*names[:most], *more])}"]


def _add(options: Options, space: Namespace) -> int:
    file, was_there = add_entry(options, space.alias, _row_of(space), in_folder=space.project)
    if was_there:
        print(say("Replaced {alias} in {file}. Try it: dogu mcp-servers test {alias}", alias=space.alias, file=file))
    else:
        print(say("Added {alias} to {file}. Try it: dogu mcp-servers test {alias}", alias=space.alias, file=file))
    if space.project:
        print(say("A folder's servers are used once you trust the folder: dogu config trust"))
    return 0


def _row_of(space: Namespace) -> dict[str, Any]:
    """Make the entry that the words describe."""
    row: dict[str, Any] = {
        "command": space.command[0] if space.command else None,
        "args": space.command[1:],
        "url": space.url,
        "env": dict(map(_pair, space.env or ())),
        "headers": dict(map(_pair, space.header or ())),
        "timeout": space.timeout,
        "trust": space.trust,
    }
    return {key: value for key, value in row.items() if value}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, say("{text} isn't NAME=VALUE.", text=repr(text)))
    return name, value


def _remove(options: Options, alias: str) -> int:
    file, others = remove_entry(options, alias)
    print(say("Removed {alias} from {file}.", alias=alias, file=file))
    for other in others:
        print(say("{file} has an entry of that name too, which is used now.", file=other))
    return 0


def _log_in(options: Options, alias: str) -> int:
    async def show(address: str) -> bool:
        print(say("Log in to {alias} at this address:", alias=alias), address, sep="\n", flush=True)
        await to_thread.run_sync(webbrowser.open, address)
        return True

    async def talk() -> int:
        tools = await log_in(options, alias, show)
        print(say("{alias} can be used. Tools: {count}.", alias=alias, count=tools))
        return 0

    return run_async(talk)


def _log_out(options: Options, alias: str) -> int:
    was_in = log_out(options, alias)
    print(say("Logged out.") if was_in else say("Not logged in."))
    return 0
