"""`dogu replay`: a session's calls, run again in a copy of its workspace, their answers compared with those of then.

The copy has all of the roots, and is made of them as they are now; what the session changed is first put back in it to
what it was before, from the journal. Nothing outside of it can be written, and nothing reaches the network: tools that
would, or that need a user or a model, aren't run again, and commands only in a sandbox that confines files.
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

from dogu.agent.events import QuestionAnswered
from dogu.agent.session.record import read_record
from dogu.app.built_in import ToolServices, built_in_tools
from dogu.app.foundation import memory_file
from dogu.app.options import Options
from dogu.app.undoing import entries_and_kept
from dogu.contract.content import text_of
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import say, told
from dogu.policy.policy import Policy
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.approval import Approval
from dogu.runtime.events import CallFinished, ToolCall
from dogu.runtime.executor import Executor
from dogu.runtime.journal.entries import net_changes
from dogu.runtime.journal.reach import JournalReach
from dogu.runtime.journal.states import State
from dogu.runtime.journal.undo import put_back
from dogu.runtime.questions import Approved
from dogu.runtime.registry import AnyTool, ToolRegistry
from dogu.runtime.result_bounds import ResultBounds
from dogu.runtime.session_folder import StoredSession
from dogu.settings import Settings
from dogu.tools.run_shell_command import RunShellCommand, ShellLimits
from dogu.workspace import fs
from dogu.workspace.environment import command_environment
from dogu.workspace.files import LocalFiles
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.roots import Roots
from dogu.workspace.sandbox.ladder import Sandbox, SandboxSettings, Step

if TYPE_CHECKING:
    from dogu.runtime.questions import Outcome, Question

_MOST_NOTED = 20


class Replay(msgspec.Struct, frozen=True):
    """A copy ready to be worked in, below `base`; `notes` say what can't be as it was.

    `roots` pairs each root of the session (the primary one first) with the folder in the copy that stands for it.
    """

    base: str
    roots: tuple[tuple[str, str], ...]
    session: StoredSession
    notes: tuple[str, ...] = ()

    def there(self, text: str) -> str:
        """Return a text with the copy's paths where it names the workspace's."""
        return _renamed(text, self.roots)

    def back(self, text: str) -> str:
        """Return a text with the workspace's paths where it names the copy's."""
        return _renamed(text, [(copy, origin) for origin, copy in self.roots])


@contextmanager
def copied_workspace(options: Options, stored: StoredSession) -> Generator[Replay]:
    """Copy the session's roots and put back in them what the session changed; the copy goes at the end.

    Raises `ToolError` (NOT_FOUND: the primary root is gone) and OSError.
    """
    primary = next(iter(stored.facts.roots), "")
    if not os.path.isdir(primary):
        raise ToolError(ErrorKind.NOT_FOUND, told("The folder that session worked in is gone: {roots}.", roots=primary))
    base = os.path.realpath(tempfile.mkdtemp(prefix="dogu-replay-"))
    try:
        present = [root for root in stored.facts.roots if os.path.isdir(root)]
        notes = [
            say("Not copied: {path} ({why})", path=root, why=say("it is gone"))
            for root in stored.facts.roots
            if root not in present
        ]
        replay = Replay(base, tuple(zip(present, _places(present, base), strict=True)), stored)
        for origin, copy in replay.roots:
            if not os.path.lexists(copy):  # one within another is there already
                notes += _copy(origin, copy, options.state_folder)
        _relink(replay)
        notes += _put_back(options, replay)
        for name in ("home", "tmp", "outputs"):
            os.mkdir(os.path.join(base, name))
        yield msgspec.structs.replace(replay, notes=tuple(notes))
    finally:
        shutil.rmtree(base, onerror=_make_removable)


def _places(roots: list[str], base: str) -> list[str]:
    """Where each root's copy lies: one within another, within its copy; the others in folders of their own."""
    places: dict[str, str] = {}
    for root in sorted(roots, key=len):
        outer = max((each for each in places if _is_within(root, each)), key=len, default="")
        folder = os.path.join(base, f"root-{roots.index(root) + 1}", os.path.basename(root) or "root")
        places[root] = f"{places[outer]}/{root[len(outer) :].strip('/')}" if outer else folder
    return [places[root] for root in roots]


