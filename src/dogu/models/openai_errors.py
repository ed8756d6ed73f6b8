"""What refusals on the chat-completions wire mean, whichever server they come from: what happened and what to do."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from dogu.language import told
from dogu.models.events import MANY_TRIES, ModelError, ModelErrorKind
from dogu.models.transport_errors import HttpRefusal, line_of, told_by_header

_TOO_LONG = ("context_length", "context length", "context size", "maximum context", "too many tokens", "too long")


def explain_refusal(refusal: HttpRefusal, model: str, variable: str = "OPENAI_API_KEY") -> ModelError:
    """Explain an HTTP answer that isn't 200; `variable` is where the key should be looked for."""
    message, code = _read(refusal.body)
    return _explained(refusal.status, message, code, told_by_header(refusal), (model, variable))


def stream_error(raw: bytes) -> ModelError:
    """Explain an error that came inside a stream."""
    message, code = _read(b'{"error":' + raw + b"}")
    status = int(code) if code.isdigit() else 500
    return _explained(status if status >= 400 else 500, message, code, None, ("", ""))


def failure(status: int, message: str) -> ModelError:
    """Explain an error that a stream tells as its wire's own kind of error."""
    return _explained(status, message, "", None, ("", ""))


def _explained(status: int, message: str, code: str, told_s: float | None, asked: tuple[str, str]) -> ModelError:
    said = " " + told("The server says: {message}", message=line_of(message)) if message.strip() else ""
    if status == 429:
        if "quota" in code or "billing" in code:
            text = told("The quota of this key is used up: raise it, or take another model.{said}", said=said)
            return ModelError(ModelErrorKind.QUOTA, text, retry_after_s=told_s)
        text = told("The server's rate limit was reached.{said}", said=said)
        return ModelError(ModelErrorKind.RATE_LIMIT, text, most_tries=MANY_TRIES, retry_after_s=told_s)
    if status in (408, 504):
        return ModelError(ModelErrorKind.TIMEOUT, told("The server took too long.{said}", said=said), most_tries=4)
    if any(sign in f"{code} {message}".lower() for sign in _TOO_LONG):
        text = told(
            "The conversation is longer than the model can read: start a new one, or give the server more.{said}",
            said=said,
        )
        return ModelError(ModelErrorKind.TOO_LONG, text)
    if status >= 500:
        text = told("The server is overloaded or failing (HTTP {status}).{said}", status=status, said=said)
        return ModelError(ModelErrorKind.OVERLOADED, text, most_tries=MANY_TRIES, retry_after_s=told_s)
    return _refused(status, *asked, message, said)


def _refused(status: int, model: str, variable: str, message: str, said: str) -> ModelError:
    if status in (401, 403):
        return ModelError(
            ModelErrorKind.AUTH,
            told("The server refused the key: check {variable}.{said}", variable=variable, said=said),
        )
    if status == 404:
        text = told(
            "There is no model {model!r} at this address. Check model.name (with Ollama: `ollama pull "
            "{model}`), and model.baseUrl, which usually ends in /v1.{said}",
            model=model,
            said=said,
        )
        return ModelError(ModelErrorKind.NOT_FOUND, text)
    if "support" in message and "tool" in message:
        text = told(
            "The model {model!r} can't call tools: take one that can, such as qwen3-coder.{said}",
            model=model,
            said=said,
        )
        return ModelError(ModelErrorKind.BAD_REQUEST, text)
    return ModelError(
        ModelErrorKind.BAD_REQUEST,
        told("The server refused the request (HTTP {status}).{said}", status=status, said=said),
    )


def _read(body: bytes) -> tuple[str, str]:
    """Return message and code, from `{"error": {...}}`, `{"error": "..."}` or `{"detail": ...}`."""
    try:
        decoded: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "", ""
    if not isinstance(decoded, dict):
        return "", ""
    fields = cast("dict[str, Any]", decoded)
    error: object = fields.get("error") or fields.get("detail") or fields.get("message") or ""
    if isinstance(error, dict):
        inner = cast("dict[str, Any]", error)
        code = inner.get("code") or inner.get("type") or ""
        return str(inner.get("message") or ""), str(code)
    return str(error), str(fields.get("code") or "")
