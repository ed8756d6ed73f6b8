"""The fake server refuses what the real one refuses, so that our own mistakes are found."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

import msgspec
import pytest

from dogu.testing.fake_gemini import FakeGemini
from dogu.testing.fake_gemini_faults import FAULTS
from dogu.testing.turn import Turn, call

USER: dict[str, Any] = {"role": "user", "parts": [{"text": "hi"}]}
CALL: dict[str, Any] = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
ANSWER: dict[str, Any] = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]}


def post(
    fake: FakeGemini, body: object, path: str = "/v1beta/models/gemini-2.5-flash:generateContent", key: str = "k"
) -> Any:
    headers = {"x-goog-api-key": key, "content-type": "application/json"} if key else {}
    request = urllib.request.Request(fake.base_url + path, msgspec.json.encode(body), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return msgspec.json.decode(response.read())
    except urllib.error.HTTPError as error:
        with error:
            return msgspec.json.decode(error.read())


def contents(*items: dict[str, Any]) -> dict[str, Any]:
    return {"contents": list(items)}


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "contents is not specified"),
        ({"contents": [USER], "tool": []}, 'Unknown name "tool"'),
        (contents({"role": "assistant", "parts": [{"text": "x"}]}), "valid role"),
        (contents({"role": "user", "parts": []}), "must not be empty"),
        (contents({"role": "user", "parts": [{}]}), "oneof field 'data'"),
        (contents({"role": "user", "parts": [{"text": "a", "inlineData": {}}]}), "oneof"),
        (contents({"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "*"}}]}), "Base64"),
        (contents({"role": "user", "parts": [{"inlineData": {"data": "eA=="}}]}), "mime_type"),
        (contents(USER, USER), "alternate"),
        (contents(USER, {"role": "model", "parts": [{"text": "x"}]}), "end with a user role"),
        (contents(USER, CALL, USER), "number of function response parts"),
        (contents(ANSWER), "number of function response parts"),
        (
            contents(USER, CALL, {"role": "user", "parts": [ANSWER["parts"][0]] * 2}),
            "number of function response parts",
        ),
        (
            contents(USER, CALL, {"role": "user", "parts": [{"functionResponse": {"name": "g", "response": {}}}]}),
            "does not answer",
        ),
        (
            contents(
                USER, CALL, {"role": "user", "parts": [{"functionResponse": {"id": "1", "name": "f", "response": {}}}]}
            ),
            "does not match",
        ),
        (
            contents(USER, CALL, {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": "x"}}]}),
            "Struct",
        ),
        (
            contents(USER, {"role": "model", "parts": [{"functionCall": {"name": "", "args": {}}}]}, ANSWER),
            "Name cannot",
        ),
        (contents(USER, {"role": "model", "parts": [{"functionCall": {"name": "f", "args": "x"}}]}, ANSWER), "Struct"),
        ({"contents": [USER], "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "f"}]}]}, "Duplicate"),
        ({"contents": [USER], "tools": [{"functionDeclarations": [{"name": "a b"}]}]}, "Invalid function name"),
        (
            {
                "contents": [USER],
                "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "array"}}]}],
            },
            "OBJECT",
        ),
    ],
)
def test_a_wrong_request_is_refused_and_noted(body: dict[str, Any], word: str) -> None:
    with FakeGemini(["ok"]) as fake:
        error = post(fake, body)["error"]
        assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
        assert word in error["message"]
        assert fake.problems == [error["message"]]


def test_gemini_3_wants_its_thought_signature_back() -> None:
    path = "/v1beta/models/gemini-3-pro:generateContent"
    with FakeGemini(["ok", "ok"]) as fake:
        assert "thought_signature" in post(fake, contents(USER, CALL, ANSWER), path)["error"]["message"]
        signed = {"role": "model", "parts": [{**CALL["parts"][0], "thoughtSignature": "cw=="}]}
        assert "candidates" in post(fake, contents(USER, signed, ANSWER), path)
        spoken = {"role": "model", "parts": [{"text": "x"}]}
        assert "candidates" in post(fake, contents(USER, CALL, ANSWER, spoken, USER), path)


@pytest.mark.parametrize(("key", "code"), [("", 403), ("other", 400)])
def test_a_key_is_needed(key: str, code: int) -> None:
    with FakeGemini(["ok"], key="k") as fake:
        assert post(fake, contents(USER), key=key)["error"]["code"] == code


def test_both_spellings_and_versions_are_accepted() -> None:
    body = {
        "contents": [USER],
        "system_instruction": {"parts": [{"text": "s"}]},
        "generation_config": {"max_output_tokens": 5},
    }
    with FakeGemini(["ok"]) as fake:
        post(fake, body, "/v1/models/gemini-2.5-flash:generateContent")
        assert fake.requests[0].system == "s"
        assert fake.requests[0].body["generationConfig"] == {"maxOutputTokens": 5}
        assert fake.requests[0].version == "v1"


def test_a_stream_without_sse_is_an_array() -> None:
    with FakeGemini([Turn(text="hello", pieces=3)]) as fake:
        chunks = post(fake, contents(USER), "/v1beta/models/gemini-2.5-flash:streamGenerateContent")
    assert [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in chunks] == ["he", "ll", "o"]
    assert chunks[-1]["usageMetadata"]["totalTokenCount"] == 11


def test_a_function_answers_every_request() -> None:
    with FakeGemini(lambda request: Turn(calls=[call("f")]) if request.prompt == "hi" else "bye") as fake:
        assert "functionCall" in post(fake, contents(USER))["candidates"][0]["content"]["parts"][0]
        assert post(fake, contents(USER, CALL, ANSWER))["candidates"][0]["content"]["parts"][0]["text"] == "bye"


def test_a_script_that_is_too_short_says_so() -> None:
    with FakeGemini([]) as fake:
        assert "no turn for request 1" in post(fake, contents(USER))["error"]["message"]


def test_an_unknown_address_is_not_found() -> None:
    with FakeGemini([]) as fake:
        assert post(fake, {}, "/v2/x")["error"]["code"] == 404


def test_every_fault_is_documented() -> None:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "docs", "testing.md"), encoding="utf-8") as file:
        page = file.read()
    assert [fault for fault in sorted(FAULTS) if f"`{fault}`" not in page] == []


def test_it_runs_by_itself_and_answers_the_last_text_for_ever() -> None:
    command = [sys.executable, "-m", "dogu.testing.fake_gemini", "one", "two"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            texts: list[str] = []
            for _ in range(3):
                request = urllib.request.Request(
                    f"{url}/v1beta/models/m:generateContent",
                    msgspec.json.encode(contents(USER)),
                    {"x-goog-api-key": "k"},
                )
                with urllib.request.urlopen(request) as response:
                    answer = msgspec.json.decode(response.read())
                texts.append(answer["candidates"][0]["content"]["parts"][0]["text"])
        finally:
            process.terminate()
    assert texts == ["one", "two", "two"]
