"""What an option's value or an operand is: the kinds that the table of programs names, and what each may be.

A kind that isn't listed here (`text`, `pattern`, `ref`, `number`, `url` of a reader...) may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from dogu.language import told
from dogu.policy.commands.addresses import is_web_address
from dogu.policy.commands.effects import NOWHERE, Effect, Surroundings
from dogu.policy.commands.patterns import is_a, kind, pattern
from dogu.policy.commands.scripts import is_harmless_awk, is_harmless_sed, without_arithmetic
from dogu.policy.commands.variables import name_reason
from dogu.workspace.protected import may_be_protected, protected_reason, secret_reason
from dogu.workspace.shell_syntax import PartKind, Word

Finding = tuple[Effect, str]

_STREAMS = frozenset(("-", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"))
_TEMPORARY = re.compile(r"/(?:var/)?tmp(?:/(?!.*\.\.)|$)")
_STANDARD_INPUT = re.compile(r"-|/dev/(?:stdin|fd/\d+)|/proc/self/fd/\d+")
_REMOTE_HELPER = re.compile(r"(?:-[^=]*=)?\w[\w+.-]*::")
_REMOTE = re.compile(r"[^/:]+:.*|rsync://.*", re.DOTALL)
_MAKE_VARIABLE = re.compile(r"([A-Za-z_]\w*)(?::{0,2}|\?)=(.*)", re.DOTALL)
_NUMBER = re.compile(
    r"[-+~:@]?\.?\d[\w.:,%+*-]*|auto|max|min|all|logical|none|unlimited|inf(?:inity)?|true|false|yes|no|default|half|on|off|[a-zA-Z]?"
)
_NO_TASK = re.compile(r"[=@()'\"`$;&|<>]|://")
_SHARED_CONFIGS = frozenset(("package.json", "pyproject.toml", "setup.cfg", "tox.ini"))
_PLACES_OF_VARIABLES = ("HOME", "OLDPWD", "TMPDIR")


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


def writes_to(word: Word) -> str:
    """Say why writing to a place needs a question, a file of the project's own perhaps; '' when it doesn't."""
    if leads_outside(word):
        is_known = word.value is not None and (word.value in _STREAMS or bool(_TEMPORARY.match(word.value)))
        return "" if is_known else told("{path} lies outside the workspace", path=word.text[:40])
    if protected_reason(word.text) is not None or (word.has_glob and _may_match_hidden(word.text)):
        return told("{path} is where things that run later are kept", path=word.text[:40])
    return ""


def holds_what_runs(folders: Sequence[Word] | None) -> bool:
    """Whether a folder that a text goes to is one whose files run later, or none that is known."""
    within = [Word.literal(f"{each.text}/x") for each in folders or () if each.text[:1] not in ("-", "/")]
    return folders is None or any(_folder(each) for each in within)


def _may_match_hidden(path: str) -> bool:
    """Whether a pattern may match a hidden name that is protected: `.g*`, `.gi[t]/hooks`."""
    patterns = [part for part in path.split("/") if part[:1] == "." and re.search(r"[*?\[]", part)]
    return any(map(may_be_protected, patterns))


def written_from_here(word: Word, around: Surroundings, *, appends: bool) -> Finding | None:
    """The same of a word that is read in the folder that the text may be in by now."""
    if around.folders is None:
        return Effect.WRITES, told("it writes to {target}", target=word.text[:40])
    start = around.at_the_start()
    return next(filter(None, (written(each, start, appends=appends) for each in around.from_the_start(word))), None)


def written(word: Word, around: Surroundings = NOWHERE, *, appends: bool = False) -> Finding | None:
    """Say why a file that is written needs a question, whichever door it is written by; None when it doesn't.

    It may be a stream, a place where a build leaves things, a report or log by its name, or data that isn't there yet
    (or is added to) and that no program looks for. Where the mode lets files be edited: any of the workspace.
    """
    if word.value is not None and word.value in _STREAMS:
        return None
    reason = writes_to(word)
    if not reason and (word.value is None or not _is_ours_to_write(word.value, around, appends=appends)):
        reason = told("it writes to {target}", target=word.text[:40])
    return (Effect.WRITES, reason) if reason else None


def _is_ours_to_write(path: str, around: Surroundings, *, appends: bool) -> bool:
    if around.may_edit:
        return True
    if is_a("installed", path):
        return False
    if is_a("built", path) or is_a("remade", path):
        return True
    return is_a("fresh", path) and (appends or _TEMPORARY.match(path) is not None or around.is_free(path))


def _built(word: Word, around: Surroundings) -> Finding | None:
    return None if is_a("binary", word.value) and not writes_to(word) else written(word, around)


def _requirements(word: Word, around: Surroundings) -> Finding | None:
    return None if is_a("requirements", word.value) and not writes_to(word) else written(word, around)


def _venv(word: Word, around: Surroundings) -> Finding | None:
    """A folder for an environment: none that holds something else."""
    is_ours = word.value is not None and (is_a("environment", word.value) or around.is_free(word.value))
    if is_ours and not writes_to(word):
        return None
    return Effect.WRITES, told("it writes to {target}", target=word.text[:40])


def _unpacked(word: Word, around: Surroundings) -> Finding | None:
    """A folder that an archive is unpacked to: of its own, not the project's."""
    if word.value is not None and not writes_to(word) and not is_a("installed", word.value):
        if is_a("unpacked", word.value) or is_a("built", f"{word.value}/"):
            return None
        if word.value.strip("./") and around.is_known_to_be_free(word.value):
            return None
    return Effect.WRITES, told("it writes to {target}", target=word.text[:40])


