"""replace: change a part of a file, found by what it says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from anyio import to_thread

from dogu.contract import CallContext, Confirmation, ErrorKind, JsonObject, Kind, Tool, ToolError, ToolResult, told

if TYPE_CHECKING:
    from dogu.workspace.edit_match import Edits, Refusal, Repair
    from dogu.workspace.files import Files
    from dogu.workspace.roots import Roots
    from dogu.workspace.text.change import TextChange

_MOST_ATTEMPTS = 3


class SingleEdit(msgspec.Struct, kw_only=True):
    """One of several edits."""

    old_string: Annotated[str, msgspec.Meta(description="The exact text to replace, with its context.")]
    new_string: Annotated[str, msgspec.Meta(description="The exact text to put in its place, the context included.")]
    expected_replacements: Annotated[
        int | None, msgspec.Meta(description="How often old_string is in the file; every occurrence is replaced.")
    ] = 1


class ReplaceArgs(msgspec.Struct, kw_only=True):
    """The arguments of replace."""

    file_path: Annotated[str, msgspec.Meta(description="The absolute path of the file to change.")]
    old_string: Annotated[
        str,
        msgspec.Meta(
            description="The exact text to replace, with at least 3 lines of context before and after the change, "
            "white space and indentation as in the file, nothing escaped. Empty to create a new file."
        ),
    ] = ""
    new_string: Annotated[
        str,
        msgspec.Meta(description="The exact text to put in its place, the context included. Write every line out."),
    ] = ""
    expected_replacements: Annotated[
        int | None, msgspec.Meta(description="How often old_string is in the file; every occurrence is replaced.")
    ] = 1
    edits: Annotated[
        list[SingleEdit],
        msgspec.Meta(
            description="Instead of old_string and new_string, which are empty then: several edits of the file, each "
            "found in the file as it is now; all are made or none."
        ),
    ] = []

    @property
    def wanted(self) -> list[SingleEdit]:
        """Every edit of the call."""
        one = SingleEdit(
            old_string=self.old_string, new_string=self.new_string, expected_replacements=self.expected_replacements
        )
        return self.edits or [one]


class _Unplaced(msgspec.Struct, frozen=True):
    """An edit, the `at`th of its call, that has no place in a file with this text and digest."""

    at: int
    refusal: Refusal
    text: str
    digest: str


class Replace(Tool[ReplaceArgs]):
    """Replaces text within a file. By default replaces a single occurrence; set `expected_replacements` for more.

    Read the file before. `old_string` must name one place: give at least 3 lines of context before and after the
    change, with white space and indentation as they are in the file. An empty `old_string` creates the file, which must
    not exist then. The result says how the text was found when it wasn't there exactly. For several changes of one file
    send `edits`: they are found in the same state of the file and made together.
    """

    name = "replace"
    display_name = "Edit"
    kind = Kind.EDIT
    aliases = {"path": "file_path", "absolute_path": "file_path"}
    dropped = frozenset(("instruction",))  # a sentence about the change, which its bytes say already

    def __init__(self, files: Files, roots: Roots, repair: Repair | None = None) -> None:
        self._files = files
        self._roots = roots
        self._repair = repair

    def publish(self, schema: JsonObject) -> JsonObject:
        """Say that the strings are required, as documented, though `edits` can do without."""
        return {**schema, "required": ["file_path", "old_string", "new_string"]}

    def adapt(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Take `allow_multiple: true` for "as many as there are"."""
        many = raw.pop("allow_multiple", None)
        if many is True or many == "true":
            if raw.get("expected_replacements") in (1, "1"):
                message = "allow_multiple and expected_replacements = 1 disagree: send only expected_replacements."
                raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for replace: {message}")
            raw.setdefault("expected_replacements", None)
        _refuse_mixed(raw)
        return raw

    def get_description(self, args: ReplaceArgs) -> str:
        """Which file, and the first lines of what gives way to what."""
        where = self._roots.relative(args.file_path)
        if args.edits:
            return told("{path}: {count} edits", path=where, count=len(args.edits))
        if not args.old_string:
            return told("Create {path}", path=where)
        return f"{where}: {_first_line(args.old_string)} => {_first_line(args.new_string)}"

    async def should_confirm_execute(self, args: ReplaceArgs) -> Confirmation | None:
        """Show the diff of exactly what would be written; it can be edited first."""
        proposal = await self._propose(args)
        return await to_thread.run_sync(proposal.question, self._files, self._revised)

    async def execute(self, args: ReplaceArgs, context: CallContext) -> ToolResult:
        """Write what was approved, merged into what others changed elsewhere meanwhile, or fail as stale."""
        from dogu.workspace.text.change import TextChange

        if isinstance(context.approved, TextChange):
            return await to_thread.run_sync(self._write, context.approved)
        return await to_thread.run_sync(self._write, await self._propose(args))

    # what would be written

    async def _propose(self, args: ReplaceArgs) -> TextChange:
        from dogu.workspace.edit_match import Why, refusal_error

        path = self._absolute(args.file_path)
        if any(edit.expected_replacements is not None and edit.expected_replacements < 1 for edit in args.wanted):
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, "expected_replacements must be 1 or more.")
        if not args.edits and not args.old_string:
            return await to_thread.run_sync(self._creation, path, args.new_string)
        planned = await to_thread.run_sync(self._plan, path, args.wanted)
        if not isinstance(planned, _Unplaced):
            return planned
        error = refusal_error(path, planned.refusal, args.wanted[planned.at].expected_replacements)
        if args.edits and planned.refusal.why is not Why.OVERLAP:
            which = f"Edit {planned.at + 1} of {len(args.edits)} has no place, so none was made. "
            raise ToolError(error.kind, which + error.message)
        repaired = None if args.edits else await self._repaired(path, args, planned, error.message)
        if repaired is None:
            raise error
        return repaired

    async def _repaired(self, path: str, args: ReplaceArgs, planned: _Unplaced, reason: str) -> TextChange | None:
        """Have a model put the strings right; None when it can't, or mayn't."""
        from dogu.workspace.edit_match import RepairRequest, Why, refuse_repair, region_around
        from dogu.workspace.text.change import stale_error

        refusal = planned.refusal
        if self._repair is None or refusal.why not in (Why.NO_MATCH, Why.UNCLEAR, Why.AMBIGUOUS):
            return None
        region = region_around(planned.text, refusal.lines)
        request = RepairRequest(path, region, args.old_string, args.new_string, reason, refusal.nearest)
        answer = await self._repair(request)
        if answer is None or refuse_repair(request, *answer):
            return None
        mended = msgspec.structs.replace(args.wanted[0], old_string=answer[0], new_string=answer[1])
        again = await to_thread.run_sync(self._plan, path, [mended], True)
        if not isinstance(again, _Unplaced):
            return again
        if again.digest != planned.digest:
            raise stale_error(path, "repaired")
        return None

    def _plan(self, path: str, wanted: Sequence[SingleEdit], repaired: bool = False) -> TextChange | _Unplaced:
        """Work out the change, each edit in the same text, or say why not; strings put right must be there exactly."""
        from dogu.workspace.edit_match import Refusal, Wanted, match_edits, quotes_note, receipt, written_lines
        from dogu.workspace.text.change import base_of, change_text, changed_since_read, read_text

        content, text = read_text(self._files, path)
        strings = [Wanted(edit.old_string, edit.new_string, edit.expected_replacements) for edit in wanted]
        found = match_edits(text.text, strings, path=path, exact_only=repaired)
        if isinstance(found, Refusal):
            return _Unplaced(found.index, found, text.text, content.digest)
        _refuse_new_strays(text.text, found)
        data = text.splice(found.replacements)
        base = base_of(content, text)
        # From here on the old bytes are in nobody's way.
        del content
        receipts = [*filter(None, (receipt(edit, repaired) for edit in found.each))]
        receipts += changed_since_read(self._files, path, base.digest)
        notes = [*receipts, *filter(None, [quotes_note(text.text, found.replacements)])]
        done = f"Successfully modified file: {path} ({sum(len(edit.lines) for edit in found.each)} replacements)."
        written = [f"Written:\n{written_lines(text.text, found.replacements)}"] if receipts else []
        added = "\n".join(piece.body for piece in found.replacements)
        heard = " ".join([done, *notes, *written])
        return change_text(base, data, self._roots.relative(path), heard, notes, added=added)

    def _absolute(self, path: str) -> str:
        if not os.path.isabs(path):
            meant = self._roots.locate(path)
            message = f"file_path must be absolute, got {path!r}. From the workspace root that is {meant}: send that."
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
        return self._roots.locate_file(path)

    def _creation(self, path: str, text: str) -> TextChange:
        from dogu.workspace.edit_match import refuse_omission
        from dogu.workspace.text.change import base_of, change_text, create_text, read_text

        if self._files.exists(path):
            content, old = read_text(self._files, path)
            if not old.text:
                refuse_omission(path, text)
                data, done = old.splice([(0, 0, text)]), f"Successfully modified file: {path} (it was empty)."
                return change_text(base_of(content, old), data, self._roots.relative(path), done, added=text)
            what = "Send the text to replace as old_string, or use write_file to give the file a new content."
            message = f"Failed to edit, file already exists: {path}. {what}"
            raise ToolError(ErrorKind.ALREADY_EXISTS, message)
        refuse_omission(path, text)
        told = f"Created new file: {path} with provided content."
        return create_text(path, text, self._roots.relative(path), told)

    def _revised(self, proposal: TextChange, text: str) -> TextChange:
        from dogu.workspace.text.change import edited_note, revise_text

        if proposal.base is None:
            new = self._creation(proposal.path, text)
            return msgspec.structs.replace(new, told=f"{new.told} {edited_note(proposal.display, text)}")
        told = f"Successfully modified file: {proposal.path} (as edited by the user)."
        return revise_text(proposal, proposal.base, self._files, text, told)

    # the write

    def _write(self, proposal: TextChange) -> ToolResult:
        from dogu.workspace.text.change import merge_text

        for _ in range(_MOST_ATTEMPTS):
            try:
                self._files.write(proposal.path, proposal.data, proposal.expected)
            except ToolError as error:
                if error.kind is not ErrorKind.STALE or proposal.base is None:
                    raise
                proposal = merge_text(proposal, proposal.base, self._files, error)
                continue
            return ToolResult(proposal.told, proposal.display)
        raise ToolError(ErrorKind.STALE, f"{proposal.path} keeps changing while it is written. Nothing was written.")


