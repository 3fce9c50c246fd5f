"""The paper's first experiment on 77 % of its own reports, and how far the outcome can be shaken.

    python benchmarks/ten_k.py [--out DIR] [--jobs 2] [--write docs/results/ten-k.md]

The same as `driftglm reproduce forecasting --corpus tenk_1996_2005 --vocabulary training`, and then
the learned prior and the two lassos under other choices. Killed, it goes on with the same --out.
The data are not part of the project; they are looked for as in `real_sets.py`, and nothing happens
where they are absent. With --write a picture of words is put beside the page.
"""

import argparse
import re
import sys
import time as clock
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from real_sets import data_folder
from result_pages import stamp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from driftglm import DriftRegressor
from driftglm.baselines import LassoAll, LassoOne
from driftglm.datasets import load_counted_reports
from driftglm.datasets.tenk_known import ROWS
from driftglm.estimators.statements import DEFAULT, OUTSIDE
from driftglm.evaluation import RollingOrigin, compare
from driftglm.experiments import Settings, reproduce_forecasting
from driftglm.experiments.paper import (
    BASELINES,
    EVERYONE,
    FORECASTING,
    FORECASTING_RATE,
    RATES,
)
from driftglm.experiments.words import WordSelector
from driftglm.files import write_atomically
from driftglm.priors import Variational

NAME = "tenk_1996_2005"
PAPER_NOISE = 0.5
TAIL = 0.01
N_SHOWN = 12
INTRODUCTION = """# The paper's first experiment on its own reports

{rows:,} of {read:,} annual reports (management's discussion; 77 % of the paper's corpus, the same
keys), those whose firm has a report a year earlier; 1997-2005, a year a step. Log volatility after
the report from which words it uses (ranks 101 to 10,101 in the training years of each origin,
binary) and from that of the year before, which is always in. Test years 2003-2005, each predicted
by fits to all years before it. Baselines, and the rate of the paper's own algorithm, are tuned on
2002; the other drift models tune nothing. The corpus is not part of the project.

    driftglm reproduce forecasting --corpus {name} --vocabulary training  # the table
    python benchmarks/ten_k.py --write docs/results/ten-k.md              # this page

Mean squared error, in brackets the paper's. The labels are not the paper's: idiosyncratic daily
volatility, where the paper has that of all returns over 12 months. So figures agree in kind at
best: which model beats which, and by how much.
"""
AFTER_TABLE = """
*paper* is the paper's own algorithm: its bound, L-BFGS from the lasso of the last year, noise
variance 1/2, rate chosen on 2002 among {rates} (here {rate});
what becomes of its words is told [below](#the-papers-own-algorithm-and-ours).
*exact* and *variational* are the same prior at the paper's rate of 1, integrated exactly and by its
bound, found by our solver with the noise estimated. *forecast* is the learned prior with
`extrapolate="forecast"`; *learned* is the default, which lets earlier forecasts say how much
history to trust. p: Wilcoxon's test of reports against learned, Holm-corrected; p of years: Diebold
and Mariano's test of yearly means, uncorrected: three years tell very little, and reports of a year
share its luck. Seconds: fits of the three test years, tuning apart, with one thread.

## What agrees with the paper
"""
WHY = """
Why, as far as can be said: to predict 2003 the paper's models of one year had {paper_last:,}
reports of 2002 to go by, these {last:,}, so that what is fitted to one year suffers most. Labels
are another kind of volatility, numbers were removed from the texts, and firms without a report a
year earlier are left out; what these do cannot be told apart here.
"""
OWN = """## The paper's own algorithm, and ours

Both have the same prior. The paper's loss is that of residuals of variance 1/2, whatever the data
say; those of the best model here have {noise:.2f}, so that a word needs {times:.0f} times the
support to stay. And L-BFGS begins with the words that a lasso of the last year's reports keeps: one
that is zero there, or becomes so, stays zero, where our solver lets words enter. *Words* are those
left in the fits for 2003, 2004 and 2005 (of the first table in that for 2002); with none, a model
is past volatility alone, with a coefficient and a level that drift.

"""
WORDS = """## Which words matter, which drifted

The learned model of all years (`extrapolate="forecast"`): {alone} of {total:,} words have a path of
their own ({kinds}). All others act together only, by a few sums over all words, of which every word
has a part. Of {shared:,} words that part is credibly not zero (*shared*), of {zero:,} it is not
(*zero*); neither says anything about the word itself ([statements](../statements.md)).

Drawn are the {shown} words with a path that matter most; the table has their coefficients, in
logarithms of volatility, and the largest change between two years with its 90 % interval. Changes
are *too small* to mention if they move volatility by less than a twentieth of its spread when the
word's column moves by its own: the rarer a word, the larger they may be. A word is *drifting*
(*sign-flip*: from below zero to above, or back) if P(drift), the probability that its path is not
constant, is .9 or more *and* the interval leaves out changes that are too small; *static* if the
path is rather constant or all of the interval is too small. Else it is *undecided*: that it changed
may be sure, but not that it changed enough.

![Paths]({picture})

"""
ROBUST = """## How far it can be shaken

Mean squared error over all test reports; *learned* is `extrapolate="forecast"` here, lassos are
tuned on 2002.
"""


