"""Rules in files, in the format of Gemini CLI's policy engine: which calls are denied, asked about or allowed.

Of the rules that match a call the one with the highest priority counts, as there. A chain of commands is judged by its
parts: a rule answers for a part, and lower rules for the others. What a rule denies or asks holds whatever else allows
it; what one allows is still refused by the settings' own lists. Above: `decide`. Source: Gemini CLI's "Policy engine".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from dogu.contract.tool_names import OTHER_NAMES, SHELL_TOOL
from dogu.language import told
from dogu.policy.rule import RestrictionError, Rule
from dogu.policy.verdict import ApprovalMode, CallFacts, Decision, strictest
from dogu.workspace.patterns import Pattern, compile_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from dogu.policy.verdict import Judgement

    JudgeText = Callable[[tuple[Rule, ...] | None, tuple[Rule, ...]], Judgement]

_DECISIONS = {"allow": Decision.ALLOW, "deny": Decision.DENY, "ask_user": Decision.ASK}
_MODES = {
    "default": ApprovalMode.DEFAULT,
    "autoEdit": ApprovalMode.AUTO_EDIT,
    "plan": ApprovalMode.PLAN,
    "yolo": ApprovalMode.YOLO,
}
# Tools that do what another does: its restrictions are theirs. What a pattern says of its arguments can't be said of
# theirs, and is asked.
_STAND_FOR = {
    "apply_patch": ("replace", "write_file"),
    "edit_lines": ("replace",),
    "edit_notebook": ("replace",),
    "run_subagent": ("invoke_agent",),
    "send_input": (SHELL_TOOL,),
    "read_many_files": ("read_file",),
}
# What Gemini CLI calls an argument, where dogu calls it otherwise: patterns are written for its names.
_THEIR_ARGUMENTS = {
    "read_file": {"path": "file_path"},
    "list_directory": {"path": "dir_path"},
    "glob": {"path": "dir_path"},
    "grep_search": {"path": "dir_path", "include": "include_pattern"},
    "read_many_files": {"paths": "include"},
    SHELL_TOOL: {"directory": "dir_path"},
}


class FileRule(msgspec.Struct, frozen=True):
    """One rule. `tools` are names, with wildcards; `server` is an MCP server's alias or `*`, empty for any tool.

    `prefixes` are the beginnings of commands, `pattern` what the arguments must match, as JSON with sorted keys; a rule
    with neither is about the tool as a whole. No `modes` are all of them; `interactive` says whether somebody must or
    must not be there. `source` names file and rule, `message` is what its writer has told to who is denied.
    """

    tools: tuple[str, ...]
    decision: Decision
    priority: int
    source: str
    server: str = ""
    prefixes: tuple[Rule, ...] = ()
    pattern: Pattern | None = None
    modes: frozenset[ApprovalMode] = frozenset()
    interactive: bool | None = None
    message: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it is about tools, whatever they are called with."""
        return not self.prefixes and self.pattern is None

    def excludes(self, tool: str) -> bool:
        """Whether it denies the tool as a whole, whatever the mode and the arguments."""
        is_whole = self.decision is Decision.DENY and self.is_whole and not self.modes
        return is_whole and tool not in _STAND_FOR

    def names(self, tool: str) -> bool:
        """Whether it is about this tool; what restricts a tool restricts those that do the same."""
        also = () if self.decision is Decision.ALLOW else _STAND_FOR.get(tool, ())
        return any(self._names(name) for name in (tool, *also))

    def _names(self, tool: str) -> bool:
        server, _, short = tool.partition("__") if "__" in tool else ("", "", tool)
        if self.server and not (server and (self.server == "*" or _plain(self.server) == _plain(server))):
            return False
        spellings = {tool, f"discovered_tool_{tool}"}
        if server:
            spellings |= {f"mcp_{_plain(server)}_{_plain(short)}"} | ({short} if self.server else set())
        return any(
            OTHER_NAMES.get(name, name) in spellings or _matches(name, spellings, is_remote=bool(server))
            for name in self.tools
        )


class Judged(msgspec.Struct, frozen=True):
    """What the rules say of a call, and in what words; `decision` None where they say nothing."""

    decision: Decision | None = None
    reason: str = ""


def judge_by_files(
    facts: CallFacts,
    rules: Sequence[FileRule],
    mode: ApprovalMode,
    judge_text: JudgeText,
) -> Judged:
    """Judge a call by the rules, which are sorted by priority, the highest first; `judge_text` judges its command."""
    call = _Call(facts, judge_text)
    found = Judged()
    for rule in rules:
        if (rule.modes and mode not in rule.modes) or not rule.names(facts.tool):
            continue
        covers, decision = call.covered_by(rule), rule.decision
        if decision is not Decision.ALLOW:
            found = _stricter(found, _said(rule, call.touched_by(rule)))
        if covers:
            is_allowed = decision is Decision.ALLOW and found.decision is None
            return Judged(Decision.ALLOW, told("allowed by {source}", source=rule.source)) if is_allowed else found
    return found


