"""May this call run? A pure function of the call, the rules and the approval mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogu.contract.tool import Kind
from dogu.contract.tool_names import CONTAINED_COMMANDS, SHELL_TOOL
from dogu.language import sentence, told
from dogu.policy.rule import Rule
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode, CallFacts, Decision, Judgement, Verdict, strictest

if TYPE_CHECKING:
    from dogu.policy.file_rules import Judged
    from dogu.policy.parsed_text import ParsedText

_MOST_NAMED = 20  # rules that a refusal names
_KINDS = {
    Kind.READ: sentence("read"),
    Kind.SEARCH: sentence("search"),
    Kind.EDIT: sentence("edit"),
    Kind.EXECUTE: sentence("execute"),
    Kind.FETCH: sentence("fetch"),
    Kind.THINK: sentence("think"),
    Kind.OTHER: sentence("other"),
}


def decide(facts: CallFacts, rules: Rules, mode: ApprovalMode) -> Verdict:
    """Judge the call: first the gate (the restrictions, and the command itself), then rules and mode."""
    text = parsed(facts)
    judged = gate_of(facts, rules, text, mode)
    if judged.gate is Decision.DENY:
        commands = tuple(judged.commands)
        return Verdict(Decision.DENY, Decision.DENY, judged.reason, None, commands, judged.is_unreadable)
    by_files = _judged_by_files(facts, rules, mode, text)
    if by_files is not None and by_files.decision not in (None, Decision.ALLOW):
        judged = _with(judged, by_files)
        if judged.gate is Decision.DENY:
            return Verdict(Decision.DENY, Decision.DENY, judged.reason, None, tuple(judged.commands))
    decision, reason = _allowance(facts, rules, mode, text)
    if decision is Decision.ASK and by_files is not None and by_files.decision is Decision.ALLOW:
        decision, reason = Decision.ALLOW, by_files.reason
    decision = strictest(judged.gate, decision)
    if judged.gate is Decision.ASK and decision is Decision.ASK:
        reason = judged.reason
    return Verdict(decision, judged.gate, reason, commands=tuple(judged.commands))


def refusal(verdict: Verdict, rules: Rules) -> str:
    """Make the sentence of a refusal, for the model: why, and what may be done instead."""
    if verdict.is_unreadable:
        return told("Refused: {reason}. Nothing was run. Fix the command, and call again.", reason=verdict.reason)
    allowed = [" ".join(rule.words or ()) for rule in rules.shell_core() or () if verdict.commands]
    if not allowed:
        return told("Refused: {reason}. Nothing was run. Don't try it in another spelling.", reason=verdict.reason)
    named = ", ".join(allowed[:_MOST_NAMED]) + (", ..." if len(allowed) > _MOST_NAMED else "")
    return told(
        "Refused: {reason}. Nothing was run. Don't try it in another spelling. What may run: {allowed}.",
        reason=verdict.reason,
        allowed=named,
    )


def gate_of(
    facts: CallFacts, rules: Rules, text: ParsedText | None = None, mode: ApprovalMode = ApprovalMode.DEFAULT
) -> Judgement:
    """Judge the call; `text` is its command, where it was parsed before.

    Of the modes only yolo counts here, for a command that can't be read, where no list restricts commands and the user
    has switched the sandbox off: then `eval` runs, and refusing what it stands for would be no gain.
    """
    if rules.is_excluded(facts.tool) or (facts.is_built_in and not rules.tool_exists(facts.tool)):
        return Judgement(Decision.DENY, rules.why_missing(facts.tool))
    judged = Judgement(Decision.ALLOW, "")
    if facts.command is not None and facts.tool == SHELL_TOOL:
        may_edit = mode is ApprovalMode.AUTO_EDIT
        core, exclude = rules.shell_core(), rules.shell_exclude()
        is_free = core is None and not exclude
        if is_free and mode not in (ApprovalMode.PLAN, ApprovalMode.YOLO):
            core = _commands_allowed(facts, rules) or None
        judged = judge_text(facts, core, exclude, text, may_edit=may_edit)
        if is_free and core is not None and judged.gate is not Decision.ALLOW:  # what they allow needs no other look
            judged = judge_text(facts, None, exclude, text, may_edit=may_edit)
        may_be_unknown = facts.is_contained or (rules.runs_unknown and mode is ApprovalMode.YOLO)
        if may_be_unknown and is_free and judged.gate is Decision.ASK:  # what can't be read can't leave, either
            judged = Judgement(Decision.ALLOW, "", judged.commands)
    reasons = facts.always_ask
    if rules.asked and _is_among(facts, rules.asked, text):
        reasons = (*reasons, told("the settings require confirmation (tools.confirmationRequired)"))
    if reasons and judged.gate is Decision.ALLOW:
        return Judgement(Decision.ASK, "; ".join(reasons), judged.commands)
    return judged


def _with(judged: Judgement, by_files: Judged) -> Judgement:
    """Return the stricter of both; of two questions the one that was there, which knows more of the call."""
    decision = by_files.decision or Decision.ALLOW
    if strictest(judged.gate, decision) is judged.gate:
        return judged
    return Judgement(decision, by_files.reason, judged.commands)


def _is_among(facts: CallFacts, rules: tuple[Rule, ...], text: ParsedText | None) -> bool:
    """Whether the rules name the tool, or may name a part of its command."""
    own = tuple(rule for rule in rules if rule.names(facts.tool))
    if any(rule.words is None for rule in own):
        return True
    return bool(own) and facts.command is not None and judge_text(facts, None, own, text).gate is not Decision.ALLOW


def _judged_by_files(facts: CallFacts, rules: Rules, mode: ApprovalMode, text: ParsedText | None) -> Judged | None:
    if not rules.files:
        return None
    from dogu.policy.file_rules import judge_by_files

    return judge_by_files(facts, rules.files, mode, lambda core, exclude: judge_text(facts, core, exclude, text))


def _allowance(facts: CallFacts, rules: Rules, mode: ApprovalMode, text: ParsedText | None) -> tuple[Decision, str]:
    """What remembered rules and the mode say of a call that passed the gate."""
    acts = not facts.kind.changes_nothing or (facts.has_question and not facts.is_built_in)
    if mode is ApprovalMode.PLAN and facts.is_contained:
        return Decision.ALLOW, told("in the sandbox, where the workspace is read-only in approval mode plan")
    if mode is ApprovalMode.PLAN and acts:
        return Decision.DENY, told("in approval mode plan only reading is allowed")
    if mode is ApprovalMode.YOLO:
        return Decision.ALLOW, told("approval mode yolo")
    if facts.kind.changes_nothing and not facts.has_question:
        return Decision.ALLOW, told("a tool of kind {kind} changes nothing", kind=(_KINDS[facts.kind],))
    if _is_allowed(facts, rules, text, may_edit=mode is ApprovalMode.AUTO_EDIT):
        return Decision.ALLOW, told("allowed by a rule")
    if facts.is_contained and (mode is ApprovalMode.AUTO_EDIT or _are_contained_allowed(rules)):
        return Decision.ALLOW, told("what it does can't leave the sandbox")
    if mode is ApprovalMode.AUTO_EDIT and facts.kind is Kind.EDIT:
        return Decision.ALLOW, told("approval mode auto_edit")
    return Decision.ASK, told("{mode} mode asks before {kind} tools", mode=mode, kind=(_KINDS[facts.kind],))


def _is_allowed(facts: CallFacts, rules: Rules, text: ParsedText | None, *, may_edit: bool) -> bool:
    if any(rule.words is None and rule.names(facts.tool) for rule in rules.allowed):
        return True
    own = _commands_allowed(facts, rules)
    return bool(own) and judge_text(facts, own, (), text, may_edit=may_edit).gate is Decision.ALLOW


def _commands_allowed(facts: CallFacts, rules: Rules) -> tuple[Rule, ...]:
    """The rules that allow some of a tool's commands; none where the tool has none, or is allowed as a whole."""
    own = tuple(rule for rule in rules.allowed if rule.names(facts.tool))
    return () if facts.command is None or any(rule.words is None for rule in own) else own


