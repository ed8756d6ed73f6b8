"""What a hint says to type is what works here."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dogu.extras import install_command

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


# Runs dogu's command line where only the packages can be imported that an installation without extras has.
_WITHOUT_EXTRAS = """
import re, sys
from importlib import metadata

def needed(name, seen):
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key not in seen:
        seen.add(key)
        try:
            wants = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            wants = []
        for want in wants:
            if "extra ==" not in want:
                needed(re.match(r"[\\w.-]+", want)[0], seen)
    return seen

known = {"dogu-agent", "pip"}
for name in sys.argv.pop(1).split():
    needed(name, known)
modules = {name: {re.sub(r"[-_.]+", "-", one).lower() for one in where}
           for name, where in metadata.packages_distributions().items()}

class Missing:
    def find_spec(self, name, path=None, target=None):
        whose = modules.get(name.partition(".")[0])
        if whose and not whose & known:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from dogu.cli import main
sys.exit(main())
"""


def _needed() -> str:
    wants = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return " ".join(re.split(r"[^\w.-]", want)[0] for want in wants)


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
def test_what_needs_no_extra_works_without_any(tmp_path: Path, words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_EXTRAS, _needed(), *words.split()],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("words", "extra"), [("mcp", "mcp"), ("acp", "acp"), ("mcp-servers list", "mcp")])
def test_what_needs_one_names_it(tmp_path: Path, words: str, extra: str) -> None:
    (tmp_path / ".dogu").mkdir()
    (tmp_path / ".dogu" / "settings.json").write_text('{"mcpServers": {"a": {"command": "cat"}}}')
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_EXTRAS, _needed(), *words.split()],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert f"dogu-agent[{extra}]" in done.stderr
    assert "Traceback" not in done.stderr


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