def _place(word: Word) -> Finding | None:
    reason = writes_to(word)
    if not reason and word.prefix.startswith("-"):
        reason = told("{word} isn't a value known here", word=word.text[:40])
    return (Effect.WRITES, reason) if reason else None


def _folder(word: Word) -> Finding | None:
    """A place in the workspace: temporary folders are others' too."""
    if leads_outside(word) or (word.value is None and not word.prefix and not word.is_plain):
        return Effect.WRITES, told("{path} lies outside the workspace", path=word.text[:40])
    return _place(word)


def may_hold_what_runs(path: str) -> bool:
    """Whether a tree of files that becomes the folder of this name may be run, or steer what runs, by its name."""
    return is_a("hidden_folder", path) and not is_a("leftover", path.rstrip("/").rpartition("/")[2])


def _checkout(word: Word) -> Finding | None:
    """A folder for a tree of files that others made."""
    if may_hold_what_runs(word.text):
        return Effect.WRITES, told("{path} is where things that run later are kept", path=word.text[:40])
    return _folder(word)


def _generated(word: Word, around: Surroundings) -> Finding | None:
    """Where code is generated, behind options perhaps: `import_style=commonjs:DIR`."""
    return check_value("folder", word if word.value is None else Word.literal(word.value.rpartition(":")[2]), around)


def _inside(word: Word) -> Finding | None:
    if word.text[:1] == "@":  # many programs read their arguments from such a file
        return Effect.RUNS, told("runs a program or code that no rule names")
    if (not leads_outside(word) and "://" not in word.text) or word.value in _STREAMS:
        return None
    return Effect.RUNS, told("{path} lies outside the workspace", path=word.text[:40])


def _own(word: Word) -> Finding | None:
    """A name, or a path in the workspace: neither a file elsewhere nor an address."""
    is_known = word.value is not None and (word.value in _STREAMS or bool(_TEMPORARY.match(word.value)))
    if is_known or not (leads_outside(word) or "://" in word.text):
        return None
    return Effect.REACHES, told("{path} lies outside the workspace", path=word.text[:40])


def _other_project(word: Word) -> Finding | None:
    """A part of the workspace, whose tasks or tests are meant: a folder, or a name as `@scope/name`."""
    if leads_outside(word) or "://" in word.text:
        return Effect.RUNS, told("{path} lies outside the workspace", path=word.text[:40])
    return None


def _script(word: Word) -> Finding | None:
    is_unknown = word.value is None and not word.prefix
    if is_unknown or word.text[:1] == "@" or ":" in word.text or _STANDARD_INPUT.fullmatch(word.text):
        return Effect.RUNS, told("runs a program or code that no rule names")
    return _inside(word)


def _url(word: Word) -> Finding | None:
    known = word.value if word.value is not None else word.text if word.is_plain else word.prefix or "x"
    if not is_web_address(known, is_whole=word.value is not None):
        return Effect.REACHES, told("{address} isn't a web server's address", address=word.text[:40])
    return None


def _asked(word: Word) -> Finding | None:
    """A word of httpie: how it asks, a header, a part of the question, or where; none that sends or is a file."""
    if is_a("asked", word.value):
        return None
    if re.match(r":\d|:/", word.text):  # this machine
        return None
    is_address = re.match(r"(?i)https?://|localhost|[\w-]+:\d", word.prefix or "") is not None
    return _url(word) if is_address else (Effect.REACHES, _no_known_value(word))


