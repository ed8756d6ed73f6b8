"""What a program is given that the table doesn't know: one that a rule names, or the tool that a project's task starts.

What such a program does is its rule's own business. That is no leave to send things elsewhere, to write where other
programs look, or to load code from anywhere: what looks like that is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect, Hints, Surroundings
from dogu.policy.commands.outgoing import check_no_address
from dogu.policy.commands.patterns import is_a, pattern
from dogu.policy.commands.places import Finding, check_own, is_code, no_known_value, writes_to
from dogu.policy.commands.table import all_programs
from dogu.policy.commands.values import check_config, check_value
from dogu.workspace.shell_syntax import Word

_OPTION = re.compile(r"(--?[A-Za-z][\w.-]*)(?:[=:](.*))?", re.DOTALL)
_SHORT = re.compile(r"(-[A-Za-z])([^=].*)", re.DOTALL)
_OF_GIT = re.compile(r"(?i)(?:^|/)\.git/")
_NOTHING = Word.literal("")


def of_unknown(words: Sequence[Word], hints: Hints) -> Iterator[Danger]:
    """Yield what a program of which nothing is known is given that its rule doesn't cover."""
    name = words[0].text.rpartition("/")[2]
    for at, word in enumerate(words[1:], 1):
        is_value = re.match(r"--?[A-Za-z][\w.-]*=", word.prefix) is not None and not word.may_split
        if word.value is None and not (is_value or word.is_plain or hints.is_no_option(word)):
            yield Danger(at, Effect.RUNS, told("{word} may be an option of {name}", word=word.text[:30], name=name))
            continue
        following = words[at + 1] if at + 1 < len(words) and not words[at + 1].prefix.startswith("-") else _NOTHING
        meant = [word] if word.value is not None else hints.places(word) or [word]
        found = next(filter(None, (_beyond(name, each, following, hints.around) for each in meant)), None)
        if found is not None:
            yield Danger(at, *found)
    yield from _of_operands(words, hints.around)
    for at, word in enumerate(words[1:], 1):
        value = word.text.partition("=")[2] or word.text
        if is_a("program_path", value) and hints.around.is_file(value):  # to be run, perhaps
            yield Danger(at, Effect.RUNS, no_known_value(Word.literal(value)))


def _of_operands(words: Sequence[Word], around: Surroundings) -> Iterator[Danger]:
    """Yield a file of the repository's own, and the last of several operands where that is run by its name.

    Many programs write what they make to the last one.
    """
    operands = [at for at, word in enumerate(words) if at and not word.prefix.startswith("-")]
    for at in operands:
        is_made = len(operands) > 1 and at == operands[-1] and not around.may_edit
        is_run = is_made and (is_a("run_by_name", words[at].value) or _turns_into_code(words, operands, around))
        if _OF_GIT.search(words[at].text) or is_run:
            yield Danger(at, Effect.WRITES, told("it writes to {target}", target=words[at].text[:40]))


def _turns_into_code(words: Sequence[Word], operands: Sequence[int], around: Surroundings) -> bool:
    """Whether one file, that is no code, stands before a last one that is code and is there: `sox a.wav src/a.c`."""
    before = [words[at].value or "" for at in operands[:-1] if not words[at - 1].prefix.startswith("-")]
    last = words[operands[-1]].value or ""
    is_other = any("." in each and not is_code(each) and around.is_file(each) for each in before)
    return is_other and is_code(last) and around.is_file(last) and not any(map(is_code, before))


def of_script(words: Sequence[Word], around: Surroundings) -> Iterator[Danger]:
    """Yield the same of a script of the project, which may do anything but what it is plainly told beyond it."""
    for at, word in enumerate(words[1:], 1):
        option, value = _split(word, words[at + 1] if at + 1 < len(words) else _NOTHING)
        if _is_told_to_run(option, value, word):
            yield Danger(at, Effect.RUNS, _not_known(option or word.text))
        elif is_a("writing_option", option) and (writes_to(value, around) or is_a("run_by_name", value.value)):
            yield Danger(at, Effect.WRITES, told("it writes to {target}", target=value.text[:40]))


def _is_told_to_run(option: str, value: Word, word: Word) -> bool:
    is_code = is_a("code_option", option) or (is_a("short_code_option", option) and "(" in value.text)
    return is_code or pattern("calls_program").search(word.text) is not None


