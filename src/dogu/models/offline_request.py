"""Understands plain requests in English, Japanese, Korean and Chinese, and turns each into tool calls; pure.

A request is understood by its verb, what stands in quotes, and what looks like a path. Quoted text never decides the
verb. What is not understood gives no call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeAlias

ALL = re.compile(r"\b(?:all|every|everywhere)\b|すべて|全て|全部|모두|모든|전부|所有", re.IGNORECASE)
FILES = re.compile(
    r"\bfiles?\b|folders?|director(?:y|ies)|ファイル|フォルダ|ディレクトリ|파일|폴더|文件|檔案|目录|目錄|资料夹|資料夾",
    re.IGNORECASE,
)
LINES = re.compile(r"\blines?\s+(\d+)\s*(?:-|to|–)\s*(\d+)|(\d+)\s*[-~〜–]\s*(\d+)\s*(?:行|줄)", re.IGNORECASE)
KINDS = {
    "python": "*.py", "javascript": "*.js", "typescript": "*.ts", "markdown": "*.md", "json": "*.json", "rust": "*.rs",
    "go": "*.go", "java": "*.java", "html": "*.html", "css": "*.css", "yaml": "*.{yml,yaml}", "text": "*.txt",
}  # fmt: skip

# In the order in which they are believed where several verbs stand in one sentence of Japanese, Korean or Chinese.
VERBS: dict[str, re.Pattern[str]] = {
    "replace": re.compile(
        r"\b(?:replace|substitute|change|rename)\b|置き換え|置換|\ue001\s*を\s*\ue000\d+\ue001\s*に|書き換え|変更|に変え|바꿔|바꾸|교체|치환|변경|替换|替換|取代|[换換改]成|改[为為]",
        re.IGNORECASE,
    ),
    "write": re.compile(
        r"\b(?:write|create|save)\b|書いて|書き込|書く|作成|作って|保存"
        r"|작성|만들|써줘|써 줘|저장|쓰기|写|寫|创建|新建|建立|創建|儲存",
        re.IGNORECASE,
    ),
    "run": re.compile(r"\b(?:run|execute|exec)\b|実行|실행|运行|執行|执行|運行", re.IGNORECASE),
    "search": re.compile(r"\b(?:search|grep|look)\b|検索|검색|搜索|搜尋|搜寻", re.IGNORECASE),
    "find": re.compile(r"\b(?:find|locate|glob)\b|探し|探す|さがし|見つけ|찾|查找|尋找|寻找|找", re.IGNORECASE),
    "list": re.compile(
        r"\b(?:list|ls|dir|(?:what|which) files)\b|一覧|リスト|列挙|목록|나열|리스트"
        r"|列出|列表|清单|清單|有哪些|有什么|有什麼",
        re.IGNORECASE,
    ),
    "read": re.compile(
        r"\b(?:read|show|open|cat|display|print|view)\b|what(?:'s| is) in\b|読|見せ|表示|開い"
        r"|읽|보여|열어|표시|读|讀|查看|显示|顯示|打开|打開|看",
        re.IGNORECASE,
    ),
}
RUN = (
    re.compile(
        r"^(?:please\s+|can you\s+|could you\s+)*(?:run|execute|exec)\s+(?:(?:the\s+)?command\s*:?\s*)?(?!the\s)(.+)$",
        re.I | re.S,
    ),
    re.compile(r"^[!$]\s*(.+)$", re.S),
    re.compile(r"^(?:実行|실행)\s*[:：]?\s+(.+)$", re.S),
    re.compile(r"^(.+?)\s*(?:コマンド)?(?:を|と)?\s*実行(?:して|する|しろ|せよ|$).*$", re.S),
    re.compile(r"^(.+?)\s*(?:명령(?:어)?)?(?:을|를)?\s*실행.*$", re.S),
    re.compile(r"^(?:请|請)?(?:帮我|幫我)?(?:运行|執行|执行|運行)(?:命令|指令)?[:：]?\s*(.+?)[。]?$", re.S),
)
PLAIN_REPLACE = (
    re.compile(
        r"(?:replace|change|substitute|rename)\s+(?:all\s+|every\s+)?(?P<old>\S+)\s+(?:with|by|to|into|for)\s+(?P<new>\S+)",
        re.I,
    ),
    re.compile(r"(?P<old>[^\sの]+)\s*を\s*(?P<new>\S+?)\s*(?:に|へ)\s*(?:すべて|全て|全部)?\s*(?:置|変|書)"),
    re.compile(r"(?P<old>\S+?)(?:을|를)\s+(?:모두\s+|전부\s+)?(?P<new>\S+?)(?:으로|로)\s"),
    re.compile(r"(?P<old>[^\s的中里裡把]+?)\s*(?:全部)?(?:替换|替換|取代|改|换|換)(?:[为為成])+\s*(?P<new>[^\s。]+)"),
)
AFTER = re.compile(
    r"\b(?:search|grep|look|find|locate)\s+(?:for\s+)?(?:the\s+)?(?:text\s+|string\s+|word\s+|where\s+)?(\S+)",
    re.IGNORECASE,
)
PLACE = re.compile(
    r"\b(?:in|of|under|inside|ls|dir|list)\s+(?:the\s+)?(?:folder\s+|directory\s+)?([^\s,?]+)", re.IGNORECASE
)
NO_PLACE = frozenset(
    (
        "this",
        "the",
        "current",
        "here",
        "folder",
        "directory",
        "files",
        "file",
        "all",
        "my",
        "everything",
        "project",
        "a",
    )
)

WRITE_PLAIN = (
    re.compile(r"\b(?:write|save)\s+(?P<text>.+?)\s+(?:to|into|in)\s", re.I | re.S),
    re.compile(r"(?:に|へ)\s*(?P<text>\S+?)\s*(?:と|を)\s*(?:書|保存)"),
    re.compile(r"에\s*(?P<text>\S+?)(?:을|를|라고|이라고)?\s*(?:작성|써|저장|쓰기)"),
    re.compile(r"[把将將]\s*(?P<text>\S+?)\s*(?:写|寫|保存|儲存)"),
)
CREATE = re.compile(r"\bcreate\b|作成|作って|만들|创建|創建|新建|建立", re.IGNORECASE)
PRONOUNS = frozenset(
    ("me", "it", "that", "them", "us", "you", "please", "content", "contents", "what", "is", "lines", "line")
)
VERB_WORDS = frozenset(("read", "show", "open", "cat", "display", "print", "view", "of", "can", "could"))


Call: TypeAlias = tuple[str, dict[str, Any]]

_QUOTED = re.compile(r"\"([^\"]*)\"|(?<!\w)'([^']*)'(?!\w)|`([^`]*)`|「([^」]*)」|『([^』]*)』|“([^”]*)”|‘([^’]*)’")
_MARK = re.compile("\ue000(\\d+)\ue001")  # where a quoted text stood
_THEN = re.compile(r",?\s+(?:and\s+)?then\s+|[、,，]?(?:それから|그다음|그런 다음|然后|然後)[、,，]?\s*", re.IGNORECASE)
_MENTION = re.compile(r"(?<!\S)@(?=\S)")  # `@path`, whose text comes with the prompt
_MENTIONED = re.compile(rf"{_MENTION.pattern}(?:\"([^\"]+)\"|(\S+))")
_GLOB_CHARS = re.compile(r"[*?]|\[.+\]|\{.+,.+\}")
_ASCII_PATH = re.compile(r"[A-Za-z0-9_.~*?\[\]{}@+,/-]*[A-Za-z0-9_*\]}/]", re.ASCII)
_ANY_PATH = re.compile(r"[^\s,、，。:：\ue000\ue001]+\.[A-Za-z0-9_*]+")


class Request(NamedTuple):
    """A sentence, its quoted texts taken out and marked."""

    raw: str
    marked: str
    quoted: list[str]

    @property
    def is_spaced(self) -> bool:
        """Whether the sentence is English: words between blanks, the verb first."""
        return self.raw.isascii() or not re.search("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", self.marked)


def understand(text: str, root: str) -> list[Call]:
    """Return the calls that do what the text asks; none when it isn't understood. `root` makes paths absolute."""
    calls: list[Call] = []
    for sentence in _THEN.split(text.strip()):
        call = _understand_one(sentence.strip(), root)
        if call is None:
            return []
        calls.append(call)
    return calls


