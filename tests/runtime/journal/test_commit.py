"""What a command did in a layer is put in its place, undone and done again: bytes, modes, owners, attributes, links."""

import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from dogu.contract.confirmation import Answer, CallContext, Confirmation
from dogu.contract.errors import ErrorKind, ToolError
from dogu.runtime.journal import Journal, Keeping
from dogu.runtime.journal.choice import Consent, Wanted
from dogu.runtime.journal.remains import noted
from dogu.tools.run_shell_command import ApprovedCommand, RunShellCommand, RunShellCommandArgs, ShellLimits
from dogu.workspace.launcher.layers import holds_renames
from dogu.workspace.layer.command import CommandLayers
from dogu.workspace.layer.make import make
from dogu.workspace.layer.running import How
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.roots import Roots
from dogu.workspace.sandbox.ladder import Sandbox
from processes import shared_fork_server
from workspace.layer.test_layers import CASES, prepare

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="overlayfs is Linux")]

SET_ATTRIBUTE = "python3 -c \"import os, sys; os.setxattr(sys.argv[1], sys.argv[2], b'1')\""
MORE_CASES = {
    "git, all of it": "git init -q . && git add -A && git -c user.name=a -c user.email=b commit -qm 1 && rm -rf .git",
    "attributes": "setfattr -n user.note -v kept a 2>/dev/null; chmod 2755 d; touch -t 200001010000 a",
    "a sparse file": "truncate -s 5M hole; printf x | dd of=hole bs=1 seek=3000000 conv=notrunc status=none",
    "a large file replaced": "head -c 3000000 /dev/zero | tr '\\0' b > large",
    "a large file removed": "rm large",
    "a large file moved": "mv large d/larger; echo more >> d/larger",
    "a FIFO and an empty folder removed": "rm pipe; rmdir empty",
    "a folder in which names are linked": "cp -al d twin; ln a again; ln one three",
    "a file written and closed to its owner": "echo more >> a; chmod 000 a; chmod 200 d/e/f",
    "names that change their files": "ln a b; mv -f one a; ln -f b two; echo more >> b",
    "one of several names made anew, and the other written": "cp -p two t; mv t one; echo more >> two",
    "one of several names given to another, the second written, the third made anew": "ln a b; ln a c; ln -f a one; "
    "truncate -s 2 c; sed -i s/a/A/ a",
    "names parted and joined anew": "ln a b; ln a c; cp -p a t; mv t b; ln -f b c; echo more >> a",
    "a large file of two names appended to": "ln large big; truncate -s 6M large; echo more >> big",
    "new files with two names": "mkdir n; echo x > n/x; ln n/x y; ln n/x n/z",
    "a new folder with what was elsewhere": "mkdir -p n/m; mv a n/m; cp -r d n; ln n/d/e/f n/g",
    "a folder moved into the one in its place": "mv d t; mkdir d; mv t d/e; echo 1 > d/new",
    "a folder moved out of the one in its place": "mv d/e t; mv d old; mv t d; mv old d/e",
    "a closed folder": "mkdir -p closed/in; echo x > closed/in/f; chmod 500 closed/in; chmod 555 closed",
    "a folder that becomes a link which leads out": "rm -rf d; ln -s /usr d",
    "a folder that becomes a link to nowhere": "rm -rf d; ln -s /nowhere d",
    "a link that leads out becomes a folder": "rm out; mkdir out; echo x > out/x",
    "a file that nobody may read, removed and linked": "ln secret named; chmod 600 named; echo x >> named; rm secret",
    "two folders swapped, and a file moved out of one": "mkdir z; touch z/f; mv d/e t; mv z d/e; mv t z; mv z/f d/e/g",
    "names of a file given to another that holds the same": "cp one n; rm one; ln -f n two; mv n a",
    "folders called as a layer's are": "mkdir -p layer-1/upper; echo x > layer-1/upper/f; mv layer-1 layer-2",
    "folders closed to their owner": "echo x >> d/e/f; mkdir -p n/m; echo x > n/m/f; chmod 0 d/e d n/m n",
    "what has attributes closed": f"{SET_ATTRIBUTE} a user.x; {SET_ATTRIBUTE} d user.y; chmod 0 a d known",
    "attributes whose names aren't text": f"{SET_ATTRIBUTE} a $'user.\\xff'; {SET_ATTRIBUTE} known user.ü; rm b; cp -a a b",
    "what has attributes and was closed removed": "rm -f known; chmod 700 closed; rm -rf closed",
    "a tree made read-only": "echo x >> d/e/f; chmod -R a-w d",
    "a file in a folder that was closed": "chmod 700 closed; echo x >> closed/f; rm closed/g/h; chmod 500 closed/g closed",
    "a folder that was closed removed": "chmod -R 700 closed; rm -rf closed",
    "a folder that was closed moved": "chmod 700 closed; mv closed/g open; chmod 311 open; chmod 0 closed",
}


AS_USUAL = How()


async def nobody(_question: Confirmation) -> Answer | None:
    return None