def read_rules(fields: Mapping[str, Any], source: str, tier: int) -> tuple[FileRule, ...]:
    """Make rules of a table, one a server; none of one about a subagent, of which dogu has none with a name.

    Raises `RestrictionError` for anything that isn't understood.
    """
    read = _Fields(fields, source)
    decision = read.one_of("decision", _DECISIONS)
    priority = read.number("priority")
    command = read.texts("commandPrefix")
    regex, args = read.text("commandRegex"), read.text("argsPattern")
    tools, subagent, servers = read.texts("toolName"), read.text("subagent"), read.texts("mcpName")
    rule = FileRule(
        tools or (("*",) if servers else ()),
        decision,
        tier * 1000 + priority,
        source,
        "",
        tuple(Rule.parse(f"{SHELL_TOOL}({each})", decision, source) for each in command),
        _compiled(f'"command":"{_within_quotes(regex, decision)}' if regex else args, source),
        frozenset(read.modes()),
        read.flag("interactive"),
        read.text("denyMessage") or read.text("deny_message"),
    )
    for name in ("allowRedirection", "allow_redirection"):  # redirections are judged for themselves
        read.flag(name)
    if read.take("toolAnnotations") is not None:  # what a server says of its tools proves nothing: of all its tools
        if decision is Decision.ALLOW:
            return ()
        servers = servers or ("*",)
    read.check_all_was_read()
    if not rule.tools:
        raise RestrictionError(source, told("names no tool: toolName is missing"))
    if (command or regex) and (rule.tools != (SHELL_TOOL,) or args or (command and regex)):
        why = told("commandPrefix or commandRegex, one of them, goes with toolName = {tool} alone", tool=SHELL_TOOL)
        raise RestrictionError(source, why)
    return () if subagent else tuple(msgspec.structs.replace(rule, server=server) for server in servers or ("",))


class _Call:
    """A call, looked at by one rule after the other."""

    def __init__(self, facts: CallFacts, judge_text: JudgeText) -> None:
        self._facts = facts
        self._judge_text = judge_text
        self._is_command = facts.command is not None and facts.tool == SHELL_TOOL
        self._seen: tuple[Rule, ...] = ()
        self._texts: tuple[str, ...] | None = None

    def touched_by(self, rule: FileRule) -> Decision | None:
        """What a rule that restricts says of the call or a part of it: its decision, ASK where that can't be known."""
        if rule.is_whole:
            return rule.decision
        if self._facts.tool in _STAND_FOR and self._facts.tool not in rule.tools and "*" not in rule.tools:
            return Decision.ASK  # what it does can't be told from its arguments
        if rule.pattern is not None:
            if any(rule.pattern.search(text) for text in self._arguments()):
                return rule.decision
            never = (Rule(SHELL_TOOL, Decision.DENY, ("\0",)),)  # what can't be read may be anything
            return Decision.ASK if self._is_command and self._gate(never) is Decision.ASK else None
        gate = self._gate(rule.prefixes)
        return rule.decision if gate is Decision.DENY else gate if gate is Decision.ASK else None

    def covered_by(self, rule: FileRule) -> bool:
        """Whether the rule, with those above it, answers for all of the call."""
        if rule.is_whole:
            return True
        if rule.pattern is not None:
            texts = self._arguments()
            parts = texts[1:] if self._is_command and len(texts) > 1 else texts[:1]
            return all(rule.pattern.search(text) for text in parts)
        self._seen += rule.prefixes
        return self._is_command and self._judge_text(self._seen, ()).gate is Decision.ALLOW

    def _gate(self, rules: tuple[Rule, ...]) -> Decision:
        return self._judge_text(None, rules).gate

    def _arguments(self) -> tuple[str, ...]:
        """The arguments as JSON; of a chain of commands, then each command's, as bash would read its words."""
        if self._texts is None:
            own = cast("dict[str, Any]", msgspec.to_builtins(self._facts.args) if self._facts.args is not None else {})
            if self._is_command:
                own["command"] = self._facts.command
            theirs = _THEIR_ARGUMENTS.get(self._facts.tool, {})
            every = own | {theirs[name]: value for name, value in own.items() if name in theirs}
            self._texts = tuple(_as_json(every | {"command": part} if part else every) for part in ("", *self._parts()))
        return self._texts

    def _parts(self) -> list[str]:
        if not self._is_command:
            return []
        judged = self._judge_text(None, ())
        return [shlex.join(command.words) for command in judged.commands]


