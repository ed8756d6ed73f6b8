"""A task's world: a folder of its own to work in, with a home beside it, and what was changed there as a patch.

A repository is cloned once a fleet; each task's clone borrows its objects, which it can't write. Its files are those of
the commit, byte for byte: no attribute turns their lines or letters into others. What changed is worked out by a
repository that the task never saw, so it holds whatever the task did to its own `.git`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from dogu.fleet.aside import LINK_MODE, RAW, Aside, WorldError, is_sha256, rows_in, run_git
from dogu.fleet.container import copy_out
from dogu.fleet.folders import UnfitFolderError, copy_folder
from dogu.fleet.rows import Patch
from dogu.fleet.tasks import Task
from dogu.language import told
from dogu.workspace import fs
from dogu.workspace.openat import OutsideRootsError, close, find_place, parts_of
from dogu.workspace.small_file import open_regular_file

REPOS = "repos"  # where a fleet's folder has its clones
_LARGEST_PATCH_BYTES = 256 * 1024 * 1024
_ROOM_BYTES = 4 * 1024 * 1024


class World(msgspec.Struct, frozen=True):
    """Where one attempt works: `root` is its folder, `home` its home; `base` is the tree before, or its commit.

    `borrowed` is the repository whose objects the clone reads, `alias` where the task's image has what is in `root`;
    empty where there is none.
    """

    place: str
    base: str
    borrowed: str = ""
    alias: str = ""

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
        try:
            _remove(file)
            changes = Aside(_aside(self.place), self.root).patch(self.base, file)
            size = os.path.getsize(file)
            if size > _LARGEST_PATCH_BYTES:
                os.unlink(file)
                raise WorldError(told("the patch is too large: {size:,} bytes", size=size))
            _sync(file)
        except OSError as error:
            raise WorldError.of(error, file) from error
        return Patch(file, changes.files, changes.added, changes.removed)

    def has_room(self) -> bool:
        """Whether its disk isn't full: a world kept there would take the others' room."""
        try:
            with tempfile.TemporaryFile(dir=self.place) as file:
                file.write(bytes(_ROOM_BYTES))
        except OSError:
            return False
        return True

    def keep_home(self) -> None:
        """Keep what the home is after setup, for the check. Raises OSError, `WorldError`.

        A home that is too large to be copied isn't: the check has the agent's then.
        """
        kept = _kept_home(self.place)
        if not os.listdir(self.home):
            return
        try:
            copy_folder(self.home, kept, kept)
        except UnfitFolderError:
            with open(kept, "xb"):
                return

    def give_home(self) -> None:
        """Have the home be as setup left it, and no temporary files, until `take_home`. Raises OSError."""
        kept, agents = _kept_home(self.place), _agents_home(self.place)
        _remove(os.path.join(self.place, "tmp"))
        if os.path.isfile(kept):
            return
        with suppress(FileNotFoundError):  # an agent that nothing confines may have taken it away
            os.rename(self.home, agents)
        if os.path.isdir(kept):
            os.rename(kept, self.home)
        else:
            os.mkdir(self.home, 0o700)

    def take_home(self) -> None:
        """Have the home be the agent's again, with its record. Raises OSError."""
        if os.path.lexists(_agents_home(self.place)):
            _remove(self.home)
            os.rename(_agents_home(self.place), self.home)

    def remove(self) -> None:
        """Take away the folder; the home with the record stays."""
        self.clear()
        _remove(self.root)
        _remove(_aside(self.place))

    def clear(self) -> None:
        """Take away what no attempt needs any more; its folder stays."""
        self.close()
        for path in (os.path.join(self.place, "tmp"), _kept_home(self.place)):
            _remove(path)

    def close(self) -> None:
        """Let no other attempt go on in it: what the check brings is in it soon. Raises OSError."""
        _remove(_begun(self.place))


class Begun(msgspec.Struct, frozen=True):
    """That the agent works in a world: kept beside it while it does.

    `boot` says which start of the machine it was, `session` is the record's folder.
    """

    task: str
    boot: str
    session: str
    world: World

    @classmethod
    def of(cls, task: Task, world: World, session: str) -> Begun:
        """Say so of a task."""
        return cls(_digest(task), _boot(), session, world)

    @classmethod
    def left(cls, task: Task, place: str) -> Begun | None:
        """Find what an attempt that was cut short left, of this very task, since the machine was started.

        A machine that went down may have lost what was written last.
        """
        try:
            with open_regular_file(_begun(place)) as file:
                found = msgspec.json.decode(file.read(), type=cls)
        except (OSError, msgspec.DecodeError):
            return None
        is_it = found.task == _digest(task) and found.boot == _boot() != "" and found.world.place == place
        return found if is_it and os.path.isdir(found.world.root) else None

    def keep(self) -> None:
        """Note it. Raises OSError."""
        with open(_begun(self.world.place), "wb") as file:
            file.write(msgspec.json.encode(self))


def _kept_home(place: str) -> str:
    return os.path.join(place, "home-of-setup")


def _agents_home(place: str) -> str:
    return os.path.join(place, "home-of-agent")


def _begun(place: str) -> str:
    return os.path.join(place, "begun.json")


