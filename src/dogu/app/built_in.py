"""The built-in tools, and what they are made of."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.runtime.registry import AnyTool
from dogu.settings import Settings

if TYPE_CHECKING:
    from dogu.workspace.edit_match.repair import Repair
    from dogu.workspace.files import LocalFiles
    from dogu.workspace.process import LocalProcesses
    from dogu.workspace.roots import Roots
    from dogu.workspace.sandbox import Sandbox


class Parts(msgspec.Struct, frozen=True):
    """What tools are made of."""

    roots: Roots
    files: LocalFiles
    processes: LocalProcesses
    repair: Repair | None
    has_person: bool = False


def built_in_tools(settings: Settings, parts: Parts) -> Iterable[AnyTool]:
    """Make the built-in tools, in the order the model sees them. A new tool is one line here."""
    from dogu.tools.background_jobs import BackgroundJobs
    from dogu.tools.glob import Glob
    from dogu.tools.grep_search import GrepSearch
    from dogu.tools.list_directory import ListDirectory
    from dogu.tools.read_file import ReadFile
    from dogu.tools.read_many_files import ReadManyFiles
    from dogu.tools.replace import Replace
    from dogu.tools.run_shell_command import RunShellCommand, ShellLimits
    from dogu.tools.stop_background_job import StopBackgroundJob
    from dogu.tools.write_file import WriteFile
    from dogu.workspace.ignore_lookup import hidden_from_models, why_ignored
    from dogu.workspace.search import ContentSearch

    roots, files, shell = parts.roots, parts.files, settings.shell

    def environment() -> dict[str, str]:
        from dogu.workspace.environment import command_environment

        return command_environment(os.environ, shell.environment)

    return [
        ListDirectory(roots),
        ReadFile(files, roots, lambda path: hidden_from_models(roots, path)),
        ReadManyFiles(files, roots, lambda path: why_ignored(roots, path)),
        Glob(roots),
        GrepSearch(ContentSearch(roots, time_limit_s=settings.search.timeout_s)),
        Replace(files, roots, parts.repair),
        WriteFile(files, roots),
        RunShellCommand(
            roots,
            parts.processes,
            environment,
            ShellLimits(shell.timeout_s, shell.inactivity_timeout_s or 0),
            lambda: open_sandbox(settings),
            has_person=parts.has_person,
        ),
        BackgroundJobs(parts.processes),
        StopBackgroundJob(parts.processes),
    ]


def open_sandbox(settings: Settings) -> Sandbox | None:
    """Find the best sandbox of this machine; None when it is switched off.

    Raises `ToolError` (START_FAILED) when settings demand one and the machine has none.
    """
    from dogu.workspace import sandbox

    chosen = settings.sandbox
    if chosen.mode == "off":
        return None
    wishes = sandbox.SandboxSettings(chosen.network_is_allowed, chosen.allowed_paths)
    found = sandbox.Sandbox.detect(wishes)
    if chosen.mode == "on" and found.step is sandbox.Step.NONE:
        message = "The settings demand a sandbox (tools.sandbox) and this machine has none: no command is run."
        raise ToolError(ErrorKind.START_FAILED, message)
    return found
