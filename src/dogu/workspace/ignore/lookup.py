"""Which rules govern one path: for tools that are given a path, or a folder to walk from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dogu.workspace.ignore import DEFAULT_EXCLUDED, FolderRules, Ignore
from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from dogu.workspace.ignore import Reason


def governing_rules(roots: Roots, path: str, *, respects_git: bool) -> tuple[Ignore, FolderRules]:
    """Return the rules that hold in a folder inside the roots, and what reads those of the folders below.

    Raises `ToolError` as `roots.real`.
    """
    real = roots.real(path)
    root = roots.root_of(real)
    ignore = Ignore(root, more=roots.ignore_files)
    descriptor = roots.open_directory(root)
    try:
        rules = ignore.rules_for(descriptor, roots.relative(real))
    finally:
        os.close(descriptor)
    return ignore, rules if respects_git else rules.without_git()


def why_ignored(roots: Roots, path: str) -> Reason:
    """Return the reason why a path inside the roots is left out of listings, empty if it isn't.

    A path through symbolic links is judged by its own name and by where it leads. Raises `ToolError` as `roots.locate`.
    """
    located = roots.locate(path)
    return _why(roots, located) or _why(roots, roots.real(located))


def is_left_out(roots: Roots, path: str) -> bool:
    """Whether a path inside the roots is no part of the work: ignored, or in a folder that tools put there.

    Raises `ToolError` as `why_ignored`.
    """
    return not DEFAULT_EXCLUDED.isdisjoint(path.split("/")) or bool(why_ignored(roots, path))


def hidden_from_models(roots: Roots, path: str) -> Reason:
    """Return `gemini` where `.geminiignore` leaves out a path inside the roots, whatever git's rules say of it.

    Next to nothing to find out where there is no such file. Links and errors as for `why_ignored`.
    """
    located = roots.locate(path)
    return _gemini(roots, located) or _gemini(roots, roots.real(located))


def _gemini(roots: Roots, path: str) -> Reason:
    root = roots.root_of(path)
    if not roots.ignore_files and not os.path.lexists(os.path.join(root, ".geminiignore")):
        return ""

    descriptor = roots.open_directory(root)
    try:
        rules = Ignore(root, more=roots.ignore_files).root_rules(descriptor).without_git()
    finally:
        os.close(descriptor)
    *folders, name = roots.relative(path).split("/")
    for folder in folders:
        rules = rules.entered(folder, rules.why_ignored(folder, is_folder=True))
    return rules.why_ignored(name, is_folder=False)


def _why(roots: Roots, path: str) -> Reason:
    root = roots.root_of(path)
    descriptor = roots.open_directory(root)
    try:
        return Ignore(root, more=roots.ignore_files).why_ignored(descriptor, roots.relative(path))
    finally:
        os.close(descriptor)
