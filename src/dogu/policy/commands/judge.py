"""The gate of a command: what the lists and the command itself allow, whatever the approval mode.

Pure. Every simple command is judged on its words as bash would see them, wherever bash would run it; what can't be
known is refused under a list that allows only some commands, and asked about otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dogu.language import told
from dogu.policy.commands.arithmetic import second_order_danger
from dogu.policy.commands.dangers import dangers_of, redirect_danger
from dogu.policy.commands.effects import Danger, Effect
from dogu.policy.commands.elsewhere import Elsewhere
from dogu.policy.commands.inner import ShellText, Tool
from dogu.policy.commands.names import GIT_VALUE_OPTIONS
from dogu.policy.commands.shell_checks import is_risky_variable
from dogu.policy.commands.shell_texts import SHELLS
from dogu.policy.commands.wrappers import inner_commands
from dogu.policy.rules import Rule
from dogu.policy.verdict import Decision, JudgedCommand, Judgement, strictest
from dogu.workspace.shell_syntax import (
    Command,
    CommandKind,
    Dialect,
    NotBashError,
    PartKind,
    Script,
    UnprovenError,
    Word,
    parse,
)
from dogu.workspace.shell_syntax.braces import expand_braces

_SYSTEM_FOLDERS = ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/")
_HIDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SUBSCRIPT = re.compile(r"[A-Za-z_0-9]\[")
_SUBSTITUTION = re.compile(r"\$\((?!\()|`|\$\{ ")
_OWN_TEXTS = frozenset(("eval", "trap", "mapfile", "readarray"))  # read by the shell that runs the command
_DEEPEST_TEXT = 8
_MOST_WRAPPERS = 20  # around one another: `env nice sudo ...`


def judge_command(text: str, core: tuple[Rule, ...] | None, exclude: tuple[Rule, ...]) -> Judgement:
    """Judge a shell text against the commands that alone may run (None: any) and those that may not."""
    if not text.strip():
        return Judgement(Decision.DENY, told("The command is empty."))
    if re.search("[\ud800-\udfff\x00]", text):
        return Judgement(Decision.DENY, told("The command holds a character that no command line can."))
    judge = _Judge(core, exclude)
    try:
        judge.text(text, 0)
    except RecursionError:
        judge.give_up(told("it is nested too deep to follow"))
    if _HIDING.search(text):
        judge.note(Decision.ASK, told("it holds control characters that could hide what it does"))
    return judge.judgement()


class _Judge:
    """Collects what is thought of each command of one text."""

    def __init__(self, core: tuple[Rule, ...] | None, exclude: tuple[Rule, ...]) -> None:
        self._core = core
        self._exclude = exclude
        self._commands: list[JudgedCommand] = []
        self._notes: list[tuple[Decision, str]] = []
        self._is_second_order = False
        self._dialect = Dialect.BASH
        self._wrappers = 0

    def give_up(self, reason: str) -> None:
        """Take note that it can't be known what the text runs."""
        self.note(self._unknown, reason)

    def judgement(self) -> Judgement:
        gate = strictest(*(each.verdict for each in self._commands), *(decision for decision, _ in self._notes))
        reasons = [reason for decision, reason in self._notes if decision is gate]
        reasons += [_of_command(each) for each in self._commands if each.verdict is gate]
        if gate is Decision.ALLOW:
            return Judgement(gate, told("every command in it is allowed"), self._commands)
        shown = "; ".join(dict.fromkeys(reasons[:3]))
        if len(reasons) > 3:
            shown = told("{reasons} (and {count} more)", reasons=shown, count=len(reasons) - 3)
        return Judgement(gate, shown, self._commands)

    def note(self, decision: Decision, reason: str) -> None:
        """Take note of what belongs to the text as a whole."""
        if decision is not Decision.ALLOW:
            self._notes.append((decision, reason))

    def text(self, text: str, depth: int, dialect: Dialect = Dialect.BASH) -> None:
        """Judge a text that a shell of this dialect will read."""
        if depth > _DEEPEST_TEXT:
            self.give_up(told("shells run shells too deep to follow"))
            return
        self._is_second_order = self._is_second_order or may_run_from_subscripts(text)
        outer, self._dialect = self._dialect, dialect
        try:
            script = parse(text, dialect)
            self.script(script, depth)
            reason = second_order_danger(script) or circle_of_functions(script)
            if reason:
                self._ask_if_restricted(reason)
        except NotBashError as error:
            self.note(Decision.DENY, told("bash would refuse it: {error}", error=str(error)))
        except UnprovenError as error:
            self.give_up(told("it can't be proven what it runs: {error}", error=str(error)))
        finally:
            self._dialect = outer

    def script(self, script: Script, depth: int) -> None:
        """Judge the commands of a script, and of the substitutions in it."""
        for command in script.commands:
            self._expansions(command, depth)
            self._redirects(command)
            match command.kind:
                case CommandKind.SIMPLE:
                    self._simple(command, depth)
                case CommandKind.CONDITION | CommandKind.ARITHMETIC:
                    self._keyword(command)
                case CommandKind.LOOP if is_risky_variable(command.name):
                    self._ask_if_restricted(told("the loop sets {name}", name=command.name))
                case _:
                    pass

    # what is thought of what can't be known

    @property
    def _unknown(self) -> Decision:
        return Decision.DENY if self._core is not None else Decision.ASK

    @property
    def _is_restricted(self) -> bool:
        return self._core is not None or bool(self._exclude)

    def _ask_if_restricted(self, reason: str) -> None:
        self.note(Decision.ASK if self._is_restricted else Decision.ALLOW, reason)

    # parts of a command

    def _expansions(self, command: Command, depth: int) -> None:
        for word in command.all_words():
            for part in word.expansions():
                if part.script is not None:
                    self.script(part.script, depth)
                if part.kind is PartKind.ARITHMETIC and self._is_second_order:
                    self._ask_if_restricted(told("arithmetic may run what a text holds"))
                if part.kind is PartKind.VARIABLE and re.search(r"@[PAEKQa]", part.operator):
                    self._ask_if_restricted(told("${...@P} runs what a variable holds"))

    def _redirects(self, command: Command) -> None:
        if self._core is None:
            return
        for redirect in command.redirects:
            reason = redirect_danger(redirect)
            if reason:
                self.note(Decision.ASK, reason)

    def _keyword(self, command: Command) -> None:
        name = "[[" if command.kind is CommandKind.CONDITION else "(("
        if self._is_second_order:
            self._ask_if_restricted(told("{name} may run what a text holds", name=name))
        rule = self._matching(self._core or (), [Word.literal(name)])[1]
        verdict = Decision.ALLOW if self._core is None or rule else Decision.DENY
        reason = (
            told("no command")
            if verdict is Decision.ALLOW
            else told("{name} is not among the commands allowed", name=name)
        )
        self._commands.append(JudgedCommand((name,), verdict, reason, rule and rule.text))

    def _simple(self, command: Command, depth: int) -> None:
        risky = [each.name for each in command.assignments if is_risky_variable(each.name)]
        if risky:
            self._ask_if_restricted(told("it sets {names}, which can change what runs", names=", ".join(risky)))
        if any(each.subscript is not None for each in command.assignments) and self._is_second_order:
            self._ask_if_restricted(told("an array's subscript may run what a text holds"))
        if not command.words:
            return
        try:
            words = [each for word in command.words for each in expand_braces(word)]
        except UnprovenError as error:
            self.note(Decision.ASK, told("its words can't be known: {error}", error=str(error)))
            words = command.words
        if "{" in command.words[0].raw and words[0] is not command.words[0]:  # a name out of braces counts as computed
            words = [Word((), ""), *command.words[1:]]
        self._words(words, command, depth)

    def _words(self, words: Sequence[Word], command: Command, depth: int) -> None:
        """Judge one command by its words, then what it would run besides itself."""
        name_word = words[0]
        name = _program(name_word.value) if name_word.parts else None
        if name is None:
            self._add(words, self._unknown, told("the name of the program is computed"))
            return
        verdict, reason, rule = self._by_lists(name, words)
        name = name.rpartition("/")[2] or name
        if verdict is Decision.ALLOW and self._is_restricted:
            danger = next((each for each in dangers_of(name, words) if self._counts(each, rule, words)), None)
            if danger is not None:
                verdict, reason = Decision.ASK, danger.reason
        self._add(words, verdict, reason, rule)
        self._inner(name, words, command, depth, rule)

    def _counts(self, danger: Danger, rule: Rule | None, words: Sequence[Word]) -> bool:
        """Whether a danger isn't covered: by the words of the rule itself, or by a list that only excludes."""
        if self._core is None:
            return danger.effect is Effect.RUNS
        covered = len(rule.words) if rule is not None and rule.words is not None else 0
        return danger.index >= covered

    def _by_lists(self, name: str, words: Sequence[Word]) -> tuple[Decision, str, Rule | None]:
        certainty, rule = self._matching(self._exclude, words, name, is_loose=True)
        if rule is not None and certainty:
            return Decision.DENY, told("excluded by {rule}", rule=rule.text), rule
        if rule is not None:
            return Decision.ASK, told("it may be what {rule} excludes", rule=rule.text), rule
        if self._core is None:
            return Decision.ALLOW, told("nothing forbids it"), None
        _, allowed = self._matching(self._core, words, name)
        if allowed is not None:
            return Decision.ALLOW, told("allowed by {rule}", rule=allowed.text), allowed
        if any(each.is_unclear for each in self._core):
            return (
                Decision.ASK,
                told("a rule holds a wildcard, which means nothing: say the command's first words"),
                None,
            )
        return Decision.DENY, told("{name} is not among the commands allowed", name=_shown((name,))), None

    def _matching(
        self, rules: Sequence[Rule], words: Sequence[Word], name: str = "", *, is_loose: bool = False
    ) -> tuple[bool, Rule | None]:
        """The first rule that begins these words, and whether that is certain; a loose match looks past options."""
        possible: Rule | None = None
        for rule in rules:
            found = _begins(rule.words or (), words, name, is_loose=is_loose)
            if found:
                return True, rule
            if found is None and possible is None and is_loose:
                possible = rule
        return False, possible

    def _inner(self, name: str, words: Sequence[Word], command: Command, depth: int, rule: Rule | None) -> None:
        for inner in inner_commands(name, words):
            if isinstance(inner, Tool):
                self._tool(inner.words, command, depth)
            elif isinstance(inner, Elsewhere):
                self._elsewhere(inner, command, depth)
            elif not isinstance(inner, ShellText):
                self._wrapped(inner, command, depth)
            elif inner.value is not None:
                self.text(inner.value, depth + 1, self._dialect if name in _OWN_TEXTS else inner.dialect)
            elif name not in SHELLS:
                self._ask_if_restricted(told("what {name} would run can't be known", name=name))
            elif rule is None or rule.words is None or len(rule.words) < 2:
                self._standard_input(name, words, command, depth, inner.dialect)

    def _elsewhere(self, inner: Elsewhere, command: Command, depth: int) -> None:
        """What runs on another machine or in a container: an excluded program stays so."""
        if self._core is not None or not self._exclude:
            return
        if not inner.is_text:
            self._wrapped(inner.words, command, depth)
            return
        values = [word.value for word in inner.words]
        if None in values:
            self._ask_if_restricted(told("what it would run elsewhere can't be known"))
        else:
            self.text(" ".join(value or "" for value in values), depth + 1, Dialect.ANY)

    def _wrapped(self, words: Sequence[Word], command: Command, depth: int) -> None:
        if self._wrappers >= _MOST_WRAPPERS:
            self.give_up(told("commands run commands too deep to follow"))
            return
        self._wrappers += 1
        self._words(words, command, depth)
        self._wrappers -= 1

    def _tool(self, words: Sequence[Word], command: Command, depth: int) -> None:
        """What a project's runner starts: refused when excluded; under a list of allowed commands a question."""
        if self._core is None:
            self._wrapped(words, command, depth)
            return
        name = _program(words[0].value) if words else None
        if name is None or self._by_lists(name, words)[0] is not Decision.ALLOW:
            self.note(
                Decision.ASK,
                told("it runs {command}, which no rule allows", command=_shown([word.text for word in words])),
            )

    def _standard_input(self, name: str, words: Sequence[Word], command: Command, depth: int, dialect: Dialect) -> None:
        """A shell without a text: its script is a file, or comes on standard input."""
        texts = [each.target.value for each in command.redirects if each.operator in ("<<", "<<<")]
        if command.piped_from is not None:
            texts.append(_printed(command.piped_from))
        takes_input = all((word.value or "") in ("-s", "-e", "-x", "-u", "-") for word in words[1:])
        if takes_input and len(texts) == 1 and texts[0] is not None:
            self.text(texts[0], depth + 1, dialect)
            return
        self._ask_if_restricted(told("what {name} would run can't be known", name=name))

    def _add(self, words: Sequence[Word], verdict: Decision, reason: str, rule: Rule | None = None) -> None:
        shown = tuple(word.text for word in words) or ("",)
        self._commands.append(JudgedCommand(shown, verdict, reason, rule.text if rule else None))


