"""Which folders a user trusts: `~/.dogu/trustedFolders.json`, folder to answer."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Any

from dogu.language import say
from dogu.workspace.private_file import changing_json, read_json, written_path


class Trust(StrEnum):
    """What the user said of a folder."""

    TRUSTED = "TRUST_FOLDER"
    DISTRUSTED = "DO_NOT_TRUST"
    UNKNOWN = "UNKNOWN"

    @property
    def words(self) -> str:
        """What that means for the folder's own settings."""
        match self:
            case Trust.TRUSTED:
                return say("trusted: its own settings count like yours")
            case Trust.DISTRUSTED:
                return say("not trusted: its own settings can only restrict")
            case Trust.UNKNOWN:
                return say("its own settings can only restrict, until you run `dogu config trust`")


def trust_of(root: str, home: str) -> Trust:
    """Return what was said of the folder or, nearest first, of one that holds it.

    A trust file that can't be read says nothing, and so trusts nothing.
    """
    answers = read_json(_file(home), dict[str, Any])
    folder = os.path.realpath(root)
    while True:
        answer = answers.get(written_path(folder))
        if answer in (Trust.TRUSTED, Trust.DISTRUSTED):
            return Trust(answer)
        parent = os.path.dirname(folder)
        if parent == folder:
            return Trust.UNKNOWN
        folder = parent


def record_trust(root: str, home: str, trust: Trust) -> None:
    """Keep the answer for the folder and what is below it; the file is replaced at once and is the user's alone.

    Answers given at the same time are all kept. Raises `OSError` when it can't be written.
    """
    with changing_json(_file(home), dict[str, Any], indent=2) as answers:
        answers[written_path(os.path.realpath(root))] = trust.value


def _file(home: str) -> str:
    return os.path.join(home, ".dogu", "trustedFolders.json")
