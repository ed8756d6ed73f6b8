"""Programs that run the program named in their arguments, as data: how to find that one.

Pure: words in, the commands inside of them out. What isn't listed here is taken to run only itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dogu.workspace.shell_syntax import Part, PartKind, Word

SHELLS = frozenset("sh bash dash ash rbash ksh mksh zsh".split())
"""Shells whose `-c` text the grammar of bash reads rightly enough to judge."""

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


@dataclass(frozen=True)
class ShellText:
    """A text that a shell will read; `value` None when it can't be known."""

    value: str | None


Inner: TypeAlias = list[Word] | ShellText
UNKNOWN = ShellText(None)
_DATA = Word((Part(PartKind.VARIABLE, "..."),), "...")


@dataclass(frozen=True)
class Wrapper:
    """How a program is told what to run.

    `values` are options that take the next word as value, `skip` counts operands before the command, `assigns` takes
    `NAME=value` operands first, `shell` are options whose value is a text for a shell, `joins` means that all operands
    together are one, `inert` are options with which nothing is run, `adds` means that unknown arguments are appended,
    `each` that every operand is a text for a shell.
    """

    values: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    shell: frozenset[str] = frozenset()
    joins: bool = False
    inert: frozenset[str] = frozenset()
    adds: bool = False
    each: bool = False


def _wrapper(values: str = "", *, shell: str = "", inert: str = "", **more: bool | int) -> Wrapper:
    return Wrapper(frozenset(values.split()), shell=frozenset(shell.split()), inert=frozenset(inert.split()), **more)  # pyright: ignore[reportArgumentType]  (flags and one count)


_ARCHITECTURES = "x86_64 i386 i486 i586 i686 linux32 linux64 uname26 aarch64 armv7l ppc64le s390x"

WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper("-u --unset -C --chdir -a --argv0", shell="-S --split-string", assigns=True),
    "command": _wrapper(inert="-v -V -pv -pV"),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "nohup": _wrapper(),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c --class -n --classdata", inert="-p --pid -P --pgid -u --uid"),
    "chrt": _wrapper("-T -P -D", skip=1, inert="-p --pid -m --max"),
    "taskset": _wrapper(skip=1, inert="-p --pid"),
    "numactl": _wrapper("-i -m -N -C -l -p", inert="-H --hardware -s --show"),
    "prlimit": _wrapper("-p --pid"),
    "choom": _wrapper("-n --adjust -p --pid"),
    "cpulimit": _wrapper("-l -p -e"),
    "timeout": _wrapper("-s --signal -k --kill-after", skip=1),
    "stdbuf": _wrapper("-i --input -o --output -e --error"),
    "setsid": _wrapper(),
    "setarch": _wrapper(),
    "sudo": _wrapper(
        "-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot",
        assigns=True,
        inert="-l --list -v --validate -k -K -V -e --edit",
    ),
    "doas": _wrapper("-u -C", assigns=True),
    "pkexec": _wrapper("--user"),
    "chroot": _wrapper(skip=1),
    "unshare": _wrapper("-S --setuid -G --setgid -R --root -w --wd --propagation --setgroups --kill-child -l"),
    "nsenter": _wrapper("-t --target -S --setuid -G --setgid -W --wdns"),
    "setpriv": _wrapper("--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig"),
    "capsh": _wrapper(each=True),
    "flock": _wrapper("-w --wait --timeout -E --conflict-exit-code", skip=1, shell="-c --command"),
    "script": _wrapper("-E -I -O -B -T -o -m", shell="-c --command"),
    "watch": _wrapper("-n --interval -q --equexit", joins=True),
    "time": _wrapper("-f --format -o --output"),
    "strace": _wrapper("-e -o -s -a -P -u -E -b -p -I -O -S -U -X", inert="-V --version"),
    "ltrace": _wrapper("-e -o -s -a -u -p -n -A -D -l -x"),
    "perf": _wrapper("-e -o -F -p -C"),
    "valgrind": _wrapper(),
    "catchsegv": _wrapper(),
    "xvfb-run": _wrapper("-e -f -n -p -s -w"),
    "dbus-run-session": _wrapper("--config-file --dbus-daemon"),
    "dbus-launch": _wrapper(),
    "systemd-run": _wrapper("-p -u -M -H --property --unit --slice --uid --gid"),
    "systemd-inhibit": _wrapper(),
    "firejail": _wrapper(),
    "proot": _wrapper("-r -b -w -q"),
    "fakeroot": _wrapper("-l -s -i -b"),
    "faketime": _wrapper("-f", skip=1),
    "eatmydata": _wrapper(),
    "rlwrap": _wrapper("-f -b -H -C -D -l -p -P -q -s -S -t -w"),
    "unbuffer": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "torsocks": _wrapper(),
    "proxychains": _wrapper("-f"),
    "proxychains4": _wrapper("-f"),
    "busybox": _wrapper(inert="--list --list-full --help"),
    "toybox": _wrapper(),
    "ifne": _wrapper(),
    "chronic": _wrapper(),
    "pee": _wrapper(each=True),
    "mispipe": _wrapper(each=True),
    "parallel": _wrapper(
        "-j --jobs -a --arg-file -I -n -N -S --colsep --delay --timeout --joblog", adds=True, joins=True
    ),
    "xargs": _wrapper(
        "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars -R -J", adds=True
    ),
    "run-one": _wrapper(),
    "softlimit": _wrapper(),
    "chpst": _wrapper("-u -U -b -e -n -l -L -m -d -o -p -f -c -t"),
    "setuidgid": _wrapper(skip=1),
    "su-exec": _wrapper(skip=1),
    "gosu": _wrapper(skip=1),
    "su": _wrapper("-s --shell -g -G", shell="-c --command --session-command"),
    "runuser": _wrapper("-u -g -G -s", shell="-c --command --session-command"),
    "sg": _wrapper(skip=1, shell="-c", joins=True),
    "dumb-init": _wrapper(),
    "tini": _wrapper("-p -e"),
    **{name: _wrapper() for name in _ARCHITECTURES.split()},
}

