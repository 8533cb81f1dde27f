"""Debian's machine-readable copyright files: which licence a file has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["FREE", "Terms", "parse_copyright", "terms_of"]

# Licences that let a derived work have any licence, if authors are named (CC-BY) or without condition.
FREE = frozenset({"CC0-1.0", "CC-BY-2.0", "CC-BY-3.0", "CC-BY-4.0", "public-domain"})


@dataclass(frozen=True)
class Terms:
    """One paragraph of a copyright file: whose the files are, and under which licence.

    Attributes
    ----------
    patterns : tuple of str
        Paths in the source package; ``*`` matches slashes too.
    holder : str
        The copyright line, in one line.
    licence : str
        The short name, as ``CC-BY-4.0``.
    """

    patterns: tuple[str, ...]
    holder: str
    licence: str

    @property
    def free(self) -> bool:
        """Whether training may use the files. An alternative ("or") or a mixture ("and") does not count."""
        return self.licence in FREE


def parse_copyright(text: str) -> tuple[Terms, ...]:
    r"""Return the paragraphs that have a ``Files`` field.

    Examples
    --------
    >>> parse_copyright("Files: a.jpg b/*\nCopyright: 2018, Ann\nLicense: CC0-1.0\n")
    (Terms(patterns=('a.jpg', 'b/*'), holder='2018, Ann', licence='CC0-1.0'),)
    """
    paragraphs = (_fields(paragraph) for paragraph in re.split(r"\n\s*\n", text))
    return tuple(
        Terms(
            patterns=tuple(fields["files"].split()),
            holder=" ".join(fields.get("copyright", "").split()),
            licence=fields.get("license", "").strip().partition("\n")[0].strip(),
        )
        for fields in paragraphs
        if "files" in fields
    )


def terms_of(path: str, paragraphs: tuple[Terms, ...]) -> Terms | None:
    """Return the terms of one file: those of the last paragraph that names it, or None.

    Examples
    --------
    >>> everything = Terms(("*",), "Bob", "GPL-2+")
    >>> terms_of("b/c.jpg", (everything, Terms(("b/*",), "Ann", "CC0-1.0"))).holder
    'Ann'
    """
    naming = [terms for terms in paragraphs if any(fnmatchcase(path, pattern) for pattern in terms.patterns)]
    return naming[-1] if naming else None


def _fields(paragraph: str) -> dict[str, str]:
    """Return the fields of a paragraph; continued lines begin with a space."""
    fields: dict[str, str] = {}
    name = ""
    for line in paragraph.splitlines():
        if line[:1].isspace():
            fields[name] = f"{fields.get(name, '')}\n{line.strip()}"
        elif not line.startswith("#") and ":" in line:
            name, _, value = line.partition(":")
            name = name.lower()
            fields[name] = value.strip()
    return fields
