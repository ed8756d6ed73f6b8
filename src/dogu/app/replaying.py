"""`dogu replay`: a session's calls, run again in a copy of its workspace, their answers compared with those of then.

The copy is made of the workspace as it is now; what the session changed is first put back in it to what it was before,
from the journal. Files that the session only read are as they are now. Nothing outside of the copy can be written, and
nothing reaches the network: tools that would, or that need a person or a model, aren't run again, and commands only
in a sandbox that confines files.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec
from anyio import to_thread

from dogu.agent.session.events import QuestionAnswered
from dogu.agent.session.record import read_record
from dogu.app.built_in import Parts, built_in_tools
from dogu.app.options import Options
from dogu.app.undoing import entries_and_contents
from dogu.contract.content import text_of
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say, told
from dogu.runtime.calls import ToolCall
from dogu.runtime.events import CallFinished
from dogu.runtime.registry import AnyTool
from dogu.runtime.session_folder import KeptSession
from dogu.settings import Settings

if TYPE_CHECKING:
    from dogu.runtime.executor import Executor
    from dogu.runtime.questions import Outcome, Question
    from dogu.workspace.memory_file import MemoryFile
    from dogu.workspace.sandbox.ladder import Sandbox

_AGAIN = frozenset(
    "list_directory read_file read_many_files glob grep_search replace write_file run_shell_command".split()
)
_SHELL = "run_shell_command"
_NOT_RUN_THEN = (ErrorKind.DECLINED, ErrorKind.REFUSED, ErrorKind.NOBODY_TO_ASK, ErrorKind.CANCELLED)
_VOLATILE = re.compile(r"(Process Group PGID: |Background PIDs: )[\d, ]+|/\S+/\d{4,}-[\w-]+\.txt")


class Replayed(msgspec.Struct, frozen=True):
    """A call run again: `answer` is None when it wasn't, and `why` says so."""

    call: ToolCall
    before: str
    answer: str | None = None
    why: str = ""

    @property
    def is_same(self) -> bool:
        """Whether the answer is the one of then."""
        return self.answer == self.before


class Replay(msgspec.Struct, frozen=True):
    """A copy ready to be worked in: `root` in it stands for `origin`; `notes` say what can't be as it was."""

    root: str
    origin: str
    session: KeptSession
    notes: tuple[str, ...]


@contextmanager
def copied_workspace(options: Options, kept: KeptSession) -> Generator[Replay]:
    """Copy the session's first root and put back in it what the session changed; the copy goes at the end.

    Raises `ToolError` (NOT_FOUND: the folder is gone) and OSError.
    """
    origin = next((root for root in kept.facts.roots if os.path.isdir(root)), "")
    if not origin:
        raise ToolError(
            ErrorKind.NOT_FOUND, told("The folder that session worked in is gone: {roots}.", roots=kept.facts.roots)
        )
    base = os.path.realpath(tempfile.mkdtemp(prefix="dogu-replay-"))
    try:
        root = os.path.join(base, os.path.basename(origin) or "root")
        notes = [*_copy(origin, root, options.state_folder), *_put_back(options, kept, origin, root)]
        for name in ("home", "tmp", "outputs"):
            os.mkdir(os.path.join(base, name))
        yield Replay(root, origin, kept, tuple(notes))
    finally:
        shutil.rmtree(base, onerror=_make_removable)


async def replay_calls(replay: Replay, settings: Settings) -> AsyncGenerator[Replayed]:
    """Run the calls again, in their order, and give each with its answer of then and now."""
    from dogu.workspace.files import LocalFiles
    from dogu.workspace.process.local import LocalProcesses
    from dogu.workspace.roots import Roots

    base = os.path.dirname(replay.root)
    roots = Roots(replay.root, readable=(os.path.join(base, "outputs"),))
    files = LocalFiles(roots, [], pending=os.path.join(base, "pending"))
    processes = LocalProcesses(output_folder=os.path.join(base, "outputs"))
    answers = _Answers()
    sandbox = await to_thread.run_sync(_find_sandbox)
    tools = _tools(settings, replay, Parts(roots, files, processes, lambda: _memory(replay, settings)), sandbox)
    executor = _executor(replay, tools, answers)
    try:
        for recorded in read_record(replay.session.path):
            match recorded.event:
                case QuestionAnswered() as answered:
                    answers.add(answered)
                case CallFinished() as finished:
                    yield await _again(executor, finished, replay)
                case _:
                    pass
    finally:
        await to_thread.run_sync(processes.close)


def _find_sandbox() -> Sandbox | None:
    """Find a sandbox in which a command can write the copy alone and reach nothing; None where there is none."""
    from dogu.workspace.sandbox.ladder import Sandbox, SandboxSettings, Step

    found = Sandbox.detect(SandboxSettings(network=False, temporary=False))
    return found if found.step in (Step.BUBBLEWRAP, Step.LANDLOCK) else None


class _Answers:
    """What the person said to a question then is said again."""

    def __init__(self) -> None:
        self._edited: dict[str, str] = {}

    def add(self, answered: QuestionAnswered) -> None:
        if answered.outcome == "edited":
            self._edited[answered.call_id] = answered.said

    async def confirm(self, question: Question) -> Outcome:
        from dogu.runtime.questions import Approved

        return Approved(self._edited.get(question.call.call_id))


