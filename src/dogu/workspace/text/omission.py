"""Omission placeholders: a line that stands for code left out (`// rest of code ...`), in any comment syntax.

Written into a file, such a line replaces the code it stands for. A line counts when it stands alone and, stripped of
the marks around it (whatever a language's comments are made of), is nothing but a known phrase for "what was there
stays". A comment that merely mentions existing code doesn't count; a bare `...` does where lines go for it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from dogu.workspace.diff import changed_ranges
from dogu.workspace.text.omission_words import says_so_abroad

_LONGEST_CHARS = 120  # a placeholder is short; longer lines aren't looked at


def find_omission(new: str, existing: str, path: str = "") -> tuple[int, str] | None:
    """Return number (1-based) and text of the first placeholder in `new` that is no line of `existing`, or None; a
    heading of Markdown, which `path` says it is, is none.
    """
    kept: set[str] | None = None
    for number, line in enumerate(new.split("\n"), 1):
        if len(line) > _LONGEST_CHARS or not is_omission(line) or _is_heading(line, path):
            continue
        if kept is None:
            kept = {other.strip() for other in existing.splitlines()}
        if line.strip() not in kept:
            return number, line.strip()
    return None


def find_dots(new: str, old: str, text: str) -> tuple[int, str] | None:
    """Return number and text of the first line of `new` that is only an ellipsis, where lines of `old` go for it.

    In a comment's marks no language has it as code, bare it may be a block's only statement: so where nothing else
    changes. One that stands in `old` or `text` already is let be.
    """
    if _ELLIPSIS.search(new) is None:
        return None
    lines = new.split("\n")
    dots = [number for number, line in enumerate(lines) if len(line) <= _LONGEST_CHARS and is_elision(line)]
    if not dots:
        return None
    ours, theirs = ([line.strip() for line in each.split("\n")] for each in (old, new))
    changes = [change for change in changed_ranges(ours, theirs) if any(ours[change.old_start : change.old_end])]
    known = {*ours, *(line.strip() for line in text.split("\n"))}
    for number in dots:
        mark = theirs[number]
        if mark in known or is_omission(mark):
            continue
        goes_for_it = any(change.new_start <= number < change.new_end for change in changes)
        is_code = mark == "..." and _is_body(lines, number) and not (goes_for_it and len(changes) > 1)
        if not is_code:
            return number + 1, mark
    return None


def find_emptied(new: str, old: str, text: str) -> tuple[int, str] | None:
    """Return number and text of the first line of `new` that has an ellipsis for all between braces which a line of
    `old` or `text` opens likewise, or between other brackets where that line has several things in them.

    One thing may become an ellipsis: `Field(None)` and `xs[0]` of Python.
    """
    if _EMPTIED.search(new) is None:
        return None
    known = [line.strip() for line in f"{old}\n{text}".split("\n")]
    for number, line in enumerate(map(str.strip, new.split("\n")), 1):
        found = _EMPTIED.search(line) if len(line) <= _LONGEST_CHARS and line not in known else None
        head = line[: found.start() + 1] if found else ""
        held = [other[len(head) :] for other in known if other.startswith(head)] if any(map(str.isalnum, head)) else []
        if held and (head[-1] == "{" or any("," in other.partition("...")[0] for other in held)):
            return number, line
    return None


def _is_heading(line: str, path: str) -> bool:
    return _HEADING.match(line) is not None and path.lower().endswith((".md", ".mdx", ".markdown"))


def find_left_out(new: str, old: str, text: str, path: str = "") -> tuple[int, str] | None:
    """Return number and text of the first line of `new` with a comment that says of code that it stays, in the place of
    lines of `old` that don't.
    """
    ours, theirs = ([line.strip() for line in each.split("\n")] for each in (old, new))
    short = ((number, line) for number, line in enumerate(theirs) if len(line) <= _LONGEST_CHARS)
    marks = {number for number, line in short if _says_it_stays(line) and not _is_heading(line, path)}
    known = {*ours, *(line.strip() for line in text.split("\n"))} if marks else set[str]()
    for change in changed_ranges(ours, theirs) if marks else ():
        gone = [line for line in ours[change.old_start : change.old_end] if line and line not in theirs]
        come = [number for number in range(change.new_start, change.new_end) if theirs[number] not in {*ours, ""}]
        for number in sorted(marks.intersection(come)):
            if theirs[number] not in known and len(gone) > len({*come} - marks):
                return number + 1, theirs[number]
    return None


def _says_it_stays(line: str) -> bool:
    """Whether the comment that a line is or ends with says so, in words that with an ellipsis always would."""
    found = _COMMENT_BEHIND.search(line)
    phrase = _EDGES.sub("", found[1]) if found else ""
    return phrase != "" and (_says_so(phrase) or (not _VAGUE.match(phrase) and _may_say_so(phrase, dots_before=True)))


def _is_body(lines: Sequence[str], number: int) -> bool:
    """Whether the line is all that stands in a block of Python's."""
    above = next((line for line in reversed(lines[:number]) if line.strip()), "")
    below = next((line for line in lines[number + 1 :] if line.strip()), "")
    depth = len(lines[number]) - len(lines[number].lstrip())
    is_headed = not lines[:number] or above.rstrip().endswith((":", '"""'))
    return is_headed and len(below) - len(below.lstrip()) < max(depth, 1)


