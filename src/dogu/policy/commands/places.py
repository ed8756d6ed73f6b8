"""Where a path leads, and whether it may be written to, read or run there: kinds of values that name a place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from dogu.language import told
from dogu.policy.commands.effects import NOWHERE, Effect, Surroundings
from dogu.policy.commands.patterns import is_a
from dogu.workspace.protected import may_be_protected, protected_reason
from dogu.workspace.shell_syntax import PartKind, Word

Finding = tuple[Effect, str]

_STREAMS = frozenset(("-", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"))
_TEMPORARY = re.compile(r"/(?:var/)?tmp(?:/(?!.*\.\.)|$)")
_PLACES_OF_VARIABLES = ("HOME", "OLDPWD", "TMPDIR")
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]+:/|.*://", re.DOTALL)
_REMOTE = re.compile(r"[^/:]+:.*|rsync://.*", re.DOTALL)


def no_known_value(word: Word) -> str:
    """Say that a value isn't one that the table knows."""
    return told("{word} isn't a value known here", word=word.text[:40])


def leads_outside(word: Word) -> bool:
    """Whether a path leads out of the folder it is read in, as far as its text tells."""
    text = word.value
    first = word.parts[0] if word.parts else None
    if first is not None and first.kind is PartKind.VARIABLE and first.text in _PLACES_OF_VARIABLES:
        return True
    if text is None and not word.has_tilde:  # a glob, or something computed: what it begins with counts
        text = word.text if word.is_plain else word.prefix
        return text.startswith("/") or ".." in text.split("/")
    return text is None or text.startswith(("/", "~")) or ".." in text.split("/")


def writes_to(word: Word, around: Surroundings, *, is_entry: bool = False) -> str:
    """Say why writing to a place needs a question, a file of the project's own perhaps; '' when it doesn't.

    A place is what its text says, and what that leads to by the links that are there. `is_entry`: what is written is
    the folder that the name stands in, so that a link of that name leads nowhere.
    """
    if leads_outside(word):
        is_known = word.value is not None and (word.value in _STREAMS or bool(_TEMPORARY.match(word.value)))
        return "" if is_known else told("{path} lies outside the workspace", path=word.text[:40])
    if protected_reason(word.text) is not None or _may_match_hidden(word.text):
        return told("{path} is where things that run later are kept", path=word.text[:40])
    leads_to = around.leads_to(_known_of(word), is_entry=is_entry)
    if leads_to is None:
        return told("{path} lies outside the workspace", path=word.text[:40])
    if protected_reason(leads_to) is not None:
        return told("{path} is where things that run later are kept", path=word.text[:40])
    return ""


def _known_of(word: Word) -> str:
    """The path that a word names, or the folder in which a pattern or what is computed begins."""
    if word.value is not None:
        return word.value
    known = re.split(r"[*?\[]", word.text, maxsplit=1)[0] if word.is_plain else word.prefix
    return known[: known.rfind("/") + 1] or "."


def holds_what_runs(folders: Sequence[Word] | None) -> bool:
    """Whether a folder that a text goes to is one whose files run later, or none that is known."""
    within = [Word.literal(f"{each.text}/x") for each in folders or () if each.text[:1] not in ("-", "/")]
    return folders is None or any(_folder(each, NOWHERE) for each in within)


def _may_match_hidden(path: str) -> bool:
    """Whether a pattern may match a hidden name that is protected: `.g*`, `.gi[t]/hooks`, `{.git,x}`.

    Quoted ones count: some programs expand them themselves.
    """
    if "{" in path and any(protected_reason(each) is not None for each in re.split(r"[{},]", path)):
        return True
    patterns = [part for part in path.split("/") if part[:1] == "." and re.search(r"[*?\[]", part)]
    return any(map(may_be_protected, patterns))


def written_from_here(word: Word, around: Surroundings, *, appends: bool) -> Finding | None:
    """The same as `typed` of a word that is read in the folder that the text may be in by now."""
    if around.folders is None:
        return Effect.WRITES, told("it writes to {target}", target=word.text[:40])
    start = around.at_the_start()
    return next(filter(None, (typed(each, start, appends=appends) for each in around.from_the_start(word))), None)


