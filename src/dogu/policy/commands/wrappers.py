"""The commands inside of a command: what a wrapper runs besides itself.

Pure: words in, the commands inside of them out. What isn't listed here is taken to run only itself.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from dogu.policy.commands.elsewhere import Elsewhere, Place, find_place
from dogu.policy.commands.inner import DATA, SHELLS, UNKNOWN, Inner, ShellText, Tool, shell_text
from dogu.policy.commands.table import find_program
from dogu.policy.commands.wrapper_table import RUNNERS, WRAPPERS, Wrapper, wrapper
from dogu.workspace.shell_syntax import Part, PartKind, Word

_CALLBACKS = wrapper("-d -n -O -s -u -c", shell="-C")
_FINDS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_BATCHES = frozenset(("-x", "--exec", "-X", "--exec-batch"))
_SWITCH = wrapper("-s --shell -g -G -u --user -w", shell="-c --command --session-command")
_PARALLEL = wrapper(
    "-j --jobs -a --arg-file -I -n -N -S --colsep --delay --timeout --joblog -P -L -d --tmpdir --results "
    "--retries --env --workdir --wd --halt --load --memfree --max-args --max-lines --max-procs --basefile --bf "
    "--sshlogin --sshloginfile --slf --tempdir --block --recstart --recend --nice --return --rpl --seqreplace "
    "--arg-sep --arg-file-sep -E --max-chars -s --profile -J --tagstring --termseq --memsuspend --limit --trc "
    "--compress-program"
)
_PACKAGE_RUN = wrapper("-p --package", shell="-c --call")
_LOADER = wrapper("--library-path --preload --audit --argv0")
_GOES_TO = (
    "--chdir",
    "--directory",
    "--dir",
    "--cwd",
    "--prefix",
    "--project",
    "--wd",
    "--workdir",
    "--base-directory",
)
_SPLIT_ITS_WAY = re.compile(r"[\\$#\v\f\r]")
# xargs that puts data in place of a text alone, whatever of its options stand before: none that would undo it behind.
_REPLACES = re.compile(r"\S+ (?:(?:-[r0t]+|-P\d+|--null|--no-run-if-empty) )*-I ?[^\s-]+ (?!-)")
_IS_LOADER = re.compile(r"ld(?:-linux|-musl)?[^/]*\.so[^/]*")


def inner_commands(name: str, words: Sequence[Word]) -> list[Inner]:
    """Return what the command `words`, whose program is `name`, would run besides itself; most often nothing."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    found_place = find_place(name, words)
    if found_place is not None:
        return _elsewhere(found_place[0], words[found_place[1] - 1 :])
    runner = RUNNERS.get(name)
    if runner is not None:
        return _run_by(name, *runner, words)
    found = WRAPPERS.get(name) or (_LOADER if _IS_LOADER.fullmatch(name) else None)
    if found is None:
        return _of_unknown(words) if find_program(name) is None else []
    if found.adds:
        words, found = _with_data(words), replace(found, adds=_REPLACES.match(f"{_in_a_row(words)} ") is None)
    return _both_ways(found, _options_with_values(name, ""), words)


def _in_a_row(words: Sequence[Word]) -> str:
    """The words, each of which is one behind the other only where it holds no blank."""
    return " ".join(word.text if not re.search(r"\s", word.text) else "-" for word in words[:8])


def _elsewhere(place: Place, words: Sequence[Word]) -> list[Inner]:
    """The command for elsewhere, after a word that stands for the program."""
    command: list[Word] = []
    marks = [at for at, word in enumerate(words) if word.text == "--"] if place.is_marked else []
    if marks:
        return [Elsewhere(list(words[marks[0] + 1 :]))] if words[marks[0] + 1 :] else []
    for inner in _wrapped(place.how, words):
        if not isinstance(inner, list):
            return [UNKNOWN]
        start = next((at for at, word in enumerate(inner) if not word.text.startswith("-")), len(inner))
        command = inner if place.entry else inner[start:]
    for at, word in enumerate(words if place.entry else ()):
        option, equals, attached = word.text.partition("=")
        if option == place.entry:
            command = [Word.literal(attached) if equals else words[min(at + 1, len(words) - 1)], *command]
            break
    runs_something = bool(command) or words[0].text == "run"  # a container's own program, where none is named
    return [Elsewhere(command, place.is_text)] if runs_something else []


