"""Running commands: ordered by `local`, forked by a launcher, each followed to its end by a keeper of its own.

The launcher, the keeper and what becomes a command are standard library only, and start without loading anything else.
"""
