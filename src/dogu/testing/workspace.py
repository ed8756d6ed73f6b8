"""Run a tool as a model would call it, and check that a tool keeps the contract."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.json_schema import schema_problem
from dogu.contract.result import ToolResult
from dogu.policy.policy import Policy
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode
from dogu.runtime.approval import Approval
from dogu.runtime.events import EmitAll, ToolCall, emit_nothing
from dogu.runtime.executor import Executor
from dogu.runtime.questions import Confirm, Declined, Outcome, Question, approve
from dogu.runtime.registry import AnyTool, ToolRegistry


def executor_for(*tools: AnyTool, confirm: Confirm | None = approve, mode: str = "default") -> Executor:
    """Make an executor of these tools, without restrictions; every question is approved unless `confirm` says else."""
    return Executor(ToolRegistry(tools), Approval(Policy(Rules(), ApprovalMode(mode)), confirm))


async def run_tool(
    tool: AnyTool, /, *, confirm: Confirm | None = approve, emit: EmitAll = emit_nothing, **args: Any
) -> ToolResult:
    """Call the tool through the executor, every question approved, and return its result; failures are results too."""
    answer = await executor_for(tool, confirm=confirm).run(ToolCall("test", tool.name, args), emit)
    return answer.result


async def check_question(tool: AnyTool, /, **args: Any) -> bool:
    """Check that a question which the tool asks about this call counts; return whether it asks one.

    Where it does, the call is refused in approval mode plan and where nobody is there, and a user who says no is heard,
    whatever the tool's kind: it must not run. Raises `AssertionError`.
    """
    confirmation = await tool.should_confirm_execute(tool.validate_tool_params(args))
    if confirmation is None:
        return False
    call = ToolCall("test", tool.name, args)
    refusals: list[tuple[Confirm | None, str, ErrorKind]] = [
        (None, "default", ErrorKind.NOBODY_TO_ASK),
        (_decline, "default", ErrorKind.DECLINED),
    ]
    if not confirmation.is_contained and not confirmation.always_ask:
        refusals.append((approve, "plan", ErrorKind.REFUSED))
    for confirm, mode, kind in refusals:
        error = (await executor_for(tool, confirm=confirm, mode=mode).run(call)).result.error
        assert error is not None, f"{tool.name}: it ran in mode {mode} though its question was not answered with yes"
        assert error.kind is kind, f"{tool.name}: in mode {mode} its question led to {error.kind}, not {kind}"
    return True


async def _decline(_question: Question) -> Outcome:
    return Declined()


def check_tool(tool: AnyTool) -> None:
    """Check what can be checked of the contract without running the tool. Raises `AssertionError` that says what fails.

    The name can be sent to every model, the model is told what the tool and each parameter do, the schema is JSON, and
    an unknown parameter is refused. `check_question` checks a call's question.
    """
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", tool.name), f"{tool.name!r} is no name that models accept"
    assert tool.display_name, f"{tool.name}: no display_name"
    assert tool.description.strip(), f"{tool.name}: no description for the model (the class docstring)"
    schema = tool.parameter_schema
    msgspec.json.encode(schema)
    assert not (problem := schema_problem(tool.name, schema)), problem
    assert schema.get("type") == "object", f"{tool.name}: parameters must be an object, not {schema.get('type')!r}"
    for name, parameter in schema.get("properties", {}).items():
        assert parameter.get("description"), f"{tool.name}: parameter {name!r} has no description for the model"
    try:
        tool.validate_tool_params({"no_such_parameter_": 1})
    except ToolError:
        return
    raise AssertionError(f"{tool.name}: an unknown parameter is accepted")
