"""The person's language: which is spoken, and what is said in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dogu.language import PSEUDO, language_of, language_of_locale, say, speak, spoken, told
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


def test_what_was_told_in_english_is_said_in_the_person_s_language() -> None:
    speak("ja")
    reason = told("{count} minutes late", count=3)
    whole = told("Not read: {reason}.", reason=reason)
    assert whole == "Not read: 3 minutes late."
    assert say(f"Before. {whole} After.") == "Before. Not read: 3 minutes late. After."
    key = told("There is no command /{name}. /help lists them.", name="x")
    translated = say("There is no command /{name}. /help lists them.", name="x")
    assert say(f"A: {key}!") == f"A: {translated}!"


def test_what_tells_itself_ends() -> None:
    speak("ja")
    assert say(told("plain and unknown")) == "plain and unknown"
    assert say(told("{text}", text="told in itself")) == "told in itself"
    first = told("{text} again", text="once")
    assert say(told("{text}", text=first)) == "once again"


def test_words_of_ours_in_a_list_are_told_in_english_and_said_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogu.language._CATALOGS", str(write_known_catalog(tmp_path)))
    speak("ja")
    words = ("letter case", "spacing")
    receipt = told("Matched by {stage} at {where}. Forgiven: {forgiven}.", stage=("near",), where="x", forgiven=words)
    assert receipt == "Matched by near at x. Forgiven: letter case, spacing."
    assert say(receipt) == "Matched by near⁂ at x. Forgiven: letter case⁂、spacing⁂.⁂"


def test_a_short_sentence_is_not_found_within_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogu.language._CATALOGS", str(write_known_catalog(tmp_path)))
    speak("ja")
    assert say(told("created")) == "created⁂"
    assert say("a file named created here.txt") == "a file named created here.txt"
    assert say("Create {path}?", path="created") == "Create created?⁂"


def test_the_pseudo_locale_shows_what_is_known_and_keeps_its_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogu.language._CATALOGS", str(write_known_catalog(tmp_path)))
    speak(PSEUDO)
    assert (
        say("There is no command /{name}. /help lists them.", name="a") == "⟦Théré ís ñó çómmáñd /a. /hélp lísts thém.⟧"
    )
    assert say("a text of somebody else") == "a text of somebody else"
