"""Where the providers' servers are."""

import re

GOOGLE = "https://generativelanguage.googleapis.com"
OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"
OLLAMA = "http://localhost:11434/v1"
ANTHROPIC_VERSION = "2026-10-21"  # of the wire, as the official SDK names it
_VERSION = re.compile(r"/v\d\w*/")
_LAST_VERSION = re.compile(r"/v\d\w*$")


def endpoint(base_url: str, path: str) -> str:
    """Return the address of a path (which may have a query) below one that its user gave, which may have one too.

    What of the path the address ends in already isn't said twice: all of it, or the version that it begins with.
    """
    address, _, query = base_url.partition("?")
    path, _, more = path.partition("?")
    address = address.rstrip("/").removesuffix(path)
    if _VERSION.match(path):
        address = _LAST_VERSION.sub("", address)
    queries = "&".join(filter(None, (query, more)))
    return address + path + (f"?{queries}" if queries else "")
