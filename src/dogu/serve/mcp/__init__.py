"""The door for other agents: every tool of ours over the Model Context Protocol."""
