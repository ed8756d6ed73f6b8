"""What "always" would save: the narrowest rule that lets a command run again without a question."""

from __future__ import annotations

from dogu.contract.tool_names import SHELL_TOOL
from dogu.policy.commands.shell_texts import SHELLS
from dogu.policy.commands.table import find_program
from dogu.policy.decide import judge_text
from dogu.policy.rules import Rule
from dogu.policy.verdict import CallFacts, Decision
from dogu.workspace.shell_syntax import Command, CommandKind, NotBashError, UnprovenError, parse

_WITH_MORE = {("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("docker", "compose"), ("uv", "run")}
_MOST_PARTS = 5
_NO_OPERANDS = frozenset(("-", "-s", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))


def narrow_rule(facts: CallFacts) -> Rule | None:
    """Return the rule, to be shown before it is saved; None when no rule could be narrow enough.

    Never wider than the command shown: what it lets run otherwise only looks, or is more of the same subcommand as the
    table of programs knows it. A chain's rule has its commands' rules as parts.
    """
    if facts.always_ask:
        return None
    if facts.command is None:
        return Rule(facts.tool, Decision.ALLOW, source="session")
    found = _by_lengths(facts, [_words(each) for each in _commands(facts.command)])
    if found is None:
        return None
    return found[0] if len(found) == 1 else Rule(SHELL_TOOL, Decision.ALLOW, source="session", parts=found)


def _by_lengths(facts: CallFacts, commands: list[list[str]]) -> tuple[Rule, ...] | None:
    if not commands or not all(commands):
        return None
    for is_whole in (False, True):
        words = [each if is_whole else each[: _narrow_length(each)] for each in commands]
        rules = tuple(dict.fromkeys(Rule(SHELL_TOOL, Decision.ALLOW, tuple(each), "session") for each in words))
        if len(rules) <= _MOST_PARTS and judge_text(facts, rules, ()).gate is Decision.ALLOW:
            return rules
    return None


def _narrow_length(words: list[str]) -> int:
    block = find_program(words[0])
    if block is not None and block.is_harmless:
        return 1
    has_subcommands = (block is not None and block.has_subcommands) or words[0] in ("make", "just")
    if has_subcommands and len(words) > 1 and not words[1].startswith("-"):
        return min(len(words), 3 if (words[0], words[1]) in _WITH_MORE else 2)
    return len(words)


def _commands(text: str) -> list[Command]:
    """The simple commands that the text is a chain of; nothing when it is anything else."""
    try:
        commands = parse(text).commands
    except (NotBashError, UnprovenError):
        return []
    is_chain = all(each.kind is CommandKind.SIMPLE and each.function is None for each in commands)
    return commands if is_chain else []


def _words(command: Command) -> list[str]:
    """The command's words, all of them known; nothing where one isn't, or where what it runs comes from elsewhere."""
    values = [word.value for word in command.words]
    if not values or None in values or command.assignments:
        return []
    words = [value or "" for value in values]
    block = find_program(words[0])
    reads_code = words[0] in SHELLS or (block is not None and block.bare is not None)
    if reads_code and (len(words) == 1 or _NO_OPERANDS.intersection(words) or command.redirects or command.piped_from):
        return []  # what it would run stands in no word that a rule could hold
    return words
