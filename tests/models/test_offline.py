from typing import Any

import msgspec
import pytest

from dogu.contract.declaration import FunctionDeclaration
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.models.contents import function_response_content, join_user_contents, user_content
from dogu.models.events import Finished, TextDelta
from dogu.models.offline import Offline, language_of
from dogu.models.offline_request import understand

pytestmark = pytest.mark.anyio

TOOLS = [
    FunctionDeclaration(name, "", {"type": "object"})
    for name in (
        "list_directory",
        "read_file",
        "glob",
        "grep_search",
        "replace",
        "write_file",
        "run_shell_command",
        "read_many_files",
    )
]


async def ask(*history: bytes, system: str = "Workspace root: /w") -> tuple[str, Finished]:
    text, finished = "", None
    async with Offline().stream(system, history, TOOLS) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                text += event.text
            elif isinstance(event, Finished):
                finished = event
    assert finished
    return text, finished


def ls(path: str = ".") -> tuple[str, dict[str, Any]]:
    return ("list_directory", {"path": path})


def read(path: str, **more: int) -> tuple[str, dict[str, Any]]:
    return ("read_file", {"path": path, **more})


def glob(pattern: str, **more: str) -> tuple[str, dict[str, Any]]:
    return ("glob", {"pattern": pattern, **more})


