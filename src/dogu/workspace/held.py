"""Which files other programs hold: locked, or open to be written and no text; and which ones belong together.

Locks and shared memory belong to the very file. Whoever changes a copy of it, or puts another one in its place, takes
no part in them, and a database that two do that to is broken. Nothing here knows a database by its name. Source:
proc_locks(5), fcntl(2).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress

from dogu.workspace import fs
from dogu.workspace.system import own_ids
from dogu.workspace.text.media import HEAD_BYTES, sniff

_LOCKS = "/proc/locks"
_LOCK_KINDS = ("POSIX", "FLOCK", "OFDLCK")
_OPEN = os.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK | fs.O_CLOEXEC
# Programs, objects, libraries and archives: each is whole without its neighbours.
_BY_ITSELF = (
    b"\x7fELF",
    b"!<arch>",
    b"MZ",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\0asm",
)

Head = Callable[[str], bytes | None]
"""Gives the beginning of what a path holds, of whichever version is at hand; None where it is no file."""


def held(paths: Collection[str], roots: Sequence[str], head: Head | None = None) -> set[str]:
    """Return those of `paths` (absolute, below `roots`) that another process holds, and those that belong to them.

    An empty file that is locked guards the folder it lies in, any other itself; git's locks are files that are there.
    Of files of other users that are open and not locked nobody is told: see `untold`. Blocks.
    """
    if not paths:
        return set()
    head = head or head_of
    found = _guarded(paths, roots, head) | _locked_by_git(paths)
    for path in paths:
        if path not in found and fs.is_open_for_writing(path) and _is_data(path, head):
            found.add(path)
    return found | related(paths, found, head)


def untold(paths: Iterable[str], head: Head | None = None) -> set[str]:
    """Return those of `paths` that another process may have open without our being told: no text, and another user's.

    Source: fcntl(2): a lease can be taken on one's own files.
    """
    user, _ = own_ids()
    return {path for path in paths if user and _owner(path) not in (user, -1) and _is_data(path, head or head_of)}


def _owner(path: str) -> int:
    try:
        return os.lstat(path).st_uid
    except OSError:
        return -1


def related(paths: Collection[str], touched: Collection[str], head: Head | None = None) -> set[str]:
    """Return those of `paths` that belong to one of the `touched` ones: no text either, and in the same folder.

    A file that is empty belongs to one whose name begins like its own. Text, a picture, a program or the like is by
    itself.
    """
    head = head or head_of
    by_folder: dict[str, list[str]] = {}
    for path in touched:
        by_folder.setdefault(os.path.dirname(path), []).append(path)
    with_data = {folder for folder, beside in by_folder.items() if any(_is_part(path, head) for path in beside)}
    found: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        if folder not in by_folder or path in touched:
            continue
        is_part = _is_part(path, head)
        if is_part and folder in with_data:
            found.add(path)
        elif is_part or head(path) == b"":
            alike = (other for other in by_folder[folder] if path.startswith(other) or other.startswith(path))
            if any(head(other) == b"" or _is_part(other, head) for other in alike):
                found.add(path)
    return found


def companions(paths: Collection[str], of: Collection[str], head: Head | None = None) -> set[str]:
    """Return those of `paths` that with some of `of` are one thing by their names too, as `X-wal` is of `X`.

    Whoever takes one of them back without the others breaks what they are together.
    """
    longer: dict[str, list[str]] = {}
    for path in paths:
        for stem in _stems(path):
            longer.setdefault(stem, []).append(path)
    found, todo = set(of), [*of]
    while todo:
        path = todo.pop()
        near = {*longer.get(path, ()), *(stem for stem in _stems(path) if stem in paths)} - found
        alike = {other for other in near if _are_one(path, other, head or head_of)}
        found |= alike
        todo += alike
    return found.difference(of)


def beside(paths: Collection[str], head: Head | None = None) -> dict[str, list[str]]:
    """Return, for those of `paths` that have any, the files there that are one thing with it; see `companions`.

    None of these is in `paths` itself.
    """
    head = head or head_of
    paths = paths if isinstance(paths, Set) else frozenset(paths)
    there: set[str] = set()
    for folder in {os.path.dirname(path) for path in paths}:
        with suppress(OSError), fs.scandir(folder) as entries:
            there.update([os.path.join(folder, entry.name) for entry in entries])
    found: dict[str, list[str]] = {}
    for other in there.difference(paths):
        for stem in _stems(other):
            if stem in paths and _are_one(stem, other, head):
                found.setdefault(stem, []).append(other)
    for path in paths:
        for stem in _stems(path):
            if stem in there and stem not in paths and _are_one(path, stem, head):
                found.setdefault(path, []).append(stem)
    return found


def git_folder(path: str) -> str:
    """Return the repository's folder that a path lies in, by its name; "" for none."""
    above, found, _ = path.partition("/.git/")
    return f"{above}/.git" if found else ""


