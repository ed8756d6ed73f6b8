"""Settings in, everything wired out: the one place where parts are put together.

What each part needs, it gets here through its constructor; nothing below reads settings or looks for its neighbours.
The options are here at once; what opens a runtime or an agent is imported when it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dogu.app.options import Door, Options, Start, read_settings

if TYPE_CHECKING:
    from dogu.app.agent import Opened, agent_of, open_agent
    from dogu.app.opening import open_runtime

_MODULE_OF = {"Opened": "agent", "agent_of": "agent", "open_agent": "agent", "open_runtime": "opening"}

__all__ = ["Door", "Opened", "Options", "Start", "agent_of", "open_agent", "open_runtime", "read_settings"]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
