"""A whole session as one file: a page for people that needs nothing else, or JSON for programs."""

from __future__ import annotations

import base64
import os
import stat
import time
from collections.abc import Callable
from hashlib import sha256
from html import escape

import msgspec

from dogu.agent.session.lines import parse_line, raw_lines
from dogu.agent.session.record import RecordSummary, read_record, record_file
from dogu.language import LANGUAGES, say, spoken
from dogu.runtime.session_folder import StoredSession
from dogu.serve.record import session_json, summary_of
from dogu.serve.session_page import SessionItems
from dogu.serve.session_page_style import SCRIPT, STYLE
from dogu.serve.trajectory import trajectory_of
from dogu.serve.wire import to_line
from dogu.workspace import fs
from dogu.workspace.visible import make_visible, visible_line

Write = Callable[[str], object]


def export_html(stored: StoredSession, write: Write) -> None:
    """Write the session as one page: no other file, no network; its only script is the search. Raises OSError."""
    title = visible_line(summary_of(stored).first_prompt or stored.session_id)
    write(_head(title))
    write(_heading(stored, summary_of(stored), title))
    items = SessionItems(write)
    for recorded in read_record(stored.path):
        items.event(recorded.event, recorded.time_s)
    items.end()
    write(f"</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")


def write_page(stored: StoredSession, path: str) -> None:
    """Write the page to a file that is its owner's alone, as the record is. Raises OSError."""
    with open(path, "w", encoding="utf-8", errors="backslashreplace", opener=open_private) as file:
        export_html(stored, file.write)


def open_private(path: str, flags: int) -> int:
    """Open for its owner alone, as the record is; also a file that was there before."""
    descriptor = fs.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        fs.fchmod(descriptor, 0o600)
    return descriptor


def export_json(stored: StoredSession, write: Write) -> None:
    """Write `{"session": {...}, "events": [{"seq", "kind", "time", "data"}, ...]}`. Raises OSError."""
    write('{"session":' + to_line(session_json(stored)) + ',"events":[')
    separator = "\n"
    for raw in raw_lines(record_file(stored.path)):
        line = parse_line(raw)
        if line is None:
            continue
        head = f'{{"seq":{line.seq},"kind":{msgspec.json.encode(line.kind).decode()},"time":{line.time}'
        write(f'{separator}{head},"data":{bytes(line.data).decode("utf-8", "replace")}}}')
        separator = ",\n"
    write("\n]}\n")


def export_atif(stored: StoredSession, write: Write) -> None:
    """Write the session as a trajectory that benchmarks read (ATIF). Raises OSError."""
    recorded = read_record(stored.path)
    write(to_line(trajectory_of(recorded, stored.session_id, summary_of(stored).model)) + "\n")


def _head(title: str) -> str:
    script = base64.b64encode(sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{script}'"
    return f"""<!DOCTYPE html>
<html lang="{_language()}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(title)} · dogu</title>
<style>{STYLE}</style>
</head>
<body>
"""


def _language() -> str:
    return spoken() if spoken() in LANGUAGES else "en"


def _heading(stored: StoredSession, summary: RecordSummary, title: str) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.first_s or stored.facts.began))
    counts = say(
        "{turns} turns, {calls} calls, {prompt} tokens in, {output} out",
        turns=len(summary.turns),
        calls=summary.calls,
        prompt=summary.usage.prompt,
        output=summary.usage.output,
    )
    about = " · ".join(part for part in (when, summary.model, stored.session_id) if part)
    rows = [about, ", ".join(stored.facts.roots), counts]
    shown = "".join(f"<p>{escape(make_visible(row, keep=''))}</p>" for row in rows)
    search = escape(say("Search this session"))
    return (
        f"<header><h1>{escape(title)}</h1>{shown}</header>\n"
        f'<input id="search" type="search" placeholder="{search}" aria-label="{search}">\n<main>\n'
    )
