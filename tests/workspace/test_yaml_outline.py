"""Texts that hang together as YAML's outline does, and such that don't."""

from __future__ import annotations

import pytest

from dogu.workspace.edit_match.parses import still_parses
from dogu.workspace.edit_match.yaml_outline import is_yaml_outline

WORKFLOW = """\
name: CI  # all of it
on:
  push:
    branches: [main,
      'release/**']
jobs:
  test:
    runs-on: ${{ matrix.os }}
    steps:
    - uses: actions/checkout@v4
    - name: Run
      run: |
        make test
          deeper: text
      env:
        "A B": 'it''s'
    - &x {a: 1, b: [2]}
    - text that
      goes on
---
- - 1
  - 2
- key:
  - x
"""


@pytest.mark.parametrize(
    "text", [WORKFLOW, WORKFLOW.replace("\n", "\r\n"), "", "# nothing\n", "just text\n", "a: 1\n---\na: 2\n"]
)
def test_an_outline_hangs_together(text: str) -> None:
    assert is_yaml_outline(text)


@pytest.mark.parametrize(
    "text",
    [
        "a:\n  b: 1\n c: 2\n",
        "a: 1\n  b: 2\n",
        "a:\n  - b\n - c\n",
        "a: [1, 2\nb: 3\n",
        'a: "open\nb: 3\n',
        "a:\n\tb: 1\n",
        "- a\nb: 1\n",
        "a: 1\n- b\n",
        "a:\n    b: 1\n  - c\n",
    ],
)
def test_what_stands_where_nothing_can_breaks_it(text: str) -> None:
    assert not is_yaml_outline(text)


def test_a_file_whose_outline_an_edit_would_break_does_not_parse_still() -> None:
    text = "jobs:\n  test:\n    steps:\n      - run: make\n"
    assert still_parses("ci.yml", text, f"{text}      - run: check\n")
    assert not still_parses("ci.yml", text, f"{text}     - run: check\n")
    assert still_parses("ci.txt", text, f"{text}     - run: check\n")
