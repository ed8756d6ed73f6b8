"""Where git looks for ignore rules that lie outside of the tree: `info/exclude` and `core.excludesFile`.

Reads git's configuration itself: no program runs, and whatever a hostile repository names (a FIFO, a device, a file
without end) costs a bounded read. Source: git-config(1), gitignore(5), gitrepository-layout(5).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping

import msgspec

from dogu.workspace import fs
from dogu.workspace.ignore.pattern import matcher_of

_LARGEST_BYTES = 16 * 1024 * 1024
_DEEPEST_INCLUDE = 10
_READ = os.O_RDONLY | fs.O_NONBLOCK | fs.O_CLOEXEC | fs.O_NOCTTY
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)')
_KEY = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*)")


class Repository(msgspec.Struct, frozen=True):
    """A work tree: `top` is its folder, `git_folder` the one with `info/` in it; both absolute."""

    top: str
    git_folder: str


def read_bounded(path: str, folder: int | None = None, extra_flags: int = 0) -> bytes:
    """Return the bytes of a plain file of at most 16 MB; empty for anything else. Never waits."""
    try:
        descriptor = fs.open(path, _READ | extra_flags, dir_fd=folder)
    except (OSError, ValueError):
        return b""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_BYTES:
            return b""
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(_LARGEST_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def find_repository(folder: str) -> Repository | None:
    """Return the repository whose work tree `folder` (absolute) is in, looking upwards."""
    while True:
        git_folder = git_folder_of(folder)
        if git_folder:
            return Repository(folder, git_folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def git_folder_of(top: str) -> str:
    """Return the folder with `info/` of the repository whose work tree is `top`; empty if it is none.

    Linked work trees and submodules have a `.git` file that names theirs.
    """
    path = os.path.join(top, ".git")
    if os.path.isfile(path):
        named = read_bounded(path)
        if not named.startswith(b"gitdir: "):
            return ""
        path = os.path.join(top, os.fsdecode(named[8:].rstrip(b"\r\n")))
    if not os.path.isfile(os.path.join(path, "HEAD")):
        return ""
    common = read_bounded(os.path.join(path, "commondir")).rstrip(b"\r\n")
    return os.path.normpath(os.path.join(path, os.fsdecode(common))) if common else os.path.normpath(path)


def excludes_file(environ: Mapping[str, str], git_folder: str = "") -> str:
    """Return the path that `core.excludesFile` names, or git's default for it; empty if there is none."""
    home = environ.get("HOME", "")
    user_config = environ.get("XDG_CONFIG_HOME") or (os.path.join(home, ".config") if home else "")
    found: str | None = None
    for path in _config_files(environ, home, user_config, git_folder):
        for value in _values(path, home, git_folder):
            found = _expanded(value, home, "")
    if found is not None:
        return found
    return os.path.join(user_config, "git", "ignore") if user_config else ""


def _config_files(environ: Mapping[str, str], home: str, user_config: str, git_folder: str) -> list[str]:
    files: list[str] = []
    if environ.get("GIT_CONFIG_NOSYSTEM", "").lower() not in ("1", "true", "yes", "on"):
        files.append(environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    if "GIT_CONFIG_GLOBAL" in environ:
        files.append(environ["GIT_CONFIG_GLOBAL"])
    else:
        files += [os.path.join(user_config, "git", "config")] if user_config else []
        files += [os.path.join(home, ".gitconfig")] if home else []
    if git_folder:
        files.append(os.path.join(git_folder, "config"))
    return files


def _values(path: str, home: str, git_folder: str, depth: int = 0) -> Iterator[str]:
    """Yield each value of `core.excludesFile` in a configuration file and what it includes, in order."""
    data = read_bounded(path) if path and depth <= _DEEPEST_INCLUDE else b""
    if not re.search(rb"excludesfile|include", data, re.IGNORECASE):
        return
    for section, condition, key, value in _entries(os.fsdecode(data.removeprefix(b"\xef\xbb\xbf"))):
        if (section, condition, key) == ("core", "", "excludesfile"):
            yield value
        elif key == "path" and (section == "include" or _holds(section, condition, git_folder, path, home)):
            included = _expanded(value, home, os.path.dirname(path))
            yield from _values(included, home, git_folder, depth + 1)


def _holds(section: str, condition: str, git_folder: str, path: str, home: str) -> bool:
    """Whether an `includeIf` of the kinds `gitdir` and `gitdir/i` holds; other kinds never do here."""
    kind, _, glob = condition.partition(":")
    if section != "includeif" or kind not in ("gitdir", "gitdir/i") or not git_folder:
        return False

    if glob.startswith("./"):
        glob = os.path.join(os.path.dirname(path), glob[2:])
    glob = os.path.join(home, glob[2:]) if glob.startswith("~/") else glob
    glob = glob if glob.startswith("/") else f"**/{glob}"
    glob = f"{glob}**" if glob.endswith("/") else glob
    subject = git_folder
    if kind == "gitdir/i":
        glob, subject = glob.lower(), subject.lower()
    matches = matcher_of(os.fsencode(glob).decode("latin-1"))
    return bool(matches and matches(subject))


def _entries(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield section, subsection, key and value of each setting; section and key in lower case."""
    section = subsection = ""
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        header = _SECTION.match(line)
        rest = line
        if header:
            section, subsection = header[1].lower(), re.sub(r"\\(.)", r"\1", header[2] or "")
            rest = header[3]
        setting = _KEY.match(rest)
        if setting:
            yield section, subsection, setting[1].lower(), _unquoted(setting[2])


def _unquoted(raw: str) -> str:
    value: list[str] = []
    kept = 0
    quoted = False
    characters = iter(raw)
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            value.append({"n": "\n", "t": "\t", "b": "\b"}.get(following, following))
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            value.append(character)
        if quoted or not character.isspace():
            kept = len(value)
    return "".join(value[:kept])


def _expanded(path: str, home: str, folder: str) -> str:
    if path.startswith("~/"):
        return os.path.join(home, path[2:])
    if path.startswith("~"):
        return os.path.expanduser(path)
    return os.path.join(folder, path) if path else ""
