"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes


def mathml(latex: str, display: str) -> str:
    """A formula as MathML; the LaTeX stays for those who copy it."""
    from latex2mathml.converter import convert

    return convert(latex, display=display).replace("<math ", f'<math alttext="{escape(latex)}" ', 1)


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    formula = mathml(node.astext(), "block")
    writer.body.append(f'<div class="math-block" tabindex="0">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Make it a renderer that `html_math_renderer` can name."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
