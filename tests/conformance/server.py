"""What the conformance suite wants of a server: a file for `dogu mcp --with`.

The tools are plain functions in a dogu runtime, run by its executor; resources, prompts and completions are offers of
the MCP door. The names and texts are the suite's.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import mcp_types
import msgspec

from dogu.contract import Blob, Content, ErrorKind, FunctionTool, Kind, Text, ToolError, ToolResult, function_tool
from dogu.runtime.runtime import Runtime
from dogu.serve.mcp.caller import TASKS, caller, sampling_request
from dogu.serve.mcp.offers import OfferedArgument, OfferedPrompt, OfferedResource, OfferedTemplate, Offers

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
SOUND = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
COLOR = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
SURE = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
OFFERS = Offers()
LONG_S = 0.6  # with `--task-after 0.3`, which the suite needs: it doesn't wait


def simple_text() -> str:
    """Say something."""
    return "This is a simple text response for testing."


def image_content() -> Blob:
    """Give a picture."""
    return Blob("image/png", PICTURE)


def audio_content() -> Blob:
    """Give a sound."""
    return Blob("audio/wav", SOUND)


def embedded_resource() -> Blob:
    """Give a resource."""
    return Blob("text/plain", b"This is an embedded resource content.", "test://embedded-resource")


def multiple_content_types() -> ToolResult:
    """Give a text, a picture and a resource."""
    data = Blob("application/json", b'{"test": "data", "value": 123}', "test://mixed-content-resource")
    return ToolResult([Text("Multiple content types test:"), Blob("image/png", PICTURE), data])


async def tool_with_logging() -> str:
    """Log what happens."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await caller().log("info", text)
    return "Logged."


async def tool_with_progress() -> str:
    """Tell how far it is."""
    for done in (0, 50, 100):
        await anyio.sleep(0.15)  # dogu tells ten times a second at most
        await caller().progress(done, 100, f"Completed step {done} of 100")
    return "All steps are done."


def error_handling() -> str:
    """Fail."""
    raise ToolError(ErrorKind.REMOTE_FAILED, "This tool intentionally returns an error for testing")


async def sampling(prompt: str) -> str:
    """Have the client's model answer."""
    answer = await caller().sample(prompt, 100)
    return f"LLM response: {_text(answer)}"


async def elicitation(message: str) -> str:
    """Ask the user."""
    schema = {"type": "object", "properties": {"response": {"type": "string"}}, "required": ["response"]}
    return _told("User response", await caller().elicit(message, schema))


async def elicitation_defaults() -> str:
    """Ask with defaults of every kind."""
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    form = {"type": "object", "properties": properties, "required": []}
    return _told("Elicitation result", await caller().elicit("Please provide user information", form))


async def elicitation_enums() -> str:
    """Ask with choices of every kind."""
    titled = [("low", "Low Priority"), ("medium", "Medium Priority"), ("high", "High Priority")]
    topics = [("feature", "New Feature"), ("bug", "Bug Fix"), ("docs", "Documentation")]
    properties: dict[str, Any] = {
        "untitledSingle": {"type": "string", "enum": ["active", "inactive", "pending"]},
        "titledSingle": {"type": "string", "oneOf": [{"const": name, "title": title} for name, title in titled]},
        "legacyEnum": {"type": "string", "enum": ["a", "b", "c"], "enumNames": ["Option A", "Option B", "Option C"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["read", "write", "execute"]}},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": [{"const": name, "title": title} for name, title in topics]},
        },
    }
    form = {"type": "object", "properties": properties, "required": []}
    return _told("Elicitation completed", await caller().elicit("Please choose", form))


async def missing_capability() -> str:
    """Need a client that can sample."""
    caller().require("sampling")
    return "The client can."


async def required_elicitation() -> str:
    """Ask for a name."""
    answer = await caller().elicit("What is your name?", NAME, "user_name")
    return f"Hello, {(answer.content or {}).get('name')}!"


async def required_sampling() -> str:
    """Ask the client's model."""
    return f"Model said: {_text(await caller().sample('What is the capital of France?', 100, 'capital_question'))}"


async def required_roots() -> str:
    """Ask for the roots."""
    return f"Client exposed {len((await caller().roots('client_roots')).roots)} root(s)."


async def required_state() -> str:
    """Ask, and know the question again."""
    await caller().elicit("Please confirm", SURE, "confirm")
    return "state-ok: confirmation received"