@cache
def _options_with_values(name: str, subcommand: str) -> frozenset[str]:
    """What the table of programs says of an option's next word, beside the row of wrappers."""
    block = find_program(name)
    grammar = None if block is None else block.subcommand(subcommand) if subcommand else block.grammar
    return frozenset(each.name for each in grammar.options.values() if each.takes == "=") if grammar else frozenset()


def _both_ways(how: Wrapper, values: frozenset[str], words: Sequence[Word]) -> list[Inner]:
    """What is run, and what would be if the table's word on options held: where the two differ, both."""
    found = _wrapped(how, words)
    more = values - how.values - how.shell - how.splits - how.inert
    also = _wrapped(replace(how, values=how.values | more), words) if more else []
    return found + [each for each in also if each not in found]


def _run_by(name: str, subcommands: str, how: Wrapper, words: Sequence[Word]) -> list[Inner]:
    operands = [at for at, word in enumerate(words) if at and not (word.value or "").startswith("-")]
    # An option's value may stand before the subcommand: it is looked for among the first few operands.
    start = next((at for at in operands[:3] if words[at].value in subcommands.split()), None)
    if start is None:
        return _of_unknown(words) if find_program(name) is None else _tool_itself(words, operands[:3])
    found = _both_ways(how, _options_with_values(name, words[start].text), words[start:])
    mark = next((at for at, word in enumerate(words) if at > start and word.text == "--"), len(words))
    behind = list(words[mark + 1 :])
    if behind and not any(isinstance(each, list) and _is_wrapper(each[0]) for each in found):
        # What stands before `--` may be the runner's own, and is no program then that runs the rest.
        end = -len(behind) - 1
        found = [(each[:end] or each) if isinstance(each, list) and not _is_known(each[0]) else each for each in found]
        found.append(behind)
    return [Tool(each) if isinstance(each, list) else each for each in found]


def _tool_itself(words: Sequence[Word], operands: Sequence[int]) -> list[Inner]:
    """A tool called as a subcommand, as in `yarn jest`, before any other: its options are its own."""
    runner = find_program((words[0].value or "").rpartition("/")[2])
    for at in operands:
        if runner is not None and runner.parents(words[at].value or ""):  # `npm pkg get`
            break
        tool = find_program(words[at].value or "")
        if tool is not None and tool.is_tool:
            return [Tool(list(words[at:]))]
        if runner is None or runner.subcommand(words[at].value or "") is not None:
            break
    return []


def _of_unknown(words: Sequence[Word]) -> list[Inner]:
    """What a program of which nothing is known may run: what stands behind `--`, or behind a word that says so."""
    mark = next((at for at, word in enumerate(words) if word.text == "--"), len(words))
    behind = words[mark + 1 :]
    if not behind:
        operands = [at for at, word in enumerate(words) if at and not (word.value or "").startswith("-")][:3]
        says = next((at for at in operands if words[at].value in _RUNS_WHAT_FOLLOWS), len(words))
        behind = words[says + 1 :]
    is_command = bool(behind) and not (behind[0].value or "-").startswith("-")
    return [Tool(list(behind))] if is_command or (behind and mark == len(words)) else []


_RUNS_WHAT_FOLLOWS = frozenset(("exec", "ssh", "shell"))


def _is_known(word: Word) -> bool:
    return find_program((word.value or "").rpartition("/")[2]) is not None


def _is_wrapper(word: Word) -> bool:
    name = (word.value or "").rpartition("/")[2]
    return name in RUNNERS or name in WRAPPERS or name in _SPECIAL


