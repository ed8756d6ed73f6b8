"""What copying and moving lay down besides what they say: out of the workspace, or where something runs it later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from posixpath import normpath

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect, Hints
from dogu.policy.commands.patterns import is_a
from dogu.policy.commands.places import is_code, is_data, leads_outside, may_hold_what_runs, written
from dogu.policy.commands.reading import Reading
from dogu.policy.commands.values import check_value
from dogu.workspace.protected import protected_reason
from dogu.workspace.shell_syntax import Part, PartKind, Word

_LINKS = frozenset(("-l", "--link", "-s", "--symbolic-link"))
_DEEP = frozenset(("-r", "-R", "-a", "--recursive", "--archive"))
_WITHIN = ("", "/x", "/config", "/hooks/x")
_RUN_BY_NAME = (
    "Makefile GNUmakefile package.json conftest.py setup.py pyproject.toml tox.ini Dockerfile Cargo.toml build.rs "
    "pom.xml build.gradle Gemfile Rakefile composer.json CMakeLists.txt eslint.config.js vite.config.ts .eslintrc.js"
).split()
"""Names that stand for all that tools run by their names, where a pattern may match one."""
_ANY_NAME = Word((Part(PartKind.LITERAL, "*"),), "*")
_MOST_TARGETS = 20
_TOP = re.compile(r"\.?(?:/\.?)*|\$PWD/?|\$\(pwd\)/?")


def copies(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What the sources bring and where it goes: the last operand, or the one that an option names."""
    program = words[0].text.rpartition("/")[2]
    taken = {name: value for name, _, value in reading.taken}
    hints = reading.hints.from_the_start()
    if program.endswith("rsync"):
        yield from _from_elsewhere(words, reading)
    into = taken.get("-t") or taken.get("--target-directory")
    if program == "install" and {"-d", "--directory"} & taken.keys():
        yield from _out_of_the_workspace(words, reading.operands, hints)
        return
    is_alone = program in ("ln", "link") and len(reading.operands) == 1  # linked to by its own name
    sources = reading.operands if into is not None or is_alone else reading.operands[:-1]
    if {"--parents", "-R", "--relative"} & taken.keys() and (program.endswith("rsync") or "--parents" in taken):
        beside = ((at, check_value("place", words[at], hints.around)) for at in sources)
        yield from (Danger(at, *found) for at, found in beside if found is not None)
    if into is None and sources and not is_alone:
        yield from _out_of_the_workspace(words, reading.operands[-1:], hints)
    if not sources:
        return
    moves = program in ("mv", "gmv", "move")
    links = program in ("ln", "link") or (bool(_LINKS & taken.keys()) and not program.endswith("rsync"))
    how = _How(
        moves=moves,
        links=links,
        is_symbolic=bool({"-s", "--symbolic", "--symbolic-link"} & taken.keys()),
        is_deep=moves or program.endswith("rsync") or bool(_DEEP & taken.keys()),
        is_exact=bool({"-T", "--no-target-directory"} & taken.keys()),
        kind="place" if moves else "folder" if links else "any",
    )
    target = into if into is not None else Word.literal(".") if is_alone else words[reading.operands[-1]]
    targets = hints.places(target)
    if targets is None or len(targets) > _MOST_TARGETS:
        yield Danger(sources[-1], Effect.WRITES, told("it writes to {target}", target=target.text[:40]))
    for to in targets or ():
        is_folder = into is not None or len(sources) > 1
        yield from _laid(words, sources, hints, to.text, replace(how, is_folder=is_folder))


