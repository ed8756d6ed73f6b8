"""`/settings`: what the settings are and where each was set; changes those of the user's own file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from anyio import to_thread

from dogu.agent.slash import Offer, Said, SlashCommand
from dogu.app.options import Options, read_settings
from dogu.contract import ToolError
from dogu.language import plain, say
from dogu.serve.terminal.key_names import keys_problems
from dogu.serve.terminal.status import status_problem
from dogu.settings import SettingsError
from dogu.settings import values as takes
from dogu.settings.about import ABOUT
from dogu.settings.edit import edit_settings_file, with_setting
from dogu.settings.keys import KEYS, Key
from dogu.settings.unknown import nearest_key

# Secrets may stand in all of these; hooks are a file's own.
SECRET_KEYS = (
    "model.apiKey",
    "model.headers",
    "model.body",
    "model.proxy",
    "model.profiles",
    "web.braveKey",
    "mcpServers",
    "hooks",
)
_NOTHING: tuple[object, ...] = (None, "", (), {})
_CHOICES: Mapping[Any, Sequence[Any]] = {
    takes.flag: (True, False),
    takes.theme: takes.THEMES,
    takes.sandbox: takes.SANDBOX_MODES,
}


def as_written(key: Key, values: Mapping[str, Any]) -> object:
    """Return a value as settings.json takes it back; None where that isn't how it was written, or for a secret."""
    value = values.get(key.name)
    if key.name in SECRET_KEYS or value in _NOTHING:
        return None
    try:
        plain_value = msgspec.json.decode(msgspec.json.encode(value, enc_hook=plain))
        return plain_value if key.convert(plain_value) == value else None
    except (ValueError, TypeError, NotImplementedError):
        return None


class SettingsCommand:
    """Reads the settings anew each time: they may have been changed beside the session."""

    def __init__(self, options: Options) -> None:
        self._options = msgspec.structs.replace(options, settings_files=None)
        self._file = os.path.join(options.settings_home or options.home, ".dogu", "settings.json")

    def command(self) -> SlashCommand:
        """Make it."""
        names = sorted(key.name for key in KEYS if key.name not in SECRET_KEYS)
        return SlashCommand(
            "settings",
            say("show and change the settings"),
            self.run,
            "[KEY [VALUE]]",
            lambda start: [name for name in names if name.startswith(start)],
            self.offers,
        )

    async def offers(self) -> list[Offer]:
        """Offer every key with its value, and the values of those that take one of a few."""
        try:
            settings = await to_thread.run_sync(read_settings, self._options)
        except SettingsError:
            return []
        found: list[Offer] = []
        for key in KEYS:
            if key.name in SECRET_KEYS:
                continue
            value, origin = as_written(key, settings.values), settings.origins.get(key.name)
            about = say(ABOUT[key.name])
            then = tuple(
                Offer(
                    f"{key.name} {_shown(choice)}",
                    _shown(choice),
                    is_current=choice == value,
                    about=f"{key.name}: {about}",
                )
                for choice in _choices(key)
            )
            detail = _shown(value) if origin is None else f"{_shown(value)}  ({self._place(origin)})"
            found.append(Offer(key.name, key.name, detail, then=then, about=about))
        return found

    async def run(self, rest: str) -> Said:
        """Show the settings that were set, or one; or change one."""
        name, _, written = rest.partition(" ")
        key = next((key for key in KEYS if name in (key.name, *key.also)), None)
        if name and (key is None or key.name in SECRET_KEYS):
            told = say("It may hold a secret: change it in {file}.", file=self._file)
            return Said(told if key else _no_setting(name), is_failure=True)
        try:
            if key is not None and written.strip():
                return await to_thread.run_sync(self._change, key, written.strip())
            settings = await to_thread.run_sync(read_settings, self._options)
        except (SettingsError, ToolError) as error:
            return Said(say(error.message) if isinstance(error, ToolError) else str(error), is_failure=True)
        shown = [key] if key else [each for each in KEYS if each.name in settings.origins]
        lines = [
            f"{each.name}: {_shown(as_written(each, settings.values))}"
            + (f"  ({self._place(origin)})" if (origin := settings.origins.get(each.name)) else "")
            for each in shown
            if each.name not in SECRET_KEYS
        ]
        if key is not None:
            lines.append(say(ABOUT[key.name]))
        if key is not None and (choices := _choices(key)):
            lines.append(say("Possible values: {choices}.", choices=", ".join(map(_shown, choices))))
        return Said("\n".join(lines) or say("Nothing is set."), draft=f"/settings {key.name} " if key else "")

    def _change(self, key: Key, text: str) -> Said:
        """Write a value into the user's file; it is taken back where the settings couldn't be read with it."""
        try:
            value: Any = msgspec.json.decode(text)
        except msgspec.DecodeError:
            value = text
        try:
            key.convert(value)
        except takes.ValueProblem as problem:
            try:
                key.convert(value := text)  # a text that looks like a number
            except takes.ValueProblem:
                return Said(f"{key.name} {say(str(problem))}", is_failure=True)
        if problem := _problem(key, value):
            return Said(f"{key.name}: {problem}", is_failure=True)
        before: list[str] = []

        def change(file: str) -> str:
            before.append(file)
            return with_setting(file, key.name.split("."), value)

        edit_settings_file(self._file, change)
        try:
            settings = read_settings(self._options)
        except SettingsError:
            edit_settings_file(self._file, lambda _: before[0])
            raise
        told = [say("{key} is now {value}, in {file}.", key=key.name, value=_shown(value), file=self._file)]
        origin = settings.origins.get(key.name)
        if origin is not None and origin.file != self._file:
            told.append(
                say(
                    "It stays {value} here: {origin} sets it.",
                    value=_shown(as_written(key, settings.values)),
                    origin=origin,
                )
            )
        else:
            told.append(say("It takes effect in the next session; /new starts one."))
        return Said("\n".join(told))

    def _place(self, origin: object) -> str:
        return str(origin).replace(os.path.expanduser("~") + os.sep, "~/")


def _problem(key: Key, value: Any) -> str:
    """Say what is wrong with a value that a file may hold, and that would have no effect; '' when nothing is."""
    choices = _choices(key)
    if choices and value not in choices and not (isinstance(value, str) and value.casefold() in choices):
        return say("Possible values: {choices}.", choices=", ".join(map(_shown, choices)))
    if key.name == "ui.keys":
        return next(iter(keys_problems(takes.json_object(value))), "")
    return status_problem(value) if key.name == "ui.statusLine" else ""


def _choices(key: Key) -> Sequence[Any]:
    """Return what a key takes where that is one of a few."""
    if isinstance(key.convert, takes.Takes):
        return key.convert.schema.get("enum", ())
    return _CHOICES.get(key.convert, ())


def _shown(value: object) -> str:
    return value if isinstance(value, str) and value else "–" if value in (None, "") else takes.shown(value)


def _no_setting(name: str) -> str:
    nearest = nearest_key(name, [key.name for key in KEYS])
    if nearest:
        return say("There is no setting {name}. Did you mean {nearest}?", name=name, nearest=nearest)
    return say("There is no setting {name}.", name=name)
