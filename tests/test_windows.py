"""The doors on Windows: each starts, works in a folder, and leaves what it should (`make windows`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.name != "nt", reason="needs Windows: `make windows`")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    (home / ".dogu").mkdir(parents=True)
    return {**os.environ, "USERPROFILE": str(home), "HOME": str(home), "PYTHONUTF8": "1"}


class Program:
    """`dogu` in a folder."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self._folder = folder
        self._environ = environ

    def __call__(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "dogu", *words],
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        output = done.stdout.decode()
        assert done.returncode == 0, output
        return output

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "dogu", *words],
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )


@pytest.fixture
def dogu(folder: Path, environ: dict[str, str]) -> Program:
    return Program(folder, environ)


@pytest.fixture
def patches(environ: dict[str, str]) -> None:
    settings = Path(environ["HOME"], ".dogu", "settings.json")
    settings.write_text('{"tools": {"edit": {"format": "patch"}}}', "utf-8")


def _is_hidden(file: Path) -> bool:
    shown = subprocess.run(["attrib", str(file)], check=True, stdin=subprocess.DEVNULL, capture_output=True).stdout
    return b"H" in shown[:12]


def _path(file: Path) -> str:
    return os.path.realpath(file)


def test_each_file_tool_is_called(dogu: Program, folder: Path) -> None:
    assert "a.txt" in dogu("call", "list_directory", '{"path": "."}')
    assert "two" in dogu("call", "read_file", json.dumps({"path": _path(folder / "a.txt")}))
    assert "a.txt" in dogu("call", "glob", '{"pattern": "*.txt"}')
    assert "L2: two" in dogu("call", "grep_search", '{"pattern": "tw."}')
    new = {"file_path": _path(folder / "new" / "b.txt"), "content": "b\n"}
    dogu("call", "--approval-mode", "yolo", "write_file", json.dumps(new))
    assert (folder / "new" / "b.txt").read_bytes() == b"b\n"


def test_a_pattern_may_have_a_drive_and_backslashes(dogu: Program, folder: Path) -> None:
    (folder / "sub" / "[x]").mkdir(parents=True)
    (folder / "sub" / "b.txt").write_bytes(b"b")
    (folder / "sub" / "[x]" / "c.txt").write_bytes(b"c")
    for pattern in ("sub\\*.txt", f"{folder}\\sub\\*.txt", f"{_path(folder)}/sub/*.txt".replace("\\", "/")):
        assert "sub/b.txt" in dogu("call", "glob", json.dumps({"pattern": pattern}))
    assert "[x]/c.txt" in dogu("call", "glob", json.dumps({"pattern": "sub\\\\[x\\]\\*.txt"}))


