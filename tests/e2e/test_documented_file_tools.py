"""The file tools' documents, sentence by sentence, through the executor and as a model would call them."""

import base64
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import dogu
from dogu.serve.wire import content_json
from e2e.documented import Documented, open_documented

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
# What the documents call a number is declared as an integer.
FILE_TOOLS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "list_directory": ("ReadFolder", {"path": "string"}, {"ignore": "array", "respect_git_ignore": "boolean"}),
    "read_file": ("ReadFile", {"path": "string"}, {"offset": "integer", "limit": "integer"}),
    "write_file": ("WriteFile", {"file_path": "string", "content": "string"}, {}),
    "glob": (
        "FindFiles",
        {"pattern": "string"},
        {"path": "string", "ignore": "array", "case_sensitive": "boolean", "respect_git_ignore": "boolean"},
    ),
    "grep_search": ("SearchText", {"pattern": "string"}, {"path": "string", "include": "string"}),
    "replace": (
        "Edit",
        {"file_path": "string", "old_string": "string", "new_string": "string"},
        {"expected_replacements": "integer"},
    ),
}


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Documented]:
    async with open_documented(tmp_path) as opened:
        yield opened


class TestIntroduction:
    @pytest.mark.requirement("fs.suite")
    @pytest.mark.requirement("fs.list.name")
    @pytest.mark.requirement("fs.read.name")
    @pytest.mark.requirement("fs.write.name")
    @pytest.mark.requirement("fs.glob.name")
    @pytest.mark.requirement("fs.search.name")
    @pytest.mark.requirement("fs.replace.name")
    @pytest.mark.parametrize("name", FILE_TOOLS)
    async def test_each_tool_has_its_documented_names_and_parameters(self, tools: Documented, name: str) -> None:
        display_name, required, optional = FILE_TOOLS[name]
        tool = tools.runtime.registry.get(name)
        schema = tool.declaration.parameters
        assert (tool.declaration.name, tool.display_name) == (name, display_name)
        assert schema["required"] == list(required)
        declared = {parameter: schema["properties"][parameter] for parameter in [*required, *optional]}
        assert {parameter: each["type"] for parameter, each in declared.items()} == {**required, **optional}
        assert all(each["items"] == {"type": "string"} for each in declared.values() if each["type"] == "array")
        assert {each["default"] for parameter, each in declared.items() if parameter == "respect_git_ignore"} <= {True}
        assert {each["default"] for parameter, each in declared.items() if parameter == "case_sensitive"} <= {False}

    @pytest.mark.requirement("fs.search.name")
    async def test_the_other_name_of_the_search_is_understood(self, tools: Documented) -> None:
        tools.write("a.txt", "needle")
        assert "File: a.txt" in await tools.text("search_file_content", pattern="needle")

    @pytest.mark.requirement("fs.control")
    async def test_what_changes_something_is_confirmed_and_what_reads_is_not(self, tools: Documented) -> None:
        file = tools.write("a.txt", "one\n")
        for name, args in {
            "list_directory": {"path": "."},
            "read_file": {"path": file},
            "glob": {"pattern": "*"},
            "grep_search": {"pattern": "one"},
        }.items():
            await tools.text(name, **args)
            assert tools.questions == [], name
        await tools.text("write_file", file_path=file, content="two\n")
        await tools.text("replace", file_path=file, old_string="two", new_string="three")
        assert [question.call.name for question in tools.questions] == ["write_file", "replace"]

    @pytest.mark.requirement("fs.root.contained")
    @pytest.mark.parametrize("path", ["../outside.txt", "/etc/hostname", "link"])
    async def test_nothing_outside_of_the_root_is_read_or_written(self, tools: Documented, path: str) -> None:
        (tools.root.parent / "outside.txt").write_text("secret")
        (tools.root / "link").symlink_to("../outside.txt")
        (tools.root / "folder").symlink_to("..")
        folder = os.path.dirname(path) or "folder"
        for name, args in {
            "read_file": {"path": path},
            "write_file": {"file_path": path, "content": "x"},
            "replace": {"file_path": tools.path(path), "old_string": "secret", "new_string": "x"},
            "list_directory": {"path": folder},
            "glob": {"pattern": "*", "path": folder},
            "grep_search": {"pattern": "secret", "path": folder},
        }.items():
            kind, message = await tools.error(name, **args)
            assert kind == "outside_workspace", message
        assert tools.questions == []
        assert (tools.root.parent / "outside.txt").read_text() == "secret"

    @pytest.mark.requirement("fs.root.contained")
    async def test_no_pattern_leads_out_of_the_root(self, tools: Documented) -> None:
        (tools.root.parent / "outside.txt").write_text("secret")
        tools.write("inside.txt")
        for pattern in ("../*.txt", str(tools.root.parent / "*.txt")):
            found = await tools.call("glob", pattern=pattern)
            assert f"{tools.root.parent}/outside.txt" not in str(found.llm_content)
            searched = await tools.call("grep_search", pattern="secre[t]", include=pattern)
            assert "L1: secret" not in str(searched.llm_content)

    @pytest.mark.requirement("fs.root.paths")
    async def test_a_path_is_absolute_or_relative_to_the_root(self, tools: Documented) -> None:
        file = tools.write("folder/a.txt", "text\n")
        for name, key, relative, more in [
            ("read_file", "path", "folder/a.txt", {}),
            ("list_directory", "path", "folder", {}),
            ("glob", "path", "folder", {"pattern": "*.txt"}),
            ("grep_search", "path", "folder", {"pattern": "text"}),
            ("write_file", "file_path", "folder/a.txt", {"content": "text\n"}),
        ]:
            by_relative = await tools.text(name, **{key: relative, **more})
            by_absolute = await tools.text(name, **{key: tools.path(relative), **more})
            assert by_relative.replace(tools.path(relative), relative) == by_absolute.replace(
                tools.path(relative), relative
            ), name
        assert tools.content(file) == "text\n"

    @pytest.mark.requirement("fs.foundation")
    async def test_together_they_find_understand_and_change_a_project(self, tools: Documented) -> None:
        tools.write("src/a.py", "def old():\n    pass\n")
        tools.write("src/b.py", "import a\n\na.old()\n")
        assert "[DIR] src" in await tools.text("list_directory", path=".")
        found = (await tools.lines("glob", pattern="src/*.py"))[1:]
        assert len(found) == 2
        for file in found:
            await tools.text("replace", file_path=file, old_string="old", new_string="new")
        assert "No matches found" in await tools.text("grep_search", pattern=r"\bold\b")


