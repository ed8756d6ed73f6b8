"""Finds the other names of files that have several (hard links)."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Sequence
from contextlib import suppress

from dogu.workspace.fs import walked

_MOST_LOOKED_AT = 50_000  # files


def names_by_inode(roots: Sequence[str], inodes: Collection[int]) -> dict[int, list[str]]:
    """Return the paths of files by their numbers, which listing the folders tells: nothing else is looked at."""
    found: dict[int, list[str]] = {}
    waiting = [*roots]
    while waiting and inodes:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.inode() in inodes:
                    found.setdefault(entry.inode(), []).append(entry.path)
    return found


def names_of_linked(roots: Sequence[str]) -> dict[int, list[str]]:
    """Return the paths of the files, links and FIFOs with several names, by their inode."""
    found: dict[int, list[str]] = {}
    count = 0
    for root in roots:
        for base, _, names in walked(root):
            count += len(names)
            if count > _MOST_LOOKED_AT:
                return found
            for name in names:
                path = os.path.join(base, name)
                with suppress(OSError):
                    status = os.lstat(path)
                    if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
                        found.setdefault(status.st_ino, []).append(path)
    return found
