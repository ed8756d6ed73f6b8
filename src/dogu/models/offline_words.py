"""What the offline model says, in five languages."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TRADITIONAL = re.compile("[檔執尋讀寫換顯開儲這個請裡說為內與專閱覽詢錄]")


def language_of(text: str) -> str:
    """Guess the language of a request: en, ja, ko, zh-CN or zh-TW."""
    if re.search("[\u3040-\u30ff]", text):
        return "ja"
    if re.search("[\uac00-\ud7af\u1100-\u11ff]", text):
        return "ko"
    if re.search("[\u4e00-\u9fff]", text):
        return "zh-TW" if _TRADITIONAL.search(text) else "zh-CN"
    return "en"


def say(language: str, key: str, **values: object) -> str:
    """Return the sentence in the language."""
    return _SENTENCES[key][language].format(**values)


_CONNECT = """
- Gemini: export GEMINI_API_KEY=...  (aistudio.google.com/apikey)
- Ollama, llama.cpp, vLLM: ~/.dogu/settings.json
  {{"model": {{"provider": "openai_compatible", "baseUrl": "http://localhost:11434/v1", "name": "qwen3-coder"}}}}"""

_SENTENCES: Mapping[str, Mapping[str, str]] = {
    "help": {
        "en": "I am the offline model: no network, and only plain requests. I understand:\n"
        "- list files in src\n- read README.md\n- find *.py\n- search for TODO in src\n"
        '- replace "old" with "new" in src/a.py\n- write "text" to notes.txt\n- run ls -la\n'
        "For anything else connect a real model:\n" + _CONNECT,
        "ja": "オフラインモデルです。ネットワークを使わず、簡単な依頼だけが分かります:\n"
        "- src のファイル一覧\n- README.md を読んで\n- *.py を探して\n- src で TODO を検索して\n"
        "- src/a.py の「old」を「new」に置き換えて\n- notes.txt に「text」と書いて\n- ls -la を実行して\n"
        "それ以外は本物のモデルを接続してください:\n" + _CONNECT,
        "ko": "오프라인 모델입니다. 네트워크 없이 간단한 요청만 이해합니다:\n"
        "- src 파일 목록\n- README.md 읽어줘\n- *.py 찾아줘\n- src에서 TODO 검색해줘\n"
        '- src/a.py에서 "old"를 "new"로 바꿔줘\n- notes.txt에 "text" 작성해줘\n- ls -la 실행해줘\n'
        "그 밖의 요청은 실제 모델을 연결해 주세요:\n" + _CONNECT,
        "zh-CN": "我是离线模型：不联网，只懂简单的请求：\n"
        "- 列出 src 的文件\n- 读取 README.md\n- 查找 *.py\n- 在 src 中搜索 TODO\n"
        "- 把 src/a.py 中的“old”替换为“new”\n- 把“text”写入 notes.txt\n- 运行 ls -la\n"
        "其他请求请连接真正的模型：\n" + _CONNECT,
        "zh-TW": "我是離線模型：不連網，只懂簡單的請求：\n"
        "- 列出 src 的檔案\n- 讀取 README.md\n- 尋找 *.py\n- 在 src 中搜尋 TODO\n"
        "- 把 src/a.py 中的「old」替換為「new」\n- 把「text」寫入 notes.txt\n- 執行 ls -la\n"
        "其他請求請連接真正的模型：\n" + _CONNECT,
    },
    "read": {
        "en": "This is in {what}:",
        "ja": "{what} の内容です:",
        "ko": "{what}의 내용입니다:",
        "zh-CN": "{what} 的内容：",
        "zh-TW": "{what} 的內容：",
    },
    "ran": {
        "en": "`{what}` ended with exit code {code}.",
        "ja": "`{what}` は終了コード {code} で終わりました。",
        "ko": "`{what}` 명령이 종료 코드 {code}(으)로 끝났습니다.",
        "zh-CN": "`{what}` 已结束，退出代码 {code}。",
        "zh-TW": "`{what}` 已結束，結束代碼 {code}。",
    },
    "silent": {
        "en": "It printed nothing.",
        "ja": "出力はありません。",
        "ko": "출력이 없습니다.",
        "zh-CN": "没有输出。",
        "zh-TW": "沒有輸出。",
    },
    "done": {"en": "Done:", "ja": "完了しました:", "ko": "완료했습니다:", "zh-CN": "完成：", "zh-TW": "完成："},
    "found": {"en": "Result:", "ja": "結果:", "ko": "결과:", "zh-CN": "结果：", "zh-TW": "結果："},
    "failed": {
        "en": "{tool} failed:",
        "ja": "{tool} は失敗しました:",
        "ko": "{tool} 실패:",
        "zh-CN": "{tool} 失败：",
        "zh-TW": "{tool} 失敗：",
    },
    "missing": {
        "en": "That needs {tools}, which is switched off here.",
        "ja": "それには {tools} が必要ですが、ここでは無効になっています。",
        "ko": "{tools}이(가) 필요하지만 여기서는 꺼져 있습니다.",
        "zh-CN": "这需要 {tools}，但在这里已停用。",
        "zh-TW": "這需要 {tools}，但在這裡已停用。",
    },
    "more": {
        "en": "({count} more lines)",
        "ja": "(あと {count} 行)",
        "ko": "(나머지 {count}줄)",
        "zh-CN": "（还有 {count} 行）",
        "zh-TW": "（還有 {count} 行）",
    },
}
