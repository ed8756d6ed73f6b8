"""Let `git grep` or `grep` name the files that hold a plain text, for the engine in the process to look at.

Only names come from them; no program that a repository's configuration names is run.
Source: git-grep(1), git-config(1).
"""

from __future__ import annotations

import os
import re

import msgspec

from dogu.language import told
from dogu.workspace.ignore import DEFAULT_EXCLUDED
from dogu.workspace.search.program import Program, find_program
from dogu.workspace.search.query import SearchLimits, SearchQuery

_GIT_SAFE = ("core.fsmonitor=", "core.pager=cat", "core.hooksPath=/dev/null", "safe.bareRepository=explicit")
_GIT_ENVIRON = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "LC_ALL": "C"}
_META = re.compile(r"[\\.+*?()|\[\]{}^$]")


class Nominated(msgspec.Struct):
    """Files that may match, relative to the folder; `notes` say what the program doesn't look at."""

    program: str
    paths: list[str] = msgspec.field(default_factory=list[str])
    notes: list[str] = msgspec.field(default_factory=list[str])


def nominate(query: SearchQuery, folder: int, in_repository: bool, limits: SearchLimits) -> Nominated | None:
    """Name the files below a folder's handle that hold the query's text; None when no program can answer that.

    Only plain ASCII text within a line is asked for: everything else depends on a dialect or a locale.
    """
    is_plain = query.fixed_strings or not _META.search(query.pattern)
    if not is_plain or not query.pattern.isascii() or query.spans_lines or not query.pattern:
        return None
    case = [] if query.case_sensitive else ["--ignore-case"]
    if in_repository and query.respect_git_ignore:
        git = find_program("git")
        if git is not None:
            safe = [word for setting in _GIT_SAFE for word in ("-c", setting)]
            words = [git, "--no-pager", *safe, "grep", "--untracked", "--no-textconv", "-I", "-l", "-z", "-F", *case]
            return _run("git grep", [*words, "-e", query.pattern, "--", "."], folder, limits)
    grep = find_program("grep")
    if grep is None:
        return None
    excluded = [f"--exclude-dir={name}" for name in sorted(DEFAULT_EXCLUDED)]
    words = [grep, "-r", "-l", "-Z", "-I", "-F", "--devices=skip", *case, *excluded]
    return _run("grep", [*words, "-e", query.pattern, "--", "."], folder, limits)


def _run(name: str, words: list[str], folder: int, limits: SearchLimits) -> Nominated | None:
    pieces: list[bytes] = []

    def take(data: bytes) -> bool:
        pieces.append(data)
        return True

    outcome = Program(words, folder, environ={**os.environ, **_GIT_ENVIRON}).run(take, limits)
    if outcome.exit_code not in (0, 1) and not pieces:
        return None
    names = [os.fsdecode(path.removeprefix(b"./")) for path in b"".join(pieces).split(b"\0") if path]
    if name == "git grep":
        note = told("Searched by {name}: UTF-16 files and repositories inside this one were not looked at", name=name)
    else:
        note = told("Searched by {name}: UTF-16 files were not looked at", name=name)
    return Nominated(name, names, [note])
