"""What an option's value or an operand is: the kinds that the table of programs names, and what each may be.

A kind that isn't listed here (`text`, `pattern`, `ref`, `number`, `url` of a reader...) may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from dogu.language import told
from dogu.policy.commands import outgoing, places
from dogu.policy.commands.effects import NOWHERE, Effect, Surroundings
from dogu.policy.commands.outgoing import check_remote
from dogu.policy.commands.patterns import is_a, kind, pattern
from dogu.policy.commands.places import Finding, check_inside, check_own, leads_outside, no_known_value
from dogu.policy.commands.scripts import is_harmless_awk, is_harmless_sed, without_arithmetic
from dogu.policy.commands.variables import is_harmless_setting, name_reason
from dogu.workspace.shell_syntax import Word

_STANDARD_INPUT = re.compile(r"-|/dev/(?:stdin|fd/\d+)|/proc/self/fd/\d+")
_MAKE_VARIABLE = re.compile(r"([A-Za-z_]\w*)(?::{0,2}|\?)=(.*)", re.DOTALL)
_NUMBER = re.compile(
    r"[-+~:@]?\.?\d[\w.:,%+*-]*|auto|max|min|all|logical|none|unlimited|inf(?:inity)?|true|false|yes|no|default|half|on|off|[a-zA-Z]?"
)
_NO_TASK = re.compile(r"[=@()'\"`$;&|<>\s]|://")
_SHARED_CONFIGS = frozenset(("package.json", "pyproject.toml", "setup.cfg", "tox.ini"))


def _generated(word: Word, around: Surroundings) -> Finding | None:
    """Where code is generated, behind options perhaps: `import_style=commonjs:DIR`."""
    return check_value("folder", word if word.value is None else Word.literal(word.value.rpartition(":")[2]), around)


def _script(word: Word) -> Finding | None:
    is_unknown = word.value is None and not word.prefix
    if is_unknown or word.text[:1] == "@" or ":" in word.text or _STANDARD_INPUT.fullmatch(word.text):
        return Effect.RUNS, told("runs a program or code that no rule names")
    return check_inside(word)


def check_config(word: Word, programs: Sequence[str]) -> Finding | None:
    """Say what is wrong with a program's configuration, which it runs perhaps; None for a file that bears its name."""
    name = (word.value or "").rpartition("/")[2].removeprefix(".").lower()
    is_own = name in _SHARED_CONFIGS or any(name.startswith(program) for program in programs)
    if word.value is None or not is_own or re.search(r"[;&|<>$`\s]", word.value):
        return Effect.RUNS, no_known_value(word)
    return check_inside(word)


def _sed(word: Word) -> Finding | None:
    script = without_arithmetic(word)
    if script is None or not is_harmless_sed(script):
        return Effect.RUNS, told("the script may run commands or write files")
    return None


def _awk(word: Word) -> Finding | None:
    program = without_arithmetic(word)
    if program is None or not is_harmless_awk(program):
        return Effect.RUNS, told("the program may run commands or write files")
    return None


def _surplus(word: Word) -> Finding | None:
    return Effect.WRITES, told("{word} goes beyond its known use", word=word.text[:40])


def _task(word: Word) -> Finding | None:
    """A target of a project's own runner, or a file of the project."""
    text = word.value
    if text is None or is_a("broad", text.rpartition(":")[2]) or _NO_TASK.search(text) or leads_outside(word):
        return Effect.RUNS, no_known_value(word)
    return None


def _started(word: Word) -> Finding | None:
    """A task of the project by its name, or a script."""
    return None if word.value is not None and re.fullmatch(r"\w[\w:-]*", word.value) else _script(word)


def _rake_task(word: Word) -> Finding | None:
    """A task, or a variable that is set for the tasks as make's are for its recipes."""
    return _make_target(word) if "=" in word.text else _task(word)


