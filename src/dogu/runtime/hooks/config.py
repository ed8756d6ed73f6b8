"""Hooks as settings write them, in the field's two dialects: Gemini CLI's and Claude Code's.

Source: docs/hooks/reference.md of Gemini CLI; the hooks reference of Claude Code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, cast

import msgspec

from dogu.language import told
from dogu.workspace.patterns import compile_pattern

_DEFAULT_TIMEOUT_S = 60.0
_LONGEST_TIMEOUT_S = 600.0
_SHORTEST_IN_MS = 1000  # under an event's name that both dialects have, less than this are seconds


class Moment(StrEnum):
    """When hooks run."""

    BEFORE_TOOL = "BeforeTool"
    AFTER_TOOL = "AfterTool"
    BEFORE_AGENT = "BeforeAgent"
    AFTER_AGENT = "AfterAgent"
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    NOTIFICATION = "Notification"
    BEFORE_MODEL = "BeforeModel"
    AFTER_MODEL = "AfterModel"
    BEFORE_TOOL_SELECTION = "BeforeToolSelection"


GUARDS = frozenset((Moment.BEFORE_TOOL, Moment.BEFORE_AGENT, Moment.BEFORE_MODEL, Moment.BEFORE_TOOL_SELECTION))
"""When a hook may refuse what isn't done yet: one that isn't understood there may have been meant to."""

MODEL_MOMENTS = frozenset((Moment.BEFORE_MODEL, Moment.AFTER_MODEL, Moment.BEFORE_TOOL_SELECTION))

_CLAUDE = {
    "PreToolUse": Moment.BEFORE_TOOL,
    "PostToolUse": Moment.AFTER_TOOL,
    "UserPromptSubmit": Moment.BEFORE_AGENT,
    "Stop": Moment.AFTER_AGENT,
}
_SHARED = frozenset((Moment.SESSION_START, Moment.SESSION_END, Moment.NOTIFICATION))
_NO_MOMENTS = frozenset(("enabled", "disabled", "notifications"))

CLAUDE_TOOLS = {
    "run_shell_command": "Bash",
    "read_file": "Read",
    "write_file": "Write",
    "replace": "Edit",
    "edit_notebook": "NotebookEdit",
    "glob": "Glob",
    "grep_search": "Grep",
    "list_directory": "LS",
    "web_fetch": "WebFetch",
    "google_web_search": "WebSearch",
    "write_todos": "TodoWrite",
    "run_subagent": "Task",
    "activate_skill": "Skill",
}
"""What Claude Code calls our tools: hooks under its events' names are matched with, and told, these."""


class Hook(msgspec.Struct, frozen=True):
    """A command to run at a moment. `event` is the moment's name as written, `file` where; `name` is for people."""

    moment: Moment
    event: str
    command: str
    matcher: str
    timeout_s: float
    name: str
    file: str
    is_project: bool

    @property
    def is_claude(self) -> bool:
        """Whether it is written in Claude Code's dialect."""
        return self.event in _CLAUDE

    def tool_name(self, name: str) -> str:
        """The tool's name in the hook's dialect; both call an MCP server's `mcp__SERVER__TOOL`."""
        if "__" in name:
            return f"mcp__{name}"
        return CLAUDE_TOOLS.get(name, name) if self.is_claude else name


class HookFile(msgspec.Struct, frozen=True):
    """The `hooks` of one settings file."""

    file: str
    is_project: bool
    value: Mapping[str, Any]


class HookProblem(msgspec.Struct, frozen=True):
    """What is wrong with a hook, and where; `stops` where it may be a restriction that would be dropped."""

    file: str
    key: str
    message: str
    stops: bool = False

    def __str__(self) -> str:
        return f"{self.file}: {self.key}: {self.message}"


def disabled_names(file: HookFile) -> list[str]:
    """Return the hooks that the file switches off where older files do: in `hooks` itself."""
    names = file.value.get("disabled")
    return [name for name in cast("list[Any]", names) if isinstance(name, str)] if isinstance(names, list) else []


