"""What wires that aren't Gemini's have in common: a content read back, translated once, and tools by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import Any, TypeAlias, cast

import msgspec

from dogu.contract.declaration import FunctionDeclaration
from dogu.language import joined, sentence, told
from dogu.models.call_arguments import NO_NAME, UNNAMED, call_id_of, read_arguments, sound_name
from dogu.models.contents import Kept, RawContent
from dogu.models.events import FunctionCallEvent
from dogu.models.schemas import Dialect, SchemaProblem, parameters_for

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_NAMESPACE = re.compile(r"^(?:functions|function|default_api|tools?|api)[.:/]")
_CALL_NUMBER = re.compile(r":\d+$")
_CUT = "The call was cut at the limit of output tokens: make it shorter, or in several calls."


class HistoryCall(msgspec.Struct):
    """A call in the history; the arguments are the bytes that the model wrote."""

    name: str
    id: str = ""
    args: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def call_id(self) -> str:
        """The id by which it is answered."""
        return self.id or self.name

    @property
    def arguments(self) -> str:
        """The arguments as a text of JSON."""
        return bytes(self.args).decode() or "{}"


class HistoryAnswer(msgspec.Struct):
    """The answer to a call."""

    name: str
    id: str = ""
    response: dict[str, Any] = {}
    parts: list[HistoryPart] = []

    @property
    def call_id(self) -> str:
        """The id of its call."""
        return self.id or self.name

    @property
    def is_error(self) -> bool:
        """Whether it says what went wrong."""
        return "error" in self.response

    @property
    def text(self) -> str:
        """What it says."""
        said = self.response.get("error", self.response.get("output", ""))
        return said if isinstance(said, str) else msgspec.json.encode(said).decode()


class HistoryBlob(msgspec.Struct, rename="camel"):
    """A medium."""

    mime_type: str = ""
    data: str = ""

    @property
    def url(self) -> str:
        """The medium as a data URL."""
        return f"data:{self.mime_type};base64,{self.data}"

    @property
    def note(self) -> str:
        """What stands for it where a wire can't carry it."""
        size_bytes = len(self.data.rstrip("=")) * 3 // 4
        return f"[{self.mime_type}, {size_bytes} bytes: this wire can't carry it]"


class HistoryPart(msgspec.Struct, rename="camel"):
    """A part of a content, as far as other wires have a use for it."""

    text: str | None = None
    thought: bool = False
    function_call: HistoryCall | None = None
    function_response: HistoryAnswer | None = None
    inline_data: HistoryBlob | None = None
    wire: dict[str, Any] = {}

    def given(self, origin: str) -> dict[str, Any] | None:
        """Return what a wire was given to give back, None when it was another one's."""
        return self.wire if self.wire.get("by") == origin else None


_Renamed: TypeAlias = tuple[tuple[str, str], ...]


class HistoryContent(msgspec.Struct):
    """A content."""

    role: str
    parts: list[HistoryPart] = []


class IdRule(msgspec.Struct, frozen=True):
    """What a wire takes as a call's id: characters that aren't `unsound`, at most (`is_exact`: just) `longest`."""

    longest: int = 64
    unsound: str = r"[^A-Za-z0-9_-]"
    is_exact: bool = False

    def sound(self, call_id: str, taken: Collection[str], made_before: int = 0) -> str:
        """Return the id as it is where the wire takes it and no call before has it, else one made of it.

        `made_before` of it are taken: a server that gives each turn's calls the same ids costs a long session nothing.
        """
        is_sound = call_id and len(call_id) <= self.longest and not re.search(self.unsound, call_id)
        if is_sound and not self.is_exact and call_id not in taken:
            return call_id
        for number in count(made_before):
            digest = sha256(f"{call_id} {number}".encode()).hexdigest()
            start = re.sub(self.unsound, "_", call_id)[: max(0, self.longest - 13)]
            made = digest[: self.longest] if self.is_exact else f"{start}-{digest[:12]}"
            if made not in taken:
                return made
        raise AssertionError  # there are more numbers than calls


class _Translated(msgspec.Struct, frozen=True):
    """Of a content that was translated: `renamed` holds for what answers it, too, `sent` are the ids of its calls."""

    renamed: _Renamed
    sent: tuple[tuple[str, str], ...]


