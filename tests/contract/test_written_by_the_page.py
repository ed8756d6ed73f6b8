"""Tools written by the documents' words, as somebody would who has read nothing else: through a runtime and an agent."""

# pyright: reportAssignmentType=false, reportIncompatibleMethodOverride=false, reportReturnType=false, reportArgumentType=false
# (these tools do what the types forbid, as a program without a type checker does)

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import dogu
from dogu.contract.content import text_of
from dogu.testing.scripted_model import ScriptedModel
from dogu.testing.turn import Turn, call
from dogu.testing.workspace import check_tool

pytestmark = pytest.mark.anyio

PICTURE = dogu.Blob("image/png", b"\x89PNG")
INLINE = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}}


class ByThePage(dogu.Tool[dict[str, Any]]):
    name = "page_tool"
    kind = dogu.Kind.THINK
    description = "What the page says."
    parameter_schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where."},
            "days": {"type": "integer", "description": "How long.", "minimum": 1},
            "sights": {"type": "array", "description": "Which.", "items": {"type": "string"}},
        },
        "required": ["city"],
        "additionalProperties": False,
    }

    def __init__(self, result: object = "done") -> None:
        self.result = result

    def get_description(self, args: dict[str, Any]) -> str:
        return f"in {args['city']}"

    async def execute(self, args: dict[str, Any], context: dogu.CallContext) -> dogu.ToolResult:
        if isinstance(self.result, Exception):
            raise self.result
        return dogu.ToolResult(json.dumps(args)) if self.result == "args" else self.result


async def told(
    folder: Path, tool: dogu.Tool[Any], **args: Any
) -> tuple[dogu.ToolResult, dict[str, Any], ScriptedModel]:
    """Call the tool of a running agent; return its result, what the model is answered, and the model."""
    (folder / "root").mkdir(exist_ok=True)
    model, results = ScriptedModel([Turn(calls=[call(tool.name, **args)]), "done"]), list[dogu.ToolResult]()

    def heard(event: object) -> None:
        if isinstance(event, dogu.CallFinished):
            results.append(event.result)

    options = dogu.Options(root=str(folder / "root"), home=str(folder / "home"))
    async with dogu.open_agent(options, model=model, tools=[tool]) as opened:
        await opened.agent.run("go", heard)
    return results[0], model.requests[1].responses[0]["response"], model


@pytest.mark.requirement("api.result.llm_content")
@pytest.mark.requirement("api.result.rich")
@pytest.mark.parametrize("mixed", [["a text", PICTURE], ("a text", INLINE), [{"text": "a text"}, PICTURE]])
async def test_a_list_that_mixes_texts_and_parts_reaches_the_model_as_both(tmp_path: Path, mixed: object):
    result, response, model = await told(tmp_path, ByThePage(dogu.ToolResult(mixed)), city="Seoul")
    assert result.llm_content == [dogu.Text("a text"), PICTURE]
    assert "a text" in response["output"]
    assert INLINE["inlineData"]["data"] in json.dumps(model.requests[1].contents)


@pytest.mark.requirement("api.tool.execute")
@pytest.mark.parametrize("given", ["a text", dogu.Text("a text"), ["a text"]])
async def test_content_instead_of_a_result_is_taken_as_one(tmp_path: Path, given: object):
    result, response, _ = await told(tmp_path, ByThePage(given), city="Seoul")
    assert (result.error, text_of(result.llm_content), response) == (None, "a text", {"output": "a text"})


@pytest.mark.parametrize(
    "broken",
    [None, 5, {"no": "part"}, [5], [{"inlineData": {"mimeType": "a/b", "data": "%"}}], ZeroDivisionError("oh")],
)
async def test_what_no_tool_can_return_is_told_as_the_tools_own_error_and_the_turn_goes_on(
    tmp_path: Path, broken: object
):
    result, response, _ = await told(tmp_path, ByThePage(broken), city="Seoul")
    assert result.error is not None
    assert result.error.kind is dogu.ErrorKind.TOOL_FAILED
    assert response["error"].startswith("The tool page_tool failed by an error of its own")
    assert "defect of dogu" not in response["error"]


async def test_a_display_that_is_none_is_told_where_it_is_made(tmp_path: Path):
    class Shows(ByThePage):
        async def execute(self, args: dict[str, Any], context: dogu.CallContext) -> dogu.ToolResult:
            return dogu.ToolResult("text", 5)

    result, _, _ = await told(tmp_path, Shows(), city="Seoul")
    assert "return_display is a int" in text_of(result.llm_content)
    assert Path(__file__).name in text_of((await told(tmp_path, ByThePage(KeyError("k")), city="x"))[0].llm_content)


@pytest.mark.requirement("api.tool.parameter_schema")
@pytest.mark.requirement("api.tool.contract")
@pytest.mark.requirement("api.flow.4_validation")
async def test_a_json_schema_is_declared_and_checked_as_it_stands(tmp_path: Path):
    check_tool(ByThePage())
    good, _, model = await told(tmp_path, ByThePage("args"), city="Seoul", days=2)
    assert json.loads(text_of(good.llm_content)) == {"city": "Seoul", "days": 2}
    (declared,) = [each for each in model.requests[0].declarations if each.name == "page_tool"]
    assert (declared.description, declared.parameters) == ("What the page says.", ByThePage.parameter_schema)
    for wrong, word in (({}, "city"), ({"city": "x", "days": 0}, "days"), ({"city": "x", "town": 1}, "town")):
        refused, _, _ = await told(tmp_path, ByThePage("args"), **wrong)
        assert refused.error is not None
        assert (refused.error.kind, word in refused.error.message) == (dogu.ErrorKind.INVALID_ARGUMENTS, True)


