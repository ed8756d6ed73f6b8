"""What "always" would save: the narrowest rule that lets a command run again without a question."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from dogu.contract.tool_names import SHELL_TOOL
from dogu.policy.commands.cmd_exe import block_for_windows, program_for_windows
from dogu.policy.commands.effects import Hints
from dogu.policy.commands.inner import SHELLS
from dogu.policy.commands.reading import Reading
from dogu.policy.commands.table import Program, find_program
from dogu.policy.decide import judge_text
from dogu.policy.rule import Rule
from dogu.policy.verdict import CallFacts, Decision
from dogu.workspace.shell_syntax import Command, CommandKind, NotBashError, UnprovenError, Word, parse
from dogu.workspace.shell_syntax.cmd_exe import parse_cmd

_MOST_PARTS = 5
_Find = Callable[[str], Program | None]
_NO_OPERANDS = frozenset(("-", "-s", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))


def narrow_rule(facts: CallFacts) -> Rule | None:
    """Return the rule, to be shown before it is saved; None when no rule could be narrow enough.

    A program or subcommand that only looks, whatever it is given, with any arguments that the table knows; anything
    else as it is; what can't be taken back not at all. A chain's rule has its commands' rules as parts.
    """
    if facts.always_ask:
        return None
    if facts.command is None:
        return Rule(facts.tool, Decision.ALLOW, source="session")
    if facts.shell == "powershell":
        return None
    is_bash = facts.shell == "bash"
    find = find_program if is_bash else block_for_windows
    commands = [_words(each, find) for each in _commands(facts.command, is_bash=is_bash)]
    if any(_is_for_good(each, find) for each in commands if each):
        return None
    found = _by_lengths(facts, commands, find)
    if found is None:
        return None
    return found[0] if len(found) == 1 else Rule(SHELL_TOOL, Decision.ALLOW, source="session", parts=found)


def _by_lengths(facts: CallFacts, commands: list[list[str]], find: _Find) -> tuple[Rule, ...] | None:
    if not commands or not all(commands):
        return None
    for is_whole in (False, True):
        rules = tuple(dict.fromkeys(_rule(each, find, is_whole=is_whole) for each in commands))
        if len(rules) <= _MOST_PARTS and judge_text(facts, rules, ()).gate is Decision.ALLOW:
            return rules
    return None


def _rule(words: list[str], find: _Find, *, is_whole: bool) -> Rule:
    length = 0 if is_whole else _narrow_length(words, find)
    kept = tuple(words[:length] if length else words)
    return Rule(SHELL_TOOL, Decision.ALLOW, kept, "session", is_whole=not length)


def _narrow_length(words: list[str], find: _Find) -> int:
    """How many words say what the command does, where it only looks whatever stands behind them; else 0."""
    block = find(words[0])
    if block is None or block.is_harmless:
        return 0 if block is None else 1
    name = _read(block, words).subcommand
    count = len(name.split())
    is_first = words[1 : count + 1] == name.split()
    return count + 1 if name and is_first and name in block.reads and not block.parents(name) else 0


def _is_for_good(words: list[str], find: _Find) -> bool:
    """Whether the command may destroy what no one can bring back, and something else each time it is run."""
    block = find(words[0])
    if block is None or not block.for_good:
        return False
    reading = _read(block, words)
    given = [*words[1:], *(name for name, _, _ in reading.taken)]
    for *subcommand, last in block.for_good:
        if " ".join((*subcommand, last)) == reading.subcommand:
            return True
        if " ".join(subcommand) == reading.subcommand and any(fnmatchcase(each, last) for each in given):
            return True
    return False


def _read(block: Program, words: list[str]) -> Reading:
    reading = Reading(block, [Word.literal(each) for each in words], Hints(lambda _: True, lambda _: False))
    for _ in reading.dangers():
        pass
    return reading


def _commands(text: str, *, is_bash: bool) -> list[Command]:
    """The simple commands that the text is a chain of; nothing when it is anything else."""
    try:
        commands = parse(text).commands if is_bash else _for_windows(parse_cmd(text).commands)
    except (NotBashError, UnprovenError):
        return []
    is_chain = all(each.kind is CommandKind.SIMPLE and each.function is None for each in commands)
    return commands if is_chain else []


def _words(command: Command, find: _Find) -> list[str]:
    """The command's words, all of them known; nothing where one isn't, or where what it runs comes from elsewhere."""
    values = [word.value for word in command.words]
    if not values or None in values or command.assignments:
        return []
    words = [value or "" for value in values]
    block = find(words[0])
    reads_code = words[0] in SHELLS or (block is not None and block.bare is not None)
    if reads_code and (len(words) == 1 or _NO_OPERANDS.intersection(words) or command.redirects or command.piped_from):
        return []  # what it would run stands in no word that a rule could hold
    return words


def _for_windows(commands: list[Command]) -> list[Command]:
    """The commands under the names that rules for cmd.exe have."""
    for each in commands:
        name = program_for_windows(each.words[0].value) if each.words else None
        if name is not None:
            each.words[0] = Word.literal(name)
    return commands
