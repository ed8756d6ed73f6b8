"""What killed sessions left behind of their looks."""

from __future__ import annotations

import os
import time

from dogu.runtime.journal.entries import Entries
from dogu.runtime.journal.log import FILE_NAME, JournalLog
from dogu.runtime.journal.watch import discard_remains, has_remains

_WAITS_FOR_UNDO_S = 7 * 24 * 3600.0


def tidy(sessions: str) -> None:
    """Remove what the looks of killed sessions left in the folders below `sessions`.

    Those of the living are left alone, and for a week those of a call whose changes nobody has found out about yet.
    """
    try:
        names = os.listdir(sessions)
    except FileNotFoundError:
        return
    for name in names:
        folder = os.path.join(sessions, name)
        if has_remains(folder):
            known = Entries()
            known.add(JournalLog(os.path.join(folder, FILE_NAME)).read_new())
            newest_s = max((record.time_s for record in known.unseen.values()), default=0.0)
            if time.time() - newest_s > _WAITS_FOR_UNDO_S:
                discard_remains(folder)
