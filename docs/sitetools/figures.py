"""Pictures of the examples: the figure that a block of an example ends with."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any
from weakref import WeakSet

#: Figures of earlier blocks: the gallery keeps the last value where a block ends without one.
SHOWN: WeakSet[Any] = WeakSet()


def example_title(path: str) -> str:
    """The first line of an example: what its figures are about, for those who do not see them."""
    text = ast.get_docstring(ast.parse(Path(path).read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].rstrip("?.")


def figure_at_the_end(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure a block ends with, and show it; driftglm's figures belong to no window."""
    from matplotlib.figure import Figure
    from sphinx_gallery.scrapers import figure_rst

    # The gallery keeps the value of a block's last expression under this name.
    value = block_vars["example_globals"].get("___")
    if not isinstance(value, Figure) or value in SHOWN:
        return ""
    SHOWN.add(value)
    path = next(block_vars["image_path_iterator"])
    value.savefig(path, dpi=130)
    title = f"Figure of the example: {example_title(block_vars['src_file'])}"
    return figure_rst([path], gallery_conf["src_dir"], fig_titles=title)
