"""Questions on the screen, at three widths: the diff, once, always, edited, no with a reason, stop; several in order."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.conftest import Panes
from e2e.program import Program
from e2e.screens import Tmux, at_prompt

BEFORE = '挨拶 = "こんにちは世界"\n名前 = "世界の皆さん、おはようございます。今日もよろしくお願いします。"\n'


def turns_of(program: Program) -> dict[str, Turn]:
    path = str(program.root / "設定ファイル.py")
    return {
        "edit": Turn(
            text="I edit.",
            calls=[call("replace", file_path=path, old_string="こんにちは世界", new_string="さようなら世界")],
        ),
        "several": Turn(
            calls=[
                *(call("write_file", file_path=str(program.root / f"{n}.txt"), content=f"{n}\n") for n in range(4)),
                call("run_shell_command", command="rm -dv build && git push --quiet origin main", directory="src"),
                call("run_shell_command", command="echo listed; echo 日本"),
            ]
        ),
        "stop": Turn(calls=[call("run_shell_command", command="touch stopped")]),
    }


def asked(pane: Tmux, title: str) -> None:
    """Wait until the question of that title takes keys."""
    pane.until(lambda text: f"? {title}" in text and "(s)" in text.rpartition(f"? {title}")[2])


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_questions(short_program: Program, panes: Panes, columns: int) -> None:
    program = short_program
    program.settle('{"tools": {"sandbox": "off"}}')  # which one there is differs by machine
    (program.root / "src").mkdir()
    (program.root / "設定ファイル.py").write_text(BEFORE)
    editor = program.home / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i s/さようなら/またね/ "$1"\n')
    editor.chmod(0o755)
    turns = turns_of(program)

    def answer(request: GeminiRequest) -> Turn:
        return Turn(text="Over.") if request.responses else turns[request.prompt]

    with FakeGemini(answer) as server:
        pane = panes(program, server, columns=columns, rows=40, NO_COLOR="1", EDITOR=str(editor))

        pane.say("edit")
        asked(pane, "Change")
        assert pane.title == "? dogu"
        assert (
            pane.since("› edit")
            == snapshot(
                {
                    40: """\
› edit

I edit.

? Change 設定ファイル.py?
1 -挨拶 = "こんにちは世界"
1 +挨拶 = "さようなら世界"
2  名前 = "世界の皆さん、おはようござい
 ↳ます。今日もよろしくお願いします。"

❯ 1. Yes (y)
  2. Always (a)
     replace, for this session
  3. Edit first (e)
  4. No (n)
  5. No, and say why (r)
  6. Stop (s)
  ↑↓ move, Enter picks, Esc cancels
›
  gemini-2.5-pro
""",
                    80: """\
› edit

I edit.

? Change 設定ファイル.py?
1 -挨拶 = "こんにちは世界"
1 +挨拶 = "さようなら世界"
2  名前 = "世界の皆さん、おはようございます。今日もよろしくお願いします。"

❯ 1. Yes (y)
  2. Always (a)  replace, for this session
  3. Edit first (e)
  4. No (n)
  5. No, and say why (r)
  6. Stop (s)
  ↑↓ move, Enter picks, Esc cancels
›
  gemini-2.5-pro
""",
                    200: """\
› edit

I edit.

? Change 設定ファイル.py?
1 -挨拶 = "こんにちは世界"
1 +挨拶 = "さようなら世界"
2  名前 = "世界の皆さん、おはようございます。今日もよろしくお願いします。"

❯ 1. Yes (y)
  2. Always (a)  replace, for this session
  3. Edit first (e)
  4. No (n)
  5. No, and say why (r)
  6. Stop (s)
  ↑↓ move, Enter picks, Esc cancels
›
  gemini-2.5-pro
""",
                }
            )[columns]
        )
        pane.keys("e")
        pane.until("Over.")
        pane.until(at_prompt)
        assert (
            pane.since("  Yes, as edited.")
            == snapshot(
                {
                    40: """\
  Yes, as edited.
● Edit  設定ファイル.py: 挨拶 = "こんに
  ちは世界" => 挨拶 = "またね世界"
   (/open 1)
  +1 -1

Over.

›
  gemini-2.5-pro
""",
                    80: """\
  Yes, as edited.
● Edit  設定ファイル.py: 挨拶 = "こんにちは世界" => 挨拶 = "またね世界"
   (/open 1)
  +1 -1

Over.

›
  gemini-2.5-pro
""",
                    200: """\
  Yes, as edited.
● Edit  設定ファイル.py: 挨拶 = "こんにちは世界" => 挨拶 = "またね世界"  (/open 1)
  +1 -1

Over.

›
  gemini-2.5-pro
""",
                }
            )[columns]
        )
        assert (program.root / "設定ファイル.py").read_text() == BEFORE.replace("こんにちは", "またね")

        pane.say("several")
        asked(pane, "Create 0.txt")
        pane.keys("n")
        asked(pane, "Create 1.txt")
        pane.keys("y")
        asked(pane, "Create 2.txt")
        pane.keys("a")
        asked(pane, "Run")
        assert (
            pane.since("? Run")
            == snapshot(
                {
                    200: """\
? Run this command?
rm -dv build && git push --quiet origin main
in /tmp/dogu-project/src
No sandbox: it can change and reach whatever you can.
! Deletes build
! Sends commits to origin main

  1. Yes (y)
  2. Always (a)  `rm -dv build` as it is, `git push --quiet origin main` as it is, in this folder from now on
  3. Edit first (e)
