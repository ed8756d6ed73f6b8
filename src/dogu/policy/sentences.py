"""The sentences of the policy's tables, for the catalogs of translations."""

from __future__ import annotations

from dogu.policy.commands.programs import ROWS


def policy_sentences() -> tuple[str, ...]:
    """Return every reason that a row gives, each once, sorted."""
    return tuple(sorted({row.reason for row in ROWS}))