class Place:
    """A root with a journal, and what runs commands in layers over it."""

    def __init__(self, folder: Path, processes: LocalProcesses, sandbox: Sandbox) -> None:
        self.root = folder / "root"
        self.session = folder / "state/sessions/one"
        self.root.mkdir()
        prepare(self.root)
        (self.root / "large").write_bytes(b"a" * 3_000_000)
        os.mkfifo(self.root / "pipe")
        (self.root / "out").symlink_to("/usr")
        (self.root / "secret").write_bytes(b"s" * 2_000_000)
        (self.root / "secret").chmod(0)
        (self.root / "known").write_text("k")
        (self.root / "closed/g").mkdir(parents=True)
        for name in ("known", "closed", "closed/g"):
            os.setxattr(self.root / name, "user.known", b"2")
        (self.root / "known").chmod(0o200)
        (self.root / "closed/f").write_text("f\n")
        (self.root / "closed/g/h").write_text("h\n")
        (self.root / "closed/g").chmod(0o500)
        (self.root / "closed").chmod(0)
        (self.root / "empty").mkdir(mode=0o750)
        roots = Roots(str(self.root))
        keeping = Keeping(str(folder / "state/pending"), b"key")
        self._home, self._processes, self._sandbox = str(folder), processes, sandbox
        self.use(Journal(str(self.session), roots, keeping))

    def use(self, journal: Journal) -> None:
        """Have what is run from now on kept in this journal."""
        self.journal = journal
        self.layers = CommandLayers(journal, str(self.session / "layers"), self._processes)
        environment = {"PATH": os.environ["PATH"], "HOME": self._home}
        limits = ShellLimits(layers=self.layers, idle_timeout_s=20)
        sandbox, root = self._sandbox, Roots(str(self.root))
        self._tool = RunShellCommand(root, self._processes, lambda: environment, limits, lambda: sandbox)

    async def run(
        self,
        command: str,
        report: Callable[[str], None] = lambda _: None,
        how: How = AS_USUAL,
        ask: Callable[[Confirmation], Awaitable[Answer | None]] = nobody,
    ) -> str:
        approved = ApprovedCommand(RunShellCommandArgs(command=command), how)
        context = CallContext(approved=approved, report=report, ask=ask)
        async with self.journal.call("c", command, snapshot=False):
            result = await self._tool.execute(RunShellCommandArgs(command=command), context)
        assert isinstance(result.llm_content, str)
        return result.llm_content

    def tree(self) -> dict[str, object]:
        """All that is there, as the system tells it, by means that know nothing of the journal."""
        found: dict[str, object] = {}
        inodes: dict[int, list[str]] = {}
        with opened_to_their_owner(self.root) as modes:
            for path in sorted(self.root.rglob("*")):
                status = path.lstat()
                held: object = None
                if path.is_symlink():
                    held = os.readlink(path)
                elif stat.S_ISREG(status.st_mode):
                    held = path.read_bytes()
                if not stat.S_ISDIR(status.st_mode):
                    inodes.setdefault(status.st_ino, []).append(str(path.relative_to(self.root)))
                xattrs = {} if path.is_symlink() else {name: os.getxattr(path, name) for name in os.listxattr(path)}
                mode = 0 if path.is_symlink() else modes.get(path, status.st_mode)
                found[str(path.relative_to(self.root))] = (mode, status.st_uid, status.st_gid, held, xattrs)
        found["(links)"] = sorted(names for names in inodes.values() if len(names) > 1)
        return found


@contextmanager
def opened_to_their_owner(root: Path) -> Generator[dict[Path, int]]:
    """Open what its owner closed to itself, so that one who isn't root can look into it; gives the true modes."""
    modes: dict[Path, int] = {}
    todo = [root]
    while todo:
        for path in [*todo.pop().iterdir()]:
            status = path.lstat()
            wanted = stat.S_IRWXU if stat.S_ISDIR(status.st_mode) else stat.S_IRUSR
            if status.st_mode & wanted != wanted and not path.is_symlink():
                modes[path] = status.st_mode
                path.chmod(stat.S_IMODE(status.st_mode) | wanted)
            if stat.S_ISDIR(status.st_mode):
                todo.append(path)
    try:
        yield modes
    finally:
        for path, mode in reversed(modes.items()):
            path.chmod(stat.S_IMODE(mode))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    sandbox = Sandbox.detect()
    async with LocalProcesses(fork_server=shared_fork_server()) as processes:
        place = Place(tmp_path, processes, sandbox)
        place.session.mkdir(parents=True)
        layers = make([str(place.root)], str(place.session)) if sandbox.makes_layers else None
        if layers is None:
            pytest.skip("no layers on this machine")
        layers.remove()
        yield place


@pytest.mark.parametrize("command", [*CASES.values(), *MORE_CASES.values()], ids=[*CASES, *MORE_CASES])
async def test_what_a_command_did_is_undone_and_redone(command: str, place: Place):
    before = place.tree()
    await place.run(command)
    after = place.tree()
    if not place.journal.entries():
        assert before == after
        return
    consent = Consent(unsure="rename" in command and not holds_renames())  # what no layer can is only watched
    report = await to_thread.run_sync(lambda: place.journal.undo(consent=consent))
    assert report.refused == ()
    assert place.tree() == before
    report = await to_thread.run_sync(place.journal.redo)
    assert report.refused == ()
    assert place.tree() == after
    assert (await to_thread.run_sync(lambda: place.journal.undo(consent=consent))).done
    assert place.tree() == before


@pytest.mark.parametrize(
    "name", [name for name in {**CASES, **MORE_CASES} if name not in ("nothing", "made and removed")]
)
async def test_what_a_command_without_a_layer_did_is_undone_and_redone(name: str, place: Place):
    command = {**CASES, **MORE_CASES}[name]
    place.layers.can = False
    before = place.tree()
    await place.run(command)
    after = place.tree()
    if before == after:
        return
    report = await to_thread.run_sync(lambda: place.journal.undo(consent=Consent(unsure=True)))
    assert report.refused == ()
    assert place.tree() == before
    report = await to_thread.run_sync(place.journal.redo)
    assert report.refused == ()
    assert place.tree() == after


SWAP = "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'a', -100, b'd', 2)\""


