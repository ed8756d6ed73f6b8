"""Scripts of sed and awk: whether they may run commands or write files."""

from __future__ import annotations

import re

from dogu.workspace.shell_syntax import PartKind, Word

_AWK_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<comment>\#[^\n]*)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<number>\.?[0-9][0-9A-Za-z.]*)
    |(?P<blank>(?:[ \t]|\\\n)+)|(?P<line>\n)|(?P<operator>\|&|\|\||&&|>>|[-+*/%^<>=!]=|\+\+|--|[^\s"\#A-Za-z_0-9])""",
    re.VERBOSE | re.DOTALL,
)
# Groups are atomic, not possessive: before Python 3.11.5, `(?:...)*+` misses what it should match (gh-106052).
_AWK_REGEX = re.compile(r"/(?>(?:[^/\\\n\[]|\\.|\[\^?+\]?+(?>(?:[^\]\n\\]|\\.)*)\])*)/", re.DOTALL)
_AWK_MAY_END_OPERAND = (")", "++", "--")
_AWK_PUTS_OPERATOR_AFTER = frozenset(
    "print printf return in case getline delete if while for do else exit next BEGIN END function func".split()
)
"""Names behind which an operand begins, so that `/` opens a regular expression."""
_AWK_RUNS = frozenset("system getline close ARGV".split())
_AWK_STREAMS = ('"/dev/stdout"', '"/dev/stderr"', '"/dev/null"', '"-"')

# Seds differ on whether a delimiter inside of [...] ends a pattern: there neither reading is proven.
_IN_BRACKET = r"\[\^?+\]?+(?>(?:\[:\w+:\]|\\[^\]\n]|(?!%s)[^\]\n\[\\])*)\]"
_PATTERNS = "|".join(
    rf"{opens}(?>(?:[^{mark}\\\n\[]|\\.|{_IN_BRACKET % mark})*){mark}[IM]*+"
    for opens, mark in (("/", "/"), *((rf"\\{mark}", mark) for mark in map(re.escape, "|,#%@!:_~+")))
)
_SED_ADDRESSES = re.compile(
    rf"(?>(?:(?:\d++(?>(?:~\d++)?)|\$|{_PATTERNS})(?>(?:\s*+,\s*+(?:[+~]?+\d++|\$|{_PATTERNS}))?))?)\s*+!?+\s*+"
)
_SED_COMMAND = re.compile(
    rf"""(?:s(?P<d>[^\w\s\\])(?>(?:(?!(?P=d))[^\\\n\[]|\\.|{_IN_BRACKET % "(?P=d)"})*)(?P=d)
        (?>(?:(?!(?P=d))[^\\\n]|\\.)*)(?P=d)[gpiImM0-9]*+
    |y(?P<e>[^\w\s\\])(?>(?:(?!(?P=e))[^\\\n]|\\.)*)(?P=e)(?>(?:(?!(?P=e))[^\\\n]|\\.)*)(?P=e)
    |[pPdDnNgGhHxlzF=]|[qQ][ ]*+\d*+|[btT][ ]*+[A-Za-z0-9_]*+|:[ ]*+[A-Za-z0-9_]++
    |[aic](?>(?:[ \t]*+\\\n?)?)[^\\\n]*+(?=\n|$)|[rR][ \t]*+[^\n]++(?=\n|$))
    [ \t]*+(?=[;\n}}]|$)|\{{""",
    re.VERBOSE,
)
_BETWEEN_SED_COMMANDS = re.compile(r"[\s;}]*+")


def is_harmless_sed(script: str) -> bool:
    """Whether the script holds harmless commands alone. One command after the other: linear, whatever it holds."""
    at = 0
    while at < len(script):
        begin = _BETWEEN_SED_COMMANDS.match(script, at)
        at = begin.end() if begin else at
        if at == len(script):
            break
        addresses = _SED_ADDRESSES.match(script, at)
        command = _SED_COMMAND.match(script, addresses.end() if addresses else at)
        if command is None:
            return False
        at = command.end()
    return True


def is_harmless_awk(program: str) -> bool:
    """Whether the program neither runs commands nor reads or writes files of its own. Linear.

    Awks tell a regular expression from a division by what stands before the slash; so does this. Where what stands
    before would let a text be read both ways, neither is proven.
    """
    tokens = _awk_tokens(program)
    if tokens is None:
        return False
    depth = 0
    prints_at: int | None = None  # the depth of parentheses at which a print stands, whose > redirects
    for at, token in enumerate(tokens):
        if token in _AWK_RUNS or token in ("|", "|&", "@"):
            return False
        depth += (token == "(") - (token == ")")
        if token in ("print", "printf"):
            prints_at = depth
        elif token in (";", "\n", "}", "{"):
            prints_at = None
        elif token in (">", ">>") and (prints_at is not None and depth <= prints_at):
            following = tokens[at + 1 : at + 3]
            ends = len(following) < 2 or following[1] in (";", "\n", "}")
            if not following or following[0] not in _AWK_STREAMS or not ends:
                return False
    return depth == 0


def _awk_tokens(program: str) -> list[str] | None:
    """The program in tokens, blanks and comments left out; a regular expression is `//`. None when unproven."""
    tokens: list[str] = []
    at = 0
    while at < len(program):
        if program[at] == "/":
            regex = _AWK_REGEX.match(program, at)
            if _begins_operand(tokens):
                if regex is None:
                    return None
                tokens.append("//")
                at = regex.end()
                continue
            # `if (x) /re/` and `(x) / y`: read as a division, which sees all there is where no quote hides any of it.
            if tokens[-1] in _AWK_MAY_END_OPERAND and regex is not None and re.search(r'["#]', regex[0]):
                return None
        match = _AWK_TOKEN.match(program, at)
        if match is None:
            return None
        at = match.end()
        if match.lastgroup not in ("blank", "comment"):
            tokens.append(match[0])
    return tokens


def _begins_operand(tokens: list[str]) -> bool:
    if not tokens:
        return True
    last = tokens[-1]
    if last in _AWK_PUTS_OPERATOR_AFTER:
        return True
    return not (last in (*_AWK_MAY_END_OPERAND, "]", "//") or last[0] in '"_.' or last[0].isalnum())


def without_arithmetic(word: Word) -> str | None:
    """What the word holds, with a number for each arithmetic expansion; None when that can't be known."""
    if any(part.kind not in (PartKind.LITERAL, PartKind.ARITHMETIC) for part in word.parts):
        return None
    if word.is_plain:
        return word.value
    return "".join(part.text if part.kind is PartKind.LITERAL else "1" for part in word.parts)
