"""The program's commands: each opens what it needs and hands it to a door."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast

from dogu.app import Options, open_agent, open_runtime, read_settings

if TYPE_CHECKING:
    from argparse import Namespace


_NO_MODEL = """\
No model is connected. Set GEMINI_API_KEY, or name a local model in ~/.dogu/settings.json ("model"), or try the one that
works without a network: dogu --model offline -p 'list files'
"""


def run_print(options: Options, space: Namespace) -> int:
    """Answer one prompt without a person; piped input joins the prompt."""
    from dogu.serve.print import OutputFormat, print_answer

    prompt = _prompt(space)
    if not prompt.strip():
        if space.print is None and not space.question and not sys.stdin.isatty() and space.output_format == "text":
            return run_tour(options, space)
        sys.stderr.write("The prompt is empty: dogu -p 'question', or pipe it in.\n")
        return 42

    from dogu.app.model_choice import open_model

    model = open_model(read_settings(options).model)
    if model.name == "offline" and options.model != "offline":
        sys.stderr.write(_NO_MODEL)
        return 41

    async def answer() -> int:
        async with open_agent(options, model=model) as opened:
            _tell(opened.runtime.notes)
            content = await opened.read_prompt(prompt)
            output_format = OutputFormat(space.output_format)
            return await print_answer(opened.agent, content, output_format, opened.session_id)

    return _run(answer)


def run_terminal(options: Options, space: Namespace) -> int:
    """Talk with the person at the terminal."""
    from dogu.serve.terminal.confirm import TerminalConfirm
    from dogu.serve.terminal.conversation import Conversation

    async def talk() -> int:
        confirm = TerminalConfirm(editor=read_settings(options).ui.editor or None)
        async with open_agent(options, confirm=confirm, ask_to_go_on=confirm.go_on) as opened:
            conversation = Conversation(
                opened.agent,
                opened.runtime,
                opened.read_prompt,
                asked=confirm.asked,
                yolo_is_disabled=opened.settings.tools.yolo_is_disabled,
                greeting=opened.greeting(),
            )
            return await conversation.run(" ".join(space.question))

    return _run(talk)


def run_call(options: Options, space: Namespace) -> int:
    """Run one call, or calls from JSON lines, without a model."""
    from dogu.serve.call import call_lines, call_once
    from dogu.serve.terminal.confirm import TerminalConfirm

    if not space.jsonl and not space.tool:
        sys.stderr.write("Which tool? dogu tools lists them; dogu call read_file path=README.md\n")
        return 2
    has_person = not space.jsonl and not space.json and sys.stdin.isatty() and sys.stderr.isatty()

    async def call() -> int:
        confirm = TerminalConfirm(sys.stderr) if has_person else None
        async with open_runtime(options, confirm=confirm) as runtime:
            _tell(runtime.notes)
            if space.jsonl:
                return await call_lines(runtime, sys.stdin.buffer)
            return await call_once(runtime, space.tool, space.arguments, as_json=space.json)

    return _run(call)


def run_mcp(options: Options, space: Namespace) -> int:
    """Serve the tools over the Model Context Protocol; its client asks the person."""
    from dogu.serve.mcp import serve_mcp
    from dogu.serve.mcp_asking import ElicitationConfirm

    asking = ElicitationConfirm()

    async def serve() -> int:
        async with open_runtime(options, confirm=asking) as runtime:
            return await serve_mcp(runtime, asking, http_port=space.http)

    return _run(serve)


def run_tools(options: Options, space: Namespace) -> int:
    """List the tools."""
    import msgspec

    async def show() -> int:
        async with open_runtime(options) as runtime:
            _tell(runtime.notes)
            if space.declarations:
                sys.stdout.write(
                    msgspec.json.format(msgspec.json.encode(runtime.registry.declarations)).decode() + "\n"
                )
                return 0
            for tool in runtime.registry:
                first = tool.description.split("\n")[0]
                print(f"{tool.name:<20} {tool.display_name:<16} {tool.kind:<8} {first}")
            return 0

    return _run(show)


def run_undo(options: Options, space: Namespace) -> int:
    """Take back what a session of this folder changed."""
    from dogu.app.undoing import Wish, undo
    from dogu.serve.record import print_undo

    wish = Wish(space.call or "", to=space.to, turn=space.turn, force=space.force)
    return print_undo(undo(options, space.session or "", wish))


def run_sessions(options: Options, space: Namespace) -> int:
    """List the sessions of this folder, or show what one did."""
    from dogu.app.undoing import entries_of, find_session
    from dogu.runtime.session_folder import kept_sessions
    from dogu.serve.record import print_entries, print_sessions

    if space.action == "list":
        return print_sessions(kept_sessions(options.state_folder, options.real_root))
    session = find_session(options, space.session or "")
    return print_entries(session, entries_of(options, session))


def run_config(options: Options, space: Namespace) -> int:
    """Show the settings in force, or say whether this folder's own may allow more than yours."""
    from dogu.app.configuring import set_trust, show_settings

    if space.action == "show":
        return show_settings(options)
    return set_trust(options, is_trusted=space.action == "trust")


