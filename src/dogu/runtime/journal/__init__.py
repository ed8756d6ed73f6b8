"""Every change made by any tool, kept so that it can be undone: without git, never touching what it did not make.

Writes of file tools are noted before they happen, with what was there (an observer of `workspace.files`). A call whose
changes happen behind our back, such as a shell command, is looked at from outside: the roots before and after.
Above: the executor (`call`), the doors (`entries`, `undo`).
"""

from dogu.runtime.journal.journal import Journal as Journal
from dogu.runtime.journal.kept import Keeping as Keeping
