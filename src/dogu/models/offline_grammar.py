"""The words and word orders by which the offline model knows a request, in five languages."""

from __future__ import annotations

import re

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
