"""write_file: replace all that a file holds, or create it, with the diff shown first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from anyio import to_thread

from dogu.contract import CallContext, Confirmation, ErrorKind, Kind, Tool, ToolError, ToolResult, told
from dogu.workspace.files import FileContent, Files
from dogu.workspace.roots import Roots

if TYPE_CHECKING:
    from dogu.workspace.text.overwrite import Overwrite


class WriteFileArgs(msgspec.Struct, kw_only=True):
    """The arguments of write_file."""

    file_path: Annotated[
        str, msgspec.Meta(description="The file to write: an absolute path, or one relative to the workspace root.")
    ]
    content: Annotated[
        str, msgspec.Meta(description="The whole content of the file. Write every line out; leave nothing out.")
    ]


class WriteFile(Tool[WriteFileArgs]):
    """Writes content to a file, creating it and its folders where they are missing, and replacing all it held before.

    An existing file keeps its encoding and its line endings. To change a part of a file, use `replace`. If the file has
    changed since you last read or wrote it, the call fails and you must read the file again.
    """

    name = "write_file"
    display_name = "WriteFile"
    kind = Kind.EDIT
    aliases = {"path": "file_path", "absolute_path": "file_path"}

    def __init__(self, files: Files, roots: Roots) -> None:
        self._files = files
        self._roots = roots

    def get_description(self, args: WriteFileArgs) -> str:
        """Which file, relative to its root."""
        return told("Writing to {path}", path=self._roots.relative(args.file_path))

    async def should_confirm_execute(self, args: WriteFileArgs) -> Confirmation | None:
        """Show the diff of exactly what would be written; it can be edited first."""
        return await to_thread.run_sync(self._question, args.file_path, args.content)

    async def execute(self, args: WriteFileArgs, context: CallContext) -> ToolResult:
        """Write what was approved, or fail as stale."""
        return await to_thread.run_sync(self._write, args, context.approved)

    def _question(self, path: str, content: str) -> Confirmation:
        return self._asking(self._propose(path, content), content)

    def _asking(self, proposal: Overwrite, content: str) -> Confirmation:
        reason = self._files.protected_reason(proposal.path)
        new = proposal.display.old_text is None
        return Confirmation(
            told("Create {path}?", path=proposal.display.path)
            if new
            else told("Overwrite {path}?", path=proposal.display.path),
            proposal.display,
            proposal=proposal,
            editable_text=content,
            revise=lambda text: self._asking(self._revised(proposal, text), text),
            always_ask=reason is not None,
            reasons=(reason,) if reason else (),
        )

    def _revised(self, proposal: Overwrite, text: str) -> Overwrite:
        """Take the text as the user edited it, for the file as it was shown."""
        from dogu.workspace.text.change import edited_note, stale_error

        revised = self._propose(proposal.path, text)
        if revised.expected != proposal.expected:
            raise stale_error(proposal.path, "looked at")
        note = edited_note(proposal.display, revised.display.new_text)
        return msgspec.structs.replace(revised, note=note)

    def _write(self, args: WriteFileArgs, approved: object) -> ToolResult:
        from dogu.workspace.text.overwrite import Overwrite

        proposal = approved if isinstance(approved, Overwrite) else self._propose(args.file_path, args.content)
        self._files.write(proposal.path, proposal.data, proposal.expected)
        done = "Successfully overwrote file" if proposal.expected else "Successfully created and wrote to new file"
        note = f". {proposal.note}" if proposal.note else ""
        return ToolResult(f"{done}: {proposal.path}{note}", proposal.display)

    def _propose(self, path: str, content: str) -> Overwrite:
        from dogu.workspace.text.overwrite import plan_overwrite

        located = self._roots.locate_file(path)
        return plan_overwrite(located, self._current(located), content, self._roots.relative(located))

    def _current(self, located: str) -> FileContent | None:
        try:
            old = self._files.read(located, remember=False)
        except ToolError as error:
            if error.kind is ErrorKind.NOT_FOUND:
                return None
            raise
        seen = self._files.seen_digest(located)
        if seen is not None and seen != old.digest:
            raise ToolError(
                ErrorKind.STALE,
                f"File has changed since you last read or wrote it: {located}. Nothing was written. "
                "Read it again, then write with its changes taken in.",
            )
        return old
