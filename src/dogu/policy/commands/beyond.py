"""What a rule of several words doesn't mean, though the command begins as it does: another task, package or address."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect, Hints
from dogu.policy.commands.elsewhere import find_place
from dogu.policy.commands.handed import of_unknown
from dogu.policy.commands.patterns import is_a
from dogu.policy.commands.places import check_own, leads_outside, no_known_value
from dogu.policy.commands.reading import Reading
from dogu.policy.commands.table import Program
from dogu.policy.commands.values import PLACES, check_value
from dogu.workspace.protected import secret_reason
from dogu.workspace.shell_syntax import Word

_OTHER_PROJECTS = frozenset(("other_project",))
_OTHER_FILES = _OTHER_PROJECTS | {"makefile", "inside", "script"}
_NAME_FILES = PLACES | {"file", "compose_file", "config", "env_file", "ts_config", "url"}


def beyond_the_rule(program: Program, words: Sequence[Word], reading: Reading, covered: int) -> Iterator[Danger]:
    """Yield what stands behind the words that a rule names (`covered`) and is another than it means.

    A rule that names a task means that one, of the project it was given for; one that names an address, a package or a
    file means no second one.
    """
    if covered < 2:
        return
    names_task = program.runs_tasks and any(at < covered for at in reading.operands)
    for at in reading.operands if names_task else ():
        if at >= covered and "=" not in words[at].text:
            reason = told("{word} is another task than the rule names", word=words[at].text[:30])
            yield Danger(at, Effect.RUNS, reason)
    means_these = any(at < covered for at in reading.named)
    for at in reading.named if means_these else ():
        if at >= covered:
            yield Danger(at, Effect.RUNS, no_known_value(words[at]))
    yield from _by_options(reading, covered, _OTHER_FILES if names_task else _OTHER_PROJECTS)
    yield from _unread(words, reading, covered)
    if program.effect is not None:  # asked about, unless a rule names an option: what that runs besides isn't meant
        yield from (
            each for each in of_unknown(words, reading.hints) if each.index >= covered and each.effect is Effect.RUNS
        )
    yield from _of_elsewhere(words, covered) if program.check == "cloud" else ()


def _unread(words: Sequence[Word], reading: Reading, covered: int) -> Iterator[Danger]:
    """What a subcommand is given that is asked about, unless a rule allows it: judged as with an unknown program.

    A rule that names it alone means the machines that it reaches, whichever they are, and not what lies beside the
    workspace, nor a file of secrets.
    """
    at = reading.stopped_at if reading.stopped_at is not None else covered
    if at >= covered:
        return
    if find_place(words[0].text.rpartition("/")[2], words) is not None:
        yield from _run_there(words, reading.hints, covered)
        return
    for each in of_unknown(words, reading.hints):
        is_meant = covered == at + 1 and each.effect is Effect.REACHES
        if each.index >= covered and not (is_meant and not _names_a_path(words[each.index])):
            yield each
    yield from _secrets(words, covered)


def _run_there(words: Sequence[Word], hints: Hints, covered: int) -> Iterator[Danger]:
    """What a container is given of this machine by the words before its image, behind which all is there."""
    image = next((at for at in range(covered, len(words)) if _is_operand(words, at)), len(words))
    hints = replace(hints, around=replace(hints.around, place=None))
    settings = {at for at in range(1, len(words)) if _names_settings(words, at)}
    for each in of_unknown(words[:image], hints):
        if each.index >= covered and each.effect is not Effect.REACHES and each.index not in settings:
            yield each
    for at in range(covered, image):
        name, _, value = words[at].text.partition("=")
        given = value or (words[at + 1].text if at + 1 < len(words) else "")
        source = re.sub(r"^(?:.*,)?(?:source|src)=", "", given).partition(":")[0].partition(",")[0]
        is_volume = is_a("mounting_option", name) and leads_outside(Word.literal(source))
        if is_volume or is_a("opening_option", words[at].text):
            reason = told("reaches or changes what isn't the project's")
            yield Danger(at, Effect.RUNS, told("{option} {reason}", option=name, reason=reason))


def _is_operand(words: Sequence[Word], at: int) -> bool:
    return not words[at].prefix.startswith("-") and not words[at - 1].prefix.startswith("-")


def _names_settings(words: Sequence[Word], at: int) -> bool:
    """Whether a word names a file of variables of the project's, or is that file."""
    name, _, value = words[at].text.partition("=")
    given = Word.literal(value) if value or at + 1 >= len(words) else words[at + 1]
    is_option = name == "--env-file" and check_value("env_file", given) is None
    return is_option or (words[at - 1].text == "--env-file" and _names_settings(words, at - 1))


def _of_elsewhere(words: Sequence[Word], covered: int) -> Iterator[Danger]:
    """What goes to a cloud, or comes from it, that no rule means: secrets, and what lies beside the workspace."""
    yield from _secrets(words, covered)
    for at in range(covered, len(words)):
        if _names_a_path(words[at]):
            yield Danger(at, Effect.WRITES, told("{path} lies outside the workspace", path=words[at].text[:40]))


def _secrets(words: Sequence[Word], covered: int) -> Iterator[Danger]:
    for at in range(covered, len(words)):
        if secret_reason(words[at].text) is not None:
            yield Danger(at, Effect.REACHES, told("it sends {path}", path=words[at].text[:40]))


def _names_a_path(word: Word) -> bool:
    value = word.text.partition("=")[2] if word.prefix.startswith("-") else word.text
    path = Word.literal(value)
    return "://" not in value and leads_outside(path) and check_own(path) is not None


def undone(words: Sequence[Word], covered: int) -> Iterator[Danger]:
    """Yield what takes back an option that a rule names: the same with another value, or its opposite."""
    named = [word.text for word in words[1:covered] if word.text[:1] == "-"]
    names = {text.partition("=")[0] for text in named}
    with_value = {one.text for one, value in pairwise(words[1:covered]) if one.text in named and value.text[:1] != "-"}
    letters = {letter for text in named if re.fullmatch(r"-[A-Za-z]+", text) for letter in text[1:]}
    only_looks = any(is_a("looking_option", text) for text in named)
    for at in range(covered, len(words) if named else 0):
        text = words[at].text
        name = text.partition("=")[0]
        is_again = name in names and (text not in named or text in with_value)
        is_opposite = text[:1] == "+" and (text[1:] == "o" or not letters.isdisjoint(text[1:]))
        is_opposite |= name[:2] == "--" and bool(
            {f"--no-{name[2:]}", f"--{name.removeprefix('--no-')}"} & (names - {name})
        )
        if is_again or is_opposite or (only_looks and is_a("changing_option", text)):
            yield Danger(at, Effect.RUNS, told("{option} isn't an option known here", option=text[:30]))


def _by_options(reading: Reading, covered: int, elsewhere: frozenset[str]) -> Iterator[Danger]:
    given = {name for name, at, value in reading.taken if value is not None and reading.place_of(at, value) < covered}
    for name, at, _ in reading.taken:
        kind = reading.kind_of(name) if at >= covered else ""
        if kind in elsewhere or (kind in _NAME_FILES and name in given):
            reason = told("{option} takes tasks from elsewhere than the rule means", option=name)
            yield Danger(at, Effect.RUNS, reason)
