"""What the real Gemini refuses: the rules a request must keep, so that a fake server finds what the real one would.

Source: ai.google.dev/api/generate-content, ai.google.dev/gemini-api/docs/function-calling and the server's messages.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

JsonObject: TypeAlias = dict[str, Any]

_FIELDS = frozenset(
    (
        "contents",
        "systemInstruction",
        "tools",
        "toolConfig",
        "generationConfig",
        "safetySettings",
        "cachedContent",
        "labels",
    )
)
_PART_KINDS = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
)
_KNOWN_OF: Mapping[str, frozenset[str]] = {
    "generationConfig": frozenset(
        "stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount topP topK "
        "maxOutputTokens temperature seed presencePenalty frequencyPenalty responseLogprobs logprobs speechConfig "
        "thinkingConfig imageConfig mediaResolution".split()
    ),
    "thinkingConfig": frozenset(("includeThoughts", "thinkingBudget", "thinkingLevel")),
    "functionCall": frozenset(("id", "name", "args", "partialArgs", "willContinue")),
    "functionResponse": frozenset(("id", "name", "response", "parts", "willContinue", "scheduling")),
    "inlineData": frozenset(("mimeType", "data", "displayName")),
    "functionDeclarations": frozenset(
        "name description behavior parameters parametersJsonSchema response responseJsonSchema".split()
    ),
}
# What Google's own schemas know; the source is ai.google.dev/api/caching. A JSON schema is taken as
# it comes: Gemini CLI and Google's SDK send whole ones.
_OPEN_API = frozenset(
    "type format title description nullable enum maxItems minItems properties required minProperties maxProperties "
    "minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum".split()
)
_SERVER_TOOLS = frozenset(("googleSearch", "urlContext", "codeExecution", "googleSearchRetrieval"))
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_URL_SAFE = str.maketrans("-_", "+/")  # JSON of protocol buffers takes both alphabets
_OPAQUE = frozenset(("args", "response", "parametersJsonSchema", "responseJsonSchema", "properties", "defs", "labels"))


class RefusedError(Exception):
    """The request would be refused; the message is like the server's."""