class TestListDirectory:
    @pytest.mark.requirement("fs.list.direct")
    @pytest.mark.requirement("fs.list.marks")
    @pytest.mark.requirement("fs.list.order")
    @pytest.mark.requirement("fs.list.output")
    @pytest.mark.requirement("api.builtin.ls")
    async def test_directories_come_first_then_names_in_order_and_nothing_deeper(self, tools: Documented) -> None:
        for name in ("b.txt", "a.png", "sub2/deeper.txt", "sub1/x"):
            tools.write(name)
        listing = await tools.text("list_directory", path=str(tools.root))
        assert listing.splitlines() == [
            f"Directory listing for {tools.root}:",
            "[DIR] sub1",
            "[DIR] sub2",
            "a.png",
            "b.txt",
        ]

    @pytest.mark.requirement("fs.list.direct")
    async def test_of_very_many_entries_the_first_are_shown_and_the_rest_counted(self, tools: Documented) -> None:
        for number in range(2100):
            tools.write(f"{number:04}.txt")
        _, *names, _, last = await tools.lines("list_directory", path=".")
        assert names == [f"{number:04}.txt" for number in range(2000)]
        assert "2000 of 2100" in last

    @pytest.mark.requirement("fs.list.path")
    async def test_the_path_is_needed_and_must_be_a_directory(self, tools: Documented) -> None:
        assert (await tools.error("list_directory"))[0] == "invalid_arguments"
        assert (await tools.error("list_directory", path="missing"))[0] == "not_found"
        assert (await tools.error("list_directory", path=tools.write("file")))[0] == "wrong_file_type"

    @pytest.mark.requirement("fs.list.ignore")
    async def test_entries_that_match_a_glob_are_left_out(self, tools: Documented) -> None:
        tools.make_repository()
        for name in ("a.log", "b.txt", "sub.log/x", "tmp/x"):
            tools.write(name)
        shown = (await tools.lines("list_directory", path=".", ignore=["*.log", ".git"]))[1:3]
        assert shown == ["[DIR] tmp", "b.txt"]

    @pytest.mark.requirement("fs.list.git_ignore")
    async def test_git_ignored_entries_are_left_out_unless_wanted(self, tools: Documented) -> None:
        tools.make_repository()
        tools.write(".gitignore", "*.o\n")
        tools.write("a.o")
        assert "a.o" not in (await tools.lines("list_directory", path="."))
        assert "a.o" in (await tools.lines("list_directory", path=".", respect_git_ignore=False))

    @pytest.mark.requirement("fs.list.confirm")
    async def test_it_never_asks(self, tools: Documented) -> None:
        await tools.text("list_directory", path=".")
        assert tools.questions == []


