"""The exported page: all of a session, everything escaped, in a browser with and without JavaScript."""

from __future__ import annotations

import re
import subprocess
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from chromium import program
from dogu.agent.events import (
    EndReason,
    PromptGiven,
    QuestionAnswered,
    QuestionAsked,
    RecordedEvent,
    StateChanged,
    TurnEnd,
    TurnEnded,
    TurnFailed,
)
from dogu.agent.session.live import Session
from dogu.agent.session.record import record_file
from dogu.contract.content import Blob, Text
from dogu.contract.display import FileDiff, TerminalOutput, Todo, TodoList
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.language import joined, say, sentence, speak, told
from dogu.models.events import Retrying, TextDelta, ThoughtDelta
from dogu.runtime.events import CallFinished, CallOutput, CallStarted, Noted, ToolCall, Within
from dogu.runtime.session_folder import SessionFacts, StoredSession
from dogu.serve.session_export import export_html
from dogu.serve.session_page import diff_html

HOSTILE = [
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "</pre></details></main></body><svg onload=\"document.title='owned'\">",
    "\" onmouseover=\"document.title='owned'",
    "--><script>document.title='owned'</script><!--",
    "&lt;script&gt; &amp; &#x3c;b&#x3e;",
    "\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202eevil\u2066 \x00 \ud800",
    "日本語と한국어と中文",
]


def session_of(tmp_path: Path, events: list[RecordedEvent]) -> StoredSession:
    session = Session(str(tmp_path), ["/project"])
    for event in events:
        session.event(event)
    session.close()
    return StoredSession(str(tmp_path), SessionFacts(["/project"], 0.0))


def page_of(tmp_path: Path, events: list[RecordedEvent]) -> str:
    written: list[str] = []
    export_html(session_of(tmp_path, events), written.append)
    return "".join(written)


def call(name: str, result: ToolResult | None, call_id: str = "1", description: str = "") -> list[RecordedEvent]:
    tool_call = ToolCall(call_id, name, {"text": name})
    started: list[RecordedEvent] = [CallStarted(tool_call, name, description or name)]
    return [*started, CallFinished(tool_call, name, result)] if result else started


def everywhere(text: str) -> list[RecordedEvent]:
    """The text in every place of a session that a model, a tool or a file may fill."""
    failed = ToolResult.failed(ToolError(ErrorKind.NOT_FOUND, text))
    diff = FileDiff(text, text, text, f"--- {text}\n+++ {text}\n@@ -1 +1 @@\n-{text}\n+{text}\n", (text,))
    return [
        StateChanged(text, text),
        PromptGiven([Text(text), Blob("image/svg+xml", text.encode("utf-8", "replace"), text)], 1),
        ThoughtDelta(text),
        TextDelta(text),
        QuestionAsked("1", text, text, diff, (text,)),
        QuestionAnswered("1", "declined", text),
        *call(text, ToolResult([Text(text), Blob(text, b"x", text)], diff)),
        *call(text, ToolResult(text, TerminalOutput(text, text, 3, (text,)))),
        *call(text, ToolResult(text, TodoList((Todo(text, "pending"),)))),
        *call(text, failed),
        Within("9", Noted(text)),
        *call(text, None, "9"),
        CallOutput("9", text),
        Retrying(text, 1, 1, 2),
        TurnFailed(text, text),
        TurnEnded(TurnEnd(EndReason.DONE, text, note=text)),
    ]


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_session_holds_the_page_has_its_own_elements_only(tmp_path: Path, text: str):
    page = page_of(tmp_path, everywhere(text))
    plain = tmp_path / "plain"
    plain.mkdir()
    expected = Elements(page_of(plain, everywhere("plain")))
    found = Elements(page)
    assert [tag for tag, _ in found.found] == [tag for tag, _ in expected.found]
    names = {name for _, attributes in found.found for name in attributes}
    assert names <= {name for _, attributes in expected.found for name in attributes}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page)


@pytest.mark.usefixtures("english_again")
def test_a_record_written_in_one_language_is_exported_in_its_reader_s(tmp_path: Path):
    speak("ja")
    asked = told("Create {path}?", path="新.txt")
    why = told("no command before {word!r}", word=sentence("the end"))
    found = ToolResult("", joined(" ", [told("No files found"), "x"]))
    refused = ToolResult.failed(ToolError(ErrorKind.REFUSED, told("it isn't a line of a record")))
    stored = session_of(
        tmp_path,
        [
            QuestionAsked("1", "write_file", asked, "", (why,)),
            *call("glob", found, "2", told("Clear the plan")),
            Within("3", CallFinished(ToolCall("4", "x", {}), "x", refused)),
            Noted(why),
            TurnEnded(TurnEnd(EndReason.STOPPED, "", note=told("Stopped by a hook."))),
        ],
    )
    sentences = (asked, why, told("No files found"), told("Clear the plan"), told("Stopped by a hook."))
    english, japanese = exported(stored, "en"), exported(stored, "ja")
    assert [text for text in sentences if escape(text) not in english] == []
    assert not re.search("[\u3040-\u30ff]", english)
    assert [text for text in sentences if escape(text) in japanese] == []
    assert [text for text in sentences if escape(say(text)) not in japanese] == []


