r"""The gate of a command for Windows' shells: cmd.exe by its own grammar, PowerShell where it is plain enough.

The counterpart of `judge`, over the same lists, the same table of programs and the same verdicts. Names count in any
letter case and without `.exe`, `\` and `/` part folders alike, `erase` is `del`. A program of the current folder
can't stand in for one of the path's: the environment that commands get says so (`NoDefaultCurrentDirectoryInExePath`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from dogu.language import joined, told
from dogu.policy.commands.dangers import dangers_of, program_called
from dogu.policy.commands.effects import Danger, Effect, Hints
from dogu.policy.commands.elsewhere import Elsewhere
from dogu.policy.commands.inner import ShellText, Tool
from dogu.policy.commands.judge import judge_command
from dogu.policy.commands.lists import Lists, shortened
from dogu.policy.commands.places import written
from dogu.policy.commands.table import Program
from dogu.policy.commands.text_checks import may_hide
from dogu.policy.commands.variables import is_read_by_programs, is_shells_own
from dogu.policy.commands.wrappers import inner_commands
from dogu.policy.rule import Rule
from dogu.policy.verdict import Decision, JudgedCommand, Judgement, strictest
from dogu.workspace.shell_syntax import CommandKind, Part, PartKind, Redirect, Script, UnprovenError, Word
from dogu.workspace.shell_syntax.cmd_exe import BUILTINS, parse_cmd

_ENDING = re.compile(r"\.(?:exe|com|bat|cmd)\Z")
_SYSTEM_FOLDER = re.compile(r"c:\\windows\\(?:system32\\|syswow64\\|sysnative\\)?(?=[^\\]+\Z)")
_SAME = {"erase": "del", "rmdir": "rd", "mkdir": "md", "rename": "ren", "chdir": "cd", "pwsh": "powershell"}
_TABLE = "cmd:"
"""Before the names of programs that Windows has, or cmd itself, and other systems have otherwise."""
_NOTHING = frozenset(("nul", "nul:", "con", "con:", "\\\\.\\nul"))
_NEVER_IN_PATHS = re.compile(r'[<>"|\n]|://')
_DRIVE = re.compile(r"(^|=)([A-Za-z]):")
# A name of dots and blanks alone, of which Windows drops some: one dot is the folder itself, more may lead up.
_DOTS = re.compile(r"(?<![^/=])(?=\.*[ ])[. ]*\.[. ]*(?=/|\Z)")
_MANY_DOTS = re.compile(r"(?<![^/=])\.{3,}(?=/|\Z)")
_OTHER_MACHINE = re.compile(
    r"(?:^|[=,;+]|(?:^[-/]\w+|:)(?=\\))[\\/]{2,}(?:[?.][\\/]+(?:unc|globalroot)\b|[^\\/\s?*\"<>|]*[^\\/\s?*\"<>|.][\\/])"
    r"|^[\\/]\?\?[\\/]",
    re.IGNORECASE,
)
_OPENS_NOTHING = frozenset(("echo", "title", "prompt", "color", "set"))
# Programs that ask for their command line in the system's code page may be given a quote, a slash or a hyphen in the
# stead of these. Source: "WorstFit" (Orange Tsai, Splitline Huang, 2024), Microsoft's best-fit tables.
_BEST_FIT = re.compile(
    "[\uff02\u02ba\u030e\u2033]|[\u00a5\u20a9\uff3c\u2216]\\Z|\\.\\.[\u00a5\u20a9\uff3c\u2216\uff0f\u2044\u2215]|\\A[\uff0d\u00ad\u2010-\u2015\u2212]"
)
_STEERING = frozenset(
    "path pathext comspec prompt nodefaultcurrentdirectoryinexepath psmodulepath __compat_layer systemroot windir "
    "temp tmp userprofile appdata localappdata homepath homedrive cd errorlevel date time random".split()
)
_AROUND_NAMES = ' \t,;="'
_MOST_WRAPPERS = 20
_POWERSHELL_PLAIN = re.compile(r"[\w./\\:=+-]+(?:[ \t]+[\w./\\:=+*-]+|[ \t]+'[^'\n`]*')*", re.ASCII)
_POWERSHELL_WORD = re.compile(r"'([^']*)'|(\S+)")
# PowerShell's own words and names for its cmdlets, which stand before programs of that name.
_POWERSHELL_OWN = frozenset(
    "cat cd chdir clear cls copy cp curl del diff dir echo erase fc for foreach function if kill ls man md mkdir mount "
    "move mv popd ps pushd pwd rd ren return rm rmdir sc set sleep sort start switch tee throw trap try type wget "
    "where while write".split()
)  # fmt: skip
_POWERSHELL_LOOKS = frozenset(
    "get-childitem get-content get-location get-item test-path resolve-path get-date get-process get-host "
    "select-string get-filehash write-output write-host".split()
)
# What excludes a cmdlet excludes its other names, and what cmd itself has by them. Source: Get-Alias of PowerShell 5.1.
_ALIASES: Mapping[str, str] = {
    "clear-content": "clc",
    "copy-item": "copy cp cpi",
    "get-childitem": "dir gci ls",
    "get-content": "cat gc type",
    "invoke-expression": "iex",
    "invoke-restmethod": "irm",
    "invoke-webrequest": "curl iwr wget",
    "move-item": "mi move mv",
    "new-item": "ni",
    "remove-item": "del rd ri rm",
    "rename-item": "ren rni",
    "set-content": "sc",
    "start-process": "saps start",
    "stop-process": "kill spps",
}


def judge_for_cmd(text: str, core: tuple[Rule, ...] | None, exclude: tuple[Rule, ...]) -> Judgement:
    """Judge a line for cmd.exe against the commands that alone may run (None: any) and those that may not."""
    unreadable = _unreadable(text)
    if unreadable is not None:
        return unreadable
    judge = _Judge(core, exclude)
    try:
        judge.script(parse_cmd(text))
    except (UnprovenError, RecursionError) as error:
        judge.give_up(told("what cmd.exe would run can't be determined: {error}", error=str(error)), text)
    if may_hide(text):
        judge.note(Decision.ASK, told("it holds control characters that could hide what it does"))
    return judge.judgement()


def judge_for_powershell(text: str, core: tuple[Rule, ...] | None, exclude: tuple[Rule, ...]) -> Judgement:
    """Judge a text for PowerShell, of which plain words alone are known: a program with arguments, a cmdlet that looks.

    All else is asked about, under a list of allowed commands refused.
    """
    unreadable = _unreadable(text)
    if unreadable is not None:
        return unreadable
    judge = _Judge(core, exclude)
    words = [Word.literal(each[1] or each[2]) for each in _POWERSHELL_WORD.finditer(text)]
    name = words[0].text.lower() if words else ""
    is_plain = _POWERSHELL_PLAIN.fullmatch(text.strip()) is not None
    is_program = program_called(program_for_windows(name) or "") is not None and name not in _POWERSHELL_OWN
    is_split = any(re.match(r"-[^\s]*[.:]", word.text) for word in words[1:])  # `-a.b` reaches a program as two words
    if not is_plain or is_split or not (is_program or name in _POWERSHELL_LOOKS):
        judge.give_up(told("what PowerShell would run can't be determined"), text)
    else:
        judge.command(words)
    return judge.judgement()


def _unreadable(text: str) -> Judgement | None:
    if not text.strip():
        return Judgement(Decision.DENY, told("the command is empty"), is_unreadable=True)
    if re.search("[\ud800-\udfff\x00]", text):
        reason = told("the command holds a character that no command line can")
        return Judgement(Decision.DENY, reason, is_unreadable=True)
    return None


class _Judge:
    """Collects what is thought of each command of one line."""

    def __init__(self, core: tuple[Rule, ...] | None, exclude: tuple[Rule, ...]) -> None:
        self._core = Lists(None if core is None else tuple(map(_for_windows, core)), ())
        self._exclude = tuple(named for rule in exclude for named in _with_aliases(_folded(_for_windows(rule))))
        self._restricts = core is not None or bool(exclude)
        self._commands: list[JudgedCommand] = []
        self._notes: list[tuple[Decision, str]] = []
        self._has_moved = False
        self._wrappers = 0

    def give_up(self, reason: str, text: str) -> None:
        """Take note that it can't be known what the text runs; naming what is excluded is enough to refuse it."""
        named = _named(text, self._exclude)
        if named is not None:
            self.note(Decision.DENY, told("it names what {rule} excludes", rule=named.text))
        self.note(self._core.unknown, reason)

    def note(self, decision: Decision, reason: str) -> None:
        """Take note of what belongs to the text as a whole."""
        self._notes.append((decision, reason))

    def judgement(self) -> Judgement:
        """Return what is thought of all of it."""
        gate = strictest(*(each.verdict for each in self._commands), *(decision for decision, _ in self._notes))
        if gate is Decision.ALLOW:
            return Judgement(gate, told("every command in it is allowed"), self._commands)
        reasons = [reason for decision, reason in self._notes if decision is gate]
        reasons += [
            told("{command}: {reason}", command=shortened(" ".join(each.words)), reason=each.reason)
            for each in self._commands
            if each.verdict is gate
        ]
        return Judgement(gate, joined("; ", dict.fromkeys(reasons[:3])), self._commands)

    def script(self, script: Script) -> None:
        """Judge the commands of a line, and of the lines that they hold."""
        for command in script.commands:
            self._redirects(command.redirects)
            self._machines([each.target for each in command.redirects])
            for word in command.words:
                for part in word.expansions():
                    if part.script is not None:
                        self.script(part.script)
            if command.kind is CommandKind.SIMPLE:
                self.command(command.words)
            else:
                self._machines(command.words)

    def _machines(self, words: Sequence[Word]) -> None:
        """To look for a path of another machine is enough to tell it who the user is."""
        found = next((word for word in words if _OTHER_MACHINE.search(word.text)), None)
        if found is not None and self._restricts:
            self.note(Decision.ASK, told("{path} is on another machine", path=found.text[:40]))

    def _redirects(self, redirects: Sequence[Redirect]) -> None:
        if self._core.core is None:
            return
        for redirect in redirects:
            target = redirect.target
            is_nothing = target.value is not None and target.value.lower() in _NOTHING
            if redirect.operator in (">&", "<&", "<") or is_nothing:
                continue
            if not (self._core.names_any("tee") and written(_as_elsewhere(target)) is None):
                self.note(Decision.ASK, told("it writes to {target}", target=target.text))

    def command(self, words: Sequence[Word]) -> None:
        """Judge one command by its words, then what it would run besides itself."""
        name = program_for_windows(words[0].value) if words else None
        if name is None or words[0].value is None:
            if words:
                self._add(words, self._core.unknown, told("the name of the program is computed"))
            return
        called = [Word.literal(name), *words[1:]]
        verdict, reason, rule = self._by_lists(name, called)
        bare = name.rpartition("\\")[2]
        if bare not in _OPENS_NOTHING:
            self._machines(words)
        elsewhere = [Word.literal(bare), *_like_elsewhere(bare, called[1:])]
        if verdict is Decision.ALLOW and self._restricts:
            dangers = (*_misread(bare, elsewhere), *self._dangers(bare, elsewhere, rule))
            found = (each for each in dangers if self._core.leave_open(each, rule))
            danger = min(found, key=lambda each: each.index, default=None)
            if danger is not None:
                verdict, reason = Decision.ASK, danger.reason
        self._add(words, verdict, reason, rule)
        if bare not in BUILTINS and not _is_windows_own(bare):
            self._inner(bare, elsewhere)

    def _by_lists(self, name: str, called: Sequence[Word]) -> tuple[Decision, str, Rule | None]:
        if self._exclude:
            folded = [Word.literal(each.text.lower()) if each.value is not None else each for each in called]
            excluding = Lists(None, self._exclude)
            verdict, reason, rule = excluding.verdict_on(name.replace("\\", "/"), folded)
            if rule is not None:
                return verdict, reason, rule
        return self._core.verdict_on(name, called)

    def _dangers(self, name: str, words: Sequence[Word], rule: Rule | None) -> Iterator[Danger]:
        if name == "cd" and len(words) == 1:  # says where it is
            return
        if name[1:] == ":":
            yield Danger(1, Effect.REACHES, told("it leaves the workspace"))
        self._has_moved = self._has_moved or name in ("cd", "pushd") or name[1:] == ":"
        if name == "git" and self._has_moved and self._core.core is not None and len(words) > 1:
            yield Danger(1, Effect.RUNS, told("another folder may hold a repository whose configuration runs programs"))
        if name == "cmd":  # what is behind `/c` is judged by itself; without it, standard input is read
            if not any(part.script is not None for word in words for part in word.parts):
                yield Danger(1, Effect.RUNS, told("reads commands from standard input"))
            return
        if name == "set":
            yield from _setting(words)
        covered = len(rule.words) if rule is not None and rule.words is not None else 1
        in_table = f"{_TABLE}{name}" if _is_windows_own(name) else name
        if in_table == name in BUILTINS:
            yield Danger(1, Effect.RUNS, told("it isn't known what {name} does", name=name))
        yield from dangers_of(in_table, words, Hints(_is_no_option, _holds_output), covered)

    def _inner(self, name: str, words: Sequence[Word]) -> None:
        if self._wrappers >= _MOST_WRAPPERS:
            self.note(self._core.unknown, told("commands run commands too deep to follow"))
            return
        self._wrappers += 1
        for inner in inner_commands(name, words):
            match inner:
                case ShellText():
                    self._text(name, inner)
                case Elsewhere():
                    self.note(
                        Decision.ASK if self._restricts else Decision.ALLOW,
                        told("what it would run elsewhere can't be known"),
                    )
                case Tool():
                    self._tool(inner.words)
                case _:
                    self.command(inner)
        self._wrappers -= 1

    def _tool(self, words: Sequence[Word]) -> None:
        """What a project's runner starts: refused when excluded; under a list of allowed commands a question."""
        if self._core.core is None:
            self.command(words)
        elif not self._is_listed(words):
            shown = shortened(" ".join(word.text for word in words))
            self.note(Decision.ASK, told("it runs {command}, which no rule allows", command=shown))

    def _is_listed(self, words: Sequence[Word]) -> bool:
        inner = _Judge(self._core.core, ())
        inner.command(words)
        return inner.judgement().gate is Decision.ALLOW

    def _text(self, name: str, inner: ShellText) -> None:
        """A text for bash, which Git for Windows brings."""
        if inner.value is None:
            if self._restricts:
                self.note(Decision.ASK, told("what {name} would run can't be known", name=name))
            return
        judged = judge_command(inner.value, self._core.core, self._exclude)
        self._commands.extend(judged.commands)
        self.note(judged.gate, judged.reason)

    def _add(self, words: Sequence[Word], verdict: Decision, reason: str, rule: Rule | None = None) -> None:
        shown = tuple(word.text for word in words) or ("",)
        self._commands.append(JudgedCommand(shown, verdict, reason, rule.text if rule else None))


