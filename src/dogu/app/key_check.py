"""Asks Gemini whether it takes a key."""

from __future__ import annotations

import anyio

from dogu.agent.slash.model import KeyCheck
from dogu.language import say
from dogu.models.events import ModelError, ModelErrorKind
from dogu.models.gemini import Gemini, KeyAccess
from dogu.models.options import ModelOptions
from dogu.models.providers import GEMINI
from dogu.models.retry import RetryPolicy

_LONGEST_S = 10.0
_HELLO = b'{"role":"user","parts":[{"text":"hello"}]}'


async def check_key(key: str, base_url: str) -> KeyCheck:
    """Have the tokens of a word counted: that costs nothing, and a wrong key is refused. Takes up to 10 s."""
    model = Gemini(GEMINI.default_model, KeyAccess(key, base_url), ModelOptions(retry=RetryPolicy(tries=1)))
    try:
        with anyio.fail_after(_LONGEST_S):
            await model.count_tokens("", [_HELLO], [])
    except ModelError as error:
        is_refused = error.kind is ModelErrorKind.AUTH or "API key" in error.message
        return KeyCheck(False if is_refused else None, say(error.message))
    except TimeoutError:
        return KeyCheck(None, say("It didn't answer within {seconds} s.", seconds=int(_LONGEST_S)))
    finally:
        await model.aclose()
    return KeyCheck(works=True)