def read_hooks(files: tuple[HookFile, ...]) -> tuple[list[Hook], list[HookProblem]]:
    """Return the hooks of all files in their order, and what is wrong with the others."""
    hooks: list[Hook] = []
    problems: list[HookProblem] = []
    for file in files:
        for event, definitions in file.value.items():
            if event in _NO_MOMENTS:
                continue
            try:
                moment = _moment(event)
            except _BadHookError as error:
                problems.append(HookProblem(file.file, f"hooks.{event}", str(error)))
                continue
            for found in _hooks_of(file, moment, event, definitions):
                if isinstance(found, Hook):
                    hooks.append(found)
                else:
                    key = f"hooks.{event}{found.place}"
                    problems.append(HookProblem(file.file, key, str(found), stops=moment in GUARDS))
    return hooks, problems + _unclear_matchers(hooks)


def _unclear_matchers(hooks: list[Hook]) -> list[HookProblem]:
    return [
        HookProblem(
            hook.file,
            f"hooks.{hook.event}",
            told(
                "the matcher {matcher} can't be understood: the hook runs for everything.",
                matcher=repr(hook.matcher[:80]),
            ),
        )
        for hook in hooks
        if hook.matcher not in ("", "*") and compile_pattern(hook.matcher) is None
    ]


class _BadHookError(Exception):
    """What is wrong with a hook; `place` is where, below its event."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place


def _moment(event: str) -> Moment:
    moment = _CLAUDE.get(event)
    if moment is not None:
        return moment
    try:
        return Moment(event)
    except ValueError:
        known = ", ".join([*Moment, *_CLAUDE])
        raise _BadHookError(told("no hooks run at this event. Those that are run: {known}.", known=known)) from None


def _hooks_of(file: HookFile, moment: Moment, event: str, definitions: object) -> Iterator[Hook | _BadHookError]:
    if not isinstance(definitions, list):
        yield _BadHookError(told("takes a list of definitions"))
        return
    for number, definition in enumerate(cast("list[Any]", definitions)):
        place = f"[{number}]"
        group = cast("dict[str, Any]", definition) if isinstance(definition, dict) else {}
        matcher, commands = group.get("matcher", ""), group.get("hooks")
        if not isinstance(commands, list) or not isinstance(matcher, str):
            yield _BadHookError(
                told('takes {"matcher": "...", "hooks": [{"type": "command", "command": "..."}]}'), place
            )
            continue
        for inner, command in enumerate(cast("list[Any]", commands)):
            try:
                yield _hook(file, moment, event, matcher, command)
            except _BadHookError as error:
                error.place = f"{place}.hooks[{inner}]"
                yield error


def _hook(file: HookFile, moment: Moment, event: str, matcher: str, written: object) -> Hook:
    fields = cast("dict[str, Any]", written) if isinstance(written, dict) else {}
    if fields.get("type", "command") != "command":
        raise _BadHookError(told("only hooks of type command are run, not {type}", type=repr(fields.get("type"))))
    command = fields.get("command")
    if not isinstance(command, str) or not command.strip():
        raise _BadHookError(told("command is missing"))
    name = fields.get("name")
    shown = name if isinstance(name, str) and name else " ".join(command.split())[:60]
    return Hook(moment, event, command, matcher, _timeout_s(event, fields), shown, file.file, file.is_project)


def _timeout_s(event: str, fields: Mapping[str, Any]) -> float:
    value = fields.get("timeout")
    if value is None:
        return _DEFAULT_TIMEOUT_S
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise _BadHookError(told("timeout takes a number above 0"))
    in_seconds = event in _CLAUDE or (event in _SHARED and value < _SHORTEST_IN_MS)
    return min(float(value) if in_seconds else value / 1000, _LONGEST_TIMEOUT_S)
