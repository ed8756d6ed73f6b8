"""apply_patch: change several files at once by a patch in codex' format, all of it or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from anyio import to_thread

from dogu.contract import CallContext, Confirmation, ErrorKind, Kind, PatchDiff, Tool, ToolError, ToolResult, told

if TYPE_CHECKING:
    from dogu.workspace.files import Files
    from dogu.workspace.patch import Operation
    from dogu.workspace.patch_plan import Step
    from dogu.workspace.roots import Roots


class ApplyPatchArgs(msgspec.Struct, kw_only=True):
    """The arguments of apply_patch."""

    input: Annotated[
        str, msgspec.Meta(description="The whole patch, from `*** Begin Patch` to `*** End Patch`.", min_length=1)
    ]


class Patch(msgspec.Struct, frozen=True):
    """What was approved: the files to write and to remove, with their bytes."""

    steps: tuple[Step, ...]


class ApplyPatch(Tool[ApplyPatchArgs]):
    """Adds, deletes, updates and moves files by one patch; all of it is done or nothing.

    The patch reads: `*** Begin Patch`, then for each file `*** Add File: PATH` with every line behind a `+`, or
    `*** Delete File: PATH`, or `*** Update File: PATH` (optionally followed by `*** Move to: NEW PATH`) with hunks, and
    at last `*** End Patch`. A hunk begins with `@@`, or with `@@ LINE` naming the class or function it stands in, and
    has context lines behind a blank, removed lines behind `-`, added lines behind `+`. Give 3 lines of context before
    and after each change; a hunk that fits in two places is refused. Paths are relative to the workspace root.
    """

    name = "apply_patch"
    display_name = "ApplyPatch"
    kind = Kind.EDIT
    aliases = {"patch": "input", "patch_text": "input"}

    def __init__(self, files: Files, roots: Roots) -> None:
        self._files = files
        self._roots = roots

    def get_description(self, args: ApplyPatchArgs) -> str:
        """Which files it names."""
        try:
            paths = [operation.path for operation in _parsed(args.input)]
        except ToolError:
            return told("Apply a patch")
        more = told(" and {count} more", count=len(paths) - 3) if len(paths) > 3 else ""
        return told("Patch {paths}{more}", paths=", ".join(paths[:3]), more=more)

    async def should_confirm_execute(self, args: ApplyPatchArgs) -> Confirmation | None:
        """Show the diffs of exactly what would be written and removed."""
        return await to_thread.run_sync(self._question, args)

    async def execute(self, args: ApplyPatchArgs, context: CallContext) -> ToolResult:
        """Write what was approved; where one file can't be, none is."""
        approved = context.approved
        patch = approved if isinstance(approved, Patch) else await to_thread.run_sync(self._propose, args)
        return await to_thread.run_sync(self._carry_out, patch)

    def _question(self, args: ApplyPatchArgs) -> Confirmation:
        patch = self._propose(args)
        reasons = tuple(filter(None, (self._files.protected_reason(step.path) for step in patch.steps)))
        title = (
            told("Change {count} files?", count=len(patch.steps)) if len(patch.steps) > 1 else told("Apply the patch?")
        )
        return Confirmation(
            title, _display(patch), proposal=patch, always_ask=bool(reasons), reasons=tuple(dict.fromkeys(reasons))
        )

    def _propose(self, args: ApplyPatchArgs) -> Patch:
        from dogu.workspace.patch_plan import plan_patch

        return Patch(plan_patch(self._files, self._roots, _parsed(args.input)))

    def _carry_out(self, patch: Patch) -> ToolResult:
        from dogu.workspace.patch_plan import carry_out

        carry_out(self._files, patch.steps)
        return ToolResult("\n".join(filter(None, (step.told for step in patch.steps))), _display(patch))


def _parsed(text: str) -> list[Operation]:
    from dogu.workspace.patch import PatchError, parse_patch

    try:
        return parse_patch(text)
    except PatchError as error:
        raise ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for apply_patch: {error}.") from error


def _display(patch: Patch) -> PatchDiff:
    return PatchDiff(tuple(step.display for step in patch.steps if step.display is not None))
