"""What a task did comes out of its world whole: the patch, put on the commit it began at, gives what lay there."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from dogu.fleet.aside import WorldError
from dogu.fleet.tasks import Task
from dogu.fleet.world import World, make_world, write_files

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
ODD = ["with space", "tab\tnew\nline", '"quoted"', "-rf", ":(glob)*", "a[b]?.txt", "back\\slash", "日本語", "#x", "!y"]


def git(folder: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True).stdout.decode(errors="replace")


def commit(folder: Path, files: dict[str, bytes]) -> Path:
    """Make a repository with one commit of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / ".git" / "info" / "attributes").write_text("* -text -filter -working-tree-encoding -ident\n")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "-qm", "first", "--allow-empty")
    return folder


def tree(folder: Path) -> dict[bytes, tuple[str, bytes]]:
    """What is in a folder, without what any repository keeps for itself, and without empty folders."""
    found: dict[bytes, tuple[str, bytes]] = {}
    for above, folders, files in os.walk(os.fsencode(folder)):
        folders[:] = [name for name in folders if name != b".git"]
        for name in [*files, *(each for each in folders if os.path.islink(os.path.join(above, each)))]:
            path = os.path.join(above, name)
            mode = os.lstat(path).st_mode
            if name == b".git":
                continue
            if stat.S_ISLNK(mode):
                found[os.path.relpath(path, os.fsencode(folder))] = ("link", os.readlink(path))
            elif stat.S_ISREG(mode):
                kind = "program" if mode & 0o100 else "file"
                found[os.path.relpath(path, os.fsencode(folder))] = (kind, Path(os.fsdecode(path)).read_bytes())
    return found


def test_a_new_file_that_no_patch_can_hold_is_told_at_once(tmp_path: Path) -> None:
    world = make_world(Task("t", "x"), str(tmp_path / "t"), str(tmp_path))
    with Path(world.root, "big").open("wb") as big:
        big.truncate((1 << 30) + 1)
    with pytest.raises(WorldError, match="the patch is too large: 1,073,741,825 bytes"):
        world.patch(str(tmp_path / "patch"))


_ON_A_FULL_DISK = """
import os
from dogu.fleet.aside import WorldError
from dogu.fleet.tasks import Task
from dogu.fleet.world import make_world
world = make_world(Task("t", "x"), os.path.abspath("t"), os.getcwd())
with open(f"{world.root}/a", "w") as file:
    file.writelines(f"{number}\\n" for number in range(100_000))
try:
    print(world.patch("disk/patch"))
except WorldError as error:
    print(error)
"""


