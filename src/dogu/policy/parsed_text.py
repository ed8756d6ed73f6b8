"""What a shell text says, read once, and what was thought of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dogu.policy.rule import Rule
from dogu.policy.verdict import Judgement, Place
from dogu.workspace.shell_syntax import Dialect, NotBashError, Script, UnprovenError, parse


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement, and by what it was made: `place` where something was asked of it, None where it didn't matter."""

    core: tuple[Rule, ...] | None
    exclude: tuple[Rule, ...]
    may_edit: bool
    place: Place | None
    looked: bool
    judgement: Judgement


class ParsedText:
    """A shell text that is parsed once, however often it is judged, and judged once by the same rules in one place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.judged: list[Judged] = []

    def judged_by(
        self, core: tuple[Rule, ...] | None, exclude: tuple[Rule, ...], *, may_edit: bool, place: Place | None
    ) -> Judgement | None:
        """The judgement by these rules; None when there is none yet that holds in this place."""
        for each in self.judged:
            is_same = each.core == core and each.exclude == exclude and each.may_edit == may_edit
            if is_same and (not each.looked or each.place is place):
                return each.judgement
        return None

    @cached_property
    def script(self) -> Script | NotBashError | UnprovenError:
        """What bash would read, or why that can't be said."""
        try:
            return parse(self.text, Dialect.BASH)
        except (NotBashError, UnprovenError) as error:
            return error
