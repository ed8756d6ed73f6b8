"""What a patch would do to files: each one's very bytes and diff, or why none of it can be; and doing it, all or none.

Above: the tool `apply_patch`. Below: `patch` (the format), `edit_match` (where a hunk belongs), `files`, `text`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from dogu.contract.display import FileDiff
from dogu.contract.errors import ErrorKind, ToolError
from dogu.language import told
from dogu.workspace import windows_paths
from dogu.workspace.diff import changed_ranges, unified_diff
from dogu.workspace.edit_match import (
    Edit,
    Refusal,
    Replacement,
    Why,
    indent_of,
    lie_apart,
    match_edit,
    receipt,
    refusal_error,
    refuse_omission,
    spliced,
    still_parses,
)
from dogu.workspace.files import FileContent, Files
from dogu.workspace.names import is_same_path
from dogu.workspace.patch import Addition, Deletion, Hunk, Operation, Update
from dogu.workspace.roots import Roots
from dogu.workspace.system import IS_LINUX, IS_WINDOWS
from dogu.workspace.text import decode, line_ending_at
from dogu.workspace.text.change import base_of, change_text, changed_since_read, create_text, read_text
from dogu.workspace.text.media import HEAD_BYTES, is_binary


class Step(msgspec.Struct, frozen=True):
    """One file to write or remove; what it must still be, and what it is then.

    `path` is absolute. `data` is None for a file that goes, `old` None for one that isn't there yet; `told` is what the
    model will hear. `display` is None where another step's shows it (the old name of a file that moves). `mode` are the
    permission bits of a new file.
    """

    path: str
    data: bytes | None
    old: FileContent | None
    told: str
    display: FileDiff | None
    mode: int | None = None

    @property
    def expected(self) -> str:
        """The digest the file must still have, as in `Files.write`."""
        return self.old.digest if self.old else ""


def plan_patch(files: Files, roots: Roots, operations: Sequence[Operation]) -> tuple[Step, ...]:
    """Work out every file's new bytes; nothing is written. Raises `ToolError` that names the file and the hunk."""
    steps: list[Step] = []
    for operation in operations:
        path = roots.locate(operation.path)
        match operation:
            case Addition(text=text):
                steps.append(_addition(files, roots, path, text))
            case Deletion():
                steps.append(_deletion(files, roots, path))
            case Update(hunks=hunks, moved_to=moved_to):
                steps += _update(files, roots, path, hunks, moved_to)
    places = [roots.real(step.path) for step in steps]
    if len(set(places)) < len(places):
        message = "Nothing was written: two of the patch's paths are the same file. Put its changes under one path."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    # What goes, goes last: until then every failure leaves all content where it is.
    return tuple(sorted(steps, key=lambda step: step.data is None))


def carry_out(files: Files, steps: Sequence[Step]) -> None:
    """Write and remove, in this order; where one fails, those before it are taken back. Raises `ToolError`."""
    done: list[Step] = []
    for step in steps:
        try:
            _do(files, step)
        except ToolError as error:
            left = _take_back(files, done)
            what = f" These could not be put back: {', '.join(left)}." if left else " Every other file is as it was."
            raise ToolError(error.kind, f"The patch was not applied. {error.message}{what}") from error
        done.append(step)


def _do(files: Files, step: Step) -> None:
    if step.data is None:
        files.remove(step.path, step.expected)
    else:
        files.write(step.path, step.data, step.expected, mode=step.mode)


def _take_back(files: Files, done: Sequence[Step]) -> list[str]:
    """Undo steps, the last one first; return the paths for which that failed."""
    left: list[str] = []
    for step in reversed(done):
        try:
            if step.old is None:
                files.remove(step.path, files.seen_digest(step.path) or "")
            else:
                expected = "" if step.data is None else files.seen_digest(step.path)
                files.write(step.path, step.old.data, expected, mode=step.old.mode)
        except ToolError:
            left.append(step.path)
    return left


def _addition(files: Files, roots: Roots, path: str, text: str) -> Step:
    if files.exists(path):
        message = f"Nothing was written: {path} exists already. Change it with `*** Update File: `."
        raise ToolError(ErrorKind.ALREADY_EXISTS, message)
    refuse_omission(path, text)
    change = create_text(path, text, roots.relative(path), f"Created {path}.")
    return Step(path, change.data, None, change.told, change.display)


