"""An entry of a settings file, changed in place: every other byte stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogu.settings.edit import EditError, with_entry, with_setting, without_entry
from dogu.settings.json import parse_json_with_comments

COMMENTED = """\
// my settings
{
  "tools": {"core": ["a"]}, // keep
  /* servers */
  "mcpServers": {
    "one": {"command": "x"}, // first
    "two": {
      "command": "y" // why
    } // last
  }
}
"""
ROW: dict[str, Any] = {"command": "z", "args": ["1"]}


def values(text: str) -> dict[str, Any]:
    return parse_json_with_comments(text).values


def test_an_entry_is_added_at_the_end_in_the_file_s_own_manner():
    added = with_entry(COMMENTED, "mcpServers", "new", ROW)
    assert added == COMMENTED.replace(
        "    } // last\n",
        '    }, // last\n    "new": {\n      "command": "z",\n      "args": [\n        "1"\n      ]\n    }\n',
    )
    assert without_entry(added, "mcpServers", "new") == COMMENTED


@pytest.mark.parametrize("name", ["one", "two"])
def test_an_entry_is_taken_out_and_comments_stay(name: str):
    left = without_entry(COMMENTED, "mcpServers", name)
    assert list(values(left)["mcpServers"]) == [other for other in ("one", "two") if other != name]
    for comment in ("// my settings", "// keep", "/* servers */", "// first", "// last"):
        assert comment in left


def test_an_entry_is_replaced_where_it_stands():
    changed = with_entry(COMMENTED, "mcpServers", "two", {"url": "http://q"})
    assert changed == COMMENTED.replace('      "command": "y" // why\n', '      "url": "http://q"\n')


@pytest.mark.parametrize(
    "text",
    ["", "{}", "{ }\n", "// nothing\n{}\n", '{"mcpServers": {}}', '{"x": [1, {"y": 2}]}', '{\r\n\t"x": 1,\r\n}\r\n'],
)
def test_what_isn_t_there_yet_is_made(text: str):
    added = with_entry(text, "mcpServers", "new", ROW)
    assert values(added) == {**values(text), "mcpServers": {"new": ROW}}
    assert added.count("\n") == added.count("\r\n") or "\r\n" not in text
    assert values(without_entry(added, "mcpServers", "new")) == {**values(text), "mcpServers": {}}


def test_what_isn_t_there_is_not_taken_out():
    assert without_entry(COMMENTED, "mcpServers", "three") == COMMENTED
    assert without_entry("{}", "mcpServers", "three") == "{}"


def test_a_group_that_is_no_object_is_not_touched():
    with pytest.raises(EditError):
        with_entry('{"mcpServers": 5}', "mcpServers", "a", ROW)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab"\\/{}[],: 日', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\ ', max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    others=st.dictionaries(st.text('cd"{ ', min_size=1, max_size=4), json_values, max_size=3),
    servers=st.dictionaries(st.text('ef"} ', min_size=1, max_size=4), json_values, max_size=3),
    indent=st.sampled_from([None, 1, 2]),
)
def test_adding_and_taking_out_changes_nothing_else(
    others: dict[str, Any], servers: dict[str, Any], indent: int | None
):
    import json

    text = json.dumps({**others, "mcpServers": servers}, indent=indent, ensure_ascii=False)
    added = with_entry(text, "mcpServers", "new", ROW)
    assert values(added) == {**others, "mcpServers": {**servers, "new": ROW}}
    assert values(without_entry(added, "mcpServers", "new")) == {**others, "mcpServers": servers}


def test_a_setting_is_written_where_its_name_says_however_deep():
    text = with_setting(COMMENTED, ("tools", "shell", "timeout"), 30)
    text = with_setting(text, ("tools", "shell", "timeout"), 40)
    text = with_setting(text, ("ui", "theme"), "light")
    assert values(text) == {
        **values(COMMENTED),
        "tools": {"core": ["a"], "shell": {"timeout": 40}},
        "ui": {"theme": "light"},
    }
    assert all(comment in text for comment in ("// my settings", "// keep", "/* servers */", "// why"))
    assert values(with_setting("", ("a", "b", "c"), [1])) == {"a": {"b": {"c": [1]}}}
    with pytest.raises(EditError):
        with_setting('{"model": "name"}', ("model", "effort"), "low")
