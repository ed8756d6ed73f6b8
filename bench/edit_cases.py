"""Random edits with a known result, and what models garble in the strings they send for one.

A true edit replaces whole lines of a real file by others; `old` and `new` are these with some lines around them. Only
what leaves a file that can be parsed is one, so that its parse tree says what another result means.
"""

from __future__ import annotations

import ast
import json
import random
import re
import textwrap
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from html import escape
from itertools import pairwise
from typing import NamedTuple

_BRACES = frozenset(".js .mjs .ts .c .h .go .rs .java .css".split())
_DATA = frozenset(".json .toml .yaml .yml".split())
_PROSE = frozenset(".md .rst".split())
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{3,}")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_STRING = re.compile(r"""(?<![\w'"\\])(["'])(?=[^"'\\]*[a-z])([^"'\\\n]{2,})\1(?!["'])""")
_MOST_CONTEXT = 6
_AROUND = (  # what a block of Python or of a language with braces is wrapped in: W is a word, | ends a line
    ("if W:", "with W():", "for each in W:", "try:|except W:|    pass", "if W:|else:|    W()"),
    ("if (W) {|}", "for (;;) {|}", "try {|} catch {|    W();|}", "if (W) {|} else {|    W();|}"),
)
Change = tuple[int, int, list[str]]  # the lines [first, last) give way to these


class Case(NamedTuple):
    """An edit as a model sends it: `names` are the true edit's and those of the garblings."""

    suffix: str
    text: str
    old: str
    new: str
    result: str
    names: tuple[str, ...]


# true edits


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _opened(lines: Sequence[str]) -> int:
    text = "\n".join(lines)
    return sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))


def _telling(lines: Sequence[str], chance: random.Random, needs: re.Pattern[str] = _WORD) -> int | None:
    found = [i for i, line in enumerate(lines) if needs.search(line)]
    return chance.choice(found) if found else None


def _block(lines: Sequence[str], chance: random.Random, most: int = 6) -> tuple[int, int] | None:
    """Return lines that hang together: none is less deep than the first, brackets are closed, what follows isn't
    deeper.
    """
    for _ in range(20):
        first = chance.randrange(len(lines))
        depth, is_begun = len(_indent(lines[first])), lines[first].lstrip()[:1] in (*")]}", "")
        stops = [
            last
            for last in range(first + 1, min(first + 4 * most, len(lines)))
            if not lines[last].strip() or len(_indent(lines[last])) <= depth
        ][:most]
        last = chance.choice(stops or [first + 1])
        block = [line for line in lines[first:last] if line.strip()]
        if not is_begun and _opened(block) == 0 and all(len(_indent(line)) >= depth for line in block):
            return first, last
    return None


def _word_of(lines: Sequence[str], chance: random.Random) -> str:
    return chance.choice([word for line in lines for word in _WORD.findall(line)] or ["value"])


def _statements(lines: Sequence[str], suffix: str, chance: random.Random) -> list[str]:
    """Return one to four new lines, at no depth."""
    one, other, number = _word_of(lines, chance), _word_of(lines, chance), chance.randrange(100)
    if suffix in _PROSE:
        return [f"The {one} of a {other} is {number}, as `{other}` says."]
    if suffix == ".json":
        return [f'"{one}-{number}": {number},']
    if suffix in _DATA:
        return [f"{one}_{number}{' =' if suffix == '.toml' else ':'} {number}"]
    end, call = ";" if suffix in _BRACES else "", f"{one}({other}, {number})"
    test = (f"if ({one}) {{", "}") if end else (f"if {one} and {other} != {number}:", "")
    step = " " * 4 if suffix != ".js" else "  "
    nested = [test[0], f"{step}{call}{end}", *filter(None, test[1:])]
    more = [f"# {one} and then {other}" if not end else f"// {one} and then {other}", f"{call}{end}"]
    said = f'report("{one} is {other}", {number}){end}'
    return chance.choice(([call + end], [f"{one} = {call}{end}"], nested, more, [said], [said, *nested]))


def _change_literal(lines: list[str], suffix: str, chance: random.Random) -> Change | None:
    needs = chance.choice((_NUMBER, _STRING))
    at = _telling(lines, chance, needs)
    if at is None:
        return None
    match = chance.choice([*needs.finditer(lines[at])])
    text = str(int(match[0]) + chance.choice((1, 10))) if needs is _NUMBER else f"{match[1]}{match[2]} again{match[1]}"
    return at, at + 1, [lines[at][: match.start()] + text + lines[at][match.end() :]]


