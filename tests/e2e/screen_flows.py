"""What a user does at the terminal, as a table: the keys of each flow, and the sentences they bring onto the screen.

A sentence is written in English, as in the catalogs, and awaited in the screen's own language; what stands in its braces
may be anything. What is no sentence of ours is awaited as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dogu.testing.fake_gemini import GeminiRequest
from dogu.testing.turn import Call, Turn, call
from e2e.program import Program

ESC, UP, DOWN, BACK = "\x1b", "\x1b[A", "\x1b[B", "\x7f"
MOVE = "↑↓ move, Enter picks, Esc cancels"
SEARCH = "↑↓ move, type to search, Enter picks, Esc cancels"
SOME = "↑↓ move, Space picks, Enter finishes, Esc cancels"
FIRST = "↑↓ move, Enter picks; or just type what you want done"
CHANGED = "Nothing was changed."


@dataclass(frozen=True)
class Step:
    """Keys, what they bring, and what no longer stands then.

    `is_asked`: a question stands, with its title and what keys do.
    """

    keys: str
    awaited: Sequence[str] = ()
    gone: Sequence[str] = ()
    is_asked: bool = False


@dataclass(frozen=True)
class Flow:
    """Steps from the empty input box to the empty input box."""

    name: str
    steps: Sequence[Step]


def _flow(name: str, *steps: Step) -> Flow:
    return Flow(name, steps)


def _does(keys: str, *awaited: str, gone: Sequence[str] = ()) -> Step:
    return Step(keys, awaited, gone)


def _asks(keys: str, *awaited: str) -> Step:
    return Step(keys, awaited, is_asked=True)


def _clears(keys: str) -> Step:
    """Whatever opened, and what was typed, goes."""
    return Step(keys, ("›",), (MOVE, SEARCH, "Search:", "Not found:"))


_TABLE = """# 見出し1

∴2 は **3** と `4` です。

- 一つ目
- 二つ目はとても長いので四十桁の端末では折り返されて次の行へ続きます

| 名前 | 値 |
|---|---:|
| alpha | 1 |
| 日本 | 2222 |

```python
def f(x): return x
```

末尾9"""
_LONG = "".join(f"行{n}\n" for n in range(120))
_TODOS = [{"description": "見る1", "status": "completed"}, {"description": "直す2", "status": "in_progress"}]
_OPTIONS = [{"label": "青1", "description": "空2"}, {"label": "赤3", "description": "火4"}]
_ONE, _SOME = ({"question": f"色{n}？", "options": _OPTIONS, "multi_select": n > 1} for n in (1, 2))

_CALLS: Mapping[str, Sequence[Call]] = {
    "edit": [call("replace", file_path="a.txt", old_string="一", new_string="二")],
    "long": [call("write_file", file_path="long.txt", content=_LONG)],
    "cmd": [call("run_shell_command", command="seq 3")],
    "fails": [call("run_shell_command", command="seq 40; exit 3"), call("read_file", file_path="none.txt")],
    "danger": [call("run_shell_command", command="rm -rf build && git push --force")],
    "one": [call("ask_user", questions=[_ONE])],
    "some": [call("ask_user", questions=[_SOME])],
    "plan": [call("write_todos", todos=_TODOS)],
    "job": [call("run_shell_command", command="echo job7 & sleep 1000")],
    "slow": [call("run_shell_command", command="seq -f line-%g 9; sleep 1000")],
}
_TURNS: Mapping[str, Turn] = {
    "table": Turn(text=_TABLE, thought="**色1**\n\n考え2\n\n**形3**\n\n考え4", pieces=9),
    "hang": Turn(hangs=True),
    "tokens": Turn(fault="max-tokens"),
    "quota": Turn(fault="e429-quota"),
}


class Model:
    """The scripted model: a word asks for a call, a fault or a text. `cut` and `busy` go well the second time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._failed: set[str] = set()

    def __call__(self, request: GeminiRequest) -> Turn:
        prompt = str(request.contents[-1]["parts"][-1].get("text", ""))  # what was cancelled stands before it
        if request.responses and not prompt:
            return Turn(text="終2")
        if prompt.startswith("Write the context file AGENTS.md"):
            return Turn(calls=[self._located(call("write_file", file_path="AGENTS.md", content="# 店1\n"))])
        if prompt in ("cut", "busy") and prompt not in self._failed:
            self._failed.add(prompt)
            return Turn(fault="cut-mid-stream" if prompt == "cut" else "e503")
        if prompt.startswith("[Your answer was cut"):
            return Turn(text="続3")
        if prompt in _CALLS:
            return Turn(calls=[self._located(each) for each in _CALLS[prompt]])
        return _TURNS.get(prompt, Turn(text=f"答1-{prompt}"))

    def _located(self, each: Call) -> Call:
        """Name the file from the root on, as a model does."""
        name = each.args.get("file_path")
        return call(each.name, **{**each.args, "file_path": str(self._root / name)}) if name else each


