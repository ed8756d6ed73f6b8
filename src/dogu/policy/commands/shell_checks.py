"""What the shell's own commands, and those that take places, are given that a bare prefix doesn't cover."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect
from dogu.policy.commands.names import RISKY_PREFIXES, RISKY_VARIABLES
from dogu.workspace.shell_syntax import Word

_PROTECTED = re.compile(
    r"(?:^|/)\.(?:git|gemini|dogu|vscode|idea|github|husky|ssh|gnupg|config|bashrc|bash_profile|zshrc|profile)(?:/|$)",
    re.IGNORECASE,
)
_SUBSCRIPT = re.compile(r"[A-Za-z_0-9]\[")
_QUOTED_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=\(")
_IS_DATA = re.compile(r"[^$`\\]*")
_WHOLE_PLACES = re.compile(r"(?:/|~|\.|\.\.|/\*|~/\*?|(?:\.\./?)+\*?|/(?!tmp)[^/]+/?\*?|\$\{?HOME\}?/?\*?)")
_TEMPORARY = re.compile(r"/(?:var/)?tmp/(?!.*\.\.)")
_NO_RISK_IN_NAMES = ("test", "[", "echo")


def is_risky_variable(name: str) -> bool:
    """Whether setting the variable can change which program runs, or what it reads and writes."""
    return name in RISKY_VARIABLES or name.startswith(RISKY_PREFIXES)


def leads_outside(word: Word) -> bool:
    """Whether a path leads out of the folder it is read in, as far as its text tells."""
    text = word.value
    return text is None or text.startswith(("/", "~")) or ".." in text.split("/")


def operands_of(words: Sequence[Word], takes_value: str = "") -> list[int]:
    """Return where the operands stand; `takes_value` are the letters of options that take the next word."""
    found: list[int] = []
    at, only_operands = 1, False
    while at < len(words):
        text = words[at].text
        if only_operands or not text.startswith("-") or text == "-":
            found.append(at)
        elif text == "--":
            only_operands = True
        elif len(text) == 2 and text[1] in takes_value:
            at += 1
        at += 1
    return found


def evaluates(words: Sequence[Word]) -> Iterator[Danger]:
    """Builtins that evaluate a subscript given to them, even a quoted one."""
    for index, word in enumerate(words[1:], 1):
        text = word.text
        if _may_run_from_subscript(text):
            yield Danger(index, Effect.RUNS, told("a subscript may run what it holds"))
        if _QUOTED_ARRAY.match(text) and not (word.is_plain and _IS_DATA.fullmatch(text)):
            yield Danger(index, Effect.RUNS, told("the elements of a quoted array are read a second time"))
        name = re.match(r"[A-Za-z_][A-Za-z0-9_]*", text)
        if name is not None and is_risky_variable(name[0]) and words[0].text not in _NO_RISK_IN_NAMES:
            yield Danger(index, Effect.RUNS, told("it sets {names}, which can change what runs", names=name[0]))


def _may_run_from_subscript(text: str) -> bool:
    """Whether an expansion stands in what looks like a subscript. Linear."""
    for piece in text.split("]"):
        subscript = _SUBSCRIPT.search(piece)
        if subscript and re.compile(r"[$`]").search(piece, subscript.end()):
            return True
    return False


def printf_sets(words: Sequence[Word]) -> Iterator[Danger]:
    """`printf -v NAME` sets a variable, and evaluates a subscript of its name."""
    if len(words) < 2 or not (words[1].text.startswith("-v") or words[1].value is None):
        return
    attached = words[1].text[2:]
    name = Word.literal(attached) if attached else words[2] if len(words) > 2 else words[1]
    if words[1].value is not None:
        yield from (Danger(1, each.effect, each.reason) for each in evaluates([words[0], name]))


def leaves(words: Sequence[Word]) -> Iterator[Danger]:
    """`cd` and its kin, out of the workspace."""
    places = [index for index, word in enumerate(words[1:], 1) if not word.text.startswith("-") or word.text == "-"]
    if not places and words[0].text != "popd":
        yield Danger(1, Effect.REACHES, told("it leaves the workspace"))
    for index in places:
        if leads_outside(words[index]):  # `cd -` goes back to where the text has been: commands get no OLDPWD
            yield Danger(index, Effect.REACHES, told("it leaves the workspace"))


def second_operand(words: Sequence[Word]) -> Iterator[Danger]:
    """`uniq IN OUT`, `xxd IN OUT`."""
    found = operands_of(words, "lcgosR" if words[0].text.endswith("xxd") else "fsw")
    if len(found) > 1:
        yield Danger(found[1], Effect.WRITES, told("the second operand is written to"))


def tee(words: Sequence[Word]) -> Iterator[Danger]:
    """Files that tee writes."""
    for index in operands_of(words):
        if words[index].value not in ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "-"):
            yield Danger(index, Effect.WRITES, told("writes files"))


def tar(words: Sequence[Word]) -> Iterator[Danger]:
    """Options of tar without a hyphen, in the old style; archives that are made elsewhere."""
    for index, word in enumerate(words[1:], 1):
        file = re.fullmatch(r"--file=(.*)", word.text, re.DOTALL)
        is_file = re.fullmatch(r"--file|-?[a-zA-Z]*f", words[index - 1].text) and index > 1
        place = Word.literal(file[1]) if file else word if is_file else None
        makes_it = any(re.fullmatch(r"-?[a-zA-Z]*[cruA][a-zA-Z]*|--create|--append", each.text) for each in words[1:3])
        if place is not None and makes_it and leads_outside(place) and place.text != "/dev/null":
            yield Danger(index, Effect.WRITES, told("{path} lies outside of the workspace", path=place.text[:40]))
    if len(words) > 1 and re.fullmatch(r"-?[a-zA-Z]*[xFIP][a-zA-Z]*", words[1].text):
        effect = Effect.RUNS if set("FI") & set(words[1].text) else Effect.WRITES
        yield Danger(1, effect, told("extracting writes files, and options may name programs"))


def shells(words: Sequence[Word]) -> Iterator[Danger]:
    """Options of shells that name a script."""
    for index, word in enumerate(words[1:], 1):
        if not word.text.startswith("-"):
            break
        if word.text in ("--init-file", "--rcfile"):
            yield Danger(index, Effect.RUNS, told("it names a script to run"))


def environment(words: Sequence[Word]) -> Iterator[Danger]:
    """Variables and the folder that `env` sets."""
    for index, word in enumerate(words[1:], 1):
        match = re.match(r"([A-Za-z_][A-Za-z0-9_]*)=", word.text)
        if match is not None and is_risky_variable(match[1]):
            yield Danger(index, Effect.RUNS, told("it sets {names}, which can change what runs", names=match[1]))
        folder = re.match(r"(?:-C|--chdir=?)(.*)", word.text, re.DOTALL)
        if folder is not None:
            place = Word.literal(folder[1]) if folder[1] else words[index + 1] if index + 1 < len(words) else word
            if leads_outside(place):
                yield Danger(index, Effect.REACHES, told("it leaves the workspace"))


def places(words: Sequence[Word]) -> Iterator[Danger]:
    """Places where what runs later is kept."""
    for index, word in enumerate(words[1:], 1):
        if _PROTECTED.search(word.text):
            yield Danger(
                index, Effect.WRITES, told("{path} is where things that run later are kept", path=word.text[:40])
            )


def makes(words: Sequence[Word]) -> Iterator[Danger]:
    """Making, or taking away, what lies outside of the workspace and of the folders for temporary files."""
    yield from places(words)
    for index in operands_of(words, "mdtr"):
        if leads_outside(words[index]) and words[index].value is not None and not _TEMPORARY.match(words[index].text):
            yield Danger(
                index, Effect.WRITES, told("{path} lies outside of the workspace", path=words[index].text[:40])
            )


def copies(words: Sequence[Word]) -> Iterator[Danger]:
    """Copying, moving or linking out of the workspace."""
    yield from places(words)
    found = operands_of(words, "tSmog")
    for index in found if words[0].text.endswith("ln") else found[1:][-1:]:
        if leads_outside(words[index]):
            yield Danger(
                index, Effect.WRITES, told("{path} lies outside of the workspace", path=words[index].text[:40])
            )


def removes(words: Sequence[Word]) -> Iterator[Danger]:
    """Removing whole trees that are no one's to remove."""
    yield from makes(words)
    for index in operands_of(words):
        if _WHOLE_PLACES.fullmatch(words[index].text):
            yield Danger(
                index, Effect.WRITES, told("{path} is more than a file of the project", path=words[index].text[:40])
            )


_READS_AS_BEFORE = frozenset(
    "errexit nounset pipefail xtrace verbose noclobber noglob allexport monitor notify noexec vi emacs ignoreeof "
    "errtrace functrace hashall histexpand history".split()
)


def sets_options(words: Sequence[Word]) -> Iterator[Danger]:
    """Options of `set` with which what follows is read in another way: no braces, assignments anywhere, POSIX mode."""
    for index, word in enumerate(words[1:], 1):
        text = word.text
        if text in ("-", "--", "+") or not text.startswith(("-", "+")):
            return
        name = words[index + 1].text if index + 1 < len(words) else ""
        is_named = text.endswith("o") and name and name not in _READS_AS_BEFORE
        if "k" in text or "B" in text or is_named:
            yield Danger(index, Effect.RUNS, told("it changes how the shell reads what follows"))
