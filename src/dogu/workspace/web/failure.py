"""What a server of the web answered, and what went wrong with it in words for the model."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from dogu.contract import ErrorKind, ToolError
from dogu.workspace.web.http_date import seconds_until
from dogu.workspace.web.url import WebUrl

_LATER = frozenset((429, 503))
_MISSING = frozenset((404, 410))
_SHOWN_CHARS = 500


class WebAnswer(msgspec.Struct, frozen=True):
    """An answer as it came, decompressed; names of headers in lower case, `redirects` the addresses before `url`."""

    url: WebUrl
    status: int
    headers: Mapping[str, str]
    body: bytes
    redirects: tuple[str, ...] = ()

    @property
    def content_type(self) -> str:
        """The header, in lower case; empty when there is none."""
        return self.headers.get("content-type", "").strip().lower()


def told_wait_s(answer: WebAnswer) -> float | None:
    """Return how long a server that says "later" wants us to wait; None when it says no such thing."""
    if answer.status not in _LATER:
        return None
    value = answer.headers.get("retry-after", "")
    if not value:
        return 1.0 if answer.status == 429 else None
    if value.isdecimal():
        return float(value[:9])
    return seconds_until(value)


def explained(answer: WebAnswer) -> WebAnswer:
    """Return the answer if it is one. Raises `ToolError` for every status that isn't a success."""
    if 200 <= answer.status < 300:
        return answer
    kind = ErrorKind.NOT_FOUND if answer.status in _MISSING else ErrorKind.REMOTE_FAILED
    said = _said(answer)
    raise ToolError(kind, f"{answer.url.text} answered with status {answer.status}{_meaning(answer.status)}.{said}")


def unanswered(url: WebUrl, error: Exception) -> ToolError:
    """Say why there is no answer."""
    name = type(error).__name__
    told = " ".join(str(error).split())[:200]
    if name == "ConnectTimeout":
        return ToolError(ErrorKind.TIMED_OUT, f"No connection to {url.host} in time. Check the address, or try later.")
    if name == "ConnectError":
        what = "has no valid certificate" if "CERTIFICATE" in told.upper() else "can't be connected to"
        why = told or "it ended the connection before anything was said"
        return ToolError(ErrorKind.REMOTE_FAILED, f"{url.host}, port {url.port}, {what} ({why}).")
    if name == "UnaskedError":
        message = (
            f"{url.text} sends a body that can't be read here: {told}. "
            "Another address may hold the same, or a command that reads it, such as `curl --compressed`."
        )
        return ToolError(ErrorKind.REMOTE_FAILED, message)
    if "buffer too long" in told:
        return ToolError(ErrorKind.REMOTE_FAILED, f"{url.text} sends headers longer than are read. Nothing is shown.")
    if name == "InflateError":
        return ToolError(ErrorKind.REMOTE_FAILED, f"{url.text} sends a body that can't be decompressed ({told}).")
    return ToolError(ErrorKind.REMOTE_FAILED, f"{url.text} gave no whole answer ({name}: {told}).")


def _said(answer: WebAnswer) -> str:
    from dogu.workspace.web.page import text_of_answer

    text = " ".join(text_of_answer(answer).split())
    if not text:
        return ""
    return f" It says: {text[:_SHOWN_CHARS]}" + ("..." if len(text) > _SHOWN_CHARS else "")


def _meaning(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""
