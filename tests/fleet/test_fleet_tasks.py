"""Tasks come from JSON lines, tables and folders; what can't be run is told with its line before anything begins."""

from __future__ import annotations

import math
import os
from pathlib import Path

import anyio
import pytest

from dogu.cli import main
from dogu.contract import ToolError
from dogu.fleet.driver import Driver, run
from dogu.fleet.engine import Engine, Tasks
from dogu.fleet.export import export
from dogu.fleet.limits import SharedLimits
from dogu.fleet.plan import Plan
from dogu.fleet.progress import row_line
from dogu.fleet.rows import Patch, Reason, Row
from dogu.fleet.store import Fleet
from dogu.fleet.tasks import Bounds, Task, checked, read_tasks


def read(path: Path) -> list[Task]:
    return list(checked(read_tasks(str(path)), str(path.parent)))


def test_json_lines_a_table_and_a_folder_say_the_same(tmp_path: Path) -> None:
    lines = tmp_path / "tasks.jsonl"
    lines.write_text('{"id": "a", "prompt": "x, \\"y\\"", "check": "true", "budget": {"max_turns": 3}}\n\n')
    table = tmp_path / "tasks.csv"
    table.write_text('\ufeffid,prompt,check,budget\na,"x, ""y""",true,"{""max_turns"": 3}"\n', encoding="utf-8")
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "a.md").write_text('x, "y"')
    (folder / "notes.json").write_text("{}")
    (folder / "._a.md").write_bytes(b"\0\5\x16\7")  # which macOS leaves beside it
    wanted = Task("a", 'x, "y"', check="true", budget=Bounds(max_turns=3))
    assert read(lines) == read(table) == [wanted]
    assert [(task.id, task.prompt) for task in read(folder)] == [("a", 'x, "y"')]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be"])
def test_lines_are_read_as_windows_writes_them(tmp_path: Path, encoding: str) -> None:
    lines = tmp_path / "tasks.jsonl"
    text = '{"id": "a", "prompt": "é"}\r\n{"id": "b", "prompt": "日本"}\r\n'
    lines.write_bytes((text if encoding == "utf-8-sig" else f"\ufeff{text}").encode(encoding))
    assert [(task.id, task.prompt) for task in read(lines)] == [("a", "é"), ("b", "日本")]


def test_places_are_beside_the_file_and_addresses_stay(tmp_path: Path) -> None:
    lines = tmp_path / "tasks.jsonl"
    lines.write_text(
        '{"id": "a", "prompt": "x", "folder": "src"}\n'
        '{"id": "b", "prompt": "x", "repo": "repo"}\n'
        '{"id": "c", "prompt": "x", "repo": "https://example.org/r.git"}\n'
        '{"id": "d", "prompt": "x", "repo": "git@example.org:r.git"}\n'
        '{"id": "e", "prompt": "x", "repo": "gh:owner/r"}\n'
        '{"id": "f", "prompt": "x", "repo": "./gh:owner/r"}\n'
        '{"id": "g", "prompt": "x", "repo": "is:here"}\n'
    )
    (tmp_path / "is:here").mkdir()
    a, b, c, d, e, f, g = read(lines)
    assert (a.folder, b.repo) == (str(tmp_path / "src"), str(tmp_path / "repo"))
    assert (c.repo, d.repo) == ("https://example.org/r.git", "git@example.org:r.git")
    assert (e.repo, f.repo, g.repo) == ("gh:owner/r", str(tmp_path / "gh:owner/r"), str(tmp_path / "is:here"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "a"}', "line 2: Object missing required field `prompt`"),
        ('{"id": "a", "prompt": "x", "chek": "y"}', "line 2: Object contains unknown field `chek`"),
        ('{"id": "a", "prompt": "x", "chek": null}', "line 2: Object contains unknown field `chek`"),
        ('{"id": "a", "prompt": null}', "line 2: Object missing required field `prompt`"),
        ('["a", "x"]', "line 2: Expected `object`, got `array`"),
        ('{"id": "a", "prompt": "x"', "line 2: Input data was truncated"),
        ('[{"id": "a", "prompt": "x"}]', 'got `array`; a line is one task, in UTF-8: {"id": "a", "prompt": "..."}'),
        ('{"id": "a"}', "missing required field `prompt`; a task has id, prompt, repo, folder"),
        ('{"id": "../a", "prompt": "x"}', "an id is letters, digits"),
        ('{"id": "first", "prompt": "x"}', "the id first appears twice"),
        ('{"id": "First", "prompt": "x"}', "the id First appears twice"),
        ('{"id": "a", "prompt": " "}', "the prompt is empty"),
        ('{"id": "a", "prompt": "x", "files": {"../b": ""}}', "../b isn't a path inside"),
        ('{"id": "a", "prompt": "x", "files": {".git/config": ""}}', ".git/config isn't a path inside"),
        ('{"id": "a", "prompt": "x", "repo": "r", "folder": "f"}', "give one"),
        ('{"id": "a", "prompt": "x", "files": {"./.git/config": ""}}', ".git/config isn't a path inside"),
        ('{"id": "a", "prompt": "x", "files": {"sub/.GIT/x": ""}}', "isn't a path inside"),
        ('{"id": "a", "prompt": "x", "files": {"sub/": ""}}', "isn't a path inside"),
        ('{"id": "a", "prompt": "x", "files": {"a\\u0000": ""}}', "characters that no file"),
        ('{"id": "a", "prompt": "x", "check": "a\\u0000"}', "characters that no command"),
        ('{"id": "a", "prompt": "x", "ref": "main"}', "a ref, but no repo"),
        ('{"id": "a", "prompt": "x", "budget": {"max_turns": 0}}', "max_turns must be from 1 to 1,000,000, not 0"),
        ('{"id": "a", "prompt": "x", "budget": {"timeout_s": -1}}', "timeout_s must be from"),
        ('{"id": "a", "prompt": "x", "image": "--privileged"}', "isn't the name of an image"),
    ],
)
def test_what_cant_be_run_is_told_with_its_place(tmp_path: Path, line: str, told: str) -> None:
    lines = tmp_path / "tasks.jsonl"
    lines.write_text('{"id": "first", "prompt": "x"}\n' + line + "\n")
    with pytest.raises(ToolError) as caught:
        read(lines)
    assert told in caught.value.message


