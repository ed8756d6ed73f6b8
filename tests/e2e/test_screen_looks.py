"""How it looks: connecting a model, themes, no colors, plain lines where nothing can be drawn, `dogu doctor`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.conftest import Panes
from e2e.program import PROGRAM, Program
from e2e.screens import at_prompt


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_connecting_a_model(short_program: Program, panes: Panes, columns: int) -> None:
    with FakeGemini(["Connected."], key="right-key-0123456789") as server:
        environ = {"GOOGLE_GEMINI_BASE_URL": server.base_url, "OLLAMA_HOST": "127.0.0.1:1"}
        pane = panes(short_program, None, columns=columns, rows=40, NO_COLOR="1", **environ)
        pane.until("or just type")
        assert (
            pane.since("No model")
            == snapshot(
                {
                    40: """\
No model is connected yet. Meanwhile an
offline demo model answers: it can list,
read, find, search, replace and run.

❯ 1. Gemini, with an API key
     free at
     aistudio.google.com/apikey; or
     set GEMINI_API_KEY
  2. A model on this machine
     Ollama or llama.cpp
  3. Stay offline  the demo model
  4. Another provider, with an API key
     Claude, OpenAI and more
  ↑↓ move, Enter picks; or just type
  what you want done
›
  offline
""",
                    80: """\
No model is connected yet. Meanwhile an offline demo model answers: it can list,
read, find, search, replace and run.

❯ 1. Gemini, with an API key
     free at aistudio.google.com/apikey; or set GEMINI_API_KEY
  2. A model on this machine  Ollama or llama.cpp
  3. Stay offline  the demo model
  4. Another provider, with an API key  Claude, OpenAI and more
  ↑↓ move, Enter picks; or just type what you want done
›
  offline
""",
                    200: """\
No model is connected yet. Meanwhile an offline demo model answers: it can list, read, find, search, replace and run.

❯ 1. Gemini, with an API key  free at aistudio.google.com/apikey; or set GEMINI_API_KEY
  2. A model on this machine  Ollama or llama.cpp
  3. Stay offline  the demo model
  4. Another provider, with an API key  Claude, OpenAI and more
  ↑↓ move, Enter picks; or just type what you want done
›
  offline
""",
                }
            )[columns]
        )
        pane.keys("1")
        pane.until("Gemini API key (not shown):")
        pane.paste("wrong-key-0123456789")
        pane.until("(20 characters, not shown)")
        pane.keys("Enter")
        pane.until("Gemini refused this key")
        pane.until(lambda text: text.rstrip().endswith("offline") and text.count("(not shown):") == 1)
        pane.paste("right-key-0123456789")
        pane.until("(20 characters, not shown)")
        pane.keys("Enter")
        pane.until(lambda text: text.rstrip().endswith("gemini-2.5-pro"))
        pane.say("hello")
        pane.until("Connected.")
        pane.say("/model")
        pane.until(lambda text: "❯ 1. gemini-2.5-pro" in text and "2. gemini-2.5-flash" in text)
        pane.keys("Escape")
        pane.until(at_prompt)
        pane.say("/model offline")
        pane.until(lambda text: text.rstrip().endswith("offline"))
        assert "0123456789" not in pane.text


CHANGE = ("one = 1\nkept = 'きのう'\n", "one = 1\nkept = 'きょう'\n")
COLORS = re.compile(r"\x1b\[[0-9;]*?(?:3[0-8]|4[0-8]|9[0-7])[;m]")


@pytest.mark.parametrize(
    ("look", "added"),
    [({"COLORFGBG": "15;0"}, "48;5;28"), ({"COLORFGBG": "0;15"}, "48;5;157"), ({"NO_COLOR": "1"}, "")],
    ids=["dark", "light", "none"],
)
def test_a_diff_in_the_terminal_s_colors(program: Program, panes: Panes, look: dict[str, str], added: str) -> None:
    path = program.root / "設定.py"
    path.write_text(CHANGE[0])
    write = call("write_file", file_path=str(path), content=CHANGE[1])
    with FakeGemini([Turn(calls=[write]), Turn(text="# Title\n\n**bold** `code`\n\nOver.")]) as server:
        pane = panes(program, server, **look)
        pane.say("go")
        pane.until("(s)")
        changed = next(line for line in pane.painted.split("\n") if line.endswith("きょう'") or "きょう" in line)
        assert (added in changed) if added else ("\x1b" not in changed)
        pane.keys("y")
        pane.until("Over.")
        pane.until(at_prompt)
        assert bool(COLORS.search(pane.painted)) is bool(added)
        pane.say("/theme light")
        pane.until("Theme: light.")


def answer(path: Path) -> object:
    def turn(request: GeminiRequest) -> Turn:
        if request.responses:
            return Turn(text="Edited, 終わりました。")
        return Turn(text="I *edit*.", calls=[call("replace", file_path=str(path), old_string="one", new_string="二")])

    return turn


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("way", ["dumb", "reader"])
def test_where_nothing_can_be_drawn_there_are_plain_lines(
    short_program: Program, panes: Panes, columns: int, way: str
) -> None:
    path = short_program.root / "a.txt"
    path.write_text("one\n")
    with FakeGemini(answer(path)) as server:  # pyright: ignore[reportArgumentType]  (a function that answers)
        words, environ = (["--screen-reader"], {}) if way == "reader" else ([], {"TERM": "dumb"})
        pane = panes(short_program, server, *words, columns=columns, rows=40, NO_COLOR="1", **environ)
        pane.until(lambda text: text.rstrip().endswith("›"))
        pane.type("change it")
        pane.keys("Enter")
        pane.until("(s)")
        pane.type("yes")
        pane.keys("Enter")
        pane.until("終わりました。")
        pane.type("/keys")
        pane.keys("Enter")
        pane.until("!command")
        pane.keys("C-d")
        assert pane.ended() == 0
        shown = pane.since("› change it").partition("› /keys")[0]
    assert path.read_text() == "二\n"
    assert (
        shown
        == snapshot(
            {
                80: """\
