"""Which words of a command run or overwrite something that a bare prefix doesn't cover."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from dogu.language import sentence, told
from dogu.policy.commands import machine_checks, program_checks, shell_checks
from dogu.policy.commands.effects import Danger, Effect, Row
from dogu.policy.commands.git_checks import git_dangers
from dogu.policy.commands.names import IGNORE_CASE, PRINT_NO_OPTION, VALUES_BEFORE_SUBCOMMAND
from dogu.policy.commands.programs import LOOKS_ONLY, NO_ABBREVIATIONS, ROWS, VALUE_LETTERS
from dogu.policy.commands.scripts import awk_dangers, sed_dangers
from dogu.workspace.shell_syntax import CommandKind, PartKind, Redirect, Script, Word

_SAFE_TARGETS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/zero", "/dev/tty"))
_LOOKS_ONLY = ("--help", "--version", "--test", "--list")
_ROWS_OF: dict[str, list[Row]] = {}
for _row in ROWS:
    for _program in _row.programs.split():
        _ROWS_OF.setdefault(_program, []).append(_row)


def dangers_of(name: str, words: Sequence[Word]) -> Iterator[Danger]:
    """Yield what is dangerous about the words, whose program is `name`."""
    versioned = _VERSIONED.fullmatch(name)
    name = versioned[1] if versioned else name
    rows = _ROWS_OF.get(name, [])
    subcommand_at, second_at, subcommand = _subcommand(name, words)
    if words[1].value in LOOKS_ONLY.get(name, "").split() if len(words) > 1 else name in ("umask", "ulimit"):
        return
    if name == "git":
        yield from git_dangers(words, subcommand_at, subcommand)
    for row in rows:
        at = second_at if " " in row.under else subcommand_at
        yield from _by_row(row, words, at, subcommand)
    checker = _CHECKERS.get(name)
    if checker is not None:
        yield from checker(words)
    if rows:
        yield from _unknown_words(name, words)
    if name in ("python", "pypy"):
        yield from _of_module(words)


def _of_module(words: Sequence[Word]) -> Iterator[Danger]:
    """What `python -m MODULE` is given, as if the module were called as a program."""
    for at, word in enumerate(words[1:], 1):
        if word.value == "-m" and at + 1 < len(words):
            name = words[at + 1].value or ""
            known = dangers_of(name, words[at + 1 :]) if name in _ROWS_OF else iter(())
            yield from (Danger(each.index + at + 1, each.effect, each.reason) for each in known)
            return
        if not word.text.startswith("-"):
            return


def redirect_danger(redirect: Redirect) -> str:
    """Say why a redirection needs a question; '' when it doesn't."""
    target = redirect.target.value
    if redirect.operator in ("<<", "<<<"):
        return ""
    if redirect.operator in (">&", "<&") and target is not None and re.fullmatch(r"\d*-?", target):
        return ""
    if target is not None and (target in _SAFE_TARGETS or re.fullmatch(r"/dev/fd/\d+", target)):
        return ""
    if redirect.operator in ("<", "<&"):
        is_network = target is None or target.startswith(("/dev/tcp/", "/dev/udp/"))
        return told("it reads from {target}", target=redirect.target.text) if is_network and target is not None else ""
    return told("it writes to {target}", target=redirect.target.text)


def _subcommand(name: str, words: Sequence[Word]) -> tuple[int, int, str]:
    """Where the first operand and the next one stand, and what they are."""
    takes_value = VALUES_BEFORE_SUBCOMMAND.get(name, frozenset())
    found: list[int] = []
    at = 1
    while at < len(words) and len(found) < 2:
        value = words[at].value
        if value is None:
            break
        if not value.startswith("-"):
            found.append(at)
        at += 2 if value in takes_value and not found else 1
    names = [words[each].value or "" for each in found]
    if name in IGNORE_CASE:
        names = [each.lower() for each in names]
    if not found:
        return min(at, len(words)), len(words), ""
    return found[0], found[1] if len(found) > 1 else found[0] + 1, " ".join(names)


def _by_row(row: Row, words: Sequence[Word], subcommand_at: int, subcommand: str) -> Iterator[Danger]:
    if row.under and row.under not in (subcommand, subcommand.split(" ", maxsplit=1)[0]):
        return
    if not row.options:
        if any(word.value in _LOOKS_ONLY for word in words[1:2]):
            return
        # A rule that names the subcommand covers it; one that names but the program doesn't.
        yield Danger(subcommand_at if row.under else 1, row.effect, sentence(row.reason))
        return
    start = subcommand_at + 1 if row.under else 1
    options = row.options.split()
    values = VALUE_LETTERS.get(row.programs.split()[0], "")
    # git's own options stand before the subcommand, where -c means another thing than after it
    end = subcommand_at if row.programs == "git" and row.is_exact else len(words)
    how = _EXACT if row.is_exact else _IN_FULL if words[0].text in NO_ABBREVIATIONS else _ABBREVIATED
    for index in range(start, end):
        value = words[index].value
        text = words[index].prefix if value is None else value
        if value == "--" and not row.is_exact:
            return
        if any(_matches(option, text, values, how) for option in options):
            reason = told("{option} {reason}", option=text.split("=")[0][:30], reason=sentence(row.reason))
            yield Danger(index, row.effect, reason)


_EXACT, _IN_FULL, _ABBREVIATED = range(3)  # how a program takes its options


