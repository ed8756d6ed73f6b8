"""A session as HTML, event by event: prompts, answers, calls that unfold, colored diffs. Everything is escaped."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable
from html import escape
from typing import assert_never

import msgspec

from dogu.agent.events import (
    Compacted,
    ElicitationAnswered,
    ElicitationMade,
    PromptGiven,
    QuestionAnswered,
    QuestionAsked,
    RecordedEvent,
    RecordGap,
    Rewound,
    SamplingAnswered,
    SessionBegun,
    SessionEvent,
    SessionForked,
    SessionResumed,
    StateChanged,
    TurnCancelled,
    TurnEnded,
    TurnFailed,
    UnknownEvent,
    Within,
)
from dogu.agent.history import AllReplaced, ContentAdded, CutBack, LastReplaced
from dogu.contract.content import Blob, Content, parts_of, text_of
from dogu.contract.display import Display, FileDiff, PatchDiff, TerminalOutput, markdown_of
from dogu.language import said, say, sentence
from dogu.models.events import Finished, FunctionCallEvent, Retrying, TextDelta, ThoughtDelta, Usage
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Noted
from dogu.serve.failures import failure_words
from dogu.workspace.visible import make_visible

_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_LARGEST_IMAGE_BYTES = 2 << 20
_MOST_PRINTED_CHARS = 100_000


_OfCall = CallStarted | CallOutput | CallFinished | QuestionAsked | QuestionAnswered | Within
_Told = Compacted | TurnEnded | Noted | ElicitationMade | ElicitationAnswered | SamplingAnswered | SessionEvent


class _OpenCall(msgspec.Struct):
    """A call under way: what it printed, the questions about it, what its helper did."""

    started: CallStarted | None = None
    printed: str = ""
    questions: list[QuestionAsked | QuestionAnswered] = msgspec.field(
        default_factory=list[QuestionAsked | QuestionAnswered]
    )
    helper: SessionItems | None = None
    inner: list[str] = msgspec.field(default_factory=list[str])


class SessionItems:
    """Turns events into HTML, given to `write` as soon as it is whole; `end` gives what was cut short."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._text = ""
        self._thought = ""
        self._calls: dict[str, _OpenCall] = {}
        self._is_in_turn = False

    def event(self, event: RecordedEvent, time_s: float = 0.0) -> None:
        """Take the next event."""
        match event:
            case TextDelta(text=text):
                self._text += text
            case ThoughtDelta(text=text):
                self._thought += text
            case Retrying(reason=reason):
                self._text = self._thought = ""
                self._note(say("Tried again: {reason}", reason=reason))
            case CallStarted() | CallOutput() | CallFinished() | QuestionAsked() | QuestionAnswered() | Within():
                self._end_text()
                self._call_event(event)
            case PromptGiven():
                self.end()
                self._begin_turn(event, time_s)
            case FunctionCallEvent() | Finished() | Usage() | SessionBegun() | StateChanged() | UnknownEvent():
                pass
            case ContentAdded() | LastReplaced() | CutBack() | AllReplaced():
                pass  # what the model knows, which the other events say
            case _:
                self._other(event)

    def end(self) -> None:
        """Say that nothing follows."""
        self._end_text()
        for call_id in list(self._calls):
            self._end_call(call_id, None)
        if self._is_in_turn:
            self._write("</section>\n")
            self._is_in_turn = False

    def _begin_turn(self, prompt: PromptGiven, time_s: float) -> None:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_s))
        turn = prompt.turn
        self._is_in_turn = True
        self._write(
            f'<section id="turn-{turn}"><h2>{_text(say("Turn {turn}", turn=turn))} <small>{when}</small></h2>\n'
        )
        self._write(f'<div class="prompt" data-item>{_content(prompt.content)}</div>\n')

    def _other(self, event: _Told) -> None:
        note = _note_of(event)
        if note:
            self._end_text()
            self._note(note)

    def _note(self, note: str) -> None:
        self._write(f'<p class="dim" data-item>{_text(note)}</p>\n')

    def _end_text(self) -> None:
        thought, text, self._thought, self._text = self._thought, self._text, "", ""
        if thought.strip():
            self._write(_unfolding(_text(say("Thoughts")), f'<div class="text dim">{_text(thought)}</div>'))
        if text.strip():
            self._write(f'<div class="text" data-item>{_text(text)}</div>\n')

    def _call_event(self, event: _OfCall) -> None:
        match event:
            case CallStarted(call=call):
                self._open(call.call_id).started = event
            case CallOutput(call_id=call_id, text=text):
                call = self._open(call_id)
                call.printed = (call.printed + text)[-_MOST_PRINTED_CHARS:]
            case CallFinished(call=call):
                self._end_call(call.call_id, event)
            case QuestionAsked(call_id=call_id) | QuestionAnswered(call_id=call_id):
                self._open(call_id).questions.append(event)
            case Within(call_id=call_id, event=inner):
                call = self._open(call_id)
                call.helper = call.helper or SessionItems(call.inner.append)
                call.helper.event(inner)
            case _:
                assert_never(event)

    def _open(self, call_id: str) -> _OpenCall:
        return self._calls.setdefault(call_id, _OpenCall())

    def _end_call(self, call_id: str, finished: CallFinished | None) -> None:
        call = self._calls.pop(call_id, _OpenCall())
        about = finished or call.started
        if call.helper is not None:
            call.helper.end()
        name = about.display_name if about else call_id
        described = said(call.started.description) if call.started else ""
        mark, how = _mark(finished)
        args = about.call.args if about else None
        done = finished.result.return_display if finished is not None else None
        body = [_asked(each, done) if isinstance(each, QuestionAsked) else _answered(each) for each in call.questions]
        if call.inner:
            body.append(_unfolding(_text(say("What it did")), "".join(call.inner)))
        if finished is not None:
            body.append(_result(finished))
        elif call.printed:
            body.append(_pre(call.printed))
        if args:
            shown = _pre(msgspec.json.format(msgspec.json.encode(args)).decode())
            body.append(_unfolding(_text(say("Arguments")), shown))
        summary = f'<span class="{how}">{mark}</span> <code>{_text(name)}</code> {_text(described)}'
        is_open = finished is not None and isinstance(finished.result.return_display, FileDiff | PatchDiff)
        self._write(_unfolding(summary, "".join(body), " data-item open" if is_open else " data-item"))


