"""What is typed, at three widths: lines, pastes, completion, help, a shell line, the queue, Ctrl-C, the history."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.conftest import Panes
from e2e.program import Program
from e2e.screens import Tmux, at_prompt


def answer(request: GeminiRequest) -> Turn:
    if request.prompt.startswith("wait") and not request.responses:
        return Turn(calls=[call("run_shell_command", command="echo started; until [ -e go ]; do sleep 0.05; done")])
    return Turn(text=f"Heard {len(request.prompt)} characters in {request.prompt.count(chr(10)) + 1} lines.")


def cleared(pane: Tmux) -> None:
    pane.keys("C-e", "C-u")
    pane.until(at_prompt)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_input_box(short_program: Program, panes: Panes, columns: int) -> None:
    program = short_program
    (program.root / "資料 その一").mkdir()
    (program.root / "資料 その一" / "読む.txt").write_text("中身\n")
    with FakeGemini(answer) as server:
        pane = panes(program, server, columns=columns, rows=30, NO_COLOR="1")
        pane.until(at_prompt)

        pane.type("one, which is a line longer than forty columns")
        pane.keys("M-Enter")
        pane.type("二行目は日本語です\\")
        pane.keys("Enter")
        pane.type("three")
        pane.until("  three")
        assert (
            pane.since("› one")
            == snapshot(
                {
                    40: """\
› one, which is a line longer than forty
   columns
  二行目は日本語です
  three
  gemini-2.5-pro
""",
                    80: """\
› one, which is a line longer than forty columns
  二行目は日本語です
  three
  gemini-2.5-pro
""",
                    200: """\
› one, which is a line longer than forty columns
  二行目は日本語です
  three
  gemini-2.5-pro
""",
                }
            )[columns]
        )
        assert pane.cursor[0] == len("  three")
        pane.keys("Enter")
        pane.until("Heard 62 characters in 3 lines.")

        pane.until(at_prompt)
        pane.paste("\n".join(f"line {n}" for n in range(120)))
        pane.until("› [Pasted text #1: 120 lines]")
        pane.keys("Enter")
        pane.until("in 120 lines.")

        pane.until(at_prompt)
        pane.type("look at @読")
        pane.until("資料 その一/読む.txt")
        assert (
            pane.since("› look at")
            == snapshot(
                {
                    40: """\
› look at @読
  資料 その一/読む.txt
  gemini-2.5-pro
""",
                    80: """\
› look at @読
  資料 その一/読む.txt
  gemini-2.5-pro
""",
                    200: """\
› look at @読
  資料 その一/読む.txt
  gemini-2.5-pro
""",
                }
            )[columns]
        )
        pane.keys("Tab")
        pane.until('› look at @"資料 その一/読む.txt"')
        pane.keys("Enter")
        pane.until(lambda text: "中身" in server.requests[-1].raw.decode() and at_prompt(text))

        pane.type("/")
        pane.until("/connect")
        assert (
            pane.since("› /")
            == snapshot(
                {
                    40: """\
› /
  /help      show help
  /tools     show the model's tools
  /mode      show or set the approval…
  /model     show or change the model
  /connect   connect a model: a key, …
  /init      have the model write an …
  /settings  show and change the sett…
  /jobs      show background jobs
  1/32
  gemini-2.5-pro
""",
                    80: """\
› /
  /help      show help
  /tools     show the model's tools
  /mode      show or set the approval mode: default, auto_edit, plan, yolo
  /model     show or change the model
  /connect   connect a model: a key, or a server on this machine
  /init      have the model write an AGENTS.md for this folder
  /settings  show and change the settings
  /jobs      show background jobs
  1/32
  gemini-2.5-pro
""",
                    200: """\
› /
  /help      show help
  /tools     show the model's tools
  /mode      show or set the approval mode: default, auto_edit, plan, yolo
  /model     show or change the model
  /connect   connect a model: a key, or a server on this machine
  /init      have the model write an AGENTS.md for this folder
  /settings  show and change the settings
  /jobs      show background jobs
  1/32
  gemini-2.5-pro
""",
                }
            )[columns]
        )
        cleared(pane)
        pane.type("/mode p")
        pane.until("\n  plan")
        pane.keys("Tab")
        pane.until("› /mode plan")
        cleared(pane)

        pane.say("!echo by$((1+1))hand 日本")
        pane.until("by2hand 日本")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_help(short_program: Program, panes: Panes, columns: int) -> None:
    pane = panes(short_program, None, "--model", "offline", columns=columns, rows=60, NO_COLOR="1")
    pane.say("/help")
    pane.until("@path")
    pane.until(at_prompt)
    assert (
        pane.since("› /help")
        == snapshot(
            {
                40: """\