class Translation(Kept):
    """Contents in a wire's own form, each translated once; what follows a content that has changed is translated anew.

    Calls and their answers have ids as `ids` wants them, each once in a conversation; an id that the `origin` said it
    needs back stays.
    """

    def __init__(
        self, translate: Callable[[HistoryContent], Sequence[Mapping[str, Any]]], ids: IdRule, origin: str
    ) -> None:
        super().__init__(self._messages)
        self._translate = translate
        self._ids = ids
        self._origin = origin
        self._done: list[_Translated] = []
        self._taken: set[str] = set()
        self._made: Counter[str] = Counter()

    def forget(self, ids: IdRule | None = None) -> None:
        """Translate anew from now on: the way it is done has changed."""
        self._ids = ids or self._ids
        self.go_back()

    def go_back(self, kept: int = 0) -> None:
        """Forget what came after the first contents, and the ids in it."""
        super().go_back(kept)
        del self._done[kept:]
        sent = [pair for each in self._done for pair in each.sent]
        self._taken = {to for _, to in sent}
        self._made = Counter(given for given, to in sent if given != to)

    def _messages(self, content: RawContent) -> bytes:
        """Return a content's messages, encoded and joined by commas."""
        calls = self._calls_in(content)
        renamed, sent = (self._done[-1].renamed if self._done else ()), ()
        if calls:  # what answers them has their names, too
            sent = self._sent(calls)
            renamed = tuple(pair for pair in sent if pair[0] != pair[1])
        messages = self._encoded(content, dict(renamed))
        self._done.append(_Translated(renamed, sent))
        return messages

    def _calls_in(self, content: RawContent) -> tuple[tuple[str, bool], ...]:
        """Return the ids of the calls in a content, and whether each must stay as it is."""
        if b'"functionCall"' not in content:
            return ()
        parts = msgspec.json.decode(content, type=HistoryContent).parts
        return tuple(
            (part.function_call.call_id, bool((part.given(self._origin) or {}).get("keeps_id")))
            for part in parts
            if part.function_call is not None
        )

    def _sent(self, calls: Sequence[tuple[str, bool]]) -> tuple[tuple[str, str], ...]:
        """Return the calls' ids with those that are sent, and note them."""
        pairs: list[tuple[str, str]] = []
        for call_id, stays in calls:
            is_kept = stays and call_id not in self._taken
            sent = call_id if is_kept else self._ids.sound(call_id, self._taken, self._made[call_id])
            self._taken.add(sent)
            self._made[call_id] += sent != call_id
            pairs.append((call_id, sent))
        return tuple(pairs)

    def _encoded(self, content: RawContent, renamed: Mapping[str, str]) -> bytes:
        decoded = msgspec.json.decode(content, type=HistoryContent)
        for part in decoded.parts if renamed else ():
            for item in (part.function_call, part.function_response):
                if item is not None:
                    item.id = renamed.get(item.call_id, item.id)
        return b",".join(msgspec.json.encode(message) for message in self._translate(decoded))


ToolForm: TypeAlias = Callable[[str, str, dict[str, Any]], dict[str, Any]]


def _bare(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "parameters": parameters}


