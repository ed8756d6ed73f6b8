"""Which words of a command run or overwrite something that a bare prefix doesn't cover."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dogu.policy.programs import GIT_COMMANDS, GIT_VALUE_OPTIONS, RISKY_PREFIXES, RISKY_VARIABLES, ROWS, Effect, Row
from dogu.workspace.shell_syntax import Redirect, Word

_SAFE_TARGETS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/zero", "/dev/tty"))
_ROWS_OF: dict[str, list[Row]] = {}
for _row in ROWS:
    for _program in _row.programs.split():
        _ROWS_OF.setdefault(_program, []).append(_row)

_PROTECTED = re.compile(
    r"(?:^|/)\.(?:git|gemini|dogu|vscode|idea|github|husky|ssh|gnupg|config|bashrc|profile)(?:/|$)", re.I
)
_AWK_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_AWK_DANGER = re.compile(r"\bsystem\b|getline|(?<!\|)\|(?!\|)|@|print[^;}\n]*>|\bclose\b|/inet/|\|&")
_SED_SAFE = re.compile(
    r"""(?:\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)(?:,(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\.)*/I?))?)?\s*!?\s*
    (?:s(?P<d>[^\w\s\\])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)[gpiIm0-9]*
    |y(?P<e>[^\w\s\\])(?:(?!(?P=e))[^\\\n]|\\.)*(?P=e)(?:(?!(?P=e))[^\\\n]|\\.)*(?P=e)
    |[pPdDqQnNgGhHxlz=]|)\s*(?:;|\n|$))+""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Danger:
    """The word at `index` (0 is the program) has an effect that needs a rule of its own, or a question."""

    index: int
    effect: Effect
    reason: str


def dangers_of(name: str, words: Sequence[Word]) -> Iterator[Danger]:
    """Yield what is dangerous about the words, whose program is `name`."""
    rows = _ROWS_OF.get(name, [])
    if name == "git":
        yield from _git(words)
    subcommand_at, subcommand = _subcommand(name, words)
    for row in rows:
        yield from _by_row(row, words, subcommand_at, subcommand)
    checker = _CHECKERS.get(name)
    if checker is not None:
        yield from checker(words)
    if rows:
        yield from _unknown_words(name, words)
    if name in _TAKES_PLACES:
        yield from _places(words)


def is_risky_variable(name: str) -> bool:
    """Whether setting the variable can change which program runs, or what it reads and writes."""
    return name in RISKY_VARIABLES or name.startswith(RISKY_PREFIXES)


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
        return f"it reads from {redirect.target.text}" if is_network and target is not None else ""
    return f"it writes to {redirect.target.text}"


def _subcommand(name: str, words: Sequence[Word]) -> tuple[int, str]:
    """Where the first operand stands, and it with the one after it."""
    at = 1
    while at < len(words):
        value = words[at].value
        if value is None:
            return at, ""
        if not value.startswith("-"):
            second = words[at + 1].value if at + 1 < len(words) else None
            return at, f"{value} {second or ''}".rstrip()
        at += 2 if name == "git" and value in GIT_VALUE_OPTIONS else 1
    return len(words), ""


def _by_row(row: Row, words: Sequence[Word], subcommand_at: int, subcommand: str) -> Iterator[Danger]:
    if row.under and row.under not in (subcommand, subcommand.split(" ", maxsplit=1)[0]):
        return
    if not row.options:
        # A rule that names the subcommand covers it; one that names but the program doesn't.
        yield Danger(subcommand_at + row.under.count(" ") if row.under else 1, row.effect, row.reason)
        return
    start = subcommand_at + 1 if row.under else 1
    options = row.options.split()
    # git's own options stand before the subcommand, where -c means another thing than after it
    end = subcommand_at if row.programs == "git" and row.is_exact else len(words)
    for index in range(start, end):
        value = words[index].value
        text = words[index].prefix if value is None else value
        if value == "--" and not row.is_exact:
            return
        if any(_matches(option, text, is_exact=row.is_exact) for option in options):
            yield Danger(index, row.effect, f"{text.split('=')[0][:30]} {row.reason}")


def _matches(option: str, text: str, *, is_exact: bool) -> bool:
    """Whether a word is this option, abbreviated, with a value attached, or in a cluster of short ones."""
    if option in ("=", "+"):
        return option in text if option == "=" else text.startswith("+")
    if option.startswith("--"):
        given = text.split("=", maxsplit=1)[0]
        return given == option or (len(given) > 3 and given.startswith("--") and option.startswith(given))
    if is_exact or len(option) != 2:
        return text == option or text.startswith(f"{option}=")
    return text.startswith("-") and not text.startswith("--") and option[1] in _cluster(text)


def _cluster(text: str) -> str:
    """The letters of a short-option word up to what must be a value."""
    return re.split(r"[^A-Za-z0-9]", text[1:])[0]