@pytest.mark.usefixtures("english_again")
def test_a_record_of_texts_alone_is_shown_as_it_reads(tmp_path: Path):
    """As every record was before messages stood beside its texts."""
    stored = session_of(tmp_path, [QuestionAsked("1", "write_file", "Create a.txt?", "", ()), Noted("Some words.")])
    assert b'"said"' not in Path(record_file(stored.path)).read_bytes()
    japanese = exported(stored, "ja")
    assert "Create a.txt?" in japanese
    assert "Some words." in japanese


def exported(stored: StoredSession, language: str) -> str:
    speak(language)
    written: list[str] = []
    export_html(stored, written.append)
    return "".join(written)


def test_the_page_needs_nothing_from_elsewhere_and_its_policy_forbids_it(tmp_path: Path):
    page = page_of(tmp_path, [PromptGiven([Text("see"), Blob("image/png", b"\x89PNG", "a.png")], 1)])
    elements = Elements(page).found
    sources = [attributes[name] or "" for _, attributes in elements for name in ("src", "href") if name in attributes]
    assert sources == ["data:image/png;base64,iVBORw=="]
    assert "default-src 'none'" in page
    assert "script-src 'sha256-" in page
    assert [tag for tag, _ in elements].count("script") == 1


def test_text_comes_in_one_piece_calls_unfold_and_what_never_ended_is_told(tmp_path: Path):
    events: list[RecordedEvent] = [
        PromptGiven("do it", 1),
        TextDelta("void "),
        Retrying("Overloaded.", 1, 1, 2),
        TextDelta("Now I "),
        TextDelta("look."),
        *call("grep_search", ToolResult("found it", "Found 1")),
        PromptGiven("again", 2),
        *call("run_shell_command", None, "2", "npm test"),
        CallOutput("2", "half of it"),
    ]
    page = page_of(tmp_path, events)
    assert '<div class="text" data-item>Now I look.</div>' in page
    assert "void" not in page
    assert page.count("<details data-item>") == 2
    assert "half of it" in page
    assert page.count("<section") == page.count("</section>") == 2


def test_a_diff_is_colored_line_by_line():
    html = diff_html("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+<c>\n--- not a name\n")
    assert '<span class="del">-b</span>' in html
    assert '<span class="add">+&lt;c&gt;</span>' in html
    assert '<span class="del">--- not a name</span>' in html
    assert "<span>--- a/x</span>" in html


def dumped(page: Path, profile: Path) -> str:
    """Load the page in headless Chromium and return the document as it is afterwards."""
    done = subprocess.run(
        [
            program(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=2000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.decode()


@pytest.mark.parametrize("has_script", [True, False])
def test_in_a_browser_nothing_hostile_runs_and_it_reads_without_javascript(tmp_path: Path, has_script: bool):
    events: list[RecordedEvent] = []
    for number, text in enumerate(HOSTILE):
        events += [PromptGiven(f"prompt {number}", number + 1), *everywhere(text)[2:]]
    page = page_of(tmp_path, events)
    if not has_script:
        page = re.sub(r"script-src 'sha256-[^']*'", "script-src 'none'", page)
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    document = dumped(path, tmp_path / "profile")
    assert "<title>prompt 0 · dogu</title>" in document
    assert ('class="on"' in document) is has_script  # the search is there when it works
    assert "日本語と한국어と中文" in document
    assert document.count("<section") == len(HOSTILE)
    assert document.count("<script") == 1


def test_the_search_hides_what_does_not_fit_and_opens_what_does(tmp_path: Path):
    events = [
        PromptGiven("first", 1),
        *call("read_file", ToolResult("needle in here", "Read.")),
        PromptGiven("second", 2),
        TextDelta("nothing"),
    ]
    page = page_of(tmp_path, events)
    # The page's own policy would refuse this script, as it should: it plays the user who types.
    typed = '<script>box.value = "NEEDLE"; box.dispatchEvent(new Event("input"));</script></body>'
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page).replace("</body>", typed)
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    document = dumped(path, tmp_path / "profile")
    sections = re.findall(r"<section[^>]*>", document)
    assert ["hidden" in section for section in sections] == [False, True]
    assert '<details data-item="" open="">' in document


def test_a_diff_that_was_approved_as_it_was_shown_stands_there_once(tmp_path: Path):
    shown = FileDiff("/p/a", "old\n", "new\n", "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n")
    edited = FileDiff("/p/a", "old\n", "newer\n", "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+newer\n")

    def diffs(done: FileDiff | None, folder: str) -> int:
        started, *finished = call("Edit", ToolResult("Done.", done) if done else None)
        asked = [QuestionAsked("1", "Change a?", "", shown, ()), QuestionAnswered("1", "approved", "")]
        (tmp_path / folder).mkdir()
        return page_of(tmp_path / folder, [started, *asked, *finished]).count('<pre class="diff">')

    assert diffs(shown, "as shown") == 1
    assert diffs(edited, "edited") == 2, "what was done isn't what was shown: both are told"
    assert diffs(None, "cut short") == 1
