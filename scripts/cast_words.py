"""What is typed and answered in the casts, per language."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dogu.language import say, speak
from dogu.testing import Call, Turn, call

_FILE = "greeter/hello.py"


@dataclass(frozen=True)
class Scene:
    """The model's turns in a root, and the steps of the user: what to wait for on the screen, then what to type.

    `has_key`: a model is connected already.
    """

    turns: Callable[[str], Sequence[Turn]]
    steps: Sequence[tuple[str, str]]
    has_key: bool = True


@dataclass(frozen=True)
class Words:
    """One language's words: two prompts, what the model says, and the greeting it writes."""

    greet: str
    looking: str
    changing: str
    done: str
    ran: str
    greeting: str


_WORDS = {
    "en": Words(
        "Let it greet in Japanese, and show me the program's output",
        "I'll look at the code first.",
        "The greeting is a constant in `greeter/hello.py`; I'll change that one line.",
        "Now I'll run it.",
        "**Done.** `greet()` now says こんにちは:\n\n- one line changed in `greeter/hello.py`\n"
        "- `main.py` prints `こんにちは, world!`\n",
        "こんにちは",
    ),
    "ja": Words(
        "挨拶を日本語にして、実行結果も見せて",
        "まずコードを確認します。",
        "挨拶は `greeter/hello.py` の定数です。この 1 行を変更します。",
        "実行してみます。",
        "**完了しました。** `greet()` は「こんにちは」と挨拶します。\n\n- `greeter/hello.py` を 1 行変更\n"
        "- `main.py` の出力は `こんにちは, world!`\n",
        "こんにちは",
    ),
    "ko": Words(
        "인사말을 한국어로 바꾸고 실행 결과도 보여 줘",
        "먼저 코드를 살펴보겠습니다.",
        "인사말은 `greeter/hello.py`의 상수입니다. 이 한 줄만 바꾸겠습니다.",
        "이제 실행해 보겠습니다.",
        "**완료했습니다.** 이제 `greet()`가 한국어로 인사합니다.\n\n- `greeter/hello.py` 한 줄 변경\n"
        "- `main.py` 출력: `안녕하세요, world!`\n",
        "안녕하세요",
    ),
    "zh-CN": Words(
        "把问候语改成中文，并给我看运行结果",
        "我先看一下代码。",
        "问候语是 `greeter/hello.py` 里的一个常量，我只改这一行。",
        "现在运行看看。",
        "**完成。** `greet()` 现在用中文问候：\n\n- `greeter/hello.py` 改了一行\n- `main.py` 输出 `你好, world!`\n",
        "你好",
    ),
    "zh-TW": Words(
        "把問候語改成中文，並給我看執行結果",
        "我先看一下程式碼。",
        "問候語是 `greeter/hello.py` 裡的一個常數，我只改這一行。",
        "現在執行看看。",
        "**完成。** `greet()` 現在用中文問候：\n\n- `greeter/hello.py` 改了一行\n- `main.py` 輸出 `你好, world!`\n",
        "你好",
    ),
}


def _scene(words: Words) -> Scene:
    def turns(root: str) -> Sequence[Turn]:
        new = f'"{words.greeting}"'
        change = call("replace", file_path=f"{root}/{_FILE}", old_string='"Hello"', new_string=new)
        said: list[tuple[str, list[Call]]] = [
            (words.looking, [call("read_file", path=_FILE), call("grep_search", pattern="GREETING")]),
            (words.changing, [change]),
            (words.done, [call("run_shell_command", command="python3 main.py")]),
            (words.ran, []),
        ]
        return [Turn(text=text, calls=calls, pieces=12, pace_s=0.05, delay_s=0.5) for text, calls in said]

    steps = [
        ("›", f"{words.greet}\r"),
        (words.greeting, "y"),
        (r"python3(?s:.*?)main\.py", "y"),
        ("world!", "/undo turn\r"),
    ]
    return Scene(turns, steps)


SCENES = {language: _scene(words) for language, words in _WORDS.items()}


@dataclass(frozen=True)
class Still:
    """One screen: what is played, how wide the terminal is, and its background."""

    name: str
    scene: Scene
    columns: int
    rows: int = 40
    is_light: bool = False


_ANSWER = """# The shop

It has **three** parts, see `app.py`:

- the list of *things* that are sold
- `total()`, which adds up what they cost and is explained here at some length, so that the line wraps
  1. each thing's price
  2. the sum

```python
def total(things: list[int]) -> int:
    return sum(things)  # the sum
```

| name | price |
|---|---:|
| tea | 3 |
| 緑茶 | 12 |

> Prices are in yen.

See [the docs](https://example.org/docs)."""


def _danger(_root: str) -> Sequence[Turn]:
    command = "rm -rf build && git push --force"
    return [Turn(calls=[call("run_shell_command", command=command, description="Clean up and publish")])]