def run_policy(options: Options, space: Namespace) -> int:
    """Explain what the settings in force say of a command."""
    from dogu.app.explaining import explain_command, explain_rows

    if space.jsonl:
        return explain_rows(options, sys.stdin.buffer)
    if space.text is None:
        sys.stderr.write("Which command? dogu policy explain 'git push'\n")
        return 2
    return explain_command(options, space.text, as_json=space.json)


def run_doctor(options: Options, _space: Namespace) -> int:
    """Check what dogu needs; the status is 1 when something that it can't do without is missing."""
    from dogu.app.checks import checks_of
    from dogu.serve.doctor import print_checks

    settings = read_settings(options)

    async def look() -> int:
        return 0 if print_checks([check async for check in checks_of(options, settings)]) else 1

    return _run(look)


def run_tour(options: Options, _space: Namespace) -> int:
    """Play the tour in a temporary copy of the sample project, with a home of its own."""
    import tempfile

    from dogu.models.offline import Offline
    from dogu.serve.terminal.tour import TourConfirm, play_tour, write_sample_project

    async def tour(folder: str) -> int:
        root, home = os.path.join(folder, "greeter"), os.path.join(folder, "home")
        write_sample_project(root)
        os.mkdir(home)
        visit = Options(root=root, home=home)
        confirm = TourConfirm()
        async with open_agent(visit, confirm=confirm, model=Offline()) as opened:
            print("\n".join(opened.greeting()[:-1]))
            return await play_tour(opened.agent, confirm)

    with tempfile.TemporaryDirectory(prefix="dogu-tour-") as folder:
        return _run(lambda: tour(folder))


def _tell(notes: tuple[str, ...]) -> None:
    """Say on standard error what went wrong when the runtime was opened."""
    for note in notes:
        sys.stderr.write(f"{note}\n")


def _prompt(space: Namespace) -> str:
    parts = [space.print] if space.print is not None else [" ".join(space.question)]
    if not sys.stdin.isatty():
        parts.append(sys.stdin.buffer.read().decode("utf-8", "replace"))
    return "\n\n".join(part for part in parts if part.strip())


def _run(main: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run an async command; SIGTERM and SIGHUP end it as Ctrl-C does, so that clean-up runs."""
    import signal

    import anyio

    code = 130

    async def cancel_on_signal(scope: anyio.CancelScope) -> None:
        watched = [signal.SIGTERM, signal.SIGHUP]
        with anyio.open_signal_receiver(*watched) as signals:
            async for _ in signals:
                scope.cancel()
                return

    async def guarded() -> None:
        nonlocal code
        async with anyio.create_task_group() as group:
            group.start_soon(cancel_on_signal, group.cancel_scope)
            code = await main()
            group.cancel_scope.cancel()

    try:
        anyio.run(guarded)
    except BaseExceptionGroup as group:
        raise _first_of(group) from group
    return code


def _first_of(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