def _digest(task: Task) -> str:
    return hashlib.sha256(msgspec.json.encode(task)).hexdigest()


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def make_world(task: Task, place: str, fleet: str) -> World:
    """Make a clean world at `place`, whatever an earlier attempt left there; `fleet` is the folder of the fleet.

    Raises `WorldError`.
    """
    root = os.path.join(place, "work")
    borrowed = commit = alias = ""
    filled: dict[str, str] = {}
    try:
        _remove(place)
        os.makedirs(os.path.join(place, "home"), mode=0o700)
        if task.repo:
            borrowed = store_of(task, os.path.join(fleet, REPOS))
            commit = _clone(borrowed, root, task.ref)
            filled = _fill(borrowed, root, commit) if task.submodules else {}
        elif task.image and not task.folder:
            alias = copy_out(task.image, root)
        elif task.folder:
            copy_folder(task.folder, root, fleet)
        else:
            os.makedirs(root)
        write_files(root, task.files)
        base = Aside.make(_aside(place), root, borrowed).first_tree(commit, task.files, filled)
        return World(place, base, borrowed, alias)
    except (OSError, WorldError) as error:
        with suppress(OSError):
            World(place, "").remove()  # half of it, which may be all that the disk had room for
        raise WorldError.of(error, root) if isinstance(error, OSError) else error from error


def _aside(place: str) -> str:
    return os.path.join(place, "aside.git")


def write_files(root: str, files: Mapping[str, str]) -> None:
    """Write texts beneath `root`; nothing is made or taken away where a link leads out of it. Raises OSError."""
    above, name = os.path.split(os.path.abspath(root))
    top = os.path.join(os.path.realpath(above), name)

    def anchor(path: str) -> tuple[str, list[str]]:
        if path != top and not path.startswith(f"{top}/"):
            raise OutsideRootsError(top, path)
        return top, parts_of(path[len(top) :])

    for path, text in files.items():
        try:
            # After a power cut the world is made anew, so that nothing in it need be on the disk.
            place = find_place(anchor, f"{top}/{path}", create=True, follow_last=False, is_durable=False)
        except OutsideRootsError as error:
            raise OSError(0, told("a link leads out of the task's folder"), path) from error
        try:
            _remove(place.path)  # whatever was left there: a folder, a pipe, a link
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | fs.O_NOFOLLOW | fs.O_CLOEXEC
            with os.fdopen(fs.open(place.name, flags, 0o644, dir_fd=place.parent), "wb") as file:
                file.write(text.encode())
        finally:
            close(place.parent)


def store_of(task: Task, stores: str) -> str:
    """Clone a task's repository once a fleet, whoever needs it first, and return where; a ref it hasn't is fetched.

    With submodules, their commits lie in it too. Raises OSError, `WorldError`.
    """
    repo, ref = task.repo, task.ref
    name = hashlib.sha256(repo.encode(errors="surrogateescape")).hexdigest()[:16]
    store = os.path.join(stores, f"{name}.git")
    os.makedirs(stores, exist_ok=True)
    with open(os.path.join(stores, f"{name}.lock"), "w", encoding="utf-8") as lock:
        fs.flock(lock.fileno(), fs.LOCK_EX)
        if not os.path.isdir(store):
            for left in os.listdir(stores):
                if left.startswith(f"{name}.") and left.endswith(".new"):
                    with suppress(OSError):
                        _remove(os.path.join(stores, left))
            # A git whose driver was killed lives on, and takes away what it was making once it fails: by its own name.
            unfinished = f"{store}.{os.urandom(4).hex()}.new"
            words = ["clone", "--quiet", "--mirror", "--template=", "--", repo, unfinished]
            run_git(words, stores, variables={})
            # Where each object is a file of its own, every task's checkout takes many times as long.
            words = [f"--git-dir={unfinished}", "repack", "--quiet", "-d", "-l"]
            run_git(words, stores, check=False)
            fs.rename(unfinished, store)
        # What is no name may be two (`a:b`): fetched, it would change what other tasks begin with.
        if ref and not _commit_of(store, ref) and _is_name(ref, stores):
            words = [f"--git-dir={store}", "fetch", "--quiet", "origin", "--", ref]
            run_git(words, stores, variables={})
            if not _commit_of(store, ref) and (fetched := _commit_of(store, "FETCH_HEAD")):
                run_git([f"--git-dir={store}", "update-ref", f"refs/heads/{ref}", fetched], stores)
        if task.submodules and (commit := _commit_of(store, ref or "HEAD")):
            _fetch_submodules(store, repo, commit)
        if not os.path.isdir(_seed(store)):
            unfinished = f"{_seed(store)}.new"
            _remove(unfinished)
            run_git(["clone", "--quiet", "--shared", "--no-checkout", "--template=", "--", store, unfinished], stores)
            run_git(["remote", "remove", "origin"], unfinished)  # what is pushed has nowhere to go
            fs.rename(unfinished, _seed(store))
    return store


def _seed(store: str) -> str:
    """Where a clone that borrows the store's objects lies, with no file checked out: each task's is its copy."""
    return f"{store.removesuffix('.git')}.seed"


