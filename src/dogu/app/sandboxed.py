"""The sandbox that the settings wish for, found once, and what its commands are surrounded by."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dogu.contract import ErrorKind, ToolError
from dogu.language import told
from dogu.settings import Settings, Trust
from dogu.workspace.environment import command_environment
from dogu.workspace.git_programs import GitPrograms
from dogu.workspace.sandbox import ladder

if TYPE_CHECKING:
    from dogu.workspace.sandbox.ladder import Sandbox


def open_sandbox(settings: Settings) -> Sandbox | None:
    """Find the best sandbox of this machine; None when it is switched off.

    Raises `ToolError` (START_FAILED) when settings demand one and the machine has none.
    """
    chosen = settings.sandbox
    if chosen.mode == "off":
        return None
    wanted = ladder.SandboxSettings(
        chosen.network_is_allowed, chosen.allowed_hosts, chosen.allowed_paths, chosen.readable_paths
    )
    found = ladder.Sandbox.detect(wanted)
    if chosen.mode == "on" and found.step is ladder.Step.NONE:
        message = told("The settings require a sandbox (tools.sandbox), and this machine has none: no command is run.")
        raise ToolError(ErrorKind.START_FAILED, message)
    return found


def command_surroundings(
    settings: Settings, roots: tuple[str, ...], more: Mapping[str, str]
) -> Callable[[], dict[str, str]]:
    """Return what makes a command's environment: what is let in, `more`, and a git that runs no stranger's programs."""
    programs = GitPrograms(roots, is_trusted=settings.trust is Trust.TRUSTED)

    def environment() -> dict[str, str]:
        let_in = command_environment(os.environ, settings.shell.environment, settings.shell.withheld)
        let_in.update(more)
        return let_in | programs.environment(let_in)

    return environment
