"""An MCP server's form, address or wish, put before the person a field at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dogu.language import said, say
from dogu.runtime.questions import Declined, Enquiry, Given
from dogu.serve.terminal.screen import Choice, Screen
from dogu.workspace.visible import make_visible, visible_line

_TRUE = ("y", "yes", "true", "1")
_FALSE = ("n", "no", "false", "0")


async def answer_enquiry(screen: Screen, enquiry: Enquiry) -> Given | Declined:
    """Show who asks and what; return what the person filled in, or their no."""
    style = screen.style
    title = make_visible(said(enquiry.title), keep="")
    screen.print(f"{style.paint('?', 'yellow', 'bold')} {style.paint(title, 'bold')}")
    if enquiry.message:
        screen.print("\n".join(f"  │ {line}" for line in make_visible(enquiry.message).split("\n")))
    if enquiry.url:
        screen.print(f"  {make_visible(enquiry.url, keep='')}")
    if not enquiry.is_question:
        choices = [Choice("y", say("[y]es")), Choice("n", say("[n]o")), Choice("s", say("[s]top"))]
        key = await screen.choose(choices)
        if key != "y":
            screen.print(style.paint("  " + (say("No.") if key == "n" else say("Stop.")), "dim"))
            return Declined(stop=key != "n")
        screen.print(style.paint("  " + say("Yes."), "dim"))
    values: dict[str, Any] = {}
    for name, schema in enquiry.fields.items():
        answer = await _ask(screen, name, schema, is_required=name in enquiry.required)
        if answer is None:
            return Declined(stop=True)
        if answer != "":
            values[name] = answer
    return Given(values)


async def _ask(screen: Screen, name: str, schema: Mapping[str, Any], *, is_required: bool) -> Any:
    """Ask until the answer is one that the field takes; '' leaves it out, None cancels."""
    title = visible_line(str(schema.get("title") or name))
    if schema.get("description"):
        screen.print(f"  {make_visible(str(schema['description']), keep='')}")
    options = _options(schema)
    for number, (_value, words) in enumerate(options, 1):
        screen.print(f"  {number}. {make_visible(words, keep='')}")
    default = schema.get("default", "")
    label = f"{title} [{make_visible(str(default), keep='')}]:" if default != "" else f"{title}:"
    while True:
        text = await screen.read_line(label)
        if text is None:
            return None
        text = text.strip()
        if not text and (default != "" or not is_required):
            return default
        try:
            return _value_of(text, schema, options)
        except ValueError as error:
            screen.print(screen.style.paint(f"  {error}", "yellow"))


def _options(schema: Mapping[str, Any]) -> list[tuple[Any, str]]:
    source = schema.get("items", schema) if schema.get("type") == "array" else schema
    titled = source.get("oneOf") or source.get("anyOf")
    if titled:
        return [(option.get("const"), str(option.get("title") or option.get("const"))) for option in titled]
    values = source.get("enum") or ()
    names = source.get("enumNames") or values
    return [(value, str(words)) for value, words in zip(values, names, strict=False)]


def _value_of(text: str, schema: Mapping[str, Any], options: list[tuple[Any, str]]) -> Any:
    kind = schema.get("type", "string")
    if kind == "array":
        return [_option_of(part.strip(), options) for part in text.split(",") if part.strip()]
    if options:
        return _option_of(text, options)
    if kind == "boolean":
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        raise ValueError(say("Answer yes or no."))
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            raise ValueError(say("A number is wanted here.")) from None
    return text


def _option_of(text: str, options: list[tuple[Any, str]]) -> Any:
    for number, (value, words) in enumerate(options, 1):
        if text in (str(number), str(value), words):
            return value
    if not options:
        return text
    raise ValueError(say("Choose one by its number."))
