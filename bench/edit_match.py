"""What finding an edit costs: files of 30 KB to 16 MB, by what has to be forgiven."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from textwrap import dedent

from bench.measure import row
from dogu.workspace.edit_match import match_edit

_SIZES_KB = (30, 1_000, 4_000, 16_000)
_REACH = {30: "p95 < 20 ms", 1_000: "p95 < 200 ms", 4_000: "linear", 16_000: "linear"}
_WORDS = [
    "result",
    "value",
    "items",
    "total",
    "index",
    "widget",
    "handler",
    "config",
    "parser",
    "buffer",
    "client",
    "server",
    "option",
    "label",
]
_GARBLED: dict[str, Callable[[str], str]] = {
    "exact": lambda text: text,
    "white space": dedent,
    "HTML entities": lambda text: text.replace("<", "&lt;"),
    "a typing error": lambda text: text.replace("marker", "makrer"),
    "nowhere": lambda text: text.replace("marker", "another").replace("limit", "bound"),
}


def main() -> None:
    """Print the table: the median and the 95th percentile of one match."""
    for size_kb in _SIZES_KB:
        text, places = _file(size_kb * 1_000)
        for name, garble in _GARBLED.items():
            count = 40 if size_kb <= 1_000 else 5
            times = sorted(_match_ms(text, place, garble) for place in (places * count)[:count])
            reached = f"{statistics.median(times):.1f} ms, p95 {times[int(0.95 * (count - 1))]:.1f} ms"
            row(f"an edit in {size_kb:,} KB, {name}", reached, _REACH[size_kb])
    for name, text, old, new, reach in _worst():
        started = time.perf_counter()
        match_edit(text, old, new)
        row(name, f"{(time.perf_counter() - started) * 1_000:.0f} ms", reach)


def _worst() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield what is large in another way: its name, the file, both strings and the time asked."""
    lines = [f"        value_{number} = compute(value_{number - 1}, {number})\n" for number in range(20_000)]
    text = "class A:\n    def f(self):\n" + "".join(lines)
    old = dedent("".join(lines))
    yield "20,000 dedented lines as old_string", text, old, old.replace("value_9 ", "other_9 "), "< 1,000 ms"
    for kind, word in (("ASCII", "call(a_{0}, b);"), ("CJK", "値「{0}」を読む。")):
        line = "".join(word.format(number) for number in range(1_000_000 // len(word)))
        sent = word.format(4_000) + " " + word.format(4_001)
        yield f"1 MB in one line, {kind}, inexact", line, sent, sent.replace("4001", "5"), "< 500 ms"
    text, places = _file(10_000_000)
    for name in ("white space", "a typing error", "nowhere"):
        old = _GARBLED[name](places[20])
        yield f"10 MB, {name}", text, old, old.replace("return", "yield"), "< 600 ms"


def _file(size: int) -> tuple[str, list[str]]:
    """Return a file of about `size` bytes, and blocks of six lines that are there once each."""
    rng = random.Random(size)
    lines: list[str] = []
    length = 0
    places: list[str] = []
    while length < size:
        words = rng.choices(_WORDS, k=4)
        number = len(lines)
        block = [
            f"    def {words[0]}_{number}(self, {words[1]}, limit):\n",
            f"        marker = {words[2]} + {number}\n",
            f"        if {words[1]} < marker and limit:\n",
            f'            self.{words[3]}("{words[0]} {words[1]}", {number}, marker)\n',
            f"        return {words[2]}\n",
            "\n",
        ]
        lines += block
        length += sum(map(len, block))
        if len(places) < 40 and rng.random() < 0.5:
            places.append("".join(block))
    return "".join(lines), places


def _match_ms(text: str, place: str, garble: Callable[[str], str]) -> float:
    old, new = garble(place), garble(place.replace("        return", "        count += 1\n        return"))
    started = time.perf_counter()
    match_edit(text, old, new)
    return (time.perf_counter() - started) * 1_000


if __name__ == "__main__":
    main()