async def test_null_for_what_may_be_left_out_is_nothing_given(tmp_path: Path):
    good, _, _ = await told(tmp_path, ByThePage("args"), city="Seoul", days=None)
    assert json.loads(text_of(good.llm_content)) == {"city": "Seoul"}


async def test_a_list_may_come_as_the_text_of_its_json(tmp_path: Path):
    good, _, _ = await told(tmp_path, ByThePage("args"), city='["Seoul"]', sights='["Gwanghwamun"]')
    assert json.loads(text_of(good.llm_content)) == {"city": '["Seoul"]', "sights": ["Gwanghwamun"]}


async def test_a_tool_without_parameters_needs_no_schema(tmp_path: Path):
    class Now(dogu.Tool[dict[str, Any]]):
        """Tell the time."""

        name = "now"

        def get_description(self, args: dict[str, Any]) -> str:
            return "now"

        async def execute(self, args: dict[str, Any], context: dogu.CallContext) -> dogu.ToolResult:
            return dogu.ToolResult("noon")

    async def yes(_question: dogu.Question) -> dogu.Approved:
        return dogu.Approved()

    assert (Now().display_name, Now().kind) == ("now", dogu.Kind.OTHER)
    async with dogu.open_runtime(dogu.Options(root=str(tmp_path)), tools=[Now()], confirm=yes) as runtime:
        assert (await runtime.call("now")).result.llm_content == "noon"
        refused = (await runtime.call("now", zone="x")).result.error
    assert refused is not None
    assert "zone" in refused.message


@pytest.mark.requirement("api.tool.validate")
async def test_the_check_of_parameters_may_answer_with_a_text_or_with_nothing(tmp_path: Path):
    class Checks(ByThePage):
        def validate_tool_params(self, raw: Mapping[str, Any]) -> Any:
            return "no weather in Atlantis" if raw.get("city") == "Atlantis" else None

    refused, _, _ = await told(tmp_path, Checks("args"), city="Atlantis")
    assert (
        refused.error
        == dogu.ToolResult.failed(
            dogu.ToolError(dogu.ErrorKind.INVALID_ARGUMENTS, "Invalid arguments for page_tool: no weather in Atlantis")
        ).error
    )
    good, _, _ = await told(tmp_path, Checks("args"), city="Seoul")
    assert json.loads(text_of(good.llm_content)) == {"city": "Seoul"}
    still, _, _ = await told(tmp_path, Checks("args"), town="Seoul")
    assert still.error is not None


async def test_a_function_that_returns_texts_and_pictures_sends_them_as_parts(tmp_path: Path):
    def drawn() -> list[Any]:
        """Draw."""
        return ["a text", PICTURE]

    result, _, _ = await told(tmp_path, dogu.function_tool(drawn, kind=dogu.Kind.THINK))
    assert result.llm_content == [dogu.Text("a text"), PICTURE]


@pytest.mark.requirement("api.tool.should_confirm")
@pytest.mark.requirement("api.flow.5_asked")
@pytest.mark.requirement("api.flow.5_prompted")
@pytest.mark.requirement("api.flow.5_decision")
@pytest.mark.parametrize("kind", list(dogu.Kind))
@pytest.mark.parametrize("asks", [True, False])
async def test_what_must_be_confirmed_is_asked_whatever_the_kind_of_tool_and_no_means_no(
    tmp_path: Path, kind: dogu.Kind, asks: bool
):
    class Asks(ByThePage):
        runs = 0

        async def should_confirm_execute(self, args: dict[str, Any]) -> dogu.Confirmation | None:
            return dogu.Confirmation("Send a mail to a@b?", "**now**") if asks else None

        async def execute(self, args: dict[str, Any], context: dogu.CallContext) -> dogu.ToolResult:
            Asks.runs += 1
            return dogu.ToolResult("sent")

    asked: list[str] = []
    answers = iter([dogu.Declined("not now"), dogu.Approved()])

    async def confirm(question: dogu.Question) -> dogu.Approved | dogu.Declined:
        asked.append(str(question.confirmation.title))
        return next(answers)

    tool = Asks()
    tool.kind = kind
    async with dogu.open_runtime(dogu.Options(root=str(tmp_path)), tools=[tool], confirm=confirm) as runtime:
        first = (await runtime.call("page_tool", city="Seoul")).result
        second = (await runtime.call("page_tool", city="Seoul")).result
    is_asked = asks or not kind.changes_nothing
    assert len(asked) == (2 if is_asked else 0)
    assert not asks or asked == ["Send a mail to a@b?"] * 2
    assert (first.error is not None, second.llm_content) == (is_asked, "sent")
    assert not is_asked or "not now" in text_of(first.llm_content)
    assert Asks.runs == (1 if is_asked else 2)