def moved(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What `git mv` lays down: its last operand is where to."""
    sources = reading.operands[:-1]
    how = _How(moves=True, is_deep=True, kind="place", is_folder=len(sources) > 1)
    hints = reading.hints.from_the_start()
    for to in hints.places(words[reading.operands[-1]]) or () if sources else ():
        yield from _laid(words, sources, hints, to.text, how)


@dataclass(frozen=True, slots=True)
class _How:
    """`kind` is what a source must be; `is_folder`: it goes into the target, and not in its place; `links`: linked.

    `is_symbolic`: by a text that is read in the folder of the link.
    """

    moves: bool = False
    is_symbolic: bool = False
    is_deep: bool = False
    is_exact: bool = False
    kind: str = "any"
    is_folder: bool = False
    links: bool = False


def _laid(words: Sequence[Word], sources: Sequence[int], hints: Hints, to: str, how: _How) -> Iterator[Danger]:
    may_edit = hints.around.may_edit
    if not may_edit and _is_run_by_name(hints.around.leads_to(to) or to):
        yield Danger(sources[-1], Effect.WRITES, told("it writes to {target}", target=to[:40]))
    is_folder = how.is_folder or _TOP.fullmatch(to) is not None or to.endswith(("/", "/."))
    is_folder = not how.is_exact and (is_folder or not hints.around.is_free(f"{to}/."))
    for index in sources:
        given = _leads_to(words[index], to, is_folder=is_folder) if how.is_symbolic else words[index]
        found = check_value(how.kind, given) if given.value is not None else None
        if found is not None:
            yield Danger(index, Effect.WRITES, found[1])
        meant = hints.places(words[index]) or [_ANY_NAME]
        for source in [each.text.rstrip("/" if how.moves else "") for each in meant] if found is None else ():
            is_content = how.is_exact and not how.moves
            brings = _brings_what_runs(source, to, is_deep=how.is_deep, is_content=is_content, is_folder=is_folder)
            is_pattern = words[index].value is None
            names = _names_of(source, words[index], hints) if is_pattern else [source.rpartition("/")[2]]
            lays = is_folder and any(_is_laid_badly(f"{to}/{each}", hints) for each in names)
            now = replace(how, is_folder=is_folder)
            turns = not may_edit and _turns_into_code(source, to, is_folder=is_folder)
            if brings or lays or turns or _lays_a_tree(source, to, hints, now) or _opens(source, to, hints, now):
                yield Danger(index, Effect.WRITES, told("it writes to {target}", target=words[index].text[:40]))
                break


def _leads_to(source: Word, link: str, *, is_folder: bool) -> Word:
    """What a symbolic link leads to: its text is read in the folder that it lies in."""
    folder = link if is_folder else link.rpartition("/")[0]
    is_near = source.value is not None and not leads_outside(Word.literal(folder)) and source.text[:1] != "/"
    return Word.literal(normpath(f"{folder or '.'}/{source.value}")) if is_near else source


def _is_laid_badly(path: str, hints: Hints) -> bool:
    """Whether a file that comes to lie in a folder is run by its name there, or a link there leads elsewhere."""
    leads_to = hints.around.leads_to(path)
    is_run = not hints.around.may_edit and _is_run_by_name(leads_to or path)
    return is_run or leads_to is None or (leads_to != path and protected_reason(leads_to) is not None)


def _lays_a_tree(source: str, to: str, hints: Hints, how: _How) -> bool:
    """Whether a folder, or what is in it, comes to lie in a folder that programs look for by its name: `.cargo`."""
    base = source.rstrip("/").rpartition("/")[2]
    folder = "/".join(part for part in to.split("/") if part not in ("", "."))
    if "*" in base or source.endswith(("/", "/.")):
        names = hints.around.matching(source) if "*" in base else None
        is_known = names is not None and not any(protected_reason(f"{folder}/{each}") for each in names)
        return may_hold_what_runs(folder) and not is_known
    laid = f"{folder}/{base}" if how.is_folder else folder
    return (how.is_deep or how.links) and may_hold_what_runs(laid) and not hints.around.is_file(source)


def _opens(source: str, to: str, hints: Hints, how: _How) -> bool:
    """Whether a link may be written to without a question, by its name, where what it leads to may not."""
    around = hints.around
    name = f"{to}/{source.rpartition('/')[2]}" if how.is_folder else to
    leads_to = (
        normpath(f"{name.rpartition('/')[0] or '.'}/{source}") if how.is_symbolic and source[:1] != "/" else source
    )
    return how.links and not written(Word.literal(name), around) and bool(written(Word.literal(leads_to), around))


def _turns_into_code(source: str, to: str, *, is_folder: bool) -> bool:
    """Whether data, which may be written without a question, becomes a program by its new name."""
    name = to.rpartition("/")[2]
    has_no_ending = "." not in name and not is_data(to) and not is_a("built", name)
    return is_data(source) and not is_folder and (is_code(to) or has_no_ending)


def _names_of(source: str, word: Word, hints: Hints) -> list[str]:
    """The names that a pattern stands for: those that are there, or else any that it may match."""
    there = hints.around.matching(source) if word.is_plain else None
    base = source.rpartition("/")[2]
    return there if there is not None else [base, *(each for each in _RUN_BY_NAME if fnmatchcase(each, base))]


def _is_run_by_name(path: str) -> bool:
    return is_a("installed", path) or (is_a("run_by_name", path) and not is_a("built", path))


def _from_elsewhere(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    for index in reading.operands:
        if check_value("local", words[index]) is not None:
            yield Danger(index, Effect.REACHES, told("copies files to or from another machine"))


def _out_of_the_workspace(words: Sequence[Word], places: Sequence[int], hints: Hints) -> Iterator[Danger]:
    for index in places:
        meant = [*(() if words[index].is_plain else words[index : index + 1]), *(hints.places(words[index]) or ())]
        found = next(filter(None, (check_value("folder", each, hints.around) for each in meant)), None)
        if found is not None:
            yield Danger(index, *found)


def _brings_what_runs(source: str, to: str, *, is_deep: bool, is_content: bool, is_folder: bool) -> bool:
    """Whether a source may lay something into the project that runs later.

    A folder's whole content may hold `.git/hooks`; a source that bears such a name lays it there, as one does whose
    name is such in the folder that it goes to: `config.toml` in `.cargo`.
    """
    is_top = _TOP.fullmatch(to) is not None
    if is_top and is_deep and (is_content or source.endswith(("/", "/.")) or source in ("", ".")):
        return True
    base = source.rstrip("/").rpartition("/")[2]
    if not base:
        return False
    within = _WITHIN if is_deep else _WITHIN[:1]
    folder = "/".join(part for part in to.split("/") if part != ".")
    if (is_top or to.endswith("/") or is_folder) and re.match(r"\..*[*?\[{]", base):
        return True
    by_name = any(protected_reason(f"{base}{each}") is not None for each in within)
    if by_name:
        return is_top or to.endswith("/") or is_folder
    return any(protected_reason(f"{folder}/{base}{each}") is not None for each in within)
