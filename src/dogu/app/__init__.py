"""Settings in, everything wired out: the one place where parts are put together.

What each part needs, it gets here through its constructor; nothing below reads settings or looks for its neighbours.
"""

from dogu.app.opening import Opened, agent_of, open_agent, open_runtime
from dogu.app.options import Door, Options, Start, read_settings

__all__ = ["Door", "Opened", "Options", "Start", "agent_of", "open_agent", "open_runtime", "read_settings"]
