"""The page and the plot of `peers.py`."""

import matplotlib as mpl
import numpy as np
import peer_data
from peer_fits import LOSSES
from peer_fits.tables import OURS, markdown, verdict

from driftglm.plots.style import GREY, LIGHT, PAGE, SMALL, TEXT, line_style, new_figure, tidy

MOST = 1.5
"""Losses beyond this multiple of the best are drawn at the edge."""
COLUMNS = 3

INTRODUCTION = """# Side by side with peers

    make bench     # or: python benchmarks/peers.py --write docs/results/peers.md

Every contestant is fitted to steps 1..T and predicts step T + 1, all in one run, each fit in a
process of its own. What is counted and how:

- **Seconds** are those to the contestant's own optimum by its own rule for stopping, tuning
  included where it needs tuning: strengths are chosen by the error on the last training step after
  fits to the earlier ones, then one more fit to all steps. driftglm's priors tune nothing. Not
  counted: imports, a tiny first fit that warms compilers up, and bringing the data into the form a
  peer takes (CSC, or the time-expanded design); driftglm's own sorting and checks are counted.
  At paper scale fits of less than ten seconds are made three times, and the least time counts.
- **Strengths** are ten, from one half to 1/1000 of the one at which all coefficients are zero,
  from strong to weak; scikit-learn's ridges have ten absolute ones, glum's ridge over time four. A
  peer of the newest step is tuned with the step before it.
- **Threads**: BLAS and OpenMP have one for every contestant unless the last section says else: at
  these sizes threads mostly wait for each other. driftglm is called with n_jobs=-1.
- **Time-expanded design**: column (i, t) is x_i on the rows of step t; one group a feature. The
  coefficients of step T predict T + 1.
- **Intercepts**: every contestant has one, unpenalised, as its package provides it (celer's
  logistic regression has none, and gets a column of tens). Time-expanded designs have also a
  column of ones, expanded and penalised like a feature, so that the intercept may move. driftglm
  has an intercept path.
- **Memory** is the peak of the process during the fit above what it held just before.
- **Nonzeros** are features; for the learned prior those with a probability above one half.
- *-all* sees all steps as one, *-one* the newest step only.
"""


def page(results, shapes, measured, about):
    """The whole page; `about` is (peers, versions, note, name of the plot)."""
    peers, found, note, plot = about
    parts = [INTRODUCTION.rstrip(), "## Who wins, who loses", summary(results)]
    if measured:
        parts += ["## Yardsticks", "\n".join(f"- {line}" for line in measured)]
    if plot:
        parts.append(f"![Test loss against time, a panel a data set]({plot})")
    for name, of_set in results.items():
        n_rows, n_columns, n_steps, family, n_values = shapes[name]
        sizes = f"{n_rows:,} rows, {n_columns:,} columns, {n_steps} training steps, "
        sizes += f"{n_values:,} stored values"
        parts += [
            f"## {name}",
            f"{peer_data.ABOUT[name]} {sizes}; loss: {LOSSES[family]}.",
            markdown(of_set),
            verdict(of_set),
        ]
    listed = ", ".join(f"{name} {number}" for name, number in found.items())
    settings = [f"| {peer.name} | {peer.settings} |" for peer in peers]
    table = "\n".join(["| contestant | settings |", "| --- | --- |", *settings])
    parts += ["## Versions and settings", f"{listed}.", note, table]
    return "\n\n".join(parts) + "\n"


def summary(results):
    """One line a data set: the best loss, how far the learned prior is off, who is faster."""
    lines = [
        "| data | least loss | learned prior | its place | fastest no worse than it |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    lost = []
    for name, of_set in results.items():
        measured = sorted((r for r in of_set if r.measured), key=lambda r: r.loss)
        ours = next((r for r in measured if r.peer == OURS), None)
        if ours is None:
            lines.append(f"| {name} | | no figures | | |")
            continue
        best = measured[0]
        place = f"{measured.index(ours) + 1} of {len(measured)}"
        quick = min((r for r in measured if r.loss <= ours.loss), key=lambda r: r.seconds)
        lines.append(
            f"| {name} | {best.peer} {best.loss:.4f} | {ours.loss / best.loss - 1:+.1%} | {place} "
            f"| {quick.peer} ({quick.seconds:.2f} s; learned {ours.seconds:.2f} s) |"
        )
        if best is not ours:
            ahead = ", ".join(r.peer for r in measured[: measured.index(ours)])
            lost.append(f"- {name}: {ahead}")
    said = ["Ahead of the learned prior in loss:", "\n".join(lost)] if lost else []
    return "\n\n".join(["\n".join(lines), *said])


def draw(results, path):
    """Loss relative to the best against seconds, a panel a set, a mark a peer."""
    shown = {name: [r for r in of_set if r.measured] for name, of_set in results.items()}
    shown = {name: of_set for name, of_set in shown.items() if of_set}
    peers = list(dict.fromkeys(r.peer for of_set in shown.values() for r in of_set))
    n_rows = max(-(-len(shown) // COLUMNS), 1)
    figure = new_figure(PAGE, 0.8 + 1.9 * n_rows + 0.12 * len(peers) / 4)
    grid = figure.subplots(n_rows, COLUMNS, squeeze=False).ravel()
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    for axes, (name, of_set) in zip(grid, shown.items(), strict=False):
        _panel(axes, name, of_set, peers)
    figure.supxlabel("seconds", fontsize=TEXT)
    figure.supylabel("test loss relative to the best", fontsize=TEXT)
    marks = [_mark(grid[0], peers, peer) for peer in peers]
    figure.legend(
        marks, peers, loc="outside upper center", ncols=4, fontsize=SMALL - 1, frameon=False
    )
    with mpl.rc_context({"svg.hashsalt": "peers"}):  # the same drawing every time
        figure.savefig(path, metadata={"Date": None})


def _panel(axes, name, of_set, peers):
    least = min(r.loss for r in of_set)
    for result in of_set:
        look = _look(peers, result.peer)
        height = min(result.loss / least, MOST)
        axes.plot(max(result.seconds, 1e-3), height, **look)
    axes.set_xscale("log")
    axes.axhline(1.0, color=GREY, linewidth=0.7, zorder=0)
    axes.set_title(name, fontsize=TEXT, loc="left", pad=3)
    axes.set_ylim(top=min(axes.get_ylim()[1], MOST + 0.02))
    axes.grid(axis="y", color=LIGHT, linewidth=0.4)
    tidy(axes)


def _look(peers, peer):
    size = 6.0 if peer == OURS else 4.0
    look = line_style(peers.index(peer)) | {"linestyle": "", "markersize": size}
    # Eight colours and ten markers: every pair of them is met before one comes again.
    return look | ({"markeredgecolor": "black"} if peer == OURS else {})


def _mark(axes, peers, peer):
    (mark,) = axes.plot([np.nan], [np.nan], **_look(peers, peer))
    return mark
