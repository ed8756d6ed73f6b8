"""A tool of an MCP server as one of ours. What the server says of it is data: shown escaped, never obeyed.

What it said when the user approved the tool is kept beside the remembered rules, in `approved_tools.json`, by root
and by the tool's name: a server that says otherwise later is asked about.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from typing import Any, cast

from anyio import to_thread

from dogu.contract import CallContext, Confirmation, JsonObject, Kind, Tool, ToolResult
from dogu.contract.json_schema import schema_problem, unchecked_patterns
from dogu.language import told
from dogu.runtime.discovery.mcp.content import result_of
from dogu.runtime.discovery.mcp.server import McpServer
from dogu.workspace.diff import unified_diff
from dogu.workspace.private_file import changing_json, read_json, written_path
from dogu.workspace.visible import make_visible

_LONGEST_KEPT_CHARS = 20_000


class ApprovedDeclarations:
    """The approved declarations of one root. With no folder, or while `keeps` says no, they hold for this session."""

    def __init__(self, folder: str, root: str, keeps: Callable[[], bool]) -> None:
        self._path = os.path.join(folder, "approved_tools.json") if folder else ""
        self._root = written_path(root)
        self._keeps = keeps
        self._kept: dict[str, str] | None = None

    def before(self, name: str, declaration: str) -> str | None:
        """Return what was approved, if it was something else; None for the same, or when nothing was."""
        approved = self._approved().get(name)
        return None if approved is None or approved in (declaration, _digest(declaration)) else approved

    def holds(self, name: str, declaration: str) -> bool:
        """Whether exactly this was approved already."""
        return self._approved().get(name) in (declaration, _digest(declaration))

    def approve(self, name: str, declaration: str) -> None:
        """Take note of an approval. Blocks. Where nothing can be kept it holds for this session."""
        approved = self._approved()
        kept = declaration if len(declaration) <= _LONGEST_KEPT_CHARS else _digest(declaration)
        if approved.get(name) == kept:
            return
        approved[name] = kept
        if self._path and self._keeps():
            try:
                self._write(name, kept)
            except OSError:
                return

    def _approved(self) -> dict[str, str]:
        if self._kept is None:
            self._kept = dict(read_json(self._path, dict[str, dict[str, str]]).get(self._root, {}))
        return self._kept

    def _write(self, name: str, declaration: str) -> None:
        with changing_json(self._path, dict[str, dict[str, str]], indent=2) as everything:
            everything.setdefault(self._root, {})[name] = declaration


def _digest(declaration: str) -> str:
    return "sha256:" + hashlib.sha256(declaration.encode("utf-8", "replace")).hexdigest()


_LONGEST_NAME = 64
_LONGEST_DESCRIPTION_CHARS = 10_000
_DEEPEST_SCHEMA = 60
_TEXTS = ("description", "title", "$comment")


class DeclarationError(ValueError):
    """A declaration that no tool can be made of; the text says why."""


class McpTool(Tool[JsonObject]):
    """A tool that an MCP server declared; `approved` holds the declarations that were approved."""

    def __init__(self, server: McpServer, row: object, approved: ApprovedDeclarations) -> None:
        """Raise `DeclarationError` for a declaration that can't be used."""
        declared = _object(row, "its declaration")
        self.remote_name = _remote_name(declared)
        self.name = tool_name(server.entry.alias, self.remote_name)
        said, described = _schema(self.name, declared), declared.get("description") or ""
        shown = _visible(described)[:_LONGEST_DESCRIPTION_CHARS]
        # In what a server says, whatever is invisible is made visible.
        self.parameter_schema = cast("JsonObject", _with_visible_texts(said))
        self.description = shown or f"A tool of the MCP server {server.entry.alias}."
        self.has_hidden_text = shown != str(described)[:_LONGEST_DESCRIPTION_CHARS] or self.parameter_schema != said
        self.unchecked_patterns = unchecked_patterns(said)
        self.kind = _kind(server, declared)
        self._server = server
        self._approved = approved
        self._declaration = json.dumps([self.remote_name, shown, self.parameter_schema], sort_keys=True, indent=1)

    def get_description(self, args: JsonObject) -> str:
        """The arguments, as JSON."""
        return _visible(json.dumps(args, ensure_ascii=False))

    async def should_confirm_execute(self, args: JsonObject) -> Confirmation | None:
        """Show the server, the tool and what it is given; a declaration changed since it was approved asks anew."""
        before = self._approved.before(self.name, self._declaration)
        if self.kind.changes_nothing and before is None:
            return None
        shown = _visible(json.dumps(args, ensure_ascii=False, indent=2))
        display = told(
            "The tool `{tool}` of the MCP server `{alias}`\n\nwith\n{shown}",
            tool=_visible(self.remote_name),
            alias=self._server.entry.alias,
            shown=shown,
        )
        title = told("Call {name}?", name=self.name)
        if before is None:
            return Confirmation(title, display, proposal=self)
        reason = told("the server has changed what it says of this tool since you approved it")
        display += "\n\n" + told("Its declaration, before and now:")
        display += f"\n```diff\n{_visible(unified_diff(before, self._declaration, 'declaration'))}```"
        return Confirmation(title, display, proposal=self, always_ask=True, reasons=(reason,))

    async def execute(self, args: JsonObject, context: CallContext) -> ToolResult:
        """Call the server."""
        is_first = self._server.entry.trust and self._approved.before(self.name, self._declaration) is None
        if (context.approved is self or is_first) and not self._approved.holds(self.name, self._declaration):
            await to_thread.run_sync(self._approved.approve, self.name, self._declaration)
        return result_of(self._server.entry.alias, await self._server.call(self.remote_name, args, context))


