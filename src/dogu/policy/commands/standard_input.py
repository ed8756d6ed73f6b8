"""The text that a shell reads from its standard input, where that can be known."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dogu.language import told
from dogu.policy.commands.dangers import program_called
from dogu.policy.commands.effects import Surroundings
from dogu.policy.commands.places import is_data, written_from_here
from dogu.policy.commands.values import check_value
from dogu.policy.commands.variables import Known, found_word, printer, prints_a_word, unfiltered
from dogu.workspace.shell_syntax import Command, Word


def text_on_standard_input(words: Sequence[Word], command: Command) -> str | None:
    """Return what the shell that `words` start would read; None when that can't be known. `command` holds them."""
    texts = [each.target.value for each in command.redirects if each.operator in ("<<", "<<<")]
    if command.piped_from is not None:
        texts.append(_printed(command.piped_from))
    takes_input = all((word.value or "") in ("-s", "-e", "-x", "-u", "-") for word in words[1:])
    return texts[0] if takes_input and len(texts) == 1 else None


def runs_own_script(words: Sequence[Word]) -> bool:
    """Whether a shell is given a file of the project, and no option but such as stop it at errors or show its lines."""
    operands = [word for word in words[1:] if not re.fullmatch(r"-[nuexv]+", word.text)]
    if not operands or operands[0].text.startswith(("-", "+")) or is_data(operands[0].text):
        return False
    return check_value("script", operands[0]) is None


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


def gives_tracked_files(word: Word, known: Known) -> bool:
    """Whether a word is one variable, or a substitution, that gives names of files that the project keeps."""
    scripts = known.printed(word)
    return bool(scripts) and all(names_tracked_files(printer(each)) for each in scripts)


def _patched(words: Sequence[Word], command: Command, around: Surroundings) -> str:
    """Say which file a patch that is typed changes which may not be written; '' when none."""
    texts = [word.text for word in words]
    text = _typed(command)
    if text is None or not {"apply", "am"} & set(texts[1:4]) or {"--check", "--stat", "--numstat"} & set(texts):
        return ""
    paths = re.findall(r"^(?:\+\+\+|---|rename to|copy to|rename from) (?:[a-z]/)?([^\t\n]+)", text, re.MULTILINE)
    is_moved = any(re.match(r"-p|--dir|--unsafe", each) for each in texts)
    if not paths or is_moved:
        return told("writes or removes files")
    written = (written_from_here(Word.literal(path), around, appends=False) for path in paths if path != "/dev/null")
    return next((found[1] for found in written if found is not None), "")


def _typed(command: Command) -> str | None:
    """The text on standard input, where it stands in the command; None where it comes from elsewhere."""
    texts = [each.target.text for each in command.redirects if each.operator in ("<<", "<<<")]
    if command.piped_from is not None and not texts:
        return _printed(command.piped_from)
    return texts[-1] if texts else None


def input_reason(name: str, words: Sequence[Word], command: Command, around: Surroundings) -> str:
    """Say why what a program is given on its standard input needs a question; '' when it doesn't."""
    if name == "git":
        return _patched(words, command, around)
    block = program_called(name)
    if block is None or not (block.takes_input or block.sends_input):
        return ""
    given = [each for each in command.redirects if each.operator in ("<", "<<", "<<<", "<&", "<>")]
    if block.takes_input:
        takes = command.piped_from is not None or any(each.target.value != "/dev/null" for each in given)
        return told("reads commands from standard input") if takes else ""
    sends = any(re.fullmatch(r"(?:-[A-Za-z]|--[\w-]+=)?-", word.text) for word in words[1:])
    is_file = any(each.operator not in ("<<", "<<<") for each in given)
    is_output = command.piped_from is not None and _printed(command.piped_from) is None
    return told("it sends what a command prints") if sends and (is_file or is_output) else ""


def feeds_plain_words(command: Command, words: Sequence[Word]) -> bool:
    """Whether what xargs reads are words none of which begins with a hyphen."""
    source = command.piped_from
    if prints_a_word(source) or prints_a_word(unfiltered(source)):
        return True
    texts = [word.value or "" for word in source.words] if source is not None else []
    if _names_refs(source):
        return True
    prints_more = any(text.startswith(_PRINTS_MORE) for text in texts)
    begins_plainly = len(texts) > 1 and texts[1][:1] not in ("-", "")
    return _reads_apart(words) and texts[:1] == ["find"] and "-print0" in texts and begins_plainly and not prints_more


