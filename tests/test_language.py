"""The user's language: which is spoken, and what is said in it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from dogu.language import (
    PSEUDO,
    joined,
    language_of,
    language_of_locale,
    redacted,
    said,
    say,
    sentence,
    speak,
    spoken,
    told,
)
from sentences import write_known_catalog

pytestmark = pytest.mark.usefixtures("english_again")


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("ja_JP.UTF-8", "ja"),
        ("ko", "ko"),
        ("zh_CN.GB18030", "zh-CN"),
        ("zh", "zh-CN"),
        ("zh_SG", "zh-CN"),
        ("zh_TW.Big5", "zh-TW"),
        ("zh-Hant-HK", "zh-TW"),
        ("zh_HK@cantonese", "zh-TW"),
        ("C.UTF-8", "en"),
        ("POSIX", "en"),
        ("en_GB", "en"),
        ("de_DE", ""),
        ("", ""),
    ],
)
def test_a_locale_s_name_means_a_language(name: str, language: str) -> None:
    assert language_of(name) == language


def test_the_first_language_that_is_ours_is_spoken() -> None:
    assert language_of_locale({"LANGUAGE": "de:ko:ja", "LANG": "zh_CN"}) == "ko"
    assert language_of_locale({"LC_ALL": "ja_JP.UTF-8", "LANG": "zh_CN"}) == "ja"
    assert language_of_locale({"LANG": "fr_FR"}) == "en"


def test_an_unknown_language_is_english() -> None:
    speak("tlh")
    assert spoken() == "en"
    assert say("List the tools of this workspace.") == "List the tools of this workspace."


def test_fields_are_filled_and_braces_without_values_are_literal() -> None:
    assert say("There is no command /{name}.", name="{x}") == "There is no command /{x}."
    assert say('write {"a": 1}') == 'write {"a": 1}'


@pytest.mark.parametrize(
    ("template", "one", "two"),
    [
        ("Tried {n} times.", "Tried 1 time.", "Tried 2 times."),
        ("{n} more files were not read", "1 more file was not read", "2 more files were not read"),
        ("{n:,} directories, {n} matches", "1 directory, 1 match", "2 directories, 2 matches"),
        ("all of its {n} bytes are gone", "all of its 1 byte is gone", "all of its 2 bytes are gone"),
        ("{n} in subdirectories", "1 in subdirectories", "2 in subdirectories"),
        (
            "line {n} is odd, {n} has none, {n} was",
            "line 1 is odd, 1 has none, 1 was",
            "line 2 is odd, 2 has none, 2 was",
        ),
        ("({n} item(s))", "(1 item(s))", "(2 item(s))"),
        ("{{n}} calls, {n} addresses", "{n} calls, 1 address", "{n} calls, 2 addresses"),
    ],
)
def test_one_has_no_plural(template: str, one: str, two: str) -> None:
    assert (told(template, n=1), told(template, n=2)) == (one, two)
    assert (say(template, n=1), say(template, n=2)) == (one, two)


def test_a_name_that_is_1_leaves_the_verb_behind_it() -> None:
    assert told("{option} takes {count} words", option="1", count=1) == "1 takes 1 word"


def write_catalog(folder: Path, translations: dict[str, str]) -> Path:
    catalog = Catalog(locale="ja")
    for message, text in translations.items():
        catalog.add(message, text)
    with (folder / "ja.mo").open("wb") as file:
        write_mo(file, catalog)
    return folder


@pytest.fixture
def japanese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Speak Japanese of these sentences alone."""

    def begin(translations: dict[str, str]) -> None:
        monkeypatch.setattr("dogu.language._CATALOGS", str(write_catalog(tmp_path, translations)))
        speak("ja")

    return begin


def test_what_was_told_in_english_is_said_in_the_user_s_language(japanese: Callable[[dict[str, str]], None]) -> None:
    reason = told("{count} minutes late", count=3)
    whole = told("Not read: {reason}.", reason=reason)
    assert whole == "Not read: 3 minutes late."
    japanese({"{count} minutes late": "{count} 分の遅れ", "Not read: {reason}.": "未読: {reason}。"})
    assert say(whole) == "未読: 3 分の遅れ。"
    assert say("Before: {text}", text=whole) == "Before: 未読: 3 分の遅れ。"