def furnish(program: Program) -> None:
    """Put into the workspace and the settings what the flows need."""
    (program.root / "a.txt").write_text("一\n")
    (program.root / "build").mkdir()
    program.settle(
        '{"tools": {"sandbox": "off"}, "ui": {"statusLine": ["jobs", "model", "mode"]}, '
        '"mcpServers": {"broken": {"command": "false"}}}'
    )


_ANSWERS = ("Yes", "Always", "Edit first", "No", "No, and say why", "Stop", MOVE)

FLOWS: Sequence[Flow] = (
    _flow("an answer with a table, code and a thought", _does("table\r", "末尾9", "(/open {number})")),
    _flow(
        "a change, by arrows and Enter",
        _asks("edit\r", "Change {path}?", *_ANSWERS),
        _does(DOWN + DOWN + UP + UP + "\r", "Yes.", "終2"),
    ),
    _flow(
        "a long file is folded under its title, and opened",
        _asks("long\r", "Create {path}?", "Show all of it", *_ANSWERS),
        _asks("o", "行60", "行119", "Create {path}?", MOVE),
        _does("n", "No.", "declined, nothing was written"),
    ),
    _flow("a command, by a digit", _asks("cmd\r", "Run this command?", *_ANSWERS), _does("1", "Yes.", "終2")),
    _flow("a command, by Esc", _asks("cmd\r", "Run this command?", *_ANSWERS), _does(ESC, "Stop.")),
    _flow(
        "a reason",
        _asks("cmd\r", "Run this command?", *_ANSWERS),
        _does("r", "Reason:"),
        _does("理由1\r", "No: {reason}", "終2"),
    ),
    _flow(
        "danger is told, and Enter says no",
        _asks("danger\r", "Run this command?", "Deletes {what}", "Yes", "Edit first", "No", "Stop", MOVE),
        _does("\r", "No.", "終2"),
    ),
    _flow(
        "a failure and a long output, opened",
        _asks("fails\r", "Run this command?"),
        _does("y", "Yes.", "none.txt", "終2"),
        _does("\x0f", "none.txt"),
    ),
    _flow("a question of the model", _asks("one\r", "色1？", MOVE), _does(DOWN + "\r", "赤3", "終2")),
    _flow(
        "a question with several answers",
        _asks("some\r", "色2？", SOME),
        _does(f" {DOWN} \r", "青1, 赤3", "終2"),
    ),
    _flow("a plan", _does("plan\r", "終2"), _does("\x14", "見る1", "直す2"), _does("\x14", gone=("▶ 直す2\n›",))),
    _flow("a stream that is cut", _does("cut\r", "{reason} Tried again: {count}", "答1-cut")),
    _flow("a model that is busy", _does("busy\r", "答1-busy")),
    _flow("the model's limit", _does("tokens\r", "The answer was cut at the limit of output tokens.")),
    _flow(
        "a quota",
        _does("quota\r", "You exceeded your current quota.", "› quota"),
        _does("\x15", gone=("\n› quota\n  ",)),
    ),
    _flow(
        "what waits comes back",
        _does("hang\r", "Esc cancels"),
        _does("first1\r", "⏎ first1"),
        _does("second2\r", "⏎ second2"),
        _does(UP, "› second2"),
        _does(ESC, "Cancelled. Changes already made are kept."),
        _does("\x03", "Cleared; ↑ brings it back."),
    ),
    _flow(
        "a command goes on in the background",
        _asks("slow\r", "Run this command?"),
        _does("y", "line-9", "Running"),
        _does("\x02", "Moved to the background; /jobs shows it.", "終2"),
    ),
    _flow(
        "/jobs",
        _does("/jobs\r", "seq -f", MOVE),
        _does("\r", "stop it", MOVE),
        _does(DOWN + "\r", "Stopped: {command}"),
    ),
    _flow(
        "the modes",
        _does("\x1b[Z", "· auto_edit"),
        _does("\x1b[Z", "· plan"),
        _does("\x1b[Z", "· default"),
        _does("/mode\r", "asks before anything is changed or run", MOVE),
        _does(ESC, CHANGED),
    ),
    _flow(
        "the keys",
        _does("?", "Ctrl-R", "show or hide the plan"),
        _does("x", "› x", gone=("Ctrl-R",)),
        _does(BACK, "›", gone=("› x",)),
        _does("/keys\r", "!command"),
    ),
    _flow(
        "earlier input is searched",
        _does("\x12", "Search:"),
        _does("tab", "› table"),
        _does("zzz", "Not found:"),
        _clears(ESC),
    ),
    _flow(
        "completion",
        _does("/re", "/rename", "/rewind"),
        _does(ESC, gone=("/rename",)),
        _does("\x15@a", "a.txt"),
        _does("\x15", "›", gone=("› @a",)),
    ),
    _flow("/help", _does("/help\r", "@path", "reads a file into your prompt")),
    _flow("/tools", _does("/tools\r", "run_shell_command", "runs a command")),
    _flow("/stats", _does("/stats\r", "gemini-2.5-pro")),
    _flow("/model", _does("/model\r", "gemini-2.5-flash", MOVE), _does(ESC, gone=(MOVE,))),
    _flow("/theme", _does("/theme\r", "for a dark background", MOVE), _does(DOWN + "\r", "ui.theme")),
    _flow("/settings", _does("/settings\r", "Search:", SEARCH), _does("theme", "ui.theme"), _does(ESC, CHANGED)),
    _flow("/mcp", _does("/mcp\r", "broken", MOVE), _does(ESC, CHANGED)),
    _flow(
        "/agents", _does("/agents\r", "No helpers yet. Ask for some, such as “have helpers look through each folder”.")
    ),
    _flow("/rewind", _does("/rewind\r", SEARCH), _does(ESC, CHANGED)),
    _flow("/diff and /done", _does("/diff\r", "a.txt"), _does("/done\r", "a.txt")),
    _flow(
        "/copy",
        _does("/copy\r", "Sent the last answer to the terminal's clipboard (OSC 52); some terminals ignore it."),
    ),
    _flow("/export", _does("/export page.html\r", "Saved to {name}.")),
    _flow("/undo", _does("/undo\r", "a.txt")),
    _flow("/redo", _does("/redo\r", "a.txt")),
    _flow("a shell line", _does("!seq 2\r", "seq 2")),
    _flow("/trust", _does("/trust\r", "Trust this folder", MOVE), _does(ESC, CHANGED)),
    _flow(
        "Esc twice edits the last prompt",
        _does("hello\r", "答1-hello"),
        _does(ESC, "Esc again edits the last prompt."),
        _does(ESC, "Back to before turn {turn}: {prompt}", "› hello"),
        _does("\x15", gone=("\n› hello\n  ",)),
    ),
    _flow(
        "mistakes",
        _does("/nothing\r", "/nothing"),
        _does("/mode wild\r", "There is no mode {mode}. Modes: {modes}."),
        _does("/open 99\r", "99"),
        _does("/add-dir nowhere\r", "/add-dir takes an existing folder."),
        _does("/resume nothing\r", "/resume lists the sessions."),
        _does("/theme wild\r", "There is no theme {name}. Themes: {themes}."),
    ),
    _flow("/rename", _does("/rename 仕事1\r", "This session is now named {name}.")),
    _flow(
        "/new",
        _does("/new\r", "Type what you want done. /help shows commands, ? shows keys."),
        _does("again\r", "答1-again"),
    ),
    _flow("/resume", _does("/resume\r", "仕事1", MOVE), _does("\r", "Shell  seq 2")),
    _flow("/clear", _does("/clear\r", "Type what you want done. /help shows commands, ? shows keys.")),
    _flow("/init", _asks("/init\r", "Create {path}?", "Yes", "Edit first", "No"), _does("n", "No.", "終2")),
)


