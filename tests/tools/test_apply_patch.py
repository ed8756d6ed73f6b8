"""apply_patch, called as a model would call it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dogu.contract.confirmation import CallContext
from dogu.contract.display import PatchDiff
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.testing.workspace import check_tool, run_tool
from dogu.tools.apply_patch import ApplyPatch
from dogu.workspace.files import FileChange, LocalFiles
from dogu.workspace.roots import Roots

pytestmark = pytest.mark.anyio

CODE = "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 1\n"


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


async def apply(root: Path, *lines: str) -> ToolResult:
    roots = Roots(str(root))
    return await run_tool(ApplyPatch(LocalFiles(roots), roots), input=patch(*lines))


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def as_kept(mode: int) -> int:
    """What of a mode the system keeps: Windows knows read-only files alone."""
    return 0o666 if os.name == "nt" else mode


def modes(root: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in root.rglob("*")}


async def test_it_keeps_the_contract(tmp_path: Path) -> None:
    roots = Roots(str(tmp_path))
    check_tool(ApplyPatch(LocalFiles(roots), roots))


async def test_files_are_added_changed_moved_and_deleted_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho 1\n")
    (tmp_path / "run.sh").chmod(0o750)
    (tmp_path / "old.bin").write_bytes(b"\0\1\2" * 100)
    result = await apply(
        tmp_path,
        "*** Update File: a.py",
        "@@",
        "-x = 1",
        "+x = 10",
        " y = 2",
        "*** Add File: new/b.txt",
        "+hello",
        "*** Delete File: old.bin",
        "*** Update File: run.sh",
        "*** Move to: bin/run",
        "@@",
        "-echo 1",
        "+echo 2",
    )
    assert result.error is None
    assert tree(tmp_path) == {
        "a.py": b"x = 10\ny = 2\n",
        "new/b.txt": b"hello\n",
        "bin/run": b"#!/bin/sh\necho 2\n",
    }
    assert (tmp_path / "bin/run").stat().st_mode & 0o777 == as_kept(0o750)
    assert isinstance(result.return_display, PatchDiff)
    assert [file.path for file in result.return_display.files] == ["a.py", "new/b.txt", "bin/run", "old.bin"]


async def test_a_file_moves_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\0\n")
    assert (await apply(tmp_path, "*** Update File: a", "*** Move to: b/c")).error is None
    assert tree(tmp_path) == {"b/c": b"\xff\0\n"}


async def test_a_hunk_that_fits_in_two_places_is_refused_and_found_below_its_header(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    hunk = ("     def f(self):", "-        return 1", "+        return 2")
    result = await apply(tmp_path, "*** Update File: a.py", "@@", *hunk)
    assert result.error is not None
    assert (result.error.kind, "line 3 of the patch" in result.error.message) == (ErrorKind.AMBIGUOUS_MATCH, True)
    assert tree(tmp_path) == {"a.py": CODE.encode()}
    for header, first, second in (("class A:", 2, 1), ("class B:", 2, 2)):
        assert (await apply(tmp_path, "*** Update File: a.py", f"@@ {header}", *hunk)).error is None
        bodies = (tmp_path / "a.py").read_text().replace("return ", "").split()
        assert [bodies[4], bodies[9]] == [str(first), str(second)]


@pytest.mark.parametrize("header", ["class B:", "class C:"])
async def test_lines_that_are_only_in_another_block_than_the_headers_are_refused(tmp_path: Path, header: str) -> None:
    code = f"class C:\n    def f(self):\n        return 0\n\n\n{CODE}".replace("return 1", "return 2", 1)
    (tmp_path / "a.py").write_text(code)
    result = await apply(tmp_path, "*** Update File: a.py", f"@@ {header}", "-        return 2", "+        return 3")
    assert result.error is not None
    assert (result.error.kind, repr(header) in result.error.message) == (ErrorKind.NO_MATCH, True)
    assert tree(tmp_path) == {"a.py": code.encode()}
    for named in ("class A:", "class Z:"):
        (tmp_path / "a.py").write_text(code)
        result = await apply(tmp_path, "*** Update File: a.py", f"@@ {named}", "-        return 2", "+        return 3")
        assert result.error is None
        assert (tmp_path / "a.py").read_text() == code.replace("return 2", "return 3")


async def test_gits_own_header_may_name_the_block_before_the_change(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE.replace("return 1", "return 2", 1))
    hunk = ("@@ -2,5 +2,5 @@ class A:", " class B:", "     def f(self):", "-        return 1", "+        return 3")
    assert (await apply(tmp_path, "*** Update File: a.py", *hunk)).error is None
    assert (tmp_path / "a.py").read_text() == CODE.replace("return 1", "return 2", 1).replace("return 1", "return 3")


async def test_a_header_may_be_any_line_above_the_hunk(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\n" + CODE)
    assert (await apply(tmp_path, "*** Update File: a.py", "@@ import os", "-class B:", "+class D:")).error is None
    assert (tmp_path / "a.py").read_text() == "import os\n" + CODE.replace("class B", "class D")


async def test_context_lines_may_have_lost_the_blank_before_them(tmp_path: Path) -> None:
    text = "def f():\n    a = 1\n    b = 2\n    return a\n"
    (tmp_path / "a.py").write_text(text)
    hunk = ("    a = 1", "+    c = 3", "    b = 2", "-    return a", "+    return c")
    await apply(tmp_path, "*** Update File: a.py", "@@", *hunk)
    assert (tmp_path / "a.py").read_text() == "def f():\n    a = 1\n    c = 3\n    b = 2\n    return c\n"


async def test_lines_are_inserted_below_a_header_or_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(CODE.rstrip("\n").replace("\n", "\r\n").encode())
    result = await apply(tmp_path, "*** Update File: a.py", "@@ class B:", "+    z = 3", "@@", "+END", "+END2")
    assert result.error is None
    expected = f"{CODE}END\nEND2\n".replace("class B:\n", "class B:\n    z = 3\n").replace("\n", "\r\n")
    assert (tmp_path / "a.py").read_bytes().decode() == expected


SIGNATURE = "def f(\n    a,\n):\n    return a\n"
SCRIPT = "function f()\n{\n  a();\n}\n"


@pytest.mark.parametrize(
    ("name", "text", "header", "added", "why"),
    [
        ("a.py", CODE, "@@ class A:", "+x = 1", "indented"),
        ("a.py", CODE, "@@ class A:", "+        x = 1", "indented"),
        ("a.py", CODE, "@@ -3,0 +4,1 @@ class A:", "+    x = 1", "line numbers alone"),
        ("a.py", CODE, "@@ -3,0 +4,1 @@", "+    x = 1", "line numbers alone"),
        ("a.py", CODE, "@@ class C:", "+    x = 1", "no single line 'class C:'"),
        ("a.py", SIGNATURE, "@@ def f(", "+    print(a)", "goes on"),
        ("a.py", 'def f():\n    """Do."""\n', "@@ def f():", "+    x = 1", "goes on"),
        ("a.py", "x = [\n    1,\n]\n", "@@ x = [", "+    2", "parsed"),
        ("a.js", SCRIPT, "@@ function f()", "+  b();", "goes on"),
        ("a.js", SCRIPT, "@@", "+  b();", "deeper"),
        ("a.json", "{}\n", "@@", "+{}", "parsed"),
        ("a.go", "func f() {\n\ta()\n}\n", "@@ func f() {", "+    b()", "indented"),
    ],
)
async def test_added_lines_that_fit_nowhere_are_refused(
    tmp_path: Path, name: str, text: str, header: str, added: str, why: str
) -> None:
    (tmp_path / name).write_text(text)
    result = await apply(tmp_path, f"*** Update File: {name}", header, added)
    assert result.error is not None
    assert (result.error.kind, why in result.error.message) == (ErrorKind.NO_MATCH, True), result.error.message
    assert tree(tmp_path) == {name: text.encode()}


@pytest.mark.parametrize(
    ("name", "text", "header", "added"),
    [
        ("a.py", SIGNATURE, "def f(", "    b,"),
        ("a.py", "x = 1\ny = 2\n", "x = 1", "z = 3"),
        ("a.py", "class A:\n    x = 1\n", "x = 1", "    z = 3"),
        ("a.go", "func f() {\n\ta()\n}\n", "func f() {", "\tb()"),
        ("a.go", "func f() {\n}\n", "func f() {", "\tb()"),
        ("a.md", "- a\n- b\n", "- b", "- c"),
    ],
)
async def test_added_lines_that_fit_go_behind_their_header(
    tmp_path: Path, name: str, text: str, header: str, added: str
) -> None:
    (tmp_path / name).write_text(text)
    assert (await apply(tmp_path, f"*** Update File: {name}", f"@@ {header}", f"+{added}")).error is None
    assert (tmp_path / name).read_text() == text.replace(f"{header}\n", f"{header}\n{added}\n")


async def test_the_end_of_the_file_settles_a_hunk(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\ny\nx\ny\n")
    result = await apply(tmp_path, "*** Update File: a", " x", "-y", "+z", "*** End of File")
    assert result.error is None
    assert (tmp_path / "a").read_text() == "x\ny\nx\nz\n"


async def test_encoding_line_endings_and_a_missing_last_one_stay(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("日本\r\n変更前\r\n終わり".encode("cp932"))
    result = await apply(tmp_path, "*** Update File: a.txt", " 日本", "-変更前", "+変更後", " 終わり")
    assert result.error is None
    assert (tmp_path / "a.txt").read_bytes() == "日本\r\n変更後\r\n終わり".encode("cp932")


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (("*** Update File: a", "-x", "+y", "*** Delete File: gone"), ErrorKind.NOT_FOUND),
        (("*** Update File: a", "-x", "+y", "*** Update File: b", "-nope", "+y"), ErrorKind.NO_MATCH),
        (("*** Update File: a", "-x", "+y", "*** Add File: b", "+1"), ErrorKind.ALREADY_EXISTS),
        (("*** Update File: a", "*** Move to: b"), ErrorKind.ALREADY_EXISTS),
        (("*** Update File: a", "-x", "+y", "*** Add File: ../c", "+1"), ErrorKind.OUTSIDE_WORKSPACE),
        (("*** Update File: a", "-x", "+y", "*** Delete File: link"), ErrorKind.WRONG_FILE_TYPE),
        (("*** Update File: a", "-x", "+y", "*** Update File: link", "-x", "+z"), ErrorKind.INVALID_ARGUMENTS),
        (("*** Update File: a", "-x", "+y", "@@", "-x", "+z"), ErrorKind.AMBIGUOUS_MATCH),
        (("*** Add File: c", "+# ... rest of the code ..."), ErrorKind.OMISSION_PLACEHOLDER),
    ],
)
async def test_where_one_part_cannot_be_nothing_is(tmp_path: Path, lines: tuple[str, ...], kind: ErrorKind) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").write_text("x\n")
    (root / "b").write_text("b\n")
    (root / "link").symlink_to("a")
    result = await apply(root, *lines)
    assert result.error is not None
    assert result.error.kind is kind, result.error.message
    assert tree(root) == {"a": b"x\n", "b": b"b\n", "link": b"x\n"}


class Failing:
    """Lets the write of one path fail."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_on = True

    def before_write(self, change: FileChange) -> None:
        if self.is_on and os.path.basename(change.path) == self._name:
            raise ToolError(ErrorKind.IO_ERROR, "No space left on device.")

    def after_write(self, change: FileChange, done: bool) -> None:
        pass


