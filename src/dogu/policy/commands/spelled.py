"""Whether a command is what an excluding rule names, in another spelling: both are read by the program's own table.

`git push -qf origin main` is `git push --force`, and so is `git push origin +main`; `rm -r -f` is `rm -rf`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from posixpath import normpath

from dogu.policy.commands.dangers import program_called
from dogu.policy.commands.effects import Hints, Surroundings
from dogu.policy.commands.inner import SHELLS
from dogu.policy.commands.reading import Reading
from dogu.policy.commands.table import Grammar, Program, plain_name
from dogu.policy.commands.whereabouts import joined
from dogu.workspace.shell_syntax import Redirect, Word

_MARKS = "-+:<"  # what the words of a spelling begin with that are no subcommand's
_VERSION = re.compile(r"-?[\d.]*")


@dataclass(slots=True)
class _Said:
    """A command as its program reads it: the subcommand, options by their long names, and what it is given."""

    subcommand: list[str]
    options: dict[str, str | None]
    operands: list[Word]
    words: Sequence[Word]

    def holds(self, mark: str) -> bool:
        """Whether it has an option, perhaps with this value, or a word of this pattern."""
        if mark[0] == "<":
            return any(fnmatchcase(each.value or "", mark[1:-1]) for each in self.operands)
        name, _, value = mark.partition("=")
        is_option = self.options.get(mark, "false") != "false" or (bool(value) and self.options.get(name) == value)
        return is_option or any(fnmatchcase(each.prefix or each.text, mark) for each in self.words[1:])


def names_the_same(rule: Sequence[str], words: Sequence[Word], is_no_option: Callable[[Word], bool]) -> bool | None:
    """Whether the words do what the rule names; None when that can't be known."""
    block = program_called(rule[0])
    if block is None:
        return False
    called = (words, _of_module(words), *_called_besides(words))
    found = [_is_same(rule, block, each, is_no_option) for each in called if each]
    return True if True in found else None if None in found else False


def without_files(
    rule: Sequence[str], words: Sequence[Word], redirects: Sequence[Redirect], around: Surroundings
) -> Iterator[tuple[list[str], list[Word]]]:
    """Yield what is left of a rule and of a command that names the same files, wherever it does: none of any other.

    A program that the rule names by its path may be a script that another one runs: `bash scripts/deploy.sh`.
    """
    is_path = "/" in rule[0]
    if not is_path and not _may_be(words[0], rule[0]):
        return
    others = [at for at, each in enumerate(rule) if at and _may_be_file(rule[0], each)]
    if not is_path and not others:
        return
    wanted = [_paths(rule[at], around, ("",)) for at in others]
    given = [each.target for each in redirects if each.operator in ("<", "<>", "<&")]
    kept = [rule[0].rpartition("/")[2], *(each for at, each in enumerate(rule) if at and at not in others)]
    runs_scripts = _runs_scripts(words[0])
    words = [*words, *_files_of_module(words)] if runs_scripts else words
    for at in range(len(words) if is_path and runs_scripts else 1):
        called, *rest = words[at:]
        is_it = "/" in called.text or at > 0
        if is_path and not (is_it and _names_any(called, _paths(rule[0], around, ("",)), around)):
            continue
        values = [each for word in (*rest, *given) for each in (word, *_behind_equals(word))]
        named = [*values, *(_with_endings(values, wanted, around) if runs_scripts else ())]
        if all(any(_names_any(each, paths, around) for each in named) for paths in wanted):
            yield kept, [Word.literal(kept[0]) if is_path else called, *rest]