def _git(words: Sequence[Word]) -> Iterator[Danger]:
    at, subcommand = _subcommand("git", words)
    for index, word in enumerate(words[1:at], 1):
        if word.value == "-C" and index + 1 < len(words) and _leads_outside(words[index + 1]):
            yield Danger(index, Effect.RUNS, "-C uses a repository elsewhere, whose configuration can run programs")
    first = subcommand.split(" ")[0]
    rows = {row.under.split(" ")[0] for row in _ROWS_OF["git"]}
    if at < len(words) and first not in GIT_COMMANDS and first not in rows:
        yield Danger(at, Effect.REACHES, f"{first or words[at].text} may be an alias that runs anything")
    if first == "config":
        operands = [word for word in words[at + 1 :] if not word.text.startswith("-")]
        reads = {"--get", "--get-all", "--list", "-l", "--get-regexp", "--get-urlmatch", "--show-origin"}
        if len(operands) > 1 and not reads & {word.text for word in words}:
            yield Danger(at, Effect.RUNS, "config changes settings that can name programs")
    for index, word in enumerate(words[1:], 1):
        if re.match(r"(?:ext|fd)::", word.prefix):
            yield Danger(index, Effect.RUNS, "the address names a program to run")


def _leads_outside(word: Word) -> bool:
    text = word.value
    return text is None or text.startswith(("/", "~")) or ".." in text.split("/")


def _sed(words: Sequence[Word]) -> Iterator[Danger]:
    scripts = _scripts(words, {"-e", "--expression"}, {"-l", "--line-length"})
    for index, script in scripts:
        if script is None or not _SED_SAFE.fullmatch(script):
            yield Danger(index, Effect.RUNS, "the script may run commands or write files")


def _awk(words: Sequence[Word]) -> Iterator[Danger]:
    for index, script in _scripts(words, {"-e", "--source"}, {"-F", "-v", "--field-separator", "--assign"}):
        if script is None or _AWK_DANGER.search(_AWK_STRING.sub('""', script)):
            yield Danger(index, Effect.RUNS, "the program may run commands or write files")


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


def _unknown_words(name: str, words: Sequence[Word]) -> Iterator[Danger]:
    """A word that can't be known may be a dangerous option, unless `--` or its beginning says that it isn't."""
    if not any(row.options for row in _ROWS_OF[name]):
        return
    for index, word in enumerate(words[1:], 1):
        if word.value == "--":
            return
        if word.value is None and not word.prefix and not word.has_tilde:
            yield Danger(index, Effect.WRITES, f"{word.text[:30]} may be an option of {name}")


def _evaluates(words: Sequence[Word]) -> Iterator[Danger]:
    """Builtins that evaluate a subscript given to them, even a quoted one."""
    for index, word in enumerate(words[1:], 1):
        text = word.text
        if re.search(r"\[.*(?:\$|`)", text, re.DOTALL):
            yield Danger(index, Effect.RUNS, "a subscript may run what it holds")
        name = re.match(r"[A-Za-z_][A-Za-z0-9_]*", text)
        if name is not None and is_risky_variable(name[0]) and words[0].text not in ("test", "[", "echo", "printf"):
            yield Danger(index, Effect.RUNS, f"it sets {name[0]}, which can change what runs")
        if words[0].text == "printf" and index == 1 and text != "-v":
            return


def _folder(words: Sequence[Word]) -> Iterator[Danger]:
    operands = [index for index, word in enumerate(words[1:], 1) if not word.text.startswith("-") or word.text == "-"]
    if not operands:
        yield Danger(0, Effect.REACHES, "it leaves the workspace")
    for index in operands:
        if _leads_outside(words[index]) or words[index].text == "-":
            yield Danger(index, Effect.REACHES, "it leaves the workspace")


def _uniq(words: Sequence[Word]) -> Iterator[Danger]:
    operands = [index for index, word in enumerate(words[1:], 1) if not word.text.startswith("-")]
    if len(operands) > 1:
        yield Danger(operands[1], Effect.WRITES, "the second operand is written to")


def _tar(words: Sequence[Word]) -> Iterator[Danger]:
    if len(words) > 1 and re.fullmatch(r"-?[a-zA-Z]*x[a-zA-Z]*", words[1].text):
        yield Danger(1, Effect.WRITES, "extracting writes files")


def _shells(words: Sequence[Word]) -> Iterator[Danger]:
    for index, word in enumerate(words[1:], 1):
        if not word.text.startswith("-"):
            break
        if word.text in ("--init-file", "--rcfile"):
            yield Danger(index, Effect.RUNS, "it names a script to run")


def _environment(words: Sequence[Word]) -> Iterator[Danger]:
    for index, word in enumerate(words[1:], 1):
        match = re.match(r"([A-Za-z_][A-Za-z0-9_]*)=", word.text)
        if match is not None and is_risky_variable(match[1]):
            yield Danger(index, Effect.RUNS, f"it sets {match[1]}, which can change what runs")


def _places(words: Sequence[Word]) -> Iterator[Danger]:
    for index, word in enumerate(words[1:], 1):
        if _PROTECTED.search(word.text):
            yield Danger(index, Effect.WRITES, f"{word.text[:40]} is where things that run later are kept")


_TAKES_PLACES = frozenset("mkdir touch cp mv ln install rsync rm rmdir".split())

_CHECKERS = {
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "original-awk"), _awk),
    **dict.fromkeys(
        (
            "printf",
            "unset",
            "test",
            "[",
            "read",
            "declare",
            "typeset",
            "local",
            "export",
            "readonly",
            "let",
            "mapfile",
            "getopts",
            "wait",
        ),
        _evaluates,
    ),
    **dict.fromkeys(("cd", "pushd", "popd"), _folder),
    "uniq": _uniq,
    **dict.fromkeys(("env", "sudo", "doas"), _environment),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _tar),
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh"), _shells),
}
