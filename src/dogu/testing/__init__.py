"""For those who test tools and agents: scripted models, a fake Gemini server, tools run as a model would call them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dogu.testing.fake_gemini import FakeGemini
    from dogu.testing.fake_messages import FakeMessages
    from dogu.testing.fake_openai import FakeOpenAI
    from dogu.testing.fake_responses import FakeResponses
    from dogu.testing.scripted_model import ScriptedModel
    from dogu.testing.turn import Call, Turn, call
    from dogu.testing.workspace import check_question, check_tool, executor_for, run_tool

_MODULE_OF = {
    "Call": "turn",
    "FakeGemini": "fake_gemini",
    "FakeMessages": "fake_messages",
    "FakeOpenAI": "fake_openai",
    "FakeResponses": "fake_responses",
    "ScriptedModel": "scripted_model",
    "Turn": "turn",
    "call": "turn",
    "check_question": "workspace",
    "check_tool": "workspace",
    "executor_for": "workspace",
    "run_tool": "workspace",
}

__all__ = [
    "Call",
    "FakeGemini",
    "FakeMessages",
    "FakeOpenAI",
    "FakeResponses",
    "ScriptedModel",
    "Turn",
    "call",
    "check_question",
    "check_tool",
    "executor_for",
    "run_tool",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'dogu.testing' has no attribute {name!r}")

    return getattr(import_module(f"dogu.testing.{module}"), name)