@dataclass(frozen=True)
class Beginning:
    """A program of its own: what is there, its words and variables, and its steps until it has ended."""

    name: str
    steps: Sequence[Step]
    words: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    prepare: Callable[[Program], object] = furnish
    is_drawn: bool = True


def _with_instructions(program: Program) -> None:
    furnish(program)
    (program.root / "AGENTS.md").write_text("店1\n")


def _with_a_change(program: Program) -> None:
    furnish(program)
    path = program.root / "a.txt"
    written = json.dumps({"file_path": str(path), "content": "二\n"})
    program.run("call", "write_file", written, "--approval-mode", "yolo")
    path.write_text("三\n")


_NO_KEY = {"GEMINI_API_KEY": "", "OLLAMA_HOST": "127.0.0.1:1"}
BEGINNINGS: Sequence[Beginning] = (
    Beginning(
        "the first run",
        (
            _does("", "Gemini, with an API key", FIRST),
            _does("1", "{title} API key (not shown):"),
            _does("key", "({count} characters, not shown)"),
            _does(ESC, "No key was entered; /connect asks again."),
            _does("/connect\r", "Stay offline", MOVE),
            _does("4", SEARCH),
            _does(ESC, CHANGED),
            _does("\x04"),
        ),
        environ=_NO_KEY,
        prepare=lambda program: program.settle('{"tools": {"sandbox": "off"}}'),
    ),
    Beginning(
        "a folder that brings instructions",
        (
            _does("", "Trust this folder", "its settings can only restrict"),
            _does("2", gone=("Not now", "dogu config trust")),
            _does("\x04"),
        ),
        prepare=_with_instructions,
    ),
    Beginning(
        "a screen that is only printed on",
        (
            _does(""),
            _does("edit\r", "Change {path}?", "Number, letter or whole answer:"),
            _does("y\r", "Yes.", "終2"),
            _does("one\r", "色1？", "Type your own answer"),
            _does("2\r", "終2"),
            _does("/keys\r", "!command"),
            _does("/rewind\r", "Number or whole answer (Enter alone: none):"),
            _does("\r", CHANGED),
            _does("\x04"),
        ),
        environ={"TERM": "dumb"},
        is_drawn=False,
    ),
    Beginning(
        "an undo from outside names the session and asks",
        (_does("", "Session {name}", "Also include what was changed since?"), _does("n\r", "Nothing was done.")),
        words=("undo",),
        prepare=_with_a_change,
        is_drawn=False,
    ),
)
