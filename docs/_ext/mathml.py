"""Formulas as MathML, which browsers draw by themselves: no script, no font and no LaTeX is needed."""

from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)


def markup(node: Any, as_block: bool) -> str:
    """Return a formula as MathML; warn of what cannot be converted."""
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        log.warning("%s In: %s", error, node.astext(), location=node)
        return ""


def inline(translator: Any, node: Any) -> None:
    """Write a formula within a line, in place of its children, which are the TeX source."""
    translator.body.append(markup(node, as_block=False))
    raise SkipNode


def block(translator: Any, node: Any) -> None:
    """Write a formula of its own, which scrolls where the screen is narrower."""
    translator.body.append(f'<div class="formula">{markup(node, as_block=True)}</div>')
    raise SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