def _loopback(word: Word) -> Finding | None:
    return None if is_a("loopback", word.value) else (Effect.REACHES, told("sends data"))


def check_config(word: Word, programs: Sequence[str]) -> Finding | None:
    """Say what is wrong with a program's configuration, which it runs perhaps; None for a file that bears its name."""
    name = (word.value or "").rpartition("/")[2].removeprefix(".").lower()
    is_own = name in _SHARED_CONFIGS or any(name.startswith(program) for program in programs)
    if word.value is None or not is_own:
        return Effect.RUNS, _no_known_value(word)
    return _inside(word)


def _sent(word: Word) -> Finding | None:
    """A file whose text is sent: of the project, and none that holds secrets by its name."""
    if word.value == "-":
        return None
    if word.value is None or leads_outside(word) or secret_reason(word.value) is not None:
        return Effect.REACHES, told("it sends {path}", path=word.text[:40])
    return None


def _header(word: Word) -> Finding | None:
    is_file = (word.value is None and not word.prefix) or word.text.startswith("@")
    return (Effect.REACHES, told("sends data")) if is_file else None


def _query(word: Word) -> Finding | None:
    """A part of an address: `NAME=TEXT`, or a file's text behind an `@`."""
    known = word.value if word.value is not None else word.prefix
    is_file = "@" in known.partition("=")[0] or (word.value is None and "=" not in known)
    return (Effect.REACHES, told("sends data")) if is_file else None


def _fetched(word: Word, around: Surroundings) -> Finding | None:
    """A file that curl writes, in whose name `#1` stands for a part of the address."""
    if "#" in word.text:
        return Effect.WRITES, told("it writes to {target}", target=word.text[:40])
    return written(word, around)


def _repository(word: Word) -> Finding | None:
    if _REMOTE_HELPER.match(word.text) or "://-" in word.text:
        return Effect.RUNS, told("the address names a program to run")
    return None


def _remote(word: Word, around: Surroundings) -> Finding | None:
    """Where git pushes to: a remote's usual name, and no folder that bears it, whose hooks would be run."""
    if is_a("remote", word.value) and around.is_free(word.text) and around.is_free(f"{word.text}.git"):
        return None
    return Effect.REACHES, _no_known_value(word)


def _image(word: Word) -> Finding | None:
    """An image of a well-known registry, or of this machine."""
    if is_a("image", word.value if word.value is not None else f"{word.prefix}x"):
        return None
    return Effect.REACHES, _no_known_value(word)


def _sed(word: Word) -> Finding | None:
    script = without_arithmetic(word)
    if script is None or not is_harmless_sed(script):
        return Effect.RUNS, told("the script may run commands or write files")
    return None


def _awk(word: Word) -> Finding | None:
    program = without_arithmetic(word)
    if program is None or not is_harmless_awk(program):
        return Effect.RUNS, told("the program may run commands or write files")
    return None


def _surplus(word: Word) -> Finding | None:
    return Effect.WRITES, told("{word} goes beyond its known use", word=word.text[:40])


def _task(word: Word) -> Finding | None:
    """A target of a project's own runner, or a file of the project."""
    text = word.value
    if text is None or is_a("broad", text.rpartition(":")[2]) or _NO_TASK.search(text) or leads_outside(word):
        return Effect.RUNS, _no_known_value(word)
    return None


def _rake_task(word: Word) -> Finding | None:
    """A task, or a variable that is set for the tasks as make's are for its recipes."""
    return _make_target(word) if "=" in word.text else _task(word)


def _number(word: Word) -> Finding | None:
    """A number, or a word that stands for one; a name may be a plugin's to another program of the block."""
    is_known = word.value is None or _NUMBER.fullmatch(word.value)
    return None if is_known else (Effect.RUNS, _no_known_value(word))


def _make_target(word: Word) -> Finding | None:
    """A target, or a variable that is set for the recipes.

    Built-in rules make a file of any name; recipes hand a target's name on to a shell.
    """
    variable = _MAKE_VARIABLE.fullmatch(word.text)
    is_odd = word.value is not None and not re.fullmatch(r"[\w.%+:,@=/-]*", word.value)
    if variable is None and (is_odd or leads_outside(word)):
        return Effect.RUNS, _no_known_value(word)
    if variable is None:
        reason = told("it sets {names}, which can change what runs", names=word.text[:30])
        return (Effect.RUNS, reason) if "=" in word.text else None
    name, value = variable.groups()
    if word.value is not None and _is_known_to_make(name, value):
        return None
    is_data = word.value is not None and re.fullmatch(r"[\w.:@,+= -]*", value) is not None
    runs = not is_data or is_a("make_own", name) or is_a("make_program", name)
    return Effect.RUNS if runs else Effect.WRITES, told("{name} can change what the recipes run", name=name)


