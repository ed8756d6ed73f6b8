"""Whatever the program writes is said through the catalogs: in the pseudo-locale, words outside of ⟦⟧ are data.

The catalog it runs with knows every sentence that `make catalogs` finds, so this holds before anything is translated.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pexpect
import pytest

import dogu.tools
from dogu.commands import about
from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.turn import Turn, call
from e2e.program import Program
from sentences import write_known_catalog

_DATA = re.compile(
    r"⟦[^⟦⟧]*(?:⟦[^⟦⟧]*⟧[^⟦⟧]*)*⟧"  # what was said, with what was said within it
    r"|\[[a-z]\]"  # keys
    r"|--?[a-zA-Z][\w-]*(?:[= ](?:[A-Z][A-Z_=]*|\{[^}]*\})(?: \.\.\.)?)?"  # options and what they take
    r"|\b[A-Z][A-Z_]+\b|\{[^}]*\}"  # placeholders, variables, choices
    r"|[\w.@~-]*[/\\][\w./@~:+-]*"  # paths and addresses
    r"|\b\w+(?:[._:-]\w+)+\b|\b[a-z]+[A-Z]\w*|\b\w*\d\w*"  # files, keys of settings, identifiers, versions, numbers
)
_RUN = re.compile(r"[A-Za-z]{2,}(?:[ ,'’]+[A-Za-z]{2,})+")  # two words that follow one another
_PROGRAMS = ("GNU bash", "git version", "ripgrep")
_FOR_MODELS = (
    "Successfully modified file",
    "There is no tool named 'nothing'. Available tools",
)  # their texts are English, and shown as such
_TOOLS = tuple(
    named
    for module in iter_modules(dogu.tools.__path__, "dogu.tools.")
    for tool in vars(import_module(module.name)).values()
    if isinstance(named := getattr(tool, "display_name", None), str)
)
_MISTAKES = (
    *("/undo", "/redo", "/rewind 9", "/jobs stop 1", "/open 7", "/settings no.such 1", "/settings ui.theme wild"),
    *("/resume nothing", "/rename", "/export /", "/copy", "/trust x", "/add-dir nowhere", "/mcp none", "/agents 3"),
    *("/skills x", "/memory x", "/theme wild", "/diff", "/hooks", "/clear x", "/model no such model", "/compress"),
)
_ESCAPES = re.compile(r"\x1b\[[0-9;?>=]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b[=>]")


@pytest.fixture(scope="module")
def locale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_known_catalog(tmp_path_factory.mktemp("locale"))


def words_for(locale: Path) -> list[str]:
    """Return what Python is to run for the program in the pseudo-locale of that catalog."""
    script = locale / "program.py"
    code = f"import sys, dogu.language as l; l._CATALOGS = {str(locale)!r}; from dogu.cli import main; sys.exit(main())"
    script.write_text(code)
    return [str(script)]


def run(program: Program, locale: Path, *words: str, **environ: str) -> str:
    """Run a command in the pseudo-locale; return all it wrote."""
    begin = words_for(locale)
    done = program.run(*words, "--lang", "pseudo", environ={"COLUMNS": "400", **environ}, begin=begin)
    return (done.stdout + done.stderr).decode()


def untranslated(text: str, *data: str) -> list[str]:
    """The runs of words outside of what was said; `data` is known to be somebody else's."""
    for known in data:
        text = text.replace(known, "…")
    return _RUN.findall(_DATA.sub("…", text))


@pytest.mark.parametrize("command", ["", *about()])
def test_the_help_of_every_command(program: Program, locale: Path, command: str) -> None:
    text = run(program, locale, *([command] if command else []), "--help")
    assert "⟦" in text
    assert untranslated(text, f"dogu {command}") == []


@pytest.mark.parametrize(
    "words",
    [
        ("doctor",),
        ("sessions", "list"),
        ("sessions", "show"),
        ("sessions", "delete"),
        ("undo",),
        ("config", "trust"),
        ("policy", "explain", "rm -rf build; git push"),
        ("mcp-servers", "list"),
        ("mcp-servers", "test", "nothing"),
        ("call",),
        ("call", "nothing", "a=1"),
        ("-p", ""),
        ("--unknown",),
        ("sessions", "dance"),
        ("--max-turns", "many"),
    ],
    ids=" ".join,
)
def test_what_a_command_writes(program: Program, locale: Path, words: tuple[str, ...]) -> None:
    text = run(program, locale, *words)
    commands = ("rm -rf build", "git push", f"dogu {words[0]}")
    assert untranslated(text, *commands, *_PROGRAMS, *_FOR_MODELS) == []


