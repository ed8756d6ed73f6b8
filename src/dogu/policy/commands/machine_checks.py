"""What a row can't say of builders, other machines and other users."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.policy.commands import shell_checks
from dogu.policy.commands.effects import Danger, Effect
from dogu.workspace.shell_syntax import Word

_NAMES_PROGRAM = re.compile("COMPILER|LAUNCHER|PROGRAM|LINKER|TOOLCHAIN|COMMAND|EMULATOR|MODULE_PATH|INCLUDE")
_ELSEWHERE = re.compile(r"[^/:]+:.*|rsync://.*", re.DOTALL)
_READS = ("describe", "list", "get", "ls", "show", "info", "version", "help", "head", "wait", "tail", "search", "du")


def cmake(words: Sequence[Word]) -> Iterator[Danger]:
    """Yield the variables that name programs."""
    for at, word in enumerate(words[1:], 1):
        name, equals, _ = word.text.partition("=")
        name = name.removeprefix("-D").partition(":")[0]
        if equals and (name.endswith("_EXECUTABLE") or (name.startswith("CMAKE_") and _NAMES_PROGRAM.search(name))):
            yield Danger(at, Effect.RUNS, told("names a program to run"))


def sudo(words: Sequence[Word]) -> Iterator[Danger]:
    """Yield what starts a shell or an editor, and what `env` would be asked about."""
    yield from shell_checks.environment(words)
    for at, word in enumerate(words[1:], 1):
        if not word.text.startswith("-"):
            return
        if re.fullmatch(r"-[a-zA-Z]*[sie]|--(?:shell|login|edit)", word.text):
            yield Danger(at, Effect.RUNS, told("starts a shell or an editor as another user"))


def rsync(words: Sequence[Word]) -> Iterator[Danger]:
    """Yield places on other machines, and those where what runs later is kept."""
    yield from shell_checks.places(words)
    for at in shell_checks.operands_of(words, "efTBM"):
        if _ELSEWHERE.fullmatch(words[at].text):
            yield Danger(at, Effect.REACHES, told("copies files to or from another machine"))


def cloud(words: Sequence[Word]) -> Iterator[Danger]:
    """Yield what isn't plainly a look at what is there."""
    operands = [word.text for word in words[1:] if not word.text.startswith("-")]
    hands_out = any(re.search(r"secret|token|password|get-object|get-parameter", text) for text in operands[:5])
    if operands and (hands_out or not any(text.startswith(_READS) for text in operands[:5])):
        yield Danger(1, Effect.RUNS, told("changes what is in the cloud, or runs it"))
