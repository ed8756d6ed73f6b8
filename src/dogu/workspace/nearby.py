"""What lies in the folder that a command is run in, as far as a judge of commands asks about it."""

from __future__ import annotations

import glob
import itertools
import os
import re
import stat
import sys
from io import TextIOWrapper

from dogu.workspace.fs import walked
from dogu.workspace.small_file import open_regular_file

_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_MOST_NAMES = 1000
_MOST_FILES = 5000
_MOST_CONFIG = 200_000
_OF_A_REPOSITORY = (".git", "HEAD")  # a bare one begins with the file HEAD, whatever its name is


class Nearby:
    """Answers about paths relative to a folder, by looking when it is asked."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def is_free(self, path: str) -> bool:
        """Whether nothing is there, not even a broken link."""
        return not os.path.lexists(os.path.join(self._directory, path))

    def leads_to(self, path: str, *, is_entry: bool) -> str | None:
        """Where a path leads by the links that are there, from the folder; None when that is elsewhere.

        `is_entry`: the name itself is meant, which may be a link's, and not what stands behind it.
        """
        root = os.path.realpath(self._directory)
        folder, name = os.path.split(path)
        try:
            if is_entry and name not in ("", ".", ".."):
                found = os.path.join(os.path.realpath(os.path.join(root, folder)), name)
            else:
                found = os.path.realpath(os.path.join(root, path))
        except (OSError, ValueError):
            return None
        if found == root:
            return "."
        is_within = found.startswith(root.rstrip(os.sep) + os.sep)
        return os.path.relpath(found, root).replace(os.sep, "/") if is_within else None

    def is_same_repository(self, path: str) -> bool:
        """Whether the folder is there and of no other repository than this one: none begins on the way to it."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if path.startswith("/") or ".." in parts:
            return False
        place = self._directory
        for part in parts:
            place = os.path.join(place, part)
            try:
                is_folder = stat.S_ISDIR(os.lstat(place).st_mode)
            except (OSError, ValueError):
                return False
            if not is_folder or any(os.path.lexists(os.path.join(place, name)) for name in _OF_A_REPOSITORY):
                return False
        return True

    def pushed_to(self, *, by_any_branch: bool) -> list[str]:
        """Where a bare `git push` goes: the remote of the branch, or all that any branch may go to; none is unknown."""
        folder = _repository_of(self._directory)
        config = _text(os.path.join(_common(folder), "config"))
        branch = _text(os.path.join(folder, "HEAD")).strip().removeprefix("ref: refs/heads/")
        found = {f"{section}.{name}": value for section, name, value in _settings(config)}
        if by_any_branch:
            sections = (re.match(r'remote "(.*)"$', section) for section, _, _ in _settings(config))
            others = [value for name, value in found.items() if name.endswith((".pushremote", ".pushdefault"))]
            return [*dict.fromkeys(match[1] for match in sections if match), *others]
        of_branch = f'branch "{branch}"'
        names = (f"{of_branch}.pushremote", "remote.pushdefault", f"{of_branch}.remote")
        return [found[name] for name in names if name in found][:1]

    def matching(self, pattern: str) -> list[str] | None:
        """The names, without their folders, of what a pattern of files matches; None when it leads elsewhere."""
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            return None
        found = list(itertools.islice(glob.iglob(pattern, root_dir=self._directory), _MOST_NAMES))
        return [os.path.basename(each) for each in found] if len(found) < _MOST_NAMES else None

    def files_below(self, path: str) -> list[str] | None:
        """Every file in a folder and below it; None for a link, a path elsewhere, or when there are many."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if path.startswith(("/", "~")) or ".." in parts or "\0" in path:
            return None
        start = os.path.join(self._directory, *parts)
        if os.path.realpath(start) != os.path.join(os.path.realpath(self._directory), *parts):
            return None
        found: list[str] = []
        for folder, _, names in walked(start):
            found += [os.path.relpath(os.path.join(folder, name), self._directory) for name in names]
            if len(found) > _MOST_FILES:
                return None
        return found

    def has_tag_like_an_option(self) -> bool:
        """Whether the repository has a tag whose name begins with a hyphen, or more tags than can be looked through."""
        folder = _common(_repository_of(self._directory))
        try:
            names = os.listdir(os.path.join(folder, "refs", "tags"))
        except OSError:
            names = []
        packed = _text(os.path.join(folder, "packed-refs"))
        is_cut = len(packed) == _MOST_CONFIG
        return is_cut or " refs/tags/-" in packed or any(each.startswith("-") for each in names)

    def has_links_out(self, path: str) -> bool:
        """Whether a link in a folder or below it leads out of it, or may: it holds more than can be looked through."""
        start = os.path.realpath(os.path.join(self._directory, path))
        seen = 0
        for folder, folders, names in walked(start):
            seen += len(folders) + len(names)
            links = (each for name in (*folders, *names) if os.path.islink(each := os.path.join(folder, name)))
            if seen > _MOST_NAMES or any(not os.path.realpath(each).startswith(start + os.sep) for each in links):
                return True
        return False

    def has_module(self, name: str) -> bool:
        """Whether `python -m NAME` runs a file that lies here, or below `src`, and not one of Python's own."""
        if _MODULE.fullmatch(name) is None or name.partition(".")[0] in sys.stdlib_module_names:
            return False
        root = os.path.realpath(self._directory)
        path = name.replace(".", os.sep)
        found = (
            os.path.join(root, base, path + end) for base in ("", "src") for end in (".py", f"{os.sep}__main__.py")
        )
        return any(os.path.isfile(each) and os.path.realpath(each) == each for each in found)


def _repository_of(directory: str) -> str:
    """The folder of a repository's own files, of this folder's or the nearest one above; "" when there is none."""
    place = os.path.realpath(directory)
    while not os.path.lexists(os.path.join(place, ".git")):
        if os.path.dirname(place) == place:
            return ""
        place = os.path.dirname(place)
    found = os.path.join(place, ".git")
    linked = _text(found).removeprefix("gitdir:").strip()  # of a worktree or submodule
    return os.path.join(place, linked) if linked else found


def _common(folder: str) -> str:
    shared = _text(os.path.join(folder, "commondir")).strip()
    return os.path.join(folder, shared) if shared else folder


def _text(path: str) -> str:
    try:
        with TextIOWrapper(open_regular_file(path), "utf-8", "replace") as file:
            return file.read(_MOST_CONFIG)
    except (OSError, ValueError):
        return ""


def _settings(config: str) -> list[tuple[str, str, str]]:
    """Sections, names in small letters, and values of a configuration of git."""
    found: list[tuple[str, str, str]] = []
    section = ""
    for line in config.splitlines():
        header = re.match(r"\s*\[(.+?)\]", line)
        setting = re.match(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*?)\s*$", line[header.end() :] if header else line)
        section = header[1] if header else section
        if header is not None and setting is None:
            found.append((section, "", ""))
        if setting is not None:
            found.append((section, setting[1].lower(), setting[2].strip('"')))
    return found
