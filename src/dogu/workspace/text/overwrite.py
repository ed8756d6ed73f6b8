"""What writing a whole file would do: the very bytes, and the diff to show; nothing is written here.

Above: the tools that write whole files. Below: `rewrite` (in the manner of the old file), `change` (what to tell
of the file), `omission`, `diff`.
"""

from __future__ import annotations

import msgspec

from dogu.contract.display import FileDiff
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace.diff import unified_diff
from dogu.workspace.files import FileContent
from dogu.workspace.text import decode
from dogu.workspace.text.change import file_notes, hidden_notes
from dogu.workspace.text.media import HEAD_BYTES, is_binary
from dogu.workspace.text.omission import find_omission
from dogu.workspace.text.rewrite import rewrite


class Overwrite(msgspec.Struct, frozen=True):
    """Exactly what will be written to `path` (absolute), over exactly what: `expected` as in `Files.write`.

    `note` is what the model should hear besides.
    """

    path: str
    data: bytes
    expected: str
    display: FileDiff
    note: str = ""


def plan_overwrite(path: str, old: FileContent | None, content: str, shown: str) -> Overwrite:
    """Work out what `content` would make of the file `path`, None for a missing one; `shown` is its name in the diff.

    Raises `ToolError` (OMISSION_PLACEHOLDER, UNENCODABLE).
    """
    was_binary = old is not None and is_binary(old.data[:HEAD_BYTES])
    old_text = decode(old.data) if old is not None and not was_binary else None
    before = old_text.text if old_text else ""
    omission = find_omission(content, before, path)
    if omission is not None:
        raise _placeholder(path, *omission)
    new = rewrite(old_text, content)
    notes = [*new.notes, *hidden_notes(new.text, before)]
    if was_binary:
        notes.append(told("The old content is binary and isn't shown."))
    if old is not None:
        notes += file_notes(old, old_text)
    diff = FileDiff(
        shown, None if old is None else before, new.text, unified_diff(before, new.text, shown), tuple(notes)
    )
    return Overwrite(path, new.data, old.digest if old else "", diff)


def _placeholder(path: str, line: int, text: str) -> ToolError:
    return ToolError(
        ErrorKind.OMISSION_PLACEHOLDER,
        f"Nothing was written to {path}: line {line} of content stands for code left out: {text!r}. "
        "Write every line out in full, or use replace to change only a part of the file.",
    )