def test_a_patch_that_the_disk_has_no_room_for_is_told_and_never_a_part_of_one(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace here")
    (tmp_path / "disk").mkdir()
    script = 'mount -t tmpfs -o size=64k none disk || exit 99; exec "$0" -P -c "$1"'
    words = [unshare, "-rm", "sh", "-c", script, sys.executable, _ON_A_FULL_DISK]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode == 99:
        pytest.skip("no mounting here")
    assert "write failure" in done.stdout, done.stdout + done.stderr


def test_how_the_user_has_git_reach_repositories_holds_also_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = commit(tmp_path / "repo", {"a": b"1\n"})
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{repo}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://nowhere.invalid/x.git")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))  # of a hook that dogu was started by
    task = Task("t", "x", repo="https://nowhere.invalid/x.git")
    world = make_world(task, str(tmp_path / "t"), str(tmp_path / "fleet"))
    assert Path(world.root, "a").read_bytes() == b"1\n"


@pytest.mark.skipif(sys.platform != "linux", reason="how long paths may be is the system's")
def test_what_lies_deeper_than_paths_reach_is_told_in_words(tmp_path: Path) -> None:
    world = make_world(Task("t", "x"), str(tmp_path / "t"), str(tmp_path))
    deep = "mkdir -p $(printf 'd%.0s' $(seq 200)); cd d*; "
    words = f"for i in $(seq 20); do {deep} done; echo x > {'e' * 60}"  # from the root 4,081 bytes, in all too many
    subprocess.run(["bash", "-c", words], cwd=world.root, check=True)
    with pytest.raises(WorldError, match=r"^/.*: File name too long$"):
        world.patch(str(tmp_path / "patch"))


def world_of(repo: Path, place: Path, files: dict[str, str] | None = None) -> World:
    task = Task("t", "x", repo=str(repo), files=files or {})
    return make_world(task, str(place / "fleet" / "tasks" / "t"), str(place / "fleet"))


def patched(repo: Path, world: World, place: Path) -> dict[bytes, tuple[str, bytes]]:
    """What a fresh checkout is with the world's patch."""
    file = place / "patch.diff"
    world.patch(str(file))
    file.read_bytes().decode()  # whatever the files are, JSON can carry their patch
    fresh = place / "fresh"
    git(place, "clone", "-q", "--no-checkout", str(repo), str(fresh))
    (fresh / ".git" / "info" / "attributes").write_text("* -text -filter -working-tree-encoding -ident\n")
    git(fresh, "checkout", "-q", "main")
    if file.stat().st_size:
        git(fresh, "apply", "--binary", "--index", "--whitespace=nowarn", str(file))
    return tree(fresh)


class Vandal:
    """Does at random what agents do to a tree."""

    def __init__(self, seed: int, root: Path) -> None:
        self._chance = random.Random(seed)
        self._root = root
        self._count = 0

    def data(self) -> bytes:
        return self._chance.choice(
            [
                b"",
                b"no line end",
                b"a\r\nb\r\n",
                b"a\nb\rc\r\n",
                "日本語\n".encode("shift_jis"),
                "caf\xe9\n".encode("latin-1") * 3,
                "x\ny\n".encode("utf-16"),
                b"\xef\xbb\xbfbom\n",
                b"$Id$\n",
                self._chance.randbytes(300),
                "한국어\n".encode() * 20,
            ]
        )

    def name(self) -> str:
        self._count += 1
        return f"{self._chance.choice(ODD)}{self._count}"

    def _files(self) -> list[Path]:
        walked = [Path(above) / name for above, _, names in os.walk(self._root) for name in names]
        return sorted(path for path in walked if ".git" not in path.relative_to(self._root).parts)

    def _folders(self) -> list[Path]:
        return [self._root, *sorted({path.parent for path in self._files()} - {self._root})]

    def act(self) -> None:
        acts: list[Callable[[], None]] = [self.write, self.change, self.delete, self.rename, self.link, self.mode]
        self._chance.choice([*acts, self.nest, self.turn_into_folder, self.attributes, self.folder_into_link])()

    def write(self) -> None:
        folder = self._chance.choice(self._folders())
        (folder / self.name()).write_bytes(self.data())

    def change(self) -> None:
        if files := [path for path in self._files() if not path.is_symlink()]:
            path = self._chance.choice(files)
            path.write_bytes(path.read_bytes() + self.data())

    def delete(self) -> None:
        if files := self._files():
            self._chance.choice(files).unlink()

    def rename(self) -> None:
        if files := self._files():
            path = self._chance.choice(files)
            path.rename(self._chance.choice(self._folders()) / self.name())

    def link(self) -> None:
        target = self._chance.choice(["/etc/passwd", "..", "nowhere", "café"])
        (self._root / self.name()).symlink_to(target)

    def mode(self) -> None:
        if files := [path for path in self._files() if not path.is_symlink()]:
            path = self._chance.choice(files)
            path.chmod(path.stat().st_mode ^ 0o111)

    def nest(self) -> None:
        folder = self._chance.choice([self._root / self.name(), *self._folders()[1:]])
        folder.mkdir(exist_ok=True)
        git(folder, "init", "-q")
        (folder / self.name()).write_bytes(self.data())
        if self._chance.random() < 0.5:
            git(folder, "add", "--all")
            git(folder, "commit", "-qm", "x", "--allow-empty")

    def turn_into_folder(self) -> None:
        if files := [path for path in self._files() if path.name != ".gitattributes"]:
            path = self._chance.choice(files)
            path.unlink()
            path.mkdir()
            (path / "in").write_bytes(self.data())

    def folder_into_link(self) -> None:
        if (self._root / "src").is_dir() and not (self._root / "src").is_symlink():
            (self._root / "src").rename(self._root / f"moved{self.name()}")
            (self._root / "src").symlink_to("elsewhere")

    def attributes(self) -> None:
        if (self._root / ".gitattributes").is_dir():
            return
        rules = ["text=auto eol=crlf", "working-tree-encoding=UTF-16", "filter=nothing", "ident", "-diff", "binary"]
        (self._root / ".gitattributes").write_text(f"* {self._chance.choice(rules)}\n")


@pytest.mark.parametrize("seed", range(24))
def test_a_patch_on_a_fresh_checkout_gives_what_the_world_was(tmp_path: Path, seed: int) -> None:
    repo = commit(tmp_path / "repo", {"a.txt": b"a\nb\nc\n" * 5, "src/b.c": b"x\r\n", "src/d/c": b"\0\1", "log": b"x"})
    before = Vandal(seed, repo)
    for _ in range(3):
        before.write()
    git(repo, "add", "--all", "--force")
    git(repo, "commit", "-qm", "second")
    world = world_of(repo, tmp_path)
    vandal = Vandal(seed + 1000, Path(world.root))
    for _ in range(8):
        vandal.act()
    assert patched(repo, world, tmp_path) == tree(Path(world.root))


def test_what_was_there_counts_though_it_is_ignored_and_what_is_new_doesnt(tmp_path: Path) -> None:
    repo = commit(tmp_path / "repo", {".gitignore": b"*.log\n", "kept.log": b"a\n"})
    world = world_of(repo, tmp_path, {"given.log": "given\n"})
    Path(world.root, "kept.log").write_text("b\n")
    Path(world.root, "given.log").write_text("mine\n")
    Path(world.root, "new.log").write_text("c\n")
    file = tmp_path / "patch"
    assert world.patch(str(file)).files == 2
    assert "+mine" in file.read_text()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".gitignore").write_text("local\n")
    (folder / "local").write_text("a\n")
    copied = make_world(Task("t", "x", folder=str(folder)), str(tmp_path / "f" / "tasks" / "t"), str(tmp_path / "f"))
    Path(copied.root, "local").write_text("b\n")
    assert copied.patch(str(file)).files == 1


