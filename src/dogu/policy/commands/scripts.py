"""Scripts of sed and awk: whether they may run commands or write files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect
from dogu.workspace.shell_syntax import PartKind, Word

_AWK_LITERAL = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|(?:(?<=[~(,!{;&?:])|(?<=^)|(?<=\|\|))[ \t]*/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n/]*\])+/'
)
_AWK_DANGER = re.compile(r"\bsystem\b|getline|(?<!\|)\|(?!\|)|@|\bclose\b|/inet/|\|&")
_AWK_PRINTS_FOR_A_PERSON = re.compile(r">>?+[ \t]*+\0[ \t]*+(?=[;}\n]|$)")

# Seds differ on whether a delimiter inside of [...] ends a pattern: there neither reading is proven.
_IN_BRACKET = r"\[\^?+\]?+(?:\[:\w+:\]|\\[^\]\n]|(?!%s)[^\]\n\[\\])*+\]"
_PATTERNS = "|".join(
    rf"{opens}(?:[^{mark}\\\n\[]|\\.|{_IN_BRACKET % mark})*+{mark}[IM]*+"
    for opens, mark in (("/", "/"), *((rf"\\{mark}", mark) for mark in map(re.escape, "|,#%@!:_~+")))
)
_SED_ADDRESSES = re.compile(
    rf"(?:(?:\d++(?:~\d++)?+|\$|{_PATTERNS})(?:\s*+,\s*+(?:[+~]?+\d++|\$|{_PATTERNS}))?+)?+\s*+!?+\s*+"
)
_SED_COMMAND = re.compile(
    rf"""(?:s(?P<d>[^\w\s\\])(?:(?!(?P=d))[^\\\n\[]|\\.|{_IN_BRACKET % "(?P=d)"})*+(?P=d)
        (?:(?!(?P=d))[^\\\n]|\\.)*+(?P=d)[gpiImM0-9]*+
    |y(?P<e>[^\w\s\\])(?:(?!(?P=e))[^\\\n]|\\.)*+(?P=e)(?:(?!(?P=e))[^\\\n]|\\.)*+(?P=e)
    |[pPdDnNgGhHxlzF=]|[qQ][ ]*+\d*+|[btT][ ]*+[A-Za-z0-9_]*+|:[ ]*+[A-Za-z0-9_]++
    |[aic](?:[ \t]*+\\\n?)?+[^\\\n]*+(?=\n|$)|[rR][ \t]*+[^\n]++(?=\n|$))
    [ \t]*+(?=[;\n}}]|$)|\{{""",
    re.VERBOSE,
)
_BETWEEN_SED_COMMANDS = re.compile(r"[\s;}]*+")


def _is_harmless_sed(script: str) -> bool:
    """Whether the script holds harmless commands alone. One command after the other: linear, whatever it holds."""
    at = 0
    while at < len(script):
        begin = _BETWEEN_SED_COMMANDS.match(script, at)
        at = begin.end() if begin else at
        if at == len(script):
            break
        addresses = _SED_ADDRESSES.match(script, at)
        command = _SED_COMMAND.match(script, addresses.end() if addresses else at)
        if command is None:
            return False
        at = command.end()
    return True


def sed_dangers(words: Sequence[Word]) -> Iterator[Danger]:
    """Yield the scripts of sed that hold anything but harmless commands."""
    for index, script in _scripts(words, {"-e", "--expression"}, {"-l", "--line-length"}):
        if script is None or not _is_harmless_sed(script):
            yield Danger(index, Effect.RUNS, told("the script may run commands or write files"))


def awk_dangers(words: Sequence[Word]) -> Iterator[Danger]:
    """Yield the programs of awk that may open pipes or files."""
    takes = {"-F", "-v", "--field-separator", "--assign"}
    for index, script in _scripts(words, {"-e", "--source"}, takes):
        if script is None or not _is_harmless_awk(script):
            yield Danger(index, Effect.RUNS, told("the program may run commands or write files"))


def _is_harmless_awk(program: str) -> bool:
    """Whether the program neither runs commands nor reads or writes files of its own. Linear."""
    known = ('"/dev/stdout"', '"/dev/stderr"', '"/dev/null"')
    code = _AWK_LITERAL.sub(lambda match: "\0" if match[0] in known else '""', program.replace("\0", '"'))
    if _AWK_DANGER.search(code):
        return False
    statements = re.split(r"[;}\n]", _AWK_PRINTS_FOR_A_PERSON.sub("", code))
    return not any(">" in _outside_parentheses(each.partition("print")[2]) for each in statements)


def _outside_parentheses(code: str) -> str:
    """The code without what stands in parentheses, where `>` compares; all of it when they don't pair."""
    kept: list[str] = []
    depth = 0
    for piece in re.split(r"([()])", code):
        depth += (piece == "(") - (piece == ")")
        if depth < 0:
            return code
        if depth == 0:
            kept.append(piece)
    return code if depth else "".join(kept)


def _scripts(words: Sequence[Word], gives: set[str], takes: set[str]) -> list[tuple[int, str | None]]:
    """The words that are scripts: those after an option that gives one, else the first operand."""
    found: list[tuple[int, str | None]] = []
    operands: list[tuple[int, str | None]] = []
    at = 1
    while at < len(words):
        value = _known(words[at])
        attached = None if value is None else _attached_script(value, gives)
        if attached is not None:
            found.append((at, attached))
        elif value is not None and _gives_script(value, gives):
            at += 1
            found.append((at, _known(words[at]) if at < len(words) else None))
        elif value in takes:
            at += 1
        elif value is None or not value.startswith("-") or value == "-":
            operands.append((at, value))
        at += 1
    return found or operands[:1]


def _known(word: Word) -> str | None:
    """What the word holds, with a number for each arithmetic expansion; None when that can't be known."""
    if any(part.kind not in (PartKind.LITERAL, PartKind.ARITHMETIC) for part in word.parts):
        return None
    if word.is_plain:
        return word.value
    return "".join(part.text if part.kind is PartKind.LITERAL else "1" for part in word.parts)


def _gives_script(value: str, gives: set[str]) -> bool:
    """Whether the next word is a script: `-e`, `--expression`, or a cluster that ends in e."""
    is_cluster = value.startswith("-") and not value.startswith("--") and value.endswith("e")
    return value in gives or (is_cluster and "-e" in gives)


def _attached_script(value: str, gives: set[str]) -> str | None:
    option, equals, script = value.partition("=")
    if equals and option in gives:
        return script
    return value[2:] if value.startswith("-e") and len(value) > 2 and "-e" in gives else None
