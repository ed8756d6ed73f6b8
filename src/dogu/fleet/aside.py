"""git over a folder that needn't be trusted: what is in it as a tree, and what was changed there as a patch.

The repository that looks is one that nobody else sees, and takes files as their bytes are: no attribute, filter, ignore
file or template of the folder's, the user's or the machine's turns them into something else or leaves them out. What
was there at the beginning counts whatever `.gitignore` says; what is new counts unless it is ignored. A repository
within the folder counts as the files that it holds.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO

import msgspec

from dogu.language import told

LINK_MODE = "160000"
RAW = "* -text -filter -working-tree-encoding -ident !diff\n"
_GIT_TAKES_S = 600.0
_REACHING_TAKES_S = 1800.0  # a clone from far away
_LARGEST_FILE_BYTES = 1 << 30  # git has a changed file in memory, more than once
# What git opens by itself in a folder, or in a repository within it, and would wait for if it were a pipe.
_OPENED = frozenset((b".gitignore", b".gitattributes", b"HEAD", b"commondir"))
_SAFE = tuple(
    word
    for setting in (
        f"core.hooksPath={os.devnull}",
        f"core.excludesFile={os.devnull}",
        f"core.attributesFile={os.devnull}",
        "core.fsmonitor=false",
        "core.autocrlf=false",
        "core.protectNTFS=false",
        "core.protectHFS=false",
        "gc.auto=0",
        "user.name=dogu",
        "user.email=dogu@localhost",
    )
    for word in ("-c", setting)
)
_FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # nobody is asked, whatever the user's settings name for it
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C.UTF-8",
}
_OURS_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull}
_USERS_OWN = re.compile(r"(?!GIT_|SSH_ASKPASS)")
_REACHES = r"GIT_(SSH|SSL_|HTTP_|PROXY_|ALLOW_PROTOCOL$|CONFIG_(GLOBAL|COUNT|KEY_|VALUE_))"
_USERS_OWN_HERE = re.compile(rf"{_USERS_OWN.pattern}|{_REACHES}")  # how they have git reach a repository
# Of what it leaves out git only warns, and a file that it can't write is no reason for it to fail.
_LEFT_OUT = re.compile(rb"could not open directory|Ignoring path|^error: ", re.MULTILINE)
_HEADER = b"diff --git "
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # which git knows without having it


class WorldError(Exception):
    """There is no world for this task, or no patch of it; the message says why, for the user."""

    @classmethod
    def of(cls, error: OSError, path: str) -> WorldError:
        """Say what the system says of the path that it names, else of `path`."""
        return cls(f"{os.fsdecode(error.filename or path)}: {error.strerror or error}")


def run_git(
    words: Sequence[str],
    folder: str,
    *,
    given: bytes = b"",
    into: BinaryIO | None = None,
    variables: Mapping[str, str] | None = None,
    check: bool = True,
) -> bytes:
    """Run git in a folder and return what it prints, or have it print `into` a file.

    Without other `variables` the user's settings don't count. Raises `WorldError` with git's own words.
    """
    is_reaching = variables is not None and _OURS_ALONE.keys().isdisjoint(variables)
    takes_s = _REACHING_TAKES_S if is_reaching else _GIT_TAKES_S
    counts = _USERS_OWN_HERE if is_reaching else _USERS_OWN
    own = {name: value for name, value in os.environ.items() if counts.match(name)}
    try:
        status, printed, errors = run_to_end(
            ["git", *_SAFE, *words],
            given,
            takes_s,
            subprocess.PIPE if into is None else into,
            folder,
            {**own, **_FIXED, **(_OURS_ALONE if variables is None else variables)},
        )
    except FileNotFoundError:
        raise WorldError(told("git isn't installed")) from None
    if check and (status or _LEFT_OUT.search(errors)):
        raise WorldError(_why(errors, status))
    return printed


class _Running:
    """The programs that this process waits for; once it is over, they are ended and none is begun."""

    def __init__(self) -> None:
        self.programs: set[subprocess.Popen[bytes]] = set()
        self.is_over = False


_running = _Running()


def end_programs() -> None:
    """End git and what else works on worlds here: a thread that waits for it can't be cancelled, and it outlives us."""
    _running.is_over = True
    for program in list(_running.programs):
        program.kill()


