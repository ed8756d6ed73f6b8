"""The commands of the README and of the pages, run as they are printed, in a project, with a scripted model.

What needs something that isn't here is named in `ELSEWHERE`, with why. Lines that set a key are the mark of what needs
one: here a server on loopback takes it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogu.cli import main
from dogu.testing import FakeGemini
from e2e.program import ready_program

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_TRANSLATED = re.compile(r"\.(ja|ko|zh-CN|zh-TW)\.md$")
_BLOCK = re.compile(r"^```(\S*).*\n((?s:.*?))^```$", re.MULTILINE)
ELSEWHERE = {
    "make ": "scripts/first_hour.sh runs it",
    "pip install ": "scripts/first_hour.sh runs it",
    "docker ": "needs a daemon",
    "ray ": "needs machines",
    "dogu fleet run tasks.jsonl --out results --engine ray ": "needs machines; tests/fleet/test_fleet_ray.py makes them",
}
BEFORE = {"dogu fleet compare": "dogu fleet run tasks.jsonl --out other-results"}  # what the block takes for given


def blocks(*languages: str) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = "" if _TRANSLATED.search(page.name) else page.read_text(encoding="utf-8")
        for found in _BLOCK.finditer(text):
            if found[1] in languages:
                yield f"{page.name}:{text.count(chr(10), 0, found.start()) + 1}", found[2]


def commands(block: str) -> list[str]:
    """The commands of a block, those of `console` after their prompt; what is run elsewhere is left out."""
    lines = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ") or "$ " not in block]
    return [line for line in lines if not line.startswith(tuple(ELSEWHERE))]


def without_comments(block: str) -> list[str]:
    """The lines of a block without what is said in a language: comments, and texts in quotes."""
    lines = (re.sub(r"\s+(#|//) .*|^\s*(#|//) .*", "", line) for line in block.splitlines())
    return [re.sub(r"""("[^"]*"|'[^']*')""", "", line).rstrip() for line in lines if line.strip()]


def test_a_translated_page_has_the_blocks_of_the_english_one_which_are_run() -> None:
    strangers: list[str] = []
    for page in (each for each in PAGES + sorted(ROOT.glob("README.*.md")) if _TRANSLATED.search(each.name)):
        english = page.with_name(page.name.partition(".")[0] + ".md")
        known = [without_comments(found[2]) for found in _BLOCK.finditer(english.read_text(encoding="utf-8"))]
        for found in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            if found[1] in ("console", "sh", "python", "json", "toml") and without_comments(found[2]) not in known:
                strangers.append(f"{page.name}: {found[2]}")
    assert strangers == []


SCRIPTS = {name: found for name, block in blocks("console", "sh") if (found := commands(block))}
USAGES = {
    f"{name} {line.split('  ')[0]}": line.split("  ")[0]
    for name, block in blocks("")
    for line in block.splitlines()
    if line.startswith("dogu ")
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_commands_of_a_page_run_as_printed(name: str, tmp_path: Path) -> None:
    if " man " in "\n".join(SCRIPTS[name]) and shutil.which("man") is None:
        pytest.skip("there is no man")
    project, home, bin_folder = tmp_path / "project", tmp_path / "home", tmp_path / "bin"
    for folder in (project / "src", home, bin_folder):
        folder.mkdir(parents=True)
    (project / "src" / "a.py").write_text("class Config: ...  # TODO\n")
    (project / "tasks.jsonl").write_text('{"id": "TASK", "prompt": "Say something."}\n')
    subprocess.run(["git", "init", "-q", project], check=True)
    (bin_folder / "dogu").write_text(f'#!/bin/sh\nexec {shlex.join(ready_program())} "$@"\n')
    (bin_folder / "dogu").chmod(0o755)
    with FakeGemini(["Done."] * 5) as server:
        environ = {
            "HOME": str(home),
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "GEMINI_API_KEY": "test-key",
            "GOOGLE_GEMINI_BASE_URL": server.base_url,
        }
        given = [line for start, line in BEFORE.items() if any(each.startswith(start) for each in SCRIPTS[name])]
        script = "\n".join(["set -e", *given, *SCRIPTS[name]])
        done = subprocess.run(
            ["bash", "-c", script], cwd=project, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False
        )  # fmt: skip
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    assert "defect" not in done.stderr


@pytest.mark.parametrize("name", USAGES)
def test_a_line_of_usage_is_understood(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(re.sub(r"\[([^\]]*)\]|\.\.\.", r"\1", USAGES[name]))[1:]
    asking = words[: words.index("--")] if "--" in words else words
    with pytest.raises(SystemExit) as ended:
        main([*asking, "--help"])
    assert ended.value.code == 0
    assert "dogu" in capsys.readouterr().out


def test_what_is_run_elsewhere_is_still_in_the_pages() -> None:
    whole = "\n".join(block for _, block in blocks("console", "sh"))
    assert [command for command in ELSEWHERE if f"{command}" not in whole] == []
    hour = (ROOT / "scripts" / "first_hour.sh").read_text(encoding="utf-8")
    lines = [
        line.split("  ")[0] for _, block in blocks("console", "sh") for line in block.replace("$ ", "").splitlines()
    ]
    told = [line for line in lines if "first_hour" in ELSEWHERE.get(f"{line.partition(' ')[0]} ", "")]
    told += [line for line in lines if line.startswith("pip install ")]
    assert [line for line in told if f'printed "{line}"' not in hour] == []
