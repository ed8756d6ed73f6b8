"""The rules a user gave by answering "always", in a file they can read: `{"/root": ["run_shell_command(ls)"]}`."""

from __future__ import annotations

from dogu.policy.rule import RestrictionError, Rule
from dogu.policy.verdict import Decision
from dogu.workspace.private_file import changing_json, read_json


class RememberedRules:
    """The rules kept for one root in a file; processes that write at once don't lose one another's."""

    def __init__(self, path: str, root: str) -> None:
        self._path = path
        self._root = root

    def load(self) -> tuple[Rule, ...]:
        """Return the rules; an entry that can't be understood is left out, which only means one more question."""
        found: list[Rule] = []
        for entry in read_json(self._path, dict[str, list[str]]).get(self._root, []):
            try:
                found.append(Rule.parse(entry, Decision.ALLOW, self._path))
            except RestrictionError:
                continue
        return tuple(found)

    def add(self, rule: Rule) -> None:
        """Keep one more rule."""
        with changing_json(self._path, dict[str, list[str]], indent=2) as kept:
            entries = kept.setdefault(self._root, [])
            if rule.text not in entries:
                entries.append(rule.text)