def rows_of(reports):
    """Words and past volatility, target, years and firms."""
    past = sp.csr_matrix(reports.frame["logvol_before"].to_numpy()[:, None])
    X = sp.csr_array(sp.hstack([reports.counts.astype(np.float64), past], format="csr"))
    names = ("logvol_after", "year", "firm")
    return X, *(reports.frame[name].to_numpy() for name in names)


def contest(rows, cache, jobs, *, ranks=FORECASTING.ranks, always=True, groups=False, **options):
    """Overall errors of the learned prior and of both lassos."""
    X, y, years, firms = rows
    extra = {"always_in": [-1]} if always else {}
    n_extra = 1
    if not always:
        X, n_extra = X[:, :-1], 0
    models = {
        "lasso-one": LassoOne(**extra),
        "lasso-all": LassoAll(**extra),
        "learned": DriftRegressor(extrapolate="forecast", **extra, **options),
    }
    piped = {m: make_pipeline(WordSelector(*ranks, n_extra=n_extra), v) for m, v in models.items()}
    splitter = RollingOrigin(dev=FORECASTING.dev, test=list(FORECASTING.test))
    ids = {"groups": firms} if groups else {}
    found = compare(piped, X, y, years, splitter, cache_dir=cache, n_jobs=jobs, **ids)
    return found.table("frame").iloc[-1]


def trimmed(rows):
    """Without the reports whose volatilities, before or after, are in the tails of a hundredth."""
    X, y, years, firms = rows
    past = X[:, [X.shape[1] - 1]].toarray().ravel()
    training = years < min(FORECASTING.test)
    inside = np.ones(y.size, dtype=bool)
    for values in (y, past):
        low, high = np.quantile(values[training], [TAIL, 1 - TAIL])
        inside &= (values >= low) & (values <= high)
    kept = np.flatnonzero(inside)
    return X[kept], y[kept], years[kept], firms[kept]


def shaken(rows, cache, jobs):
    """Overall errors under other choices, by what was chosen."""
    yield "as above", contest(rows, cache, jobs)
    for first, last in ((1, 5_000), (501, 5_501), (1, 16_000)):
        ranks = contest(rows, cache, jobs, ranks=(first, last))
        yield f"words ranked {first:,} to {last:,}", ranks
    yield "1 % of both tails of both volatilities left out", contest(trimmed(rows), cache, jobs)
    yield "noise constant over the years", contest(rows, cache, jobs, noise="constant")
    yield "Student errors", contest(rows, cache, jobs, errors="student")
    yield "firms as groups (learned alone)", contest(rows, cache, jobs, groups=True)
    yield "without past volatility", contest(rows, cache, jobs, always=False)


def main_table(result):
    """Markdown: a row a model; ours, the paper's in brackets."""
    frame = result.table("training")
    years = [*map(str, FORECASTING.test), "overall"]
    lines = [f"| model | {' | '.join(years)} | p | p of years | seconds |", "|---|" + "---:|" * 7]
    tests = result.significance("training").set_index("model")
    comparison = result.comparisons["training"]
    models = [m for m in frame.index if m in comparison.models]
    best = {y: frame.loc[models, (y, "ours")].min() for y in years}
    for model in frame.index:
        cells = []
        for year in years:
            ours, paper = frame.loc[model, (year, "ours")], frame.loc[model, (year, "paper")]
            shown = f"**{ours:.4f}**" if ours == best[year] and model in models else f"{ours:.4f}"
            cells.append(shown if np.isnan(paper) else f"{shown} ({paper:.3f})")
        known = model in tests.index
        cells += [f"{tests.loc[model, k]:.2g}" if known else "" for k in ("p_holm", "p_years")]
        cells.append(f"{comparison.seconds[model]:.0f}" if model in models else "")
        lines.append(f"| {' | '.join([model, *cells])} |")
    return "\n".join(lines)


