"""What a text brings into the workspace itself, from another machine or an archive, and then runs or writes to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import basename, normpath

from dogu.language import told
from dogu.policy.commands.dangers import program_called
from dogu.policy.commands.inner import SHELLS
from dogu.workspace.shell_syntax import Command, Script, Word

_FETCHES = frozenset(("curl", "wget"))
_BUILDS = frozenset("docker podman docker-compose pip pip3 go yarn bundle composer configure cmake meson deno".split())
"""Programs besides runners, interpreters and a project's tools that run what a folder holds."""


def danger_of_what_it_brings(script: Script) -> str:
    """Say what a text does with what it brings that needs a question; '' when nothing."""
    return _runs_what_it_fetched(script) or _builds_what_it_brought(script) or _writes_into_what_it_unpacked(script)


def _runs_what_it_fetched(script: Script) -> str:
    """Say which file of another machine's the text runs, which it has fetched itself; '' when none."""
    fetched = {basename(each) for command in script.commands for each in _fetched_to(command)} - {""}
    for command in script.commands if fetched else ():
        texts = [word.text for word in command.words]
        if _program(command) in ("cp", "mv", "ln", "install") and fetched & set(map(basename, texts)):
            fetched.add(basename(texts[-1]))
    for command in script.commands if fetched else ():
        runs = False  # an interpreter, behind `timeout 5` perhaps
        for word in command.words:
            if runs and basename(word.text) in fetched:
                return told("it runs {path}, which it has fetched", path=word.text[:40])
            name = basename(word.value or "")
            runs |= name in _BUILDS or _runs_a_file(name)
    return next((found for each in script.commands if (found := _applies_what_it_fetches(each))), "")


def _applies_what_it_fetches(command: Command) -> str:
    """Say that git changes files as another machine says, by a pipe; '' when it doesn't."""
    source = command.piped_from
    while source is not None and _program(source) not in _FETCHES:
        source = source.piped_from
    applies = {"apply", "am"} & {word.text for word in command.words[1:4]}
    return told("writes or removes files") if source is not None and _program(command) == "git" and applies else ""


def _runs_a_file(name: str) -> bool:
    block = program_called(name)
    return name in SHELLS or name in ("source", ".") or (block is not None and block.runs_scripts)


def _builds_what_it_brought(script: Script) -> str:
    """Say which folder the text builds or runs something in that it cloned, or fetched and unpacked; '' when none."""
    fetches = any(_program(command) in _FETCHES for command in script.commands)
    folders: set[str] = set()
    within = ""
    for command in script.commands:
        texts = [word.text for word in command.words]
        places = [normpath(each.rpartition("=")[2]) for each in texts]
        named = next((each for each in places for folder in folders if _is_below(each, folder)), "")
        if _program(command) in ("cd", "pushd"):
            within = within or named
        elif (named or within) and (any(map(_builds, texts)) or "/" in "".join(texts[:1])):
            return told("it runs {path}, which it has fetched", path=(named or within)[:40])
        cloned = set(map(normpath, _cloned_to(texts)))
        within = within or ("." if "." in cloned or _fetches_by_address(texts) else "")
        folders |= (cloned | set(map(normpath, _unpacked_to(command) if fetches else ()))) - {"."}
    return ""


def _fetches_by_address(texts: Sequence[str]) -> bool:
    """Whether git is told of another repository by its address, or its path, whose files it may lay down here."""
    is_told = texts[:1] == ["git"] and not _TAKES_FROM.isdisjoint(texts[1:4])
    return is_told and any(re.match(r"[\w+.-]+://|[\w.-]+@[\w.-]+:|\.{0,2}/|\.\.$", each) for each in texts[2:])


_TAKES_FROM = frozenset(("fetch", "pull", "remote", "submodule"))


def _builds(text: str) -> bool:
    """Whether a word is a program that runs what the folder or file holds that it is called for."""
    name = basename(text)
    block = program_called(name)
    return name in _BUILDS or _runs_a_file(name) or (block is not None and (block.has_tasks or block.is_tool))


