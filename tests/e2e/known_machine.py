"""Finds out what the machine lets a sandbox do: once for all programs that are forked of the one that loads this.

It is the same for each, and finding it out starts two more processes. A program that is started anew asks for itself.
"""

from dogu.workspace.sandbox.ladder import Sandbox

Sandbox.detect()
