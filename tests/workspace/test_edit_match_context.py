"""What both strings only quote is never written: it may be otherwise, where lines that are just so name the place."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dogu.workspace.edit_match import Edit, Refusal, Why, match_edit, spliced

CODE = """\
static void renderBox(Canvas canvas, int width, int height, Theme theme) {
  unsigned padding = width - theme.border;
  unsigned inner = padding / 2;
  canvas.fill_rect(inner, theme.border, height, theme);
  log::write(canvas, options, {verbose});
  canvas.commit();
}
"""


def written(text: str, old: str, new: str, path: str = "") -> str | None:
    """Return the text after the edit, None where it is refused."""
    found = match_edit(text, old, new, path=path)
    return spliced(text, found.replacements) if isinstance(found, Edit) else None


def both(text: str, right: str, wrong: str) -> str | None:
    """Return the text with its half doubled, asked for by strings that have `wrong` where it has `right`."""
    assert right in text
    old = text.replace(right, wrong)
    return written(text, old, old.replace("padding / 2", "padding / 4"))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("int height", "int heights"),
        ("canvas.fill_rect(inner", "canvas.fill_re(inner"),
        ("canvas.fill_rect(inner", "canvas.fill_erct(inner"),
        ("{verbose}", "verbose"),
        ("log::write", "write"),
        ("canvas, options", "canvas, option"),
        ("canvas, options, {verbose}", "canvas, opts, {verbose}"),
        ("canvas.fill_rect(inner", "canvas.draw_rect(inner"),
        ("canvas.fill_rect(inner", "canvas.padding(inner"),
        ("{verbose}", "!verbose"),
        ("{verbose}", "{verbose = true}"),
        ("canvas.commit();", "canvas.committed();"),
        ("int width, int height", "int width"),
        ("log::write", "log->write"),
        ("theme.border, height", "height, theme.border"),
    ],
)
def test_a_word_of_a_line_that_stays_may_be_otherwise(right: str, wrong: str) -> None:
    wanted = CODE.replace("padding / 2", "padding / 4")
    assert both(CODE, right, wrong) in (wanted, None)
    assert right.endswith("options, {verbose}") or both(CODE, right, wrong) == wanted


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("renderBox", "renderBoxes"),  # what the block is called
        ("static void renderBox", "static void renderLine"),
        ("  canvas.commit();", "  // canvas.commit();"),  # what isn't done
        ("canvas.commit();", "rollback();"),  # nothing like it
    ],
)
def test_what_may_be_another_thing_is_refused_in_a_line_that_stays_too(right: str, wrong: str) -> None:
    assert both(CODE, right, wrong) is None


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("if (size <= limit && is_open(stream, buffer)) {", "if (size >= limit && is_open(stream, buffer)) {"),
        ("# push(stream, buffer, limit, owner)", "push(stream, buffer, limit, owner)"),
    ],
)
def test_the_head_of_a_block_or_what_is_commented_out_is_never_forgiven(ours: str, theirs: str) -> None:
    text = f"first = stream.head()\n{theirs}\nsecond = stream.length()\nthird = stream.tail()\n"
    old = text.replace(theirs, ours)
    assert written(text, old, old.replace("third", "fourth")) is None


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("reset(stream, buffer, limit, not closed)", "reset(stream, buffer, limit, closed)"),
        ("resize(stream, buffer, limit, 12)", "resize(stream, buffer, limit, 13)"),
        ("append(stream, part_a, limit, buffer)", "append(stream, part_b, limit, buffer)"),
        ("unlock(stream, buffer, limit, owner)", "lock(stream, buffer, limit, owner)"),
        ("push(stream, buffer, 'limit', owner)", "push(stream, buffer, limit, owner)"),
    ],
)
def test_numbers_negations_and_siblings_are_forgiven_only_where_they_stay(ours: str, theirs: str) -> None:
    text = f"first = stream.head()\n{theirs}\nsecond = stream.length()\nthird = stream.tail()\n"
    old = text.replace(theirs, ours)
    assert written(text, old, old.replace("third", "fourth")) == text.replace("third", "fourth")
    assert written(text, old, old.replace(ours, "other(1)")) is None
    again = f"{text}{theirs}\n{text}"  # at no one place
    assert written(again, old, old.replace("third", "fourth")) is None


def test_a_line_among_others_like_it_isnt_known_by_the_rest() -> None:
    lines = [f'    "{name}" => modules::load({name}, context, options),\n' for name in ("nodejs", "package", "python")]
    text = "match name {\n" + "".join(lines) + "    other => None,\n}\n"
    old = text.replace("nodejs", "osx")
    assert written(text, old, old.replace("osx", "ios")) is None
    head = "    /**\n     * Adds a value.\n     */\n"
    text = "".join(
        f"{head}    public Builder line({kind} value) {{\n        return add(value).end();\n    }}\n"
        for kind in ("String", "Buffer")
    )
    old = f"{head}    public Builder line(StringBuilder value) {{\n        return add(value).end();\n"
    assert written(text, old, old.replace("     */", "     * @since 2\n     */")) is None


def test_the_rest_names_the_place_by_itself() -> None:
    head = "def load(stream, buffer, limit, owner, {0}):\n    close()\n    return done\n"
    text = head.format("parent") + "other()\n" + head.format("colour").replace("load", "store")
    old = head.format("parents")
    assert written(text, old, old.replace("done", "None")) is None


def test_new_lines_bring_no_word_that_the_file_has_otherwise() -> None:
    old = CODE.replace("int height", "int heights")
    assert written(CODE, old, old.replace("padding / 2;", "padding / 2;\n  unsigned least = heights;")) is None
    assert written(CODE, old, old.replace("int heights", "int breadth")) is None
    moved = old.replace("static void", "void")
    assert written(CODE, old, moved) is None or "heights" not in (written(CODE, old, moved) or "")


PROSE = "You don't get this kind of editor support when you work with plain dictionaries in your own code.\n"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("editor", "editors"),
        ("editor", "Editor"),
        ("plain dictionaries", "dictionaries"),
        ("dictionaries", "dictionries"),
    ],
)
def test_a_long_line_that_changes_is_known_by_the_words_that_stay(right: str, wrong: str) -> None:
    text = f"# Models\n\n{PROSE}\nMore of it.\n"
    old = PROSE.replace(right, wrong)
    assert written(text, old, old.replace("You don't", "We don't")) == text.replace("You don't", "We don't")
    assert written(text, old, old.replace("own ", "")) == text.replace("own ", "")


@pytest.mark.parametrize(
    ("right", "wrong", "changed", "new"),
    [
        ("editor support", "editors support", "editors support", "IDE support"),  # just there
        ("plain dictionaries", "dictionaries", "with dictionaries", "by dictionaries"),
        ("don't get", "get", "You get", "We get"),
        ("kind of", "kind not of", "You don't", "We don't"),
    ],
)
def test_a_long_line_isnt_changed_where_it_is_otherwise(right: str, wrong: str, changed: str, new: str) -> None:
    text = f"# Models\n\n{PROSE}\nMore of it.\n"
    old = PROSE.replace(right, wrong)
    assert changed in old
    assert written(text, old, old.replace(changed, new)) is None
    assert written(text, old, "") is None


def test_a_long_line_beside_one_like_it_is_refused() -> None:
    text = PROSE + PROSE.replace("editor", "compiler")
    old = PROSE.replace("editor", "author")
    assert written(text, old, old.replace("You", "We")) is None


def test_ideographs_may_have_a_blank_between_them_in_what_stays() -> None:
    text = "在该地址查看： [localhost](http://localhost)\n\n最好再运行`gem install thin`安装它。\n"
    old = text.replace("该地址", "该 地址")
    assert written(text, old, old.replace("thin", "puma")) == text.replace("thin", "puma")
    wrong = text.replace("查看", "不查看")
    assert written(text, wrong, wrong.replace("不查看", "看")) is None


LIST = "{\n  symbol: none,\n  command: '',\n  when: none,\n  shell: none,\n  description: '',\n  style: none,\n  disabled: no,\n}\n"


def test_a_line_left_out_of_what_stays_is_kept() -> None:
    old = LIST.replace("  style: none,\n", "")
    assert written(LIST, old, old.replace("shell: none", "shell: bash")) == LIST.replace("shell: none", "shell: bash")
    for dropped in ("  disabled: no,\n", "  when: none,\n  description: '',\n", "  description: '',\n"):
        old = LIST.replace(dropped, "")
        assert written(LIST, old, old.replace("shell: none", "shell: bash")) == LIST.replace(
            "shell: none", "shell: bash"
        )
    old = LIST.replace("  style: none,\n", "")
    more = old.replace("  when: none,\n", "  when: none,\n  where: none,\n")
    assert written(LIST, old, more) == LIST.replace("  when: none,\n", "  when: none,\n  where: none,\n")


@pytest.mark.parametrize(
    ("dropped", "changed", "new"),
    [
        ("  style: none,\n", "  description: '',\n", "  other: 'x',\n"),  # right beside another one
        ("  style: none,\n", "  disabled: no,\n", "  colour: none,\n  disabled: no,\n"),  # there
        ("  style: none,\n", "  description: '',\n  disabled: no,\n", ""),
        (LIST[LIST.index("  when") : LIST.index("  disabled")], "  disabled: no,\n", "  disabled: yes,\n"),  # four
    ],
)
def test_a_line_left_out_beside_the_change_is_refused(dropped: str, changed: str, new: str) -> None:
    old = LIST.replace(dropped, "")
    assert changed in old
    assert written(LIST, old, old.replace(changed, new)) is None


@pytest.mark.parametrize("dropped", ["else:", "def other(self):", "}", "switch (x) {"])
def test_a_line_that_opens_or_closes_something_isnt_left_out(dropped: str) -> None:
    text = f"first = stream.head()\nsecond = stream.length()\nthird(first)\n{dropped}\nfourth(second)\nfifth(third)\n"
    old = text.replace(f"{dropped}\n", "")
    assert written(text, old, old.replace("stream.head", "stream.start")) is None


WORDS = "alpha bravo charlie delta echoes foxtrot golfing hotels indigo juliet kilograms limousine".split()


@st.composite
def slips(draw: st.DrawFn) -> tuple[str, str, str, str]:
    """Draw a file, a block of it with a slip of a letter or two in a line that stays, the new block, and what is meant."""
    names = draw(st.permutations(WORDS))
    lines = [f"{names[n]}({', '.join(names[n + k + 1] + names[k] for k in range(4))})" for n in range(7)]
    first, changed, slipped = draw(st.permutations(range(1, 6)))[:3]
    assume(first != changed != slipped)
    low, high = min(first, changed, slipped), max(first, changed, slipped) + 1
    at = draw(st.integers(0, len(lines[slipped]) - 1))
    wrong = (
        lines[slipped][:at]
        + draw(st.sampled_from(["", "x", "not ", "2", "!"]))
        + lines[slipped][at + draw(st.integers(0, 2)) :]
    )
    ours = [*lines]
    ours[slipped] = wrong
    new = [*ours]
    new[changed] = "changed(x)"
    meant = [*lines]
    meant[changed] = "changed(x)"
    join = "\n".join
    return join(lines), join(ours[low:high]), join(new[low:high]), join(meant)


@given(slips())
def test_a_slip_in_what_stays_gives_what_is_meant_or_a_refusal(case: tuple[str, str, str, str]) -> None:
    text, old, new, meant = case
    assert written(text, old, new) in (meant, None)


@given(slips())
def test_nothing_is_written_where_the_changed_line_isnt_there(case: tuple[str, str, str, str]) -> None:
    text, old, new, _ = case
    gone = {*old.split("\n")} - {*new.split("\n")}
    rest = "\n".join(line for line in text.split("\n") if line not in gone)
    found = match_edit(rest, old, new)
    assert isinstance(found, Refusal)
    assert found.why in (Why.NO_MATCH, Why.UNCLEAR)


def test_a_long_line_that_is_there_twice_isnt_known_by_itself() -> None:
    old = PROSE.replace("editor", "editors")
    assert written(PROSE + "Other text.\n" + PROSE, old, old.replace("You", "We")) is None


LOADS = """\
import first_module
import second_module