def _fetch_submodules(store: str, repo: str, commit: str) -> None:
    """Fetch the commits that a commit's submodules are at, and theirs. Raises `WorldError`."""
    urls: dict[str, str] | None = None
    for path, wanted in _submodules(store, commit).items():
        urls = _addresses(store, commit) if urls is None else urls
        if not urls.get(path):
            raise WorldError(told("the submodule {path} can't be had: nothing says where it is", path=path))
        url = _beside(repo, urls[path])
        if not _commit_of(store, wanted):
            words = [f"--git-dir={store}", "fetch", "--quiet", "--no-tags", "--", url, f"+{wanted}:refs/dogu/{wanted}"]
            # The address is the repository's word, not the user's: git then takes none of this machine's folders.
            variables = {"GIT_PROTOCOL_FROM_USER": "0"}
            try:
                run_git(words, store, variables=variables)
            except WorldError as error:
                message = told("the submodule {path} can't be had: {why}", path=path, why=str(error))
                raise WorldError(message) from error
        _fetch_submodules(store, url, wanted)


def _submodules(store: str, commit: str) -> dict[str, str]:
    """Return the commits of a commit's submodules, by path."""
    listed = rows_in(run_git([f"--git-dir={store}", "ls-tree", "-r", "-z", "--full-tree", commit], store))
    return {os.fsdecode(path): what.split()[2] for path, what in listed.items() if what.startswith(LINK_MODE)}


def _addresses(store: str, commit: str) -> dict[str, str]:
    """Return what a commit says of where its submodules come from, by path."""
    words = ["config", "-z", f"--blob={commit}:.gitmodules", "--get-regexp", r"^submodule\..*\.(path|url)$"]
    said = os.fsdecode(run_git([f"--git-dir={store}", *words], store, check=False)).split("\0")
    named: dict[str, dict[str, str]] = {}
    for key, _, value in (each.partition("\n") for each in said):
        name, _, what = key.rpartition(".")
        named.setdefault(name, {})[what] = value
    return {each["path"].rstrip("/"): each.get("url", "") for each in named.values() if "path" in each}


def _beside(repo: str, url: str) -> str:
    """Return a submodule's address, which may be told from its repository's own. Source: git-submodule(1), `add`."""
    if not url.startswith(("./", "../")):
        return url
    repo = repo.rstrip("/")
    while url.startswith(("./", "../")):
        dots, _, url = url.partition("/")
        if dots == "..":
            repo = repo[: max(repo.rfind("/"), repo.rfind(":") + 1)]
    return f"{repo}{'' if repo.endswith(':') else '/'}{url}"


def _is_name(ref: str, folder: str) -> bool:
    return bool(run_git(["check-ref-format", "--normalize", "--allow-onelevel", ref], folder, check=False))


def _commit_of(store: str, ref: str) -> str:
    words = [f"--git-dir={store}", "rev-parse", "--quiet", "--verify", "--end-of-options", f"{ref}^{{commit}}"]
    found = run_git(words, store, check=False).decode().strip()
    return found if found.isalnum() else ""  # what is to be left out (`^a`), or a range, is no commit


def _clone(store: str, root: str, ref: str) -> str:
    """Make a clone that borrows the store's objects, on a branch of its own; return its commit."""
    commit = _commit_of(store, ref or "HEAD")
    if not commit:
        is_empty = not ref and not run_git([f"--git-dir={store}", "for-each-ref", "--count=1"], store)
        raise WorldError(
            told("the repository is empty") if is_empty else told("the repository has no {ref}", ref=ref or "HEAD")
        )
    shutil.copytree(os.path.join(_seed(store), ".git"), os.path.join(root, ".git"), copy_function=shutil.copyfile)
    _borrow(root, store)  # which is elsewhere now where the fleet was moved
    _check_out(root, commit)
    return commit


def _borrow(root: str, store: str) -> None:
    with open(os.path.join(root, ".git", "objects", "info", "alternates"), "w", encoding="utf-8") as file:
        file.write(f"{store}/objects\n")


def _check_out(root: str, commit: str) -> None:
    info = os.path.join(root, ".git", "info")
    os.makedirs(info, exist_ok=True)
    with open(os.path.join(info, "attributes"), "w", encoding="utf-8") as file:
        file.write(RAW)
    run_git(["checkout", "--quiet", "-B", "task", commit, "--"], root)


def _fill(store: str, root: str, commit: str) -> dict[str, str]:
    """Make repositories of a commit's submodules, and of theirs; return their commits by path, outer ones first."""
    filled: dict[str, str] = {}
    for path, wanted in _submodules(store, commit).items():
        place = os.path.join(root, path)
        form = "sha256" if is_sha256(store) else "sha1"
        run_git(["init", "--quiet", "--template=", f"--object-format={form}", "--", place], root)
        _borrow(place, store)
        _check_out(place, wanted)
        filled[path] = wanted
        filled |= {os.path.join(path, below): each for below, each in _fill(store, place, wanted).items()}
    if filled:
        run_git(["config", "submodule.active", "."], root)  # else git says that they aren't there
    return filled


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
