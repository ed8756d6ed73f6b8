"""Running commands: each is asked for as a `command` says and ordered by `local`, which reads what it printed.

A launcher forks it, and a supervisor of its own follows it to its end: both are in `launcher`, beside this folder.
"""
