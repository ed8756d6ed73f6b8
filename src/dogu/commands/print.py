"""`dogu -p`: one answer, without a user."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from dogu.agent.slash import Said
from dogu.app import Options, Start, agent_of, read_settings
from dogu.app.model_choice import open_model
from dogu.app.options import check_root
from dogu.app.sessions import at_session
from dogu.commands.headless_input import (
    LARGEST_INPUT_BYTES,
    SHAPE_WORDS,
    Asked,
    Input,
    InputError,
    pictures_of,
    shape_of,
    too_large,
    unreadable_input,
)
from dogu.commands.running import run_async, settling_jobs, tell
from dogu.commands.signals import release
from dogu.contract import ErrorKind, ToolError
from dogu.contract.content import Blob, Text, parts_of
from dogu.language import say
from dogu.serve.defects import failure_of
from dogu.serve.exit_codes import ExitCode, of_call
from dogu.serve.print import Ending, HeadlessRun, OutputFormat, RunFacts
from dogu.serve.run_rows import Change
from dogu.settings import SettingsError
from dogu.workspace.visible import guard_terminal

if TYPE_CHECKING:
    from argparse import Namespace

    from dogu.app import Opened
    from dogu.contract.content import Content
    from dogu.runtime.journal.entries import PathChange
    from dogu.serve.final_answer import FinalAnswer


def run(options: Options, space: Namespace) -> int:
    """Answer one prompt without a user; piped input joins the prompt."""
    guard_terminal()
    with HeadlessRun(OutputFormat(space.output_format), space.timeout, _explained) as headless:
        code = run_async(lambda: _run(options, space, headless), told=headless.signalled)
    if headless.is_passed_on:
        from dogu.commands import tour

        release()
        return tour.run(options, space)
    if space.input_format == "stream-json":
        return headless.code or code  # a signal may come between two prompts
    return headless.code  # what was told last, whatever came after it


# The record of the session to resume isn't as it was written, or is empty.
_NOT_RESUMABLE = (ErrorKind.STALE, ErrorKind.NOT_FOUND)


async def _run(options: Options, space: Namespace, headless: HeadlessRun) -> int:
    with headless.bounded():
        try:
            asked = await _asked(options, space, headless)
        except InputError as error:
            headless.refused(ExitCode.BAD_INPUT, str(error))
            return headless.code
        if asked is None:
            return headless.code
        try:
            options = at_session(options)
        except ToolError as error:
            headless.refused(ExitCode.BAD_INPUT, error.message, str(error.kind))
            return headless.code
        try:
            return await _answer(options, asked, headless)
        except ToolError as error:
            if error.kind not in _NOT_RESUMABLE:
                raise
            headless.refused(ExitCode.BAD_INPUT, error.message, str(error.kind))
            return headless.code
    return headless.code


async def _asked(options: Options, space: Namespace, headless: HeadlessRun) -> Asked | None:
    """Read what is to be answered; None where that is nothing, which has been told."""
    is_piped = space.input_format == "stream-json"
    if is_piped and space.output_format != "stream-json":
        headless.refused(ExitCode.USAGE, say("--input-format stream-json goes with --output-format stream-json."))
        return None
    prompt = await _prompt(space, reads_input=not is_piped)
    if not is_piped and not prompt.strip():
        is_bare = space.print is None and not space.question and options.resume is None and options.fork is None
        if is_bare and not sys.stdin.isatty() and space.output_format == "text":
            check_root(options)
            headless.pass_on()
        else:
            headless.refused(ExitCode.BAD_INPUT, say("The prompt is empty: dogu -p 'question', or pipe it in."))
        return None
    piped = Input(sys.stdin.fileno()) if is_piped else None
    return Asked(prompt, await pictures_of(space.image or ()), await shape_of(space.output_schema), piped)


def tell_early(output_format: str, kind: str, message: str) -> None:
    """Say as JSON what is wrong with the command line (`usage`), or with what it names (`settings`)."""
    with HeadlessRun(OutputFormat(output_format)) as headless:
        headless.refused(ExitCode.USAGE if kind == "usage" else ExitCode.SETTINGS, message, kind)


async def _answer(options: Options, asked: Asked, headless: HeadlessRun) -> int:
    shape = asked.shape
    if shape is not None:
        more = "\n\n".join(filter(None, (options.append_system_prompt, SHAPE_WORDS)))
        options = msgspec.structs.replace(options, append_system_prompt=more)
    settings = read_settings(options)
    model = open_model(settings.model)
    if model.name == "offline" and options.model != "offline":
        headless.refused(
            ExitCode.NO_CREDENTIALS,
            say(
                "No key is set for {model}. Set GEMINI_API_KEY, or for another provider the variable of its key and "
                "model.provider in ~/.dogu/settings.json.",
                model=options.model,
            )
            if options.model
            else say(
                "No model is connected. Set GEMINI_API_KEY, or name a local model in ~/.dogu/settings.json "
                "(\"model\"), or try the one that works without a network: dogu --model offline -p 'list files'"
            ),
            "auth",
        )
        return headless.code
    tools = () if shape is None else (shape,)
    code, is_asked = ExitCode.DONE, False
    async with agent_of(Start(options, settings), model, tools) as opened, settling_jobs(opened.runtime):
        tell(opened.runtime.notes)
        told = len(opened.runtime.notes)
        headless.opened(_facts(opened, has_shape=shape is not None))
        async with aclosing(asked.prompts()) as prompts:
            async for prompt in prompts:
                await _answer_one(opened, headless, prompt, shape)
                code = max(code, headless.code)
                is_asked = True
        if not is_asked:
            headless.refused(ExitCode.BAD_INPUT, say("Standard input ended without a prompt."))
        tell(opened.runtime.notes[told:])
    return max(code, headless.code)


async def _answer_one(
    opened: Opened, headless: HeadlessRun, prompt: Content | InputError, shape: FinalAnswer | None
) -> None:
    if isinstance(prompt, InputError):
        headless.refused(ExitCode.BAD_INPUT, str(prompt))
        return
    if shape is not None:
        shape.begin()
    parts = parts_of(prompt)
    text = "".join(part.text for part in parts if isinstance(part, Text))
    content = await _content(opened, text)
    if isinstance(content, Said):
        error = content.refused.result.error if content.refused is not None else None
        if error is not None:
            headless.refused(of_call(error.kind), content.text, str(error.kind), content.refused)
        elif content.is_failure:
            headless.refused(ExitCode.BAD_INPUT, content.text)
        else:
            headless.said(content.text)
        return
    blobs = [part for part in parts if isinstance(part, Blob)]
    await headless.answer(opened.agent, [*parts_of(content), *blobs] if blobs else content, shape)


def _facts(opened: Opened, *, has_shape: bool) -> RunFacts:
    agent, journal = opened.agent, opened.runtime.journal
    earlier = journal.turn

    def changes() -> Sequence[Change]:
        made: dict[str, PathChange] = {}
        for change in (change for entry in journal.entries() if entry.turn > earlier for change in entry.changes):
            first = made.get(change.path, change)
            made[change.path] = msgspec.structs.replace(change, before=first.before)
        return [Change(path, str(change.what)) for path, change in made.items() if change.before != change.after]

    meter, settle = agent.services.meter, opened.runtime.settle_jobs
    return RunFacts(opened.session_id, agent.model.name, meter, changes, settle, has_shape)


async def _content(opened: Opened, prompt: str) -> Content | Said:
    """Return what is sent to the model, or what a `/` command has to say without it."""
    if not opened.slash.means(prompt.strip()):
        return await opened.read_prompt(prompt)
    answer = await opened.slash.run(prompt.strip()[1:])
    return answer if isinstance(answer, Said) else answer.content


async def _prompt(space: Namespace, *, reads_input: bool) -> str:
    parts = [" ".join([*filter(None, [space.print]), *space.question])]
    if reads_input and not sys.stdin.isatty():
        try:
            piped = await Input(sys.stdin.fileno()).rest(LARGEST_INPUT_BYTES)
        except OSError as error:
            raise unreadable_input(error) from error
        if len(piped) > LARGEST_INPUT_BYTES:
            raise too_large("stdin", LARGEST_INPUT_BYTES)
        parts.append(piped.decode("utf-8", "replace"))
    return "\n\n".join(part for part in parts if part.strip())


def _explained(error: BaseException) -> Ending:
    """Say what an exception means that ended the run; the same as `cli.main` makes of it."""
    if isinstance(error, SettingsError):
        return Ending.failed(ExitCode.SETTINGS, "settings", str(error), is_told=True)
    if isinstance(error, ToolError):
        return Ending.failed(ExitCode.TOOL_FAILED, str(error.kind), error.message, is_told=True)
    failure = failure_of(error)
    return Ending.failed(ExitCode(failure.code), failure.kind, failure.message, is_told=True)
