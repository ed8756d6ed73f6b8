"""Written rules: which tools exist, which commands they may run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dogu.policy.verdict import Decision

SHELL_TOOL = "run_shell_command"


class RestrictionError(Exception):
    """An entry of a restricting list that can't be understood; `entry` is its text."""

    def __init__(self, entry: str, message: str) -> None:
        super().__init__(message)
        self.entry = entry


@dataclass(frozen=True, slots=True)
class Rule:
    """A decision about a tool, or about commands that begin with `words`."""

    tool: str
    decision: Decision
    words: tuple[str, ...] | None = None
    source: str = ""

    @property
    def text(self) -> str:
        """The rule as the settings spell it."""
        return self.tool if self.words is None else f"{self.tool}({' '.join(self.words)})"


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules that hold at once. `core` None means no restriction."""

    core: tuple[Rule, ...] | None = None
    exclude: tuple[Rule, ...] = ()
    allowed: tuple[Rule, ...] = ()

    @classmethod
    def from_lists(
        cls,
        core: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        allowed: Iterable[str] | None = None,
    ) -> Rules:
        """Make rules of the settings' lists. Raises `RestrictionError` for an entry that isn't understood."""
        return cls(
            None if core is None else tuple(_rule(entry, Decision.ALLOW) for entry in core),
            tuple(_rule(entry, Decision.DENY) for entry in exclude or ()),
            tuple(_rule(entry, Decision.ALLOW) for entry in allowed or ()),
        )

    def tool_exists(self, name: str) -> bool:
        """Whether the lists let the tool exist at all; an exclusion of some of its commands leaves it there."""
        if any(rule.tool == name and rule.words is None for rule in self.exclude):
            return False
        return self.core is None or any(rule.tool == name for rule in self.core)


def _rule(entry: str, decision: Decision) -> Rule:
    name, opened, rest = entry.partition("(")
    if not opened:
        return Rule(name, decision)
    if not rest.endswith(")") or name != SHELL_TOOL:
        raise RestrictionError(entry, f"{entry!r} is not a tool's name or {SHELL_TOOL}(COMMAND)")
    return Rule(name, decision, tuple(rest[:-1].split()))
