"""One look for all figures, set on the figures themselves: no global setting is touched.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart; lines also
differ in their dashes and markers, so that grey prints can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driftglm.exceptions import DriftError

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31",
)  # fmt: skip
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))
MARKERS = "os^Dv<>PX*"
DIVERGING = "RdBu_r"
GREY, LIGHT, FAINT = "0.45", "0.75", "0.6"
COLUMN, PAGE = 3.4, 7.0
"""Widths in inches: a column of a two-column paper, and a page."""
TEXT, SMALL = 8.0, 7.0
"""Sizes in points at the width printed."""
BAND = 0.18
LONGEST = 26


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that belongs to no window and no list of open figures."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DriftError(
            "figures need matplotlib, which is not installed; install driftglm[plot]."
        ) from error
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def shown(name: object, longest: int = LONGEST) -> str:
    r"""A name as a label: one line, not too long, and every character taken literally.

    Examples
    --------
    >>> shown("tax_rate^2")
    'tax_rate^2'
    >>> shown("$income$")
    '\\$income\\$'
    >>> shown("a very long name of a feature that nobody can read", 20)
    'a very long…an read'
    """
    # Dollars would begin a formula.
    return shortened(name, longest).replace("$", r"\$")


def shortened(name: object, longest: int) -> str:
    """A name in one line; of a long one the beginning and the end."""
    text = "".join(c if c.isprintable() else " " for c in str(name)).strip() or "(no name)"
    if len(text) <= longest:
        return text
    tail = (longest - 1) * 2 // 5
    return f"{text[: longest - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def line_style(number: int, *, faint: bool = False) -> dict[str, Any]:
    """Colour, dashes and marker of the n-th line of a figure."""
    return {
        "color": FAINT if faint else COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number // len(COLOURS) % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 3.0,
        "linewidth": 1.1,
    }


def tidy(axes: Axes) -> None:
    """Two spines, small ticks, a faint grid across."""
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_linewidth(0.6)
        axes.spines[side].set_color(GREY)
    axes.tick_params(labelsize=SMALL, length=2.5, width=0.6, color=GREY)
    axes.yaxis.get_offset_text().set_fontsize(SMALL)


def zero_line(axes: Axes) -> None:
    """Where a coefficient says nothing."""
    axes.axhline(0.0, color=LIGHT, linewidth=0.7, zorder=0)
