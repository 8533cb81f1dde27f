"""Pages that live outside of docs/ (changes, contributing, …), and links between them and the others.

On disk, and on the page of the repository, links are relative paths that exist. Here the same files are pages of the
site, so that links to them are rewritten while they are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from sphinx.application import Sphinx

PAGES = {
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "SECURITY.md": "project/security.md",
    "README.md": "index.md",
}


def rewritten(text: str) -> str:
    """Return Markdown whose links to files of the repository are links to pages of the site.

    Examples
    --------
    >>> rewritten("[a](../CHANGELOG.md) [b](docs/files.md#stacks) [c](SECURITY.md)")
    '[a](/project/changes.md) [b](/files.md#stacks) [c](/project/security.md)'
    """
    for name, page in PAGES.items():
        text = re.sub(rf"\]\((?:\.\./)*{re.escape(name)}", f"](/{page}", text)
    # Sources are no pages: their names stay, without a link.
    text = re.sub(r"\[([^\]]+)\]\((?:\.\./)*(?:src|benchmarks|training|tests)/[^)]*\)", r"\1", text)
    return re.sub(r"\]\((?:\.\./)*docs/", "](/", text)


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = rewritten(source[0])


def _included(app: Sphinx, path: Path, parent: str, source: list[str]) -> None:
    source[0] = rewritten(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Rewrite what is read and what is included."""
    app.connect("source-read", _read)
    app.connect("include-read", _included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
