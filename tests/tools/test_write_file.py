from pathlib import Path
from typing import Any

import pytest

from dogu.contract.confirmation import CallContext
from dogu.contract.display import FileDiff
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.runtime.events import CallStarted
from dogu.runtime.questions import Approved, Declined, Outcome, Question
from dogu.testing.workspace import check_tool, run_tool
from dogu.tools.write_file import WriteFile
from dogu.workspace.files import LocalFiles
from dogu.workspace.roots import Roots

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def files(workspace: Path) -> LocalFiles:
    return LocalFiles(Roots(str(workspace)))


@pytest.fixture
def tool(files: LocalFiles, workspace: Path) -> WriteFile:
    return WriteFile(files, Roots(str(workspace)))


def failure(result: ToolResult) -> ErrorKind | None:
    return result.error.kind if result.error else None


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def run_named(tool: WriteFile, args: dict[str, Any]) -> ToolResult:
    return await run_tool(tool, **args)


@pytest.mark.requirement("fs.write.name")
async def test_it_keeps_the_contract_of_tools(tool: WriteFile):
    check_tool(tool)
    assert (tool.name, tool.display_name) == ("write_file", "WriteFile")


@pytest.mark.requirement("fs.write.create")
@pytest.mark.requirement("fs.write.content")
@pytest.mark.requirement("fs.write.output")
async def test_a_new_file_is_created_with_its_folders(tool: WriteFile, workspace: Path):
    result = await run_tool(tool, file_path="a/b/new.txt", content="hello\n")
    assert result.llm_content == f"Successfully created and wrote to new file: {workspace}/a/b/new.txt"
    assert (workspace / "a/b/new.txt").read_bytes() == b"hello\n"


@pytest.mark.requirement("fs.write.overwrite")
@pytest.mark.requirement("fs.write.output")
@pytest.mark.requirement("fs.write.file_path")
async def test_an_existing_file_is_overwritten(tool: WriteFile, workspace: Path):
    (workspace / "f").write_text("old\n")
    result = await run_tool(tool, file_path=str(workspace / "f"), content="new\n")
    assert result.llm_content == f"Successfully overwrote file: {workspace}/f"
    assert isinstance(result.return_display, FileDiff)
    assert result.return_display.unified == "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"


@pytest.mark.parametrize("name", ["path", "absolute_path", "file_path"])
async def test_other_spellings_of_the_path_are_understood(tool: WriteFile, workspace: Path, name: str):
    assert failure(await run_named(tool, {name: "f", "content": "x"})) is None
    assert (workspace / "f").read_text() == "x"


async def test_encoding_bom_and_line_endings_stay(tool: WriteFile, workspace: Path):
    (workspace / "f").write_bytes("\ufeffold\r\nlines\r\n".encode("utf-16-le"))
    result = await run_tool(tool, file_path="f", content="new\nlines\n")
    assert (workspace / "f").read_bytes() == "\ufeffnew\r\nlines\r\n".encode("utf-16-le")
    assert isinstance(result.return_display, FileDiff)
    assert "CRLF" in " ".join(result.return_display.notes)
    assert "UTF-16LE" in " ".join(result.return_display.notes)


async def test_a_placeholder_for_code_left_out_is_refused_unless_the_file_has_it(tool: WriteFile, workspace: Path):
    text = "def f():\n    pass\n# ... existing code ...\n"
    result = await run_tool(tool, file_path="f", content=text)
    assert failure(result) is ErrorKind.OMISSION_PLACEHOLDER
    assert "line 3" in str(result.llm_content)
    (workspace / "f").write_text(text)
    assert failure(await run_tool(tool, file_path="f", content=text + "x = 1\n")) is None


async def test_a_file_changed_since_the_session_last_read_it_is_stale(
    tool: WriteFile, files: LocalFiles, workspace: Path
):
    (workspace / "f").write_text("one")
    files.read("f")
    (workspace / "f").write_text("somebody's")
    result = await run_tool(tool, file_path="f", content="two")
    assert failure(result) is ErrorKind.STALE
    assert (workspace / "f").read_text() == "somebody's"
    files.read("f")
    assert failure(await run_tool(tool, file_path="f", content="two")) is None
    (workspace / "f").write_text("somebody's again")
    assert failure(await run_tool(tool, file_path="f", content="three")) is ErrorKind.STALE


async def test_a_file_changed_while_the_question_waits_is_stale(tool: WriteFile, workspace: Path):
    (workspace / "f").write_text("old")

    async def save_meanwhile(_question: Question) -> Outcome:
        (workspace / "f").write_text("saved meanwhile")
        return Approved()

    result = await run_tool(tool, confirm=save_meanwhile, file_path="f", content="new")
    assert failure(result) is ErrorKind.STALE
    assert (workspace / "f").read_text() == "saved meanwhile"


async def test_a_file_born_while_the_question_waits_is_not_overwritten(tool: WriteFile, workspace: Path):
    async def create_meanwhile(_question: Question) -> Outcome:
        (workspace / "f").write_text("born")
        return Approved()

    assert failure(await run_tool(tool, confirm=create_meanwhile, file_path="f", content="x")) is ErrorKind.STALE
    assert (workspace / "f").read_text() == "born"