def _misread(name: str, words: Sequence[Word]) -> Iterator[Danger]:
    """Words that a program may be given as others."""
    for index, word in enumerate(words):
        if index and name not in BUILTINS and _BEST_FIT.search(word.text):
            yield Danger(index, Effect.RUNS, told("{word} may reach the program as other words", word=word.text[:40]))


def _for_windows(rule: Rule) -> Rule:
    """The rule with its program's name as names are compared here."""
    if not rule.words:
        return rule
    return msgspec.structs.replace(rule, words=(program_for_windows(rule.words[0]) or rule.words[0], *rule.words[1:]))


def _folded(rule: Rule) -> Rule:
    return msgspec.structs.replace(rule, words=tuple(word.lower() for word in rule.words)) if rule.words else rule


def _with_aliases(rule: Rule) -> Iterator[Rule]:
    yield rule
    for alias in _ALIASES.get(rule.words[0], "").split() if rule.words else ():
        yield msgspec.structs.replace(rule, words=(alias, *(rule.words or ())[1:]))


def program_for_windows(value: str | None) -> str | None:
    r"""The name that a rule means: small letters, no `.exe`, `\` between folders, none of Windows' own."""
    if not value:
        return None
    name = value.lower().replace("/", "\\").rstrip(" ")
    name = _SYSTEM_FOLDER.sub("", name)
    bare = _ENDING.sub("", name)
    return _SAME.get(bare, bare)


