"""Windows' paths: how each is read, on every system; and on Windows what happens to the files when tools use them."""

from __future__ import annotations

import os
import struct
import tomllib
from pathlib import Path

import pytest

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.files import LocalFiles
from dogu.workspace.names import entries_of
from dogu.workspace.roots import Roots
from dogu.workspace.windows_paths import absolute, from_final, is_link, link_target, name_problem, parts_below

_CASES = tomllib.loads(Path(__file__).with_name("windows_escapes.toml").read_text("utf-8"))
_OUTSIDE: list[str] = _CASES["outside"]
_REFUSED: list[str] = _CASES["refused"]
_INSIDE: dict[str, str] = _CASES["inside"]
_SECRET = b"nobody may read this"

on_windows = pytest.mark.skipif(os.name != "nt", reason="needs Windows' calls on files: `make windows`")


def test_there_are_enough_ways_out() -> None:
    assert len(_OUTSIDE) + len(_REFUSED) >= 150


@pytest.mark.parametrize("case", _OUTSIDE)
def test_a_path_out_of_the_root_is_read_as_one(case: str) -> None:
    assert parts_below("C:/work/root", absolute(_filled(case, "C:/work"), "C:/work/root")) is None


@pytest.mark.parametrize("case", _REFUSED)
def test_what_names_no_file_is_no_path(case: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        absolute(_filled(case, "C:/work"), "C:/work/root")


@pytest.mark.parametrize(("case", "meant"), _INSIDE.items())
def test_a_path_in_the_root_is_read_as_windows_does(case: str, meant: str) -> None:
    assert parts_below("C:/work/root", absolute(_filled(case, "C:/work"), "C:/work/root")) == [
        part for part in meant.split("/") if part
    ]


def test_a_share_can_be_a_root() -> None:
    assert parts_below("//server/share/root", absolute("../other/x", "//server/share/root")) is None
    assert parts_below("//server/share/root", absolute("\\\\?\\UNC\\SERVER\\Share\\root\\a", "C:/")) == ["a"]
    assert parts_below("//server/share/root", absolute("\\\\server\\share2\\root\\a", "C:/")) is None


def test_case_is_ignored_a_character_at_a_time() -> None:
    assert parts_below("C:/Äpfel", "c:/äPFEL/x") == ["x"]
    assert parts_below("C:/straße", "C:/STRASSE/x") is None


def test_a_name_may_have_255_characters_of_utf_16() -> None:
    assert not name_problem("x" * 255)
    assert name_problem("x" * 256)
    assert name_problem("\U0001f600" * 128)


def test_the_systems_own_paths_are_told_apart() -> None:
    assert from_final("\\\\?\\C:\\x\\y") == "C:/x/y"
    assert from_final("\\\\?\\UNC\\server\\share\\x") == "//server/share/x"
    assert from_final("\\??\\C:\\x") == "C:/x"
    assert from_final("\\\\?\\Volume{1}\\x") == ""
    assert from_final("\\Device\\NamedPipe\\x") == ""


def _reparse(tag: int, name: str, flags: int | None) -> bytes:
    encoded = name.encode("utf-16-le")
    names = (
        struct.pack("<HHHH", 0, len(encoded), len(encoded), 0)
        + (b"" if flags is None else struct.pack("<L", flags))
        + encoded
    )
    return struct.pack("<LHH", tag, len(names), 0) + names


def test_where_a_link_leads_is_read_from_the_reparse_point() -> None:
    assert link_target(_reparse(0xA0000003, "\\??\\C:\\elsewhere", None)) == "C:/elsewhere"
    assert link_target(_reparse(0xA000000C, "\\??\\C:\\elsewhere\\x", 0)) == "C:/elsewhere/x"
    assert link_target(_reparse(0xA000000C, "..\\x", 1)) == "../x"


@pytest.mark.parametrize(
    "data",
    [
        _reparse(0xA0000003, "\\??\\Volume{00000000-0000-0000-0000-000000000000}\\", None),
        _reparse(0xA000000C, "\\Device\\HarddiskVolume1\\x", 0),
        _reparse(0xA000001D, "/etc/passwd", None),
        b"\x03\x00\x00\xa0",
    ],
)
def test_a_link_to_no_files_path_leads_nowhere(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"link|reparse"):
        link_target(data)


def test_a_file_that_lies_in_a_cloud_is_no_link() -> None:
    assert not is_link(0x400, 0x9000001A)
    assert is_link(0x400, 0xA0000003)
    assert is_link(0x410, 0)
    assert not is_link(0x10, 0)


def _filled(case: str, base: str) -> str:
    places = {"base": base, "BASE": base.upper(), "root": f"{base}/root", "ROOT": f"{base}/root".upper()}
    # One more pair of braces is a volume's number.
    for name, place in places.items():
        case = case.replace("{" + name + "}", place.replace("/", "\\") if "\\" in case else place)
    return case


@pytest.fixture
def base(tmp_path: Path) -> str:
    for name in ("root/sub/deep", "outside", "rootx"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("outside/secret.txt", "rootx/secret.txt"):
        (tmp_path / name).write_bytes(_SECRET)
    (tmp_path / "root/a.txt").write_bytes(b"a")
    (tmp_path / "root/sub/deep/b.txt").write_bytes(b"b")
    return os.path.realpath(tmp_path).replace("\\", "/")


def _content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _use(files: LocalFiles, roots: Roots, path: str) -> list[ToolError]:
    """Try all that tools do with a path; what is read is never the secret. Return how each was refused."""
    refused: list[ToolError] = []

    def read() -> None:
        assert files.read(path).data != _SECRET

    def handle() -> None:
        os.close(roots.open_handle(path))

    for act in (
        read,
        handle,
        lambda: os.close(roots.open_directory(path)),
        lambda: files.write(path, b"overwritten", None),
        lambda: files.remove(path, ""),
        lambda: roots.real(path),
    ):
        try:
            act()
        except ToolError as error:
            refused.append(error)
    return refused


@on_windows
@pytest.mark.parametrize("case", [*_OUTSIDE, *_REFUSED])
def test_no_path_leads_out(base: str, case: str) -> None:
    before = _content(Path(base))
    roots = Roots(f"{base}/root")
    files = LocalFiles(roots)
    refused = _use(files, roots, _filled(case, base))
    assert len(refused) == 6
    assert {error.kind for error in refused} <= {ErrorKind.OUTSIDE_WORKSPACE, ErrorKind.INVALID_ARGUMENTS}
    assert _content(Path(base)) == before


@on_windows
def test_what_is_meant_is_written_under_its_own_name(base: str) -> None:
    files = LocalFiles(Roots(f"{base}/root"))
    for case, meant in _INSIDE.items():
        if not meant:
            continue
        path = _filled(case, base)
        files.write(path, case.encode(), None)
        read = files.read(meant)
        assert read.data == case.encode()
        assert read.real_path.lower() == f"{base}/root/{meant}".lower()
    assert files.read("A.TXT").real_path == f"{base}/root/a.txt"


@pytest.fixture
def links() -> str:
    """Where scripts/windows.sh has made links: Wine makes none itself, and shows those of Unix as folders and files."""
    folder = os.environ.get("DOGU_TEST_LINKS", "")
    if not folder:
        pytest.skip("Wine makes no links: scripts/windows.sh makes them and says where they are")
    return os.path.realpath(folder).replace("\\", "/")


@on_windows
@pytest.mark.parametrize(
    "path",
    [
        "link/secret.txt",
        "LINK\\SECRET.TXT",
        "link/new.txt",
        "link/new/x.txt",
        "file.txt",
        "sub/../file.txt",
        "absolute/secret.txt",
        "sub/up/secret.txt",
    ],
)
def test_a_link_out_of_the_root_is_not_followed(links: str, path: str) -> None:
    roots = Roots(f"{links}/root")
    refused = _use(LocalFiles(roots), roots, path)
    assert [error.kind for error in refused] == [ErrorKind.OUTSIDE_WORKSPACE] * 6
    assert "symbolic link" in str(refused[0])
    assert _content(Path(links, "outside")) == {"secret.txt": _SECRET}


@on_windows
def test_a_link_that_stays_in_the_root_is_followed(links: str) -> None:
    files = LocalFiles(Roots(f"{links}/root"))
    assert files.read("own/b.txt").real_path == f"{links}/root/sub/b.txt"
    files.write("own/b.txt", b"changed", None)
    assert Path(f"{links}/root/sub/b.txt").read_bytes() == b"changed"


@on_windows
def test_a_link_shows_as_one(links: str) -> None:
    entries = entries_of(Roots(f"{links}/root").open_directory("."))
    assert "link" in entries.linked
    assert "sub" in entries.folders
    assert "sub" not in entries.linked
