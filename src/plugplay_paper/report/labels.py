"""Names of images as matplotlib can show them."""

from __future__ import annotations

__all__ = ["shown"]


def shown(name: str) -> str:
    r"""Return a name without what matplotlib takes for mathematics or for a line to be left out of the legend.

    Examples
    --------
    >>> shown("a$b"), shown("_DSC0012")
    ('a\\$b', ' _DSC0012')
    """
    return (" " if name.startswith("_") else "") + name.replace("$", r"\$")