def _wrapped(wrapper: Wrapper, words: Sequence[Word]) -> list[Inner]:
    at = 1
    while at < len(words):
        value = words[at].value
        if value is None:
            return [UNKNOWN]
        if value == "-" and wrapper.assigns:
            at += 1
            continue
        if not value.startswith("-") or value == "-":
            break
        at += 1
        if value == "--":
            break
        step = _option(wrapper, value, words[at:])
        if not isinstance(step, int):
            return step
        at += step
    return _operands(wrapper, words[at:])


def _option(wrapper: Wrapper, value: str, following: Sequence[Word]) -> list[Inner] | int:
    """How many more words the option takes; or what it runs, when that settles it."""
    option, equals, attached = value.partition("=")
    if option in wrapper.inert:
        return []
    if _is_one_of(option, wrapper.splits) and len(option) > 2:
        text = attached if equals else following[0].value if following else None
        return _split(wrapper, text, following if equals else following[1:])
    if value.startswith("--"):
        if _is_one_of(option, wrapper.shell):
            return [ShellText(attached if equals else following[0].value if following else None)]
        return 0 if equals or not _is_one_of(option, wrapper.values) else 1
    if option in wrapper.values and len(option) > 2:
        return 0 if equals else 1
    return _cluster_option(wrapper, value, following)


def _cluster_option(wrapper: Wrapper, value: str, following: Sequence[Word]) -> list[Inner] | int:
    """The same for a word of short options, such as `-nu`."""
    for place, letter in enumerate(value[1:], 2):
        short = f"-{letter}"
        if short in wrapper.inert:
            return []
        rest = value[place:]
        if short in wrapper.splits:
            text = rest or (following[0].value if following else None)
            return _split(wrapper, text, following if rest else following[1:])
        if short in wrapper.shell:
            return [ShellText(rest.removeprefix("=") or (following[0].value if following else None))]
        if short in wrapper.values:
            return 0 if rest else 1
    return 0


def _split(wrapper: Wrapper, text: str | None, rest: Sequence[Word]) -> list[Inner]:
    """What `env -S TEXT` runs: it splits the text by rules of its own, and reads options in it too."""
    if text is None or _SPLIT_ITS_WAY.search(text):
        return [UNKNOWN]
    try:
        words = shlex.split(text)
    except ValueError:
        return [UNKNOWN]
    return _wrapped(wrapper, [DATA, *map(Word.literal, words), *rest])


def _is_one_of(option: str, options: frozenset[str]) -> bool:
    """Whether a long option is among these, abbreviated perhaps."""
    return option in options or any(each.startswith(option) for each in options if len(option) > 2)


_ANY = Part(PartKind.VARIABLE, "...", quoted=True)


def _with_data(words: Sequence[Word]) -> list[Word]:
    """Put what can't be known where xargs would put data: in place of the text that `-I` names."""
    texts = [word.text for word in words]
    marks = [texts[at + 1] for at, text in enumerate(texts[:-1]) if text in ("-I", "-J")]
    marks += [text[2:] or "{}" for text in texts if text.startswith(("-I", "-i")) and text != "-I"]
    marks += [text.partition("=")[2] or "{}" for text in texts if text.startswith("--replace")]
    if not marks:
        return list(words)
    options = {at for at, text in enumerate(texts) if text.startswith("-") or texts[at - 1] in ("-I", "-J")}
    return [word if at in options else _holding_data(word, marks) for at, word in enumerate(words)]


def _holding_data(word: Word, marks: Sequence[str]) -> Word:
    """The word with what can't be known in place of a mark; what it begins with stays."""
    found = [word.text.find(mark) for mark in marks if mark in word.text]
    if not found:
        return word
    begins = word.text[: min(found)] if word.is_plain and not word.has_glob else ""
    return Word((Part(PartKind.LITERAL, begins, quoted=True), _ANY), word.raw) if begins else DATA


def _operands(wrapper: Wrapper, words: Sequence[Word]) -> list[Inner]:
    rest = list(words)
    while wrapper.assigns and rest and "=" in rest[0].text:
        rest.pop(0)
    del rest[: wrapper.skip]
    if wrapper.shell and rest and (rest[0].value or "") in wrapper.shell:
        return [ShellText(rest[1].value if len(rest) > 1 else None)]
    if not rest:
        return []
    if wrapper.each:
        return [_each(word) for word in rest]
    if wrapper.joins:
        return _joined(rest)
    return [[*rest, DATA, DATA, DATA] if wrapper.adds else rest]