def _refuse_mixed(raw: Mapping[str, Any]) -> None:
    """Refuse a call with neither or both of the two forms; a missing string isn't an empty one."""
    strings = [name for name in ("old_string", "new_string") if name in raw]
    reason = ""
    if raw.get("edits"):
        strings = [name for name in strings if raw[name] != ""]
        if strings:
            reason = f"send either edits or {' and '.join(strings)}, not both."
    elif len(strings) < 2:
        missing = [repr(name) for name in ("old_string", "new_string") if name not in raw]
        reason = f"Missing required parameter{'s' * (len(missing) > 1)}: {', '.join(missing)}."
    if reason:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for replace: {reason}")


def _refuse_new_strays(text: str, edit: Edits) -> None:
    """Refuse half characters that the file doesn't hold: written, they would be bytes that are no text."""
    for character in {character for piece in edit.replacements for character in piece.body}:
        if "\ud800" <= character <= "\udfff" and character not in text:
            message = (
                f"Nothing was written: new_string holds a lone surrogate (U+{ord(character):04X}), "
                "which is no character. Send the character itself."
            )
            raise ToolError(ErrorKind.UNENCODABLE, message)


def _first_line(text: str) -> str:
    line = text.strip().split("\n")[0]
    return line if len(line) <= 60 else f"{line[:57]}..."
