"""The command line: ``plugplay COMMAND``, one module for each family of commands."""

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    # Imported here: packages that bring commands import `plugplay.cli.options`, and the application imports them.
    from plugplay.cli.app import main as run

    run()
