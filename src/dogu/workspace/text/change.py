"""What changing a text file would do: the very bytes, and the diff with its notes; nothing is written here.

Above: the tools that write text. Below: `files` (bytes and digests), `text` (encodings), `rewrite`, `diff`, `visible`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import msgspec

from dogu.contract.confirmation import Confirmation
from dogu.contract.display import FileDiff
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import sentence, told
from dogu.workspace.diff import Change, changed_ranges, unified_diff
from dogu.workspace.files import FileContent, Files
from dogu.workspace.text import DecodedText, decode
from dogu.workspace.text.detect import Encoding
from dogu.workspace.text.media import HEAD_BYTES, is_binary
from dogu.workspace.text.rewrite import rewrite
from dogu.workspace.visible import hidden_characters

_LONGEST_DIFF_CHARS = 4000
_MERGED = sentence("The file had changed elsewhere meanwhile; the edit was merged with that.")


class TextBase(msgspec.Struct, frozen=True):
    """What a change was worked out from: the file's digest and text, and what a user should know of it.

    Its bytes aren't kept: beside the text they would be a second copy of a large file.
    """

    path: str
    digest: str
    text: str
    encoding: Encoding
    notes: tuple[str, ...]


class TextChange(msgspec.Struct, frozen=True):
    """Exactly what will be written to `path` (absolute), over exactly what; `base` is None for a new file.

    `told` is what the model will hear when it is written.
    """

    path: str
    data: bytes
    base: TextBase | None
    told: str
    display: FileDiff

    @property
    def expected(self) -> str:
        """The digest the file must still have, as in `Files.write`."""
        return self.base.digest if self.base else ""

    def question(self, files: Files, revise: Callable[[TextChange, str], TextChange] | None = None) -> Confirmation:
        """Ask whether it shall be written; with `revise`, which takes this and another text, it can be edited."""
        reason = files.protected_reason(self.path)
        shown = self.display.path
        return Confirmation(
            told("Change {path}?", path=shown) if self.expected else told("Create {path}?", path=shown),
            self.display,
            proposal=self,
            editable_text=self.display.new_text if revise else None,
            revise=(lambda text: revise(self, text).question(files, revise)) if revise else None,
            always_ask=reason is not None,
            reasons=(reason,) if reason else (),
        )


def read_text(files: Files, path: str) -> tuple[FileContent, DecodedText]:
    """Read the file and decode it. Raises `ToolError` (NOT_FOUND, ..., WRONG_FILE_TYPE for a binary file)."""
    try:
        content = files.read(path, remember=False)
    except ToolError as error:
        if error.kind is not ErrorKind.NOT_FOUND:
            raise
        message = f"File not found: {path}. Check the path, or send an empty old_string to create the file."
        raise ToolError(ErrorKind.NOT_FOUND, message) from error
    if is_binary(content.data[:HEAD_BYTES]):
        raise ToolError(ErrorKind.WRONG_FILE_TYPE, f"Cannot edit a binary file: {path}.")
    return content, decode(content.data)


def changed_since_read(files: Files, path: str, digest: str) -> list[str]:
    """Say that the file isn't what the session knows of it; nothing where it is, or was never read."""
    seen = files.seen_digest(path)
    return [] if seen in (None, digest) else [told("The file had changed since you last read it.")]


def base_of(content: FileContent, old: DecodedText) -> TextBase:
    """Keep of a file that was read what a change needs to know."""
    return TextBase(content.path, content.digest, old.text, old.detected, file_notes(content, old))


def file_notes(content: FileContent, old: DecodedText | None) -> tuple[str, ...]:
    """Say what a user should know of the file that is written: its encoding, links, other names."""
    notes: list[str] = []
    if old is not None and (not old.is_utf8 or old.bom):
        notes.append(told("The file stays in {label}.", label=old.label))
    if content.real_path not in ("", content.path):
        notes.append(told("A symbolic link: the file written is {real_path}.", real_path=content.real_path))
    if content.links > 1:
        notes.append(told("The file has {links} names (hard links); all show the new content.", links=content.links))
    return tuple(notes)


def hidden_notes(text: str, old: str = "") -> tuple[str, ...]:
    """Say which invisible or look-alike characters a text holds; lines that stand in `old` too are nothing new."""
    if old:
        known = set(old.split("\n"))
        text = "\n".join("" if line in known else line for line in text.split("\n"))
    return tuple(told("The new text {what}.", what=what) for what in hidden_characters(text))


def change_text(
    base: TextBase, data: bytes, shown: str, told: str, notes: Sequence[str] = (), *, added: str = ""
) -> TextChange:
    """Make `data` of the file; `shown` is its name in the diff, `notes` stand before the file's own.

    When the text `added` holds hidden characters, that is told, by the lines of the file they come to stand in.
    """
    new = decode(data, base.encoding).text
    hidden = hidden_notes(new, base.text) if hidden_notes(added) else ()
    diff = FileDiff(shown, base.text, new, unified_diff(base.text, new, shown), (*notes, *hidden, *base.notes))
    return TextChange(base.path, data, base, told, diff)