def claims(figures):
    """What the paper found, and whether it holds of some overall figures."""
    ridge = figures[["ridge-one", "ridge-all", "ridge-ts"]].min()
    baseline = figures[list(BASELINES)].min()
    of_prior = {name: figures[name] / baseline - 1 for name in ("paper", "exact", "learned")}
    lasso = figures[["lasso-one", "lasso-all"]].min()
    return {
        "The better lasso beats every ridge": lasso / ridge - 1,
        "The lasso of one year beats that of all": figures["lasso-one"] / figures["lasso-all"] - 1,
        "Its prior, by its own algorithm, beats lasso-one": figures["paper"] / figures["lasso-one"]
        - 1,
        "Its prior, by its own algorithm, beats every baseline": of_prior["paper"],
        "Its prior, the mode found by our solver, beats every baseline": of_prior["exact"],
        "The default beats every baseline": of_prior["learned"],
    }


def reading(result):
    """Markdown: a row a claim; yes or no, and by how much, in the paper and here."""
    frame = result.table("training")["overall"]
    ours, theirs = claims(frame["ours"]), claims(frame["paper"])
    own = list(ours)[:4]  # the paper has no figures of our solver and default
    lines = ["| | paper | here |", "|---|---|---|"]
    for claim, gap in ours.items():
        paper = said(theirs[claim]) if claim in own else ""
        lines.append(f"| {claim} | {paper} | {said(gap)} |")
    return "\n".join(lines)


def said(gap):
    """Yes or no, and the difference."""
    return f"{'yes' if gap < 0 else 'no'} ({100 * gap:+.1f} %)"


def word_picture(rows, words, path):
    """Paths of the words that matter most, drawn; and Markdown about them."""
    X, y, years, _ = rows
    selector = WordSelector(*FORECASTING.ranks, n_extra=1).fit(X)
    names = [*np.array(words, dtype=object)[selector.columns_], "past volatility"]
    model = DriftRegressor(extrapolate="forecast", always_in=[-1])
    model.fit(selector.transform(X), y, time=years)
    table = pd.DataFrame(model.summary(feature_names=names))
    table = table[table["feature"] != "past volatility"]
    alone = table[~table["kind"].isin(OUTSIDE)]
    shown = alone.head(N_SHOWN)["feature"].tolist()
    model.plot_paths(features=shown, feature_names=names).savefig(path)
    kinds = table["kind"].value_counts()
    text = WORDS.format(
        alone=len(alone),
        total=len(table),
        kinds=", ".join(f"{n} {kind}" for kind, n in alone["kind"].value_counts().items()),
        shared=kinds.get("shared", 0),
        zero=kinds.get("zero", 0),
        shown=len(shown),
        picture=path.name,
    )
    least = dict(zip(names, DEFAULT.least(model._fits[0]), strict=True))  # noqa: SLF001
    lines = ["| word | kind | 1997 | 2005 | next | largest change | too small below | P(drift) |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|---:|"]
    for _, row in table[table["feature"].isin(shown)].iterrows():
        numbers = [f"{row[k]:+.3f}" for k in ("coef_first", "coef_last", "coef_next", "change")]
        numbers[-1] += f" ({row['change_lower']:+.3f} to {row['change_upper']:+.3f})"
        numbers += [f"{least[row['feature']]:.3f}", f"{row['drift_probability']:.2f}"]
        lines.append(f"| {' | '.join([row['feature'], row['kind'], *numbers])} |")
    return text + "\n".join(lines)


def algorithm(rate, **changed):
    """The paper's own algorithm, or the same with something changed."""
    own = {"solver": "lbfgs", "init": "lasso-one", "noise": "paper"}
    return DriftRegressor(prior=Variational(rate=rate), always_in=[-1], **(own | changed))


