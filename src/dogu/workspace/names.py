"""The names in a folder, and names shown so that a list of them stays a list, whatever they hold."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from typing import NamedTuple

from dogu.workspace import fs
from dogu.workspace.system import IS_LINUX, IS_WINDOWS, path_of

_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def shown_name(name: str) -> str:
    """Return a name or path as it is, or as a JSON string when it holds line breaks, control characters or bytes that
    are not UTF-8; copied into a call's JSON, that names the same file."""
    if name.isprintable() or not _ODD.search(name):
        return name
    quoted = json.dumps(name, ensure_ascii=False)
    return _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


class Entries(NamedTuple):
    """Names by what they are; `linked` are those of either that are symbolic links."""

    folders: list[str]
    others: list[str]
    linked: set[str]


def entries_of(descriptor: int) -> Entries:
    """Return the names in an open folder."""
    found = Entries([], [], set())
    with fs.scandir(descriptor) as entries:
        for entry in entries:
            (found.folders if _is_folder(entry) else found.others).append(entry.name)
            if entry.is_symlink():
                found.linked.add(entry.name)
    return found


def _is_folder(entry: fs.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def flaw_of(name: str, is_link: bool, descriptor: int) -> str:
    """Say in brackets why a name in an open folder leads to nothing that can be read; "" where it does."""
    if fs.access(name, os.R_OK, dir_fd=descriptor):
        return ""
    if not is_link:
        return " (unreadable)"
    try:
        fs.stat(name, dir_fd=descriptor)
    except PermissionError:
        return " (unreadable)"
    except OSError:
        return " (broken symlink)"
    return " (unreadable)"


def true_name(folder: int, name: str) -> str:
    """Return a name as the folder has it; that of a new file as it is spelled.

    A folder that knows no letter case, or one spelling of an accent, finds more than its names. Windows' say which it
    was by a handle; elsewhere without Linux' kernel (macOS) it is listed, once it has shown that it is such a one.
    """
    if IS_LINUX or name == ".":
        return name
    try:
        return _name_by_handle(folder, name) if IS_WINDOWS else _name_by_listing(folder, name)
    except (OSError, ValueError):
        return name


def is_same_path(one: str, other: str) -> bool:
    """Whether two paths of the same place in its folder spell one name, where case or accents may not count."""
    return one == other or (not IS_LINUX and _folded(one) == _folded(other))


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