def _change_word(lines: list[str], suffix: str, chance: random.Random) -> Change | None:
    at = _telling(lines, chance)
    if at is None:
        return None
    match = chance.choice([*_WORD.finditer(lines[at])])
    return at, at + 1, [lines[at][: match.start()] + _word_of(lines, chance) + lines[at][match.end() :]]


def _rename(lines: list[str], suffix: str, chance: random.Random) -> Change | None:
    first = chance.randrange(len(lines))
    block = lines[first : first + chance.randrange(3, 15)]
    words = [word for line in block for word in _WORD.findall(line)]
    several = [word for word in words if words.count(word) > 1]
    if not several:
        return None
    word = chance.choice(several)
    new = [re.sub(rf"\b{word}\b", f"other_{word}", line) for line in block]
    return first, first + len(block), new


def _replace(lines: list[str], suffix: str, chance: random.Random) -> Change | None:
    block = _block(lines, chance, 2)
    if block is None:
        return None
    indent = _indent(lines[block[0]])
    return *block, [indent + line for line in _statements(lines, suffix, chance)]


def _add(lines: list[str], suffix: str, chance: random.Random) -> Change | None:
    at = _telling(lines, chance)
    if at is None:
        return None
    at += chance.choice((0, 1))
    beside = lines[min(at, len(lines) - 1)]
    return at, at, [_indent(beside) + line for line in _statements(lines, suffix, chance)]


def _delete(lines: list[str], suffix: str, chance: random.Random) -> Change | None:
    block = _block(lines, chance, 4)
    return block and (*block, [])


def _step(lines: Sequence[str]) -> str:
    depths = [_indent(line) for line in lines]
    return (
        "\t" if any("\t" in depth for depth in depths) else " " * (4 if sum(len(d) % 4 == 2 for d in depths) < 3 else 2)
    )


def _wrap(lines: list[str], suffix: str, chance: random.Random) -> Change | None:
    block = _block(lines, chance)
    if block is None or suffix in _DATA or suffix in _PROSE:
        return None
    first, last = block
    indent, step, word = _indent(lines[first]), _step(lines), _word_of(lines, chance)
    body = [step + line if line.strip() else line for line in lines[first:last]]
    head, *tail = chance.choice(_AROUND[suffix in _BRACES]).replace("W", word).replace("    ", step).split("|")
    return first, last, [indent + head, *body, *(indent + line for line in tail)]


def _unwrap(lines: list[str], suffix: str, chance: random.Random) -> Change | None:
    ends = "{" if suffix in _BRACES else ":"
    heads = [i for i, line in enumerate(lines[:-1]) if line.rstrip().endswith(ends) and _WORD.search(line)]
    first = chance.choice(heads or [0])
    depth = len(_indent(lines[first]))
    last = first + 1
    while last < len(lines) and (not lines[last].strip() or len(_indent(lines[last])) > depth):
        last += 1
    while not lines[last - 1].strip():
        last -= 1
    body = textwrap.dedent("\n".join(lines[first + 1 : last])).split("\n")
    if suffix in _DATA or suffix in _PROSE or not 0 < last - first - 1 < 20:
        return None
    stop = last + 1 if suffix in _BRACES and last < len(lines) and lines[last].strip() == "}" else last
    return first, stop, [_indent(lines[first]) + line if line.strip() else "" for line in body]


def _move(lines: list[str], suffix: str, chance: random.Random) -> Change | None:
    """Swap two neighbouring blocks, with what is between them."""
    one = _block(lines, chance, 8)
    if one is None:
        return None
    start = one[1]
    while start < len(lines) and not lines[start].strip():
        start += 1
    depth = len(_indent(lines[one[0]]))
    stop = start + 1
    while stop < len(lines) and lines[stop].strip() and len(_indent(lines[stop])) > depth:
        stop += 1
    other = lines[start:stop]
    if not other or len(_indent(other[0])) != depth or _opened(other) or stop - one[0] > 40:
        return None
    return one[0], stop, [*other, *lines[one[1] : start], *lines[one[0] : one[1]]]


def _entry(lines: list[str], suffix: str, chance: random.Random) -> Change | None:
    """Add, change or take an entry that ends with a comma, or stands beside a line that begins alike."""
    found = [
        i
        for i, (line, below) in enumerate(pairwise(lines))
        if _indent(line) == _indent(below) and line.strip() and below.strip()
        and (line.endswith(",") or (suffix in (*_DATA, *_PROSE) and line.lstrip()[:2] == below.lstrip()[:2]))
    ]  # fmt: skip
    if not found:
        return None
    at = chance.choice(found)
    match = _WORD.search(lines[at])
    another = lines[at][: match.start()] + "other_" + lines[at][match.start() :] if match else lines[at] + lines[at]
    return chance.choice(((at, at + 1, []), (at, at + 1, [another]), (at + 1, at + 1, [another])))