def _number(word: Word) -> Finding | None:
    """A number, or a word that stands for one; a name may be a plugin's to another program of the block."""
    is_known = word.value is None or _NUMBER.fullmatch(word.value)
    return None if is_known else (Effect.RUNS, no_known_value(word))


def _make_target(word: Word) -> Finding | None:
    """A target, or a variable that is set for the recipes.

    Built-in rules make a file of any name; recipes hand a target's name on to a shell.
    """
    variable = _MAKE_VARIABLE.fullmatch(word.text)
    is_odd = word.value is not None and not re.fullmatch(r"[\w.%+:,@=/-]*", word.value)
    if variable is None and (is_odd or leads_outside(word)):
        return Effect.RUNS, no_known_value(word)
    if variable is None:
        reason = told("it sets {names}, which can change what runs", names=word.text[:30])
        return (Effect.RUNS, reason) if "=" in word.text else None
    name, value = variable.groups()
    if word.value is not None and _is_known_to_make(name, value):
        return None
    is_data = word.value is not None and re.fullmatch(r"[\w.:@,+= -]*", value) is not None
    runs = not is_data or is_a("make_own", name) or is_a("make_program", name)
    return Effect.RUNS if runs else Effect.WRITES, told("{name} can change what the recipes run", name=name)


def _is_known_to_make(name: str, value: str) -> bool:
    if name in ("CC", "CXX"):
        return is_a("compiler", value)
    if is_a("make_place", name) and is_a("built", value) and not leads_outside(Word.literal(value)):
        return True
    if is_a("make_choice", name) and re.fullmatch(r"\w[\w./:-]*", value) and ".." not in value.split("/"):
        return True
    return is_a("make_switch", value) and not is_a("make_own", name)


def _git_folder(word: Word, around: Surroundings) -> Finding | None:
    if word.value in (".", "./") or word.text == "$(git rev-parse --show-toplevel)":
        return None
    if word.value is not None and around.is_same_repository(word.value):
        return None
    effect = Effect.RUNS if leads_outside(word) else Effect.REACHES
    return effect, told("-C uses a repository elsewhere, whose configuration can run programs")


def _go_run(word: Word) -> Finding | None:
    if is_a("go_program", word.value) and "@" not in word.text and not leads_outside(word):
        return None
    return Effect.RUNS, told("fetches and runs a program")


def _cov_report(word: Word, around: Surroundings) -> Finding | None:
    match = pattern("coverage_report").fullmatch(word.text)
    if match is None:
        return Effect.WRITES, told("it writes to {target}", target=word.text[:40])
    return check_value("built", Word.literal(match["place"]), around) if match["place"] else None


def _document(word: Word) -> Finding | None:
    """A file of the project that has an ending, which tells it from a subcommand; no address."""
    is_named = word.value == "-" or ("." in word.text and ":" not in word.text)
    return check_own(word) if is_named else (Effect.RUNS, no_known_value(word))


def _awk_file(word: Word) -> Finding | None:
    """A file of awk's, of which GNU's takes some for a connection."""
    return (Effect.REACHES, no_known_value(word)) if word.prefix.startswith("/inet") else None


def _ref(word: Word) -> Finding | None:
    """What git reads, by way of another program perhaps: no option of its."""
    return (Effect.RUNS, no_known_value(word)) if word.prefix.startswith("-") else None


def _argument(word: Word) -> Finding | None:
    return (Effect.RUNS, told("runs code that is typed")) if word.value in ("tinker", "shell") else None


def _yq_word(word: Word) -> Finding | None:
    """An expression of yq's that reads no file of its own choice, or a file."""
    return (Effect.REACHES, no_known_value(word)) if is_a("yq_reads", word.text) else None


def _name(word: Word) -> Finding | None:
    """A variable that a builtin gives a value."""
    name = re.match(r"[A-Za-z_]\w*|[0-9]+$", word.text)
    reason = name_reason(name[0] if name and (word.is_plain or word.prefix.startswith(f"{name[0]}[")) else "")
    return (Effect.RUNS, reason) if reason and (name is None or name[0] != "REPLY") else None


