"""A small deterministic model without a network: plain requests become real tool calls, their results an answer."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, cast

import anyio.lowlevel
import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import spoken
from dogu.models.contents import RawContent
from dogu.models.events import Finished, FinishReason, FunctionCallEvent, ModelEvent, TextDelta, Usage

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
- dogu: /connect
- Gemini: export GEMINI_API_KEY=...  (aistudio.google.com/apikey)
- Ollama, llama.cpp, vLLM: ~/.dogu/settings.json
  {{"model": {{"provider": "openai_compatible", "baseUrl": "http://localhost:11434/v1", "name": "qwen3-coder"}}}}"""

_SENTENCES: Mapping[str, Mapping[str, str]] = {
    "help": {
        "en": "I am the offline model: no network, and only plain requests. I understand:\n"
        "- list files in src\n- read README.md\n- find *.py\n- search for TODO in src\n"
        '- replace "old" with "new" in src/a.py\n- write "text" to notes.txt\n- run ls -la\n'
        "\nFor anything else connect a real model:\n" + _CONNECT,
        "ja": "オフラインモデルです。ネットワークを使わず、簡単な依頼だけが分かります:\n"
        "- src のファイル一覧\n- README.md を読んで\n- *.py を探して\n- src で TODO を検索して\n"
        "- src/a.py の「old」を「new」に置き換えて\n- notes.txt に「text」と書いて\n- ls -la を実行して\n"
        "\nそれ以外は本物のモデルを接続してください:\n" + _CONNECT,
        "ko": "오프라인 모델입니다. 네트워크 없이 간단한 요청만 이해합니다:\n"
        "- src 파일 목록\n- README.md 읽어줘\n- *.py 찾아줘\n- src에서 TODO 검색해줘\n"
        '- src/a.py에서 "old"를 "new"로 바꿔줘\n- notes.txt에 "text" 작성해줘\n- ls -la 실행해줘\n'
        "\n그 밖의 요청은 실제 모델을 연결해 주세요:\n" + _CONNECT,
        "zh-CN": "我是离线模型：不联网，只懂简单的请求：\n"
        "- 列出 src 的文件\n- 读取 README.md\n- 查找 *.py\n- 在 src 中搜索 TODO\n"
        "- 把 src/a.py 中的“old”替换为“new”\n- 把“text”写入 notes.txt\n- 运行 ls -la\n"
        "\n其他请求请连接真正的模型：\n" + _CONNECT,
        "zh-TW": "我是離線模型：不連網，只懂簡單的請求：\n"
        "- 列出 src 的檔案\n- 讀取 README.md\n- 尋找 *.py\n- 在 src 中搜尋 TODO\n"
        "- 把 src/a.py 中的「old」替換為「new」\n- 把「text」寫入 notes.txt\n- 執行 ls -la\n"
        "\n其他請求請連接真正的模型：\n" + _CONNECT,
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


_ROOT = re.compile(r"^Workspace root: (.+)$", re.MULTILINE)
_QUOTED = re.compile("\"[^\"]*\"|'[^']*'|`[^`]*`|「[^」]*」|『[^』]*』|“[^”]*”|‘[^’]*’")
_PIECE_CHARS = 24
_SHOWN_LINES = 40


class Offline:
    """Answers by the last content alone: a request by calls, results by what they say.

    The system prompt names the workspace in a line `Workspace root: P`, which makes paths absolute where a tool wants
    them so. Only declared functions are called.
    """

    name = "offline"
    takes_media_in_answers = False

    def stream(
        self, system: str, history: Sequence[RawContent], declarations: Sequence[FunctionDeclaration]
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Give the next content; see `Model.stream`."""
        root = _ROOT.search(system)
        declared = {declaration.name for declaration in declarations}
        return aclosing(_events(history, root[1].strip() if root else "", declared))

    async def aclose(self) -> None:
        """Nothing to close."""


async def _events(history: Sequence[RawContent], root: str, declared: set[str]) -> AsyncGenerator[ModelEvent, None]:
    parts = _parts_of(history[-1]) if history else []
    responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
    prompt = _prompt_of(parts)
    asked = prompt or _last_prompt(history)
    # The request's own language, what it quotes left out; where that says nothing, the interface's.
    found = language_of(_QUOTED.sub("", asked))
    language = found if found != "en" else spoken() or found
    calls: tuple[FunctionCallEvent, ...] = ()
    if responses and not prompt:
        text = _summary(language, responses, _calls_of(history))
    else:
        from dogu.models.offline_request import understand  # its patterns take 10 ms, which no first prompt waits for

        wanted = understand(prompt, root)
        missing = sorted({name for name, _ in wanted} - declared)
        if wanted and not missing:
            calls = tuple(
                FunctionCallEvent(f"offline-{len(history)}-{number}", name, args)
                for number, (name, args) in enumerate(wanted, 1)
            )
        text = "" if calls else say(language, "missing" if missing else "help", tools=", ".join(missing))
    for start in range(0, len(text), _PIECE_CHARS):
        await anyio.lowlevel.checkpoint()
        yield TextDelta(text[start : start + _PIECE_CHARS])
    for call in calls:
        yield call
    yield Usage()
    yield Finished(FinishReason.STOP, _content(text, calls), calls)


def _content(text: str, calls: Sequence[FunctionCallEvent]) -> bytes:
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    parts += [{"functionCall": {"id": call.call_id, "name": call.name, "args": call.args}} for call in calls]
    return msgspec.json.encode({"role": "model", "parts": parts})


def _parts_of(content: RawContent) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", msgspec.json.decode(content).get("parts") or [])


def _prompt_of(parts: Sequence[dict[str, Any]]) -> str:
    """Return the first text after the last answer to a call: later texts are what the prompt brought along."""
    prompt = ""
    for part in parts:
        if "functionResponse" in part:
            prompt = ""
        elif part.get("text") and not prompt:
            prompt = str(part["text"])
    return prompt


def _last_prompt(history: Sequence[RawContent]) -> str:
    for content in reversed(history):
        decoded = _parts_of(content) if content.startswith(b'{"role":"user"') else []
        if prompt := _prompt_of(decoded):
            return prompt
    return ""


def _calls_of(history: Sequence[RawContent]) -> dict[str, dict[str, Any]]:
    """Return the arguments of the calls that the last content answers, by id."""
    parts = _parts_of(history[-2]) if len(history) > 1 else []
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    return {call.get("id", ""): call.get("args") or {} for call in calls}


def _summary(language: str, responses: Sequence[dict[str, Any]], calls: dict[str, dict[str, Any]]) -> str:
    return "\n\n".join(_said_of(language, response, calls.get(response.get("id", ""), {})) for response in responses)


def _said_of(language: str, response: dict[str, Any], args: dict[str, Any]) -> str:
    tool, answer = str(response.get("name", "")), cast("dict[str, Any]", response.get("response") or {})
    if "error" in answer:
        return f"{say(language, 'failed', tool=tool)} {answer['error']}"
    output = str(answer.get("output", ""))
    if tool == "run_shell_command":
        return _said_of_command(language, output, args)
    if tool == "read_file":
        return f"{say(language, 'read', what=args.get('path', tool))}\n{_fenced(language, output)}"
    key = "done" if tool in ("replace", "write_file") else "found"
    return f"{say(language, key)}\n{_fenced(language, output)}"


def _said_of_command(language: str, output: str, args: dict[str, Any]) -> str:
    code = re.search(r"^Exit Code: (.*)$", output, re.MULTILINE)
    lead = say(language, "ran", what=args.get("command", ""), code=code[1] if code else "?")
    printed = re.search(r"^Stdout: (.*?)^Stderr: (.*?)^Error: ", output, re.MULTILINE | re.DOTALL)
    streams = [stream.strip("\n") for stream in printed.groups()] if printed else [output]
    shown = "\n".join(stream for stream in streams if stream and stream != "(empty)")
    return f"{lead}\n{_fenced(language, shown) if shown else say(language, 'silent')}"


def _fenced(language: str, text: str) -> str:
    """Return the beginning of the text as a Markdown block that the text can't end."""
    lines = text.rstrip("\n").split("\n")
    ticks = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, ticks + 1)
    block = "\n".join([fence, *lines[:_SHOWN_LINES], fence])
    left_out = len(lines) - _SHOWN_LINES
    return f"{block}\n{say(language, 'more', count=left_out)}" if left_out > 0 else block