_EDITS: dict[str, Callable[[list[str], str, random.Random], Change | None]] = {
    "literal": _change_literal, "word": _change_word, "rename": _rename, "replace": _replace, "add": _add,
    "delete": _delete, "wrap": _wrap, "unwrap": _unwrap, "move": _move, "entry": _entry,
}  # fmt: skip


_OF_STATEMENTS = frozenset(("replace", "add", "delete", "wrap", "unwrap", "move"))


@lru_cache(8)
def _statement_starts(text: str) -> set[int]:
    """Return the lines (numbered from 0) of Python on which statements begin."""
    return {node.lineno - 1 for node in ast.walk(ast.parse(text.removeprefix("\ufeff"))) if isinstance(node, ast.stmt)}


class _Strings(NamedTuple):
    """What is sent, where `old` stands in the file (1-based), and what the file is."""

    old: str
    new: str
    line: int
    suffix: str
    text: str


def random_case(text: str, suffix: str, chance: random.Random) -> Case | None:
    """Return a random edit of the text, garbled; None where nothing fitting was found."""
    lines = text.split("\n")
    name = chance.choice((*_EDITS, "wrap", "unwrap"))
    change = _EDITS[name](lines, suffix, chance)
    if change is None or lines[change[0] : change[1]] == change[2]:
        return None
    first, last, body = change
    result = "\n".join([*lines[:first], *body, *lines[last:]])
    meaning = meaning_of(suffix, result)
    if meaning is None or meaning_of(suffix, text) in (None, meaning):
        return None
    if suffix == ".py" and name in _OF_STATEMENTS and change[0] not in _statement_starts(text):
        return None
    sent = _with_context(text, lines, change, suffix, chance)
    if sent is None:
        return None
    names = [name]
    for order, group in enumerate(_GARBLINGS):
        if chance.random() < (0.5, 0.45, 0.35)[order]:
            garbling = chance.choice([*group])
            both = group[garbling](sent, chance)
            if both is None or not both[0].strip() or both == (sent.old, sent.new):
                return None
            scope = chance.choice(("", "", "", " in old")) if garbling not in _WITH_BOTH else ""
            sent = sent._replace(old=both[0], new=sent.new if scope else both[1])
            names.append(garbling + scope)
    is_one = sent.old != sent.new and (len(names) > 1 or chance.random() < 0.1)
    return Case(suffix, text, sent.old, sent.new, result, tuple(names)) if is_one else None


def _with_context(text: str, lines: list[str], change: Change, suffix: str, chance: random.Random) -> _Strings | None:
    first, last, body = change
    before, after = chance.randrange(4), chance.randrange(4)
    for _ in range(_MOST_CONTEXT):
        start, stop = max(first - before, 0), min(last + after, len(lines))
        old = lines[start:stop]
        new = [*lines[start:first], *body, *lines[last:stop]]
        if (
            any(map(str.strip, old))
            and f"\n{text}\n".count("\n".join(["", *old, ""])) == text.count("\n".join(old)) == 1
        ):
            end = "\n" * (stop < len(lines) and (not new or chance.random() < 0.3))
            return _Strings("\n".join(old) + end, "\n".join(new) + end * bool(new), start + 1, suffix, text)
        before, after = before + 1, after + 1
    return None


# what models garble

Both = tuple[str, str]
_Garbling = Callable[[_Strings, random.Random], Both | None]


def _each(change: Callable[[str], str]) -> _Garbling:
    return lambda sent, _chance: (change(sent.old), change(sent.new))


def _lines(change: Callable[[str], str]) -> _Garbling:
    return _each(lambda text: "\n".join(map(change, text.split("\n"))))


def _shifted(by: int) -> _Garbling:
    def shift(sent: _Strings, chance: random.Random) -> Both | None:
        step = _step(sent.text.split("\n"))

        def one(line: str) -> str:
            return line.removeprefix(step) if by < 0 else step + line if line.strip() else line

        full = [line for line in f"{sent.old}\n{sent.new}".split("\n") if line.strip()]
        is_deep = by > 0 or all(line.startswith(step) for line in full)
        return _lines(one)(sent, chance) if is_deep else None

    return shift


def _dedented(sent: _Strings, _chance: random.Random) -> Both | None:
    least = min((_indent(line) for line in f"{sent.old}\n{sent.new}".split("\n") if line.strip()), key=len)
    return _lines(lambda line: line.removeprefix(least))(sent, _chance)


