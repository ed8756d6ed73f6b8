"""The Python of the README and of the documents runs as it is printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def programs(page: str) -> list[str]:
    """Return the Python blocks of a page that run by themselves."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "anyio.run(" in block]


@pytest.mark.parametrize("number", range(2))
def test_the_readme_s_programs_run(number: int, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# A project\n\nwith three lines\n")
    program = programs("README.md")[number]
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = ("# A project", "declined")
    assert expected[number] in done.stdout
    assert not (tmp_path / "note.txt").exists()


def test_the_readme_shows_code_before_line_25() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert any(line.startswith("```") for line in lines[:24])
