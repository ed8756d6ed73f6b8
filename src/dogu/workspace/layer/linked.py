"""Files of several names that a command wrote to by one which then went, was replaced or lies elsewhere.

In a layer of the machine's root the kernel keeps what such a file holds now in an index of its own, by what the file is
below: all its names show that. Those which the command never named aren't in the layer. In another's layer nothing is
left of it, nor is it noted if a name was written to or given to another file. Source:
Documentation/filesystems/overlayfs.rst, "Index".
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from dogu.workspace import fs
from dogu.workspace.launcher.layers import holds_renames
from dogu.workspace.layer.make import Layer
from dogu.workspace.layer.marks import identity_in, is_unchanged, is_whiteout, origin_of
from dogu.workspace.linked import names_of_linked
from dogu.workspace.openat import LastFolder, open_long
from dogu.workspace.staged import StagedChange

_LIST = os.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC


def written_by_other_names(layer: Layer, changes: Sequence[StagedChange]) -> Iterator[StagedChange]:
    """Yield the changes of what is left of such files: names that show what was written by another one.

    `changes` are all those that the layer's entries tell of.
    """
    index = os.path.join(layer.work, "index")
    try:
        handle = open_long(index, _LIST)
    except OSError:  # this layer has none, or its folders are gone
        return
    below = LastFolder()
    try:
        indexed = _indexed(handle, changes)
        if not indexed:
            return
        places = _Places(changes)
        for paths in names_of_linked([layer.root]).values():
            name = indexed.get(identity_in(*below.of(paths[0])), "")
            if name and (_is_named(handle, name) or not is_unchanged((handle, name), below.of(paths[0]))):
                shown = {place: path for path in paths if (place := places.now(path))}
                yield from _changes(handle, name, f"{index}/{name}", shown)
    finally:
        below.close()
        os.close(handle)


def may_have_parted(changes: Sequence[StagedChange]) -> bool:
    """Whether it isn't known if a command wrote to a file that keeps names which it didn't name, or left that alone and
    put another one in the place of a name, or nothing."""
    going: Counter[tuple[int, int, int]] = Counter()
    folders = LastFolder()
    try:
        for change in () if holds_renames() else changes:
            with suppress(OSError):
                folder, name = folders.of(change.path)
                status = fs.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    going.update(() if change.is_folder else _files_in(change.path))
                elif change.source and _has_names(status):
                    return True
                elif _has_names(status):
                    going[_known_by(status)] += 1
    finally:
        folders.close()
    return any(count < links for (_, _, links), count in going.items())


def _files_in(path: str) -> Iterator[tuple[int, int, int]]:
    waiting = [path]
    while waiting:
        place = waiting.pop()
        try:
            handle = open_long(place, _LIST)
        except OSError:
            continue
        try:
            statuses = [(name, fs.stat(name, dir_fd=handle, follow_symlinks=False)) for name in os.listdir(handle)]
        finally:
            os.close(handle)
        waiting += (os.path.join(place, name) for name, status in statuses if stat.S_ISDIR(status.st_mode))
        yield from (_known_by(status) for _, status in statuses if _has_names(status))


def _has_names(status: os.stat_result) -> bool:
    return not stat.S_ISDIR(status.st_mode) and status.st_nlink > 1


def _known_by(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_dev, status.st_ino, status.st_nlink


def _indexed(index: int, changes: Sequence[StagedChange]) -> dict[bytes, str]:
    """Return the names of what is in the index and in no name that is written to in its place, by what it is below."""
    known = {os.lstat(change.source).st_ino for change in changes if change.in_place}
    found: dict[bytes, str] = {}
    for name in os.listdir(index):
        status = fs.stat(name, dir_fd=index, follow_symlinks=False)
        if not (stat.S_ISDIR(status.st_mode) or is_whiteout(status)) and status.st_ino not in known:
            found[origin_of(index, name)] = name
    found.pop(b"", None)
    return found


def _is_named(index: int, name: str) -> bool:
    """Whether the layer has names of the file too, which are to be one with those that aren't there."""
    return fs.stat(name, dir_fd=index, follow_symlinks=False).st_nlink > 1


def _changes(index: int, name: str, source: str, shown: Mapping[str, str]) -> Iterator[StagedChange]:
    """Yield the change of one file, `shown` at these places, each with where it lay before."""
    stays = next((place for place, path in shown.items() if place == path), "")
    if stays:  # all its names are one file still, also those in folders that moved
        yield StagedChange(stays, source, was_there=True, in_place=True, has_marks=True)
        return
    for number, place in enumerate(shown):
        another = f"{name}.{number}"
        with suppress(FileExistsError):  # of an earlier look
            fs.link(name, another, src_dir_fd=index, dst_dir_fd=index, follow_symlinks=False)
        yield StagedChange(place, f"{os.path.dirname(source)}/{another}", has_marks=True)


class _Places:
    """Where what lay below is in the layer now."""

    def __init__(self, changes: Sequence[StagedChange]) -> None:
        self._moved = {change.moved_from: change.path for change in changes if change.moved_from}
        self._changed = {change.path: change for change in changes}

    def now(self, path: str) -> str:
        """Return where a file shows that wasn't named by the command; "" where it doesn't any more."""
        above = path
        while above != "/" and above not in self._moved:
            above = os.path.dirname(above)
        moved_to = self._moved.get(above, "")
        place = moved_to + path[len(above) :] if moved_to else path
        if place in self._changed:
            return ""
        above = place
        while (above := os.path.dirname(above)) not in ("/", moved_to):  # the folder that moved is wherever it is
            change = self._changed.get(above)
            if change is not None and (change.moved_from or not change.is_folder):
                return ""
        return place
