"""All that runs between this program and a command: the launcher, the supervisor it forks, what becomes the command.

These processes are forked from a small one that has loaded nothing else, so this folder imports the standard library
only, and itself; import-linter holds that. What asks for a command is beside it: `process`, `sandbox`.
"""