_CALLBACKS = _wrapper("-d -n -O -s -u -c", shell="-C")
_FINDS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_BATCHES = frozenset(("-x", "--exec", "-X", "--exec-batch"))
_LOADER = _wrapper("--library-path --preload --audit --argv0")
_IS_LOADER = re.compile(r"ld(?:-linux|-musl)?[^/]*\.so[^/]*")


def inner_commands(name: str, words: Sequence[Word]) -> list[Inner]:
    """Return what the command `words`, whose program is `name`, would run besides itself; most often nothing."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    wrapper = WRAPPERS.get(name) or (_LOADER if _IS_LOADER.fullmatch(name) else None)
    if wrapper is None:
        return []
    return _wrapped(wrapper, _with_data(words) if wrapper.adds else words)


def _wrapped(wrapper: Wrapper, words: Sequence[Word]) -> list[Inner]:
    at = 1
    while at < len(words):
        value = words[at].value
        if value is None:
            return [UNKNOWN]
        if not value.startswith("-") or value == "-":
            break
        at += 1
        if value == "--":
            break
        option, equals, attached = value.partition("=")
        if option in wrapper.inert:
            return []
        shell_text = _shell_option(wrapper, option, equals, attached, words[at : at + 1])
        if shell_text is not None:
            return [shell_text]
        if not equals and option in wrapper.values:
            at += 1
    return _operands(wrapper, words[at:])


def _with_data(words: Sequence[Word]) -> list[Word]:
    """Put what can't be known where xargs would put data: in place of the text that `-I` names."""
    texts = [word.text for word in words]
    marks = [texts[at + 1] for at, text in enumerate(texts[:-1]) if text in ("-I", "-J")]
    marks += [text[2:] or "{}" for text in texts if text.startswith(("-I", "-i")) and text != "-I"]
    marks += [text.partition("=")[2] or "{}" for text in texts if text.startswith("--replace")]
    if not marks:
        return list(words)
    options = {at for at, text in enumerate(texts) if text.startswith("-") or texts[at - 1] in ("-I", "-J")}
    return [
        _DATA if at not in options and any(mark in word.text for mark in marks) else word
        for at, word in enumerate(words)
    ]


def _shell_option(
    wrapper: Wrapper, option: str, equals: str, attached: str, following: Sequence[Word]
) -> ShellText | None:
    """The text that an option such as `-c` or a cluster such as `-qc` hands to a shell."""
    if option in wrapper.shell:
        return ShellText(attached if equals else following[0].value if following else None)
    short = {each[1] for each in wrapper.shell if len(each) == 2}
    if not option.startswith("--") and short and option[-1] in short:
        return ShellText(following[0].value if following else None)
    return None


