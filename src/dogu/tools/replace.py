"""replace: change a part of a file, found by what it says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from anyio import to_thread

from dogu.contract import CallContext, Confirmation, ErrorKind, FileDiff, Kind, Tool, ToolError, ToolResult

if TYPE_CHECKING:
    from dogu.workspace.edit_match import Edit, Refusal
    from dogu.workspace.edit_match.repair import Repair, RepairRequest
    from dogu.workspace.files import FileContent, Files
    from dogu.workspace.roots import Roots
    from dogu.workspace.text import DecodedText
    from dogu.workspace.text_detect import Encoding

_HEAD_BYTES = 8192
_MOST_ATTEMPTS = 3
_LONGEST_DIFF_CHARS = 4000


class ReplaceArgs(msgspec.Struct, kw_only=True):
    """The arguments of replace."""

    file_path: Annotated[str, msgspec.Meta(description="The absolute path of the file to change.")]
    old_string: Annotated[
        str,
        msgspec.Meta(
            description="The exact text to replace, with at least 3 lines of context before and after the change, "
            "white space and indentation as in the file, nothing escaped. Empty to create a new file."
        ),
    ]
    new_string: Annotated[
        str,
        msgspec.Meta(description="The exact text to put in its place, the context included. Write every line out."),
    ]
    expected_replacements: Annotated[
        int | None, msgspec.Meta(description="How often old_string is in the file; every occurrence is replaced.")
    ] = 1


class _Base(msgspec.Struct, frozen=True):
    """What an edit was worked out from: the file's digest and text, and what a person should know of it.

    Its bytes aren't kept: beside the text they would be a second copy of a large file.
    """

    path: str
    digest: str
    text: str
    encoding: Encoding
    notes: tuple[str, ...]


class _Proposal(msgspec.Struct, frozen=True):
    """Exactly what will be written, over exactly what; `told` is what the model will hear when it is."""

    path: str
    data: bytes
    base: _Base | None
    told: str
    display: FileDiff

    @property
    def expected(self) -> str:
        """The digest that the file must still have, empty for a new file."""
        return self.base.digest if self.base else ""


class _Unplaced(msgspec.Struct, frozen=True):
    """An edit that has no place in a file with this text and digest."""

    refusal: Refusal
    text: str
    digest: str


class Replace(Tool[ReplaceArgs]):
    """Replaces text within a file. By default replaces a single occurrence; set `expected_replacements` for more.

    Read the file before. `old_string` must name one place: give at least 3 lines of context before and after the
    change, with white space and indentation as they are in the file. An empty `old_string` creates the file, which must
    not exist then. The result says how the text was found when it wasn't there exactly.
    """

    name = "replace"
    display_name = "Edit"
    kind = Kind.EDIT
    aliases = {"path": "file_path", "absolute_path": "file_path"}

    def __init__(self, files: Files, roots: Roots, repair: Repair | None = None) -> None:
        self._files = files
        self._roots = roots
        self._repair = repair

    def adapt(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Take `allow_multiple: true` for "as many as there are"."""
        many = raw.pop("allow_multiple", None)
        if many is True or many == "true":
            if raw.get("expected_replacements") in (1, "1"):
                message = "allow_multiple and expected_replacements = 1 disagree: send only expected_replacements."
                raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for replace: {message}")
            raw.setdefault("expected_replacements", None)
        return raw

    def get_description(self, args: ReplaceArgs) -> str:
        """Which file, and the first lines of what gives way to what."""
        where = self._roots.relative(args.file_path)
        if not args.old_string:
            return f"Create {where}"
        return f"{where}: {_first_line(args.old_string)} => {_first_line(args.new_string)}"

    async def should_confirm_execute(self, args: ReplaceArgs) -> Confirmation | None:
        """Show the diff of exactly what would be written; it can be edited first."""
        return await to_thread.run_sync(self._question, await self._propose(args))

    async def execute(self, args: ReplaceArgs, context: CallContext) -> ToolResult:
        """Write what was approved, merged into what others changed elsewhere meanwhile, or fail as stale."""
        if isinstance(context.approved, _Proposal):
            return await to_thread.run_sync(self._write, context.approved)
        return await to_thread.run_sync(self._write, await self._propose(args))

    # what would be written

    async def _propose(self, args: ReplaceArgs) -> _Proposal:
        from dogu.workspace.edit_match.messages import refusal_error

        path = self._absolute(args.file_path)
        expected = args.expected_replacements
        if expected is not None and expected < 1:
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, "expected_replacements must be 1 or more.")
        if not args.old_string:
            return await to_thread.run_sync(self._creation, path, args.new_string)
        planned = await to_thread.run_sync(self._plan, path, (args.old_string, args.new_string), expected)
        if isinstance(planned, _Proposal):
            return planned
        if self._repair is not None and _is_repairable(planned.refusal):
            answer = await self._repair(_request(path, planned.text, args, planned.refusal))
            if answer is not None:
                again = await to_thread.run_sync(self._plan, path, answer, expected, True)
                if isinstance(again, _Proposal):
                    return again
                if again.digest != planned.digest:
                    raise _stale(path, "repaired")
        raise refusal_error(path, planned.refusal, expected)

    def _plan(
        self, path: str, strings: tuple[str, str], expected: int | None, repaired: bool = False
    ) -> _Proposal | _Unplaced:
        """Work out the change, or say why not; `strings` put right must be there exactly."""
        from dogu.workspace.edit_match import Refusal, match_edit
        from dogu.workspace.edit_match.messages import receipt

        content, text = self._read(path)
        found = match_edit(text.text, *strings, expected, exact_only=repaired)
        if isinstance(found, Refusal):
            return _Unplaced(found, text.text, content.digest)
        _refuse_new_strays(text.text, found)
        data = text.splice(found.replacements)
        base = _base_of(content, text)
        # From here on the old bytes are in nobody's way.
        del content, text
        how = receipt(found, repaired)
        told = f"Successfully modified file: {path} ({len(found.lines)} replacements)."
        notes = [*([how] if how else []), *_hidden("".join(piece.body for piece in found.replacements))]
        return self._proposal(base, data, " ".join(filter(None, (told, how))), notes)

    def _absolute(self, path: str) -> str:
        if not os.path.isabs(path):
            meant = self._roots.locate(path)
            message = f"file_path must be absolute, got {path!r}. From the workspace root that is {meant}: send that."
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
        return self._roots.locate(path)

    def _read(self, path: str) -> tuple[FileContent, DecodedText]:
        from dogu.workspace.media import is_binary
        from dogu.workspace.text import decode

        try:
            content = self._files.read(path, remember=False)
        except ToolError as error:
            if error.kind is not ErrorKind.NOT_FOUND:
                raise
            message = f"File not found: {path}. Check the path, or send an empty old_string to create the file."
            raise ToolError(ErrorKind.NOT_FOUND, message) from error
        if is_binary(content.data[:_HEAD_BYTES]):
            raise ToolError(ErrorKind.WRONG_FILE_TYPE, f"Cannot edit a binary file: {path}.")
        return content, decode(content.data)

    def _creation(self, path: str, text: str) -> _Proposal:
        from dogu.workspace.diff import unified_diff
        from dogu.workspace.edit_match.messages import omission_error
        from dogu.workspace.omission import find_omission
        from dogu.workspace.rewrite import rewrite

        if self._files.exists(path):
            message = f"Failed to edit, file already exists: {path}. Send the text to replace as old_string."
            raise ToolError(ErrorKind.ALREADY_EXISTS, message)
        omission = find_omission(text, "")
        if omission is not None:
            raise omission_error(path, *omission)
        new = rewrite(None, text)
        shown = self._roots.relative(path)
        notes = (*new.notes, *_hidden(text))
        diff = FileDiff(shown, None, new.text, unified_diff("", new.text, shown), notes)
        return _Proposal(path, new.data, None, f"Created new file: {path} with provided content.", diff)

    def _proposal(self, base: _Base, data: bytes, told: str, notes: list[str]) -> _Proposal:
        from dogu.workspace.diff import unified_diff
        from dogu.workspace.text import decode

        new = decode(data, base.encoding).text
        shown = self._roots.relative(base.path)
        diff = FileDiff(shown, base.text, new, unified_diff(base.text, new, shown), (*notes, *base.notes))
        return _Proposal(base.path, data, base, told, diff)

    # the question

    def _question(self, proposal: _Proposal) -> Confirmation:
        reason = self._files.protected_reason(proposal.path)
        return Confirmation(
            f"{'Change' if proposal.expected else 'Create'} {proposal.display.path}?",
            proposal.display,
            proposal=proposal,
            editable_text=proposal.display.new_text,
            revise=lambda text: self._question(self._revised(proposal, text)),
            always_ask=reason is not None,
            reasons=(reason,) if reason else (),
        )

    def _revised(self, proposal: _Proposal, text: str) -> _Proposal:
        """Take the whole file's text as the person edited it, in the file's encoding and line endings."""
        from dogu.workspace.rewrite import rewrite

        if proposal.base is None:
            return self._creation(proposal.path, text)
        content, old = self._read(proposal.path)
        if content.digest != proposal.expected:
            raise _stale(proposal.path, "looked at")
        new = rewrite(old, text)
        told = f"Successfully modified file: {proposal.path} (as edited by the user)."
        return self._proposal(_base_of(content, old), new.data, told, list(new.notes))

    # the write

    def _write(self, proposal: _Proposal) -> ToolResult:
        for _ in range(_MOST_ATTEMPTS):
            try:
                self._files.write(proposal.path, proposal.data, proposal.expected)
            except ToolError as error:
                if error.kind is not ErrorKind.STALE or proposal.base is None:
                    raise
                proposal = self._merged(proposal, proposal.base, error)
                continue
            return ToolResult(proposal.told, proposal.display)
        raise ToolError(ErrorKind.STALE, f"{proposal.path} keeps changing while it is written. Nothing was written.")

    def _merged(self, proposal: _Proposal, base: _Base, stale: ToolError) -> _Proposal:
        from dogu.workspace.diff import unified_diff
        from dogu.workspace.edit_match.merging import carry_over

        content, theirs = self._read(proposal.path)
        ours, is_same = proposal.display.new_text, theirs.encoding == base.encoding.codec
        pieces = carry_over(base.text, ours, theirs.text) if is_same else None
        if pieces is None:
            changed = unified_diff(base.text, theirs.text, self._roots.relative(proposal.path))
            message = (
                f"File has changed since the edit was worked out, in the same place: {proposal.path}. "
                f"Nothing was written. What changed:\n{changed[:_LONGEST_DIFF_CHARS]}\n"
                "Read the file again and send an edit that fits."
            )
            raise ToolError(ErrorKind.STALE, message) from stale
        merged = "The file had changed elsewhere meanwhile; the edit was merged with that."
        told = proposal.told if merged in proposal.told else f"{proposal.told} {merged}"
        return self._proposal(_base_of(content, theirs), theirs.splice(pieces), told, [merged])


