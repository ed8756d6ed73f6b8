"""A failed call in words for the user.

What a tool says of its failure is written for the model, in English. Where that is what the model should do better, and
in every other language, the user is told what kind of failure it was (there with its English key, which can be searched
for), and then the tool's own words.
"""

from __future__ import annotations

from dogu.contract import ErrorKind
from dogu.contract.result import ToolFailure
from dogu.language import Message, say, sentence, spoken

_SENTENCES = {
    ErrorKind.INVALID_ARGUMENTS: sentence("The call's arguments weren't right."),
    ErrorKind.UNKNOWN_TOOL: sentence("There is no such tool."),
    ErrorKind.NOT_FOUND: sentence("It wasn't found."),
    ErrorKind.ALREADY_EXISTS: sentence("It exists already."),
    ErrorKind.WRONG_FILE_TYPE: sentence("It isn't the kind of file this tool works with."),
    ErrorKind.OUTSIDE_WORKSPACE: sentence("It is outside the workspace."),
    ErrorKind.IGNORED: sentence("It is ignored by .geminiignore."),
    ErrorKind.PROTECTED: sentence("It is a protected place."),
    ErrorKind.PERMISSION_DENIED: sentence("The system denies access to it."),
    ErrorKind.TOO_LARGE: sentence("It is too large."),
    ErrorKind.IO_ERROR: sentence("Reading or writing failed."),
    ErrorKind.NO_MATCH: sentence("The text to replace wasn't found. Nothing was written."),
    ErrorKind.AMBIGUOUS_MATCH: sentence("The text to replace isn't in the expected number of places."),
    ErrorKind.NO_CHANGE: sentence("There was nothing to change."),
    ErrorKind.OMISSION_PLACEHOLDER: sentence("A placeholder stood where code should be. Nothing was written."),
    ErrorKind.UNENCODABLE: sentence("The file's encoding can't hold the new text. Nothing was written."),
    ErrorKind.STALE: sentence("It has changed in the meantime. Nothing was written."),
    ErrorKind.BAD_PATTERN: sentence("The pattern can't be understood."),
    ErrorKind.START_FAILED: sentence("It couldn't be started."),
    ErrorKind.TIMED_OUT: sentence("It took too long."),
    ErrorKind.REFUSED: sentence("A rule refuses it. Nothing was run."),
    ErrorKind.DECLINED: sentence("Declined. Nothing was done."),
    ErrorKind.NOBODY_TO_ASK: sentence("It needs the user's approval, and nobody is here to ask. Nothing was run."),
    ErrorKind.CANCELLED: sentence("It was interrupted."),
    ErrorKind.REMOTE_FAILED: sentence("Another program or server failed."),
    ErrorKind.TOOL_FAILED: sentence("The tool failed with an error of its own."),
    ErrorKind.DEFECT: sentence("It failed because of a defect of dogu."),
}


_TELL_LITTLE = frozenset(
    (ErrorKind.IO_ERROR, ErrorKind.START_FAILED, ErrorKind.REMOTE_FAILED, ErrorKind.TOOL_FAILED, ErrorKind.DEFECT)
)
_FOR_THE_MODEL = frozenset(
    (
        ErrorKind.INVALID_ARGUMENTS,
        ErrorKind.UNKNOWN_TOOL,
        ErrorKind.NOT_FOUND,
        ErrorKind.NO_MATCH,
        ErrorKind.AMBIGUOUS_MATCH,
        ErrorKind.NO_CHANGE,
        ErrorKind.OMISSION_PLACEHOLDER,
        ErrorKind.STALE,
    )
)


def failure_words(error: ToolFailure) -> str:
    """Return what to show of a failure where nothing can be opened: the tool's own English words stand below."""
    what, own = failure_parts(error)
    return own or what if spoken() == "en" else "\n".join(filter(None, (what, own)))


def failure_parts(error: ToolFailure) -> tuple[str, str]:
    """Return what a failure was, in the user's language, and apart from it the tool's English words for the model.

    The second is empty where the first says the same, or holds it because the kind tells little by itself.
    """
    if error.kind is ErrorKind.DECLINED:  # by the one who reads it
        return say(_SENTENCES[error.kind]), ""
    message = error.message
    if isinstance(message, Message) and message.values and message.template.startswith("Refused: {reason}."):
        # What it may do instead is for the model.
        return say("Refused: {reason}. Nothing was run.", reason=message.values["reason"]), ""
    said = say(message)
    if spoken() == "en":
        is_told = error.kind not in _FOR_THE_MODEL or isinstance(message, Message)
        return (said, "") if is_told else (_SENTENCES[error.kind], said)
    if isinstance(error.message, Message):
        return say("{what} ({kind})", what=said, kind=error.kind.value), ""
    kind = say("{what} ({kind})", what=say(_SENTENCES[error.kind]), kind=error.kind.value)
    return (f"{kind}\n{said}", "") if error.kind in _TELL_LITTLE else (kind, said)