def _is_known_to_make(name: str, value: str) -> bool:
    if name in ("CC", "CXX"):
        return is_a("compiler", value)
    if is_a("make_place", name) and is_a("built", value) and not leads_outside(Word.literal(value)):
        return True
    if is_a("make_choice", name) and re.fullmatch(r"\w[\w./:-]*", value) and ".." not in value.split("/"):
        return True
    return is_a("make_switch", value) and not is_a("make_own", name)


def _git_folder(word: Word, around: Surroundings) -> Finding | None:
    if word.value in (".", "./") or word.text == "$(git rev-parse --show-toplevel)":
        return None
    if word.value is not None and around.is_same_repository(word.value):
        return None
    effect = Effect.RUNS if leads_outside(word) else Effect.REACHES
    return effect, told("-C uses a repository elsewhere, whose configuration can run programs")


def _go_run(word: Word) -> Finding | None:
    if is_a("go_program", word.value) and "@" not in word.text and not leads_outside(word):
        return None
    return Effect.RUNS, told("fetches and runs a program")


def _cov_report(word: Word, around: Surroundings) -> Finding | None:
    match = pattern("coverage_report").fullmatch(word.text)
    if match is None:
        return Effect.WRITES, told("it writes to {target}", target=word.text[:40])
    return check_value("built", Word.literal(match["place"]), around) if match["place"] else None


def _compressed(word: Word, around: Surroundings) -> Finding | None:
    """A file that is packed or unpacked, beside itself: under no name for which tools run it."""
    name = (word.value or "").rpartition(".")[0]
    if not around.may_edit and (protected_reason(name) is not None or is_a("run_by_name", name)):
        return Effect.WRITES, told("it writes to {target}", target=name[:40])
    return _place(word)


def _tree(word: Word) -> Finding | None:
    if not word.is_plain and not word.prefix.strip("/."):
        return Effect.WRITES, told("{path} is more than a file of the project", path=word.text[:40])
    if is_a("whole_tree", word.text):
        return Effect.WRITES, told("{path} is more than a file of the project", path=word.text[:40])
    return _place(word)


def check_found(place: Word) -> Finding | None:
    """Say what is wrong with removing what `find` finds: from all of the workspace only what is made anew."""
    folder, _, name = place.text.rpartition("/")
    if not folder.strip("./") and not is_a("leftover", name):
        return Effect.WRITES, told("{path} is more than a file of the project", path=place.text[:40])
    return _tree(place)


def _local(word: Word) -> Finding | None:
    if _REMOTE.fullmatch(word.text):
        return Effect.REACHES, told("copies files to or from another machine")
    return None


def _archive(word: Word) -> Finding | None:
    if ":" in word.text:
        return Effect.REACHES, told("{path} lies outside the workspace", path=word.text[:40])
    return None


def _cookie(word: Word) -> Finding | None:
    return None if "=" in word.text else (Effect.REACHES, told("sends data"))


def _curl_format(word: Word) -> Finding | None:
    if word.value is None or "%output{" in word.value or word.value.startswith("@"):
        return Effect.WRITES, told("writes a file, or what a file says")
    return None


def _document(word: Word) -> Finding | None:
    """A file of the project that has an ending, which tells it from a subcommand; no address."""
    is_named = word.value == "-" or ("." in word.text and ":" not in word.text)
    return _own(word) if is_named else (Effect.RUNS, _no_known_value(word))


def _ref(word: Word) -> Finding | None:
    """What git reads, by way of another program perhaps: no option of its."""
    return (Effect.RUNS, _no_known_value(word)) if word.prefix.startswith("-") else None


def _source(word: Word) -> Finding | None:
    return None if word.value == ".." else _inside(word)


def _argument(word: Word) -> Finding | None:
    return (Effect.RUNS, told("runs code that is typed")) if word.value in ("tinker", "shell") else None


def _name(word: Word) -> Finding | None:
    """A variable that a builtin gives a value."""
    name = re.match(r"[A-Za-z_]\w*|[0-9]+$", word.text)
    reason = name_reason(name[0] if name and (word.is_plain or word.prefix.startswith(f"{name[0]}[")) else "")
    return (Effect.RUNS, reason) if reason and (name is None or name[0] != "REPLY") else None


