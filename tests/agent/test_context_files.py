"""GEMINI.md and AGENTS.md."""

from pathlib import Path

from dogu.agent.context_files import read_context_files
from dogu.agent.system_prompt import system_prompt


def test_the_most_general_come_first(tmp_path: Path):
    home, top, root = tmp_path / "home", tmp_path / "top", tmp_path / "top" / "sub"
    for folder in (home, root, top / ".git"):
        folder.mkdir(parents=True)
    (home / "GEMINI.md").write_text("of the person")
    (top / "GEMINI.md").write_text("of the repository")
    (root / "AGENTS.md").write_text("of the folder")
    (tmp_path / "GEMINI.md").write_text("above the repository")
    files = read_context_files(str(root), [str(home)])
    assert [file.text for file in files] == ["of the person", "of the repository", "of the folder"]
    prompt = system_prompt([str(root)], files)
    assert f"Workspace root: {root}" in prompt
    assert prompt.index("of the person") < prompt.index("of the folder")


def test_one_file_under_two_names_is_read_once(tmp_path: Path):
    (tmp_path / "GEMINI.md").write_text("once")
    (tmp_path / "AGENTS.md").symlink_to("GEMINI.md")
    assert len(read_context_files(str(tmp_path), [])) == 1


def test_a_fifo_and_an_empty_file_are_left_out_and_a_long_one_is_cut(tmp_path: Path):
    import os

    os.mkfifo(tmp_path / "GEMINI.md")
    assert read_context_files(str(tmp_path), []) == []
    (tmp_path / "AGENTS.md").write_text("x" * 100_000)
    (file,) = read_context_files(str(tmp_path), [])
    assert len(file.text) < 66_000
    assert "Cut at 65536 bytes" in file.text