def is_omission(line: str) -> bool:
    """Whether the line, alone, stands for code left out: a known phrase in a comment or between ellipses."""
    stripped = line.strip() if line.isascii() else unicodedata.normalize("NFKC", line.strip())
    if stripped[:1].isalnum() and stripped[:3].lower() not in ("rem", "dnl"):
        return False
    found = _MARKS.fullmatch(stripped) if len(stripped) <= _LONGEST_CHARS else None
    if found is None or not found["phrase"]:
        return False
    head, phrase, tail = found["head"], found["phrase"], found["tail"]
    dots_before, dots_after = bool(_ELLIPSIS.search(head)), bool(_ELLIPSIS.search(tail))
    is_block = head[:1] * 3 == head[:3] and (dots_before or dots_after)
    if head[:1] in _QUOTES and tail.rstrip(",;")[-1:] == head[:1] and not is_block:
        return False  # a string, not a comment
    if not _COMMENT.match(head) and not (dots_before and dots_after):
        return False
    if _RULE.search(head) and _RULE.search(tail) and _RULED.fullmatch(phrase):
        return True
    return _says_so(phrase) or ((dots_before or dots_after) and _may_say_so(phrase, dots_before=dots_before))


def is_elision(line: str) -> bool:
    """Whether the line, alone, stands for lines left out where text is quoted: a placeholder or a bare ellipsis."""
    bare = _ELLIPSIS.search(line) is not None and not any(char.isalnum() for char in line)
    return bare or is_omission(line)


def _any(words: str) -> str:
    """Return a pattern for one of the words; `_` in a word is white space."""
    return "(?:" + "|".join(word.replace("_", r"\s+") for word in words.split()) + ")"


_QUOTES = ("'", '"', "`")
_RULE = re.compile(r"[-=]{2,}")
_ELLIPSIS = re.compile(r"\.{3,}|\. \. \.|…+|⋯+|。{3,}|・{3,}")
_EMPTIED = re.compile(r"[\{(\[][ \t]*(?:/\*[ \t]*)?(?:\.{3}|…)[ \t]*(?:\*/[ \t]*)?[\})\]]")
_HEADING = re.compile(r"#{1,6} [^.…]*$")
_COMMENT_BEHIND = re.compile(r"(?:^|\s)(?://|#|--|/\*|<!--|\{/\*|;|%|\(\*)\s*(.*)$")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_EDGE = r"[^\w]*"
_MARKS = re.compile(rf"(?P<head>{_EDGE}(?:\b(?:rem|dnl)\b{_EDGE})?)(?P<phrase>.*?)(?P<tail>{_EDGE})", re.I | re.S)
_COMMENT = re.compile(r"//|/\*|#|--|<!--|;|%|\{-|\(\*|\{\{?/\*|\{\{!|\{#|<%|@\*|\*|!|\"|'|\\|\.\.\s|@?rem|dnl|::", re.I)

# English

_PART = _any(
    "code implementations? methods? functions? files? contents? logic imports? lines? class(?:es)? components? body "
    "sections? tests? fields? propert(?:y|ies) config(?:uration)? styles? markup html css statements? definitions? "
    "declarations? cases? options? entries items? elements? routes? handlers? script document text module program "
    "stuff setup constructor parameters? arguments? values? types? keys? settings? rules? fixtures? helpers?"
)
_GONE = _any(
    "unchanged un-?modified omitted elided not_shown no_changes?_needed no_changes?_here "
    "(?:omitted|truncated|shortened|removed)_for_brevity"
)
_STATE = rf"(?:{_GONE}|{_any('(?:the_)?same intact truncated as(?:_it)?_(?:is|was|before) no_changes?')})"
_STAYS = _any("remains? stays? is are kept left")
_TAIL = rf"(?:(?:{_STAYS}\s+)?{_STATE}(?:\s+{_any('here below above as_before as_above')})?)"
_HERE = _any("here goes_here above below continues? follows?")
_OLD = _any("existing remaining previous original other unchanged current same omitted")
_WORD = r"[\w'`.()]+"
_REST = rf"(?:the\s+)?(?:rest|remainder)\s+of\s+(?:{_any('the your this my')}\s+)?(?:{_WORD}\s+){{0,2}}?{_PART}"
_OLD_PART = rf"(?:all\s+)?(?:{_any('the your my')}\s+)?{_OLD}(?:\s+{_WORD})?\s+{_PART}(?:\s+{_PART})?"
_SURE_ENGLISH = [
    rf"{_REST}(?:\s+(?:{_TAIL}|{_HERE}))?",
    rf"{_OLD_PART}\s+(?:{_TAIL}|{_HERE})",
    rf"(?:the\s+)?{_any('existing remaining other')}(?:\s+{_WORD}){{1,2}}\s+{_TAIL}",
    rf"{_any('existing remaining')}\s+{_any('code implementation file content')}",
    rf"(?:(?:the\s+)?(?:{_WORD}\s+)?{_PART}\s+)?{_GONE}",
    rf"(?:the\s+)?rest\s+{_TAIL}",
    rf"(?:everything|anything|all)\s+else\s+{_TAIL}",
    rf"same\s+(?:code\s+)?as\s+{_any('before above previously original')}",
    r"snip(?:ped)?|etc|and\s+so\s+on",
]
_LIKELY_ENGLISH = [
    rf"(?:the\s+)?(?:rest|remainder|others)\s+{_any('stays? remains? continues? follows?')}",
    rf"(?:the\s+)?(?:rest|remainder)(?:\s+of(?:\s+{_WORD}){{1,3}})?",
    _OLD_PART,
    rf"(?:(?:the\s+)?(?:{_WORD}\s+)?{_PART}\s+)?{_TAIL}",
]
# With an ellipsis before it, whatever the parts are called: `... existing JSX ...`.
_ANY_OLD_PART = re.compile(rf"(?:the\s+)?{_any('existing remaining other')}(?:\s+{_WORD}){{1,2}}(?:\s+{_HERE})?", re.I)
_VAGUE = re.compile(rf"(?:the\s+)?{_any('previous original other current same')}\b", re.I)

