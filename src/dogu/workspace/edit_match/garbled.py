r"""What shows that `new` is garbled where `old` isn't: then what it stands for can't be told, and the edit is refused.

What a tool's argument is wrapped in (a fence, tags, marks of a conflict), what stands before its lines (numbers, signs
of a diff), line breaks written as `\n`, entities and escapes, signs that look like others. Each counts only where
neither `old` nor the file has it, so that a file of such things can be edited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from pathlib import PurePath

from dogu.workspace.diff import changed_ranges
from dogu.workspace.edit_match.alignment import is_comment_mark, word_chars
from dogu.workspace.edit_match.indentation import indent_of
from dogu.workspace.edit_match.result import Replacement
from dogu.workspace.edit_match.unescape import (
    FENCE_LINE,
    brings_breaks,
    is_fenced,
    unquoted,
    without_entities,
    without_escapes,
)
from dogu.workspace.edit_match.views import fold

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#39|#x27);|\\u00(?:3[cCeE]|2[267])")
_ENTITY_RUN = re.compile(rf"(?:[^\w\s&\\]|{_ENTITY.pattern})*(?:{_ENTITY.pattern})(?:[^\w\s&\\]|{_ENTITY.pattern})*")
_MARKUP = frozenset("<>&")
_MIXED_WORD = re.compile(r"\w*(?:[A-Za-z][асеорхуіјѕАВЕКМНОРСТХ]|[асеорхуіјѕАВЕКМНОРСТХ][A-Za-z])\w*")
_WITH_ENDING = re.compile(r"[A-Z]{2,}[а-яё]+|[A-Za-z]{2,}[а-яё]*[бвгджзийклмнптфцчшщъыьэюя][а-яё]*")
_OTHER_QUOTED = re.compile("'[^']*'|`[^`]*`")
_PLAIN = str.maketrans("“”„‘’\u00a0–—", '"""\'\' --')
_CURLY = re.compile("[“”‘’]")
_ESCAPED_CURLY = re.compile(r"\\[“”‘’]")
_STRAIGHT = "\"'"
_DASHED = re.compile(r"(?<!\S)[–—]{1,2}(\w+)")
_FEWEST_CHARS = 8
_CODE_INDENT = 4
_MOST_PIECES = 5
_RULE = "======="
_TITLE_MARKS = " \t\"'#*/"
_TITLE = re.compile(r"\w[\w .-]*")
_BREAK = "\\n"
_NO_COMMENT = r"^(?![ \t]*(?:[*#<%;]|//|/\*|--|>))"
_STATEMENT_GARBLINGS = [  # what text and markup have by right: what shows so, the garbled line, what it is
    (
        re.compile(r"&(?:amp|lt|gt|quot|#\d+|#x\w+);|</|/>"),
        re.compile(
            rf"{_NO_COMMENT}[^\n\"'`]{{0,300}}(?:(?:&amp;&amp;|\s&[lg]t;=?\s|[-=]&gt;)[^\n]{{0,300}}[:;{{(&|][ \t]*$"
            r"|[(\[{,=+]\s?&(?:quot|#34|#39|#x22|#x27);)",
            re.MULTILINE,
        ),
        "HTML entities",
    ),
    (
        re.compile(r"\\\""),
        re.compile(
            rf"{_NO_COMMENT}[^\"'`\n]{{0,300}}[=(\[,:|&?+{{]\s*\\\"(?:[^\"'`\n]{{0,300}}\\\"){{1,9}}[^\"'`\n]{{0,300}}$",
            re.MULTILINE,
        ),
        "quotes with a backslash before them",
    ),
    (
        re.compile("\u00a0"),
        re.compile(rf"{_NO_COMMENT}[^\n\"'`]{{0,300}}\w[ \u00a0][-+*/|&:]?=\u00a0", re.MULTILINE),
        "no-break spaces",
    ),
    (
        re.compile("[“”‘’]"),
        re.compile(rf"{_NO_COMMENT}[^\n\"'`]{{0,300}}\w[=(][“”‘’]", re.MULTILINE),
        "typographic quotes",
    ),
    (
        re.compile("[–—]"),
        re.compile(rf"{_NO_COMMENT}[^\n\"'`]{{0,300}}[\w)\]] [–—] [\w(][^\n\"'`]{{0,300}};[ \t]*$", re.MULTILINE),
        "dashes",
    ),
]
# What a tool call's argument ends or begins with in the formats that models were trained on.
_BEGINNING = re.compile(r"\s*(?:<!\[CDATA\[|<(?:old|new)_str(?:ing)?>|<{5,9} .*\n)")
_END = re.compile(
    r"(?:\]\]>|</(?:(?:old|new)_str(?:ing)?|parameter|invoke|function(?:_calls?)?|tool_call|arg_value|edit)>|<\|\w+\|>"
    r"|^>{5,9}(?: .*)?)\s*\Z",
    re.MULTILINE,
)
_JSON_END = re.compile(r"\"\s*\}{1,2}\s*\Z")
_NUMBER = re.compile(r"([ \[(<|@│]{0,8}#?(?:[Ll]ine |L)?)(\d+)( ?[.:;)\]>→│┃|#-]+|(?=[ \t]))[ \t]?")
_NUMBERED = re.compile(rf"^{_NUMBER.pattern}", re.MULTILINE)
_LANGUAGES = frozenset(
    "bash c cpp css go html java javascript js json jsx php py python ruby rust sh sql ts tsx typescript xml".split()
)
_PROSE = frozenset(
    ["", *".md .markdown .mdx .rst .txt .adoc .html .htm .xml .svg .tex .yml .yaml .toml .ini .cfg".split()]
)
_MARKDOWN = frozenset(["", *".md .markdown .mdx .rst .txt .adoc".split()])
_ONE_LINE_STRINGS = frozenset(
    ".c .cc .cpp .cs .cts .go .h .hpp .java .js .json .jsx .kt .mjs .mts .py .pyi .swift .toml .ts .tsx".split()
)
_OPEN_STRING = re.compile(
    r"""^(?:[^"'`\n#/*]|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')*[(\[:=,+][ ]?(["'])(?!\1)[^"'`\\\n]*\n"""
    r"""(?:[^"'`\n]*\n){0,3}?[^"'`\n]*\1[)\]};,]*[ \t]*$""",
    re.MULTILINE,
)
_LIST_MARKS = (".", ")", "")
_ADDED = re.compile(r"^\+", re.MULTILINE)
_WORD_OR_SIGN = re.compile(r"[A-Za-z0-9_]+|\S")
_ITEM = re.compile(r"\+ \S")
_GUTTER = re.compile(r"([^\w\s]{1,3} )")
_WIDE_SIGN = re.compile("[（），：；！？]")
_CJK = re.compile("[\u2e80-\u9fff\uac00-\ud7af]")
_WRITTEN_END = re.compile(r"[\w;{}()\[\],>:*/.#`'\"]\\n[ \t]*$", re.MULTILINE)
_WRITTEN_TAB = re.compile(r"^(?:\\t)+(?=\S)", re.MULTILINE)


