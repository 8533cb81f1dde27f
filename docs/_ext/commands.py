"""The reference of the command line, written from the commands themselves whenever the site is built."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

PAGE = Path(__file__).parents[1] / "reference" / "commands.md"


def reference() -> str:
    """Return the page: every command with what it says about itself, its arguments and its options."""
    import typer

    from plugplay.cli.app import app

    root: Any = typer.main.get_command(app)
    lines = ["# Commands", "", "Written from the commands themselves; `plugplay COMMAND --help` says the same.", ""]
    context = root.make_context("plugplay", [], resilient_parsing=True)
    lines += _section("plugplay", root, context)
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command is not None and not command.hidden:
            lines += _section(f"plugplay {name}", command, command.make_context(name, [], resilient_parsing=True))
    return "\n".join(lines) + "\n"


def _section(name: str, command: Any, context: Any) -> Iterator[str]:
    yield from (f"## {name}", "")
    paragraphs = [" ".join(text.replace("\b", "").split()) for text in (command.help or "").split("\n\n")]
    examples = [text.removeprefix("Example: ") for text in paragraphs if text.startswith(("plugplay ", "Example: "))]
    for text in paragraphs:
        if text != "For example:" and not text.startswith(("plugplay ", "Example: ")):
            yield from (text, "")
    if examples:
        yield from ("For example:", "", "```sh", *examples, "```", "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("```text", f"{name} {usage}", "```", "")
    rows = [row for row in map(_row, command.params) if row]
    if rows:
        yield from ("| argument or option | meaning |", "|---|---|", *rows, "")


def _row(parameter: Any) -> str:
    if getattr(parameter, "hidden", False):
        return ""
    text = " ".join((getattr(parameter, "help", None) or "").split())
    words = [f"`{word}`" for word in _choices(parameter)]
    if words:
        text += f" One of {', '.join(words)}."
    default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
    if isinstance(default, str | int | float) and not isinstance(default, bool) and not parameter.required:
        text += f" Default: `{default}`."
    names = (parameter.metavar or parameter.name.upper(),)
    if parameter.param_type_name != "argument":
        names = (*parameter.opts, *parameter.secondary_opts)
    shown = ", ".join(f"`{name}`" for name in names)
    return f"| {shown} | {text.replace('|', chr(92) + '|').replace('[', chr(92) + '[')} |"


def _choices(parameter: Any) -> list[str]:
    """Return the words that an option accepts, wherever this version of typer keeps them."""
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(member.value) for member in annotation]
    return [str(getattr(word, "value", word)) for word in getattr(getattr(parameter, "type", None), "choices", ())]


def _write(app: Sphinx) -> None:
    text = reference()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the page before any is read."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
