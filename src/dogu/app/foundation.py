"""What calls run on, put together in order: the workspace, the policy, the session's record, then the executor.

There is no tool and no agent yet. Each part is whole when its constructor returns, and is given to those that need it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from dogu.agent.events import StateChanged
from dogu.agent.system_prompt import Instructions
from dogu.app.extending import Extras, extras_of
from dogu.app.options import Options, Start
from dogu.app.policy_files import rules_of
from dogu.app.sandboxed import open_sandbox
from dogu.app.sessions import OpenedSession, clear_away
from dogu.app.surroundings import mode_words, surroundings_of
from dogu.app.undoing import finish_interrupted, keeping_of
from dogu.contract import ToolError
from dogu.language import say, told
from dogu.policy.policy import Policy, RememberedRules
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.approval import Approval
from dogu.runtime.executor import Executor
from dogu.runtime.journal import Journal
from dogu.runtime.registry import ToolRegistry
from dogu.runtime.result_bounds import ResultBounds
from dogu.runtime.runtime import Commands, Runtime
from dogu.settings import Settings, SettingsError, Trust
from dogu.workspace.files import LocalFiles
from dogu.workspace.layer.command import CommandLayers, Ending
from dogu.workspace.pending_writes import recover
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from dogu.agent.context.files import ContextFiles
    from dogu.agent.session.live import Session
    from dogu.agent.session.resume import Restored
    from dogu.models.model import Model
    from dogu.workspace.files import WriteObserver
    from dogu.workspace.memory_file import MemoryFile
    from dogu.workspace.sandbox.ladder import Sandbox


class Workspace(msgspec.Struct, frozen=True):
    """Where tools act, and what keeps their changes; `instructions` are what its files tell an agent."""

    roots: Roots
    files: LocalFiles
    journal: Journal
    processes: LocalProcesses
    instructions: Instructions
    find_sandbox: Callable[[], Sandbox | None]
    layers: CommandLayers

    def close(self) -> None:
        """End background jobs and close what is open."""
        are_lived_in = any(job.is_kept for job in self.processes.jobs)
        self.processes.close()
        self.layers.close(are_lived_in=are_lived_in)
        self.journal.close()


class Foundation(msgspec.Struct, frozen=True):
    """What calls run on. `troubles` are sentences for the user about what went wrong on the way here."""

    start: Start
    opened: OpenedSession
    workspace: Workspace
    policy: Policy
    session: Session
    extras: Extras
    executor: Executor
    troubles: tuple[str, ...]

    def runtime(self) -> Runtime:
        """Make what doors and importers work with."""
        workspace = self.workspace

        def prepare() -> None:
            # The sandbox is found, and what starts commands in it started; what goes wrong, the first command tells.
            sandbox = None
            try:
                sandbox = workspace.find_sandbox()
                workspace.processes.prepare(
                    is_scoped=sandbox is not None and sandbox.landlock_abi >= 6,
                    mounts=sandbox is not None and sandbox.makes_layers,
                    hosts=sandbox.hosts if sandbox else None,
                )
            except ToolError:
                pass
            if self.start.options.undoes and (sandbox is None or not sandbox.tells):
                workspace.journal.prepare()

        notes, record = self.start.notes, self.session.event
        commands = Commands(prepare, workspace.processes, self.start.settings.shell.keeps_jobs)
        return Runtime(self.executor, workspace.roots.all, workspace.journal, notes, record, commands)

    async def aclose(self) -> None:
        """Close all of it; what ends now is told when the session is resumed."""
        await self.extras.aclose()
        self.workspace.processes.settle(keep=self.start.settings.shell.keeps_jobs or False)
        if self.session.has_prompts:
            self.session.note_state()
        self.workspace.close()
        self.session.close()
        self.opened.folder.close(is_wanted=self.session.has_prompts)
        clear_away(self.start.options, self.start.settings, self.opened.folder)


def lay_foundation(start: Start, opened: OpenedSession, model: Model | None = None) -> Foundation:
    """Put together what calls run on in an open session; `model` is the agent's, if there will be one.

    Raises `SettingsError`.
    """
    options, settings, notes = start.options, start.settings, start.notes
    with ExitStack() as failing:
        failing.callback(opened.give_up)
        policy = _policy_of(start, opened.restored)
        workspace = _workspace_of(start, opened, policy)
        failing.callback(workspace.close)
        session = opened.session(notes, lambda: _state_of(policy, model, workspace.processes))
        roots = workspace.roots
        troubles = (*_put_right(options, roots), *_unread_rules(roots), *_not_watched(roots))
        extras = extras_of(options, settings, workspace.roots.all, opened.folder.path, notes)
        confirm = start.door.confirm
        if confirm is not None:  # the question and the answer are recorded, and hooks are told of it
            confirm = extras.notifying(session.recorded(confirm))
        approval = Approval(policy, confirm, start.door.elicit)
        executor = Executor(
            ToolRegistry(),
            approval,
            changes=workspace.journal if options.undoes else None,
            bounds=ResultBounds(opened.folder.keep_output),
            hooks=extras.hooks,
            traced=extras.tracing,
        )
        failing.pop_all()
    problem = (opened.folder.problem,) if opened.folder.problem else ()
    return Foundation(
        start, opened, workspace, policy, session, extras, executor, (*problem, *troubles, *extras.troubles)
    )


def _workspace_of(start: Start, opened: OpenedSession, policy: Policy) -> Workspace:

    options, settings = start.options, start.settings
    folder = opened.folder.path
    # The roots that were named and those the session had; its own folder, and its originals', for reading.
    also = (*settings.context.include_directories, *opened.also)
    root = options.absolute_root
    ignoring = [os.path.join(root, os.path.expanduser(file)) for file in settings.context.ignore_files]
    roots = Roots(root, also, (opened.folder.path, *opened.readable), ignoring)
    instructions = Instructions(
        roots.all,
        lambda: _context_files(options, settings, roots.all),
        lambda: surroundings_of(start, roots.primary, mode=str(policy.mode)),
        lambda: mode_words(str(policy.mode)),
    )
    turn = opened.restored.turn if opened.restored is not None else 0
    journal = Journal(
        folder, roots, keeping_of(options, folder, settings), undone=instructions.files_changed, turn=turn
    )
    files = _files_of(options, settings, roots, journal)
    find_sandbox = cache(lambda: open_sandbox(settings))
    processes = LocalProcesses(output_folder=folder, jobs_folder=jobs_folder(options), fork_server=options.fork_server)
    ending, kept = Ending(options.commands or "keep"), os.path.join(folder, "layers")
    layers = CommandLayers(journal, kept, processes, ending, can=options.processes is None)
    return Workspace(roots, files, journal, processes, instructions, find_sandbox, layers)


def jobs_folder(options: Options) -> str:
    """Where background jobs are found, those of other sessions too."""
    return os.path.join(options.state_folder, "jobs")


def _files_of(options: Options, settings: Settings, roots: Roots, journal: Journal) -> LocalFiles:
    pending, observers = _pending(options), [journal] if options.undoes else []
    freed = settings.tools.writable_protected_paths
    if options.editor is not None:
        from dogu.workspace.editor_files import EditorFiles

        return EditorFiles(options.editor, roots, observers, pending=pending, unprotected=freed)

    return LocalFiles(roots, observers, pending=pending, unprotected=freed)


def _policy_of(start: Start, restored: Restored | None) -> Policy:

    options, settings, tools = start.options, start.settings, start.settings.tools
    keeps = tools.always_is_kept and not tools.always_is_disabled
    file = os.path.join(options.state_folder, "allowed.json")
    remembered = RememberedRules(file, options.root_key) if keeps else None
    rules = rules_of(options, settings, is_attended=start.door.confirm is not None)
    mode = _mode_of(options, settings, restored)
    return Policy(rules, mode, remembered, offers_always=not tools.always_is_disabled)


def check_rules(options: Options, settings: Settings) -> int:
    """Read all that a session's start reads of rules; return how many stand in files. Raises `SettingsError`."""
    rules = rules_of(options, settings)
    ignoring = [os.path.join(options.absolute_root, os.path.expanduser(file)) for file in settings.context.ignore_files]
    for _ in _unread_rules(Roots(options.absolute_root, ignore_files=ignoring)):
        pass
    return len(rules.files)


