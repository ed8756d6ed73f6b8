"""The journal's file: contents that are made as they are kept."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogu.contract.errors import ErrorKind, ToolError
from dogu.runtime.journal.log import JournalLog, Record

KEY = b"key"


def four(folder: Path) -> bytes:
    """Write four records, with contents, and return the file."""
    log = JournalLog(str(folder / "journal.log"), KEY)
    for number in range(1, 5):
        log.append(Record("changes", number, f"call {number}"), [b"kept" * number], durable=True)
    return (folder / "journal.log").read_bytes()


def test_a_flipped_bit_costs_one_record_wherever_it_is_and_is_told(tmp_path: Path):
    written = four(tmp_path)
    for at in range(len(written)):
        (tmp_path / "journal.log").write_bytes(written[:at] + bytes([written[at] ^ 4]) + written[at + 1 :])
        log = JournalLog(str(tmp_path / "journal.log"), KEY)
        found = [record.number for record in log.read_new()]
        is_in_content = b"kept" in written[max(0, at - 3) : at + 4]
        assert len(found) >= (4 if is_in_content else 3), at
        assert is_in_content or log.problems(), at


@pytest.mark.parametrize("left", [0, 1, 40, 200, 400])
def test_what_is_gone_of_it_is_told_and_what_is_left_is_not_written_over(tmp_path: Path, left: int):
    written = four(tmp_path)
    (tmp_path / "journal.log").write_bytes(written[:left])
    log = JournalLog(str(tmp_path / "journal.log"), KEY)
    before = [record.number for record in log.read_new()]
    [damage] = log.problems()
    assert str(len(written)) in str(damage.what)
    assert damage.offset <= left
    ends = [each.start() for each in re.finditer(b"dgj2", written)][1:]
    assert before == [*range(1, sum(end <= left for end in ends) + 1)]


def test_a_record_is_added_behind_one_that_is_damaged_at_the_end(tmp_path: Path):
    written = four(tmp_path)
    at = written.rindex(b"dgj2")
    (tmp_path / "journal.log").write_bytes(written[:at] + b"x" + written[at + 1 :])
    JournalLog(str(tmp_path / "journal.log"), KEY).append(Record("changes", 5), durable=True)
    log = JournalLog(str(tmp_path / "journal.log"), KEY)
    assert [record.number for record in log.read_new()] == [1, 2, 3, 5]
    assert len(log.problems()) == 1
    assert (tmp_path / "journal.log").read_bytes()[at + 1 : len(written)] == written[at + 1 :]


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