def _is_within(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")


def _renamed(text: str, names: Any) -> str:
    """Replace paths and what lies below them, all in one pass; the longest that fits counts."""
    table = dict(names)
    words = "|".join(re.escape(name) for name in sorted(table, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?:{words})(?![\w.-])", lambda match: table[match[0]], text)


def moved(value: Any, replay: Replay) -> Any:
    """Return a call's arguments with the copy's paths where they name the workspace's."""
    if isinstance(value, str):
        return replay.there(value)
    if isinstance(value, Mapping):
        return {key: moved(each, replay) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [moved(each, replay) for each in cast("list[Any]", value)]
    return value


def _copy(origin: str, root: str, state_folder: str) -> list[str]:
    """Copy a folder, links as links, without what isn't a file, a folder or a link; say what couldn't be."""
    state = os.path.realpath(state_folder)

    def skipped(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if _is_skipped(os.path.join(folder, name), state)]

    try:
        shutil.copytree(origin, root, symlinks=True, ignore=skipped)
    except shutil.Error as error:
        failed = cast("list[tuple[str, str, str]]", error.args[0])
        return [say("Not copied: {path} ({why})", path=path, why=why) for path, _, why in failed[:_MOST_NOTED]]
    return []


def _is_skipped(path: str, state: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return True
    is_kept = stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
    return not is_kept or os.path.realpath(path) == state


def _relink(replay: Replay) -> None:
    """Let links that lead into a root by their whole path lead into its copy."""
    for _, copy in replay.roots:
        for folder, folders, files in os.walk(copy):
            for path in (os.path.join(folder, name) for name in (*folders, *files)):
                if os.path.islink(path):
                    target = os.readlink(path)
                    if target.startswith("/") and (there := replay.there(target)) != target:
                        os.unlink(path)
                        fs.symlink(there, path)


def _put_back(options: Options, replay: Replay) -> list[str]:
    """Bring what the session changed back to before its first call; say what can't be."""
    entries, kept = entries_and_kept(options, replay.session)
    net, _ = net_changes(entries)
    inside = {
        replay.there(path): (
            msgspec.structs.replace(
                change, before=_linked_in(change.before, replay), after=_linked_in(change.after, replay)
            )
        )
        for path, change in net.items()
        if any(_is_within(path, origin) for origin, _ in replay.roots)
    }
    primary, *also = [copy for _, copy in replay.roots]
    refused = put_back(inside, JournalReach(Roots(primary, also)), kept)
    notes = [say("Not as it was: {path} ({why})", path=replay.back(each.path), why=each.reason) for each in refused]
    if any(entry.notes for entry in entries):
        notes.append(say("Some changes made by commands couldn't be tracked: these files are as they are now."))
    return notes


def _linked_in(state: State, replay: Replay) -> State:
    """A link's state with its target in the copy, where it led into a root by its whole path."""
    if not state.target.startswith(b"/"):
        return state
    return msgspec.structs.replace(state, target=os.fsencode(replay.there(os.fsdecode(state.target))))


def _make_removable(remove: Any, path: str, _error: Any) -> None:
    """A folder of the copy may be closed even to its owner."""
    os.chmod(os.path.dirname(path), 0o700)
    if not os.path.islink(path):
        os.chmod(path, 0o700)
    remove(path)


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


async def replay_calls(replay: Replay, settings: Settings) -> AsyncGenerator[Replayed]:
    """Run the calls again, in their order, and give each with its answer of then and now."""
    base = replay.base
    primary, *also = [copy for _, copy in replay.roots]
    roots = Roots(primary, also, readable=(os.path.join(base, "outputs"),))
    files = LocalFiles(roots, [], pending=os.path.join(base, "pending"))
    processes = LocalProcesses(output_folder=os.path.join(base, "outputs"))
    answers = _Answers()
    sandbox = await to_thread.run_sync(_find_sandbox)
    tools = _tools(
        settings,
        replay,
        ToolServices(
            roots, files, processes, lambda: memory_file(Options(home=os.path.join(replay.base, "home")), settings)
        ),
        sandbox,
    )
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
    found = Sandbox.detect(SandboxSettings(network=False))
    return found if found.step in (Step.BUBBLEWRAP, Step.LANDLOCK) else None


class _Answers:
    """What the user said to a question then is said again."""

    def __init__(self) -> None:
        self._edited: dict[str, str] = {}

    def add(self, answered: QuestionAnswered) -> None:
        if answered.outcome == "edited":
            self._edited[answered.call_id] = answered.said

    async def confirm(self, question: Question) -> Outcome:
        return Approved(self._edited.get(question.call.call_id))


def _tools(settings: Settings, replay: Replay, parts: ToolServices, sandbox: Sandbox | None) -> list[AnyTool]:
    """The tools that are run again; without a sandbox no shell is among them."""
    tools = [tool for tool in built_in_tools(settings, parts) if tool.name in _AGAIN and tool.name != _SHELL]
    if sandbox is None:
        return tools
    limits = ShellLimits(settings.shell.timeout_s or 300.0, settings.shell.inactivity_timeout_s or 0)
    environment = partial(_environment, replay.base, settings)
    return [*tools, RunShellCommand(parts.roots, parts.processes, environment, limits, lambda: sandbox)]


def _executor(replay: Replay, tools: list[AnyTool], answers: _Answers) -> Executor:
    outputs = os.path.join(replay.base, "outputs")

    def keep(call_id: str, text: str) -> str:
        path = os.path.join(outputs, f"{len(os.listdir(outputs)):04}-{call_id}.txt")
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        return path

    approval = Approval(Policy(mode=ApprovalMode.YOLO), answers.confirm)
    return Executor(ToolRegistry(tools), approval, bounds=ResultBounds(keep))


def _environment(base: str, settings: Settings) -> dict[str, str]:
    environment = command_environment(os.environ, settings.shell.environment, settings.shell.withheld)
    return environment | {"HOME": os.path.join(base, "home"), "TMPDIR": os.path.join(base, "tmp")}


async def _again(executor: Executor, finished: CallFinished, replay: Replay) -> Replayed:
    call, result = finished.call, finished.result
    before = _comparable(text_of(result.llm_content))
    if result.error is not None and result.error.kind in _NOT_RUN_THEN:
        return Replayed(call, before, why=say("it was not run then, either"))
    if call.name not in _AGAIN or call.args is None:
        return Replayed(call, before, why=say("this tool isn't run again"))
    if call.name == _SHELL and _SHELL not in executor.registry:
        return Replayed(call, before, why=say("no sandbox on this machine confines commands to the copy"))
    args = moved(call.args, replay)
    answer = await executor.run(ToolCall(call.call_id, call.name, cast("dict[str, Any]", args)))
    text = replay.back(text_of(answer.result.llm_content))
    return Replayed(call, before, _comparable(text))


def _comparable(text: str) -> str:
    """An answer without what differs from run to run: processes' numbers, the places of whole outputs."""
    return _VOLATILE.sub(lambda match: f"{match[1] or ''}...", text)
