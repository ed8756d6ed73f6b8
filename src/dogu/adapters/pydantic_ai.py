"""A runtime's tools as a toolset of pydantic-ai: `Agent(model, toolsets=[RuntimeToolset(runtime)])`."""

from __future__ import annotations

from typing import Any

from pydantic_ai import BinaryContent, RunContext, ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from dogu.contract.content import Blob, parts_of, text_of
from dogu.runtime.events import ToolCall
from dogu.runtime.runtime import Runtime

_ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))  # the runtime checks arguments itself


class RuntimeToolset(AbstractToolset[Any]):
    """The tools as they are at each step; a failure is a result that the model reads."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def id(self) -> str:
        """The toolset's name."""
        return "dogu"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Declare the tools; what changes something runs alone."""
        return {tool.name: self._tool(tool.name) for tool in self._runtime.registry}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> ToolReturn:
        """Run a call by the runtime's rules."""
        answer = await self._runtime.run(ToolCall(ctx.tool_call_id or name, name, tool_args))
        content = answer.result.llm_content
        media = [
            BinaryContent(part.data, media_type=part.media_type) for part in parts_of(content) if isinstance(part, Blob)
        ]
        return ToolReturn(text_of(content), content=media or None)

    def _tool(self, name: str) -> ToolsetTool[Any]:
        found = self._runtime.registry.get(name)
        definition = ToolDefinition(
            name=name,
            parameters_json_schema=found.parameter_schema,
            description=found.description,
            sequential=not found.kind.changes_nothing,
        )
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=1, args_validator=_ANY_OBJECT)
