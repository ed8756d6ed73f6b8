"""The policy of one session: the rules that were written, and those the user added by answering "always"."""

from __future__ import annotations

import msgspec

from dogu.contract.tool_names import CONTAINED_COMMANDS
from dogu.policy.decide import decide, parsed, refusal
from dogu.policy.rule import KEPT, RestrictionError, Rule
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode, CallFacts, Decision, Verdict
from dogu.workspace.private_file import changing_json, read_json


class Policy:
    """Decides calls; `mode` may be changed while the session lives. With `remembered`, "always" outlives it.

    Without `offers_always` nothing is answered for good.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        mode: ApprovalMode = ApprovalMode.DEFAULT,
        remembered: RememberedRules | None = None,
        *,
        offers_always: bool = True,
    ) -> None:
        self._rules = rules or Rules()
        self.mode = mode
        self._remembered = remembered
        self.offers_always = offers_always
        if remembered is not None:
            self._rules = msgspec.structs.replace(self._rules, allowed=(*self._rules.allowed, *remembered.load()))

    @property
    def rules(self) -> Rules:
        """The rules in force, remembered ones among them."""
        return self._rules

    def with_text(self, facts: CallFacts) -> CallFacts:
        """Add to the facts what will be read in the command: once, however often it is judged."""
        return msgspec.structs.replace(facts, text=parsed(facts))

    def decide(self, facts: CallFacts) -> Verdict:
        """Judge one call."""
        return decide(facts, self._rules, self.mode)

    def refusal(self, verdict: Verdict) -> str:
        """Make the sentence of a refusal, for the model: why, and what may be done instead."""
        return refusal(verdict, self._rules)

    def narrow_rule(self, facts: CallFacts) -> Rule | None:
        """Return the narrowest rule that would allow this call from now on; show it before it is saved.

        For a command that can't leave the sandbox it is all such commands: no word of it makes it more or less safe.
        """
        if not self.offers_always:
            return None
        if facts.is_contained and not facts.always_ask:
            return self._sourced(Rule(CONTAINED_COMMANDS, Decision.ALLOW, source="session"))
        from dogu.policy.narrow import narrow_rule

        rule = narrow_rule(facts)
        return None if rule is None else self._sourced(rule)

    def _sourced(self, rule: Rule) -> Rule:
        """Let the rule know whether it will be kept."""
        return rule if self._remembered is None else msgspec.structs.replace(rule, source=KEPT)

    def remember(self, rule: Rule) -> None:
        """Let the rule hold from now on: commands' in later sessions too, a tool's in this one."""
        rules = rule.parts or (rule,)
        self._rules = msgspec.structs.replace(self._rules, allowed=(*self._rules.allowed, *rules))
        for each in rules if self._remembered is not None else ():
            outlives = each.words is not None or each.tool == CONTAINED_COMMANDS
            if self._remembered is not None and outlives:
                self._remembered.add(each)


class RememberedRules:
    """The rules kept for one root in a file that the user can read: `{"/root": ["run_shell_command(ls)"]}`.

    Processes that write at once don't lose one another's.
    """

    def __init__(self, path: str, root: str) -> None:
        self._path = path
        self._root = root

    def load(self) -> tuple[Rule, ...]:
        """Return the rules; an entry that can't be understood is left out, which only means one more question."""
        found: list[Rule] = []
        for entry in read_json(self._path, dict[str, list[str]]).get(self._root, []):
            try:
                found.append(Rule.parse(entry, Decision.ALLOW, self._path))
            except RestrictionError:
                continue
        return tuple(found)

    def add(self, rule: Rule) -> None:
        """Keep one more rule."""
        with changing_json(self._path, dict[str, list[str]], indent=2) as kept:
            entries = kept.setdefault(self._root, [])
            if rule.text not in entries:
                entries.append(rule.text)
