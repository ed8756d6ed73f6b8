"""Reads a command's words as its program would, by the table, and says what in them a rule for it doesn't cover.

Long options are resolved as the program resolves them, clusters of short ones taken apart, values told from operands,
subcommands found behind the options that stand before them. What the table doesn't know is a danger by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect, Hints
from dogu.policy.commands.handed import handed_on
from dogu.policy.commands.inner import DATA
from dogu.policy.commands.outgoing import goes_to_this_machine
from dogu.policy.commands.places import Finding, check_found, is_data, leads_outside, no_known_value, written
from dogu.policy.commands.table import Option, Program
from dogu.policy.commands.values import ONLY_READ, PLACES, check_config, check_value
from dogu.workspace.shell_syntax import Part, PartKind, Word

_NUMBER = re.compile(r"-[0-9]+")
_HELP = ("--help", "--version")
_LOOKS = frozenset(
    (
        "--help",
        "--version",
        "-h",
        "-V",
        "-VV",
        "-v",
        "-m",
        "-i",
        "--ini",
        "--test",
        "--check",
        "--v8-options",
        "--copyright",
        "--help-all",
    )
)
_ENDS = (";", "+")
_READ_BY_SHELLS = re.compile(r"[;&|<>()\n$`]")
_GOES_OUT = frozenset(
    "archive go_module url repository remote host package js_package py_package asked own_host database image "
    "passed_on".split()
)
"""Values that other machines get to see."""
_NAMES_A_HOST = frozenset(("url", "asked", "image", "gh_repository", "gh_word"))
_NAME_CODE = frozenset(("python_code", "node_code"))
_GIVE_CODE = _NAME_CODE | {"sed", "awk"}


class Reading:
    """One command being read; `hints` tell of words that can't be seen yet."""

    def __init__(self, program: Program, words: Sequence[Word], hints: Hints) -> None:
        self._program = program
        self._words = words
        self.hints = hints
        self._grammar = program.grammar
        self._at = 1
        self._only_operands = False
        self._behind: Option | None = None
        self._gives_code = False
        self._subcommand = "" if program.has_subcommands else None
        self._operands = 0
        self._unknown = Effect.RUNS if program.may_run else Effect.WRITES
        self.taken: list[tuple[str, int, Word | None]] = []
        """The options read so far: name, where, value."""
        self._edits: list[tuple[int, str]] = []
        self._files: list[Word] = []
        self.operands: list[int] = []
        """Where the operands stand, those that name the subcommand left out."""
        self.named: list[int] = []
        """Where an address or a package is named."""
        self.stopped_at: int | None = None
        """The word that is asked about whatever stands behind it, which wasn't read."""
        self.module_at: int | None = None
        """Where the name of a module stands, whose arguments the words behind it are."""

    def again(self, words: Sequence[Word]) -> Reading:
        """Return another reading by the same table, of other words."""
        return Reading(self._program, words, self.hints)

    def only_shows_itself(self) -> bool:
        """Whether all it is asked for is its help or version."""
        words = self._words
        return (len(words) == 2 and words[1].value in _HELP) or (len(words) == 1 and self._program.looks_bare)

    def dangers(self) -> Iterator[Danger]:
        """Yield what needs a rule of its own, or a question, in the words' order."""
        program, words = self._program, self._words
        yield from self._read_from_files()
        if program.is_harmless or program.check == "compiler" or self.only_shows_itself():
            return
        is_look = len(words) > 1 and words[1].value in program.looks
        if is_look and not program.has_grammar:
            yield from (
                self._not_known(at, each.text) for at, each in enumerate(words) if at > 1 and not _is_plain(each)
            )
        elif program.effect is not None and not is_look:
            yield Danger(1, program.effect, _does(program.effect))
        else:
            self._at = 2 if is_look else 1
            yield from self._by_grammar()

    def _read_from_files(self) -> Iterator[Danger]:
        """Yield `@file`, of which many programs read more words, and what some open as Perl does: `|command`."""
        for at, word in enumerate(self._words[1:] if not self._program.at_is_text else (), 1):
            if (word.value or word.prefix).startswith(("@", "|")) or (word.value or "").endswith("|"):
                yield self._not_known(at, word.text)

    def _by_grammar(self) -> Iterator[Danger]:
        bare, words = self._program.bare, self._words
        while self._at < len(words):
            yield from self._word(words[self._at])
        yield from self._edited()
        is_told = self._operands or self._subcommand or self._gives_code or self.module_at
        if bare is not None and not is_told and not any(word.value in _LOOKS for word in words[1:]):
            yield Danger(len(words), bare, told("reads commands from standard input"))

    def _edited(self) -> Iterator[Danger]:
        """Yield options that change the files given in place, unless the mode lets these be edited."""
        around = self.hints.around
        files = [each for each in self._files if each is not DATA]
        if len(files) < len(self._files):
            files += self.hints.listed or [DATA]
        is_fine = around.may_edit and bool(files) and not any(written(each, around) for each in files)
        for at, name in self._edits if not is_fine else ():
            yield Danger(at, Effect.WRITES, told("{option} {reason}", option=name, reason=_does(Effect.WRITES)))

    def _word(self, word: Word) -> Iterator[Danger]:
        at, value = self._at, word.value
        self._at += 1
        known = word.prefix if value is None else value
        if self._behind is not None and self._behind.kind == "handed":
            yield from self._handed_on(at, word)
        elif self._behind is not None:
            yield from self._taken(at, self._behind, word)
        elif self._only_operands:
            yield from self._operand(at, word)
        elif value == "--":
            self._only_operands = True
            self._behind = self._grammar.options.get("--")
        elif known.startswith("-") and (known != "-" or value is None):
            yield from self._option(at, word, known)
        elif self._program.plus is not None and known.startswith("+"):
            yield Danger(at, self._program.plus, _named(word, self._program.plus))
        else:
            if value is None and not self.hints.is_no_option(word):
                yield Danger(at, Effect.WRITES, self._may_be_option(word))
            yield from self._operand(at, word)

    def kind_of(self, option: str) -> str:
        """What the value of an option is; "" of a flag, or one that isn't known."""
        found = self._grammar.options.get(option)
        return found.kind if found is not None else ""

    def _handed_on(self, at: int, word: Word) -> Iterator[Danger]:
        """What a project's task is given."""
        if word.value is None and not self.hints.is_no_option(word):
            yield Danger(at, self._unknown, self._may_be_option(word))
        found = handed_on(word, self._words[at - 1], self.hints.around)
        if self._program.hands_to_shell and _READ_BY_SHELLS.search(word.text):
            found = Effect.RUNS, self._may_be_any(word)
        if found is not None:
            yield Danger(at, *found)

    def _unheard_of(self, at: int, word: Word, text: str) -> Iterator[Danger]:
        """An option that the table doesn't know: it is asked about, where it isn't the script's that is run."""
        if word.value is not None and self._grammar.operands[:1] == ["rest..."]:
            yield from self._handed_on(at, word)
        else:
            yield self._not_known(at, text)

    def _may_be_option(self, word: Word) -> str:
        return told("{word} may be an option of {name}", word=word.text[:30], name=self._words[0].text[:30])

    # options

    def _option(self, at: int, word: Word, text: str) -> Iterator[Danger]:
        """`text` is the word, or what it is known to begin with."""
        if word.may_split and not self._splits_harmlessly(word):
            yield Danger(at, self._unknown, self._may_be_option(word))
            return
        if self._program.style == "tar" and at == 1 and not text.startswith("--"):
            yield from self._cluster(at, word, text, in_turn=False)
        elif text.startswith("--") or self._program.style in ("single", "find", "camel"):
            yield from self._long(at, word, text)
        elif _NUMBER.fullmatch(text) and "-#" in self._grammar.options:
            return
        else:
            yield from self._cluster(at, word, text)

    def _splits_harmlessly(self, word: Word) -> bool:
        """Whether all that bash may split off it is known not to be an option: what the expansions give is."""
        rest = tuple(part for part in word.parts if part.kind is not PartKind.LITERAL)
        return not word.has_glob and all(self.hints.is_no_option(Word((part,), word.raw)) for part in rest)

    def _long(self, at: int, word: Word, text: str) -> Iterator[Danger]:
        name, equals, attached = text.partition("=")
        option = self._resolved(name)
        given_too_much = equals and option is not None and not option.takes and option.effect is None
        if option is None:
            yield from self._unheard_of(at, word, text)
        elif given_too_much or (word.value is None and not equals):
            yield self._not_known(at, text)
        elif option.name[-1] == "*" and word.value is not None:
            yield from self._taken(at, option, Word.literal(text[len(option.name) - 1 :]))
        elif equals:
            yield from self._taken(
                at, option, Word.literal(attached) if word.value is not None else _behind(word, len(name) + 1)
            )
        else:
            yield from self._takes_next(at, option)

    def _resolved(self, name: str) -> Option | None:
        options = self._grammar.options
        found = options.get(name)
        if found is None and self._program.style == "single":
            found = options.get(name[1:] if name.startswith("--") else f"-{name}")
        if found is None and self._program.style == "camel":
            found = next((each for known, each in options.items() if known.lower() == name.lower()), None)
        if found is None:
            found = next(
                (each for known, each in options.items() if known[-1] == "*" and name.startswith(known[:-1])), None
            )
        if found is not None or self._program.style != "gnu" or len(name) < 4:
            return found
        meant = [each for known, each in options.items() if known.startswith(name) and known.startswith("--")]
        # What an abbreviation that fits several would be is the program's to say: the worst of them counts.
        return max(meant, key=lambda each: (each.effect is not None, each.kind not in ("", "text")), default=None)

    def _cluster(self, at: int, word: Word, text: str, *, in_turn: bool = True) -> Iterator[Danger]:
        """A word of short options; where they aren't read `in_turn`, values follow as words of their own (old tar)."""
        whole = self._grammar.options.get(text.partition("=")[0]) if len(text) > 2 else None
        if whole is not None:  # `-pl`, `-ws`: a word of its own to this program
            yield from self._long(at, word, text)
            return
        for place, letter in enumerate(text[1:], 2):
            option = self._grammar.options.get(f"-{letter}")
            if option is None:
                yield from self._unheard_of(at, word, text)
                return
            if not option.takes or (not in_turn and option.takes == "?"):
                yield from self._taken(at, option, None)
                continue
            if not in_turn:
                yield from self._takes_next(at, option)
                continue
            if place < len(text) + 1 and (text[place:] or word.value is None):
                rest = Word.literal(text[place:]) if word.value is not None else _behind(word, place)
                yield from self._taken(at, option, rest)
            else:
                yield from self._takes_next(at, option)
            return
        if word.value is None:
            yield self._not_known(at, word.text)

    def _takes_next(self, at: int, option: Option) -> Iterator[Danger]:
        """The next word is the value, of an option that needs one; some program of a block may read an option there."""
        value = self._next(option) if option.takes == "=" else None
        if value is not None and (self._may_be_read_as_option(value) or self._may_be_an_operand(option, value)):
            yield self._not_known(at, value.text)
        yield from self._taken(at, option, value)

    def _may_be_read_as_option(self, value: Word) -> bool:
        """Whether a value of its own looks like an option: many that don't read as getopt does take it for one."""
        if self._program.style == "find":  # `-perm -u+x`
            return False
        if len(self._program.names) > 1:
            return re.match(r"-[^\d]", value.prefix) is not None
        return self._program.style in ("exact", "camel") and re.match(r"--?[A-Za-z]", value.prefix) is not None

    def _may_be_an_operand(self, option: Option, value: Word) -> bool:
        """Whether what a letter takes as its value may be a file elsewhere, to a program whose flag that letter is."""
        is_shared = len(self._program.names) > 1 and len(option.name) == 2 and option.kind in ("text", "word", "number")
        return is_shared and self._grammar.kind_of(self._operands) in ("inside", "own", "place", "tree") and (
            leads_outside(value) or "://" in value.text
        )  # fmt: skip

    def _next(self, option: Option) -> Word | None:
        """The next word, as the option's value; a command's words up to their end, for `find -exec`."""
        if self._at >= len(self._words):
            return None
        found = self._words[self._at]
        self._at += 1
        if option.kind == "command":
            while self._at < len(self._words) and self._words[self._at - 1].text not in _ENDS:
                self._at += 1
        return found

    @property
    def subcommand(self) -> str:
        """The subcommand found, both of its words if it has two."""
        return (self._subcommand or "").strip()

    def _taken(self, at: int, option: Option, value: Word | None) -> Iterator[Danger]:
        self.taken.append((option.name, at, value))
        if value is not None:
            self._goes_elsewhere(option.kind)
        if option.effect is Effect.EDITS:
            self._edits.append((at, option.name))
            found = self._wrong_with(option.kind, value) if value is not None else None
            if found is not None:
                yield Danger(at, *found)
            return
        if option.effect is not None:
            yield Danger(at, option.effect, told("{option} {reason}", option=option.name, reason=_does(option.effect)))
            return
        if value is None:
            return
        if value.value is None and value.may_split and not self._splits_harmlessly(value):
            yield Danger(at, self._unknown, self._may_be_option(value))
        found = self._wrong_with(option.kind, value)
        if found is not None:  # a rule that names an option names code by it, but no other value
            place = at if option.kind in _NAME_CODE else self.place_of(at, value)
            yield Danger(place, found[0], told("{option} {reason}", option=f"{option.name}:", reason=found[1]))

    def place_of(self, at: int, value: Word) -> int:
        """Where the value of the option at `at` stands: behind it, or in the same word."""
        return at + 1 if at + 1 < len(self._words) and self._words[at + 1] is value else at

    def _goes_elsewhere(self, kind: str) -> None:
        """Take note of a value that is code, or a module whose arguments the words behind it are."""
        if kind == "module":
            self.module_at = self._at - 1
            self._at = len(self._words)
        elif kind in ("sed", "awk"):
            self._operands = max(self._operands, 1)
        elif kind in _GIVE_CODE:
            self._only_operands = kind == "python_code"
            self._gives_code = True

    def _wrong_with(self, kind: str, value: Word) -> Finding | None:
        if kind == "config":
            return check_config(value, self._program.names)
        if value.value is None and kind in PLACES:
            return self._wrong_with_place(kind, value)
        is_here = kind == "url" and goes_to_this_machine(value)
        if kind in _GOES_OUT and not is_here and self.hints.holds_output(value):
            return Effect.REACHES, told("it sends what a command prints")
        if kind in _NAMES_A_HOST and value.value is None:
            return self._wrong_with_spelled(kind, value)
        if kind in ("npm_script", "database") and value.value is None:
            spelled = self.hints.places(value)
            found = (check_value(kind, each) for each in spelled or (value,))
            return next(filter(None, found), None)
        if kind == "go_flags" and value.value is None:
            value = self._with_words(value)
        return check_value(kind, value, self.hints.around)

    def _wrong_with_spelled(self, kind: str, value: Word) -> Finding | None:
        """The value by what the text gives its variables: `h=...; curl http://$h/`."""
        spelled = self.hints.spellings(value)
        found = [check_value(kind, Word.literal(text), self.hints.around) for text in spelled or ()]
        if spelled is None:
            found.append(check_value(kind, value, self.hints.around) or (Effect.REACHES, self._may_be_any(value)))
        return next(filter(None, found), None)

    def _wrong_with_place(self, kind: str, value: Word) -> Finding | None:
        """A place that bash puts together, by all that it may be."""
        if kind == "tree" and value is DATA and (given := self.hints.from_the_start().places(value)):
            return next(filter(None, map(check_found, given)), None)
        found = check_value(kind, value, self.hints.around)
        meant = self.hints.places(value) if found is None else []
        if meant is None:
            is_known = kind in ONLY_READ and (value.prefix or self.hints.is_no_option(value))
            return None if is_known else (self._unknown, self._may_be_any(value))
        return found or next(filter(None, (check_value(kind, each, self.hints.around) for each in meant)), None)

    @staticmethod
    def _may_be_any(value: Word) -> str:
        return told("{word} isn't a value known here", word=value.text[:40])

    def _with_words(self, value: Word) -> Word:
        """The value with a word for each substitution that prints one, as `$(git describe --tags)` does."""
        parts = [
            part
            if part.kind is not PartKind.COMMAND or not self.hints.is_no_option(Word((part,), value.raw))
            else Part(PartKind.LITERAL, "x", quoted=True)
            for part in value.parts
        ]
        return Word(tuple(parts), value.raw)

    def _not_known(self, at: int, text: str) -> Danger:
        return Danger(
            at, self._unknown, told("{option} isn't an option known here", option=text.partition("=")[0][:30])
        )

    # operands

    def _operand(self, at: int, word: Word) -> Iterator[Danger]:
        if self._subcommand is not None and self._takes_subcommand(word):
            yield from self._subcommand_at(at, word)
            return
        kind = self._grammar.kind_of(self._operands)
        self._operands += 1
        self.operands.append(at)
        if kind in ("file", "inside"):
            self._files.append(word)
        yield from self._operand_of(kind, at, word)

    def _operand_of(self, kind: str, at: int, word: Word) -> Iterator[Danger]:
        if kind in ("handed", "rest"):
            yield from self._handed_on(at, word)
            return
        if kind in ("command", "script", "started", "go_run", "format"):  # what stands behind it is its own
            self._only_operands = True
            if kind == "script" and self._gives_code:
                kind = "any"
        if kind.startswith("!"):
            effect = Effect.RUNS if kind == "!run" else Effect.REACHES if kind == "!reach" else Effect.WRITES
            yield Danger(at, effect, _named(word, effect))
            return
        if kind == "url" or kind.endswith("_package") or kind == "plain_name":
            self.named.append(at)
        is_no_code = kind == "script" and is_data(word.text)  # which anything may have been written to
        found = (Effect.RUNS, no_known_value(word)) if is_no_code else self._wrong_with(kind, word)
        if found is not None:
            yield Danger(at, *found)

    def _takes_subcommand(self, word: Word) -> bool:
        if self._subcommand == "":
            return True
        return (
            not self._operands and " " not in (self._subcommand or "") and self._program.parents(self._subcommand or "")
        )

    def _subcommand_at(self, at: int, word: Word) -> Iterator[Danger]:
        value = word.value.lower() if word.value is not None and self._program.ignores_case else word.value
        name = f"{self._subcommand} {value}".strip()
        found = None if value is None else self._program.subcommand(name)
        if found is not None:
            self._subcommand, self._grammar = name, found
            if found.effect is not None and not self._goes_on(name):
                yield Danger(at, found.effect, _does(found.effect))
                self.stopped_at, self._at = at, len(self._words)
        elif value is not None and self._program.parents(name):
            self._subcommand = name
        elif self._subcommand and self._program.subcommand(self._subcommand) is not None:
            self._subcommand += " "  # complete: this is an operand of what stands before
            yield from self._operand(at, word)
        else:
            effect = Effect.REACHES if value else Effect.RUNS
            yield Danger(at, effect, told("{name} isn't a subcommand known here", name=name[:40]))
            self._subcommand = name

    def _goes_on(self, name: str) -> bool:
        """Whether the next operand makes another subcommand of this one: `new list`."""
        following = next((word.value for word in self._words[self._at :] if not word.text.startswith("-")), None)
        return following is not None and self._program.subcommand(f"{name} {following}") is not None


def _is_plain(word: Word) -> bool:
    """Whether a word that is only looked at is a name: no option, assignment or end of a command."""
    return word.value is not None and re.match(r"-|.*[;=|#]", word.value, re.DOTALL) is None


def _behind(word: Word, count: int) -> Word:
    """The word without its first characters, which are literal."""
    rest = list(word.parts)
    while rest and count >= len(rest[0].text) and rest[0].kind is PartKind.LITERAL:
        count -= len(rest.pop(0).text)
    if count and rest:
        rest[0] = Part(PartKind.LITERAL, rest[0].text[count:], rest[0].quoted)
    return Word(tuple(rest), word.raw)


def _named(word: Word, effect: Effect) -> str:
    return told("{word} {reason}", word=word.text[:30], reason=_does(effect))


def _does(effect: Effect) -> str:
    match effect:
        case Effect.RUNS:
            return told("runs a program or code that no rule names")
        case Effect.WRITES | Effect.EDITS:
            return told("writes or removes files")
        case Effect.REACHES:
            return told("reaches or changes what isn't the project's")