def run_to_end(
    words: Sequence[str],
    given: bytes,
    takes_s: float,
    stdout: int | BinaryIO = subprocess.DEVNULL,
    folder: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, bytes, bytes]:
    """Run a program, at most until `end_programs`; return its status and what it printed to both streams.

    Raises OSError, and `WorldError` for one that takes too long.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=stdout, stderr=pipe, cwd=folder, env=environment) as program:
        _running.programs.add(program)
        try:
            if _running.is_over:
                program.kill()
            printed, errors = program.communicate(given, takes_s)
        except subprocess.TimeoutExpired:
            message = told("{program} took longer than {seconds:.0f} s", program=words[0], seconds=takes_s)
            raise WorldError(message) from None
        finally:
            program.kill()  # one that has ended is passed over
            _running.programs.discard(program)
    return program.returncode, printed or b"", errors


def _why(said: bytes, code: int) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    chosen = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines[-1:]
    return re.sub(r"://[^/@\s]+@", "://", chosen[0] if chosen else f"git: {code}")


class Changes(msgspec.Struct, frozen=True):
    """How much a patch changes."""

    files: int
    added: int
    removed: int


class Aside:
    """A repository at `place` that looks at the folder `root`; `borrowed` is a repository whose objects it reads."""

    def __init__(self, place: str, root: str) -> None:
        self._place = place
        self._root = root

    @classmethod
    def make(cls, place: str, root: str, borrowed: str = "") -> Aside:
        """Make it, empty. Raises OSError."""
        for folder in ("info", "refs", os.path.join("objects", "info") if borrowed else "objects"):
            os.makedirs(os.path.join(place, folder), mode=0o700)
        files = {"HEAD": "ref: refs/heads/none\n", os.path.join("info", "attributes"): RAW}
        if borrowed:
            files[os.path.join("objects", "info", "alternates")] = f"{borrowed}/objects\n"
        if borrowed and is_sha256(borrowed):
            files["config"] = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n"
        for name, text in files.items():
            with open(os.path.join(place, name), "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
        return cls(place, root)

    def first_tree(self, commit: str, given: Collection[str] = (), filled: Mapping[str, str] | None = None) -> str:
        """Return the tree that a task begins with, written if need be: all of the folder, or a commit's and `given`.

        In place of `filled` submodules, by path, the tree has their commits' files.
        """
        if commit and not given and not filled:
            return commit
        if commit:
            self._git("read-tree", commit)
            for path, wanted in (filled or {}).items():
                self._git("update-index", "--force-remove", "--", path)
                self._git("read-tree", f"--prefix={path}/", wanted)
            self._add(os.fsencode(name) for name in given)
        elif os.listdir(self._root):
            self._remove_pipes()
            self._add(self._found(""))  # there is no index yet
        else:
            return _EMPTY_TREE
        return self._git("write-tree").decode().strip()

    def patch(self, base: str, file: str) -> Changes:
        """Write what changed since the tree `base` to `file`, as `git diff --binary` has it; its text is UTF-8.

        Raises `WorldError` where that can't be all of it.
        """
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self._place, "index"))  # of what was there before
        self._remove_pipes()
        rows = rows_in(b"" if base == _EMPTY_TREE else self._git("ls-tree", "-r", "-z", "--full-tree", base))
        links = {path: what for path, what in rows.items() if what.startswith(LINK_MODE)}
        found = set(self._found("", "--exclude-standard"))
        self._check_sizes(found | rows.keys(), rows)
        wanted = {*rows, *found} - links.keys()
        for path in links:
            wanted.update(self._found(os.fsdecode(path)) if self._is_folder(path) else ())
        kept = [path for path in links if self._is_folder(path) and not _any_below(path, wanted)]
        infos = b"".join(b"%s\t%s\0" % (rows[path].encode(), path) for path in kept)
        if infos:
            self._git("update-index", "-z", "--index-info", given=infos)
        self._add(wanted)
        self._diff(base, file)
        changes, is_text = _read_patch(file)
        if not is_text:
            with open(os.path.join(self._place, "info", "attributes"), "ab") as attributes:
                attributes.writelines(b'"/%s" -diff\n' % _quoted(path) for path in self._not_text(base))
            self._diff(base, file)
            changes, _ = _read_patch(file)
        return changes

    def _remove_pipes(self) -> None:
        """Take away what git would wait for, and no patch holds: pipes and devices where it looks for its own files."""
        folders = [os.fsencode(self._root)]
        while folders:
            folder = folders.pop()
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if os.path.basename(folder) != b".git":
                            folders.append(entry.path)
                    elif entry.name in _OPENED and not entry.is_symlink() and not entry.is_file():
                        os.unlink(entry.path)

    def _check_sizes(self, paths: Iterable[bytes], rows: Mapping[bytes, str]) -> None:
        """Raise `WorldError` for a file that is larger than git can hold in a patch, before it reads all of it.

        One that is as large in `rows` is passed over.
        """
        for path in paths:
            with suppress(FileNotFoundError, NotADirectoryError):
                size = os.lstat(os.path.join(os.fsencode(self._root), path)).st_size
                if size > _LARGEST_FILE_BYTES and size != self._size_of(rows.get(path, "")):
                    raise WorldError(told("the patch is too large: {size:,} bytes", size=size))

    def _size_of(self, row: str) -> int | None:
        return int(self._git("cat-file", "-s", row.split()[2])) if " blob " in row else None

    def _git(self, *words: str, given: bytes = b"", into: BinaryIO | None = None) -> bytes:
        own = (f"--git-dir={self._place}", f"--work-tree={self._root}")
        return run_git([*own, *words], self._root, given=given, into=into)

    def _diff(self, base: str, file: str) -> None:
        how = ("--cached", "--no-color", "--no-ext-diff", "--ignore-submodules=none", "--binary")
        with open(file, "wb") as patch:  # of its standard output alone git says that it couldn't write it
            self._git("diff", *how, base, "--", into=patch)

    def _found(self, below: str, *how: str) -> Iterator[bytes]:
        """Name what is in a folder and not in the index, also within the repositories that lie in it."""
        folder = os.path.join(self._root, below)
        own = [f"--git-dir={self._place}", f"--work-tree={folder}"]
        index = {"GIT_INDEX_FILE": os.path.join(self._place, "none")} if below else {}
        words = [*own, "ls-files", "-z", "--others", *how]
        listed = run_git(words, folder, variables={**_OURS_ALONE, **index}).split(b"\0")
        for name in filter(None, listed):
            path = os.path.join(os.fsencode(below), name)
            if name.endswith(b"/"):
                yield from self._found(os.fsdecode(path), *how)
            else:
                yield path

    def _is_folder(self, path: bytes) -> bool:
        return _mode(os.path.join(os.fsencode(self._root), path), stat.S_ISDIR)

    def _add(self, paths: Iterable[bytes]) -> None:
        """Put files and links into the index as they are; a path that isn't one any more isn't in it."""
        root = os.fsencode(self._root)
        folders: dict[bytes, bool] = {b"": True}

        def is_reached(folder: bytes) -> bool:
            """Whether no link lies on the way."""
            if folder not in folders:
                folders[folder] = is_reached(os.path.dirname(folder)) and self._is_folder(folder)
            return folders[folder]

        there = [
            path
            for path in sorted(paths)
            if is_reached(os.path.dirname(path)) and _mode(os.path.join(root, path), _is_file_or_link)
        ]
        if there:
            words = ("update-index", "-z", "--add", "--replace", "--stdin")
            self._git(*words, given=b"".join(path + b"\0" for path in there))

    def _not_text(self, base: str) -> Iterator[bytes]:
        """Name the changed files that aren't UTF-8 before or after."""
        words = ("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", base, "--")
        parts = self._git(*words).split(b"\0")
        for about, path in zip(parts[::2], parts[1::2], strict=False):
            before, after = about.split()[2:4]
            for name in (before, after):
                if name.strip(b"0") and not _is_utf_8(self._git("cat-file", "blob", name.decode())):
                    yield path
                    break


