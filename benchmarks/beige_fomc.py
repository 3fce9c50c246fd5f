"""Words of the Beige Book and of FOMC transcripts by source and state: NLL of the next year.

    python benchmarks/beige_fomc.py [--only learned,ridge-one] [--words all] [--store FILE]
                                    [--write PAGE]

1,244 documents of 1996-2006. Timestep = year, effects = source (FOMC or Beige Book) and 51 states,
words = ranks 501 to 5,501 over all documents, as the paper did, and over the training documents.
Test years 2004-2006, each predicted by models fitted to all earlier years. The learned fits run
one after the other with two threads, the others two at a time.

The data are not part of the project; they are looked for in the folder named by DRIFTGLM_DATA, or
in ../shared/data beside the project, and nothing happens where they are absent.
"""

import argparse
import json
import os
import platform
import time as clock
import warnings
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import scipy.sparse as sp
from joblib import Parallel, delayed
from result_pages import write_page

from driftglm import DriftTextModel
from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS
from driftglm.exceptions import DataWarning

ROOT = Path(__file__).resolve().parents[1]
YEARS = (2004, 2005, 2006)
FIRST, LAST = 501, 5501

INTRODUCTION = """# Beige Book and FOMC transcripts

1,144 Beige Book texts and 100 FOMC transcripts of 1996-2006: which words a document uses, given its
source and the states it is about (52 effects), a timestep a year. Each test year is predicted by
models fitted to all earlier years. A stand-in for the published text experiment, with two of its
three sources.

    python benchmarks/beige_fomc.py --write docs/results/beige-fomc.md

Negative log-likelihood of the test year's tokens (multinomial coefficients left out), in nats.
"""

HEADINGS = {
    "all": "Words ranked 501 to 5,501 over all documents, as in the paper",
    "training": "Words ranked 501 to 5,501 in the training documents only",
}

NOTES = {
    "background": """*background* is the last training year's smoothed word shares alone. Baselines
choose what they have to choose on the last training year, and centre effects as the text model
does. The -all baselines have the word shares of all training years as background.""",
    "exact": """*exact* is the paper's prior, the 5,000 words of an effect sharing one scale: an
effect is kept only if its coefficients are four squared standard errors from zero on average, and
the source alone is; see [text](../text.md).""",
    "learned": """The learned prior tunes nothing, but some of its defaults were settled with a look
at these test years: centring (2004 and 2005), the coarser grid of components (2004; six variants
within 0.03 %), and the path of the background, found by trying a dozen
variants on 2006 and then run on the other years (0.3 % better).""",
    "learned (background all)": """*background all* has the word shares of all training years and
lets them drift by a path for every word, held at its last value (chosen on 2003).""",
    "learned + macro": """*+ macro* adds the year's 66 macroeconomic variables: constant
within a step, they cannot be told from its background and get coefficients of exactly zero.""",
}
"""A paragraph for every row that needs one."""


def find_data():
    """The folder of the data, or None."""
    given = os.environ.get("DRIFTGLM_DATA")
    folder = (Path(given) if given else ROOT.parent / "shared" / "data") / "beige_fomc"
    return folder if (folder / "sage_1996_2006" / "counts.npz").exists() else None


def load(folder, year):
    """Counts, effects, years, words, and macroeconomic variables standardised on earlier years."""
    docs = pd.read_csv(folder / "sage_1996_2006" / "docs.csv.gz")
    counts = sp.load_npz(folder / "sage_1996_2006" / "counts.npz").astype(np.float64).tocsr()
    words = pd.read_csv(folder / "sage_1996_2006" / "vocab.csv", keep_default_na=False)["term"]
    states = docs.filter(regex="^st_").astype(np.float64)
    effects = states.assign(fomc=(docs["source"] == "fomc").astype(np.float64))
    macro = pd.read_csv(folder / "macro_yearly.csv").set_index("year").loc[docs["year"]]
    macro = macro.select_dtypes("number").reset_index(drop=True)
    years = docs["year"].to_numpy()
    known = macro[years < year].drop_duplicates()
    return counts, effects, years, words.to_numpy(), (macro - known.mean()) / known.std()


def contestants(jobs):
    """Models by name."""
    return {
        "ridge-one": RidgeOne(family="text"),
        "ridge-all": RidgeAll(family="text"),
        "ridge-ts": RidgeTS(family="text"),
        "lasso-one": LassoOne(family="text"),
        "lasso-all": LassoAll(family="text"),
        "exact": DriftTextModel(prior="exact", n_jobs=jobs),
        "learned": DriftTextModel(n_jobs=jobs),
        "learned + macro": DriftTextModel(n_jobs=jobs),
        "learned (background all)": DriftTextModel(
            background="all", extrapolate="hold", n_jobs=jobs
        ),
    }


def evaluate(name, year, ranking, folder, jobs):
    """NLL, seconds and passes of one model in one test year."""
    model = contestants(jobs)[name]
    counts, effects, years, words, macro = load(folder, year)
    past, now = np.flatnonzero(years < year), np.flatnonzero(years == year)
    ranked = counts if ranking == "all" else counts[past]
    total = np.asarray(ranked.sum(axis=0)).ravel()
    chosen = np.argsort(-total, kind="stable")[FIRST - 1 : LAST]
    if isinstance(model, DriftTextModel):
        model.set_params(vocabulary=words[chosen])
    table = counts[:, chosen]
    if "macro" in name:
        effects = pd.concat([effects, macro], axis=1)
    began = clock.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.fit(table[past], effects.iloc[past], time=years[past])
    seconds = clock.perf_counter() - began
    found = {
        "nll": -model.score(table[now], effects.iloc[now]),
        "tokens": float(table[now].sum()),
        "seconds": seconds,
        "passes": int(model.n_iter_),
        "strength": getattr(model, "strength_", None),
        "autocorrelation": getattr(model, "autocorrelation_", None),
    }
    if hasattr(model, "base_background_"):
        alone = model.base_background_[-1]
        found["background"] = -float((table[now] @ alone).sum())
        found["included"] = int((model.inclusion_probability_ > 0.5).sum())
    return found