@pytest.mark.parametrize("failing", ["a", "new", "gone", "moved", "from"])
async def test_where_one_write_fails_the_others_are_taken_back(tmp_path: Path, failing: str) -> None:
    for name in ("a", "gone", "from"):
        (tmp_path / name).write_text(f"{name}\n")
        (tmp_path / name).chmod(0o711)
    before = tree(tmp_path)
    roots = Roots(str(tmp_path))
    tool = ApplyPatch(LocalFiles(roots, [Failing(failing)]), roots)
    text = patch(
        "*** Delete File: gone",
        "*** Add File: new",
        "+1",
        "*** Update File: a",
        "-a",
        "+A",
        "*** Update File: from",
        "*** Move to: moved",
    )
    result = await run_tool(tool, input=text)
    assert result.error is not None
    assert "The patch was not applied. No space left on device. Every other file is as it was." in result.error.message
    assert tree(tmp_path) == before
    assert modes(tmp_path) == {as_kept(0o711)}


async def test_what_changed_after_the_question_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    (tmp_path / "b").write_text("b\n")
    roots = Roots(str(tmp_path))
    tool = ApplyPatch(LocalFiles(roots), roots)
    args = tool.validate_tool_params({"input": patch("*** Update File: b", "-b", "+c", "*** Delete File: a")})
    question = await tool.should_confirm_execute(args)
    assert question is not None
    (tmp_path / "a").write_text("mine\n")
    with pytest.raises(ToolError) as stale:
        await tool.execute(args, CallContext("1", approved=question.proposal))
    assert stale.value.kind is ErrorKind.STALE
    assert tree(tmp_path) == {"a": b"mine\n", "b": b"b\n"}


