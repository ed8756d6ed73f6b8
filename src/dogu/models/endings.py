"""Why answers end, in every wire's words: one table, and what each kind of ending comes to."""

from __future__ import annotations

from enum import Enum, auto

from dogu.language import sentence, told
from dogu.models.events import FinishReason, ModelError, ModelErrorKind
from dogu.models.transport_errors import line_of


class _Kind(Enum):
    STOP = auto()
    LENGTH = auto()
    FULL = auto()  # prompt and answer fill the model's context
    PAUSE = auto()
    WITHHELD = auto()  # a filter stopped the answer
    REFUSED = auto()  # the model did
    FAILED = auto()  # the server did: what came is half an answer
    FAULTY = auto()  # the model wrote what can't be read
    UNTOLD = auto()


_WORDS = {
    _Kind.STOP: (
        "stop end_turn stop_sequence tool_calls tool_call tool_use function_call function_calls complete completed"
        " eos eos_token end finished done"
    ),
    _Kind.LENGTH: ("length max_tokens max_output_tokens max_completion_tokens model_length max_length token_limit"),
    _Kind.FULL: "context_length context_length_exceeded model_context_window_exceeded",
    _Kind.PAUSE: "pause_turn",
    _Kind.WITHHELD: (
        "content_filter content_filtered content_filter_error filtered sensitive moderation guardrail_intervened"
        " safety recitation blocklist prohibited_content spii language image_safety image_prohibited_content"
        " image_recitation model_armor"
    ),
    _Kind.REFUSED: "refusal refused",
    _Kind.FAILED: (
        "error abort aborted cancelled canceled failed failure timeout network_error server_error internal_error"
        " insufficient_system_resource overloaded engine_overloaded unavailable preempted interrupted"
    ),
    _Kind.FAULTY: (
        "malformed_function_call unexpected_tool_call too_many_tool_calls malformed_response missing_thought_signature"
    ),
    _Kind.UNTOLD: "other",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_STOPPED = {
    "safety": sentence("its safety filters stopped it"),
    "recitation": sentence("it came too close to a published text"),
    "blocklist": sentence("it held a blocked term"),
    "prohibited_content": sentence("it may hold prohibited content"),
    "spii": sentence("it may hold sensitive personal data"),
    "language": sentence("the language isn't supported"),
    "image_safety": sentence("an image was stopped by the safety filters"),
    "image_prohibited_content": sentence("an image may hold prohibited content"),
    "image_recitation": sentence("an image came too close to a published one"),
    "model_armor": sentence("Model Armor stopped it"),
}
_FAULTY = {
    "malformed_function_call": sentence("The model wrote a function call that isn't valid."),
    "unexpected_tool_call": sentence("The model called a function that it wasn't offered."),
    "too_many_tool_calls": sentence("The model made too many function calls in a row."),
    "malformed_response": sentence("The model wrote an answer that isn't valid."),
    "missing_thought_signature": sentence("The model missed a thought signature in the history."),
}
_HINT = (
    "[Your last answer was dropped: {why} Call only the declared functions, with arguments that are one JSON object "
    "fitting the parameters; keep long text inside JSON strings, escaped.]"
)
_ENDLESS = (
    "[Your last answer was dropped: the arguments of its call repeated the same piece without end. Make the call "
    "shorter, or in several steps, and end it.]"
)


def is_length(finish: str) -> bool:
    """Whether an answer with this finish reason was cut: at the limit of output tokens, or of the context."""
    return _kind_of(finish) in (_Kind.LENGTH, _Kind.FULL)


def is_known(finish: str) -> bool:
    """Whether it is known what this finish reason means."""
    return _kind_of(finish) is not None


def ending_of(finish: str, detail: str = "") -> tuple[FinishReason, str]:
    """Return what a wire's finish reason means, and a note for the user; `detail` is what the server says of it.

    Raises:
        ModelError: SAFETY, MALFORMED, INCOMPLETE or OVERLOADED when what came is no answer.
    """
    match _kind_of(finish):
        case _Kind.STOP:
            return FinishReason.STOP, ""
        case _Kind.LENGTH:
            return FinishReason.LENGTH, told("The answer was cut at the limit of output tokens.")
        case _Kind.FULL:
            return FinishReason.LENGTH, told("The answer was cut: the model's context is full.")
        case _Kind.PAUSE:
            return FinishReason.PAUSE, ""
        case None:
            words = sentence("The model ended for a reason that this version doesn't know: {finish}.")
            return FinishReason.OTHER, told(words, finish=line_of(finish))
        case kind:
            raise _no_answer(kind, _word(finish), f" ({line_of(detail)})" if detail else "")


def refused(said: str = "") -> ModelError:
    """Explain that the model refused to answer."""
    detail = f" ({line_of(said)})" if said.strip() else ""
    message = told("The model refused to answer{said}. Rephrase it and ask again.", said=detail)
    return ModelError(ModelErrorKind.SAFETY, message)


def unfinished() -> ModelError:
    """Explain an answer that came to an end without a reason for it."""
    message = told("The answer ended without saying that it was finished.")
    return ModelError(ModelErrorKind.INCOMPLETE, message, most_tries=4)


def empty(finish: str = "") -> ModelError:
    """Explain an answer that says nothing and calls nothing."""
    if finish:
        message = told("The model gave an empty answer (finish reason {finish}).", finish=finish)
    else:
        message = told("The model gave an empty answer.")
    return ModelError(ModelErrorKind.INCOMPLETE, message, most_tries=3)


def calls_missing() -> ModelError:
    """Explain an answer that ends with calls, and has none."""
    message = told("The server said that the model calls tools, and sent no call.")
    return ModelError(ModelErrorKind.INCOMPLETE, message, most_tries=3)


def endless_call() -> ModelError:
    """Explain a call whose arguments are one piece over and over."""
    message = told("The model wrote a call whose arguments repeat themselves without end.")
    return ModelError(ModelErrorKind.LOOP, message, most_tries=2, hint=_ENDLESS)


def cut_before_words(finish: str) -> str:
    """Say that a limit was reached before the model said anything. Raises `ModelError` (TOO_LONG: of the context)."""
    if _kind_of(finish) is _Kind.FULL:
        message = told("The conversation fills what the model can read, and leaves no room for an answer.")
        raise ModelError(ModelErrorKind.TOO_LONG, message)
    return told(
        "The model thought until its limit of output tokens was reached, and said nothing. Raise "
        "model.maxOutputTokens, or have it think less (--effort low)."
    )


def _no_answer(kind: _Kind, word: str, said: str) -> ModelError:
    if kind is _Kind.REFUSED:
        return refused(said.strip(" ()"))
    if kind is _Kind.WITHHELD:
        return _withheld(word, said)
    if kind is _Kind.FAULTY:
        hint = _HINT.format(why=_FAULTY[word] + said)
        return ModelError(ModelErrorKind.MALFORMED, told(_FAULTY[word]) + said, most_tries=3, hint=hint)
    if kind is _Kind.UNTOLD:
        message = told("The model ended its answer for a reason that it doesn't give{said}.", said=said)
        return ModelError(ModelErrorKind.INCOMPLETE, message, most_tries=2)
    message = told("The server broke the answer off: {finish}{said}.", finish=word, said=said)
    return ModelError(ModelErrorKind.INCOMPLETE, message, most_tries=4)


def _withheld(word: str, said: str) -> ModelError:
    if word not in _STOPPED:
        message = told("The answer was withheld by the server's content filter. Rephrase it and ask again.")
        return ModelError(ModelErrorKind.SAFETY, message)
    message = told(
        "The model's answer was withheld: {stopped}{said}. Rephrase it and ask again.",
        stopped=told(_STOPPED[word]),
        said=said,
    )
    by_chance = word.endswith("recitation")  # often gone at a second try
    return ModelError(ModelErrorKind.SAFETY, message, most_tries=2 if by_chance else 1)


def _kind_of(finish: str) -> _Kind | None:
    return _KINDS.get(_word(finish))


def _word(finish: str) -> str:
    return finish.strip().casefold().replace("-", "_").replace(" ", "_")
