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
from dogu.serve.trajectory import trajectory_of
from dogu.serve.wire import to_line
from dogu.workspace import fs
from dogu.workspace.visible import make_visible, visible_line

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1f2328; --dim: #59636e; --line: #d1d9e0; --box: #f6f8fa;
  --add: #dafbe1; --del: #ffebe9; --hunk: #ddf4ff; --bad: #c62828; --good: #1a7f37; --you: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --dim: #9198a1; --line: #3d444d;
  --box: #151b23; --add: #12361f; --del: #47181c; --hunk: #10233d; --bad: #ff7b72; --good: #3fb950; --you: #79c0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 64rem; background: var(--back); color: var(--text);
  font: 1rem/1.6 system-ui, "Noto Sans", "Noto Sans CJK JP", "Hiragino Sans", "Yu Gothic", "Malgun Gothic",
  "Microsoft YaHei", "PingFang SC", sans-serif; overflow-wrap: anywhere; }
header p, .dim, summary small { color: var(--dim); }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; color: var(--dim); border-top: 1px solid var(--line);
  padding-top: 1rem; margin-top: 2rem; }
pre { font: .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono CJK JP", monospace;
  white-space: pre-wrap; background: var(--box); border: 1px solid var(--line); border-radius: 6px;
  padding: .6rem .8rem; margin: .4rem 0; max-height: 40rem; overflow: auto; }
p.dim { white-space: pre-wrap; }
.text { white-space: pre-wrap; margin: .6rem 0; }
.prompt { white-space: pre-wrap; margin: .6rem 0; padding: .6rem .8rem; border-left: 4px solid var(--you);
  background: var(--box); }
details { margin: .4rem 0; } details details { margin-left: 1rem; }
summary { cursor: pointer; } summary code { font-size: .9rem; }
.ok { color: var(--good); } .bad { color: var(--bad); }
.diff { padding: .6rem 0; } .diff span { display: block; padding: 0 .8rem; min-height: 1.5em; }
.diff .add { background: var(--add); } .diff .del { background: var(--del); } .diff .hunk { background: var(--hunk); }
img { max-width: 100%; }
#search { width: 100%; padding: .5rem; font: inherit; border: 1px solid var(--line); border-radius: 6px;
  background: var(--back); color: inherit; position: sticky; top: .5rem; }
#search:not(.on) { display: none; }
@media print { details { display: block; } #search { display: none; } pre { max-height: none; } }
"""

SCRIPT = """
const box = document.getElementById("search");
box.classList.add("on");
const items = [...document.querySelectorAll("[data-item]")].map(node =>
  [node, node.textContent.toLowerCase(), node.open]);
box.addEventListener("input", () => {
  const wanted = box.value.trim().toLowerCase();
  for (const [node, text, wasOpen] of items) {
    const fits = !wanted || text.includes(wanted);
    node.hidden = !fits;
    if (node.tagName === "DETAILS") node.open = wanted ? fits : wasOpen;
  }
  for (const turn of document.querySelectorAll("section"))
    turn.hidden = Boolean(wanted) && !turn.querySelector("[data-item]:not([hidden])");
});
"""


Write = Callable[[str], object]

_SIGN = '<meta name="generator" content="dogu">'
_MOST_HEAD_CHARS = 2_000


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


def is_page(path: str) -> bool:
    """Whether a file is such a page, so that another may take its place."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, encoding="utf-8", errors="replace") as file:
            return _SIGN in file.read(_MOST_HEAD_CHARS)
    except OSError:
        return False


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
    language = spoken() if spoken() in LANGUAGES else "en"
    script = base64.b64encode(sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{script}'"
    return f"""<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
{_SIGN}
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(title)} · dogu</title>
<style>{STYLE}</style>
</head>
<body>
"""


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
