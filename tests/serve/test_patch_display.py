"""A change to several files, as each door shows it."""

from __future__ import annotations

import msgspec

from dogu.agent.session.codec import display_data, display_of
from dogu.contract.display import FileDiff, PatchDiff, markdown_of
from dogu.contract.result import ToolResult
from dogu.serve.acp.blocks import display_content
from dogu.serve.mcp.results import result_of
from dogu.serve.terminal.draw import draw
from dogu.serve.terminal.style import Style
from dogu.serve.wire import display_json

FIRST = FileDiff("a.txt", "x\n", "y\n", "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-x\n+y\n", ("A note.",))
SECOND = FileDiff("b/c.txt", None, "new\n", "--- b/c.txt\n+++ b/c.txt\n@@ -0,0 +1 @@\n+new\n")
PATCH = PatchDiff((FIRST, SECOND))


def test_the_terminal_draws_each_file_below_its_name() -> None:
    lines = [line.strip() for line in draw(PATCH, Style(has_color=False), 80, whole=True).split("\n")]
    assert lines.index("a.txt") < lines.index("A note.") < lines.index("b/c.txt")
    assert any(line.endswith("+new") or line.endswith("+ new") for line in lines)


def test_an_editor_gets_a_diff_a_file_with_absolute_paths() -> None:
    diffs = [block for block in display_content(PATCH, "/root") if block["type"] == "diff"]
    assert [(diff["path"], diff.get("oldText"), diff["newText"]) for diff in diffs] == [
        ("/root/a.txt", "x\n", "y\n"),
        ("/root/b/c.txt", None, "new\n"),
    ]


def test_scripts_get_every_file() -> None:
    assert [file["filePath"] for file in display_json(PATCH)["files"]] == ["a.txt", "b/c.txt"]
    assert "+y" in markdown_of(PATCH)
    assert "+new" in markdown_of(PATCH)


def test_mcp_clients_get_the_paths_and_one_diff() -> None:
    structured = result_of(ToolResult("done", PATCH)).structured_content
    assert structured == {"result": "done", "paths": ["a.txt", "b/c.txt"], "diff": FIRST.unified + SECOND.unified}


def test_a_record_gives_it_back() -> None:
    written = msgspec.json.decode(msgspec.json.encode(display_data(PATCH)))
    assert display_of(written) == PATCH


def test_the_texts_of_a_large_one_stay_out_of_the_record() -> None:
    large = PatchDiff((FileDiff("a", "x" * 10_000_000, "y", FIRST.unified), SECOND))
    written = display_of(display_data(large))
    assert isinstance(written, PatchDiff)
    assert [file.unified for file in written.files] == [FIRST.unified, SECOND.unified]
    assert written.files[0].old_text == ""
