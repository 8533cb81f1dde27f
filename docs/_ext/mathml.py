"""Formulas as MathML, which browsers draw themselves: no script, no font and no request to anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


logger = logging.getLogger(__name__)


def converted(node: nodes.Element, display: str) -> str:
    """Return MathML; a command that the converter does not know is a warning, and so an error."""
    text = node.astext().replace(r"\arg\min", r"\mathrm{argmin}")
    if "\\\\" in text and "\\begin" not in text:  # lines that are aligned at their &
        text = rf"\begin{{array}}{{rl}}{text}\end{{array}}"
    result = str(convert(text, display=display))
    if "\\" in result:
        logger.warning("formula not understood: %s", node.astext(), location=node)
    return result


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(converted(node, "inline"))
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    self.body.append(f'<div class="math-block">{converted(node, "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under its name."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
