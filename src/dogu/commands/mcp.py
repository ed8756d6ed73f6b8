"""`dogu mcp`: the tools, served to another agent."""

from __future__ import annotations

import runpy
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import msgspec

from dogu.app import Options, open_runtime
from dogu.commands import port, seconds
from dogu.commands.running import run_async, settling_jobs, tell
from dogu.contract import ErrorKind, ToolError
from dogu.extras import install_command
from dogu.language import say
from dogu.lean_import import lean_import
from dogu.serve.mcp import TASK_AFTER_S
from dogu.serve.mcp.offers import Offers
from dogu.settings import SettingsError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dogu.runtime.runtime import Runtime

_OF_FILES = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError),
    *(SyntaxError, SystemExit, ToolError, TypeError, ValueError),
)  # what running a file of the users may raise
_FOR_ACCOUNTS = tuple(
    f"mcp.server.auth.{name}" for name in ("middleware.bearer_auth", "provider", "routes", "settings")
)  # of which the door has none
_FOR_HTTP_ONLY = ("mcp.server.streamable_http", "mcp.server.streamable_http_manager", "sse_starlette", "starlette")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "--http", metavar="PORT", type=port, help=say("serve over HTTP at this port of 127.0.0.1 (0: any)")
    )
    parser.add_argument(
        "--with", metavar="FILE", dest="own", help=say("serve what this Python file offers, too: its function offer()")
    )
    parser.add_argument(
        "--task-after",
        metavar="TIME",
        type=seconds,
        default=TASK_AFTER_S,
        help=say("a call that lasts longer is answered with a task, where the client takes tasks (default: 2 s)"),
    )


def run(options: Options, space: Namespace) -> int:
    """Serve the tools over the Model Context Protocol; its client asks the user."""
    try:  # the SDK takes half a second, which is paid before the first message
        without = _FOR_ACCOUNTS if space.http is not None else (*_FOR_ACCOUNTS, *_FOR_HTTP_ONLY)
        with lean_import("mcp", "mcp.client", "mcp.server", without=without):
            from dogu.serve.mcp.asking import ElicitationConfirm, elicit_client
            from dogu.serve.mcp.door import serve_mcp
    except ModuleNotFoundError as error:
        message = say("`dogu mcp` needs the package mcp: {command}", command=install_command("mcp"))
        raise ToolError(ErrorKind.START_FAILED, message) from error
    asking = ElicitationConfirm()
    offer = _offering(space.own)

    @asynccontextmanager
    async def open_at(roots: tuple[str, ...]) -> AsyncGenerator[Runtime]:
        also = (*roots[1:], *options.include_directories)
        there = msgspec.structs.replace(options, root=roots[0], include_directories=also, settings_files=None)
        try:
            async with (
                open_runtime(there, confirm=asking, elicit=elicit_client) as runtime,
                settling_jobs(runtime),
            ):
                tell(runtime.notes)
                offer(runtime)
                yield runtime
        except SettingsError as error:  # of that folder: it costs the calls there, not the others
            raise ToolError(ErrorKind.START_FAILED, f"{error}") from error

    async def serve() -> int:
        async with (
            open_runtime(options, confirm=asking, elicit=elicit_client) as runtime,
            settling_jobs(runtime),
        ):
            named = None if options.root else open_at  # a root that was named stands above the client's
            return await serve_mcp(
                runtime,
                asking,
                http_port=space.http,
                offers=offer(runtime),
                open_at=named,
                task_after_s=space.task_after,
            )

    return run_async(serve)


def _offering(file: str | None) -> Callable[[Runtime], Offers | None]:
    """Return the file's `offer`, which is called with each runtime that is served. It and that raise `ToolError`."""
    if file is None:
        return lambda _: None
    with _using(file):
        offer = runpy.run_path(file, run_name="dogu_offer").get("offer")
    if not callable(offer):
        raise _unusable(file, say("it has no function offer(runtime)"))

    def offer_to(runtime: Runtime) -> Offers | None:
        with _using(file):
            found = offer(runtime)
        if found is None or isinstance(found, Offers):
            return found
        raise _unusable(file, f"offer() -> {type(found).__name__}, not Offers")

    return offer_to


@contextmanager
def _using(file: str) -> Generator[None]:
    try:
        yield
    except _OF_FILES as error:
        raise _unusable(file, f"{type(error).__name__}: {error}") from error


def _unusable(file: str, problem: str) -> ToolError:
    return ToolError(ErrorKind.START_FAILED, say("{file} can't be used: {reason}.", file=file, reason=problem))
