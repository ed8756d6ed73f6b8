import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dogu.workspace.snapshot.folder_events import FolderEvents
from dogu.workspace.snapshot.rows import SnapshotRow
from dogu.workspace.snapshot.trees import SnapshotLimits, TooManyEntriesError, TreeSnapshots


def _do_nothing(_events: FolderEvents) -> None:
    return None


@pytest.fixture(params=["events", "no events"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "no events":
        monkeypatch.setattr(FolderEvents, "_open", _do_nothing)
    (tmp_path / "ws/a/b").mkdir(parents=True)
    (tmp_path / "ws/f").write_text("f")
    (tmp_path / "ws/a/b/deep").write_text("deep")
    return tmp_path / "ws"


def snapshots(workspace: Path, limits: SnapshotLimits | None = None) -> TreeSnapshots:
    return TreeSnapshots(str(workspace.parent / "state"), [str(workspace)], limits=limits)


def seen(taken: TreeSnapshots, workspace: Path) -> dict[str, str]:
    def word(before: SnapshotRow | None, after: SnapshotRow | None) -> str:
        return "created" if before is None else "deleted" if after is None else "changed"

    return {
        os.path.relpath(change.path, workspace).replace(os.sep, "/"): word(change.before, change.after)
        for change in taken.look()
        if not change.is_time_only
    }


def held(taken: TreeSnapshots, workspace: Path) -> dict[str, SnapshotRow]:
    found = {os.path.relpath(path, workspace).replace(os.sep, "/"): row for path, row in taken.rows()}
    found.pop(".", None)  # the root itself
    return found


def test_the_first_look_is_what_later_ones_compare_with(workspace: Path):
    taken = snapshots(workspace)
    assert taken.look() == []
    assert held(taken, workspace).keys() == {"f", "a", "a/b", "a/b/deep"}
    assert taken.look() == []


_CHANGES: list[tuple[Callable[[Path], object], dict[str, str]]] = [
    (lambda ws: (ws / "a/b/deep").write_text("peed"), {"a/b/deep": "changed"}),
    (lambda ws: (ws / "a/b/deep").chmod(0o600), {"a/b/deep": "changed"}),
    (lambda ws: (ws / "a").chmod(0o700), {"a": "changed"}),
    (lambda ws: ws.chmod(0o710), {".": "changed"}),
    (lambda ws: os.utime(ws / "f", (1, 1)), {}),
    (lambda ws: shutil.rmtree(ws / "a"), {"a": "deleted", "a/b": "deleted", "a/b/deep": "deleted"}),
    (lambda ws: (ws / "x/y").mkdir(parents=True), {"x": "created", "x/y": "created"}),
    (
        lambda ws: (ws / "a").rename(ws / "c"),
        {
            "a": "deleted",
            "a/b": "deleted",
            "a/b/deep": "deleted",
            "c": "created",
            "c/b": "created",
            "c/b/deep": "created",
        },
    ),
    (lambda ws: os.replace(ws / "f", ws / "a/b/deep"), {"f": "deleted", "a/b/deep": "changed"}),
]


@pytest.mark.parametrize(("act", "changes"), _CHANGES)
def test_each_kind_of_change_is_seen(workspace: Path, act: Callable[[Path], object], changes: dict[str, str]):
    taken = snapshots(workspace)
    taken.look()
    act(workspace)
    assert seen(taken, workspace) == changes
    assert taken.look() == []


def test_a_folder_is_followed_under_its_new_name(workspace: Path):
    taken = snapshots(workspace)
    taken.look()
    (workspace / "a").rename(workspace / "c")
    taken.look()
    (workspace / "c/b/deep").write_text("changed")
    assert seen(taken, workspace) == {"c/b/deep": "changed"}
    shutil.copytree(workspace / "c", workspace / "a")
    shutil.rmtree(workspace / "c")
    taken.look()
    (workspace / "a/b/deep").write_text("again")
    assert seen(taken, workspace) == {"a/b/deep": "changed"}


def test_folders_that_changed_places_are_told_apart(workspace: Path):
    (workspace / "c/b").mkdir(parents=True)
    (workspace / "c/b/deep").write_text("other")
    (workspace / "c/only").write_text("c")
    taken = snapshots(workspace)
    taken.look()
    for old, new in (("a", "t"), ("c", "a"), ("t", "c")):
        (workspace / old).rename(workspace / new)
    assert seen(taken, workspace) == {
        "a/b/deep": "changed",
        "c/b/deep": "changed",
        "a/only": "created",
        "c/only": "deleted",
    }


def test_a_folder_that_was_made_anew_is_looked_into(workspace: Path):
    taken = snapshots(workspace)
    taken.look()
    for round_ in ("1", "2", "3"):
        # Some file systems give the inode of the folder just removed to the next one.
        shutil.rmtree(workspace / "a/b")
        (workspace / "a/b").mkdir()
        (workspace / "a/b/other").write_text(round_)
        assert seen(taken, workspace)["a/b/other"] in ("created", "changed")


def test_contents_are_kept_as_they_were(workspace: Path):
    taken = snapshots(workspace)
    taken.look()
    (workspace / "f").write_text("new")
    ((_, before, after, _),) = taken.look()
    assert before is not None
    assert after is not None
    assert (taken.contents.of(before), taken.contents.of(after)) == (b"f", b"new")


def test_another_process_goes_on_from_what_was_seen(workspace: Path):
    first = snapshots(workspace)
    first.look()
    (workspace / "f").write_text("new")
    second = snapshots(workspace)
    second.load(first.position)
    assert seen(second, workspace) == {"f": "changed"}
    (workspace / "a").rename(workspace / "c")
    second.look()
    (workspace / "c/b/deep").unlink()
    third = snapshots(workspace)
    third.load(second.position)
    assert seen(third, workspace) == {"c/b/deep": "deleted"}


def test_what_was_seen_before_a_failed_look_is_no_part_of_the_next(workspace: Path):
    taken = snapshots(workspace, SnapshotLimits(entries=4))
    taken.look()
    (workspace / "g").write_text("one too many")
    with pytest.raises(TooManyEntriesError):
        taken.look()
    shutil.rmtree(workspace / "a/b")
    assert taken.look() == []
    second = snapshots(workspace)
    second.load(taken.position)
    assert held(second, workspace).keys() == {"f", "g", "a"}


def test_names_that_are_no_text_are_kept(workspace: Path):
    odd = os.fsencode(workspace) + b"/\xff"
    os.mkdir(odd)
    taken = snapshots(workspace)
    taken.look()
    with open(odd + b"/\xfe", "wb"):
        pass
    ((path, _, _, _),) = taken.look()
    assert os.fsencode(path) == odd + b"/\xfe"


def test_objects_of_git_get_a_second_name_and_what_is_excluded_is_left_out(workspace: Path):
    (workspace / ".git/objects/aa").mkdir(parents=True)
    (workspace / ".git/objects/aa/bb").write_text("x")
    (workspace / ".git/HEAD").write_text("x")
    (workspace / "state/inner").mkdir(parents=True)
    other_spelling = str(workspace / ".git/../state")
    taken = TreeSnapshots(str(workspace / "state"), [str(workspace)], [other_spelling])
    taken.look()
    found = held(taken, workspace)
    assert ".git/HEAD" in found
    assert not any("state" in path for path in found)
    (workspace / ".git/objects/aa/bb").unlink()
    assert taken.contents.of(found[".git/objects/aa/bb"]) == b"x"
    taken.discard()
    assert os.listdir(workspace / "state") == ["inner"]


def test_limits_are_kept_and_told(workspace: Path):
    (workspace / "large").write_bytes(b"x" * 100)
    taken = snapshots(workspace, SnapshotLimits(file_bytes=10))
    taken.look()
    assert "1 file is too large" in taken.notes[0]
    (workspace / "large").write_bytes(b"y" * 100)
    assert seen(taken, workspace) == {"large": "changed"}
    few = snapshots(workspace, SnapshotLimits(entries=4))
    with pytest.raises(TooManyEntriesError):
        few.look()
    (workspace / "large").unlink()
    few.look()
    assert len(held(few, workspace)) == 4


def test_a_link_to_a_folder_is_not_entered_and_a_fifo_not_opened(workspace: Path):
    (workspace / "l").symlink_to("..")
    os.mkfifo(workspace / "p")
    taken = snapshots(workspace)
    taken.look()
    found = {path: row.kind for path, row in held(taken, workspace).items()}
    assert found == {"a": "folder", "a/b": "folder", "a/b/deep": "file", "f": "file", "l": "link", "p": "fifo"}


_NAMES = st.sampled_from(["a", "b", "a/c", "a/c/d", "b/c"])
_STEPS = st.lists(st.tuples(st.sampled_from(["write", "remove", "mkdir", "rename"]), _NAMES, _NAMES), max_size=6)


def apply(workspace: Path, what: str, one: str, other: str) -> None:
    path = workspace / one
    try:
        match what:
            case "write":
                path.write_text(other)
            case "remove":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            case "mkdir":
                path.mkdir()
            case _:
                path.rename(workspace / other)
    except OSError:
        return


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_STEPS, min_size=1, max_size=4))
def test_however_the_tree_changes_looks_add_up_to_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, commands: list[list[tuple[str, str, str]]]
):
    workspace = tmp_path_factory.mktemp("any") / "ws"
    workspace.mkdir()
    taken = snapshots(workspace)
    assert taken.look() == []
    known = dict(taken.rows())  # the root itself
    for steps in commands:
        for step in steps:
            apply(workspace, *step)
        for path, before, after, _ in taken.look():
            assert (path in known) == (before is not None)
            known.pop(path, None)
            if after is not None:
                known[path] = after
    fresh = TreeSnapshots(str(workspace.parent / "fresh"), [str(workspace)])
    fresh.look()
    rows = dict(fresh.rows())
    assert dict(taken.rows()).keys() == rows.keys()
    assert known.keys() == rows.keys()
    for path, row in rows.items():
        assert (row.kind, row.mode, fresh.contents.of(row)) == (
            known[path].kind,
            known[path].mode,
            taken.contents.of(known[path]),
        )
    taken.discard()
    fresh.discard()
