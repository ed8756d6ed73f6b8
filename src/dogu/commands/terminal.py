"""`dogu`: talk in the terminal, or answer once where there is none."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dogu.app import Door, Options, Start, read_settings
from dogu.commands import seconds
from dogu.commands.running import run_async, settling_jobs
from dogu.commands.signals import release
from dogu.contract import ToolError
from dogu.language import say
from dogu.version import __version__
from dogu.workspace.event_loop import keeping_typed
from dogu.workspace.visible import visible_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dogu.serve.terminal.conversation import Conversation
    from dogu.serve.terminal.opening import OpenedScreen
    from dogu.serve.terminal.screen import Screen, TypedAhead
    from dogu.serve.terminal.sessions import NextSession
    from dogu.settings import Settings


_THREADS_TAKE_S = 1.0
_CLEAR = "\x1b[H\x1b[2J"  # what has scrolled off stays: it was the session's


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the program's own arguments, for when no command is named."""
    parser.add_argument("question", nargs="*", help=say("a first prompt; @path reads a file into it"))
    parser.add_argument("-p", "--print", metavar="PROMPT", nargs="?", const="", help=say("answer this prompt and exit"))
    parser.add_argument("--output-format", choices=["text", "json", "stream-json"], default="text")
    parser.add_argument(
        "--input-format",
        choices=["text", "stream-json"],
        default="text",
        help=say("with stream-json: a conversation by pipe, a prompt in each line of JSON"),
    )
    parser.add_argument(
        "--image", metavar="FILE", action="append", help=say("with -p: a picture beside the prompt; may be repeated")
    )
    parser.add_argument(
        "--output-schema", metavar="FILE", help=say("with -p: the JSON schema that the last answer must fit")
    )
    parser.add_argument(
        "--timeout", metavar="TIME", type=seconds, help=say("with -p: the longest the run may take (90, 10m, 2h)")
    )
    parser.add_argument(
        "--resume", metavar="ID", nargs="?", const="", help=say("continue a session (default: the last one here)")
    )
    parser.add_argument(
        "--fork",
        metavar="ID",
        nargs="?",
        const="",
        help=say("continue with a copy of a session; the session stays as it is"),
    )
    parser.add_argument(
        "--unverified", action="store_true", help=say("continue a session whose record was damaged or changed")
    )
    parser.add_argument("--screen-reader", action="store_true", help=say("plain text that is never redrawn"))
    parser.add_argument(
        "-V", "--version", action="version", version=f"dogu {__version__}", help=say("print the version")
    )


def run(options: Options, space: Namespace) -> int:
    """Talk with the user at the terminal."""
    is_for_scripts = space.output_format != "text" or space.input_format != "text" or space.output_schema
    if space.print is not None or is_for_scripts or not (sys.stdin.isatty() and sys.stdout.isatty()):
        from dogu.commands import print as print_once

        return print_once.run(options, space)

    release()
    try:
        options = _at_session(options)
    except ToolError as error:
        from dogu.serve.exit_codes import ExitCode

        sys.stderr.write(f"{visible_line(say(error.message))}\n")
        return ExitCode.BAD_INPUT

    async def talk() -> int:
        from dogu.serve.terminal.screen import Message, TypedAhead

        nonlocal options
        prompt, before = " ".join(space.question), None
        ahead = TypedAhead((Message(prompt),) if prompt else ())
        with ExitStack() as terminal:
            while True:
                try:
                    left = await _converse(options, ahead, terminal, is_plain=space.screen_reader)
                except (ToolError, OSError) as error:
                    if before is None:
                        raise
                    print(visible_line(say(error.message) if isinstance(error, ToolError) else str(error)))
                    options, before = before, None
                    continue
                if left.following is None:
                    return left.status
                options, before, ahead = left.following, left.again, left.ahead

    return _without_threads(run_async(talk))


def _without_threads(status: int) -> int:
    """Return the status; where a thread reads or waits for what may never come, end the process without it.

    The interpreter would join it. Everything that must be undone or closed has been by now.
    """
    deadline = time.monotonic() + _THREADS_TAKE_S
    mine = threading.current_thread()
    others = [thread for thread in threading.enumerate() if thread is not mine and not thread.daemon]
    for thread in others:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in others):
        print(say("Exited without waiting for a file or a program that doesn't respond."), flush=True)
        os._exit(status)
    return status


def _at_session(options: Options) -> Options:
    """Name the session that is wished, where one is: what knows of sessions needn't be loaded for a new one."""
    if options.resume is None and options.fork is None:
        return options
    from dogu.app.sessions import at_session

    return at_session(options)