@dataclass(frozen=True, slots=True)
class Data:
    """What is known of the words that `find` and `xargs` hand on.

    `is_plain`: none begins with a hyphen. `is_tracked`: they are names of files that the project keeps. `places` are
    what they may name, `listed` the very files; None where that can't be said.
    """

    is_plain: bool = False
    is_tracked: bool = False
    places: list[Word] | None = None
    listed: list[Word] | None = None

    @staticmethod
    def of_find(words: Sequence[Word], known: Known) -> Data:
        """What find hands on to its own command: its words begin as the places do that it is told to look in."""
        is_listed = any(word.value == "-files0-from" for word in words)  # a file says what they are
        is_plain = not is_listed and (len(words) < 2 or bool(words[1].prefix))
        return Data(is_plain, places=None if is_listed else found_by(words, known))

    @staticmethod
    def of_xargs(command: Command, words: Sequence[Word], known: Known, around: Surroundings) -> Data:
        """What xargs reads; `words` are its own, wherever in the command they stand."""
        if any(each.operator.startswith("<") for each in command.redirects):  # that is read, and not the pipe
            return Data()
        is_plain, is_tracked = feeds_plain_words(command, words), names_tracked_files(command.piped_from)
        source = command.piped_from.words if command.piped_from is not None else []
        if is_plain and source and source[0].value == "find":
            places = found_by(source, known)
        else:
            places = [Word.literal("x")] if is_plain or is_tracked else None
        return Data(is_plain, is_tracked, places, _listed_to_edit(command, words, around))


def _listed_to_edit(command: Command, words: Sequence[Word], around: Surroundings) -> list[Word] | None:
    """The files among which are those that xargs hands on to sed, where files may be edited; None for anything else."""
    run = next((word.value for word in words[1:] if not _OF_XARGS.fullmatch(word.text)), "")
    if not around.may_edit or run not in ("sed", "gsed"):
        return None
    found = [around.files_below(folder) for folder in _searched(command.piped_from)]
    names = [name for each in found for name in each or ()]
    is_known = bool(names) and None not in found and all(map(_ONE_WORD.fullmatch, names))
    return [Word.literal(name) for name in names] if is_known else None


_OF_XARGS = re.compile(r"-[0rtx]+|-[nPL]\d*|\d+|-I.*|\{\}|--(?:null|no-run-if-empty|max-(?:args|procs)=\d+)")
_ONE_WORD = re.compile(r"(?!-)[\w@%+=:,./()\[\]-]+")
_SEARCHES = {
    "rg": re.compile(
        r"-[lnwFiSsv0]+|--(?:files-with-matches|fixed-strings|ignore-case|null)|-[tg].*|--(?:type|glob)(?:=.*)?"
    ),
    "grep": re.compile(r"-[rlnwFiEZ]+|--(?:include|exclude|exclude-dir)=.*"),
    "find": re.compile(r"-(?:type|i?name|print0?|not|maxdepth|mindepth|mtime|mmin|size)"),
}
"""The options with which a search only names files, below the folders that it is told."""
_TAKES = frozenset("-t -g --type --glob -type -name -iname -maxdepth -mindepth -mtime -mmin -size".split())


def _searched(source: Command | None) -> list[str]:
    """The folders in which a search looks for the files whose names it prints; none where it isn't such a search."""
    texts = [word.value or "" for word in source.words] if source is not None and not source.assignments else [""]
    known = _SEARCHES.get(texts[0])
    if known is None or source is None or not all(each.target.value == "/dev/null" for each in source.redirects):
        return []
    given = [text for before, text in itertools.pairwise(texts) if before not in _TAKES]
    options = [text for text in given if text.startswith("-")]
    operands = [text for text in given if not text.startswith("-")]
    letters = "".join(each for each in options if not each.startswith("--"))
    if "" in texts or not all(map(known.fullmatch, options)):
        return []
    if texts[0] == "find":
        return operands
    is_list = "l" in letters or "--files-with-matches" in options
    return operands[1:] if is_list and (texts[0] == "rg" or "r" in letters) else []


