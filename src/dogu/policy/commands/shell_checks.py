"""Checks of the shell's own commands, and of what sets variables: subscripts that run, names that steer programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect
from dogu.policy.commands.patterns import values_of
from dogu.policy.commands.places import leads_outside
from dogu.policy.commands.reading import Reading
from dogu.policy.commands.values import check_value
from dogu.policy.commands.variables import is_harmless_setting, is_read_by_programs, is_shells_own
from dogu.workspace.shell_syntax import Word

_SUBSCRIPT = re.compile(r"[A-Za-z_0-9]\[")
_QUOTED_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=\(")
_IS_DATA = re.compile(r"[^$`\\]*")


def _evaluates(words: Sequence[Word], _reading: Reading) -> Iterator[Danger]:
    """Builtins that evaluate a subscript given to them, even a quoted one."""
    for index, word in enumerate(words[1:], 1):
        text = word.text
        if words[0].text == "unset" and text.startswith("-") and "f" in text:
            yield Danger(index, Effect.RUNS, told("removes a function"))
        if _may_run_from_subscript(text):
            yield Danger(index, Effect.RUNS, told("a subscript may run what it holds"))
        if _QUOTED_ARRAY.match(text) and not (word.is_plain and _IS_DATA.fullmatch(text)):
            yield Danger(index, Effect.RUNS, told("the elements of a quoted array are read a second time"))
        yield from _sets(words[0].text, index, word, is_exported=_exports(words))


def _exports(words: Sequence[Word]) -> bool:
    """Whether a builtin hands what it sets on to programs."""
    builtin = words[0].text
    is_declared = builtin in ("declare", "typeset", "local", "readonly")
    return builtin == "export" or (is_declared and any(re.match(r"-[A-Za-z]*x", word.text) for word in words[1:]))


def _sets(builtin: str, index: int, word: Word, *, is_exported: bool) -> Iterator[Danger]:
    if builtin in ("test", "["):
        return
    name = re.match(r"([A-Za-z_]\w*)(\+?=)?", word.text)
    if name is None:
        return
    value = None
    if name[2] and word.is_plain:
        value = word.text[name.end() :]
    is_known = bool(name[2]) and is_harmless_setting(name[1], value)
    if not is_known and (is_shells_own(name[1]) or is_read_by_programs(name[1])) and name[1] != "REPLY":
        yield Danger(index, Effect.RUNS, told("it sets {names}, which can change what runs", names=name[1]))
    elif not is_known and is_exported and (name[2] or not values_of(name[1])):  # any program of the text may read it
        yield Danger(index, Effect.REACHES, told("it sets {names}, which can change what runs", names=name[1]))


def _environment(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """Variables that `env` and `sudo` set; the names of bash's functions are no names otherwise."""
    first = reading.operands[0] if reading.operands else len(words)
    behind = [word.text for word in words[first:]]
    program = next((text.rpartition("/")[2] for text in behind if "=" not in text), "")
    for index, word in enumerate(words[1:first], 1):
        if re.match(r"-[A-Za-z0]*S|--sp", word.text) and words[0].text.endswith("env"):
            text = word.text + (words[index + 1].text if index + 1 < len(words) else "")
            if "=" in text.removeprefix("--split-string="):
                yield Danger(index, Effect.RUNS, told("it sets {names}, which can change what runs", names=text[:30]))
    for index, word in enumerate(words[first:], first):
        match = re.match(r"([^=]+)=", word.prefix)
        if match is None and word.value == "-":  # as `-i`
            continue
        if match is None:
            return
        value = word.text[match.end() :] if word.is_plain else None
        name = match[1]
        if is_harmless_setting(name, value, program):
            continue
        is_ordinary = re.fullmatch(r"[A-Za-z_]\w*", name) and not is_shells_own(name) and not is_read_by_programs(name)
        effect = Effect.WRITES if is_ordinary else Effect.RUNS
        yield Danger(index, effect, told("it sets {names}, which can change what runs", names=name))


def _may_run_from_subscript(text: str) -> bool:
    """Whether an expansion stands in what looks like a subscript. Linear."""
    for piece in text.split("]"):
        subscript = _SUBSCRIPT.search(piece)
        if subscript and re.compile(r"[$`]").search(piece, subscript.end()):
            return True
    return False


def _printf(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """`printf -v NAME` sets a variable, and evaluates a subscript of its name."""
    if len(words) < 2 or not (words[1].text.startswith("-v") or words[1].value is None):
        return
    attached = words[1].text[2:]
    name = Word.literal(attached) if attached else words[2] if len(words) > 2 else words[1]
    if words[1].value is not None:
        yield from (Danger(1, each.effect, each.reason) for each in _evaluates([words[0], name], reading))


def _leaves(words: Sequence[Word], _reading: Reading) -> Iterator[Danger]:
    """`cd` and its kin, out of the workspace."""
    places = [index for index, word in enumerate(words[1:], 1) if not word.text.startswith("-") or word.text == "-"]
    if not places and words[0].text != "popd":
        yield Danger(1, Effect.REACHES, told("it leaves the workspace"))
    for index in places:
        word = words[index]
        is_top = word.text in ("$(git rev-parse --show-toplevel)", "$(pwd)", "$PWD")
        if not is_top and (leads_outside(word) or (word.value is None and not word.prefix)):
            yield Danger(index, Effect.REACHES, told("it leaves the workspace"))


def _set(words: Sequence[Word], _reading: Reading) -> Iterator[Danger]:
    """Options of `set` with which what follows is read in another way: no braces, assignments anywhere, POSIX mode."""
    for index, word in enumerate(words[1:], 1):
        text = word.text
        if text in ("-", "--", "+") or not text.startswith(("-", "+")):
            return
        name = words[index + 1] if index + 1 < len(words) else None
        is_named = text.endswith("o") and name is not None and check_value("set_option", name) is not None
        if "k" in text or "B" in text or is_named:
            yield Danger(index, Effect.RUNS, told("it changes how the shell reads what follows"))


CHECKS: dict[str, Callable[[Sequence[Word], Reading], Iterator[Danger]]] = {
    "environment": _environment,
    "evaluates": _evaluates,
    "printf": _printf,
    "leaves": _leaves,
    "set": _set,
}
