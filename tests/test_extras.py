"""What a hint says to type is what works here."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dogu.extras import install_command
from preloaded import Preloaded

ROOT = Path(__file__).parents[1]


class Installed:
    def __init__(self, direct_url: str | None) -> None:
        self.direct_url = direct_url

    def read_text(self, _name: str) -> str | None:
        return self.direct_url


@pytest.mark.parametrize(
    ("direct_url", "what"),
    [
        (None, "dogu-agent[mcp]"),
        ('{"url": "file:///a/dogu", "dir_info": {}}', "dogu-agent[mcp] @ file:///a/dogu"),
        ('{"url": "file:///a/d.whl", "archive_info": {}}', "dogu-agent[mcp] @ file:///a/d.whl"),
        (
            '{"url": "https://x.example/d", "vcs_info": {"vcs": "git", "commit_id": "ab"}}',
            "dogu-agent[mcp] @ git+https://x.example/d@ab",
        ),
    ],
)
def test_an_extra_comes_from_where_dogu_came_from(
    monkeypatch: pytest.MonkeyPatch, direct_url: str | None, what: str
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda _name: Installed(direct_url))  # pyright: ignore[reportUnknownLambdaType]  (a stand-in)
    words = shlex.split(install_command("mcp"))
    assert words[-1] == what
    assert sys.executable in words


def test_where_the_sources_lie_they_are_what_is_installed() -> None:
    script = "from dogu.extras import install_command; print(install_command('acp'))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); {script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shlex.split(done.stdout)[-1] == f"dogu-agent[acp] @ {ROOT.as_uri()}"


def test_no_hint_names_an_index_by_itself() -> None:
    files = [*(ROOT / "src").rglob("*.py")]
    assert [file.name for file in files if re.search(r"pip install '?dogu", file.read_text(encoding="utf-8"))] == []


@pytest.fixture(scope="module")
def without_extras() -> Iterator[Preloaded]:
    """Processes where only the packages can be imported that an installation without extras has."""
    loaded = Preloaded("without_extras")
    yield loaded
    loaded.close()


def run(loaded: Preloaded, home: Path, words: str) -> subprocess.CompletedProcess[bytes]:
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
    return loaded.run(["-m", "dogu", *words.split()], str(home), environ, b"", 60)


@pytest.mark.parametrize(
    "words",
    [
        "--version",
        "--help",
        "completion bash",
        "config",
        "config schema",
        "jobs",
        "sessions",
        "mcp-servers add far --url http://127.0.0.1:9/mcp",
        "policy explain ls",
        "tools",
        'call list_directory {"path":"."}',
        "--model offline -p hello",
        "man",
    ],
)
def test_what_needs_no_extra_works_without_any(without_extras: Preloaded, tmp_path: Path, words: str) -> None:
    done = run(without_extras, tmp_path, words)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("words", "extra"), [("mcp", "mcp"), ("acp", "acp"), ("mcp-servers list", "mcp")])
def test_what_needs_one_names_it(without_extras: Preloaded, tmp_path: Path, words: str, extra: str) -> None:
    (tmp_path / ".dogu").mkdir()
    (tmp_path / ".dogu" / "settings.json").write_text('{"mcpServers": {"a": {"command": "cat"}}}')
    done = run(without_extras, tmp_path, words)
    assert done.returncode != 0
    assert f"dogu-agent[{extra}]" in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_what_is_pinned_is_pinned_with_the_extras_that_others_ask_of_it(name: str) -> None:
    """Else pip takes `NAME[extra]` for unpinned on the day on which NAME has a newer release, and nothing can be set up."""
    lines = (ROOT / name).read_text("utf-8").splitlines()
    pinned = [Requirement(line.removesuffix("\\")) for line in lines if re.match(r"[\w.-]+(\[|==)", line)]
    extras = {canonicalize_name(one.name): one.extras for one in pinned}
    assert len(extras) > 15
    for one in pinned:
        try:
            needs = metadata.requires(one.name) or []
        except metadata.PackageNotFoundError:  # another system's
            continue
        for need in map(Requirement, needs):
            asked = canonicalize_name(need.name)
            if asked in extras and any(
                need.marker is None or need.marker.evaluate({"extra": e}) for e in ("", *one.extras)
            ):
                assert need.extras <= extras[asked], f"{one.name} needs {need}"
