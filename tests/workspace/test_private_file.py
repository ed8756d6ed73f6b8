"""The one writer of small files that are the user's alone."""

import os
import threading
from pathlib import Path

import pytest

from dogu.workspace.private_file import changing_json, lock_of_file, read_private_file, write_private_file


def test_a_new_file_is_its_owner_s_alone(tmp_path: Path):
    write_private_file(str(tmp_path / "a"), b"one")
    assert (tmp_path / "a").read_bytes() == b"one"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_file_is_replaced_with_the_mode_asked_for_and_nothing_is_left_beside_it(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"old")
    write_private_file(str(tmp_path / "a"), b"new", is_synced=False, mode=0o664)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o664
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_to_a_file_stays_one_and_the_file_is_replaced(tmp_path: Path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "a").write_bytes(b"before")
    (tmp_path / "a").symlink_to("kept/a")
    write_private_file(str(tmp_path / "a"), b"after")
    assert (tmp_path / "a").is_symlink()
    assert (tmp_path / "kept" / "a").read_bytes() == b"after"


@pytest.mark.parametrize("is_linked", [False, True], ids=["itself", "by a link"])
def test_nothing_but_a_regular_file_is_ever_replaced_or_waited_for(tmp_path: Path, is_linked: bool):
    os.mkfifo(tmp_path / "fifo")
    path = tmp_path / "fifo"
    if is_linked:
        path = tmp_path / "link"
        path.symlink_to("fifo")
    with pytest.raises(OSError, match="a regular file"):
        write_private_file(str(path), b"data")
    with pytest.raises(OSError, match="a regular file"), changing_json(str(path), dict[str, str]) as table:
        table["a"] = "b"
    with pytest.raises(OSError, match="a regular file"):
        read_private_file(str(tmp_path / "fifo"))
    assert (tmp_path / "fifo").is_fifo()


def test_what_can_t_be_read_is_not_written_over(tmp_path: Path):
    (tmp_path / "a").write_bytes(b'{"kept": "by hand",}')
    with pytest.raises(OSError, match="fix or remove it"), changing_json(str(tmp_path / "a"), dict[str, str]) as table:
        table["a"] = "b"
    assert (tmp_path / "a").read_bytes() == b'{"kept": "by hand",}'


def test_what_killed_writers_left_is_removed_by_the_next_one_and_what_living_ones_write_is_not(tmp_path: Path):
    old, new, other = tmp_path / "a.0123abcd.tmp", tmp_path / "a.0123abce.tmp", tmp_path / "b.0123abcd.tmp"
    for path in (old, new, other):
        path.write_bytes(b"")
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    with lock_of_file(str(tmp_path / "a")):
        assert {path.name for path in tmp_path.iterdir()} == {new.name, other.name}


def test_a_failed_write_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path):
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError):
        write_private_file(str(tmp_path / "a"), b"data")
    assert os.listdir(tmp_path) == ["a"]


def test_those_who_read_and_write_under_the_lock_lose_nothing_of_one_another_s(tmp_path: Path):
    path = tmp_path / "made" / "count"

    def count() -> None:
        for _ in range(20):
            with lock_of_file(str(path)):
                so_far = int(path.read_bytes()) if path.exists() else 0
                write_private_file(str(path), b"%d" % (so_far + 1), is_synced=False)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() == b"80"