def _refuse_link(roots: Roots, path: str) -> None:
    """Refuse to remove by a link's name what the link leads to."""
    folder, name = os.path.split(path)
    real = roots.real(path)
    named = f"{roots.real(folder).rstrip('/')}/{name}"
    is_itself = windows_paths.parts_below(named, real) == [] if IS_WINDOWS else is_same_path(named, real)
    if not is_itself:
        message = f"Nothing was written: {path} is a symbolic link to {real}. Name that file, or use run_shell_command."
        raise ToolError(ErrorKind.WRONG_FILE_TYPE, message)


def _deletion(files: Files, roots: Roots, path: str) -> Step:
    _refuse_link(roots, path)
    content = files.read(path, remember=False)
    shown = roots.relative(path)
    if is_binary(content.data[:HEAD_BYTES]):
        notes = (told("A binary file of {bytes} bytes goes.", bytes=len(content.data)),)
        return Step(path, None, content, f"Deleted {path}.", FileDiff(shown, "", "", "", notes))
    old = decode(content.data).text
    return Step(path, None, content, f"Deleted {path}.", FileDiff(shown, old, "", unified_diff(old, "", shown)))


def _update(files: Files, roots: Roots, path: str, hunks: Sequence[Hunk], moved_to: str) -> list[Step]:
    target = roots.locate(moved_to) if moved_to else path
    if moved_to:
        _refuse_link(roots, path)
    if moved_to and files.exists(target):
        message = f"Nothing was written: {target}, where {path} should move, exists already."
        if not IS_LINUX and roots.real(path) == roots.real(target):
            message = f"Nothing was written: {target} is {path} itself on this system. Rename it by run_shell_command."
        raise ToolError(ErrorKind.ALREADY_EXISTS, message)
    if not hunks:
        return _move(files, roots, path, target)
    content, text = read_text(files, path)
    edits = [_place(path, text.text, hunk) for hunk in hunks]
    replacements = sorted((piece for edit in edits for piece in edit.replacements), key=lambda piece: piece[:2])
    if not lie_apart([piece[:2] for piece in replacements]):
        message = f"Nothing was written: hunks of {path} change the same lines. Make one hunk of them."
        raise ToolError(ErrorKind.AMBIGUOUS_MATCH, message)
    data = text.splice(replacements)
    how = (*filter(None, (receipt(edit, False) for edit in edits)), *changed_since_read(files, path, content.digest))
    done = f"Moved {path} to {target} and changed it" if moved_to else f"Changed {path}"
    said = " ".join((f"{done} ({len(hunks)} hunk{'s' * (len(hunks) > 1)}).", *how))
    notes = (*how, told("Moved from {path}.", path=roots.relative(path))) if moved_to else how
    added = "\n".join(piece.body for piece in replacements)
    change = change_text(base_of(content, text), data, roots.relative(target), said, notes, added=added)
    if not moved_to:
        return [Step(path, change.data, content, said, change.display)]
    return _moved(content, target, Step(path, change.data, content, said, change.display))


def _move(files: Files, roots: Roots, path: str, target: str) -> list[Step]:
    content = files.read(path, remember=False)
    shown = FileDiff(roots.relative(target), "", "", "", (told("Moved from {path}.", path=roots.relative(path)),))
    return _moved(content, target, Step(path, content.data, content, f"Moved {path} to {target}.", shown))


def _moved(content: FileContent, target: str, step: Step) -> list[Step]:
    new = msgspec.structs.replace(step, path=target, old=None, mode=content.mode)
    return [new, Step(content.path, None, content, "", None)]


