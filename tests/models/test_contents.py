import msgspec
import pytest

from dogu.contract.content import Blob, Text
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.models.contents import function_response_content, join_user_contents, model_content, user_content

PNG = Blob("image/png", b"\x89PNG", "a.png")
MP3 = Blob("audio/mpeg", b"ID3")


def decoded(content: bytes) -> dict[str, object]:
    return msgspec.json.decode(content)


def test_text_and_media_of_the_user_keep_their_order() -> None:
    assert decoded(user_content([Text("look"), PNG, Text("well?")])) == {
        "role": "user",
        "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}, {"text": "well?"}],
    }


def test_empty_content_is_still_a_content() -> None:
    assert decoded(user_content("")) == {"role": "user", "parts": [{"text": ""}]}


def test_text_goes_under_output_and_failures_under_error_in_the_order_of_the_calls() -> None:
    failed = ToolResult.failed(ToolError(ErrorKind.NOT_FOUND, "no such file: b"))
    assert decoded(function_response_content([("1", "read_file", ToolResult("text")), ("", "glob", failed)])) == {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "1", "name": "read_file", "response": {"output": "text"}}},
            {"functionResponse": {"name": "glob", "response": {"error": "no such file: b"}}},
        ],
    }


@pytest.mark.requirement("fs.read.media_output")
@pytest.mark.parametrize("media_inside", [False, True])
def test_media_stand_beside_the_answer_or_inside_it_and_are_named_in_its_text(media_inside: bool) -> None:
    result = ToolResult([Text("--- a ---"), PNG, MP3])
    content = decoded(function_response_content([("1", "read", result)], media_inside=media_inside))
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    sound = {"inlineData": {"mimeType": "audio/mpeg", "data": "SUQz"}}
    answer: dict[str, object] = {
        "id": "1",
        "name": "read",
        "response": {"output": "--- a ---\n[image/png, 4 bytes]\n[audio/mpeg, 3 bytes]"},
    }
    if media_inside:
        answer["parts"] = [image]
        assert content["parts"] == [{"functionResponse": answer}, sound]
    else:
        assert content["parts"] == [{"functionResponse": answer}, image, sound]


def test_lone_surrogates_become_replacement_characters_on_the_wire() -> None:
    result = ToolResult("a\udcffb")
    assert b"a\xef\xbf\xbdb" in function_response_content([("1", "read", result)])
    assert b"a\xef\xbf\xbdb" in user_content("a\ud800b")


def test_two_user_contents_in_a_row_become_one_with_every_part_byte_for_byte() -> None:
    joined = join_user_contents(b'{"role":"user","parts":[{"text":"a","newField":1.50}]}', user_content("b"))
    assert joined == b'{"role":"user","parts":[{"text":"a","newField":1.50},{"text":"b"}]}'


def test_a_models_text_is_a_content() -> None:
    assert decoded(model_content("no answer")) == {"role": "model", "parts": [{"text": "no answer"}]}