def is_garbled_alone(old: str, new: str, text: str, line: int, path: str = "") -> str:
    """Say how `new` is garbled where `old`, which stands at the `line` of `text`, isn't and `text` has none of it;
    empty where it isn't, as far as is known. `path` says whether its lines may begin with signs as prose's do.
    """
    kind = PurePath(path).suffix.lower()
    is_code = kind not in _PROSE
    if _is_fenced_alone(old, new, text, is_code=kind not in _MARKDOWN):
        return "new_string has a Markdown fence around it that old_string doesn't have: send what the file is to hold"
    mark = (is_code and _line_of_none(old, new)) or _wrapper(old, new, text)
    if mark:
        return f"{mark!r} in new_string belongs to no file: send what the file is to hold"
    if _has_numbers(old, new, line, is_code=is_code):
        return "new_string has line numbers before its lines that old_string doesn't have: send the lines alone"
    if _is_diff(old, new, text, is_code=is_code):
        return "new_string has diff signs before its lines: send the lines as they are to be"
    gutter = _gutter(old, new, "-*" if is_code else "-+*>|")
    if gutter:
        return f"new_string has {gutter!r} before each of its lines: send the lines alone"
    breaks = _odd_breaks(old, new, text, kind)
    if breaks:
        return f"new_string has {breaks}"
    quotes = _odd_quotes(old, new, text)
    if quotes:
        return f"new_string has {quotes}, which old_string and the file there haven't"
    return _odd_signs(old, new, text, is_code=is_code)


