"""dogu: a dependable tool runtime for coding agents.

    import anyio, dogu

    async def main():
        async with dogu.open_runtime(dogu.Options(root="/path/to/project")) as runtime:
            answer = await runtime.call("read_file", path="README.md")
            print(answer.result.llm_content)

    anyio.run(main)

Every public name is here; importing this module loads none of them until it is used.
"""

from __future__ import annotations

from dogu.version import __version__

TYPE_CHECKING = False  # typing's own costs 8 ms

if TYPE_CHECKING:
    from dogu.agent.events import EndReason, TurnEnded
    from dogu.agent.history import History
    from dogu.agent.loop import Agent
    from dogu.app import Options, open_agent, open_runtime
    from dogu.contract.confirmation import CallContext, Confirmation
    from dogu.contract.content import Blob, Text
    from dogu.contract.declaration import FunctionDeclaration
    from dogu.contract.display import FileDiff, TerminalOutput
    from dogu.contract.errors import ErrorKind, ToolError
    from dogu.contract.function_tool import function_tool
    from dogu.contract.result import ToolResult
    from dogu.contract.tool import Kind, Tool
    from dogu.models.events import ModelError, Retrying, TextDelta
    from dogu.models.model import Model
    from dogu.policy.policy import Policy
    from dogu.policy.rules import Rules
    from dogu.policy.verdict import ApprovalMode
    from dogu.runtime.events import CallFinished, CallOutput, CallStarted, ToolAnswer, ToolCall
    from dogu.runtime.executor import Executor
    from dogu.runtime.questions import Approved, ApprovedAlways, Declined, Question
    from dogu.runtime.registry import ToolRegistry
    from dogu.runtime.runtime import Runtime

_MODULE_OF = {
    "Agent": "agent.loop",
    "ApprovalMode": "policy.verdict",
    "Approved": "runtime.questions",
    "ApprovedAlways": "runtime.questions",
    "Blob": "contract.content",
    "CallContext": "contract.confirmation",
    "CallFinished": "runtime.events",
    "CallOutput": "runtime.events",
    "CallStarted": "runtime.events",
    "Confirmation": "contract.confirmation",
    "Declined": "runtime.questions",
    "EndReason": "agent.events",
    "ErrorKind": "contract.errors",
    "Executor": "runtime.executor",
    "FileDiff": "contract.display",
    "FunctionDeclaration": "contract.declaration",
    "History": "agent.history",
    "Kind": "contract.tool",
    "Model": "models.model",
    "ModelError": "models.events",
    "Options": "app",
    "Policy": "policy.policy",
    "Question": "runtime.questions",
    "Retrying": "models.events",
    "Rules": "policy.rules",
    "Runtime": "runtime.runtime",
    "TerminalOutput": "contract.display",
    "Text": "contract.content",
    "TextDelta": "models.events",
    "Tool": "contract.tool",
    "ToolAnswer": "runtime.events",
    "ToolCall": "runtime.events",
    "ToolError": "contract.errors",
    "ToolRegistry": "runtime.registry",
    "ToolResult": "contract.result",
    "TurnEnded": "agent.events",
    "function_tool": "contract.function_tool",
    "open_agent": "app",
    "open_runtime": "app",
}

__all__ = [
    "Agent",
    "ApprovalMode",
    "Approved",
    "ApprovedAlways",
    "Blob",
    "CallContext",
    "CallFinished",
    "CallOutput",
    "CallStarted",
    "Confirmation",
    "Declined",
    "EndReason",
    "ErrorKind",
    "Executor",
    "FileDiff",
    "FunctionDeclaration",
    "History",
    "Kind",
    "Model",
    "ModelError",
    "Options",
    "Policy",
    "Question",
    "Retrying",
    "Rules",
    "Runtime",
    "TerminalOutput",
    "Text",
    "TextDelta",
    "Tool",
    "ToolAnswer",
    "ToolCall",
    "ToolError",
    "ToolRegistry",
    "ToolResult",
    "TurnEnded",
    "__version__",
    "function_tool",
    "open_agent",
    "open_runtime",
]


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        from dogu.contract.tool_names import COUNTERPARTS

        meant = f": the documents' {name} is {COUNTERPARTS[name]} here" if name in COUNTERPARTS else ""
        raise AttributeError(f"module 'dogu' has no attribute {name!r}{meant}")
    from importlib import import_module

    value = getattr(import_module(f"dogu.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