def block_for_windows(name: str) -> Program | None:
    """What the table holds of a program, as Windows has it."""
    return program_called(f"{_TABLE}{name}") or program_called(name)


def _named(text: str, exclude: Sequence[Rule]) -> Rule | None:
    """The rule whose program the text names anywhere, in any letter case, whatever cmd.exe would make of it."""
    unescaped = re.sub(r'[\^"]', "", text).lower()
    names = {program_for_windows(word) for word in re.split(r"[^a-z0-9_.-]+", unescaped)}
    return next((rule for rule in exclude if rule.words and rule.words[0].rpartition("\\")[2] in names), None)


def _is_windows_own(name: str) -> bool:
    return program_called(f"{_TABLE}{name}") is not None


def _is_no_option(word: Word) -> bool:
    """Whether it begins with what can only be a folder of the user's."""
    first = word.parts[0] if word.parts else None
    return first is not None and first.kind is PartKind.VARIABLE and not first.text.startswith("%")


def _holds_output(word: Word) -> bool:
    return any(part.text.startswith("%") for part in word.expansions())


def _like_elsewhere(name: str, words: Sequence[Word]) -> list[Word]:
    r"""The words as the table knows them: paths with `/`, and, for Windows' own programs, options with `-`."""
    if not _is_windows_own(name):
        return [_as_elsewhere(word) for word in words]
    found: list[Word] = []
    for word in words:
        text = word.value
        if text is None or not re.match(r"/(?=[A-Za-z0-9?+-])", text):
            of_several = [Word.literal(each) for each in text.split("+") if each] if name == "copy" and text else [word]
            found += [_as_elsewhere(each, _MANY_DOTS) for each in of_several]
            continue
        # `/s/b` are two options, but in a value (`/d:1/2/03`)
        pieces = re.findall(r"/[^/:]*(?::.*)?", text)
        found += [_as_elsewhere(Word.literal(re.sub(r"^/(-?)([^:]*):?", _as_option, piece))) for piece in pieces]
    return found