def camel(value: Any) -> Any:
    """Return a request with its fields in camelCase, leaving schemas, arguments and responses as they are."""
    if isinstance(value, list):
        return [camel(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    renamed: JsonObject = {}
    for key, item in cast("JsonObject", value).items():
        name = re.sub("_([a-z])", lambda match: match[1].upper(), key)
        renamed[name] = item if name in _OPAQUE else camel(item)
    return renamed


def check_request(body: JsonObject, generation: int) -> None:
    """Check a request in camelCase for a model of that generation (2, 3). Raises `RefusedError`."""
    for field in body:
        if field not in _FIELDS:
            raise RefusedError(f'Invalid JSON payload received. Unknown name "{field}": Cannot find field.')
    config: JsonObject = body.get("generationConfig") or {}
    _check_known(config, "generationConfig", "generation_config")
    _check_known(config.get("thinkingConfig") or {}, "thinkingConfig", "generation_config.thinking_config")
    contents: Sequence[JsonObject] = body.get("contents") or []
    if not contents:
        raise RefusedError("* GenerateContentRequest.contents: contents is not specified")
    for index, content in enumerate(contents):
        _check_content(content, f"GenerateContentRequest.contents[{index}]", generation)
    _check_turns(contents)
    if generation >= 3:
        _check_signatures(contents)
    _check_tools(body.get("tools") or [])
    _check_server_tools(body.get("tools") or [], generation)
    _check_shape(body, generation)


def _check_known(fields: JsonObject, kind: str, where: str, known: frozenset[str] = frozenset()) -> None:
    if unknown := fields.keys() - (known or _KNOWN_OF[kind]):
        raise RefusedError(
            f"Invalid JSON payload received. Unknown name \"{min(unknown)}\" at '{where}': Cannot find field."
        )


def _check_schema(schema: object, where: str) -> None:
    """Check that a schema keeps to Google's own dialect."""
    if not isinstance(schema, dict):
        return
    node = cast("JsonObject", schema)
    _check_known(node, "", where, _OPEN_API)
    if not isinstance(node.get("type", ""), str):
        raise RefusedError(f"Proto field is not repeating, cannot start list at '{where}.type'.")
    for name in ("properties", "$defs"):
        for key, inner in cast("JsonObject", node.get(name) or {}).items():
            _check_schema(inner, f"{where}.{name}[{key!r}]")
    inners = [node.get("items"), node.get("additionalProperties")]
    for name in ("anyOf", "oneOf", "prefixItems"):
        inners += cast("list[Any]", node.get(name) or [])
    for inner in inners:
        _check_schema(inner, f"{where}.items")


def _check_shape(body: JsonObject, generation: int) -> None:
    config: JsonObject = body.get("generationConfig") or {}
    if "responseJsonSchema" in config and config.get("responseMimeType") != "application/json":
        raise RefusedError("* GenerateContentRequest.generation_config.response_mime_type: must be application/json")
    if config.get("responseMimeType", "text/plain") != "text/plain" and body.get("tools") and generation < 3:
        raise RefusedError("Function calling with a response mime type: 'application/json' is unsupported")


def _check_content(content: JsonObject, where: str, generation: int) -> None:
    if content.get("role") not in ("user", "model"):
        raise RefusedError("Please use a valid role: user, model.")
    if unknown := set(content) - {"role", "parts"}:
        raise RefusedError(
            f"Invalid JSON payload received. Unknown name \"{min(unknown)}\" at '{where}': Cannot find field."
        )
    parts: Sequence[JsonObject] = content.get("parts") or []
    if not parts:
        raise RefusedError(f"* {where}.parts: contents.parts must not be empty.")
    for index, part in enumerate(parts):
        for kind in part.keys() & _KNOWN_OF.keys():
            _check_known(part[kind], kind, f"{where}.parts[{index}].{kind}")
        _check_part(part, f"{where}.parts[{index}]", generation)


def _check_part(part: JsonObject, where: str, generation: int) -> None:
    kinds = [kind for kind in _PART_KINDS if kind in part]
    if len(kinds) > 1:
        raise RefusedError(f"Proto field is not repeating, cannot start list: oneof data has {kinds} at {where}")
    if not kinds and not set(part) - {"thought", "thoughtSignature"}:
        raise RefusedError(f"* {where}.data: required oneof field 'data' must have one initialized field")
    if "inlineData" in part:
        _check_blob(part["inlineData"], where)
    for kind in ("functionCall", "functionResponse"):
        if kind in part and not _NAME.fullmatch(part[kind].get("name") or ""):
            raise RefusedError(f"* {where}.{kind}.name: Name cannot be empty or invalid.")
    if "functionCall" in part and not isinstance(part["functionCall"].get("args", {}), dict):
        raise RefusedError(
            f"Invalid value at '{where}.function_call.args' (type.googleapis.com/google.protobuf.Struct)"
        )
    if "functionResponse" in part:
        _check_response(part["functionResponse"], where, generation)


def _check_response(response: JsonObject, where: str, generation: int) -> None:
    if not isinstance(response.get("response"), dict):
        raise RefusedError(f"Invalid value at '{where}.function_response.response' (google.protobuf.Struct)")
    inner: Sequence[JsonObject] = response.get("parts") or []
    if inner and generation < 3:
        raise RefusedError(
            f"* {where}.function_response.parts: Multimodal function response is not supported by this model."
        )
    for part in inner:
        _check_blob(part.get("inlineData") or {}, where)


def _check_blob(blob: JsonObject, where: str) -> None:
    if not blob.get("mimeType"):
        raise RefusedError(f"* {where}.inline_data.mime_type: mime_type must not be empty.")
    try:
        data = base64.b64decode(str(blob.get("data") or "").translate(_URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        raise RefusedError(
            f"Invalid value at '{where}.inline_data.data' (TYPE_BYTES), Base64 decoding failed"
        ) from None
    if not data:
        raise RefusedError(f"* {where}.inline_data.data: data must not be empty.")


def _check_turns(contents: Sequence[JsonObject]) -> None:
    """Check that roles alternate, beginning with the user, and that calls are answered at once, all of them."""
    waiting: list[JsonObject] = []
    role = "model"
    for content in contents:
        if content["role"] == role:
            raise RefusedError(
                f"Please ensure that multiturn requests alternate between user and model: two {role} turns."
            )
        role = content["role"]
        responses = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        _check_answers(waiting, responses)
        waiting = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        if waiting and role == "user":
            raise RefusedError("Please ensure that function call turn comes from the role model.")
    if role == "model":
        raise RefusedError("Please ensure that single turn requests end with a user role or a function response.")


def _check_answers(calls: Sequence[JsonObject], responses: Sequence[JsonObject]) -> None:
    if len(calls) != len(responses):
        raise RefusedError(
            "Please ensure that the number of function response parts is equal to the number of function call parts of "
            f"the function call turn: {len(calls)} calls, {len(responses)} responses."
        )
    for call, response in zip(calls, responses, strict=True):
        if call["name"] != response["name"]:
            raise RefusedError(f"Function response {response['name']} does not answer function call {call['name']}.")
        if call.get("id", "") != response.get("id", ""):
            raise RefusedError(
                f"Function response id {response.get('id')!r} does not match the call's {call.get('id')!r}."
            )


def _check_signatures(contents: Sequence[JsonObject]) -> None:
    """Check that the first call of each step since the user's last words carries its thought signature back."""
    for content in reversed(contents):
        if content["role"] == "user" and not any("functionResponse" in part for part in content["parts"]):
            return
        first = next((part for part in content["parts"] if "functionCall" in part), None)
        if first is not None and not first.get("thoughtSignature"):
            name = first["functionCall"]["name"]
            raise RefusedError(f"Function call is missing a thought_signature in functionCall parts: {name}")


def _check_tools(tools: Sequence[JsonObject]) -> None:
    seen: set[str] = set()
    for declaration in _declarations(tools):
        name = str(declaration.get("name") or "")
        if not _NAME.fullmatch(name):
            raise RefusedError(
                f"* GenerateContentRequest.tools[0].function_declarations.name: Invalid function name {name!r}"
            )
        if name in seen:
            raise RefusedError(f"Duplicate function declaration found: {name}")
        seen.add(name)
        if "parameters" in declaration and "parametersJsonSchema" in declaration:
            raise RefusedError("parameters and parameters_json_schema are mutually exclusive")
        _check_known(declaration, "functionDeclarations", "tools[0].function_declarations")
        _check_schema(declaration.get("parameters"), f"{name}.parameters")
        schema = cast(
            "Mapping[str, Any]", declaration.get("parametersJsonSchema") or declaration.get("parameters") or {}
        )
        if schema and str(schema.get("type", "")).lower() != "object":
            raise RefusedError(f"functionDeclaration {name} parameters schema should be of type OBJECT.")


def _check_server_tools(tools: Sequence[JsonObject], generation: int) -> None:
    """Check the server's own tools: known ones, and before Gemini 3 not beside functions."""
    names = {name for tool in tools for name in tool}
    if unknown := names - _SERVER_TOOLS - {"functionDeclarations"}:
        raise RefusedError(
            f"Invalid JSON payload received. Unknown name \"{min(unknown)}\" at 'tools[0]': Cannot find field."
        )
    if generation < 3 and "functionDeclarations" in names and names & _SERVER_TOOLS:
        raise RefusedError("Tool use with function calling is unsupported")


def _declarations(tools: Sequence[JsonObject]) -> Iterator[JsonObject]:
    for tool in tools:
        yield from tool.get("functionDeclarations") or []
