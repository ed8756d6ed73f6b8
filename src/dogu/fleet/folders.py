"""A folder of the user's as a task gets it: a copy, of what is no larger than each task can have one of.

What a folder is may be a mistake (`/proc/self`, `/`, a home) or somebody's trap, so it is looked at before anything of
it is read: how many names, how many bytes, no devices, nothing that is made up while it is read.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator

from dogu.fleet.aside import WorldError, run_to_end
from dogu.language import sentence, told
from dogu.workspace.system import IS_LINUX

_MOST_ENTRIES = 200_000
_MOST_BYTES = 2 << 30  # as the files say, though they be sparse: git reads all of it
_TAKES_S = 600.0
_GROWS_BYTES = 64 << 20  # a log may while it is copied
# What has no end is cut off by the kernel, whatever it said of its size.
_COPY = 'ulimit -c 0; ulimit -f "$0" 2> /dev/null; exec cp -a --reflink=auto -- "$@"'


class UnfitFolderError(WorldError):
    """A folder that no task may have a copy of: too much, or what is no content."""


def check_folder(folder: str, fleet: str) -> int:
    """Return the size of its largest file, `fleet` left out. Raises OSError, `UnfitFolderError`."""
    if not os.path.isdir(folder):
        raise UnfitFolderError(told("{folder} isn't a folder", folder=folder))
    source, left_out = os.path.realpath(folder), os.path.realpath(fleet)
    until = time.monotonic() + _TAKES_S
    total = largest = 0
    for count, about in enumerate(_abouts(source, left_out, folder), 1):
        if stat.S_ISREG(about.st_mode):
            total += about.st_size
            largest = max(largest, about.st_size)
        if count > _MOST_ENTRIES or total > _MOST_BYTES or time.monotonic() > until:
            raise UnfitFolderError(
                told(
                    "{folder} is too large to be copied for each task (at most {count:,} files and {size} GB): "
                    "name a repository, or a smaller folder",
                    folder=folder,
                    count=_MOST_ENTRIES,
                    size=_MOST_BYTES >> 30,
                )
            )
    return largest


def copy_folder(folder: str, root: str, fleet: str) -> None:
    """Copy a folder, sharing its blocks where the file system can; the fleet's own folder isn't copied into itself.

    Raises OSError, `UnfitFolderError` before anything is copied, and `WorldError`.
    """
    largest = check_folder(folder, fleet)
    _copy(os.path.realpath(folder), root, os.path.realpath(fleet), largest)


def _abouts(source: str, left_out: str, name: str) -> Iterator[os.stat_result]:
    """Look at all that lies in a folder, told of by `name`. Raises `UnfitFolderError` for what is no content."""
    device, folders = -1, [source]
    while folders:
        folder = folders.pop()
        if os.lstat(folder).st_dev != device:
            device = os.lstat(folder).st_dev
            if IS_LINUX and not shutil.disk_usage(folder).total:
                words = sentence("{folder} isn't on a disk: the system makes up its files when they are read")
                raise UnfitFolderError(told(words, folder=name if folder == source else folder))
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.path == left_out:
                    continue
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISCHR(about.st_mode) or stat.S_ISBLK(about.st_mode):
                    raise UnfitFolderError(told("{path} is a device: a folder with one isn't copied", path=entry.path))
                if stat.S_ISDIR(about.st_mode):
                    folders.append(entry.path)
                yield about


def _copy(source: str, root: str, left_out: str, largest: int) -> None:
    if left_out == source or not f"{left_out}/".startswith(f"{source.rstrip('/')}/"):
        _copy_whole(source, root, largest)
        return
    os.makedirs(root)
    shutil.copystat(source, root)
    for entry in os.scandir(source):
        if entry.path == left_out:
            continue
        target = os.path.join(root, entry.name)
        if f"{left_out}/".startswith(f"{entry.path}/") and not entry.is_symlink():
            _copy(entry.path, target, left_out, largest)
        else:
            _copy_whole(entry.path, target, largest)


def _copy_whole(source: str, target: str, largest: int) -> None:
    if not IS_LINUX:
        if os.path.isdir(source) and not os.path.islink(source):
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target, follow_symlinks=False)
        return
    blocks = (largest + _GROWS_BYTES) // 512
    words = ["sh", "-c", _COPY, str(blocks), source, target]
    status, _, errors = run_to_end(words, b"", _TAKES_S)
    if status:
        why = errors.decode(errors="replace").strip().split("\n", 1)[0]
        raise WorldError(why or told("{folder} can't be copied: one of its files has no end", folder=source))