@pytest.mark.skipif(not holds_renames(), reason="only the machine's root writes through hard links in a layer")
@pytest.mark.parametrize("is_layered", [True, False])
@pytest.mark.parametrize(
    "command",
    [
        "ln -f a same",
        "chown -h 3:3 d/l",
        "mv d e; echo more >> a",
        f"{SWAP}; echo more >> d",
        SWAP.replace("b'a'", "b'empty'"),
        "mv d new; mkdir -p d/e",
        "cp d/a x; rm a d/a; echo new > a; mv x d/a; ln -f d/a d/b",
        "cp d/a x; rm d/a; mv x d/a; ln -f d/a same",
        "echo more >> a; mv a same",
        "mv d empty/d; mv empty n; ln -f a same; rm a",
        "cp same other; ln -f other same",
        "mv d e; chmod 600 a",
        "ln a b; rm -rf d; mv closed d",
        "cp -a d n; rm -rf d; mv n d; mv d/e d/g; mv d/a d/b",
        "chmod 700 closed; rm -rf closed; mv d closed; rm -rf closed",
        "ln -f a empty/a; rm -rf d; mv empty d",
        f"mkdir n; cp -p d/a n; {SWAP}".replace("b'a'", "b'n'"),
        "mv d old; mv closed d; rm -rf d/a; mkdir -p d/a/x; echo 1 > d/a/x/y",
        "rm -rf empty/a; mkdir -p d/x; echo 1 > d/x/y; mv d t; mv empty d; mv t empty",
        "mv closed/g g; rm -rf closed/*; mkdir -p closed/a/b; echo 1 > closed/a/b/c; mv d old; mv closed d",
        f"chmod u+s a; {SWAP}".replace("b'a'", "b'd/a'").replace("b'd'", "b'same'"),
        "ln -f d/a other; rm a; mv d n; mv n closed/n; mv closed d",
        "tar cf n d; rm -rf d; echo new > a; tar xf n; rm n",
        "chmod 600 pipe",
        "ln d/l l; ln pipe p; chown -h 3:3 l; chmod 640 p",
        "rm d/pipe; ln d/l l; rm d/l; mv d e",
        "mv d e; chmod 600 pipe",
        "chmod 444 a; cp other a",
        "mv more n; chmod 600 a; mv d more; mv other o",
        f"mv d n; mv swapped d; mv n swapped; {SWAP}".replace("b'a'", "b'more'"),
        "rm a; mv d n; cp n/a t; rm n/a; mv t n/a",
        f"sed -i s/./x/ swapped/b; {SWAP}; rm -rf swapped; echo 1 > swapped".replace("b'a'", "b'swapped'"),
    ],
)
async def test_names_of_a_file_are_what_they_are_without_dogu_and_come_back(
    command: str, is_layered: bool, place: Place, tmp_path: Path
):
    """Where a name's folder moved, or it was given to another file that holds the same; a link's owner too."""
    for name in ("d/a", "d/c"):
        os.link(place.root / "a", place.root / name)
    os.link(place.root / "pipe", place.root / "d/pipe")
    shutil.copyfile(place.root / "a", place.root / "same")
    (place.root / "other").write_text("other\n")
    (place.root / "more").mkdir()
    (place.root / "swapped/e").mkdir(parents=True)
    for name in ("d/b", "swapped/b"):
        (place.root / name).write_text(name)
    os.link(place.root / "other", place.root / "more/a")
    shutil.copy2(place.root / "a", place.root / "empty/a")
    twin = tmp_path / "twin"
    await anyio.run_process(["cp", "-a", str(place.root), str(twin)])
    place.layers.can = is_layered
    before = place.tree()
    await place.run(command)
    after = place.tree()
    await anyio.run_process(["bash", "-c", command], cwd=twin, env={"PATH": os.environ["PATH"]})
    root, place.root = place.root, twin
    assert after == place.tree()
    place.root = root
    assert (await to_thread.run_sync(place.journal.undo)).refused == ()
    assert place.tree() == before
    assert (await to_thread.run_sync(place.journal.redo)).refused == ()
    assert place.tree() == after


@pytest.mark.skipif(not holds_renames(), reason="only the machine's root writes through hard links in a layer")
@pytest.mark.parametrize(
    "command",
    [
        "echo more >> one; cp --remove-destination a one",
        "echo more >> one; rm one",
        "mv one d/x; echo more >> d/x",
        "chmod 600 one; mv a one",
        "mv one d/x; mv d y; echo more >> y/x; rm y/x",
        "mv one x",
    ],
)
async def test_what_is_written_by_a_name_that_then_goes_shows_at_the_others_too(
    command: str, place: Place, tmp_path: Path
):
    twin = tmp_path / "twin"
    shutil.copytree(place.root / "d", twin / "d", symlinks=True)
    for name in ("a", "one"):
        shutil.copy2(place.root / name, twin)
    (twin / "two").hardlink_to(twin / "one")
    before = place.tree()
    await place.run(command)
    await anyio.run_process(["bash", "-c", command], cwd=twin)
    now = (place.root / "two").stat(), (twin / "two").stat()
    assert (place.root / "two").read_text() == (twin / "two").read_text()
    assert now[0].st_mode == now[1].st_mode
    assert now[0].st_nlink == now[1].st_nlink
    assert (await to_thread.run_sync(place.journal.undo)).refused == ()
    assert place.tree() == before


@pytest.mark.parametrize("is_layered", [True, False])
async def test_a_file_that_has_a_name_outside_is_said_to_come_back_by_itself(
    is_layered: bool, place: Place, tmp_path: Path
):
    (place.root / "d/c").write_text("c\n")
    os.link(place.root / "d/c", tmp_path / "outside")
    os.link(place.root / "d/c", place.root / "inside")
    place.layers.can = is_layered
    await place.run("rm d/c")
    report = await to_thread.run_sync(place.journal.undo)
    assert report.restored == ((str(place.root / "d/c"), "brought back"),)  # it is one with the name inside
    await place.run("rm d/c inside")
    report = await to_thread.run_sync(place.journal.undo)
    assert all("a file of its own" in words for _, words in report.restored)
    assert (place.root / "d/c").stat().st_ino == (place.root / "inside").stat().st_ino


async def test_very_many_files_come_back_and_go_again_also_those_that_hold_the_same(place: Place):
    for number in range(250):
        (place.root / f"d/same{number}").write_text("same\n")
        (place.root / f"d/own{number}").write_text(f"own {number}\n")
    trees = [place.tree()]
    for command in ("sed -i 's/$/ more/' d/*[0-9]", "rm d/own* && cp d/same1 d/again", "rm -rf d"):
        await place.run(command)
        trees.append(place.tree())
    for _ in range(2):
        for before in reversed(trees[:-1]):
            assert (await to_thread.run_sync(place.journal.undo)).refused == ()
            assert place.tree() == before
        for after in trees[1:]:
            assert (await to_thread.run_sync(place.journal.redo)).refused == ()
            assert place.tree() == after


_DEEP = """python3 - <<'END'
import os
for number in range(60):
    os.mkdir("x" * 100)
    os.chdir("x" * 100)
    open(f"f{number}", "w").write(str(number))
END
"""


@pytest.mark.parametrize(("count", "size"), [(2_100, 5), (3, 5_000_000)])
async def test_files_of_one_size_and_time_that_hold_different_things_all_come_back(place: Place, count: int, size: int):
    before = place.tree()
    made = (
        f"mkdir many; cd many; for i in $(seq {count}); do printf %04d $i > $i; done; "
        f"truncate -s {size} *; touch -d 2001-02-03 *"
    )
    await place.run(made)
    after = place.tree()
    assert (await to_thread.run_sync(place.journal.undo)).refused == ()
    assert place.tree() == before
    assert (await to_thread.run_sync(place.journal.redo)).refused == ()
    assert place.tree() == after


