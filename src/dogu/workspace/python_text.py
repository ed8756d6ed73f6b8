"""Texts in Python, read by Python's own parser, in any thread."""

from __future__ import annotations

import ast
import threading

_ONE_AT_A_TIME = threading.Lock()


def python_tree(text: str) -> ast.Module:
    """Parse a text. Raises as `ast.parse`: SyntaxError, ValueError, RecursionError, MemoryError."""
    # CPython 3.11 counts the depth of the trees of all threads in one number: a sound text may be a SystemError to it
    # where two are made at once.
    with _ONE_AT_A_TIME:
        return ast.parse(text)


def python_expression(text: str) -> ast.expr:
    """Parse a text that is one expression. Raises as `python_tree`."""
    with _ONE_AT_A_TIME:
        return ast.parse(text.lstrip(" \t"), mode="eval").body
