"""Codex' settings: servers, model, sandbox, rules, memory, prompts; what they say beside that stays behind, told.

Source: Codex, "Configuration Reference", "Rules".
"""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from itertools import product
from typing import Any, cast

from dogu.app.importing.found import (
    Found,
    Left,
    Taken,
    as_object,
    as_texts,
    leave_rest,
    object_of,
    take_key,
    take_memory,
    take_prompts,
    take_servers,
    text_in,
    toml_in,
)
from dogu.language import told
from dogu.models.providers import OPENAI
from dogu.settings.tools import tool_entry
from dogu.workspace.python_text import python_tree

_DECISIONS = {"allow": "tools.allowed", "prompt": "tools.confirmationRequired", "forbidden": "tools.exclude"}
_APPROVALS = {"approve": "tools.allowed", "prompt": "tools.confirmationRequired"}
_POLICIES = ("untrusted", "on-request", "on-failure")
_MANAGED = ("/etc/codex/requirements.toml", "/etc/codex/managed_config.toml")
_MOST_COMMANDS = 64
# Keys that restrict nothing.
_HARMLESS = (
    "model_reasoning_effort model_reasoning_summary model_verbosity model_context_window model_catalog_json "
    "model_auto_compact_token_limit model_instructions_file model_supports_reasoning_summaries model_providers "
    "plan_mode_reasoning_effort review_model personality service_tier instructions developer_instructions profile "
    "compact_prompt tui notify notice history hide_agent_reasoning show_raw_agent_reasoning file_opener analytics "
    "feedback otel log_dir sqlite_home check_for_update_on_startup disable_paste_burst project_doc_max_bytes "
    "project_doc_fallback_filenames project_root_markers suppress_unstable_features_warning tool_output_token_limit "
    "oss_provider chatgpt_base_url openai_base_url cli_auth_credentials_store mcp_oauth_credentials_store "
    "mcp_oauth_callback_port mcp_oauth_callback_url preferred_auth_method ghost_snapshot model_provider "
    "background_terminal_max_timeout "
    "commit_attribution experimental_use_unified_exec_tool experimental_compact_prompt_file marketplaces audio realtime"
).split()
# Commands have a temporary folder of their own here, whatever is said of the machine's.
_OF_WRITING = ("network_access", "writable_roots", "exclude_tmpdir_env_var", "exclude_slash_tmp")
_HARMLESS_OF_SERVERS = (
    "startup_timeout_sec startup_timeout_ms tool_timeout_sec required env_vars env_http_headers bearer_token_env_var "
    "scopes oauth_resource name experimental_environment command args env cwd url http_headers enabled_tools "
    "disabled_tools enabled"
).split()


def read_codex(found: Found, folder: str, home: str, _root: str) -> None:
    """Take over what Codex has for the user, or for the folder. Raises `ToolError`."""
    settings = toml_in(found.source)
    for alias, entry in object_of(found, "mcp_servers", settings.pop("mcp_servers", None)).items():
        take_servers(found, {alias: _codex_server(as_object(entry))})
        _take_approvals(found, alias, dict(as_object(entry)))
    if settings.get("model"):
        model = {"provider": settings.pop("model_provider", OPENAI.name), "name": settings.pop("model")}
        for name, value in model.items():
            take_key(found, f"model {value}", f"model.{name}", value)
    _take_codex_sandbox(found, settings)
    _take_choices(found, settings)
    _leave_projects(found, settings)
    leave_rest(found, settings, _HARMLESS, "Codex")
    for file in _rule_files(os.path.join(folder, ".codex", "rules")):
        _take_rules(found, file)
    if folder == home and os.path.exists(os.path.join(home, ".codex", "AGENTS.md")):
        take_memory(found, os.path.join(home, ".codex", "AGENTS.md"), home)
    take_prompts(found, os.path.join(folder, ".codex", "prompts"))
    managed = [file for file in _MANAGED if folder == home and os.path.exists(file)]
    found.left.extend(
        Left(file, told("can't be imported, and may be a restriction"), restricts=True) for file in managed
    )


def _leave_projects(found: Found, settings: dict[str, Any]) -> None:
    """Leave behind which folders are trusted: none is here before its user says so; what else is said may restrict."""
    for folder, entry in object_of(found, "projects", settings.pop("projects", None)).items():
        leave_rest(found, as_object(entry), ("trust_level",), "Codex", f"projects.{folder}.")


def _take_choices(found: Found, settings: dict[str, Any]) -> None:
    if settings.get("approval_policy") in _POLICIES:
        policy = settings.pop("approval_policy")
        if not any(taken.key == "tools.approvalMode" for taken in found.taken):  # a sandbox for reading is stricter
            take_key(found, f"approval_policy {policy}", "tools.approvalMode", "default")
    elif settings.get("approval_policy") == "never":
        found.left.append(Left("approval_policy never", told("use --approval-mode if you want it")))
        del settings["approval_policy"]
    if settings.get("web_search") == "disabled":
        take_key(found, f"web_search {settings.pop('web_search')}", "tools.exclude", ["google_web_search"])