def _mode_of(options: Options, settings: Settings, restored: Restored | None) -> ApprovalMode:
    """The mode that the user had chosen holds on, unless they now say another or it may no longer be."""
    chosen = ApprovalMode(settings.tools.approval_mode)
    before = restored.state.mode if restored is not None else ""
    if options.approval_mode is not None or before not in list(ApprovalMode):
        return chosen
    return chosen if before == ApprovalMode.YOLO and settings.tools.yolo_is_disabled else ApprovalMode(before)


def _state_of(policy: Policy, model: Model | None, processes: LocalProcesses) -> StateChanged:
    """What resumes when a session is resumed."""

    running = [job for job in processes.jobs if job.is_running]
    ending = [job for job in (*processes.settled, *running) if not job.is_kept]
    named = tuple(f"{' '.join(job.command.split())[:200]} ({job.pgid})" for job in ending)
    return StateChanged(str(policy.mode), model.name if model is not None else "", named)


def _not_watched(roots: Roots) -> tuple[str, ...]:
    if "/" not in roots.all:
        return ()
    return (say("The whole machine is a root: what commands change outside of the other roots can't be undone."),)


def _pending(options: Options) -> str:
    return os.path.join(options.state_folder, "pending")


def _unread_rules(roots: Roots) -> Iterator[str]:
    """Say whose ignored files can't be known. Raises `SettingsError` for a file that hides others from models."""
    hiding = [*roots.ignore_files, *(os.path.join(root, ".geminiignore") for root in roots.all)]
    for file in hiding:
        if os.path.lexists(file) and not os.access(file, os.R_OK):
            message = told("can't be read, and it says what models may not see")
            raise SettingsError(file, 0, "", message)
    for file in (os.path.join(root, ".gitignore") for root in roots.all):
        if os.path.lexists(file) and not os.access(file, os.R_OK):
            yield told("{file} can't be read: what it ignores is listed and searched.", file=file)


