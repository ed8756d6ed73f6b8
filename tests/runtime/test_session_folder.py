"""What a session keeps."""

from pathlib import Path

from dogu.contract.content import Blob, Text
from dogu.contract.result import ToolResult
from dogu.contract.tool import Kind
from dogu.runtime.events import ToolCall
from dogu.runtime.result_bounds import ResultBounds
from dogu.runtime.session_folder import SessionFolder, stored_sessions


def test_a_whole_output_is_kept_for_its_owner_only_and_can_be_found(tmp_path: Path):
    folder = SessionFolder(str(tmp_path))
    path = Path(folder.keep_output("call/../../x", "日本語 \udc80"))
    assert path.parent == Path(folder.path)
    assert path.read_text() == "日本語 \\udc80"
    assert path.stat().st_mode & 0o777 == 0o600
    folder.close()
    assert [kept.path for kept in stored_sessions(str(tmp_path))] == [folder.path]


def test_an_empty_session_leaves_nothing(tmp_path: Path):
    SessionFolder(str(tmp_path)).close()
    assert stored_sessions(str(tmp_path)) == []
    assert list((tmp_path / "sessions").iterdir()) == []


def test_a_cut_result_says_where_the_whole_is(tmp_path: Path):
    folder = SessionFolder(str(tmp_path))
    bounds = ResultBounds(folder.keep_output)
    whole = "x" * 100_000
    result = bounds.apply(ToolCall("1", "run_shell_command", {}), ToolResult(whole))
    path = str(result.llm_content).rsplit("kept in ", 1)[1].rpartition(".txt:")[0] + ".txt"
    assert Path(path).read_text() == whole


def test_a_full_disk_costs_the_copy_and_not_the_result():
    def keep(_call_id: str, _text: str) -> str:
        raise OSError(28, "No space left on device")

    result = ResultBounds(keep).apply(ToolCall("1", "t", {}), ToolResult("x" * 100_000))
    assert "could not be kept: No space left on device" in str(result.llm_content)
    assert result.error is None


def test_where_the_state_folder_cannot_be_made_a_temporary_one_serves():
    folder = SessionFolder("/proc/no-such-folder")
    assert "can't be written" in folder.problem
    assert Path(folder.keep_output("1", "x")).read_text() == "x"
    for path in Path(folder.path).iterdir():
        path.unlink()
    Path(folder.path).rmdir()


def test_a_record_in_a_temporary_folder_goes_with_its_session_for_nobody_would_find_it(tmp_path: Path):
    folder = SessionFolder("/proc/no-such-folder")
    (Path(folder.path) / "record.jsonl").touch()
    folder.close(is_wanted=True)
    assert not Path(folder.path).exists()
    kept = SessionFolder(str(tmp_path))
    (Path(kept.path) / "record.jsonl").touch()
    kept.close(is_wanted=True)
    assert Path(kept.path).exists()


def test_media_are_never_cut():
    blob = Blob("image/png", b"x" * 100_000)
    result = ToolResult([Text("y" * 100_000), blob])
    parts = ResultBounds().apply(ToolCall("1", "t", {}), result).llm_content
    assert not isinstance(parts, str)
    assert parts[1] == blob
    assert isinstance(parts[0], Text)
    assert len(parts[0].text) < 41_000


def test_sessions_are_found_by_the_root_they_worked_in(tmp_path: Path):
    for root in ("/one", "/two"):
        SessionFolder(str(tmp_path), [root]).keep_output("1", "x")
    assert [kept.facts.roots for kept in stored_sessions(str(tmp_path), "/two")] == [["/two"]]


def test_only_who_is_asked_for_more_gives_more():
    call, long = ToolCall("1", "t", {}), ToolResult("x" * 100_000)
    assert len(str(ResultBounds().apply(call, long, Kind.READ).llm_content)) < 41_000
    assert ResultBounds().apply(call, long, Kind.READ, bounds_itself=True) is long