def grep(pattern: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return ("grep_search", {"pattern": pattern, **more})


def replace(old: str, new: str, path: str = "/w/src/a.py", **more: Any) -> tuple[str, dict[str, Any]]:
    return ("replace", {"file_path": path, "old_string": old, "new_string": new, **more})


def write(content: str, path: str = "/w/notes.txt") -> tuple[str, dict[str, Any]]:
    return ("write_file", {"file_path": path, "content": content})


def run(command: str) -> tuple[str, dict[str, Any]]:
    return ("run_shell_command", {"command": command})


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("list files", ls()),
        ("list @src", ls("src")),
        ("read @README.md", ("read_file", {"path": "README.md"})),
        ('explain @"with blank.txt" @src', ("read_many_files", {"paths": ["with blank.txt", "src"]})),
        ("run npm i @types/node", ("run_shell_command", {"command": "npm i @types/node"})),
        ("List all files in src", ls("src")),
        ("ls src/models", ls("src/models")),
        ("show the files in this folder", ls()),
        ("ファイル一覧を表示して", ls()),
        ("src のファイル一覧", ls("src")),
        ("srcフォルダの中のファイルを見せて", ls("src")),
        ("파일 목록", ls()),
        ("src 폴더의 파일 목록 보여줘", ls("src")),
        ("列出文件", ls()),
        ("列出 src 的文件", ls("src")),
        ("列出 src 目錄的檔案", ls("src")),
        ("read README.md", read("README.md")),
        ("Please show me src/a.py", read("src/a.py")),
        ("what is in pyproject.toml?", read("pyproject.toml")),
        ("read lines 10-20 of src/a.py", read("src/a.py", offset=9, limit=11)),
        ("read 'a b.txt'", read("a b.txt")),
        ("README.md を読んで", read("README.md")),
        ("README.mdを読んでください", read("README.md")),
        ("資料/メモ.txt を読んで", read("資料/メモ.txt")),
        ("README.md 읽어줘", read("README.md")),
        ("src/a.py의 내용을 보여줘", read("src/a.py")),
        ("读取 README.md", read("README.md")),
        ("讀取README.md", read("README.md")),
        ("打开“我的 笔记.txt”", read("我的 笔记.txt")),
        ("Makefile を読んで", read("Makefile")),
        ("what files are here?", ls()),
        ("ls -la", ls()),
        ("read a.py and b.py", ("read_many_files", {"paths": ["a.py", "b.py"]})),
        ("read src/*.py", ("read_many_files", {"paths": ["src/*.py"]})),
        ("find *.py", glob("**/*.py")),
        ("find all python files", glob("**/*.py")),
        ("find main.py", glob("**/main.py")),
        ("find src/**/*.ts", glob("src/**/*.ts")),
        ("find *.py in src", glob("**/*.py", path="src")),
        ("src で *.py を探して", glob("**/*.py", path="src")),
        ("list all *.py files", glob("**/*.py")),
        ("*.py を探して", glob("**/*.py")),
        ("*.py 파일 찾아줘", glob("**/*.py")),
        ("查找 *.py", glob("**/*.py")),
        ("尋找 *.py 檔案", glob("**/*.py")),
        ("search for TODO", grep("TODO")),
        ("search for TODO in src", grep("TODO", path="src")),
        ("grep foo in *.py", grep("foo", include="*.py")),
        ('search for "def f(" in src', grep("def f(", path="src", fixed_strings=True)),
        ("search for replace", grep("replace")),
        ("find TODO", grep("TODO")),
        ("TODO を検索して", grep("TODO")),
        ("src で TODO を検索して", grep("TODO", path="src")),
        ("「挨拶」を検索", grep("挨拶")),
        ("TODO 검색해줘", grep("TODO")),
        ("src에서 TODO 검색해줘", grep("TODO", path="src")),
        ("搜索 TODO", grep("TODO")),
        ("在 src 中搜索 TODO", grep("TODO", path="src")),
        ("搜尋「待辦」", grep("待辦")),
        ('replace "foo" with "bar" in src/a.py', replace("foo", "bar")),
        ("replace foo with bar in src/a.py", replace("foo", "bar")),
        ("in src/a.py change 'x = 1' to 'x = 2'", replace("x = 1", "x = 2")),
        ('replace all "foo" with "bar" in src/a.py', replace("foo", "bar", allow_multiple=True)),
        ('replace "read" with "run" in /w/src/a.py', replace("read", "run")),
        ('replace "foo" with "" in src/a.py', replace("foo", "")),
        ('src/a.py の "foo" を "bar" に置き換えて', replace("foo", "bar")),
        ("src/a.py の「こんにちは」を「さようなら」に変更して", replace("こんにちは", "さようなら")),
        ("src/a.py の foo を bar に置換して", replace("foo", "bar")),
        ('src/a.py에서 "foo"를 "bar"로 바꿔줘', replace("foo", "bar")),
        ("src/a.py에서 foo를 bar로 바꿔줘", replace("foo", "bar")),
        ('把 src/a.py 中的 "foo" 替换为 "bar"', replace("foo", "bar")),
        ("把 src/a.py 中的 foo 替换为 bar", replace("foo", "bar")),
        ("將 src/a.py 裡的「foo」全部換成「bar」", replace("foo", "bar", allow_multiple=True)),
        ("用“bar”替换 src/a.py 中的“foo”", replace("foo", "bar")),
        ('replace "Hello" with "こんにちは" in src/a.py', replace("Hello", "こんにちは")),
        ('write "hello" to notes.txt', write("hello\n")),
        ('create notes.txt with "a\\nb"', write("a\nb\n")),
        ("write hello to notes.txt", write("hello\n")),
        ("notes.txt に hello と書いて", write("hello\n")),
        ("新建 notes.txt", replace("", "", "/w/notes.txt")),
        ("notes.txt に「メモ」と書いて", write("メモ\n")),
        ('notes.txt에 "메모" 작성해줘', write("메모\n")),
        ("把“笔记”写入 notes.txt", write("笔记\n")),
        ("run ls -la", run("ls -la")),
        ('run echo "hi there" | wc -c', run('echo "hi there" | wc -c')),
        ("run `git log --oneline`", run("git log --oneline")),
        ("!ls", run("ls")),
        ("please execute the command: make test", run("make test")),
        ("ls -la を実行して", run("ls -la")),
        ("「python3 main.py」を実行してください", run("python3 main.py")),
        ("ls -la 실행해줘", run("ls -la")),
        ("运行 ls -la", run("ls -la")),
        ("請執行 ls -la", run("ls -la")),
    ],
)
def test_a_plain_request_becomes_a_call(text: str, call: tuple[str, dict[str, Any]]) -> None:
    assert understand(text, "/w") == [call]


def test_two_requests_in_a_row_become_two_calls() -> None:
    assert understand("list files, then read README.md", "/w") == [ls(), read("README.md")]
    assert understand("list files then sing", "/w") == []