def _are_contained_allowed(rules: Rules) -> bool:
    return any(rule.tool == CONTAINED_COMMANDS and rule.words is None for rule in rules.allowed)


def parsed(facts: CallFacts) -> ParsedText | None:
    """The call's text for bash, to be parsed once; None for other calls."""
    if facts.command is None or facts.shell != "bash":
        return None
    from dogu.policy.parsed_text import ParsedText

    if isinstance(facts.text, ParsedText) and facts.text.text == facts.command:
        return facts.text
    return ParsedText(facts.command)


def judge_text(
    facts: CallFacts,
    core: tuple[Rule, ...] | None,
    exclude: tuple[Rule, ...],
    read: ParsedText | None = None,
    *,
    may_edit: bool = False,
) -> Judgement:
    """Judge the call's text as the shell that would read it. `may_edit`: it may write what the tools that edit may."""
    text = facts.command or ""
    if facts.shell != "bash":
        from dogu.policy.commands.cmd_exe import judge_for_cmd, judge_for_powershell

        return (judge_for_cmd if facts.shell == "cmd" else judge_for_powershell)(text, core, exclude)
    from dogu.policy.commands.effects import Surroundings
    from dogu.policy.commands.judge import judge_command
    from dogu.policy.parsed_text import Judged, ParsedText

    read = read or ParsedText(text)
    known = read.judged_by(core, exclude, may_edit=may_edit, place=facts.place)
    if known is None:
        around = Surroundings(facts.place, may_edit)
        known = judge_command(read, core, exclude, around)
        read.judged.append(Judged(core, exclude, may_edit, facts.place, around.looked.happened, known))
    return known