async def required_multiple() -> str:
    """Ask for three things at once."""
    name = mcp_types.ElicitRequestFormParams(message="What is your name?", requested_schema=NAME)
    await caller().ask_all(
        {
            "user_name": mcp_types.ElicitRequest(params=name),
            "greeting": sampling_request("Generate a greeting", 50),
            "client_roots": mcp_types.ListRootsRequest(),
        }
    )
    return "All inputs received."


async def required_rounds() -> str:
    """Ask for one thing after the other."""
    name = await caller().elicit("Step 1: What is your name?", NAME, "step1")
    color = await caller().elicit("Step 2: What is your favorite color?", COLOR, "step2")
    return f"{(name.content or {}).get('name')} likes {(color.content or {}).get('color')}."


async def required_capabilities() -> str:
    """Ask only what the client can answer."""
    requests: dict[str, Any] = {}
    if caller().capabilities.sampling is not None:
        requests["sample"] = sampling_request("Say hello", 50)
    if caller().capabilities.elicitation is not None:
        name = mcp_types.ElicitRequestFormParams(message="What is your name?", requested_schema=NAME)
        requests["ask"] = mcp_types.ElicitRequest(params=name)
    await caller().ask_all(requests)
    return "Answered."


async def trigger_prompt_change() -> str:
    """Offer another prompt, and take it back."""
    OFFERS.add(OfferedPrompt("test_dynamic_prompt", "It comes and goes.", _simple_prompt))
    OFFERS.remove("test_dynamic_prompt")
    return "prompt list changed"


def greet(name: str) -> str:
    """Greet."""
    return f"Hello, {name}!"


async def slow_compute(seconds: float, label: str = "") -> str:
    """Take some time."""
    await anyio.sleep(seconds)
    return f"Done: {label}"


async def failing_job() -> str:
    """Fail after a second, for clients that take tasks."""
    caller().require(TASKS)
    await anyio.sleep(1)
    raise ToolError(ErrorKind.REMOTE_FAILED, "This job fails.")


async def protocol_error_job() -> str:
    """End by an error of the protocol."""
    await anyio.sleep(LONG_S)
    caller().require("roots")
    return "The client can."


async def confirm_delete(filename: str) -> str:
    """Ask, once it has become a task."""
    await anyio.sleep(LONG_S)
    await caller().elicit(f"Delete {filename}?", SURE, "confirm")
    return f"Deleted {filename}."


async def multi_input() -> str:
    """Ask for two things at once, once it has become a task."""
    await anyio.sleep(LONG_S)
    forms = {key: mcp_types.ElicitRequestFormParams(message=key, requested_schema=NAME) for key in ("one", "two")}
    await caller().ask_all({key: mcp_types.ElicitRequest(params=form) for key, form in forms.items()})
    return "Both are answered."


async def tool_with_task() -> str:
    """Ask for a name, then take long."""
    caller().require(TASKS)
    answer = await caller().elicit("What is your name?", NAME, "user_name")
    await anyio.sleep(LONG_S)
    return f"Hello, {(answer.content or {}).get('name')}!"


async def reconnection() -> str:
    """Let the client go, and answer when it has come back."""
    await caller().release()
    await anyio.sleep(0.1)
    return "The client is back."


TOOLS = {
    "greet": greet,
    "slow_compute": slow_compute,
    "failing_job": failing_job,
    "protocol_error_job": protocol_error_job,
    "confirm_delete": confirm_delete,
    "multi_input": multi_input,
    "test_tool_with_task": tool_with_task,
    "test_reconnection": reconnection,
    "test_simple_text": simple_text,
    "test_image_content": image_content,
    "test_audio_content": audio_content,
    "test_embedded_resource": embedded_resource,
    "test_multiple_content_types": multiple_content_types,
    "test_tool_with_logging": tool_with_logging,
    "test_tool_with_progress": tool_with_progress,
    "test_error_handling": error_handling,
    "test_sampling": sampling,
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": elicitation_defaults,
    "test_elicitation_sep1330_enums": elicitation_enums,
    "test_missing_capability": missing_capability,
    "test_input_required_result_elicitation": required_elicitation,
    "test_input_required_result_sampling": required_sampling,
    "test_input_required_result_list_roots": required_roots,
    "test_input_required_result_request_state": required_state,
    "test_input_required_result_multiple_inputs": required_multiple,
    "test_input_required_result_multi_round": required_rounds,
    "test_input_required_result_tampered_state": required_state,
    "test_input_required_result_capabilities": required_capabilities,
    "test_trigger_prompt_change": trigger_prompt_change,
}