def _is_fenced_alone(old: str, new: str, text: str, *, is_code: bool) -> bool:
    """Whether `new` has a fence around it, or one end of a fence at its own."""
    found = len(FENCE_LINE.findall(new))
    lines = new.strip().split("\n")
    is_half = found % 2 == 1 and (FENCE_LINE.match(lines[0]) or FENCE_LINE.match(lines[-1])) is not None
    if not found or FENCE_LINE.search(old) or not (is_half or is_fenced(new)):
        return False
    ours, theirs = (_depth(string.lstrip("\n")) for string in (old, new))
    if not is_code and not is_half and ours - theirs >= _CODE_INDENT:
        return False  # a block of code gets a fence for its indentation
    return (is_code and not is_half) or not FENCE_LINE.search(text)


def _line_of_none(old: str, new: str) -> str:
    """Return the language that the first line of `new` names, as one that begins a fence does, or a line of `=` at its
    edge; empty for none.
    """
    lines = new.rstrip().split("\n")
    is_list = all(line.strip().isalnum() for line in lines)
    if lines[0].lower() in _LANGUAGES and not is_list and old.partition("\n")[0].strip() != lines[0]:
        return lines[0]
    above = lines[-2].strip(_TITLE_MARKS) if len(lines) > 1 else ""
    is_title = len(above) <= len(_RULE) and _TITLE.fullmatch(above)
    return _RULE if _RULE in (lines[0], "" if is_title else lines[-1]) and _RULE not in old else ""


def _wrapper(old: str, new: str, text: str) -> str:
    """Return what `new` begins or ends with that belongs to a call rather than to a file; empty for nothing."""
    for match in (_BEGINNING.match(new), _END.search(new)):
        mark = match[0].strip() if match else ""
        if mark and mark not in old and mark not in text and mark.replace("/", "") not in new.replace(mark, ""):
            return mark
    end = _JSON_END.search(new)
    if end and new[: end.start()].rsplit("\n", 1)[-1].strip() in _telling(old):
        return end[0].strip()
    inner = unquoted(new)
    if inner is None or inner == new.strip()[1:-1] or unquoted(old) is not None:
        return ""
    known = _telling(old)
    is_written = any(line.strip() in known for line in inner.split("\n")) or (inner[0].isspace() and old[0].isspace())
    return '"' if is_written else ""


def _has_numbers(old: str, new: str, line: int, *, is_code: bool) -> bool:
    """Whether lines of `new` have numbers before them: those that they have in the file, or before a line of `old`, or
    nearly all of them. A list begins at one, and at no blank line.
    """
    if _NUMBERED.search(new) is None:
        return False
    lines, ours = new.rstrip("\n").split("\n"), old.split("\n")
    known = {other.strip() for other in ours if other.strip()}
    found = {at: match for at, each in enumerate(lines) if each.strip() not in known and (match := _NUMBER.match(each))}
    firsts = {int(match[2]) - at for at, match in found.items()}
    if len(firsts) != 1 or any(map(_NUMBER.match, ours)):
        return False
    rests = [lines[at][match.end() :].strip() for at, match in found.items()]
    shared = [rest for rest in rests if rest in known]
    first = firsts.pop()
    begins = next(iter(found.values()))
    is_sure = (is_code and bool(begins[1].strip() or begins[3])) or begins[0].endswith(("\t", "|", "| ", "→"))
    if int(begins[2]) == 1 and all(rests) and begins[3] in _LIST_MARKS and not (is_sure or begins[2][0] == "0"):
        return False
    deep = indent_of(old).expandtabs()
    is_deep = any(lines[at][match.end() :].expandtabs().startswith(deep) for at, match in found.items())
    return (
        (first == line > 1 and (len(found) > 1 or not rests[0][:1].isdigit()))
        or (len(deep) > 1 and is_deep)
        or any(len(rest) >= (_FEWEST_CHARS if len(found) == 1 else 1) for rest in shared)
        or (len(found) > 1 and is_sure and len(found) >= len([each for each in lines if each.strip()]) - 1)
    )


def _is_diff(old: str, new: str, text: str, *, is_code: bool) -> bool:
    """Whether signs of a diff stand before lines of `old` in `new`, or before all new ones; `+ x` may be a list's."""
    if not _ADDED.search(new) or _ADDED.search(old) or _ADDED.search(text):
        return False
    ours, known = {line.strip() for line in old.split("\n")}, _telling(old)
    added = [line for line in new.split("\n") if line.strip() not in ours and line.strip()]
    signs = {line[0] for line in added}
    is_shared = any(line[0] in "+- " and line[1:].strip() in known for line in added)
    if is_shared and signs <= {*"+- "} and (is_code or len(signs) > 1 or not all(map(_ITEM.match, added))):
        return True
    plus = [line for line in added if line[1:2] != "+" and (is_code or not _ITEM.match(line))]
    if signs != {"+"} or len(plus) <= len(added) // 2:
        return False
    gone = {*old.split("\n")} - {*new.split("\n")}
    return is_code or len(plus) > 1 or plus[0][1:3].isspace() or any(_is_like(plus[0][1:], line) for line in gone)