def _files_of_module(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the files that `python -m a.b` may run."""
    called = _of_module(words)
    if called and called[0].value is not None:
        path = called[0].value.replace(".", "/")
        yield from (Word.literal(f"{path}.py"), Word.literal(f"{path}/__main__.py"))


def _behind_equals(word: Word) -> list[Word]:
    """The value that an option has in its word: `--import=./x.js`."""
    _, equals, value = (word.value or "").partition("=")
    return [Word.literal(value)] if equals and word.text[:1] == "-" else []


def _with_endings(words: Sequence[Word], wanted: Sequence[set[str]], around: Surroundings) -> Iterator[Word]:
    """Yield the words as scripts that are found without the endings of their names: `node scripts/deploy`."""
    endings = {path.rpartition("/")[2].rpartition(".")[2] for paths in wanted for path in paths}
    for word in words:
        if word.value and word.text[:1] != "-" and not around.is_file(word.value):
            yield from (Word.literal(f"{word.value}.{ending}") for ending in sorted(endings))


def _may_be(word: Word, program: str) -> bool:
    name = (word.value or "").rpartition("/")[2]
    block = program_called(name)
    return name == program or (block is not None and block is program_called(program))


def _may_be_file(program: str, text: str) -> bool:
    """Whether a word of a rule may mean a file, by its look or as the program takes nothing else."""
    block = program_called(program)
    takes_files = block is not None and not block.has_subcommands and not block.has_tasks
    return text[:1] not in ("-", "+") and (takes_files or re.search(r"[./]", text) is not None)


def _runs_scripts(word: Word) -> bool:
    name = (word.value or "").rpartition("/")[2]
    block = program_called(name)
    return name in SHELLS or name in ("source", ".") or (block is not None and block.runs_scripts)


def _names_any(word: Word, paths: set[str], around: Surroundings) -> bool:
    if word.value is None:
        return False
    if around.folders is None:  # anywhere: its name has to do
        return any(path.rpartition("/")[2] == word.text.rpartition("/")[2] for path in paths)
    return not paths.isdisjoint(_paths(word.text, around, around.folders))


def _paths(text: str, around: Surroundings, folders: Sequence[str]) -> set[str]:
    """A path from where the text began, as it is written and as links lead it."""
    found = {text} if text[:1] in ("/", "~", "-") or "://" in text else {joined(each, text) for each in folders}
    if around.place is not None:
        around.looked.happened = True
        found |= {each for path in found if (each := around.place.leads_to(path, is_entry=False)) is not None}
    return {normpath(each) for each in found}


def _is_same(
    rule: Sequence[str], block: Program, words: Sequence[Word], is_no_option: Callable[[Word], bool]
) -> bool | None:
    name = (words[0].value or "").rpartition("/")[2]
    is_one = _is_one(name, rule[0], block.names)
    if is_one is False or program_called(name) is not block:
        return False
    wanted = _said(block, [Word.literal(each) for each in rule])
    said = _said(block, words)
    if any(_has_all(wanted, each, block) for each in (said, *_besides(said, block.implies))):
        return is_one
    if any(_has_all(wanted, each, block) for each in _besides(said, block.may)):
        return None
    if said.subcommand[: len(wanted.subcommand)] != wanted.subcommand:
        given = " ".join(said.subcommand)
        is_whole = (
            wanted.subcommand[: len(said.subcommand)] == said.subcommand
        )  # `gh issue`, which isn't `gh issue edit`
        is_cut = block.subcommand(given) is None and " ".join(wanted.subcommand).startswith(given) and not is_whole
        return None if is_cut else False
    is_open = any(word.value is None and not word.is_plain and not is_no_option(word) for word in words[1:])
    return None if is_open else False


def _has_all(wanted: _Said, said: _Said, block: Program) -> bool:
    if said.subcommand[:1] == ["*"]:
        return True
    if said.subcommand[: len(wanted.subcommand)] != wanted.subcommand:
        return False
    for option, value in wanted.options.items():
        if option not in said.options or value not in (None, said.options[option]):
            return False
    kinds = (block.subcommand(" ".join(said.subcommand)) or block.grammar).operands
    texts = [each.value for each in said.operands]
    for at, each in enumerate(wanted.operands):
        is_any_of = at >= len(kinds) - 1 and bool(kinds) and kinds[-1].endswith("...")
        if each.value not in (texts[len(kinds) - 1 :] if is_any_of else texts[at : at + 1]):
            return False
    return True


def _said(block: Program, words: Sequence[Word]) -> _Said:
    reading = _read(block, words)
    long = _long_names(block.subcommand(reading.subcommand) or block.grammar)
    said = _Said(reading.subcommand.split(), {}, [], words)
    said.options = {long.get(name, name): value and value.value for name, _, value in reading.taken}
    _add_unread(said, reading)
    if block.check == "tar" and len(words) > 1 and re.fullmatch("[A-Za-z]+", words[1].text):  # `tar xzf`
        said.options.update({long.get(f"-{letter}", f"-{letter}"): None for letter in words[1].text})
        said.operands = [each for each in said.operands if each is not words[1]]
    for thing, spellings in block.same:
        for spelling in spellings:
            _respell(said, thing, spelling)
    return said


def _add_unread(said: _Said, reading: Reading) -> None:
    """Take in the operands, and what isn't known to the table or stands behind where it reads on no more."""
    read = {
        0,
        *(place for _, at, value in reading.taken for place in (at, reading.place_of(at, value) if value else at)),
    }
    named = len(said.subcommand)
    for at, word in enumerate(said.words):
        if at in reading.operands:
            said.operands.append(word)
        elif at not in read and re.match(r"[-+].", word.text):
            name, equals, value = word.text.partition("=")
            said.options.update({name: value if equals else None} if name != "--" else {})
        elif at not in read and named:
            named -= 1
        elif at not in read:
            said.operands.append(word)


def _read(block: Program, words: Sequence[Word]) -> Reading:
    found = Reading(block, words, Hints(lambda _: True, lambda _: False))
    for _ in found.dangers():
        pass
    return found


def _besides(said: _Said, lines: Sequence[tuple[list[str], list[list[str]]]]) -> Iterator[_Said]:
    """Yield what a command does, or may do, besides what it says: `git push --mirror` forces."""
    for thing, spellings in lines:
        for spelling in spellings:
            also = replace(said, options=dict(said.options))
            _respell(also, thing, spelling)
            if also != said:
                yield also


def _called_besides(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yield the commands of other programs that a command is: `npm exec x` is `npx x`."""
    block = program_called((words[0].value or "").rpartition("/")[2])
    subcommand = _read(block, words).subcommand.split() if block is not None and block.calls else []
    for thing, programs in block.calls if block is not None else ():
        if subcommand[: len(thing)] == thing:
            rest = list(words[1:])
            for each in thing:
                at = next((at for at, word in enumerate(rest) if word.value == each), None)
                rest = rest if at is None else [*rest[:at], *rest[at + 1 :]]
            yield from ([*map(Word.literal, program), *rest] for program in programs)


def _respell(said: _Said, thing: Sequence[str], spelling: Sequence[str]) -> None:
    """Have a command say by the usual words what it says by others."""
    subcommand = [each for each in spelling if each[0] not in _MARKS]
    marks = [each for each in spelling if each[0] in _MARKS]
    if said.subcommand[: len(subcommand)] == subcommand and all(map(said.holds, marks)):
        usual = [each for each in thing if each[0] not in _MARKS]
        operands = [Word.literal(each[1:-1]) for each in thing if each[0] == "<"]
        if operands:
            meant = [each[1:-1] for each in marks if each[0] == "<"]
            said.operands = [
                *operands,
                *(each for each in said.operands if not any(fnmatchcase(each.value or "", mark) for mark in meant)),
            ]
        said.subcommand = [*usual, *said.subcommand[len(subcommand) :]]
        for each in marks:
            said.options.pop(each.partition("=")[0] if each not in said.options else each, None)
        said.options.update({each: None for each in thing if each[0] in "-+" and each not in said.options})


def _long_names(grammar: Grammar) -> dict[str, str]:
    """The long name of each letter behind which the table has it: `-f --force`."""
    return {
        short: name
        for (short, one), (name, other) in pairwise(grammar.options.items())
        if len(short) == 2 and name[:2] == "--" and name[2:3] == short[1].lower() and one.takes == other.takes
    }


def _is_one(name: str, rule: str, names: Sequence[str]) -> bool | None:
    """Whether a program is the one that a rule names, of a version perhaps; None where that says which it is.

    A number alone may be any other program's name, unless the table has it: `pip3`, and not `rm2`.
    """
    version = name[len(rule) :] if name.startswith(rule) else "x"
    if (_VERSION.fullmatch(version) and (name in names or "." in version)) or name == rule:
        return True
    if plain_name(name) == rule and not name[-1].isdigit():
        return True
    is_any = rule.startswith(name) and _VERSION.fullmatch(rule, len(name)) is not None
    return None if is_any and name in names else False


def _of_module(words: Sequence[Word]) -> list[Word]:
    """The program that `python -m NAME` is another call of, and its words; none of any other command."""
    block = program_called((words[0].value or "").rpartition("/")[2])
    if block is None or not any(each.kind == "module" for each in block.grammar.options.values()):
        return []
    at = _read(block, words).module_at
    if at is None:
        return []
    attached = re.match(r"-[A-Za-z]*m(.+)", words[at].text)
    return [Word.literal(attached[1]) if attached else words[at], *words[at + 1 :]]
