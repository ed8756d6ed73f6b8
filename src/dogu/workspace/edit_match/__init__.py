"""Find what an edit means and work out what to write, or refuse: pure, on text, knowing no tool, model or disk."""

from dogu.workspace.edit_match.indentation import indent_of as indent_of
from dogu.workspace.edit_match.match import Edit as Edit
from dogu.workspace.edit_match.match import Edits as Edits
from dogu.workspace.edit_match.match import Refusal as Refusal
from dogu.workspace.edit_match.match import Wanted as Wanted
from dogu.workspace.edit_match.match import match_edit as match_edit
from dogu.workspace.edit_match.match import match_edits as match_edits
from dogu.workspace.edit_match.messages import quotes_note as quotes_note
from dogu.workspace.edit_match.messages import receipt as receipt
from dogu.workspace.edit_match.messages import refusal_error as refusal_error
from dogu.workspace.edit_match.messages import refuse_omission as refuse_omission
from dogu.workspace.edit_match.nearest import written_lines as written_lines
from dogu.workspace.edit_match.parses import still_parses as still_parses
from dogu.workspace.edit_match.repair import Repair as Repair
from dogu.workspace.edit_match.repair import RepairRequest as RepairRequest
from dogu.workspace.edit_match.repair import refuse_repair as refuse_repair
from dogu.workspace.edit_match.repair import region_around as region_around
from dogu.workspace.edit_match.result import Replacement as Replacement
from dogu.workspace.edit_match.result import Why as Why
from dogu.workspace.edit_match.result import lie_apart as lie_apart
from dogu.workspace.edit_match.result import spliced as spliced
