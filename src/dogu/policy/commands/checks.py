"""What can't be said of a program by its options and operands alone: a check of its own, named in its block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from dogu.language import told
from dogu.policy.commands import asking_checks, shell_checks
from dogu.policy.commands.copies import copies, moved
from dogu.policy.commands.effects import Danger, Effect
from dogu.policy.commands.patterns import is_a, pattern
from dogu.policy.commands.places import leads_outside
from dogu.policy.commands.reading import Reading
from dogu.policy.commands.values import check_value
from dogu.workspace.shell_syntax import Word

_TAR_MAKES = frozenset(("-c", "--create", "-r", "--append", "-u", "--update", "-A", "--catenate", "--concatenate"))


_TAR_UNPACKS = frozenset(("-x", "--extract", "--get"))


def _unpacks(reading: Reading, *options: str) -> Iterator[Danger]:
    """Unpacking, unless one of the options names a folder for it that holds nothing of the project's."""
    places = [(at, value) for name, at, value in reading.taken if name in options and value is not None]
    if not places:
        yield Danger(1, Effect.WRITES, told("writes or removes files"))
    for at, value in places:
        reason = check_value("unpacked", value, reading.hints.around)
        if reason is not None:
            yield Danger(at, *reason)


def _unzip(_words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """unzip writes what the archive holds, unless it only shows it."""
    if not {"-l", "-v", "-t", "-Z", "-p", "-c", "-z", "-h", "-hh"} & {name for name, _, _ in reading.taken}:
        yield from _unpacks(reading, "-d")


def _tar(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """Archives that are made; the first word of the old style, without a hyphen."""
    found = reading
    if len(words) > 1 and not words[1].text.startswith("-") and re.fullmatch(r"[A-Za-z]+", words[1].text):
        found = reading.again([words[0], Word.literal(f"-{words[1].text}"), *words[2:]])
        yield from found.dangers()
    names = {name for name, _, _ in found.taken}
    if names & _TAR_UNPACKS and not names & {"-O", "--to-stdout"}:
        yield from _unpacks(found, "-C", "--directory")
        first = next((at for name, at, _ in found.taken if name in ("-C", "--directory")), 0)
        members = [at for at in found.operands if at < first]  # the folder is for those that are named behind it
        yield from (Danger(at, Effect.WRITES, told("writes or removes files")) for at in members)
    if not names & _TAR_MAKES:
        return
    outside = any(name in ("-C", "--directory") for name, _, _ in found.taken)
    for name, at, value in found.taken:
        if (
            name in ("-f", "--file")
            and value is not None
            and (reason := check_value("product", value, found.hints.around))
        ):
            yield Danger(found.place_of(at, value), reason[0], reason[1])
    if outside and not any(name in ("-f", "--file") for name, _, _ in found.taken):
        yield Danger(1, Effect.WRITES, told("writes a file"))


def _git(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """Addresses that name programs, and settings that are changed."""
    for index, word in enumerate(words[1:], 1):
        if re.match(r"(?:-[^=]*=)?\w[\w+.-]*::", word.prefix) and not re.match(r"-[^=]*=[^=:]*:", word.prefix):
            yield Danger(index, Effect.RUNS, told("the address names a program to run"))
    match reading.subcommand:
        case "config":
            yield from _git_config(words, reading)
        case "mv":
            yield from moved(words, reading)
        case "checkout" | "switch":
            yield from _git_tracks(words, reading)
        case "symbolic-ref" | "update-ref" | "fetch" | "pull" | "push" | "replace":
            yield from _git_refs(words, reading)
        case _:
            pass


def _git_tracks(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """A branch whose upstream is set, where a bare `push` goes."""
    tracks = {"-t", "--track"} & {name for name, _, _ in reading.taken}
    for index in reading.operands if tracks else ():
        found = check_value("upstream", words[index])
        if found is not None:
            yield Danger(index, *found)


def _git_refs(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """Names that begin with a hyphen, options to whoever lists them; and where a push goes that names no remote."""
    for index in reading.operands:
        text = words[index].text
        if _BEGINS_WITH_HYPHEN.search(text):
            yield Danger(index, Effect.WRITES, told("{word} isn't a value known here", word=text[:40]))
    is_bare = not reading.operands and "--repo" not in {name for name, _, _ in reading.taken}
    for remote in reading.hints.around.pushed_to() if is_bare and reading.subcommand == "push" else ():
        if not is_a("remote", remote):
            reason = told("{word} isn't a value known here", word=remote[:40])
            yield Danger(len(words), Effect.REACHES, reason)


_BEGINS_WITH_HYPHEN = re.compile(r"refs/(?:[^:]*/)?-|:-")


_READS_CONFIG = frozenset("--get --get-all --list -l --get-regexp --get-urlmatch --get-color --get-colorbool".split())


def _git_config(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    if any(name in _READS_CONFIG for name, _, _ in reading.taken):
        return
    operands = [words[at] for at in reading.operands]
    texts = [word.value for word in operands]
    is_wide = any(name in ("--global", "--system") for name, _, _ in reading.taken)
    if is_wide and len(texts) > 1 and texts[0] not in ("get", "list"):
        yield Danger(reading.operands[0], Effect.REACHES, told("config changes settings beyond this repository"))
    if len(texts) <= 1 or texts[0] in ("get", "list"):
        if texts and texts[0] in ("edit", "set", "unset", "rename-section", "remove-section"):
            yield Danger(reading.operands[0], Effect.RUNS, told("config changes settings that can name programs"))
        return
    name = texts[1] if texts[0] == "set" and len(texts) > 2 else texts[0]
    elsewhere = any(name in ("-f", "--file", "--blob") for name, _, _ in reading.taken)
    if elsewhere or not is_a("git_own_setting", name):
        yield Danger(reading.operands[0], Effect.RUNS, told("config changes settings that can name programs"))


def _sqlite(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """Commands of sqlite3 that run programs or write files; without any it reads them from standard input."""
    for at in reading.operands[1:]:
        text = words[at].text
        for dotted in re.findall(r"(?:^|[\n\r;])[ \t]*\.\s*(\w+)", text):
            if not is_a("sqlite_shows", dotted):
                yield Danger(at, Effect.RUNS, told(".{dotted} may run programs or write files", dotted=dotted))
        reaches = any(map(pattern("sqlite_reaches").search, _with_and_without_comments(text)))
        if words[at].value is None or reaches:
            yield Danger(at, Effect.RUNS, told("loads code or writes a file"))
    for at in reading.operands[:1]:
        if words[at].text.lower().startswith("file:"):  # an address, in which any place can be written
            yield Danger(at, Effect.WRITES, told("it writes to {target}", target=words[at].text[:40]))
    if len(reading.operands) < 2 and not any(name in ("-version", "-help") for name, _, _ in reading.taken):
        yield Danger(len(words), Effect.RUNS, told("reads commands from standard input"))


def _sql(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """Commands of psql and mysql that run programs, load code or reach files; without any, standard input is read."""
    given = [(at, value) for name, at, value in reading.taken if name in ("-c", "--command", "-e", "--execute")]
    for at, value in given:
        text = value.value if value is not None else None
        runs_text = text is not None and text.lstrip().startswith("\\") and "`" in text  # psql does, as a shell would
        if text is None or runs_text or any(map(_reaches_by_sql, _with_and_without_comments(text))):
            yield Danger(reading.place_of(at, value) if value else at, Effect.RUNS, told("runs commands"))
    looks = {"--version", "-V", "--help", "-?", "-l", "--list"} & {word.text for word in words}
    if not given and not looks:
        yield Danger(len(words), Effect.RUNS, told("reads commands from standard input"))


def _with_and_without_comments(text: str) -> tuple[str, str, str]:
    """The text, and what is left of it by two readings: what looks like a comment may stand in a string."""
    behind_strings = _SQL_COMMENT_OR_STRING.sub(lambda match: match["string"] or " ", text)
    return text, behind_strings, _SQL_COMMENT.sub(" ", text)


_SQL_COMMENT = re.compile(r"/\*(?!!)(?:.*?\*/|.*)|--[^\n]*", re.DOTALL)
_SQL_COMMENT_OR_STRING = re.compile(rf"""(?P<string>'[^']*'|"[^"]*"|`[^`]*`)|{_SQL_COMMENT.pattern}""", re.DOTALL)


def _reaches_by_sql(text: str) -> bool:
    return bool(pattern("sql_command").search(text) or pattern("sql_reaches").search(text))


_GPG_LOOKS = frozenset(
    "-k --list-keys -K --list-secret-keys --verify --fingerprint --list-sigs --check-sigs --list-packets --print-md "
    "--card-status --version --help".split()
)


def _gpg(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """gpg that isn't told what to do decrypts what it is given to a file."""
    if not any(name in _GPG_LOOKS for name, _, _ in reading.taken):
        yield Danger(len(words) - 1, Effect.WRITES, told("writes a file"))


def _compiler(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """Compilers, whose options are patterns; what they make is built, or has the ending of an object."""
    at, around = 1, reading.hints.around
    while at < len(words):
        word = words[at]
        text = word.text
        if text.startswith("-o"):
            value = Word.literal(text[2:]) if len(text) > 2 else words[at + 1] if at + 1 < len(words) else word
            if check_value("built", value, around) is not None:
                yield Danger(at, Effect.WRITES, told("{option} writes a file", option="-o"))
            at += len(text) == 2
        elif text in (
            "-I",
            "-D",
            "-U",
            "-L",
            "-l",
            "-include",
            "-isystem",
            "-x",
            "-MF",
            "-MT",
            "-MQ",
            "-iquote",
            "-arch",
            "-framework",
        ):
            if text == "-MF" and at + 1 < len(words) and check_value("built", words[at + 1], around) is not None:
                yield Danger(at, Effect.WRITES, told("{option} writes a file", option=text))
            at += 1
        elif text.startswith("@") or (text.startswith("-") and text != "-" and not is_a("compiler_option", text)):
            yield Danger(at, Effect.RUNS, told("{option} isn't an option known here", option=text[:30]))
        elif word.value is None and not word.prefix:
            yield Danger(
                at, Effect.WRITES, told("{word} may be an option of {name}", word=text[:30], name=words[0].text)
            )
        at += 1


def _java(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """The main class is the project's: Java's own are tools, as is a compiler."""
    for at in reading.operands[:1]:
        if re.match(r"(?:com\.sun|sun|jdk|javax?)\.", words[at].text):
            yield Danger(at, Effect.RUNS, told("runs a program or code that no rule names"))


_OF_TAP = frozenset("plugin repl build dump-config replay init".split())


def _tap(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """A word that isn't a test but a command of tap's own."""
    for at in reading.operands[:1]:
        if words[at].text in _OF_TAP:
            yield Danger(at, Effect.RUNS, told("runs a program or code that no rule names"))


def _rustc(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What is made bears the source's name, unless it is told another."""
    is_told = any(name in ("-o", "--out-dir", "--crate-type", "--test") for name, _, _ in reading.taken)
    for at in reading.operands if not is_told else ():
        made = words[at].text.rpartition("/")[2].removesuffix(".rs")
        if is_a("run_by_name", made):
            yield Danger(at, Effect.WRITES, told("it writes to {target}", target=made[:40]))


def _cmake(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """A build where the sources are overwrites a makefile that cmake didn't make itself."""
    yield from _writes_help(words, reading)
    taken = {name: value for name, _, value in reading.taken}
    around = reading.hints.around
    folder = taken.get("-B") or Word.literal(".")
    is_others = not around.is_free(f"{folder.text}/Makefile") and around.is_free(f"{folder.text}/CMakeCache.txt")
    if is_others and len(words) > 1 and "--build" not in taken:
        yield Danger(len(words) - 1, Effect.WRITES, told("it writes to {target}", target="Makefile"))


def _writes_help(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What cmake and ctest tell of themselves is written to the file that is named behind."""
    builds = any(name == "--build" for name, _, _ in reading.taken)
    for at in reading.operands if builds else ():
        if leads_outside(words[at]):
            yield Danger(at, Effect.RUNS, told("{path} lies outside the workspace", path=words[at].text[:40]))
    tells = any(re.match(r"--?(?:help|version|system-information)|-h$", name) for name, _, _ in reading.taken)
    for at in reading.operands if tells else ():
        yield Danger(at, Effect.WRITES, told("it writes to {target}", target=words[at].text[:40]))


_TYPED = frozenset(("shell", "shell_plus", "dbshell"))


def _python(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What a project's scripts of well-known names do with their first argument, more than its tasks."""
    for at in reading.operands[:1]:
        script, task = words[at].text.rpartition("/")[2], words[at + 1].text if at + 1 < len(words) else ""
        if script == "manage.py" and task in _TYPED:
            yield Danger(at + 1, Effect.RUNS, told("runs code that is typed"))
        if script == "setup.py" and {"upload", "register"} & {word.text for word in words[at:]}:
            yield Danger(at, Effect.REACHES, told("sends data"))
    yield from _script(words, reading)


def _go(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """With `-mod=mod` go fetches what isn't the project's: a package that begins with another machine's name."""
    fetches = any(name == "-mod" and value is not None and value.value not in ("vendor", "readonly")
                  for name, _, value in reading.taken)  # fmt: skip
    for at in reading.operands if fetches else ():
        if re.match(r"\w[\w-]*\.[\w.-]+/", words[at].text):
            yield Danger(at, Effect.RUNS, told("fetches and runs a program"))


def _imports(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """Modules that do something when they are only imported."""
    for at in reading.operands:
        if is_a("acts_when_imported", words[at].text):
            yield Danger(at, Effect.RUNS, told("runs the module {name}", name=words[at].text[:30]))


_WELL_KNOWN_SCRIPTS = frozenset(("manage.py", "setup.py", "artisan", "console"))


def _script(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """What a script that many projects have takes code from, or writes to: nothing outside of the workspace."""
    for at in reading.operands[:1]:
        if words[at].text.rpartition("/")[2] not in _WELL_KNOWN_SCRIPTS:
            continue
        for index, word in enumerate(words[at + 1 :], at + 1):
            if leads_outside(Word.literal(word.text.partition("=")[2] if word.text.startswith("-") else word.text)):
                reason = told("{path} lies outside the workspace", path=word.text[:40])
                yield Danger(index, Effect.RUNS, reason)


def _tests(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """With `--test`, each operand is run and not the first alone."""
    is_test = any(name == "--test" for name, _, _ in reading.taken)
    for at in reading.operands[1:] if is_test else ():
        found = check_value("script", words[at], reading.hints.around)
        if found is not None:
            yield Danger(at, *found)


def _watches(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """`tsx watch` takes its options and script behind that word."""
    yield from _tests(words, reading)
    for at in reading.operands[:1]:
        again = reading.again([words[0], *words[at + 1 :]]) if words[at].value == "watch" else None
        for each in again.dangers() if again is not None else ():
            yield Danger(each.index + at, each.effect, each.reason)


def _node(words: Sequence[Word], reading: Reading) -> Iterator[Danger]:
    """`node inspect` runs what it is told on standard input, in any process of the person's."""
    yield from _tests(words, reading)
    for at in reading.operands[:1]:
        if words[at].value == "inspect":
            yield Danger(at, Effect.RUNS, told("runs code that is typed"))


CHECKS: dict[str, Callable[[Sequence[Word], Reading], Iterator[Danger]]] = {
    **shell_checks.CHECKS,
    **asking_checks.CHECKS,
    "copies": copies,
    "tar": _tar,
    "unzip": _unzip,
    "git": _git,
    "gpg": _gpg,
    "sqlite": _sqlite,
    "sql": _sql,
    "compiler": _compiler,
    "script": _script,
    "node": _node,
    "watches": _watches,
    "python": _python,
    "imports": _imports,
    "go": _go,
    "writes_help": _writes_help,
    "cmake": _cmake,
    "java": _java,
    "rustc": _rustc,
    "tap": _tap,
}