› /help

  /help
      show help
  /tools
      show the model's tools
  /mode [MODE]
      show or set the approval mode:
      default, auto_edit, plan, yolo
  /model [NAME]
      show or change the model
  /connect
      connect a model: a key, or a
      server on this machine
  /init [WHAT MATTERS]
      have the model write an AGENTS.md
      for this folder
  /settings [KEY [VALUE]]
      show and change the settings
  /jobs [output PID | stop PID | keep
  PID]
      show background jobs
  /review [WHAT MATTERS]
      have the model review uncommitted
      changes
  /undo [CALL | FILE | to CALL | turn]
  [--preview] [--unsure] [--force]
      undo the last change
  /redo [CALL] [--unsure] [--force]
      redo what was undone
  /done
      what this session changed, by call
  /diff
      what this session changed, by file
  /rewind [TURN] [--keep-files]
  [--unsure] [--force]
      go back to before a turn:
      conversation and files
  /fork
      copy this session, to continue the
      copy later
  /memory [show | list | add TEXT |
  refresh]
      show what GEMINI.md and AGENTS.md
      tell the model; or remember
      something
  /compact [WHAT TO KEEP]
      summarize the older part of the
      conversation to free up context
  /stats
      show tokens, costs, calls and how
      full the context is
  /mcp [SERVER]
      show the MCP servers and what they
      offer
  /quit
      leave (also Ctrl-D)
  /open [NUMBER]
      show a folded result in full; the
      last one without a number
  /theme [dark | light]
      colors for a dark or a light
      background
  /keys
      show keyboard shortcuts
  /resume [ID]
      resume another session
  /new
      start a new session; this one is
      kept
  /clear
      clear the screen and start a new
      session
  /rename NAME
      name this session so that you find
      it again
  /export [FILE]
      save this session as a web page
  /add-dir FOLDER
      also work in another folder
  /trust yes | no
      trust this folder's settings and
      instructions, or don't
  /copy
      copy the last answer to the
      clipboard
  /agents [NUMBER]
      show the helpers that the model
      started
  @path
      reads a file into your prompt

›
  offline
""",
                80: """\
› /help

  /help                       show help
  /tools                      show the model's tools
  /mode [MODE]                show or set the approval mode: default, auto_edit,
                              plan, yolo
  /model [NAME]               show or change the model
  /connect                    connect a model: a key, or a server on this
                              machine
  /init [WHAT MATTERS]        have the model write an AGENTS.md for this folder
  /settings [KEY [VALUE]]     show and change the settings
  /jobs [output PID | stop PID | keep PID]
                              show background jobs
  /review [WHAT MATTERS]      have the model review uncommitted changes
  /undo [CALL | FILE | to CALL | turn] [--preview] [--unsure] [--force]
                              undo the last change
  /redo [CALL] [--unsure] [--force]
                              redo what was undone
  /done                       what this session changed, by call
  /diff                       what this session changed, by file
  /rewind [TURN] [--keep-files] [--unsure] [--force]
                              go back to before a turn: conversation and files
  /fork                       copy this session, to continue the copy later
  /memory [show | list | add TEXT | refresh]
                              show what GEMINI.md and AGENTS.md tell the model;
                              or remember something
  /compact [WHAT TO KEEP]     summarize the older part of the conversation to
                              free up context
  /stats                      show tokens, costs, calls and how full the context
                              is
  /mcp [SERVER]               show the MCP servers and what they offer
  /quit                       leave (also Ctrl-D)
  /open [NUMBER]              show a folded result in full; the last one without
                              a number
  /theme [dark | light]       colors for a dark or a light background
  /keys                       show keyboard shortcuts
  /resume [ID]                resume another session
  /new                        start a new session; this one is kept
  /clear                      clear the screen and start a new session
  /rename NAME                name this session so that you find it again
  /export [FILE]              save this session as a web page
  /add-dir FOLDER             also work in another folder
  /trust yes | no             trust this folder's settings and instructions, or
                              don't
  /copy                       copy the last answer to the clipboard
  /agents [NUMBER]            show the helpers that the model started
  @path                       reads a file into your prompt

›
  offline
""",
                200: """\
