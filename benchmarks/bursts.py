"""Words come in bursts: how many are included for effects that mean nothing.

    python benchmarks/bursts.py [--seeds 3] [--write PAGE]

Effects are shuffled among whole documents of the same step, so that none of them says anything
about words. Simulated documents, and the Beige Book and FOMC transcripts; the latter are looked
for as in `beige_fomc.py` and left out where they are absent.
"""

import argparse
import os
import platform
import time as clock
import warnings

import numba
import numpy as np
import scipy.sparse as sp
from beige_fomc import FIRST, LAST, YEARS, find_data, load
from result_pages import write_page

from driftglm import DriftTextModel

N_STEPS, N_DOCS, N_WORDS = 6, 60, 1000
SURE = 0.9

INTRODUCTION = """# Bursts of words

Effects shuffled among whole documents of the same step say nothing about words: whatever is
included is a mistake. Tokens of a document are not independent, and a model that takes them so
(`burstiness=None`) finds words in them. The default estimates how much more documents of one
context vary, and counts their tokens for less.

    python benchmarks/bursts.py --write docs/results/bursts.md

*pairs*: (effect, word) pairs of shuffled effects whose inclusion probability is above .9, of all
such pairs. *words*: words with such a pair for any of the effects, of all words. Mean of {seeds}
shuffles. *correlation* is the estimated one of two tokens of one document.
"""

NOTES = """
Simulated: {docs} documents in each of {steps} steps, 100 to 1,500 tokens each, {words:,} words, one
effect that half of the documents have and one that a tenth has. *independent*: multinomial
documents. *Dirichlet*: documents drawn from a Dirichlet-multinomial of correlation .005. *words
differ*: the rate of a word in a document is gamma distributed about its mean, with a squared
coefficient of variation between .05 and 5, log-uniform over the words.

Beige Book and FOMC: 1,244 documents of 1996-2006 in yearly steps, words ranked 501 to 5,501. The 51
state indicators of a Beige Book text go, all together, to another Beige Book text of the same year;
the source stays. Pairs are those of the 51 states: the source is not shuffled. *as they are*:
nothing is shuffled, to see that true effects are still found.
"""


def simulated(kind, seed):
    """Counts, effects that mean nothing, and steps."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(N_WORDS, 0.5), size=N_STEPS) + 1e-5
    time = np.repeat(np.arange(N_STEPS), N_DOCS)
    lengths = np.exp(rng.uniform(np.log(100), np.log(1500), time.size)).astype(int)
    squared = np.exp(np.linspace(np.log(0.05), np.log(5.0), N_WORDS))
    rng.shuffle(squared)
    counts = np.zeros((time.size, N_WORDS))
    for d, t in enumerate(time):
        p = shares[t] / shares[t].sum()
        if kind == "Dirichlet":
            p = rng.gamma(p * (1 / 0.005 - 1))
        elif kind == "words differ":
            p = p * rng.gamma(1 / squared) * squared
        counts[d] = rng.multinomial(lengths[d], p / p.sum())
    effects = (rng.random((time.size, 2)) < [0.5, 0.1]).astype(float)
    return sp.csr_array(counts), effects, time, np.arange(2)


def federal_reserve(folder, seed):
    """Counts, effects with states shuffled within years (None: as they are), and years."""
    counts, effects, years, _, _ = load(folder, YEARS[-1] + 1)
    total = np.asarray(counts.sum(axis=0)).ravel()
    counts = sp.csr_array(counts[:, np.argsort(-total, kind="stable")[FIRST - 1 : LAST]])
    table = effects.to_numpy().copy()
    if seed is not None:
        rng = np.random.default_rng(seed)
        for year in np.unique(years):
            texts = np.flatnonzero((years == year) & (table[:, -1] == 0))
            table[texts] = table[rng.permutation(texts)]
    return counts, table, years, np.arange(table.shape[1] - 1)


def included(data, burstiness):
    """Share of pairs and of words above SURE, and the correlation used."""
    counts, effects, time, shuffled = data
    model = DriftTextModel(burstiness=burstiness, extrapolate="forecast")
    model.fit(counts, effects, time=time)
    sure = model.inclusion_probability_[shuffled] > SURE
    return sure.mean(), sure.any(axis=0).mean(), model.burstiness_


def line(name, draws):
    """A row of the table: tokens taken as independent, and the default."""
    found = {how: np.mean([included(d, how) for d in draws], axis=0) for how in (None, "auto")}
    cells = [f"{100 * share:.3f} %" for how in found for share in found[how][:2]]
    return f"| {name} | {' | '.join(cells)} | {found['auto'][2]:.2g} |"


def main():
    """A line a kind of documents."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="shuffles")
    parser.add_argument("--write", default="", help="the page to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    began, seeds = clock.perf_counter(), range(options.seeds)
    lines = [
        "| documents | pairs, independent tokens | words | pairs, default | words | correlation |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    cases = {
        f"simulated, {kind}": [simulated(kind, s) for s in seeds]
        for kind in ("independent", "Dirichlet", "words differ")
    }
    if (folder := find_data()) is not None:
        cases["Beige Book, states shuffled"] = [federal_reserve(folder, s) for s in seeds]
        cases["Beige Book, as they are"] = [federal_reserve(folder, None)]
    for name, draws in cases.items():
        lines.append(line(name, draws))
        print(lines[-1], flush=True)
    minutes = (clock.perf_counter() - began) / 60
    machine = f"Python {platform.python_version()}, numba {numba.__version__}, {os.cpu_count()}"
    if options.write:
        notes = NOTES.format(docs=N_DOCS, steps=N_STEPS, words=N_WORDS)
        top = INTRODUCTION.replace("{seeds}", str(options.seeds))
        end = f"{minutes:.0f} minutes ({machine} cores)."
        write_page(options.write, "\n".join([top, *lines, notes, end]))


if __name__ == "__main__":
    main()
