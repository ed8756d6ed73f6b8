"""A plain function as a tool."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, cast, get_type_hints

import msgspec

from dogu.contract.confirmation import CallContext, Confirmation
from dogu.contract.content import Blob, Text
from dogu.contract.declaration import schema_of
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind, Tool


class FunctionTool(Tool[Any]):
    """A tool made of a function: its signature is the parameters, its docstring the description."""

    def __init__(self, function: Callable[..., Awaitable[Any] | Any], *, name: str, kind: Kind) -> None:
        self.name = name
        self.display_name = name.replace("_", " ").title().replace(" ", "")
        self.kind = kind
        self.description = inspect.getdoc(function) or name
        self.args_type = _struct_of(function, name)
        self._function = function

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
        """Call the function; a `ToolResult` passes through, anything else becomes text or JSON.

        One that isn't async runs in a thread: it holds nothing up, and cancelled, it isn't waited for.
        """
        from anyio import to_thread  # not needed to read settings, which name the contract's errors

        call = partial(self._function, **msgspec.structs.asdict(args))
        is_async = inspect.iscoroutinefunction(inspect.unwrap(self._function))
        value = call() if is_async else await to_thread.run_sync(call, abandon_on_cancel=True)
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, ToolResult | str) or _has_parts(value):
            return ToolResult.of(value)
        try:
            return ToolResult.of(msgspec.json.encode(value).decode())
        except (TypeError, ValueError, RecursionError) as error:
            what = (
                f"{self.name} returned a {type(value).__name__} that JSON can't hold: {error}. What it did stays done."
            )
            raise ToolError(ErrorKind.TOOL_FAILED, what) from error


def function_tool(
    function: Callable[..., Awaitable[Any] | Any], *, name: str = "", kind: Kind = Kind.OTHER
) -> FunctionTool:
    """Make a tool of a function with annotated parameters.

    Describe a parameter with `Annotated[int, msgspec.Meta(description="...")]`. The function may be async and return
    text, a `Blob`, a list of both, a `ToolResult` or anything JSON can hold; it raises `ToolError` for what the model
    should hear. `kind` decides whether it asks first: READ, SEARCH and THINK don't.
    """
    return FunctionTool(function, name=name or getattr(function, "__name__", "tool"), kind=kind)


def _has_parts(value: object) -> bool:
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
    return any(isinstance(item, Blob | Text) for item in items)


def _struct_of(function: Callable[..., Any], name: str) -> type:
    hints = get_type_hints(getattr(function, "func", function), include_extras=True)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{name}: a tool's parameters have names; {parameter} has none a model could send")
        hint = hints.get(parameter.name, Any)
        if parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, hint, parameter.default))
    struct = msgspec.defstruct(f"{name}_args", fields, kw_only=True)
    try:
        schema_of(struct)
    except TypeError as error:
        what = str(error).splitlines()[-1]
        raise TypeError(
            f"{name}: a tool's parameters are what JSON can hold, paths, dates and the like: {what}"
        ) from error
    return struct
