"""What the lists say of one command by its words: which rule begins it, and how certain that is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from dogu.language import told
from dogu.policy.commands.effects import NOWHERE, Danger, Effect, Surroundings
from dogu.policy.commands.spelled import names_the_same, without_files
from dogu.policy.rule import Rule
from dogu.policy.verdict import Decision
from dogu.workspace.shell_syntax import Redirect, Word

_GIT_VALUE_OPTIONS = frozenset(
    "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source".split()
)
_SYSTEM_FOLDERS = ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/")
_STEPS = frozenset(("break", "continue"))
_OF_ENVIRONMENT = re.compile(
    r"(?:\./)?\.?(?:venv|env|virtualenv)/bin/(?:python|pip)(?:3(?:\.\d+)?)?|(?:\./)?\.?venv/bin/pytest"
)
_ACTIVATES = re.compile(r"(?:\./)?\.?(?:venv|env|virtualenv)/bin/activate")


class Lists:
    """The commands that alone may run (`core`, None: any) and those that may not (`exclude`)."""

    def __init__(self, core: tuple[Rule, ...] | None, exclude: tuple[Rule, ...]) -> None:
        self.core = core
        self.exclude = exclude

    @property
    def unknown(self) -> Decision:
        """What is decided of what can't be known."""
        return Decision.DENY if self.core is not None else Decision.ASK

    @property
    def restrict(self) -> bool:
        """Whether there is any list."""
        return self.core is not None or bool(self.exclude)

    def verdict_on(
        self,
        name: str,
        words: Sequence[Word],
        is_no_option: Callable[[Word], bool] = lambda word: word.is_plain,
        around: Surroundings = NOWHERE,
        redirects: Sequence[Redirect] = (),
    ) -> tuple[Decision, str, Rule | None]:
        """Decide on a command by its words; `name` is its program's, as a rule means it. Return the rule, too."""
        certainty, rule = self._excluding(name, words, is_no_option)
        naming = (each for each in self.exclude if _names_files(_meant(each), words, redirects, around))
        if not certainty and (named := next(naming, None)):
            certainty, rule = True, named
        if rule is not None and certainty:
            return Decision.DENY, told("excluded by {rule}", rule=rule.text), rule
        if rule is not None:
            return Decision.ASK, told("it may be what {rule} excludes", rule=rule.text), rule
        if self.core is None:
            return Decision.ALLOW, told("nothing forbids it"), None
        _, allowed = _matching(self.core, words, name)
        if allowed is not None:
            return Decision.ALLOW, told("allowed by {rule}", rule=allowed.text), allowed
        if any(each.is_unclear for each in self.core):
            return (
                Decision.ASK,
                told("a rule holds a wildcard, which has no meaning here: write the command's first words"),
                None,
            )
        return Decision.DENY, told("{name} is not among the commands allowed", name=shortened(name)), None

    def _excluding(
        self, name: str, words: Sequence[Word], is_no_option: Callable[[Word], bool]
    ) -> tuple[bool, Rule | None]:
        """The rule that excludes a command, in whatever spelling, and whether that is certain."""
        bare, version, _ = name[1:].partition("@") if "/" not in name else ("", "", "")
        if version:  # `npx npm@9`
            name, words = name[0] + bare, [Word.literal(name[0] + bare), *words[1:]]
        certainty, found = _matching(self.exclude, words, name, is_loose=True)
        for rule in self.exclude if not certainty else ():
            is_same = names_the_same(_meant(rule), words, is_no_option)
            if is_same:
                return True, rule
            found = found or (rule if is_same is None or _names_its_file(rule, words) else None)
        return certainty, found

    def rule_allowing(self, keyword: str) -> Rule | None:
        """Return the rule that allows a keyword such as `[[`."""
        return _matching(self.core or (), [Word.literal(keyword)])[1]

    def names_any(self, *names: str) -> bool:
        """Whether one of the programs may run, whatever its arguments."""
        return self.core is None or any(
            rule.words is not None and rule.words == (name,) for rule in self.core for name in names
        )

    def needs_none(self, name: str, words: Sequence[Word]) -> bool:
        """What only limits, counts or reads into a variable, and a project's own environment where Python may run."""
        texts = [word.text for word in words]
        if name in _STEPS:
            return all(re.fullmatch(r"\d*", word.value or "-") for word in words[1:])
        if name in ("source", "."):
            return self.is_environment(words)
        if texts == ["deactivate"]:
            return self.names_any("python", "python3", "pip", "pytest")
        return (name in ("timeout", "read") and len(words) > 1) or texts in (
            ["nproc"],
            ["getconf", "_NPROCESSORS_ONLN"],
        )

    def is_environment(self, words: Sequence[Word]) -> bool:
        """Whether `source FILE` only activates a project's own environment, where Python may run."""
        is_activated = len(words) == 2 and _ACTIVATES.fullmatch(words[1].value or "") is not None
        return is_activated and self.names_any("python", "python3", "pip", "pytest")

    def leave_open(self, danger: Danger, rule: Rule | None) -> bool:
        """Whether a danger isn't covered: by the words of the rule itself, or by a list that only excludes."""
        if self.core is None:
            return danger.effect is Effect.RUNS
        covered = len(rule.words) if rule is not None and rule.words is not None else 0
        return danger.index >= covered


