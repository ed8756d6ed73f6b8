"""The policy of one session: the rules that were written, and those the person added by answering "always"."""

from __future__ import annotations

from dataclasses import replace

from dogu.policy.decide import decide
from dogu.policy.mode import ApprovalMode
from dogu.policy.rules import Rule, Rules
from dogu.policy.verdict import CallFacts, Decision, Verdict


class Policy:
    """Decides calls; `mode` may be changed while the session lives."""

    def __init__(self, rules: Rules | None = None, mode: ApprovalMode = ApprovalMode.DEFAULT) -> None:
        self._rules = rules or Rules()
        self.mode = mode

    @property
    def rules(self) -> Rules:
        """The rules in force, remembered ones among them."""
        return self._rules

    def decide(self, facts: CallFacts) -> Verdict:
        """Judge one call."""
        return decide(facts, self._rules, self.mode)

    def narrow_rule(self, facts: CallFacts) -> Rule | None:
        """Return the narrowest rule that would allow this call from now on; show it before it is saved."""
        if facts.always_ask or facts.command is not None:
            return None
        return Rule(facts.tool, Decision.ALLOW, source="session")

    def remember(self, rule: Rule) -> None:
        """Let the rule hold for the rest of the session."""
        self._rules = replace(self._rules, allowed=(*self._rules.allowed, rule))
