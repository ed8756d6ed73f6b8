"""Whether markup nests so deeply that parsing it would take very long: the parser looks at all open elements again
for each new one, so that 200,000 open ones cost minutes."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)")
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_END_THEMSELVES = frozenset("p li dt dd tr td th tbody thead tfoot option optgroup colgroup rt rp".split())
_FORMATTING = frozenset("a b big code em font i nobr s small strike strong tt u".split())
_BOUNDS = frozenset("table td th caption template object marquee applet svg math html button".split())
_MOST_WORK = 30_000_000
_MOST_REPEATED = 3_000_000
_MOST_LOOKED_AT = 50


def is_nested_too_deeply(markup: str) -> bool:
    """Estimate the work, rather too high than too low: an end tag closes only what it certainly does."""
    opened: list[str] = []
    work = repeated = formatting = 0
    for match in _TAG.finditer(markup):
        name = match[2].lower()
        work += len(opened)
        repeated += formatting
        if work > _MOST_WORK or repeated > _MOST_REPEATED:
            return True
        if name in _VOID or name in _END_THEMSELVES:
            continue
        if not match[1]:
            opened.append(name)
            formatting += name in _FORMATTING
        elif (at := _closed(opened, name)) is not None:
            formatting -= sum(closed in _FORMATTING for closed in opened[at:]) if formatting else 0
            del opened[at:]
    return False


def _closed(opened: list[str], name: str) -> int | None:
    """Return where the element stands that an end tag closes; None when it closes none for certain."""
    for at in range(len(opened) - 1, max(-1, len(opened) - _MOST_LOOKED_AT), -1):
        if opened[at] == name:
            return at
        if opened[at] in _BOUNDS:
            return None
    return None
