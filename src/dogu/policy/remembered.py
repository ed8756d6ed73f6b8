"""The rules a person gave by answering "always", in a file they can read: `{"/root": ["run_shell_command(ls)"]}`."""

from __future__ import annotations

import fcntl
import os

import msgspec

from dogu.policy.rules import RestrictionError, Rule
from dogu.policy.verdict import Decision


class RememberedRules:
    """The rules kept for one root in a file; processes that write at once don't lose one another's."""

    def __init__(self, path: str, root: str) -> None:
        self._path = path
        self._root = root

    def load(self) -> tuple[Rule, ...]:
        """Return the rules; an entry that can't be understood is left out, which only means one more question."""
        found: list[Rule] = []
        for entry in self._read().get(self._root, []):
            try:
                found.append(Rule.parse(entry, Decision.ALLOW, self._path))
            except RestrictionError:
                continue
        return tuple(found)

    def add(self, rule: Rule) -> None:
        """Keep one more rule."""
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        with open(f"{self._path}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = self._read()
            entries = kept.setdefault(self._root, [])
            if rule.text not in entries:
                entries.append(rule.text)
                self._write(kept)

    def _read(self) -> dict[str, list[str]]:
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, list[str]])
        except (FileNotFoundError, msgspec.DecodeError):
            return {}

    def _write(self, kept: dict[str, list[str]]) -> None:
        temporary = f"{self._path}.new"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(kept)) + b"\n")
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, self._path)