def _take_approvals(found: Found, alias: str, entry: dict[str, Any]) -> None:
    """Take over which of a server's tools are asked about; what isn't known of the entry may restrict."""
    modes = {"*": entry.pop("default_tools_approval_mode", None)}
    for tool, of_tool in object_of(found, f"mcp_servers.{alias}.tools", entry.pop("tools", None)).items():
        rest = dict(as_object(of_tool))
        modes[tool] = rest.pop("approval_mode", None)
        leave_rest(found, rest, (), "Codex", f"mcp_servers.{alias}.tools.{tool}.")
    for tool, mode in modes.items():
        if mode in _APPROVALS:
            found.taken.append(Taken("rule", f"{mode} {alias} {tool}", _APPROVALS[mode], [f"{alias}__{tool}"]))
        elif mode not in (None, "auto"):
            why = told("can't be imported, and may be a restriction")
            found.left.append(Left(f"mcp_servers.{alias}.{tool} {mode}", why, restricts=True))
    unknown = {name: value for name, value in entry.items() if name not in _HARMLESS_OF_SERVERS}
    leave_rest(found, unknown, (), "Codex", f"mcp_servers.{alias}.")


def _rule_files(folder: str) -> list[str]:
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".rules"))
    except OSError:
        return []


def _take_rules(found: Found, file: str) -> None:
    """Take over a file of `prefix_rule(pattern=[...], decision=...)`; what it holds beside that may restrict."""
    try:
        statements = python_tree(text_in(file)).body
    except (SyntaxError, ValueError) as error:
        place = f"{file}:{error.lineno}" if isinstance(error, SyntaxError) else file
        why = error.msg if isinstance(error, SyntaxError) else error
        found.left.append(Left(place, told("isn't understood: {error}", error=why), restricts=True))
        return
    for statement in statements:
        place = f"{file}:{statement.lineno}"
        try:
            key, entries = _rule_of(statement)
        except ValueError as error:
            found.left.append(Left(place, told("isn't understood: {error}", error=error), restricts=True))
            continue
        found.taken.append(Taken("rule", place, key, entries))


def _rule_of(statement: ast.stmt) -> tuple[str, list[str]]:
    """Return the list that a rule belongs to, and its entries there. Raises `ValueError` where it has no place."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "prefix_rule":
        raise ValueError(ast.unparse(statement)[:60])
    given = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    if call.args or given.keys() - {"pattern", "decision", "match", "not_match", "justification"}:
        raise ValueError(ast.unparse(call)[:60])
    pattern = cast("list[str | list[str]]", given.get("pattern") or [[]])
    words = [each if isinstance(each, list) else [each] for each in pattern]
    commands = [tool_entry(f"run_shell_command({' '.join(map(str, each))})") for each in product(*words)]
    decision = given.get("decision", "allow")
    if not commands or len(commands) > _MOST_COMMANDS or decision not in _DECISIONS:
        raise ValueError(ast.unparse(call)[:60])
    return _DECISIONS[decision], commands


def _take_codex_sandbox(found: Found, settings: dict[str, Any]) -> None:
    sandbox = settings.pop("sandbox_mode", None)
    if sandbox == "read-only":
        found.taken.append(Taken("setting", "sandbox_mode read-only", "tools.approvalMode", "plan"))
    elif sandbox == "workspace-write":
        found.taken.append(Taken("setting", "sandbox_mode workspace-write", "tools.sandbox", "on"))
    elif sandbox:
        is_wide = sandbox == "danger-full-access"
        why = told("set tools.sandbox: off if you want it")
        found.left.append(Left(f"sandbox_mode {sandbox}", why, restricts=not is_wide))
    writing = object_of(found, "sandbox_workspace_write", settings.pop("sandbox_workspace_write", None))
    if sandbox == "workspace-write" and not writing.get("network_access"):
        found.taken.append(Taken("setting", "network_access false", "tools.sandboxAllowedHosts", []))
    if writing.get("writable_roots"):
        roots = as_texts(writing["writable_roots"])
        found.taken.append(Taken("setting", "writable_roots", "tools.sandboxAllowedPaths", roots))
    unknown = {name: value for name, value in writing.items() if name not in _OF_WRITING}
    leave_rest(found, unknown, (), "Codex", "sandbox_workspace_write.")


def _codex_server(entry: Mapping[str, Any]) -> dict[str, Any]:
    same = {name: entry[name] for name in ("command", "args", "env", "cwd") if name in entry}
    renamed = {"url": "httpUrl", "http_headers": "headers", "enabled_tools": "includeTools"}
    renamed["disabled_tools"] = "excludeTools"
    server = same | {ours: entry[theirs] for theirs, ours in renamed.items() if theirs in entry}
    if "bearer_token_env_var" in entry:
        key = f"Bearer ${entry['bearer_token_env_var']}"
        server["headers"] = {**as_object(server.get("headers")), "Authorization": key}
    if isinstance(entry.get("tool_timeout_sec"), int | float):
        server["timeout"] = int(entry["tool_timeout_sec"] * 1000)
    return server | ({"disabled": True} if entry.get("enabled") is False else {})