def _context(change: Callable[[str, random.Random], str], at_least: int = 3) -> _Garbling:
    """Garble one line that both strings have once."""

    def garble(sent: _Strings, chance: random.Random) -> Both | None:
        ours, theirs = sent.old.split("\n"), sent.new.split("\n")
        shared = [line for line in ours if ours.count(line) == theirs.count(line) == 1]
        made = [(line, other) for line in shared if (other := change(line, chance)) != line]
        if not made or len(ours) < at_least:
            return None
        line, other = chance.choice(made)
        both = ([other if each == line else each for each in lines] for lines in (ours, theirs))
        old, new = ("\n".join(each) for each in both)
        return old, new

    return garble


def _misspelt(line: str, chance: random.Random) -> str:
    words = [match for match in _WORD.finditer(line) if len(match[0]) > 5]
    if not words:
        return line
    match = chance.choice(words)
    at = chance.randrange(match.start() + 1, match.end() - 2)
    return line[:at] + line[at + 1] + line[at] + line[at + 2 :]


def _other_word(line: str, chance: random.Random) -> str:
    words = [*_WORD.finditer(line)]
    if not words:
        return line
    match = chance.choice(words)
    return line[: match.start()] + chance.choice(("that", "this_one", match[0] + "s")) + line[match.end() :]


def _other_case(line: str, chance: random.Random) -> str:
    words = [*_WORD.finditer(line)]
    if not words:
        return line
    match = chance.choice(words)
    return line[: match.start()] + match[0].swapcase() + line[match.end() :]


def _without_comment(line: str, _chance: random.Random) -> str:
    return re.sub(r"(?<=\S)[ \t]+(?:#|//) .*$", "", line)


def _no_line(sent: _Strings, chance: random.Random) -> Both | None:
    """Leave out a line that both strings have, between others that they have."""
    ours, theirs = sent.old.split("\n"), sent.new.split("\n")
    runs = [ours[i : i + 3] for i in range(len(ours) - 2) if ours[i + 1].strip() and ours.count(ours[i + 1]) == 1]
    shared = [run[1] for run in runs if any(theirs[j : j + 3] == run for j in range(len(theirs)))]
    if not shared or len(ours) < 4:
        return None
    line = chance.choice(shared)
    old, new = ("\n".join(each for each in lines if each != line) for lines in (ours, theirs))
    return old, new


def _shared(change: Callable[[str], str]) -> _Garbling:
    """Garble every line that both strings have."""

    def garble(sent: _Strings, _chance: random.Random) -> Both | None:
        ours, theirs = sent.old.split("\n"), sent.new.split("\n")
        both = {*ours} & {*theirs}
        old, new = ("\n".join(change(line) if line in both else line for line in lines) for lines in (ours, theirs))
        return (old, new) if sent.suffix not in _PROSE else None

    return garble


def _quoted(line: str) -> str:
    if "\\" in line or ('"' in line) == ("'" in line):
        return line
    return line.translate(str.maketrans("\"'", "'\""))


def _curly(text: str) -> str:
    return re.sub(r'"([^"\n]*)"', "“\\1”", re.sub(r"'([^'\n]*)'", "‘\\1’", text))


def _joined_call(sent: _Strings, chance: random.Random) -> Both | None:
    """Write what stands in brackets over several lines in one."""

    def one(text: str) -> str:
        return re.sub(r"\(\n\s*([^()#\n]*?),?\n\s*\)", r"(\1)", text)

    return _each(one)(sent, chance)


def _wrapped_call(sent: _Strings, chance: random.Random) -> Both | None:
    """Write each argument of a call on a line of its own."""

    def one(line: str) -> str:
        match = re.search(r"(?<=\w)\(([^()\"'#{}]+, [^()\"'#{}]+)\)", line)
        if match is None:
            return line
        indent = _indent(line)
        parts = "".join(f"{indent}    {part.strip()},\n" for part in match[1].split(","))
        return f"{line[: match.start()]}(\n{parts}{indent}){line[match.end() :]}"

    return _context(lambda line, _chance: one(line), 1)(sent, chance)


def _numbered(form: str) -> _Garbling:
    def number(sent: _Strings, _chance: random.Random) -> Both:
        old, new = (
            "\n".join(form.format(sent.line + i) + line for i, line in enumerate(text.split("\n")))
            for text in (sent.old.removesuffix("\n"), sent.new.removesuffix("\n"))
        )
        return old, new

    return number


def _ascii(text: str) -> str:
    return "".join({"—": "--", "–": "-", "’": "'", "…": "...", "é": "e", "ö": "oe", "×": "x"}.get(c, c) for c in text)


