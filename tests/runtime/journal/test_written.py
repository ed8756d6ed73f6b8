"""What a command without a layer wrote is known by what the kernel tells of it, and only that is undone unasked."""

import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import anyio
import msgspec
import pytest

from dogu.runtime.journal import Journal, Keeping
from dogu.runtime.journal.choice import Consent
from dogu.workspace.launcher.notices import can_tell
from dogu.workspace.process.command import ProcessResult, ShellCommand
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.roots import Roots
from dogu.workspace.snapshot.limits import SnapshotLimits
from processes import shared_fork_server

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not can_tell(), reason="this kernel doesn't tell calls")]

PROGRAM = """
import os, shutil
os.rename("d", "e"); os.mkdir("d"); open("d/f", "w").write("another")
os.link("a", "ln"); os.chmod("ln", 0o600); os.symlink("a", "sl"); open("sl", "a").write("through a link")
os.mkfifo("p"); os.truncate("b", 1); os.utime("e/g", (1, 1)); os.replace("e/f", "e/g")
here = os.open("e", os.O_RDONLY); os.mkdir("new", dir_fd=here); os.unlink("x", dir_fd=here)
shutil.copytree("e", "copy"); os.rename("copy", "copied"); open("copied/g", "w").write("later")
"""


class Place:
    """A workspace, its journal, and commands that are told of."""

    def __init__(
        self, folder: Path, processes: LocalProcesses, limits: SnapshotLimits | None = None, *, is_told: bool = False
    ) -> None:
        self.is_told = is_told
        self.root = folder / "root"
        self.root.mkdir()
        self.journal = Journal(str(folder / "session"), Roots(str(self.root)), Keeping(limits=limits))
        self._processes = processes
        self.notes: list[str] = []

    async def run(self, *argv: str, watched: bool = True, keeps: bool = False) -> ProcessResult:
        environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(self.root.parent)}
        command = ShellCommand(
            argv[0],
            str(self.root),
            environment,
            argv=argv if len(argv) > 1 else (),
            idle_timeout_s=20,
            confinement={"landlock": None},  # nothing but that it can't gain privileges, or nobody may be told of it
            watched=(str(self.root),) if watched else (),
        )
        async with self.journal.call("c", "a command", snapshot=False) as self.notes:
            with self.journal.watched(is_told=self.is_told and watched) as tell_written:
                keeps_in = tell_written.keeps if keeps else None
                command = msgspec.structs.replace(command, keeps=keeps_in, before=tell_written.before)
                result = await self._processes.run(command)
                job = self._processes.job(result.pgid) if result.background_pids else None
                tell_written(result.written, job.written if job is not None else None)
        assert result.exit_code == 0, result.stderr
        return result

    def fill(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def tree(self) -> dict[str, object]:
        """All that is there, but for times and git's index, which holds them."""
        found: dict[str, object] = {}
        for path in [self.root, *sorted(self.root.rglob("*"))]:
            status = path.lstat()
            is_read = stat.S_ISREG(status.st_mode) and path.name not in ("index", "hole")
            held = path.read_bytes() if is_read else status.st_size if path.name == "hole" else None
            target = os.readlink(path) if path.is_symlink() else ""
            found[str(path.relative_to(self.root))] = (status.st_mode, held, target)
        return found

    def unsure(self, *names: str, of_others: tuple[str, ...] = ()) -> dict[str, str]:
        """What is left for whose it may be; where all is told, nobody looks at what only others have touched."""
        return dict.fromkeys((*names, *(() if self.is_told else of_others)), "unsure")

    def left(self, *, is_redo: bool = False) -> dict[str, str]:
        """Undo or redo without consent; return what was left as it is, and why."""
        report = self.journal.redo() if is_redo else self.journal.undo(None, Consent())
        return {os.path.relpath(each.path, self.root): each.needs for each in report.refused}


async def appears(path: Path) -> None:
    with anyio.fail_after(30):
        while not path.exists():  # noqa: ASYNC110, ASYNC240  (another program makes it)
            await anyio.sleep(0.02)


@pytest.fixture(params=["looked at", "told"])
async def place(tmp_path: Path, heard: None, request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    """Whose roots are looked at before and after a command, or of which all is told."""
    async with LocalProcesses(fork_server=shared_fork_server()) as processes:
        place = Place(tmp_path, processes, is_told=request.param == "told")
        yield place
        place.journal.close()  # of what tells of changes, a user has few


async def is_undone_and_redone(place: Place, *command: str) -> None:
    before = place.tree()
    await place.run(*command)
    after = place.tree()
    assert after != before
    assert place.left() == {}
    assert place.tree() == before
    assert place.left(is_redo=True) == {}
    assert place.tree() == after


@pytest.mark.parametrize(
    "command",
    [
        "echo x >> a; rm b; echo y > new",
        "mkdir n; echo 1 > n/f; mv n m; mv m k; echo 2 >> k/f",
        "mv d e; sed -i s/f/F/ e/f; chmod 700 e/g; rm e/x",
        "mv a b; mv b a; mv a c; echo x > a",
        "mkdir n; mv a n/; mkdir -p d; mv d n/; mv n/d/f .; touch -c nothing",
        "tar cf t.tar d; mkdir o; tar xf t.tar -C o; rm -rf d; mv o/d .; rmdir o",
        "cd d && echo x > ../up && ln -s ../a l && echo z >> l && cp -a . ../d2",
        "git init -q; git add -A; git -c user.name=a -c user.email=b commit -qm one; git gc -q; rm d/f; git stash -q || true",
        'python3 -c \'import os; os.rename("d", "d2")\' & wait; touch d2/f a',
        "mv a ../a; mv d/f ..; mv ../f f2; echo x >> f2; mv ../missing b || mv b ../missing/ || echo y >> b",
        "perl -e 'link q(d), q(n) and die; open F, q(>n); print F 1'; ln d/f f2; ln a f2 || cp a f2",
        "chmod 711 .; echo x > a; rmdir missing || chmod 1701 $PWD",
        "exec 3>>a 4>>a; echo x >&3; echo y > /proc/self/fd/4; exec 3>&- 4>&-; echo z >> a; (echo x >> b &); wait",
    ],
)
async def test_all_that_a_command_did_is_undone_and_redone_unasked(place: Place, command: str):
    place.fill({"a": "a", "b": "b", "d/f": "f", "d/g": "g", "d/x": "x"})
    await is_undone_and_redone(place, command)


async def test_data_of_which_a_copy_takes_the_place_is_taken_back_with_its_time(place: Place):
    data = place.root / "db"
    data.write_bytes(bytes(range(256)) * 20)
    os.utime(data, ns=(10**18, 10**18))
    await place.run("mv db db.old; cp db.old db")
    assert place.left() == {}
    assert [path.name for path in place.root.iterdir()] == ["db"]
    assert data.stat().st_mtime_ns == 10**18
    assert place.left(is_redo=True) == {}
    assert (place.root / "db.old").read_bytes() == data.read_bytes()


async def test_what_is_written_unkept_is_told_whatever_time_it_is_given(tmp_path: Path, heard: None):
    async with LocalProcesses() as processes:
        place = Place(tmp_path, processes, is_told=True)
        big = place.root / "big"
        big.write_bytes(bytes(65 << 20))
        command = "touch -r big ref; printf CHANGED | dd of=big bs=1 seek=5 conv=notrunc; touch -r ref big; rm ref"
        await place.run(command, keeps=True)
        is_told = any("Can't be undone" in note for note in place.notes)
        # A file system that shares what is copied keeps it.
        assert is_told or (place.left() == {} and big.read_bytes()[:20] == bytes(20))


@pytest.mark.parametrize(
    "command",
    ["rm big", "mv big gone; rm gone", "rm small many", "echo x > o; mv o big", "echo x >> hole", "truncate -s 5 hole"],
)
async def test_what_was_not_read_is_kept_before_it_goes(tmp_path: Path, heard: None, command: str):
    async with LocalProcesses() as processes:
        place = Place(tmp_path, processes, SnapshotLimits(file_bytes=100_000, bytes=110_000))
        place.fill({"big": "b" * 200_000, "small": "s" * 60_000, "many": "m" * 60_000})
        with (place.root / "hole").open("wb") as hole:
            hole.truncate(128 << 20)
            hole.write(b"in")
        before = place.tree(), (place.root / "hole").stat().st_blocks
        await place.run(command, keeps=True)
        assert place.notes == []
        after = place.tree()
        assert place.left() == {}
        assert (place.tree(), (place.root / "hole").stat().st_blocks) == before
        assert place.left(is_redo=True) == {}
        assert place.tree() == after
        assert not (tmp_path / "session/tree.going").exists()
        place.journal.close()


async def test_a_save_into_a_file_that_the_command_only_moved_or_touched_is_somebody_else_s(place: Place):
    place.fill({"mode": "1\n", "time": "1\n", "moved": "1\n", "ours": "1\n"})

    async def somebody() -> None:
        await appears(place.root / "go")
        place.fill(dict.fromkeys(("mode", "time", "new"), "theirs\n"))
        (place.root / "went").touch()

    async with anyio.create_task_group() as group:
        group.start_soon(somebody)
        await place.run(
            "chmod 600 mode ours; touch time; mv moved new; : > go; until [ -e went ]; do sleep 0.01; done; chmod 640 mode"
        )
    assert place.left() == place.unsure("mode", "time", "new", "moved", of_others=("went",))
    assert (place.root / "new").read_text() == "theirs\n"
    assert stat.S_IMODE((place.root / "ours").stat().st_mode) != 0o600


def test_where_no_more_can_be_heard_of_a_file_may_be_somebody_else_s(tmp_path: Path):
    """As where the user's programs hear of so many files already: here by a limit that bounds this process alone."""
    (tmp_path / "a").touch()
    program = (
        "import os, resource; from dogu.workspace.launcher.others import Others; "
        "others, inode = Others(lambda inode: 0), os.stat('a').st_ino; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); "
        "print(others.opens(b'a', inode), others.touches(b'a', inode), others.has_made(b'a', inode))"
    )
    told = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["False"] * 3


async def test_what_was_moved_stays_where_its_own_place_is_taken(place: Place):
    place.fill({"a": "theirs", "b": "b", "d/f": "theirs too"})
    await place.run("mv a b; mv d e")
    place.fill({"a": "new", "d/f": "new"})
    assert place.left() == dict.fromkeys(("a", "b", "d/f", "e/f"), "force") | {"e": ""}
    assert (place.root / "b").read_text() == "theirs"
    assert (place.root / "e/f").read_text() == "theirs too"


async def test_nothing_is_made_where_a_link_leads_that_somebody_put_above_it(place: Place):
    place.fill({"d/x/f": "f", "e/g": "g"})
    await place.run("rm -r d/x")
    (place.root / "d").rename(place.root / "e/d")
    (place.root / "d").symlink_to("e")
    before = place.tree()
    assert place.left() == {"d/x": "", "d/x/f": ""}
    assert place.tree() == before


async def test_what_somebody_saved_and_the_command_moved_is_unsure_there_too(place: Place):
    place.fill({"a": "a", "b": "b"})

    async def somebody() -> None:
        await appears(place.root / "go")
        place.fill({"a": "theirs"})
        (place.root / "went").touch()

    async with anyio.create_task_group() as group:
        group.start_soon(somebody)
        await place.run(": > go; until [ -e went ]; do sleep 0.01; done; mv a b")
    if place.is_told:  # they saved before the command moved it
        assert place.left() == {}
        assert (place.root / "a").read_text() == "theirs"
    else:
        assert place.left() == dict.fromkeys(("a", "b", "went"), "unsure")
        assert (place.root / "b").read_text() == "theirs"


async def test_each_way_to_change_a_name_is_told(place: Place):
    place.fill({"a": "a", "b": "b", "d/f": "f", "d/g": "g", "d/x": "x"})
    before = place.tree()
    await place.run(sys.executable, "-c", PROGRAM)
    assert place.left() == {}
    assert place.tree() == before


async def test_what_somebody_else_writes_meanwhile_is_left(place: Place):
    place.fill({"ours": "1\n", "theirs": "1\n", "both": "1\n", "late": "1\n"})

    async def somebody() -> None:
        await appears(place.root / "go")
        (place.root / "theirs").write_text("theirs\n")
        (place.root / "both").write_text("theirs\n")
        (place.root / "new").write_text("theirs\n")
        os.replace(place.root / "theirs2", place.root / "late")
        (place.root / "went").touch()

    (place.root / "theirs2").write_text("saved as editors do")
    async with anyio.create_task_group() as group:
        group.start_soon(somebody)
        await place.run(
            "echo 2 >> ours; echo 2 >> late; : > go; until [ -e went ]; do sleep 0.01; done; echo 2 >> both"
        )
    assert place.left() == place.unsure("late", of_others=("theirs", "both", "new", "theirs2", "went"))
    assert (place.root / "ours").read_text() == "1\n"
    assert (place.root / "both").read_text() == ("theirs\n" if place.is_told else "theirs\n2\n")
    assert not (place.root / "go").exists()


async def test_a_save_long_after_the_command_s_own_write_is_somebody_else_s(place: Place):
    place.fill({"a": "1\n", "b": "1\n"})

    async def somebody() -> None:
        await appears(place.root / "go")
        await anyio.sleep(2.2)
        for name in ("a", "b"):
            with (place.root / name).open("a") as file:
                file.write("theirs\n")
        (place.root / "went").touch()

    async with anyio.create_task_group() as group:
        group.start_soon(somebody)
        await place.run("echo 2 >> a; echo 2 >> b; : > go; until [ -e went ]; do sleep 0.02; done; echo 3 >> b")
    assert place.left() == place.unsure("a", "b", of_others=("went",))
    assert (place.root / "a").read_text() == "1\n2\ntheirs\n"


async def test_a_save_into_the_very_file_right_after_the_command_s_own_write_is_somebody_else_s(place: Place):
    place.fill({"a": "1\n", "b": "1\n", "open": "1\n"})
    held = (place.root / "open").open("a")

    async def somebody() -> None:
        await appears(place.root / "go")
        for name in ("a", "new"):
            with (place.root / name).open("a") as file:
                file.write("theirs\n")
        held.write("theirs\n")
        held.flush()
        (place.root / "went").touch()

    async with anyio.create_task_group() as group:
        group.start_soon(somebody)
        await place.run(
            "echo 2 > new; for f in a b open; do echo 2 >> $f; done; : > go; until [ -e went ]; do sleep 0.01; done; "
            "echo 3 >> a"
        )
    held.close()
    assert place.left() == place.unsure("a", "new", "open", of_others=("went",))
    assert (place.root / "a").read_text() == "1\n2\ntheirs\n3\n"
    assert (place.root / "b").read_text() == "1\n"


async def test_who_has_a_file_open_when_the_command_is_over_may_have_written_to_it(place: Place):
    place.fill({"a": "1\n", "b": "1\n"})
    with ExitStack() as opened:

        async def somebody() -> None:
            await appears(place.root / "go")
            held = opened.enter_context((place.root / "a").open("a"))
            held.write("theirs\n")
            held.flush()
            (place.root / "went").touch()

        async with anyio.create_task_group() as group:
            group.start_soon(somebody)
            wait = "until [ -e went ]; do sleep 0.01; done"
            await place.run(f"exec 3>>a; echo 2 >&3; echo 2 >> b; : > go; {wait}; echo 3 >&3")
        assert place.left() == place.unsure("a", of_others=("went",))
    assert (place.root / "a").read_text() == "1\n2\ntheirs\n3\n"
    assert (place.root / "b").read_text() == "1\n"


@pytest.mark.parametrize(
    ("command", "length"),
    [
        ("exec 3>>f; echo new >&3; WAIT; seq 9999 >&3", 0),  # longer than it was, and nothing of it is left
        ("exec 3>>f; echo new >&3; WAIT; echo more >&3", 5),
        ("exec 3<>f; echo new >&3; WAIT; echo more >&3", 5),
        ("exec 3<>f; head -c 600 /dev/zero | tr '\\0' x >&3; WAIT; seq 9999 >&3", 50),
        ("exec 3>>f; echo new >&3; WAIT; echo more >&3", 5000),
        ("echo new >> f; WAIT", 5),
        ("chmod 600 f; WAIT", 5),
    ],
)
async def test_what_somebody_cuts_away_or_stretches_while_the_command_writes_is_unsure(
    place: Place, command: str, length: int
):
    place.fill({"f": "line\n" * 200})

    async def somebody() -> None:
        await appears(place.root / "go")
        os.truncate(place.root / "f", length)  # which opens nothing
        (place.root / "went").touch()

    async with anyio.create_task_group() as group:
        group.start_soon(somebody)
        await place.run(command.replace("WAIT", ": > go; until [ -e went ]; do sleep 0.01; done"))
    held = (place.root / "f").read_bytes()
    assert place.left() == place.unsure("f", of_others=("went",))
    assert (place.root / "f").read_bytes() == held


@pytest.mark.parametrize(
    "program",
    [
        "os.truncate('f', 5)",
        "f = open('f', 'r+'); f.truncate(5); f.seek(900); f.write('x')",
        "f = open('f', 'a'); f.truncate(5000)",
        "os.posix_fallocate(os.open('f', os.O_RDWR), 0, 5000)",
        "f = open('f', 'r+'); f.write('another'); f.seek(2000); f.write('far')",
        "f = open('f', 'r+'); f.seek(100); f.write('\\0' * 50)",
        "f = open('f', 'a'); f.write('x'); os.write(os.open(f'/proc/self/fd/{f.fileno()}', os.O_WRONLY | os.O_TRUNC), b'y')",
        "import mmap; m = mmap.mmap(os.open('f', os.O_RDWR), 0); m[5:9] = b'mmap'",
        "os.ftruncate(os.open('f', os.O_RDWR), 0)",
        "os.rename('f', 'g'); os.truncate('g', 3); os.unlink('h'); open('f', 'w').write('another')",
        "open('f', 'a').write('x'); os.replace('f', 'h'); os.close(os.open('f', os.O_CREAT | os.O_WRONLY))",
    ],
)
async def test_what_the_command_cuts_away_or_stretches_itself_is_its_own(place: Place, program: str):
    place.fill({"f": "line\n" * 200, "h": "h"})
    await is_undone_and_redone(place, sys.executable, "-c", f"import os; {program}")


async def test_a_folder_that_was_moved_out_is_unsure_with_all_that_was_in_it(place: Place):
    place.fill({"d/f": "f", "d/e/g": "g"})
    await place.run("mv d ..")
    assert place.left() == dict.fromkeys(("d", "d/e", "d/e/g", "d/f"), "unsure")


@pytest.mark.parametrize(
    "command",
    [
        "echo x >> d/a2",
        "chmod 600 d/a2",
        "echo x >> d/a2; rm d/a2; echo y > d/a2",
        "echo x >> d/a2; mv d/a2 d/a3",
        "echo x >> d/a2; mv d e",
        "ln d/a2 e/a3; echo x >> e/a3",
        "rm a; echo x >> d/a2; ln d/a2 a",
        "cp a n; mv n d/a2; echo x >> d/a2",
        "cp a n; mv n a; echo x >> d/a2",
        "rm d/a2; cp a d/a2",
        "rm d/a2; cp -p a d/a2; rm a; ln d/a2 a; cp a e/f",
        "rm d/a2; cp -p a d/a2",
    ],
)
@pytest.mark.parametrize("is_told", [True, False])
async def test_what_is_written_by_one_name_of_a_file_is_seen_and_undone_at_the_others(
    place: Place, command: str, is_told: bool
):
    def tree() -> tuple[dict[str, object], list[list[Path]]]:
        inodes: dict[int, list[Path]] = {}
        for path in sorted(place.root.rglob("*")):
            inodes.setdefault(path.stat().st_ino, []).append(path)
        return place.tree(), sorted(paths for paths in inodes.values() if len(paths) > 1)

    place.fill({"a": "a\n", "e/f": "f\n"})
    await place.run("mkdir d; ln a d/a2")  # the folder of `a` isn't touched any more
    before = tree()
    await place.run(command, watched=is_told)
    after = tree()
    left = place.left()
    assert not is_told or left == {}
    assert {path for path, held in before[0].items() if place.tree().get(path) != held} <= left.keys()
    if left:
        place.journal.undo(None, Consent(unsure=True))
    assert tree() == before
    place.journal.redo("", Consent(unsure=True))
    assert tree() == after


async def test_what_another_program_does_for_the_command_stays_unknown(place: Place):
    """It isn't told of what others do at its word, here by a server that it talks to."""
    place.fill({"a": "a"})
    listener = await anyio.create_unix_listener(place.root.parent / "socket")

    async def served(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            (place.root / "served").write_text("x")
            await stream.send(b"done")

    talk = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('../socket'); s.recv(4); open('own', 'w')"
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, served)
        await place.run(sys.executable, "-c", talk)
        group.cancel_scope.cancel()
    assert place.left() == place.unsure(of_others=("served",))


async def test_links_that_lead_out_and_paths_outside_are_nobody_s(place: Place):
    outside = place.root.parent / "outside"
    outside.mkdir()
    result = await place.run(f"ln -s {outside} out; echo x > out/f; echo y > ../outside/g; echo z > in")
    assert result.written is not None
    assert set(result.written.paths) == {str(place.root / "out"), str(place.root / "in")}


JOB = "until [ -e go ]; do sleep 0.02; done; echo 2 >> a; mv b c; mkdir n; echo x > n/f; mv n m; rm d/f; "


async def test_what_a_job_does_later_is_its_call_s(place: Place):
    place.fill({"a": "1", "b": "b", "d/f": "f", "theirs": "1"})
    await place.run(f"({JOB} touch gone) & echo x > now")
    before = place.tree()
    (place.root / "go").touch()
    await appears(place.root / "gone")
    (place.root / "theirs").write_text("2")
    after = place.tree()
    await place.run("echo y > later")
    assert [entry.call for entry in place.journal.entries()] == [1, 1, 3]
    assert place.left() == {}  # the last call, not what the job did before it
    assert place.tree() == after
    assert place.left() == {}
    assert place.tree() == {**{path: held for path, held in before.items() if path != "now"}} | {
        name: after[name] for name in ("go", "theirs")
    }
    assert place.left(is_redo=True) == {}
    assert place.tree() == after


async def test_what_others_write_beside_a_job_is_theirs(place: Place):
    place.fill({"a": "1", "b": "b", "d/f": "f", "theirs": "1"})
    await place.run(
        f"({JOB} touch gone; until [ -e end ]; do sleep 0.02; done; echo 3 >> a; echo 3 >> m/f; touch over) &"
    )
    (place.root / "go").touch()
    await appears(place.root / "gone")
    (place.root / "a").write_text("theirs")
    (place.root / "new").write_text("theirs")
    (place.root / "end").touch()
    await appears(place.root / "over")
    changed = {each.path for entry in place.journal.entries() for each in entry.changes}
    assert changed == {f"{place.root}/{name}" for name in ("b", "c", "m", "m/f", "d/f", "gone", "over")}
    assert place.left() == {}
    assert (place.root / "a").read_text() == "theirs3\n"
    assert (place.root / "new").read_text() == "theirs"


async def test_what_a_job_has_open_is_its_own_as_long_as_nobody_else_closes_it(place: Place):
    await place.run("(until [ -e go ]; do sleep 0.02; echo line; done; touch gone) > log & sleep 0.1")
    for _ in range(2):
        size = (place.root / "log").stat().st_size
        await anyio.sleep(2.2)  # longer than a change is a command's that has closed the file
        (change,) = place.journal.entries()[-1].changes
        assert change.path == str(place.root / "log")
        assert change.after.size >= size
    with (place.root / "log").open("a") as log:
        log.write("theirs\n")
    known = len(place.journal.entries())
    assert len(place.journal.entries()) == known
    (place.root / "go").touch()
    await appears(place.root / "gone")
    assert place.left().keys() == {"log"}


MADE_AT_ONCE = """
import os, time
at_s = time.time() + 0.2
for _ in range(6):
    if not os.fork():
        for number in range(20):
            time.sleep(max(0, at_s + number * 0.02 - time.time()))
            with open(f"made{number}", "a") as file:
                file.write("one line of it")
        os._exit(0)
for _ in range(6):
    os.wait()
"""


async def test_a_file_that_several_processes_make_at_once_is_the_command_s(place: Place):
    await is_undone_and_redone(place, sys.executable, "-c", MADE_AT_ONCE)


async def test_a_file_that_a_command_writes_for_long_is_its_own(place: Place):
    await place.run("(for i in 1 2 3 4 5 6 7; do echo $i; sleep 0.5; done) > log; sleep 0.2")
    assert place.left() == {}
    assert place.tree().keys() == {"."}


async def test_many_paths_come_in_parts(place: Place):
    result = await place.run("for i in $(seq 1500); do : > file-with-quite-a-long-name-so-that-it-takes-room-$i; done")
    assert result.written is not None
    assert len(result.written.paths) == 1500


async def test_a_command_in_a_command_is_told_too(place: Place):
    """The kernel lets nobody listen within what is listened to: the inner one's calls are the outer one's."""
    inner = "import subprocess; subprocess.run(['bash', '-c', 'echo x > f'], check=True)"
    result = await place.run(sys.executable, "-c", inner)
    assert result.written is not None
    assert str(place.root / "f") in result.written.paths


async def test_without_the_kernel_s_word_all_is_unsure(place: Place):
    result = await place.run("echo x > f", watched=False)
    assert result.written is None
    assert place.notes == [
        f"Undo leaves what somebody else may have changed, unless you add --unsure: {place.root / 'f'}."
    ]
    assert place.left() == {"f": "unsure"}
    await place.run("echo x > g")
    assert place.notes == []


def told_place(folder: Path, processes: LocalProcesses) -> Place:
    return Place(folder, processes, is_told=True)


_RAW = "import ctypes, os, struct; call = ctypes.CDLL(None, use_errno=True).syscall; "
_EXCHANGE = 'import ctypes; ctypes.CDLL(None).renameat2(-100, b"{}", -100, b"{}", 2)'


@pytest.mark.parametrize(
    "command",
    [
        "ln -s $PWD/d ../way; echo x >> ../way/f; rm ../way/g; ln -s $PWD/new ../to; echo y > ../to; rm ../way ../to",
        "ln -s late sl; echo x > sl; cd d; echo x >> /proc/self/cwd/f; exec 3< .; echo y > /proc/$$/fd/3/n",
        'python3 -c \'import os; f = os.open("d", os.O_RDONLY); os.fchmod(f, 0o700); os.setxattr(f, "user.x", b"1")\'',
        'python3 -c \'import ctypes; ctypes.CDLL(None).renameat2(-100, b"d", -100, b"e", 2)\'; echo x >> e/f; echo y > d/n',
        "touch -d 2001-02-03 a; chmod 640 d/f; mv d/f e/f; truncate -s 1 b; mv a ../a; mv ../a .",
        "truncate -s 70M big; mv big e/; cp --sparse=never e/big big2; rm b; ln a b",
        "chmod 0 d/f; chmod 0 d; mv d e/d; chmod 755 e/d; rm e/d/g",
        "mv d n; mv nothing d || mv e/missing n/g || mkdir d; mv n d/d; rm d/d/g",
        "chmod 600 p; mv d n; rm -r n",
        f"""python3 -c '{_EXCHANGE.format("d", "e/s")}'; rm -r d; echo x > d""",
        "mv d e/d; ln -f a d/ || mv b n; mkdir h/n || ln -s a d/ || ln a e/b",
        "mkdir n; perl -e 'unlink q(n)'; ln -s e m; rmdir m || rm -r d; mv m d; rmdir d || rm a",
    ],
)
async def test_nothing_needs_to_be_looked_at_beforehand(tmp_path: Path, heard: None, command: str):
    async with LocalProcesses() as processes:
        place = told_place(tmp_path, processes)
        place.fill({"a": "a", "b": "b", "d/f": "f", "d/g": "g", "e/h": "h", "e/s/f": "other"})
        os.mkfifo(place.root / "p")
        os.link(place.root / "p", place.root / "d/p")
        await is_undone_and_redone(place, command)
        await is_undone_and_redone(place, "rm -f [de]/h")
        nothing_was_looked_at(place)


async def test_nor_does_a_huge_file(tmp_path: Path, heard: None):
    async with LocalProcesses() as processes:
        place = told_place(tmp_path, processes)
        place.fill({"e/h": "h"})
        (place.root / "huge").write_bytes(b"h" * (66 << 20))
        await is_undone_and_redone(place, "mv huge e/huge2; chmod 600 e/huge2; rm -f [de]/h")
        await is_undone_and_redone(place, "rm -f huge e/huge2")
        nothing_was_looked_at(place)


def nothing_was_looked_at(place: Place) -> None:
    assert not (place.root.parent / "session/tree.index").exists()
    assert not (place.root.parent / "session/tree.going").exists()
    place.journal.close()


@pytest.mark.parametrize(
    "command",
    [
        "ln -s $PWD/a l; echo x >> l; ln -s $PWD/new dangling; echo y > dangling; rm l dangling",
        "ln -s $PWD/d ../one; ln -s one ../two; echo x >> ../two/f; echo y > ../two/n; rm ../one ../two",
        "exec 7< d; echo x >> /dev/fd/7/f; cd d; echo y > /proc/thread-self/cwd/n",
        "chmod 600 d/f d/g; mv d n; echo x >> n/f; rm n/g",
        "mv a d/x; mv d n; echo x >> n/x",
        f"""python3 -c '{_RAW}call(316 if os.uname().machine == "x86_64" else 276, -100, b"d", -100, b"n", 256)'
mv d n; mv n d; rm d/f""",  # no such flag
        "perl -e 'rename q(d), q(a) and die'; mv d n; mv n d; echo x >> d/f",
        "mkdir d/x; perl -e 'rename q(d), q(d/x/y) and die'; mv d n; mv n d; rm d/f",
        f"""ln -s d l; python3 -c '{_RAW}call(452, -100, b"l/", 0o700, 256)'; rm l""",  # fchmodat2
        "perl -e 'utime 1, 1, q(d/f)'; mv d n; rm n/f; mv n d",
        f"""python3 -c '{_RAW}d = os.open("d", 0); how = struct.pack("QQQ", os.O_WRONLY | os.O_CREAT, 0o644, 16)
os.write(call(437, d, b"/f", how, 24), b"xx"); os.write(call(437, d, b"/n", how, 24), b"n")'""",
        f"""python3 -c '{_RAW}call(2 if os.uname().machine == "x86_64" else 35, ctypes.c_long(-1), 1)'; echo x >> a""",
        f"""python3 -c '{_RAW}os.symlink("/f", "d/l"); d = os.open("d", 0); how = struct.pack("QQQ", 513, 0, 16)
for name in (b"../g", b"l"): os.write(call(437, d, name, how, 24), b"xx")'""",
        """python3 -c 'import os; kept = os.stat("d/f"); os.system("rmdir d/f"); open("d/f", "r+").write("F")
os.utime("d/f", ns=(kept.st_atime_ns, kept.st_mtime_ns))'""",
        "touch -d 2001-02-03 big; rm big",
        "chmod 711 $PWD",
        """python3 -c 'import os; os.fchmod(os.open(".", os.O_RDONLY), 0o711)'""",
        f"""python3 -c '{_EXCHANGE.format("d", "e/s")}'; rm -r d""",  # which isn't there
        f"""mkdir ../o; python3 -c '{_EXCHANGE.format("../out", "d")}'; mv ../o e; echo x > d/n""",
        f"""python3 -c '{_EXCHANGE.format("a", "d")}'; echo x > a/f; rm a/g""",
        f"""python3 -c '{_EXCHANGE.format("d", "d/g")}'; chmod 600 d/f; rm d/g""",  # into itself
        f"""exec 3>>b; ln -s a m; python3 -c '{_EXCHANGE.format("m", ".")}'; echo x >&3""",  # the root, which can't go
    ],
)
async def test_whatever_a_path_is_called_it_is_noted_what_lay_there(tmp_path: Path, heard: None, command: str):
    async with LocalProcesses() as processes:
        place = told_place(tmp_path, processes)
        place.fill({"a": "a", "b": "b", "d/f": "f", "d/g": "g", "big": "b" * (2 << 20)})
        await is_undone_and_redone(place, command)
        place.journal.close()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs another user")
def test_what_a_process_holds_that_may_not_be_traced_is_no_failure_of_the_call():
    program = """
import os
from dogu.workspace.launcher.notices import Notice, UnreadableError, path_of
os.setuid(65534)
for place in (0, None):
    try:
        path_of(Notice(0, os.getppid(), 0, (1,) * 6), 0, place)
    except UnreadableError:
        print("unreadable")
"""
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["unreadable"] * 2


@pytest.mark.parametrize(
    "command",
    [
        "mv d n; echo x > n/f; mv n m; mv e n; echo y > n/f",
        "mv d n; echo x > n/f; mv n m; mv e n; rm n/f",
        "echo x > d/f; mv d n; mv e d; mv n e; echo y > d/f",
        "rm -f d/f; rm -rf d; mv e d; rm d/f",
        "echo x >> a; mv l n",
        "mv l n; echo x >> a; rm a",
        "rm a; mv l n; echo x >> n/a",
    ],
)
async def test_what_comes_to_a_path_that_was_noted_is_noted_too(tmp_path: Path, heard: None, command: str):
    async with LocalProcesses() as processes:
        place = told_place(tmp_path, processes)
        place.fill({"a": "a", "d/f": "of d", "e/f": "of e"})
        (place.root / "l").mkdir()
        (place.root / "l/a").hardlink_to(place.root / "a")
        before = place.tree()
        await place.run(command)
        place.journal.undo(None, Consent(unsure=True))
        assert place.tree() == before
        place.journal.close()


async def test_what_is_too_deep_to_have_a_path_is_told_as_not_noted(tmp_path: Path, heard: None):
    deep = "import os\nfor _ in range(99): os.mkdir('n' * 50); os.chdir('n' * 50)\nopen('f', 'w').write('x')"
    async with LocalProcesses() as processes:
        place = told_place(tmp_path, processes)
        await place.run(sys.executable, "-c", deep)
        assert place.notes == ["Not all that it changed could be noted: what is missing can't be undone."]
        place.journal.close()
        await processes.run(ShellCommand("rm -rf n*", str(place.root), {"PATH": os.environ["PATH"]}))


async def test_what_a_killed_process_was_told_of_is_found_out_by_the_next(tmp_path: Path, heard: None):
    async with LocalProcesses() as processes:
        place = told_place(tmp_path, processes)
        place.fill({"a": "a", "b": "b", "d/f": "f"})
        before = place.tree()
        journal, place.journal = place.journal, Journal(str(tmp_path / "session"), Roots(str(place.root)))
        journal._begin("c", "a command", False)
        folder = journal._begin_told()
        command = ShellCommand(
            "echo x >> a; rm b; mv d e; echo y > new",
            str(place.root),
            {"PATH": os.environ["PATH"]},
            confinement={"landlock": None},
            watched=(str(place.root),),
            before=folder,
        )
        await processes.run(command)
        (tmp_path / "session/journal.lock").unlink()
        assert set(place.left()) == {"a", "b", "d", "d/f", "e", "e/f", "new"}
        place.journal.undo(None, Consent(unsure=True))
        assert place.tree() == before
        place.journal.close()


_KILLED = """
import asyncio, os, signal, sys
from dogu.runtime.journal import Journal
from dogu.workspace.process.command import ShellCommand
from dogu.workspace.process.local import LocalProcesses
from dogu.workspace.roots import Roots

async def main():
    journal = Journal("session", Roots(os.path.realpath("root")))
    journal._begin("c", "a command", False)
    late = "trap 'echo x > late; : > b; echo x >> a; exit' TERM; : > go; while :; do sleep 0.01; done"
    async with LocalProcesses() as processes:
        command = ShellCommand(late, os.path.realpath("root"), {"PATH": os.environ["PATH"]},
            confinement={"landlock": None}, watched=(os.path.realpath("root"),), before=journal._begin_told())
        await processes.run(command)

asyncio.run(main())
"""


async def test_what_a_command_does_while_it_is_ended_after_a_kill_is_found_out_too(tmp_path: Path, heard: None):
    async with LocalProcesses() as processes:
        place = told_place(tmp_path, processes)
        place.fill({"a": "a", "b": "b"})
        before = place.tree()
        async with await anyio.open_process([sys.executable, "-c", _KILLED], cwd=tmp_path) as killed:
            await appears(place.root / "go")
            killed.kill()
        assert set(place.left()) == {"a", "b", "go", "late"}
        place.journal.undo(None, Consent(unsure=True))
        assert place.tree() == before
        place.journal.close()
