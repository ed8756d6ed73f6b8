"""What tokens cost: the vendors' list prices, by model. A model that isn't here costs nobody knows what.

Batch, priority and audio rates aren't here, nor what a cloud or a reseller takes: for those there is a setting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import msgspec

from dogu.models.events import Usage

_LONG_PROMPT_TOKENS = 200_000
_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True):
    """US dollars for a million tokens. `long_*` hold for requests whose prompt has more than 200,000, if they differ.

    `output` is also the price of thoughts. A token that is put into the cache costs `write_factor` times `input`.
    """

    input: float
    cached: float
    output: float
    long_input: float | None = None
    long_cached: float | None = None
    long_output: float | None = None
    write_factor: float = 1.0

    def of(self, usage: Usage) -> float:
        """Return what one request costs, in US dollars."""
        is_long = usage.prompt > _LONG_PROMPT_TOKENS
        rates = (self.input, self.cached, self.output)
        longer = (self.long_input, self.long_cached, self.long_output)
        one_input, one_cached, one_output = (
            long if is_long and long is not None else short for short, long in zip(rates, longer, strict=True)
        )
        fresh = max(0, usage.prompt - usage.cached) + usage.written * (self.write_factor - 1)
        spoken = usage.output + usage.thoughts
        return (fresh * one_input + usage.cached * one_cached + spoken * one_output) / _MILLION


# Source: ai.google.dev/gemini-api/docs/pricing (standard, text), as of 2026-07-04.
GEMINI = {
    "gemini-3.1-pro": Price(2.0, 0.2, 12.0, 4.0, 0.4, 18.0),
    "gemini-3-pro": Price(2.0, 0.2, 12.0, 4.0, 0.4, 18.0),
    "gemini-3-flash": Price(0.5, 0.05, 3.0),
    "gemini-3.1-flash-lite": Price(0.25, 0.025, 1.5),
    "gemini-2.5-pro": Price(1.25, 0.125, 10.0, 2.5, 0.25, 15.0),
    "gemini-2.5-flash": Price(0.3, 0.03, 2.5),
    "gemini-2.5-flash-lite": Price(0.1, 0.01, 0.4),
    "gemini-2.0-flash": Price(0.1, 0.025, 0.4),
    "gemini-2.0-flash-lite": Price(0.075, 0.075, 0.3),
}
# Source: openai.com/api/pricing (standard, text), as of 2026-06-21.
OPENAI = {
    "gpt-5.4": Price(2.5, 0.25, 15.0),
    "gpt-5.4-mini": Price(0.75, 0.075, 4.5),
    "gpt-5.1": Price(1.25, 0.125, 10.0),
    "gpt-5": Price(1.25, 0.125, 10.0),
    "gpt-4.1": Price(2.0, 0.5, 8.0),
    "gpt-4.1-mini": Price(0.4, 0.1, 1.6),
    "gpt-4.1-nano": Price(0.1, 0.025, 0.4),
    "gpt-4o": Price(2.5, 1.25, 10.0),
    "gpt-4o-mini": Price(0.15, 0.075, 0.6),
}


def _claude(input_: float, cached: float, output: float) -> Price:
    return Price(input_, cached, output, write_factor=1.25)


# Source: platform.claude.com/docs/en/about-claude/pricing (standard), as of 2026-10-24; what is put into the cache
# for five minutes, as we ask for, costs a quarter more than `input`.
ANTHROPIC = {
    "claude-fable-5-1": _claude(10.0, 0.25, 50.0),
    "claude-fable-5": _claude(10.0, 1.0, 50.0),
    "claude-opus-5-5": _claude(4.0, 0.2, 20.0),
    "claude-opus-5": _claude(5.0, 0.5, 25.0),
    "claude-opus-4-8": _claude(5.0, 0.5, 25.0),
    "claude-opus-4-7": _claude(5.0, 0.5, 25.0),
    "claude-opus-4-6": _claude(5.0, 0.5, 25.0),
    "claude-opus-4-5": _claude(5.0, 0.5, 25.0),
    "claude-sonnet-5-5": _claude(2.0, 0.1, 10.0),
    "claude-sonnet-5": _claude(2.0, 0.2, 10.0),
    "claude-sonnet-4-6": _claude(3.0, 0.3, 15.0),
    "claude-sonnet-4-5": _claude(3.0, 0.3, 15.0),
    "claude-haiku-4-5": _claude(1.0, 0.1, 5.0),
}
FREE = {"offline": Price(0.0, 0.0, 0.0)}

# A dated or numbered release of a model costs what the model does; another word in the name is another model.
_RELEASE = r"(?:-(?:preview|exp|latest|\d{2,4}|\d{8}))*"


def price_of(model: str, own: Mapping[str, Price], listed: Mapping[str, Price]) -> Price | None:
    """Return a model's price: the user's `own`, by the exact name, else the one `listed`; None when it isn't known."""
    if model in own:
        return own[model]
    return next((price for name, price in listed.items() if _releases(name).fullmatch(model)), None)


@cache
def _releases(name: str) -> re.Pattern[str]:
    return re.compile(re.escape(name) + _RELEASE)
