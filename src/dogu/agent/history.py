"""What was said, as the model will be sent it: a list of contents, each encoded once.

It keeps what the API demands: roles alternate, every call is answered right after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from dogu.contract.content import Content
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.models.contents import (
    RawContent,
    function_response_content,
    join_user_contents,
    model_content,
    user_content,
)
from dogu.models.events import Finished
from dogu.runtime.events import ToolCall

_INTERRUPTED = "[interrupted by the user]"


class ContentAdded(msgspec.Struct, frozen=True):
    """A content was added at the end."""

    content: RawContent


class LastReplaced(msgspec.Struct, frozen=True):
    """The last content became another one."""

    content: RawContent


class CutBack(msgspec.Struct, frozen=True):
    """Only the first `length` contents are left, the last of which is `last`."""

    length: int
    last: RawContent


class AllReplaced(msgspec.Struct, frozen=True):
    """All contents became others."""

    contents: tuple[RawContent, ...]


HistoryChange: TypeAlias = ContentAdded | LastReplaced | CutBack | AllReplaced


class History:
    """A conversation. `contents` may be read and sent; it is changed only by the methods here."""

    def __init__(self) -> None:
        self.contents: list[RawContent] = []
        self._model_spoke_last = True
        self._unanswered: tuple[ToolCall, ...] = ()
        self._observers: list[Callable[[HistoryChange], None]] = []

    def observe(self, observer: Callable[[HistoryChange], None]) -> None:
        """Tell `observer` of each change just before it is made: replaying them makes the same contents."""
        self._observers.append(observer)

    def replace(self, contents: Iterable[RawContent]) -> None:
        """Put other contents in the place of all, as compaction does: roles alternate and calls are answered in them.

        Calls that wait for their answer stay so when the last content does.
        """
        new = tuple(contents)
        is_same_end = bool(self.contents and new) and self.contents[-1] == new[-1]
        self._change(AllReplaced(new))
        self._model_spoke_last = not new or _role(new[-1]) == "model"
        if not is_same_end:
            self._unanswered = tuple(_calls(new[-1])) if new and self._model_spoke_last else ()

    def add_prompt(self, content: Content) -> None:
        """Add what the user says; after an answer to calls that the model never commented on, it joins that."""
        self._add_user(user_content(content))

    def add_model(self, finished: Finished) -> tuple[ToolCall, ...]:
        """Add what the model said and return its calls, which `answer` must answer next."""
        self._change(ContentAdded(finished.content))
        self._model_spoke_last = True
        self._unanswered = tuple(ToolCall(call.call_id, call.name, call.args, call.problem) for call in finished.calls)
        return self._unanswered

    def answer(self, results: Mapping[str, ToolResult], *, media_inside: bool = False) -> None:
        """Pack the results, by call id, as the answer to the model's calls; one without a result was interrupted."""
        if not self._unanswered:
            return
        without = ToolResult.failed(ToolError(ErrorKind.CANCELLED, "Interrupted by the user before it ended."))
        answers = [(call.call_id, call.name, results.get(call.call_id, without)) for call in self._unanswered]
        self._unanswered = ()
        self._add_user(function_response_content(answers, media_inside=media_inside))

    def interrupt(self, partial_text: str, results: Mapping[str, ToolResult]) -> None:
        """Leave the history usable after a cancelled turn: calls answered, the half answer kept and marked as one."""
        self.answer(results)
        if not self._model_spoke_last and partial_text:
            self._change(ContentAdded(model_content(f"{partial_text}\n{_INTERRUPTED}")))
            self._model_spoke_last = True

    def mark(self) -> tuple[int, RawContent]:
        """Return where the history stands, for `rewind`."""
        return len(self.contents), self.contents[-1] if self.contents else b""

    def rewind(self, mark: tuple[int, RawContent]) -> None:
        """Go back to a mark: what was added since is forgotten."""
        length, last = mark
        self._change(CutBack(length, last))
        self._unanswered = ()
        self._model_spoke_last = not length or _role(last) == "model"

    def go_back(self, contents: Sequence[RawContent]) -> None:
        """Go back to contents that these were before: what is the same at the beginning isn't changed."""
        length = len(contents)
        if length <= len(self.contents) and self.contents[: length - 1] == [*contents[:-1]] and length:
            self.rewind((length, contents[-1]))
        else:
            self.replace(contents)

    def _add_user(self, content: RawContent) -> None:
        if self._model_spoke_last:
            self._change(ContentAdded(content))
        else:
            self._change(LastReplaced(join_user_contents(self.contents[-1], content)))
        self._model_spoke_last = False

    def _change(self, change: HistoryChange) -> None:
        for observer in self._observers:
            observer(change)
        apply_change(self.contents, change)

    @classmethod
    def reopened(cls, contents: Iterable[RawContent]) -> History:
        """Make a history of contents that are known to be one, such as a record's: only its end is looked at."""
        history = cls()
        history.replace(contents)
        return history

    @property
    def unanswered(self) -> tuple[ToolCall, ...]:
        """The model's calls that wait for `answer` or `interrupt`."""
        return self._unanswered

    @classmethod
    def restored(cls, contents: Iterable[RawContent]) -> History:
        """Make a history of recorded contents, mended where a crash left it open.

        A call without an answer is answered as interrupted, an answer without a call is dropped, contents of the same
        role are joined.
        """
        history = cls()
        for content in contents:
            if _role(content) == "model":
                history._restore_model(content)
            else:
                history._restore_user(content)
        history.answer({})
        return history

    def _restore_model(self, content: RawContent) -> None:
        self.answer({})
        if self._model_spoke_last:
            self._add_user(user_content("[the conversation was interrupted here]"))
        self._change(ContentAdded(content))
        self._model_spoke_last = True
        self._unanswered = tuple(_calls(content))

    def _restore_user(self, content: RawContent) -> None:
        found = [part["functionResponse"] for part in _parts(content) if "functionResponse" in part]
        answered = [(response.get("id", ""), response.get("name", "")) for response in found] or None
        if answered is None:
            self.answer({})
        elif sorted(answered) != sorted((call.call_id, call.name) for call in self._unanswered):
            self.answer({})
            return
        self._unanswered = ()
        self._add_user(content)


def apply_change(contents: list[RawContent], change: HistoryChange) -> None:
    """Make the change in `contents`."""
    match change:
        case ContentAdded(content=content):
            contents.append(content)
        case LastReplaced(content=content):
            contents[-1:] = [content]
        case CutBack(length=length, last=last):
            contents[max(length - 1, 0) :] = [last] if length else []
        case AllReplaced(contents=new):
            contents[:] = new


def _role(content: RawContent) -> str:
    return msgspec.json.decode(content, type=_Role).role


class _Role(msgspec.Struct):
    role: str


def _parts(content: RawContent) -> Sequence[dict[str, Any]]:
    return msgspec.json.decode(content, type=dict[str, Any]).get("parts", ())


def _calls(content: RawContent) -> Iterable[ToolCall]:
    for part in _parts(content):
        if isinstance(call := part.get("functionCall"), dict):
            yield ToolCall(call.get("id", ""), call.get("name", ""), call.get("args", {}))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  (foreign JSON)
