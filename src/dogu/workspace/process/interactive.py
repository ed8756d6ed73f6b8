"""Programs that are talked to: which wait for keys, and which would run as commands what is typed."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from enum import Enum

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.launcher import tree
from dogu.workspace.process.waiting import compiled
from dogu.workspace.system import IS_WINDOWS

_SHELLS = frozenset(
    (
        *("ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "ksh93", "mksh", "nu", "oksh", "posh"),
        *("cmd", "powershell", "pwsh", "rbash", "rksh", "sh", "tcsh", "xonsh", "yash", "zsh"),
    )
)
_SHELLS_OF_WINDOWS = frozenset(("cmd", "powershell", "pwsh"))
_EDITORS = frozenset(
    (
        *("elvis", "helix", "hx", "jed", "jmacs", "joe", "kak", "mcedit", "mg", "micro", "nano", "ne", "nvi", "nvim"),
        *("pico", "rnano", "rview", "rvim", "vi", "view", "vim", "vimdiff"),
    )
)
_EMACS = frozenset(("emacs", "emacs-nox", "emacsclient"))
_VISUAL = frozenset(
    (
        *(
            "watch",
            "alpine",
            "btop",
            "htop",
            "irssi",
            "lazydocker",
            "lazygit",
            "lf",
            "mc",
            "mutt",
            "ncdu",
            "neomutt",
            "nnn",
        ),
        *("ranger", "tig", "vifm", "weechat"),
    )
)
# What makes an editor end by itself, or not draw: ex and silent mode, commands that quit, a question for its version.
_BATCH = re.compile(
    r"-\S*[eEs]s?|-(?:c|-cmd|S)|\+.*|--(?:headless|version|help|noplugin)|-h|-V|-Q|--?batch|--script.*|--eval.*"
)
_ENDS = re.compile(r"-[dnptwx]*[ghevVq].*|--version|--help|-o.*|--(?:chg|err|equ)exit.*")
_DETACHED = re.compile(r"--daemon.*|--fg-daemon.*|-n|--no-wait|-e.*")
_LONGEST_PART_CHARS = 10_000
_BOUNDARIES = re.compile(r"&&|\|\||[;|&\n]")


def needs_terminal(command: str) -> str:
    """Return the program in a command line that would wait for keys; "" where none is known to.

    Only what is plain to see is looked at, and only what can't end by itself counts: what is overlooked is ended by its
    supervisor, once it has drawn a screen and is silent.
    """
    for part in _BOUNDARIES.split(command):
        if len(part) > _LONGEST_PART_CHARS:  # shlex takes the square of a word's length
            continue
        try:
            # There `\\` stands between folders.
            words = shlex.split(part.replace("\\", "\\\\") if IS_WINDOWS else part, comments=True)
        except ValueError:  # a quote over a boundary
            return ""
        while words and re.fullmatch(r"\w+=.*|exec|command|env|time|nohup", words[0]):
            words = words[1:]
        if words and _waits(_called(words[0]), words[1:]):
            return _called(words[0])
    return ""


def _called(program: str) -> str:
    """Return a program's name as the lists here have it."""
    name = os.path.basename(program)
    return name.lower().removesuffix(".exe") if IS_WINDOWS else name


def _waits(program: str, words: list[str]) -> bool:
    if any(word.startswith(("<", ">")) or re.match(r"\d?[<>]", word) for word in words):
        return False
    if program in _VISUAL:
        return not any(_ENDS.fullmatch(word) for word in words)
    if program in _EDITORS:
        return not any(_BATCH.fullmatch(word) for word in words)
    if program in _EMACS:
        return not any(_BATCH.fullmatch(word) or _DETACHED.fullmatch(word) for word in words)
    return False


def check_talk(command: str, wait_for: str, *, has_terminal: bool) -> None:
    """Raise `ToolError` for what would be waited for in vain: a bad pattern, keys that nobody can press."""
    if wait_for:
        compiled(wait_for)
    if not has_terminal and (program := needs_terminal(command)):
        raise ToolError(
            ErrorKind.INVALID_ARGUMENTS,
            f"{program} needs a terminal, and there is none: it would wait for keys for ever. Nothing was run. "
            "Use replace or write_file to edit, a non-interactive option, or 'pty': true and send_input.",
        )


class ReadBy(Enum):
    """Who may read it."""

    SHELL = "shell"
    PROGRAM = "program"


def read_by(pids: Iterable[int]) -> ReadBy:
    """Return SHELL when any of the processes is a shell that may read commands from a terminal, or can't be looked at.

    Any, because what one program leaves unread the next one reads: `exit()` and a line for the shell below it.
    """
    import psutil

    for pid in pids:
        try:
            process = psutil.Process(pid)
            words, program = process.cmdline(), process.exe()
        except psutil.NoSuchProcess as error:  # nor is there any in a hidden /proc
            if IS_WINDOWS or isinstance(error, psutil.ZombieProcess) or not tree.lives(pid):
                continue
            return ReadBy.SHELL
        except (psutil.Error, OSError):
            return ReadBy.SHELL
        if words and _may_read_commands(words, program):
            return ReadBy.SHELL
    return ReadBy.PROGRAM


def _may_read_commands(words: list[str], program: str) -> bool:
    names = {_called(words[0]).removeprefix("-"), _called(program)}
    if names.isdisjoint(_SHELLS):
        return False
    if not names.isdisjoint(_SHELLS_OF_WINDOWS):
        options = [word.lower() for word in words[1:]]
        first = next((word for word in options if word.startswith(("/c", "/k", "-encodedcommand", "-noe"))), "")
        return not first.startswith(("/c", "-encodedcommand"))  # as commands are begun here; of others it isn't known
    first = words[1] if len(words) > 1 else ""
    has_text = first.startswith("-") and not first.startswith("--") and "c" in first  # -c, -lc: a command line
    is_script = bool(first) and first[0] not in "-+"
    return not has_text and not is_script
