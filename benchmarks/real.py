"""Four real data sets with drift, rolling origin: three priors against nine tuned baselines.

    python benchmarks/real.py [--sets elec2 bike_hour] [--tune dev origin] [--jobs 2] [--cache DIR]
                              [--write docs/results/real.md] [--quick]

The learned, exact and variational priors against ridge and lasso on the last step, on the last 3
and 6 steps and on all steps, and ridge over time, every strength tuned on the development step and
at every origin. A run that was killed goes on where it was if it has the same --cache. The data are
not part of the project, see `real_sets`; sets that are absent are skipped.
"""

import argparse
import sys
import tempfile
import time as clock
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from mda10k import markdown, shown
from real_sets import SETS, load_set
from result_pages import write_page
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from driftglm.evaluation import RollingOrigin
from driftglm.evaluation.cache import Cache
from driftglm.evaluation.contestants import split_pipeline
from driftglm.evaluation.fingerprint import data_digest, digest, library_fingerprint
from driftglm.plots.style import GREY, LIGHT, PAGE, SMALL, TEXT, line_style, new_figure, tidy

LEVEL = 0.9
MOST = 1.6
"""Losses beyond this multiple of the best are drawn at the edge, with their value."""
TUNINGS = {
    "dev": "once, on the development step",
    "origin": "anew at every origin, on the step before",
}

INTRODUCTION = """# Real data with drift

    python benchmarks/real.py --write docs/results/real.md

Every step is predicted by models fitted to all earlier steps (or to the last 1, 3 or 6 of them).
Baselines have their strength tuned on the development step (*dev*) or anew at every origin on the
step before (*origin*); in elec2 and bike_hour their columns are divided by their standard
deviation. The drift models have nothing to tune, so that both columns show the same fits.
"""

RATIOS = """## Loss relative to the best contestant

Mean loss over all test rows, divided by that of the best model of the column. The likelihood of
text is mostly that of words nobody could tell: a percent there is much.
"""

RANKS = """## Mean rank

Rank by loss in every test step, 1 is best, averaged over the steps of a set, then over sets.
"""

COVERAGE = """## Intervals

Share of rows inside the 90 % prediction intervals of the learned prior, in the test steps and in
the steps before them, each predicted from all earlier ones:
"""

LEARNED = """## What was learned

- elec2: features that say nothing for a year (the neighbouring state's market before it was linked)
  and columns whose mean wanders cannot be told from the intercept. Centring columns at their
  step's own mean was worth more than everything else together; the
  [decision](../adr/0007-the-intercept-of-a-step.md) has the figures.
- bike_hour: counts scatter 20 to 30 times more than a Poisson distribution. Without a dispersion
  every wiggle of a month is certain, and so is its drift. The season turns so fast that the last
  month alone is a strong baseline; the learned prior is as good in loss, and knows how sure it is.
- bike_hour, ridge over time: on the development step weak and strong penalties are equally good, in
  some later months the weak ones are far off, for the reason of the next line. Which one is chosen
  hangs on rounding errors of fits that are stopped early: strength .77 and autocorrelation .98,
  chosen in another run, give 39.4.
- The paper's priors, modes without a dispersion, are good in most months and far off in a few: a
  dummy seen in a single step can take any coefficient.
- Constants of the learned prior stand on development steps and simulated worlds
  ([the table](choices.md)). The first version of them was found with test years in sight, so that
  the idea of shared directions, of two views and of centring is not out of sample as baselines are.
- mda10k_vol: tuned anew every year, ridge on the last six years is ahead of the learned prior. Its
  tuning on 2020 takes off the penalty altogether, and the intercept it then predicts for 2021 is
  right. Within the years the learned prior is the best of all under this tuning.
- Intervals of mda10k_vol are as wide as the years before 2020 ask for, and wider; that year's shock
  alone is what four test years fall short by.
- mda10k_vol and beige_fomc have pages of their own: [annual reports](mda10k.md) and
  [text](beige-fomc.md).
"""