def _each(word: Word) -> Inner:
    """A text of its own, or a project's task by its runner's name: `npm:dev:*`."""
    task = re.fullmatch(r"(npm|pnpm|yarn|bun):([\w:*-]+)", word.value or "")
    return [Word.literal(each) for each in (task[1], "run", task[2])] if task is not None else ShellText(word.value)


def _joined(words: Sequence[Word]) -> list[Inner]:
    if not words:
        return []
    values = [word.value for word in words]
    return [ShellText(None if None in values else " ".join(value or "" for value in values))]


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
            command = [DATA if "{}" in word.text else word for word in words[start:at]]
            found.append(command or UNKNOWN)
        at += 1
    return found


def _batched(words: Sequence[Word]) -> list[Inner]:
    """What fd runs: a command a name, up to a `;`, with the name where braces are or behind it."""
    found: list[Inner] = []
    at = 1
    while at < len(words):
        option, equals, attached = words[at].text.partition("=")
        at += 1
        if option not in _BATCHES:
            if re.match(r"-[A-Za-z0-9]*[xX]|--exec", option):  # attached, or in a cluster
                return [UNKNOWN]
            continue
        end = next((place for place in range(at, len(words)) if words[place].text == ";"), len(words))
        given = [Word.literal(attached), *words[at:end]] if equals else words[at:end]
        command = [DATA if "{" in word.text else word for word in given]
        has_name = any(word is DATA for word in command)
        found.append([*command, *(() if has_name else (DATA,))] if command else UNKNOWN)
        at = end + 1
    return found


_BUBBLEWRAP_TWO = frozenset(
    "--setenv --bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --bind-fd --ro-bind-fd --overlay-src "
    "--file --bind-data --ro-bind-data --symlink --chmod".split()
)
_BUBBLEWRAP_NONE = frozenset(
    "--help --version --new-session --die-with-parent --as-pid-1 --clearenv --disable-userns "
    "--assert-userns-disabled".split()
)


def _bubblewrapped(words: Sequence[Word]) -> list[Inner]:
    """`bwrap`, whose options take one value, two, or none."""
    at = 1
    while at < len(words):
        value = words[at].value
        if value is None:
            return [UNKNOWN]
        if not value.startswith("-"):
            break
        at += 1
        if value == "--":
            break
        if value not in _BUBBLEWRAP_NONE and not value.startswith(("--unshare-", "--share-")):
            at += 2 if value in _BUBBLEWRAP_TWO else 3 if value == "--overlay" else 1
    return [list(words[at:])] if at < len(words) else []


def _nix_shell(words: Sequence[Word]) -> list[Inner]:
    """`nix-shell --run TEXT`; without, a shell that reads standard input."""
    found = [
        ShellText(words[at + 1].value if at + 1 < len(words) else None)
        for at, word in enumerate(words)
        if word.text in ("--run", "--command")
    ]
    return [*found] or [UNKNOWN]


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


def _switched(words: Sequence[Word]) -> list[Inner]:
    """`su`, whose options may follow the user's name."""
    for at, word in enumerate(words[1:], 1):
        found = _option(_SWITCH, word.value or "", words[at + 1 :]) if (word.value or "").startswith("-") else 0
        if not isinstance(found, int):
            return found
    return _wrapped(_SWITCH, words) if words[0].text.endswith("runuser") else [UNKNOWN]


