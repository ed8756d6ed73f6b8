import ctypes
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dogu.contract.errors import ToolError
from dogu.workspace import openat
from dogu.workspace.files import LocalFiles
from dogu.workspace.roots import Roots

_TRIES = 1_500


@contextmanager
def swapping(one: str, other: str) -> Generator[None]:
    """Let two names change places as fast as a thread can."""
    libc = ctypes.CDLL(None)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.fixture(params=["openat2", "walk"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "walk":
        monkeypatch.setattr(openat, "_kernel_can", False)
    for folder in ("ws/d", "out"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ws/d/f").write_text("inside")
    (tmp_path / "ws/g").write_text("inside")
    (tmp_path / "out/f").write_text("SECRET")
    (tmp_path / "ws/link").symlink_to(tmp_path / "out")
    (tmp_path / "ws/file_link").symlink_to(tmp_path / "out/f")
    if not hasattr(ctypes.CDLL(None), "renameat2"):
        pytest.skip("no renameat2 here to swap names with")
    return tmp_path


def outcomes(act: Callable[[], str], awaited: str = "") -> set[str]:
    """Return all that came of many tries; on a busy machine, of more of them until `awaited` has come."""
    seen: set[str] = set()
    for tries in range(50 * _TRIES):
        if tries >= _TRIES and (not awaited or awaited in seen):
            break
        try:
            seen.add(act())
        except ToolError as error:
            seen.add(error.kind.value)
    return seen


def test_a_folder_swapped_for_a_link_never_lets_a_read_out(place: Path):
    files = LocalFiles(Roots(str(place / "ws")))
    with swapping(str(place / "ws/d"), str(place / "ws/link")):
        seen = outcomes(lambda: str(files.read("d/f").data, "utf-8"))
    assert seen <= {"inside", "outside_workspace", "not_found", "wrong_file_type"}
    assert "inside" in seen


def test_a_file_swapped_for_a_link_never_lets_a_write_out(place: Path):
    files = LocalFiles(Roots(str(place / "ws")))

    def write() -> str:
        files.write("g", os.urandom(8), None)
        return "written"

    with swapping(str(place / "ws/g"), str(place / "ws/file_link")):
        seen = outcomes(write, awaited="written")
    assert (place / "out/f").read_text() == "SECRET"
    assert "written" in seen


def test_a_folder_swapped_for_a_link_never_lets_a_new_file_out(place: Path):
    files = LocalFiles(Roots(str(place / "ws")))
    with swapping(str(place / "ws/d"), str(place / "ws/link")):
        outcomes(lambda: str(files.write("d/new/deep", os.urandom(8), None)))
    assert os.listdir(place / "out") == ["f"]


def test_no_descriptor_is_left_open(place: Path):
    roots = Roots(str(place / "ws"))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for path in ("d/f", "link/f", "missing", "d", "file_link", "../out/f"):
        for act in (roots.open_file, roots.open_directory):
            try:
                os.close(act(path))
            except ToolError:
                pass
        try:
            os.close(roots.place(path).parent)
        except ToolError:
            pass
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_a_very_deep_path_and_many_dotdots_in_links_are_bounded(place: Path):
    deep = place / "ws"
    for _ in range(60):
        deep = deep / "n"
        deep.mkdir()
    (place / "ws/zigzag").symlink_to("/".join(["n/.."] * 500 + ["g"]))
    (place / "ws/deep").symlink_to("n/" * 60 + "../" * 60 + "g")
    files = LocalFiles(Roots(str(place / "ws")))
    assert files.read("zigzag").data == b"inside"
    assert files.read("deep").data == b"inside"
