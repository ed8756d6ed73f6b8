"""A runtime's tools in a chat of Google's SDK: make the chat with `config`, and send with `send`."""

from __future__ import annotations

from google.genai import types
from google.genai.chats import AsyncChat

from dogu.contract.content import Blob, parts_of, text_of
from dogu.models.schemas import GEMINI, parameters_for
from dogu.runtime.events import ToolAnswer, ToolCall
from dogu.runtime.runtime import Runtime

_MOST_STEPS = 100


def config(runtime: Runtime, **more: object) -> types.GenerateContentConfig:
    """Declare the tools; `more` are other fields of the config."""
    declarations = [
        types.FunctionDeclaration(
            name=each.name,
            description=each.description,
            parameters_json_schema=parameters_for(GEMINI, each.parameters)[0],
        )
        for each in runtime.registry.declarations
    ]
    manual = types.AutomaticFunctionCallingConfig(disable=True)
    fields = {"tools": [types.Tool(function_declarations=declarations)], "automatic_function_calling": manual, **more}
    return types.GenerateContentConfig.model_validate(fields)


async def send(chat: AsyncChat, runtime: Runtime, message: str, *, max_steps: int = _MOST_STEPS) -> str:
    """Send a message, run the calls that come back by the runtime's rules, and return the model's last words."""
    response = await chat.send_message(message)  # pyright: ignore[reportUnknownMemberType]  (the SDK's own types)
    for _ in range(max_steps):
        wanted = response.function_calls or []
        if not wanted:
            break
        calls = [
            ToolCall(each.id or f"call-{number}", each.name or "", each.args) for number, each in enumerate(wanted)
        ]
        answers = await runtime.run_all(calls)
        parts = [part for answer, each in zip(answers, wanted, strict=True) for part in _answer(answer, each.id)]
        response = await chat.send_message(parts)  # pyright: ignore[reportUnknownMemberType]  (the SDK's own types)
        if any(answer.stop for answer in answers):
            break
    return response.text or ""


def _answer(answer: ToolAnswer, call_id: str | None) -> list[types.Part | types.File | str]:
    content = answer.result.llm_content
    key = "error" if answer.result.error else "output"
    response = types.FunctionResponse(id=call_id, name=answer.call.name, response={key: text_of(content)})
    media = [part for part in parts_of(content) if isinstance(part, Blob)]
    return [
        types.Part(function_response=response),
        *(types.Part.from_bytes(data=blob.data, mime_type=blob.media_type) for blob in media),
    ]
