"""A record is sealed with the user's key: what was changed, cut off or made anew is noticed."""

import os
from pathlib import Path

import msgspec
import pytest

from dogu.agent.session.lines import LineFile, raw_lines, verify


@pytest.fixture
def record(tmp_path: Path) -> Path:
    folder = tmp_path / "state/sessions/one"
    folder.mkdir(parents=True)
    path = folder / "record.jsonl"
    file = LineFile(str(path))
    for number in range(5):
        file.add("text", float(number), b'{"text":"%d"}' % number)
    file.close()
    return path


def problems(path: Path) -> str:
    return " ".join(verify(str(path)).problems)


def test_a_record_as_written_has_no_problem_also_when_it_goes_on(record: Path):
    assert problems(record) == ""
    file = LineFile(str(record))
    file.add("text", 9.0, b"{}")
    file.close()
    assert problems(record) == ""


def test_a_killed_writer_s_lines_after_the_last_seal_are_no_problem(record: Path):
    seal = record.with_name("record.seal").read_bytes()
    file = LineFile(str(record))
    file.add("text", 9.0, b"{}")
    file.close()
    record.with_name("record.seal").write_bytes(seal)
    assert problems(record) == ""


def test_a_cut_end_is_noticed(record: Path):
    record.write_bytes(b"".join(record.read_bytes().splitlines(keepends=True)[:3]))
    assert "3 of 5 lines" in problems(record)
    LineFile(str(record)).close()  # looking at it seals nothing
    assert "3 of 5 lines" in problems(record)


def test_a_record_made_anew_without_the_key_is_noticed(record: Path, tmp_path: Path):
    other = tmp_path / "elsewhere/record.jsonl"
    other.parent.mkdir()
    file = LineFile(str(other))
    for number in range(5):
        file.add("text", float(number), b'{"text":"forged"}')
    file.close()
    assert problems(other) == ""
    for name in ("record.jsonl", "record.seal"):
        record.with_name(name).write_bytes(other.with_name(name).read_bytes())
    assert "was changed" in problems(record)
    assert "seal isn't ours" in problems(record)


def test_a_seal_that_is_missing_or_was_altered_is_noticed(record: Path):
    seal = record.with_name("record.seal")
    written = msgspec.json.decode(seal.read_bytes())
    written["seal"]["lines"] = 2
    seal.write_bytes(msgspec.json.encode(written))
    assert "seal isn't ours" in problems(record)
    seal.unlink()
    assert "seal is missing" in problems(record)


def test_the_key_is_its_owner_s_alone(record: Path):
    key = record.parent.parent.parent / "seal.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32


def test_what_is_no_regular_file_is_refused_at_once_and_never_waited_for(record: Path):
    record.unlink()
    os.mkfifo(record)
    for opening in (lambda: list(raw_lines(str(record))), lambda: LineFile(str(record))):
        with pytest.raises(OSError, match="a regular file"):
            opening()