def found_by(words: Sequence[Word], known: Known) -> list[Word] | None:
    """What find's words may name: a pattern for each place that it looks in; None where one can't be known."""
    behind = list(itertools.dropwhile(lambda word: re.fullmatch(r"-[HLP]|-O\d|-D.*", word.text), words[1:]))
    starts = list(itertools.takewhile(lambda word: not re.match(r"[-(!]", word.text), behind))
    found = [known.places(each) for each in starts] or [[Word.literal(".")]]
    if None in found:
        return None
    names = _named([word.text for word in behind[len(starts) :]])
    return [found_word(f"{each.text}/{name}") for places in found for each in places or () for name in names]


# An expression of find as words that a NUL ends: what only narrows, the names, what is done. No `-o` but between names
# in parentheses, and behind `-prune`.
_WORD = r"[^\0]*\0"
_TEST = rf"-(?:i?path|i?wholename|type|(?:max|min)depth|[acm](?:time|min)|size|newer|perm|user|group)\0{_WORD}"
_NARROWS = rf"(?:(?:!|-not)\0(?:-i?name\0{_WORD}|{_TEST})|{_TEST}|-(?:empty|prune|print0?|depth|xdev|mount)\0)"
_LEFT_OUT = rf"(?:{_NARROWS}|-i?name\0{_WORD}|\(\0-(?:name|path)\0{_WORD}(?:-o\0-(?:name|path)\0{_WORD})*\)\0)"
_DONE = rf"(?:-delete\0|-(?:exec|ok)(?:dir)?\0(?:(?![;+]\0){_WORD})*[;+]\0)"
_NAMED = re.compile(
    rf"(?:{_LEFT_OUT}*-prune\0-o\0)?{_NARROWS}*(-i?name\0{_WORD}|\(\0-i?name\0{_WORD}(?:-o\0-i?name\0{_WORD})*\)\0)"
    rf"(?:{_NARROWS}|-i?name\0{_WORD}|{_DONE})*"
)


def _named(texts: list[str]) -> list[str]:
    """The patterns of names that find's expression lets through to what it does; `*` where it isn't that simple."""
    match = _NAMED.fullmatch("".join(f"{text}\0" for text in texts))
    return re.findall(r"-i?name\0([^\0]*)", match[1]) if match is not None else ["*"]


_PRINTS_MORE = ("-printf", "-fprint", "-exec", "-ok", "-ls", "-fls", "-files0-from")


def _reads_apart(words: Sequence[Word]) -> bool:
    """Whether xargs itself, and not the command that it runs, is told that its words end at a NUL, and nothing else."""
    is_apart = takes = False
    for word in words[1:]:
        if takes:
            takes = False
        elif not word.text.startswith("-"):
            break
        elif re.match(r"-[A-Za-z0]*d|--d|-[A-Za-z0]*[aE]|--arg|--eof", word.text):
            return False
        is_apart = is_apart or re.fullmatch(r"-[rtx]*0[rtx]*(?:[nPL]\d+|I.*)?|--null", word.text) is not None
        takes = takes or re.fullmatch(r"-[rtx0]*[nPLIs]", word.text) is not None
    return is_apart


def names_tracked_files(source: Command | None) -> bool:
    """Whether what is printed are names of files that the project keeps, some left out perhaps."""
    source = unfiltered(source)
    texts = [word.value or "" for word in source.words] if source is not None else []
    listed = texts[:2] == ["git", "ls-files"] or (texts[:2] == ["git", "diff"] and "--name-only" in texts)
    return listed and all(_NAMES_ONLY.fullmatch(text) for text in texts[2:])


_NAMES_ONLY = re.compile(
    r"[^-].*|--|-[zmcdt]+|--(?:name-only|cached|staged|modified|deleted|deduplicate|merge-base|relative|no-renames|no-color|exclude-standard"
    r"|diff-filter=\w+|exclude=.*|ignore-submodules(?:=\w+)?)",
    re.DOTALL,
)
_REFS_ONLY = re.compile(
    r"[^-].*|--|-[alr]+|--(?:all|remotes|list|no-color|ignore-case|(?:no-)?merged|(?:no-)?contains|points-at|sort)(?:=.*)?",
    re.DOTALL,
)


def _names_refs(source: Command | None) -> bool:
    """Whether what is printed are names of branches or tags, which git lets none begin with a hyphen."""
    source = unfiltered(source)
    texts = [word.value or "" for word in source.words] if source is not None and not source.assignments else []
    return texts[:2] in (["git", "branch"], ["git", "tag"]) and all(_REFS_ONLY.fullmatch(each) for each in texts[2:])
