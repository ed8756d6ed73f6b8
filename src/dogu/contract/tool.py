"""The contract every tool keeps, in the documents' words; and from a model's raw arguments to a typed struct, with
errors that the model can act on."""

from __future__ import annotations

import inspect
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, get_args

import msgspec

from dogu.contract.confirmation import CallContext, Confirmation
from dogu.contract.declaration import (
    FunctionDeclaration,
    JsonObject,
    schema_of,
    structure_in,
    value_of,
    with_default_values,
)
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult

ArgsT = TypeVar("ArgsT")
_T = TypeVar("_T")
_LONGEST_SHOWN = 80
_cleandoc = lru_cache(maxsize=256)(inspect.cleandoc)  # asked for with each request


class Kind(StrEnum):
    """What a tool does to the world; approval modes and parallel running go by it."""

    READ = "read"
    SEARCH = "search"
    EDIT = "edit"
    EXECUTE = "execute"
    FETCH = "fetch"
    THINK = "think"
    OTHER = "other"

    @property
    def changes_nothing(self) -> bool:
        """Whether calls of this kind may run beside one another and need no question by themselves."""
        return self in (Kind.READ, Kind.SEARCH, Kind.THINK)


class _Derived(Generic[_T]):
    """An attribute that is worked out when it is read, until a class or an object has one of its own."""

    def __init__(self, derive: Callable[[Any], _T]) -> None:
        self._derive = derive

    def __get__(self, tool: object, owner: object = None) -> _T:
        return self._derive(tool)


def _derived(derive: Callable[[Any], _T]) -> _T:
    return cast("_T", _Derived(derive))


