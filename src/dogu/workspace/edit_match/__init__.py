"""Find what an edit means and work out what to write, or refuse: pure, on text, knowing no tool, model or disk."""

from dogu.workspace.edit_match.match import Edit as Edit
from dogu.workspace.edit_match.match import Refusal as Refusal
from dogu.workspace.edit_match.match import match_edit as match_edit
from dogu.workspace.edit_match.result import Why as Why
