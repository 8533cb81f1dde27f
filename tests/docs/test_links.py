"""Every relative link in the documents leads to a file that exists, and to a heading if it names one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = {"_build", "api", "gallery"}
PAGES = sorted(page for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if not BUILT & set(page.parts))

# What the site's build writes, and what it is written from.
WRITTEN = {"gallery/index.rst": "../examples", "commands.md": "../_ext/commands.py"}


def headings(page):
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    lines = [line.lstrip("# ").lower() for line in page.read_text(encoding="utf-8").splitlines() if line[:1] == "#"]
    return {re.sub(r"[^\w -]", "", line).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / WRITTEN.get(path, path) if path else page
        assert linked.exists(), target
        assert not anchor or linked.suffix != ".md" or anchor in headings(linked), target