def test_what_a_table_left_empty_says_nothing(tmp_path: Path) -> None:
    lines, table = tmp_path / "tasks.jsonl", tmp_path / "TASKS.CSV"
    lines.write_text('{"id": "a", "prompt": "x", "repo": null, "budget": null, "files": null, "check": "true"}\n')
    table.write_text("\ufeffid,prompt,repo,budget,check,model\r\na,x, ,,true,\t\r\n", encoding="utf-8")
    assert read(lines) == read(table) == [Task("a", "x", check="true")]


def test_a_line_too_long_to_be_read_is_told_as_that(tmp_path: Path) -> None:
    lines = tmp_path / "tasks.jsonl"
    lines.write_bytes(b'{"id": "a", "prompt": "' + b"x" * (64 << 20) + b'"}\n')
    with pytest.raises(ToolError, match="line 1: the line is longer than 67,108,864 bytes"):
        read(lines)


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv"])
def test_a_file_without_a_task_makes_no_fleet(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("id,prompt\n" if name.endswith("csv") else "\n\n")
    with pytest.raises(ToolError, match="no tasks"):
        Fleet.create(str(tmp_path / "out"), Plan(), checked(read_tasks(str(tmp_path / name))))
    assert not (tmp_path / "out" / "fleet.sqlite").exists()


def test_a_folder_that_cant_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("nowhere")
    for name, why in (("file", "isn't a folder"), ("link", "isn't a folder"), ("file/out", "can't be written")):
        with pytest.raises(ToolError, match=why):
            Fleet.create(str(tmp_path / name), Plan(), [Task("a", "x")])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "a.jsonl", "b.jsonl", "--out", "out"], "`dogu fleet run` doesn't take another name: b.jsonl"),
        (["compare", "a", "b", "c", "d"], "`dogu fleet compare` doesn't take another name: c, d"),
        (["run", "a.jsonl", "--out", "out", "--repo", "r", "--folder", "f"], "give one"),
    ],
)
def test_what_would_be_left_out_is_refused(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", *words]) == 42
    assert told in capsys.readouterr().err


def test_a_report_that_cant_be_written_is_told_as_an_export_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Fleet.create(str(tmp_path / "out"), Plan(), [Task("a", "x")]).close()
    assert main(["fleet", "report", str(tmp_path / "out"), "--output", str(tmp_path / "nowhere" / "x")]) == 54
    assert "can't be written: No such file or directory" in capsys.readouterr().err


def test_a_long_name_leaves_the_reason_after_it_to_be_seen() -> None:
    row = Row("a", False, Reason.WORLD, f"/{'x' * 300}: File name too long")
    assert row_line(row).endswith("x: File name too long")
    assert len(row_line(row)) < 200


@pytest.mark.parametrize("settings", [None, "{"])
def test_settings_that_cant_be_used_begin_no_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "t.jsonl").write_text('{"id": "a", "prompt": "x"}')
    if settings is not None:
        (tmp_path / "s.json").write_text(settings)
    words = ["fleet", "run", str(tmp_path / "t.jsonl"), "--out", str(tmp_path / "out")]
    assert main([*words, "--settings", str(tmp_path / "s.json")]) == 52
    assert "s.json" in capsys.readouterr().err
    with Fleet.open(str(tmp_path / "out")) as fleet:
        assert fleet.counts().queued == 1


def test_a_table_of_what_isnt_done_yet_has_its_columns(tmp_path: Path) -> None:
    Fleet.create(str(tmp_path / "out"), Plan(), [Task("a", "x")]).close()
    parts: list[bytes] = []
    with Fleet.open(str(tmp_path / "out")) as fleet:
        export(fleet, "csv", parts.append)
    assert b"".join(parts).startswith(b"id,group,model,passed,")


