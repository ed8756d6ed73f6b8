"""What a session's model is told of its machine, its folder and the rules of this run; worked out once a session."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

from dogu.agent.system_prompt import Surroundings
from dogu.app.model_choice import provider_of
from dogu.settings import SettingsError
from dogu.workspace.small_file import read_small_file
from dogu.workspace.system import shell_called, system_name

if TYPE_CHECKING:
    from dogu.app.options import Start

_LARGEST_BYTES = 256 * 1024
_MOST_NAMED, _LONGEST_NAME, _MOST_LOOKED_AT = 30, 60, 2_000
_VARIABLE = "GEMINI_SYSTEM_MD"
_BRANCH = re.compile(r"ref: refs/heads/([\w./+@#=-]{1,200})")  # a name that says more than a name is none
_MODES = {
    "default": "changes and commands are asked about",
    "auto_edit": "changes of files and commands that a sandbox holds need no question, other commands do",
    "plan": "read and search only, change nothing (what commands change is never kept); the answer is a plan that "
    "names the files, the changes and how they will be checked",
    "yolo": "everything that isn't excluded runs without a question",
}


def surroundings_of(
    start: Start, root: str, environ: Mapping[str, str] = os.environ, mode: str | None = None
) -> Surroundings:
    """Work them out; `mode` is the approval mode, where it isn't the settings'.

    Raises `SettingsError` for a file of instructions that can't be read.
    """
    options, settings = start.options, start.settings
    mode = mode or settings.tools.approval_mode
    today = time.strftime("%Y-%m-%d")
    notes = [
        f"Date: {today}. System: {system_name()}; commands run in {shell_called(settings.shell.program)}.",
        _git(root),
        _top(root),
        _sandbox(settings.sandbox.mode, is_open=settings.sandbox.network_is_allowed),
    ]
    return Surroundings(
        model=settings.model.name or provider_of(settings.model, environ).default_model,
        words=options.system_prompt or _from_file(environ.get(_VARIABLE, ""), root),
        more=options.append_system_prompt or "",
        notes=tuple(filter(None, notes)),
        is_attended=start.door.confirm is not None or start.door.ask_to_go_on is not None,
        mode=mode_words(mode),
    )


def mode_words(mode: str) -> str:
    """Say what an approval mode means for the model."""
    return f"Approval mode: `{mode}` ({_MODES.get(mode, 'as set')})."


def _git(root: str) -> str:
    """Say which branch is checked out; read from the file, because starting git would cost a start its time."""
    folder = root
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return "The workspace is no git repository."
        folder = os.path.dirname(folder)
    git = os.path.join(folder, ".git")
    try:
        if not os.path.isdir(git):  # a worktree's or a submodule's is a file that names the folder
            git = os.path.join(folder, _text_of(git).removeprefix("gitdir: "))
        head = _text_of(os.path.join(git, "HEAD"))
    except OSError:
        return "The workspace is in a git repository."
    branch = _BRANCH.fullmatch(head)
    where = f"on branch {branch[1]}" if branch else "on a branch" if head.startswith("ref:") else "on no branch"
    return f"The workspace is in a git repository, {where}."


def _text_of(path: str) -> str:
    return read_small_file(path, 4_096).decode("utf-8", "replace").strip()


def _top(root: str) -> str:
    """Name what lies at the top of the workspace, folders with a slash; what is hidden, or oddly named, is left out."""
    names: list[str] = []
    try:
        with os.scandir(root) as entries:
            for entry in islice(entries, _MOST_LOOKED_AT):
                if not entry.name.startswith(".") and entry.name.isprintable() and len(entry.name) <= _LONGEST_NAME:
                    names.append(f"{entry.name}/" if entry.is_dir() else entry.name)
    except OSError:
        return ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"At its top: {', '.join(sorted(names)[:_MOST_NAMED])}{more}." if names else ""


def _sandbox(mode: str, *, is_open: bool) -> str:
    if mode == "off":
        return "Commands run without a sandbox."
    network = "the network is open to them" if is_open else "they have no network"
    return f"Commands run in a sandbox, where the machine has one: they write in the workspace only; {network}."


def _from_file(value: str, root: str) -> str:
    """Read the instructions that `GEMINI_SYSTEM_MD` names: a file, for `true` the workspace's `.gemini/system.md`."""
    if not value or value.lower() in ("0", "false"):
        return ""
    path = os.path.join(root, ".gemini", "system.md") if value.lower() in ("1", "true") else os.path.expanduser(value)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST_BYTES)
    except OSError as error:
        raise SettingsError("environment", 0, _VARIABLE, f"{path}: {error.strerror}") from error