@dataclass(frozen=True)
class Found:
    """What was measured on one set: comparisons by tuning, coverage by step, references.

    `earlier` is the coverage of steps before the test steps.
    """

    real_set: Any
    comparisons: dict[str, Any]
    coverage: pd.DataFrame | None
    earlier: pd.DataFrame | None
    reference: Any


# ------------------------------------------------------------------------ measuring


def interval(model, real_set, fold, cache):
    """(n, 2) prediction intervals of a fold's test rows by a fit to its training rows."""
    key = cache.key("interval", LEVEL, model, fold.train, fold.test)
    piece = cache.read(key)
    if piece is None:
        select, final, _ = split_pipeline(clone(model))
        X, X_new = real_set.X[fold.train], real_set.X[fold.test]
        if select is not None:
            X, X_new = select.fit_transform(X), select.transform(X_new)
        with threadpool_limits(limits=1):
            final.fit(X, real_set.y[fold.train], time=real_set.time[fold.train])
            ends = final.predict_interval(X_new, level=LEVEL)
        piece = {}, {"interval": ends}
        cache.write(key, piece)
    return piece[1]["interval"]


def coverage(real_set, splitter, folder, jobs):
    """Share of rows inside the learned prior's intervals and their mean width, a row a step."""
    parts = [data_digest(part) for part in (real_set.X, real_set.y, real_set.time)]
    cache = Cache.open(folder, digest("real", library_fingerprint(), *parts))
    folds = splitter.folds(real_set.time, real_set.time.size)
    model = real_set.models["learned"]
    ends = Parallel(n_jobs=jobs)(delayed(interval)(model, real_set, f, cache) for f in folds)
    steps = np.concatenate([np.repeat(fold.step, fold.test.size) for fold in folds])
    y, (low, high) = real_set.y[np.concatenate([f.test for f in folds])], np.concatenate(ends).T
    rows = pd.DataFrame({"covered": (low <= y) & (y <= high), "width": high - low})
    by_step = rows.groupby(steps).mean()
    by_step.loc["overall"] = rows.mean()
    by_step["n_rows"] = [*rows.groupby(steps).size(), y.size]
    return by_step.rename_axis("step")


def measure(name, real_set, arguments, folder):
    """All that is asked about one set."""
    options = {"n_jobs": arguments.jobs, "cache_dir": folder}
    comparisons = {}
    for tune in arguments.tune:
        began = clock.perf_counter()
        comparisons[tune] = real_set.contest(real_set.models, tune=tune, **options)
        said(f"{name}, tune={tune}: {(clock.perf_counter() - began) / 60:.1f} minutes")
        for model, lines in comparisons[tune].warnings.items():
            for line in np.unique(lines):
                said(f"{name}, {model}: {line}")
    covered = earlier = None
    if real_set.intervals:
        covered = coverage(real_set, real_set.splitter, folder, arguments.jobs)
    if real_set.earlier:
        before = RollingOrigin(test=list(real_set.earlier))
        earlier = coverage(real_set, before, folder, arguments.jobs)
    others = real_set.contest(real_set.reference, **options) if real_set.reference else None
    return Found(real_set, comparisons, covered, earlier, others)


def said(line):
    """Progress and warnings go to stderr, the page to stdout."""
    print(line, file=sys.stderr, flush=True)


# --------------------------------------------------------------------------- tables


def over_sets(found, value):
    """A row a model, a column a set and tuning; `value` makes a Series of a comparison."""
    return pd.DataFrame(
        {
            (name, tune): value(comparison)
            for name, one in found.items()
            for tune, comparison in one.comparisons.items()
        }
    )


def overall(comparison):
    """Mean loss over all test rows by model."""
    return comparison.table("frame").loc["overall"]


def relative(comparison):
    """Overall loss as a multiple of the best contestant's."""
    losses = overall(comparison)
    return losses / losses.min()


def mean_rank(comparison):
    """Rank averaged over test steps."""
    return comparison.ranks().loc["mean"]


def with_best(frame, form):
    """Numbers as text, the best of every column in bold."""
    text = frame.map(form.format)
    return text.where(text != text.apply(lambda column: min(column, key=float)), "**" + text + "**")


