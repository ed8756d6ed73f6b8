"""The `/` commands of a session: which there are. A new family is one line here."""

from __future__ import annotations

from dogu.agent.loop import Agent
from dogu.agent.session.live import Session
from dogu.agent.slash import SlashCommands
from dogu.agent.slash.commands import general_commands
from dogu.agent.slash.model import Connections, model_commands
from dogu.agent.slash.session import session_commands
from dogu.app.sessions import copy_session
from dogu.runtime.runtime import Runtime
from dogu.settings import Settings


def slash_commands(
    agent: Agent, runtime: Runtime, settings: Settings, session: Session, connections: Connections
) -> SlashCommands:
    """Make the commands."""
    commands = SlashCommands()
    commands.register(
        *general_commands(agent, runtime, commands, yolo_is_disabled=settings.tools.yolo_is_disabled),
        *model_commands(connections),
        *session_commands(agent, runtime, session, lambda: copy_session(session.path)),
    )
    return commands
