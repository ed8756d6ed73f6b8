"""Which entries of the lists and of the policy's files match no tool: each was meant for something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from dogu.contract.tool_names import BUILT_IN_NAMES, OTHER_NAMES, is_of_server
from dogu.language import sentence, told
from dogu.policy.file_rules import FileRule
from dogu.policy.rules import ALLOWED, Rules
from dogu.policy.verdict import Decision

_EFFECTS = {
    Decision.DENY: sentence("so it forbids nothing"),
    Decision.ASK: sentence("so it has nothing asked about"),
    Decision.ALLOW: sentence("so it allows nothing"),
}


class KnownTools(msgspec.Struct, frozen=True):
    """The names of all tools; by alias, whether an MCP server has listed its own, None while it still may."""

    names: frozenset[str]
    servers: Mapping[str, bool | None] = {}

    def may_come(self, entry: str, server: str = "") -> bool:
        """Whether a tool of the entry's name may be one of a server that hasn't answered."""
        owners = [alias for alias in self.servers if is_of_server(f"mcp_{server}" if server else entry, alias)]
        if owners:
            return any(not self.servers[alias] for alias in owners)
        return any(answered is None for answered in self.servers.values())


class Unmatched(msgspec.Struct, frozen=True):
    """An entry with where it is written, and the sentence about it; `is_in_file`: it is a rule of a policy's file."""

    entry: tuple[str, str]
    sentence: str
    is_in_file: bool = False


def unmatched(rules: Rules, known: KnownTools) -> Iterator[Unmatched]:
    """Say which entries match none of the tools that are known, where none can come any more that they would."""
    written = [*rules.exclude, *rules.asked, *(rule for rule in rules.allowed if rule.source.startswith(ALLOWED))]
    for rule in written:
        is_known = rule.words is not None or rule.tool in BUILT_IN_NAMES or any(map(rule.names, known.names))
        if is_known or known.may_come(rule.tool):
            continue
        effect = _EFFECTS[rule.decision]
        sentence = told(
            "The entry {entry!r} of {source} matches no tool, {effect}.{hint}",
            entry=rule.tool,
            source=rule.source,
            effect=effect,
            hint=_hint(rule.tool, known),
        )
        yield Unmatched((rule.source, rule.tool), sentence)
    for rule in rules.files:
        yield from _unmatched_in_file(rule, known)


def _unmatched_in_file(rule: FileRule, known: KnownTools) -> Iterator[Unmatched]:
    for name in rule.tools:
        if (name == "*" or OTHER_NAMES.get(name, name) in BUILT_IN_NAMES) and not rule.server.strip("*"):
            continue
        alone = msgspec.structs.replace(rule, tools=(name,))
        if any(map(alone.names, known.names)) or known.may_come(name, rule.server.strip("*")):
            continue
        entry = f"{rule.server} {name}".strip()
        sentence = told(
            "{source} names {entry!r}, which matches no tool, {effect}.{hint}",
            source=rule.source,
            entry=entry,
            effect=_EFFECTS[rule.decision],
            hint=_hint(f"{rule.server}__{name}" if rule.server else name, known),
        )
        yield Unmatched((rule.source, entry), sentence, is_in_file=True)


def _hint(entry: str, known: KnownTools) -> str:
    from difflib import get_close_matches

    near = get_close_matches(entry, known.names, n=1, cutoff=0.6)
    return told(" Did you mean {near!r}?", near=near[0]) if near else ""