def summary(found):
    """The tables over all sets: relative losses and mean ranks, models by mean rank."""
    ranks, ratios = over_sets(found, mean_rank), over_sets(found, relative)
    for tune in dict.fromkeys(tune for _, tune in ranks.columns):
        of_tune = [column for column in ranks.columns if column[1] == tune]
        ranks["all sets", tune] = ranks[of_tune].mean(axis=1)
        ratios["worst", tune] = ratios[of_tune].max(axis=1)
    order = ranks["all sets"].mean(axis=1).sort_values(kind="stable").index
    parts = []
    for title, frame, form in ((RATIOS, ratios, "{:.3f}"), (RANKS, ranks, "{:.2f}")):
        table = with_best(frame.loc[order], form)
        table.columns = [f"{name}, {tune}" for name, tune in table.columns]
        parts += [title.rstrip(), markdown(table.rename_axis("model"))]
    return "\n\n".join(parts)


def covered_table(found):
    """Coverage and width by set."""
    lines = [
        "| set | covered | least and most in a step | mean width | in earlier steps | in all |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, one in found.items():
        if one.coverage is not None:
            steps, whole = one.coverage["covered"].iloc[:-1], one.coverage.loc["overall"]
            range_text = f"{steps.min():.3f} - {steps.max():.3f}"
            cells = [name, f"{whole.covered:.3f}", range_text, f"{whole.width:.3g}"]
            lines.append(f"| {' | '.join(cells + earlier_cells(one))} |")
    return "\n\n".join([COVERAGE.rstrip(), "\n".join(lines)]) if len(lines) > 2 else ""


def earlier_cells(one):
    """Coverage of the steps before the test steps, and of both together."""
    if one.earlier is None:
        return ["", ""]
    before, after = (part.loc["overall"] for part in (one.earlier, one.coverage))
    n_rows = before.n_rows + after.n_rows
    both = (before.covered * before.n_rows + after.covered * after.n_rows) / n_rows
    first, last = one.real_set.earlier[0], one.real_set.earlier[-1]
    return [f"{before.covered:.3f} ({first} - {last})", f"{both:.3f}"]


def details(name, one):
    """One data set's part of the page."""
    parts = [f"## {name}", one.real_set.about]
    if one.reference is not None:
        losses = overall(one.reference)
        parts += [
            f"For comparison, {model}: {loss:.{one.real_set.digits}f} overall."
            for model, loss in losses.items()
        ]
    if one.coverage is not None:
        parts.append(f"90 % intervals of the learned prior cover: {covered_steps(one.coverage)}.")
    if one.earlier is not None:
        parts.append(f"In earlier steps they cover: {covered_steps(one.earlier)}.")
    for tune, comparison in one.comparisons.items():
        parts.append(f"### {name}, parameters chosen {TUNINGS[tune]}")
        parts += tuned_details(comparison, one.real_set.digits)
    return "\n\n".join(parts)


def covered_steps(by_step):
    """Coverage step by step, in words."""
    return ", ".join(f"{step} {row.covered:.3f}" for step, row in by_step.iterrows())


def tuned_details(comparison, digits):
    """Losses by model, by step and within steps, and what was chosen."""
    steps = comparison.table("frame").iloc[:-1]
    table = pd.DataFrame(
        {
            "overall": overall(comparison).map(f"{{:.{digits}f}}".format),
            "mean over steps": steps.mean().map(f"{{:.{digits}f}}".format),
            "relative": relative(comparison).map("{:.3f}".format),
            "mean rank": mean_rank(comparison).map("{:.1f}".format),
            "seconds": pd.Series(comparison.seconds).map("{:.0f}".format),
        }
    ).loc[overall(comparison).sort_values(kind="stable").index]
    parts = [markdown(table.rename_axis(f"model, {comparison.label}"))]
    parts.append(comparison.table("markdown", digits=digits))
    if comparison.metric == "mse":
        parts.append(comparison.table("markdown", metric="within", digits=digits))
    chosen = [f"{name} {shown(sets)}" for name, sets in comparison.params.items() if sets[0]]
    return [*parts, f"Chosen: {'; '.join(chosen)}."]


def page(found, plot, note):
    """The whole page."""
    parts = [INTRODUCTION.rstrip(), summary(found), covered_table(found)]
    if plot:
        parts.append(f"![Loss relative to the best, by model and set]({plot})")
    parts += [details(name, one) for name, one in found.items()]
    return "\n\n".join(part for part in [*parts, LEARNED.rstrip(), note] if part) + "\n"


# ----------------------------------------------------------------------------- plot


def draw(ratios, path):
    """A panel a set, a row a model, a mark a way of tuning; columns are (set, tuning)."""
    sets = list(dict.fromkeys(name for name, _ in ratios.columns))
    tunings = list(dict.fromkeys(tune for _, tune in ratios.columns))
    order = ratios.rank().mean(axis=1).sort_values(ascending=False, kind="stable").index
    figure = new_figure(PAGE, 0.9 + 0.19 * len(order))
    grid = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
    for name, axes in zip(sets, grid, strict=True):
        values = ratios.loc[order, name].to_numpy()
        for k, tune in enumerate(tunings):
            at = np.arange(len(order)) + 0.2 * (k - 0.5 * (len(tunings) - 1))
            look = line_style(k) | {"linestyle": "", "markersize": 3.5, "clip_on": False}
            axes.plot(np.minimum(values[:, k], MOST), at, label=f"tuned: {tune}", **look)
        _beyond(axes, values)
        axes.axvline(1.0, color=GREY, linewidth=0.7, zorder=0)
        axes.set_title(name, fontsize=TEXT, loc="left", pad=3)
        axes.locator_params(axis="x", nbins=4)
        axes.grid(axis="y", color=LIGHT, linewidth=0.4)
        tidy(axes)
    for label in grid[0].set_yticks(np.arange(len(order)), list(order)):
        label.label1.set_fontweight("bold" if label.label1.get_text() == "learned" else "normal")
    figure.supxlabel("loss relative to the best contestant", fontsize=TEXT)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper right", ncols=2, fontsize=SMALL, frameon=False
    )
    with mpl.rc_context({"svg.hashsalt": "real"}):  # the same drawing every time
        figure.savefig(path, metadata={"Date": None})


