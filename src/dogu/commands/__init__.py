"""The program's commands, one file each: it says its arguments, opens what it needs and hands it to a door."""

from __future__ import annotations

from dogu.language import say


def seconds(text: str) -> float:
    """Read a time that somebody wrote: `90`, `90s`, `10m`, `2h`. Raises `ValueError`."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    value = float(number) * unit
    if not 0 <= value < 1e7:
        raise ValueError(text)
    return value


seconds.__name__ = "time"  # argparse says "invalid time value"


def port(text: str) -> int:
    """Read a port's number. Raises `ValueError`."""
    number = int(text)
    if not 0 <= number < 65_536:
        raise ValueError(text)
    return number


def about() -> dict[str, str]:
    """Return what each command does, by name, as `dogu --help` lists them."""
    return {
        "call": say("Run one tool call, or calls from JSON lines, without a model."),
        "tools": say("List the tools of this workspace."),
        "policy": say("Say whether a shell command may run under the settings in force, and why."),
        "undo": say("Undo what a session changed, byte for byte."),
        "redo": say("Redo what was undone."),
        "sessions": say("List sessions, show what one did; export, verify or delete one."),
        "jobs": say("List background jobs, even after their session; show their output, stop or keep them."),
        "replay": say("Run a session's calls again in a copy of the workspace, and say what differs."),
        "fleet": say("Run one agent over many tasks, each in its own environment; resume, retry, export, compare."),
        "mcp": say("Serve the tools to another agent over the Model Context Protocol: standard streams, or HTTP."),
        "acp": say("Work as an editor's agent, over the Agent Client Protocol."),
        "mcp-servers": say("List, add, remove, test and log in to MCP servers, whose tools join dogu's own."),
        "config": say(
            "Show the settings in force and where they come from; trust this folder's own settings, or don't."
        ),
        "doctor": say("Check what dogu needs, and say how to get what is missing."),
        "completion": say("Print the completion script for bash, zsh or fish."),
        "man": say("Print the manual page."),
        "tour": say("See dogu list, read, search, edit and run in a temporary copy of a sample project."),
    }