def _parallel(words: Sequence[Word]) -> list[Inner]:
    """GNU parallel: a command before `:::` or none, and then its arguments are commands."""
    marks = [at for at, word in enumerate(words) if word.text in (":::", "::::", ":::+", "::::+")]
    end = marks[0] if marks else len(words)
    found = _wrapped(_PARALLEL, words[:end])
    if not found:
        arguments = [word for word in words[end + 1 :] if word.text != ":::"]
        is_listed = bool(marks) and words[end].text == ":::"
        return [ShellText(word.value) for word in arguments] if is_listed and arguments else [UNKNOWN]
    command = found[0]
    if not isinstance(command, list):
        return found
    if len(command) == 1:
        listed = [word for word in words[end + 1 :] if word.text not in (":::", ":::+")]
        if marks and words[end].text == ":::" and re.fullmatch(r"[\w.+-]+", command[0].value or ""):
            return [[command[0], *listed]]
        return [UNKNOWN] if command[0].text.startswith("{") else [ShellText(command[0].value)]
    if not all(map(_is_one_word, command)):  # it is read by a shell, and Perl's code in it by Perl
        return [UNKNOWN]
    seen = [DATA if "{" in word.text else word for word in command]
    return [[*seen, DATA, DATA, DATA]]


def _is_one_word(word: Word) -> bool:
    """Whether a shell that reads the word again finds one in it, with no code."""
    return word.value is not None and re.fullmatch(r"(?:[\w@%+=:,./-]|\{[\w./#%]*\})*", word.value) is not None


def _package_run(words: Sequence[Word]) -> list[Inner]:
    """What a package runner starts: the project's own, unless it is excluded."""
    found = _wrapped(_PACKAGE_RUN, words)
    if words[0].text.endswith("pipx") and found and isinstance(found[0], list):
        found = [found[0][1:]] if found[0][0].value == "run" and found[0][1:] else []
    return [Tool(_as_program(each)) if isinstance(each, list) else each for each in found]


def _as_program(words: list[Word]) -> list[Word]:
    """The words with the program's own name, where its package has another: `@biomejs/biome`."""
    name = words[0].value or ""
    is_known = name.startswith("@") and find_program(name) is not None
    return [Word.literal(name.rpartition("/")[2]), *words[1:]] if is_known else words


def _bisected(words: Sequence[Word]) -> list[Inner]:
    """`git bisect run COMMAND`."""
    values = [word.value for word in words[:8]]
    at = values.index("bisect") if "bisect" in values else len(values)
    return [Tool(list(words[at + 2 :]))] if values[at + 1 : at + 2] == ["run"] and words[at + 2 :] else []


def _evaluated(words: Sequence[Word]) -> list[Inner]:
    has_mark = len(words) > 1 and words[1].value == "--"
    return _joined(words[2 if has_mark else 1 :])


def _called_back(words: Sequence[Word]) -> list[Inner]:
    return [inner for inner in _wrapped(_CALLBACKS, words) if isinstance(inner, ShellText)]


def run_in_a_folder(words: Sequence[Word], found: Sequence[Inner]) -> bool:
    """Whether one of the words before a command that they run says where to run it: `env -C FOLDER git log`."""
    runs = [each.words if isinstance(each, Tool) else each if isinstance(each, list) else [] for each in found]
    begins = {id(run[0]) for run in runs if run}
    known = [at for at, word in enumerate(words) if id(word) in begins]
    end = (known[-1] if len(known) >= len(begins) else len(words)) if begins else 0
    return any(_names_a_folder(word.text) for word in words[1:end])


def _names_a_folder(option: str) -> bool:
    name = option.partition("=")[0]
    is_long = name.startswith("--") and len(name) > 3 and any(each.startswith(name) for each in _GOES_TO)
    return is_long or name in ("-execdir", "-okdir") or re.match(r"-[a-z0]*[CD](?!\d)", option) is not None


_SPECIAL: dict[str, Callable[[Sequence[Word]], list[Inner]]] = {
    **dict.fromkeys(SHELLS, shell_text),
    "eval": _evaluated,
    "trap": _trap,
    "find": _found,
    **dict.fromkeys(("fd", "fdfind"), _batched),
    **dict.fromkeys(("mapfile", "readarray"), _called_back),
    "gdb": _debugger,
    "bwrap": _bubblewrapped,
    "nix-shell": _nix_shell,
    **dict.fromkeys(("su", "runuser"), _switched),
    "parallel": _parallel,
    "git": _bisected,
    **dict.fromkeys(("npx", "bunx", "pipx", "uvx"), _package_run),
}
