"""What a hint says to type is what works here."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

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
