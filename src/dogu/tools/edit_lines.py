"""edit_lines: change lines of a file by their tags, for models that can't quote a file reliably."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from anyio import to_thread

from dogu.contract import CallContext, Confirmation, ErrorKind, Kind, Tool, ToolError, ToolResult, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from dogu.workspace.files import Files
    from dogu.workspace.line_tags import LineEdit
    from dogu.workspace.roots import Roots
    from dogu.workspace.text.change import TextChange


class LineChange(msgspec.Struct, kw_only=True):
    """One stretch of lines, and what it becomes."""

    first: Annotated[str, msgspec.Meta(description="Tag of the first line to replace, such as 12:a3f.")] = ""
    last: Annotated[str, msgspec.Meta(description="Tag of the last line to replace; empty: only the first.")] = ""
    after: Annotated[
        str, msgspec.Meta(description="Instead of first: tag of the line to insert behind; 0 inserts at the top.")
    ] = ""
    text: Annotated[str, msgspec.Meta(description="The new lines, without tags; empty removes the lines.")] = ""


class EditLinesArgs(msgspec.Struct, kw_only=True):
    """The arguments of edit_lines."""

    file_path: Annotated[str, msgspec.Meta(description="The file: absolute, or relative to the workspace root.")]
    edits: Annotated[
        list[LineChange],
        msgspec.Meta(
            min_length=1, description="All changes to the file, with tags as it is now; all are made or none."
        ),
    ]


class EditLines(Tool[EditLinesArgs]):
    """Replaces, removes or inserts lines of a file, named by the tags that read_file shows before each line.

    A tag is a line's number and a hash of its text (12:a3f). Copy tags exactly; a tag whose line has changed is
    refused. The answer shows the new tags around each change. Use write_file to create a file.
    """

    name = "edit_lines"
    display_name = "EditLines"
    kind = Kind.EDIT
    aliases = {"path": "file_path", "absolute_path": "file_path"}

    def __init__(self, files: Files, roots: Roots) -> None:
        self._files = files
        self._roots = roots

    def get_description(self, args: EditLinesArgs) -> str:
        """Which file, and how many places."""
        where = self._roots.relative(args.file_path)
        return told("{path}: {count} changes", path=where, count=len(args.edits))

    async def should_confirm_execute(self, args: EditLinesArgs) -> Confirmation | None:
        """Show the diff of exactly what would be written."""
        proposal = await to_thread.run_sync(self._propose, args)
        return await to_thread.run_sync(proposal.question, self._files)

    async def execute(self, args: EditLinesArgs, context: CallContext) -> ToolResult:
        """Write what was approved, or fail as stale."""
        from dogu.workspace.text.change import TextChange

        approved = context.approved
        proposal = approved if isinstance(approved, TextChange) else await to_thread.run_sync(self._propose, args)
        await to_thread.run_sync(self._files.write, proposal.path, proposal.data, proposal.expected)
        return ToolResult(proposal.told, proposal.display)

    def _propose(self, args: EditLinesArgs) -> TextChange:
        from dogu.workspace.line_tags import lines_of, number_of, receipt_of, replacements_of
        from dogu.workspace.text.change import base_of, change_text, read_text

        path = self._roots.locate(args.file_path)
        content, text = read_text(self._files, path)
        lines = lines_of(text.text)
        edits = [_placed(change, lambda tag: number_of(tag, lines)) for change in args.edits]
        data = text.splice(replacements_of(text.text, lines, edits))
        if data == content.data:
            raise ToolError(ErrorKind.NO_CHANGE, f"No change: the lines of {path} read so already.")
        change = change_text(base_of(content, text), data, self._roots.relative(path), "")
        now = receipt_of(lines_of(change.display.new_text), edits)
        done = f"Successfully modified file: {path} ({len(edits)} changes). The lines there are now:\n{now}"
        return msgspec.structs.replace(change, told=done)


def _placed(change: LineChange, number_of: Callable[[str], int]) -> LineEdit:
    if bool(change.first) == bool(change.after):
        message = "Invalid arguments for edit_lines: each edit needs either first (and last) or after."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    if change.after:
        number = 0 if change.after.strip() == "0" else number_of(change.after)
        return number + 1, number, change.text
    first = number_of(change.first)
    last = number_of(change.last) if change.last else first
    if last < first:
        message = f"Invalid arguments for edit_lines: last ({change.last}) is before first ({change.first})."
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, message)
    return first, last, change.text