› /help

  /help                       show help
  /tools                      show the model's tools
  /mode [MODE]                show or set the approval mode: default, auto_edit, plan, yolo
  /model [NAME]               show or change the model
  /connect                    connect a model: a key, or a server on this machine
  /init [WHAT MATTERS]        have the model write an AGENTS.md for this folder
  /settings [KEY [VALUE]]     show and change the settings
  /jobs [output PID | stop PID | keep PID]
                              show background jobs
  /review [WHAT MATTERS]      have the model review uncommitted changes
  /undo [CALL | FILE | to CALL | turn] [--preview] [--unsure] [--force]
                              undo the last change
  /redo [CALL] [--unsure] [--force]
                              redo what was undone
  /done                       what this session changed, by call
  /diff                       what this session changed, by file
  /rewind [TURN] [--keep-files] [--unsure] [--force]
                              go back to before a turn: conversation and files
  /fork                       copy this session, to continue the copy later
  /memory [show | list | add TEXT | refresh]
                              show what GEMINI.md and AGENTS.md tell the model; or remember something
  /compact [WHAT TO KEEP]     summarize the older part of the conversation to free up context
  /stats                      show tokens, costs, calls and how full the context is
  /mcp [SERVER]               show the MCP servers and what they offer
  /quit                       leave (also Ctrl-D)
  /open [NUMBER]              show a folded result in full; the last one without a number
  /theme [dark | light]       colors for a dark or a light background
  /keys                       show keyboard shortcuts
  /resume [ID]                resume another session
  /new                        start a new session; this one is kept
  /clear                      clear the screen and start a new session
  /rename NAME                name this session so that you find it again
  /export [FILE]              save this session as a web page
  /add-dir FOLDER             also work in another folder
  /trust yes | no             trust this folder's settings and instructions, or don't
  /copy                       copy the last answer to the clipboard
  /agents [NUMBER]            show the helpers that the model started
  @path                       reads a file into your prompt

›
  offline
""",
            }
        )[columns]
    )
    pane.say("/keys")
    pane.until("!command")
    pane.until(at_prompt)
    assert (
        pane.since("› /keys")
        == snapshot(
            {
                40: """\
› /keys

  Enter
      send; during a turn, queue
  Ctrl-J · Alt-Enter · \\ Enter
      a new line
  Esc
      close what is open, else cancel
      what runs
  Esc Esc
      edit the last prompt, or clear the
      input
  ↑
      the last queued message, else
      earlier input
  Ctrl-R
      search earlier input; again:
      further back; Enter takes it, Esc
      doesn't
  Tab
      complete a /command or an @file
  ?
      show the keys, in an empty box
  Shift-Tab
      next approval mode
  Ctrl-B
      move the running command to the
      background
  Ctrl-T
      show or hide the plan
  Ctrl-O
      show the last folded result in
      full
  Ctrl-X
      edit the prompt in your editor
      (also Ctrl-G)
  Ctrl-V
      attach the picture on the
      clipboard
  Ctrl-Z
      suspend dogu; fg brings it back
  Ctrl-C
      cancel what runs, else clear the
      input; twice leaves
  Ctrl-D
      leave
  !command
      run it yourself; with !! the model
      sees it, too
ui.keys in ~/.dogu/settings.json changes
them: showKeys, nextMode, editLast,
background, showPlan, openLast,
openEditor, pasteImage, newLine, suspend

›
  offline
""",
                80: """\
› /keys

  Enter                         send; during a turn, queue
  Ctrl-J · Alt-Enter · \\ Enter  a new line
  Esc                           close what is open, else cancel what runs
  Esc Esc                       edit the last prompt, or clear the input
  ↑                             the last queued message, else earlier input
  Ctrl-R                        search earlier input; again: further back; Enter
                                takes it, Esc doesn't
  Tab                           complete a /command or an @file
  ?                             show the keys, in an empty box
  Shift-Tab                     next approval mode
  Ctrl-B                        move the running command to the background
  Ctrl-T                        show or hide the plan
  Ctrl-O                        show the last folded result in full
  Ctrl-X                        edit the prompt in your editor (also Ctrl-G)
  Ctrl-V                        attach the picture on the clipboard
  Ctrl-Z                        suspend dogu; fg brings it back
  Ctrl-C                        cancel what runs, else clear the input; twice
                                leaves
  Ctrl-D                        leave
  !command                      run it yourself; with !! the model sees it, too
ui.keys in ~/.dogu/settings.json changes them: showKeys, nextMode, editLast,
background, showPlan, openLast, openEditor, pasteImage, newLine, suspend

›
  offline
""",
                200: """\
› /keys

  Enter                         send; during a turn, queue
  Ctrl-J · Alt-Enter · \\ Enter  a new line
  Esc                           close what is open, else cancel what runs
  Esc Esc                       edit the last prompt, or clear the input
  ↑                             the last queued message, else earlier input
  Ctrl-R                        search earlier input; again: further back; Enter takes it, Esc doesn't
  Tab                           complete a /command or an @file
  ?                             show the keys, in an empty box
  Shift-Tab                     next approval mode
  Ctrl-B                        move the running command to the background
  Ctrl-T                        show or hide the plan
  Ctrl-O                        show the last folded result in full
  Ctrl-X                        edit the prompt in your editor (also Ctrl-G)
  Ctrl-V                        attach the picture on the clipboard
  Ctrl-Z                        suspend dogu; fg brings it back
  Ctrl-C                        cancel what runs, else clear the input; twice leaves
  Ctrl-D                        leave
  !command                      run it yourself; with !! the model sees it, too
