"""The command line: which words are a command's, and what is said of wrong ones."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from dogu.cli import main
from dogu.commands import about, command_line
from dogu.language import LANGUAGES
from dogu.serve.exit_codes import ExitCode

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


def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *words: str) -> str:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(list(words)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_every_command_and_option(
    shell: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = printed(capsys, monkeypatch, tmp_path, "completion", shell)
    for word in (*about(), "approval-mode", "auto_edit", "stream-json"):
        assert word in script


def test_bash_completes_a_command_by_the_script(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = printed(capsys, monkeypatch, tmp_path, "completion", "bash")
    ask = 'COMP_WORDS=(dogu po); COMP_CWORD=1; eval "$(complete -p dogu | sed "s/.*-F \\([^ ]*\\).*/\\1/")"; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["policy"]


def test_the_manual_page_names_every_command_and_formats_without_a_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = printed(capsys, monkeypatch, tmp_path, "man")
    assert [line.split()[-1] for line in page.splitlines() if line.startswith(".SS")] == [*about()]
    statuses = page.partition(".SH EXIT STATUS")[2].partition(".SH FILES")[0]
    told = [line.removeprefix(".B ") for line in statuses.splitlines() if line.startswith(".B ")]
    assert told == [*(str(code.value) for code in ExitCode if code < 128), "128 and more"]
    if shutil.which("groff"):
        words = ["groff", "-man", "-Tascii", "-P-c", "-P-b", "-P-u", "-ww"]
        done = subprocess.run(words, input=page, capture_output=True, text=True, check=True)
        assert "EXIT STATUS" in done.stdout
        assert not [
            line for line in done.stderr.splitlines() if "can't break line" not in line and "adjust" not in line
        ]


def test_the_version_is_told_to_programs_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    version = json.loads(printed(capsys, monkeypatch, tmp_path, "--version", "--json"))
    assert version["distribution"] == "dogu-agent"
    assert f"dogu {version['version']}\n" == printed(capsys, monkeypatch, tmp_path, "--version")


@pytest.mark.parametrize("words", ["-V --model offline", "--version --output-format json", "hello -V"])
def test_the_version_is_told_whatever_stands_beside_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 0
    assert capsys.readouterr().out == printed(capsys, monkeypatch, tmp_path, "--version")


def test_what_stands_behind_two_dashes_is_no_option() -> None:
    space = command_line._parsed("undo", ["undo", "--preview", "--", "--force"], None)
    assert (space.call, space.force, space.preview) == ("--force", False, True)
    words = ["mcp-servers", "add", "sums", "--timeout", "5", "--", "sh", "-c", "--", "--json"]
    space = command_line._parsed("mcp-servers", words, None)
    assert (space.alias, space.command, space.timeout, space.json) == ("sums", ["sh", "-c", "--", "--json"], 5, False)


@pytest.mark.parametrize(
    ("words", "name"), [("sesions", "sessions"), ("mcp-server add x", "mcp-servers"), ("docter", "doctor")]
)
def test_a_misspelled_command_is_no_prompt(words: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert f"Did you mean dogu {name}? To ask the model: dogu -p" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "usage"), [("help", "dogu [-h]"), ("help undo", "dogu undo [-h]")])
def test_help_is_a_word_too(words: str, usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(words.split())
    assert capsys.readouterr().out.startswith(f"usage: {usage}")


def test_a_wrong_option_is_told_with_the_whole_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--approval-mode", "foo"])
    assert "[-p [PROMPT]]" in capsys.readouterr().err