def _put_right(options: Options, roots: Roots) -> tuple[str, ...]:
    """Put right what a killed process left half written, where the user's memories lie too, and say so."""
    pending = _pending(options)
    if not os.path.isdir(pending):
        return ()

    finished = finish_interrupted(options, pending)
    places = [roots]
    memories = os.path.join(options.home, ".gemini")
    if os.path.isdir(memories):
        places.append(Roots(memories))
    return (*finished, *(f"{recovered}" for place in places for recovered in recover(pending, place)))


def _context_files(options: Options, settings: Settings, roots: tuple[str, ...]) -> ContextFiles:
    """Read the context files; those of a folder that the user hasn't said to trust are left out."""
    from dogu.agent.context.files import ContextFiles, ContextSources

    trust = settings.trust
    return ContextFiles(
        ContextSources(
            roots,
            options.home,
            settings.context.file_names,
            reads_project=trust is Trust.TRUSTED,
            imports_home=trust is Trust.TRUSTED,
            more=tuple(
                file
                for extension in settings.added
                if not extension.is_project or trust is Trust.TRUSTED
                for file in extension.context_files
            ),
        )
    )


def memory_file(options: Options, settings: Settings, *observers: WriteObserver) -> MemoryFile:
    """Return the user's file of things to remember: the first context file's name, in their `.gemini` folder."""
    from dogu.workspace.memory_file import MemoryFile

    name = next((name for name in settings.context.file_names if name and "/" not in name), "GEMINI.md")
    pending = os.path.join(options.state_folder, "pending")
    return MemoryFile(os.path.join(options.home, ".gemini", name), f"~/.gemini/{name}", pending, observers)
