"""The command line: ``plugplay COMMAND``, one module for each family of commands."""

from plugplay.cli.app import main

__all__ = ["main"]
