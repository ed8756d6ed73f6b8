"""A fleet as one page: success by group, cost and time a task, failures by cause, every task one click away.

The page needs no other file and reaches nothing; the patches and sessions it links to lie beside it.
"""

from __future__ import annotations

import base64
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from html import escape

import msgspec

from dogu.agent.budget import usd
from dogu.fleet.compare import interval, succeeded
from dogu.fleet.report_page import SCRIPT, STYLE
from dogu.fleet.rows import Reason, Row
from dogu.fleet.store import Counts, Fleet
from dogu.language import LANGUAGES, say, spoken
from dogu.workspace.private_file import write_private_file
from dogu.workspace.truncation import cut_middle
from dogu.workspace.visible import visible_line

_NAME = "report.html"
_BARS = 24
_MOST_CAUSES = 50
_LONGEST_CAUSE_CHARS = 160
_WIDTH, _HEIGHT = 480, 120


class _Line(msgspec.Struct, array_like=True):
    """A task as the page's table has it."""

    id: str
    passed: bool | None
    reason: str
    group: str
    wall_s: float
    cost_usd: float | None
    requests: int
    tokens: int
    changed: str
    patch: str
    session: str
    message: str


def write_report(fleet: Fleet, path: str = "") -> str:
    """Write the page, by default into the fleet's folder; return its path. Raises OSError."""
    path = os.path.abspath(path) if path else fleet.place(_NAME)
    base = os.path.relpath(fleet.folder, os.path.dirname(path))
    write_private_file(path, page(fleet.counts(), list(fleet.rows()), base).encode("utf-8", "replace"))
    return path