def load(stream, limit):
    # what was read before is read again, since the stream
    # may have got more in the meantime
    again = stream.read(limit, at_most=True)
    return modules.parse(again)


def other():
    check(limit)
    close(stream)
    notify(owner)
    return None
"""


@pytest.mark.parametrize(
    ("right", "wrong", "gone", "new"),
    [
        # in another order, as it stays and as it goes
        (
            "import first_module\nimport second_module\n",
            "import second_module\nimport first_module\n",
            "again)\n",
            "it)\n",
        ),
        ("limit, at_most=True", "at_most=True, limit", "again = stream.read(at_most=True, limit)", "again = None"),
        # with other line breaks
        (
            "since the stream\n    # may have got more in the meantime",
            "since the\n    # stream may have got more in the meantime",
            "    # what was read before is read again, since the\n    # stream may have got more in the meantime\n",
            "    # once more\n",
        ),
        # a comment in other words, a name without its qualifier, one word in one line of many
        ("# may have got more in", "# may have got some more in", "    # may have got some more in the meantime\n", ""),
        ("modules.parse(again)", "parse(again)", "return parse(again)", "return None"),
        (
            "    notify(owner)\n",
            "    notify(owners)\n",
            "    close(stream)\n    notify(owners)\n    return None\n",
            "    pass\n",
        ),
    ],
)
def test_what_goes_may_be_told_otherwise_where_it_says_the_same(right: str, wrong: str, gone: str, new: str) -> None:
    old = LOADS.replace(right, wrong)
    assert gone in old
    assert written(LOADS, old, old.replace(gone, new)) == LOADS.replace(gone.replace(wrong.strip(), right.strip()), new)


@pytest.mark.parametrize(
    ("right", "wrong", "new"),
    [
        ("limit, at_most=True", "at_most=True, limit", "at_most=True, limit, owner"),  # the order would be written
        ("modules.parse(again)", "parse(again)", "parse(again, limit)"),
        ("modules.parse(again)", "others.parse(again)", "None"),
        ("stream.read(limit, at_most=True)", "stream.read(limit, at_most=3)", "None"),
        ("def other():", "def another():", "def third():"),
    ],
)
def test_what_goes_otherwise_than_the_file_has_it_is_refused(right: str, wrong: str, new: str) -> None:
    old = LOADS.replace(right, wrong)
    assert written(LOADS, old, old.replace(wrong, new)) is None


def test_tags_of_the_call_at_the_ends_of_both_strings_are_none_of_the_text() -> None:
    wanted = LOADS.replace("check(limit)", "check(owner)")
    assert written(LOADS, f"{LOADS}</old_string>", f"{wanted}</new_string>") == wanted
    assert written(LOADS, f"<![CDATA[{LOADS}]]>", f"<![CDATA[{wanted}]]>") == wanted


def test_a_head_or_the_end_of_a_condition_that_old_string_lacks_is_not_written_twice() -> None:
    text = "for each in all:\n    try:\n        check(each)\n        use(each)\n    except TypeError:\n        pass\n"
    old = text[text.index("        check") : text.index("        pass")]
    assert written(text, f"\n{old}", f"\n    try:\n{old}".replace("check", "look_at")) is None
    text = "#ifdef A\nint first(void);\n#else\nint second(void);\n#endif\n"
    assert written(text, "int second(void);\n", "int third(void);\n#endif\n") is None
    wanted = text.replace("int second(void);\n", "#ifdef B\nint second(void);\n#endif\n")
    assert written(text, "int second(void);\n", "#ifdef B\nint second(void);\n#endif\n") == wanted


def test_blanks_between_ideographs_and_brackets_of_a_head_may_be_otherwise_where_they_stay() -> None:
    text = "在该地址查看： [localhost](http://localhost)\n\n最好再运行`gem install thin`安装它。\n"
    old = text.replace("该地址", "该 地址")
    assert written(text, old, f"{old}其他\n") == f"{text}其他\n"
    text = "count = read_all(source)\nwhile ((p = search(p, (s + n) - p)) != NULL) {\n  p += count;\n  next(p, count);\n}\n"
    old = text.replace("(s + n) - p", "s + n - p")
    assert written(text, old, old.replace("p += count", "p++")) == text.replace("p += count", "p++")


def test_lines_that_end_with_a_blank_one_go_before_a_comment_that_old_string_leaves_out() -> None:
    text = "connect_all(docker)\n\n# only where it is known\nif network in known:\n    network.connect(own)\n"
    old, added = text.replace("# only where it is known\n", ""), "if host in known:\n    host.close()\n"
    head = "connect_all(docker)\n\n"
    assert written(text, old, old.replace(head, f"{head}{added}\n"), "a.py") == text.replace(head, f"{head}{added}\n")
    assert written(text, old, old.replace(head, f"{head}{added}"), "a.py") is None  # the comment may be on either


def test_a_line_goes_on_in_lines_below_where_old_string_leaves_out_the_comment_above_it() -> None:
    line = "  let fallback = isUndefined(given) ? config.fallback[key] : given\n"
    text = f"  const states = useRef({{}}).current\n\n  // from the option, or from the provider\n{line}  use(fallback, states)\n"
    old = text.replace("  // from the option, or from the provider\n", "")
    longer = "  let fallback = isUndefined(given)\n    ? config.fallback?.[key]\n    : given\n"
    assert written(text, old, old.replace(line, longer), "a.ts") == text.replace(line, longer)
    assert written(text, old, old.replace(line, f"  const more = []\n{longer}"), "a.ts") is None


@pytest.mark.parametrize(
    ("head", "is_same"),
    [
        ("    static function ($value) {\n", True),
        ("    function ($other) {\n", False),
        ("    static callable ($value) {\n", False),
        ("    functions ($value) {\n", False),
    ],
)
def test_a_head_is_the_same_with_a_word_more_before_its_name(head: str, is_same: bool) -> None:
    text = "  return $this->assert(\n    function ($value) {\n      return (strlen(trim($value)) > 0);\n    },\n    'is empty'\n  );\n"
    line, changed = "return (strlen(trim($value)) > 0);", "return strlen(trim($value)) > 0;"
    old = text.replace("    function ($value) {\n", head)
    wanted = text.replace(line, changed) if is_same else None
    assert written(text, old, old.replace(line, changed), "a.php") == wanted
