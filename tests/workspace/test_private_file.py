"""The one writer of small files that are the user's alone."""

import os
import threading
from pathlib import Path

import pytest

from dogu.workspace.private_file import lock_of_file, write_private_file


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


def test_a_link_is_replaced_and_what_it_led_to_stays(tmp_path: Path):
    (tmp_path / "other").write_bytes(b"other's")
    (tmp_path / "a").symlink_to("other")
    write_private_file(str(tmp_path / "a"), b"ours")
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "other").read_bytes() == b"other's"


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
