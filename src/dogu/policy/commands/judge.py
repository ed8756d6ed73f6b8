"""The gate of a command: what the lists and the command itself allow, whatever the approval mode.

Pure. Every simple command is judged on its words as bash would see them, wherever bash would run it; what can't be
known is refused under a list that allows only some commands, and asked about otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dogu.language import joined, told
from dogu.policy.commands.arithmetic import names_set
from dogu.policy.commands.brought import unpacks
from dogu.policy.commands.dangers import dangers_of, elsewhere_than_meant, program_called, redirect_danger
from dogu.policy.commands.effects import NOWHERE, Danger, Effect, Hints, Surroundings
from dogu.policy.commands.elsewhere import Elsewhere
from dogu.policy.commands.inner import DATA, SHELLS, Inner, ShellText, Tool
from dogu.policy.commands.lists import Lists, program_of, shortened
from dogu.policy.commands.patterns import is_a
from dogu.policy.commands.places import check_found, holds_what_runs, leads_outside
from dogu.policy.commands.standard_input import (
    Data,
    gives_tracked_files,
    input_reason,
    runs_own_script,
    text_on_standard_input,
)
from dogu.policy.commands.table import plain_name
from dogu.policy.commands.text_checks import (
    adds_remote,
    danger_of_the_whole,
    is_still,
    may_hide,
    may_run_from_subscripts,
    only_looks,
    only_reads,
)
from dogu.policy.commands.variables import (
    Known,
    assignment_reason,
    cannot_be_option,
    is_read_by_programs,
    is_shells_own,
    name_reason,
)
from dogu.policy.commands.whereabouts import AT_THE_START, GOES, Whereabouts
from dogu.policy.commands.wrappers import inner_commands, run_in_a_folder
from dogu.policy.parsed_text import ParsedText
from dogu.policy.rule import Rule
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

_OWN_TEXTS = frozenset(("eval", "trap", "mapfile", "readarray"))  # read by the shell that runs the command
_EXPORT = frozenset(("export", "declare", "typeset", "local", "readonly"))
_IS_ONE_WORD = re.compile(r"[\w@%+=:,./-]*")  # to any shell
_RUN_ELSEWHERE = frozenset(("run", "exec", "create", "debug"))  # subcommands, which a rule may name
_DEEPEST_TEXT = 8
_MOST_WRAPPERS = 20  # around one another: `env nice sudo ...`


def judge_command(
    given: str | ParsedText,
    core: tuple[Rule, ...] | None,
    exclude: tuple[Rule, ...],
    around: Surroundings = NOWHERE,
) -> Judgement:
    """Judge a shell text against the commands that alone may run (None: any) and those that may not."""
    parsed = ParsedText(given) if isinstance(given, str) else given
    text = parsed.text
    if not text.strip():
        return Judgement(Decision.DENY, told("the command is empty"), is_unreadable=True)
    if re.search("[\ud800-\udfff\x00]", text):
        reason = told("the command holds a character that no command line can")
        if re.search("[\udc80-\udcff]", text):  # how Python reads bytes that are no text
            reason = told("the command holds bytes that aren't text in this locale: use a UTF-8 one (LC_ALL=C.UTF-8)")
        return Judgement(Decision.DENY, reason, is_unreadable=True)
    judge = _Judge(Lists(core, exclude), parsed, around)
    try:
        judge.text(text, 0)
    except RecursionError:
        judge.give_up(told("it is nested too deep to follow"))
    if may_hide(text):
        judge.note(Decision.ASK, told("it holds control characters that could hide what it does"))
    return judge.judgement()


class _Judge:
    """Collects what is thought of each command of one text."""

    def __init__(self, lists: Lists, parsed: ParsedText, around: Surroundings) -> None:
        self._lists = lists
        self._parsed = parsed
        self._around = around
        self._is_unreadable = False
        self._commands: list[JudgedCommand] = []
        self._notes: list[tuple[Decision, str]] = []
        self._is_second_order = False
        self._dialect = Dialect.BASH
        self._wrappers = 0
        self._known = Known(Script([]))
        self._only_looks = False
        self._only_sets = False
        self._where = Whereabouts(AT_THE_START)
        self._current: Command | None = None
        self._runs_elsewhere = False
        self._data = Data()
        self._takes_any_name = False
        self._runs_the_project = False

    def give_up(self, reason: str) -> None:
        """Take note that it can't be known what the text runs."""
        self.note(self._lists.unknown, reason)

    def judgement(self) -> Judgement:
        gate = strictest(*(each.verdict for each in self._commands), *(decision for decision, _ in self._notes))
        reasons = [reason for decision, reason in self._notes if decision is gate]
        reasons += [_of_command(each) for each in self._commands if each.verdict is gate]
        if gate is Decision.ALLOW:
            return Judgement(gate, told("every command in it is allowed"), self._commands)
        shown = joined("; ", dict.fromkeys(reasons[:3]))
        if len(reasons) > 3:
            shown = told("{reasons} (and {count} more)", reasons=shown, count=len(reasons) - 3)
        return Judgement(gate, shown, self._commands, self._is_unreadable)

    def note(self, decision: Decision, reason: str) -> None:
        """Take note of what belongs to the text as a whole."""
        if decision is not Decision.ALLOW:
            self._notes.append((decision, reason))

    def text(self, text: str, depth: int, dialect: Dialect = Dialect.BASH, *, is_own: bool = False) -> None:
        """Judge a text that a shell of this dialect will read; `is_own`: the one that reads what is around it."""
        if depth > _DEEPEST_TEXT:
            self.give_up(told("shells run shells too deep to follow"))
            return
        self._is_second_order = self._is_second_order or may_run_from_subscripts(text)
        outer, self._dialect = self._dialect, self._dialect if is_own else dialect
        try:
            script = self._parsed.script if depth == 0 else parse(text, self._dialect)
            if not isinstance(script, Script):
                raise script
            if depth == 0:
                self._known = Known(script)
                self._only_looks = only_looks(script)
                self._around = replace(self._around, is_still=is_still(script), adds_remote=adds_remote(script))
                self._only_sets = all(each.words and each.words[0].value in _EXPORT for each in script.commands)
            else:
                self._known.add(script)
            self.script(script, depth, is_own=is_own)
            reason = danger_of_the_whole(script, self._around)
            if reason:
                self._ask_if_restricted(reason)
        except NotBashError as error:
            self._is_unreadable = True
            self.note(Decision.DENY, told("bash would refuse it: {error}", error=str(error)))
        except UnprovenError as error:
            self.give_up(told("what it runs can't be determined: {error}", error=str(error)))
        finally:
            self._dialect = outer

    def script(self, script: Script, depth: int, *, is_own: bool = False) -> None:
        """Judge the commands of a script, and of the substitutions in it."""
        outer, current = self._where, self._current
        self._where = Whereabouts.within(outer, script, self._known.places)
        for command in script.commands:
            self._current = command
            self._where.come_to(command)
            self._look_around()
            self._expansions(command, depth)
            self._redirects(command)
            for reason in filter(None, map(name_reason, names_set(command))):
                self._ask_if_restricted(reason)
            match command.kind:
                case CommandKind.SIMPLE:
                    self._simple(command, depth)
                case CommandKind.CONDITION | CommandKind.ARITHMETIC:
                    self._keyword(command)
                case _:
                    pass
        if is_own:
            outer.come_from(self._where)
        self._where, self._current = outer, current
        self._look_around()

    def _look_around(self) -> None:
        """Judge what follows as in the folders that the text may be in."""
        folders = None if self._runs_elsewhere else self._where.folders()
        if folders != self._around.folders:
            self._around = replace(self._around, folders=folders)

    # what is thought of what can't be known

    def _ask_if_restricted(self, reason: str) -> None:
        self.note(Decision.ASK if self._lists.restrict else Decision.ALLOW, reason)

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
        if self._lists.core is None:
            return
        for redirect in command.redirects:
            lists_packages = is_a("lists_packages", " ".join(word.text for word in command.words[:4]))
            has_tee = self._lists.names_any("tee")
            reason = redirect_danger(redirect, self._around, has_tee=has_tee, lists_packages=lists_packages)
            if redirect.operator in ("<", "<&") and self._known.may_be_network(redirect.target):
                reason = told("it reads from {target}", target=redirect.target.text)
            if reason:
                self.note(Decision.ASK, reason)

    def _keyword(self, command: Command) -> None:
        name = "[[" if command.kind is CommandKind.CONDITION else "(("
        if self._is_second_order:
            self._ask_if_restricted(told("{name} may run what a text holds", name=name))
        rule = self._lists.rule_allowing(name)
        verdict = Decision.ALLOW if self._lists.core is None or rule else Decision.DENY
        reason = told("no command")
        if verdict is not Decision.ALLOW:
            reason = told("{name} is not among the commands allowed", name=name)
        self._commands.append(JudgedCommand((name,), verdict, reason, rule and rule.text))

    def _simple(self, command: Command, depth: int) -> None:
        self._assignments(command)
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

    def _assignments(self, command: Command) -> None:
        program = (command.words[0].value or "").rpartition("/")[2] if command.words else ""
        block = program_called(program)
        for each in command.assignments:
            is_passed_on = bool(command.words) or each.name in self._known.exported
            reason = assignment_reason(each, program, is_passed_on=is_passed_on)
            is_risky = is_shells_own(each.name) or is_read_by_programs(each.name)
            if reason and (is_risky or (self._lists.core is not None and not (block and block.is_harmless))):
                self._ask_if_restricted(reason)

    def _words(self, words: Sequence[Word], command: Command, depth: int) -> None:
        """Judge one command by its words, then what it would run besides itself."""
        name_word = words[0]
        name = program_of(name_word.value) if name_word.parts else None
        if name is None:
            self._add(words, self._lists.unknown, told("the name of the program is computed"))
            return
        verdict, reason, rule = self._lists.verdict_on(name, words, self._is_no_option, self._around, command.redirects)
        if verdict is Decision.DENY and rule is None and self._lists.needs_none(name, words):
            verdict, reason = Decision.ALLOW, told("it does nothing by itself")
        name = plain_name(name.rpartition("/")[2] or name)
        self._note_data(name, words, command)
        if verdict is Decision.ALLOW and self._lists.restrict:
            found = (each for each in self._dangers(name, words, rule) if self._lists.leave_open(each, rule))
            danger = min(found, key=lambda each: each.index, default=None)
            if danger is not None:
                verdict, reason = Decision.ASK, danger.reason
            elif given := input_reason(name, words, command, self._around):
                verdict, reason = Decision.ASK, given
        self._add(words, verdict, reason, rule)
        self._inner(name, words, command, depth, rule)
        writes = any(each.target.value != "/dev/null" for each in command.redirects) or not only_reads(words)
        if writes and not (self._around.may_differ and self._around.has_unpacked):
            has_unpacked = self._around.has_unpacked or unpacks(name, words)
            self._around = replace(self._around, may_differ=True, has_unpacked=has_unpacked)

    def _note_data(self, name: str, words: Sequence[Word], command: Command) -> None:
        if name == "find" and DATA not in words:
            self._data = Data.of_find(words, self._known)
        if name == "xargs":
            self._data = Data.of_xargs(command, words, self._known, self._around)

    def _may_remove(self, option: Sequence[Word]) -> bool:
        """Whether find's `-delete` does no more than a rule for `rm` covers."""
        found = self._data.places if option and option[0].value == "-delete" and self._lists.names_any("rm") else None
        return bool(found) and not any(map(check_found, found or ()))

    def _places(self, word: Word) -> list[Word] | None:
        return self._data.places if word is DATA else self._known.places(word)

    def _dangers(self, name: str, words: Sequence[Word], rule: Rule | None) -> Iterator[Danger]:
        if name in ("source", ".") and self._lists.is_environment(words):
            return
        if name in GOES:
            if self._only_looks and len(words) == 2 and re.fullmatch(r"(?:\.\./?)+", words[1].value or ""):
                return
            words, to = self._gone(words)
            if not self._around.is_still and not self._only_looks and holds_what_runs(to):
                reason = told("{path} is where things that run later are kept", path=words[-1].text[:40])
                yield Danger(len(words) - 1, Effect.WRITES, reason)
        # A file named like an option makes `rm` do no more than it says; a project's tool runs its code anyway.
        self._takes_any_name = name in ("rm", "unlink")
        block = program_called(name)
        self._runs_the_project = block is not None and (block.is_tool or block.has_tasks or block.runs_scripts)
        covered = len(rule.words) if rule is not None and rule.words is not None else 1
        if self._around.has_moved or self._around.has_unpacked:
            yield from elsewhere_than_meant(name, words, covered, self._around, is_listed=self._lists.core is not None)
        hints = Hints(
            self._is_no_option, self._holds_output, self._around, self._known.spellings, self._places, self._data.listed
        )
        for danger in dangers_of(name, words, hints, covered):
            # What is handed on to programs is nobody's where the text runs none.
            is_nobodys = self._only_sets and name in _EXPORT and danger.effect is Effect.REACHES
            if not is_nobodys and not self._may_remove(words[danger.index : danger.index + 1]):
                yield danger

    def _gone(self, words: Sequence[Word]) -> tuple[Sequence[Word], list[Word] | None]:
        """Take note of where a `cd` leads; return its words, with the worst place that it may be, and all of these."""
        operands = [at for at, word in enumerate(words) if at and word.prefix[:1] not in ("-", "+")]
        if len(operands) != 1:  # bash of macOS goes to the first of several
            self._where.go_back()
            self._where.go(self._where.destinations([words[at] for at in operands]), None, is_there=False)
            return words, []
        given = words[operands[0]]
        to = self._where.destinations([given])
        is_there = len(words) == 2 and to is not None and all(map(self._around.is_there, to))
        self._where.go(to, self._current, is_there=is_there)
        places = None if to is None else [Word.literal(each or ".") for each in to]
        if places and (given.is_plain or self._known.places_of(given)):
            words = [*words[: operands[0]], max(places, key=leads_outside), *words[operands[0] + 1 :]]
        return words, places

    def _is_no_option(self, word: Word) -> bool:
        if word is DATA:
            is_known = self._data.is_plain or self._data.listed is not None
            return is_known or (self._data.is_tracked and self._runs_the_project)
        if word.is_plain and self._takes_any_name:
            return True
        is_tracked = self._runs_the_project and gives_tracked_files(word, self._known)
        return is_tracked or cannot_be_option(word, self._known)

    def _holds_output(self, word: Word) -> bool:
        return not self._data.is_plain if word is DATA else self._known.may_hold_output(word)

    def _inner(self, name: str, words: Sequence[Word], command: Command, depth: int, rule: Rule | None) -> None:
        found = inner_commands(name, words)
        outer, self._runs_elsewhere = self._runs_elsewhere, self._runs_elsewhere or run_in_a_folder(words, found)
        self._look_around()
        self._each_inner(found, name, words, command, depth, rule)
        self._runs_elsewhere = outer
        self._look_around()

    def _each_inner(
        self, found: Sequence[Inner], name: str, words: Sequence[Word], command: Command, depth: int, rule: Rule | None
    ) -> None:
        for inner in found:
            if isinstance(inner, Tool):
                self._tool(inner.words, command, depth)
            elif isinstance(inner, Elsewhere):
                self._elsewhere(inner, command, depth, rule)
            elif not isinstance(inner, ShellText):
                self._wrapped(inner, command, depth)
            elif inner.value is not None:
                self.text(inner.value, depth + 1, inner.dialect, is_own=name in _OWN_TEXTS)
            elif name not in SHELLS:
                self._ask_if_restricted(told("what {name} would run can't be known", name=name))
            elif rule is None or len(rule.words or ()) < 2 or all(word.text[:1] in ("-", "+") for word in words[1:]):
                self._standard_input(name, words, command, depth, inner.dialect)

    def _elsewhere(self, inner: Elsewhere, command: Command, depth: int, rule: Rule | None) -> None:
        """What runs on another machine or in a container: what is excluded or allowed here is so there."""
        if self._lists.core is not None:
            names_it = rule is None or rule.words is None or not _RUN_ELSEWHERE.isdisjoint(rule.words)
            if not names_it and (not inner.is_text or len((rule and rule.words) or ()) == 1):
                self._asked_elsewhere(inner, command, depth)
            elif rule is not None and inner.is_text:
                beyond = [word.text for word in inner.words if word.text not in (rule.words or ())]
                if not all(map(_IS_ONE_WORD.fullmatch, beyond)):
                    self.note(Decision.ASK, told("what it would run elsewhere can't be known"))
            return
        if not self._lists.exclude or not inner.words:
            return
        if not inner.is_text:
            self._wrapped(inner.words, command, depth)
            return
        values = [word.value for word in inner.words]
        if None in values:
            self._ask_if_restricted(told("what it would run elsewhere can't be known"))
        else:
            self.text(" ".join(value or "" for value in values), depth + 1, Dialect.ANY)

    def _asked_elsewhere(self, inner: Elsewhere, command: Command, depth: int) -> None:
        there = _Judge(self._lists, self._parsed, NOWHERE)
        there._known, there._wrappers = self._known, self._wrappers
        if inner.is_text or not inner.words:
            there.note(Decision.ASK, "")
        else:
            there._wrapped(inner.words, command, depth)
        if there.judgement().gate is not Decision.ALLOW:
            shown = _shown([word.text for word in inner.words])
            self.note(Decision.ASK, told("it runs {command} elsewhere, which no rule allows", command=shown))

    def _wrapped(self, words: Sequence[Word], command: Command, depth: int) -> None:
        if self._wrappers >= _MOST_WRAPPERS:
            self.give_up(told("commands run commands too deep to follow"))
            return
        self._wrappers += 1
        self._words(words, command, depth)
        self._wrappers -= 1

    def _tool(self, words: Sequence[Word], command: Command, depth: int) -> None:
        """What a project's runner starts: refused when excluded; under a list of allowed commands a question."""
        if self._lists.core is None:
            self._wrapped(words, command, depth)
            return
        name = program_of(words[0].value) if words else None
        if name is not None and self._lists.verdict_on(name, words)[0] is Decision.ALLOW:
            self._wrapped(words, command, depth)
            return
        block = program_called(name) if name is not None else None
        if name is None or block is None or not block.is_tool or any(self._dangers(name, words, None)):
            self.note(
                Decision.ASK,
                told("it runs {command}, which no rule allows", command=_shown([word.text for word in words])),
            )

    def _standard_input(self, name: str, words: Sequence[Word], command: Command, depth: int, dialect: Dialect) -> None:
        """A shell without a text: its script is a file, or comes on standard input."""
        if self._lists.core is not None and not self._lists.exclude and runs_own_script(words):
            return
        text = text_on_standard_input(words, command)
        if text is not None:
            self.text(text, depth + 1, dialect)
            return
        self._ask_if_restricted(told("what {name} would run can't be known", name=name))

    def _add(self, words: Sequence[Word], verdict: Decision, reason: str, rule: Rule | None = None) -> None:
        shown = tuple(word.text for word in words) or ("",)
        self._commands.append(JudgedCommand(shown, verdict, reason, rule.text if rule else None))


def _of_command(judged: JudgedCommand) -> str:
    return told("{command}: {reason}", command=_shown(judged.words), reason=judged.reason)


def _shown(words: Sequence[str]) -> str:
    return shortened(" ".join(words))
