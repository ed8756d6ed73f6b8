"""Which tools there are, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dogu.contract.declaration import FunctionDeclaration
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.tool import Tool

AnyTool = Tool[Any]

# Names other generations of the documents and of models use; accepted, never published.
_OTHER_NAMES = {"search_file_content": "grep_search", "read_folder": "list_directory", "edit": "replace"}


class ToolRegistry:
    """The tools of one session, in the order they were registered."""

    def __init__(self, tools: Iterable[AnyTool] = ()) -> None:
        self._tools: dict[str, AnyTool] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: AnyTool) -> None:
        """Add a tool. Raises `ValueError` when the name is taken: nothing shadows another tool."""
        if tool.name in self._tools:
            raise ValueError(f"a tool named {tool.name!r} is registered already")
        self._tools[tool.name] = tool

    def unregister(self, name: str) -> None:
        """Take a tool away, if it is there."""
        self._tools.pop(name, None)

    def get(self, name: str) -> AnyTool:
        """Return the tool of that name. Raises `ToolError` (UNKNOWN_TOOL) that names the nearest ones."""
        tool = self._tools.get(name) or self._tools.get(_OTHER_NAMES.get(name, ""))
        if tool is None:
            raise ToolError(ErrorKind.UNKNOWN_TOOL, self._unknown(name))
        return tool

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def declarations(self) -> list[FunctionDeclaration]:
        """What the model is sent, one a tool, in order."""
        return [tool.declaration for tool in self]

    def filtered(self, keep: Callable[[AnyTool], bool]) -> ToolRegistry:
        """Return a registry of the tools that `keep` says yes to."""
        return ToolRegistry(tool for tool in self if keep(tool))

    def _unknown(self, name: str) -> str:
        from difflib import get_close_matches

        if not name:
            return f"The call names no tool. Available tools: {', '.join(self._tools)}."
        near = get_close_matches(name, self._tools, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        return f"There is no tool named {name[:80]!r}.{hint} Available tools: {', '.join(self._tools)}."
