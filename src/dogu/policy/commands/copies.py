"""What copying and moving lay down besides what they say: out of the workspace, or where something runs it later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect
from dogu.policy.commands.patterns import is_a
from dogu.policy.commands.reading import Reading
from dogu.policy.commands.values import check_value
from dogu.workspace.protected import protected_reason
from dogu.workspace.shell_syntax import Word

_LINKS = frozenset(("-l", "--link", "-s", "--symbolic-link"))
_DEEP = frozenset(("-r", "-R", "-a", "--recursive", "--archive"))
_WITHIN = ("", "/x", "/config", "/hooks/x")
_TOP = re.compile(r"\.?(?:/\.?)*|\$PWD/?|\$\(pwd\)/?")


def copies(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What the sources bring and where it goes: the last operand, or the one that an option names."""
    program = words[0].text.rpartition("/")[2]
    taken = {name: value for name, _, value in reading.taken}
    if program.endswith("rsync"):
        yield from _from_elsewhere(words, reading)
    into = taken.get("-t") or taken.get("--target-directory")
    if program == "install" and {"-d", "--directory"} & taken.keys():
        yield from _out_of_the_workspace(words, reading.operands)
        return
    is_alone = program in ("ln", "link") and len(reading.operands) == 1  # linked to by its own name
    sources = reading.operands if into is not None or is_alone else reading.operands[:-1]
    if into is None and sources and not is_alone:
        yield from _out_of_the_workspace(words, reading.operands[-1:])
    to = into.text if into is not None else "." if is_alone else words[reading.operands[-1]].text if sources else ""
    may_edit = reading.hints.around.may_edit
    if sources and not may_edit and _is_run_by_name(to):
        yield Danger(sources[-1], Effect.WRITES, told("it writes to {target}", target=to[:40]))
    moves = program in ("mv", "gmv", "move")
    is_deep = moves or program.endswith("rsync") or bool(_DEEP & taken.keys())
    is_exact = bool({"-T", "--no-target-directory"} & taken.keys())
    kind = "place" if moves else "folder" if _LINKS & taken.keys() and not program.endswith("rsync") else "any"
    for index in sources:
        found = check_value(kind, words[index]) if words[index].value is not None else None
        if found is not None:
            yield Danger(index, Effect.WRITES, found[1])
        source = words[index].text.rstrip("/" if moves else "")
        brings = _brings_what_runs(source, to, is_deep=is_deep, is_content=is_exact and not moves)
        if found is None and (brings or (not may_edit and _lays_down(source, to))):
            yield Danger(index, Effect.WRITES, told("it writes to {target}", target=words[index].text[:40]))


def _lays_down(source: str, to: str) -> bool:
    """Whether a source bears a name for which tools run it, where it goes."""
    is_folder = _TOP.fullmatch(to) is not None or to.endswith("/")
    return is_folder and _is_run_by_name(f"{to}/{source.rpartition('/')[2]}")


def _is_run_by_name(path: str) -> bool:
    return is_a("installed", path) or (is_a("run_by_name", path) and not is_a("built", path))


def _from_elsewhere(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    for index in reading.operands:
        if check_value("local", words[index]) is not None:
            yield Danger(index, Effect.REACHES, told("copies files to or from another machine"))


def _out_of_the_workspace(words: Sequence[Word], places: Sequence[int]) -> Iterator[Danger]:
    for index in places:
        found = check_value("folder", words[index])
        if found is not None:
            yield Danger(index, *found)


def _brings_what_runs(source: str, to: str, *, is_deep: bool, is_content: bool) -> bool:
    """Whether a source may lay something into the project that runs later.

    A folder's whole content may hold `.git/hooks`; a source that bears such a name lays it there.
    """
    is_top = _TOP.fullmatch(to) is not None
    if is_top and is_deep and (is_content or source.endswith(("/", "/.")) or source in ("", ".")):
        return True
    base = source.rstrip("/").rpartition("/")[2]
    if not (is_top or to.endswith("/")) or not base:
        return False
    if re.match(r"\..*[*?\[{]", base):
        return True
    return any(protected_reason(f"{base}{each}") is not None for each in (_WITHIN if is_deep else _WITHIN[:1]))