def test_two_templates_with_equal_english_do_not_collide(japanese: Callable[[dict[str, str]], None]) -> None:
    read, written = told("{count} lines", count=3), told("3 {what}", what="lines")
    assert read == written
    japanese({"{count} lines": "{count} 行", "3 {what}": "三 {what}"})
    assert [say(read), say(written), say(read)] == ["3 行", "三 lines", "3 行"]


def test_nothing_is_remembered_of_what_was_told(japanese: Callable[[dict[str, str]], None]) -> None:
    japanese({"{count} lines": "{count} 行"})
    told("{count} lines", count=3)
    assert say("3 lines") == "3 lines"
    assert say("It says: 3 lines") == "It says: 3 lines"


def test_messages_put_together_are_still_said(japanese: Callable[[dict[str, str]], None]) -> None:
    japanese({"No.": "いいえ。", "Stop.": "停止。"})
    no, stop = sentence("No."), sentence("Stop.")
    assert joined(" {} ", [no, "a.py", stop]) == "No. {} a.py {} Stop."
    assert say(joined(" {} ", [no, "a.py", stop])) == "いいえ。{} a.py {} 停止。"
    assert say("a.py: " + no + " " + stop) == "a.py: いいえ。停止。"
    assert joined(", ", ["a", "b"]) == "a, b"
    assert type(joined(", ", ["a", "b"])) is str


def test_a_message_without_its_secret_is_still_said(japanese: Callable[[dict[str, str]], None]) -> None:
    japanese({"Refused: {why}": "拒否: {why}", "No.": "いいえ。"})
    message = joined(" ", [sentence("No."), told("Refused: {why}", why=("the key k-1", "a"))])
    assert redacted(message, "k-1", "[key]") == "No. Refused: the key [key], a"
    assert say(redacted(message, "k-1", "[key]")).startswith("いいえ。拒否: the key [key]")
    assert say(redacted(message, "other", "[key]")).startswith("いいえ。")
    assert redacted("a k-1", "k-1", "[key]") == "a [key]"


def test_no_blank_follows_a_full_width_mark_where_parts_meet(japanese: Callable[[dict[str, str]], None]) -> None:
    japanese(
        {"Slow.{said}": "遅いです。{said}", "It says: {text}": "サーバー: {text}", "{a!r}: {b:03}": "{a!r}： {b:03}"}
    )
    more = " " + told("It says: {text}", text="a。 b")
    assert say("Slow.{said}", said=more) == "遅いです。サーバー: a。 b"
    assert say("Slow.{said}", said=" ") == "遅いです。 "
    assert say("{a!r}: {b:03}", a="x", b=7) == "'x'：007"


def test_an_error_keeps_what_it_was_told(japanese: Callable[[dict[str, str]], None]) -> None:
    japanese({"No {thing}.": "{thing} がありません。", "Failed: {error}": "失敗: {error}"})
    error = ValueError(told("No {thing}.", thing="{file}"))
    assert say(str(error)) == "{file} がありません。"
    assert say(told("Failed: {error}", error=error)) == "失敗: {file} がありません。"
    assert say(pickle.loads(pickle.dumps(error)).args[0]) == "{file} がありません。"


def test_words_of_ours_in_a_list_are_told_in_english_and_said_anew(japanese: Callable[[dict[str, str]], None]) -> None:
    words = (sentence("letter case"), sentence("spacing"), "x")
    receipt = told("Forgiven: {forgiven}.", forgiven=words)
    assert receipt == "Forgiven: letter case, spacing, x."
    japanese({"Forgiven: {forgiven}.": "許容: {forgiven}。", "letter case": "大小", "spacing": "空白"})
    assert say(receipt) == "許容: 大小、空白、x。"


def test_names_are_not_translated(japanese: Callable[[dict[str, str]], None]) -> None:
    japanese({"created": "作成", "Create {path}?": "{path} を作成?"})
    assert say(told("created")) == said(told("created")) == "作成"
    assert said("created") == "created"
    assert say(told("Create {path}?", path="created")) == "created を作成?"


def test_the_pseudo_locale_shows_what_is_known_and_keeps_its_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogu.language._CATALOGS", str(write_known_catalog(tmp_path)))
    speak(PSEUDO)
    assert (
        say("There is no command /{name}. /help lists them.", name="a") == "⟦Théré ís ñó çómmáñd /a. /hélp lísts thém.⟧"
    )
    assert say("a text of somebody else") == "a text of somebody else"