def _understand_one(text: str, root: str) -> Call | None:
    quoted: list[str] = []

    def mark(match: re.Match[str]) -> str:
        quoted.append(next(group for group in match.groups() if group is not None))
        return f" \ue000{len(quoted) - 1}\ue001 "

    request = Request(text, _QUOTED.sub(mark, text), quoted)
    verb = _verb_of(request)
    if verb in ("read", "list") and _MENTION.search(text):
        return _understand_one(_MENTION.sub("", text), root)
    if verb:
        return _ACTS[verb](request, root)
    mentioned = [match[1] or match[2] for match in _MENTIONED.finditer(text)]
    return ("read_many_files", {"paths": mentioned}) if mentioned else None


def _verb_of(request: Request) -> str:
    if re.match(r"[!$]\s*\S", request.raw):
        return "run"
    places = {verb: match.start() for verb, pattern in VERBS.items() if (match := pattern.search(request.marked))}
    if not places:
        return "find" if _GLOB_CHARS.search(request.marked) and len(request.marked.split()) == 1 else ""
    return min(places, key=lambda verb: places[verb]) if request.is_spaced else next(iter(places))


def _run(request: Request, root: str) -> Call | None:
    for pattern in RUN:
        match = pattern.match(request.raw)
        if match:
            command = match[1].strip()
            whole = _QUOTED.fullmatch(command)
            if whole:
                command = next(group for group in whole.groups() if group is not None)
            return ("run_shell_command", {"command": command}) if command else None
    return None


