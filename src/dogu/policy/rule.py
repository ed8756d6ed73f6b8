"""One rule: what a list of the settings, or "always", says of a tool or of the commands that begin so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from dogu.contract.tool_names import (
    CONTAINED_COMMANDS,
    OTHER_NAMES,
    SHELL_TOOL,
    may_mean_tool,
    means_tool,
    server_and_tool,
)
from dogu.language import told
from dogu.policy.verdict import Decision

KEPT = "kept"
"""The source of a rule that outlives the session, in its folder."""
_WINDOWS_PATH = re.compile(r"(?:[A-Za-z]:|[\w.-]+)\\[\w.]")
_ENTRY = r"(?s)\s*(?P<name>[A-Za-z_][A-Za-z0-9_.:*-]*)(?:\((?P<words>.*)\))?\s*"


class RestrictionError(Exception):
    """An entry of a restricting list that can't be understood; `entry` is its text."""

    def __init__(self, entry: str, message: str) -> None:
        super().__init__(message)
        self.entry = entry


class Rule(msgspec.Struct, frozen=True):
    """A decision about a tool, or about commands that begin with `words`.

    `is_unclear`: the words hold a wildcard, which no document gives a meaning; such a rule matches only itself, and
    what it may have been meant for is asked about. `parts` are the rules of a chain's commands, which hold together.
    `is_whole`: the words are all of the command, which nothing may follow.
    """

    tool: str
    decision: Decision
    words: tuple[str, ...] | None = None
    source: str = ""
    is_unclear: bool = False
    parts: tuple[Rule, ...] = ()
    is_whole: bool = False

    def names(self, tool: str) -> bool:
        """Whether it is about this tool; what restricts, in every spelling that the tool may be meant by."""
        means = means_tool if self.decision is Decision.ALLOW else may_mean_tool
        return means(self.tool, tool)

    @property
    def text(self) -> str:
        """The rule as the settings spell it; all of its parts where it has any."""
        if self.parts:
            return ", ".join(part.text for part in self.parts)
        if self.words is None:
            return self.tool
        return f"{self.tool}({'= ' if self.is_whole else ''}{' '.join(map(_quoted, self.words))})"

    @property
    def scope(self) -> str:
        """Say in words all that the rule covers, and where it holds."""
        if self.tool == CONTAINED_COMMANDS:
            covered = told("commands that can't leave the sandbox")
        elif self.words is None and not self.parts:
            return told("{tool}, for this session", tool=self.tool)
        else:
            covered = tuple(each.covers for each in self.parts or (self,))
        if self.source == KEPT:
            return told("{commands}, in this folder from now on", commands=covered)
        return told("{commands}, for this session", commands=covered)

    @property
    def covers(self) -> str:
        """Say which commands begin so, or that it is this one alone."""
        command = " ".join(map(_quoted, self.words or ()))
        if self.is_whole:
            return told("`{command}` as it is", command=command)
        return told("`{command}` with any arguments", command=command)

    @classmethod
    def parse(cls, entry: str, decision: Decision, source: str = "") -> Rule:
        """Make a rule of a settings entry: a tool's name, or `run_shell_command(WORDS)`.

        Raises `RestrictionError` for anything else: a restriction is never dropped silently.
        """
        match = re.fullmatch(_ENTRY, entry)
        if match is None:
            raise RestrictionError(
                entry, told("{entry!r} is neither a tool's name nor {tool}(COMMAND)", entry=entry, tool=SHELL_TOOL)
            )
        name = OTHER_NAMES.get(match["name"], match["name"])
        if "*" in name and not server_and_tool(name)[0]:
            message = told("{entry!r}: a * stands for the tools of a server, as in mcp_SERVER_*", entry=entry)
            raise RestrictionError(entry, message)
        if match["words"] is None:
            return cls(name, decision, source=source)
        if name != SHELL_TOOL:
            raise RestrictionError(
                entry, told("{entry!r}: only {tool} takes a command in parentheses", entry=entry, tool=SHELL_TOOL)
            )
        text = match["words"].removeprefix("= ")
        words, is_unclear = _words(text)
        if not words:
            raise RestrictionError(
                entry,
                told("{entry!r} names no command; {tool} alone stands for all commands", entry=entry, tool=SHELL_TOOL),
            )
        return cls(name, decision, words, source, is_unclear, is_whole=text != match["words"])


def check_examples(rules: Sequence[Rule], match: Iterable[str], not_match: Iterable[str]) -> None:
    """Check the examples a rule carries. Raises `RestrictionError` that names the one that isn't as it says."""
    for command in match:
        if not any(_begins(rule, command) for rule in rules):
            raise RestrictionError(
                command, told("the example {command!r} is not matched by {rule}", command=command, rule=rules[0].text)
            )
    for command in not_match:
        if any(_begins(rule, command) for rule in rules):
            raise RestrictionError(
                command,
                told(
                    "the example {command!r} is matched by {rule}, and should not be",
                    command=command,
                    rule=rules[0].text,
                ),
            )


def _words(text: str) -> tuple[tuple[str, ...], bool]:
    """The words of a rule as bash would see them, else as blanks part them; and whether one holds a wildcard."""
    from dogu.workspace.shell_syntax import CommandKind, NotBashError, UnprovenError, parse

    try:
        commands = [] if _WINDOWS_PATH.match(text) else parse(text).commands
    except (NotBashError, UnprovenError):
        commands = []
    if len(commands) == 1 and commands[0].kind is CommandKind.SIMPLE and not commands[0].assignments:
        found = commands[0].words
        if not commands[0].redirects and all(word.is_plain for word in found):
            return tuple(word.text for word in found), any(word.has_glob for word in found)
    return tuple(text.split()), bool(re.search(r"[*?]", text))


def _begins(rule: Rule, command: str) -> bool:
    words, _ = _words(command)
    return rule.words is None or words[: len(words) if rule.is_whole else len(rule.words)] == rule.words


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)
