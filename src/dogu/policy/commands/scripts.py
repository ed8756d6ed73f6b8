"""Scripts of sed and awk: whether they may run commands or write files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect
from dogu.workspace.shell_syntax import Word

_AWK_LITERAL = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|(?:(?<=[~(,!{;&?:])|(?<=^)|(?<=\|\|))[ \t]*/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n/]*\])+/'
)
_AWK_DANGER = re.compile(r"\bsystem\b|getline|(?<!\|)\|(?!\|)|@|print[^;}\n]*>|\bclose\b|/inet/|\|&")

_PATTERN = r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n/\\]*\])*/[IM]*"
_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|{_PATTERN})"
_SED_SAFE = re.compile(
    rf"""(?:\s*(?:{_ADDRESS}(?:\s*,\s*(?:[+~]?\d+|\$|{_PATTERN}))?)?\s*!?\s*
    (?:s(?P<d>[^\w\s\\])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)[gpiIm0-9]*
    |y(?P<e>[^\w\s\\])(?:(?!(?P=e))[^\\\n]|\\.)*(?P=e)(?:(?!(?P=e))[^\\\n]|\\.)*(?P=e)
    |[pPdDnNgGhHxlzF=]|[qQ][ ]*\d*|[btT][ ]*[A-Za-z0-9_]*|:[ ]*[A-Za-z0-9_]+|[aic](?:\\\n|[ ])[^\\\n]*(?=\n|$)|[{{}}]|)
    \s*(?:;|\n|$|(?<=[{{}}])|(?=\}})))+""",
    re.VERBOSE,
)


def sed_dangers(words: Sequence[Word]) -> Iterator[Danger]:
    """Yield the scripts of sed that hold anything but harmless commands."""
    for index, script in _scripts(words, {"-e", "--expression"}, {"-l", "--line-length"}):
        if script is None or len(script) > 2_000 or not _SED_SAFE.fullmatch(script):
            yield Danger(index, Effect.RUNS, told("the script may run commands or write files"))


def awk_dangers(words: Sequence[Word]) -> Iterator[Danger]:
    """Yield the programs of awk that may open pipes or files."""
    takes = {"-F", "-v", "--field-separator", "--assign"}
    for index, script in _scripts(words, {"-e", "--source"}, takes):
        if script is None or _AWK_DANGER.search(_AWK_LITERAL.sub('""', script)):
            yield Danger(index, Effect.RUNS, told("the program may run commands or write files"))


def _scripts(words: Sequence[Word], gives: set[str], takes: set[str]) -> list[tuple[int, str | None]]:
    """The words that are scripts: those after an option that gives one, else the first operand."""
    found: list[tuple[int, str | None]] = []
    operands: list[tuple[int, str | None]] = []
    at = 1
    while at < len(words):
        value = words[at].value
        attached = None if value is None else _attached_script(value, gives)
        if attached is not None:
            found.append((at, attached))
        elif value is not None and _gives_script(value, gives):
            at += 1
            found.append((at, words[at].value if at < len(words) else None))
        elif value in takes:
            at += 1
        elif value is None or not value.startswith("-") or value == "-":
            operands.append((at, value))
        at += 1
    return found or operands[:1]


def _gives_script(value: str, gives: set[str]) -> bool:
    """Whether the next word is a script: `-e`, `--expression`, or a cluster that ends in e."""
    is_cluster = value.startswith("-") and not value.startswith("--") and value.endswith("e")
    return value in gives or (is_cluster and "-e" in gives)


def _attached_script(value: str, gives: set[str]) -> str | None:
    option, equals, script = value.partition("=")
    if equals and option in gives:
        return script
    return value[2:] if value.startswith("-e") and len(value) > 2 and "-e" in gives else None