class SchemaTool(FunctionTool):
    """A tool whose schema is given, with all that JSON Schema 2020-12 has."""

    def publish(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"street": {"type": "string"}, "city": {"type": "string"}}
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": address}},
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": False,
        }


class HeaderTool(FunctionTool):
    """A tool with a parameter that clients repeat in a header."""

    def publish(self, schema: dict[str, Any]) -> dict[str, Any]:
        properties = {name: {**each, "x-mcp-header": name.title()} for name, each in schema["properties"].items()}
        return {**schema, "properties": properties}


async def _static_text() -> Content:
    return "This is the content of the static text resource."


async def _static_binary() -> Content:
    return [Blob("image/png", PICTURE)]


async def _watched() -> Content:
    return "Watched resource content"


async def _template(values: Mapping[str, str]) -> Content:
    return json.dumps({"id": values["id"], "templateTest": True, "data": f"Data for ID: {values['id']}"})


Messages = Sequence[tuple[str, Content]]


async def _simple_prompt(_values: Mapping[str, str]) -> Messages:
    return [("user", "This is a simple prompt for testing.")]


async def _prompt_with_arguments(values: Mapping[str, str]) -> Messages:
    return [("user", f"Prompt with arguments: arg1='{values['arg1']}', arg2='{values['arg2']}'")]


async def _prompt_with_resource(values: Mapping[str, str]) -> Messages:
    resource = Blob("text/plain", b"Embedded resource content for testing.", values["resourceUri"])
    return [("user", [resource]), ("user", "Please process the embedded resource above.")]


async def _prompt_with_image(_values: Mapping[str, str]) -> Messages:
    return [("user", [Blob("image/png", PICTURE)]), ("user", "Please analyze the image above.")]


async def _prompt_that_asks(_values: Mapping[str, str]) -> Messages:
    form = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}
    answer = await caller().elicit("What context should the prompt use?", form, "user_context")
    return [("user", f"Use the following context: {(answer.content or {}).get('context')}")]


def _completions(_argument: str, start: str) -> Sequence[str]:
    return [word for word in ("paris", "park", "party") if word.startswith(start)]


def make_offers() -> Offers:
    """Offer what the suite asks for besides tools."""
    two = (OfferedArgument("arg1", "First test argument"), OfferedArgument("arg2", "Second test argument"))
    OFFERS.add(
        OfferedResource("test://static-text", "Static Text Resource", _static_text),
        OfferedResource("test://static-binary", "Static Binary Resource", _static_binary, "image/png"),
        OfferedResource("test://watched-resource", "Watched Resource", _watched),
        OfferedTemplate("test://template/{id}/data", "Resource Template", _template, "application/json"),
        OfferedPrompt("test_simple_prompt", "A simple prompt without arguments", _simple_prompt),
        OfferedPrompt("test_prompt_with_arguments", "With arguments", _prompt_with_arguments, two, _completions),
        OfferedPrompt(
            "test_prompt_with_embedded_resource",
            "With an embedded resource",
            _prompt_with_resource,
            (OfferedArgument("resourceUri"),),
        ),
        OfferedPrompt("test_prompt_with_image", "With an image", _prompt_with_image),
        OfferedPrompt("test_input_required_result_prompt", "With a question", _prompt_that_asks),
    )
    return OFFERS


def _told(what: str, answer: mcp_types.ElicitResult) -> str:
    return f"{what}: action={answer.action}, content={msgspec.json.encode(answer.content or {}).decode()}"


def _text(answer: mcp_types.CreateMessageResult) -> str:
    return answer.content.text if isinstance(answer.content, mcp_types.TextContent) else "(no text)"


def offer(runtime: Runtime) -> Offers:
    """Register the suite's tools, for `dogu mcp --with server.py`, and return what else it asks for."""

    async def trigger_tool_change() -> str:
        """Have another tool, and take it away."""
        runtime.registry.register(function_tool(simple_text, name="test_dynamic_tool", kind=Kind.READ))
        runtime.registry.unregister("test_dynamic_tool")
        return "tool list changed"

    for name, function in {**TOOLS, "test_trigger_tool_change": trigger_tool_change}.items():
        runtime.registry.register(function_tool(function, name=name, kind=Kind.READ))
    runtime.registry.register(SchemaTool(simple_text, name="json_schema_2020_12_tool", kind=Kind.READ))
    runtime.registry.register(HeaderTool(greet, name="test_header_tool", kind=Kind.READ))
    return make_offers()
