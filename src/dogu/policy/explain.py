"""Gate, verdict and why, for a user and for scripts: `dogu policy explain`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from dogu.contract.tool import Kind
from dogu.contract.tool_names import SHELL_TOOL
from dogu.language import say, sentence
from dogu.policy.decide import decide
from dogu.policy.rule import RestrictionError
from dogu.policy.rules import Rules
from dogu.policy.verdict import ApprovalMode, CallFacts, Decision, Place, Verdict
from dogu.workspace.columns import padded, width
from dogu.workspace.system import DEFAULT_SHELL

_DECISIONS = {
    Decision.DENY: sentence("deny"),
    Decision.ASK: sentence("ask"),
    Decision.ALLOW: sentence("allow"),
}


def explain(
    command: str,
    rules: Rules,
    mode: ApprovalMode,
    platform: str | None = None,
    shell: str = DEFAULT_SHELL,
    place: Place | None = None,
) -> Verdict:
    """Judge a command as a call of the shell tool in a `shell`; of a `platform` ("posix", "windows") in its own.

    `place` is where it would be run, if that is known.
    """
    facts = CallFacts(SHELL_TOOL, Kind.EXECUTE, command, shell=shell, place=place)
    if platform is not None:
        facts = msgspec.structs.replace(facts, shell="cmd" if platform == "windows" else "bash")
    return decide(facts, rules, mode)


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return `{gate, verdict, reason, commands: [{words, rule, verdict, reason}]}`."""
    commands = [
        {"words": list(each.words), "rule": each.rule, "verdict": str(each.verdict), "reason": each.reason}
        for each in verdict.commands
    ]
    return {
        "gate": str(verdict.gate),
        "verdict": str(verdict.decision),
        "reason": verdict.reason,
        "commands": commands,
    }


def verdict_text(verdict: Verdict) -> str:
    """Return the same for a user, a line a simple command."""
    words = {decision: _words(decision) for decision in Decision}
    widest = max(map(width, words.values()))
    lines = [
        say(
            "verdict: {verdict}  (restrictions alone: {gate})",
            verdict=words[verdict.decision],
            gate=words[verdict.gate],
        ),
        say("because: {reason}", reason=say(verdict.reason)),
    ]
    for each in verdict.commands:
        rule = f"  [{each.rule}]" if each.rule else ""
        lines.append(f"  {padded(words[each.verdict], widest)} {' '.join(each.words)}{rule}: {say(each.reason)}")
    return "\n".join(lines)


def limit_of_exclusions(rules: Rules, verdict: Verdict) -> str:
    """Say what excluding commands can't promise, where that alone restricts them and let this one pass; else ''."""
    by_files = any(rule.prefixes and rule.decision is Decision.DENY for rule in rules.files)
    excludes = bool(rules.shell_exclude()) or by_files
    if not excludes or rules.shell_core() is not None or verdict.gate is Decision.DENY:
        return ""
    return say(
        "Excluding refuses commands, however they are written, and not what they do: another program, a script or an "
        "interpreter may do the same. tools.core says what may run at all."
    )


def _words(decision: Decision) -> str:
    """Return the decision in the user's language, with its English key where that is another word."""
    said = say(_DECISIONS[decision])
    return said if said == decision else f"{said} ({decision})"


def explain_lines(
    lines: Iterable[bytes], rules: Rules, mode: ApprovalMode, place: Place | None = None
) -> Iterator[dict[str, Any]]:
    """Judge rows `{id?, command, coreTools?, excludeTools?, approvalMode?, platform?}`, one answer each, in order.

    A list that is left out is the one in force (`rules`), null is none. A row that can't be read, or a restriction that
    can't be understood, is answered with the gate `deny` and an `error`.
    """
    for line in lines:
        if not line.strip():
            continue
        row: dict[str, Any] = {}
        try:
            row = _row(line)
            verdict = explain(
                _command_of(row), _rules_of(row, rules), _mode_of(row, mode), _platform_of(row), place=place
            )
            found = verdict_json(verdict)
        except (ValueError, TypeError, RestrictionError) as error:
            found = {**verdict_json(Verdict(Decision.DENY, Decision.DENY, str(error))), "error": str(error)}
        yield {"id": row.get("id"), **found}


def _row(line: bytes) -> dict[str, Any]:
    try:
        row: object = json.loads(line)
    except RecursionError as error:
        raise ValueError("the row is nested too deep") from error
    if not isinstance(row, dict):
        raise TypeError("a row is an object: {id?, command, coreTools?, excludeTools?, approvalMode?}")
    return cast("dict[str, Any]", row)


def _command_of(row: dict[str, Any]) -> str:
    command = row.get("command")
    if not isinstance(command, str):
        raise ValueError('"command" is missing, or no text')  # noqa: TRY004  (it is the row that is wrong)
    return command


def _rules_of(row: dict[str, Any], rules: Rules) -> Rules:
    lists: dict[str, list[str] | None] = {}
    for key in ("coreTools", "excludeTools"):
        value = row.get(key)
        if value is not None and (not isinstance(value, list) or not all(isinstance(each, str) for each in value)):  # pyright: ignore[reportUnknownVariableType]  (foreign JSON)
            raise ValueError(f'"{key}" is a list of texts, or null')
        lists[key] = cast("list[str] | None", value)
    given = Rules.from_lists(lists["coreTools"], lists["excludeTools"])
    core = given.core if "coreTools" in row else rules.core
    exclude = given.exclude if "excludeTools" in row else rules.exclude
    return Rules(core, exclude, rules.allowed)


def _platform_of(row: dict[str, Any]) -> str | None:
    value = row.get("platform")
    if value not in (None, "posix", "windows"):
        raise ValueError('"platform" is "posix" or "windows", or left out')
    return value


def _mode_of(row: dict[str, Any], mode: ApprovalMode) -> ApprovalMode:
    value = row.get("approvalMode")
    return mode if value is None else ApprovalMode(value)