def _is_like(ours: str, theirs: str) -> bool:
    """Whether a line has half of its words and signs from another one, in order."""
    mine, other = _WORD_OR_SIGN.findall(ours), _WORD_OR_SIGN.findall(theirs)
    changed = sum(each.old_end - each.old_start for each in changed_ranges(mine, other))
    return 2 * changed <= len(mine)


def _gutter(old: str, new: str, prose: str) -> str:
    """Return the sign that stands before every line of `new`, lines of `old` among them, that begins no comment and is
    none of `prose`; empty for none.
    """
    lines = [line for line in new.split("\n") if line.strip()]
    found = {match[1] if (match := _GUTTER.match(line)) else "" for line in lines}
    sign = found.pop() if len(found) == 1 else ""
    if not sign or sign[0] in prose or is_comment_mark(sign):
        return ""
    deep, rests = indent_of(old), [line[len(sign) :] for line in lines]
    is_deep = len(deep.expandtabs()) > 1 and any(rest.startswith(deep) for rest in rests)
    is_shared = len(lines) > 1 and not _telling(old).isdisjoint(map(str.strip, rests))
    return sign.strip() if is_deep or is_shared or sign[0] in "│┃" else ""


def _odd_breaks(old: str, new: str, text: str, kind: str) -> str:
    """Say which line breaks of `new` are written out, or are breaks where they should be written; empty for none."""
    if _has_written_breaks(old, new, text):
        return "\\n written out where its lines should end: send line breaks"
    is_broken = kind in _ONE_LINE_STRINGS and _OPEN_STRING.search(new) and not _OPEN_STRING.search(old)
    if is_broken and not _OPEN_STRING.search(text):
        return "a line break within a string, which ends with its line: send \\n"
    return ""


def _has_written_breaks(old: str, new: str, text: str) -> bool:
    r"""Whether `new` has a break written as `\n` outside of quotes, or behind lines, or tabs written as `\t`."""
    known = _telling(old) if _BREAK in new else set[str]()
    if any(_joins(line, known) for line in new.split("\n") if _BREAK in line):
        return True
    if _BREAK not in old and brings_breaks(new, text, is_escaped=_has_escaped_quotes(new)):
        return True
    return any(
        mark.search(new) and not mark.search(old) and not mark.search(text) for mark in (_WRITTEN_END, _WRITTEN_TAB)
    )


def _telling(old: str) -> set[str]:
    """Return the lines of `old` that say something."""
    return {line.strip() for line in old.split("\n") if word_chars(line) > 1}


def _joins(line: str, known: set[str]) -> bool:
    r"""Whether the line is a `known` one with others beside it, behind a written `\n`; it may have some of its own."""
    pieces = line.replace("\\r\\n", _BREAK).split(_BREAK)
    count = len(pieces)
    spans = ((i, j) for i in range(count) for j in range(i + 1, min(i + _MOST_PIECES, count) + 1) if j - i < count)
    return any(_BREAK.join(pieces[i:j]).strip() in known for i, j in spans)


def _odd_signs(old: str, new: str, text: str, *, is_code: bool) -> str:
    """Say which signs and letters of `new` aren't those that `old` and `text` have; empty for none."""
    if _entities_alone(old, new, text):
        return "new_string has HTML entities for what old_string or the file has as signs: send the signs"
    word = _odd_word(old, new, text)
    if word:
        return word
    odd = [line for line in new.split("\n") if "\u00a0" in line and " " not in line.strip()]
    for has_them, signs, kind in (
        (_WIDE_SIGN.search(new) and not _CJK.search(new), _WIDE_SIGN, "full-width signs"),
        ("".join(odd).count("\u00a0") > 1, re.compile("\u00a0"), "no-break spaces"),
    ):
        if is_code and has_them and not signs.search(old) and not signs.search(text):
            return f"new_string has {kind}, and the file has none: send the characters of the code"
    for trace, garbled, kind in _STATEMENT_GARBLINGS:
        if trace.search(new) and not trace.search(old) and garbled.search(new) and not trace.search(text):
            return f"new_string has {kind} in a statement, and the file has none: send the characters of the code"
    return ""


