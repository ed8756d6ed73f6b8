"""What a text as a whole may do that none of its commands shows by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dogu.language import told
from dogu.policy.commands.arithmetic import second_order_danger
from dogu.policy.commands.brought import danger_of_what_it_brings
from dogu.policy.commands.dangers import program_called
from dogu.policy.commands.effects import Surroundings
from dogu.policy.commands.variables import function_in_place
from dogu.workspace.protected import secret_reason
from dogu.workspace.shell_syntax import Command, Part, Script, Word

_KEEPS = frozenset(("add", "commit", "push", "fetch", "tag", "branch"))  # what git does that changes no file here
_HIDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_ADDS_REMOTE = re.compile(r"git (?:.* )?remote (?:-\S+ )*add |gh (?:pr (?:checkout|co)|repo (?:fork|clone)) ")
_FORCES = re.compile(r"-[A-Za-z]*f[A-Za-z]*|--fo?r?c?e?")
_STASHES_ALL = re.compile(r"-[A-Za-z]*a[A-Za-z]*|--al?l?")
_READS_TEXT = re.compile(r"-[A-Za-z]*F(?P<short>.*)|--fil?e?(?:=(?P<long>.*))?")
_STORES = frozenset(("hash-object", "update-index"))  # a file's text, whether or not it is ignored
_SUBSCRIPT = re.compile(r"[A-Za-z_0-9]\[")
_SUBSTITUTION = re.compile(r"\$\((?!\()|`|\$\{ ")


def may_hide(text: str) -> bool:
    """Whether control characters in it could hide what it does."""
    return _HIDING.search(text) is not None


def may_run_from_subscripts(text: str) -> bool:
    """Whether a substitution stands in what looks like a subscript: arithmetic would run it. Linear."""
    for piece in text.split("]") if _SUBSTITUTION.search(text) else ():
        subscript = _SUBSCRIPT.search(piece)
        if subscript and _SUBSTITUTION.search(piece, subscript.end()):
            return True
    return False


def danger_of_the_whole(script: Script, around: Surroundings) -> str:
    """Say what the commands of a text do together that needs a question; '' when nothing."""
    reason = second_order_danger(script) or _circle_of_functions(script) or function_in_place(script)
    reason = reason or danger_of_what_it_brings(script) or _pushes_what_is_secret(script)
    return reason or _hands_on_tags(script, around)


def _hands_on_tags(script: Script, around: Surroundings) -> str:
    """Say that names of tags may be options where they are handed on: one that is fetched may begin with a hyphen."""
    brings = False
    for command in script.commands:
        texts = [word.text for word in command.words[:3]]
        sources = [each for part in _parts(command) for each in (part.script.commands if part.script else ())]
        source = command.piped_from if texts[:1] == ["xargs"] else None
        while source is not None:
            sources.append(source)
            source = source.piped_from
        is_listed = any(_LISTS_TAGS.match(" ".join(word.text for word in each.words)) for each in sources)
        if is_listed and (around.has_tag_like_an_option() or (brings and texts[:1] == ["xargs"])):
            return told("{word} may be an option of {name}", word="git tag", name="git")
        brings = brings or (texts[:1] == ["git"] and not _BRINGS_TAGS.isdisjoint(texts))
    return ""


def _parts(command: Command) -> Iterator[Part]:
    return (part for word in command.all_words() for part in word.expansions())


_LISTS_TAGS = re.compile(r"git (?:-\S+ )*(?:tag|describe)\b")
_BRINGS_TAGS = frozenset(("fetch", "pull", "update-ref"))


def _pushes_what_is_secret(script: Script) -> str:
    """Say which file of secrets, that git would leave out, comes into what the text pushes; '' when none does."""
    of_git = [each for each in script.commands if each.words and each.words[0].text == "git"]
    if not any(word.text == "push" for each in of_git for word in each.words):
        return ""
    for command in of_git:
        words = [each.text for each in command.words]
        sources = [command, *_read_by(command)]
        given = [each.target.text for source in sources for each in source.redirects if each.operator == "<"]
        given += [word.text for source in sources[1:] for word in source.words]
        forced = "add" in words and any(map(_FORCES.fullmatch, words))
        everything = any(each in (".", "*", "-A", "--all") for each in words)
        if (forced and everything) or ("stash" in words and any(map(_STASHES_ALL.fullmatch, words))):
            return told("sends data")
        for path in (*(words if forced else _texts_of(words)), *given):
            if secret_reason(path) is not None:
                return told("it sends {path}", path=path[:40])
    return ""


def _read_by(command: Command) -> Iterator[Command]:
    """The commands whose output a command is given: by a pipe, or within its words."""
    if command.piped_from is not None:
        yield command.piped_from
    for part in (part for word in command.words for part in word.expansions() if part.script is not None):
        yield from part.script.commands if part.script is not None else ()


def _texts_of(words: Sequence[str]) -> Iterator[str]:
    """The files that git reads a message or an object from: `-F FILE`, `hash-object FILE`."""
    for at, text in enumerate(words):
        option = _READS_TEXT.fullmatch(text)
        if option is not None:
            yield option["short"] or option["long"] or (words[at + 1] if at + 1 < len(words) else "")
    if not _STORES.isdisjoint(words):
        yield from words


def _circle_of_functions(script: Script) -> str:
    """Say which function comes to call itself; '' when none does. Linear: what calls no other is put aside."""
    calls: dict[str, set[str]] = {}
    for command in script.commands:
        if command.function is not None and command.words:
            calls.setdefault(command.function, set()).add(command.words[0].text)
    callers: dict[str, list[str]] = {}
    for name, called in calls.items():
        for each in called & calls.keys():
            callers.setdefault(each, []).append(name)
    unsettled = {name: len(called & calls.keys()) for name, called in calls.items()}
    settled = [name for name, count in unsettled.items() if not count]
    while settled:
        name = settled.pop()
        del unsettled[name]
        for caller in callers.get(name, ()):
            unsettled[caller] -= 1
            if not unsettled[caller]:
                settled.append(caller)
    return told("the function {name} leads to one that calls itself", name=next(iter(unsettled))) if unsettled else ""


def only_looks(script: Script) -> bool:
    """Whether every command only shows something, or goes to another folder."""
    for command in script.commands:
        name = command.words[0].value if command.words else None
        block = program_called(name) if name else None
        if name not in ("cd", "pushd") and (
            block is None or not block.is_harmless or command.assignments or command.redirects
        ):
            return False
        if any(True for word in command.all_words() for part in word.expansions() if part.script is not None):
            return False
    return True


def adds_remote(script: Script) -> bool:
    """Whether a command makes another repository known, that branches may be pushed to."""
    texts = [" ".join(word.text for word in command.words) for command in script.commands]
    return any(_ADDS_REMOTE.match(text) for text in texts)


def only_reads(words: Sequence[Word]) -> bool:
    """Whether a command leaves the names in its folder as they are."""
    name = words[0].value or ""
    block = program_called(name)
    is_read = len(words) > 1 and block is not None and words[1].value in block.reads
    searches = name in _SEARCHES and not any(_ACTS.match(word.text) for word in words[1:])
    return name == "mkdir" or is_read or searches or (block is not None and block.is_harmless)


_SEARCHES = frozenset(("rg", "find", "fd", "fdfind"))
_ACTS = re.compile(r"-(?:exec|ok|delete|fprint|fls)|-[A-Za-z0-9]*[xX]|--(?:exec|pre)")


def is_still(script: Script) -> bool:
    """Whether no command of the text can make a repository of a folder: they look, move, or keep what git has."""
    for command in script.commands:
        words = [each.value or "" for each in command.words[:4]]
        block = program_called(words[0]) if words else None
        looks = block is not None and block.is_harmless
        if block is not None and words[0] == "git":
            told_to = words[3:4] if words[1:2] == ["-C"] else words[1:2]
            looks = told_to[0] in block.reads | _KEEPS if told_to else True
        if words and not looks and words[0] not in ("cd", "pushd"):
            return False
        if command.redirects or command.assignments or command.function:
            return False
    return True