def diff_html(unified: str) -> str:
    """Return a unified diff with its lines colored."""
    kinds = {"+": "add", "-": "del", "@": "hunk"}
    lines: list[str] = []
    for line in unified.removesuffix("\n").split("\n"):
        is_name = line.startswith(("--- ", "+++ ")) and not lines[2:]
        kind = "" if is_name else kinds.get(line[:1], "")
        lines.append(f'<span class="{kind}">{_text(line)}</span>' if kind else f"<span>{_text(line)}</span>")
    return f'<pre class="diff">{"".join(lines)}</pre>'


_SAID: dict[type, str] = {
    TurnCancelled: sentence("Cancelled."),
    SessionResumed: sentence("The session was resumed."),
    RecordGap: sentence("Something is missing here: it could not be recorded."),
}


def _note_of(event: _Told) -> str:
    match event:
        case TurnEnded(end=end):
            return say(end.note)
        case TurnFailed(message=message) | Noted(text=message):
            return say(message)
        case Compacted() | ElicitationMade() | ElicitationAnswered() | SamplingAnswered():
            return say(event.note)
        case TurnCancelled() | SessionResumed() | RecordGap():
            return say(_SAID[type(event)])
        case SessionForked(origin=origin):
            return say("From here on this is a copy of session {id}.", id=origin)
        case Rewound(turn=turn):
            return say("Went back to before turn {turn}.", turn=turn)
        case _:
            assert_never(event)


def _mark(finished: CallFinished | None) -> tuple[str, str]:
    if finished is None:
        return "…", "bad"
    return ("✗", "bad") if finished.result.error else ("✓", "ok")


def _result(finished: CallFinished) -> str:
    result = finished.result
    failure = f'<p class="bad">{_text(failure_words(result.error))}</p>' if result.error else ""
    llm = text_of(result.llm_content)
    is_same = result.error is not None and llm == result.error.message
    told = "" if is_same else _unfolding(_text(say("What the model was told")), _content(result.llm_content, pre=True))
    return failure + ("" if is_same else _display(result.return_display)) + told


def _display(display: Display) -> str:
    match display:
        case FileDiff(path=path, unified=unified, notes=notes):
            return f"<p><code>{_text(path)}</code></p>{_lines(notes)}{diff_html(unified) if unified else ''}"
        case PatchDiff(files=files):
            return "".join(map(_display, files))
        case TerminalOutput(command=command, output=output, exit_code=code, notes=notes):
            status = "" if code in (0, None) else f'<p class="bad">{_text(say("Exit code {code}", code=code))}</p>'
            return _pre(f"$ {command}\n{output}") + status + _lines(notes)
        case str():
            return f'<div class="text">{_text(said(display))}</div>' if display else ""
        case _:
            return _pre(markdown_of(display))


def _asked(question: QuestionAsked, done: Display | None) -> str:
    """What was asked; what was then done as it was shown stands there once, as the result."""
    is_told = question.display == question.title or _display(question.display) == _display(done or "")
    return f"<p>{_text(say('Asked: {title}', title=question.title))}</p>{'' if is_told else _display(question.display)}"


def _answered(answer: QuestionAnswered) -> str:
    words = {
        "approved": say("Answered: yes."),
        "always": say("Answered: yes, always."),
        "edited": say("Answered: yes, edited."),
        "declined": say("Answered: no."),
    }
    told = words.get(answer.outcome, answer.outcome)
    return f"<p>{_text(f'{told} {answer.said}' if answer.said and answer.outcome == 'declined' else told)}</p>"


def _content(content: Content, *, pre: bool = False) -> str:
    return "".join(
        _blob(part) if isinstance(part, Blob) else (_pre(part.text) if pre else _text(part.text))
        for part in parts_of(content)
    )


def _blob(blob: Blob) -> str:
    named = _text(f"{blob.name} [{blob.media_type}, {len(blob.data)} bytes]".strip())
    if blob.media_type not in _IMAGES or len(blob.data) > _LARGEST_IMAGE_BYTES:
        return f"<p>{named}</p>"
    data = base64.b64encode(blob.data).decode()
    return f'<figure><img alt="{named}" src="data:{blob.media_type};base64,{data}"></figure>'


def _unfolding(summary: str, body: str, attributes: str = "") -> str:
    return f"<details{attributes}><summary>{summary}</summary>{body}</details>\n"


def _lines(texts: Iterable[str]) -> str:
    return "".join(f'<p class="dim">{_text(say(text))}</p>' for text in texts)


def _pre(text: str) -> str:
    return f"<pre>{_text(text)}</pre>"


def _text(text: str) -> str:
    """A text as HTML shows it: escaped, with what is invisible or turns the direction made visible."""
    return escape(make_visible(text), quote=True)
