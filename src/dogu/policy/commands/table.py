"""The table of programs, as data: what each one's options, subcommands and operands are known to be.

One block a program in `policy/programs/*.toml`, whose README says how it is written. What a block doesn't hold isn't
known, and what isn't known is asked about. A block is parsed when its program is first judged; until then the table is
an index of names.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache, cached_property

from dogu.policy.commands.effects import EFFECTS, Effect

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "programs")
_BLOCK = re.compile(r"^\[\[program\]\]\nnames = '([^'\n]*)'[ \t]*(?:#[^\n]*)?\n", re.MULTILINE)
_HEAD = re.compile(r"^\s*\[\[\s*program\s*\]\]", re.MULTILINE)
_OPTION = re.compile(r"([-+][^=?!]*|[-+]\?)(?:([=?])([^!]*))?(?:!(\w+))?")


@dataclass(frozen=True, slots=True)
class Option:
    """`takes` is "" for a flag, "=" with a value, "?" where a value may be attached; `kind` says what the value is.

    `effect` is what the option does that a rule for its program doesn't cover.
    """

    name: str
    takes: str = ""
    kind: str = ""
    effect: Effect | None = None


@dataclass(slots=True)
class Grammar:
    """The options known, what the operands are in order, and what it does by itself (`effect`)."""

    options: dict[str, Option] = field(default_factory=dict[str, Option])
    operands: list[str] = field(default_factory=list[str])
    effect: Effect | None = None

    def kind_of(self, number: int) -> str:
        """What the operand of this number is, from 0; the last kind that ends in `...` stands for all that follow."""
        if number < len(self.operands):
            return self.operands[number].removesuffix("...")
        if not self.operands:
            return "none"
        return self.operands[-1][:-3] if self.operands[-1].endswith("...") else "surplus"


class Program:
    """One block of the table."""

    def __init__(self, block: dict[str, object]) -> None:
        self._block = block
        self.names = self.text("names").split()
        self.style = self.text("style") or "gnu"
        self.check = self.text("check")
        self.plus = EFFECTS.get(self.text("plus"))
        self.bare = EFFECTS.get(self.text("bare"))
        self.looks = frozenset(self.text("looks").split())
        self.is_harmless = bool(block.get("harmless"))
        self.at_is_text = bool(block.get("at_is_text"))
        self.is_tool = bool(block.get("tool"))
        self.runs_tasks = bool(block.get("tasks"))
        self.hands_to_shell = bool(block.get("to_shell"))
        self.sends_input = bool(block.get("sends_input"))
        self.takes_input = bool(block.get("takes_input"))
        self.reads = frozenset(self.text("reads").replace("\n", " ").split(", "))
        self.for_good = [each.split(" ") for each in self.text("for_good").replace("\n", " ").split(", ") if each]
        self.same = self._spellings("same")
        self.implies = self._spellings("implies")
        self.may = self._spellings("may")
        self.calls = self._spellings("calls")
        self.is_apart = bool(block.get("apart"))
        self.looks_bare = bool(block.get("bare_looks"))
        self.ignores_case = bool(block.get("ignores_case"))
        self._grammars: dict[str, Grammar] = {}

    def _spellings(self, key: str) -> list[tuple[list[str], list[list[str]]]]:
        """Lines `THING: SPELLING, SPELLING`, in words."""
        lines = _lines(self.text(key))
        return [(thing.split(), [each.split() for each in spellings.strip().split(", ")]) for thing, spellings in lines]

    def text(self, key: str) -> str:
        """What the block says under a key; "" when nothing."""
        found = self._block.get(key, "")
        return found if isinstance(found, str) else ""

    def examples(self, key: str) -> list[str]:
        """The commands under `match` or `not_match`."""
        return [line for line in self.text(key).splitlines() if line]

    @cached_property
    def effect(self) -> Effect | None:
        """What the program does whatever it is given."""
        return EFFECTS.get(self.text("always"))

    @property
    def runs_scripts(self) -> bool:
        """Whether its first operand is a script that it runs."""
        return self.grammar.operands[:1] == ["script"]

    @property
    def has_grammar(self) -> bool:
        """Whether its block says which options and operands there are."""
        return bool(self.text("options"))

    @cached_property
    def may_run(self) -> bool:
        """Whether any of its options or subcommands runs a program or code."""
        return self.plus is Effect.RUNS or self.bare is Effect.RUNS or any(
            "!run" in self.text(key) for key in ("options", "subcommands", "sets")
        )  # fmt: skip

    @cached_property
    def grammar(self) -> Grammar:
        """Before the subcommand; of the whole program when it has none."""
        return self._grammar(self.text("options"))

    @cached_property
    def _sets(self) -> dict[str, str]:
        return dict(_lines(self.text("sets")))

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {name: text for names, text in _lines(self.text("subcommands")) for name in names.split(", ")}

    @cached_property
    def has_tasks(self) -> bool:
        """Whether what it does is said by the project it is run in: its tasks, or scripts of a part of it."""
        return self.runs_tasks or any("other_project" in self.text(key) for key in ("options", "sets"))

    @property
    def has_subcommands(self) -> bool:
        """Whether its first operand says what it does."""
        return bool(self._texts)

    def grammars(self) -> list[Grammar]:
        """Every grammar of the block: its own, and that of each subcommand."""
        return [self.grammar, *(found for name in self._texts if (found := self.subcommand(name)) is not None)]

    def subcommands(self) -> list[str]:
        """The names of the subcommands known, in the table's order."""
        return list(self._texts)

    def parents(self, name: str) -> bool:
        """Whether a second word may follow this subcommand's, as in `remote add`."""
        return any(each.startswith(f"{name} ") for each in self._texts)

    def subcommand(self, name: str) -> Grammar | None:
        """The grammar behind a subcommand; None when it isn't known."""
        text = self._texts.get(name)
        if text is None:
            return None
        if name not in self._grammars:
            self._grammars[name] = self._grammar(text if self.is_apart else f"{self.text('options')} {text}", text)
        return self._grammars[name]

    def _grammar(self, text: str, own: str | None = None) -> Grammar:
        """`own` is the subcommand's part of the text: what the program's operands are doesn't hold behind it."""
        found = Grammar()
        for word in self._expanded(text):
            if word[0] in "-+" and len(word) > 1:
                option = _option(word)
                found.options[option.name] = option
            elif word[0] == "!":
                found.effect = EFFECTS[word[1:]]
        found.operands = [word[1:-1] if word[-1] == ">" else f"{word[1:-4]}..." for word in
                          self._expanded(text if own is None else own) if word[0] == "<"]  # fmt: skip
        return found

    def _expanded(self, text: str) -> list[str]:
        words: list[str] = []
        for word in text.split():
            words.extend(self._expanded(self._sets[word[1:]]) if word[0] == "&" else (word,))
        return words


