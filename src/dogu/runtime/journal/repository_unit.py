"""A git repository is undone as a whole or not at all: without objects that somebody's commit names, it is broken."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from dogu.language import told
from dogu.runtime.journal.apply import Step, UndoRefusal
from dogu.workspace.held import git_folder

_REFS = ("HEAD", "packed-refs", "refs", "worktrees")


def as_units(
    steps: Sequence[Step], refused: Sequence[UndoRefusal], known: Collection[str], since_s: float, *, force: bool
) -> tuple[list[Step], list[UndoRefusal]]:
    """Leave out what belongs to a repository in which somebody has changed something since a time, unless forced.

    `known` are the paths that the journal knows to be changed by calls. Forced, objects that were made stay: git
    removes by itself what nothing names.
    """
    touched = {folder for each in refused if (folder := git_folder(each.path))}
    for folder in {git_folder(step.path) for step in steps} - touched - {""}:
        if any(path not in known for path in _newer_refs(folder, since_s)):
            touched.add(folder)
    left: list[Step] = []
    more: list[UndoRefusal] = []
    for step in steps:
        folder = git_folder(step.path)
        if folder not in touched:
            left.append(step)
        elif not force:
            why = told("the repository was changed since, and is undone as a whole or not at all")
            more.append(UndoRefusal(step.path, why, needs="force"))
        elif not (step.target.kind == "missing" and step.path.startswith(f"{folder}/objects/")):
            left.append(step)
    return left, more


def _newer_refs(folder: str, since_s: float) -> Iterator[str]:
    """Give the files that say where branches stand and that were written after a time (POSIX).

    Git writes each anew; an undo, which may be another session's, gives them their time back.
    """
    for name in _REFS:
        path = os.path.join(folder, name)
        for base, _, names in [("", [], [path]), *os.walk(path)]:
            for each in (os.path.join(base, name) for name in names):
                try:
                    status = os.lstat(each)
                except OSError:
                    continue
                if not os.path.isdir(each) and status.st_mtime > since_s:
                    yield each