def _tools(settings: Settings, replay: Replay, parts: Parts, sandbox: Sandbox | None) -> list[AnyTool]:
    """The tools that are run again; without a sandbox no shell is among them."""
    from dogu.tools.run_shell_command import RunShellCommand, ShellLimits

    tools = [tool for tool in built_in_tools(settings, parts) if tool.name in _AGAIN and tool.name != _SHELL]
    if sandbox is None:
        return tools
    limits = ShellLimits(settings.shell.timeout_s or 300.0, settings.shell.inactivity_timeout_s or 0)
    base = os.path.dirname(replay.root)
    environment = partial(_environment, base, settings)
    return [*tools, RunShellCommand(parts.roots, parts.processes, environment, limits, lambda: sandbox)]


def _executor(replay: Replay, tools: list[AnyTool], answers: _Answers) -> Executor:
    from dogu.policy.mode import ApprovalMode
    from dogu.policy.policy import Policy
    from dogu.runtime.executor import Executor
    from dogu.runtime.registry import ToolRegistry
    from dogu.runtime.result_bounds import ResultBounds

    outputs = os.path.join(os.path.dirname(replay.root), "outputs")

    def keep(call_id: str, text: str) -> str:
        path = os.path.join(outputs, f"{len(os.listdir(outputs)):04}-{call_id}.txt")
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        return path

    return Executor(ToolRegistry(tools), Policy(mode=ApprovalMode.YOLO), answers.confirm, bounds=ResultBounds(keep))


def _memory(replay: Replay, settings: Settings) -> MemoryFile:
    from dogu.app.keeping import memory_file

    return memory_file(Options(root=replay.root, home=os.path.join(os.path.dirname(replay.root), "home")), settings)


def _environment(base: str, settings: Settings) -> dict[str, str]:
    from dogu.workspace.environment import command_environment

    environment = command_environment(os.environ, settings.shell.environment)
    return environment | {"HOME": os.path.join(base, "home"), "TMPDIR": os.path.join(base, "tmp")}


async def _again(executor: Executor, finished: CallFinished, replay: Replay) -> Replayed:
    call, result = finished.call, finished.result
    before = _comparable(text_of(result.llm_content))
    if result.error is not None and result.error.kind in _NOT_RUN_THEN:
        return Replayed(call, before, why=say("it was not run then, either"))
    if call.name not in _AGAIN or call.args is None:
        return Replayed(call, before, why=say("this tool isn't run again"))
    if call.name == _SHELL and _SHELL not in executor.registry:
        return Replayed(call, before, why=say("no sandbox of this machine keeps commands in the copy"))
    args = _moved(call.args, replay.origin, replay.root)
    answer = await executor.run(ToolCall(call.call_id, call.name, cast("dict[str, Any]", args)))
    text = text_of(answer.result.llm_content).replace(replay.root, replay.origin)
    return Replayed(call, before, _comparable(text))


def _moved(value: Any, origin: str, root: str) -> Any:
    """The arguments with the workspace's path where they name it."""
    if isinstance(value, str):
        return re.sub(rf"{re.escape(origin)}(?![\w.-])", lambda _match: root, value)
    if isinstance(value, Mapping):
        return {key: _moved(each, origin, root) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_moved(each, origin, root) for each in cast("list[Any]", value)]
    return value


def _comparable(text: str) -> str:
    """An answer without what differs from run to run: processes' numbers, the places of whole outputs."""
    return _VOLATILE.sub(lambda match: f"{match[1] or ''}...", text)


def _copy(origin: str, root: str, state_folder: str) -> list[str]:
    """Copy a folder, links as links, without what isn't a file, a folder or a link; say what couldn't be."""
    state = os.path.realpath(state_folder)

    def skipped(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if _is_skipped(os.path.join(folder, name), state)]

    try:
        shutil.copytree(origin, root, symlinks=True, ignore=skipped)
    except shutil.Error as error:
        failed = cast("list[tuple[str, str, str]]", error.args[0])
        return [say("Not copied: {path} ({why})", path=path, why=why) for path, _, why in failed[:20]]
    return []


def _is_skipped(path: str, state: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return True
    is_kept = stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
    return not is_kept or os.path.realpath(path) == state


def _put_back(options: Options, kept: KeptSession, origin: str, root: str) -> list[str]:
    """Bring what the session changed back to before its first call; say what can't be."""
    from dogu.runtime.journal.entries import net_changes
    from dogu.runtime.journal.undo import Restorer
    from dogu.workspace.atomic_write import AtomicWriter
    from dogu.workspace.pending_writes import PendingWrites
    from dogu.workspace.roots import Roots

    entries, content = entries_and_contents(options, kept)
    net, _ = net_changes(entries)
    inside = {
        root + path[len(origin) :]: change for path, change in net.items() if path.startswith(f"{origin.rstrip('/')}/")
    }
    restorer = Restorer(Roots(root), AtomicWriter(PendingWrites(None)), content)
    impossible = restorer.impossible(inside)
    possible = {path: change for path, change in inside.items() if path not in {each.path for each in impossible}}
    _, refused = restorer.restore(possible)
    notes = [
        say("Not as it was: {path} ({why})", path=each.path.replace(root, origin, 1), why=each.reason)
        for each in (*impossible, *refused)
    ]
    if any(entry.notes for entry in entries):
        notes.append(say("Some changes of commands could not be followed then: what they changed is as it is now."))
    return notes


def _make_removable(remove: Any, path: str, _error: Any) -> None:
    """A folder of the copy may be closed even to its owner."""
    os.chmod(os.path.dirname(path), 0o700)
    if not os.path.islink(path):
        os.chmod(path, 0o700)
    remove(path)
