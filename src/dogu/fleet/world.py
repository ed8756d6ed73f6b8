"""A task's world: a folder of its own to work in, with a home beside it, and what was changed there as a patch.

A repository is cloned once a fleet; each task's clone borrows its objects, which it can't write. What changed is worked
out by a repository that the task never saw, so it holds whatever the task did to its own `.git`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager

import msgspec

from dogu.fleet.rows import Patch
from dogu.fleet.tasks import Task
from dogu.language import told
from dogu.workspace import fs
from dogu.workspace.system import IS_LINUX

_CLONE_TAKES_S = 1800.0
_GIT_TAKES_S = 600.0
_SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "core.autocrlf=false")
_AUTHOR = ("-c", "user.name=dogu", "-c", "user.email=dogu@localhost")
_LARGEST_PATCH_BYTES = 256 * 1024 * 1024


class WorldError(Exception):
    """There is no world for this task; the message says why, for the user."""


class World(msgspec.Struct, frozen=True):
    """Where one attempt works: `root` is its folder, `home` its home. `base` is the tree before, in `store`."""

    place: str
    store: str
    base: str

    @property
    def root(self) -> str:
        """The folder that the agent works in."""
        return os.path.join(self.place, "work")

    @property
    def home(self) -> str:
        """The home of its commands, records and memories."""
        return os.path.join(self.place, "home")

    def patch(self, file: str) -> Patch:
        """Write what was changed since the beginning to `file`, as `git diff --binary` has it. Raises `WorldError`."""
        with self._aside() as variables:
            git = _Git(self.store, self.root, variables)
            git("read-tree", self.base)
            git("add", "--all", "--ignore-errors", "--", ".", check=False)
            git("diff", "--cached", "--binary", "--no-color", "--no-ext-diff", f"--output={file}", self.base)
            counts = git("diff", "--cached", "--numstat", "--no-ext-diff", "-z", self.base)
        size = os.path.getsize(file)
        if size > _LARGEST_PATCH_BYTES:
            os.unlink(file)
            raise WorldError(told("the patch is too large: {size:,} bytes", size=size))
        _sync(file)
        return _counted(file, counts)

    @contextmanager
    def _aside(self) -> Generator[dict[str, str]]:
        """An index and a store of objects of its own: tasks of one repository don't meet."""
        index, objects = os.path.join(self.place, "index"), os.path.join(self.place, "objects")
        os.makedirs(objects, exist_ok=True)
        try:
            yield {
                "GIT_INDEX_FILE": index,
                "GIT_OBJECT_DIRECTORY": objects,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(self.store, "objects"),
            }
        finally:
            shutil.rmtree(objects, ignore_errors=True)
            if os.path.exists(index):
                os.unlink(index)

    def remove(self) -> None:
        """Take away the folder; the home with the record stays."""
        _remove(self.root)


def make_world(task: Task, place: str, stores: str) -> World:
    """Make a clean world at `place`, whatever an earlier attempt left there; `stores` holds the fleet's repositories.

    Raises `WorldError`.
    """
    _remove(place)
    root = os.path.join(place, "work")
    try:
        os.makedirs(os.path.join(place, "home"), mode=0o700)
        if task.repo:
            store = _store_of(task.repo, task.ref, stores)
            base = _clone(store, root, task.ref)
        else:
            store = os.path.join(place, "base.git")
            _copy(task.folder, root)
            base = _first_tree(store, root)
        write_files(root, task.files)
        return World(place, store, _tree_with_files(store, root, base, task.files, place))
    except OSError as error:
        raise WorldError(f"{error.filename or root}: {error.strerror or error}") from error


def write_files(root: str, files: Mapping[str, str]) -> None:
    """Write texts beneath `root`, following no link that leads out of it. Raises OSError."""
    for name, text in files.items():
        path = os.path.join(root, name)
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        if not f"{os.path.realpath(folder)}/".startswith(f"{os.path.realpath(root)}/"):
            raise OSError(0, told("a link leads out of the task's folder"), name)
        _remove(path)  # whatever was left there: a folder, a pipe, a link
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(text)


class _Git:
    """git in a repository that is ours, over a folder that needn't be trusted."""

    def __init__(self, store: str, root: str, variables: Mapping[str, str]) -> None:
        self._words = ("git", f"--git-dir={store}", f"--work-tree={root}", *_SAFE, *_AUTHOR)
        self._root = root
        self._variables = {"GIT_CONFIG_GLOBAL": os.devnull, **variables}  # no filter or attribute of the user's

    def __call__(self, *words: str, check: bool = True) -> str:
        return _run([*self._words, *words], self._root, self._variables, check=check)


