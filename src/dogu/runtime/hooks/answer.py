"""What a hook that has run says: its exit code, its JSON, its mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from dogu.language import told
from dogu.runtime.hooks.config import Hook, Moment

_BLOCKS = 2
_LONGEST_TEXT_CHARS = 10_000
_LONGEST_TOLD_CHARS = 300
_DECISIONS = {"deny": "deny", "block": "deny", "ask": "ask", "allow": "", "approve": "", "defer": "", "": ""}


class HookAnswer(msgspec.Struct, frozen=True):
    """What one hook wants. `decision` is `deny`, `ask` or empty: a hook's `allow` says nothing, the policy decides.

    `new_input` are changed arguments, all of them if `is_whole_input`. `output` takes a result's place, `response` the
    model's words' (None: they stay). `tool_mode` and `tool_names` limit the tools of a request. `message` and `problem`
    are for the user, `context` is for the model.
    """

    decision: str = ""
    reason: str = ""
    stops: bool = False
    message: str = ""
    context: str = ""
    new_input: Mapping[str, Any] | None = None
    is_whole_input: bool = False
    output: str | None = None
    response: str | None = None
    changes_request: bool = False
    tool_mode: str = ""
    tool_names: frozenset[str] | None = None
    problem: str = ""


def read_answer(hook: Hook, stdout: str, stderr: str, exit_code: int | None) -> HookAnswer:
    """Make the answer of what was printed and how it ended."""
    if exit_code == _BLOCKS:
        return HookAnswer("deny", stderr.strip()[:_LONGEST_TEXT_CHARS] or told("It gave no reason."))
    if exit_code != 0:
        said = _first_line(stderr) or told("nothing on standard error")
        return HookAnswer(problem=told("it ended with exit code {code}: {said}", code=exit_code, said=said))
    text = stdout.strip()
    if not text:
        return HookAnswer()
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return _plain(hook, text)
    if not isinstance(value, dict):
        return _plain(hook, text)
    return _of_json(cast("dict[str, Any]", value))


def _plain(hook: Hook, text: str) -> HookAnswer:
    """Text that is no JSON: context where Claude Code takes it as such, else a mistake."""
    is_context = hook.event in ("UserPromptSubmit", Moment.SESSION_START) and not text.startswith("{")
    if is_context:
        return HookAnswer(context=text[:_LONGEST_TEXT_CHARS])
    return HookAnswer(problem=told("it printed no JSON object: {said}", said=_first_line(text)))


def _of_json(value: Mapping[str, Any]) -> HookAnswer:
    specific = value.get("hookSpecificOutput")
    inner = cast("dict[str, Any]", specific) if isinstance(specific, dict) else {}
    written = inner.get("permissionDecision", value.get("decision"))
    word = "" if written is None else str(written).strip().casefold()
    decision = _DECISIONS.get(word, "ask")
    reason = _text(inner.get("permissionDecisionReason")) or _text(value.get("reason"))
    if word not in _DECISIONS:
        reason = told("it answered with a decision that isn't known: {word}", word=repr(word[:40]))
    whole, merged = inner.get("updatedInput"), inner.get("tool_input")
    output = inner.get("tool_output")
    return HookAnswer(
        decision=decision,
        reason=reason or (told("It gave no reason.") if decision else ""),
        stops=value.get("continue") is False,
        message=_text(value.get("systemMessage")) or (_text(value.get("stopReason"))),
        context=_text(inner.get("additionalContext")),
        new_input=_table(whole) or _table(merged),
        is_whole_input=isinstance(whole, dict),
        output=output[:_LONGEST_TEXT_CHARS] if isinstance(output, str) else None,
        **_of_model(inner),
    )


def _of_model(inner: Mapping[str, Any]) -> dict[str, Any]:
    """What a hook around the model says, in Gemini CLI's stable form; what can't be understood is told."""
    tools = _table(inner.get("toolConfig")) or {}
    names = tools.get("allowedFunctionNames")
    listed = cast("list[Any]", names) if isinstance(names, list) else []
    words = _response_text(inner.get("llm_response"))
    is_garbled = ("llm_response" in inner and words is None) or (names is not None and not isinstance(names, list))
    return {
        "response": words,
        "changes_request": isinstance(inner.get("llm_request"), dict),
        "tool_mode": str(tools.get("mode", "")).upper(),
        "tool_names": frozenset(str(name) for name in listed) if listed else None,
        "problem": told("its {field} can't be understood", field="llm_response/toolConfig") if is_garbled else "",
    }


def _response_text(value: object) -> str | None:
    """The text of an answer: of its first candidate, whose parts are texts or tables with one, else its own."""
    table = _table(value) or {}
    candidates = table.get("candidates")
    first = cast("list[Any]", candidates)[0] if isinstance(candidates, list) and candidates else None
    content = _table((_table(first) or {}).get("content")) or {}
    parts = content.get("parts")
    if isinstance(parts, list):
        texts = [_table(part) or {"text": part} for part in cast("list[Any]", parts)]
        return "".join(part["text"] for part in texts if isinstance(part.get("text"), str))
    text = table.get("text")
    return text if isinstance(text, str) else None


def _table(value: object) -> Mapping[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value.strip()[:_LONGEST_TEXT_CHARS] if isinstance(value, str) else ""


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:_LONGEST_TOLD_CHARS]