ui.keys in ~/.dogu/settings.json changes them: showKeys, nextMode, editLast, background, showPlan, openLast, openEditor, pasteImage, newLine, suspend

›
  offline
""",
            }
        )[columns]
    )


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_typing_ahead_and_ctrl_c(short_program: Program, panes: Panes, columns: int) -> None:
    with FakeGemini(answer) as server:
        pane = panes(short_program, server, "--approval-mode", "yolo", columns=columns, rows=30, NO_COLOR="1")
        pane.say("wait")
        pane.until("  started")
        for message in ("first", "次のメッセージはとても長いので四十桁では折り返しが必要です", "third"):
            pane.type(message)
            pane.until(f"› {message}"[:16])
            pane.keys("Enter")
            pane.until(f"⏎ {message}"[:16])
        pane.keys("Up")
        pane.until("› third")
        pane.type(", changed")
        pane.until("› third, changed")
        assert (
            pane.since("› wait")
            == snapshot(
                {
                    40: """\
› wait

⠿ Shell  echo starte…ep 0.05; done
  started
Running · Esc cancels
  ⏎ first
  ⏎ 次のメッセージはとても長いので四十…

› third, changed
  gemini-2.5-pro · yolo
""",
                    80: """\
› wait

⠿ Shell  echo started; until [ -e go ]; do sleep 0.05; done
  started
Running · Esc cancels
  ⏎ first
  ⏎ 次のメッセージはとても長いので四十桁では折り返しが必要です

› third, changed
  gemini-2.5-pro · yolo
""",
                    200: """\
› wait

⠿ Shell  echo started; until [ -e go ]; do sleep 0.05; done
  started
Running · Esc cancels
  ⏎ first
  ⏎ 次のメッセージはとても長いので四十桁では折り返しが必要です

› third, changed
  gemini-2.5-pro · yolo
""",
                }
            )[columns]
        )
        pane.keys("C-c")
        pane.until("Cancelled.")
        pane.until("› first")
        assert (
            pane.since("› wait")
            == snapshot(
                {
                    40: """\
› wait

■ Shell  echo started; until [ -e go ];
  do sleep 0.05; done · cancelled
  started
Cancelled. Changes already made are
kept.

› first
  次のメッセージはとても長いので四十桁で
  は折り返しが必要です
  third, changed
  gemini-2.5-pro · yolo
""",
                    80: """\
› wait

■ Shell  echo started; until [ -e go ]; do sleep 0.05; done · cancelled
  started
Cancelled. Changes already made are kept.

› first
  次のメッセージはとても長いので四十桁では折り返しが必要です
  third, changed
  gemini-2.5-pro · yolo
""",
                    200: """\
› wait

■ Shell  echo started; until [ -e go ]; do sleep 0.05; done · cancelled
  started
Cancelled. Changes already made are kept.

› first
  次のメッセージはとても長いので四十桁では折り返しが必要です
  third, changed
  gemini-2.5-pro · yolo
""",
                }
            )[columns]
        )
        assert [request.prompt for request in server.requests] == ["wait"], "nothing is sent that waited"

        pane.keys("C-c")
        pane.until("Cleared; ↑")
        assert (
            pane.since("›")
            == snapshot(
                {
                    40: """\
›
  Cleared; ↑ brings it back.
""",
                    80: """\
›
  Cleared; ↑ brings it back.
""",
                    200: """\
›
  Cleared; ↑ brings it back.
""",
                }
            )[columns]
        )
        pane.keys("Up")
        pane.until("› first")
        pane.keys("C-c")
        pane.until("Cleared; ↑")
        pane.type("\x12")
        pane.until("Search:")
        pane.type("wai")
        pane.until("› wait\n")
        pane.keys("Enter")
        pane.until(lambda text: "Search:" not in text)
        cleared(pane)
        pane.keys("C-c")
        pane.until("again leaves")
        assert (
            pane.since("›")
            == snapshot(
                {
                    40: """\
›
  Ctrl-C again leaves, and so does
  Ctrl-D.
""",
                    80: """\
›
  Ctrl-C again leaves, and so does Ctrl-D.
""",
                    200: """\
›
  Ctrl-C again leaves, and so does Ctrl-D.
""",
                }
            )[columns]
        )
        pane.keys("C-c")
        assert pane.ended() == 0