def rows_in(listed: bytes) -> dict[bytes, str]:
    """Read `git ls-tree -z`: by path the mode, the type and the object."""
    rows = (row.partition(b"\t") for row in listed.split(b"\0") if row)
    return {path: what.decode() for what, _, path in rows}


def _any_below(folder: bytes, paths: set[bytes]) -> bool:
    return any(path.startswith(folder + b"/") for path in paths)


def _mode(path: bytes, is_so: Callable[[int], bool]) -> bool:
    try:
        return is_so(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _is_file_or_link(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _quoted(path: bytes) -> bytes:
    """Write a path as a pattern of gitattributes(5) that means it alone, in C's quotes."""
    plain = re.sub(rb"([*?\[\]\\])", rb"\\\1", path)
    return b"".join(bytes([each]) if 32 <= each < 127 and each not in b'"\\' else b"\\%03o" % each for each in plain)


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read_patch(file: str) -> tuple[Changes, bool]:
    """Count what a patch changes, and say whether all of it is UTF-8."""
    files = added = removed = old_left = new_left = 0
    header, is_text = b"", True
    with open(file, "rb") as patch:
        for line in patch:
            is_text = is_text and _is_utf_8(line)
            sign = line[:1]
            if old_left > 0 or new_left > 0:  # within a hunk, whatever its lines look like
                added += sign == b"+"
                removed += sign == b"-"
                old_left -= sign in b"- "
                new_left -= sign in b"+ "
            elif hunk := _HUNK.match(line):
                old_left, new_left = (int(hunk[number] or 1) for number in (1, 2))
            elif line.startswith(_HEADER) and line != header:  # a file that becomes a link has two
                files += 1
                header = line
    return Changes(files, added, removed), is_text


def is_sha256(repository: str) -> bool:
    """Whether a repository names its objects by SHA-256."""
    try:
        with open(os.path.join(repository, "config"), "rb") as file:
            return re.search(rb"(?im)^\s*objectformat\s*=\s*sha256", file.read()) is not None
    except OSError:
        return False