def _place(path: str, text: str, hunk: Hunk) -> Edit:
    """Find the one place a hunk means. Raises `ToolError`: a hunk that could belong in two places is no guess."""
    if not hunk.old:
        return _insertion(path, text, hunk)
    fitted = _fitted(text, hunk)
    found = match_edit(text, *fitted, 1, path=path)
    if isinstance(found, Edit) and _cuts_line(text, found):
        reason = "its first line is only a part of the file's: give whole lines"
        found = _whole_lines(text, hunk) or Refusal(Why.NO_MATCH, reason, lines=found.lines)
    elif isinstance(found, Refusal) and found.why is Why.AMBIGUOUS:
        found = _whole_lines(text, hunk) or found
    if isinstance(found, Refusal):
        below = _below_headers(text, hunk)
        if below is not None:
            start, end = below
            within = match_edit(text[start:end], *_fitted(text[:end], hunk), 1)
            if isinstance(within, Edit):
                return _shifted(within, start, text.count("\n", 0, start))
        error = refusal_error(path, found, 1)
        message = f"Nothing was written. The hunk in line {hunk.line} of the patch: {error.message}"
        raise ToolError(error.kind, message)
    _refuse_elsewhere(path, text, hunk, found)
    as_sent = match_edit(text, hunk.old, hunk.new, 1, path=path) if fitted[0] == _unmarked(hunk)[0] else found
    if isinstance(as_sent, Edit) and spliced(text, as_sent.replacements) != spliced(text, found.replacements):
        message = (
            f"Nothing was written. The hunk in line {hunk.line} of the patch: its lines have a blank less than those "
            f"of {path}, so how deep the new ones are to stand can't be told. Begin each line with its mark."
        )
        raise ToolError(ErrorKind.AMBIGUOUS_MATCH, message)
    return found


def _whole_lines(text: str, hunk: Hunk) -> Edit | None:
    """Find the hunk's lines as they are, where they are whole lines of the file exactly once."""
    old, new = _fitted(text, hunk)
    at = f"\n{text}".find(f"\n{old}")
    if at < 0 or f"\n{text}".find(f"\n{old}", at + 1) >= 0:
        return None
    first = text.count("\n", 0, at) + 1
    if not old.endswith("\n") and at + len(old) < len(text):
        return None
    return Edit("exact", (Replacement(at, at + len(old), new),), ((first, first + old.rstrip("\n").count("\n")),))


def _cuts_line(text: str, found: Edit) -> bool:
    """Whether a place found as it was sent begins in the middle of a line, blanks aside."""
    start = found.replacements[0].start
    return found.is_exact and bool(text[text.rfind("\n", 0, start) + 1 : start].strip())


def _refuse_elsewhere(path: str, text: str, hunk: Hunk, found: Edit) -> None:
    """Refuse a place above the line that the hunk's headers name, or inside of another block than theirs.

    A line below the block that is no deeper than the header is let be: not every header opens what follows.
    """
    span = _below_headers(text, hunk) if hunk.headers and not hunk.is_above else None
    if span is None:
        return
    first, last = (text.count("\n", 0, at) + 1 for at in (span[0], max(span[0], span[1] - 1)))
    lines = text.split("\n")
    begin, end = found.lines[0]
    if end < first or (begin > last > first and _depth(lines[begin - 1]) > _depth(lines[first - 1])):
        message = (
            f"Nothing was written. The hunk in line {hunk.line} of the patch: its lines are in line {begin} of {path}, "
            f"but not in the block of {hunk.headers[-1]!r} in line {first}. Read the file again, or name the block."
        )
        raise ToolError(ErrorKind.NO_MATCH, message)


def _fitted(text: str, hunk: Hunk) -> tuple[str, str]:
    """A hunk's lines all end; the file's last one need not. Its context lines may have lost the blank before them."""
    unmarked = _unmarked(hunk)
    if f"\n{hunk.old}" not in f"\n{text}" and f"\n{unmarked[0]}" in f"\n{text}":
        return unmarked
    if hunk.old not in text and not text.endswith("\n"):
        return hunk.old.removesuffix("\n"), hunk.new.removesuffix("\n")
    return hunk.old, hunk.new


def _unmarked(hunk: Hunk) -> tuple[str, str]:
    """Return what a hunk changes and what that becomes where the blank before its context lines is the file's."""
    both = [each.splitlines(keepends=True) for each in (hunk.old, hunk.new)]
    changes = changed_ranges(*both)
    changed = [{i for each in changes for i in range(each.old_start, each.old_end)}]
    changed.append({i for each in changes for i in range(each.new_start, each.new_end)})
    old, new = (
        "".join(line if i in other or not line.strip() else f" {line}" for i, line in enumerate(lines))
        for lines, other in zip(both, changed, strict=True)
    )
    return old, new


