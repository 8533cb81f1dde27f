"""Access control: only this page and scripts of the same user may use the server.

Any web page can make a browser send requests to the loopback address. Three checks keep them out: the ``Host`` header
must name this server (a rebound domain name does not), requests that a browser sends for another site are refused, and
servers on addresses that others can reach require a token.
"""

from __future__ import annotations

import hmac
import json
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["COOKIE", "SECURITY_HEADERS", "Guard"]

COOKIE = "plugplay_token"
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
# The headers by which browsers tell the origin of a request; scripts send none.
_OWN_SITES = (b"same-origin", b"none")


class Guard:
    """ASGI middleware that refuses requests from elsewhere and adds the security headers to every response.

    Parameters
    ----------
    app : ASGI application
        The wrapped application.
    hosts : frozenset of str, optional
        Allowed values of the ``Host`` header, with the port; None for any, which is safe only with a token.
    token : str, optional
        The token that clients must send: as a cookie, which the page gets by ``/?token=...``, or as a bearer token.
    """

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str] | None, token: str | None) -> None:
        if hosts is None and token is None:
            raise ValueError("a server that answers to any name needs a token")
        self._app, self._hosts, self._token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or pass on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *headers]}
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer(guarded, *refusal)
        elif self._brings_token(scope):
            cookie = f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(guarded, 303, "Welcome.", [(b"location", b"/"), (b"set-cookie", cookie.encode())])
        else:
            await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not host or (self._hosts is not None and host not in self._hosts):
            return 421, "This server does not answer to that name."
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() != f"{scope['scheme']}://{host}":
            return 403, "Requests from other sites are refused."
        site = headers.get(b"sec-fetch-site")
        followed = site == b"cross-site" and _is_page(scope) and headers.get(b"sec-fetch-mode") == b"navigate"
        if site is not None and site not in _OWN_SITES and not followed:
            return 403, "Requests from other sites are refused."
        if self._token is not None and not self._brings_token(scope) and not self._shows_token(headers):
            return 401, "Open the address with the token that plugplay serve has printed."
        return None

    def _brings_token(self, scope: Scope) -> bool:
        """Tell whether the address of the page contains the right token."""
        if self._token is None or not _is_page(scope):
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return _same(given, self._token)

    def _shows_token(self, headers: dict[bytes, bytes]) -> bool:
        scheme, _, given = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), self._token or ""):
            return True
        try:
            cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
        except CookieError:
            return False
        return COOKIE in cookies and _same(cookies[COOKIE].value, self._token or "")


def _is_page(scope: Scope) -> bool:
    return bool(scope["path"] == "/" and scope["method"] == "GET")


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


async def _answer(send: Send, status: int, message: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    body = json.dumps({"error": {"message": message, "field": None}}).encode()
    plain = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*plain, *(headers or [])]})
    await send({"type": "http.response.body", "body": body})
