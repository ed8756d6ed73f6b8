"""Interpreters, network programs and builders: what their arguments run or write, where a row can't say it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dogu.language import told
from dogu.policy.commands.effects import Danger, Effect
from dogu.policy.commands.shell_checks import is_risky_variable, operands_of
from dogu.workspace.shell_syntax import Word

_NOWHERE = ("/dev/null", "-", "/dev/stdout", "/dev/stderr")
_STANDARD_INPUT = re.compile(r"-|/dev/(?:stdin|fd/\d+)|/proc/self/fd/\d+")


@dataclass(frozen=True)
class Interpreter:
    """`runs`: letters of options that give or load code; `values`: letters whose value is the next word.

    `long` are long options that give or load code, `harmless` options with which nothing is run.
    """

    runs: str
    values: str
    long: str = ""
    harmless: str = "--version --help"


INTERPRETERS = {
    "python": Interpreter("ci", "WX", harmless="--version --help -V -VV -h"),
    "pypy": Interpreter("ci", "WX", harmless="--version --help -V -h"),
    "node": Interpreter(
        "epri",
        "C",
        "--eval --print --require --import --loader --experimental-loader --interactive --env-file --run "
        "--openssl-config --test-reporter --experimental-config-file --env-file-if-exists --build-snapshot "
        "--snapshot-blob --redirect-warnings --diagnostic-dir --report-dir --test-reporter-destination",
        "--version --help -v -h",
    ),
    "perl": Interpreter("eEMmIdxnpiS", "", "", "-v --version --help -V"),
    "ruby": Interpreter("erIxnpiS", "CEK", "--require", "--version --help -v -h"),
    "php": Interpreter("rBRFEdSac", "tz", "--run --server --interactive", "--version --help -v -h -m -i -l"),
    "lua": Interpreter("eli", "", "", "-v"),
    "luajit": Interpreter("elijb", "O", "", "-v"),
}
_SAFE_MODULES = frozenset(
    ("pytest", "unittest", "mypy", "ruff", "black", "flake8", "pylint", "isort", "doctest", "this")
)


def interpreter(how: Interpreter, words: Sequence[Word]) -> Iterator[Danger]:
    """Yield the options that give code; without a script the code comes from standard input."""
    at = 1
    while at < len(words) and words[at].text.startswith("-") and words[at].text not in ("-", "--"):
        text = words[at].text
        if text in how.harmless.split():
            return
        reason, takes_next, is_last = _option(how, text, words[at + 1 : at + 2])
        if reason:
            yield Danger(at, Effect.RUNS, reason)
        if reason or is_last:
            return
        at += 2 if takes_next else 1
    at += at < len(words) and words[at].text == "--"
    if at >= len(words):
        if any(word.text in ("--test", "--check") for word in words):
            return
        yield Danger(1, Effect.RUNS, told("runs what it reads from standard input"))
    elif _STANDARD_INPUT.fullmatch(words[at].text) or any(part.script for part in words[at].parts):
        yield Danger(at, Effect.RUNS, told("runs what it reads from standard input"))


def _option(how: Interpreter, text: str, following: Sequence[Word]) -> tuple[str, bool, bool]:
    """Why the option needs a question, whether it takes the next word, whether what follows belongs to a module."""
    gives_code = told("runs or loads code given in its arguments")
    if text.startswith("--"):
        return gives_code if text.partition("=")[0] in how.long.split() else "", False, False
    letters, module, takes_next = _cluster(how, text)
    if module:
        name = module if module != "-" else following[0].value if following else None
        return "" if name in _SAFE_MODULES else told("runs the module {name}", name=name), False, True
    return gives_code if letters & set(how.runs) else "", takes_next, False


def _cluster(how: Interpreter, text: str) -> tuple[set[str], str, bool]:
    """The letters of a cluster, the module that `m` names ("-": the next word), whether the next word is a value."""
    seen: set[str] = set()
    for place, letter in enumerate(text[1:], 2):
        if letter == "m" and how.runs == "ci":
            return seen, text[place:] or "-", False
        seen.add(letter)
        if letter in how.values:
            return seen, "", place == len(text)
        if not letter.isalnum():
            break
    return seen, "", False


def _writes(words: Sequence[Word], letters: str, long: Sequence[str], values: str) -> Iterator[tuple[int, str | None]]:
    """Where an option of these stands, and its value."""
    for at, word in enumerate(words[1:], 1):
        text = word.text
        following = words[at + 1].value if at + 1 < len(words) else None
        if text.startswith("--"):
            option, equals, attached = text.partition("=")
            if any(each.startswith(option) for each in long if len(option) > 3):
                yield at, attached if equals else following
        elif text.startswith("-"):
            for place, letter in enumerate(text[1:], 2):
                if letter in letters:
                    yield at, text[place:] or following
                if letter in values:
                    break


def curl(words: Sequence[Word]) -> Iterator[Danger]:
    """Files that curl writes, and data that it sends."""
    long = ("--output", "--dump-header", "--cookie-jar", "--trace", "--trace-ascii", "--stderr")
    for at, value in _writes(words, "oDc", long, "AbCdDeEFhHKmoPQrtTuUwxXyYzc"):
        if value not in _NOWHERE:
            yield Danger(at, Effect.WRITES, told("writes a file"))
    yield from _sent(words)
    for at, value in _writes(words, "w", ("--write-out",), "AbCdDeEFhHKmoPQrtTuUwxXyYzc"):
        if value is None or "%output{" in value or value.startswith("@"):
            yield Danger(at, Effect.WRITES, told("writes a file, or what a file says"))


def _sent(words: Sequence[Word]) -> Iterator[Danger]:
    """What curl sends, more than a question."""
    asks_only = {"-G", "--get"} & {word.text for word in words}
    sending = ("--data", "--data-binary", "--data-raw", "--data-urlencode", "--json", "--form-string")
    for at, value in _writes(words, "d", sending, "AbCdDeEFhHKmoPQrtTuUwxXyYzc"):
        if not asks_only or value is None or "@" in value:
            yield Danger(at, Effect.REACHES, told("sends data"))
    for at, value in _writes(words, "X", ("--request",), "AbCdDeEFhHKmoPQrtTuUwxXyYzc"):
        if value not in ("GET", "HEAD", "OPTIONS"):
            yield Danger(at, Effect.REACHES, told("sends data"))


def wget(words: Sequence[Word]) -> Iterator[Danger]:
    """Files that wget writes: always one, unless told otherwise."""
    harmless = {"--spider", "--version", "--help", "-V", "-h"}
    targets = list(_writes(words, "O", ("--output-document",), "oaePOtTUQlABDIXRwi"))
    for at, value in targets:
        if value not in _NOWHERE:
            yield Danger(at, Effect.WRITES, told("writes a file"))
    if not targets and not harmless & {word.text for word in words}:
        yield Danger(1, Effect.WRITES, told("writes what it fetches to a file"))


def make(words: Sequence[Word]) -> Iterator[Danger]:
    """Variables given to make that change what its recipes run."""
    for at, word in enumerate(words[1:], 1):
        match = re.match(r"([A-Za-z_.][A-Za-z0-9_.]*)(?:!|:{0,3}|\?|\+)=(.*)", word.text, re.DOTALL)
        if match is None:
            continue
        risky = is_risky_variable(match[1]) or match[1].startswith(".") or "!=" in word.text[: len(match[1]) + 2]
        if risky or re.search(r"\$[({]|`", match[2]):
            yield Danger(at, Effect.RUNS, told("{name} can change what the recipes run", name=match[1]))


def npm(words: Sequence[Word]) -> Iterator[Danger]:
    """`npm init NAME` fetches a program and runs it."""
    found = operands_of(words)
    if len(found) > 1 and words[found[0]].value in ("init", "innit"):
        yield Danger(found[1], Effect.RUNS, told("fetches and runs a program"))


_GO_TOOLS = ("cover", "nm", "objdump", "addr2line", "buildid", "doc")


def go(words: Sequence[Word]) -> Iterator[Danger]:
    """Flags that go hands to the linker and compilers, and tools that do more than show something."""
    found = operands_of(words)
    if len(found) > 1 and words[found[0]].value == "tool" and words[found[1]].value not in _GO_TOOLS:
        yield Danger(found[0], Effect.RUNS, told("runs a tool"))
    for at, word in enumerate(words[1:], 1):
        if word.text.lstrip("-").startswith(("ldflags", "gcflags", "asmflags")):
            following = words[at + 1].text if at + 1 < len(words) else ""
            if "ext" in word.text or ("=" not in word.text and "ext" in following):
                yield Danger(at, Effect.RUNS, told("the linker runs a program"))


_CARGO = frozenset(
    "add bench build b check c clean clippy doc d fetch fix fmt generate-lockfile help info init install "
    "locate-project login logout metadata miri new nextest owner package pkgid publish read-manifest remove rm report "
    "run r rustc rustdoc search test t tree uninstall update vendor verify-project version yank audit deny expand "
    "outdated tarpaulin llvm-cov udeps machete".split()
)


def cargo(words: Sequence[Word]) -> Iterator[Danger]:
    """Subcommands that an alias or a program `cargo-NAME` may define."""
    found = operands_of(words)
    if found and words[found[0]].value not in _CARGO:
        yield Danger(found[0], Effect.RUNS, told("may be an alias or a program of that name"))


_CONTAINER_RISKS = frozenset(
    "run exec build buildx bake create cp commit import load save export plugin swarm push up compose-run login "
    "context".split()
)


def containers(words: Sequence[Word]) -> Iterator[Danger]:
    """What docker and its kin do under a second subcommand, or behind options."""
    found = operands_of(words, "fpHc")
    for number, at in enumerate(found[:3]):
        if words[at].value in _CONTAINER_RISKS:
            following = words[found[number + 1]].value if number + 1 < len(found) else ""
            if words[at].value in ("buildx", "context") and following in ("ls", "inspect", "du", "version", "show"):
                return
            effect = Effect.REACHES if words[at].value in ("push", "login", "plugin", "swarm") else Effect.RUNS
            yield Danger(at, effect, told("runs programs in containers, or writes files"))
            return


_KUBE_RISKS = frozenset(
    "exec run debug cp edit attach proxy port-forward apply create replace patch delete drain cordon taint scale "
    "expose annotate label set plugin certificate auth".split()
)


def kubectl(words: Sequence[Word]) -> Iterator[Danger]:
    """What kubectl changes, or runs in the cluster."""
    found = operands_of(words, "ns")
    is_question = [words[at].value for at in found[:2]] in (["auth", "can-i"], ["auth", "whoami"])
    if found and words[found[0]].value in _KUBE_RISKS and not is_question:
        effect = Effect.RUNS if words[found[0]].value in ("exec", "run", "debug", "plugin") else Effect.REACHES
        yield Danger(found[0], effect, told("runs programs in the cluster, or changes it"))
    if (
        len(found) > 1
        and words[found[0]].value == "config"
        and (words[found[1]].value or "").startswith(("set", "del"))
    ):
        yield Danger(found[1], Effect.RUNS, told("changes settings that can name programs"))


_GH_RISKS = frozenset(
    "auth:token auth:login auth:logout auth:refresh auth:setup-git codespace:ssh codespace:cp codespace:code "
    "secret:set secret:delete variable:set config:set gist:create gist:edit repo:create repo:delete repo:edit "
    "repo:archive repo:rename release:upload release:create release:delete release:download workflow:run "
    "workflow:disable ssh-key:add gpg-key:add pr:merge run:rerun run:cancel run:download run:delete "
    "extension:exec issue:delete issue:transfer label:delete cache:delete repo:sync repo:deploy-key".split()
)
_GH = frozenset(
    "auth browse codespace gist issue org pr project release repo cache run workflow alias api attestation config "
    "extension gpg-key label ruleset search secret ssh-key status variable version help completion".split()
)


def gh(words: Sequence[Word]) -> Iterator[Danger]:
    """What gh changes on the other side, and names that an extension or alias may have."""
    found = operands_of(words, "R")
    first = words[found[0]].value if found else "version"
    second = words[found[1]].value if len(found) > 1 else ""
    if first not in _GH:
        yield Danger(found[0], Effect.RUNS, told("may be an alias or an extension"))
    elif f"{first}:{second}" in _GH_RISKS:
        yield Danger(found[1], Effect.REACHES, told("changes what others see, or hands out a key"))
    if first == "api":
        yield from _gh_api(words)
    if (first, second) == ("repo", "clone"):
        for at, word in enumerate(words):
            if word.text.startswith(("-c", "--config", "-u", "--upload", "--template")):
                yield Danger(at, Effect.RUNS, told("hands git options that can run programs"))


def _gh_api(words: Sequence[Word]) -> Iterator[Danger]:
    fields = [value or "@" for _, value in _writes(words, "fF", ("--field", "--raw-field"), "XfFHqtp")]
    queries = [field for field in fields if field.startswith("query=")]
    is_read = bool(queries) and not any("mutation" in field or "@" in field for field in fields)
    if "graphql" in [word.text for word in words] and is_read:
        return
    for at, value in _writes(words, "XfF", ("--method", "--field", "--raw-field", "--input"), "XfFHqtp"):
        if (value or "").upper() != "GET":
            yield Danger(at, Effect.REACHES, told("sends data"))


def pytest(words: Sequence[Word]) -> Iterator[Danger]:
    """Plugins that are loaded; `-p no:NAME` leaves one out."""
    for at, value in _writes(words, "p", (), "kmpcnorW"):
        if value is None or not value.startswith("no:"):
            yield Danger(at, Effect.RUNS, told("loads code or writes files"))


def coverage(words: Sequence[Word]) -> Iterator[Danger]:
    """A module that is run under its eyes."""
    for at, word in enumerate(words[1:], 1):
        if word.text == "-m" and (words[at + 1].value if at + 1 < len(words) else None) not in _SAFE_MODULES:
            yield Danger(at, Effect.RUNS, told("runs or loads code given in its arguments"))


_SQL_COMMAND = re.compile(r"\\(?!(?:d[A-Za-z]*\+?|l\+?|x|conninfo|timing|du\+?|dt\+?|dn\+?)(?:\s|$))")
_SQL_REACHES = re.compile(
    r"\b(?:copy|program|into\s+(?:out|dump)file|lo_\w+|pg_\w*(?:file|read|write|ls)\w*|language|do|load|load_file|extension"
    r"|infile|source|system|tee|pager|edit)\b",
    re.IGNORECASE,
)


def sql(words: Sequence[Word]) -> Iterator[Danger]:
    """Commands of psql and mysql that run programs, load code or reach files; without any, standard input is read."""
    is_psql = words[0].text.endswith("psql")
    given = list(
        _writes(words, "c", ("--command",), "cdhpUfovLPFRT")
        if is_psql
        else _writes(words, "e", ("--execute",), "uhDPSe")
    )
    for at, value in given:
        if value is None or _SQL_COMMAND.search(value) or _SQL_REACHES.search(value):
            yield Danger(at, Effect.RUNS, told("runs commands"))
    looks = {"--version", "-V", "--help", "-?", "-l", "--list"} & {word.text for word in words}
    if not given and not looks:
        yield Danger(1, Effect.RUNS, told("takes its commands from standard input"))


_SQLITE_SAFE = frozenset("tables schema headers header mode databases indexes indices dump help quit width".split())


def sqlite(words: Sequence[Word]) -> Iterator[Danger]:
    """Commands of sqlite3 that run programs or write files; without any it reads them from standard input."""
    for at, word in enumerate(words[1:], 1):
        text = word.text
        if re.fullmatch(r"--?(?:cmd|init|A)(?:=.*)?", text):
            yield Danger(at, Effect.RUNS, told("runs commands"))
        for dotted in re.findall(r"(?:^|\n)[ \t]*\.(\w+)", text):
            if dotted not in _SQLITE_SAFE:
                yield Danger(at, Effect.RUNS, told(".{dotted} may run programs or write files", dotted=dotted))
        if re.search(r"load_extension|writefile|edit\s*\(|attach|fts3_tokenizer|vacuum\s+into", text, re.IGNORECASE):
            yield Danger(at, Effect.RUNS, told("loads code or writes a file"))
    if len(operands_of(words)) < 2 and not {"-version", "--version", "-help", "--help"} & {w.text for w in words}:
        yield Danger(1, Effect.RUNS, told("takes its commands from standard input"))


def compiler(words: Sequence[Word]) -> Iterator[Danger]:
    """Options that compilers hand on, and files of options."""
    for at, word in enumerate(words[1:], 1):
        if word.text.startswith(("-Wl,", "-Wa,", "-Wp,", "@")):
            yield Danger(at, Effect.RUNS, told("hands on options that can name programs or files"))


def ssh(words: Sequence[Word]) -> Iterator[Danger]:
    """A command for the other side."""
    found = operands_of(words, "bcDEeFIiJLlmOopQRSWw")
    if len(found) > 1:
        yield Danger(found[1], Effect.REACHES, told("runs a command on the other side"))