@pytest.mark.parametrize(
    "text",
    ["", " ", "hello", "why is the sky blue?", "こんにちは", "안녕하세요", "你好", "replace it", "\ue0000\ue001"],
)
def test_what_is_not_understood_gives_no_call(text: str) -> None:
    assert understand(text, "/w") == []


@pytest.mark.parametrize(
    ("text", "language"), [("hi", "en"), ("読んで", "ja"), ("읽어", "ko"), ("读取", "zh-CN"), ("讀取", "zh-TW")]
)
async def test_a_request_that_is_not_understood_is_told_in_its_language_how_to_connect_a_model(
    text: str, language: str
) -> None:
    assert language_of(text) == language
    said, finished = await ask(user_content(text))
    assert "GEMINI_API_KEY" in said
    assert '"baseUrl": "http://localhost:11434/v1"' in said
    assert finished.calls == ()


async def test_the_root_of_the_system_prompt_makes_paths_absolute() -> None:
    _, finished = await ask(
        user_content('replace "a" with "b" in x.py'), system="You.\nWorkspace root: /my work\nMore."
    )
    assert finished.calls[0].args == {"file_path": "/my work/x.py", "old_string": "a", "new_string": "b"}


async def test_only_declared_functions_are_called() -> None:
    async with Offline().stream("", [user_content("run ls")], TOOLS[:2]) as events:
        last = [event async for event in events][-1]
    assert isinstance(last, Finished)
    assert last.calls == ()
    assert b"run_shell_command, which is switched off here" in last.content


async def test_what_the_prompt_brought_along_is_not_taken_for_the_request() -> None:
    brought = msgspec.json.encode({"role": "user", "parts": [{"text": "read a.py"}, {"text": "--- a.py ---\nrun rm"}]})
    _, finished = await ask(brought)
    assert [call.name for call in finished.calls] == ["read_file"]


async def answered(prompt: str, result: ToolResult) -> str:
    _, finished = await ask(user_content(prompt))
    call = finished.calls[0]
    answer = function_response_content([(call.call_id, call.name, result)])
    text, last = await ask(user_content(prompt), finished.content, answer)
    assert last.calls == ()
    assert msgspec.json.decode(last.content) == {"role": "model", "parts": [{"text": text}]}
    return text


async def test_a_result_is_answered_in_the_language_of_the_request() -> None:
    assert await answered("read README.md", ToolResult("# Hi\n")) == "This is in README.md:\n```\n# Hi\n```"
    assert await answered("README.md を読んで", ToolResult("# Hi\n")) == "README.md の内容です:\n```\n# Hi\n```"
    assert await answered("列出文件", ToolResult("a\nb")) == "结果：\n```\na\nb\n```"


async def test_a_long_result_is_shown_in_part_and_its_fence_holds() -> None:
    text = await answered("read a.md", ToolResult("```\n" + "x\n" * 59))
    assert text.startswith("This is in a.md:\n````\n```\nx\n")
    assert text.endswith("x\n````\n(20 more lines)")


async def test_a_command_is_answered_with_its_exit_code_and_what_it_printed() -> None:
    fields = (
        "Command: ls\nDirectory: (root)\nStdout: a\nb\n\nStderr: (empty)\nError: (none)\nExit Code: 2\nSignal: (none)"
    )
    assert await answered("run ls", ToolResult(fields)) == "`ls` ended with exit code 2.\n```\na\nb\n```"


async def test_a_failure_is_told() -> None:
    failed = ToolResult.failed(ToolError(ErrorKind.NOT_FOUND, "no such file: x.py"))
    assert await answered("read x.py", failed) == "read_file failed: no such file: x.py"


async def test_a_prompt_that_joins_an_answer_is_a_new_request() -> None:
    _, first = await ask(user_content("read a.py"))
    answer = function_response_content([(first.calls[0].call_id, "read_file", ToolResult("x"))])
    joined = join_user_contents(answer, user_content("list files"))
    _, finished = await ask(user_content("read a.py"), first.content, joined)
    assert [call.name for call in finished.calls] == ["list_directory"]
