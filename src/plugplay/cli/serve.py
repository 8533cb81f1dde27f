"""``plugplay serve``: the local web page."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["serve"]


def serve(
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port; 8420, or a free one if that is taken.", show_default=False),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but the loopback one can be reached by others.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Show a page to restore images with; nothing leaves this machine.

    Example: plugplay serve --no-browser --port 8000
    """
    try:
        from plugplay.web import server
    except ImportError as error:
        if error.name not in ("starlette", "uvicorn", "python_multipart"):
            raise
        raise ValueError("plugplay serve needs the extra web: pip install 'plugplay[web]'") from None
    server.serve(host=host, port=port, browser=browser, announce=typer.echo)
