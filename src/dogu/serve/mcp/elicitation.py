"""What others than a waiting call ask the user, put through the elicitation of the client whose call runs."""

from __future__ import annotations

import hashlib

from dogu.contract.errors import ToolError
from dogu.language import said
from dogu.runtime.questions import Declined, Elicitation, Given
from dogu.serve.mcp.caller import caller
from dogu.serve.mcp.results import writable
from dogu.workspace.visible import make_visible


async def elicit_client(elicitation: Elicitation) -> Given | Declined:
    """Ask; where no call runs, or its client has no elicitation, nobody is asked and the answer is no."""
    try:
        asking = caller()
    except ToolError:
        return Declined("No client's call is running.")
    if asking.capabilities.elicitation is None:
        return Declined("This client has no elicitation.")
    message = writable(
        make_visible("\n\n".join(filter(None, (said(elicitation.title), elicitation.message, elicitation.url))))
    )
    schema = {"type": "object", "properties": dict(elicitation.fields), "required": list(elicitation.required)}
    key = f"enquiry-{hashlib.sha256(message.encode()).hexdigest()[:16]}"
    answer = await asking.elicit(message, schema, key)
    return Given(answer.content or {}) if answer.action == "accept" else Declined()
