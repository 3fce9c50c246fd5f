"""Tables of short cells, and of many, are marked for the style sheet."""

from __future__ import annotations

from typing import Any

from docutils import nodes

#: Letters in the longest cell of a table of figures.
SHORT = 32
#: Columns from which on a table is a wide one.
MANY = 6


def is_short(table: nodes.table) -> bool:
    """Whether no cell of a table is a sentence."""
    return all(len(cell.astext()) <= SHORT for cell in table.findall(nodes.entry))


def _on_read(app: Any, doctree: nodes.document) -> None:
    for table in doctree.findall(nodes.table):
        if is_short(table):
            table["classes"].append("figures")
        elif len(list(table.findall(nodes.colspec))) >= MANY:
            table["classes"].append("wide")


def setup(app: Any) -> dict[str, bool]:
    """Look at the tables of every page when it has been read."""
    app.connect("doctree-read", _on_read)
    return {"parallel_read_safe": True}