@pytest.mark.requirement("fs.write.confirm")
async def test_the_question_shows_exactly_what_will_be_written(tool: WriteFile, workspace: Path):
    (workspace / "f").write_bytes(b"a\r\n")
    shown: list[Question] = []

    async def look(question: Question) -> Outcome:
        shown.append(question)
        return Approved()

    await run_tool(tool, confirm=look, file_path="f", content="b\n")
    display = shown[0].confirmation.display
    assert isinstance(display, FileDiff)
    assert (display.path, display.old_text, display.new_text) == ("f", "a\r\n", "b\r\n")
    assert display.new_text.encode() == (workspace / "f").read_bytes()


async def test_what_the_user_edited_is_what_is_written(tool: WriteFile, workspace: Path):
    (workspace / "f").write_bytes(b"a\r\n")

    async def edit(question: Question) -> Outcome:
        assert question.confirmation.editable_text == "b\n"
        return Approved(edited="c\nd\n")

    heard: list[object] = []
    await run_tool(tool, confirm=edit, emit=heard.append, file_path="f", content="b\n")
    assert (workspace / "f").read_bytes() == b"c\r\nd\r\n"
    # The user's line says what was written, not what was asked for.
    assert [event.description for event in heard if isinstance(event, CallStarted)] == ["f: a => c"]


async def test_declined_nothing_changes(tool: WriteFile, workspace: Path):
    async def decline(_question: Question) -> Outcome:
        return Declined("no")

    assert failure(await run_tool(tool, confirm=decline, file_path="d/f", content="x")) is ErrorKind.DECLINED
    assert names_in(workspace) == []


async def test_a_protected_place_always_asks(tool: WriteFile, workspace: Path):
    confirmation = await tool.should_confirm_execute(
        tool.validate_tool_params({"file_path": ".Git/hooks/pre-commit", "content": "#!/bin/sh\n"})
    )
    assert confirmation is not None
    assert confirmation.always_ask
    assert "hooks" in confirmation.reasons[0]
    assert failure(await run_tool(tool, confirm=None, file_path=".git/config", content="x")) is ErrorKind.NOBODY_TO_ASK
    assert names_in(workspace) == []


async def test_links_and_other_names_of_the_file_are_told(tool: WriteFile, workspace: Path):
    (workspace / "real").write_text("old")
    (workspace / "second").hardlink_to(workspace / "real")
    (workspace / "l").symlink_to("real")
    result = await run_tool(tool, file_path="l", content="new")
    assert isinstance(result.return_display, FileDiff)
    assert f"A symbolic link: the file written is {workspace}/real." in result.return_display.notes
    assert any("2 names" in note for note in result.return_display.notes)
    assert (workspace / "second").read_text() == "new"


async def test_a_binary_file_gives_way_to_text_without_being_shown(tool: WriteFile, workspace: Path):
    (workspace / "f").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))
    result = await run_tool(tool, file_path="f", content="text\n")
    assert (workspace / "f").read_bytes() == b"text\n"
    assert isinstance(result.return_display, FileDiff)
    assert result.return_display.old_text == ""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("d", ErrorKind.WRONG_FILE_TYPE),
        ("../out", ErrorKind.OUTSIDE_WORKSPACE),
        ("/etc/passwd", ErrorKind.OUTSIDE_WORKSPACE),
        ("a\0b", ErrorKind.INVALID_ARGUMENTS),
        ("f/x", ErrorKind.WRONG_FILE_TYPE),
        ("new/", ErrorKind.INVALID_ARGUMENTS),
    ],
)
async def test_a_path_that_cannot_be_written_is_refused(tool: WriteFile, workspace: Path, path: str, kind: ErrorKind):
    (workspace / "d").mkdir()
    (workspace / "f").write_text("x")
    assert failure(await run_tool(tool, file_path=path, content="x")) is kind


async def test_a_proposal_of_somebody_else_is_not_taken(tool: WriteFile, workspace: Path):
    args = tool.validate_tool_params({"file_path": "f", "content": "x"})
    await tool.execute(args, CallContext(approved="something"))
    assert (workspace / "f").read_text() == "x"


async def test_new_hidden_and_look_alike_characters_are_told_and_old_ones_are_not(tool: WriteFile, workspace: Path):
    (workspace / "f").write_text("kept\u200b\n")
    args = tool.validate_tool_params({"file_path": "f", "content": "kept\u200b\nuser\u202e\np\u0430ypal\n"})
    confirmation = await tool.should_confirm_execute(args)
    assert confirmation is not None
    assert isinstance(confirmation.display, FileDiff)
    notes = " ".join(confirmation.display.notes)
    assert "U+202E RIGHT-TO-LEFT OVERRIDE (line 2)" in notes
    assert "U+0430 CYRILLIC SMALL LETTER A (line 3)" in notes
    assert "U+200B" not in notes


async def test_a_file_changed_before_the_user_edited_the_proposal_is_stale(tool: WriteFile, workspace: Path):
    (workspace / "f").write_text("old\n")
    args = tool.validate_tool_params({"file_path": "f", "content": "new\n"})
    confirmation = await tool.should_confirm_execute(args)
    assert confirmation is not None
    assert confirmation.revise is not None
    (workspace / "f").write_text("old\nprecious\n")
    with pytest.raises(ToolError) as caught:
        confirmation.revise("newer\n")
    assert caught.value.kind is ErrorKind.STALE


async def test_the_model_hears_what_the_user_changed_of_its_proposal(tool: WriteFile, workspace: Path):
    async def edit(question: Question) -> Approved:
        return Approved("mine\n")

    result = await run_tool(tool, confirm=edit, file_path="f", content="yours\n")
    assert "-yours\n+mine" in str(result.llm_content)
    assert (workspace / "f").read_text() == "mine\n"
