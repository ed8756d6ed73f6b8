"""What a tool is: content, display, errors, result, confirmation, tool, declaration; a tool imports them from here.

`told` is here too, for what a tool tells the user: a door shows it in their language.
"""

from dogu.contract.confirmation import CallContext, Confirmation
from dogu.contract.content import Blob, Content, Part, Text, parts_of, text_of
from dogu.contract.declaration import FunctionDeclaration, JsonObject
from dogu.contract.display import (
    CommandPreview,
    Display,
    FileDiff,
    PatchDiff,
    TerminalOutput,
    Todo,
    TodoList,
    markdown_of,
)
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.function_tool import FunctionTool, function_tool
from dogu.contract.result import ToolFailure, ToolResult
from dogu.contract.tool import Kind, Tool
from dogu.language import joined, say, sentence, told

__all__ = [
    "Blob",
    "CallContext",
    "CommandPreview",
    "Confirmation",
    "Content",
    "Display",
    "ErrorKind",
    "FileDiff",
    "FunctionDeclaration",
    "FunctionTool",
    "JsonObject",
    "Kind",
    "Part",
    "PatchDiff",
    "TerminalOutput",
    "Text",
    "Todo",
    "TodoList",
    "Tool",
    "ToolError",
    "ToolFailure",
    "ToolResult",
    "function_tool",
    "joined",
    "markdown_of",
    "parts_of",
    "say",
    "sentence",
    "text_of",
    "told",
]
