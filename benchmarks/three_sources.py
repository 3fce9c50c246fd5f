"""The paper's text experiment with all three sources: Beige Book, FOMC transcripts, annual reports.

    python benchmarks/three_sources.py [--models learned,exact] [--cache DIR] [--write PAGE]

Words of documents from their source, 51 places and 66 macroeconomic variables; dev year 2003, test
years 2004-2006. A run that was killed goes on with the same --cache. The data are not part of the
project; they are looked for as in `real_sets.py`, and nothing happens where they are absent.
"""

import argparse
import sys
import time as clock
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from real_sets import data_folder
from result_pages import stamp

from driftglm.evaluation import RollingOrigin, compare
from driftglm.experiments.contestants import text_model
from driftglm.experiments.macro import standardised
from driftglm.experiments.paper import CONTESTANTS, TEXT
from driftglm.files import write_atomically

N_FIRMS, WANTED, SEED = 200, 842, 0
LEAST_LETTERS = 3
COUNTRY = "whole U.S."
NOT_A_STATE = "st_DC"
SOURCES = {"beige": "Beige Book", "fomc": "FOMC transcripts", "10-K": "annual reports"}
INTRODUCTION = """# The paper's text experiment with its three sources

Beige Book texts ({beige:,}), FOMC transcripts ({fomc}) and annual reports ({reports}, of
{firms} firms drawn at random, seed {seed}, from those with {least} reports or more), 1996-2006,
reports to 2005. Words ranked 501 to 5,501 in all documents, as the paper did, from {effects}
effects: source, 50 states and the whole U.S., 66 macroeconomic variables of the year. The
states of firms are not known: reports are about the whole U.S., and so are FOMC transcripts and
national summaries. Dev year 2003, on which baselines are tuned; each test year is predicted by
fits to all years before it. Neither corpus is part of the project.

    python benchmarks/three_sources.py --write docs/results/three-sources.md

Negative log-likelihood of a year's tokens in thousands of nats; in brackets the paper's
figures, which are of other documents and seem to count other tokens ([errata](../errata.md)).
"""
WHERE = """## Where models differ

The same, of all test years, by source; in brackets, how far it is from the best of the column.
"""
CLOSING = """
*exact* and *variational* are the paper's prior at its rate, .001, all words of an effect
sharing one scale; *learned* is the default, untuned. Macroeconomic variables are constant
within a year and cannot be told from the year's background: drift models give them coefficients
of zero. No report is later than 2005. Words of reports were counted up to 255 a report at their
source, without numbers.
The last columns are tests against learned: Wilcoxon's on documents, Holm-corrected, and Diebold
and Mariano's on the three years.
"""


def drawn(reports):
    """Rows of the reports of 200 firms, and the fewest reports of a firm among those drawn from.

    That number is the one with which documents come nearest to the paper's.
    """
    sizes = reports["cusip"].value_counts().sort_index()
    pools = {least: sizes[sizes >= least] for least in range(1, 11)}
    pools = {least: pool for least, pool in pools.items() if len(pool) >= N_FIRMS}
    least = min(pools, key=lambda k: abs(N_FIRMS * pools[k].mean() - WANTED))
    rng = np.random.default_rng(SEED)
    firms = rng.choice(pools[least].index.to_numpy(dtype=object), N_FIRMS, replace=False)
    return np.flatnonzero(reports["cusip"].isin(set(firms))), least


def joined(fed, fed_words, tenk, tenk_words):
    """Counts of both collections over the words of either, and those words."""
    names = sorted({*fed_words, *tenk_words})
    place = {name: k for k, name in enumerate(names)}
    parts = []
    for counts, words in ((fed, fed_words), (tenk, tenk_words)):
        coo = sp.coo_matrix(counts)
        columns = np.array([place[word] for word in words])[coo.col]
        shape = counts.shape[0], len(names)
        parts.append(sp.csr_matrix((coo.data.astype(float), (coo.row, columns)), shape=shape))
    return sp.vstack(parts, format="csr"), names