def test_a_submodule_stays_as_it_is_and_what_is_put_there_is_no_link(tmp_path: Path) -> None:
    inner = commit(tmp_path / "inner", {"in.txt": b"in\n"})
    repo = commit(tmp_path / "repo", {"a.txt": b"a\n", ".gitmodules": b'[submodule "sub"]\n\tignore = all\n'})
    git(repo, "submodule", "add", "-q", str(inner), "sub")
    git(repo, "commit", "-qm", "second")
    world = world_of(repo, tmp_path)
    file = tmp_path / "patch"
    assert world.patch(str(file)).files == 0
    Path(world.root, "sub", "made").write_text("x\n")
    world.patch(str(file))
    assert "+++ b/sub/made" in file.read_text()
    os.unlink(Path(world.root, "sub", "made"))
    os.rmdir(Path(world.root, "sub"))
    world.patch(str(file))
    assert "-Subproject commit" in file.read_text()


@pytest.fixture
def nested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    """A task whose repository has a submodule that has one; the user lets git take local ones."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text('[protocol "file"]\n\tallow = always\n')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("inner", "middle", "repo"):
        commit(tmp_path / name, {f"{name}.txt": b"a\n"})
    for above, below, path in (("middle", "inner", "of it/inner"), ("repo", "middle", "sub")):
        git(tmp_path / above, "submodule", "add", "-q", f"../{below}", path)
        git(tmp_path / above, "commit", "-qm", "second")
    return Task("t", "x", repo=str(tmp_path / "repo"), submodules=True, files={"sub/given": "x\n"})


def test_submodules_that_are_asked_for_are_there_and_their_files_part_of_the_patch(
    nested: Task, tmp_path: Path
) -> None:
    world = make_world(nested, str(tmp_path / "fleet" / "tasks" / "t"), str(tmp_path / "fleet"))
    assert world.patch(str(tmp_path / "patch")).files == 0
    Path(world.root, "sub", "of it", "inner", "inner.txt").write_text("b\n")
    git(Path(world.root, "sub"), "rm", "-q", "middle.txt")
    assert world.patch(str(tmp_path / "patch")).files == 2
    listed = git(Path(world.root), "submodule", "status", "--recursive").splitlines()
    assert [line[0] for line in listed] == [" ", " "]  # `-` would say that they aren't there
    git(tmp_path, "clone", "-q", "--recurse-submodules", nested.repo, "fresh")
    (tmp_path / "fresh" / "sub" / "given").write_text("x\n")
    git(tmp_path / "fresh", "apply", str(tmp_path / "patch"))
    assert tree(tmp_path / "fresh") == tree(Path(world.root))


def test_a_submodule_that_cant_be_had_is_told(nested: Task, tmp_path: Path) -> None:
    (tmp_path / "home" / ".gitconfig").unlink()  # the repository's word leads to no folder of this machine
    with pytest.raises(WorldError, match="submodule sub can't be had: fatal: transport 'file' not allowed"):
        make_world(nested, str(tmp_path / "fleet" / "tasks" / "t"), str(tmp_path / "fleet"))
    git(Path(nested.repo), "rm", "-q", "--cached", ".gitmodules")
    git(Path(nested.repo), "commit", "-qm", "third")
    with pytest.raises(WorldError, match="nothing says where it is"):
        make_world(nested, str(tmp_path / "more" / "tasks" / "t"), str(tmp_path / "more"))


def test_a_repository_that_lacks_a_file_makes_no_world_without_it(tmp_path: Path) -> None:
    repo = commit(tmp_path / "repo", {"a.txt": b"a\n", "b.txt": b"b\n"})
    lost = git(repo, "rev-parse", "HEAD:b.txt").strip()
    os.unlink(repo / ".git" / "objects" / lost[:2] / lost[2:])
    git(repo, "config", "core.repositoryFormatVersion", "1")
    git(repo, "config", "extensions.partialClone", "origin")
    with pytest.raises(WorldError, match=lost):
        world_of(repo, tmp_path)


def test_the_users_own_git_settings_dont_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "home" / ".config" / "git"
    settings.mkdir(parents=True)
    (settings / "ignore").write_text("*\n")
    (settings / "attributes").write_text("* -diff\n")
    template = tmp_path / "template" / "info"
    template.mkdir(parents=True)
    (template / "exclude").write_text("*\n")
    (tmp_path / "home" / ".gitconfig").write_text(f"[init]\n\ttemplateDir = {template.parent}\n[diff]\nnoprefix=true\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    repo = commit(tmp_path / "repo", {"a.txt": b"a\n"})
    world = world_of(repo, tmp_path)
    Path(world.root, "new.txt").write_text("new\n")
    file = tmp_path / "patch"
    world.patch(str(file))
    assert "+++ b/new.txt\n" in file.read_text()
    assert "+new" in file.read_text()


def test_what_git_cant_hold_is_told_and_nothing_is_left_out_in_silence(tmp_path: Path) -> None:
    world = world_of(commit(tmp_path / "repo", {"a.txt": b"a\n"}), tmp_path)
    Path(world.root, ".GIT").mkdir()
    Path(world.root, ".GIT", "config").write_text("x\n")
    with pytest.raises(WorldError, match=r"\.GIT/config"):
        world.patch(str(tmp_path / "patch"))


def test_nothing_is_made_where_a_link_leads_out_of_the_world(tmp_path: Path) -> None:
    root, victim = tmp_path / "work", tmp_path / "victim"
    root.mkdir()
    victim.mkdir()
    (victim / "kept").write_text("kept")
    (root / "tests").symlink_to(victim)
    (root / "inner").mkdir()
    (root / "alias").symlink_to("inner")
    for name in ("tests/sub/deep/x.py", "tests/kept", "alias/../../victim/y"):
        with pytest.raises(OSError, match="leads out"):
            write_files(str(root), {name: "x"})
    assert sorted(os.listdir(victim)) == ["kept"]
    (root / "last").symlink_to(victim / "kept")
    write_files(str(root), {"alias/deep/z": "z", "last": "mine"})
    assert (root / "inner" / "deep" / "z").read_text() == "z"
    assert (root / "last").read_text() == "mine"
    assert (victim / "kept").read_text() == "kept"


def test_the_fleets_own_folder_isnt_copied_into_itself(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "build" / "out").mkdir(parents=True)
    (folder / "build" / "kept").write_text("x")
    (folder / "a").write_text("a")
    fleet = folder / "build" / "out"
    world = make_world(Task("t", "x", folder=str(folder)), str(fleet / "tasks" / "t"), str(fleet))
    assert tree(Path(world.root)).keys() == {b"a", b"build/kept"}


def test_a_folder_that_isnt_for_each_task_to_copy_is_refused_before_it_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with (folder / "sparse").open("wb") as sparse:
        sparse.truncate(3 << 30)
    with pytest.raises(WorldError, match="too large to be copied"):
        copied(folder, tmp_path)
    (folder / "sparse").unlink()
    (folder / "pipe").touch()
    with pytest.raises(WorldError, match="isn't a folder"):
        copied(folder / "pipe", tmp_path)
    assert tree(Path(copied(folder, tmp_path).root)).keys() == {b"pipe"}


@pytest.mark.skipif(sys.platform != "linux", reason="pipes are copied by Linux's cp; /proc is Linux's")
@pytest.mark.parametrize(("name", "why"), [("/proc/self", "makes up"), ("/sys", "makes up"), ("/dev", "is a device")])
def test_what_is_no_content_is_refused_and_a_pipe_isnt_waited_for(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(WorldError, match=why):
        copied(Path(name), tmp_path)
    assert os.listdir(tmp_path / "fleet" / "tasks" / "t") == ["home"]
    (tmp_path / "project").mkdir()
    os.mkfifo(tmp_path / "project" / "pipe")
    (tmp_path / "project" / "a").write_text("a")
    assert tree(Path(copied(tmp_path / "project", tmp_path).root)).keys() == {b"a"}


def copied(folder: Path, place: Path) -> World:
    fleet = place / "fleet"
    return make_world(Task("t", "x", folder=str(folder)), str(fleet / "tasks" / "t"), str(fleet))


def test_any_kind_of_repository_is_a_source(tmp_path: Path) -> None:
    repo = commit(tmp_path / "repo", {"a.txt": b"a\n", "big.bin": b"version https://git-lfs.github.com/spec/v1\n"})
    git(repo, "tag", "-a", "v1", "-m", "v1")
    (repo / ".gitattributes").write_text("*.bin filter=lfs\n*.txt eol=crlf\n")
    git(repo, "add", ".gitattributes")
    git(repo, "commit", "-qm", "second")
    git(repo, "worktree", "add", "-q", str(tmp_path / "worktree"))
    git(repo, "clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    git(repo, "clone", "-q", "--depth", "1", f"file://{repo}", str(tmp_path / "shallow"))
    git(repo, "checkout", "-q", "--detach", "v1")
    first = git(repo, "rev-parse", "v1^{commit}").strip()
    sources = [
        (str(repo), "", {b"a.txt", b"big.bin"}),
        (str(repo), first[:12], {b"a.txt", b"big.bin"}),
        (f"file://{repo}", "v1", {b"a.txt", b"big.bin"}),
        *(
            (str(tmp_path / name), "main", {b".gitattributes", b"a.txt", b"big.bin"})
            for name in ("bare.git", "shallow")
        ),
        (str(tmp_path / "worktree"), "worktree", {b".gitattributes", b"a.txt", b"big.bin"}),
    ]
    for number, (source, ref, names) in enumerate(sources):
        place = tmp_path / f"fleet{number}"
        world = make_world(Task("t", "x", repo=source, ref=ref), str(place / "tasks" / "t"), str(place))
        assert tree(Path(world.root)).keys() == names
        assert world.patch(str(tmp_path / "patch")).files == 0
        Path(world.root, "a.txt").write_bytes(b"b\n")
        assert world.patch(str(tmp_path / "patch")).files == 1


def test_a_repository_that_asks_for_a_password_fails_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Asks(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    asked = tmp_path / "asked"
    program = tmp_path / "askpass"
    program.write_text(f"#!/bin/sh\ntouch {asked}\necho x\n")
    program.chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f"[core]\n\taskPass = {program}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSH_ASKPASS", str(program))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Asks) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        task = Task("t", "x", repo=f"http://127.0.0.1:{server.server_port}/r.git")
        with pytest.raises(WorldError, match="terminal prompts disabled"):
            make_world(task, str(tmp_path / "fleet" / "tasks" / "t"), str(tmp_path / "fleet"))
        server.shutdown()
    assert not asked.exists()


def test_a_world_that_cant_be_made_takes_no_room(tmp_path: Path) -> None:
    repo = commit(tmp_path / "repo", {"a.txt": b"one\n"})
    (repo / "out").symlink_to(tmp_path)
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "a link")
    place = tmp_path / "fleet" / "tasks" / "one"
    with pytest.raises(WorldError, match="leads out"):
        make_world(Task("one", "x", repo=str(repo), files={"out/b.txt": "two"}), str(place), str(tmp_path / "fleet"))
    assert [path.name for path in place.iterdir()] == ["home"]


def test_what_is_no_name_of_a_ref_changes_nothing_that_others_begin_with(tmp_path: Path) -> None:
    repo = commit(tmp_path / "repo", {"a.txt": b"one\n"})
    git(repo, "branch", "main-of-tests")
    fleet = tmp_path / "fleet"
    world_of(repo, tmp_path)
    later = git(commit(repo, {"a.txt": b"two\n"}), "rev-parse", "HEAD").strip()
    refs = ("HEAD:refs/heads/main-of-tests", "+HEAD:main-of-tests", "^main-of-tests", "main-of-tests..main", "a b")
    for number, ref in enumerate(refs):
        task = Task("one", "x", repo=str(repo), ref=ref)
        with pytest.raises(WorldError, match="the repository has no"):
            make_world(task, str(fleet / "tasks" / str(number)), str(fleet))
    task = Task("one", "x", repo=str(repo), ref="main-of-tests")
    world = make_world(task, str(fleet / "tasks" / "last"), str(fleet))
    assert world.base != later


def test_what_a_task_does_to_its_repository_reaches_no_other_tasks(tmp_path: Path) -> None:
    repo = commit(tmp_path / "repo", {f"{number}.txt": b"%d\n" % number for number in range(20)})
    git(repo, "tag", "v1")
    fleet = tmp_path / "fleet"
    first, second = (Task(name, "x", repo=str(repo)) for name in ("first", "second"))
    spoilt = make_world(first, str(fleet / "tasks" / "first"), str(fleet))
    git(Path(spoilt.root), "config", "core.hooksPath", "/hooks")
    git(Path(spoilt.root), "tag", "-d", "v1")
    git(Path(spoilt.root), "update-ref", "-d", "refs/heads/main")
    Path(spoilt.root, ".git", "objects", "info", "alternates").unlink()
    world = make_world(second, str(fleet / "tasks" / "second"), str(fleet))
    assert git(Path(world.root), "status", "--short", "--branch") == "## task\n"
    assert git(Path(world.root), "branch", "--format=%(refname)").split() == ["refs/heads/main", "refs/heads/task"]
    assert git(Path(world.root), "tag").split() == ["v1"]
    assert git(Path(world.root), "remote") == ""
    assert "hookspath" not in git(Path(world.root), "config", "--list")
    # However the repository keeps its objects, the tasks read them from one file.
    assert git(Path(world.borrowed), "count-objects", "-v").startswith("count: 0\n")


def test_a_repository_whose_head_leads_nowhere_isnt_called_empty(tmp_path: Path) -> None:
    repo = commit(tmp_path / "repo", {"a.txt": b"one\n"})
    git(repo, "symbolic-ref", "HEAD", "refs/heads/nothing")
    with pytest.raises(WorldError, match=r"^the repository has no HEAD$"):
        world_of(repo, tmp_path)
    git(repo, "update-ref", "-d", "refs/heads/main")
    with pytest.raises(WorldError, match=r"^the repository is empty$"):
        make_world(Task("t", "x", repo=str(repo)), str(tmp_path / "other"), str(tmp_path / "another"))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_what_is_made_up_when_it_is_read_is_told_by_the_name_that_was_given(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"^/proc/self isn't on a disk"):
        copied(Path("/proc/self"), tmp_path)


def test_a_fleet_that_was_moved_makes_worlds_where_it_is(tmp_path: Path) -> None:
    repo = commit(tmp_path / "repo", {"a.txt": b"one\n"})
    task = Task("t", "x", repo=str(repo))
    make_world(task, str(tmp_path / "fleet" / "tasks" / "t"), str(tmp_path / "fleet"))
    (tmp_path / "fleet").rename(tmp_path / "moved")
    world = make_world(task, str(tmp_path / "moved" / "tasks" / "t"), str(tmp_path / "moved"))
    assert git(Path(world.root), "log", "--format=%s").strip() == "first"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_where_git_looks_for_its_own_is_no_reason_to_wait(tmp_path: Path) -> None:
    world = world_of(commit(tmp_path / "repo", {"a": b"1\n", ".gitignore": b"*.o\n"}), tmp_path)
    root = Path(world.root)
    (root / ".gitignore").unlink()
    for name in ("sub", "inner"):
        (root / name).mkdir()
        (root / name / "new").write_bytes(b"2\n")
    git(root / "inner", "init", "-q")
    (root / "inner" / ".git" / "HEAD").unlink()
    for name in (".gitignore", ".gitattributes", "sub/.gitignore", "inner/.git/HEAD", "inner/.git/commondir"):
        os.mkfifo(root / name)
    patched = []
    working = Thread(target=lambda: patched.append(world.patch(str(tmp_path / "patch"))), daemon=True)
    working.start()
    working.join(60)
    assert [patch.files for patch in patched] == [3]


def test_what_a_killed_fleet_left_half_cloned_is_taken_away_and_cloned_by_another_name(tmp_path: Path) -> None:
    repo = commit(tmp_path / "repo", {"a.txt": b"one\n"})
    world_of(repo, tmp_path)
    (store,) = tmp_path.glob("**/repos/*.git")
    store.rename(f"{store}.01234567.new")
    world_of(repo, tmp_path)
    assert [path.name for path in store.parent.iterdir() if path.suffix in (".git", ".new")] == [store.name]


def test_a_file_that_was_there_and_grew_past_what_a_patch_holds_is_told_at_once(tmp_path: Path) -> None:
    world = world_of(commit(tmp_path / "repo", {"a.txt": b"one\n"}), tmp_path)
    os.truncate(Path(world.root, "a.txt"), 1 << 40)
    with pytest.raises(WorldError, match="the patch is too large: 1,099,511,627,776 bytes"):
        world.patch(str(tmp_path / "patch"))


_ENDS = """
import threading
from dogu.fleet import aside
waiting = threading.Thread(target=aside.run_to_end, args=(["sleep", "600"], b"", 600))
waiting.start()
while not aside._running.programs:
    pass
aside.end_programs()
waiting.join()
print(aside.run_to_end(["sleep", "600"], b"", 600)[0])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it has no sleep, and no signals")
def test_what_works_on_worlds_ends_with_the_worker_and_begins_no_more() -> None:
    done = subprocess.run([sys.executable, "-P", "-c", _ENDS], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "-9\n"