def _blank_lines(sent: _Strings, chance: random.Random) -> Both | None:
    return _each(lambda text: re.sub(r"\n(?:[ \t]*\n)+", "\n", text))(sent, chance)


_GARBLINGS: tuple[dict[str, _Garbling], ...] = (
    {
        "a misspelt word": _context(_misspelt),
        "another word": _context(_other_word),
        "another case": _context(_other_case),
        "no comment": _context(_without_comment, 1),
        "no comma": _context(lambda line, _chance: line.removesuffix(",")),
        "no line": _no_line,
        "no blank lines": _blank_lines,
        "more blank lines": _each(lambda text: re.sub(r"\n[ \t]*\n", "\n\n\n", text)),
        "other quotes": _lines(_quoted),
        "curly quotes": _each(_curly),
        "ASCII": _each(_ascii),
        "one line": _joined_call,
        "several lines": _wrapped_call,
        "no blanks behind commas": _shared(lambda line: line.replace(", ", ",")),
        "blanks around =": _shared(lambda line: re.sub(r"(?<=\w)=(?=\w)", " = ", line)),
    },
    {
        "one level less": _shifted(-1),
        "one level more": _shifted(1),
        "dedented": _dedented,
        "no indentation": _lines(str.lstrip),
        "first line's indentation": _each(str.lstrip),
        "tabs": _lines(lambda line: _indent(line).replace("    ", "\t") + line.lstrip()),
        "blanks for tabs": _lines(lambda line: _indent(line).replace("\t", "    ") + line.lstrip()),
        "half the blanks": _lines(lambda line: " " * (len(_indent(line)) // 2) + line.lstrip()),
        "trailing blanks": _lines(lambda line: line + "  " if line.strip() else line),
        "no trailing blanks": _lines(str.rstrip),
        "no last newline": _each(lambda text: text.removesuffix("\n")),
        "newlines around": _each(lambda text: f"\n{text}\n"),
        "no-break spaces": _each(lambda text: re.sub(r"(?<=\S) (?=\S)", "\u00a0", text)),
    },
    {
        "escaped quotes": _each(lambda text: text.replace('"', '\\"')),
        "escaped single quotes": _each(lambda text: text.replace("'", "\\'")),
        "doubled backslashes": _each(lambda text: text.replace("\\", "\\\\")),
        "halved backslashes": _each(lambda text: text.replace("\\\\", "\\")),
        "lost escapes": _each(lambda text: text.replace('\\"', '"').replace("\\'", "'")),
        "JSON": _each(lambda text: json.dumps(text, ensure_ascii=False)[1:-1]),
        "written breaks": _each(lambda text: text.replace("\n", "\\n")),
        "numbers and tabs": _numbered("{}\t"),
        "numbers and arrows": _numbered("{:6}→"),
        "numbers and bars": _numbered("{:4} | "),
        "numbers and colons": _numbered("{}: "),
        "a fence": lambda sent, _: (f"```{sent.suffix[1:]}\n{sent.old}\n```", f"```{sent.suffix[1:]}\n{sent.new}\n```"),
        "entities": _each(lambda text: escape(text, quote=False)),
        "entities and quotes": _each(escape),
        "diff blanks": _lines(lambda line: " " + line),
    },
)
_WITH_BOTH = frozenset(("one line", "other quotes", "no last newline", "newlines around", "no blank lines"))


# what a result means


def meaning_of(suffix: str, text: str) -> object | None:
    """Return what the text means, whatever its layout; None where it can't be parsed. A language that isn't parsed
    here means its signs and words, brackets in pairs.
    """
    text = text.removeprefix("\ufeff")
    parse = _PARSERS.get(suffix)
    if parse is not None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return parse(text), sorted(_comments(text))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    if suffix in _PROSE:
        return [line.rstrip() for line in text.split("\n") if line.strip()]
    return "".join(text.replace("'", '"').split()).replace(",)", ")").replace(",]", "]").replace(",}", "}")


def _yaml(text: str) -> str:
    import yaml  # which is there to write what the documentation is made of

    try:
        return repr([*yaml.safe_load_all(text)])
    except yaml.YAMLError as error:
        raise ValueError from error


_PARSERS: dict[str, Callable[[str], str]] = {
    ".py": lambda text: ast.dump(ast.parse(text)),
    ".json": lambda text: json.dumps(json.loads(text)),
    ".toml": lambda text: repr(tomllib.loads(text)),
    ".yaml": _yaml,
    ".yml": _yaml,
}


def _comments(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        found = re.search(r"(?:^|\s)#\s*(.*)$", line)
        if found:
            yield found[1].strip()