def _odd_word(old: str, new: str, text: str) -> str:
    """Say which word of `new` has letters of two alphabets, or a dash for hyphens of `old`; empty for none."""
    known = {*old.split("\n")}
    for word in _MIXED_WORD.findall("\n".join(line for line in new.split("\n") if line not in known)):
        if word not in text and not _WITH_ENDING.fullmatch(word):
            return f"{word} in new_string has letters of two alphabets that look alike"
    for word in _DASHED.findall(new):
        if re.search(rf"(?<!\S)--?{word}(?!\w)", old) and not re.search(rf"[–—]{word}", old + text):
            return f"new_string has a dash before {word} where old_string has hyphens"
    return ""


def _entities_alone(old: str, new: str, text: str) -> bool:
    """Whether every `<`, `>` and `&` of `new`, or every quote, is an entity or an escape, in a line too that `old` has
    with signs, or beside what the file has with signs, which has no such.
    """
    signs = {*map(without_entities, _ENTITY.findall(new))}
    signs |= _MARKUP if signs & _MARKUP else set()
    if not signs.isdisjoint(_ENTITY.sub("", new)) or without_entities(new) in (new, old) or _ENTITY.search(old):
        return False
    known = {line.strip() for line in old.split("\n")}
    garbled = [line.strip() for line in new.split("\n") if _ENTITY.search(line)]
    if any(without_entities(line) in known for line in garbled):
        return True
    return not _ENTITY.search(text) and any(without_entities(run) in text for run in _ENTITY_RUN.findall(new))


def _odd_quotes(old: str, new: str, text: str) -> str:
    """Name the quotes that `new` has for straight ones, and neither `old` nor `text`; empty for none."""
    known = {line.strip() for line in old.split("\n")}
    escaped = {line.strip() for line in new.split("\n") if '\\"' in line} - known
    if escaped and new.replace('\\"', '"') != old:
        if any(line.replace('\\"', '"') in known for line in escaped):
            return "backslashes before the quotes of a line that both strings have"
        if '"' in text and _has_escaped_quotes(new) and not _has_escaped_quotes(f"{old}\n{text}"):
            return "a backslash before every quote of a line"
    if _ESCAPED_CURLY.search(new) and not _ESCAPED_CURLY.search(old + text):
        return "typographic quotes with a backslash before them"
    is_straight = sum(map(old.count, _STRAIGHT)) > 1 and not _CURLY.search(old + text)
    if is_straight and _CURLY.search(new) and not any(map(new.count, _STRAIGHT)) and fold(old) != fold(new):
        return "typographic quotes"
    return ""


def _has_escaped_quotes(text: str) -> bool:
    """Whether a line has quotes of one kind, all with a backslash before them."""
    lines = (_OTHER_QUOTED.sub("", line) for line in text.split("\n") if '\\"' in line) if '\\"' in text else ()
    return any(line.count('\\"') == line.count('"') > 1 and not {"'", "`"}.intersection(line) for line in lines)


def fence_within(old: str, text: str, pieces: Iterable[Replacement], path: str) -> bool:
    """Whether a Markdown fence that `old` has none of would be put around lines of `text` as deep as a block of code,
    whose text it is then.
    """
    if PurePath(path).suffix.lower() not in _MARKDOWN or FENCE_LINE.search(old):
        return False
    for start, end, body in pieces:
        replaced = [_depth(line) for line in text[text.rfind("\n", 0, start) + 1 : end].split("\n") if line.strip()]
        least = max(_CODE_INDENT, min(replaced, default=0) if start < end else 0)
        if any(_depth(fence) >= least for fence in FENCE_LINE.findall(body)):
            return True
    return False


def _depth(line: str) -> int:
    return len(indent_of(line).expandtabs())


def garbled_copy(old: str, written: Iterable[str], text: str) -> str:
    """Return the line of `text` that a line written is a copy of but for escapes, entities or typographic signs; empty
    for none. Lines that `old` has are meant to change.
    """
    known = {line.strip() for line in old.split("\n")}
    for line in {line.strip() for body in written for line in body.split("\n")} - known:
        meant = _plain(line)
        if meant != line and len(meant) >= _FEWEST_CHARS and meant not in known and _is_line(meant, text):
            return meant
    return ""


def _plain(line: str) -> str:
    """Return a line without any escapes, entities and typographic signs."""
    return unescape(without_escapes(line)).translate(_PLAIN).strip()


def _is_line(line: str, text: str) -> bool:
    return line in text and re.search(rf"^[ \t]*{re.escape(line)}[ \t]*$", text, re.MULTILINE) is not None