❯ 4. No (n)
  5. No, and say why (r)
  6. Stop (s)
  ↑↓ move, Enter picks, Esc cancels
›
  gemini-2.5-pro
""",
                    40: """\
? Run this command?
rm -dv build && git push --quiet origin
main
in /tmp/dogu-project/src
No sandbox: it can change and reach
whatever you can.
! Deletes build
! Sends commits to origin main

  1. Yes (y)
  2. Always (a)
     `rm -dv build` as it is, `git
     push --quiet origin main` as it
     is, in this folder from now on
  3. Edit first (e)
❯ 4. No (n)
  5. No, and say why (r)
  6. Stop (s)
  ↑↓ move, Enter picks, Esc cancels
›
  gemini-2.5-pro
""",
                    80: """\
? Run this command?
rm -dv build && git push --quiet origin main
in /tmp/dogu-project/src
No sandbox: it can change and reach whatever you can.
! Deletes build
! Sends commits to origin main

  1. Yes (y)
  2. Always (a)
     `rm -dv build` as it is, `git push --quiet origin main` as it is, in this
     folder from now on
  3. Edit first (e)
❯ 4. No (n)
  5. No, and say why (r)
  6. Stop (s)
  ↑↓ move, Enter picks, Esc cancels
›
  gemini-2.5-pro
""",
                }
            )[columns]
        )
        pane.keys("r")
        pane.until("Reason:")
        pane.type("だめです")
        pane.until("Reason: だめです")
        pane.keys("Enter")
        pane.until(lambda text: "(s)" in text.rpartition("No: だめです")[2] and "No: だめです" in text)
        pane.keys("y")
        pane.until(lambda text: "Over." in text.rpartition("? Run this command?")[2])
        pane.until(at_prompt)
        assert (
            pane.since("› several")
            == snapshot(
                {
                    200: """\
› several

? Create 0.txt?
1 +0
  No.
■ WriteFile  0.txt · declined, nothing was written

? Create 1.txt?
1 +1
  Yes.
● WriteFile  Writing to 1.txt  (/open 2)
  +1 -0

? Create 2.txt?
1 +2
  Yes, always.
● WriteFile  Writing to 2.txt  (/open 3)
  +1 -0
● WriteFile  Writing to 3.txt  (/open 4)
  1 +3

? Run this command?
rm -dv build && git push --quiet origin main
in /tmp/dogu-project/src
No sandbox: it can change and reach whatever you can.
! Deletes build
! Sends commits to origin main
  No: だめです
■ Shell  rm -dv build && git push --quiet origin main · declined, nothing was run

? Run this command?
echo listed; echo 日本
in /tmp/dogu-project
No sandbox: it can change and reach whatever you can.
  Yes.
● Shell  echo listed; echo 日本
  listed
  日本

Over.

›
  gemini-2.5-pro
""",
                    40: """\
› several

? Create 0.txt?
1 +0
  No.
■ WriteFile  0.txt
  · declined, nothing was written

? Create 1.txt?
1 +1
  Yes.
● WriteFile  Writing to 1.txt  (/open 2)
  +1 -0

? Create 2.txt?
1 +2
  Yes, always.
● WriteFile  Writing to 2.txt  (/open 3)
  +1 -0
● WriteFile  Writing to 3.txt  (/open 4)
  1 +3

? Run this command?
rm -dv build && git push --quiet origin
main
in /tmp/dogu-project/src
No sandbox: it can change and reach
whatever you can.
! Deletes build
! Sends commits to origin main
  No: だめです
■ Shell  rm -dv build && git push
  --quiet origin main
  · declined, nothing was run

? Run this command?
echo listed; echo 日本
in /tmp/dogu-project
No sandbox: it can change and reach
whatever you can.
  Yes.
● Shell  echo listed; echo 日本
  listed
  日本

Over.

›
  gemini-2.5-pro
""",
                    80: """\
› several

? Create 0.txt?
1 +0
  No.
■ WriteFile  0.txt · declined, nothing was written

? Create 1.txt?
1 +1
  Yes.
● WriteFile  Writing to 1.txt  (/open 2)
  +1 -0

? Create 2.txt?
1 +2
  Yes, always.
● WriteFile  Writing to 2.txt  (/open 3)
  +1 -0
● WriteFile  Writing to 3.txt  (/open 4)
  1 +3

? Run this command?
rm -dv build && git push --quiet origin main
in /tmp/dogu-project/src
No sandbox: it can change and reach whatever you can.
! Deletes build
! Sends commits to origin main
  No: だめです
■ Shell  rm -dv build && git push --quiet origin main
  · declined, nothing was run

? Run this command?
echo listed; echo 日本
in /tmp/dogu-project
No sandbox: it can change and reach whatever you can.
  Yes.
● Shell  echo listed; echo 日本
  listed
  日本

Over.

›
  gemini-2.5-pro
""",
                }
            )[columns]
        )
        assert sorted(path.name for path in program.root.glob("*.txt")) == ["1.txt", "2.txt", "3.txt"]

        pane.say("stop")
        asked(pane, "Run")
        pane.keys("C-c")
        pane.until("Stopped.")
        pane.until(at_prompt)
        assert not (program.root / "stopped").exists()
