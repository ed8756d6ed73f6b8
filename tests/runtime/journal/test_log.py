"""The journal's file: contents that are made as they are kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dogu.contract.errors import ErrorKind, ToolError
from dogu.runtime.journal.log import JournalLog, Record


def torn() -> Iterator[bytes]:
    yield b"half"
    raise ToolError(ErrorKind.STALE, "changed meanwhile")


def test_a_content_in_pieces_is_kept_whole(tmp_path: Path):
    log = JournalLog(str(tmp_path / "log"))
    log.append(Record("changes", 1), iter([b"one ", b"two"]), content_bytes=7)
    log.append(Record("changes", 2))
    assert [record.number for record in log.read_new()] == [1, 2]
    assert b"one two" in (tmp_path / "log").read_bytes()


def test_a_content_that_fails_or_changes_its_length_leaves_no_record(tmp_path: Path):
    log = JournalLog(str(tmp_path / "log"))
    log.append(Record("changes", 1))
    with pytest.raises(ToolError, match="changed meanwhile"):
        log.append(Record("changes", 2), torn(), content_bytes=4)
    for length in (2, 9):
        with pytest.raises(OSError, match="changed its length"):
            log.append(Record("changes", 3), [b"four"], content_bytes=length)
    log.append(Record("changes", 4))
    assert [record.number for record in log.read_new()] == [1, 4]
