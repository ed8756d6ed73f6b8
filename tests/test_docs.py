"""The documentation: its Python runs as it is printed, and its pages are all to be found."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogu.serve.exit_codes import ExitCode

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
RUNS = ("anyio.run(", "dogu.blocking.")
FRAGMENTS = {
    "class WordCountArgs": "a tool's file, as it stands in the package: it says nothing by itself",
    "def offer(": "a file for `dogu mcp --with`, which e2e/test_mcp_door_more.py serves",
}


def blocks() -> Iterator[tuple[str, str]]:
    """Give each Python block of the documentation, named by its page and line."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            yield f"{page.name}:{text.count(chr(10), 0, found.start()) + 1}", found[1]


BLOCKS = dict(blocks())
PROGRAMS = [name for name, block in BLOCKS.items() if any(word in block for word in RUNS)]
TESTS = [name for name, block in BLOCKS.items() if re.search(r"^(async )?def test_", block, re.MULTILINE)]


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "README.md").write_text("# A project\n\nwith three lines\n")
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"HOME": str(folder / "home"), "PATH": path},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_is_python(name: str) -> None:
    compile(BLOCKS[name], name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_documentation_runs(name: str, tmp_path: Path) -> None:
    if "pydantic_ai" in BLOCKS[name]:
        pytest.importorskip("pydantic_ai", reason="pydantic-ai isn't installed")
    if "google" in BLOCKS[name]:
        pytest.importorskip("google.genai", reason="google-genai isn't installed")
    done = run(["-W", "error::DeprecationWarning:__main__", "-c", BLOCKS[name]], tmp_path)
    assert done.returncode == 0, done.stderr
    if "serve_mcp(" in BLOCKS[name]:  # its client has gone: the end of standard input
        return
    assert done.stdout.strip(), "it says nothing"
    assert not re.search(r"not found|[Ff]ailed to|defect|Traceback", done.stdout)


def test_every_block_runs_or_is_a_fragment_that_says_so(tmp_path: Path) -> None:
    others = [name for name in BLOCKS if name not in (*PROGRAMS, *TESTS)]
    unexplained = [name for name in others if not any(beginning in BLOCKS[name] for beginning in FRAGMENTS)]
    assert unexplained == []
    used = {beginning for beginning in FRAGMENTS if any(beginning in BLOCKS[name] for name in others)}
    assert used == set(FRAGMENTS)
    for name in others:
        done = run(["-c", BLOCKS[name]], tmp_path)
        assert done.returncode == 0, done.stderr


def test_the_tests_of_the_documentation_pass(tmp_path: Path) -> None:
    """Run them all in one process; a file is called after its page and line."""
    for name in TESTS:
        if "google" not in BLOCKS[name] or _has("google.genai"):
            (tmp_path / f"test_{re.sub(r'[^a-z0-9]', '_', name)}.py").write_text(BLOCKS[name], encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        "import pytest\n\n\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
    )
    done = run(["-m", "pytest", "-q", "-p", "no:cacheprovider"], tmp_path)
    assert done.returncode == 0, done.stdout


def _has(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # nor the package it is in
        return False


def test_every_page_is_in_the_site_s_contents_but_for_translations() -> None:
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"- ([\w-]+\.md)$", contents, re.MULTILINE))
    assert listed == {page.name for page in PAGES if page.name.count(".") == 1}


def test_the_reference_has_every_public_name() -> None:
    import dogu

    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^::: [\w.]+\.(\w+)$", reference, re.MULTILINE))
    assert set(dogu.__all__) - told == {"__version__"}


def test_the_site_takes_nothing_from_elsewhere() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.search(r"^  font: false", settings, re.MULTILINE)
    assert "http" not in settings


def test_the_page_of_scripts_tells_each_exit_status() -> None:
    page = (ROOT / "docs/headless.md").read_text(encoding="utf-8")
    rows = page.partition("## Exit statuses")[2].partition("##")[0]
    told = [int(number) for row in re.findall(r"^\| ([\d, ]+) \|", rows, re.MULTILINE) for number in row.split(", ")]
    assert sorted(told) == sorted(ExitCode)
