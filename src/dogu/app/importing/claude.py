"""Claude Code's settings: permissions, servers, hooks, memory, commands; what they say beside that stays behind, told.

Source: Claude Code, "Settings" and "Configure permissions".
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, cast

from dogu.app.importing.found import (
    Found,
    Left,
    Taken,
    as_object,
    as_texts,
    json_in,
    leave_rest,
    object_of,
    take_key,
    take_memory,
    take_prompts,
    take_servers,
    texts_of,
    value_at,
)
from dogu.language import told
from dogu.runtime.hooks.config import CLAUDE_TOOLS, HookFile, read_hooks
from dogu.settings.tools import EntryError, tool_entry

_OURS = {theirs: ours for ours, theirs in CLAUDE_TOOLS.items()} | {"MultiEdit": "replace"}
_LISTS = {"allow": "tools.allowed", "deny": "tools.exclude", "ask": "tools.confirmationRequired"}
_MODES = {"default": "default", "acceptEdits": "auto_edit", "plan": "plan"}
_WIDE_MODES = ("bypassPermissions", "auto", "delegate")
_MANAGED = ("/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json")
_UNREAD = ("agents", "skills", "rules", "output-styles", "plugins")
# Keys that restrict nothing.
_HARMLESS = (
    "$schema model env apiKeyHelper statusLine outputStyle includeCoAuthoredBy attribution cleanupPeriodDays theme "
    "verbose language awsAuthRefresh awsCredentialExport gcpAuthRefresh otelHeadersHelper spinnerTipsEnabled "
    "spinnerTipsOverride spinnerVerbs showTurnDuration terminalProgressBarEnabled prefersReducedMotion plansDirectory "
    "alwaysThinkingEnabled autoUpdatesChannel companyAnnouncements fileSuggestion preferredNotifChannel teammateMode "
    "fastMode effortLevel enabledPlugins extraKnownMarketplaces enableAllProjectMcpServers autoMemoryEnabled "
    "autoMemoryDirectory feedbackSurveyRate agent viMode editorMode"
).split()


def read_claude(found: Found, folder: str, home: str, root: str) -> None:
    """Take over what Claude Code has for the user, or for the folder. Raises `ToolError`."""
    is_users = folder == home
    state = json_in(os.path.join(home, ".claude.json"))
    own = as_object(None if is_users else as_object(value_at(state, "projects")).get(root))
    names = ("settings.json",) if is_users else ("settings.json", "settings.local.json")
    files = [json_in(os.path.join(folder, ".claude", name)) for name in names]
    files += [json_in(file) for file in _MANAGED] if is_users else [dict(own)]
    if is_users:
        take_servers(found, state.get("mcpServers"))
    else:
        take_servers(found, _approved(found, json_in(os.path.join(root, ".mcp.json")).get("mcpServers"), files))
        take_servers(found, own.get("mcpServers"))
    for settings in files[:-1] if not is_users else files:
        _take_settings(found, settings, folder)
    _take_lists(found, own)
    for entry in as_texts(own.get("allowedTools")):
        _take_rule(found, entry, "allow", folder)
    if not is_users and os.path.exists(os.path.join(root, "CLAUDE.md")):
        names = ["GEMINI.md", "AGENTS.md", "CLAUDE.md"]
        found.taken.append(Taken("context", "CLAUDE.md", "context.fileName", names))
    if is_users and os.path.exists(os.path.join(home, ".claude", "CLAUDE.md")):
        take_memory(found, os.path.join(home, ".claude", "CLAUDE.md"), home)
    take_prompts(found, os.path.join(folder, ".claude", "commands"))
    unread = [os.path.join(folder, ".claude", name) for name in _UNREAD]
    unread += [] if is_users else [os.path.join(root, "CLAUDE.local.md")]
    found.left.extend(Left(each, told("isn't imported")) for each in unread if os.path.exists(each))


def _approved(found: Found, servers: Any, files: list[dict[str, Any]]) -> dict[str, Any]:
    """Of a folder's servers, those that were approved one by one, where any was."""
    approved = [name for settings in files for name in as_texts(settings.get("enabledMcpjsonServers"))]
    taken = dict(as_object(servers))
    for alias in [alias for alias in taken if approved and alias not in approved]:
        del taken[alias]
        found.left.append(Left(f"mcpServers.{alias}", told("isn't among enabledMcpjsonServers")))
    return taken