def _replace(request: Request, root: str) -> Call | None:
    texts, path = list(request.quoted), _path_outside_quotes(request)
    if not path and len(texts) >= 3:
        is_first = not request.is_spaced
        path = texts.pop(0 if is_first else 2)
    if len(texts) >= 2:
        old, new = texts[0], texts[1]
        if re.search("[用以]\\s*\ue0000\ue001", request.marked):
            old, new = new, old
    else:
        match = next(filter(None, (pattern.search(request.raw) for pattern in PLAIN_REPLACE)), None)
        if match is None:
            return None
        old, new = match["old"].strip("「」“”'\"`"), match["new"].strip("「」“”'\"`")
        path = _path_outside_quotes(request, but={old, new})
    if not path or not old:
        return None
    args: dict[str, Any] = {"file_path": _absolute(path, root), "old_string": old, "new_string": new}
    if ALL.search(request.marked):
        args["allow_multiple"] = True
    return ("replace", args)


def _write(request: Request, root: str) -> Call | None:
    texts, path = list(request.quoted), _path_outside_quotes(request)
    if not path and texts:
        path = texts.pop() if len(texts) > 1 and request.is_spaced else texts.pop(0)
    if not path:
        return None
    plain = next(filter(None, (pattern.search(request.marked) for pattern in WRITE_PLAIN)), None)
    content = texts[0] if texts else plain["text"] if plain else ""
    if not content:
        # An empty old text creates a file and never overwrites one.
        empty = {"file_path": _absolute(path, root), "old_string": "", "new_string": ""}
        return ("replace", empty) if CREATE.search(request.marked) else None
    content = content.replace("\\n", "\n").replace("\\t", "\t")
    content += "" if content.endswith("\n") else "\n"
    return ("write_file", {"file_path": _absolute(path, root), "content": content})


def _search(request: Request, root: str) -> Call | None:
    place = _place(request)
    pattern = request.quoted[0] if request.quoted else ""
    if not pattern:
        match = AFTER.search(request.marked) if request.is_spaced else None
        words = _words(request, but={place})
        pattern = match[1].strip(".,?!") if match else (words[-1] if words else "")
    if not pattern:
        pattern, place = place, ""
    if not pattern:
        return None
    args: dict[str, Any] = {"pattern": pattern}
    if place:
        args["include" if _GLOB_CHARS.search(place) else "path"] = place
    if re.search(r"[\\^$.|?*+()\[\]{}]", pattern):
        args["fixed_strings"] = True
    return ("grep_search", args)