def may_run_from_subscripts(text: str) -> bool:
    """Tell whether a substitution stands in what looks like a subscript: arithmetic would run it. Linear."""
    for piece in text.split("]") if _SUBSTITUTION.search(text) else ():
        subscript = _SUBSCRIPT.search(piece)
        if subscript and _SUBSTITUTION.search(piece, subscript.end()):
            return True
    return False


def circle_of_functions(script: Script) -> str:
    """Say which function comes to call itself; '' when none does. Linear: what calls no other is put aside."""
    calls: dict[str, set[str]] = {}
    for command in script.commands:
        if command.function is not None and command.words:
            calls.setdefault(command.function, set()).add(command.words[0].text)
    callers: dict[str, list[str]] = {}
    for name, called in calls.items():
        for each in called & calls.keys():
            callers.setdefault(each, []).append(name)
    unsettled = {name: len(called & calls.keys()) for name, called in calls.items()}
    settled = [name for name, count in unsettled.items() if not count]
    while settled:
        name = settled.pop()
        del unsettled[name]
        for caller in callers.get(name, ()):
            unsettled[caller] -= 1
            if not unsettled[caller]:
                settled.append(caller)
    return told("the function {name} leads to one that calls itself", name=next(iter(unsettled))) if unsettled else ""


def _program(value: str | None) -> str | None:
    """The name a rule means: a program of a system folder by its name alone, any other path as it is written."""
    if value is None:
        return None
    folder, slash, name = value.rpartition("/")
    return name if slash and f"{folder}/" in _SYSTEM_FOLDERS else value


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
            takes_value = value in GIT_VALUE_OPTIONS if name == "git" else not name and "=" not in value
            skip = takes_value and not found
        else:
            found.append(value)
    return found


def _printed(command: Command) -> str | None:
    """What `echo`, a plain `printf` or `cat` with a text given prints; None when that can't be known."""
    values = [word.value for word in command.words]
    if not values or None in values or values[0] not in ("echo", "printf", "cat"):
        return None
    known = [value or "" for value in values[1:]]
    if values[0] == "cat":
        texts = [each.target.value for each in command.redirects if each.operator in ("<<", "<<<")]
        return texts[0] if len(texts) == 1 and len(command.redirects) == 1 and not known else None
    if values[0] == "echo":
        text = " ".join(known)
        return None if text.startswith("-") or "\\" in text else text
    is_plain = len(known) == 1 and not re.search(r"^-|%|\\(?!n)", known[0])
    return known[0].replace("\\n", "\n") if is_plain else None


def _of_command(judged: JudgedCommand) -> str:
    return told("{command}: {reason}", command=_shown(judged.words), reason=judged.reason)


def _shown(words: Sequence[str]) -> str:
    text = " ".join(words)
    return text if len(text) <= 60 else text[:57] + "..."