class _Fields:
    """The fields of a rule, each taken once and checked. Raises `RestrictionError`."""

    def __init__(self, fields: Mapping[str, Any], source: str) -> None:
        self._left = dict(fields)
        self._source = source

    def take(self, name: str) -> Any:
        return self._left.pop(name, None)

    def _wrong(self, name: str, takes: str, value: object) -> RestrictionError:
        return RestrictionError(
            self._source, told("{name} takes {takes}, not {value!r}", name=name, takes=takes, value=value)
        )

    def _needed(self, name: str) -> Any:
        if name not in self._left:
            raise RestrictionError(self._source, told("{name} is missing", name=name))
        return self.take(name)

    def text(self, name: str) -> str:
        value = self.take(name)
        if value is None or (isinstance(value, str) and value):
            return value or ""
        raise self._wrong(name, told("a text"), value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.take(name)
        values = cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]
        if all(isinstance(each, str) and each for each in values) and value != []:
            return tuple(values)
        raise self._wrong(name, told("a text, or a list of them"), cast("object", value))

    def one_of(self, name: str, choices: Mapping[str, Decision]) -> Decision:
        value = self._needed(name)
        if isinstance(value, str) and value in choices:
            return choices[value]
        raise self._wrong(name, ", ".join(choices), value)

    def number(self, name: str) -> int:
        value = self._needed(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 999:
            return value
        raise self._wrong(name, told("a whole number from 0 to 999"), value)

    def flag(self, name: str) -> bool | None:
        value = self.take(name)
        if value is None or isinstance(value, bool):
            return value
        raise self._wrong(name, "true, false", value)

    def modes(self) -> list[ApprovalMode]:
        names = self.texts("modes") if self._left.get("modes") else ()
        self._left.pop("modes", None)
        for name in names:
            if name not in _MODES:
                raise self._wrong("modes", ", ".join(_MODES), name)
        return [_MODES[name] for name in names]

    def check_all_was_read(self) -> None:
        for name in self._left:
            raise RestrictionError(self._source, told("{name} isn't understood", name=name))


def _stricter(found: Judged, new: Judged) -> Judged:
    if new.decision is None or (found.decision and strictest(found.decision, new.decision) is found.decision):
        return found
    return new


def _said(rule: FileRule, decision: Decision | None) -> Judged:
    if decision is None:
        return Judged()
    if rule.message and decision is Decision.DENY:
        return Judged(decision, told("{source}: {message}", source=rule.source, message=rule.message))
    verb = told("denies it") if decision is Decision.DENY else told("asks first")
    return Judged(decision, told("{source} {verb}", source=rule.source, verb=verb))


def _matches(pattern: str, spellings: set[str], *, is_remote: bool) -> bool:
    """Whether a name with a wildcard stands for the tool: `*` for any, `mcp_...` for those of MCP servers."""
    if "*" not in pattern:
        return is_remote and pattern.startswith("mcp_") and "mcp_" + _plain(pattern[4:]) in spellings
    if pattern == "*":
        return True
    any_text = ".*".join(re.escape(_plain(part, strip=False)) for part in pattern.split("*"))
    return any(re.fullmatch(any_text, name) for name in spellings if is_remote == pattern.startswith("mcp_"))


def _plain(name: str, *, strip: bool = True) -> str:
    """Return a server's or a tool's name without what different programs make different signs of."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name)
    return plain.strip("_") if strip else plain


def _within_quotes(regex: str, decision: Decision) -> str:
    """Write ends of the command as what stands there in the arguments, where the rule restricts.

    Gemini CLI looks for `^` and `$` as they are within the arguments, and finds them never: so does a rule that allows.
    """
    if decision is Decision.ALLOW:
        return regex
    inner = regex.removeprefix("^")
    is_end = inner.endswith("$") and (len(inner) - len(inner[:-1].rstrip("\\"))) % 2 == 1
    return f'{inner[:-1]}"' if is_end else inner


def _compiled(pattern: str, source: str) -> Pattern | None:
    compiled = compile_pattern(pattern) if pattern else None
    if pattern and compiled is None:
        raise RestrictionError(
            source, told("{pattern!r} isn't a regular expression, or may take forever", pattern=pattern)
        )
    return compiled


def _as_json(arguments: Mapping[str, Any]) -> str:
    """Write the arguments as Gemini CLI does: keys sorted, a NUL on both sides of each at the top."""
    pairs = (
        f"\0{msgspec.json.encode(name).decode()}:{msgspec.json.encode(value, order='sorted').decode()}\0"
        for name, value in sorted(arguments.items())
        if value is not None
    )
    return "{" + ",".join(pairs) + "}"