# Japanese, Chinese, Korean: what is left, what it is, that it stays

_JA_STATE = _any(
    "既存のまま このまま そのまま 変更な(?:し|い) 変更無し 変更はありません "
    "変更ありません 変わらず 変更しない 省略 略 同じ 同様 同上"
)
_JA_REST = _any("以下 以降 残り ほか 他 その他 既存 元 従来 前半 後半")
_JA_PART = _any("コード 処理 実装 部分 内容 メソッド 関数 ロジック 行 定義")
_JA = rf"{_JA_REST}?の?{_JA_PART}?[はをも、,:]*\s*"
_ZH_STATE = _any(
    "(?:保持|均|都|维持|維持)?(?:不变|不變|一致|原样|原樣|未变|未變|没有变化|沒有變化) "
    "无变化 無變化 省略 略 相同 同上 从略 從略"
)
_ZH_REST = _any("其余 其餘 其他 其它 剩余 剩餘 剩下 余下 餘下 现有 現有 原有 已有 既有 原来 原來 之前 前面 后续 後續")
_ZH_PART = _any("代码 代碼 程式碼 程序 部分 内容 內容 实现 實現 實作 方法 函数 函數 逻辑 邏輯 行 定义 定義")
_ZH = rf"{_any('此处 此處 以下 以上')}?{_ZH_REST}?的?{_ZH_PART}?"
_KO_STATE = _any("그대로 동일 같음 변경\\s?없음 변경\\s?사항\\s?없음 생략 유지")
_KO_END = _any("유지 함 됨 합니다 됩니다 입니다 사용")
_KO_PART = _any("코드 내용 부분 구현 메서드 메소드 함수 로직 정의")
_KO = rf"{_any('나머지 기존 이전 다른 이하 원래')}?의?\s?{_KO_PART}?[은는이가도를을]?\s*"
_SURE_CJK = [
    rf"{_JA}{_JA_STATE}{_any('です とする する します')}?",
    _any("中略 後略 前略 以下略"),
    rf"{_ZH}{_ZH_STATE}",
    rf"{_any('此处 此處 以下')}?省略{_ZH}",
    rf"{_KO}{_KO_STATE}(?:\s?{_KO_END})?",
    _any("중략 후략 전략"),
]
_LIKELY_CJK = [_JA, _ZH, _KO]

_ORDER = re.compile(r"(?:(?:todo|note)\b:?\s*)?(?:keep|leave|insert|include)\s+", re.I)
_RULED = re.compile(rf"(?:the\s+)?{_any('existing remaining unchanged')}(?:\s+{_WORD})?\s+{_PART}", re.I)


@cache
def _sure() -> re.Pattern[str]:
    return re.compile("|".join([*_SURE_ENGLISH, *_SURE_CJK]), re.I)


@cache
def _likely() -> re.Pattern[str]:
    return re.compile("|".join([*_LIKELY_ENGLISH, *_LIKELY_CJK]), re.I)


def _says_so(phrase: str) -> bool:
    return _sure().fullmatch(_ORDER.sub("", phrase, count=1)) is not None


def _may_say_so(phrase: str, *, dots_before: bool) -> bool:
    """Whether the phrase, with an ellipsis, says so; `other cases...` says so only after one."""
    if _VAGUE.match(phrase) and not dots_before:
        return False
    phrase = _ORDER.sub("", phrase, count=1)
    if says_so_abroad(phrase) or _likely().fullmatch(phrase):
        return True
    return dots_before and _ANY_OLD_PART.fullmatch(phrase) is not None
