"""What git is given that its rows can't say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect
from dogu.policy.commands.names import GIT_COMMANDS
from dogu.policy.commands.programs import ROWS
from dogu.policy.commands.shell_checks import leads_outside, operands_of
from dogu.workspace.shell_syntax import Word

_KNOWN = GIT_COMMANDS | {row.under.split(" ")[0] for row in ROWS if row.programs == "git"}
_HARMLESS_SETTING = re.compile(
    r"(?:core\.pager=cat|pager\.[a-z]+=(?:cat|false)|color\.[a-z.]+=\w+|core\.quotepath=\w+|user\.(?:name|email)=[^\n]*"
    r"|(?:commit|tag)\.gpgsign=false|advice\.[a-z]+=\w+|init\.defaultbranch=[\w/.-]+|core\.autocrlf=\w+)",
    re.IGNORECASE,
)
_READS_CONFIG = frozenset("--get --get-all --list -l --get-regexp --get-urlmatch --show-origin get list".split())


def git_dangers(words: Sequence[Word], at: int, subcommand: str) -> Iterator[Danger]:
    """Yield what is dangerous about a git command whose subcommand stands at `at`."""
    first = subcommand.split(" ", maxsplit=1)[0]
    yield from _before_subcommand(words, at)
    if at < len(words) and first not in _KNOWN:
        yield Danger(
            at, Effect.REACHES, told("{name} may be an alias that runs anything", name=first or words[at].text)
        )
    if first == "config":
        yield from _config(words, at)
    if first in ("clone", "init", "worktree"):
        yield from _work_trees(words, at, first)
    for index, word in enumerate(words[1:], 1):
        if re.match(r"(?:-[^=]*=)?(?:ext|fd)::", word.prefix):
            yield Danger(index, Effect.RUNS, told("the address names a program to run"))


def _before_subcommand(words: Sequence[Word], at: int) -> Iterator[Danger]:
    for index, word in enumerate(words[1:at], 1):
        if word.value == "-C" and index + 1 < len(words) and leads_outside(words[index + 1]):
            yield Danger(
                index, Effect.RUNS, told("-C uses a repository elsewhere, whose configuration can run programs")
            )
        if word.value == "-c" and not _HARMLESS_SETTING.fullmatch(words[min(index + 1, len(words) - 1)].value or ""):
            yield Danger(index, Effect.RUNS, told("-c sets configuration, which can name programs to run"))


def _config(words: Sequence[Word], at: int) -> Iterator[Danger]:
    operands = [word for word in words[at + 1 :] if not word.text.startswith("-")]
    if len(operands) > 1 and not _READS_CONFIG & {word.text for word in words}:
        yield Danger(at, Effect.RUNS, told("config changes settings that can name programs"))


def _work_trees(words: Sequence[Word], at: int, subcommand: str) -> Iterator[Danger]:
    places = operands_of(words[at:], "bcou")
    for index in places[1:] if subcommand == "clone" else places:
        if leads_outside(words[at + index]):
            yield Danger(at + index, Effect.WRITES, told("it makes a work tree outside of the workspace"))