async def test_a_folder_with_large_files_is_moved_back(place: Place) -> None:
    for number in range(2):
        (place.root / f"d/{number}").write_bytes(b"%d" % number * 5_000_000)
    before = place.tree()
    await place.run("mv d moved; mv moved/0 moved/e/0")
    after = place.tree()
    assert (await to_thread.run_sync(place.journal.undo)).refused == ()
    assert place.tree() == before
    assert (await to_thread.run_sync(place.journal.redo)).refused == ()
    assert place.tree() == after


@pytest.mark.parametrize("command", ["mv a t; mv b a; mv t b", "cp -p b a", "cp b t; touch -r a t; cp -p t a"])
async def test_what_a_command_puts_in_place_of_a_file_of_the_same_size_and_time_is_kept(
    place: Place, command: str
) -> None:
    for name in "ab":
        (place.root / name).write_text(f"of {name}")
        os.utime(place.root / name, ns=(10**18, 10**18))
    await place.run(command)
    assert (place.root / "a").read_text() == "of b"
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert (place.root / "a").read_text() == "of a"


async def test_a_file_that_takes_over_size_and_time_is_another_one(place: Place) -> None:
    (place.root / "b").write_bytes(b"1" * 5_000_000)
    await place.run("head -c 5000000 /dev/zero > c; touch -r b c; mv c b")
    assert (place.root / "b").read_bytes() == bytes(5_000_000)
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert (place.root / "b").read_bytes() == b"1" * 5_000_000


async def test_a_tree_too_deep_for_a_path_is_kept_undone_and_redone(place: Place):
    def depth() -> int:
        found, todo = 0, [os.open(place.root, os.O_RDONLY)]
        while todo:
            folder = todo.pop()
            for name in os.listdir(folder):
                if name[0] in "xf" and name not in ("f",):
                    if name.startswith("f"):
                        found += os.stat(name, dir_fd=folder).st_size > 0
                    else:
                        todo.append(os.open(name, os.O_RDONLY, dir_fd=folder))
            os.close(folder)
        return found

    told = await place.run(_DEEP)
    assert depth() == 60, told
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert depth() == 0
    assert (await to_thread.run_sync(place.journal.redo)).done
    assert depth() == 60
    await place.run("rm -rf xx*")
    assert depth() == 0
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert depth() == 60


@pytest.mark.parametrize(
    ("command", "name", "home"),
    [("mv d x; echo more >> x/e/f", "x/e/f", "d/e/f"), ("mv a x; echo more >> x", "x", "a")],
)
async def test_one_file_that_was_moved_and_written_to_comes_back_to_where_it_lay(
    command: str, name: str, home: str, place: Place
):
    held = (place.root / home).read_text()
    await place.run(command)
    report = await to_thread.run_sync(lambda: place.journal.undo(Wanted(path=str(place.root / name))))
    assert report.refused == ()
    assert (place.root / home).read_text() == held
    assert not (place.root / name).exists()


@pytest.mark.skipif(not holds_renames(), reason="only in a layer of the machine's root a folder is renamed as one")
async def test_what_moved_along_and_stays_is_told(place: Place):
    saved: list[str] = []

    def put(_text: str) -> None:
        if not saved:
            (place.root / "new/e").mkdir(parents=True)
            (place.root / "new/e/f").write_text("theirs\n")
        saved.append("")

    told = await place.run("mv d new; echo said; sleep 0.5", put)
    assert (place.root / "new/e/f").read_text() == "theirs\n"
    assert (place.root / "d/e/f").read_text() == "deep\n"
    assert "new/e/f" in told


async def test_a_folder_that_the_user_removed_meanwhile_does_not_come_back(place: Place):
    saved: list[str] = []

    def remove(_text: str) -> None:
        if not saved:
            shutil.rmtree(place.root / "d")
        saved.append("")

    command = "echo new > d/e/new; echo said; sleep 0.5; echo b > b"
    told = await place.run(command, remove)
    assert not (place.root / "d").exists()
    assert (place.root / "b").exists()
    [aside] = re.findall(r"own version is in (\S+)\.", told)
    assert (Path(aside + str(place.root)) / "d/e/new").read_text() == "new\n"
    assert "Not changed: d, d/e, d/e/new (somebody removed it since the command began)." in told


_DAY = [
    "git init -q . && git add -A -- a d && git -c user.name=a -c user.email=b commit -qm 1",
    "echo more >> a; mkdir -p src/deep; for i in $(seq 40); do echo $i > src/deep/$i; done",
    "git -c user.name=a -c user.email=b commit -qam 2 && git checkout -qb side && git gc -q --prune=now",
    "mv src lib && chmod -R g-w lib && sed -i s/1/one/ lib/deep/1*",
    "rm large pipe; head -c 2500000 /dev/urandom > large; ln large again; ln -s lib sources",
    "echo more >> one; sed -i s/1/2/ two; rm -rf empty d; mkdir d; mkfifo d/pipe",
    "rm -rf .git",
    "mv lib/deep top && rmdir lib && rm top/2* && cp -r top copy && truncate -s 3M copy/hole",
]


async def test_a_day_s_commands_are_undone_and_redone_while_another_writes(place: Place):
    theirs = place.root / "theirs"
    theirs.mkdir()
    before = place.tree()
    is_over = threading.Event()
    written: list[Path] = []

    def write() -> None:
        while not is_over.wait(0.01):
            path = theirs / f"{len(written)}"
            path.write_text(f"theirs {len(written)}")
            written.append(path)

    other = threading.Thread(target=write)
    other.start()
    try:
        for command in _DAY:
            await place.run(command)
        after = own(place.tree())
        report = await to_thread.run_sync(lambda: place.journal.undo(Wanted(to="1")))
        assert report.refused == ()
        assert own(place.tree()) == own(before)
        report = await to_thread.run_sync(place.journal.redo)
        assert report.refused == ()
        assert own(place.tree()) == after
    finally:
        is_over.set()
        other.join()
    assert [path.read_text() for path in written] == [f"theirs {number}" for number in range(len(written))]


def own(tree: dict[str, object]) -> dict[str, object]:
    return {name: held for name, held in tree.items() if not name.startswith("theirs/")}


@pytest.mark.parametrize("command", ["touch -d 2023-01-01 a", "cp a b && cat b > a && touch -d 2023-01-01 a && rm b"])
async def test_the_time_of_a_file_that_holds_the_same_is_set_undone_and_set_again(place: Place, command: str) -> None:
    file = place.root / "a"
    os.utime(file, ns=(10**18, 10**18))
    await place.run(command)
    touched = file.stat().st_mtime_ns
    assert touched != 10**18
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert file.stat().st_mtime_ns == 10**18
    assert (await to_thread.run_sync(place.journal.redo)).done
    assert file.stat().st_mtime_ns == touched


