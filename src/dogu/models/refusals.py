"""What a server's error means, whichever wire it comes by: one classifier for answers' heads and errors in a stream.

It looks at the status, at the words a server calls its error by (code, type, status, reason) and at its sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

import msgspec

from dogu.models.delays import delay_told
from dogu.models.events import MANY_TRIES, ModelErrorKind
from dogu.models.reading import loosely, text_in
from dogu.models.transport_errors import HttpRefusal

Kind = ModelErrorKind
_CONVERSATION = frozenset(("messages", "input", "contents", "tools", "system", "instructions"))
_PLACE = re.compile(r"^([a-z_]+(?:[.\[\]]+\w+)*):\s")  # `output_config.effort: Extra inputs are not permitted`
_STEP = re.compile(r"[A-Za-z_]\w*")
_QUOTED = re.compile(r"['\"`]([\w.\[\]]+)['\"`]")
_NAMED = re.compile(
    r"\b([a-z]+(?:_[a-z]+)+)\b|(?:parameter|field|argument|property|option|key|supplied|inputs?)s?\W+([a-z]+)\b"
    r"|\b([a-z]+)(?:\.\w+)* (?:is|are) (?:not|un)|(Encrypted content)|(reasoning summaries)"
)
TRIES = {
    Kind.RATE_LIMIT: MANY_TRIES,
    Kind.OVERLOADED: MANY_TRIES,
    Kind.TIMEOUT: 4,
}
"""How often what may pass is tried; any other kind once."""


class ServerError(msgspec.Struct, frozen=True, kw_only=True):
    """An error as a server tells it. `words` are its code, type, status and reasons, in lower case.

    `status` is 0 for an error in a stream that names none. `is_told` is false for what is no JSON: a proxy's page.
    """

    status: int = 0
    words: frozenset[str] = frozenset()
    message: str = ""
    retry_after_s: float | None = None
    is_used_up: bool = False  # a violated quota is one by the day, or is none at all
    is_told: bool = True

    @property
    def kind(self) -> ModelErrorKind:
        """What it means."""
        return _kind_of(self)


def refusal_of(refusal: HttpRefusal) -> ServerError:
    """Read an HTTP answer that is no success."""
    body = _unwrapped(loosely(refusal.body.strip()))
    return msgspec.structs.replace(_read(body, refusal.status, refusal.headers), is_told=body is not None)


def stream_error_of(raw: bytes) -> ServerError:
    """Read an error that came inside a stream: the value of `error`, or an event that is one."""
    return _read(loosely(raw), 0, {})


def is_error(value: object) -> bool:
    """Whether a field named `error` tells one: servers also send it empty, null or false beside an answer."""
    return bool(value) and value is not True


def refused_field(said: str, known: Collection[str], *, in_messages: bool = False) -> str:
    """Return which of the known fields a refusal is about, "" for none; a word of its prose is no field.

    What the server names as the field counts before what its sentence puts in quotes, and that before bare names. A
    place within the conversation is of interest only `in_messages`.
    """
    value = _unwrapped(loosely(said.encode()))
    objects = list(_objects_in(value))
    paths = [path for fields in objects for path in _paths_in(fields)]
    sentence = _message_in(value) if objects else said
    paths += _PLACE.findall(sentence)
    named = [steps for path in paths if (steps := _STEP.findall(path))]
    is_place = any(steps[0] in _CONVERSATION for steps in named)
    names = [step for steps in named for step in reversed(steps)]
    if is_place and not in_messages:
        return ""
    if is_place or not named:
        names += [step for match in _QUOTED.findall(sentence) for step in _STEP.findall(match)[-1:]]
        names += [name for match in _NAMED.findall(sentence) for name in match if name]
    return next((name for name in names if name in known), "")


def _paths_in(fields: Mapping[str, Any]) -> Iterator[str]:
    """Give the places that an error names in fields of its own, as `reasoning.effort`."""
    for name in ("param", "field", "loc", "path"):
        place = fields.get(name)
        if isinstance(place, list):
            steps = [step for step in cast("list[object]", place) if isinstance(step, str)]
            yield ".".join(steps[1:] if steps[:1] == ["body"] else steps)
        elif isinstance(place, str):
            yield place


def _unwrapped(value: object) -> object:
    """Return the object of an array of one, in which a stream without events refuses."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return items[0] if len(items) == 1 else cast("object", value)


