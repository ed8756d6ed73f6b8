"""Whether an edit leaves a text that can still be parsed as what its name says it is, and whose doing it is if not."""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from textwrap import dedent

from dogu.workspace.edit_match.result import Replacement, spliced
from dogu.workspace.edit_match.yaml_outline import is_yaml_outline
from dogu.workspace.python_text import python_tree

_LONGEST_PARSED_CHARS = 400_000
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`")


def still_parses(path: str, before: str, after: str) -> bool:
    """Whether `after` can be parsed as what its name says it is, or `before` couldn't either."""
    parse = _parser(path)
    if parse is None or max(len(before), len(after)) > _LONGEST_PARSED_CHARS:
        return True
    return parse(after) or not parse(before)


def hangs_together(path: str, text: str, pieces: Sequence[Replacement]) -> bool:
    """Whether the text with the pieces can be parsed as it could before, or, in a language that isn't parsed here, no
    closing bracket that begins a line has left the depth of the line that opened it. Brackets below the pieces don't
    count: another edit may be going to move them.
    """
    after = spliced(text, pieces)
    if _parser(path) is not None:
        return still_parses(path, text, after)
    below = len(text) - (pieces[-1].end if pieces else 0)
    return len(_misplaced(after[: len(after) - below])) <= len(_misplaced(text[: len(text) - below]))


def _misplaced(text: str) -> list[str]:
    """Return the lines that begin with a closing bracket and aren't as deep as the line that opened it."""
    open_lines: list[str] = []
    found: list[str] = []
    for line in text.split("\n"):
        bare = _STRING.sub("", line)
        begins = bare.lstrip()[:1]
        indent = line[: len(line) - len(line.lstrip())]
        for char in bare:
            if char in "([{":
                open_lines.append(indent)
            elif char in ")]}" and open_lines:
                opened = open_lines.pop()
                if char == begins:
                    begins = ""
                    found += [line] * (opened != indent)
    return found


def is_broken_itself(path: str, old: str, new: str, as_sent: str) -> bool:
    """Whether it is `new` that can't be parsed: by itself, where `old` can, or as it was sent (`as_sent`) where
    white space means nothing. Of YAML that can't be told from depths that were lost.
    """
    parse = _parser(path)
    if parse is _is_python:
        is_broken = _is_python_block(old) and not _is_python_block(new) and not _lacks_depth(new)
        return is_broken and not _is_python(as_sent)
    return parse is not None and parse is not is_yaml_outline and not parse(as_sent)


def _parser(path: str) -> Callable[[str], bool] | None:
    return _PARSERS.get(PurePath(path).suffix.lower())


def _lacks_depth(text: str) -> bool:
    """Whether a block of the text has no line that is deeper than its head."""
    try:
        python_tree(dedent(text.strip("\n")))
    except IndentationError as error:
        return error.msg.startswith("expected an indented block")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return False


def _is_python_block(text: str) -> bool:
    block = text.strip("\n")
    for source in (dedent(block), f"if 1:\n{block}"):
        try:
            python_tree(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return True
    return False


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text.removeprefix("\ufeff"), "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_read(text: str, load: Callable[[str], object]) -> bool:
    try:
        load(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except (ValueError, RecursionError):
        return False
    return True


def _with_keys_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


_load_json = partial(json.loads, object_pairs_hook=_with_keys_once)
_PARSERS: dict[str, Callable[[str], bool]] = {
    ".py": _is_python, ".pyi": _is_python, ".toml": partial(_is_read, load=tomllib.loads),
    ".json": partial(_is_read, load=_load_json), ".ipynb": partial(_is_read, load=_load_json),
    ".yaml": is_yaml_outline, ".yml": is_yaml_outline,
}  # fmt: skip
