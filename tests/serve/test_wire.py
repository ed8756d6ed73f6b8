"""Results as JSON, in the documents' words."""

import json

import pytest

from dogu.contract.content import Blob, Text
from dogu.contract.display import FileDiff, Todo, TodoList
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.serve.wire import result_json, to_line


@pytest.mark.requirement("api.result.rich")
def test_text_and_media_may_be_mixed():
    result = ToolResult([Text("a picture"), Blob("image/png", b"png"), Blob("audio/wav", b"wav")])
    assert result_json(result)["llmContent"] == [
        "a picture",
        {"inlineData": {"mimeType": "image/png", "data": "cG5n"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "d2F2"}},
    ]


def test_one_medium_is_one_object_as_documented():
    assert result_json(ToolResult([Blob("image/png", b"png")]))["llmContent"] == {
        "inlineData": {"mimeType": "image/png", "data": "cG5n"}
    }


def test_a_failure_is_marked_as_one():
    row = result_json(ToolResult.failed(ToolError(ErrorKind.NOT_FOUND, "No such file.")))
    assert row["error"] == {"kind": "not_found", "message": "No such file."}


def test_a_diff_and_a_plan_are_objects():
    diff = FileDiff("/p/a.txt", "old", "new", "@@")
    assert result_json(ToolResult("ok", diff))["returnDisplay"]["fileName"] == "a.txt"
    todos = TodoList((Todo("write it", "pending"),))
    assert result_json(ToolResult("ok", todos))["returnDisplay"] == {
        "todos": [{"description": "write it", "status": "pending"}]
    }


@pytest.mark.parametrize("text", ["a\u2028b", "stray \udc80 byte", "日本語", "a\x85b", "\x1b[31m"])
def test_a_line_of_json_is_one_line_of_utf8_that_gives_the_text_back(text: str):
    line = to_line({"text": text})
    assert len(line.splitlines()) == 1
    assert json.loads(line.encode("utf-8")) == {"text": text}
