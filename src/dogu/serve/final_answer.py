"""final_answer: the answer in a shape that whoever started the run has given; only there where one was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dogu.contract import CallContext, Kind, Tool, ToolError, ToolResult, told
from dogu.contract.declaration import FunctionDeclaration
from dogu.contract.json_schema import check_arguments
from dogu.models.call_arguments import without_fence

_DEFINITIONS = ("$schema", "$id", "$defs", "definitions")


class FinalAnswer(Tool[dict[str, Any]]):
    """Give the final answer, in the shape that is wanted. Call it alone and once, when the task is done and checked:
    it ends the run, and no other words of yours are read."""

    name, display_name, kind = "final_answer", "FinalAnswer", Kind.THINK

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """`schema` is a JSON schema; an answer that is no object is wrapped in one for the model."""
        self._is_wrapped = schema.get("type") != "object"
        self.parameter_schema = _wrapped(schema) if self._is_wrapped else dict(schema)
        self.answers: list[Any] = []
        self._is_asked_again = False

    @property
    def declaration(self) -> FunctionDeclaration:
        """What the model is sent, or its provider asked for in its own way."""
        return FunctionDeclaration(
            self.name, self.description, self.parameter_schema, is_answer=True, is_asked_again=self._is_asked_again
        )

    def begin(self) -> None:
        """Await the answer to another prompt."""
        self.answers.clear()
        self._is_asked_again = False

    def ask_again(self) -> None:
        """Ask for it in the other way from now on: as a call, or as the provider's own structured output."""
        self._is_asked_again = not self._is_asked_again

    def takes(self, text: str) -> bool:
        """Take an answer that was said instead: JSON of the shape and nothing else; whether it was one."""
        try:
            said: Any = json.loads(without_fence(text))
        except (ValueError, RecursionError):
            return False
        is_inside = self._is_wrapped and isinstance(said, dict) and said.keys() == {"answer"}
        return (is_inside and self._fits(said["answer"])) or self._fits(said)

    def _fits(self, answer: Any) -> bool:
        try:
            args: dict[str, Any] = {"answer": answer} if self._is_wrapped else answer
            check_arguments(self.name, self.parameter_schema, dict(args))
        except (ValueError, TypeError, ToolError):
            return False
        self.answers.append(answer)
        return True

    def get_description(self, args: dict[str, Any]) -> str:
        """Say in one line what happens."""
        return told("Give the final answer")

    async def execute(self, args: dict[str, Any], context: CallContext) -> ToolResult:
        """Keep the answer, which fits the schema by now."""
        answer = args["answer"] if self._is_wrapped else args
        self.answers.append(answer)
        shown = json.dumps(answer, ensure_ascii=False, indent=1)
        return ToolResult("The answer is taken.", f"```json\n{shown}\n```", ends_turn=True)


def _wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Put the schema where an object has it; what it refers to stays where its references look."""
    inner = {key: value for key, value in schema.items() if key not in _DEFINITIONS}
    outer = {key: value for key, value in schema.items() if key in _DEFINITIONS}
    return {"type": "object", "properties": {"answer": inner}, "required": ["answer"], **outer}
