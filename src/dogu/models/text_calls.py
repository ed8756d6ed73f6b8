"""Calls as models write them in their text when their server doesn't read them: a row for each format.

Source: the chat templates of the models, and the parsers of vLLM and llama.cpp (docs.vllm.ai, "Tool Calling").
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from dogu.models.call_arguments import read_arguments, without_fence
from dogu.models.events import FunctionCallEvent
from dogu.models.reading import whole
from dogu.models.translation import Tools
from dogu.workspace.python_text import python_expression

Written: TypeAlias = tuple[str, str]
"""A tool's name as it was written, and its arguments as a text of JSON."""

_BAR = "[|｜]"
_DSML = f"(?:{_BAR}DSML{_BAR})?"
_NAME = r"[\w.:/-]+"


def _format(opening: str, pattern: str, *sample: str) -> tuple[str, re.Pattern[str], tuple[str, ...]]:
    return opening, re.compile(pattern, re.DOTALL), sample


# How a call begins, the whole of one (`body` is read by `_body`, `json` are arguments, `list` are calls), and samples:
# calls of `f` with the argument `a` = `b`.
_FORMATS = (
    _format(  # Hermes, Qwen, GLM
        "<tool_call>",
        r"<tool_call>(?P<body>.*?)(?:</tool_call>|\Z|(?=<tool_call>))",
        '<tool_call>{"name": "f", "arguments": {"a": "b"}}</tool_call>',
        "<tool_call>\n<function=f>\n<parameter=a>\nb\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_call>",
    ),
    _format(  # LongCat
        "<longcat_tool_call>",
        r"<longcat_tool_call>(?P<body>.*?)(?:</longcat_tool_call>|\Z|(?=<longcat_tool_call>))",
        '<longcat_tool_call>{"name": "f", "arguments": {"a": "b"}}</longcat_tool_call>',
    ),
    _format(  # Qwen3-Coder without its wrapper, Seed, Llama 3.2
        "<function=",
        r"<function=(?P<name>[^>\s]+)>(?P<body>.*?)(?:</function>|\Z)",
        "<function=f>\n<parameter=a>\nb\n</parameter>\n</function>\n</tool_call>",
        '<function=f>{"a": "b"}</function>',
    ),
    _format(  # Kimi
        "<|tool_call_begin|>",
        r"<\|tool_call_begin\|>(?P<name>[^<]*)<\|tool_call_argument_begin\|>(?P<json>.*?)(?:<\|tool_call_end\|>|\Z)",
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a":"b"}'
        "<|tool_call_end|><|tool_calls_section_end|>",
    ),
    _format(  # DeepSeek R1, V3, V3.1
        "<｜tool▁call▁begin｜>",
        rf"<{_BAR}tool▁call▁begin{_BAR}>(?:\w*<{_BAR}tool▁sep{_BAR}>(?=[^{{]*\n))?(?P<name>[^\n<]+)"
        rf"(?:<{_BAR}tool▁sep{_BAR}>|\n)(?P<json>.*?)(?:<{_BAR}tool▁call▁end{_BAR}>|\Z)",
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a":"b"}\n```<｜tool▁call▁end｜>',
        '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a":"b"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ),
    _format(  # MiniMax M2, DeepSeek V3.2 and V4
        "<invoke name=",
        rf"<{_DSML}invoke name=\"(?P<name>[^\"]+)\">(?P<body>.*?)(?:</{_DSML}invoke>|\Z)",
        '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">b</parameter>\n</invoke>\n</minimax:tool_call>',
        '<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="true">b'
        "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
    ),
    _format(  # Mistral: a name and arguments, or a list
        "[TOOL_CALLS]",
        rf"\[TOOL_CALLS\]\s*(?:(?P<name>{_NAME})(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?(?P<json>\{{.*?)|(?P<list>\[.*?))"
        r"(?=\[TOOL_CALLS\]|\Z)",
        '[TOOL_CALLS][{"name": "f", "arguments": {"a": "b"}}]',
        '[TOOL_CALLS]f[ARGS]{"a": "b"}',
    ),
    _format(  # Llama 3.1
        "<|python_tag|>",
        r"<\|python_tag\|>(?P<list>.*?)(?=<\|python_tag\|>|\Z)",
        '<|python_tag|>{"name": "f", "parameters": {"a": "b"}}',
    ),
    _format(  # gpt-oss
        "<|channel|>",
        rf"(?:<\|start\|>\w*)?(?:\s*to=(?P<to>{_NAME}))?\s*<\|channel\|>\w++\s*+(?>(?:to=(?P<name>{_NAME}))?)[^<]*+"
        r"(?:<\|constrain\|>\w+)?\s*<\|message\|>(?P<json>.*?)(?:<\|call\|>|<\|end\|>|\Z)",
        '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":"b"}<|call|>',
    ),
    _format(  # Granite, LFM2, MiniMax M1
        "<|tool_call|>",
        r"<\|?tool_calls?(?:_start)?\|?>(?P<list>\s*[\[{].*?)(?:</?\|?/?tool_calls?(?:_end)?\|?>|\Z)",
        '<|tool_call|>[{"name": "f", "arguments": {"a": "b"}}]',
        '<tool_calls>\n{"name": "f", "arguments": {"a": "b"}}\n</tool_calls>',
        '<|tool_call_start|>[f(a="b")]<|tool_call_end|>',
    ),
)
_WRAPPERS = (
    "<|tool_calls_section_begin|>",
    "<｜tool▁calls▁begin｜>",
    "<|tool▁calls▁begin|>",
    "<minimax:tool_call>",
    "<seed:tool_call>",
    "<function_calls>",
    "<｜DSML｜function_calls>",
    "<｜DSML｜tool_calls>",
)
_OTHERWISE = ("<|tool▁call▁begin|>", "<｜DSML｜invoke name=", "<tool_calls>", "<|tool_call_start|>")
OPENINGS = (*(opening for opening, _, _ in _FORMATS if opening != "<|channel|>"), *_WRAPPERS, *_OTHERWISE)
"""How a call in text begins; gpt-oss' channels, which also hold thoughts and text, are for the caller to tell apart."""

_ENDS_WITH = "|".join(
    (
        r"\s+",
        *map(re.escape, _WRAPPERS),
        rf"</(?:{_DSML}(?:function_calls|tool_calls)|minimax:tool_call|seed:tool_call|(?:longcat_)?tool_calls?|function|think)>",
        rf"<{_BAR}(?:tool▁calls?▁end|tool_calls_section_end|tool_call_end|call|eom_id|eot_id|im_end|end"
        rf"|return|end▁of▁sentence){_BAR}>",
        "</s>",
        r"<(?:tool_response|tool_result|function_results?|tool_output)>.*",  # what the model thinks will be answered
    )
)
_CLOSER = re.compile(
    rf"</(?:{_DSML}(?:function_calls|tool_calls|invoke)|minimax:tool_call|seed:tool_call|(?:longcat_)?tool_calls?|function)>"
    rf"|<{_BAR}(?:tool▁calls?▁end|tool_calls_section_end|tool_call_end|call){_BAR}>"
)
_BETWEEN = re.compile(f"(?:{_ENDS_WITH})*", re.DOTALL)
_PARAMETER = re.compile(
    rf"<{_DSML}parameter(?:=| name=)\"?(?P<name>[^>\s\"]+)\"?(?P<more>[^>]*)>\n?(?P<value>.*?)\n?</{_DSML}parameter>",
    re.DOTALL,
)
_ARGUMENT = re.compile(
    r"<arg_key>((?>(?:(?!</arg_key>).)*))</arg_key>\s*+<arg_value>((?>(?:(?!</arg_value>).)*))</arg_value>", re.DOTALL
)
_FUNCTION = re.compile(r"\s*<function=(?P<name>[^>\s]+)>(?P<body>.*?)(?:</function>\s*|\Z)", re.DOTALL)
_GLM = re.compile(rf"\s*({_NAME})\s*((?>(?:{_ARGUMENT.pattern}\s*+)*))\Z", re.DOTALL)
_NAMED = re.compile(rf"\s*({_NAME})\s*(\{{.*)\Z", re.DOTALL)
_ATTEMPT = re.compile(r"[{\[<]")


def written_calls(text: str, tools: Tools) -> list[Written] | None:
    """Return the calls that a text is made of, and nothing else; None when it isn't."""
    calls: list[Written] = []
    at = 0
    while True:
        at = _end_of(_BETWEEN.match(text, at), at)
        if at >= len(text):
            return calls or None
        found = next(_found_at(text, at, tools), None)
        if found is None:
            return None
        read, at = found
        calls += read


def bare_call(text: str, tools: Tools) -> list[Written] | None:
    """Return the call of a whole answer that is the JSON of a call to a declared tool, as Llama writes them."""
    found = _listed(text)
    if found and all(name in tools.wire_names for name, _ in found):
        return found
    return None


def late_calls(text: str, tools: Tools) -> list[FunctionCallEvent]:
    """Return the calls that a whole answer on a wire with calls of its own is made of, where its server read none."""
    calls: list[FunctionCallEvent] = []
    if not any(opening in text for opening in OPENINGS):
        return calls
    for name, raw in written_calls(text, tools) or ():
        if tools.schema_of(tools.name_of(name)) is None:
            return []
        calls.append(tools.call(calls, "", name, raw))
    return calls


def is_attempt(text: str) -> bool:
    """Whether a text that begins as a call goes on as one to its end: what is written about calls does not."""
    closed = max((match.end() for match in _CLOSER.finditer(text)), default=0)
    if closed and _end_of(_BETWEEN.match(text, closed), closed) < len(text):
        return False
    opening = next((opening for opening in (*OPENINGS, "<|channel|>") if text.startswith(opening)), "")
    rest = text.removeprefix(opening).lstrip()
    return opening.endswith("=") or bool(_ATTEMPT.match(rest)) or bool(_NAMED.match(rest))


def _end_of(match: re.Match[str] | None, at: int) -> int:
    return match.end() if match else at


def _found_at(text: str, at: int, tools: Tools) -> Iterator[tuple[list[Written], int]]:
    for _, pattern, _ in _FORMATS:
        match = pattern.match(text, at)
        if match is not None and (calls := _read(match.groupdict(), tools)):
            yield calls, match.end()


def _read(groups: Mapping[str, str | None], tools: Tools) -> list[Written] | None:
    name = (groups.get("name") or groups.get("to") or "").strip()
    if (listed := groups.get("list")) is not None:
        return _listed(listed)
    if (body := groups.get("body")) is not None:
        # What stands between the tags of a call is JSON, or a tag a parameter.
        if name:
            return _tagged(name, body, tools)
        if body.lstrip().startswith(("{", "[")):
            return _listed(body)
        readers: Sequence[Callable[[], list[Written] | None]] = (
            lambda: _functions(body, tools),
            lambda: _glm(body, tools),
            lambda: [(named[1], named[2])] if (named := _NAMED.match(body)) else None,
        )
        return next((calls for reader in readers if (calls := reader())), None)
    if not name:
        return None
    return [(name, without_fence(groups.get("json") or ""))]


def _functions(body: str, tools: Tools) -> list[Written] | None:
    calls: list[Written] = []
    at = 0
    while (match := _FUNCTION.match(body, at)) is not None and match.end() > at:
        read = _tagged(match["name"], match["body"], tools)
        if read is None:
            return None
        calls += read
        at = match.end()
    return calls if not body[at:].strip() else None


def _glm(body: str, tools: Tools) -> list[Written] | None:
    match = _GLM.match(body)
    return None if match is None else [(match[1], _arguments(match[1], _ARGUMENT.findall(match[2]), tools))]


def _tagged(name: str, body: str, tools: Tools) -> list[Written] | None:
    if body.lstrip().startswith("{"):
        return [(name, body.strip())]
    if _PARAMETER.sub("", body).strip():
        return None
    pairs = [(found["name"], found["value"]) for found in _PARAMETER.finditer(body)]
    return [(name, _arguments(name, pairs, tools))]


def _arguments(name: str, pairs: Sequence[tuple[str, str]], tools: Tools) -> str:
    """Make arguments of texts: what is no text by the tool's schema is JSON."""
    schema = tools.schema_of(tools.name_of(name)) or {}
    properties = cast("dict[str, dict[str, Any]]", schema.get("properties") or {})
    values = {key.strip(): _value(value, properties.get(key.strip()) or {}) for key, value in pairs}
    return msgspec.json.encode(values).decode()


def _value(text: str, schema: Mapping[str, Any]) -> object:
    if schema.get("type", "string") == "string":
        return text
    try:
        return msgspec.json.decode(text.strip())
    except (msgspec.DecodeError, RecursionError):
        return text


def _listed(text: str) -> list[Written] | None:
    """Read one call, a list of them, or several one after another, as JSON; or a list as Python writes it."""
    if python := _python_calls(text.strip()):
        return python
    values = _json_values(without_fence(text))
    if values is None:
        mended, problem = read_arguments(text)
        values = [mended] if mended and not problem else []
    calls: list[Written] = []
    for value in values:
        for item in cast("list[object]", value) if isinstance(value, list) else [value]:
            call = _json_call(item)
            if call is None:
                return None
            calls.append(call)
    return calls or None


def _python_calls(text: str) -> list[Written] | None:
    """Read `[f(a="b"), g()]`, as Llama 4 and LFM2 call."""
    if not text.startswith("[") or "(" not in text:
        return None
    try:
        tree = python_expression(text)
        items = tree.elts if isinstance(tree, ast.List) else []
        return [_python_call(item) for item in items]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _python_call(node: ast.expr) -> Written:
    if not isinstance(node, ast.Call) or node.args:
        raise ValueError("no call by names")
    args = {given.arg: ast.literal_eval(given.value) for given in node.keywords if given.arg is not None}
    return ast.unparse(node.func), msgspec.json.encode(args).decode()


def _json_values(text: str) -> list[object] | None:
    decoder, values, rest = json.JSONDecoder(strict=False), list[object](), text.strip()
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
            values.append(whole(value))
        except (ValueError, RecursionError):
            return None
        rest = rest[end:].lstrip(" \r\n\t;")
    return values


def _json_call(value: object) -> Written | None:
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    if isinstance(fields.get("function"), dict):
        fields = cast("dict[str, Any]", fields["function"])
    name = fields.get("name") or fields.get("function")
    given: object = next((fields[key] for key in ("arguments", "parameters", "args", "input") if key in fields), None)
    if not isinstance(name, str) or not name.strip():
        return None
    return name, given if isinstance(given, str) else msgspec.json.encode(given or {}).decode()