def load():
    """Counts, effects, years and sources of all documents, and facts; None without data."""
    folder, tenk_folder = data_folder("beige_fomc"), data_folder("tenk_1996_2005")
    if folder is None or tenk_folder is None:
        return None
    sage = folder / "sage_1996_2006"
    docs = pd.read_csv(sage / "docs.csv.gz")
    fed_words = pd.read_csv(sage / "vocab.csv", keep_default_na=False)["term"].tolist()
    reports = pd.read_csv(tenk_folder / "docs.csv.gz", dtype={"cusip": str})
    words = pd.read_csv(tenk_folder / "vocab.csv", keep_default_na=False)["word"].tolist()
    rows, least = drawn(reports)
    kept = [k for k, word in enumerate(words) if len(word) >= LEAST_LETTERS]
    tenk = sp.csr_matrix(sp.load_npz(tenk_folder / "counts.npz"))[rows][:, kept]
    fed = sp.load_npz(sage / "counts.npz")
    counts, names = joined(fed, fed_words, tenk, [words[k] for k in kept])
    years = np.concatenate([docs["year"], reports["year"].iloc[rows]])
    source = np.concatenate([docs["source"], ["10-K"] * rows.size])
    states = docs.filter(regex="^st_").drop(columns=NOT_A_STATE)
    whole = (states == 1).all(axis=1) | (docs["source"] == "fomc")
    places = np.vstack([np.where(whole.to_numpy()[:, None], 1, states), np.ones((rows.size, 50))])
    effects = pd.DataFrame(places, columns=list(states), dtype=float)
    effects[COUNTRY] = np.concatenate([whole, np.ones(rows.size)]).astype(float)
    for name in ("fomc", "10-K"):
        effects[f"source {name}"] = (source == name).astype(float)
    macro = pd.read_csv(folder / "macro_yearly.csv").set_index("year").loc[years]
    macro, _ = standardised(macro.reset_index(drop=True), years < min(TEXT.test))
    effects = pd.concat([effects, macro], axis=1)
    facts = {"beige": int((source == "beige").sum()), "fomc": int((source == "fomc").sum())}
    facts |= {"reports": rows.size, "firms": N_FIRMS, "seed": SEED, "least": least}
    return counts, effects, years, source, names, facts | {"effects": effects.shape[1]}


def chosen_words(counts):
    """Columns of the words of the paper's ranks in all documents."""
    totals = np.asarray(counts.sum(axis=0)).ravel()
    first, last = TEXT.ranks
    return np.argsort(-totals, kind="stable")[first - 1 : last]


def table(comparison, tests):
    """Markdown: a row a model, ours and the paper's figures."""
    frame = comparison.table("frame")
    lines = ["| model | " + " | ".join(map(str, TEXT.test)) + " | all | p | p of years | seconds |"]
    lines += ["|---|" + "---:|" * (len(TEXT.test) + 4)]
    sums = {m: [] for m in comparison.models}
    for year in comparison.steps:
        here = comparison.codes == list(comparison.axis.labels).index(year)
        for model in comparison.models:
            sums[model].append(comparison.loss[model][here].sum() / 1000)
    best = [min(column) for column in zip(*sums.values(), strict=True)]
    least = min(sum(values) for values in sums.values())
    for model, values in sums.items():
        cells = []
        for year, value, low in zip(TEXT.test, values, best, strict=True):
            shown = f"**{value:,.1f}**" if value == low else f"{value:,.1f}"
            cells.append(f"{shown} ({TEXT.figure(model, year):,.0f})")
        total = f"**{sum(values):,.1f}**" if sum(values) == least else f"{sum(values):,.1f}"
        p = [f"{tests.loc[model, k]:.2g}" if model in tests.index else "" for k in ("w", "d")]
        row = [model, *cells, total, *p, f"{comparison.seconds[model]:.0f}"]
        lines.append(f"| {' | '.join(row)} |")
    assert list(frame.columns) == comparison.models  # noqa: S101
    return "\n".join(lines)