def _is_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")


def _cloned_to(texts: Sequence[str]) -> Iterator[str]:
    """The folder of a clone: the last word, or what its address ends in."""
    is_hub = texts[:3] == ["gh", "repo", "clone"]
    if is_hub or texts[:2] == ["git", "clone"]:
        is_address = len(texts) == 4 if is_hub else re.search("[:@]", texts[-1]) is not None
        yield basename(texts[-1].rstrip("/")).removesuffix(".git") if is_address else texts[-1]


def _program(command: Command) -> str:
    return basename(command.words[0].value or "") if command.words else ""


def _fetched_to(command: Command) -> Iterator[str]:
    """The files that curl and wget are told to write, or that tee writes of what they print."""
    texts = [word.text for word in command.words]
    if _program(command) == "tee" and command.piped_from is not None and _program(command.piped_from) in _FETCHES:
        yield from texts[1:]
    if _program(command) not in _FETCHES:
        return
    yield from _redirected_to(command)
    yield from _values_of(texts, r"-[A-Za-z#0-9]*[oO](?P<short>.*)|--output(?:-document)?(?:=(?P<long>.*))?$")


def _writes_into_what_it_unpacked(script: Script) -> str:
    """Say which place the text writes to in a folder that it unpacks to, which may bring links; '' when none."""
    unpacked = [normpath(each) for command in script.commands for each in _unpacked_to(command)]
    folders = set(unpacked) - {"."}
    if not folders:
        return ""
    twice = next((each for each in unpacked if each != "." and unpacked.count(each) > 1), "")
    if twice:
        return told("it writes to {target}", target=twice[:40])
    gone = [word.text for each in script.commands if _program(each) in ("cd", "pushd") for word in each.words[1:]]
    is_within = any(_is_below(normpath(each), folder) for each in gone for folder in folders)
    for text in (each for command in script.commands for each in _written_by(command)):
        place = normpath(text)
        is_below = any(place.startswith(f"{folder}/") for folder in folders)
        if is_below or (is_within and place not in folders and not place.startswith("/")):
            return told("it writes to {target}", target=text[:40])
    return ""


def _unpacked_to(command: Command) -> Iterator[str]:
    """The folders that tar and unzip are told to write to."""
    if not unpacks(_program(command), command.words):
        return
    texts = [word.text for word in command.words]
    yield from _values_of(texts, r"-[A-Za-z]*?[Cd](?P<short>.*)|--dir[a-z]*(?:=(?P<long>.*))?$")


def _values_of(texts: Sequence[str], pattern: str) -> Iterator[str]:
    """The values of options that a pattern begins with: `short` or `long` within the word, or else the next word."""
    for at, text in enumerate(texts[1:], 1):
        option = re.match(pattern, text, re.DOTALL)
        if option is not None:
            yield option["short"] or option["long"] or (texts[at + 1] if at + 1 < len(texts) else "")


def _written_by(command: Command) -> Iterator[str]:
    """The places that a command writes to, as far as its program's usual words tell."""
    yield from _redirected_to(command)
    name, texts = _program(command), [word.text for word in command.words[1:]]
    if name in ("tee", "touch", "mkdir"):
        yield from texts
    elif name in ("cp", "mv", "ln", "install", "rsync"):
        yield from texts[-1:]
    yield from _fetched_to(command)
    yield from _unpacked_to(command)


def _redirected_to(command: Command) -> Iterator[str]:
    files = (each.target.text for each in command.redirects if ">" in each.operator)
    return (each for each in files if not re.fullmatch(r"\d*-?", each))  # `2>&1`


def unpacks(name: str, words: Sequence[Word]) -> bool:
    """Whether a command takes files out of an archive."""
    block = program_called(name)
    if block is None or block.check not in ("tar", "unzip"):
        return False
    return block.check == "unzip" or any(
        re.fullmatch(r"-?[A-Za-z]*x\w*|--(?:e|get).*", each.text) for each in words[1:]
    )