def written(word: Word, around: Surroundings = NOWHERE, *, appends: bool = False) -> Finding | None:
    """Say why a file that is written needs a question, whichever door it is written by; None when it doesn't.

    It may be a stream, data where a build leaves things, a report or log by its name, or data that isn't there yet
    (or is added to) and that no program looks for. Where the mode lets files be edited: any of the workspace.
    """
    if word.value is not None and word.value in _STREAMS:
        return None
    reason = writes_to(word, around)
    path = around.leads_to(word.value) if word.value is not None else None
    if not reason and (path is None or not _is_ours_to_write(path, around, appends=appends)):
        reason = told("it writes to {target}", target=word.text[:40])
    return (Effect.WRITES, reason) if reason else None


def _is_ours_to_write(path: str, around: Surroundings, *, appends: bool) -> bool:
    if around.may_edit:
        return True
    if is_a("installed", path):
        return False
    if (is_a("remade", path) or is_a("built", path)) and not is_code(path):
        return True
    return is_a("fresh", path) and (appends or _TEMPORARY.match(path) is not None or around.is_free(path))


def typed(word: Word, around: Surroundings = NOWHERE, *, appends: bool = False) -> Finding | None:
    """The same of a file that holds whatever the command is given: it may become a program by its name alone."""
    if not around.may_edit and is_a("program", word.value):
        return Effect.WRITES, told("it writes to {target}", target=word.text[:40])
    return written(word, around, appends=appends)


def is_code(path: str) -> bool:
    """Whether a file is code by its ending, or run by its name."""
    is_folder = is_a("built", path.rpartition("/")[2])  # `build`, which is another program's file as well
    return is_a("code", path) or (is_a("run_by_name", path) and not is_folder)


def is_data(path: str | None) -> bool:
    """Whether a file's name says that it is data, which may be written without a question."""
    return any(is_a(kind, path) for kind in ("remade", "fresh", "data")) and not is_code(path or "")


def _built(word: Word, around: Surroundings) -> Finding | None:
    path = around.leads_to(word.value) if word.value is not None else None
    is_known = is_a("binary", path) or (is_a("built", path) and not is_a("installed", path))
    return None if is_known and not writes_to(word, around) else written(word, around)


def _requirements(word: Word, around: Surroundings) -> Finding | None:
    return None if is_a("requirements", word.value) and not writes_to(word, around) else written(word, around)


def _venv(word: Word, around: Surroundings) -> Finding | None:
    """A folder for an environment: none that holds something else."""
    is_ours = word.value is not None and (is_a("environment", word.value) or around.is_free(word.value))
    if is_ours and not writes_to(word, around):
        return None
    return Effect.WRITES, told("it writes to {target}", target=word.text[:40])


def _unpacked(word: Word, around: Surroundings) -> Finding | None:
    """A folder that an archive is unpacked to: of its own, not the project's."""
    path = around.leads_to(word.value) if word.value is not None else None
    is_known = path is not None and not writes_to(word, around) and not is_a("installed", path)
    if path is not None and is_known and not around.has_links_out(path):
        if is_a("unpacked", path) or is_a("built", f"{path}/"):
            return None
        if path.strip("./") and around.is_known_to_be_free(path):
            return None
    return Effect.WRITES, told("it writes to {target}", target=word.text[:40])


def _place(word: Word, around: Surroundings, *, is_entry: bool = False) -> Finding | None:
    reason = writes_to(word, around, is_entry=is_entry)
    if not reason and word.prefix.startswith("-"):
        reason = told("{word} isn't a value known here", word=word.text[:40])
    return (Effect.WRITES, reason) if reason else None


def _folder(word: Word, around: Surroundings) -> Finding | None:
    """A place in the workspace: temporary folders are others' too."""
    if leads_outside(word) or (word.value is None and not word.prefix and not word.is_plain):
        return Effect.WRITES, told("{path} lies outside the workspace", path=word.text[:40])
    return _place(word, around)


def may_hold_what_runs(path: str) -> bool:
    """Whether a tree of files that becomes the folder of this name may be run, or steer what runs, by its name."""
    return is_a("hidden_folder", path) and not is_a("leftover", path.rstrip("/").rpartition("/")[2])


