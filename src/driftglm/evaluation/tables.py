"""A frame of mean losses as text, Markdown, LaTeX or HTML, the best of every row marked."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from driftglm._typing import BoolArray, IntArray
from driftglm.exceptions import DataError

Rows = list[list[str]]
_LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)


def ranking(losses: ArrayLike) -> IntArray:
    """Positions from the least loss to the greatest; what is not finite comes last.

    Who is best is decided here, for every table, verdict and page. Equal losses keep their order.
    """
    values = np.asarray(losses, dtype=np.float64)
    return np.argsort(np.where(np.isfinite(values), values, np.inf), kind="stable")


def best_shown(losses: Sequence[float] | np.ndarray, digits: int) -> BoolArray:
    """Which losses are marked as best when shown with so many digits after the point.

    Losses that look equally good at these digits are marked alike; what is not finite never is.

    Examples
    --------
    >>> best_shown([16.9, 2.41, 2.409999], 3).tolist()
    [False, True, True]
    """
    shown = np.array([float(f"{value:.{digits}f}") for value in losses], dtype=np.float64)
    if not shown.size:
        return np.zeros(0, dtype=np.bool_)
    return np.asarray(np.isfinite(shown) & (shown == shown[ranking(shown)[0]]))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of plain text; all columns but the first are aligned to the right.

    Where a cell of a column ends in a star, the others end in a blank, so that points stay aligned.
    """
    columns = []
    for k, column in enumerate(zip(*rows, strict=True)):
        blank = " " if any(cell.endswith("*") for cell in column) else ""
        cells = [cell if cell.endswith("*") else cell + blank for cell in column]
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if k else cell.ljust(width) for cell in cells])
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


def render(frame: pd.DataFrame, format: str, *, label: str, digits: int) -> str:  # noqa: A002
    """The table as a string; the last row is the one over all steps."""
    if format not in _FORMATS:
        known = ", ".join(repr(name) for name in (*_FORMATS, "frame"))
        raise DataError(f"format={format!r}; {known} are allowed.")
    escape, bold, write = _FORMATS[format]
    header = [escape(str(frame.index.name)), *(escape(str(name)) for name in frame.columns)]
    body = []
    for step, values in zip(frame.index, frame.to_numpy(), strict=True):
        shown = [f"{value:.{digits}f}" for value in values]
        marks = best_shown(values, digits)
        cells = [bold(text) if best else text for text, best in zip(shown, marks, strict=True)]
        body.append([escape(str(step)), *cells])
    return write(header, body, escape(label))


def _text(header: list[str], body: Rows, label: str) -> str:
    return "\n".join([f"{label} (* best)", *aligned([header, *body])])


def _markdown(header: list[str], body: Rows, label: str) -> str:
    lines = [[f"{label}: {header[0]}", *header[1:]], ["---", *["---:"] * (len(header) - 1)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _latex(header: list[str], body: Rows, label: str) -> str:
    opening = [f"% {label}", rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}"]
    first, *rows, last = (" & ".join(cells) + r" \\" for cells in [header, *body])
    rule = r"\hline"
    lines = [*opening, rule, first, rule, *rows, rule, last, rule, r"\end{tabular}"]
    return "\n".join(lines)


def _html(header: list[str], body: Rows, label: str) -> str:
    def line(cells: list[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>"

    rows = "\n".join(line(row, "td") for row in body)
    head = f"<thead>{line(header, 'th')}</thead>"
    return f"<table>\n<caption>{label}</caption>\n{head}\n<tbody>\n{rows}\n</tbody>\n</table>"


_Format = tuple[Callable[[str], str], Callable[[str], str], Callable[[list[str], Rows, str], str]]
_FORMATS: dict[str, _Format] = {
    "text": (str, lambda value: f"{value}*", _text),
    "markdown": (lambda text: text.replace("|", r"\|"), lambda value: f"**{value}**", _markdown),
    "latex": (lambda text: text.translate(_LATEX), lambda value: rf"\textbf{{{value}}}", _latex),
    "html": (html.escape, lambda value: f"<b>{value}</b>", _html),
}