class Tools:
    """The declared tools as a provider takes them, worked out anew only when they change."""

    def __init__(self, dialect: Dialect, form: ToolForm = _bare, *, longest_name: int = 64) -> None:
        self._dialect = dialect
        self._form = form
        self._longest_name = longest_name
        self._declared: tuple[FunctionDeclaration, ...] = ()
        self._encoded: list[msgspec.Raw] = []
        self._names: dict[str, str] = {}
        self._schemas: dict[str, Mapping[str, Any]] = {}
        self._problems: list[str] = []

    def encoded(self, declarations: Sequence[FunctionDeclaration]) -> list[msgspec.Raw]:
        """Return the tools; one whose schema can't be understood is left out, which `problem` tells."""
        declared = tuple(declarations)
        if declared == self._declared:  # the same objects as a rule, which nothing of is looked at
            return self._encoded
        self._declared = declared
        self._encoded, self._names, self._schemas = [], {}, {}
        for declaration in declarations:
            name = self._sound(declaration.name)
            try:
                parameters, has_cut = parameters_for(self._dialect, declaration.parameters)
            except SchemaProblem as problem:
                reason = told("{name} isn't offered to the model: {reason}.", name=declaration.name, reason=problem)
                self._problems.append(reason)
                continue
            if name in self._names:
                continue
            if has_cut:
                words = sentence("{name} has too many parameters: the model isn't told all of them.")
                self._problems.append(told(words, name=declaration.name))
            self._names[name] = declaration.name
            self._schemas[declaration.name] = parameters
            tool = self._form(name, declaration.description, parameters)
            self._encoded.append(msgspec.Raw(msgspec.json.encode(tool)))
        return self._encoded

    def _sound(self, name: str) -> str:
        """Return a name as it is where the provider takes it, dots and colons among it."""
        return name if self._longest_name > _LONGEST_NAME and sound_name(name) == name else wire_name(name)

    def name_of(self, name: str) -> str:
        """Return the declared name of a tool that the model calls as it was told, or as its template writes names.

        So `functions.read_file:0`, `default_api.read_file` and `read_file<|channel|>commentary` are `read_file`.
        """
        if name in self._names:
            return self._names[name]
        bare = name.partition("<|")[0].strip().strip("`\"'")
        bare = _CALL_NUMBER.sub("", bare)
        if bare not in self._names:
            bare = _NAMESPACE.sub("", bare)
        return self._names.get(bare) or self._in_any_case(bare) or name

    def _in_any_case(self, name: str) -> str:
        found = [declared for wire, declared in self._names.items() if wire.casefold() == name.casefold()]
        return found[0] if len(found) == 1 else ""

    @property
    def wire_names(self) -> Collection[str]:
        """The names by which the model knows the tools."""
        return self._names.keys()

    @property
    def are_declared(self) -> bool:
        """Whether the model was offered any tool."""
        return bool(self._names)

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        """Return the parameters of a declared tool."""
        return self._schemas.get(name)

    def as_object(self, name: str, raw: str) -> str:
        """Return free text, as a custom tool is called with, as the arguments of a tool that takes one text."""
        schema = self._schemas.get(self.name_of(name)) or {}
        properties: Mapping[str, Any] = schema.get("properties", {})
        required: Sequence[str] = schema.get("required", ())
        takes_text = len(required) == 1 and properties.get(required[0], {}).get("type") == "string"
        if raw.lstrip().startswith("{") or not takes_text:
            return raw
        return msgspec.json.encode({required[0]: raw}).decode()

    def call(
        self, known: Sequence[FunctionCallEvent], given_id: str, name: str, raw: str, *, is_cut: bool = False
    ) -> FunctionCallEvent:
        """Make the event of a call after those that are `known`, its arguments as the model wrote them.

        Where the answer was cut, what is missing at the end stays missing.
        """
        args, problem = read_arguments(raw, is_whole=not is_cut)
        if args is None and is_cut:
            problem = _CUT
        if not name.strip():
            args, problem = None, NO_NAME
        call_id = call_id_of(given_id, {call.call_id for call in known})
        return FunctionCallEvent(call_id, self.name_of(name) or UNNAMED, args, problem)

    def unread_call(
        self, known: Sequence[FunctionCallEvent], text: str, problem: str, *, is_cut: bool
    ) -> FunctionCallEvent:
        """Make the event of a call in a text that can't be read: of the tool that it names, if it names one."""
        named = (name for name in self._names if re.search(rf"\b{re.escape(name)}\b", text))
        name = min(named, key=text.index, default="")
        call_id = call_id_of("", {call.call_id for call in known})
        return FunctionCallEvent(call_id, self._names.get(name, UNNAMED), None, _CUT if is_cut else problem)

    def tell(self, problem: str) -> None:
        """Have the user told, with the next answer, of what isn't sent as it was asked for."""
        self._problems.append(problem)

    def problem(self) -> str:
        """Return what is wrong with tools, once."""
        problems, self._problems = self._problems, []
        return joined(" ", problems)


def wire_name(name: str) -> str:
    """Return a tool's name with the letters that every provider takes."""
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "_"


def extras(fields: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return what a server sent beside the fields that are known: it may want it back."""
    return {name: value for name, value in fields.items() if name not in known and value is not None}


def dicts(value: object) -> list[dict[str, Any]]:
    """Return the objects of what should be a list of them, and may be the only one."""
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