def reading(comparison):
    """Who is best, and where the default and the paper's prior stand; the paper's order beside."""
    total = {m: comparison.loss[m].sum() / 1000 for m in comparison.models}
    paper = {m: sum(TEXT.figure(m, year) for year in TEXT.test) for m in comparison.models}
    order = sorted(total, key=total.get)
    said = [f"From best to worst: {', '.join(order)}."]
    for name in ("learned", "exact"):
        if name in order:
            away = 100 * (total[name] / total[order[order[0] == name]] - 1)
            against = "the next" if order[0] == name else order[0]
            place = f"{name} has rank {order.index(name) + 1} of {len(order)}, {away:+.2f} %"
            said.append(f"{place} against {against}.")
    rivals = [m for m in CONTESTANTS[:5] if m in paper]
    best = min(rivals, key=paper.get)
    away = 100 * (paper["exact"] / paper[best] - 1) if "exact" in paper else float("nan")
    said.append(f"In the paper its prior is {away:+.2f} % off the best baseline, {best}.")
    return " ".join(said)


def by_source(comparison, source):
    """Markdown: a row a model; losses of all test years by source, and what a token costs there."""
    here = source[comparison.rows]
    lines = ["| model | " + " | ".join(SOURCES.values()) + " |", "|---|" + "---:|" * len(SOURCES)]
    sums = {
        m: [comparison.loss[m][here == k].sum() / 1000 for k in SOURCES] for m in comparison.models
    }
    best = np.min(list(sums.values()), axis=0)
    for model, values in sums.items():
        shown = [
            f"**{value:,.1f}**"
            if value == low
            else f"{value:,.1f} ({100 * (value / low - 1):+.2f} %)"
            for value, low in zip(values, best, strict=True)
        ]
        lines.append(f"| {' | '.join([model, *shown])} |")
    return "\n".join([*lines, "", where_behind(sums)])


def where_behind(sums):
    """In which source the default and the paper's prior lose most to the best model of all."""
    winner = min(sums, key=lambda name: sum(sums[name]))
    said = []
    for name in (each for each in ("learned", "exact") if each in sums and each != winner):
        gaps = np.subtract(sums[name], sums[winner])
        most = int(np.argmax(gaps))
        place = list(SOURCES.values())[most]
        said.append(
            f"Of the {gaps.sum():,.1f} thousand nats that {name} lies behind {winner}, "
            f"{gaps[most]:,.1f} are of {place}."
        )
    return " ".join(said)


def tested(comparison):
    """p against learned, of documents and of years."""
    if "learned" not in comparison.models or len(comparison.models) == 1:
        return pd.DataFrame(columns=["w", "d"])
    rows = comparison.significance("learned").set_index("model")["p_holm"]
    years = comparison.significance("learned", method="diebold-mariano").set_index("model")
    return pd.DataFrame({"w": rows, "d": years["p_value"]})


def main():
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(CONTESTANTS))
    parser.add_argument("--cache", default=".bench-results/three-sources")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", default="", help="the page to write")
    options = parser.parse_args()
    found = load()
    if found is None:
        print("beige_fomc or tenk_1996_2005 not found; set DRIFTGLM_DATA.")
        return 0
    counts, effects, years, source, names, facts = found
    columns = chosen_words(counts)
    words = np.array(names, dtype=object)[columns]
    models = {name: text_model(name) for name in options.models.split(",")}
    for name, model in models.items():
        if name not in TEXT_BASELINES:
            model.set_params(vocabulary=list(words))
    splitter = RollingOrigin(dev=TEXT.dev, test=list(TEXT.test))
    began = clock.perf_counter()
    comparison = compare(
        *(models, sp.csr_array(counts[:, columns]), effects, years, splitter),
        n_jobs=options.jobs,
        cache_dir=options.cache,
    )
    tokens = {int(y): counts[years == y][:, columns].sum() for y in TEXT.test}
    lines = [INTRODUCTION.format(**facts), table(comparison, tested(comparison)), ""]
    lines.append(f"Tokens: {', '.join(f'{y} {n:,.0f}' for y, n in tokens.items())}.")
    lines += ["", reading(comparison), "", WHERE, by_source(comparison, source)]
    page = "\n".join([*lines, CLOSING])
    print(page, f"{clock.perf_counter() - began:.0f} s")
    if options.write:
        write_atomically(Path(options.write), f"{page.rstrip()}\n\n{stamp()}\n".encode())
    return 0


TEXT_BASELINES = CONTESTANTS[:5]

if __name__ == "__main__":
    sys.exit(main())
