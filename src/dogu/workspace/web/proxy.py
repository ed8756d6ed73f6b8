"""Which proxy the environment names for an address, as curl and its kin read it."""

from __future__ import annotations

from collections.abc import Mapping

from dogu.workspace.web.url import WebUrl


def environment_proxy(url: WebUrl, environ: Mapping[str, str]) -> str:
    """Return the proxy for an address (`http://proxy:3128`), empty when it is reached directly.

    `HTTP_PROXY` counts in lower case only where a web server could have set it from a request's header.
    """
    if url.host == "localhost" or url.host.startswith("127.") or url.host == "::1":
        return ""  # a proxy can't reach this machine's own servers
    if _is_excepted(url, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return ""
    names = [f"{url.scheme}_proxy", f"{url.scheme}_proxy".upper(), "all_proxy", "ALL_PROXY"]
    if "REQUEST_METHOD" in environ:
        names.remove(f"{url.scheme}_proxy".upper())
    proxy = next((environ[name] for name in names if environ.get(name)), "")
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def _is_excepted(url: WebUrl, exceptions: str) -> bool:
    for written in exceptions.split(","):
        name, _, port = written.strip().lower().partition(":")
        if name == "*":
            return True
        name = name.removeprefix("*").lstrip(".")
        if name and (url.host == name or url.host.endswith(f".{name}")) and port in ("", str(url.port)):
            return True
    return False
