"""May this call run? A pure function of the call, the rules and the approval mode."""

from __future__ import annotations

from dogu.contract.tool import Kind
from dogu.policy.mode import ApprovalMode
from dogu.policy.rules import Rules
from dogu.policy.verdict import CallFacts, Decision, Verdict, strictest


def decide(facts: CallFacts, rules: Rules, mode: ApprovalMode) -> Verdict:
    """Judge the call; the strictest of gate and mode wins."""
    gate, reason = _gate(facts, rules)
    if gate is not Decision.ALLOW:
        return Verdict(gate, gate, reason)
    allowed = any(rule.tool == facts.tool and rule.words is None for rule in rules.allowed)
    decision, reason = (Decision.ALLOW, "allowed by a rule") if allowed else _by_mode(facts.kind, mode)
    return Verdict(strictest(gate, decision), gate, reason)


def _gate(facts: CallFacts, rules: Rules) -> tuple[Decision, str]:
    if not rules.tool_exists(facts.tool):
        return Decision.DENY, f"{facts.tool} is not among the tools the settings allow"
    if facts.command is not None and not facts.command.strip():
        return Decision.DENY, "the command is empty"
    restricted = [rule for rule in (*(rules.core or ()), *rules.exclude) if rule.tool == facts.tool and rule.words]
    if facts.command is not None and restricted:
        return Decision.DENY, f"the command can't be judged against {restricted[0].text}"
    if facts.always_ask:
        return Decision.ASK, "; ".join(facts.always_ask)
    return Decision.ALLOW, ""


def _by_mode(kind: Kind, mode: ApprovalMode) -> tuple[Decision, str]:
    if mode is ApprovalMode.YOLO:
        return Decision.ALLOW, "approval mode yolo"
    if kind.changes_nothing:
        return Decision.ALLOW, f"a tool of kind {kind} changes nothing"
    if mode is ApprovalMode.PLAN:
        return Decision.DENY, "approval mode plan: reads only"
    if mode is ApprovalMode.AUTO_EDIT and kind is Kind.EDIT:
        return Decision.ALLOW, "approval mode auto_edit"
    return Decision.ASK, f"approval mode {mode} asks before a tool of kind {kind}"