def _find(request: Request, root: str) -> Call | None:
    candidates = [*request.quoted, *_paths(request)]
    pattern = next((item for item in candidates if _GLOB_CHARS.search(item) or "." in item.strip(".")), "")
    if not pattern:
        kind = next(
            (glob for word, glob in KINDS.items() if re.search(rf"\b{word}\b", request.marked, re.I | re.ASCII)), ""
        )
        if not kind or not FILES.search(request.marked):
            return _search(request, root)
        pattern = kind
    args = {"pattern": pattern if "/" in pattern else f"**/{pattern}"}
    place = _place(request)
    if place and place != pattern and not _GLOB_CHARS.search(place):
        args["path"] = place
    return ("glob", args)


def _list(request: Request, root: str) -> Call | None:
    glob = next((path for path in [*request.quoted, *_paths(request)] if _GLOB_CHARS.search(path)), "")
    if glob:
        return _find(request, root)
    return ("list_directory", {"path": (request.quoted[0] if request.quoted else _place(request)) or "."})


def _read(request: Request, root: str) -> Call | None:
    paths = [*request.quoted, *_paths(request)]
    if not paths and FILES.search(request.marked):
        return _list(request, root)
    words = [word for word in _words(request, but=VERB_WORDS | PRONOUNS | NO_PLACE) if not word.isdigit()]
    if not paths and len(words) != 1:
        return None
    paths = paths or words
    if len(paths) > 1 or _GLOB_CHARS.search(paths[0]):
        return ("read_many_files", {"paths": paths})
    args: dict[str, Any] = {"path": paths[0]}
    if match := LINES.search(request.marked):
        first, last = (int(group) for group in match.groups() if group)
        args |= {"offset": max(0, first - 1), "limit": max(1, last - first + 1)}
    return ("read_file", args)


_ACTS: dict[str, Callable[[Request, str], Call | None]] = {
    "run": _run, "replace": _replace, "write": _write, "search": _search, "find": _find, "list": _list, "read": _read,
}  # fmt: skip


def _paths(request: Request) -> list[str]:
    """Return what looks like a path outside of quotes: it holds a dot, a slash or a glob's characters."""
    text = LINES.sub(" ", _MARK.sub(" ", request.marked))
    found: list[str] = []
    for token in re.split(r"[\s,、，。]+", text):
        match = max(_ASCII_PATH.findall(token), key=len, default="")
        whole = _ANY_PATH.match(token)
        if whole and not match.partition(".")[0]:
            match = whole[0]
        if re.search(r"[./*]", match.strip(".")) or (len(match) > 1 and "/" in match):
            found.append(match.rstrip(".?") if not _GLOB_CHARS.search(match) else match)
    return found


def _path_outside_quotes(request: Request, but: Collection[str] = ()) -> str:
    return next((path for path in _paths(request) if path not in but), "")


def _place(request: Request) -> str:
    """Return the folder or file that a list or a search is limited to; empty when none is named."""
    if request.is_spaced:
        words = (match[1] for match in PLACE.finditer(request.marked))
        return next((word for word in words if word.lower() not in NO_PLACE and word[0] not in "-\ue000"), "")
    match = re.search(
        "([A-Za-z0-9_./*-]+)\\s*(?:の|で|에서|의|에|中|里|裡|下|的|目录|目錄|文件夹|資料夾|フォルダ|ディレクトリ|폴더|파일)",
        request.marked,
        re.ASCII,
    )
    return match[1] if match else next(iter(_paths(request)), "") if _verb_of(request) == "list" else ""


def _words(request: Request, but: Collection[str]) -> list[str]:
    """Return the words in Latin letters outside of quotes: what a sentence in another script speaks about."""
    words = re.findall(r"[A-Za-z0-9_.]*[A-Za-z0-9_]", _MARK.sub(" ", request.marked), re.ASCII)
    return [word for word in words if word not in but and word.lower() not in but]


def _absolute(path: str, root: str) -> str:
    return path if path.startswith("/") or not root else f"{root.rstrip('/')}/{path.removeprefix('./')}"