_HOLDERS = {
    "sqlite": (
        "import sqlite3; c = sqlite3.connect('db/d', isolation_level=None); c.execute('pragma journal_mode=wal'); "
        "c.execute('create table t (x)'); c.execute('insert into t values (1)')",
        "c.execute('insert into t values (9)'); print(sorted(row[0] for row in c.execute('select x from t')))",
        "import sqlite3; c = sqlite3.connect('db/d', isolation_level=None); c.execute('insert into t values (3)')",
        "[1, 3, 9]",
    ),
    "a lock file beside the data": (
        "import fcntl, os; os.mkdir('db'); f = open('db/LOCK', 'w'); fcntl.lockf(f, fcntl.LOCK_EX); "
        "open('db/CURRENT', 'w').write('1')",
        "print(open('db/CURRENT').read(), os.listdir('db/new') if os.path.exists('db/new') else '')",
        "import fcntl, os; f = open('db/LOCK'); fcntl.flock(f, fcntl.LOCK_SH)\n"
        "try: fcntl.lockf(open('db/LOCK', 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "except BlockingIOError: raise SystemExit\n"
        "os.mkdir('db/new'); open('db/new/2', 'w').write('2'); open('db/t', 'w').write('2'); os.rename('db/t', 'db/CURRENT')",
        "1 ",
    ),
    "shared memory": (
        "import mmap, os; os.mkdir('db'); open('db/region', 'wb').write(bytes(8192)); open('db/log', 'wb').write(bytes(9)); "
        "f = open('db/region', 'r+b'); m = mmap.mmap(f.fileno(), 8192)",
        "m[0:1] = b'x'; m.flush(); print(m[0:2], open('db/region', 'rb').read(2), open('db/log', 'rb').read(1))",
        "import mmap; f = open('db/region', 'r+b'); m = mmap.mmap(f.fileno(), 8192); m[1:2] = b'y'; m.flush(); "
        "open('db/l', 'wb').write(b'z\\0'); import os; os.rename('db/l', 'db/log')",
        "b'xy' b'xy' b'z'",
    ),
}


class Holder:
    """Another program that has something open in a root, and says what it sees of it."""

    def __init__(self, root: Path, begin: str, then: str) -> None:
        code = f"import sys\n{begin}\nprint('up', flush=True)\nsys.stdin.readline()\n{then}\n"
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, "-c", code], cwd=root, stdin=pipe, stdout=pipe, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "up\n"

    def go_on(self) -> str:
        return self._process.communicate("\n", timeout=30)[0].rstrip("\n")


_HOLDERS["a lock file in the root itself"] = (
    "import fcntl, os; os.mkdir('db'); f = open('LOCK', 'w'); fcntl.lockf(f, fcntl.LOCK_EX); open('CURRENT', 'w').write('1')",
    "print(open('CURRENT').read(), os.path.exists('data'))",
    "import fcntl\ntry: fcntl.lockf(open('LOCK', 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
    "except BlockingIOError: raise SystemExit\nopen('data', 'wb').write(bytes(9)); open('CURRENT', 'w').write('2')",
    "1 False",
)


@pytest.mark.parametrize("kind", _HOLDERS)
async def test_what_another_program_has_open_or_locked_is_changed_beside_it_and_not_in_a_layer(kind: str, place: Place):
    begin, then, code, expected = _HOLDERS[kind]
    if kind == "sqlite":
        (place.root / "db").mkdir()
    (place.root / "code.py").write_text(code)
    holder = Holder(place.root, begin, then)
    told = await place.run("python3 code.py")
    assert holder.go_on() == expected, told


async def test_what_is_held_and_cannot_be_run_again_is_left_whole_and_both_versions_are_kept(place: Place):
    begin, then, code, _ = _HOLDERS["sqlite"]
    (place.root / "db").mkdir()
    (place.root / "code.py").write_text(code)
    holder = Holder(place.root, begin, then)

    async def keep(_question: Confirmation) -> Answer:
        return Answer(is_yes=True)

    told = await place.run("python3 code.py; echo b > b", how=How(is_preview=True), ask=keep)
    assert (place.root / "b").exists()
    assert "Not changed: db/d" in told
    assert "another program has it open or locked" in told
    assert holder.go_on() == "[1, 9]", told


async def test_an_undo_leaves_what_another_program_has_open_with_all_that_belongs_to_it(place: Place):
    begin, then, code, _ = _HOLDERS["sqlite"]
    (place.root / "db").mkdir()
    (place.root / "code.py").write_text(code.replace("insert into t values (3)", "create table t (x)"))
    await place.run("python3 code.py; echo b > b")
    holder = Holder(place.root, begin.replace("create table t (x)", "select 1"), then)
    report = await to_thread.run_sync(lambda: place.journal.undo(consent=Consent(force=True)))
    assert [os.path.basename(path) for path, _ in report.restored] == ["b"]
    assert [(os.path.basename(each.path), each.needs) for each in report.refused] == [("d", "")]
    assert holder.go_on() == "[1, 9]"


_OPEN_DATABASE = "import sqlite3; c = sqlite3.connect('db/d', isolation_level=None); "
_LEAVE_OPEN = "import os; os._exit(0)"  # killed: what it wrote lies in the journal beside the database


