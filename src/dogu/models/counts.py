"""Counts the tokens of one answer, under whichever names and in whichever types a server tells them."""

from __future__ import annotations

from typing import cast

from dogu.models.events import Usage
from dogu.models.reading import count_of

# What each figure is called: chat completions, Responses and Messages, Gemini, and single servers.
_PROMPT = ("prompt_tokens", "promptTokenCount", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount")
_THOUGHTS = ("reasoning_tokens", "thinking_tokens", "thoughtsTokenCount")
_CACHED = ("cached_tokens", "cachedContentTokenCount", "cache_read_input_tokens", "prompt_cache_hit_tokens")
_WRITTEN = ("cache_creation_input_tokens", "cache_write_tokens")
_TOTAL = ("total_tokens", "totalTokenCount")
_TOOL_USE = ("toolUsePromptTokenCount",)
_NESTED = (
    "prompt_tokens_details",
    "completion_tokens_details",
    "input_tokens_details",
    "output_tokens_details",
)
_KNOWN = frozenset((*_PROMPT, *_OUTPUT, *_THOUGHTS, *_CACHED, *_WRITTEN, *_TOTAL, *_TOOL_USE))


class Counts:
    """What a server has counted so far: later figures replace earlier ones, but none erases one by a zero."""

    def __init__(self) -> None:
        self._figures: dict[str, int] = {}

    def take(self, told: object) -> None:
        """Take what a server tells; whatever is no count is passed over."""
        if not isinstance(told, dict):
            return
        fields = cast("dict[str, object]", told)
        for name, value in fields.items():
            if name in _NESTED:
                self.take(value)
            elif name in _KNOWN and (figure := count_of(value)) is not None:
                self._figures[name] = figure or self._figures.get(name, 0)

    def usage(self) -> Usage:
        """Return the counts as an event; without any, the answer is one that wasn't counted.

        Thoughts are among the output, except with Gemini and where the total says otherwise; what Claude reads from its
        cache and writes there isn't among its input.
        """
        prompt, output, thoughts = self._first(_PROMPT), self._first(_OUTPUT), self._first(_THOUGHTS)
        cached, written, total = self._first(_CACHED), self._first(_WRITTEN), self._first(_TOTAL)
        prompt += self._first(_TOOL_USE)
        if "input_tokens" in self._figures and not self._figures.keys() & {"prompt_tokens", *_TOTAL}:
            prompt += cached + written
        if not prompt and not output:
            prompt = max(0, total - thoughts)
        if not prompt and not output and not thoughts:
            return Usage(uncounted=1)
        are_apart = "candidatesTokenCount" in self._figures or (thoughts and total >= prompt + output + thoughts)
        if not are_apart and "thoughtsTokenCount" not in self._figures:
            output = max(0, output - thoughts)
        return Usage(prompt, output, thoughts, min(cached, prompt), total or prompt + output + thoughts, written)

    def _first(self, names: tuple[str, ...]) -> int:
        return next((figure for name in names if (figure := self._figures.get(name))), 0)
