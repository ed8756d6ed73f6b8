"""What "always" would save: the narrowest rule that lets a command run again without a question."""

from __future__ import annotations

from dogu.contract.tool_names import SHELL_TOOL
from dogu.policy.commands.table import find_program
from dogu.policy.decide import judge_text
from dogu.policy.rules import Rule
from dogu.policy.verdict import CallFacts, Decision
from dogu.workspace.shell_syntax import CommandKind, NotBashError, UnprovenError, parse

_WITH_MORE = {("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("docker", "compose"), ("uv", "run")}
# Programs that only look, whatever their arguments; `dangers` keeps what isn't looking out.
_ONLY_LOOK = frozenset(
    "ls cat head tail wc grep egrep fgrep rg pwd echo printf which type file stat du df date whoami id uname env "
    "tree diff cmp sort uniq cut tr nl basename dirname realpath readlink true false test".split()
)


def narrow_rule(facts: CallFacts) -> Rule | None:
    """Return the rule, to be shown before it is saved; None when no rule could be narrow enough."""
    if facts.always_ask:
        return None
    if facts.command is None:
        return Rule(facts.tool, Decision.ALLOW, source="session")
    words = _words(facts.command)
    if not words:
        return None
    for length in sorted({_narrow_length(words), len(words)}):
        rule = Rule(SHELL_TOOL, Decision.ALLOW, tuple(words[:length]), "session")
        if judge_text(facts, (rule,), ()).gate is Decision.ALLOW:
            return rule
    return None


def _narrow_length(words: list[str]) -> int:
    if words[0] in _ONLY_LOOK:
        return 1
    block = find_program(words[0])
    if (
        ((block is not None and block.has_subcommands) or words[0] in ("make", "just"))
        and len(words) > 1
        and not words[1].startswith("-")
    ):
        return min(len(words), 3 if (words[0], words[1]) in _WITH_MORE else 2)
    return len(words)


def _words(command: str) -> list[str]:
    """The words of a text that is one simple command whose words are all known; else nothing."""
    try:
        commands = parse(command).commands
    except (NotBashError, UnprovenError):
        return []
    if len(commands) != 1 or commands[0].kind is not CommandKind.SIMPLE or commands[0].assignments:
        return []
    values = [word.value for word in commands[0].words]
    return [] if None in values else [value or "" for value in values]