def _beyond(axes, values):
    """Values past the edge in words, once a row."""
    for place, row in enumerate(values):
        far = dict.fromkeys(f"{value:.1f}" for value in row if value > MOST)
        if far:
            axes.annotate(
                f"{', '.join(far)} \N{RIGHTWARDS ARROW}",
                (MOST, place),
                (-5, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=SMALL - 1,
            )


# ------------------------------------------------------------------------------ run


def run(arguments, folder):
    """Every set asked for that is here."""
    found = {}
    for name in arguments.sets:
        real_set = load_set(name, quick=arguments.quick)
        if real_set is None:
            said(f"{name} was not found; set DRIFTGLM_DATA to the folder that holds it.")
            continue
        found[name] = measure(name, real_set, arguments, folder)
    return found


def main():
    """Compare on every data set found and print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--tune", nargs="+", choices=TUNINGS, default=list(TUNINGS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", help="folder of finished fits, to go on from")
    parser.add_argument("--write", type=Path, help="the page; its plot is put beside it")
    parser.add_argument("--quick", action="store_true", help="few rows, words and test steps")
    arguments = parser.parse_args()
    if arguments.write:  # better to fail now than in an hour
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
    began = clock.perf_counter()
    resumed = bool(arguments.cache) and any(Path(arguments.cache).glob("*.zip"))
    with tempfile.TemporaryDirectory() as scratch:
        # Both ways of tuning share fits, so there is always a folder for them.
        found = run(arguments, arguments.cache or scratch)
    if not found:
        return
    minutes = (clock.perf_counter() - began) / 60
    note = (
        f"Seconds are of all test fits, without tuning. The page took {minutes:.1f} minutes with "
    )
    note += f"{arguments.jobs} processes{', going on from finished fits' if resumed else ''}."
    plot = arguments.write.with_suffix(".svg") if arguments.write else None
    text = page(found, plot.name if plot else "", note)
    print(text)
    if arguments.write:
        write_page(arguments.write, text)
        draw(over_sets(found, relative), plot)


if __name__ == "__main__":
    main()
