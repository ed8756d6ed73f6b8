"""What a server's error means in words for the user: what happened and what to do. For every wire but Gemini's."""

from __future__ import annotations

from dogu.language import sentence, told
from dogu.models.events import ModelError, ModelErrorKind
from dogu.models.refusals import TRIES, ServerError, refusal_of, stream_error_of
from dogu.models.transport_errors import HttpRefusal, line_of

_NO_TOOLS = ("support", "cannot use")


def explain_refusal(
    refusal: HttpRefusal, model: str, variable: str = "OPENAI_API_KEY", *, is_chat: bool = False
) -> ModelError:
    """Explain an HTTP answer that is no success; `variable` is where the key should be looked for.

    Where the wire is one that local servers speak (`is_chat`), a missing model is explained for them.
    """
    return _explained(refusal_of(refusal), model, variable, is_chat=is_chat)


def stream_error(raw: bytes, model: str = "", variable: str = "") -> ModelError:
    """Explain an error that came inside a stream."""
    return _explained(stream_error_of(raw), model, variable)


def _explained(error: ServerError, model: str, variable: str, *, is_chat: bool = False) -> ModelError:
    kind, said, advice = error.kind, _said(error), ""
    text = _explanation(kind, error, model, said)
    if kind is ModelErrorKind.AUTH:
        advice = told("Check {variable}.", variable=variable)
    elif kind is ModelErrorKind.NOT_FOUND:
        advice = told("Check model.name and model.baseUrl.")
        text = told(_NO_SUCH_CHAT_MODEL, model=model, said=said) if is_chat else text
    return ModelError(kind, text, most_tries=TRIES.get(kind, 1), retry_after_s=error.retry_after_s, advice=advice)


def _said(error: ServerError) -> str:
    message = line_of(error.message)
    return " " + told("The server says: {message}", message=message) if message.strip() else ""


_EXPLANATIONS = {
    ModelErrorKind.QUOTA: sentence("The quota of this key is used up: raise it, or use another model.{said}"),
    ModelErrorKind.RATE_LIMIT: sentence("The server's rate limit was reached.{said}"),
    ModelErrorKind.TIMEOUT: sentence("The server took too long.{said}"),
    ModelErrorKind.TOO_LONG: sentence(
        "The conversation is longer than the model can read: start a new one, or give the server a "
        "larger context.{said}"
    ),
    ModelErrorKind.OVERLOADED: sentence("The server is overloaded or failing (HTTP {status}).{said}"),
    ModelErrorKind.AUTH: sentence("The server refused the key.{said}"),
    ModelErrorKind.BLOCKED: sentence("The server withheld an answer to this: rephrase it.{said}"),
    ModelErrorKind.NOT_FOUND: sentence("There is no model {model!r} at this address.{said}"),
}
_NO_SUCH_CHAT_MODEL = sentence(
    "There is no model {model!r} at this address. With Ollama, `ollama pull {model}` fetches it; addresses usually "
    "end in /v1.{said}"
)


def _explanation(kind: ModelErrorKind, error: ServerError, model: str, said: str) -> str:
    if kind not in _EXPLANATIONS:
        message = error.message.lower()
        if "tool" in message and any(sign in message for sign in _NO_TOOLS):
            return told(
                "The model {model!r} can't call tools: use one that can, such as qwen3-coder.{said}",
                model=model,
                said=said,
            )
        if error.status == 403 and not error.is_told:
            return told("Something before the server refused the request (HTTP 403, a web page): check the network.")
        return told("The server refused the request (HTTP {status}).{said}", status=error.status or 400, said=said)
    values = {"said": said, "status": error.status or 500, "model": model}
    words = _EXPLANATIONS[kind]
    return told(words, **{name: value for name, value in values.items() if f"{{{name}" in words})
