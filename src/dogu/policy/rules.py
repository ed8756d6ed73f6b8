"""All that is written of tools and commands: which tools exist, which commands they may run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dogu.contract.tool_names import SHELL_TOOL
from dogu.language import told
from dogu.policy.rule import RestrictionError, Rule, check_examples
from dogu.policy.verdict import Decision

if TYPE_CHECKING:
    from dogu.policy.file_rules import FileRule

ALLOWED = "tools.allowed"


class Rules(msgspec.Struct, frozen=True):
    """All rules that hold at once. `core` None means no restriction.

    What `asked` names is always asked about. `files` are the rules of a policy's files, the highest priority first.
    With `runs_unknown` commands that can't be read need no question in yolo: the user wants no sandbox, either.
    """

    core: tuple[Rule, ...] | None = None
    exclude: tuple[Rule, ...] = ()
    allowed: tuple[Rule, ...] = ()
    core_source: str = "coreTools"
    asked: tuple[Rule, ...] = ()
    files: tuple[FileRule, ...] = ()
    runs_unknown: bool = False

    @classmethod
    def from_lists(
        cls,
        core: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        allowed: Iterable[str | Mapping[str, Any]] | None = None,
        places: Mapping[str, str] | None = None,
        asked: Iterable[str] = (),
    ) -> Rules:
        """Make rules of the settings' lists. Raises `RestrictionError` for an entry that isn't understood.

        `places` says where an entry is written, as `LIST.ENTRY`, and under `core` where that list is: the lists are
        `core`, `exclude`, `allowed` and `confirmationRequired`, as the settings' keys in `tools` are.
        """
        written = places or {}

        def rules(entries: Iterable[str], decision: Decision, name: str, key: str) -> tuple[Rule, ...]:
            return tuple(
                Rule.parse(entry, decision, _written(name, written, f"{key}.{entry}", key)) for entry in entries
            )

        return cls(
            None if core is None else rules(core, Decision.ALLOW, "coreTools", "core"),
            rules(exclude or (), Decision.DENY, "excludeTools", "exclude"),
            tuple(_allowed(entry, written) for entry in allowed or ()),
            _written("coreTools", written, "core"),
            rules(asked, Decision.ASK, "tools.confirmationRequired", "confirmationRequired"),
        )

    def tool_exists(self, name: str) -> bool:
        """Whether the lists let a built-in tool exist at all; an exclusion of some of its commands leaves it there."""
        if self.is_excluded(name):
            return False
        return self.core is None or any(rule.tool == name for rule in self.core)

    def is_excluded(self, name: str) -> bool:
        """Whether the tool is excluded as a whole."""
        return bool(self._excluded_by(name))

    def why_missing(self, name: str) -> str:
        """Say which list keeps a tool out, and where that is written; '' where none does."""
        source = self._excluded_by(name)
        if source:
            return told("{tool} is excluded by {source}", tool=name, source=source)
        if not self.tool_exists(name):
            return told("{tool} is not among the tools of {source}", tool=name, source=self.core_source)
        return ""

    def _excluded_by(self, name: str) -> str:
        """What excludes the tool as a whole: the entry's source or the file's rule; '' for a tool that isn't."""
        for rule in self.exclude:
            if rule.words is None and rule.names(name):
                return rule.source or "excludeTools"
        rule = next((rule for rule in self.files if rule.names(name)), None)
        return rule.source if rule is not None and rule.excludes(name) else ""

    def shell_core(self) -> tuple[Rule, ...] | None:
        """The commands that alone may run; None when any may."""
        if self.core is None or any(rule.tool == SHELL_TOOL and rule.words is None for rule in self.core):
            return None
        return tuple(rule for rule in self.core if rule.tool == SHELL_TOOL)

    def shell_exclude(self) -> tuple[Rule, ...]:
        """The commands that may not run."""
        return tuple(rule for rule in self.exclude if rule.tool == SHELL_TOOL and rule.words is not None)


def _written(name: str, places: Mapping[str, str], *keys: str) -> str:
    """Return the list's name, with where the entry is written, or else the list."""
    place = next((places[key] for key in keys if key in places), "")
    return f"{name} ({place})" if place else name


def _allowed(entry: str | Mapping[str, Any], places: Mapping[str, str]) -> Rule:
    """An entry may carry examples: `{"rule": "...", "match": [...], "not_match": [...]}`."""
    if isinstance(entry, str):
        return Rule.parse(entry, Decision.ALLOW, _written(ALLOWED, places, f"allowed.{entry}"))
    text = entry.get("rule")
    if not isinstance(text, str) or entry.keys() - {"rule", "match", "not_match"}:
        raise RestrictionError(str(dict(entry)), 'a rule is {"rule": ..., "match": [...], "not_match": [...]}')
    rule = Rule.parse(text, Decision.ALLOW, ALLOWED)
    check_examples([rule], entry.get("match", ()), entry.get("not_match", ()))
    return rule