def create_text(path: str, text: str, shown: str, told: str) -> TextChange:
    """Make a new file of the text. Raises `ToolError` (UNENCODABLE)."""
    new = rewrite(None, text)
    diff = FileDiff(shown, None, new.text, unified_diff("", new.text, shown), (*new.notes, *hidden_notes(text)))
    return TextChange(path, new.data, None, told, diff)


def revise_text(change: TextChange, base: TextBase, files: Files, text: str, told: str) -> TextChange:
    """Take the whole file's text as the user edited it, in the file's encoding and line endings.

    What others changed elsewhere in the file meanwhile is merged. Raises `ToolError` (STALE when they changed the same
    place, UNENCODABLE).
    """
    content, old = read_text(files, change.path)
    new = rewrite(old, text)
    told = f"{told} {edited_note(change.display, new.text)}"
    if content.digest == change.expected:
        notes = (*new.notes, *hidden_notes(new.text, old.text))
        return change_text(base_of(content, old), new.data, change.display.path, told, notes)
    merged = _merged(base, content, old, FileDiff(change.display.path, base.text, new.text, ""), told)
    if merged is None:
        raise _same_place_error(change, base, old)
    return merged


def edited_note(proposed: FileDiff, written: str) -> str:
    """Tell the model how what is written differs from what it proposed."""
    diff = unified_diff(proposed.new_text, written, proposed.path)
    return f"The user edited the proposal first; what they changed of it:\n{diff[:_LONGEST_DIFF_CHARS]}"


def merge_text(change: TextChange, base: TextBase, files: Files, stale: ToolError) -> TextChange:
    """Merge a change into what others made of the file meanwhile, as `stale` told.

    Raises `ToolError` (STALE) when they changed the same place.
    """
    content, theirs = read_text(files, change.path)
    merged = _merged(base, content, theirs, change.display, change.told)
    if merged is None:
        raise _same_place_error(change, base, theirs) from stale
    return merged


def _merged(base: TextBase, content: FileContent, theirs: DecodedText, ours: FileDiff, told: str) -> TextChange | None:
    is_same_encoding = theirs.encoding == base.encoding.codec
    pieces = carry_over(base.text, ours.new_text, theirs.text) if is_same_encoding else None
    if pieces is None:
        return None
    told = told if _MERGED in told else f"{told.rstrip()} {_MERGED}"
    return change_text(base_of(content, theirs), theirs.splice(pieces), ours.path, told, [_MERGED])


def _same_place_error(change: TextChange, base: TextBase, theirs: DecodedText) -> ToolError:
    changed = unified_diff(base.text, theirs.text, change.display.path)
    return ToolError(
        ErrorKind.STALE,
        f"File has changed since the edit was worked out, in the same place: {change.path}. "
        f"Nothing was written. What changed:\n{changed[:_LONGEST_DIFF_CHARS]}\n"
        "Read the file again and send an edit that fits.",
    )


def stale_error(path: str, meanwhile: str) -> ToolError:
    """Make the error of a file that changed while the edit was ... (`meanwhile`)."""
    message = f"File has changed while the edit was {meanwhile}: {path}. Nothing was written; read the file again."
    return ToolError(ErrorKind.STALE, message)


def carry_over(base: str, ours: str, theirs: str) -> list[tuple[int, int, str]] | None:
    """Return what to put for which characters of `theirs`, to make the change from `base` to `ours` there.

    None where `theirs` changed the same place.

    Changes are of whole lines (ending at newlines); ones that touch count as the same place.
    """
    base_lines, our_lines, their_lines = (text.splitlines(keepends=True) for text in (base, ours, theirs))
    our_changes, their_changes = changed_ranges(base_lines, our_lines), changed_ranges(base_lines, their_lines)
    starts = [0, *accumulate(map(len, their_lines))]
    out: list[tuple[int, int, str]] = []
    for change in our_changes:
        shift = _shift(change, their_changes)
        if shift is None:
            return None
        first, last = change.old_start + shift, change.old_end + shift
        out.append((starts[first], starts[last], "".join(our_lines[change.new_start : change.new_end])))
    return out


def _shift(ours: Change, theirs: list[Change]) -> int | None:
    """Return by how many lines the place of our change has moved; None when one of theirs touches it."""
    shift = 0
    for change in theirs:
        if change.old_end < ours.old_start:
            shift += (change.new_end - change.new_start) - (change.old_end - change.old_start)
        elif change.old_start <= ours.old_end:
            return None
    return shift