› change it
I *edit*.
? Change a.txt?
1 -one
1 +二
  1. Yes (y)
  2. Always (a): replace, for this session
  3. Edit first (e)
  4. No (n)
  5. No, and say why (r)
  6. Stop (s)
Number, letter or whole answer: yes
  Yes.
● Edit  a.txt: one => 二  (/open 1)
  +1 -1
Edited, 終わりました。
""",
                200: """\
› change it
I *edit*.
? Change a.txt?
1 -one
1 +二
  1. Yes (y)
  2. Always (a): replace, for this session
  3. Edit first (e)
  4. No (n)
  5. No, and say why (r)
  6. Stop (s)
Number, letter or whole answer: yes
  Yes.
● Edit  a.txt: one => 二  (/open 1)
  +1 -1
Edited, 終わりました。
""",
                40: """\
› change it
I *edit*.
? Change a.txt?
1 -one
1 +二
  1. Yes (y)
  2. Always (a): replace, for this
     session
  3. Edit first (e)
  4. No (n)
  5. No, and say why (r)
  6. Stop (s)
Number, letter or whole answer: yes
  Yes.
● Edit  a.txt: one => 二  (/open 1)
  +1 -1
Edited, 終わりました。
""",
            }
        )[columns]
    )


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_doctor(program: Program, panes: Panes, columns: int) -> None:
    pane = panes(program, None, command=[*PROGRAM, "doctor"], columns=columns, rows=60, NO_COLOR="1")
    assert pane.ended() in (0, 1)
    lines = pane.text.partition("Pane is dead")[0].rstrip().split("\n")
    checks = [line for line in lines if line[:1] in ("✔", "!", "✘")]
    assert [line.split()[1] for line in checks][:2] == ["system", "model"]
    assert {"ripgrep", "terminal", "settings", "sandbox"} <= {line.split()[1] for line in checks}
    assert f"tmux-256color, UTF-8, {columns} columns" in " ".join(" ".join(lines).split())
    assert all(line[:1] in ("✔", "!", "✘", "") or line.startswith("  ") for line in lines)
    advice = [line.strip() for line in lines if "→" in line]
    assert any(line.startswith("→ Start `dogu`") for line in advice[:2]), advice  # the second but on Linux
