"""What a folder calls what was found in it: folders that know no letter case, or one spelling of an accent, find more.

Windows' say it by a handle. Elsewhere without Linux' kernel (macOS) a folder is listed, once it has shown that it
finds a name in another spelling too.
"""

from __future__ import annotations

import os
import unicodedata

from dogu.workspace import fs
from dogu.workspace.system import IS_LINUX, IS_WINDOWS, path_of


def true_name(folder: int, name: str) -> str:
    """Return a name as the folder has it; that of a new file as it is spelled."""
    if IS_LINUX or name == ".":
        return name
    try:
        return _name_by_handle(folder, name) if IS_WINDOWS else _name_by_listing(folder, name)
    except (OSError, ValueError):
        return name


def _name_by_handle(folder: int, name: str) -> str:
    opened = fs.open(name, fs.O_PATH | fs.O_NOFOLLOW, dir_fd=folder)
    try:
        return os.path.basename(path_of(opened)) or name
    finally:
        os.close(opened)


def _name_by_listing(folder: int, name: str) -> str:
    other = _respelled(name)
    found = fs.stat(name, dir_fd=folder, follow_symlinks=False)
    if other == name or not os.path.samestat(found, fs.stat(other, dir_fd=folder, follow_symlinks=False)):
        return name
    opened = fs.open(".", os.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC, dir_fd=folder)
    try:
        names = os.listdir(opened)
    finally:
        os.close(opened)
    same = _folded(name)
    return name if name in names else next((each for each in names if _folded(each) == same), name)


def _respelled(name: str) -> str:
    """Return the same name to such a folder; for one that can't be spelled otherwise, itself."""
    for form in ("NFD", "NFC"):
        if (other := unicodedata.normalize(form, name)) != name:
            return other
    return name.swapcase()


def _folded(name: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())