async def test_a_protected_place_asks_whatever_the_mode(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("[core]\n")
    roots = Roots(str(tmp_path))
    tool = ApplyPatch(LocalFiles(roots), roots)
    args = tool.validate_tool_params({"input": patch("*** Delete File: .git/config")})
    question = await tool.should_confirm_execute(args)
    assert question is not None
    assert question.always_ask


async def test_a_hunk_is_of_whole_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("max_size: 1\nsize: 1\n")
    result = await apply(tmp_path, "*** Update File: a", "@@", "-size: 1", "+size: 2")
    assert result.error is None
    assert (tmp_path / "a").read_text() == "max_size: 1\nsize: 2\n"


async def test_a_hunk_that_would_change_a_part_of_a_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("max_size: 1\n")
    result = await apply(tmp_path, "*** Update File: a", "@@", "-size: 1", "+size: 2")
    assert result.error is not None
    assert "whole lines" in result.error.message
    assert (tmp_path / "a").read_text() == "max_size: 1\n"


async def test_a_hunk_whose_lines_all_have_a_blank_less_is_no_guess(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("jobs:\n  one:\n    runs: x\n    steps: y\n")
    result = await apply(tmp_path, "*** Update File: a.yml", "@@", "  one:", "+   name: z", "    runs: x")
    assert result.error is not None
    assert "a blank less" in result.error.message
