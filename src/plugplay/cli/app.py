"""The ``plugplay`` command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from plugplay import __version__
from plugplay.cli.check_denoiser import check_denoiser
from plugplay.cli.demo import demo
from plugplay.cli.denoisers import denoisers

__all__ = ["app", "main"]

app = typer.Typer(
    name="plugplay",
    help="Plug-and-Play image restoration: any denoiser as a prior.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(check_denoiser)
app.command()(demo)
app.command()(denoisers)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"plugplay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Plug-and-Play image restoration: any denoiser as a prior."""


def main() -> None:
    """Run the command line; expected errors are one line on standard error."""
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        typer.echo(f"plugplay: {error}", err=True)
        sys.exit(1)
