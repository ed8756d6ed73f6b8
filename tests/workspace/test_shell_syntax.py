"""The part of bash's grammar that is followed: which commands a text would run, and their words."""

from __future__ import annotations

import pytest

from dogu.workspace.shell_syntax import CommandKind, NotBashError, Script, UnprovenError, parse
from dogu.workspace.shell_syntax.braces import expand_braces


def names(script: Script) -> list[str]:
    """Return the first word of every simple command, those inside of substitutions too."""
    found: list[str] = []
    for command in script.commands:
        if command.kind is CommandKind.SIMPLE and command.words:
            found.append(command.words[0].text)
        for word in command.all_words():
            for part in word.expansions():
                if part.script is not None:
                    found += names(part.script)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a; b && c || d | e & f", "a b c d e f"),
        ("(a; b); { c; }\nd", "a b c d"),
        ("if a; then b; elif c; then d; else e; fi", "a b c d e"),
        ("while a; do b; done; until c; do d; done", "a b c d"),
        ("for i in 1 2; do a; done; for ((;;)) { b; }", "a b"),
        ("case x in (y|z) a;; *) b;& w) c;;& esac; d", "a b c d"),
        ("f() { a; }; function g { b; }; h() (c)", "a b c"),
        ("coproc a; coproc N { b; }; time -p c; ! d", "a b c d"),
        ("x=$(a) y=`b` c <(d) > >(e)", "c a b d e"),
        ("a ${x:-$(b)} $((1 + $(c))) ${y[$(d)]}", "a b c d"),
        ("a <<E $(b)\n$(c)\nE\nd", "a b c d"),
        ("a <<'E'\n$(b)\nE\nc", "a c"),
        ("cat <<E\nEO\\\nF\n`rm`\nE", "cat rm"),
        ("[[ -n $(a) && b == `c` ]] && d", "a c d"),
        ("A=(1 2)B a", "a"),
        ("a # b; c\nd", "a d"),
        ("e\\\ncho x; a\\\n&& b", "echo a b"),
        ("echo $((a) ); echo $( (b) )", "echo a echo b"),
    ],
)
def test_every_simple_command_is_found(text: str, expected: str) -> None:
    assert sorted(names(parse(text))) == sorted(expected.split())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("r''m", "rm"),
        ("'a b'\"c d\"e\\ f", "a bc de f"),
        ("$'\\x72\\155\\u0020x'", "rm x"),
        ('"a\\"b\\$c\\d"', 'a"b$c\\d'),
        ("a\\\nb", "ab"),
        ('$"rm"', "rm"),
        ("a#b", "a#b"),
    ],
)
def test_a_word_is_what_bash_would_see(text: str, value: str) -> None:
    assert parse(f"x {text}").commands[0].words[1].value == value


@pytest.mark.parametrize("text", ["$x", "a*", "~/a", "$(b)", "[a]b", "a?", '"$x"', "$((1))"])
def test_a_word_that_bash_would_change_has_no_value(text: str) -> None:
    assert parse(f"x {text}").commands[0].words[1].value is None


@pytest.mark.parametrize(
    "text",
    ["'", '"', "`", "$(", "${x", "((1)", "a &&", "&& a", "a | | b", "a ; ; b", "fi", "then a", "! then", "{ a", "(a", "a )", "if a; fi",
     "for i in a; b; done", "case a in", "cat <<E\nx", "a <", "a &>", "[[ a", "f() b", "a (b", "coproc", "{ }", "()", "a;;"],
)  # fmt: skip
def test_what_bash_refuses_is_refused(text: str) -> None:
    with pytest.raises(NotBashError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "a @(b|c)",
        "(( '$(a)' ))",
        "echo ${x['$(a)']}",
        ": $(>f ! a)",
        "a <<$(b)\nx\n$(b)",
        "a $'\\0'",
        "(" * 5_000 + "a",
    ],
)
def test_what_is_not_followed_is_said_to_be_unproven(text: str) -> None:
    with pytest.raises((UnprovenError, NotBashError)):
        parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b,c}d", "abd acd"),
        ("{1..3}", "1 2 3"),
        ("{c..a}", "c b a"),
        ("{a,b}{1,2}", "a1 a2 b1 b2"),
        ("{a,{b,c}}", "a b c"),
        ("{a}", "{a}"),
        ("'{a,b}'", "{a,b}"),
        ("a{b", "a{b"),
    ],
)
def test_braces_become_the_words_that_bash_makes(text: str, expected: str) -> None:
    assert [word.text for word in expand_braces(parse(f"x {text}").commands[0].words[1])] == expected.split()


@pytest.mark.parametrize("text", ["{1..100000000}", "{a,b}" * 30, "{a,{b," * 50 + "}}" * 50])
def test_a_bomb_of_braces_is_bounded(text: str) -> None:
    try:
        assert len(expand_braces(parse(f"x {text}").commands[0].words[1])) <= 2_000
    except UnprovenError:
        pass