def _stale(path: str, meanwhile: str) -> ToolError:
    message = f"File has changed while the edit was {meanwhile}: {path}. Nothing was written; read the file again."
    return ToolError(ErrorKind.STALE, message)


def _is_repairable(refusal: Refusal) -> bool:
    from dogu.workspace.edit_match import Why

    return refusal.why in (Why.NO_MATCH, Why.UNCLEAR, Why.AMBIGUOUS)


def _refuse_new_strays(text: str, edit: Edit) -> None:
    """Refuse half characters that the file doesn't hold: written, they would be bytes that are no text."""
    for character in {character for piece in edit.replacements for character in piece.body}:
        if "\ud800" <= character <= "\udfff" and character not in text:
            message = (
                f"Nothing was written: new_string holds a lone surrogate (U+{ord(character):04X}), "
                "which is no character. Send the character itself."
            )
            raise ToolError(ErrorKind.UNENCODABLE, message)


def _request(path: str, text: str, args: ReplaceArgs, found: Refusal) -> RepairRequest:
    from dogu.workspace.edit_match.messages import refusal_error
    from dogu.workspace.edit_match.repair import RepairRequest, region_around

    reason = refusal_error(path, found, args.expected_replacements).message
    region = region_around(text, found.lines)
    return RepairRequest(path, region, args.old_string, args.new_string, reason, found.nearest)


def _hidden(text: str) -> list[str]:
    from dogu.workspace.visible import hidden_characters

    return [f"The new text {what}." for what in hidden_characters(text)]


def _base_of(content: FileContent, old: DecodedText) -> _Base:
    notes: list[str] = []
    if not old.is_utf8 or old.bom:
        notes.append(f"The file stays in {old.label}.")
    if content.real_path not in ("", content.path):
        notes.append(f"A symbolic link: the file written is {content.real_path}.")
    if content.links > 1:
        notes.append(f"The file has {content.links} names (hard links); all show the new content.")
    return _Base(content.path, content.digest, old.text, old.detected, tuple(notes))


def _first_line(text: str) -> str:
    line = text.strip().split("\n")[0]
    return line if len(line) <= 60 else f"{line[:57]}..."
