"""The command line: which words are a command's, and what is said of wrong ones."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from dogu.cli import main
from dogu.language import LANGUAGES

pytestmark = pytest.mark.usefixtures("english_again")


@pytest.mark.parametrize(
    "words",
    [
        ["tools", "--root", "{root}"],
        ["--root", "{root}", "tools"],
        ["--root={root}", "--approval-mode", "plan", "tools"],
        ["--lang", "en", "tools", "--root", "{root}"],
    ],
)
def test_common_options_stand_before_or_after_a_command(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert main([word.format(root=tmp_path) for word in words]) == 0
    assert "read_file" in capsys.readouterr().out


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_usage_is_whole_in_every_language(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--lang", language, "undo", "--to", "--turn"])
    assert ended.value.code == 2
    first, *_, last = capsys.readouterr().err.splitlines()
    assert " dogu undo [-h]" in first
    assert last.startswith("dogu undo")
    assert "--turn" in last


def test_garbage_is_collected_again_when_a_command_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert main(["tools", "--root", str(tmp_path)]) == 0
    assert gc.isenabled()