def _run(
    words: list[str], folder: str, variables: Mapping[str, str], *, takes_s: float = _GIT_TAKES_S, check: bool = True
) -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8", "GIT_LFS_SKIP_SMUDGE": "1"}
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env={**own, **fixed, **variables},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=takes_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise WorldError(told("git took longer than {seconds:.0f} s", seconds=takes_s)) from None
    except FileNotFoundError:
        raise WorldError(told("git isn't installed")) from None
    if check and done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        lines = [line for line in said if line.startswith(("fatal:", "error:"))] or said[-1:]
        raise WorldError(re.sub(r"://[^/@\s]+@", "://", lines[0] if lines else f"git: {done.returncode}"))
    return done.stdout.decode("utf-8", "surrogateescape")


def _store_of(repo: str, ref: str, stores: str) -> str:
    """Clone a repository once a fleet, whoever needs it first; a ref that it hasn't is fetched."""
    name = hashlib.sha256(repo.encode()).hexdigest()[:16]
    store = os.path.join(stores, f"{name}.git")
    os.makedirs(stores, exist_ok=True)
    with open(os.path.join(stores, f"{name}.lock"), "w", encoding="utf-8") as lock:
        fs.flock(lock, fs.LOCK_EX)
        if not os.path.isdir(store):
            unfinished = f"{store}.new"
            _remove(unfinished)
            words = ["git", *_SAFE, "clone", "--quiet", "--mirror", "--", repo, unfinished]
            _run(words, stores, {}, takes_s=_CLONE_TAKES_S)
            fs.rename(unfinished, store)
        if ref and not _commit_of(store, ref):
            words = ["git", f"--git-dir={store}", *_SAFE, "fetch", "--quiet", "origin", "--", ref]
            _run(words, stores, {}, takes_s=_CLONE_TAKES_S)
    return store


def _commit_of(store: str, ref: str) -> str:
    words = ["git", f"--git-dir={store}", "rev-parse", "--quiet", "--verify", "--end-of-options", f"{ref}^{{commit}}"]
    return _run(words, store, {}, check=False).strip()


def _clone(store: str, root: str, ref: str) -> str:
    """Make a clone that borrows the store's objects, on a branch of its own; return its commit's tree."""
    commit = _commit_of(store, ref or "HEAD")
    if not commit:
        raise WorldError(told("the repository has no {ref}", ref=ref) if ref else told("the repository is empty"))
    _run(["git", *_SAFE, "clone", "--quiet", "--shared", "--no-checkout", "--", store, root], store, {})
    _run(["git", *_SAFE, "checkout", "--quiet", "-B", "task", commit, "--"], root, {})
    _run(["git", "remote", "remove", "origin"], root, {})  # what is pushed has nowhere to go
    return commit


def _first_tree(store: str, root: str) -> str:
    _run(["git", *_SAFE, "init", "--quiet", "--bare", store], root, {})
    git = _Git(store, root, {})
    git("add", "--all", "--", ".")
    return git("write-tree").strip()


def _tree_with_files(store: str, root: str, base: str, files: Mapping[str, str], place: str) -> str:
    """The tree before, with the task's own files: they are given, so no part of what it changes."""
    if not files:
        return base
    index = os.path.join(place, "index")
    git = _Git(store, root, {"GIT_INDEX_FILE": index})
    git("read-tree", base)
    git("add", "--force", "--", *files)
    tree = git("write-tree").strip()
    os.unlink(index)
    return tree


def _copy(folder: str, root: str) -> None:
    """Copy a folder, sharing its blocks where the file system can."""
    if not folder:
        os.makedirs(root)
        return
    if not os.path.isdir(folder):
        raise WorldError(told("{folder} isn't a folder", folder=folder))
    if IS_LINUX:
        _run(["cp", "-a", "--reflink=auto", "--", folder, root], "/", {}, takes_s=_CLONE_TAKES_S)
    else:
        shutil.copytree(folder, root, symlinks=True)


def _counted(file: str, counts: str) -> Patch:
    """Read `git diff --numstat -z`: added, removed, path; a dash for what is binary, two more paths for a rename."""
    rows = re.findall(r"(?:^|\0)(\d+|-)\t(\d+|-)\t", counts)
    added, removed = (sum(int(row[side]) for row in rows if row[side] != "-") for side in (0, 1))
    return Patch(file, len(rows), added, removed)


def _sync(file: str) -> None:
    descriptor = fs.open(file, os.O_RDONLY)
    try:
        fs.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    """Take a tree away, also one whose folders can't be written."""

    def make_writable(function: object, failed: str, _error: object) -> None:
        os.chmod(os.path.dirname(failed), 0o700)
        if not os.path.islink(failed):
            os.chmod(failed, 0o700)
        if os.path.isdir(failed) and not os.path.islink(failed):
            shutil.rmtree(failed)
        else:
            os.unlink(failed)

    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, onerror=make_writable)
    elif os.path.lexists(path):
        os.unlink(path)
