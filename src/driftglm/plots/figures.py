"""Arrays become figures. No estimators here: what these functions need, they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftglm.plots import style
from driftglm.plots.labels import apart
from driftglm.plots.style import COLUMN, PAGE, SMALL, TEXT, line_style, new_figure, shown, tidy
from driftglm.plots.timeline import ticks

Array = NDArray[Any]
if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
PANELS_ACROSS = 3
MOST_ROWS_NAMED = 60
ROW_HEIGHT = 0.15
WIDEST_LEGEND = 4
TALLEST = 9.0
CLIPPED = 1.5
REACH = 1.6448536
"""Half the width of a 90 % interval in standard deviations."""
LEGEND: dict[str, Any] = {"loc": "outside upper right", "fontsize": SMALL, "frameon": False}
MOST_MARKED = 24
"""With more steps markers would touch."""


def paths(
    labels: Sequence[object],
    values: Array,
    names: Sequence[str],
    *,
    bands: Array | None = None,
    lines: Sequence[str] = ("",),
    faint: Array | None = None,
    seasons: Array | None = None,
) -> Figure:
    """Small multiples: a panel a feature, a line a class, bands where they are given.

    Parameters
    ----------
    labels
        T labels of the steps.
    values
        (T, n_lines, n_panels).
    bands
        (2, T, n_lines, n_panels), lower and upper ends.
    names, lines
        Of the panels, and of the lines in each.
    faint
        (n_lines, n_panels) which lines are grey: those that are most likely nothing.
    seasons
        As `values`: the seasonal part of a coefficient, dotted where there is one.
    """
    n_panels = len(names)
    across = min(PANELS_ACROSS, n_panels)
    down = -(-n_panels // across)
    width = COLUMN if across == 1 else PAGE
    figure = new_figure(width, 0.35 + 1.35 * down if down > 1 else 1.9)
    grid = np.atleast_1d(figure.subplots(down, across, sharex=True, squeeze=False)).ravel()
    at, texts = ticks(labels, width / across - 0.75)
    for j, axes in enumerate(grid):
        if j >= n_panels:
            axes.remove()
            continue
        for k in range(len(lines)):
            ends = None if bands is None else bands[:, :, k, j]
            pale = faint is not None and bool(faint[k, j])
            _path(axes, values[:, k, j], ends, line_style(k, faint=pale))
            if seasons is not None and seasons[:, k, j].any():
                look = line_style(k) | {"linestyle": ":", "marker": ""}
                _path(axes, seasons[:, k, j], None, look)
        style.zero_line(axes)
        tidy(axes)
        axes.set_title(shown(names[j], 30), fontsize=TEXT, loc="left", pad=3)
        axes.set_xticks(at, texts)
        axes.locator_params(axis="y", nbins=5)
        # A column's last panel may stand above an empty place.
        axes.tick_params(labelbottom=j + across >= n_panels)
    figure.supylabel("coefficient", fontsize=TEXT)
    if len(lines) > 1:
        _legend(figure, lines, marked=len(labels) <= MOST_MARKED)
    return figure


def _path(
    axes: Axes, values: Array, ends: Array | None, look: dict[str, Any], name: str = ""
) -> None:
    """One line with a band between its `ends` (2, T); a single step is a dot with a bar."""
    at = np.arange(values.size)
    if values.size > MOST_MARKED:
        look = look | {"marker": ""}
    axes.plot(at, values, label=name, **look)
    if ends is None:
        return
    if values.size == 1:
        axes.vlines(at, *ends, color=look["color"], linewidth=1.1, alpha=0.5)
    else:
        axes.fill_between(at, *ends, color=look["color"], alpha=style.BAND, linewidth=0)


def _legend(figure: Figure, lines: Sequence[str], *, marked: bool) -> None:
    from matplotlib.lines import Line2D

    bare = {} if marked else {"marker": ""}
    handles = [Line2D([], [], **(line_style(k) | bare)) for k in range(len(lines))]
    ncols = min(len(lines), WIDEST_LEGEND)
    figure.legend(handles, [shown(line) for line in lines], ncols=ncols, **LEGEND)


def heatmap(
    labels: Sequence[object], values: Array, names: Sequence[str], *, panels: Sequence[str] = ("",)
) -> Figure:
    """Coefficients as colours: a row a feature, a column a step, a panel a class.

    `values` is (T, n_panels, n_features). White is zero; colours end at the 99th percentile of
    the sizes if others are much larger: one large coefficient must not make all others pale.
    """
    n_rows, n_panels = len(names), len(panels)
    named = n_rows <= MOST_ROWS_NAMED
    height = 1.0 + ROW_HEIGHT * n_rows if named else 5.5
    width = min(PAGE, COLUMN + 1.0 + 1.6 * (n_panels - 1))
    figure = new_figure(width, min(max(height, 1.6), TALLEST))
    grid = figure.subplots(1, n_panels, sharey=True, squeeze=False)[0]
    most, clipped = _colour_end(values)
    room = (width - 2.2) / n_panels
    look = {"cmap": style.DIVERGING, "aspect": "auto", "interpolation": "nearest"}
    for k, axes in enumerate(grid):
        image = axes.imshow(values[:, k].T, vmin=-most, vmax=most, **look)
        axes.set_xticks(*ticks(labels, room))
        axes.tick_params(labelsize=SMALL, length=2, width=0.6, color=style.GREY)
        axes.spines[:].set_linewidth(0.6)
        if n_panels > 1:
            axes.set_title(shown(panels[k], 18), fontsize=TEXT, pad=3)
    if named:
        grid[0].set_yticks(np.arange(n_rows), [shown(name) for name in names])
    else:
        grid[0].set_ylabel(f"{n_rows:,} features, the most important on top", fontsize=TEXT)
    extend = "both" if clipped else "neither"
    bar = figure.colorbar(image, ax=list(grid), extend=extend, aspect=30, pad=0.02)
    bar.set_label("coefficient", fontsize=TEXT)
    bar.ax.tick_params(labelsize=SMALL, length=2, width=0.6)
    bar.outline.set_linewidth(0.6)
    return figure


def _colour_end(values: Array) -> tuple[float, bool]:
    """The size at which colours end, and whether some are larger."""
    sizes = np.abs(values[np.isfinite(values)])
    top = float(sizes.max(initial=0.0))
    most = float(np.quantile(sizes, 0.99)) if top > 0 else 0.0
    if top <= CLIPPED * most or most == 0:
        return top or 1.0, False
    return most, True


def comparison(frame: pd.DataFrame, label: str) -> Figure:
    """Mean loss by test step, a line a model; the legend is in the order of the last step."""
    figure = new_figure(PAGE, max(2.8, 0.4 + 0.17 * frame.shape[1]))
    axes = figure.subplots()
    positions = np.arange(len(frame))
    for k, name in enumerate(frame.columns):
        look = line_style(k) | {"markersize": 4.0}
        axes.plot(positions, frame[name].to_numpy(dtype=float), label=shown(name), **look)
    axes.set_xticks(*ticks(list(frame.index), PAGE - 2.4))
    axes.set_xlabel(shown(frame.index.name or "step"), fontsize=TEXT)
    axes.set_ylabel(label, fontsize=TEXT)
    tidy(axes)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.margins(x=0.04 if len(frame) > 1 else 0.5)
    handles, texts = axes.get_legend_handles_labels()
    last = frame.iloc[-1].fillna(-np.inf).to_numpy(dtype=float)
    order = np.argsort(-last, kind="stable")
    look = LEGEND | {"loc": "outside right center"}
    figure.legend([handles[k] for k in order], [texts[k] for k in order], **look)
    return figure


def permutations(panels: dict[str, tuple[Array, float]]) -> Figure:
    """A panel a kind of shuffle: counts of the shuffles as a histogram, that of the data a line."""
    figure = new_figure(PAGE, 2.4)
    for axes, (title, (counts, real)) in zip(
        np.atleast_1d(figure.subplots(1, len(panels), sharey=True)), panels.items(), strict=True
    ):
        top = int(max(counts.max(initial=0), real))
        edges = np.arange(-0.5, top + 1.5, max(1, (top + 1) // 40))
        axes.hist(counts, bins=edges, color=style.LIGHT, label="shuffled")
        axes.axvline(real, color=style.COLOURS[1], linewidth=1.5, label="data")
        axes.set_xlabel(title, fontsize=TEXT)
        tidy(axes)
        axes.locator_params(axis="x", integer=True)
    axes = figure.axes[0]
    axes.set_ylabel("number of shuffles", fontsize=TEXT)
    axes.locator_params(axis="y", integer=True)
    figure.legend(*axes.get_legend_handles_labels(), **LEGEND)
    return figure


def words(
    title: str,
    labels: Sequence[object],
    names: Sequence[str] | Array,
    values: Array,
    deviations: Array | None = None,
) -> Figure:
    """Paths (T, k) of some words, each named at its end; bands of 90 % by their deviations."""
    figure = new_figure(PAGE, max(2.8, 0.7 + 0.17 * len(names)))
    axes = figure.subplots()
    last = len(labels) - 1
    for j in range(len(names)):
        reach = None if deviations is None else REACH * deviations[:, j]
        ends = None if reach is None else np.stack([values[:, j] - reach, values[:, j] + reach])
        _path(axes, values[:, j], ends, line_style(j), shown(names[j]))
    style.zero_line(axes)
    tidy(axes)
    axes.set_xticks(*ticks(labels, PAGE - 1.8))
    axes.set_ylabel("change of the log rate", fontsize=TEXT)
    axes.set_title(shown(title, 70), fontsize=TEXT + 1, loc="left")
    axes.margins(x=0.03 if last else 0.5)
    low, high = axes.get_ylim()
    room = 0.055 * (high - low) * 2.8 / figure.get_figheight()
    for j, position in enumerate(apart(values[last], room)):
        axes.annotate(
            shown(names[j]),
            xy=(last, values[last, j]),
            xytext=(1.02, position),
            textcoords=axes.get_yaxis_transform(),
            va="center",
            fontsize=SMALL,
            color=line_style(j)["color"],
            arrowprops={"arrowstyle": "-", "color": style.LIGHT, "linewidth": 0.5, "shrinkB": 2},
        )
    return figure


def autocorrelation(rho: Array, inclusion: Array, names: Sequence[str]) -> Figure:
    """How strongly each path is tied to its last step, from 0 (noise) to 1 (constant).

    One dot per feature, full if the feature is more likely included than not; more features than
    can be named are counted in a histogram.
    """
    named = len(names) <= MOST_ROWS_NAMED
    height = max(1.5, 0.7 + ROW_HEIGHT * len(names)) if named else 2.4
    figure = new_figure(COLUMN + 1.0, height)
    axes = figure.subplots()
    known, blue = np.isfinite(rho), style.COLOURS[0]
    if named:
        _dots(axes, rho, known, inclusion >= 0.5)  # noqa: PLR2004
        figure.legend(ncols=2, handletextpad=0, **LEGEND)
        axes.set_yticks(np.arange(len(names)), [shown(name, 34) for name in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
    else:
        axes.hist(rho[known], np.linspace(0.0, 1.0, 21).tolist(), color=blue, edgecolor="white")
        axes.set_ylabel(f"features (of {rho.size:,})", fontsize=TEXT)
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("lag-1 autocorrelation of the path", fontsize=TEXT)
    tidy(axes)
    return figure


def _dots(axes: Axes, rho: Array, known: Array, included: Array) -> None:
    """A row for each feature, and two entries of a legend."""
    at, blue = np.arange(rho.size), style.COLOURS[0]
    axes.hlines(at[known], 0.0, rho[known], color="0.88", linewidth=0.8, zorder=0)
    dot: dict[str, Any] = {"markersize": 4.5, "markeredgecolor": blue}
    for j in at[known]:
        axes.plot(rho[j], j, "o", color=blue if included[j] else "white", clip_on=False, **dot)
    for j in at[~known].tolist():
        axes.text(0.01, j, "never included", fontsize=SMALL - 1, color=style.GREY, va="center")
    for face, text in ((blue, "included"), ("white", "more likely zero")):
        axes.plot([], [], "o", color=face, label=text, **dot)