class Tool(ABC, Generic[ArgsT]):
    """A tool: its arguments, its words for the model, its act.

    A subclass names its arguments as `Tool[MyArgs]`, where `MyArgs` is a `msgspec.Struct` whose field descriptions the
    model reads; or it is a `Tool[dict]` with a JSON Schema as `parameter_schema`, and is given what fits it. Its
    docstring is the description the model reads, unless it has a `description`. `aliases` maps accepted spellings of a
    parameter to its name, `dropped` are parameters of other generations that change nothing here, `unpacked` objects of
    theirs whose fields are parameters; none are ever published. One that `records_changes` says itself what it changes
    behind our back, so that nobody need look; one that `bounds_itself` gives more of what it reads to who asks for
    more.
    """

    name: str
    display_name: str = _derived(lambda tool: tool.name)
    description: str = _derived(lambda tool: tool.describe(_cleandoc(type(tool).__doc__ or "")))
    parameter_schema: JsonObject = _derived(lambda tool: tool.publish(tool.derived_schema()))
    kind: Kind = Kind.OTHER
    aliases: ClassVar[Mapping[str, str]] = {}
    dropped: ClassVar[frozenset[str]] = frozenset()
    unpacked: ClassVar[frozenset[str]] = frozenset()
    records_changes: bool = False
    bounds_itself: bool = False
    args_type: type | None = None
    _defaults: Mapping[str, Any] = {}
    _defaulted: JsonObject | None = None
    _declared: FunctionDeclaration | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            arguments = get_args(base)
            if arguments and isinstance(arguments[0], type) and issubclass(arguments[0], msgspec.Struct):
                cls.args_type = arguments[0]

    def describe(self, words: str) -> str:
        """Return what the model reads of the tool, of its docstring; the default is that."""
        return words

    def publish(self, schema: JsonObject) -> JsonObject:
        """Return what the model sees of the arguments' JSON Schema; the default is all of it."""
        return schema

    def derived_schema(self) -> JsonObject:
        """Return the JSON Schema of the arguments' struct; without one, of no parameters at all."""
        if self.args_type is None:
            return {"type": "object", "properties": {}, "additionalProperties": False}
        if self._defaulted is None:  # asked for with each request
            self._defaulted = with_default_values(schema_of(self.args_type), self._defaults)
        return self._defaulted

    @property
    def declaration(self) -> FunctionDeclaration:
        """What the model is sent: the same object for as long as it says the same."""
        made = FunctionDeclaration(self.name, self.description, self.parameter_schema)
        if made != self._declared:
            self._declared = made
        return self._declared or made

    def adapt(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Translate other generations' spellings that are more than a rename; the default changes nothing."""
        return raw

    def validate_tool_params(self, raw: Mapping[str, Any]) -> ArgsT:
        """Check raw arguments and return them typed. Raises `ToolError` (INVALID_ARGUMENTS) that says what to send.

        A tool with a JSON Schema of its own is given them as they are, under their published names.
        """
        if self.args_type is None:
            from dogu.contract.json_schema import fitting_arguments  # 14 MB, for those that have a schema only

            named = self._adapted(renamed_arguments(self.name, raw, self.aliases))
            return cast("ArgsT", fitting_arguments(self.name, self.parameter_schema, named))
        return cast("ArgsT", convert_arguments(self.name, self.args_type, raw, self.aliases, self._adapted))

    def with_defaults(self, **values: Any) -> Self:
        """Let parameters that a call leaves out have these values, and publish them; for settings. Returns the tool."""
        self._defaults, self._defaulted = values, None
        return self

    def _adapted(self, raw: dict[str, Any]) -> dict[str, Any]:
        packed = [cast("dict[str, Any]", raw[name]) for name in self.unpacked if isinstance(raw.get(name), dict)]
        if packed:
            rest = {name: value for name, value in raw.items() if name not in self.unpacked}
            raw = {name: value for fields in (*packed, rest) for name, value in fields.items()}
        known = {name: value for name, value in self.adapt(raw).items() if name not in self.dropped}
        return {**self._defaults, **known}

    @abstractmethod
    def get_description(self, args: ArgsT) -> str:
        """Say in one line what this call will do, for the user."""

    async def should_confirm_execute(self, args: ArgsT) -> Confirmation | None:
        """Work out what would happen, changing nothing; None when there is nothing to ask."""
        return None

    @abstractmethod
    async def execute(self, args: ArgsT, context: CallContext) -> ToolResult:
        """Do it. Raises `ToolError` for what the model should hear."""


def convert_arguments(
    tool: str,
    args_type: type,
    raw: Mapping[str, Any],
    aliases: Mapping[str, str],
    adapt: Callable[[dict[str, Any]], dict[str, Any]],
) -> Any:
    """Return `raw` as `args_type`; a null argument counts as left out, `"3"` and `3.0` as 3, `"[1]"` as a list.

    Raises `ToolError` naming the tool, the parameter and what it takes: two spellings that disagree, an unknown
    parameter (with the nearest known one), a missing one, a wrong type, a NUL in a text.
    """
    named = {name: value for name, value in renamed_arguments(tool, raw, aliases).items() if value is not None}
    fields = _fields_of(args_type)
    typed = {name: _restored(value, fields[name].type) for name, value in named.items() if name in fields}
    named = adapt({**named, **typed})
    for name in named:
        if name not in fields:
            raise _invalid(tool, _unknown(name, [*fields], aliases))
    missing = [name for name, field in fields.items() if field.required and name not in named]
    if missing:
        raise _invalid(tool, f"Missing required parameter{'s' * (len(missing) > 1)}: {', '.join(map(repr, missing))}.")
    for name, value in named.items():
        _refuse_nul(tool, name, value)
    try:
        whole = {name: _whole(value) for name, value in named.items()}
        return cast("Any", msgspec.convert(whole, args_type, strict=False, dec_hook=value_of))
    except msgspec.ValidationError as error:
        raise _invalid(tool, _explain(error, named, args_type)) from error


@lru_cache(256)
def _fields_of(args_type: type) -> Mapping[str, msgspec.structs.FieldInfo]:
    """Return the fields by their published names; working them out takes longer than the rest of a call."""
    return {field.encode_name: field for field in msgspec.structs.fields(args_type)}


def renamed_arguments(tool: str, raw: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments under their published names. Raises `ToolError` for two spellings that disagree."""
    named: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for spelling, value in raw.items():
        name = aliases.get(spelling, spelling)
        if value is None and named.get(name) is not None:
            continue
        if named.get(name) is not None and named[name] != value:
            raise _invalid(
                tool, f"Parameters {spelled[name]!r} and {spelling!r} are the same and disagree: send only {name!r}."
            )
        named[name] = value
        spelled[name] = spelling
    return named


def _unknown(name: str, known: list[str], aliases: Mapping[str, str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, [*known, *aliases], n=1, cutoff=0.6)
    meant = aliases.get(near[0], near[0]) if near and not _are_opposite(name, near[0]) else ""
    hint = f" Did you mean {meant!r}?" if meant else ""
    shown = name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "..."
    return f"Unknown parameter {shown!r}.{hint} Known parameters: {', '.join(known)}."


def _are_opposite(first: str, second: str) -> bool:
    """Whether one includes what the other excludes: spelled alike, they mean the contrary."""
    return ("exclude" in first) != ("exclude" in second) and ("include" in first) != ("include" in second)


def _restored(value: Any, wanted: Any) -> Any:
    """Return what a text or an object stands for where none is due: JSON in quotes, or the only one of a list."""
    if not isinstance(value, str | dict) or _fits(cast("object", value), wanted):
        return cast("object", value)
    structure = structure_in(value) if isinstance(value, str) else None
    if structure is not None:
        return structure
    only = [cast("object", value)]
    return only if _fits(only, wanted) else only[0]


def _fits(value: Any, wanted: Any) -> bool:
    try:
        msgspec.convert(value, wanted, strict=False, dec_hook=value_of)
    except msgspec.ValidationError:
        return False
    return True


def _whole(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


def _refuse_nul(tool: str, name: str, value: Any) -> None:
    if isinstance(value, str) and "\0" in value and name not in ("content", "old_string", "new_string"):
        raise _invalid(
            tool, f"Parameter {name!r} holds a NUL character, which no path, pattern or command can: remove it."
        )
    if isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]  (a JSON list of anything)
            _refuse_nul(tool, name, item)


def _explain(error: msgspec.ValidationError, named: Mapping[str, Any], args_type: type) -> str:
    text = str(error)
    what, _, where = text.partition(" - at `$")
    path = where.rstrip("`").lstrip(".")
    if not path:
        return f"{what}."
    name = path.split("[")[0].split(".")[0]
    sent = repr(named.get(name))
    if len(sent) > _LONGEST_SHOWN:
        sent = sent[:_LONGEST_SHOWN] + "..."
    choice = _choice_at(schema_of(args_type), re.findall(r"[^.\[\]]+", path))
    hint = f" Use one of: {', '.join(map(str, choice))}." if choice else ""
    return f"Parameter {path!r}: {what[0].lower()}{what[1:]}; got {sent}.{hint}"


def _choice_at(schema: JsonObject, path: list[str]) -> list[object]:
    """Return the values that the schema names for what stands at a path; none where it names none."""
    for part in path:
        items = schema.get("items") if part.isdigit() or part == "..." else schema.get("properties", {}).get(part)
        if not isinstance(items, dict):
            return []
        schema = cast("JsonObject", items)
    return schema.get("enum", [])


def _invalid(tool: str, reason: str) -> ToolError:
    return ToolError(ErrorKind.INVALID_ARGUMENTS, f"Invalid arguments for {tool}: {reason}")
