"""Answers and calls on the screen, at three widths: Markdown as it streams, the live line, results that open."""

from __future__ import annotations

import re

import pytest
from inline_snapshot import snapshot

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.conftest import Panes
from e2e.program import Program
from e2e.screens import at_prompt

MARKDOWN = """# 見出し Heading

A paragraph with **bold**, `code` and a [link](https://example.com/a/long/path). 日本語の文章も混ぜます。とても長いので折り返します。

- one
- two with a long text that needs more than forty columns to stand
  1. 一つ目
- 三つ目

| name | 値 |
|---|---|
| alpha | 1 |
| 日本 | 2 |

```python
def f(x):
    return x  # コメント
```

> quoted

The end.
"""
THOUGHT = "I think about it.\nAnd again.\nA third line.\nA fourth one.\nA fifth one."


def answers(program: Program) -> dict[str, Turn]:
    path = str(program.root / "設定" / "読み込み.py")
    missing = str(program.root / "a/folder/with/a/long/name/that/is/not/there/missing.txt")
    count = "seq 1 30; echo 最後の行 >&2; exit 3"
    return {
        "markdown": Turn(text=MARKDOWN, pieces=60, thought=THOUGHT),
        "calls": Turn(
            text="I look at it.",
            calls=[
                call("read_file", path=path),
                call("replace", file_path=path, old_string="nothing of this", new_string="x"),
                call("read_file", path=missing),
                call("run_shell_command", command=count, description="Count"),
                call("glob", pattern="**/*.py"),
            ],
        ),
        "wait": Turn(calls=[call("run_shell_command", command="echo started; until [ -e go ]; do sleep 0.05; done")]),
        "slowly": Turn(text="slowly " * 12, pieces=24, pace_s=0.05),
    }


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_answers_and_calls(short_program: Program, panes: Panes, columns: int) -> None:
    program = short_program
    (program.root / "設定").mkdir()
    (program.root / "設定" / "読み込み.py").write_text("値 = 1\n" * 9)
    turns = answers(program)

    def answer(request: GeminiRequest) -> Turn:
        # The model is also asked to repair the edit that fails.
        return Turn(text="Over.") if request.responses else turns.get(request.prompt, Turn(text="I can't."))

    with FakeGemini(answer) as server:
        pane = panes(program, server, "--approval-mode", "yolo", columns=columns, rows=40, NO_COLOR="1")

        pane.say("markdown")
        pane.until("The end.")
        pane.until(at_prompt)
        assert (
            pane.since("› markdown")
            == snapshot(
                {
                    40: """\
› markdown

∴ I think about it.  (/open 1)

見出し Heading

A paragraph with bold, code and a link
(https://example.com/a/long/path). 日本
語の文章も混ぜます。とても長いので折り返
します。

 • one
 • two with a long text that needs more
   than forty columns to stand
    1 一つ目
 • 三つ目

 name   値
 ─────────
 alpha  1
 日本   2

│ python
│ def f(x):
│     return x  # コメント

▌ quoted

The end.

›
  gemini-2.5-pro · yolo
""",
                    80: """\
› markdown

∴ I think about it.  (/open 1)

見出し Heading

A paragraph with bold, code and a link (https://example.com/a/long/path). 日本語
の文章も混ぜます。とても長いので折り返します。

 • one
 • two with a long text that needs more than forty columns to stand
    1 一つ目
 • 三つ目

 name   値
 ─────────
 alpha  1
 日本   2

│ python
│ def f(x):
│     return x  # コメント

▌ quoted

The end.

›
  gemini-2.5-pro · yolo
""",
                    200: """\
› markdown

∴ I think about it.  (/open 1)

見出し Heading

A paragraph with bold, code and a link (https://example.com/a/long/path). 日本語の文章も混ぜます。とても長いので折り返します。

 • one
 • two with a long text that needs more than forty columns to stand
    1 一つ目
 • 三つ目

 name   値
 ─────────
 alpha  1
 日本   2

│ python
│ def f(x):
│     return x  # コメント

▌ quoted

The end.

›
  gemini-2.5-pro · yolo
""",
                }
            )[columns]
        )

        pane.say("calls")
        pane.until("Over.")
        pane.until(at_prompt)
        assert (
            pane.since("› calls")
            == snapshot(
                {
                    40: """\
› calls

I look at it.
● ReadFile  設定/読み込み.py
  Read 9 lines from 設定/読み込み.py
✗ Edit  設定/読み込み.py  (/open 2)
  The text to replace wasn't found.
  Nothing was written.
✗ ReadFile
  a/folder/with/a/long/name/that/is/not/
  there/missing.txt  (/open 3)
  It wasn't found.
● Shell  seq 1 30; echo 最後の行 >&2;
  exit 3 (Count)  (/open 4)
  … 25 lines above
  26
  27
  28
  29
  30
  最後の行
  Exit code 3.
● FindFiles  '**/*.py'
  Found 1 matching file(s)

Over.

›
  gemini-2.5-pro · yolo
""",
                    80: """\
› calls

I look at it.
● ReadFile  設定/読み込み.py · Read 9 lines from 設定/読み込み.py
✗ Edit  設定/読み込み.py  (/open 2)
  The text to replace wasn't found. Nothing was written.
✗ ReadFile  a/folder/with/a/long/name/that/is/not/there/missing.txt  (/open 3)
  It wasn't found.
● Shell  seq 1 30; echo 最後の行 >&2; exit 3 (Count)  (/open 4)
  … 25 lines above
  26
  27
  28
  29
  30
  最後の行
  Exit code 3.
● FindFiles  '**/*.py' · Found 1 matching file(s)

Over.

›
  gemini-2.5-pro · yolo
""",
                    200: """\
› calls

I look at it.
● ReadFile  設定/読み込み.py · Read 9 lines from 設定/読み込み.py
✗ Edit  設定/読み込み.py  (/open 2)
  The text to replace wasn't found. Nothing was written.
✗ ReadFile  a/folder/with/a/long/name/that/is/not/there/missing.txt  (/open 3)
  It wasn't found.
● Shell  seq 1 30; echo 最後の行 >&2; exit 3 (Count)  (/open 4)
  … 25 lines above
  26
  27
  28
  29
  30
  最後の行
  Exit code 3.
● FindFiles  '**/*.py' · Found 1 matching file(s)

Over.

›
  gemini-2.5-pro · yolo
""",
                }
            )[columns]
        )

        pane.keys("C-o")  # the last that is folded
        pane.until("\n1\n2\n3\n")
        pane.say("/open 1")
        pane.until("A fifth one.")
        pane.say("/open 77")
        pane.until("There is no result 77")

        pane.say("wait")
        pane.until("  started")
        assert (
            pane.since("› wait")
            == snapshot(
                {
                    40: """\
› wait

⠿ Shell  echo starte…ep 0.05; done
  started
Running · Esc cancels

›
  gemini-2.5-pro · yolo
""",
                    80: """\
› wait

⠿ Shell  echo started; until [ -e go ]; do sleep 0.05; done
  started
Running · Esc cancels

›
  gemini-2.5-pro · yolo
""",
                    200: """\
› wait

⠿ Shell  echo started; until [ -e go ]; do sleep 0.05; done
  started
Running · Esc cancels

›
  gemini-2.5-pro · yolo
""",
                }
            )[columns]
        )
        (program.root / "go").touch()
        pane.until(at_prompt)

        pane.say("slowly")
        pane.until(lambda text: re.search(r"slowly slowly[\s\S]*Answering · \d+ s · Esc", text) is not None)
        text = pane.until(at_prompt)
        assert text.partition("› slowly")[2].count("slowly") == 12
        assert "Answering" not in text, "nothing of the live line is left"