def _below_headers(text: str, hunk: Hunk) -> tuple[int, int] | None:
    """Return where the block lies that the hunk's headers open, or where the file's end is; None if that is unclear."""
    if hunk.at_end:
        old = hunk.old if text.endswith("\n") else hunk.old.removesuffix("\n")
        return (len(text) - len(old), len(text)) if text.endswith(old) else None
    span = (0, len(text)) if hunk.headers else None
    for header in hunk.headers:
        span = _block(text, header, span) if span else None
    return span


def _block(text: str, header: str, within: tuple[int, int]) -> tuple[int, int] | None:
    """Return the lines that the one line reading `header` opens: itself and what is indented deeper, blanks between."""
    at, found = within[0], list[int]()
    lines = text[slice(*within)].splitlines(keepends=True)
    starts: list[int] = []
    for line in lines:
        starts.append(at)
        at += len(line)
    found = [index for index, line in enumerate(lines) if line.strip() == header.strip()]
    if len(found) != 1:
        return None
    depth = _depth(lines[found[0]])
    for index in range(found[0] + 1, len(lines)):
        # A closing bracket at the header's own depth still belongs to it.
        if lines[index].strip() and _depth(lines[index]) <= depth and lines[index].strip()[0] not in ")]}":
            return starts[found[0]], starts[index]
    return starts[found[0]], at


def _depth(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())


def _insertion(path: str, text: str, hunk: Hunk) -> Edit:
    """Put lines in that no line of the file stands beside: at the file's end, or behind the header's line."""
    refuse_omission(path, hunk.new)
    if hunk.is_above:
        raise _unplaced(path, hunk, "its line numbers alone are no place")
    span = _below_headers(text, hunk) if hunk.headers else (len(text), len(text))
    if span is None:
        raise _unplaced(path, hunk, f"there is no single line {hunk.headers[-1]!r} to add them below")
    at = text.find("\n", span[0], span[1]) + 1 or span[1]
    ending = line_ending_at(text, max(at - 1, 0)) if text else "\n"
    body = hunk.new.replace("\n", ending)
    lead = "" if at == 0 or text[at - 1] in "\r\n" else ending
    piece = Replacement(at, at, f"{lead}{body}")
    misfit = _misfit(text[:at], text[at:], hunk.new)
    if misfit or not still_parses(path, text, f"{text[:at]}{piece.body}{text[at:]}"):
        raise _unplaced(path, hunk, misfit or f"{os.path.basename(path)} could no longer be parsed with them there")
    line = text.count("\n", 0, at) + 1
    return Edit("exact", (piece,), ((line, line),))


def _unplaced(path: str, hunk: Hunk, why: str) -> ToolError:
    message = (
        f"Nothing was written. The hunk in line {hunk.line} of the patch only adds lines to {path}, and {why}. "
        "Give the lines around them as context."
    )
    return ToolError(ErrorKind.NO_MATCH, message)


def _misfit(before: str, below: str, added: str) -> str:
    """Say why lines don't belong between `before`, which ends with the header's line, and `below`; '' if they may.

    They are as deep as what they come beside; and neither a signature nor what documents a block is cut in two.
    """
    above, under, lines = (_filled(each) for each in (before, below, added))
    if not above or not lines:
        return ""
    header, depths = above[-1], [_depth(line) for line in lines]
    if not under:
        closes = header.strip()[0] in ")]}" and depths[0] > _depth(header)
        return "they are deeper than the line that closes the file" if closes else ""
    goes_on = header.count("(") > header.count(")") and not lines[-1].rstrip().endswith(",")
    if goes_on or under[0].strip() == "{" or under[0].strip().startswith(('"""', "'''")):
        return f"what {header.strip()!r} begins goes on in the next line"
    beside = under[0] if _depth(under[0]) > _depth(header) else header
    is_opened = beside is header and header.rstrip().endswith((":", "{", "(", "["))
    fits = depths[0] > _depth(header) if is_opened else indent_of(lines[0]) == indent_of(beside)
    return "" if fits and min(depths) == depths[0] else f"they aren't indented as what stands below {header.strip()!r}"


def _filled(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _shifted(edit: Edit, chars: int, lines: int) -> Edit:
    moved = tuple(Replacement(start + chars, end + chars, body) for start, end, body in edit.replacements)
    return Edit(edit.stage, moved, tuple((first + lines, last + lines) for first, last in edit.lines), edit.forgiven)