class TestReadFile:
    @pytest.mark.requirement("fs.read.text")
    @pytest.mark.requirement("api.builtin.read_file")
    async def test_a_text_is_returned_as_it_is(self, tools: Documented) -> None:
        assert await tools.text("read_file", path=tools.write("a", "één\n\ttwo")) == "één\n\ttwo"

    @pytest.mark.requirement("fs.read.images")
    @pytest.mark.requirement("fs.read.audio")
    @pytest.mark.requirement("fs.read.pdf")
    @pytest.mark.parametrize(
        ("name", "data", "media_type"),
        [
            ("a.png", PNG, "image/png"),
            ("a.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01", "image/jpeg"),
            ("a.gif", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", "image/gif"),
            ("a.webp", b"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00", "image/webp"),
            (
                "a.bmp",
                b"BM\x3a\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00" + b"\x00" * 40,
                "image/bmp",
            ),
            ("a.mp3", b"ID3\x04\x00\x00\x00\x00\x00\x00\xff\xfb\x90\x00", "audio/mpeg"),
            ("a.wav", b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00", "audio/wav"),
            ("a.aiff", b"FORM\x00\x00\x00\x2eAIFFCOMM\x00\x00\x00\x12", "audio/aiff"),
            ("a.aac", b"\xff\xf1\x50\x80\x02\x1f\xfc\x00" + b"\x00" * 16, "audio/aac"),
            ("a.ogg", b"OggS\x00\x02" + b"\x00" * 22 + b"\x01\x1e\x01vorbis", "audio/ogg"),
            ("a.flac", b"fLaC\x00\x00\x00\x22" + b"\x00" * 34, "audio/flac"),
            ("a.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "application/pdf"),
        ],
        ids="png jpg gif webp bmp mp3 wav aiff aac ogg flac pdf".split(),
    )
    async def test_media_is_returned_as_data_a_model_can_read(
        self, tools: Documented, name: str, data: bytes, media_type: str
    ) -> None:
        content = (await tools.call("read_file", path=tools.write(name, data))).llm_content
        blobs = [part for part in content if isinstance(part, dogu.Blob)]
        assert [(blob.media_type, blob.data) for blob in blobs] == [(media_type, data)]

    @pytest.mark.requirement("fs.read.media_output")
    async def test_media_goes_out_as_inline_data(self, tools: Documented) -> None:
        result = await tools.call("read_file", path=tools.write("a.png", PNG))
        data = base64.b64encode(PNG).decode()
        assert content_json(result.llm_content) == {"inlineData": {"mimeType": "image/png", "data": data}}

    @pytest.mark.requirement("fs.read.images")
    async def test_svg_is_read_as_text(self, tools: Documented) -> None:
        svg = '<svg xmlns="http://www.w3.org/2000/svg"/>\n'
        assert await tools.text("read_file", path=tools.write("a.svg", svg)) == svg

    @pytest.mark.requirement("fs.read.slice")
    @pytest.mark.requirement("fs.read.offset")
    @pytest.mark.requirement("fs.read.limit")
    @pytest.mark.requirement("fs.read.truncation_output")
    async def test_offset_counts_from_0_and_limit_is_the_number_of_lines(self, tools: Documented) -> None:
        file = tools.write("a", "".join(f"line {number}\n" for number in range(1, 501)))
        text = await tools.text("read_file", path=file, offset=2, limit=2)
        assert text.startswith("[File content truncated: showing lines 3-4 of 500 total lines...]\nline 3\nline 4\n")
        first = await tools.text("read_file", path=file, offset=0, limit=100)
        assert first.startswith("[File content truncated: showing lines 1-100 of 500 total lines...]\nline 1\n")
        assert "line 500\n" in await tools.text("read_file", path=file, offset=499)

    @pytest.mark.requirement("fs.read.path")
    async def test_the_path_is_needed(self, tools: Documented) -> None:
        kind, message = await tools.error("read_file")
        assert kind == "invalid_arguments"
        assert "'path'" in message

    @pytest.mark.requirement("fs.read.limit_default")
    @pytest.mark.requirement("fs.read.truncation")
    async def test_without_limit_2000_lines_are_read_and_the_cut_is_told(self, tools: Documented) -> None:
        text = await tools.text("read_file", path=tools.write("a", "x\n" * 2001))
        assert text.startswith("[File content truncated: showing lines 1-2000 of 2001 total lines")
        assert text.count("x\n") == 2000
        assert await tools.text("read_file", path=tools.write("b", "x\n" * 2000)) == "x\n" * 2000

    @pytest.mark.requirement("fs.read.truncation")
    async def test_a_line_that_is_too_long_is_cut_and_told(self, tools: Documented) -> None:
        text = await tools.text("read_file", path=tools.write("a", "x" * 5000 + "\nend\n"))
        assert "truncated" in text
        assert "x" * 2000 in text
        assert "x" * 2001 not in text
        assert text.splitlines()[2] == "end"

    @pytest.mark.requirement("fs.read.binary")
    async def test_another_binary_is_not_shown(self, tools: Documented) -> None:
        file = tools.write("data.bin", bytes(range(256)) * 4)
        assert f"Cannot display content of binary file: {file}" in (await tools.error("read_file", path=file))[1]

    @pytest.mark.requirement("api.builtin.read_file.absolute_path")
    async def test_absolute_path_names_the_parameter_too(self, tools: Documented) -> None:
        assert await tools.text("read_file", absolute_path=tools.write("a", "text")) == "text"

    @pytest.mark.requirement("fs.read.confirm")
    @pytest.mark.requirement("fs.control")
    async def test_it_asks_for_secrets_alone(self, tools: Documented) -> None:
        await tools.text("read_file", path=tools.write("a", "x"))
        assert tools.questions == []
        await tools.text("read_file", path=tools.write(".env", "KEY=1"))
        assert [question.confirmation.always_ask for question in tools.questions] == [True]


class TestWriteFile:
    @pytest.mark.requirement("fs.write.create")
    @pytest.mark.requirement("fs.write.content")
    @pytest.mark.requirement("fs.write.output")
    @pytest.mark.requirement("api.builtin.write_file")
    async def test_a_new_file_is_created_with_its_parents(self, tools: Documented) -> None:
        file = tools.path("new/deep/a.txt")
        text = await tools.text("write_file", file_path=file, content="text\n")
        assert text.startswith(f"Successfully created and wrote to new file: {file}")
        assert tools.content(file) == "text\n"

    @pytest.mark.requirement("fs.write.overwrite")
    @pytest.mark.requirement("fs.write.output")
    async def test_an_existing_file_is_overwritten(self, tools: Documented) -> None:
        file = tools.write("a.txt", "old\n")
        assert (await tools.text("write_file", file_path=file, content="new\n")).startswith(
            f"Successfully overwrote file: {file}"
        )
        assert tools.content(file) == "new\n"

    @pytest.mark.requirement("fs.write.file_path")
    async def test_the_path_is_absolute_or_relative_and_needed(self, tools: Documented) -> None:
        await tools.text("write_file", file_path="a.txt", content="x")
        assert (tools.root / "a.txt").read_text() == "x"
        assert (await tools.error("write_file", content="x"))[0] == "invalid_arguments"

    @pytest.mark.requirement("fs.write.confirm")
    async def test_a_diff_is_shown_and_approved_before_it_writes(self, tools: Documented) -> None:
        file = tools.write("a.txt", "old\n")
        await tools.text("write_file", file_path=file, content="new\n")
        (question,) = tools.questions
        display = question.confirmation.display
        assert isinstance(display, dogu.FileDiff)
        assert "-old\n+new\n" in display.unified

    @pytest.mark.requirement("fs.write.confirm")
    @pytest.mark.requirement("fs.replace.confirm")
    async def test_without_approval_nothing_is_written(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("old\n")

        async def decline(_question: dogu.Question) -> dogu.Declined:
            assert (tmp_path / "a.txt").read_text() == "old\n"
            return dogu.Declined("no")

        options = dogu.Options(root=str(tmp_path), home=str(tmp_path / "home"))
        async with dogu.open_runtime(options, confirm=decline) as runtime:
            file = str(tmp_path / "a.txt")
            written = await runtime.call("write_file", file_path=file, content="new\n")
            replaced = await runtime.call("replace", file_path=file, old_string="old", new_string="new")
        for answer in (written, replaced):
            assert answer.result.error is not None
            assert answer.result.error.kind is dogu.ErrorKind.DECLINED
        assert (tmp_path / "a.txt").read_text() == "old\n"


class TestGlob:
    @pytest.mark.requirement("fs.glob.match")
    @pytest.mark.requirement("fs.glob.pattern")
    @pytest.mark.requirement("fs.glob.order")
    @pytest.mark.requirement("fs.glob.output")
    @pytest.mark.requirement("api.builtin.glob")
    async def test_the_newest_comes_first_as_absolute_paths(self, tools: Documented) -> None:
        now = time.time()
        for age, name in enumerate(("src/new.ts", "src/deep/middle.ts", "src/old.ts", "src/other.js")):
            os.utime(tools.write(name), (now - age * 60, now - age * 60))
        lines = await tools.lines("glob", pattern="src/**/*.ts")
        assert lines[0].startswith('Found 3 file(s) matching "src/**/*.ts" within ')
        assert lines[0].endswith(", sorted by modification time (newest first):")
        assert lines[1:4] == [tools.path(name) for name in ("src/new.ts", "src/deep/middle.ts", "src/old.ts")]

    @pytest.mark.requirement("fs.glob.path")
    async def test_path_is_where_it_searches(self, tools: Documented) -> None:
        tools.write("a.md")
        inside = tools.write("docs/b.md")
        assert (await tools.lines("glob", pattern="*.md", path=tools.path("docs")))[1:] == [inside]
        assert len((await tools.lines("glob", pattern="**/*.md"))[1:]) == 2

    @pytest.mark.requirement("fs.glob.output")
    @pytest.mark.requirement("fs.glob.path")
    async def test_the_documents_example(self, tools: Documented) -> None:
        now = time.time()
        for age in range(5):
            os.utime(tools.write(f"src/file{age}.ts"), (now - age, now - age))
        tools.write("src/subdir/file5.ts")
        assert await tools.lines("glob", pattern="*.ts", path="src") == [
            'Found 5 file(s) matching "*.ts" within src, sorted by modification time (newest first):',
            *(tools.path(f"src/file{age}.ts") for age in range(5)),
        ]
        assert tools.path("src/subdir/file5.ts") in await tools.lines("glob", pattern="**/*.ts", path="src")

    @pytest.mark.requirement("fs.glob.ignore")
    async def test_what_matches_ignore_is_left_out(self, tools: Documented) -> None:
        kept = tools.write("a.txt")
        for name in ("b.log", "deep/c.log", ".git/d"):
            tools.write(name)
        found = await tools.lines("glob", pattern="**/*", ignore=["*.log", ".git"])
        assert [line for line in found if line.startswith(str(tools.root))] == [kept]

    @pytest.mark.requirement("fs.glob.case")
    async def test_letter_case_matters_only_when_asked(self, tools: Documented) -> None:
        upper = tools.write("README.MD")
        assert upper in await tools.lines("glob", pattern="*.md")
        assert upper not in await tools.lines("glob", pattern="*.md", case_sensitive=True)

    @pytest.mark.requirement("fs.glob.git_ignore")
    async def test_git_ignored_files_are_left_out_unless_wanted(self, tools: Documented) -> None:
        tools.make_repository()
        tools.write(".gitignore", "*.o\n")
        ignored = tools.write("a.o")
        assert ignored not in await tools.lines("glob", pattern="*.o")
        assert ignored in await tools.lines("glob", pattern="*.o", respect_git_ignore=False)

    @pytest.mark.requirement("fs.glob.nuisance")
    async def test_node_modules_and_git_are_left_out(self, tools: Documented) -> None:
        tools.write("node_modules/a/index.js")
        tools.write(".git/index.js")
        kept = tools.write("index.js")
        assert [line for line in await tools.lines("glob", pattern="**/*") if line.startswith(str(tools.root))] == [
            kept
        ]

    @pytest.mark.requirement("fs.glob.confirm")
    async def test_it_never_asks(self, tools: Documented) -> None:
        await tools.text("glob", pattern="*")
        assert tools.questions == []


class TestSearch:
    @pytest.mark.requirement("fs.search.match")
    @pytest.mark.requirement("fs.search.pattern")
    @pytest.mark.requirement("fs.search.include")
    @pytest.mark.requirement("fs.search.lines")
    @pytest.mark.requirement("fs.search.output")
    @pytest.mark.requirement("api.builtin.grep")
    async def test_the_documents_example(self, tools: Documented) -> None:
        tools.write(
            "src/utils.ts", "\n" * 14 + "export function myFunction() {\n" + "\n" * 6 + "  myFunction.call();\n}\n"
        )
        tools.write("src/index.ts", "\n" * 4 + "import { myFunction } from './utils';\n")
        tools.write("src/other.js", "myFunction\n")
        lines = await tools.lines("grep_search", pattern=r"my[F]unction\b", path=".", include="*.ts")
        assert lines[:9] == [
            'Found 3 matches for pattern "my[F]unction\\b" in path "." (filter: "*.ts"):',
            "---",
            "File: src/index.ts",
            "L5: import { myFunction } from './utils';",
            "---",
            "File: src/utils.ts",
            "L15: export function myFunction() {",
            "L22:   myFunction.call();",
            "---",
        ]
        assert all(line.startswith("(Searched without ripgrep") for line in lines[9:])

    @pytest.mark.requirement("fs.search.pattern")
    async def test_the_documents_pattern(self, tools: Documented) -> None:
        tools.write("a.js", "function\t myFunction() {}\nfunctionmyFunction\nfunction other() {}\n")
        lines = await tools.lines("grep_search", pattern=r"function\s+myFunction")
        assert lines[1:5] == ["---", "File: a.js", "L1: function\t myFunction() {}", "---"]

    @pytest.mark.requirement("fs.search.path")
    async def test_path_is_where_it_searches(self, tools: Documented) -> None:
        tools.write("a.txt", "needle\n")
        tools.write("docs/b.txt", "needle\n")
        inside = await tools.text("grep_search", pattern="needle", path=tools.path("docs"))
        assert "File: b.txt" in inside
        assert "a.txt" not in inside
        assert "File: docs/b.txt" in await tools.text("grep_search", pattern="needle")

    @pytest.mark.requirement("fs.search.include")
    async def test_include_takes_alternatives_and_folders(self, tools: Documented) -> None:
        for name in ("src/a.ts", "src/deep/b.tsx", "src/c.js", "d.ts"):
            tools.write(name, "needle\n")
        text = await tools.text("grep_search", pattern="needle", include="src/**/*.{ts,tsx}")
        assert [line for line in text.splitlines() if line.startswith("File:")] == [
            "File: src/a.ts",
            "File: src/deep/b.tsx",
        ]

    @pytest.mark.requirement("fs.search.ignores")
    async def test_what_is_commonly_ignored_is_not_searched(self, tools: Documented) -> None:
        tools.make_repository()
        tools.write(".gitignore", "out/\n")
        for name in ("out/a.txt", "node_modules/b.txt", "c.txt"):
            tools.write(name, "needle\n")
        text = await tools.text("grep_search", pattern="needle")
        assert [line for line in text.splitlines() if line.startswith("File:")] == ["File: c.txt"]

    @pytest.mark.requirement("fs.search.engine")
    async def test_it_searches_in_a_repository_and_outside_of_one_alike(self, tools: Documented) -> None:
        tools.write("a.txt", "needle\n")
        outside = await tools.text("grep_search", pattern="needle")
        tools.make_repository()
        assert await tools.text("grep_search", pattern="needle") == outside

    @pytest.mark.requirement("fs.search.confirm")
    async def test_it_never_asks(self, tools: Documented) -> None:
        await tools.text("grep_search", pattern="x")
        assert tools.questions == []


class TestReplace:
    @pytest.mark.requirement("fs.replace.text")
    @pytest.mark.requirement("fs.replace.exact")
    @pytest.mark.requirement("fs.replace.file_path")
    @pytest.mark.requirement("fs.replace.old_string")
    @pytest.mark.requirement("fs.replace.output.modified")
    @pytest.mark.requirement("api.builtin.edit")
    async def test_one_occurrence_is_replaced(self, tools: Documented) -> None:
        file = tools.write("a.py", "a = 1\nb = 2\n")
        text = await tools.text("replace", file_path=file, old_string="b = 2", new_string="b = 3")
        assert text.startswith(f"Successfully modified file: {file} (1 replacements).")
        assert tools.content(file) == "a = 1\nb = 3\n"

    @pytest.mark.requirement("fs.replace.new_string")
    @pytest.mark.parametrize("new", [r"\1 $& $1 \n", "", "{}%s", "\u2028"], ids=ascii)
    async def test_the_new_text_is_literal(self, tools: Documented, new: str) -> None:
        file = tools.write("a.txt", "<old>\n")
        await tools.text("replace", file_path=file, old_string="old", new_string=new)
        assert tools.content(file) == f"<{new}>\n"

    @pytest.mark.requirement("fs.replace.old_string")
    async def test_the_old_text_is_literal(self, tools: Documented) -> None:
        file = tools.write("a.txt", "a.c abc\n")
        await tools.text("replace", file_path=file, old_string="a.c", new_string="x")
        assert tools.content(file) == "x abc\n"

    @pytest.mark.requirement("fs.replace.many")
    async def test_as_many_as_expected_are_replaced(self, tools: Documented) -> None:
        file = tools.write("a.txt", "old old old\n")
        args = {"file_path": file, "old_string": "old", "new_string": "new"}
        text = await tools.text("replace", **args, expected_replacements=3)
        assert text.startswith(f"Successfully modified file: {file} (3 replacements).")
        assert tools.content(file) == "new new new\n"

    @pytest.mark.requirement("fs.replace.unique")
    async def test_the_model_is_told_to_name_one_place(self, tools: Documented) -> None:
        tool = tools.runtime.registry.get("replace")
        told = f"{tool.description} {tool.parameter_schema['properties']['old_string']['description']}".lower()
        assert "3 lines" in told or "three lines" in told
        assert "whitespace" in told or "white space" in told

    @pytest.mark.requirement("fs.replace.create")
    @pytest.mark.requirement("fs.replace.output.created")
    async def test_an_empty_old_string_creates_the_file(self, tools: Documented) -> None:
        file = tools.path("new/a.txt")
        text = await tools.text("replace", file_path=file, old_string="", new_string="text\n")
        assert text.startswith(f"Created new file: {file} with provided content.")
        assert tools.content(file) == "text\n"

    @pytest.mark.requirement("fs.replace.fail.path")
    async def test_a_relative_path_fails_and_the_absolute_one_is_named(self, tools: Documented) -> None:
        file = tools.write("a.txt", "old")
        _, message = await tools.error("replace", file_path="a.txt", old_string="old", new_string="new")
        assert file in message
        outside = str(tools.root.parent / "outside.txt")
        kind, _ = await tools.error("replace", file_path=outside, old_string="", new_string="new")
        assert kind == "outside_workspace"
        assert tools.content(file) == "old"

    @pytest.mark.requirement("fs.replace.fail.missing")
    async def test_a_missing_file_fails(self, tools: Documented) -> None:
        kind, _ = await tools.error("replace", file_path=tools.path("a"), old_string="old", new_string="new")
        assert kind == "not_found"
        assert not (tools.root / "a").exists()

    @pytest.mark.requirement("fs.replace.fail.exists")
    async def test_an_empty_old_string_for_an_existing_file_fails(self, tools: Documented) -> None:
        file = tools.write("a.txt", "text")
        kind, _ = await tools.error("replace", file_path=file, old_string="", new_string="new")
        assert kind == "already_exists"
        assert tools.content(file) == "text"

    @pytest.mark.requirement("fs.replace.fail.not_found")
    @pytest.mark.requirement("fs.replace.output.failed")
    async def test_text_that_is_not_there_fails(self, tools: Documented) -> None:
        file = tools.write("a.txt", "something else entirely\n")
        kind, message = await tools.error("replace", file_path=file, old_string="no such text", new_string="new")
        assert (kind, message.startswith("Failed to edit, 0 occurrences found")) == ("no_match", True)
        assert tools.content(file) == "something else entirely\n"

    @pytest.mark.requirement("fs.replace.fail.ambiguous")
    @pytest.mark.requirement("fs.replace.output.failed")
    async def test_text_that_is_there_twice_fails(self, tools: Documented) -> None:
        file = tools.write("a.txt", "old\nold\n")
        kind, message = await tools.error("replace", file_path=file, old_string="old", new_string="new")
        assert kind == "ambiguous_match"
        assert message.startswith("Failed to edit, expected 1 occurrences but found 2")
        assert tools.content(file) == "old\nold\n"

    @pytest.mark.requirement("fs.replace.correction")
    @pytest.mark.requirement("fs.replace.correction.segment")
    @pytest.mark.parametrize(
        "old",
        [
            "if ready:\n    start()\n",
            "def run():\n\tif ready:\n\t\tstart()",
            "```python\n    if ready:\n        start()\n```",
            "2:     if ready:\n3:         start()",
        ],
        ids=["indentation", "tabs", "fence", "line numbers"],
    )
    async def test_an_old_string_that_is_not_quite_exact_finds_the_one_place_meant(
        self, tools: Documented, old: str
    ) -> None:
        file = tools.write("a.py", "def run():\n    if ready:\n        start()\n    stop()\n")
        new = old.replace("start", "begin")
        text = await tools.text("replace", file_path=file, old_string=old, new_string=new)
        assert text.startswith(f"Successfully modified file: {file} (1 replacements).")
        assert "Matched by" in text
        assert tools.content(file) == "def run():\n    if ready:\n        begin()\n    stop()\n"

    @pytest.mark.requirement("fs.replace.confirm")
    async def test_a_diff_is_shown_and_approved_before_it_writes(self, tools: Documented) -> None:
        file = tools.write("a.txt", "old\n")
        await tools.text("replace", file_path=file, old_string="old", new_string="new")
        (question,) = tools.questions
        display = question.confirmation.display
        assert isinstance(display, dogu.FileDiff)
        assert "-old\n+new\n" in display.unified