def test_why_a_command_is_judged_so(program: Program, locale: Path) -> None:
    settings = program.home / "strict.json"
    settings.write_text('{"tools": {"core": ["run_shell_command(git)", "run_shell_command(find)"]}}')
    command = "git bisect run ls; git -c a.b=c log; find . -delete; $X a; rm -rf build; ls >"
    for words in (command, command.removesuffix("; ls >"), "git log > /etc/x; git push $(find . -exec x)"):
        text = run(program, locale, "policy", "explain", "--settings", str(settings), words)
        assert untranslated(text, *words.split("; "), "git log", "find . -exec x") == []


def test_bad_settings(program: Program, locale: Path) -> None:
    folder = program.home / ".dogu"
    folder.mkdir()
    (folder / "settings.json").write_text('{"tools": {"exclude": 5}, "modle": 1, "ui": {"them": "dark"}}')
    assert untranslated(run(program, locale, "tools")) == []
    (folder / "settings.json").write_text('{"tools": ')
    assert untranslated(run(program, locale, "doctor"), *_PROGRAMS) == []


def test_a_session_shown_exported_and_undone(program: Program, locale: Path) -> None:
    (program.root / "a.txt").write_text("one\n")
    edit = call("replace", file_path=str(program.root / "a.txt"), old_string="one", new_string="two")
    with FakeGemini([Turn(calls=[edit]), Turn(text="⟦Done.⟧")]) as server:
        environ = {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        run(program, locale, "-p", "⟦Change it.⟧", "--approval-mode", "auto_edit", **environ)
    assert untranslated(run(program, locale, "sessions", "list")) == []
    assert untranslated(run(program, locale, "sessions", "show")) == []
    assert untranslated(run(program, locale, "sessions", "verify")) == []
    page = run(program, locale, "sessions", "export", "--format", "html", "--output", "-")
    body = re.sub(r"<(style|script)>.*?</\1>", "", page.partition("<body>")[2], flags=re.DOTALL)
    assert untranslated(re.sub(r"<[^>]*>", "\n", body), *_FOR_MODELS) == []
    assert untranslated(run(program, locale, "undo")) == []
    assert untranslated(run(program, locale, "undo")) == []


def test_a_turn_in_the_terminal_with_a_diff_and_an_error(program: Program, locale: Path) -> None:
    (program.root / "a.txt").write_text("one\n")
    edit = call("replace", file_path=str(program.root / "a.txt"), old_string="one", new_string="two")
    run_it = call("run_shell_command", command="exit 3")
    with FakeGemini([Turn(calls=[edit]), Turn(calls=[run_it]), Turn(text="⟦Finished.⟧")]) as server:
        environ = {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url, "NO_COLOR": "1"}
        child = pexpect.spawn(
            sys.executable,
            [*words_for(locale), "--lang", "pseudo"],
            cwd=str(program.root),
            env=program.environ(PROMPT_TOOLKIT_NO_CPR="1", **environ),
            encoding="utf-8",
            timeout=20,
            dimensions=(50, 200),
        )
        seen: list[str] = []

        def until(pattern: str) -> None:
            child.expect(pattern)
            seen.append(str(child.before) + str(child.after))

        try:
            until("›")
            for wish in _MISTAKES:
                child.send(f"{wish}\r")
                until("›")
                until("›")
            child.send("⟦Change it.⟧\r")
            until(r"\(s\)")
            child.send("y")
            until(r"\(s\)")
            child.send("y")
            until("Finished")
            until("›")
            for wish in ("/help", "/keys", "/tools", "/mode wild", "/nothing", "/stats", "/undo"):
                child.send(f"{wish}\r")
                until("›")
                until("›")
        finally:
            child.close(force=True)
    text = _ESCAPES.sub("", "".join(seen)).replace("\r", "")
    assert untranslated(text, "Esc Esc", *_MISTAKES, *_TOOLS) == []


def test_the_root_that_is_none(program: Program, locale: Path) -> None:
    gone = os.path.join(program.root, "gone")
    assert untranslated(run(program, locale, "tools", "--root", gone)) == []
