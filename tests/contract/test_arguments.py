"""Bad arguments get an error the model can act on."""

from typing import Annotated

import msgspec
import pytest

from dogu.contract.confirmation import CallContext
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind, Tool


class PeekArgs(msgspec.Struct, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="Where to look.")]
    limit: Annotated[int | None, msgspec.Meta(description="How much.")] = None
    names: Annotated[list[str], msgspec.Meta(description="Which.")] = []
    deep: Annotated[bool, msgspec.Meta(description="All of it?")] = False


class Peek(Tool[PeekArgs]):
    """Looks somewhere."""

    name = "peek"
    display_name = "Peek"
    kind = Kind.READ
    aliases = {"file_path": "path", "absolute_path": "path"}

    def get_description(self, args: PeekArgs) -> str:
        return args.path

    async def execute(self, args: PeekArgs, context: CallContext) -> ToolResult:
        return ToolResult(args.path)


def refusal(**raw: object) -> str:
    with pytest.raises(ToolError) as caught:
        Peek().validate_tool_params(raw)
    assert caught.value.kind is ErrorKind.INVALID_ARGUMENTS
    return caught.value.message


def test_another_spelling_is_accepted():
    assert Peek().validate_tool_params({"absolute_path": "/a"}) == PeekArgs(path="/a")


def test_two_spellings_that_agree_are_accepted():
    assert Peek().validate_tool_params({"path": "/a", "file_path": "/a"}).path == "/a"


def test_two_spellings_that_disagree_are_an_error_that_names_both():
    message = refusal(path="/a", file_path="/b")
    assert "'path'" in message
    assert "'file_path'" in message
    assert "disagree" in message


def test_an_unknown_parameter_names_the_nearest_known_one():
    assert "Did you mean 'path'?" in refusal(absolutea_path="/a")


def test_a_missing_parameter_is_named():
    assert refusal() == "Invalid arguments for peek: Missing required parameter: 'path'."


def test_a_null_argument_counts_as_left_out():
    assert Peek().validate_tool_params({"path": "a", "limit": None}).limit is None
    assert "Missing required parameter" in refusal(path=None)


@pytest.mark.parametrize("sent", [3, 3.0, "3"])
def test_a_whole_number_is_understood_in_any_spelling(sent: object):
    assert Peek().validate_tool_params({"path": "a", "limit": sent}).limit == 3


@pytest.mark.parametrize("sent", [3.5, "three", [], {}, float("nan"), float("inf")])
def test_a_wrong_type_names_the_parameter_and_what_was_sent(sent: object):
    message = refusal(path="a", limit=sent)
    assert "'limit'" in message
    assert "got" in message


def nested(depth: int) -> object:
    value: object = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("sent", [float("nan"), float("inf"), nested(900), {"a": nested(50)}])
def test_numbers_out_of_range_and_deep_nesting_are_refused(sent: object):
    assert "'limit'" in refusal(path="a", limit=sent)


def test_a_wrong_type_inside_a_list_is_located():
    assert "'names[1]'" in refusal(path="a", names=["x", 4])


@pytest.mark.parametrize("sent", ['["a", "b"]', ' [ "a","b" ] ', ["a", "b"]])
def test_a_list_may_come_as_the_text_of_its_json(sent: object):
    assert Peek().validate_tool_params({"path": "p", "names": sent}).names == ["a", "b"]


def test_the_only_one_of_a_list_may_come_without_it():
    assert Peek().validate_tool_params({"path": "p", "names": "*.py"}).names == ["*.py"]
    assert Peek().validate_tool_params({"path": "p", "names": "[a-z]*"}).names == ["[a-z]*"]


def test_a_text_stays_one_where_text_is_due():
    assert Peek().validate_tool_params({"path": '["a"]'}).path == '["a"]'


def test_what_a_list_in_a_text_holds_is_checked():
    assert "'names[0]'" in refusal(path="p", names="[1]")


def test_a_nul_in_a_path_is_refused():
    assert "NUL" in refusal(path="a\0b")


def test_a_huge_value_is_not_repeated_whole():
    assert len(refusal(path="a", limit="x" * 100_000)) < 500


def test_the_declaration_holds_what_the_model_may_send_and_no_alias():
    declaration = Peek().declaration
    assert declaration.name == "peek"
    assert declaration.description == "Looks somewhere."
    assert declaration.parameters["required"] == ["path"]
    assert set(declaration.parameters["properties"]) == {"path", "limit", "names", "deep"}
    assert declaration.parameters["properties"]["limit"] == {"type": "integer", "description": "How much."}