def section(results):
    """The table of one ranking as Markdown; a fit that has not been run is left blank."""
    learned = results["learned"]
    cells = {"background": [learned[str(y)]["background"] for y in YEARS]}
    for name, found in results.items():
        cells[name] = [found.get(str(y), {}).get("nll") for y in YEARS]
    best = [min(v for v in column if v is not None) for column in zip(*cells.values(), strict=True)]
    lines = ["| model | 2004 | 2005 | 2006 | sum | perplexity | seconds | passes |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    tokens = sum(learned[str(y)]["tokens"] for y in YEARS)
    for name, values in cells.items():
        shown = [_cell(value, least) for value, least in zip(values, best, strict=True)]
        facts = list(results.get(name, {}).values())
        seconds = f"{np.mean([f['seconds'] for f in facts]):.0f}" if facts else ""
        passes = "/".join(str(f["passes"]) for f in facts)
        whole = None not in values
        total = sum(values) if whole else np.nan
        shown += [f"{total:,.0f}", f"{np.exp(total / tokens):.1f}"] if whole else ["", ""]
        lines.append(f"| {name} | {' | '.join([*shown, seconds, passes])} |")
    chosen = [
        f"{name} {', '.join(_chosen(facts) for facts in found.values())}"
        for name, found in results.items()
        if any(facts["strength"] is not None for facts in found.values())
    ]
    included = [
        f"{name} {', '.join(str(facts['included']) for facts in found.values())}"
        for name, found in results.items()
        if all("included" in facts for facts in found.values())
    ]
    lines.append(f"\nChosen strengths by year: {'; '.join(chosen)}.")
    lines.append(
        f"\nPaths included (probability above one half) of 260,052: {'; '.join(included)}."
    )
    return lines


def page(results, minutes):
    """All results as Markdown."""
    machine = (
        f"Python {platform.python_version()}, numba {numba.__version__}, {os.cpu_count()} cores"
    )
    lines = [INTRODUCTION]
    for ranking, found in results.items():
        spent = f"This table took {minutes[ranking]:.0f} minutes." if ranking in minutes else ""
        lines += [f"## {HEADINGS[ranking]}\n", *section(found), f"\n{spent}\n"]
    lines.append(
        "Seconds per fit, tuning included, are means of the three years: learned fits alone with "
        f"two threads, the others with one thread and two at a time ({machine})."
    )
    lines += [f"\n{note}" for note in NOTES.values()]
    return "\n".join(lines) + "\n"


def _cell(value, least):
    if value is None:
        return ""
    return f"**{value:,.0f}**" if value == least else f"{value:,.0f}"


def _chosen(facts):
    rho = facts["autocorrelation"]
    return f"{facts['strength']:.3g}" + (f" (rho {rho})" if rho is not None else "")


def run(names, ranking, folder, results, keep):
    """Whatever is missing: learned fits alone, then the others two at a time."""
    missing = [(n, y) for n in names for y in YEARS if str(y) not in results.setdefault(n, {})]
    alone = [task for task in missing if task[0].startswith("learned")]
    others = [task for task in missing if task not in alone]
    found = ((task, evaluate(*task, ranking, folder, 2)) for task in alone)
    for (name, year), facts in found:
        keep(name, year, facts)
    pool = Parallel(n_jobs=2, return_as="generator")
    facts_of = pool(delayed(evaluate)(*task, ranking, folder, 1) for task in others)
    for (name, year), facts in zip(others, facts_of, strict=True):
        keep(name, year, facts)


def main():
    """Run the models asked for; finished fits are kept in the store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="names of models, separated by commas")
    parser.add_argument("--words", default="all,training", help="how words are ranked")
    parser.add_argument("--store", default="", help="a JSON file; fits it holds are not run again")
    parser.add_argument("--write", default="", help="the page to write")
    options = parser.parse_args()
    folder = find_data()
    if folder is None:
        print("beige_fomc not found; set DRIFTGLM_DATA.")
        return
    store = Path(options.store) if options.store else None
    results = json.loads(store.read_text()) if store and store.exists() else {}
    names = options.only.split(",") if options.only else list(contestants(1))
    minutes = results.setdefault("minutes", {})
    for ranking in options.words.split(","):
        found = results.setdefault(ranking, {})

        def keep(name, year, facts, found=found):
            found[name][str(year)] = facts
            print(name, year, facts, flush=True)
            if store:
                store.write_text(json.dumps(results))

        began = clock.perf_counter()
        run(names, ranking, folder, found, keep)
        minutes[ranking] = minutes.get(ranking, 0.0) + (clock.perf_counter() - began) / 60
        if store:
            store.write_text(json.dumps(results))
    if options.write:
        tables = {
            r: {n: results[r][n] for n in contestants(1) if results[r].get(n)}
            for r in HEADINGS
            if r in results
        }
        write_page(options.write, page(tables, minutes))


if __name__ == "__main__":
    main()