def head_of(path: str) -> bytes | None:
    """Return the beginning of a file; None for anything else, and what can't be read."""
    try:
        descriptor = fs.open(path, _OPEN)
    except OSError:
        return None
    try:
        return fs.pread(descriptor, HEAD_BYTES, 0) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _is_data(path: str, head: Head) -> bool:
    data = head(path) or b""
    return b"\0" in data and sniff(data, path) is None


def _is_part(path: str, head: Head) -> bool:
    """Whether a file may be a part of something larger: data, and no program, archive or Python's own cache."""
    return _is_data(path, head) and not (data := head(path) or b"").startswith(_BY_ITSELF) and data[2:4] != b"\r\n"


def _are_one(path: str, other: str, head: Head) -> bool:
    """Whether two files, of which one's name is a stem of the other's, are parts of one thing."""
    is_part = [_is_part(each, head) for each in (path, other)]
    return all(is_part) or (any(is_part) and b"" in (head(path), head(other)))


def _stems(path: str) -> list[str]:
    """Return what a path would be without something that was added to its name by a sign in between."""
    first = path.rfind("/") + 2
    return [path[:at] for at in range(first, len(path)) if not path[at].isalnum()]


def _locked_by_git(paths: Collection[str]) -> set[str]:
    """Return what lies in repositories of which git has locked something: `index.lock` beside `index`."""
    inside = {path: folder for path in paths if (folder := git_folder(path))}
    places = {f"{folder}/index": folder for folder in inside.values()} | inside
    locked = {folder for path, folder in places.items() if os.path.lexists(f"{path}.lock")}
    return {path for path, folder in inside.items() if folder in locked}


def _guarded(paths: Iterable[str], roots: Sequence[str], head: Head) -> set[str]:
    """Return the paths that are locked, or lie in a folder with an empty file that is: in a root, what is no text."""
    locked = _locked()
    if not locked:
        return set()
    paths = list(paths)
    found: set[str] = set()
    for folder, within in _by_folder(paths, roots).items():
        for guard in _locked_in(folder, locked):
            if head_of(guard) == b"":
                beside = (path for path in within if os.path.dirname(path) == folder and _is_data(path, head))
                found.update(beside if folder in roots else within)
            elif guard in within:
                found.add(guard)
            else:
                found |= related(within, [guard], head)
    return found


def _by_folder(paths: Iterable[str], roots: Sequence[str]) -> Mapping[str, list[str]]:
    """Sort paths by each folder that they lie in, up to the root; outside of all of them, up to their repository."""
    direct: dict[str, list[str]] = {}
    for path in paths:
        if path not in roots:
            direct.setdefault(os.path.dirname(path), []).append(path)
    found: dict[str, list[str]] = {}
    for folder, within in direct.items():
        found.setdefault(folder, []).extend(within)
        is_inside = any(f"{folder}/".startswith(f"{root.rstrip('/')}/") for root in roots)
        last = roots if is_inside else (git_folder(f"{folder}/") or folder,)
        while folder not in last and folder != "/":
            folder = os.path.dirname(folder)
            found.setdefault(folder, []).extend(within)
    return found


def _locked_in(folder: str, locked: Mapping[int, Collection[tuple[int, int]]]) -> list[str]:
    found: list[str] = []
    with suppress(OSError), fs.scandir(folder) as entries:
        for entry in entries:
            if entry.inode() not in locked:
                continue
            with suppress(OSError):
                device = os.lstat(os.path.join(folder, entry.name)).st_dev
                numbers = os.major(device), os.minor(device)
                # Some file systems give each of their parts a number of its own, as one that has no device.
                if numbers in locked[entry.inode()] or not numbers[0]:
                    found.append(os.path.join(folder, entry.name))
    return found


def _locked() -> dict[int, list[tuple[int, int]]]:
    """Return the files that other processes have locked: by inode the devices, as the kernel numbers them."""
    try:
        with open(_LOCKS, encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return {}
    found: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        if len(row) < 8 or row[1] not in _LOCK_KINDS or row[4] == str(os.getpid()):
            continue
        major, minor, inode = row[5].split(":")
        found.setdefault(int(inode), []).append((int(major, 16), int(minor, 16)))
    return found