def _beyond(name: str, word: Word, following: Word, around: Surroundings) -> Finding | None:
    """What is wrong with a word of an unknown program; `following` is the next one, if that may be its value."""
    option, value = _split(word, following)
    if _is_told_to_run(option, value, word):
        return Effect.RUNS, _not_known(option or word.text)
    if is_a("changes_in_place", f"{name} {word.text}") and not around.may_edit:
        return Effect.WRITES, told("{option} {reason}", option=word.text[:30], reason=told("writes or removes files"))
    is_given = value.text != "" and re.fullmatch(r"[\d.]+|true|false", value.text) is None
    is_short = len(option) == 2
    if is_given and is_a("loading_option", option) and not (is_short and re.search("[./]", value.text) is None):
        return check_config(value, (name,))
    is_place = not is_a("form", value.value) and re.match(r"[a-z]+=", value.text) is None
    if is_given and is_a("writing_option", option) and is_place:
        return check_value("built", value, around)
    if is_a("running_option", option) and re.search(r"[./\s]", value.text):
        return Effect.RUNS, no_known_value(value)
    is_odd = is_a("run_by_name", value.text) if value is following else is_code(value.text)  # or behind a flag
    if option and is_odd and not is_a("reading_option", option):
        return Effect.RUNS, no_known_value(value)
    if is_given and is_a("naming_host", option) and not is_a("loopback", value.value):
        return check_value("own_host", value)
    return _of_word(word) or (None if value is following else _beyond_this_machine(value))


def _of_word(word: Word) -> Finding | None:
    """What is wrong with a word whatever it stands behind."""
    if is_a("shell_word", word.text):
        return Effect.RUNS, no_known_value(word)
    read = word.text.partition("=")[2] if word.prefix.startswith("-") else word.text
    if is_a("gives_out", word.value) or is_a("reads_file", read) or is_a("path_within", word.text):
        return Effect.REACHES, no_known_value(word)
    return None


def handed_on(word: Word, before: Word, around: Surroundings) -> Finding | None:
    """Say what is wrong with an argument of a project's task, which hands it on to some tool.

    It is nothing of elsewhere, and no option by which tools load code, or that none is known to have and that names a
    file; what they may write to is what others may.
    """
    if re.search(r"\$[({]|`", word.text):  # runners of old hand it on to a shell between double quotes
        return Effect.RUNS, no_known_value(word)
    option, value = _split(word, _NOTHING)
    if value is word and "=" not in before.text:
        option = before.text
    if value.text and not re.fullmatch(r"\d+", value.text):
        if is_a("loading_option", option) and not (option == "-r" and is_a("pytest_summary", value.value)):
            return Effect.RUNS, _not_known(option)
        if is_a("choosing_option", option) and not re.fullmatch(r"[\w,:-]+", value.text):
            return Effect.RUNS, no_known_value(value)
        if is_a("writing_option", option):
            return check_value("built", value, around)
        if option.startswith("--") and is_a("names_code", value.text) and option not in _known_to_tools():
            return Effect.RUNS, _not_known(option)
    return _beyond_this_machine(value)


def _beyond_this_machine(value: Word) -> Finding | None:
    """What is wrong with a value that names another machine, or a file outside of the workspace."""
    is_here = value.value is not None and "://" in value.value and not value.value.startswith("file:")
    return check_no_address(value) or (None if is_here else check_own(value))


def _split(word: Word, following: Word) -> tuple[str, Word]:
    """The option that a word is, "" for an operand, and its value: what stands behind in the word, or the next one."""
    match = _OPTION.fullmatch(word.text)
    if match is None and word.text.startswith("-"):
        match = _SHORT.fullmatch(word.text)
    if match is None:
        return "", word
    short = _SHORT.fullmatch(match[1]) if match[2] is None and not _is_risky(match[1]) else None
    if short is not None and _is_risky(short[1]):
        match = short
    return match[1], following if match[2] is None else Word.literal(match[2])


def _is_risky(option: str) -> bool:
    return any(is_a(name, option) for name in ("code_option", "loading_option", "writing_option"))


def _not_known(option: str) -> str:
    return told("{option} isn't an option known here", option=option[:30])


@cache
def _known_to_tools() -> frozenset[str]:
    """The options that some tool of the table has, and that do nothing but what its rule covers."""
    grammars = [grammar for program in all_programs() if program.is_tool for grammar in program.grammars()]
    risky = {name for each in grammars for name, option in each.options.items() if option.effect is not None}
    return frozenset(name for each in grammars for name in each.options) - risky
