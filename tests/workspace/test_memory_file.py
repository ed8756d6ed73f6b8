"""The file of things to remember: one bullet more, and every other byte as it was."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.contract.errors import ErrorKind, ToolError
from dogu.workspace.memory_file import HEADING, MemoryFile, _section
from dogu.workspace.text import decode


def remember(path: Path, fact: str) -> bytes:
    memory = MemoryFile(str(path))
    memory.write(memory.plan(fact))
    return path.read_bytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"## Gemini Added Memories\n- a fact\n"),
        (b"mine\n", b"mine\n\n## Gemini Added Memories\n- a fact\n"),
        (b"mine\n\n", b"mine\n\n## Gemini Added Memories\n- a fact\n"),
        (b"no final newline", b"no final newline\n\n## Gemini Added Memories\n- a fact"),
        (b"mine\r\nyours\r\n", b"mine\r\nyours\r\n\r\n## Gemini Added Memories\r\n- a fact\r\n"),
        (b"## Gemini Added Memories\n- old\n", b"## Gemini Added Memories\n- old\n- a fact\n"),
        (b"## Gemini Added Memories\n- old", b"## Gemini Added Memories\n- old\n- a fact"),
        (b"## Gemini Added Memories", b"## Gemini Added Memories\n- a fact"),
        (
            b"# T\n## Gemini Added Memories \n\n- old\n\n\n## Mine\n- x\n",
            b"# T\n## Gemini Added Memories \n\n- old\n- a fact\n\n\n## Mine\n- x\n",
        ),
        (
            b"```\n## Gemini Added Memories\n```\nx\n",
            b"```\n## Gemini Added Memories\n```\nx\n\n## Gemini Added Memories\n- a fact\n",
        ),
        (
            b"\xef\xbb\xbf## Gemini Added Memories\r\n- old\r\n",
            b"\xef\xbb\xbf## Gemini Added Memories\r\n- old\r\n- a fact\r\n",
        ),
        (b"stray \xff byte\n", b"stray \xff byte\n\n## Gemini Added Memories\n- a fact\n"),
    ],
)
def test_a_fact_becomes_a_bullet_of_the_section_and_nothing_else_changes(tmp_path: Path, before: bytes, after: bytes):
    file = tmp_path / "GEMINI.md"
    file.write_bytes(before)
    assert remember(file, "a fact") == after


def test_the_file_and_its_folder_are_made(tmp_path: Path):
    file = tmp_path / "home" / ".gemini" / "GEMINI.md"
    memory = MemoryFile(str(file), "~/.gemini/GEMINI.md")
    change = memory.plan("a fact")
    assert change.display.old_text is None
    assert not file.parent.exists()
    memory.write(change)
    assert file.read_bytes() == b"## Gemini Added Memories\n- a fact\n"
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_the_files_encoding_stays(tmp_path: Path, encoding: str):
    file = tmp_path / "GEMINI.md"
    before = "日本語の規則\r\n".encode(encoding)
    file.write_bytes(before)
    after = remember(file, "好きな言語はPython")
    assert after.startswith(before)
    assert after.decode(encoding) == "日本語の規則\r\n\r\n## Gemini Added Memories\r\n- 好きな言語はPython\r\n"


def test_a_fact_that_the_encoding_cannot_hold_is_refused(tmp_path: Path):
    file = tmp_path / "GEMINI.md"
    before = "これは日本語で書かれた長い規則の文章です。必ず守ってください。\n".encode("cp932") * 4
    file.write_bytes(before)
    with pytest.raises(ToolError) as caught:
        remember(file, "likes 🦀")
    assert caught.value.kind is ErrorKind.UNENCODABLE
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("one\n## Two\r\n- three", "- one ## Two - three"),
        ("## A heading", "- A heading"),
        ("- - # > nested", "- nested"),
        ("```\ncode", "- code"),
        ("a\u2028b\x85c\x0bd\x1b[31mred", "- a b c dred"),
        ("safe\u202eevil", "- safeevil"),
        ("x <!-- y", "- x <! -- y"),
        ("  `make test` runs all  ", "- `make test` runs all"),
        ("-5 degrees", "- -5 degrees"),
        ("**never** push", "- **never** push"),
    ],
)
def test_a_fact_is_one_line_that_begins_nothing_else(tmp_path: Path, fact: str, line: str):
    after = remember(tmp_path / "GEMINI.md", fact).decode()
    assert after == f"{HEADING}\n{line}\n"


@pytest.mark.parametrize("fact", ["", " \n ", "###", "- -", "x" * 2_001])
def test_no_fact_and_one_too_long_are_refused(tmp_path: Path, fact: str):
    with pytest.raises(ToolError) as caught:
        remember(tmp_path / "GEMINI.md", fact)
    assert caught.value.kind is ErrorKind.INVALID_ARGUMENTS


def test_a_fact_known_already_is_not_added_again(tmp_path: Path):
    file = tmp_path / "GEMINI.md"
    before = remember(file, "a fact")
    with pytest.raises(ToolError) as caught:
        remember(file, "a  fact")
    assert caught.value.kind is ErrorKind.NO_CHANGE
    assert file.read_bytes() == before


def test_a_symbolic_link_stays_one_and_what_it_leads_to_is_written(tmp_path: Path):
    target = tmp_path / "dotfiles" / "gemini.md"
    target.parent.mkdir()
    target.write_text("mine\n")
    target.chmod(0o640)
    link = tmp_path / ".gemini" / "GEMINI.md"
    link.parent.mkdir()
    link.symlink_to("../dotfiles/gemini.md")
    remember(link, "a fact")
    assert os.readlink(link) == "../dotfiles/gemini.md"
    assert target.read_text() == "mine\n\n## Gemini Added Memories\n- a fact\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_read_only_file_a_folder_and_a_fifo_are_refused_and_stay(tmp_path: Path):
    read_only = tmp_path / "a" / "GEMINI.md"
    read_only.parent.mkdir()
    read_only.write_text("mine")
    read_only.chmod(0o444)
    (tmp_path / "b" / "GEMINI.md").mkdir(parents=True)
    (tmp_path / "c").mkdir()
    os.mkfifo(tmp_path / "c" / "GEMINI.md")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "GEMINI.md").write_bytes(b"\x7fELF\0\0\0")
    for folder in "abcd":
        with pytest.raises(ToolError):
            remember(tmp_path / folder / "GEMINI.md", "a fact")
    assert read_only.read_text() == "mine"
    assert [path.name for path in tmp_path.rglob("*") if path.name not in ("GEMINI.md", *"abcd")] == []


def test_what_others_wrote_between_question_and_answer_stays(tmp_path: Path):
    file = tmp_path / "GEMINI.md"
    file.write_text("mine\n")
    memory = MemoryFile(str(file))
    change = memory.plan("a fact")
    file.write_text("yours\n## Gemini Added Memories\n- b fact\n")
    memory.write(change)
    assert file.read_text() == "yours\n## Gemini Added Memories\n- b fact\n- a fact\n"


def memories_in(text: str) -> list[str]:
    section = _section(text)
    lines = text[slice(*section)].splitlines() if section else []
    return [line[2:].strip() for line in lines if line.startswith("- ")]


def test_processes_that_save_at_once_lose_nothing(tmp_path: Path):
    file = tmp_path / "GEMINI.md"
    file.write_text("mine, without a final newline")
    program = (
        "import sys; from dogu.workspace.memory_file import MemoryFile; memory = MemoryFile(sys.argv[1])\n"
        "for number in range(8): memory.write(memory.plan(f'fact {sys.argv[2]}-{number}'))"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(file), name]) for name in "abcd"]
    assert [process.wait(60) for process in running] == [0] * 4
    text = file.read_bytes()
    assert text.startswith(b"mine, without a final newline\n\n" + HEADING.encode())
    assert sorted(memories_in(decode(text).text)) == sorted(
        f"fact {name}-{number}" for name in "abcd" for number in range(8)
    )
    assert os.listdir(tmp_path) == ["GEMINI.md"]


@given(
    st.lists(st.sampled_from(["text", "", "# One", "## Two", HEADING, "```", "- x", "  "]), max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.text(min_size=1, max_size=40),
)
def test_adding_only_ever_inserts(lines: list[str], ending: str, ends: bool, fact: str):
    import tempfile

    before = (ending.join(lines) + (ending if ends else "")).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "GEMINI.md"
        path.write_bytes(before)
        try:
            change = MemoryFile(str(path)).plan(fact)
        except ToolError:
            return
    after = change.data
    start = next((at for at in range(len(before)) if after[at] != before[at]), len(before))
    assert any(after[:at] + after[at + len(after) - len(before) :] == before for at in range(start + 1))
    assert change.fact in memories_in(decode(after).text)
