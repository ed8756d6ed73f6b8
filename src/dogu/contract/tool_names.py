"""What settings and rules may call the built-in tools, besides their own names."""

from __future__ import annotations

import re

SHELL_TOOL = "run_shell_command"

OTHER_NAMES = {
    "LSTool": "list_directory",
    "ReadFileTool": "read_file",
    "WriteFileTool": "write_file",
    "GrepTool": "grep_search",
    "RipGrepTool": "grep_search",
    "search_file_content": "grep_search",
    "GlobTool": "glob",
    "EditTool": "replace",
    "SmartEditTool": "replace",
    "ReadManyFilesTool": "read_many_files",
    "ShellTool": SHELL_TOOL,
    "WebFetchTool": "web_fetch",
    "WebSearchTool": "google_web_search",
    "MemoryTool": "save_memory",
}
"""The documents' classes, and an older name of a tool, each with the tool's own name."""

BUILT_IN_NAMES = frozenset(
    (
        *OTHER_NAMES.values(),
        *("activate_skill", "apply_patch", "ask_user", "background_jobs", "edit_lines", "edit_notebook", "find_tools"),
        *("read_mcp_resource", "run_subagent", "send_input", "stop_background_job", "write_todos"),
    )
)
"""All names that a tool of dogu's own may have, whether or not it is there."""

# What a rule calls all commands that can't leave the sandbox: no tool, but answered for like one.
CONTAINED_COMMANDS = "commands-in-the-sandbox"

COUNTERPARTS = {
    "BaseTool": "dogu.Tool",
    "BaseDeclarativeTool": "dogu.Tool",
    "PartListUnion": "a str, or a list of str, dogu.Text and dogu.Blob",
    "PartUnion": "a str, dogu.Text or dogu.Blob",
    "Part": "dogu.Text or dogu.Blob",
    "FunctionCall": "dogu.ToolCall",
    "FunctionResponse": "dogu.ToolAnswer",
    "AbortSignal": "the cancel scope that execute() runs in",
    "DiscoveredTool": "a tool that tools.discoveryCommand declares, found by its name in a registry",
    "DiscoveredMCPTool": "a tool of a server of mcpServers, found as alias__tool in a registry",
    "ToolCallConfirmationDetails": "dogu.Confirmation",
    **{name: f"the tool {tool!r}, as in runtime.call({tool!r}, ...)" for name, tool in OTHER_NAMES.items()},
}
"""What the documents' words for code are called here."""


def server_and_tool(entry: str) -> tuple[str, str]:
    """Take apart what a list calls a tool of an MCP server; ('', '') for what names none.

    Here it is `SERVER__TOOL`, in Gemini CLI `mcp_SERVER_TOOL` (whose servers have no underscore), in Claude Code
    `mcp__SERVER__TOOL`. `SERVER__*`, `mcp_SERVER_*` and `mcp__SERVER` are all tools of the server, `mcp_*` all of all.
    """
    if entry.startswith("mcp__"):
        server, _, tool = entry[5:].partition("__")
        return server or "*", tool or "*"
    if entry.startswith("mcp_"):
        server, _, tool = entry[4:].partition("_")
        return server, tool or "*"
    server, parted, tool = entry.partition("__")
    return (server, tool or "*") if parted and server else ("", "")


def means_tool(entry: str, tool: str) -> bool:
    """Whether an entry that allows stands for the tool, which is `SERVER__TOOL` where a server has it: exactly."""
    if entry == tool:
        return True
    server, short = server_and_tool(entry)
    its_server, parted, its_short = tool.partition("__")
    if not server or not parted:
        return False
    return server in ("*", its_server) and (_has_shape(short, its_short) or short == its_short)


def may_mean_tool(entry: str, tool: str) -> bool:
    """Whether an entry that restricts may stand for the tool, in whatever signs a program writes the names.

    A tool of a server is meant by its own name alone, too, unless that is a built-in tool's.
    """
    if entry == tool:
        return True
    server, parted, short = tool.partition("__")
    if not parted:
        return False
    if entry not in BUILT_IN_NAMES and (entry == short or plain_name(entry) == plain_name(short)):
        return True
    return server_and_tool(entry)[0] != "" and any(
        _has_shape(plain_name(entry, keeps="*"), name)
        for name in (plain_name(tool), f"mcp_{plain_name(tool)}", f"mcp_{plain_name(server)}")
    )


def is_of_server(entry: str, alias: str) -> bool:
    """Whether an entry names a tool of the server of this alias, or all of them."""
    if not server_and_tool(entry)[0]:
        return False
    written = plain_name(entry).removeprefix("mcp_" if entry.startswith("mcp_") else "")
    return f"{written}_".startswith(f"{plain_name(alias)}_")


def plain_name(name: str, *, keeps: str = "") -> str:
    """Return a server's or a tool's name without what different programs make different signs of."""
    return re.sub(rf"[^A-Za-z0-9{keeps}]+", "_", name).strip("_")


def _has_shape(pattern: str, name: str) -> bool:
    """Whether the name fits a pattern in which `*` is any text."""
    if "*" not in pattern:
        return pattern == name
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None
