"""Judging a command: which programs it runs, and what their arguments run or overwrite. Pure, mostly tables."""
