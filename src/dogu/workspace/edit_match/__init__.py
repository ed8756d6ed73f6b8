"""Find what an edit means and work out what to write, or refuse: pure, on text, knowing no tool, model or disk."""

from dogu.workspace.edit_match.match import match_edit as match_edit
