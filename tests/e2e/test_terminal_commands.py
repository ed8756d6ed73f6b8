"""The terminal's own commands: settings, servers, a context file, another session, a page, the clipboard."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dogu.testing.fake_gemini import FakeGemini, GeminiRequest
from dogu.testing.turn import Turn, call
from e2e.program import Program
from e2e.screens import Terminal
from serve.test_terminal_pictures import png

Open = Callable[..., Terminal]


@pytest.fixture
def terminals(program: Program) -> Iterator[Open]:
    opened: list[Terminal] = []

    def start(server: FakeGemini, *words: str, **more: object) -> Terminal:
        environ = {"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        terminal = Terminal(program, words, **{"rows": 40, **environ, **more})  # pyright: ignore[reportArgumentType]  (size and environment)
        opened.append(terminal)
        terminal.until("›")
        return terminal

    yield start
    for terminal in opened:
        terminal.child.close(force=True)


def answer(request: GeminiRequest) -> Turn:
    if request.responses:
        return Turn(text="Done.")
    if request.prompt.startswith("Write the context file AGENTS.md"):
        path = request.prompt.partition("the absolute path ")[2].partition(",")[0]
        return Turn(calls=[call("write_file", file_path=path, content="# The shop\n\nRun it with `make`.\n")])
    if request.prompt == "look":
        return Turn(calls=[call("read_file", file_path="logo.png")])
    return Turn(text=f"Heard: **{request.prompt}**")


def test_settings_are_searched_picked_and_written(program: Program, terminals: Open):
    program.settle('{"ui": {"notify": "off"}} // mine')
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("/settings")
        terminal.until("type to search")
        terminal.send("ui.not")
        terminal.until(lambda: "❯ ui.notify" in terminal.text and "~/.dogu/settings.json:1" in terminal.text)
        terminal.send("\r")
        terminal.until("❯ 3. off")
        terminal.send("2")
        terminal.until("ui.notify is now bell")
        for words, problem in (
            ("ui.theme purple", "Possible values: auto, dark, light"),
            ('ui.keys {"background": "Ctrl-C"}', "can't be the key"),
            ('ui.keys {"backgroud": "Ctrl-B"}', "no action backgroud"),
            ('ui.statusLine ["colour"]', "Possible values, in a list"),
        ):
            terminal.say(f"/settings {words}")
            terminal.until(problem)
        terminal.say("/settings model.temperature 9")
        terminal.until("takes a number from 0 to 2")
        terminal.say("/settings security.disableYoloMode true")
        terminal.until("disableYoloMode is now true")
        terminal.say("/settings tools.approvalMode yolo")
        terminal.until("yolo is switched off by")
    text = (program.home / ".dogu" / "settings.json").read_text()
    assert text.endswith(" // mine")
    settings = {"ui": {"notify": "bell"}, "security": {"disableYoloMode": True}}
    assert json.loads(text.removesuffix(" // mine")) == settings, "what would stop the next start is taken back"


def test_a_file_that_is_no_page_of_dogus_is_replaced_only_by_a_yes(program: Program, terminals: Open):
    (program.root / "a.txt").write_text("mine")
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("hello")
        terminal.until("Heard: hello")
        terminal.say("/export a.txt")
        terminal.until("❯ 2. No")
        terminal.send("\r")
        terminal.until("Nothing was written.")
        assert (program.root / "a.txt").read_text() == "mine"
        for count in (1, 2):  # the second one takes the place of the first, unasked
            terminal.say("/export page.html")
            terminal.until(lambda: terminal.text.count("Saved to") == count)  # noqa: B023  (called at once)
        terminal.say("/export a.txt")
        terminal.until(lambda: "❯ 2. No" in "\n".join(terminal.lines[-12:]))
        terminal.until("Enter picks")
        terminal.send("y")
        terminal.until(lambda: terminal.text.count("Saved to") == 3)
        assert "Heard: " in (program.root / "a.txt").read_text()


def test_a_session_is_left_only_for_one_that_can_be_opened(program: Program, terminals: Open):
    broken = program.home / ".dogu" / "sessions" / "20260101-000000-000000-aaaa"
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("hello")
        terminal.until("Heard: hello")
        (other,) = (program.home / ".dogu" / "sessions").iterdir()
        shutil.copytree(other, broken)
        (broken / "record.jsonl").write_bytes(b"garbage\n\xff{}\n")
        terminal.say("/resume nope")
        terminal.until("/resume lists the sessions.")
        terminal.say(f"/resume {broken.name}")
        terminal.until("--unverified continues anyway")
        assert terminal.text.count("dogu 0") == 1
        terminal.say("/fork")
        terminal.until("/resume 2")
        terminal.say("/open 99")
        terminal.until("no result to open yet")
        terminal.say("and on")
        terminal.until("Heard: and on")
        assert len(server.requests[-1].contents) == 3


def test_a_folder_is_added_to_the_session(program: Program, terminals: Open, tmp_path: Path):
    (tmp_path / "other").mkdir()
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("hello")
        terminal.until("Heard: hello")
        terminal.say(f"/add-dir {tmp_path / 'other'}")
        terminal.until(lambda: terminal.text.count("dogu 0") == 2)
        terminal.until(lambda: terminal.text.count("Heard: hello") == 2)
        terminal.say("and on")
        terminal.until("Heard: and on")
        told = json.dumps(server.requests[-1].body)
        assert str(tmp_path / "other") in told
        assert len(server.requests[-1].contents) == 3


def test_init_has_the_model_write_a_context_file_that_is_shown_first(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("/init")
        terminal.until("Create AGENTS.md?")
        terminal.until("(s)")
        assert "+# The shop" in terminal.text
        assert not (program.root / "AGENTS.md").exists()
        terminal.send("y")
        terminal.until("Done.")
        assert (program.root / "AGENTS.md").read_text().startswith("# The shop")
        terminal.until("›")
        terminal.send("\x04")
        terminal.ended()
    offline = Terminal(program, ("--model", "offline"))
    offline.say("/init")
    offline.until("/init needs a model")
    offline.child.close(force=True)


def test_mcp_offers_the_servers_and_says_what_is_wrong_with_one(program: Program, terminals: Open):
    program.settle(json.dumps({"mcpServers": {"broken": {"command": "no-such-program-anywhere"}}}))
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("/mcp")
        terminal.until("❯ 1. broken  ")
        terminal.send("\r")
        terminal.until("\nbroken: ")
        terminal.say("/mcp nobody")
        terminal.until("There is no MCP server nobody.")


def test_clear_begins_anew_on_an_empty_screen_and_the_old_session_is_kept(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("before")
        terminal.until("Heard: before")
        terminal.say("/clear")
        terminal.until(lambda: "Heard" not in "\n".join(terminal.lines) and "›" in terminal.lines)
        terminal.say("after " + "and after that " * 20)
        terminal.until("Heard: after")
        assert [content["role"] for content in server.requests[-1].contents] == ["user"]
        terminal.say("/resume")
        terminal.until("❯ 1. before")
        terminal.send("\r")
        terminal.until(lambda: "\n".join(terminal.lines).count("Heard: before") == 1)
        terminal.say("/resume")
        terminal.until("❯ 1. after and after that")
        first = next(at for at, line in enumerate(terminal.lines) if "❯ 1. after" in line)
        assert not any("and after that" in line for line in terminal.lines[first + 1 :]), "a long prompt is one line"


def test_a_page_is_exported_and_says_where(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server, columns=200)
        terminal.say("/export")
        terminal.until("There is nothing to export yet.")
        terminal.say("a <prompt>")
        terminal.until("Heard:")
        terminal.say("/export")
        terminal.until("Saved to ")
        (page,) = program.root.glob("dogu-*.html")
        assert "a &lt;prompt&gt;" in page.read_text()
        assert page.stat().st_mode & 0o777 == 0o600
        terminal.say("/export no/such/folder/page.html")
        terminal.until("page.html can't be written: No such file or directory")


def test_the_last_answer_is_copied_by_the_terminal_and_it_is_told_that_it_may_not_have_been(
    program: Program, terminals: Open
):
    with FakeGemini(answer) as server:
        terminal = terminals(server, PATH="/nonexistent")
        terminal.say("/copy")
        terminal.until("There is no answer to copy yet.")
        terminal.say("日本")
        terminal.until("Heard:")
        terminal.say("/copy")
        terminal.until("Sent the last answer to the terminal's clipboard")
        assert f"\x1b]52;c;{base64.b64encode('Heard: **日本**'.encode()).decode()}\x07" in terminal.raw


def test_a_folder_that_brings_instructions_is_trusted_by_a_key_and_they_count_at_once(
    program: Program, terminals: Open
):
    (program.root / "AGENTS.md").write_text("Always say please.\n")
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.until("❯ 2. Not now")
        terminal.send("typed instead\r")
        terminal.until("Heard: typed instead")
        assert "Always say please." not in server.requests[-1].system
        terminal.until("›")
        terminal.send("\x04")
        terminal.ended()
        terminal = terminals(server)
        terminal.until("❯ 2. Not now")
        terminal.send("1")
        terminal.until("Trusted.")
        terminal.until(lambda: terminal.text.count("dogu 0") == 2)
        terminal.say("again")
        terminal.until("Heard: again")
        assert "Always say please." in server.requests[-1].system
        terminal.say("/trust no")
        terminal.until(lambda: terminal.text.count("dogu 0") == 3)
        terminal.say("third")
        terminal.until("Heard: third")
        assert "Always say please." not in server.requests[-1].system, "the conversation goes on without them"
        assert len(server.requests[-1].contents) == 3


def test_a_picture_is_shown_where_the_terminal_can_and_both_of_it_in_a_diff(program: Program, terminals: Open):
    (program.root / "logo.png").write_bytes(png(18, 18))
    with FakeGemini(answer) as server:
        terminal = terminals(server, TERM="xterm-kitty")
        terminal.say("look")
        terminal.until("Done.")
        assert "(PNG, 18 × 18, " in terminal.text
        assert terminal.raw.count("\x1b_Ga=T,") == 1
        (program.root / "new.png").write_bytes(png(9, 9))
        terminal.say("!mv new.png logo.png")
        terminal.until(lambda: terminal.text.count("● Shell") == 1)
        terminal.say("/diff")
        terminal.until("before (PNG, 18 × 18, ")
        terminal.until("now (PNG, 9 × 9, ")
        terminal.until(lambda: terminal.raw.count("\x1b_Ga=T,") == 4)  # and the one that is gone

        other = terminals(server)
        other.say("look")
        other.until("Done.")
        assert "(PNG, 9 × 9, " in other.text
        assert "\x1b_G" not in other.raw


def helping(request: GeminiRequest) -> Turn:
    if "You are a helper" in request.system:
        return Turn(text="Three folders.") if request.responses else Turn(calls=[call("list_directory", path=".")])
    if request.responses:
        return Turn(text="All is known.")
    return Turn(calls=[call("run_subagent", task="Count the folders.", description="count folders")])


def test_helpers_are_listed_with_what_they_called_and_said(program: Program, terminals: Open):
    with FakeGemini(helping) as server:
        terminal = terminals(server)
        terminal.say("/agents")
        terminal.until("No helpers yet.")
        terminal.say("go")
        terminal.until(lambda: "All is known." in terminal.text and "Esc cancels" not in terminal.text)
        terminal.say("/agents")
        terminal.until("❯ 1. Helper: count folders  done · calls: 1")
        terminal.send("\r")
        terminal.until(lambda: "ReadFolder  ." in terminal.text.partition("folders (done")[2])
        terminal.until(lambda: "Three folders." in terminal.text.partition("folders (done")[2])
        terminal.say("/agents 7")
        terminal.until("There is no helper 7.")


def test_tools_say_what_each_does(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("/tools")
        terminal.until(lambda: "read_file reads a file" in " ".join(terminal.text.split()))


def test_a_prompt_may_begin_with_a_path_and_a_command_may_be_but_begun(program: Program, terminals: Open):
    with FakeGemini(answer) as server:
        terminal = terminals(server)
        terminal.say("/usr/bin/env fails")
        terminal.until("Heard: /usr/bin/env fails")
        terminal.until(lambda: "Esc cancels" not in terminal.text)
        terminal.say("/sta")
        terminal.until("› /stats")
        terminal.say("/ren")
        terminal.until(lambda: any(line == "› /rename" for line in terminal.lines))
        terminal.send("a name\r")
        terminal.until("This session is now named a name.")
