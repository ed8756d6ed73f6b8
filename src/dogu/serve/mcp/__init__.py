"""The door for other agents: every tool of ours over the Model Context Protocol."""

TASK_AFTER_S = 2.0  # when a call may become a task: most have ended by then, and cost their client one request
