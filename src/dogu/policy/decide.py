"""May this call run? A pure function of the call, the rules and the approval mode."""

from __future__ import annotations

from dogu.contract.tool import Kind
from dogu.contract.tool_names import SHELL_TOOL
from dogu.language import sentence, told
from dogu.policy.mode import ApprovalMode
from dogu.policy.rules import Rule, Rules
from dogu.policy.verdict import CallFacts, Decision, Judgement, Verdict, strictest

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
    judged = gate_of(facts, rules)
    if judged.gate is Decision.DENY:
        return Verdict(Decision.DENY, Decision.DENY, judged.reason, commands=tuple(judged.commands))
    decision, reason = _allowance(facts, rules, mode)
    decision = strictest(judged.gate, decision)
    if judged.gate is Decision.ASK and decision is Decision.ASK:
        reason = judged.reason
    return Verdict(decision, judged.gate, reason, commands=tuple(judged.commands))


def gate_of(facts: CallFacts, rules: Rules) -> Judgement:
    """Judge the call whatever the approval mode."""
    if rules.is_excluded(facts.tool):
        return Judgement(Decision.DENY, told("The settings exclude {tool}.", tool=facts.tool))
    if rules.core is not None and facts.is_built_in and not rules.tool_exists(facts.tool):
        return Judgement(Decision.DENY, told("{tool} is not among the tools that the settings allow.", tool=facts.tool))
    judged = Judgement(Decision.ALLOW, "")
    if facts.command is not None and facts.tool == SHELL_TOOL:
        judged = judge_text(facts, rules.shell_core(), rules.shell_exclude())
    if facts.always_ask and judged.gate is Decision.ALLOW:
        return Judgement(Decision.ASK, "; ".join(facts.always_ask), judged.commands)
    return judged


def _allowance(facts: CallFacts, rules: Rules, mode: ApprovalMode) -> tuple[Decision, str]:
    """What remembered rules and the mode say of a call that passed the gate."""
    if mode is ApprovalMode.PLAN and not facts.kind.changes_nothing:
        return Decision.DENY, told("In approval mode plan only reading is allowed.")
    if mode is ApprovalMode.YOLO:
        return Decision.ALLOW, told("approval mode yolo")
    if facts.kind.changes_nothing:
        return Decision.ALLOW, told("a tool of kind {kind} changes nothing", kind=(_KINDS[facts.kind],))
    if _is_allowed(facts, rules):
        return Decision.ALLOW, told("allowed by a rule")
    if mode is ApprovalMode.AUTO_EDIT and facts.kind is Kind.EDIT:
        return Decision.ALLOW, told("approval mode auto_edit")
    return Decision.ASK, told(
        "approval mode {mode} asks before a tool of kind {kind}", mode=mode, kind=(_KINDS[facts.kind],)
    )


def _is_allowed(facts: CallFacts, rules: Rules) -> bool:
    own = [rule for rule in rules.allowed if rule.tool == facts.tool]
    if any(rule.words is None for rule in own):
        return True
    if facts.command is None or not own:
        return False
    return judge_text(facts, tuple(own), ()).gate is Decision.ALLOW


def judge_text(facts: CallFacts, core: tuple[Rule, ...] | None, exclude: tuple[Rule, ...]) -> Judgement:
    """Judge the call's text as the shell that would read it."""
    text = facts.command or ""
    if facts.shell == "cmd":
        from dogu.policy.commands.cmd_exe import judge_for_cmd

        return judge_for_cmd(text, core, exclude)
    from dogu.policy.commands.judge import judge_command

    return judge_command(text, core, exclude)
