"""What of a workspace its repository's own settings name: a folder of hooks, settings that they include, programs.

To write there is to write to `.git` itself, by another name. Source: git-config(1).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from dogu.workspace.sandbox.git_settings import may_be_said, settings_in
from dogu.workspace.sandbox.work import repositories
from dogu.workspace.small_file import read_small_file

_MOST_BYTES = 1 << 20
_MOST_FILES = 50
_INCLUDES = re.compile(r"include(?:if\..*)?\.path")
_HOOKS = "core.hookspath"
_ONLY_TEXT = re.compile(r"core\.(?:excludesfile|worktree)|blame\.ignorerevsfile|commit\.template|mailmap\.file")


def named_by_git(root: str) -> tuple[str, ...]:
    """Return the files, and the folder of hooks, below a root (absolute, real) that run by its repository's settings.

    They may be there or not.
    """
    return tuple(dict.fromkeys(place for _, place in _all(root)))


def included_by_git(root: str) -> tuple[str, ...]:
    """Return those of them that are settings themselves."""
    return tuple(dict.fromkeys(place for key, place in _all(root) if _INCLUDES.fullmatch(key)))


def is_named(path: str, places: Sequence[str]) -> bool:
    """Whether a path is one of these places, lies in one or holds one."""
    own = os.path.join(path, "")
    return any(own.startswith(os.path.join(place, "")) or place.startswith(own) for place in places)


def _all(root: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and the places below the root of all settings that are read, what these include among them."""
    places = product((os.path.join(root, ".git"), *repositories([root])), ("config", "config.worktree"))
    waiting = [os.path.join(*place) for place in places]
    for path in waiting:
        try:
            status = os.stat(path)
        except OSError:
            continue
        for key, place in _named(root, path, (status.st_ino, status.st_size, status.st_mtime_ns)):
            if _INCLUDES.fullmatch(key) and place not in waiting and len(waiting) < _MOST_FILES:
                waiting.append(place)
            if place.startswith(os.path.join(root, "")):
                yield key, place


@lru_cache(256)
def _named(root: str, path: str, _state: tuple[int, int, int]) -> tuple[tuple[str, str], ...]:
    """The settings' keys, each with a place that it names: below the root, but for what is included."""
    try:
        settings = settings_in(read_small_file(path, _MOST_BYTES)) or set()
    except OSError:
        return ()
    found: list[tuple[str, str]] = []
    for key, value in sorted(settings):
        is_include = _INCLUDES.fullmatch(key) is not None
        texts = map(os.path.expanduser, _texts(key, value)) if is_include else _texts(key, value)
        begins = os.path.dirname(path) if is_include else root
        for place in (os.path.normpath(os.path.join(begins, text)) for text in texts):
            is_ours = is_include or place.startswith(os.path.join(root, ""))
            found += [(key, place)] if is_ours and (key == _HOOKS or not os.path.isdir(place)) else []
    return tuple(found)


def _texts(key: str, value: str) -> list[str]:
    """What of a setting may be a path: all of it, or the words of a command that hold a slash."""
    if key == _HOOKS or _INCLUDES.fullmatch(key):
        return [value]
    if may_be_said(key, value) or _ONLY_TEXT.fullmatch(key):
        return []
    return [word for word in re.split(r"[\s\"';&|!()]+", value) if "/" in word]