def _operands(wrapper: Wrapper, words: Sequence[Word]) -> list[Inner]:
    rest = list(words)
    while wrapper.assigns and rest and _ASSIGNMENT.match(rest[0].text):
        rest.pop(0)
    del rest[: wrapper.skip]
    if wrapper.shell and rest and (rest[0].value or "") in wrapper.shell:
        return [ShellText(rest[1].value if len(rest) > 1 else None)]
    if not rest:
        return []
    if wrapper.each:
        return [ShellText(word.value) for word in rest]
    if wrapper.joins:
        return _joined(rest)
    return [[*rest, _DATA] if wrapper.adds and _runs_more(rest[0]) else rest]


def _runs_more(word: Word) -> bool:
    """Whether what follows the word may be code: then appended data counts."""
    name = (word.value or "").rpartition("/")[2]
    return name in SHELLS or name in WRAPPERS or name in ("eval", "find")


def _joined(words: Sequence[Word]) -> list[Inner]:
    if not words:
        return []
    values = [word.value for word in words]
    return [ShellText(None if None in values else " ".join(value or "" for value in values))]


def _shell(words: Sequence[Word]) -> list[Inner]:
    """`sh -c TEXT`; without `-c` a script, whose content can't be known (standard input is the judge's to look at)."""
    takes_text, is_interactive = False, False
    at = 1
    while at < len(words):
        value = words[at].value
        if value in ("--version", "--help"):
            return []
        if value is None or (value.startswith("--") and value not in _HARMLESS_SHELL_OPTIONS):
            return [UNKNOWN]
        if not value.startswith(("-", "+")) or len(value) == 1:
            break
        if not value.startswith("--"):
            takes_text = takes_text or ("c" in value and value[0] == "-")
            is_interactive = is_interactive or "i" in value
            at += value[-1] in "oO"
        at += 1
    if not takes_text or at >= len(words):
        return [UNKNOWN]
    text = ShellText(words[at].value)
    return [text, UNKNOWN] if is_interactive or text.value is None else [text]


_HARMLESS_SHELL_OPTIONS = frozenset(("--", "--norc", "--noprofile", "--posix", "--login", "--restricted", "--verbose"))


def _trap(words: Sequence[Word]) -> list[Inner]:
    operands = [word for word in words[1:] if word.value != "--"]
    if not operands or (operands[0].value or "") in ("-l", "-p", "-", ""):
        return [UNKNOWN] if operands and operands[0].value is None else []
    return [ShellText(operands[0].value)] if len(operands) > 1 else []


def _found(words: Sequence[Word]) -> list[Inner]:
    found: list[Inner] = []
    at = 1
    while at < len(words):
        if words[at].value in _FINDS:
            start = at + 1
            while at < len(words) and words[at].text not in (";", "+"):
                at += 1
            found.append(list(words[start:at]) or UNKNOWN)
        at += 1
    return found


def _batched(words: Sequence[Word]) -> list[Inner]:
    for at, word in enumerate(words):
        option, equals, attached = (word.value or "").partition("=")
        if option in _BATCHES:
            return [[Word.literal(attached), *words[at + 1 :]] if equals else list(words[at + 1 :]) or UNKNOWN]
    return []


def _debugger(words: Sequence[Word]) -> list[Inner]:
    found: list[Inner] = []
    for at, word in enumerate(words[1:], 1):
        option, equals, attached = (word.value or "").lstrip("-").partition("=")
        if option in ("ex", "eval-command", "iex", "init-eval-command", "x", "command"):
            value = attached if equals else words[at + 1].value if at + 1 < len(words) else None
            text = re.match(r"\s*(?:!|shell\s)(.*)", value or "", re.DOTALL)
            found.append(ShellText(text[1]) if text else UNKNOWN)
        if option == "args":
            found.append(list(words[at + 1 :]))
            break
    return found


def _evaluated(words: Sequence[Word]) -> list[Inner]:
    return _joined(words[1:])


def _called_back(words: Sequence[Word]) -> list[Inner]:
    return [inner for inner in _wrapped(_CALLBACKS, words) if isinstance(inner, ShellText)]


_SPECIAL: dict[str, Callable[[Sequence[Word]], list[Inner]]] = {
    **dict.fromkeys(SHELLS, _shell),
    "eval": _evaluated,
    "trap": _trap,
    "find": _found,
    **dict.fromkeys(("fd", "fdfind"), _batched),
    **dict.fromkeys(("mapfile", "readarray"), _called_back),
    "gdb": _debugger,
}