def _matches(option: str, text: str, values: str, how: int) -> bool:
    """Whether a word is this option, abbreviated, with a value attached, or in a cluster of short ones."""
    if option in ("=", "+"):
        return option in text if option == "=" else text.startswith("+")
    if option.endswith("*"):
        return text.startswith(option[:-1])
    if option.startswith("--"):
        given = text.split("=", maxsplit=1)[0]
        is_short = len(given) > 3 and given.startswith("--") and given not in _WRITTEN_OUT
        return given == option or (how is _ABBREVIATED and is_short and option.startswith(given))
    if how is _EXACT or len(option) != 2:
        return text == option or text.startswith(f"{option}=")
    return text.startswith("-") and not text.startswith("--") and option[1] in _cluster(text, values)


def _cluster(text: str, values: str) -> str:
    """The letters of a short-option word up to what must be a value."""
    letters = re.split(r"[^A-Za-z0-9]", text[1:])[0]
    ends = [place for place, letter in enumerate(letters, 1) if letter in values]
    return letters[: ends[0]] if ends else letters


def _unknown_words(name: str, words: Sequence[Word]) -> Iterator[Danger]:
    """A word that can't be known may be a dangerous option, unless `--` or its beginning says that it isn't."""
    if not any(row.options for row in _ROWS_OF[name]):
        return
    for index, word in enumerate(words[1:], 1):
        if word.value == "--":
            return
        is_value = name == "find" and words[index - 1].text.startswith("-") and not word.may_split
        if word.value is None and not is_value and not _is_no_option(name, word):
            yield Danger(
                index, Effect.WRITES, told("{word} may be an option of {name}", word=word.text[:30], name=name)
            )


def _is_no_option(name: str, word: Word) -> bool:
    first = next((part for part in word.parts if part.kind is not PartKind.LITERAL or part.text), None)
    is_harmless = first is not None and (
        first.kind in (PartKind.PROCESS, PartKind.ARITHMETIC) or _prints_no_option(first.script)
    )
    return bool(word.prefix) or word.has_tilde or is_harmless or (name in _REMOVES and word.is_plain)


def _prints_no_option(script: Script | None) -> bool:
    """Whether it is one command that never prints a hyphen first."""
    commands = script.commands if script is not None else []
    if len(commands) != 1 or commands[0].kind is not CommandKind.SIMPLE or not commands[0].words:
        return False
    values = [each.value for each in commands[0].words]
    if None in values or commands[0].redirects:
        return False
    text = " ".join(each or "" for each in values)
    return any(text == known or text.startswith(f"{known} ") for known in PRINT_NO_OPTION) and " -- " not in text


_WRITTEN_OUT = ("--text", "--int", "--comp", "--delete")  # options of their own that begin another's name
_REMOVES = ("rm", "unlink")  # a file named like an option makes them do no more than they say
_EVALUATORS = "unset test [ read declare typeset local export readonly let mapfile readarray getopts wait"
_CHECKERS: dict[str, Callable[[Sequence[Word]], Iterator[Danger]]] = {
    **dict.fromkeys(("sed", "gsed"), sed_dangers),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "original-awk"), awk_dangers),
    **dict.fromkeys(_EVALUATORS.split(), shell_checks.evaluates),
    **dict.fromkeys(("cd", "pushd", "popd"), shell_checks.leaves),
    **dict.fromkeys(("uniq", "xxd"), shell_checks.second_operand),
    **dict.fromkeys(("env", "doas"), shell_checks.environment),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), shell_checks.tar),
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh"), shell_checks.shells),
    **dict.fromkeys(("mkdir", "touch", "unlink"), shell_checks.makes),
    **dict.fromkeys(("cp", "mv", "ln", "install", "link"), shell_checks.copies),
    **dict.fromkeys(("rm", "rmdir"), shell_checks.removes),
    **dict.fromkeys(("docker", "podman", "nerdctl"), program_checks.containers),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), program_checks.npm),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), program_checks.compiler),
    **dict.fromkeys(("make", "gmake"), program_checks.make),
    **dict.fromkeys(("ssh", "rsh"), program_checks.ssh),
    "printf": shell_checks.printf_sets,
    "set": shell_checks.sets_options,
    "tee": shell_checks.tee,
    "cmake": machine_checks.cmake,
    "sudo": machine_checks.sudo,
    "rsync": machine_checks.rsync,
    **dict.fromkeys(("aws", "gcloud", "az", "gsutil"), machine_checks.cloud),
    **dict.fromkeys(("pytest", "py.test"), program_checks.pytest),
    "coverage": program_checks.coverage,
    **dict.fromkeys(("psql", "mysql", "mariadb"), program_checks.sql),
    "curl": program_checks.curl,
    "wget": program_checks.wget,
    "go": program_checks.go,
    "cargo": program_checks.cargo,
    "kubectl": program_checks.kubectl,
    "gh": program_checks.gh,
    "sqlite3": program_checks.sqlite,
    **{
        name: partial(program_checks.interpreter, how)
        for known, how in program_checks.INTERPRETERS.items()
        for name in (("node", "nodejs") if known == "node" else (known,))
    },
}
_VERSIONED = re.compile(r"(python|pypy|pip|perl|ruby|lua|php|gcc|g\+\+|clang|clang\+\+|node|nodejs)-?[0-9.]+")
