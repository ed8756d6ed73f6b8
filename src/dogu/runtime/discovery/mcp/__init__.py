"""Tools of MCP servers. `entries` and `host` know no SDK; `servers`, and what it uses, load it."""