def test_a_patch_too_long_to_be_read_is_shown_in_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Fleet.create(str(tmp_path / "out"), Plan(), [Task("a", "x")]).close()
    with Fleet.open(str(tmp_path / "out")) as fleet:
        fleet.next_task()
        fleet.finish(Row("a", True, Reason.DONE, patch=Patch("a.diff", 1, 1_000_000, 0)))
    (tmp_path / "out" / "a.diff").write_text("+x\n" * 1_000_000 + "+end\n")
    assert main(["fleet", "show", str(tmp_path / "out"), "a"]) == 0
    shown = capsys.readouterr().out
    assert len(shown) < 500_000
    assert "characters left out" in shown
    assert shown.endswith("+end\n\n")


@pytest.mark.parametrize("form", ["jsonl", "traj"])
def test_an_export_that_cant_be_written_is_told(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    Fleet.create(str(tmp_path / "out"), Plan(), [Task("a", "x")]).close()
    with Fleet.open(str(tmp_path / "out")) as fleet:
        fleet.next_task()
        fleet.finish(Row("a", True, Reason.DONE))
    (tmp_path / "file").write_text("x")
    words = ["fleet", "export", str(tmp_path / "out"), "--format", form, "--output", str(tmp_path / "file" / "x")]
    assert main(words) == 54
    assert "can't be written: Not a directory" in capsys.readouterr().err


def test_a_file_that_isnt_there_and_an_empty_folder_are_told(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="can't be read"):
        read(tmp_path / "nothing.jsonl")
    with pytest.raises(ToolError, match="has no prompts"):
        list(read_tasks(str(tmp_path)))


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('id,prompt\na,"unclosed\nb,y\n', "line 2: unexpected end"),
        ("id,prompt\na,x\nb,y,z\n", "line 3: more cells"),
        ("id,prompt,id\na,x,b\n", "line 1: a column appears twice"),
        ("id,prompt,chek\na,x,y\n", "line 2: Object contains unknown field `chek`"),
    ],
)
def test_a_table_that_isnt_one_is_told_with_its_line(tmp_path: Path, table: str, told: str) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(table)
    with pytest.raises(ToolError) as caught:
        read(path)
    assert told in caught.value.message


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_is_separated_as_spreadsheets_do(tmp_path: Path, separator: str) -> None:
    path = tmp_path / ("tasks.tsv" if separator == "\t" else "tasks.csv")
    path.write_text(separator.join(("id", "prompt")) + "\n" + separator.join(("a", '"x; y, z"')) + "\n")
    assert read(path) == [Task("a", "x; y, z")]


def test_a_users_files_may_be_of_any_encoding(tmp_path: Path) -> None:
    lines = tmp_path / "tasks.jsonl"
    lines.write_bytes(b'\xef\xbb\xbf{"id": "a", "prompt": "x"}\n')
    assert read(lines) == [Task("a", "x")]
    table = tmp_path / "tasks.csv"
    table.write_bytes("id,prompt\na,日本語で書いてください。テストを直す\n".encode("shift_jis"))
    assert read(table)[0].prompt == "日本語で書いてください。テストを直す"
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "a.md").write_bytes("Résumé of the café\n".encode("latin-1"))
    assert read(folder)[0].prompt == "Résumé of the café\n"


def test_what_is_no_plain_file_is_refused_by_name_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    for path in (tmp_path, tmp_path / "a.md", Path("/dev/zero")):
        with pytest.raises(ToolError, match=r"(a\.md|/dev/zero) can't be read: is not a regular file"):
            list(read_tasks(str(path)))


@pytest.mark.parametrize(
    "plan",
    [
        Plan(workers=-3),
        Plan(jobs=0),
        Plan(max_failures=0),
        Plan(max_cost=math.nan),
        Plan(requests_per_minute=math.inf),
        Plan(tokens_per_minute=-1.0),
        Plan(check_timeout_s=0.0),
        Plan(bounds=Bounds(timeout_s=math.nan)),
    ],
)
def test_numbers_that_mean_nothing_are_refused_before_anything_begins(tmp_path: Path, plan: Plan) -> None:
    with pytest.raises(ToolError, match=r" must be from .* to .*, not "):
        anyio.run(run, [Task("a", "x")], str(tmp_path / "out"), plan)
    assert not (tmp_path / "out").exists()


def test_an_engine_that_does_nothing_is_an_error_and_no_loop(tmp_path: Path) -> None:
    class Idle(Engine):
        async def run(self, tasks: Tasks, limits: SharedLimits) -> None:
            return

    fleet = Fleet.create(str(tmp_path / "out"), Plan(), [Task("a", "x")])
    with fleet, pytest.raises(ToolError, match="nothing could be run"):
        anyio.run(Driver(fleet).run, Idle())