def tool_name(alias: str, name: str) -> str:
    """Return `alias__name` with what models don't accept replaced, at most 64 characters, the same in every session."""
    whole = f"{alias}__{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}"
    if len(whole) <= _LONGEST_NAME:
        return whole
    return f"{whole[: _LONGEST_NAME - 9]}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _remote_name(declared: JsonObject) -> str:
    name = declared.get("name")
    if not isinstance(name, str) or not re.search(r"[A-Za-z0-9]", name):
        raise DeclarationError(told("its name {name} has no letter or digit that models accept", name=ascii(name)[:80]))
    return name


def _schema(name: str, declared: JsonObject) -> JsonObject:
    schema = _object(declared.get("inputSchema"), "its inputSchema")
    if schema.get("type", "object") != "object":
        raise DeclarationError(told("its inputSchema isn't an object schema"))
    if _is_deeper(schema, _DEEPEST_SCHEMA):
        raise DeclarationError(told("its inputSchema is nested more than {limit} levels deep", limit=_DEEPEST_SCHEMA))
    try:
        json.dumps(schema, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise DeclarationError(told("its inputSchema holds half a character (a lone surrogate)")) from error
    problem = schema_problem(name, schema)
    if problem:
        raise DeclarationError(problem)
    return {"type": "object", "properties": {}, **schema}


def _with_visible_texts(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_visible_texts(node) for node in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _visible(node) if key in _TEXTS and isinstance(node, str) else _with_visible_texts(node)
        for key, node in cast("JsonObject", schema).items()
    }


def _kind(server: McpServer, declared: JsonObject) -> Kind:
    """A hint that a tool only reads counts where the user trusts the server."""
    hints = declared.get("annotations")
    only_reads = isinstance(hints, dict) and cast("JsonObject", hints).get("readOnlyHint") is True
    return Kind.READ if only_reads and server.entry.trust else Kind.OTHER


def _is_deeper(value: object, levels: int) -> bool:
    """Look level by level: what is too deep would be too deep for a recursive walk."""
    level: list[object] = [value]
    for _ in range(levels):
        following: list[object] = []
        for node in level:
            if isinstance(node, dict):
                following += cast("JsonObject", node).values()
            elif isinstance(node, list):
                following += cast("list[object]", node)
        level = following
        if not level:
            return False
    return any(isinstance(node, dict | list) for node in level)


def _object(value: object, what: str) -> JsonObject:
    if not isinstance(value, dict):
        raise DeclarationError(told("{what} isn't an object but a {kind}", what=what, kind=type(value).__name__))
    return cast("JsonObject", value)


def _visible(text: object) -> str:
    if not isinstance(text, str):
        raise DeclarationError(told("its description isn't a text"))
    return make_visible(text)
