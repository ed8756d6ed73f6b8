"""The sandbox of shell commands: a ladder of what the operating system enforces, a file for each of its parts."""