def _names_its_file(rule: Rule, words: Sequence[Word]) -> bool:
    """Whether another program is given the file of the one that a rule excludes: `cp /bin/rm x`."""
    paths = (each.value for each in words[1:] if each.value and "/" in each.value)
    return len(rule.words or ()) == 1 and any(program_of(path) == (rule.words or ("",))[0] for path in paths)


def _names_files(
    rule: Sequence[str], words: Sequence[Word], redirects: Sequence[Redirect], around: Surroundings
) -> bool:
    """Whether a command does to the files of a rule what it names, however it spells their paths."""
    return any(
        _begins(kept, left, "", is_loose=True) or names_the_same(kept, left, lambda _: True)
        for kept, left in without_files(rule, words, redirects, around)
    )


def _meant(rule: Rule) -> tuple[str, ...]:
    """The words of an excluding rule, whose program may be written as a path of a system folder."""
    first, *rest = rule.words or ("",)
    return (program_of(first) or first, *rest)


def program_of(value: str | None) -> str | None:
    """The name a rule means: a program of a system folder or of the project's environment by its name alone.

    Any other path counts as it is written.
    """
    if value is None:
        return None
    folder, slash, name = value.rpartition("/")
    is_known = f"{folder}/" in _SYSTEM_FOLDERS or _OF_ENVIRONMENT.fullmatch(value) is not None
    return name if slash and is_known else value


def shortened(text: str) -> str:
    """Cut a command to what a sentence has room for."""
    return text if len(text) <= 60 else text[:57] + "..."


def _matching(
    rules: Sequence[Rule], words: Sequence[Word], name: str = "", *, is_loose: bool = False
) -> tuple[bool, Rule | None]:
    """The first rule that begins these words, and whether that is certain; a loose match looks past options."""
    possible: Rule | None = None
    first = words[0].value
    for rule in rules:
        if not is_loose and rule.words and rule.words[0] not in (name, first):
            continue
        if rule.is_whole and not is_loose and len(words) != len(rule.words or ()):
            continue
        found = _begins(_meant(rule) if is_loose else rule.words or (), words, name, is_loose=is_loose)
        if found:
            return True, rule
        if found is None and possible is None and is_loose:
            possible = rule
    return False, possible


def _begins(rule: Sequence[str], words: Sequence[Word], name: str, *, is_loose: bool) -> bool | None:
    """Whether the words begin as the rule says; None when that can't be known."""
    values = [name or words[0].value, *(word.value for word in words[1:])]
    if not is_loose:
        return _starts_with(values, rule) or _starts_with([words[0].value, *values[1:]], rule)
    if values[0] is not None:
        values[0] = values[0].rpartition("/")[2] or values[0]
    found = _starts_with(values, rule)
    if found or values[0] is None or values[0] != rule[0]:
        return found
    found = _starts_with([values[0], *_operands(values[0], values[1:])], rule)
    if found is False and values[0] != "git" and _starts_with([values[0], *_operands("", values[1:])], rule):
        return None
    return found


def _starts_with(values: Sequence[str | None], rule: Sequence[str]) -> bool | None:
    for wanted, value in zip(rule, values, strict=False):
        if value is None:
            return None
        if value != wanted:
            return False
    return len(values) >= len(rule)


def _operands(name: str, values: Sequence[str | None]) -> list[str | None]:
    """The words that are no options; git's options that take a value take it with them, and so do all of ""."""
    found: list[str | None] = []
    skip = False
    for value in values:
        if skip:
            skip = False
        elif value is not None and value.startswith(("-", "+")):
            takes_value = value in _GIT_VALUE_OPTIONS if name == "git" else not name and "=" not in value
            skip = takes_value and not found
        else:
            found.append(value)
    return found
