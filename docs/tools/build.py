"""Build the site: ``python docs/tools/build.py [build/site]``; needs ``pip install '.[docs]'``.

The gallery is executed, every warning is an error, and afterwards every link inside the site is followed: to a page
that exists, and to an anchor that is on it. Nothing is fetched from anywhere, neither here nor by the pages.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

DOCS = Path(__file__).parents[1]


class _Page(HTMLParser):
    """What a page links to, what it loads, and what can be linked to on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links, what is loaded, and names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("img", "script", "source", "iframe") and "src" in given:
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(given.get("href", ""))


def broken(site: Path) -> list[str]:
    """Return what is wrong with the links of a site: targets that are not there, and files of other places."""
    pages = {
        path: _Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in page.loads:
            if re.match(r"(https?:)?//", target):
                found.append(f"{name} loads {target} from elsewhere")
            elif not target.startswith("data:") and not _local(path, target).exists():
                found.append(f"{name} loads {target}, which is not there")
        for target in page.links:
            if re.match(r"[a-z]+:", target):
                continue
            address, anchor = urldefrag(target)
            other = path if not address else _local(path, address)
            if not other.exists():
                found.append(f"{name} links to {target}, which is not there")
            elif anchor and other in pages and unquote(anchor) not in pages[other].anchors:
                found.append(f"{name} links to {target}, and there is no such anchor")
    return sorted(set(found))


def _local(page: Path, target: str) -> Path:
    return (page.parent / unquote(target.partition("?")[0].partition("#")[0])).resolve()


def main(arguments: list[str]) -> int:
    """Build, check, and return the exit code."""
    from sphinx.cmd.build import main as sphinx

    site = Path(arguments[0] if arguments else "build/site").resolve()
    failed = sphinx(
        ["-b", "html", "-W", "--keep-going", "-q", "-d", str(site.parent / "doctrees"), str(DOCS), str(site)]
    )
    if failed:
        return failed
    errors = broken(site)
    for line in errors:
        sys.stderr.write(f"{line}\n")
    if not errors:
        sys.stdout.write(f"{site / 'index.html'}: {len(list(site.rglob('*.html')))} pages, all links lead somewhere\n")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