def test_an_edit_keeps_line_endings_and_is_undone_and_redone(dogu: Program, folder: Path) -> None:
    edit = {"file_path": _path(folder / "A.TXT"), "old_string": "one\ntwo", "new_string": "one\n1.5\nTWO"}
    dogu("call", "--approval-mode", "yolo", "replace", json.dumps(edit))
    assert (folder / "a.txt").read_bytes() == b"one\r\n1.5\r\nTWO\r\n"
    assert os.listdir(folder) == ["a.txt"]
    dogu("undo")
    assert (folder / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    dogu("redo")
    assert (folder / "a.txt").read_bytes() == b"one\r\n1.5\r\nTWO\r\n"


@pytest.mark.usefixtures("patches")
def test_a_patch_moves_and_removes_files_by_any_letter_case(dogu: Program, folder: Path) -> None:
    (folder / "Old.txt").write_bytes(b"x = 1\r\n")
    (folder / "Gone.txt").write_bytes(b"gone\r\n")
    patch = """*** Begin Patch
*** Update File: OLD.txt
*** Move to: sub/new.txt
@@
-x = 1
+x = 2
*** Delete File: gone.TXT
*** End Patch"""
    dogu("call", "--approval-mode", "yolo", "apply_patch", json.dumps({"input": patch}))
    assert (folder / "sub" / "new.txt").read_bytes() == b"x = 2\r\n"
    assert sorted(os.listdir(folder)) == ["a.txt", "sub"]


@pytest.mark.usefixtures("patches")
def test_a_patch_doesnt_remove_through_a_link(dogu: Program) -> None:
    links = os.environ.get("DOGU_TEST_LINKS")
    if not links:
        pytest.skip("Wine makes no symbolic links: scripts/windows.sh makes those of the tests")
    patch = f"*** Begin Patch\n*** Delete File: {links}/root/own/b.txt\n*** Delete File: {links}/root/file.txt\n*** End Patch"
    with pytest.raises(AssertionError):
        dogu("call", "--approval-mode", "yolo", "apply_patch", json.dumps({"input": patch}))
    assert Path(links, "root", "sub", "b.txt").read_bytes() == b"b"
    assert Path(links, "root", "file.txt").exists()


@pytest.mark.usefixtures("patches")
def test_many_files_are_brought_back_at_once(dogu: Program, folder: Path) -> None:
    names = [f"f{number:02}.txt" for number in range(12)]
    added = "".join(f"*** Add File: {name}\n+{name}\n" for name in names)
    dogu(
        "call",
        "--approval-mode",
        "yolo",
        "apply_patch",
        json.dumps({"input": f"*** Begin Patch\n{added}*** End Patch"}),
    )
    assert [name for name in names if (folder / name).exists()] == names
    dogu("undo")
    assert os.listdir(folder) == ["a.txt"]
    dogu("redo")
    assert sorted(os.listdir(folder)) == ["a.txt", *names]


@pytest.mark.parametrize("encoding", ["cp932", "cp949", "cp936", "cp950"])
def test_a_code_pages_file_is_edited_in_it(dogu: Program, folder: Path, encoding: str) -> None:
    text = {
        "cp932": "設定を読み込みます。\r\n値は既定のものです。\r\n",
        "cp949": "설정을 읽습니다.\r\n값은 기본값입니다.\r\n",
        "cp936": "读取设置。\r\n这些值是默认值。\r\n",
        "cp950": "讀取設定。\r\n這些值是預設值。\r\n",
    }[encoding] * 20
    (folder / "legacy.txt").write_bytes((text + "END\r\n").encode(encoding))
    edit = {"file_path": _path(folder / "legacy.txt"), "old_string": "END", "new_string": "LAST"}
    dogu("call", "--approval-mode", "yolo", "replace", json.dumps(edit))
    assert (folder / "legacy.txt").read_bytes() == (text + "LAST\r\n").encode(encoding)


def test_a_reader_doesnt_stop_a_write_and_attributes_stay(dogu: Program, folder: Path) -> None:
    subprocess.run(["attrib", "+h", str(folder / "a.txt")], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    with (folder / "a.txt").open("rb") as reader:
        new = {"file_path": _path(folder / "a.txt"), "content": "new\r\n"}
        dogu("call", "--approval-mode", "yolo", "write_file", json.dumps(new))
        reader.read()
    assert (folder / "a.txt").read_bytes() == b"new\r\n"
    assert _is_hidden(folder / "a.txt")
    assert os.listdir(folder) == ["a.txt"]


def test_a_read_only_file_is_left_alone(dogu: Program, folder: Path) -> None:
    (folder / "a.txt").chmod(0o444)
    new = {"file_path": _path(folder / "a.txt"), "content": "new\r\n"}
    with pytest.raises(AssertionError, match="read-only"):
        dogu("call", "--approval-mode", "yolo", "write_file", json.dumps(new))
    assert (folder / "a.txt").read_bytes() == b"one\r\ntwo\r\n"


def test_a_question_is_answered_and_the_session_kept(dogu: Program) -> None:
    assert "two" in dogu("--model", "offline", "-p", "read a.txt")
    assert "read a.txt" in dogu("sessions", "list")


class Peer:
    """Speaks JSON-RPC with a server over its streams."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._write, self._read = process.stdin, process.stdout
        self._number = 0

    def ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        while line := self._read.readline():
            answer = json.loads(line)
            if answer.get("id") == self._number and "method" not in answer:
                return answer["result"]
        raise AssertionError("the server has ended")

    def send(self, message: dict[str, Any]) -> None:
        self._write.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._write.flush()


@pytest.fixture
def peer_of(dogu: Program) -> Iterator[Any]:
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> Peer:
        started.append(dogu.start(*words))
        return Peer(started[-1])

    yield start
    for process in started:
        with process:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(30) == 0


def test_mcp_serves_the_tools(peer_of: Any) -> None:
    peer: Peer = peer_of("mcp")
    peer.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
    peer.send({"method": "notifications/initialized"})
    assert "read_file" in [tool["name"] for tool in peer.ask("tools/list")["tools"]]
    read = peer.ask("tools/call", name="read_file", arguments={"path": "a.txt"})
    assert read["content"][0]["text"] == "one\r\ntwo\r\n"


def test_acp_answers_a_prompt(peer_of: Any, folder: Path) -> None:
    peer: Peer = peer_of("acp", "--model", "offline")
    peer.ask("initialize", protocolVersion=1, clientCapabilities={})
    session = peer.ask("session/new", cwd=str(folder), mcpServers=[])["sessionId"]
    prompt = [{"type": "text", "text": "read a.txt"}]
    assert peer.ask("session/prompt", sessionId=session, prompt=prompt)["stopReason"] == "end_turn"