def _option(word: str) -> Option:
    match = _OPTION.fullmatch(word)
    if match is None:
        raise ValueError(f"{word!r} is no option")
    name, takes, kind, effect = match.groups()
    return Option(name, takes or "", kind or "", EFFECTS[effect] if effect else None)


def _lines(text: str) -> list[tuple[str, str]]:
    """`NAME: TEXT` a line; a line that begins with a blank goes on with the one before."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith(" ") and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line}")
        elif line:
            name, _, rest = f"{line} ".partition(": ")
            found.append((name, rest))
    return found


def blocks(text: str) -> dict[str, str]:
    """Return the names that the blocks of a file stand under, each with the text of its block.

    Raises:
        ValueError: A block doesn't begin with its names, by which alone it is found.
    """
    found: dict[str, str] = {}
    starts = list(_BLOCK.finditer(text))
    if len(starts) != len(_HEAD.findall(text)):
        raise ValueError("a block of programs doesn't begin with `names = '...'`")
    for match, end in zip(starts, [*(each.start() for each in starts[1:]), len(text)], strict=True):
        found.update(dict.fromkeys(match[1].split(), text[match.start() : end]))
    return found


@cache
def _index() -> dict[str, str]:
    """Every program's name, and the text of its block."""
    found: dict[str, str] = {}
    for file in sorted(os.listdir(_FOLDER)):
        if file.endswith(".toml"):
            with open(os.path.join(_FOLDER, file), encoding="utf-8") as opened:
                text = opened.read()
            found.update(blocks(text))
    return found


@cache
def _parsed(text: str) -> Program:
    return Program(tomllib.loads(text)["program"][0])


# What a name may bear beside the program's own: a target, GNU's or LLVM's letter, and a version or build behind it.
_DRESSED = re.compile(
    r"(?:(?:\w+-){1,3}(?:gnu|musl|eabi|elf|mingw32)\w*-|llvm-"
    r"|g(?=(?:cat|chmod|chown|chroot|cp|csplit|cut|date|dd|echo|env|find|head|install|link|ln|ls|mkdir|mktemp|mv|nice|nohup|od"
    r"|paste|patch|pr|printf|ptx|rm|rmdir|sed|shred|shuf|sort|split|stat|stdbuf|strip|tail|tee|timeout|touch|truncate|uniq|unlink|xargs)$))?"
    r"(?P<bare>[A-Za-z](?:[\w+-]*?[A-Za-z+])??)(?:-?\d[\d.]*(?:[A-Za-z]|-[\w-]+)?|\.(?P<windows>exe|cmd)|\.(?:nox|gtk3|athena|gold|bfd|lld|io))?"
)


@cache
def plain_name(name: str) -> str:
    """The name that a program has in the table, of one that bears more: `gsort`, `python3.12`, `clang-tidy-15`."""
    match = _DRESSED.fullmatch(name) if name not in _index() and len(name) < 80 else None
    is_known = match is not None and (match["windows"] or match["bare"] in _index())
    return match["bare"] if match is not None and is_known else name


def find_program(name: str) -> Program | None:
    """Return the block of the program, which is called by its name alone; None when nothing is known of it."""
    text = _index().get(name)
    return None if text is None else _parsed(text)


def all_programs() -> list[Program]:
    """Return every block once, in the table's order."""
    return [_parsed(text) for text in dict.fromkeys(_index().values())]
