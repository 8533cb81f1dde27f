"""``plugplay serve``: bind the address, announce it, open the browser, and clean up at the end."""

from __future__ import annotations

import ipaddress
import logging
import secrets
import socket
import webbrowser
from collections.abc import Callable
from typing import Any

import uvicorn

from plugplay.web.app import create_app, loopback_hosts

__all__ = ["DEFAULT_PORT", "is_loopback", "serve"]

DEFAULT_PORT = 8420
# Seconds to wait for open connections, such as event streams.
CLOSING_SECONDS = 1


class Server(uvicorn.Server):
    """A server that announces when it listens, and notifies its application at once when it has to stop."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """End the event streams, which would continue forever."""
        service = getattr(getattr(self.config.app, "state", None), "service", None)
        if service is not None:
            service.closing.set()
        super().handle_exit(sig, frame)


def serve(
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve the page until interrupted.

    Parameters
    ----------
    host : str
        The address to listen on. Any but the loopback ones can be reached by others: then a token is needed.
    port : int, optional
        By default 8420, or a free one if that is taken; 0 for a free one.
    browser : bool
        Whether to open the page in the browser.
    announce : callable
        Called with the address.
    """
    listening = _bound(host, port)
    actual = listening.getsockname()[1]
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    shown = "127.0.0.1" if host in ("0.0.0.0", "127.0.0.1") else f"[{host}]" if ":" in host else host
    if host == "localhost":
        shown = host
    address = f"http://{shown}:{actual}/" + ("" if token is None else f"?token={token}")
    app = create_app(hosts=loopback_hosts(actual) | {f"{shown}:{actual}"} if token is None else None, token=token)

    def ready() -> None:
        if token is not None:
            announce(f"Warning: everybody who can reach {host} and knows the token can use this server.")
        announce(f"plugplay is at {address} (end it with Ctrl-C)")
        if browser:
            webbrowser.open(address)

    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # what is wrong with a form, its sender is told
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=CLOSING_SECONDS,
        timeout_keep_alive=15,
        h11_max_incomplete_event_size=2**16,
        limit_concurrency=400,
        proxy_headers=False,
        ws="none",
        lifespan="on",
    )
    Server(config, ready).run(sockets=[listening])


def is_loopback(host: str) -> bool:
    """Tell whether an address cannot be reached from other machines.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bound(host: str, port: int | None) -> socket.socket:
    wanted = DEFAULT_PORT if port is None else port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (wanted, 0) if port is None else (wanted,):
        # With the protocol named, asyncio sends small answers at once, not 40 ms later.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
        except OSError as error:
            listening.close()
            failed = error
            continue
        listening.set_inheritable(False)
        return listening
    raise OSError(f"cannot listen on {host}, port {wanted}: {failed.strerror or failed}")
