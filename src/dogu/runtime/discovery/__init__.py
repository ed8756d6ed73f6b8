"""Tools found while running: from a command, from MCP servers."""
