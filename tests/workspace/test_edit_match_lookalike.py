"""What is nearly in the file, and means something else: another name, another selector, another column."""

from __future__ import annotations

import pytest

from dogu.workspace.edit_match import Edit, match_edit, spliced


def written(text: str, old: str, new: str, path: str = "") -> str | None:
    """Return the text after the edit, None where it is refused."""
    found = match_edit(text, old, new, path=path)
    return spliced(text, found.replacements) if isinstance(found, Edit) else None


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("lookup(x)", "lockup(x)"), ("getPart(x)", "setPart(x)"), ("enable(x)", "enabled(x)"), ("rows(x)", "row(x)")],
)
def test_a_word_that_makes_another_name_is_no_slip(right: str, wrong: str) -> None:
    text, old = f"first(x)\n{right}\nlast(x)\n", f"first(x)\n{wrong}\nlast(x)\n"
    assert written(text, old, old + "more(x)\n") is None


@pytest.mark.parametrize("wrong", ["conection", "connetcion", "connecsion"])
def test_a_line_with_a_slip_stays_and_never_goes(wrong: str) -> None:
    text, old = "first(x)\nconnection(x)\nlast(x)\n", f"first(x)\n{wrong}(x)\nlast(x)\n"
    assert written(text, old, old + "more(x)\n") == text + "more(x)\n"
    assert written(text, old, "first(x)\nlast(x)\n") is None


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("#side-bar {", "#site-bar {"),
        ("#open(item) {", "#oven(item) {"),
        ("%ul.newest", "%ul.nearest"),
    ],
)
def test_a_name_with_a_sign_before_it_is_no_comment(right: str, wrong: str) -> None:
    lines = "  border: 2;\n  colour: 3;\n"
    assert written(f"{right}\n{lines}", f"{wrong}\n{lines}", f"{wrong}\n{lines}  margin: 1;\n") is None
    text, old = f"# the side bar\n{lines}", f"# this side bar\n{lines}"
    assert written(text, old, old + "  margin: 1;\n") == text + "  margin: 1;\n"


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (".box .head {\n", ".box.head {", ".box.tail {"),
        ("LC= sort a\n", "LC=sort a", "LC=sort b"),
        ("cat <<END\nx\nEND\nmake\nrun it\n", "make run it", "make run all"),
        ("a\tb\nc\td\n", "c    d\n", "c    d\ne    f\n"),
        ('unit = "s²"\n', 'unit = "s2"', 'unit = "ms2"'),
        ("run --fast\n", "run --fast", "run –fast –all"),
    ],
)
def test_blanks_breaks_forms_and_dashes_that_mean_something_are_not_forgiven(text: str, old: str, new: str) -> None:
    assert written(text, old, new, "a.sh") is None


def test_a_short_call_that_stands_below_already_is_not_added_again() -> None:
    assert written("  go();\n  log();\n  end();\n", "  go();\n", "  go();\n  log();\n") is None
    assert written("  go();\n  log();\n  end();\n", "  go();\n", "  go();\n  end();\n") is not None


@pytest.mark.parametrize("pair", ["“”", "«»", "„“", "»«", "””"])
def test_straight_quotes_are_those_that_the_file_has_on_either_side(pair: str) -> None:
    text = f"Ein {pair[0]}kleiner{pair[1]} Rahmen ist gut.\nEr kann {pair[0]}alles{pair[1]}, und mehr.\n"
    old = text.translate({ord(char): '"' for char in pair})
    new = old.replace("gut", 'sehr "gut"')
    assert written(text, old, new) == text.replace("gut", f"sehr {pair[0]}gut{pair[1]}")
    assert written(text, old, old.replace("gut", "sehr gut")) == text.replace("gut", "sehr gut")


@pytest.mark.parametrize("blank", ["\u00a0", "\u202f", " "])
def test_quotes_with_blanks_within_them_get_these(blank: str) -> None:
    text = f"Un «{blank}petit{blank}» cadre est bon.\nIl peut «{blank}tout{blank}» faire.\n"
    old = text.replace(f"«{blank}", '"').replace(f"{blank}»", '"')
    assert written(text, old, old.replace("bon", '"bon"')) == text.replace("bon", f"«{blank}bon{blank}»")


def test_a_quote_whose_other_half_old_string_lacks_isnt_guessed() -> None:
    text = "Un «petit» cadre est bon.\n"
    assert written(text, 'Un "petit', 'Un "tout petit') == text.replace("petit", "tout petit")
    assert written(text, 'Un "petit', 'Un "tout" petit') is None


def test_a_line_that_was_right_keeps_its_quotes_whatever_others_had() -> None:
    text = "  show(lang || 'text')\n  wrap('<pre class=\"one\"', '<pre class=\"two\"')\n  done('it')\n"
    old = text.replace("'text'", '"text"').replace("'it'", '"it"')
    new = old.replace('one"', "one").replace('two"', "two")
    assert written(text, old, new, "a.ts") == text.replace('one"', "one").replace('two"', "two")
    assert written(text, old, old.replace('"two"', '"two" title="new"'), "a.ts") in (
        None,
        text.replace('"two"', '"two" title="new"'),
    )
