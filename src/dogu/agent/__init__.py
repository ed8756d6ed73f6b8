"""The agent: history, loop, context files."""