class _Left(Struct, frozen=True):
    """How a session was left: the exit status, the session that is to follow, and this one, to be gone back to.

    `ahead` was typed for what follows.
    """

    status: int
    ahead: TypedAhead
    following: Options | None = None
    again: Options | None = None


async def _converse(options: Options, ahead: TypedAhead, terminal: ExitStack, *, is_plain: bool) -> _Left:
    """Converse in one session; `terminal` puts the terminal back once the last one has been left."""
    from dogu.serve.terminal.opening import ScreenOptions, draws, open_screen

    settings = read_settings(options)
    ui = settings.ui
    look = ScreenOptions(
        theme=ui.theme,
        is_plain=ui.screen_reader or is_plain,
        ambiguous_is_wide=ui.ambiguous_is_wide,
        state_folder=options.state_folder,
        root=options.absolute_root,
        keys=ui.keys,
        notify=ui.notify,
        mouse=ui.mouse,
    )
    typed = terminal.enter_context(keeping_typed(sys.stdin.fileno())) if draws(look) else b""
    opened_screen = open_screen(look)
    with opened_screen.screen.early():
        return await _open(options, settings, opened_screen, ahead, typed)


async def _open(
    options: Options, settings: Settings, opened_screen: OpenedScreen, ahead: TypedAhead, typed: bytes
) -> _Left:
    """Open the session behind the input box, which stands there already, and converse."""
    from dogu.app.agent import agent_of
    from dogu.app.extending import set_trust, waiting_for_trust
    from dogu.app.sessions import check_resumable
    from dogu.serve.terminal.confirm import TerminalConfirm
    from dogu.serve.terminal.conversation import Conversation, Talk
    from dogu.serve.terminal.message import typed_early
    from dogu.serve.terminal.opening import load_client
    from dogu.serve.terminal.screen import TypedAhead
    from dogu.serve.terminal.sessions import SessionPlace
    from dogu.serve.terminal.status import StatusLine, settings_problems

    ui, screen = settings.ui, opened_screen.screen
    if typed:
        early = typed_early(typed)
        ahead = TypedAhead((*ahead.messages, *early.messages), early.unsent)
    confirm = TerminalConfirm(screen, editor=ui.editor or None)

    def check(session: NextSession) -> None:
        check_resumable(_following(options, session))

    start = Start(options, settings, Door(confirm, confirm.elicit, confirm.go_on))
    async with agent_of(start) as opened, settling_jobs(opened.runtime):
        opened_screen.use_commands(opened.slash)
        is_offline = opened.connections.provider() == "offline"
        is_unconnected = is_offline and opened.settings.model.name != "offline"
        talk = Talk(
            opened.agent,
            opened.runtime,
            opened.read_prompt,
            opened.slash,
            opened.connections,
            SessionPlace(opened.runtime.session_folder, options.real_root, options.state_folder, check),
            StatusLine(opened.agent, opened.runtime, opened.housekeeping, ui.status_line),
            lambda trusts: set_trust(options, is_trusted=trusts),
            bool(waiting_for_trust(options, opened.settings)),
            is_unconnected,
            is_resumed=options.resume is not None or options.fork is not None,
            keys=ui.keys,
        )
        warm_up = opened_screen.warm_up if is_offline else (load_client, *opened_screen.warm_up)
        conversation = Conversation(talk, screen, confirm, warm_up=warm_up)
        status = await conversation.run(ahead, [*opened.greeting(), *settings_problems(ui.keys, ui.status_line)])
        session_id = opened.session_id if opened.agent.history.contents else ""
    return _left(options, screen, conversation, status, session_id)


def _left(options: Options, screen: Screen, conversation: Conversation, status: int, session_id: str) -> _Left:
    """Say how the session is gone on with, where it has anything to go on with, and what follows it."""
    from dogu.serve.terminal.cells import wrapped
    from dogu.serve.terminal.screen import TypedAhead
    from dogu.serve.terminal.sessions import NextSession

    if conversation.next is None:
        if session_id:
            print(wrapped(say("To continue this session: dogu --resume {id}", id=session_id), screen.columns))
        return _Left(status, TypedAhead())
    if conversation.next.clears and screen.is_live:
        print(_CLEAR, end="", flush=True)
    again = _following(options, NextSession(session_id))
    return _Left(status, conversation.typed_ahead, _following(options, conversation.next), again)


def _following(options: Options, session: NextSession) -> Options:
    """Name the session that follows, or a new one in the same folder; settings are read anew. Raises `ToolError`."""
    also = (*options.include_directories, *([session.adds] if session.adds else []))
    options = replace(options, settings_files=None, unverified=session.is_unverified, include_directories=also)
    if session.session_id:
        return _at_session(replace(options, root=None, resume=session.session_id, fork=None))
    return replace(options, resume=None, fork=None)
