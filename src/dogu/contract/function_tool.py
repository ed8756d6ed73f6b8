"""A plain function as a tool."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, get_type_hints

import msgspec

from dogu.contract.confirmation import CallContext, Confirmation
from dogu.contract.content import Blob, Text
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind, Tool


class FunctionTool(Tool[Any]):
    """A tool made of a function: its signature is the parameters, its docstring the description."""

    def __init__(self, function: Callable[..., Awaitable[Any] | Any], *, name: str, kind: Kind) -> None:
        self.name = name
        self.display_name = name.replace("_", " ").title().replace(" ", "")
        self.kind = kind
        self._function = function
        self._args_type = _struct_of(function, name)

    @property
    def description(self) -> str:
        """The function's docstring."""
        return inspect.getdoc(self._function) or self.name

    @property
    def args_type(self) -> type:  # pyright: ignore[reportIncompatibleVariableOverride]  (per instance here)
        """The struct derived from the function's signature."""
        return self._args_type

    def get_description(self, args: Any) -> str:
        """Name the call with its arguments."""
        shown = ", ".join(f"{name}={value!r}" for name, value in msgspec.structs.asdict(args).items())
        return f"{self.name}({shown})"

    async def should_confirm_execute(self, args: Any) -> Confirmation | None:
        """Ask, unless the function is said to change nothing."""
        if self.kind.changes_nothing:
            return None
        return Confirmation(f"Run {self.name}?", self.get_description(args))

    async def execute(self, args: Any, context: CallContext) -> ToolResult:
        """Call the function; a `ToolResult` passes through, anything else becomes text or JSON."""
        value = self._function(**msgspec.structs.asdict(args))
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, ToolResult):
            return value
        if isinstance(value, Blob | Text):
            return ToolResult([value])
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        return ToolResult(text, text)


def function_tool(
    function: Callable[..., Awaitable[Any] | Any], *, name: str = "", kind: Kind = Kind.OTHER
) -> FunctionTool:
    """Make a tool of a function with annotated parameters.

    Describe a parameter with `Annotated[int, msgspec.Meta(description="...")]`. The function may be async and return
    text, a `Blob`, a `ToolResult` or anything JSON can hold; it raises `ToolError` for what the model should hear.
    `kind` decides whether it asks first: READ, SEARCH and THINK don't.
    """
    return FunctionTool(function, name=name or getattr(function, "__name__", "tool"), kind=kind)


def _struct_of(function: Callable[..., Any], name: str) -> type:
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{name}: a tool's parameters have names; {parameter} has none a model could send")
        hint = hints.get(parameter.name, Any)
        if parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, hint, parameter.default))
    return msgspec.defstruct(f"{name}_args", fields, kw_only=True)
