"""codex as the benchmarks start it, and the streamed answers of the Responses API that a server gives to it."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Mapping

_WORD = "Done."
_EXEC = ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")


def program(peers: str) -> str:
    """Return the program that `npm install --prefix PEERS @openai/codex` makes."""
    return os.path.join(peers, "node_modules", ".bin", "codex")


def provider(url: str) -> list[str]:
    """Return the options that take the model from a server, whose key is in `OPENAI_API_KEY`."""
    server = f'{{name="bench",base_url="{url}",env_key="OPENAI_API_KEY",wire_api="responses"}}'
    return ["-m", "gpt-5.1", "-c", "model_provider=bench", "-c", f"model_providers.bench={server}"]


def command(peers: str, url: str, prompt: str) -> list[str]:
    """Return the command that answers a prompt and ends, without a sandbox."""
    return [program(peers), *_EXEC, *provider(url), prompt]


def shell(names: Container[str], line: str) -> tuple[str, dict[str, object]]:
    """Return the name and the arguments of a call that runs a shell's line, by the tool that this version has."""
    if "exec_command" in names:
        return "exec_command", {"cmd": line}
    if "shell" in names:
        return "shell", {"command": ["bash", "-lc", line]}
    return "shell_command", {"command": line}


def stream(number: int, call: tuple[str, Mapping[str, object]] | None) -> bytes:
    """Return the answer with a call, or with a last word, as events; `number` counts the answers."""
    item = _word(number) if call is None else _call(number, *call)
    begun = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "gpt-5.1", "status": "in_progress"}
    tokens = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {**begun, "status": "completed", "output": [item], "usage": {**tokens, **details}}
    place = {"output_index": 0, "content_index": 0, "item_id": item["id"]}
    events: tuple[dict[str, object], ...] = (
        {"type": "response.created", "response": {**begun, "output": ()}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *(({"type": "response.output_text.delta", **place, "delta": _WORD},) if call is None else ()),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    )
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events)


def _word(number: int) -> dict[str, object]:
    content = {"type": "output_text", "text": _WORD, "annotations": ()}
    about = {"type": "message", "id": f"m_{number}", "status": "completed"}
    return {**about, "role": "assistant", "content": (content,)}


def _call(number: int, name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    about = {"type": "function_call", "id": f"fc_{number}", "status": "completed"}
    return {**about, "call_id": f"call_{number}", "name": name, "arguments": json.dumps(arguments)}
