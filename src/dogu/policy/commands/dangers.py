"""Which words of a command run, overwrite or reach something that a bare prefix doesn't cover."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.beyond import beyond_the_rule, undone
from dogu.policy.commands.checks import CHECKS
from dogu.policy.commands.effects import Danger, Effect, Hints, Surroundings
from dogu.policy.commands.handed import of_script, of_unknown
from dogu.policy.commands.inner import SHELLS
from dogu.policy.commands.places import leads_outside, written_from_here
from dogu.policy.commands.reading import Reading
from dogu.policy.commands.table import Program, find_program, plain_name
from dogu.policy.commands.values import check_value
from dogu.policy.commands.wrappers import inner_commands
from dogu.workspace.shell_syntax import Redirect, Word

_SAFE_TARGETS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/zero", "/dev/tty"))
_FIND_SUBCOMMANDS = frozenset(("cargo", "git", "kubectl", "docker"))  # as programs of such names
_INSTALLED = re.compile(
    r"(?:.*/)?(?:vendor/bin|node_modules/\.bin|\.?venv/bin)/(?P<program>[\w.-]+)|(?:.*/)?(?P<archive>[\w-]+)\.phar"
)


def program_called(name: str) -> Program | None:
    """The program's block in the table, by a name that may carry a version (`python3.12`)."""
    return find_program(plain_name(name))


def dangers_of(name: str, words: Sequence[Word], hints: Hints, covered: int = 1) -> Iterator[Danger]:
    """Yield what is dangerous about the words, whose program is `name`, in no order.

    `covered` words are named by a rule.
    """
    yield from undone(words, covered)
    program = program_called(name)
    if program is None:
        subcommand = _named_by_a_hyphen(name)
        if not subcommand:
            is_own = "/" in words[0].text and not leads_outside(words[0])
            yield from of_script(words, hints.around) if is_own else of_unknown(words, hints)
            return
        for each in dangers_of(subcommand[0].text, [*subcommand, *words[1:]], hints, covered + 1):
            yield Danger(max(each.index - 1, 0), each.effect, each.reason)
        return
    reading = Reading(program, words, hints)
    yield from reading.dangers()
    yield from beyond_the_rule(program, words, reading, covered)
    check = CHECKS.get(program.check)
    if check is not None and not reading.only_shows_itself():
        yield from check(words, reading)
    if reading.module_at is not None:
        yield from _of_module(words, reading.module_at, hints)
    elif program.runs_scripts:
        yield from _of_tool(words, reading.operands[:1], hints)


def _named_by_a_hyphen(name: str) -> list[Word]:
    """The words that a program's name stands for: `cargo-nextest` is how cargo itself calls its `nextest`."""
    program, _, subcommand = name.partition("-")
    block = find_program(program) if program in _FIND_SUBCOMMANDS else None
    is_one = block is not None and (block.parents(subcommand) or block.subcommand(subcommand) is not None)
    return [Word.literal(program), Word.literal(subcommand)] if is_one else []


def _of_tool(words: Sequence[Word], script: Sequence[int], hints: Hints) -> Iterator[Danger]:
    """What a tool is given whose script lies where package managers put it, as if it were called by its name."""
    for at in script:
        called = _INSTALLED.fullmatch(words[at].text)
        name = (called["program"] or called["archive"]) if called is not None else ""
        for each in dangers_of(name, words[at:], hints) if name else of_script(words[at:], hints.around):
            yield Danger(each.index + at, each.effect, each.reason)


def _of_module(words: Sequence[Word], at: int, hints: Hints) -> Iterator[Danger]:
    """What `python -m MODULE` is given, as if the module were called as a program."""
    word = words[at]
    attached = re.match(r"-[A-Za-z]*m(.+)", word.text)
    name = attached[1] if attached else word.value or ""
    called = next((each for each in (f"python-m-{name}", name) if find_program(each) is not None), None)
    if called is None and hints.around.has_module(name):
        return
    if name in _SHOW_HELP and [each.text for each in words[at + 1 :]] in (["-h"], ["--help"]):
        return
    if called is None or name.startswith(("python", "pypy")) or name in _NO_MODULES:
        yield Danger(at, Effect.RUNS, told("runs the module {name}", name=name or word.text[:30]))
        for each in of_unknown([Word.literal(name), *words[at + 1 :]], hints):
            yield Danger(each.index + at, each.effect, each.reason)
        return
    if inner_commands(called, [Word.literal(called), *words[at + 1 :]]):
        yield Danger(at, Effect.RUNS, told("runs a program or code that no rule names"))
    for each in dangers_of(called, [Word.literal(called), *words[at + 1 :]], hints):
        yield Danger(each.index + at, each.effect, each.reason)


_SHOW_HELP = frozenset(("http.server", "zipfile", "tarfile", "timeit"))
# Modules of the standard library that are called as a program is that isn't one of Python's.
_NO_MODULES = frozenset(
    "test site runpy code pdb timeit trace profile http time ftplib telnetlib sqlite3 zipfile tarfile".split()
)


def elsewhere_than_meant(
    name: str, words: Sequence[Word], covered: int, around: Surroundings, *, is_listed: bool
) -> Iterator[Danger]:
    """What another folder makes of a command: its repository's settings, or tasks, may be others."""
    block = program_called(name)
    if name == "git" and is_listed and len(words) > 1 and not around.is_in_repository():
        reason = told("another folder may hold a repository whose configuration runs programs")
        yield Danger(covered, Effect.RUNS, reason)
    elif name != "git" and around.has_moved and covered > 1 and block is not None and block.has_tasks:
        reason = told("{option} takes tasks from elsewhere than the rule means", option="cd")
        yield Danger(covered, Effect.RUNS, reason)
    elif around.has_moved and is_listed and any(map(_is_script, words[1:covered])) and _runs_scripts(name):
        yield Danger(covered, Effect.RUNS, told("{option} takes tasks from elsewhere than the rule means", option="cd"))


def _runs_scripts(name: str) -> bool:
    block = program_called(name)
    return name in SHELLS or (block is not None and block.runs_scripts)


def _is_script(word: Word) -> bool:
    return re.match(r"[^-].*[./]", word.text) is not None


def redirect_danger(redirect: Redirect, around: Surroundings, *, has_tee: bool, lists_packages: bool = False) -> str:
    """Say why a redirection needs a question; '' when it doesn't. `has_tee`: a rule allows what `tee FILE` writes.

    `lists_packages`: what is written are names of packages, which have a file of their own.
    """
    target = redirect.target.value
    if redirect.operator in ("<<", "<<<"):
        return ""
    if redirect.operator in (">&", "<&") and target is not None and re.fullmatch(r"\d*-?", target):
        return ""
    if target is not None and (target in _SAFE_TARGETS or re.fullmatch(r"/dev/fd/\d+", target)):
        return ""
    if redirect.operator in ("<", "<&"):
        return ""
    if (has_tee or around.may_edit) and redirect.operator in (">", ">>", "&>", "&>>", ">|"):
        if lists_packages and check_value("requirements", redirect.target, around) is None:
            return ""
        if written_from_here(redirect.target, around, appends=redirect.operator.endswith(">>")) is None:
            return ""
    return told("it writes to {target}", target=redirect.target.text)


__all__ = ["dangers_of", "elsewhere_than_meant", "program_called", "redirect_danger"]
