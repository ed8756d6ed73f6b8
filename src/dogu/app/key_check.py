"""Whether a provider takes a key: Gemini is asked, others' lists of models tell it."""

from __future__ import annotations

import anyio

from dogu.agent.slash.model import KeyCheck, ModelList
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


def check_of(listed: ModelList) -> KeyCheck:
    """Return what a list of models that was asked for with a key says of it."""
    if listed.names:
        return KeyCheck(works=None if listed.is_open else True, reason=say("It lists its models to anybody."))
    is_refused = listed.problem in ("HTTP 401", "HTTP 403")
    return KeyCheck(False if is_refused else None, listed.problem or say("It lists no models."))