def _as_option(match: re.Match[str]) -> str:
    return f"-{match[1]}{match[2].lower()}" + ("=" if match[0].endswith(":") else "")


def _as_elsewhere(word: Word, *also_up: re.Pattern[str]) -> Word:
    """A path as other systems write it: what leads elsewhere by its drive or `\\\\` begins with `/`.

    Whatever may be a path is taken for one; `also_up` are names that lead up besides.
    """
    parts = list(word.parts)
    first = parts[0] if parts else None
    if first is not None and first.kind is PartKind.VARIABLE and not first.text.startswith("%"):
        parts[0] = Part(PartKind.VARIABLE, "HOME", quoted=True)
    if word.value is not None and _NEVER_IN_PATHS.search(word.value):
        return word
    for at, part in enumerate(parts):
        if part.kind is PartKind.LITERAL:
            text = part.text.replace("\\", "/")
            text = _DRIVE.sub(r"\1/\2:/", text) if at == 0 else text
            for dots in (_DOTS, *also_up):
                text = dots.sub(lambda found: "." if found[0].count(".") == 1 else "..", text)
            parts[at] = Part(PartKind.LITERAL, text, part.quoted)
    return Word(tuple(parts), word.raw)


def _setting(words: Sequence[Word]) -> Iterator[Danger]:
    """A variable that is set: cmd reads `set NAME=VALUE` to the end of the line, `/a` any number of names."""
    text = " ".join(word.text for word in words[1:]).strip()
    option = re.match(r"-([ap])\s*", text)
    text = (text[option.end() :] if option else text).lstrip(_AROUND_NAMES)
    name, _, _ = text.partition("=")
    first = next((word for word in words[1:] if word.text != "-p"), None)
    is_known = first is None or first.value is not None or "=" in first.prefix
    if option is None and "=" not in text and is_known:
        return
    names = re.findall(r"[A-Za-z_]\w*", text) if option and option[1] == "a" else [name.strip(_AROUND_NAMES)]
    for each in names:
        steers = each.lower() in _STEERING or is_shells_own(each.upper()) or is_read_by_programs(each.upper())
        if steers or not is_known:
            yield Danger(1, Effect.RUNS, told("it sets {names}, which can change what runs", names=each))
