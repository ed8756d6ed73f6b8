"""Where two places, two readings or two states of the file come into question, none is taken by chance."""

from __future__ import annotations

import pytest

from dogu.workspace.edit_match import Edit, Refusal, Why, match_edit, spliced


def written(text: str, old: str, new: str, path: str = "") -> str | None:
    """Return the text after the edit, None where it is refused."""
    found = match_edit(text, old, new, path=path)
    return spliced(text, found.replacements) if isinstance(found, Edit) else None


STEPS = ["    open the stream\n", "    read all of it\n", "    close it again\n", "    return what was read\n"]


def test_an_edit_made_already_is_not_made_again_where_the_new_line_is_the_one_above() -> None:
    first, second, third, fourth = STEPS
    old, new = "".join([first, second, third]), "".join([first, second, first, third])
    found = match_edit(f"begin:\n{new}{fourth}", old, new)
    assert isinstance(found, Refusal)
    assert "already" in found.reason
    drifted = f"begin:\n{new}{fourth}".replace("close it", "close that")
    assert written(drifted, old, new) is None


def test_lines_are_in_no_other_order_where_the_file_has_them_in_this_one() -> None:
    imports = "import java.io.Reader\nimport java.io.Writer\nimport java.net.Socket\n\nclass Connection\n"
    swapped = "import java.io.Writer\nimport java.io.Reader\nimport java.net.Socket\n\nclass Connection\n"
    wanted = imports.replace("class", "open class")
    assert written(imports, swapped, swapped.replace("class", "open class")) == wanted
    twice = f"import java.io.Writer\n{imports}"
    assert written(twice, swapped, swapped.replace("import java.net.Socket\n", "")) is None


@pytest.mark.parametrize(
    "line",
    [
        "  && sed -e 's/}/}\\nworkers 20480;/' \\",
        '  <p class="a">&nbsp;</p>',
        '  echo "say \\"it\\" again"',
    ],
)
def test_what_the_file_has_as_old_string_has_it_is_not_decoded(line: str) -> None:
    text = f"first of the lines here\n{line}\n  the path of all parametersEntry\nlast of the lines here\n"
    old = text.replace("parametersEntry", "parameters")
    new = f"{old.replace('first', 'second')}\n{old}"
    assert written(text, old, new) in (None, f"{text.replace('first', 'second')}\n{text}")


def test_of_two_places_one_a_word_off_and_one_a_line_off_neither_is_taken() -> None:
    block = (
        '  parameters: [Parameter {\n    kind: "singular",\n    name: "bar",\n    short: Some(1),\n    ..default()\n'
    )
    text = (
        "a:\n" + block.replace("Some", "SomeEntry") + "b:\n" + block.replace("    ..", '    value: Some("x"),\n    ..')
    )
    found = match_edit(text, block, f"{block}  }}]\n")
    assert isinstance(found, Refusal)
    assert (found.why, len(found.lines)) == (Why.AMBIGUOUS, 2)
    alone = text.replace(text[: text.index("b:\n")], "")
    assert written(alone, block, f"{block}  }}]\n") == f"{alone}  }}]\n"


def test_lines_of_two_places_are_not_taken_for_one_with_lines_left_out() -> None:
    old = "  - cyclomatic_complexity\n  - function_body_length\n  - control_statement\n"
    text = "rules:\n" + old.replace("body_length", "length") + old.replace("complexity", "complexity_old") + "end\n"
    assert written(text, old, old.replace("  - control_statement\n", "")) is None


def test_the_end_of_a_block_is_the_brace_next_to_it() -> None:
    text = "x = {\n  errors: {\n    title: 'blank',\n    contents: 'nothing'\n  }\n}\nrest()\n"
    old = "  errors: {\n    title: 'blank',\n    content: 'nothing'\n  }\n"
    new = f"{old}\n  more: {{\n    other: 'none'\n  }}\n"
    wanted = text.replace("\n  }\n}", "\n  }\n\n  more: {\n    other: 'none'\n  }\n}")
    assert written(text, old, new, "a.js") == wanted


def test_a_drifted_line_that_new_string_has_twice_keeps_the_files_word_only_where_its_neighbours_stay() -> None:
    text = '@test "a" {\n  run bats one\n  [ "$x" == "before inner" ]\n  [ "$y" == "after" ]\n}\n'
    old = text.replace(" inner", "")
    halves = old.replace("one", "two").partition('  [ "$y"')[0], old.replace('"a"', '"b"').replace("one", "three")
    assert written(text, old, f"{halves[0]}}}\n\n{halves[1]}") is None
    sibling = old.replace('"a"', '"b"').replace("one", "three")
    assert written(text, old, f"{old}\n{sibling}") in (None, f"{text}\n{sibling}")


def test_the_name_of_a_block_whose_head_goes_on_below_is_not_another_word() -> None:
    text = "    pub fn downcast_mut<E>(&mut self) -> Option<&mut E>\n    where\n        E: Display + 'static,\n    {\n"
    old = text.replace("downcast_mut", "downcast_ref").replace("&mut ", "&")
    assert written(text, old, old.replace(" + 'static", "")) is None
