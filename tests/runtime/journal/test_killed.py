"""A commit, an undo or a redo that is killed at any step is finished by the next one, and nobody else's is touched."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from anyio import to_thread

from dogu.runtime.journal import Journal, Keeping
from dogu.runtime.journal.choice import Wanted
from dogu.runtime.journal.remains import interrupted
from dogu.workspace.roots import Roots
from dogu.workspace.staged import StagedChange

pytestmark = pytest.mark.anyio

_CHILD = """
import os, signal, sys
import msgspec
from dogu.runtime.journal import Journal, Keeping
from dogu.runtime.journal.apply import Applier
from dogu.workspace.roots import Roots
from dogu.workspace.staged import StagedChange

base, what, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
tried, done = Applier._tried, []

def count(self, step, act):
    done.append(1)
    if len(done) > steps:
        os.kill(os.getpid(), signal.SIGKILL)
    return tried(self, step, act)

Applier._tried = count
journal = Journal(base + "/state/one", Roots(base + "/root"), Keeping(base + "/pending", b"key"))
if what == "commit":
    journal._begin("c", "a command", False)
    changes = msgspec.json.decode(sys.stdin.buffer.read(), type=list[StagedChange])
    journal.commit(changes, int(sys.argv[4]))
    journal._end()
elif what == "undo":
    journal.undo()
else:
    journal.redo()
