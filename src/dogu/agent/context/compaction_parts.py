"""Contents as compaction sees them: where a conversation may be cut, results made shorter, the whole as a text.

Pure functions over wire JSON. What is kept is kept byte for byte, thought signatures among it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from dogu.models.contents import RawContent

_HEAD_CHARS, _TAIL_CHARS = 400, 200
_LONG_CHARS = 1_000
_MOST_TOLD_CHARS = 4_000
_MOST_FILES = 60
_PATH_PARAMETERS = ("path", "file_path", "absolute_path", "directory", "dir_path")
_ROOM = "left out by dogu to make room]"
SUMMARY = "[The older part of this conversation, summarised to make room:]\n\n"
REQUEST = "[The person's request that is being worked on, word for word:]\n"
NEWEST = "[What follows is the newest part, as it was.]"
OURS = (SUMMARY, NEWEST, "<context file=")


def cut_for(contents: Sequence[RawContent], sizes: Sequence[int], keep_tokens: int) -> int:
    """Return where the newest contents begin that are kept: about `keep_tokens`, and no answer without its call.

    0 when nothing can be cut off: the conversation is short, or one exchange alone.
    """
    kept = 0
    start = len(contents)
    while start > 0 and kept + sizes[start - 1] <= keep_tokens:
        start -= 1
        kept += sizes[start]
    places = [at for at in range(1, len(contents)) if may_begin(contents[at])]
    return next((at for at in places if at >= start), places[-1] if places else 0)


def may_begin(content: RawContent) -> bool:
    """Whether a conversation may go on from this content: the model's own, or a prompt that answers no call."""
    return is_model(content) or not any("functionResponse" in part for part in parts_of(content))


def is_model(content: RawContent) -> bool:
    """Whether the model said it."""
    return msgspec.json.decode(content, type=_Role).role == "model"


class _Role(msgspec.Struct):
    role: str


def parts_of(content: RawContent) -> list[dict[str, Any]]:
    """Return the parts, decoded."""
    return cast("list[dict[str, Any]]", msgspec.json.decode(content).get("parts") or [])


def shortened(content: RawContent, *, longest_chars: int = _LONG_CHARS) -> RawContent:
    """Return the content with the middle of long results of calls, and media, left out, which is told in their place.

    The same object comes back when there is nothing to shorten.
    """
    if len(content) <= longest_chars or is_model(content):
        return content
    parts = parts_of(content)
    new = [_shortened_part(part, longest_chars) for part in parts]
    return content if new == parts else msgspec.json.encode({"role": "user", "parts": new})


def _shortened_part(part: dict[str, Any], longest_chars: int) -> dict[str, Any]:
    if "inlineData" in part:
        return {"text": f"[{part['inlineData'].get('mimeType', 'a medium')}: {_ROOM}"}
    response = part.get("functionResponse")
    if response is None:
        return part
    said = cast("dict[str, Any]", response.get("response") or {})
    shorter = {key: _shortened_text(value, longest_chars) for key, value in said.items()}
    new = {**response, "response": shorter}
    if media := new.pop("parts", None):
        shorter["media"] = f"[{len(media)} {_ROOM}"
    return {**part, "functionResponse": new}


def _shortened_text(value: Any, longest_chars: int) -> Any:
    if not isinstance(value, str) or len(value) <= longest_chars:
        return value
    left_out = len(value) - _HEAD_CHARS - _TAIL_CHARS
    note = f"[{left_out} characters were left out by dogu to make room. Call the tool again if you need them.]"
    return f"{value[:_HEAD_CHARS]}\n{note}\n{value[-_TAIL_CHARS:]}"


def transcript(contents: Iterable[RawContent], most_chars: int) -> str:
    """Return the contents as a text for a model to summarise; when it is too long, its middle is left out."""
    text = "\n\n".join(line for content in contents for line in _told(content))
    if len(text) <= most_chars:
        return text
    head = most_chars // 4
    left_out = len(text) - most_chars
    return f"{text[:head]}\n[... {left_out} characters left out ...]\n{text[-(most_chars - head) :]}"


def _told(content: RawContent) -> Iterable[str]:
    speaker = "MODEL" if is_model(content) else "PERSON"
    for part in parts_of(content):
        if call := part.get("functionCall"):
            yield f"CALL {call.get('name')} {msgspec.json.encode(call.get('args') or {}).decode()[:_MOST_TOLD_CHARS]}"
        elif response := part.get("functionResponse"):
            said = cast("dict[str, Any]", response.get("response") or {})
            text = "\n".join(f"{key}: {_shortened_text(value, _MOST_TOLD_CHARS)}" for key, value in said.items())
            yield f"ANSWER OF {response.get('name')}: {text}"
        elif part.get("text") and not part.get("thought"):
            yield f"{speaker}: {part['text']}"


def last_prompt(contents: Sequence[RawContent]) -> str:
    """Return what the user said last in these contents, cut where it is long; empty when nothing."""
    for content in reversed(contents):
        if is_model(content):
            continue
        parts = parts_of(content)
        answers = [at for at, part in enumerate(parts) if "functionResponse" in part]
        texts = [str(part["text"]) for part in parts[answers[-1] + 1 if answers else 0 :] if part.get("text")]
        said = [text.removeprefix(REQUEST) for text in texts if not text.startswith(OURS) and not text.endswith(_ROOM)]
        if said:
            return said[0][:_MOST_TOLD_CHARS]
    return ""


def files_named(contents: Iterable[RawContent]) -> list[str]:
    """Return the paths that calls named, each once, the latest last; the oldest of very many are left out."""
    found: dict[str, None] = {}
    for content in contents:
        if not is_model(content):
            continue
        for part in parts_of(content):
            call = cast("dict[str, Any]", part.get("functionCall") or {})
            args = cast("dict[str, Any]", call.get("args") or {})
            for path in (args.get(name) for name in _PATH_PARAMETERS):
                if isinstance(path, str) and path:
                    found.pop(path, None)
                    found[path] = None
    return list(found)[-_MOST_FILES:]
