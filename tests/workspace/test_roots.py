import os
import socket
from pathlib import Path

import pytest

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace import openat
from dogu.workspace.roots import Roots


@pytest.fixture(params=["openat2", "walk"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "walk":
        monkeypatch.setattr(openat, "_kernel_can", False)
    (tmp_path / "ws/a/b").mkdir(parents=True)
    (tmp_path / "ws/f").write_text("inside")
    (tmp_path / "out/dir").mkdir(parents=True)
    (tmp_path / "out/secret").write_text("SECRET")
    return tmp_path


def text(roots: Roots, path: str) -> str:
    with os.fdopen(roots.open_file(path)) as stream:
        return stream.read()


def refusal(roots: Roots, path: str) -> ErrorKind:
    with pytest.raises(ToolError) as caught:
        os.close(roots.open_file(path))
    return caught.value.kind


def test_relative_and_absolute_paths_and_dots_lead_to_the_file(place: Path):
    roots = Roots(str(place / "ws"))
    for path in ("f", "./f", f"{place}/ws/f", f"{place}/ws//./f", "a/../f", "a/b/../../f", "missing/../f"):
        assert text(roots, path) == "inside", path
        assert roots.locate(path) == f"{place}/ws/f"
        assert roots.relative(path) == "f"


def test_the_root_itself_is_a_dot(place: Path):
    roots = Roots(str(place / "ws"))
    assert roots.relative(".") == "."
    assert roots.relative(str(place / "ws")) == "."
    assert roots.locate("") == str(place / "ws")
    os.close(roots.open_directory("."))


@pytest.mark.parametrize(
    "path",
    [
        "../out/secret",
        "a/../../out/secret",
        "f/../../out/secret",
        "nope/../../out/secret",
        "/etc/passwd",
        "{ws}-evil/x",
    ],
)
def test_a_path_that_names_the_outside_is_refused_with_the_root_it_left(place: Path, path: str):
    roots = Roots(str(place / "ws"))
    with pytest.raises(ToolError) as caught:
        roots.open_file(path.format(ws=place / "ws"))
    assert caught.value.kind is ErrorKind.OUTSIDE_WORKSPACE
    assert str(place / "ws") in caught.value.message


@pytest.mark.parametrize(
    "name", ["%2e%2e", "~", "@f", "x%2fy", "...", "-rf", "a\nb", "$HOME", "[a]", "bad\udcff", "..\\f"]
)
def test_a_name_is_taken_literally(place: Path, name: str):
    (place / "ws" / name).write_text("named")
    assert text(Roots(str(place / "ws")), name) == "named"


def test_a_tilde_or_a_variable_is_not_expanded(place: Path):
    roots = Roots(str(place / "ws"))
    assert refusal(roots, "~/f") is ErrorKind.NOT_FOUND
    assert refusal(roots, "$PWD/f") is ErrorKind.NOT_FOUND
    assert refusal(roots, "file:///etc/passwd") is ErrorKind.NOT_FOUND


@pytest.mark.parametrize("path", ["f\0.txt", "\0", "\ud800", "x" * 200_000])
def test_a_path_no_system_can_have_is_an_error_of_the_arguments(place: Path, path: str):
    assert refusal(Roots(str(place / "ws")), path) is ErrorKind.INVALID_ARGUMENTS


def test_links_that_stay_inside_work(place: Path):
    ws = place / "ws"
    (ws / "relative").symlink_to("f")
    (ws / "absolute").symlink_to(ws / "f")
    (ws / "a/up").symlink_to("../f")
    (ws / "out_and_in").symlink_to("../ws/f")
    (ws / "folder").symlink_to("a/b")
    (ws / "chain").symlink_to("absolute")
    roots = Roots(str(ws))
    for path in ("relative", "absolute", "a/up", "out_and_in", "folder/../../f", "chain"):
        assert text(roots, path) == "inside", path


def test_dotdot_behind_a_linked_folder_goes_up_from_where_the_link_leads(place: Path):
    ws = place / "ws"
    (ws / "folder").symlink_to("a/b")
    (ws / "a/g").write_text("in a")
    roots = Roots(str(ws))
    assert text(roots, "folder/../g") == "in a"
    assert roots.locate("folder/../g") == f"{ws}/a/g"
    (ws / "away").symlink_to(place / "out/dir")
    (ws / "secret").write_text("decoy")
    assert refusal(roots, "away/../secret") is ErrorKind.OUTSIDE_WORKSPACE


def test_links_from_one_root_to_another_work_and_from_there_to_the_outside_do_not(place: Path):
    other = place / "other"
    other.mkdir()
    (other / "g").write_text("other's")
    (place / "ws/to_other").symlink_to(other / "g")
    (place / "ws/up_to_other").symlink_to("../other")
    (other / "away").symlink_to(place / "out")
    roots = Roots(str(place / "ws"), also=[str(other)])
    assert text(roots, "to_other") == "other's"
    assert text(roots, "up_to_other/g") == "other's"
    assert text(roots, "../other/g") == "other's"
    assert refusal(roots, "up_to_other/away/secret") is ErrorKind.OUTSIDE_WORKSPACE


def test_a_root_named_through_a_link_is_the_folder_itself(place: Path):
    (place / "alias").symlink_to(place / "ws")
    (place / "ws/l").symlink_to(place / "alias/f")
    roots = Roots(str(place / "alias"))
    assert roots.primary == str(place / "ws")
    assert text(roots, f"{place}/alias/f") == "inside"
    assert text(roots, f"{place}/ws/f") == "inside"
    assert text(roots, "l") == "inside"
    assert text(Roots(str(place / "ws")), f"{place}/alias/f") == "inside"


@pytest.mark.parametrize(
    "target",
    ["../out/secret", "{base}/out/secret", "{base}/out/./secret", "a/../../out/secret", "/proc/self/root/etc/passwd"],
)
def test_links_that_leave_are_refused_and_the_error_names_the_link_and_the_root(place: Path, target: str):
    (place / "ws/l").symlink_to(target.format(base=place))
    (place / "ws/m").symlink_to("l")
    roots = Roots(str(place / "ws"))
    with pytest.raises(ToolError) as caught:
        roots.open_file("m")
    assert caught.value.kind is ErrorKind.OUTSIDE_WORKSPACE
    assert f"{place}/ws/l leads out of the root {place}/ws" in caught.value.message


def test_a_linked_folder_that_leaves_is_refused_with_and_without_a_slash(place: Path):
    (place / "ws/l").symlink_to(place / "out")
    roots = Roots(str(place / "ws"))
    for path in ("l/secret", "l/", "l/.", "l/dir/../secret", "l"):
        assert refusal(roots, path) is ErrorKind.OUTSIDE_WORKSPACE
        with pytest.raises(ToolError, match="outside the workspace"):
            roots.place(path + "/x/new", create=True)
    with pytest.raises(ToolError, match="outside the workspace"):
        roots.open_directory("l")
    assert sorted(os.listdir(place / "out")) == ["dir", "secret"]


def test_links_in_a_circle_end(place: Path):
    (place / "ws/l").symlink_to("l")
    (place / "ws/m").symlink_to("n/x")
    (place / "ws/n").symlink_to("m/y")
    roots = Roots(str(place / "ws"))
    assert refusal(roots, "l") is ErrorKind.IO_ERROR
    assert refusal(roots, "m") is ErrorKind.IO_ERROR


def test_what_is_no_plain_file_is_refused_and_never_waited_on(place: Path):
    os.mkfifo(place / "ws/fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        old = os.getcwd()
        os.chdir(place / "ws")
        try:
            bound.bind("socket")
        finally:
            os.chdir(old)
        roots = Roots(str(place / "ws"))
        for path in ("fifo", "socket", "a", "."):
            assert refusal(roots, path) is ErrorKind.WRONG_FILE_TYPE, path
    with pytest.raises(ToolError) as caught:
        roots.open_directory("f")
    assert caught.value.kind is ErrorKind.WRONG_FILE_TYPE


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="no /proc here")
def test_a_file_of_a_pseudo_file_system_is_refused():
    roots = Roots("/proc/self")
    assert refusal(roots, "status") is ErrorKind.WRONG_FILE_TYPE


def test_a_readable_folder_may_be_read_and_not_written(place: Path):
    roots = Roots(str(place / "ws"), readable=[str(place / "out")])
    assert text(roots, f"{place}/out/secret") == "SECRET"
    with pytest.raises(ToolError) as caught:
        roots.place(f"{place}/out/new")
    assert caught.value.kind is ErrorKind.OUTSIDE_WORKSPACE


def test_the_place_to_write_is_the_real_one_and_missing_folders_are_made_on_demand(place: Path):
    (place / "ws/l").symlink_to("a/target")
    roots = Roots(str(place / "ws"))
    found = roots.place("l")
    os.close(found.parent)
    assert (found.name, found.path) == ("target", f"{place}/ws/a/target")
    with pytest.raises(ToolError, match="not found"):
        roots.place("x/y/new")
    found = roots.place("x/y/new", create=True)
    os.close(found.parent)
    assert found.made == (f"{place}/ws/x", f"{place}/ws/x/y")
    roots.remove_folders(found.made)
    assert not (place / "ws/x").exists()


def test_the_whole_file_system_may_be_a_root(place: Path):
    roots = Roots("/")
    assert text(roots, str(place / "ws/f")) == "inside"
    assert text(roots, f"../..{place}/ws/f") == "inside"
    assert roots.relative("/") == "."


def test_a_removed_root_is_a_clear_error_and_its_return_is_noticed(place: Path):
    roots = Roots(str(place / "ws"))
    (place / "ws").rename(place / "gone")
    assert refusal(roots, "f") is ErrorKind.NOT_FOUND
    (place / "gone").rename(place / "ws")
    assert text(roots, "f") == "inside"


def test_a_root_replaced_by_a_link_is_not_followed(place: Path):
    roots = Roots(str(place / "ws"))
    (place / "ws").rename(place / "was")
    (place / "ws").symlink_to(place / "out")
    with pytest.raises(ToolError):
        roots.open_file("secret")
