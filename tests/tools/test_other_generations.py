"""What old sessions, prompts and other agents' models send is taken, though it is declared nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from dogu.contract.errors import ToolError
from dogu.contract.tool import Tool
from dogu.tools.glob import Glob
from dogu.tools.grep_search import GrepSearch
from dogu.tools.list_directory import ListDirectory
from dogu.tools.read_many_files import ReadManyFiles
from dogu.tools.replace import Replace
from dogu.tools.run_shell_command import RunShellCommand

EDIT = {"file_path": "/a", "old_string": "x", "new_string": "y"}


def taken(tool: type[Tool[Any]], raw: dict[str, Any]) -> Any:
    return tool.__new__(tool).validate_tool_params(raw)


def test_an_instruction_beside_an_edit_changes_nothing() -> None:
    assert taken(Replace, {**EDIT, "instruction": "change it"}) == taken(Replace, EDIT)


def test_filters_of_other_generations_are_taken() -> None:
    options = {"respect_git_ignore": False, "respect_gemini_ignore": False}
    assert taken(ListDirectory, {"path": "/a", "file_filtering_options": options}).respect_git_ignore is False
    packed = {"file_filtering_options": options}
    assert taken(ReadManyFiles, {"paths": ["*"], **packed}).respect_git_ignore is False
    assert taken(Glob, {"pattern": "*", **packed}) == taken(Glob, {"pattern": "*", **options})
    assert taken(Glob, {"pattern": "*", **options}).respect_git_ignore is False
    assert taken(GrepSearch, {"pattern": "x", "total_max_matches": 7}).max_matches == 7


@pytest.mark.parametrize(
    ("sent", "command"),
    [
        ({"is_background": True}, "(npm start\n) &"),
        ({"is_background": False}, "npm start"),
        ({"is_background": True, "command": "npm start &"}, "npm start &"),
    ],
)
def test_a_background_command_runs_in_the_background(sent: dict[str, Any], command: str) -> None:
    assert taken(RunShellCommand, {"command": "npm start", **sent}).command == command


def test_limits_of_other_generations_for_a_search_are_not_published() -> None:
    assert not {"max_matches_per_file", "exclude_pattern"} & set(
        GrepSearch.__new__(GrepSearch).parameter_schema["properties"]
    )


def test_a_suggestion_never_names_the_opposite() -> None:
    with pytest.raises(ToolError) as caught:
        taken(GrepSearch, {"pattern": "x", "exclude": "y"})
    assert "Did you mean" not in caught.value.message