def _read(value: object, status: int, headers: Mapping[str, str]) -> ServerError:
    words = {word.strip().casefold() for word in _words_in(value) if word.strip()}
    numbers = [int(word) for word in words if word.isdigit() and 400 <= int(word) < 600]
    details = [detail for detail in _objects_in(value) if detail.keys() & {"violations", "quotaId"}]
    message = _message_in(value)
    return ServerError(
        status=status if status not in (0, 400) else next(iter(numbers), status),
        words=frozenset(words),
        message=message,
        retry_after_s=delay_told(headers, _objects_in(value), message, is_limit=status in (0, 429, 503, 529)),
        is_used_up=any(
            "PerDay" in str(detail.get("quotaId", "")) or str(detail.get("quotaValue", "")) == "0" for detail in details
        ),
    )


def _words_in(value: object) -> Iterator[str]:
    for fields in _objects_in(value):
        for name in ("code", "type", "status", "reason", "error_code", "error_type", "object"):
            word = fields.get(name)
            if isinstance(word, str | int) and not isinstance(word, bool):
                yield str(word)
        if fields.get("flagged_input") or fields.get("ResponsibleAIPolicyViolation"):
            yield "flagged_input"


def _objects_in(value: object, depth: int = 8) -> Iterator[Mapping[str, Any]]:
    """Give the objects of an error, the outermost first, as deep as servers nest them."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        yield fields
        inner = list(fields.values())
    else:
        inner = cast("list[Any]", value) if isinstance(value, list) else []
    for each in inner if depth else ():
        yield from _objects_in(each, depth - 1)


def _message_in(value: object) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    fields = cast("dict[str, object]", value)
    for name in ("error", "detail", "message", "msg", "error_message"):
        found = fields.get(name)
        if isinstance(found, dict):
            return _message_in(cast("object", found))
        if isinstance(found, list):
            return text_in(msgspec.json.encode(found).decode()) if found else ""
        if isinstance(found, str) and found.strip():
            return found
    return ""


_NO_MONEY = re.compile(
    r"insufficient[_ ](?:balance|credits?|funds|user_quota|quota)|credit balance is too low|"
    r"exceeded your current quota|"
    r"out of credits?|no credits|more credits|please recharge|payment required|billing_(?:error|hard)|"
    r"(?:billing|account).{0,20} not active|quota_exceeded|spending limit|credits? (?:have been )?exhausted"
)
_NO_MONEY_WORDS = frozenset(("billing_error", "billing_not_active", "payment_required", "exceeded_current_quota_error"))
_GLM_NO_MONEY = frozenset(("1113",))
_WITHHELD = re.compile(
    r"flagged|content[_ ](?:filter|policy|management policy|exists risk)|usage polic(?:y|ies)|"
    r"responsibleaipolicyviolation|data_inspection_failed|moderation|prohibited_content|unsafe content"
)
_WITHHELD_WORDS = frozenset(("flagged_input", "content_filter", "content_policy_violation", "1301", "sensitive"))
_BAD_KEY = re.compile(
    r"invalid[_ ]api[_ ]key|api key (?:not valid|expired|not found|is invalid|was reported)|incorrect api key|"
    r"invalid (?:bearer )?token|invalid authentication|api_key_invalid|no api key|missing api key"
)
_KEY_WORDS = frozenset(
    "authentication_error permission_error permission_denied unauthenticated unauthorized invalid_api_key "
    "invalid_authentication_error incorrect_api_key api_key_invalid access_denied".split()
)
_TOO_LONG = re.compile(
    r"context[_ ](?:length|size|window)|exceed_context_size|maximum context|too many (?:input )?tokens|"
    r"(?:prompt|input|conversation|messages?|request|context|text)\b.{0,40} (?:is |are )?too (?:long|large)|"
    r"request[_ ](?:entity )?too[_ ]large|request exceeds the maximum|exceeds? the maximum (?:number of )?tokens|"
    r"exceeds? (?:the )?(?:available |maximum |max )?(?:context|input|token)|max_model_len|reduce the length|"
    r"tokens? .{0,40}exceed|exceed.{0,60}\btokens?\b|maximum number of tokens|"
    r"(?:longer|larger) than the (?:model|context)|prompt is longer|total length of input"
)
_NAMES_A_FIELD = re.compile(r"max_(?:output_|completion_)?tokens|call[_ ]?id|\bname\b|max_new_tokens")
_NO_TOOLS = re.compile(r"(?:not|n't) support.{0,20} tool|tools? .{0,40}(?:not|n't) support|cannot use tools")
_LATE_WORDS = frozenset(("timeout_error", "deadline_exceeded", "request_timeout", "timeout"))
_LIMIT_WORDS = frozenset(
    "rate_limit_error rate_limit_exceeded rate_limit_reached_error resource_exhausted throttlingexception throttling "
    "too_many_requests tokens requests 1302 1303 1305".split()
)
_OVER_WORDS = frozenset(
    "overloaded_error server_error api_error internal_error internal unavailable engine_overloaded_error "
    "service_unavailable internalservererror unavailable_error overloaded".split()
)
_INPUT_WORDS = re.compile(
    r"invalid_(?!authentication|api_key)\w+|badrequesterror|failed_precondition|out_of_range|unsupported_\w+|"
    r"\w*(?:validation|value)_?error|unprocessable_entity|image_parse_error|bad_request\w*|not_supported\w*"
)
_MISSING_WORDS = frozenset(("model_not_found", "not_found_error", "not_found", "notfounderror", "deploymentnotfound"))


def _kind_of(error: ServerError) -> ModelErrorKind:
    status, words = error.status, error.words
    said = f"{' '.join(sorted(words))} {error.message}".casefold()
    if account := _account_kind(error, said):
        return account
    if status in (408, 499, 504) or (words & _LATE_WORDS and not 400 <= status < 500):
        return Kind.TIMEOUT
    if _is_too_long(status, said):
        return Kind.TOO_LONG
    if status == 429 or (not status and words & _LIMIT_WORDS):
        return Kind.RATE_LIMIT
    if status in (501, 505) or _NO_TOOLS.search(said) or "requires more system memory" in said:
        return Kind.BAD_REQUEST
    if status >= 500 or status in (409, 425) or (not status and words & _OVER_WORDS):
        return Kind.OVERLOADED
    return _input_kind(error)


def _input_kind(error: ServerError) -> ModelErrorKind:
    if error.status == 404 or error.words & _MISSING_WORDS:
        return Kind.NOT_FOUND
    if error.status or any(_INPUT_WORDS.fullmatch(word) for word in error.words):
        return Kind.BAD_REQUEST
    return Kind.OVERLOADED  # an error in a stream that says nothing of its kind


def _is_too_long(status: int, said: str) -> bool:
    if status == 429:  # tokens a minute, unless one request alone has more of them
        return "request too large" in said
    return status == 413 or bool(status != 503 and _TOO_LONG.search(said) and not _NAMES_A_FIELD.search(said))


def _account_kind(error: ServerError, said: str) -> ModelErrorKind | None:
    """Whether it is about money, the key, or what may be said."""
    status, words = error.status, error.words
    is_googles_limit = "resource_exhausted" in words or status >= 500  # its sentence speaks of quotas at any limit
    if error.is_used_up or status == 402 or words & (_NO_MONEY_WORDS | _GLM_NO_MONEY):
        return Kind.QUOTA
    if _NO_MONEY.search(said) and not is_googles_limit:
        return Kind.QUOTA
    if status < 500 and status != 429 and (words & _WITHHELD_WORDS or _WITHHELD.search(said)):
        return Kind.BLOCKED
    if status == 401 or "invalid_api_key" in words:
        return Kind.AUTH
    if status in (0, 400, 403) and (words & _KEY_WORDS or _BAD_KEY.search(said)):
        return Kind.AUTH
    if status == 403 and "unsupported_country_region_territory" not in words:
        return Kind.AUTH if error.is_told else Kind.BAD_REQUEST
    return None
