"""What Gemini's refusals mean, in words for the user: what happened and what to do.

Source: ai.google.dev/gemini-api/docs/troubleshooting; google.rpc.Status and its details.
"""

from __future__ import annotations

from dogu.language import sentence, told
from dogu.models.events import ModelError, ModelErrorKind
from dogu.models.refusals import TRIES, ServerError, refusal_of, stream_error_of
from dogu.models.transport_errors import HttpRefusal, line_of

_BLOCKED = {
    "SAFETY": sentence("the safety filters"),
    "BLOCKLIST": sentence("a blocked term in it"),
    "PROHIBITED_CONTENT": sentence("content that is prohibited"),
    "IMAGE_SAFETY": sentence("an image that the safety filters stopped"),
}


def blocked_prompt(reason: str) -> ModelError:
    """Explain a prompt that was blocked; `reason` is the wire's, perhaps with its message after a colon."""
    why = told(_BLOCKED.get(reason.partition(":")[0], reason))
    message = told(
        "The prompt was blocked because of {why}. Change the last message, or what it includes, and send it again.",
        why=why,
    )
    return ModelError(ModelErrorKind.BLOCKED, message)


def stream_error(raw: bytes) -> ModelError:
    """Explain an error object that came inside a stream."""
    return _explained(stream_error_of(raw), model="")


def explain_refusal(refusal: HttpRefusal, model: str) -> ModelError:
    """Explain an HTTP answer that is no success."""
    return _explained(refusal_of(refusal), model)


_ADVICE = {
    ModelErrorKind.AUTH: sentence("Set GEMINI_API_KEY to a valid key (aistudio.google.com/apikey)."),
    ModelErrorKind.NOT_FOUND: sentence("Check model.name."),
    ModelErrorKind.OVERLOADED: sentence("Try again later, or use another model."),
}


def _explained(error: ServerError, model: str) -> ModelError:
    kind = error.kind
    said = " " + told("The server says: {message}", message=line_of(error.message)) if error.message.strip() else ""
    advice = told(_ADVICE[kind]) if kind in _ADVICE else ""
    text = _explanation(kind, error, model, said)
    return ModelError(kind, text, most_tries=TRIES.get(kind, 1), retry_after_s=error.retry_after_s, advice=advice)


def _explanation(kind: ModelErrorKind, error: ServerError, model: str, said: str) -> str:
    match kind:
        case ModelErrorKind.QUOTA:
            message = told(
                "The quota of this key is used up. Wait for it to be renewed, use another model or raise the quota."
            )
            return message + said
        case ModelErrorKind.RATE_LIMIT:
            return told("Gemini's rate limit was reached (too many requests or tokens per minute).{said}", said=said)
        case ModelErrorKind.TIMEOUT:
            return told("Gemini took too long.{said}", said=said)
        case ModelErrorKind.OVERLOADED:
            return told("Gemini is overloaded or failing (HTTP {code}).{said}", code=error.status or 500, said=said)
        case ModelErrorKind.AUTH:
            return told("Gemini refused the credentials.{said}", said=said)
        case ModelErrorKind.NOT_FOUND:
            return told("There is no model {model!r} at this address.{said}", model=model, said=said)
        case ModelErrorKind.TOO_LONG:
            return told("The conversation is longer than the model can read.{said}", said=said)
        case _:
            return told("Gemini refused the request (HTTP {code}).{said}", code=error.status or 400, said=said)
