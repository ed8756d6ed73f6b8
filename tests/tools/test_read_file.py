"""read_file, called as a model would call it."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from dogu.contract.confirmation import CallContext
from dogu.contract.content import Blob
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.runtime.events import ToolCall
from dogu.runtime.questions import Approved, Declined, Question
from dogu.testing.workspace import check_tool, executor_for, run_tool
from dogu.tools import read_file
from dogu.tools.read_file import ReadFile
from dogu.workspace.files import LocalFiles
from dogu.workspace.ignore.lookup import why_ignored
from dogu.workspace.roots import Roots

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def tool(root: Path) -> ReadFile:
    roots = Roots(str(root))
    return ReadFile(LocalFiles(roots), roots, lambda path: why_ignored(roots, path))


async def read(root: Path, name: str, **args: Any) -> ToolResult:
    return await run_tool(tool(root), path=name, **args)


async def error_of(root: Path, name: str, **args: Any) -> tuple[ErrorKind, str]:
    result = await read(root, name, **args)
    assert result.error is not None
    return result.error.kind, result.error.message


def test_it_keeps_the_contract(root: Path) -> None:
    check_tool(tool(root))


async def test_a_text_file_is_returned_as_it_is(root: Path) -> None:
    (root / "a.txt").write_bytes("one\r\n\ttwo é\n\nlast".encode())
    result = await read(root, "a.txt")
    assert result.llm_content == "one\r\n\ttwo é\n\nlast"
    assert result.return_display == "Read 4 lines from a.txt"
    assert (await read(root, str(root / "a.txt"))).llm_content == result.llm_content


async def test_an_empty_file_is_empty(root: Path) -> None:
    (root / "a.txt").touch()
    result = await read(root, "a.txt", offset=0)
    assert (result.llm_content, result.return_display) == ("", "File is empty: a.txt")


async def test_a_slice_says_which_lines_it_shows_and_how_to_go_on(root: Path) -> None:
    (root / "a.txt").write_text("l1\nl2\nl3\n")
    result = await read(root, "a.txt", offset=1, limit=1)
    assert result.llm_content == (
        "[File content truncated: showing lines 2-2 of 3 total lines...]\nl2\n[To read on, use offset 2.]"
    )
    assert result.return_display == "Read lines 2-2 of 3 from a.txt"


async def test_the_last_slice_has_nothing_to_go_on_to(root: Path) -> None:
    (root / "a.txt").write_text("l1\nl2\nl3")
    result = await read(root, "a.txt", offset=2)
    assert result.llm_content == "[File content truncated: showing lines 3-3 of 3 total lines...]\nl3"


async def test_all_that_is_said_of_a_part_but_its_place_stands_below_its_text(root: Path) -> None:
    (root / "a.txt").write_bytes("日本\r\n語\r\nもう".encode("shift_jis") * 9)
    text = str((await read(root, "a.txt", limit=2)).llm_content)
    first, one, two, *below = text.splitlines()
    assert first == "[File content truncated: showing lines 1-2 of 19 total lines...]"
    assert (one, two) == ("日本", "語")
    assert below == ["[To read on, use offset 2.]", "[Encoding: Shift_JIS]"]
    last = str((await read(root, "a.txt", offset=18)).llm_content)
    assert last.splitlines()[1:] == ["もう", "[Encoding: Shift_JIS]"]


async def test_2000_lines_are_read_by_default(root: Path) -> None:
    (root / "a.txt").write_text("".join(f"{number}\n" for number in range(5000)))
    text = str((await read(root, "a.txt")).llm_content)
    assert text.startswith("[File content truncated: showing lines 1-2000 of 5000 total lines...]\n0\n1\n")
    assert text.endswith("\n1999\n[To read on, use offset 2000.]")
    assert "showing lines 2001-4000 of 5000" in str((await read(root, "a.txt", offset=2000)).llm_content)


async def test_offset_and_limit_that_cover_the_file_return_it_whole(root: Path) -> None:
    (root / "a.txt").write_text("l1\nl2\n")
    assert (await read(root, "a.txt", offset=0, limit=10)).llm_content == "l1\nl2\n"


async def test_long_lines_are_cut_and_told(root: Path) -> None:
    (root / "a.txt").write_text("x" * 100_000 + "\nshort\n")
    text = str((await read(root, "a.txt")).llm_content)
    assert text.startswith("[File content truncated: showing lines 1-2 of 2 total lines...]\nxxx")
    hint = "[1 line is longer than 2000 characters and cut; column reads one of them on.]"
    assert text.endswith("x" * 2000 + f"... [truncated]\nshort\n{hint}")


@pytest.mark.parametrize(("more", "lines"), [({}, 40), ({"limit": 2000}, 256)])
async def test_the_whole_is_bounded_and_ends_at_a_line_unless_more_is_asked_for(
    root: Path, more: dict[str, int], lines: int
) -> None:
    (root / "a.txt").write_text(("x" * 999 + "\n") * 1000)
    reader = tool(root)
    args = reader.validate_tool_params({"path": "a.txt", **more})
    text = str((await reader.execute(args, CallContext())).llm_content)
    assert f"showing lines 1-{lines} of 1000 total lines...]\nxxx" in text
    assert text.endswith(f"x\n[To read on, use offset {lines}.]")
    assert lines * 1000 <= len(text) < lines * 1000 + 200


async def test_an_offset_past_the_end_is_an_error_that_tells_the_number_of_lines(root: Path) -> None:
    (root / "a.txt").write_text("l1\nl2\nl3\n")
    kind, message = await error_of(root, "a.txt", offset=3)
    assert kind is ErrorKind.INVALID_ARGUMENTS
    assert "has 3 lines" in message
    assert "from 0 to 2" in message


@pytest.mark.parametrize("spelling", ["absolute_path", "file_path"])
async def test_other_spellings_of_the_path_are_taken(root: Path, spelling: str) -> None:
    (root / "a.txt").write_text("x")
    args: dict[str, Any] = {spelling: "a.txt"}
    assert (await run_tool(tool(root), **args)).llm_content == "x"


async def test_start_line_and_end_line_count_from_1_and_include_both(root: Path) -> None:
    (root / "a.txt").write_text("l1\nl2\nl3\nl4\n")
    text = str((await read(root, "a.txt", start_line=2, end_line=3)).llm_content)
    assert "showing lines 2-3 of 4" in text
    assert text.endswith("]\nl2\nl3\n[To read on, use offset 3.]")
    assert "showing lines 3-4 of 4" in str((await read(root, "a.txt", start_line="3")).llm_content)
    assert "showing lines 1-2 of 4" in str((await read(root, "a.txt", end_line=2)).llm_content)


@pytest.mark.parametrize(
    "args",
    [
        {"start_line": 0},
        {"start_line": 3, "end_line": 2},
        {"start_line": "first"},
        {"start_line": 1.5},
        {"start_line": 2, "offset": 7},
        {"offset": -1},
        {"limit": 0},
        {"offset": "x"},
    ],
)
async def test_lines_that_make_no_sense_are_refused(root: Path, args: dict[str, Any]) -> None:
    (root / "a.txt").write_text("l1\nl2\nl3\nl4\n")
    kind, message = await error_of(root, "a.txt", **args)
    assert kind is ErrorKind.INVALID_ARGUMENTS
    assert "read_file" in message


@pytest.mark.parametrize(
    ("codec", "label"),
    [
        ("cp932", "Shift_JIS"),
        ("euc_jp", "EUC-JP"),
        ("iso2022_jp", "ISO-2022-JP"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32-le", "UTF-32LE"),
    ],
)
async def test_the_model_sees_right_unicode_and_is_told_the_encoding(root: Path, codec: str, label: str) -> None:
    text = "設定ファイルの読み込みに失敗しました。\nもう一度お試しください。 (retry)\n"
    (root / "a.txt").write_bytes(text.encode(codec))
    assert (await read(root, "a.txt")).llm_content == f"[Encoding: {label}]\n{text}"


async def test_a_utf_8_bom_is_not_shown(root: Path) -> None:
    (root / "a.txt").write_bytes(b"\xef\xbb\xbfone\n")
    assert (await read(root, "a.txt")).llm_content == "one\n"


async def test_stray_bytes_are_shown_as_replacement_characters_and_told(root: Path) -> None:
    (root / "a.txt").write_bytes(
        "日本語のテキスト\xff\n".encode("utf-8", "surrogateescape").replace(b"\xc3\xbf", b"\xff")
    )
    assert (await read(root, "a.txt")).llm_content == (
        "[1 byte that is not UTF-8 shown as U+FFFD]\n日本語のテキスト\ufffd\n"
    )


@pytest.mark.parametrize(
    ("name", "data", "media_type", "display"),
    [
        ("a.png", PNG, "image/png", "Read image file: a.png"),
        ("misnamed.txt", PNG, "image/png", "Read image file: misnamed.txt"),
        ("a.mp3", b"ID3\x04\0\0\0\0\0\0", "audio/mpeg", "Read audio file: a.mp3"),
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3\n", "application/pdf", "Read pdf file: a.pdf"),
    ],
)
async def test_media_is_returned_as_it_is(root: Path, name: str, data: bytes, media_type: str, display: str) -> None:
    (root / name).write_bytes(data)
    result = await read(root, name)
    assert result.llm_content == [Blob(media_type, data, name)]
    assert result.return_display == display


async def test_a_text_named_like_an_image_is_text(root: Path) -> None:
    (root / "a.png").write_text("not an image\n")
    assert (await read(root, "a.png")).llm_content == "not an image\n"


async def test_svg_is_text(root: Path) -> None:
    (root / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    assert (await read(root, "a.svg")).llm_content == "<svg xmlns='http://www.w3.org/2000/svg'/>"


async def test_media_over_20_mb_is_refused_with_its_size(root: Path) -> None:
    with (root / "a.png").open("wb") as file:
        file.write(PNG)
        file.truncate((20 << 20) + 1)
    kind, message = await error_of(root, "a.png")
    assert kind is ErrorKind.TOO_LARGE
    assert "20 MB" in message


async def test_other_binaries_are_not_displayed(root: Path) -> None:
    (root / "data.bin").write_bytes(bytes(range(256)))
    kind, message = await error_of(root, "data.bin")
    assert kind is ErrorKind.WRONG_FILE_TYPE
    assert message.startswith(f"Cannot display content of binary file: {root}/data.bin\n")


async def test_a_huge_sparse_file_of_nuls_is_refused_at_once(root: Path) -> None:
    with (root / "sparse").open("wb") as file:
        file.truncate(5 << 30)
    assert (await error_of(root, "sparse"))[0] is ErrorKind.WRONG_FILE_TYPE


async def test_a_slice_of_a_file_too_big_to_count_says_at_least(root: Path) -> None:
    with (root / "log").open("wb") as file:
        file.write(b"a line of the log\n" * 4000)
        file.truncate(1 << 30)
    text = str((await read(root, "log", limit=2)).llm_content)
    assert text.startswith("[File content truncated: showing lines 1-2 of at least 3 total lines...]")


async def test_a_hole_of_a_terabyte_behind_some_lines_costs_nothing(root: Path) -> None:
    with (root / "log").open("wb") as file:
        file.write(b"a line of the log\n" * 1000)
        try:
            file.truncate(1 << 40)
        except OSError:
            pytest.skip("the file system has no files so large")
    text = str((await read(root, "log")).llm_content)
    (root / "log").unlink()
    assert text.startswith("[File content truncated: showing lines 1-1001 of at least 1002 total lines...]")


async def test_a_line_too_far_to_reach_in_time_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_file, "TIME_LIMIT_S", 0.0)
    with (root / "log").open("wb") as file:
        file.write(b"a line of the log\n" * 600_000)
    assert (await error_of(root, "log", offset=500_000))[0] is ErrorKind.TIMED_OUT


async def test_a_file_hidden_by_geminiignore_is_an_error_also_through_a_link(root: Path) -> None:
    (root / ".geminiignore").write_text("secret*\n")
    (root / "secret.txt").write_text("x")
    (root / "link").symlink_to("secret.txt")
    for name in ("secret.txt", "link"):
        kind, message = await error_of(root, name)
        assert kind is ErrorKind.IGNORED
        assert ".geminiignore" in message


async def test_a_git_ignored_file_is_read(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("*.log\n")
    (root / "a.log").write_text("x")
    assert (await read(root, "a.log")).llm_content == "x"


async def test_what_is_no_file_is_refused_and_never_waited_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # a socket's path is short
    os.mkfifo(root / "fifo")
    (root / "folder").mkdir()
    server = socket.socket(socket.AF_UNIX)
    try:
        server.bind("socket")
        for name in ("fifo", "folder", "socket"):
            assert (await error_of(root, name))[0] is ErrorKind.WRONG_FILE_TYPE
    finally:
        server.close()


async def test_a_missing_file_and_one_outside_are_errors(root: Path) -> None:
    assert (await error_of(root, "none.txt"))[0] is ErrorKind.NOT_FOUND
    assert (await error_of(root, "../out.txt"))[0] is ErrorKind.OUTSIDE_WORKSPACE
    (root / "out").symlink_to("/etc/passwd")
    assert (await error_of(root, "out"))[0] is ErrorKind.OUTSIDE_WORKSPACE


async def test_what_was_read_is_remembered_as_seen(root: Path) -> None:
    (root / "a.txt").write_text("x")
    roots = Roots(str(root))
    files = LocalFiles(roots)
    await run_tool(ReadFile(files, roots, lambda path: why_ignored(roots, path)), path="a.txt")
    assert files.seen_digest("a.txt") is not None


def test_the_description_of_a_call_names_path_and_lines(root: Path) -> None:
    reader = tool(root)
    assert reader.get_description(reader.validate_tool_params({"path": "a"})) == "a"
    assert (
        reader.get_description(reader.validate_tool_params({"path": "a", "offset": 10, "limit": 5}))
        == "a (lines 11-15)"
    )


@pytest.mark.parametrize("mode", ["default", "auto_edit", "plan", "yolo"])
@pytest.mark.parametrize("name", [".env", "link", "sub/../.env"])
async def test_a_file_of_secrets_is_asked_about_in_every_mode(root: Path, mode: str, name: str) -> None:
    (root / ".env").write_text("KEY=hunter2")
    (root / "link").symlink_to(".env")
    (root / "sub").mkdir()
    asked: list[Question] = []

    async def confirm(question: Question) -> Approved:
        asked.append(question)
        return Approved()

    call = ToolCall("1", "read_file", {"path": name})
    refused = (await executor_for(tool(root), confirm=None, mode=mode).run(call)).result
    assert refused.error is not None
    assert refused.error.kind is ErrorKind.NOBODY_TO_ASK
    assert "hunter2" not in f"{refused.llm_content} {refused.return_display}"
    assert (await executor_for(tool(root), confirm=confirm, mode=mode).run(call)).result.llm_content == "KEY=hunter2"
    (question,) = asked
    assert question.always_rule is None
    confirmation = question.confirmation
    assert confirmation.reasons == (".env is for people only: it may hold passwords and keys.",)
    assert str(root / ".env") in str(confirmation.display)
    assert confirmation.reasons[0] in str(confirmation.display)
    assert "hunter2" not in repr(confirmation)


async def test_a_declined_file_of_secrets_is_not_read(root: Path) -> None:
    (root / "id_rsa").write_text("PRIVATE")

    async def confirm(_question: Question) -> Declined:
        return Declined("no")

    result = await run_tool(tool(root), confirm=confirm, path="id_rsa")
    assert result.error is not None
    assert result.error.kind is ErrorKind.DECLINED


async def test_an_approval_is_for_the_file_that_was_asked_about(root: Path) -> None:
    (root / ".env").write_text("A")
    (root / "id_rsa").write_text("B")
    (root / "link").symlink_to(".env")

    async def confirm(_question: Question) -> Approved:
        (root / "link").unlink()
        (root / "link").symlink_to("id_rsa")
        return Approved()

    for result in [
        await run_tool(tool(root), confirm=confirm, path="link"),
        await executed_unasked(root, ".env"),
    ]:
        assert result.error is not None
        assert result.error.kind is ErrorKind.PROTECTED


async def executed_unasked(root: Path, name: str) -> ToolResult:
    try:
        return await tool(root).execute(read_file.ReadFileArgs(path=name), CallContext())
    except ToolError as error:
        return ToolResult.failed(error)


async def test_nobody_is_asked_for_ordinary_and_missing_files(root: Path) -> None:
    (root / ".env.example").write_text("KEY=")
    assert (await run_tool(tool(root), confirm=None, path=".env.example")).llm_content == "KEY="
    (root / ".geminiignore").write_text(".netrc\n")
    (root / ".netrc").write_text("x")
    kinds = {".env": ErrorKind.NOT_FOUND, ".netrc": ErrorKind.IGNORED, "../.env": ErrorKind.OUTSIDE_WORKSPACE}
    for name, kind in kinds.items():
        result = await run_tool(tool(root), confirm=None, path=name)
        assert result.error is not None
        assert result.error.kind is kind


# a line that is too long for a slice


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "cp932", "iso2022_jp"])
async def test_a_long_line_is_read_on_piece_by_piece(root: Path, codec: str) -> None:
    line = "".join(f"{number}日本、" for number in range(9_000))
    (root / "a.txt").write_bytes(f"first\n{line}\r\nlast".encode(codec))
    assert "column reads one of them on" in str((await read(root, "a.txt")).llm_content)
    found, column = "", 0
    for _ in range(10):
        note, _, text = str((await read(root, "a.txt", offset=1, column=column)).llm_content).partition("\n")
        assert note.startswith(f"[Line 2, characters {column}-{column + len(text)}. ")
        found, column = found + text, column + len(text)
        if note.endswith("The line ends here.]"):
            break
        assert note.endswith(f"To read on, use offset 1 and column {column}.]")
    assert found == line


async def test_a_column_that_is_not_there_is_told(root: Path) -> None:
    (root / "a.txt").write_text("one\ntwo")
    assert "has no character 3" in (await error_of(root, "a.txt", offset=1, column=3))[1]
    assert "line 3" in (await error_of(root, "a.txt", offset=2, column=0))[1]
    assert str((await read(root, "a.txt", offset=1, column=1)).llm_content).endswith("The line ends here.]\nwo")
    (root / "b").write_bytes(bytes(9_000))
    assert (await error_of(root, "b", column=1))[0] is ErrorKind.WRONG_FILE_TYPE