"""


class Place:
    """A root and what a command left in its layer: a file changed, made, removed, linked, moved; a folder gone."""

    def __init__(self, base: Path) -> None:
        self.base, self.root, self.upper = base, base / "root", base / "layer-0/upper"
        for name in ("gone/deep", "stays"):
            (self.root / name).mkdir(parents=True)
        for name in ("changed", "removed", "gone/deep/f", "gone/g", "stays/f"):
            (self.root / name).write_text(f"before: {name}")
        self.upper.mkdir(parents=True)
        (self.upper / "changed").write_text("after")
        (self.upper / "made").write_bytes(b"x" * 2_000_000)
        (self.upper / "new").mkdir()
        (self.upper / "new/f").write_text("new")
        (self.upper / "link").symlink_to("made")
        for folder, time_s in ((self.root, 10**9), (self.upper, 2 * 10**9)):
            (folder / "dated").write_text("the same")
            os.utime(folder / "dated", (time_s, time_s))
        (base / "began").touch()
        names = ["changed", "dated", "made", "new", "new/f", "link"]
        self.changes = [StagedChange(str(self.root / name), str(self.upper / name)) for name in names]
        self.changes += [StagedChange(str(self.root / "removed")), StagedChange(str(self.root / "gone"))]

    def child(self, what: str, steps: int) -> int:
        import msgspec

        began = str((self.base / "began").stat().st_ctime_ns)
        argv = [sys.executable, "-c", _CHILD, str(self.base), what, str(steps), began]
        done = subprocess.run(argv, input=msgspec.json.encode(self.changes), check=False, capture_output=True)
        assert done.returncode in (0, -9), done.stderr.decode()
        return done.returncode

    def tree(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for path in sorted(self.root.rglob("*")):
            status = path.lstat()
            held = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            found[str(path.relative_to(self.root))] = (0 if path.is_symlink() else status.st_mode, held)
        found["dated at"] = (self.root / "dated").stat().st_mtime
        return found

    def journal(self) -> Journal:
        keeping = Keeping(str(self.base / "pending"), b"key")
        return Journal(str(self.base / "state/one"), Roots(str(self.root)), keeping)


class SwappedPlace(Place):
    """A root in which `dist` was moved to `old` and `build` to `dist`: what is a folder in the one is a file in the
    other."""

    def __init__(self, base: Path) -> None:
        self.base, self.root, self.upper = base, base / "root", base / "layer-0/upper"
        for name in ("dist/a", "dist/c", "build/b", "build/d", "dated"):
            (self.root / name).mkdir(parents=True)
        for name in ("dist/a/f", "dist/b", "dist/c/f", "dist/d", "build/a", "build/b/f", "build/c", "build/d/f"):
            (self.root / name).write_text(f"before: {name}")
        for name in ("old", "dist"):
            (self.upper / name).mkdir(parents=True)
        (base / "began").touch()
        moves = (("dist", "old"), ("build", "dist"))
        self.changes = [
            StagedChange(str(self.root / new), str(self.upper / new), moved_from=str(self.root / old))
            for old, new in moves
        ]
        self.changes.append(StagedChange(str(self.root / "build")))


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 11, 14, 18, 22, 26, 99])
async def test_a_killed_commit_of_folders_that_change_places_is_finished(steps: int, tmp_path: Path):
    place = SwappedPlace(tmp_path)
    before = place.tree()
    del before["dated at"]
    moved = {re.sub("^build", "dist", re.sub("^dist", "old", path)): held for path, held in before.items()}
    await to_thread.run_sync(place.child, "commit", steps)
    place.journal().recover()
    after = place.tree()
    del after["dated at"]
    assert after == moved
    assert all(path.stat().st_nlink == 1 for path in place.root.rglob("*") if path.is_file())

    await to_thread.run_sync(place.child, "undo", steps)
    place.journal().recover()
    after = place.tree()
    del after["dated at"]
    assert after in (before, moved)
    assert (after == before) or place.journal().undo().done


class NamedPlace(Place):
    """A root with a file of two names which was written to and given a third one, and nothing was moved."""

    def __init__(self, base: Path) -> None:
        self.base, self.root, self.upper = base, base / "root", base / "layer-0/upper"
        for name in ("d/one", "gone/one", "dated", "removed/f"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(f"before: {name}")
            (self.upper / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / "named").hardlink_to(self.root / "d/one")
        (self.upper / "d/one").write_text("after")
        for name in ("gone/one", "named"):
            (self.upper / name).hardlink_to(self.upper / "d/one")
        (base / "began").touch()
        self.changes = [
            StagedChange(str(self.root / "d/one"), str(self.upper / "d/one"), was_there=True, in_place=True),
            StagedChange(str(self.root / "gone/one"), str(self.upper / "gone/one")),
            StagedChange(str(self.root / "named"), str(self.upper / "named")),
            StagedChange(str(self.root / "removed")),
        ]

    def tree(self) -> dict[str, object]:
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return {str(path): ([other for other in files if path.samefile(other)], path.read_text()) for path in files}


class PartedPlace(NamedPlace):
    """A root with two files that hold the same, of which one becomes another name of a third that holds it too."""

    def __init__(self, base: Path) -> None:
        self.base, self.root, self.upper = base, base / "root", base / "layer-0/upper"
        for folder in (self.root, self.upper):
            folder.mkdir(parents=True)
            for name in ("one", "other"):
                (folder / name).write_text("the same")
            (folder / "named").hardlink_to(folder / ("other" if folder == self.root else "one"))
        (base / "began").touch()
        self.changes = [
            StagedChange(str(self.root / name), str(self.upper / name), was_there=True, parts=parts)
            for name, parts in (("one", False), ("named", True))
        ]


@pytest.mark.parametrize("steps", [0, 1, 2, 99])
async def test_names_that_go_over_to_a_file_that_holds_the_same_do_so_where_that_was_killed(steps: int, tmp_path: Path):
    place = PartedPlace(tmp_path)
    before = place.tree()
    await to_thread.run_sync(place.child, "commit", steps)
    place.journal().recover()
    after = place.tree()
    assert (place.root / "named").samefile(place.root / "one")
    await to_thread.run_sync(place.child, "undo", steps)
    place.journal().recover()
    assert place.tree() == before
    await to_thread.run_sync(place.child, "redo", steps)
    place.journal().recover()
    assert place.tree() == after


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 5, 6, 99])
async def test_a_file_of_several_names_stays_one_where_its_commit_or_undo_was_killed(steps: int, tmp_path: Path):
    place = NamedPlace(tmp_path)
    before = place.tree()
    await to_thread.run_sync(place.child, "commit", steps)
    place.journal().recover()
    names = [place.root / name for name in ("d/one", "gone/one", "named")]
    after = place.tree()
    assert set(after) == {*map(str, names), str(place.root / "dated")}
    assert all((place.root / "named").samefile(name) and name.read_text() == "after" for name in names)

    await to_thread.run_sync(place.child, "undo", steps)
    place.journal().recover()
    assert place.tree() in (before, after)
    assert place.tree() == before or place.journal().undo().done
    assert place.tree() == before


@pytest.mark.parametrize("steps", [0, 1, 3, 5, 8, 11, 13, 14])
async def test_a_killed_commit_undo_or_redo_is_finished(steps: int, tmp_path: Path):
    place = Place(tmp_path)
    before = place.tree()
    was_killed = await to_thread.run_sync(place.child, "commit", steps) == -9
    assert bool(interrupted(str(tmp_path / "pending"))) == was_killed
    place.journal().recover()
    after = place.tree()
    assert set(after) == {"changed", "dated", "dated at", "made", "new", "new/f", "link", "stays", "stays/f"}
    assert after["dated at"] == 2 * 10**9
    assert after["changed"] == (before["changed"][0], b"after")  # pyright: ignore[reportIndexIssue]  (a pair)

    await to_thread.run_sync(place.child, "undo", steps)
    (place.root / "stays/f").write_text("somebody else's, meanwhile")
    before["stays/f"] = place.tree()["stays/f"]
    after["stays/f"] = before["stays/f"]
    place.journal().recover()
    assert place.tree() == before

    await to_thread.run_sync(place.child, "redo", steps)
    place.journal().recover()
    assert place.tree() == after
    assert place.journal().undo(Wanted(to="1")).done
    assert place.tree() == before