def errors_and_words(rows, model, years):
    """Mean squared error over all reports of some years, and the words in of every fit."""
    X, y, time, _ = rows
    losses, n_words = [], []
    for year in years:
        before, now = np.flatnonzero(time < year), np.flatnonzero(time == year)
        selector = WordSelector(*FORECASTING.ranks, n_extra=1).fit(X[before])
        fit = clone(model).fit(selector.transform(X[before]), y[before], time=time[before])
        predicted = fit.predict(selector.transform(X[now]), time=time[now])
        losses.append((predicted - y[now]) ** 2)
        n_words.append(int((fit.coef_path_[:, :-1] != 0).any(axis=0).sum()))
    return float(np.concatenate(losses).mean()), n_words


def own_algorithm(rows, rate):
    """Markdown: the dev year by rate, and the way from the paper's algorithm to our mode."""
    lines = ["| rate | error of 2002, on which it is chosen | words |", "|---:|---:|---:|"]
    for each in RATES:
        error, (n_words,) = errors_and_words(rows, algorithm(each), [FORECASTING.dev])
        lines.append(f"| {each:g} | {error:.4f} | {n_words:,} |")
    one = FORECASTING_RATE
    ladder = {
        f"the paper's algorithm, rate {rate:g}, as chosen on 2002: *paper*": algorithm(rate),
        f"rate {one:g}, as the paper chose": algorithm(one),
        "and our solver": algorithm(one, solver="block"),
        "or noise estimated": algorithm(one, noise="auto"),
        "both: *variational*": algorithm(one, noise="auto", solver="block"),
    }
    lines += ["", "| | error of 2003-2005 | words |", "|---|---:|---:|"]
    for what, model in ladder.items():
        error, n_words = errors_and_words(rows, model, FORECASTING.test)
        lines.append(f"| {what} | {error:.4f} | {', '.join(f'{n:,}' for n in n_words)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main():
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".bench-results/ten-k")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", default="", help="the page to write")
    options = parser.parse_args()
    folder = data_folder(NAME, "counts.npz")
    if folder is None:
        print(f"{NAME} not found; set DRIFTGLM_DATA.")
        return 0
    warnings.simplefilter("ignore")
    began = clock.perf_counter()
    settings = Settings(models=EVERYONE, vocabulary="training")
    out = Path(options.out)
    result = reproduce_forecasting(folder, out=out, settings=settings, n_jobs=options.jobs)
    reports = load_counted_reports(folder)
    record, rows = reports.provenance, rows_of(reports)
    lines = [INTRODUCTION.format(rows=record.rows, read=record.rows_read, name=NAME)]
    chosen = str(result.comparisons["training"].params["paper"][0]["driftregressor__prior"])
    rate, rates = re.search(r"rate=([^,)]+)", chosen)[1], ", ".join(map(str, RATES))
    last = int((reports.frame["year"] == FORECASTING.dev).sum())
    why = WHY.format(last=last, paper_last=ROWS[FORECASTING.dev])
    below = AFTER_TABLE.format(rate=rate, rates=rates)
    lines += [main_table(result), below, reading(result), why]
    print("\n".join(lines), flush=True)
    page = Path(options.write) if options.write else out / "ten-k.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    least = result.table("training")["overall", "ours"].min()
    own = OWN.format(noise=least, times=PAPER_NOISE / least)
    lines += [own + own_algorithm(rows, float(rate)), ""]
    lines += [word_picture(rows, reports.words, page.with_suffix(".svg")), "", ROBUST]
    lines += ["| choice | lasso-one | lasso-all | learned | against the better lasso |"]
    lines += ["|---|---:|---:|---:|---:|"]
    for choice, found in shaken(rows, out / "cache", options.jobs):
        gap = 100 * (found["learned"] / min(found["lasso-one"], found["lasso-all"]) - 1)
        cells = [f"{found[m]:.4f}" for m in ("lasso-one", "lasso-all", "learned")]
        lines.append(f"| {' | '.join([choice, *cells, f'{gap:+.1f} %'])} |")
        print(lines[-1], flush=True)
        # What is known so far: a run may be killed.
        write_atomically(page, "\n".join([*lines, "", stamp(), ""]).encode())
    print(f"{clock.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
