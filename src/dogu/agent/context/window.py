"""How much a model can be sent at once, and how much of that a conversation takes by now."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from dogu.agent.history import AllReplaced, ContentAdded, CutBack, History, HistoryChange, LastReplaced
from dogu.models.contents import RawContent
from dogu.models.events import Usage

# Tokens of input, by the beginning of the model's name; the first that fits.
# Source: ai.google.dev/gemini-api/docs/models, platform.openai.com/docs/models, the models' cards; as of 2026-11.
WINDOWS: Sequence[tuple[str, int]] = (
    (r"gemini-1\.5-pro", 2_097_152),
    (r"gemini-", 1_048_576),
    (r"gpt-4\.1", 1_047_576),
    (r"gpt-4o", 128_000),
    (r"gpt-5\.[4-9](?!-(?:mini|nano))", 922_000),
    (r"gpt-5", 272_000),
    (r"o[134](?:-mini|-pro)?", 200_000),
    (r"(?:.*/)?claude-(?:opus-4[-.][678]|sonnet-4[-.]6|haiku-5[-.]5|(?:opus|sonnet|fable|mythos)-[5-9])", 1_000_000),
    (r"(?:.*/)?claude-", 200_000),
    (r"(?:.*/)?qwen3-coder", 262_144),
    (r"(?:.*/)?llama-?3\.[123]", 131_072),
    (r"(?:.*/)?deepseek-v[4-9]", 1_000_000),
    (r"(?:.*/)?deepseek-", 128_000),
    (r"(?:.*/)?kimi-k[23]", 262_144),
    (r"(?:.*/)?(?:devstral|codestral|mistral-)", 128_000),
)
_BLOB_TOKENS = 1_000
_ASCII_BYTES_A_TOKEN, _OTHER_BYTES_A_TOKEN = 4, 3
_FURTHEST_OFF = 4.0


def window_of(model: str) -> int | None:
    """Return how many tokens of input a model takes; None when its family isn't known."""
    return next((tokens for pattern, tokens in WINDOWS if re.match(pattern, model)), None)


def estimated_tokens(content: RawContent) -> int:
    """Estimate the tokens of wire JSON; a medium counts a thousand."""
    if b'"inlineData"' in content:
        blobs = sum(len(blob) for blob in re.findall(rb'"data":"([^"]*)"', content))
        count = content.count(b'"inlineData"')
        return _BLOB_TOKENS * count + (len(content) - blobs) // _ASCII_BYTES_A_TOKEN
    per_token = _ASCII_BYTES_A_TOKEN if content.isascii() else _OTHER_BYTES_A_TOKEN
    return len(content) // per_token + 1


class ContextFill:
    """How many tokens the next request will have: as the server counted the last one, and an estimate of the rest.

    `fixed` estimates what every request has besides the history: the system prompt and the declarations.
    """

    def __init__(self, history: History, fixed: Callable[[], int]) -> None:
        self._fixed = fixed
        self._sizes = [estimated_tokens(content) for content in history.contents]
        self._sum = sum(self._sizes)
        self._measured = 0
        self._measured_at = 0
        self._ratio = 1.0
        history.observe(self._changed)

    @property
    def sizes(self) -> Sequence[int]:
        """The estimate of each content."""
        return self._sizes

    @property
    def tokens(self) -> int:
        """The tokens of the next request."""
        if self._measured:
            return max(0, self._measured + round((self._sum - self._measured_at) * self._ratio))
        return self._fixed() + self._sum

    def measured(self, usage: Usage) -> None:
        """Take what the server counted of a request with the history as it is; nothing when it didn't count."""
        if usage.prompt <= 0:
            return
        self._measured, self._measured_at = usage.prompt, self._sum
        ratio = usage.prompt / (self._fixed() + self._sum)
        self._ratio = min(_FURTHEST_OFF, max(1 / _FURTHEST_OFF, ratio))

    def _changed(self, change: HistoryChange) -> None:
        match change:
            case ContentAdded(content=content):
                self._sizes.append(estimated_tokens(content))
                self._sum += self._sizes[-1]
                return
            case LastReplaced(content=content):
                self._sum -= self._sizes[-1]
                self._sizes[-1] = estimated_tokens(content)
                self._sum += self._sizes[-1]
                return
            case CutBack(length=length, last=last):
                del self._sizes[length:]
                if length:
                    self._sizes[-1] = estimated_tokens(last)
            case AllReplaced(contents=contents):
                self._sizes = [estimated_tokens(content) for content in contents]
        self._sum = sum(self._sizes)


class FixedTokens:
    """Estimates the tokens of what every request has besides the history: anew only once that isn't what it was."""

    def __init__(self, system: Callable[[], str], declarations: Callable[[], Sequence[object]]) -> None:
        self._system = system
        self._declarations = declarations
        self._estimated: tuple[str, Sequence[object]] = ("", ())
        self._tokens = 0

    def __call__(self) -> int:
        """Return the estimate."""
        now = self._system(), self._declarations()
        if now != self._estimated:
            system, declarations = self._estimated = now
            self._tokens = estimated_tokens(system.encode("utf-8", "replace") + msgspec.json.encode(declarations))
        return self._tokens
