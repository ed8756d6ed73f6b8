"""Random edits of files that are on any machine, garbled as models do, beside what they should leave.

`DOGU_TWINS` (2000) edits from `DOGU_SEED` (14) on, of the files below `DOGU_SOURCES` (folders, as in PATH; the standard
library, the packages and Node.js of this machine, and this repository). What `replace` would write is right (the bytes
meant), laid out (it means the same), refused, wrong, or severe: it can't be parsed any more, or lines elsewhere have
changed. Prints the shares by edit and garbling, by pair where one is wrong, and the severe ones' seeds; with
`DOGU_SHOW=wrong,severe` the edits themselves. `DOGU_ONLY` are words that the names of an edit must hold.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import sysconfig
from collections import Counter, defaultdict
from collections.abc import Iterator
from difflib import unified_diff
from functools import cache
from itertools import islice, pairwise
from pathlib import Path

from bench.edit_cases import Case, meaning_of, random_case
from bench.measure import row
from dogu.workspace.edit_match import Edits, Wanted, match_edits, spliced

_CASES, _SEED = int(os.environ.get("DOGU_TWINS", "2000")), int(os.environ.get("DOGU_SEED", "14"))
_SHOWN, _ONLY = os.environ.get("DOGU_SHOW", "").split(","), os.environ.get("DOGU_ONLY", "").split(",")
_VERDICTS = ("right", "laid out", "refused", "wrong", "severe")
_SUFFIXES = (".py",) * 8 + (".js", ".js", ".ts", ".c", ".h", ".md", ".md", ".rst", ".json", ".yaml", ".yml", ".toml")
_CHARS = range(300, 60_000)
_MOST_TRIED = 200
_MOST_SHOWN = 60


def main() -> None:
    """Print the shares; exits with 1 where an edit is wrong or severe."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    severe: list[int] = []
    for seed in range(_SEED, _SEED + _CASES):
        case = _case(seed)
        if case is None or not all(word in " + ".join(case.names) for word in _ONLY):
            continue
        verdict, answer = _judged(case)
        if verdict in _SHOWN:
            _show(seed, case, verdict, answer)
        severe += [seed] * (verdict == "severe")
        edit, *garblings = case.names
        pair = " + ".join(garblings) or "as it is"
        for name in {"all", f"edit: {edit}", f"file: {case.suffix}", *garblings, pair}:
            counts[name][verdict] += 1
    for name, each in sorted(counts.items()):
        if " + " not in name or each["wrong"] + each["severe"]:
            total = sum(each.values())
            shares = ", ".join(f"{each[v]} {v}" for v in _VERDICTS if each[v])
            row(f"{name} ({total})", shares, "")
    row("severe ones by their seeds", str(severe), "none")
    sys.exit(bool(counts["all"]["wrong"] + len(severe)))


def _judged(case: Case) -> tuple[str, str]:
    """Return the verdict and the text that would be written, or why none would."""
    found = match_edits(case.text, [Wanted(case.old, case.new)], path=f"/file{case.suffix}")
    if not isinstance(found, Edits):
        return "refused", f"{found.why} {found.stage}: {found.reason}"
    text = spliced(case.text, found.replacements)
    if text == case.result:
        return "right", text
    meaning = meaning_of(case.suffix, text)
    if meaning == meaning_of(case.suffix, case.result):
        return "laid out", text
    return "severe" if meaning is None or _differs_elsewhere(case, text) else "wrong", text


def _differs_elsewhere(case: Case, text: str) -> bool:
    """Whether lines above or below those meant differ."""
    ours, wanted, found = (each.split("\n") for each in (case.text, case.result, text))
    most = min(len(ours), len(wanted))
    head = next((i for i in range(most) if ours[i] != wanted[i]), most)
    tail = next((i for i in range(most - head) if ours[-1 - i] != wanted[-1 - i]), most - head)
    edges = (found[:head], found[len(found) - tail :]) if len(found) >= head + tail else None
    return edges != (ours[:head], ours[len(ours) - tail :])


def _case(seed: int) -> Case | None:
    chance = random.Random(seed)
    for _ in range(_MOST_TRIED):
        files = _files().get(chance.choice(_SUFFIXES))
        path = chance.choice(files) if files else None
        try:
            text = path.read_bytes().decode() if path else ""
        except (OSError, UnicodeDecodeError):
            continue
        if len(text) in _CHARS and "\r" not in text and path:
            case = random_case(text, path.suffix, chance)
            if case:
                return case
    return None


@cache
def _files() -> dict[str, list[Path]]:
    """Return the files of each kind, in an order that is the same on each run."""
    paths = sysconfig.get_paths()
    node = Path(shutil.which("node") or "/usr/bin/node").resolve().parents[1] / "lib" / "node_modules"
    usual = [paths["stdlib"], paths["purelib"], str(node), "/usr/include", str(Path(__file__).parents[1])]
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for folder in os.environ.get("DOGU_SOURCES", os.pathsep.join(usual)).split(os.pathsep):
        for path in _below(folder):
            found[path.suffix].append(path)
    return found


def _below(folder: str) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in ("site-packages", "__pycache__") and each[0] != ".")
        yield from (path for name in sorted(names) if (path := Path(here, name)).suffix in _SUFFIXES)


def _show(seed: int, case: Case, verdict: str, answer: str) -> None:
    print(f"\n=== {seed} {verdict.upper()} {case.suffix} {' + '.join(case.names)}\nOLD\n{case.old}\nNEW\n{case.new}")
    if verdict == "refused":
        print(answer)
        return
    texts = {"file": case.text, "meant": case.result, "written": answer}
    for (name, one), (other_name, other) in pairwise(texts.items()):
        diff = unified_diff(one.split("\n"), other.split("\n"), name, other_name, lineterm="")
        print(*islice(diff, _MOST_SHOWN), sep="\n")


if __name__ == "__main__":
    main()