def _own_job(word: Word) -> Finding | None:
    """A process that the text itself began."""
    if word.text == "$!" or re.fullmatch(r"%(?:\d+|%|\+|-)?", word.value or "-"):
        return None
    return Effect.REACHES, told("reaches or changes what isn't the project's")


def _definition(word: Word) -> Finding | None:
    return (Effect.RUNS, told("gives a name another meaning")) if "=" in word.text else None


_CHECKS: dict[str, Callable[[Word], Finding | None]] = {
    "place": _place,
    "folder": _folder,
    "checkout": _checkout,
    "source": _source,
    "inside": _inside,
    "other_project": _other_project,
    "url": _url,
    "asked": _asked,
    "loopback": _loopback,
    "header": _header,
    "repository": _repository,
    "image": _image,
    "query": _query,
    "sed": _sed,
    "awk": _awk,
    "surplus": _surplus,
    "none": _surplus,
    "own": _own,
    "task": _task,
    "make_target": _make_target,
    "rake_task": _rake_task,
    "number": _number,
    "go_run": _go_run,
    "tree": _tree,
    "local": _local,
    "archive": _archive,
    "cookie": _cookie,
    "curl_format": _curl_format,
    "script": _script,
    "argument": _argument,
    "definition": _definition,
    "name": _name,
    "own_job": _own_job,
    "sent": _sent,
    "document": _document,
    "ref": _ref,
    "go_module": _own,
}
"""Kinds that a pattern can't say: where a path leads, what a script holds."""

_PLACED: dict[str, Callable[[Word, Surroundings], Finding | None]] = {
    "product": written,
    "built": _built,
    "fetched": _fetched,
    "requirements": _requirements,
    "unpacked": _unpacked,
    "compressed": _compressed,
    "venv": _venv,
    "generated": _generated,
    "cov_report": _cov_report,
    "git_folder": _git_folder,
    "remote": _remote,
}
"""Kinds that depend on where the command is run."""

KINDS = frozenset((*_CHECKS, *_PLACED)) | frozenset(
    "any rest format text file pattern repository host package command module sql config".split()
)
"""Every kind that the table may name, but for those that have a pattern."""


ONLY_READ = frozenset("inside own script other_project source".split())
PLACES = ONLY_READ | frozenset(
    "place folder checkout tree compressed product built fetched requirements unpacked venv generated".split()
)
"""Kinds that name a place: all that is put together of variables is looked at as what it becomes."""


def check_value(name: str, word: Word, around: Surroundings = NOWHERE) -> Finding | None:
    """Say what is wrong with a value or operand of this kind; None when it is what it may be."""
    if around.has_moved and name in PLACES and name != "generated":
        return _from_the_start(name, word, around)
    placed = _PLACED.get(name)
    if placed is not None:
        return placed(word, around)
    check = _CHECKS.get(name)
    if check is not None:
        return check(word)
    known = kind(name)
    if known is not None:
        is_known = word.value is not None and known[0].fullmatch(word.value)
        return None if is_known else (known[1], _no_known_value(word))
    if name[:1] == "{":  # `{a|b*}`: these values alone
        is_known = word.value is not None and any(_is_one_of(word.value, each) for each in name[1:-1].split("|"))
        return None if is_known else (Effect.RUNS, _no_known_value(word))
    return None


def _is_one_of(value: str, pattern: str) -> bool:
    """Whether a value is one that the table names; a star leads no path out of the workspace."""
    strays = ".." in value.split("/")
    if pattern.startswith("*"):
        strays = leads_outside(Word.literal(value)) or "://" in value
    return fnmatchcase(value, pattern) and not (strays and pattern[:1] != "[" and "*" in pattern)


def _from_the_start(name: str, word: Word, around: Surroundings) -> Finding | None:
    """The same in each folder that the text may be in; where none is known, nothing may be written by its name."""
    if name == "source" and word.value == "..":
        return None
    start = around.at_the_start()
    found = [check_value(name, each, start) for each in around.from_the_start(word) or [word]]
    if around.folders is None and name not in ONLY_READ and not (word.value or "x").startswith("/"):
        found.append((Effect.WRITES, told("it writes to {target}", target=word.text[:40])))
    return next(filter(None, found), None)


def _no_known_value(word: Word) -> str:
    return told("{word} isn't a value known here", word=word.text[:40])
