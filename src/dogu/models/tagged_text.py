"""Text of models whose server leaves their tags in it, sorted as it grows into thoughts, text and calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy

from dogu.models.text_calls import OPENINGS, bare_call, is_attempt, written_calls
from dogu.models.translation import Tools

# Between what models think. Source: the chat templates of the models.
_THOUGHTS = {
    "<think>": "</think>",  # DeepSeek, Qwen, GLM, MiniMax
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",  # Gemma
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",  # Mistral
    "◁think▷": "◁/think▷",  # Kimi
    "<|START_THINKING|>": "<|END_THINKING|>",  # Cohere
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<longcat_think>": "</longcat_think>",
}
_CLOSERS = frozenset(_THOUGHTS.values())
_HEADERS = ("<|start|>", "<|channel|>")  # gpt-oss: who speaks, on which channel, up to `<|message|>`
_MESSAGE, _ENDED = "<|message|>", ("<|end|>", "<|return|>")
_LONGEST_HEADER = 200
_LAST = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<end_of_turn>", "<｜end▁of▁sentence｜>")
_TOKENS = (*_THOUGHTS, *_CLOSERS, *OPENINGS, *_HEADERS, *_ENDED, *_LAST)
_TOKEN = re.compile("|".join(map(re.escape, sorted(_TOKENS, key=len, reverse=True))))
_LONGEST = max(map(len, _TOKENS))
_MAY_BEGIN = re.compile(r"[<\[◁]")  # as all of them do
_GOES_ON = frozenset(" .,;:!?)")
_QUOTES = frozenset("\"'`“‘«(")
_BARE = re.compile(r'\s*(?:\{\s*"name"\s*:|\[\s*[a-z_][\w.]*\()')
_MAY_BE_BARE = re.compile(r'\s*(?:\{\s*(?:"(?:n|na|nam|name)?"?\s*)?|\[\s*(?:[a-z_][\w.]*)?)?\Z')
_LONGEST_BEGIN = 120
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class _Place:
    """Where a text stands: its last line, as far as that tells anything, and the fence it is in."""

    def __init__(self) -> None:
        self.last = ""  # the last character of the line
        self.is_start = True
        self._begins = ""  # how the line begins
        self._ticks = 0
        self._fence = ""

    def add(self, text: str) -> None:
        """Take more text."""
        self.is_start = self.is_start and not text.strip()
        *lines, last = text.split("\n")
        for line in lines:
            self._grow(line)
            self._end()
        self._grow(last)

    def _grow(self, text: str) -> None:
        self._begins = (self._begins + text[:_LONGEST_BEGIN])[:_LONGEST_BEGIN]
        self._ticks += text.count("`")
        self.last = text[-1:] or self.last

    def _end(self) -> None:
        match = _FENCE.match(self._begins)
        if match is not None and not self._fence:
            self._fence = match[1]
        elif match is not None and match[1].startswith(self._fence) and not self._begins.strip(" `~\r"):
            self._fence = ""
        self._begins, self._ticks, self.last = "", 0, ""

    @property
    def is_quoted(self) -> bool:
        """Whether what comes here is an example, or quoted."""
        in_code = bool(self._fence) or _FENCE.match(self._begins) or self._begins.startswith(("    ", "\t"))
        return bool(in_code) or self._begins.lstrip().startswith(">") or self._ticks % 2 == 1 or self.last in _QUOTES

    @property
    def is_line_start(self) -> bool:
        """Whether nothing stands before it in its line."""
        return not self._begins.strip()


class TaggedText:
    """Sorts a text that grows; what may become a tag is held back until it is known.

    Tags in fences and quotes are text. A thought counts at the beginning, and later where it is closed. Calls count at
    the very end of an answer only, and are held until then. With `begins_in_thought` the opening tag stands in the
    model's prompt: all is a thought until one is closed.
    """

    def __init__(self, tools: Tools, *, takes_calls: bool = True, begins_in_thought: bool = False) -> None:
        self._tools = tools
        self._takes_calls = takes_calls
        self._held = ""
        self._closer = "</think>" if begins_in_thought else ""
        self._is_assumed = begins_in_thought
        self._has_thought = False
        self._speaks_channels = False
        self._holds_call = False
        self._place = _Place()
        self._strips = False  # the line breaks after a thought, which may come in pieces of their own
        self.was_thought = False
        """What was taken for text before was a thought, with `taken_back`: its end came without a beginning."""
        self.taken_back = ""
        self.was_text = False
        """What was taken for a thought was text: no end came."""
        self.calls: list[tuple[str, str]] = []
        """Names, and arguments as a text of JSON, in the order in which they are written."""
        self.unread = ""
        """What is written as a call and can't be read as one."""

    def feed(self, piece: str, *, is_last: bool = False, is_called: bool = False) -> tuple[str, str]:
        """Take more text and return the thought and the text that are known by now; `is_called`: by its server."""
        self._held += piece
        thoughts, texts = "", ""
        while self._held:
            before = (self._held, self._closer)
            was_thought = self.was_thought
            thought, text = self._thought(is_last) if self._closer else self._said(is_last, is_called)
            if self.was_thought and not was_thought:
                self.taken_back, texts, text = texts + text, "", ""
            thoughts, texts = thoughts + thought, texts + text
            if self._holds_call or (self._held, self._closer) == before:
                break
        if is_last and self._is_assumed and self._closer:
            self.was_text, self._closer = True, ""
        return thoughts, texts

    def _thought(self, is_last: bool) -> tuple[str, str]:
        """Take what is held as a thought, up to its end."""
        if self._is_assumed and not self._has_thought:
            self._held = self._held.lstrip().removeprefix("<think>")
        thought, found, rest = self._held.partition(self._closer)
        self._has_thought = self._has_thought or bool(thought)
        if not found:
            kept = "" if is_last else _beginning_of((self._closer,), thought)
            self._held = kept
            return thought.removesuffix(kept) if kept else thought, ""
        self._closer, self._held, self._strips, self._is_assumed = "", rest, True, False
        return thought, ""

    def _said(self, is_last: bool, is_called: bool) -> tuple[str, str]:
        """Take what is held as text, up to the next tag that counts."""
        if self._strips:
            self._held = self._held.lstrip("\n")
            self._strips = not self._held
        if self._holds_call or self._may_be_bare(is_last):
            self._holds_call = not is_last and (self._holds_call or _BARE.match(self._held) is not None)
            return "", self._sorted(is_called) if is_last else ""
        match = _TOKEN.search(self._held)
        if match is None:
            kept = "" if is_last else _beginning_of(_TOKENS, self._held)
            said = self._held.removesuffix(kept) if kept else self._held
            self._held = kept
            return "", self._say(said)
        text = self._say(self._held[: match.start()])
        self._held = self._held[match.start() :]
        thought, more = self._at_tag(match[0], is_last)
        return thought, text + more

    def _say(self, text: str) -> str:
        self._place.add(text)
        return text

    def _at_tag(self, tag: str, is_last: bool) -> tuple[str, str]:
        """Go on at a tag: return what it makes of the text, and take what is known from what is held."""
        if not self._place.is_quoted or self._place.is_start:
            if tag in _THOUGHTS:
                return self._begin_thought(tag, is_last)
            if tag in _CLOSERS:
                return self._end_unbegun(tag, is_last)
            if tag in _HEADERS or (tag in _ENDED and self._speaks_channels):
                return self._at_header(tag, is_last)
            if tag in _LAST and not self._held[len(tag) :].strip():
                self._held = "" if is_last else self._held
                return "", ""
            if self._takes_calls and tag in OPENINGS:
                self._holds_call = True
                return "", ""
        self._held = self._held[len(tag) :]
        return "", self._say(tag)

    def _begin_thought(self, tag: str, is_last: bool) -> tuple[str, str]:
        place, rest = self._place, self._held[len(tag) :]
        counts = place.is_line_start or (self._has_thought and not place.last.isspace())
        is_closed = _THOUGHTS[tag] in rest
        if place.is_start or (counts and is_closed):
            self._closer, self._held, self._has_thought = _THOUGHTS[tag], rest, True
        elif is_last or not counts:
            self._held = rest
            return "", self._say(tag)
        return "", ""

    def _end_unbegun(self, tag: str, is_last: bool) -> tuple[str, str]:
        rest = self._held[len(tag) :]
        if not rest and not is_last:
            return "", ""
        if self._place.last.isspace() or (not self._has_thought and rest[:1] in _GOES_ON and rest):
            self._held = rest
            return "", self._say(tag)
        self.was_thought = self.was_thought or not self._has_thought
        self._held, self._strips, self._has_thought = rest, True, True
        self._place = _Place()
        return "", ""

    def _at_header(self, tag: str, is_last: bool) -> tuple[str, str]:
        if tag in _ENDED:
            self._held = self._held[len(tag) :]
            return "", ""
        header, found, rest = self._held.partition(_MESSAGE)
        if not found:
            if is_last or len(header) > _LONGEST_HEADER:
                self._held = self._held[len(tag) :]
                return "", self._say(tag)
            return "", ""
        if " to=" in header and self._takes_calls:
            self._holds_call = True
            return "", ""
        self._speaks_channels, self._held = True, rest
        if "analysis" in header:
            self._closer, self._has_thought = "<|end|>", True
        return "", ""

    def _may_be_bare(self, is_last: bool) -> bool:
        if not self._takes_calls or not self._place.is_start:
            return False
        if is_last:
            return bare_call(self._held, self._tools) is not None
        return bool(self._held.strip()) and any(each.match(self._held) for each in (_BARE, _MAY_BE_BARE))

    def _sorted(self, is_called: bool) -> str:
        """Return the text of what is held to the end, and note its calls."""
        held, self._held = self._held, ""
        if is_called:
            return held
        if self._place.is_start and (calls := bare_call(held, self._tools)):
            self.calls = calls
            return ""
        place, start, unread = copy(self._place), 0, -1
        for match in _TOKEN.finditer(held):
            place.add(held[start : match.start()])
            start = match.start()
            if place.is_quoted and not place.is_start:
                continue
            if calls := written_calls(held[start:], self._tools):
                self.calls = calls
                return held[:start]
            unread = start if unread < 0 and is_attempt(held[start:]) else unread
        if unread < 0:
            return held
        self.unread = held[unread:]
        return held[:unread]


def _beginning_of(tags: Sequence[str], text: str) -> str:
    """Return the end of the text that may be the beginning of a tag."""
    tail = text[-_LONGEST:]
    starts = (match.start() for match in _MAY_BEGIN.finditer(tail))
    return next((tail[at:] for at in starts if any(_begins(tag, tail[at:]) for tag in tags)), "")


def _begins(tag: str, text: str) -> bool:
    return tag.startswith(text) and tag != text