def _own_job(word: Word) -> Finding | None:
    """A process that the text itself began."""
    if word.text == "$!" or re.fullmatch(r"%(?:\d+|%|\+|-)?", word.value or "-"):
        return None
    return Effect.REACHES, told("reaches or changes what isn't the project's")


def _environment(word: Word) -> Finding | None:
    """A variable that a program elsewhere is given, `NAME=VALUE`: none that steers what runs."""
    name, equals, value = word.text.partition("=")
    if equals and word.is_plain and is_harmless_setting(name, value):
        return None
    reason = name_reason(name)
    return (Effect.RUNS, reason) if reason else None


def _definition(word: Word) -> Finding | None:
    return (Effect.RUNS, told("gives a name another meaning")) if "=" in word.text else None


_CHECKS: dict[str, Callable[[Word], Finding | None]] = {
    **places.CHECKS,
    **outgoing.CHECKS,
    "sed": _sed,
    "awk": _awk,
    "surplus": _surplus,
    "none": _surplus,
    "task": _task,
    "make_target": _make_target,
    "rake_task": _rake_task,
    "started": _started,
    "number": _number,
    "go_run": _go_run,
    "script": _script,
    "argument": _argument,
    "definition": _definition,
    "environment": _environment,
    "name": _name,
    "own_job": _own_job,
    "document": _document,
    "ref": _ref,
    "awk_file": _awk_file,
    "yq_word": _yq_word,
}
"""Kinds that a pattern can't say: where a path leads, what a script holds."""

_PLACED: dict[str, Callable[[Word, Surroundings], Finding | None]] = {
    **places.PLACED,
    "generated": _generated,
    "cov_report": _cov_report,
    "git_folder": _git_folder,
    "remote": check_remote,
}
"""Kinds that depend on where the command is run."""

ONLY_READ = frozenset("inside own script other_project source".split())
PLACES = ONLY_READ | frozenset(
    "place folder checkout tree compressed product typed built fetched requirements unpacked venv generated".split()
)
"""Kinds that name a place: all that is put together of variables is looked at as what it becomes."""


def check_value(name: str, word: Word, around: Surroundings = NOWHERE) -> Finding | None:
    """Say what is wrong with a value or operand of this kind; None when it is what it may be."""
    if around.has_moved and name in PLACES and name != "generated":
        return _from_the_start(name, word, around)
    placed = _PLACED.get(name)
    if placed is not None:
        return placed(word, around)
    check = _CHECKS.get(name)
    if check is not None:
        return check(word)
    known = kind(name)
    if known is not None:
        is_known = word.value is not None and known[0].fullmatch(word.value)
        return None if is_known else (known[1], no_known_value(word))
    if name[:1] == "{":  # `{a|b*}`: these values alone
        is_known = word.value is not None and any(_is_one_of(word.value, each) for each in name[1:-1].split("|"))
        return None if is_known else (Effect.RUNS, no_known_value(word))
    return None


def _is_one_of(value: str, pattern: str) -> bool:
    """Whether a value is one that the table names; a star leads no path out of the workspace."""
    strays = ".." in value.split("/")
    if pattern.startswith("*"):
        strays = leads_outside(Word.literal(value)) or "://" in value
    return fnmatchcase(value, pattern) and not (strays and pattern[:1] != "[" and "*" in pattern)


def _from_the_start(name: str, word: Word, around: Surroundings) -> Finding | None:
    """The same in each folder that the text may be in; where none is known, nothing may be written by its name."""
    if name == "source" and word.value == "..":
        return None
    start = around.at_the_start()
    found = [check_value(name, each, start) for each in around.from_the_start(word) or [word]]
    if around.folders is None and name not in ONLY_READ and not (word.value or "x").startswith("/"):
        found.append((Effect.WRITES, told("it writes to {target}", target=word.text[:40])))
    return next(filter(None, found), None)
