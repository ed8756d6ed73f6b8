"""edit_notebook: replace, insert or delete a cell of a Jupyter notebook, the JSON around it untouched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from anyio import to_thread

from dogu.contract import CallContext, Confirmation, ErrorKind, Kind, Tool, ToolError, ToolResult, told

if TYPE_CHECKING:
    from dogu.workspace.files import Files
    from dogu.workspace.notebook import Cell, Notebook
    from dogu.workspace.roots import Roots
    from dogu.workspace.text.change import TextChange


class EditNotebookArgs(msgspec.Struct, kw_only=True):
    """The arguments of edit_notebook."""

    file_path: Annotated[str, msgspec.Meta(description="The notebook (.ipynb): absolute, or relative to the root.")]
    action: Annotated[
        Literal["replace", "insert", "delete"],
        msgspec.Meta(description="What to do with the cell; insert puts a new one behind it."),
    ] = "replace"
    cell: Annotated[
        str,
        msgspec.Meta(
            description="The cell's id or its number from 1, as read_file shows them. Empty with insert: at the top."
        ),
    ] = ""
    new_source: Annotated[
        str | None, msgspec.Meta(description="The cell's whole new text, written out; not for delete.")
    ] = None
    cell_type: Annotated[
        Literal["code", "markdown", "raw"] | None,
        msgspec.Meta(description="The type of an inserted cell (default code), or what a replaced one becomes."),
    ] = None


class EditNotebook(Tool[EditNotebookArgs]):
    """Replaces, inserts or deletes one cell of a Jupyter notebook (.ipynb).

    Read the notebook with `read_file` first: it shows each cell's number, id and outputs. The rest of the file stays as
    it is, outputs included; they are those of the old source until the cell is run again.
    """

    name = "edit_notebook"
    display_name = "EditNotebook"
    kind = Kind.EDIT
    aliases = {
        "path": "file_path",
        "notebook_path": "file_path",
        "absolute_path": "file_path",
        "cell_id": "cell",
        "edit_mode": "action",
    }

    def __init__(self, files: Files, roots: Roots) -> None:
        self._files = files
        self._roots = roots

    def get_description(self, args: EditNotebookArgs) -> str:
        """Which cell of which notebook, and what becomes of it."""
        where = self._roots.relative(args.file_path)
        match args.action:
            case "insert":
                return told("{path}: insert a cell", path=where)
            case "delete":
                return told("{path}: delete cell {cell}", path=where, cell=args.cell)
            case _:
                return told("{path}: replace cell {cell}", path=where, cell=args.cell)

    async def should_confirm_execute(self, args: EditNotebookArgs) -> Confirmation | None:
        """Show the diff of exactly what would be written."""
        proposal = await to_thread.run_sync(self._propose, args)
        return await to_thread.run_sync(proposal.question, self._files)

    async def execute(self, args: EditNotebookArgs, context: CallContext) -> ToolResult:
        """Write what was approved, or fail as stale."""
        from dogu.workspace.text.change import TextChange

        approved = context.approved
        proposal = approved if isinstance(approved, TextChange) else await to_thread.run_sync(self._propose, args)
        await to_thread.run_sync(self._files.write, proposal.path, proposal.data, proposal.expected)
        return ToolResult(proposal.told, proposal.display)

    def _propose(self, args: EditNotebookArgs) -> TextChange:
        from dogu.workspace.notebook import NotebookError, difference, parse_notebook
        from dogu.workspace.text.change import base_of, change_text, read_text

        _refuse_arguments(args)
        path = self._roots.locate(args.file_path)
        content, text = read_text(self._files, path)
        if self._files.seen_digest(path) not in (None, content.digest):
            message = f"{path} has changed since you last read it: its cells may have moved. Read it again first."
            raise ToolError(ErrorKind.STALE, message)
        try:
            new, told = _edited(parse_notebook(text.text), args)
            parse_notebook(new)
        except NotebookError as error:
            message = f"Nothing was written: {path}: {error}. Read the notebook again to see its cells."
            raise ToolError(ErrorKind.INVALID_ARGUMENTS, message) from error
        start, end, body = difference(text.text, new)
        if start == end and not body:
            raise ToolError(ErrorKind.NO_CHANGE, f"No change: the cell of {path} reads so already.")
        data = text.splice([(start, end, body)])
        told = f"Successfully modified notebook: {path} ({told})."
        return change_text(base_of(content, text), data, self._roots.relative(path), told, added=args.new_source or "")


def _refuse_arguments(args: EditNotebookArgs) -> None:
    reason = ""
    if args.action == "delete" and args.new_source is not None:
        reason = "delete takes no new_source"
    elif args.action != "delete" and args.new_source is None:
        reason = f"{args.action} needs new_source, the cell's whole text"
    elif args.action != "insert" and not args.cell:
        reason = f"{args.action} needs cell, an id or a number from 1"
    if reason:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for edit_notebook: {reason}.")


def _edited(notebook: Notebook, args: EditNotebookArgs) -> tuple[str, str]:
    """Return the notebook's new text, and what was done in words for the model."""
    from dogu.workspace import notebook as notebooks

    cell = notebook.find(args.cell) if args.cell else None
    source = args.new_source or ""
    notebooks.refuse_omission(source, cell.source if cell else "")
    if args.action == "insert":
        number = (cell.number if cell else 0) + 1
        kind = args.cell_type or "code"
        return notebooks.with_cell(notebook, cell, kind, source), f"inserted cell {number}, {kind}"
    if cell is None:
        raise notebooks.NotebookError("no cell is named")
    if args.action == "delete":
        return notebooks.without_cell(notebook, cell), f"deleted cell {cell.number}"
    if args.cell_type and args.cell_type != cell.type:
        text = notebooks.with_type(notebook, cell, args.cell_type, source)
        return text, f"replaced cell {cell.number}, now {args.cell_type}"
    return notebooks.with_source(notebook, cell, source), f"replaced cell {cell.number}{_stale_outputs(cell)}"


def _stale_outputs(cell: Cell) -> str:
    return "; its outputs are still those of the old source" if cell.outputs else ""
