"""Omission placeholders: a line that stands for code its writer left out (`// rest of code ...`), in any comment syntax.

Written into a file, such a line replaces the code it stands for. A line counts when it stands alone and, stripped of the marks around it
(whatever a language's comments are made of), is nothing but a known phrase for "what was there stays". A comment that merely
mentions existing code, or a bare `...`, doesn't count.
"""

from __future__ import annotations

import re
import unicodedata

_LONGEST_CHARS = 120  # a placeholder is short; longer lines aren't looked at
_NEEDS_DOTS = ("same", "the same", "as is", "no change", "no changes")  # ordinary comments by themselves

_NOUN = (
    r"(?:code|implementations?|methods?|functions?|files?|contents?|logic|imports?|lines?|class(?:es)?|components?|body"
    r"|sections?|tests?|fields?|propert(?:y|ies)|config(?:uration)?|styles?|markup|html|css|statements?|definitions?"
    r"|declarations?|cases?|options?|entries|items?|elements?|routes?|handlers?|script|document|text|module|program|stuff"
    r"|setup|constructor|parameters?|arguments?|values?|types?|keys?|settings?|rules?|fixtures?|helpers?)"
)
_STATE = (
    r"(?:unchanged|un-?modified|(?:the\s)?same|intact|omitted|elided|truncated|not\sshown|as(?:\sit)?\s(?:is|was|before)|"
    r"no\schanges?(?:\sneeded|\shere)?|(?:omitted|truncated|shortened|removed)\sfor\sbrevity)"
)
_TAIL = (
    rf"(?:(?:remains?|stays?|is|are|kept|left)?\s*{_STATE}(?:\s+(?:here|below|above|as\sbefore))?"
    r"|here|goes\shere|above|below|continues?|follows?)"
)
_ADJECTIVE = r"(?:existing|remaining|previous|original|other|unchanged|current|same|omitted)"
_VAGUE = re.compile(r"(?:the\s+)?(?:previous|original|other|current|same)\b", re.IGNORECASE)
_ENGLISH = re.compile(
    rf"""(?:keep\s+|leave\s+|insert\s+|include\s+)?(?:
        (?:the\s+)?(?:rest|remainder)(?:\s+of\s+(?:the\s+|your\s+|this\s+|my\s+)?(?:[\w'`.()]+\s+){{0,2}}?{_NOUN})?(?:\s+(?P<t1>{_TAIL}))?
      | (?:all\s+)?(?:the\s+|your\s+|my\s+)?{_ADJECTIVE}(?:\s+[\w'`.()]+)?(?:\s+{_NOUN})(?:\s+{_NOUN})?(?:\s+(?P<t2>{_TAIL}))?
      | (?:the\s+)?(?:existing|remaining|other)(?:\s+[\w'`.()]+){{1,2}}\s+(?P<t5>(?:(?:remains?|stays?|is|are)\s+)?{_STATE})
      | (?:(?:the\s+)?(?:[\w'`.()]+\s+)?{_NOUN}\s+)?(?:remains?\s+|stays?\s+|is\s+|are\s+)?(?P<t3>{_STATE})
      | same\s+(?:code\s+)?as\s+(?P<t4>before|above|previously|original)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_ALWAYS = re.compile(rf"{_ADJECTIVE}\s+(?:code|implementation|file|content)s?|(?:the\s+)?rest\s+of\b.*", re.IGNORECASE)

_JA_STATE = r"(?:既存のまま|このまま|そのまま|変更なし|変更無し|変更はありません|変更ありません|変わらず|変更しない|省略|略|同じ|同様|同上)"
_JA = (
    rf"(?:以下|以降|残り|ほか|他|その他|既存|元|従来|前半|後半)?(?:の)?(?:コード|処理|実装|部分|内容|メソッド|関数|ロジック|行|定義)?"
    rf"(?:は|を|も|、|,|:)*\s*(?P<ja>{_JA_STATE})?(?:です|とする|する|します)?|(?P<ja2>中略|後略|前略|以下略)"
)
_ZH_STATE = r"(?:(?:保持|均|都|维持|維持)?(?:不变|不變|一致|原样|原樣|未变|未變|没有变化|沒有變化|无变化|無變化)|省略|略|相同|同上|从略|從略)"
_ZH = (
    rf"(?:此处|此處|以下|以上)?(?P<zh1>省略)?(?:其余|其餘|其他|其它|剩余|剩餘|剩下|余下|餘下|现有|現有|原有|已有|既有|原来|原來|之前|前面|后续|後續)?(?:的)?"
    rf"(?:代码|代碼|程式碼|程序|部分|内容|內容|实现|實現|實作|方法|函数|函數|逻辑|邏輯|行|定义|定義)?(?P<zh2>{_ZH_STATE})?"
)
_KO_STATE = r"(?:그대로|동일|같음|변경\s?없음|변경\s?사항\s?없음|생략|유지)(?:\s?(?:유지|함|됨|합니다|됩니다|입니다|사용))?"
_KO = (
    rf"(?:나머지|기존|이전|다른|이하|원래)?(?:의)?\s?(?:코드|내용|부분|구현|메서드|메소드|함수|로직|정의)?(?:은|는|이|가|도|를|을)?\s*"
    rf"(?P<ko>{_KO_STATE})?|(?P<ko2>중략|후략|전략)"
)
_CJK = re.compile(rf"(?:{_JA}|{_ZH}|{_KO})")

_ELLIPSIS = re.compile(r"\.{3,}|…+|⋯+|。{3,}|・{3,}")
_EDGE = r"[^\w]*"
_MARKS = re.compile(rf"(?P<head>{_EDGE}(?:\b(?:rem|dnl)\b{_EDGE})?)(?P<phrase>.*?)(?P<tail>{_EDGE})", re.IGNORECASE | re.DOTALL)
_COMMENT_HEAD = re.compile(r"//|/\*|#|--|<!--|;|%|\{-|\(\*|\{/\*|\{#|<%|@\*|\*|!|\"|'|\\|\.\.\s|rem|dnl|::", re.IGNORECASE)


def find_omission(new: str, existing: str) -> tuple[int, str] | None:
    """Return line number (1-based) and text of the first placeholder in `new` that `existing` has on no line; None if none."""
    kept: set[str] | None = None
    for number, line in enumerate(new.split("\n"), 1):
        if len(line) > _LONGEST_CHARS or not is_omission(line):
            continue
        if kept is None:
            kept = {other.strip() for other in existing.splitlines()}
        if line.strip() not in kept:
            return number, line.strip()
    return None


def is_omission(line: str) -> bool:
    """Say whether the line, alone, stands for code left out: a known phrase within comment marks or between ellipses."""
    stripped = unicodedata.normalize("NFKC", line.strip()) if not line.isascii() else line.strip()
    if not stripped or len(stripped) > _LONGEST_CHARS:
        return False
    found = _MARKS.fullmatch(stripped)
    if found is None or not found["phrase"]:
        return False
    head, phrase, tail = found["head"], found["phrase"], found["tail"]
    dots = bool(_ELLIPSIS.search(head) or _ELLIPSIS.search(tail))
    if head[:1] in "\"'`" and tail.rstrip(",;")[-1:] == head[:1]:
        return False  # a string, not a comment
    if not _COMMENT_HEAD.match(head) and not (_ELLIPSIS.search(head) and _ELLIPSIS.search(tail)):
        return False
    if _VAGUE.match(phrase):
        dots = bool(_ELLIPSIS.search(head))
    return _is_phrase(phrase, dots=dots)


def is_elision(line: str) -> bool:
    """Say whether the line, alone, stands for lines left out where context is quoted: a placeholder or a bare ellipsis."""
    stripped = line.strip()
    if not _ELLIPSIS.search(stripped):
        return is_omission(line)
    return not any(char.isalnum() for char in stripped) or is_omission(line)


def _is_phrase(phrase: str, *, dots: bool) -> bool:
    english = _ENGLISH.fullmatch(phrase)
    if english is not None:
        states = english.groupdict().values()
        return dots or any(states) and phrase.casefold() not in _NEEDS_DOTS or _ALWAYS.fullmatch(phrase) is not None
    cjk = _CJK.fullmatch(re.sub(r"\.{3,}", "", phrase))
    return cjk is not None and (dots or any(cjk.groupdict().values()))
