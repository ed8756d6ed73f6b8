"""What a rule of several words doesn't mean, though the command begins as it does: another task, package or address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect
from dogu.policy.commands.handed import of_unknown
from dogu.policy.commands.places import no_known_value
from dogu.policy.commands.reading import Reading
from dogu.policy.commands.table import Program
from dogu.policy.commands.values import PLACES
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


def _unread(words: Sequence[Word], reading: Reading, covered: int) -> Iterator[Danger]:
    """What a subcommand is given that is asked about, unless a rule allows it: judged as with an unknown program.

    A rule that names it alone means the machines that it reaches, whichever they are.
    """
    at = reading.stopped_at if reading.stopped_at is not None else covered
    for each in of_unknown(words, reading.hints) if at < covered else ():
        if each.index >= covered and not (covered == at + 1 and each.effect is Effect.REACHES):
            yield each


def _by_options(reading: Reading, covered: int, elsewhere: frozenset[str]) -> Iterator[Danger]:
    given = {name for name, at, value in reading.taken if value is not None and reading.place_of(at, value) < covered}
    for name, at, _ in reading.taken:
        kind = reading.kind_of(name) if at >= covered else ""
        if kind in elsewhere or (kind in _NAME_FILES and name in given):
            reason = told("{option} takes tasks from elsewhere than the rule means", option=name)
            yield Danger(at, Effect.RUNS, reason)
