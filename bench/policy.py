"""What judging a command costs: ordinary ones, and long ones."""

from __future__ import annotations

import statistics
import time

from bench.measure import row
from dogu.policy.commands.judge import judge_command
from dogu.policy.rules import Rules

_COMMANDS = (
    "git status && git diff --stat HEAD~1 | head -20",
    "find . -name '*.py' -not -path './build/*' | xargs grep -n 'import os' | sort -u",
    'for f in *.py; do echo "$f"; wc -l < "$f"; done',
    "git commit -m \"$(cat <<'EOF'\nfeat: a; b && c\n\nWhy it is so.\nEOF\n)\"",
    "npm run build -- --watch=false && node dist/index.js --port 3000 &",
    "if [ -f pyproject.toml ]; then python -m pytest -q; else echo none; fi",
    "sed -n '1,50p' src/a.py; awk -F: '{print $1, $2}' f | cut -c1-80",
)
_GROWING = {
    "commands in a chain": ("git status; ", "git log", ""),
    "substitutions side by side": ("echo $(git log) ", "x", ""),
    "substitutions in one another": ("echo $(", "git log", ")"),
    "words of one command": ("'a b' ", "x", ""),
    "commands around one another": ("env ", "git log", ""),
    "functions that call the next": ("", "", ""),
    "brackets that look like subscripts": ("echo a[ ", "`git log`", ""),
    "groups in one another": ("{ ", "git log; ", "}; "),
    "lines of a here-document": ("cat <<E\n$x\nE\n", "git log", ""),
    "words for find": ("find . -exec git log {} + ", "", ""),
}


def main() -> None:
    """Print the table, of CPU: the median and the 99th percentile, then what ten times the length costs."""
    rules = Rules.from_lists(["run_shell_command"], ["run_shell_command(rm)"])
    core, exclude = rules.shell_core(), rules.shell_exclude()

    def judge_ms(text: str) -> float:
        started = time.process_time()
        judge_command(text, core, exclude)
        return (time.process_time() - started) * 1_000

    times = sorted(judge_ms(text) for text in _COMMANDS * 300)
    reached = f"{statistics.median(times):.2f} ms, p99 {times[int(0.99 * len(times))]:.2f} ms"
    row("an ordinary command", reached, "median < 1 ms, p99 < 50 ms")
    for name, (repeated, middle, end) in _GROWING.items():
        prefix = "echo " if end == "" and repeated.startswith("'") else ""
        if not repeated:
            texts = ["".join(f"f{at}() {{ f{at + 1}; }}; " for at in range(count)) + "f0" for count in (100, 1_000)]
        else:
            texts = [prefix + repeated * count + middle + end * count for count in (100, 1_000)]
        some, many = (min(judge_ms(text) for _ in range(10)) for text in texts)
        row(f"1,000 {name}", f"{many:.1f} ms, {many / some:.1f} times that of 100", "linear, or refused")


if __name__ == "__main__":
    main()