def _take_settings(found: Found, settings: Mapping[str, Any], folder: str) -> None:
    rest = dict(settings)
    _take_permissions(found, object_of(found, "permissions", rest.pop("permissions", None)), folder)
    for event, hooks in object_of(found, "hooks", rest.pop("hooks", None)).items():
        if unclear := [each for each in read_hooks((HookFile("", False, {event: hooks}),))[1] if each.stops]:
            found.left.append(Left(unclear[0].key, unclear[0].message, restricts=True))
            continue
        found.taken.append(Taken("hook", event, f"hooks.{event}", hooks))
    if rest.get("disableAllHooks") is True:
        take_key(found, "disableAllHooks", "hooksConfig.enabled", rest.pop("disableAllHooks") is False)
    sandbox = object_of(found, "sandbox", rest.pop("sandbox", None))
    if sandbox.pop("enabled", None) is True:
        take_key(found, "sandbox.enabled", "tools.sandbox", "on")
    leave_rest(found, sandbox, (), "Claude Code", "sandbox.")
    rest = _take_lists(found, rest)
    leave_rest(found, rest, _HARMLESS, "Claude Code")


def _take_lists(found: Found, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Take the lists of servers, and return what is left."""
    rest = dict(settings)
    rest.pop("enabledMcpjsonServers", None)
    for name in ("disabledMcpjsonServers", "disabledMcpServers"):
        servers = texts_of(found, name, rest.pop(name, None))
        if servers:
            take_key(found, name, "mcp.excluded", servers)
    for name, key in (("deniedMcpServers", "mcp.excluded"), ("allowedMcpServers", "mcp.allowed")):
        rules = rest.get(name)
        entries = [as_object(each) for each in cast("list[Any]", rules)] if isinstance(rules, list) else None
        if entries is not None and all(list(each) == ["serverName"] for each in entries):
            take_key(found, name, key, [str(each["serverName"]) for each in entries])
            del rest[name]
    return rest


def _take_permissions(found: Found, permissions: dict[str, Any], folder: str) -> None:
    for name in _LISTS:
        for entry in texts_of(found, f"permissions.{name}", permissions.pop(name, None)):
            _take_rule(found, entry, name, folder)
    mode = permissions.pop("defaultMode", None)
    if mode in _MODES:
        take_key(found, f"defaultMode {mode}", "tools.approvalMode", _MODES[mode])
    elif mode is not None:
        is_wide = mode in _WIDE_MODES
        found.left.append(
            Left(f"defaultMode {mode}", told("use --approval-mode if you want it"), restricts=not is_wide)
        )
    more = as_texts(permissions.pop("additionalDirectories", None))
    if more:
        take_key(found, "additionalDirectories", "context.includeDirectories", more)
    if permissions.get("disableBypassPermissionsMode") == "disable":
        permissions.pop("disableBypassPermissionsMode")
        take_key(found, "disableBypassPermissionsMode", "security.disableYoloMode", value=True)
    leave_rest(found, permissions, (), "Claude Code", "permissions.")


def _take_rule(found: Found, entry: str, name: str, folder: str) -> None:
    key = _LISTS[name]
    tool, opened, rest = entry.partition("(")
    pattern = rest.removesuffix(")") if opened else ""
    pattern = "" if pattern in ("*", ":*") else pattern  # that is the tool as a whole
    line = _ignored(pattern, is_users=found.is_users) if tool == "Read" else ""
    if line and name == "deny":
        file = os.path.join(folder, ".dogu", "not-read.ignore")
        known = next((each for each in found.taken if each.file == file), None)
        theirs, text = (f"{known.theirs}, {entry}", f"{known.text}{line}\n") if known else (entry, f"{line}\n")
        if known is not None:
            found.taken.remove(known)
        custom = "context.fileFiltering.customIgnoreFilePaths"
        found.taken.append(Taken("rule", theirs, custom, [file], file, text))
        return
    try:
        ours = _rule(tool, pattern, is_allowing=name == "allow")
    except EntryError:
        ours = ""
    if ours:
        found.taken.append(Taken("rule", f"{name} {entry}", key, [ours]))
    elif tool in ("Read", "Glob", "Grep", "LS") and name == "allow":
        found.left.append(Left(entry, told("needs no rule: reading in the workspace never asks")))
    else:
        found.left.append(
            Left(f"{name} {entry}", told("can't be expressed in dogu's settings"), restricts=name != "allow")
        )


def _ignored(pattern: str, *, is_users: bool) -> str:
    """Return a pattern of theirs as a line of an ignore file, '' where none says it: it is about another folder."""
    elsewhere = ("//", "~", "..", "/") if is_users else ("//", "~", "..")
    if pattern.startswith(elsewhere) or not pattern.isprintable():
        return ""
    line = pattern[1:] if pattern.startswith("./") else pattern
    return f"\\{line}" if line.startswith(("#", "!")) else line


def _rule(tool: str, pattern: str, *, is_allowing: bool) -> str:
    """Return our entry, '' where there is none. An exact command becomes one that may have more words behind it."""
    if tool.startswith("mcp__"):
        server, _, name = tool[5:].partition("__")
        return f"{server}__{name or '*'}" if not pattern else ""
    ours = _OURS.get(tool, "")
    if not pattern or not ours:
        return ours
    if tool != "Bash":
        return ""
    words = re.sub(r"(?::\*|\s\*)$", "", pattern)
    return "" if not words or "*" in words else tool_entry(f"{ours}({words})")