def _checkout(word: Word, around: Surroundings) -> Finding | None:
    """A folder for a tree of files that others made."""
    if may_hold_what_runs(word.text) or is_a("installed", word.text):
        return Effect.WRITES, told("{path} is where things that run later are kept", path=word.text[:40])
    return _folder(word, around)


def check_inside(word: Word) -> Finding | None:
    """Say why a file that is read, and perhaps run, isn't the workspace's."""
    if word.text[:1] == "@":  # many programs read their arguments from such a file
        return Effect.RUNS, told("runs a program or code that no rule names")
    if (not leads_outside(word) and not _ADDRESS.match(word.text)) or word.value in _STREAMS:
        return None
    return Effect.RUNS, told("{path} lies outside the workspace", path=word.text[:40])


def check_own(word: Word) -> Finding | None:
    """Say why a word isn't a name, or a path in the workspace: it is a file elsewhere, or an address."""
    is_known = word.value is not None and (word.value in _STREAMS or bool(_TEMPORARY.match(word.value)))
    if is_known or not (leads_outside(word) or "://" in word.text or _ADDRESS.match(word.text)):
        return None
    return Effect.REACHES, told("{path} lies outside the workspace", path=word.text[:40])


def _other_project(word: Word) -> Finding | None:
    """A part of the workspace whose tasks or tests are meant: a folder, `@scope/name`, `[REF]`: what changed since."""
    if "[-" in word.text:  # a revision that git would read as an option
        return Effect.RUNS, no_known_value(word)
    if leads_outside(word) or "://" in word.text:
        return Effect.RUNS, told("{path} lies outside the workspace", path=word.text[:40])
    return None


def _compressed(word: Word, around: Surroundings) -> Finding | None:
    """A file that is packed or unpacked, beside itself: under no name for which tools run it."""
    name = (word.value or "").rpartition(".")[0]
    if not around.may_edit and (protected_reason(name) is not None or is_a("run_by_name", name)):
        return Effect.WRITES, told("it writes to {target}", target=name[:40])
    return _place(word, around)


def _tree(word: Word, around: Surroundings) -> Finding | None:
    if not word.is_plain and not word.prefix.strip("/."):
        return Effect.WRITES, told("{path} is more than a file of the project", path=word.text[:40])
    if is_a("whole_tree", word.text):
        return Effect.WRITES, told("{path} is more than a file of the project", path=word.text[:40])
    return _place(word, around, is_entry=not word.text.endswith("/"))


def check_found(place: Word, around: Surroundings = NOWHERE) -> Finding | None:
    """Say what is wrong with removing what `find` finds: from all of the workspace only what is made anew."""
    folder, _, name = place.text.rpartition("/")
    if not folder.strip("./") and not is_a("leftover", name):
        return Effect.WRITES, told("{path} is more than a file of the project", path=place.text[:40])
    return _tree(place, around)


def _source(word: Word) -> Finding | None:
    return None if word.value == ".." else check_inside(word)


def _fetched(word: Word, around: Surroundings) -> Finding | None:
    """A file that curl writes, in whose name `#1` stands for a part of the address."""
    if "#" in word.text:
        return Effect.WRITES, told("it writes to {target}", target=word.text[:40])
    return typed(word, around)


def _local(word: Word) -> Finding | None:
    if _REMOTE.fullmatch(word.text):
        return Effect.REACHES, told("copies files to or from another machine")
    return None


def _archive(word: Word) -> Finding | None:
    if ":" in word.text:
        return Effect.REACHES, told("{path} lies outside the workspace", path=word.text[:40])
    return None


CHECKS: dict[str, Callable[[Word], Finding | None]] = {
    "source": _source,
    "inside": check_inside,
    "own": check_own,
    "go_module": check_own,
    "other_project": _other_project,
    "local": _local,
    "archive": _archive,
}

PLACED: dict[str, Callable[[Word, Surroundings], Finding | None]] = {
    "place": _place,
    "folder": _folder,
    "checkout": _checkout,
    "tree": _tree,
    "product": written,
    "typed": typed,
    "built": _built,
    "fetched": _fetched,
    "requirements": _requirements,
    "unpacked": _unpacked,
    "compressed": _compressed,
    "venv": _venv,
}
"""Kinds that depend on where the command is run."""