def page(counts: Counts, rows: Sequence[Row], base: str = ".") -> str:
    """Return the page; links lead beneath `base`."""
    data = msgspec.json.encode([_line(row, base) for row in rows]).decode().replace("<", "\\u003c")
    words = msgspec.json.encode(_words()).decode().replace("<", "\\u003c")
    script = f"const rows = {data};\nconst words = {words};\n{SCRIPT}"
    allowed = base64.b64encode(sha256(script.encode("utf-8", "replace")).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{allowed}'"
    title, search = escape(say("Fleet")), escape(say("Search"))
    return f"""<!DOCTYPE html>
<html lang="{spoken() if spoken() in LANGUAGES else "en"}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title} · dogu</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
</head>
<body>
<header><h1>{title}</h1>{_summary(counts, rows)}</header>
<main>
{_groups(rows)}
<section class="plots">
{_plot(say("Seconds per task"), [row.wall_s for row in rows], lambda value: f"{value:.1f} s")}
{_plot(say("Cost per task"), [row.cost_usd for row in rows if row.cost_usd is not None], usd)}
</section>
{_causes(rows)}
<section><h2>{escape(say("Tasks"))}</h2>
<div class="controls"><input id="search" type="search" aria-label="{search}" placeholder="{search}">
<select id="state" aria-label="{escape(say("Result"))}"></select></div>
<div class="table"><table><thead><tr id="head"></tr></thead><tbody id="body"></tbody></table></div>
<p class="controls"><button id="before" type="button">‹</button> <span id="place" aria-live="polite"></span>
<button id="after" type="button">›</button></p></section>
</main>
<script>{script}</script>
</body>
</html>
"""


def _words() -> dict[str, str]:
    return {
        "task": say("Task"),
        "result": say("Result"),
        "group": say("Group"),
        "time": say("Time"),
        "cost": say("Cost"),
        "requests": say("Requests"),
        "tokens": say("Tokens"),
        "changed": say("Changed"),
        "patch": say("patch"),
        "session": say("session"),
        "all": say("all"),
        "passed": say("passed"),
        "failed": say("failed"),
        "unchecked": say("without a check"),
        "place": say("{first}-{last} of {count}", first="{first}", last="{last}", count="{count}"),
        "sort": say("Sort by {column}", column="{column}"),
    }


def _line(row: Row, base: str) -> _Line:
    changed = f"+{row.patch.added} -{row.patch.removed}" if row.patch.files else ""
    folder = os.path.join(base, "tasks", row.id)
    return _Line(
        row.id,
        row.passed,
        str(row.reason),
        row.group,
        round(row.wall_s, 1),
        row.cost_usd,
        row.requests,
        row.usage.total,
        changed,
        os.path.join(base, row.patch.file) if row.patch.file else "",
        os.path.join(folder, "session.html") if row.session else "",
        cut_middle(visible_line(row.message or _check_of(row)), _LONGEST_CAUSE_CHARS),
    )


def _check_of(row: Row) -> str:
    return f"check: {row.check.ending}" if row.check is not None and row.check.exit_code else ""


def _summary(counts: Counts, rows: Sequence[Row]) -> str:
    good = sum(map(succeeded, rows))
    facts = [
        say("{done} of {total} tasks done", done=counts.done, total=counts.total),
        say("{passed} passed, {failed} failed", passed=counts.passed, failed=counts.failed),
        say("success {rate}", rate=_rate(good, len(rows))),
        say("cost {cost}", cost=usd(counts.cost_usd)),
        say("{tokens} tokens", tokens=f"{sum(row.usage.total for row in rows):,}"),
    ]
    models = ", ".join(sorted({row.model for row in rows if row.model}))
    return f"<p>{escape(' · '.join(facts))}</p><p class=dim>{escape(models)}</p>"


def _rate(good: int, count: int) -> str:
    low, high = interval(good, count)
    return f"{good / count:.1%} ({low:.0%}-{high:.0%})" if count else "-"


def _groups(rows: Sequence[Row]) -> str:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    if len(groups) < 2:
        return ""
    lines = [_group(name or "-", members) for name, members in sorted(groups.items())]
    return f"<section><h2>{escape(say('Success by group'))}</h2><table class=groups>{''.join(lines)}</table></section>"


def _group(name: str, rows: Sequence[Row]) -> str:
    good = sum(map(succeeded, rows))
    low, high = interval(good, len(rows))
    rate = good / len(rows)
    bar = (
        f'<svg viewBox="0 0 200 16" role="img" aria-label="{rate:.0%}">'
        '<rect class="all" width="200" height="16" rx="3"/>'
        f'<rect class="good" width="{200 * rate:.1f}" height="16" rx="3"/>'
        f'<line class="range" x1="{200 * low:.1f}" x2="{200 * high:.1f}" y1="8" y2="8"/></svg>'
    )
    return f"<tr><th>{escape(name)}</th><td>{bar}</td><td>{_rate(good, len(rows))} ·&nbsp;{len(rows)}</td></tr>"


def _plot(title: str, values: Sequence[float], shown: Callable[[float], str]) -> str:
    """A histogram, from nothing to the largest."""
    if not values or max(values) <= 0:
        return ""
    most = max(values)
    counts = Counter(min(_BARS - 1, int(value / most * _BARS)) for value in values)
    tallest, wide = max(counts.values()), _WIDTH / _BARS

    def bar(number: int, count: int) -> str:
        height, about = _HEIGHT * count / tallest, escape(shown(most * number / _BARS))
        place = f'x="{number * wide + 1:.1f}" y="{_HEIGHT - height:.1f}" width="{wide - 2:.1f}" height="{height:.1f}"'
        return f"<rect {place}><title>{about}: {count}</title></rect>"

    bars = "".join(bar(number, count) for number, count in sorted(counts.items()))
    middle = sorted(values)[len(values) // 2]
    about = say("median {middle}, most {most}", middle=shown(middle), most=shown(most))
    return (
        f'<figure><figcaption>{escape(title)} <span class="dim">{escape(about)}</span></figcaption>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(f"{title}: {about}")}">{bars}</svg>'
        "</figure>"
    )


def _causes(rows: Iterable[Row]) -> str:
    causes = Counter(_cause(row) for row in rows if not succeeded(row))
    if not causes:
        return ""
    lines = "".join(
        f"<tr><td>{count}</td><td>{escape(reason)}</td><td>{escape(why)}</td></tr>"
        for (reason, why), count in causes.most_common(_MOST_CAUSES)
    )
    return f"<section><h2>{escape(say('Failures by cause'))}</h2><table class=causes>{lines}</table></section>"


def _cause(row: Row) -> tuple[str, str]:
    """Why it failed, without what differs between tasks that failed alike."""
    why = visible_line(row.message.split("\n", 1)[0])
    if not why and row.check is not None:
        lines = row.check.output.strip().splitlines()
        why = visible_line(lines[-1]) if lines else row.check.ending
    reason = say("failed") if row.reason is Reason.DONE else str(row.reason)  # the agent was done, the check wasn't
    alike = re.sub(rf"(?<![\w-]){re.escape(row.id)}(?![\w-])", "…", why)  # as a word
    return reason, cut_middle(alike, _LONGEST_CAUSE_CHARS)
