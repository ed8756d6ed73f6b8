"""A fleet's page in a real browser: by keyboard, on a phone, light and dark, with ten thousand tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chromium import Page, opened_page
from dogu.fleet.report import page as page_of
from dogu.fleet.rows import Checked, Patch, Reason, Row
from dogu.fleet.store import Counts
from dogu.language import speak


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_page(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def written(folder: Path, count: int) -> Path:
    rows = [
        Row(
            f"task-{number:05}",
            (True, False, None)[number % 3],
            Reason.DONE if number % 4 else Reason.TIMEOUT,
            "<b>slow</b> & late" if number % 4 == 0 else "",
            patch=Patch(f"tasks/task-{number:05}/patch.diff", 1, 2, 3),
            group=("a", "b", "unbroken" * 9)[number % 3],
            wall_s=float(number % 100),
            cost_usd=0.01 * (number % 7),
        )
        for number in range(count)
    ]
    passed, failed = (sum(row.passed is value for row in rows) for value in (True, False))
    path = folder / "report.html"
    path.write_text(page_of(Counts(count, 0, 0, passed, failed, count - passed - failed, 1.0), rows))
    return path


def shown(page: Page) -> list[str]:
    return page.value("[...document.querySelectorAll('#body tr td:first-child')].map(cell => cell.firstChild.data)")


def test_ten_thousand_tasks_are_there_with_no_error_and_no_request(page: Page, tmp_path: Path) -> None:
    page.problems.clear()
    page.requests.clear()
    page.open(written(tmp_path, 10_000))
    assert len(shown(page)) == 100
    assert page.value("document.getElementById('place').textContent") == "1-100 of 10000"
    assert [address for address in page.requests if not address.startswith(("file:", "data:"))] == []
    assert page.problems == []


def test_it_is_searched_filtered_sorted_and_turned_by_keyboard(page: Page, tmp_path: Path) -> None:
    page.open(written(tmp_path, 250))
    page.key("Tab")
    assert page.value("document.activeElement.id") == "search"
    page.write("task-0001")
    assert shown(page) == [f"task-0001{digit}" for digit in range(10)]
    page.value("document.getElementById('search').select()")
    page.write("slow")
    assert all(int(name[5:]) % 4 == 0 for name in shown(page))
    page.value("document.getElementById('search').select()")
    page.write("task")
    page.key("Tab")
    assert page.value("document.activeElement.id") == "state"
    for _ in range(4):
        page.key("Tab")
    assert page.value("document.activeElement.textContent") == "Time"
    page.key("Enter", "\r")
    page.key("Enter", "\r")  # the other way
    assert shown(page)[:2] == ["task-00099", "task-00199"]
    assert page.value("document.activeElement.closest('th').getAttribute('aria-sort')") == "descending"
    page.value("document.getElementById('after').focus()")
    page.key("Enter", "\r")
    assert page.value("document.getElementById('place').textContent") == "101-200 of 250"


def test_words_of_models_are_text_and_links_lead_to_the_tasks_files(page: Page, tmp_path: Path) -> None:
    page.open(written(tmp_path, 4))
    assert page.value("document.querySelectorAll('#body b').length") == 0
    assert "<b>slow</b>" in page.value("document.getElementById('body').textContent")
    assert page.value("document.querySelector('#body a').getAttribute('href')") == "./tasks/task-00000/patch.diff"


@pytest.mark.parametrize("is_dark", [False, True])
def test_it_is_readable_on_a_phone(page: Page, tmp_path: Path, is_dark: bool) -> None:
    page.open(written(tmp_path, 30), 360, is_dark=is_dark)
    assert page.value("document.documentElement.scrollWidth") <= 360
    assert page.value(_CONTRAST) >= 4.5
    assert page.value(_LINES.format("#body td:last-child, #body td.number")) == 1


def test_a_check_that_failed_is_told_of_a_task_whose_agent_was_done(page: Page, tmp_path: Path) -> None:
    row = Row("t", False, Reason.DONE, check=Checked(3, "ran\nassert 1 == 2\n"))
    (tmp_path / "report.html").write_text(page_of(Counts(1, 0, 0, 0, 1, 0, 0.0), [row]))
    page.open(tmp_path / "report.html")
    assert page.value("document.querySelector('.causes').innerText").split("\t") == ["1", "failed", "assert 1 == 2"]
    assert page.value("document.querySelector('#body .dim').textContent") == "check: exit code 3"


@pytest.mark.parametrize("language", ["en", "ja", "ko", "zh-CN", "zh-TW"])
def test_it_speaks_the_readers_language(page: Page, tmp_path: Path, language: str) -> None:
    speak(language)
    try:
        page.open(written(tmp_path, 3))
    finally:
        speak("en")
    assert page.value("document.documentElement.lang") == language


_LINES = """
Math.max(...[...document.querySelectorAll("{}")].map(node => {{
  const range = document.createRange();
  range.selectNodeContents(node);
  return range.getClientRects().length;
}}))
"""
_CONTRAST = """
(() => {
  const channel = value => (value /= 255) <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
  const light = color => {
    const [red, green, blue] = color.match(/\\d+/g).map(Number).map(channel);
    return .2126 * red + .7152 * green + .0722 * blue;
  };
  const back = light(getComputedStyle(document.body).backgroundColor);
  return Math.min(...[...document.querySelectorAll("h1, .dim, .passed, .failed, a, td")].map(node => {
    const front = light(getComputedStyle(node).color);
    return (Math.max(front, back) + .05) / (Math.min(front, back) + .05);
  }));
})()
"""
