"""The arena: forty small tasks that need no key and no network but the model's. `dogu fleet run arena --out DIR`.

Each lies in a TOML table of its language, with a hidden check, a solution, and one that looks right and isn't: tests
hold that the check tells them apart. Prompts are in the five languages that dogu speaks.
"""

from __future__ import annotations

import os
import tomllib
from functools import cache

import msgspec

from dogu.fleet.tasks import Task

NAME = "arena"
_PROOFS = "proofs.toml"
_GIT = "git config --global user.name arena; git config --global user.email arena@localhost\n"
_BEGIN = "git init -q -b main && git add -A && git commit -qm Begin --allow-empty\n"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task as its table has it. `right` and `wrong` are files by path; their commands are run after them."""

    id: str
    prompt: str
    check: str
    setup: str = ""
    files: dict[str, str] = {}
    check_files: dict[str, str] = {}
    right: dict[str, str] = {}
    right_commands: str = ""
    wrong: dict[str, str] = {}
    wrong_commands: str = ""

    def task(self, group: str) -> Task:
        """Return what a fleet runs."""
        own = self.setup if "git init" in self.setup else f"{self.setup.rstrip()}\n{_BEGIN}".lstrip()
        return Task(
            self.id,
            self.prompt,
            setup=_GIT + own,
            check=self.check,
            files=self.files,
            check_files={**self.check_files, **(_proofs() if "proof.sh" in self.check else {})},
            group=group,
        )


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    tasks: list[Entry]


@cache
def _proofs() -> dict[str, str]:
    """What runs hidden tests so that only their own end counts."""
    with open(os.path.join(os.path.dirname(__file__), _PROOFS), "rb") as file:
        return tomllib.load(file)


def entries() -> dict[str, list[Entry]]:
    """Read all tables, by language."""
    folder = os.path.dirname(__file__)
    found: dict[str, list[Entry]] = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".toml") and name != _PROOFS:
            with open(os.path.join(folder, name), "rb") as file:
                found[name.removesuffix(".toml")] = msgspec.convert(tomllib.load(file), _Table).tasks
    return found


def arena_tasks() -> list[Task]:
    """Return the arena's tasks, a group for each programming language."""
    return [entry.task(group) for group, members in entries().items() for entry in members]