def sqlite(place: Place, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-u", "-c", _OPEN_DATABASE + code], cwd=place.root, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or done.stderr


async def with_database(place: Place) -> None:
    """Have a database with its journal beside it, to which a command has added something."""
    (place.root / "db").mkdir()
    begin = (
        "c.execute('pragma journal_mode=wal'); c.execute('create table t (x)'); c.execute('insert into t values (1)')"
    )
    sqlite(place, f"{begin}; c.execute('pragma wal_checkpoint'); c.execute('insert into t values (2)'); {_LEAVE_OPEN}")
    (place.root / "add.py").write_text(f"{_OPEN_DATABASE}c.execute('insert into t values (3)'); {_LEAVE_OPEN}")
    await place.run("python3 add.py")


_ROWS = "print(sorted(row[0] for row in c.execute('select x from t')), c.execute('pragma integrity_check').fetchall())"


async def test_the_journal_of_a_database_is_not_taken_back_alone_where_that_was_written_since(place: Place):
    await with_database(place)
    grow = "[c.execute('insert into t values (zeroblob(3000))') for _ in range(99)]"
    sqlite(place, f"{grow}; c.execute('pragma wal_checkpoint(truncate)'); {_LEAVE_OPEN}")
    assert "[('ok',)]" in sqlite(place, f"print(c.execute('pragma integrity_check').fetchall()); {_LEAVE_OPEN}")
    for wanted in (Wanted(), Wanted(path=str(place.root / "db/d-wal"))):
        report = await to_thread.run_sync(lambda wanted=wanted: place.journal.undo(wanted, Consent(force=True)))
        assert "d-wal" in {os.path.basename(each.path) for each in report.refused}
    assert sqlite(place, "print(c.execute('select count(*) from t').fetchall())") == "[(102,)]"


async def test_a_file_of_a_database_is_taken_back_with_what_belongs_to_it(place: Place):
    (place.root / "db").mkdir()
    sqlite(
        place,
        "c.execute('pragma journal_mode=wal'); c.execute('create table t (x)'); c.execute('insert into t values (1)')",
    )
    (place.root / "add.py").write_text(
        f"{_OPEN_DATABASE}c.execute('insert into t values (2)'); c.execute('pragma wal_checkpoint'); "
        f"c.execute('insert into t values (3)'); {_LEAVE_OPEN}"
    )
    await place.run("python3 add.py; echo other > a")
    report = await to_thread.run_sync(lambda: place.journal.undo(Wanted(path=str(place.root / "db/d-wal"))))
    assert {os.path.basename(path) for path, _ in report.restored} >= {"d", "d-wal"}, report
    assert (place.root / "a").read_text() == "other\n"
    assert sqlite(place, _ROWS) == "[1] [('ok',)]"


async def test_a_part_of_a_database_is_kept_only_with_the_rest(place: Place):
    (place.root / "db").mkdir()
    sqlite(
        place,
        "c.execute('pragma journal_mode=wal'); c.execute('create table t (x)'); c.execute('insert into t values (1)')",
    )
    (place.root / "add.py").write_text(
        f"{_OPEN_DATABASE}c.execute('insert into t values (2)'); c.execute('pragma wal_checkpoint'); {_LEAVE_OPEN}"
    )

    async def choose(_question: Confirmation) -> Answer:
        return Answer(is_yes=True, edited="db/d-wal\n")

    await place.run("python3 add.py; echo other > a", how=How(is_preview=True), ask=choose)
    assert (place.root / "a").read_text() != "other\n"
    assert sqlite(place, _ROWS) == "[1, 2] [('ok',)]"


_TEXT = "".join(f"line {number}\n" for number in range(20))


def text_at(path: str) -> str:
    return Path(path).read_text()


def edited(text: str, number: int) -> str:
    return text.replace(f"line {number}\n", f"line {number}, changed\n")


@pytest.mark.parametrize(
    "command", ["sed -i 's/^line 3$/line 3, changed/' t", "perl -pi -e 's/^line 3$/line 3, changed/' t"]
)
@pytest.mark.parametrize("is_asked", [True, False])
async def test_what_both_changed_in_a_text_is_put_together_where_the_user_says_so(
    command: str, is_asked: bool, place: Place
):
    file = place.root / "t"
    file.write_text(_TEXT)
    questions: list[Confirmation] = []

    async def answer(question: Confirmation) -> Answer | None:
        questions.append(question)
        if len(questions) == 1:  # it is shown before it is kept, and somebody goes on working meanwhile
            file.write_text(edited(_TEXT, 15))
            return Answer(is_yes=True)
        return Answer(is_yes=True) if is_asked else None

    told = await place.run(command, how=How(is_preview=True), ask=answer)
    assert "both changes together" in str(questions[1].title)
    assert "+line 3, changed" in str(questions[1].display)
    if is_asked:
        assert file.read_text() == edited(edited(_TEXT, 3), 15)
        assert (await to_thread.run_sync(place.journal.undo)).done
    else:
        merged = re.search(r"own version is in (\S+)\.(?:\s|$)", told)
        assert merged is not None, told
        assert text_at(f"{merged[1]}{file}.merged") == edited(edited(_TEXT, 3), 15)
        assert text_at(f"{merged[1]}{file}") == edited(_TEXT, 3)
        assert "Both changes go together" in told
    assert file.read_text() == edited(_TEXT, 15)


async def test_what_both_changed_in_the_same_lines_is_never_written_with_marks(place: Place):
    file = place.root / "t"
    file.write_text(_TEXT)

    async def answer(_question: Confirmation) -> Answer | None:
        if file.read_text() != _TEXT:
            return None
        file.write_text(_TEXT.replace("line 3\n", "mine\n"))
        return Answer(is_yes=True)

    told = await place.run("sed -i 's/^line 3$/theirs/' t", how=How(is_preview=True), ask=answer)
    assert file.read_text() == _TEXT.replace("line 3\n", "mine\n")
    assert "Not changed: t (somebody changed it since the command began)." in told
    assert "merged" not in told
    assert not [path for path in place.session.rglob("*") if path.is_file() and b"<<<<" in path.read_bytes()]


async def test_what_the_command_may_have_read_of_another_s_change_is_not_merged(place: Place):
    file = place.root / "t"
    file.write_text(_TEXT)
    questions: list[str] = []

    def save(live: str) -> None:
        if "up" in live and file.read_text() == _TEXT:
            file.write_text(edited(_TEXT, 15))

    async def answer(question: Confirmation) -> Answer | None:
        questions.append(str(question.title))
        return None

    script = place.root / "c.sh"
    script.write_text(
        "cat t > /dev/null; echo up; while ! grep -q changed t; do sleep 0.05; done; sed -i s/^line/row/ t"
    )
    await place.run("timeout 5 bash c.sh; sed -i s/^line/row/ t", report=save, ask=answer)
    assert file.read_text() == edited(_TEXT, 15)
    assert not any("together" in question for question in questions)


async def test_what_another_user_may_have_open_is_taken_back_only_where_it_is_forced(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    (place.root / "data").write_bytes(b"\0old")
    await place.run("printf 'a\\0b' > data")
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    report = await to_thread.run_sync(place.journal.undo)
    assert [each.needs for each in report.refused] == ["force"]
    report = await to_thread.run_sync(lambda: place.journal.undo(consent=Consent(force=True)))
    assert report.done
    assert (place.root / "data").read_bytes() == b"\0old"


async def test_the_journal_of_a_database_stays_as_it_is_where_that_was_written_meanwhile(place: Place):
    (place.root / "db").mkdir()
    (place.root / "db/d").write_bytes(b"\0old")

    async def write(_question: Confirmation) -> Answer:
        (place.root / "db/d").write_bytes(b"\0new")
        return Answer(is_yes=True)

    told = await place.run("printf 'a\\0b' > db/d-journal", how=How(is_preview=True), ask=write)
    assert not (place.root / "db/d-journal").exists()
    assert "d-journal" in told


@pytest.mark.parametrize("command", ["echo new >> d/e/f; echo x > d/e/new", "rm -rf d", "rm -rf d/e", "mv d moved"])
async def test_folders_that_changed_places_meanwhile_are_left_as_they_are(command: str, place: Place):
    other = place.root / "other/e"
    other.mkdir(parents=True)
    (other / "f").write_text("somebody else's")
    (other / "only").write_text("somebody else's too")
    swapped: list[str] = []

    def swap(_text: str) -> None:
        if not swapped:
            (place.root / "d").rename(place.root / "t")
            (place.root / "other").rename(place.root / "d")
            (place.root / "t").rename(place.root / "other")
        swapped.append("")

    told = await place.run(f"{command}; echo said; sleep 0.4; echo b > b", swap)
    assert swapped
    assert (place.root / "d/e/f").read_text() == "somebody else's", told
    assert sorted(os.listdir(place.root / "d/e")) == ["f", "only"]
    assert (place.root / "other/e/f").read_text() == "deep\n"
    assert (place.root / "b").exists()
    assert "replaced since the command began)." in told


@pytest.mark.parametrize("command", ["touch d", "touch -d 2001-02-03 d", "echo x > d/x; touch -d 2050-01-01 d"])
async def test_the_time_of_a_folder_is_set_undone_and_set_again(place: Place, command: str) -> None:
    folder = place.root / "d"
    os.utime(folder, ns=(10**18, 10**18))
    await place.run(command)
    touched = folder.stat().st_mtime_ns
    assert touched != 10**18
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert folder.stat().st_mtime_ns == 10**18
    assert (await to_thread.run_sync(place.journal.redo)).done
    assert folder.stat().st_mtime_ns == touched


async def test_a_time_that_somebody_set_since_is_not_undone(place: Place) -> None:
    file = place.root / "a"
    await place.run("touch -d 2001-02-03 a")
    os.utime(file, ns=(10**18, 10**18))
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert file.stat().st_mtime_ns == 10**18


async def test_a_time_that_an_undo_had_set_stands_in_nobody_s_way(place: Place) -> None:
    await place.run("echo more >> a")
    await place.run("touch -d 2001-02-03 a; echo b > b")
    for act in (place.journal.undo, place.journal.undo, place.journal.redo, place.journal.redo):
        assert (await to_thread.run_sync(act)).refused == ()
    assert (place.root / "b").exists()


async def test_what_is_sparse_takes_the_room_that_it_takes(place: Place) -> None:
    class Little:
        left = 3_000_000

        def take(self, count: int) -> bool:
            self.left -= count
            return self.left >= 0

    journal = Journal(str(place.session), Roots(str(place.root)), Keeping(budget=Little()))
    with (place.root / "hole").open("wb") as file:
        file.truncate(1 << 26)
        file.write(b"x")
    place.use(journal)
    told = await place.run("rm hole")
    assert "Can't be undone" not in told
    assert (await to_thread.run_sync(journal.undo)).done
    assert (place.root / "hole").stat().st_size == 1 << 26
    assert (place.root / "hole").stat().st_blocks < 1000


async def test_what_the_system_refuses_is_told_as_that(place: Place) -> None:
    chattr = shutil.which("chattr")
    file = place.root / "a"
    if chattr is None or (await anyio.run_process([chattr, "+a", str(file)], check=False)).returncode:
        pytest.skip("no file here can be made append-only")
    try:
        told = await place.run('rm d/l; perl -e \'open F, ">>", "a"; print F 1\'; echo b > b')
    finally:
        await anyio.run_process([chattr, "-a", str(file)])
    assert "Not changed: a (Operation not permitted" in told
    assert "somebody" not in told
    assert (place.root / "b").exists()


async def test_what_an_undo_could_not_put_in_its_place_is_kept_for_the_next_one(place: Place) -> None:
    chattr = shutil.which("chattr")
    before = place.tree()
    await place.run("printf x >> large; rm a; mkdir a; echo 1 > a/b; echo 2 > a/c")
    held = [str(place.root / "large"), str(place.root / "a")]
    if chattr is None or (await anyio.run_process([chattr, "+i", *held], check=False)).returncode:
        pytest.skip("no file here can be made immutable")
    try:
        report = await to_thread.run_sync(place.journal.undo)
    finally:
        await anyio.run_process([chattr, "-i", *held])
    reasons = {each.path.removeprefix(f"{place.root}/"): each.reason for each in report.refused}
    assert reasons.keys() == {"large", "a", "a/b", "a/c"}
    assert "Operation not permitted" in reasons["large"]
    assert not report.done
    assert (await to_thread.run_sync(place.journal.undo)).refused == ()
    assert place.tree() == before


async def test_what_stands_where_a_folder_is_moved_to_costs_nothing_that_is_in_it(place: Place) -> None:
    def write(_text: str) -> None:
        theirs = place.root / "x/e"
        theirs.mkdir(parents=True, exist_ok=True)
        (theirs / "f").write_text("somebody else's")

    told = await place.run("mv d x; echo said; sleep 0.4", write)
    assert (place.root / "x/e/f").read_text() == "somebody else's", told
    if holds_renames():
        assert (place.root / "d/e/f").read_text() == "deep\n"
        return
    set_aside = re.search(r"The command's own version is in (\S+)\.", told)  # a copy, where a folder can't be moved
    assert set_aside is not None, told
    assert await anyio.Path(set_aside[1] + str(place.root / "x/e/f")).read_text() == "deep\n"


async def test_who_waits_at_a_pipe_is_answered(place: Place) -> None:
    reader = await to_thread.run_sync(lambda: subprocess.Popen(["cat", place.root / "pipe"], stdout=subprocess.PIPE))
    await place.run("echo hello > pipe")
    assert (await to_thread.run_sync(lambda: reader.communicate(timeout=30)))[0] == b"hello\n"


_IN_GIT = "git -c user.name=a -c user.email=b"


async def test_a_commit_meanwhile_leaves_the_repository_as_one(place: Place) -> None:
    await place.run(f"git init -q . && git add a && {_IN_GIT} commit -qm 1")
    mine = place.root / "mine"
    staged: list[str] = []

    def stage(_text: str) -> None:
        if not staged:
            mine.write_text("mine")
            staged.append(subprocess.run(["git", "add", "mine"], cwd=place.root, check=True, text=True).args[1])

    told = await place.run(f"echo b > b; git add b; {_IN_GIT} commit -qm 2; echo said; sleep 0.5", stage)
    assert staged == ["add"], told
    done = await anyio.run_process(["git", "status", "--short", "mine", "b"], cwd=str(place.root))
    assert sorted(done.stdout.splitlines()) == [b"?? b", b"A  mine"]
    log = await anyio.run_process(["git", "log", "--format=%s"], cwd=str(place.root))
    assert log.stdout == b"1\n"
    assert "(somebody changed it since the command began)." in told
    assert "(it belongs with another file in its folder that stays as it is)." in told


async def test_a_file_taken_back_alone_brings_its_folder_which_a_redo_takes_away(place: Place) -> None:
    await place.run("mv d moved")
    after = sorted(map(str, place.root.rglob("*")))
    report = await to_thread.run_sync(lambda: place.journal.undo(Wanted(path=str(place.root / "d/e/f"))))
    assert (place.root / "d/e/f").exists(), report
    assert report.done
    assert (await to_thread.run_sync(place.journal.redo)).done
    assert sorted(map(str, place.root.rglob("*"))) == after


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only the superuser sees such attributes")
async def test_attributes_of_the_superuser_come_back(place: Place) -> None:
    try:
        os.setxattr(place.root / "a", "trusted.mine", b"1")
    except OSError:
        pytest.skip("this file system or container has none")
    await place.run("rm a; echo another > a")
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert os.getxattr(place.root / "a", "trusted.mine") == b"1"


async def test_a_folder_that_somebody_made_meanwhile_is_not_replaced(place: Place) -> None:
    theirs = place.root / "theirs"
    told = await place.run("echo c > theirs; ln -s a link; echo said; sleep 0.4", lambda _: theirs.mkdir(exist_ok=True))
    assert theirs.is_dir()
    assert (place.root / "link").is_symlink()
    assert "Not changed: theirs (somebody changed it since the command began)." in told


async def test_a_folder_in_whose_place_the_command_puts_a_file_goes(place: Place) -> None:
    told = await place.run("rm -rf d; echo c > d")
    assert (place.root / "d").read_text() == "c\n"
    assert "Not changed" not in told
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert (place.root / "d").is_dir()


def test_what_is_refused_before_it_began_leaves_no_note_of_a_kill(tmp_path: Path) -> None:
    with pytest.raises(ToolError), noted(str(tmp_path / "pending"), str(tmp_path / "session"), ()):
        raise ToolError(ErrorKind.NOT_FOUND, "nothing to undo")
    assert os.listdir(tmp_path / "pending") == []
    with pytest.raises(KeyError), noted(str(tmp_path / "pending"), str(tmp_path / "session"), ()):
        raise KeyError
    assert len(os.listdir(tmp_path / "pending")) == 1


async def test_git_s_own_lock_holds_a_command_and_an_undo(place: Place) -> None:
    await place.run(f"git init -q . && git add a && {_IN_GIT} commit -qm 1")
    await place.run(f"{_IN_GIT} commit -q --allow-empty -m 2; echo b > b")
    lock = place.root / ".git/index.lock"
    lock.touch()
    report = await to_thread.run_sync(lambda: place.journal.undo(consent=Consent(force=True)))
    assert [os.path.basename(path) for path, _ in report.restored] == ["b"]
    assert {each.needs for each in report.refused} == {""}
    lock.unlink()
    assert (await to_thread.run_sync(lambda: place.journal.undo(consent=Consent(force=True)))).done
    log = await anyio.run_process(["git", "log", "--format=%s"], cwd=str(place.root))
    assert log.stdout == b"1\n"


async def test_the_time_of_a_folder_stands_in_nobody_s_way(place: Place) -> None:
    await place.run("touch -d 2001-02-03 d/e")
    await place.run("rm d/e/f; echo x > d/e/x")
    (place.root / "d/e/theirs").write_text("theirs")
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert (await to_thread.run_sync(place.journal.undo)).done
    assert sorted(os.listdir(place.root / "d/e")) == ["f", "theirs"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("mkdir m; cd m; for i in $(seq 2100); do echo $i > $i; done", "sed -i s/7/x/ m/7"),
        (
            "mv large larger; head -c 5000000 /dev/zero > largest",
            "echo more >> largest; echo x | dd of=larger conv=notrunc",
        ),
    ],
)
async def test_what_was_known_by_its_time_is_known_again_after_an_undo(place: Place, first: str, then: str) -> None:
    before = place.tree()
    await place.run(first)
    await place.run(then)
    for _ in range(2):
        assert (await to_thread.run_sync(place.journal.undo)).refused == ()
    assert place.tree() == before


async def test_very_large_files_that_hold_the_same_all_come_back(place: Place) -> None:
    for name in ("one.bin", "two.bin"):
        with (place.root / name).open("wb") as file:
            file.write(b"x")
            file.truncate(65 << 20)
    await place.run("mv one.bin three.bin; rm two.bin")
    assert (await to_thread.run_sync(place.journal.undo)).refused == ()
    assert (await to_thread.run_sync(place.journal.redo)).refused == ()
    assert (await to_thread.run_sync(place.journal.undo)).refused == ()
    for name in ("one.bin", "two.bin"):
        assert (place.root / name).stat().st_size == 65 << 20
        assert (place.root / name).read_bytes()[:2] == b"x\0"
    assert not (place.root / "three.bin").exists()


@pytest.mark.parametrize(
    "command", ["mkfifo q; ln q r", "ln -s a s; ln s t", "chown -h 3:3 d/l; ln d/l t", "mv d n; ln pipe n/p"]
)
async def test_no_attribute_of_a_layer_stays_on_what_it_held(command: str, place: Place):
    await place.run(command)
    assert place.journal.entries()
    found = {path: os.listxattr(path, follow_symlinks=False) for path in place.root.rglob("*")}
    assert not [path for path, names in found.items() if any("overlay" in name for name in names)]
