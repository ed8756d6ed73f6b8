"""Programs that are talked to: which wait for keys, and which would run as commands what is typed."""

from __future__ import annotations

import itertools
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
_OF_THEIR_OWN = frozenset(("csh", "elvish", "fish", "nu", "tcsh", "xonsh"))  # shells whose lines aren't bash's
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
_WAITING = _EDITORS | _EMACS | _VISUAL
# With these alone they draw, and wait for keys; any other option may have them end by themselves.
_DRAWS = re.compile(r"-(?:[RMnNOopuUidtbm]\d*|nw|-clean|-no-window-system|-interval.*)?|-")
# Programs that run the one named in their words: the options that take the next word, and the words before that one.
_WRAPPERS = {
    **dict.fromkeys(("builtin", "busybox", "command", "nohup", "setsid"), ("", 0)),
    "chroot": ("", 1),
    "chrt": ("-T -P -D", 1),
    "doas": ("-a -C -u", 0),
    "env": ("-a -C -u --argv0 --chdir --unset", 0),
    "exec": ("-a", 0),
    "flock": ("-E -w --conflict-exit-code --timeout --wait", 1),
    "ionice": ("-c -n --class --classdata", 0),
    "ltrace": ("-a -e -l -n -o -s -u -x", 0),
    "nice": ("-n --adjustment", 0),
    "stdbuf": ("-e -i -o --error --input --output", 0),
    "strace": ("-a -b -e -E -I -o -O -P -s -S -u -X", 0),
    "sudo": ("-C -D -g -h -p -R -r -T -t -U -u --chdir --chroot --group --host --prompt --role --type --user", 0),
    "taskset": ("", 1),
    "time": ("-f -o --format --output", 0),
    "timeout": ("-k -s --kill-after --signal", 1),
}
_ASKS = {"command": ("-v", "-V"), "sudo": ("-l", "-v")}  # these run nothing
_BEFORE_COMMANDS = frozenset(("!", "(", "{", "do", "elif", "else", "if", "then", "until", "while"))
_ASSIGNMENT = re.compile(r"\w+\+?=.*", re.DOTALL)
_MOST_SHELLS = 4
_LONGEST_PART_CHARS = 10_000
_BOUNDARIES = re.compile(r"&&|\|\||[;|&\n]")


def needs_terminal(command: str, depth: int = 0) -> str:
    """Return the program in a command line that would wait for keys; "" where none is known to.

    Only what is plain to see is looked at, and only what can't end by itself counts: what is overlooked is ended by its
    supervisor, once it has drawn a screen and is silent. That isn't seen where its output goes into a file.
    """
    command, is_text_given, _ = command.partition("<<")
    command += is_text_given[:1]
    for part in _BOUNDARIES.split(command):
        if len(part) > _LONGEST_PART_CHARS:  # shlex takes the square of a word's length
            continue
        try:
            # There `\\` stands between folders.
            words = shlex.split(part.replace("\\", "\\\\") if IS_WINDOWS else part, comments=True)
        except ValueError:  # a quote over a boundary
            return _of_shell(command, depth)
        if found := _waiting(_run_in_the_end(words), depth):
            return found
    return ""


def _of_shell(command: str, depth: int) -> str:
    """Return the program that a shell's text in quotes would have wait, where that is all there is."""
    if len(command) > _LONGEST_PART_CHARS:
        return ""
    try:
        words = _run_in_the_end(shlex.split(command))
    except ValueError:
        return ""
    return _waiting(words, depth) if words and _called(words[0]) in _SHELLS else ""


def _waiting(words: list[str], depth: int) -> str:
    if not words:
        return ""
    program = _called(words[0])
    if program in _SHELLS and depth < _MOST_SHELLS:
        options = list(itertools.takewhile(lambda word: re.fullmatch(r"-[a-z]+", word), words[1:]))
        text = words[len(options) + 1 : len(options) + 2]
        return needs_terminal(text[0], depth + 1) if text and any("c" in option for option in options) else ""
    return program if _waits(program, words[1:]) else ""


def _run_in_the_end(words: list[str]) -> list[str]:
    """Return the words from the program on that others run: `env A=1 nice -n 5 vim x` runs `vim x`."""
    while words:
        name = _called(words[0])
        wrapper = _WRAPPERS.get(name)
        if wrapper is None and words[0] not in _BEFORE_COMMANDS and not _ASSIGNMENT.fullmatch(words[0]):
            first = words[0].lstrip("(")  # of a subshell
            return [first, *words[1:]] if first == words[0] or not first else _run_in_the_end([first, *words[1:]])
        values, operands = wrapper or ("", 0)
        words = words[1:]
        if words and words[0] in _ASKS.get(name, ()):
            return []
        while words and wrapper and (words[0].startswith("-") or _ASSIGNMENT.fullmatch(words[0])):
            words = words[2 if words[0] in values.split() else 1 :]
        words = words[operands:]
    return []


def _called(program: str) -> str:
    """Return a program's name as the lists here have it."""
    name = os.path.basename(program)
    return name.lower().removesuffix(".exe") if IS_WINDOWS else name


def _waits(program: str, words: list[str]) -> bool:
    if program not in _WAITING or any(re.match(r"\d*<", word) for word in words):
        return False
    if program == "watch":  # what follows belongs to what it runs
        words = list(itertools.takewhile(lambda word: word.startswith("-"), words))
    return all(_DRAWS.fullmatch(word) for word in words if word.startswith(("-", "+")))


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
    """Return SHELL when any of the processes is a shell that reads a terminal as bash does, or can't be looked at.

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
    if names.isdisjoint(_SHELLS - _OF_THEIR_OWN):
        return False
    if not names.isdisjoint(_SHELLS_OF_WINDOWS):
        options = [word.lower() for word in words[1:]]
        first = next((word for word in options if word.startswith(("/c", "/k", "-encodedcommand", "-noe"))), "")
        return not first.startswith(("/c", "-encodedcommand"))  # as commands are begun here; of others it isn't known
    first = words[1] if len(words) > 1 else ""
    has_text = first.startswith("-") and not first.startswith("--") and "c" in first  # -c, -lc: a command line
    is_script = bool(first) and first[0] not in "-+"
    return not has_text and not is_script