def _edit(root: str) -> Sequence[Turn]:
    old, new = 'GREETING = "Hello"', 'GREETING = "こんにちは"  # as in Japan'
    return [Turn(calls=[call("replace", file_path=f"{root}/{_FILE}", old_string=old, new_string=new)])]


_ASKED = (("keys", "Clean up and publish it\r"), (r"\(s\)", ""))
_EDITED = (("keys", "Greet in Japanese\r"), (r"\(s\)", ""))
_SEARCHED = (("keys", "/settings\r"), ("Enter picks", "ui"))

_ANSWERED = (("keys", "Explain the shop\r"), ("docs", ""))
STILLS = [
    Still(name, scene, columns, rows, is_light=is_light)
    for name, scene, columns, rows in (
        ("danger", Scene(_danger, _ASKED), 40, 40),
        ("edit", Scene(_edit, _EDITED), 80, 40),
        ("answer", Scene(lambda _root: [Turn(text=_ANSWER)], _ANSWERED), 120, 40),
        ("settings", Scene(lambda _root: [], _SEARCHED), 200, 24),
    )
    for is_light in (False, True)
]
"""The screens that are kept: the widths that are looked at, on both backgrounds."""


@dataclass(frozen=True)
class FirstWords:
    """One language's words of a first hour: the prompt, what the model says, and the greeting it writes."""

    ask: str
    looking: str
    found: str
    changed: str
    done: str
    greeting: str


_FIRST_WORDS = {
    "en": FirstWords(
        "Let it say Good morning",
        "I'll look at the code first.",
        "It greets by a constant.",
        "Changed. Let me run it.",
        "`main.py` now prints *Good morning, world!*",
        "Good morning",
    ),
    "ja": FirstWords(
        "挨拶を「おはよう」にして",
        "まずコードを確認します。",
        "挨拶は定数になっています。",
        "変更しました。実行してみます。",
        "`main.py` の出力は *おはよう, world!* になりました。",
        "おはよう",
    ),
    "ko": FirstWords(
        "인사말을 '좋은 아침'으로 바꿔 줘",
        "먼저 코드를 살펴보겠습니다.",
        "인사말은 상수로 되어 있습니다.",
        "변경했습니다. 실행해 보겠습니다.",
        "이제 `main.py`가 *좋은 아침, world!* 를 출력합니다.",
        "좋은 아침",
    ),
    "zh-CN": FirstWords(
        "把问候语改成“早上好”",
        "我先看一下代码。",
        "问候语是一个常量。",
        "已修改，现在运行看看。",
        "`main.py` 现在输出 *早上好, world!*",
        "早上好",
    ),
    "zh-TW": FirstWords(
        "把問候語改成「早安」",
        "我先看一下程式碼。",
        "問候語是一個常數。",
        "已修改，現在執行看看。",
        "`main.py` 現在輸出 *早安, world!*",
        "早安",
    ),
}


def _first_hour(language: str, words: FirstWords) -> Scene:
    """Return what a newcomer does first: connect a model, look at the keys, have something changed, take it back."""

    def turns(root: str) -> Sequence[Turn]:
        new = f'"{words.greeting}"'
        change = call("replace", file_path=f"{root}/{_FILE}", old_string='"Hello"', new_string=new)
        said: list[tuple[str, list[Call]]] = [
            (words.looking, [call("read_file", path=_FILE)]),
            (words.found, [change]),
            (words.changed, [call("run_shell_command", command="python3 main.py")]),
            (words.done, []),
        ]
        return [Turn(text=text, calls=calls, pieces=12, pace_s=0.05, delay_s=0.5) for text, calls in said]

    speak(language)
    unchanged, no_helpers = (
        re.escape(say(text)[:5])
        for text in (
            "Nothing was changed.",
            "No helpers yet. Ask for some, such as “have helpers look through each folder”.",
        )
    )
    speak("en")
    steps = [
        (r"1\. Gemini", "1"),
        ("API", "a-key-of-the-fake\r"),
        ("gemini-", "?"),
        ("Ctrl-R", "!ls\r"),
        (r"main\.py", f"{words.ask}\r"),
        (r"\(s\)", "y"),
        (r"\(s\)", "y"),
        (rf"{words.greeting}, world!(?s:.*){words.greeting}, world!", "/di\r"),
        (rf"\+1|{words.greeting}", "/un\r"),
        (r"hello\.py", "/mode\r"),
        ("auto_edit", "2"),
        ("auto_edit", "/set\r"),
        ("↑↓", "theme"),
        (r"ui\.theme", "\x1b"),
        (unchanged, "/agents\r"),
        (no_helpers, "\x04"),
        ("--resume", ""),
    ]
    return Scene(turns, steps, has_key=False)


FIRST_HOURS = {language: _first_hour(language, words) for language, words in _FIRST_WORDS.items()}
