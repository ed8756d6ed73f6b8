"""What lets tests written for POSIX say the same of Windows: their folders, their bytes, their links; and what it can't do.

Paths are shown with `/`, as dogu shows them; what a test writes as text is written as it stands; a symbolic link is made
by Wine's host, since Wine itself makes none; and a test that asks for what there isn't is skipped with the reason in
words. `on_windows.toml` names the tests that Windows or Wine can't pass, by that reason.
"""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NoReturn

import pytest

TESTS = Path(__file__).resolve().parent
CANNOT: dict[str, list[str]] = tomllib.loads((TESTS / "on_windows.toml").read_text("utf-8"))
"""By the reason in words: test files, tests, and tests with one parameter, below `tests`."""

_PROGRAMS = ("git", "bash", "sh", "patch")  # that tests use, and Wine doesn't have


class ShownPath(type(Path())):
    """A path that reads with `/`."""

    def __str__(self) -> str:
        return super().__str__().replace("\\", "/")


def shown(folder: Path) -> Path:
    """Return the folder as dogu shows it: with `/`, and its names in the letters they have."""
    return ShownPath(os.path.realpath(folder))


def reason_for(nodeid: str) -> str | None:
    """Return why this system can't pass a test or a file of tests; None where it should."""
    names = (nodeid, nodeid.partition("[")[0], nodeid.partition("::")[0])
    return next((why for why, tests in CANNOT.items() if any(name in tests for name in names)), None)


def missing_program(raised: BaseException) -> str | None:
    """Return the name of the program that isn't on this machine, where that is what was raised."""
    frame = raised.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if not isinstance(raised, FileNotFoundError) or frame is None or frame.tb_frame.f_code.co_name != "_execute_child":
        return None
    name = str(frame.tb_frame.f_locals["args"]).split()[0]
    return name if name in _PROGRAMS else None


def prepare() -> None:
    """Let the standard library do what tests ask of it."""
    write_text = Path.write_text

    def write_as_it_stands(
        self: Path, data: str, encoding: str | None = None, errors: str | None = None, newline: str | None = ""
    ) -> int:
        return write_text(self, data, encoding, errors, newline)

    make_folder = pytest.TempPathFactory.mktemp

    def make_shown_folder(self: pytest.TempPathFactory, basename: str, numbered: bool = True) -> Path:
        return shown(make_folder(self, basename, numbered))

    Path.write_text = write_as_it_stands
    pytest.TempPathFactory.mktemp = make_shown_folder
    os.symlink = _make_link
    for name, what in (("mkfifo", "named pipes in folders"), ("mknod", "devices in folders"), ("fork", "fork")):
        setattr(os, name, _lacking(what))


def _lacking(what: str) -> Any:
    def skip(*_: object, **__: object) -> NoReturn:
        pytest.skip(f"Windows has no {what}")

    return skip


def _make_link(src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None) -> None:
    """Have Wine's host make it; elsewhere Windows does, for whom it lets."""
    if os.fspath(dst).endswith("current"):
        raise OSError("pytest's own link to a test's newest folder, which it does without")
    prefix = os.environ.get("WINEPREFIX")
    if prefix is None:
        pytest.skip("needs Windows with the right to make symbolic links")
    target = os.fspath(src).replace("\\", "/")
    words = ["start.exe", "/wait", "/unix", "/bin/ln", "-s", "--", _on_host(target, prefix)]
    words.append(_on_host(os.path.abspath(dst).replace("\\", "/"), prefix))
    subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    if not os.path.lexists(dst):
        pytest.skip("Wine doesn't show links that lead nowhere")


def _on_host(path: str, prefix: str) -> str:
    drive, rest = path[:2].lower(), path[2:]
    return {"c:": f"{prefix}/drive_c{rest}", "z:": rest or "/"}.get(drive, path)
