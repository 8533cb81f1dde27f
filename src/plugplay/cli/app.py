"""The ``plugplay`` command."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import entry_points
from typing import Annotated

import typer

from plugplay import __version__
from plugplay.cli.check_denoiser import check_denoiser
from plugplay.cli.demo import demo
from plugplay.cli.image_commands import deblur, denoise, inpaint, upscale
from plugplay.cli.list_denoisers import denoisers
from plugplay.cli.options import UsageError
from plugplay.cli.photon_command import photon

__all__ = ["app", "main"]

app = typer.Typer(
    name="plugplay",
    help="Plug-and-Play image restoration: any denoiser as a prior.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (denoise, deblur, inpaint, upscale, photon, demo, denoisers, check_denoiser):
    app.command()(command)
# Commands of other packages.
for point in sorted(entry_points(group="plugplay.commands"), key=lambda point: point.name):
    app.command(point.name)(point.load())


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
    if "--debug" not in sys.argv:
        # Libraries log what they find odd about files; here every error is told once, by us.
        logging.getLogger().addHandler(logging.NullHandler())
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        from plugplay.cli.notices import one_line
        from plugplay.cli.terminal import err

        err(f"plugplay: {one_line(error)}")
        sys.exit(2 if isinstance(error, UsageError) else 1)
