"""A 10-K corpus of full size: loaded, and made into the matrix of ranked words.

    python benchmarks/corpus_scale.py [--tokens 6000] [--keep DIR]

Reports of 1996-2005 are simulated in the layout of the corpus, as many as there are (27,166 rows,
7 of them repeated keys), with words drawn by Zipf's law from a vocabulary of 60,000. Loading and
vectorising run in a process of their own, whose peak memory is the figure.
"""

import argparse
import gzip
import io
import multiprocessing
import resource
import tarfile
import tempfile
import time as clock
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from driftglm.datasets import load_10k_corpus
from driftglm.datasets.tenk_known import PAPER_ROWS, PAPER_YEARS, ROWS
from driftglm.exceptions import DataWarning
from driftglm.text import RankedVocabulary

N_WORDS = 60_000
REPEATED_YEARS = (1997, 1998, 1999, 2001, 2002, 2003, 2004)  # a repeated key each, 7 in all
MB = 2**20


def vocabulary(rng):
    """Distinct words of three to eleven letters, as an object array."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = {"".join(rng.choice(letters, rng.integers(3, 12))) for _ in range(N_WORDS + 2000)}
    return np.array(sorted(words)[:N_WORDS], dtype=object)


def report(rng, words, cumulated, n_tokens):
    """One line of tokens, some more and some less than `n_tokens`.

    Reports repeat themselves: real ones of 8,000 tokens have about 1,050 distinct words of ranks
    101 to 10,101, independent draws have twice as many. So two thirds of the tokens are repeated.
    """
    size = max(60, int(rng.lognormal(np.log(n_tokens), 0.6)))
    drawn = words[np.searchsorted(cumulated, rng.random(size // 3))]
    return " ".join(
        drawn[np.concatenate([np.arange(drawn.size), rng.integers(0, drawn.size, 2 * drawn.size)])]
    )


def write_year(folder, year, rng, words, cumulated, n_tokens):
    """Write the four files of a year; returns the bytes of its texts."""
    n_rows = ROWS[year] - (year in REPEATED_YEARS)
    days = [f"{year}{1 + i % 12:02d}{1 + i % 28:02d}" for i in range(n_rows)]
    keys = [f"{year}{i:05d}-10-K-{day}" for i, day in enumerate(days)]
    lines = keys + keys[: ROWS[year] - n_rows]
    before = rng.normal(-3.6, 0.5, len(lines))
    after = before + rng.normal(0.0, 0.4, len(lines))
    for name, values in (("+12", after), ("-12", before)):
        rows = (f"{value:.12f} {key}\n" for value, key in zip(values, lines, strict=True))
        (folder / f"{year}.logvol.{name}.txt").write_text("".join(rows))
    meta = (
        f"{key}\t{day}\tedgar/{i}\tCOMPANY {i}\t{i}\n"
        for i, (key, day) in enumerate(zip(keys, days, strict=True))
    )
    (folder / f"{year}.meta.txt").write_text("".join(meta))
    n_bytes = 0
    with (
        gzip.open(folder / f"{year}.tok.tgz", "wb", compresslevel=1) as packed,
        tarfile.open(fileobj=packed, mode="w|") as archive,
    ):
        for key in keys:
            text = report(rng, words, cumulated, n_tokens).encode()
            member = tarfile.TarInfo(f"{year}.tok/{key}.mda")
            member.size = len(text)
            n_bytes += len(text)
            archive.addfile(member, io.BytesIO(text))
    return n_bytes


def simulate(folder, n_tokens):
    """Write all years; returns the bytes of all texts."""
    rng = np.random.default_rng(1996)
    words = rng.permutation(vocabulary(rng))
    share = 1.0 / (np.arange(N_WORDS) + 2.7)
    cumulated = np.cumsum(share / share.sum())
    cumulated[-1] = 1.0
    years = PAPER_YEARS
    return sum(write_year(folder, year, rng, words, cumulated, n_tokens) for year in years)


def measure(folder):
    """Load and vectorise; runs in a process of its own, so that its peak is that of this work."""
    idle = peak()
    began = clock.perf_counter()
    with warnings.catch_warnings():
        # Simulated volatilities do not have the known mean squared errors.
        warnings.simplefilter("ignore", DataWarning)
        corpus = load_10k_corpus(folder)
    loaded, loaded_peak = clock.perf_counter(), peak()
    words = RankedVocabulary().fit(corpus.texts())
    fitted, fitted_peak = clock.perf_counter(), peak()
    X = words.transform(corpus.texts())
    done = clock.perf_counter()
    print(corpus.provenance)
    print("\n| step | seconds | peak memory (MB) |\n|---|---|---|")
    print(f"| imports | | {idle / MB:.0f} |")
    print(f"| load | {loaded - began:.1f} | {loaded_peak / MB:.0f} |")
    print(f"| rank words | {fitted - loaded:.1f} | {fitted_peak / MB:.0f} |")
    print(f"| binary matrix | {done - fitted:.1f} | {peak() / MB:.0f} |")
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / MB
    print(f"\nMatrix: {X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} ones, {size:.0f} MB")
    return X.shape, peak()


def peak():
    """Largest memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    """Simulate, measure, and check the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=6000, help="typical length of a report")
    parser.add_argument("--keep", type=Path, help="write the corpus here, and leave it there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        began = clock.perf_counter()
        n_bytes = simulate(folder, options.tokens)
        packed = sum(path.stat().st_size for path in folder.glob("*.tgz"))
        print(f"Texts: {n_bytes / MB:,.0f} MB, packed {packed / MB:,.0f} MB, ", end="")
        print(f"simulated in {clock.perf_counter() - began:.0f} s")
        # "spawn": a forked process would start with the memory of the simulation.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            (n_rows, n_columns), highest = pool.submit(measure, folder).result()
    print(f"Peak memory / size of the texts: {highest / n_bytes:.2f}")
    assert (n_rows, n_columns) == (PAPER_ROWS, 10_001)  # noqa: S101
    assert highest < n_bytes / 2, "memory grows with the texts"  # noqa: S101


if __name__ == "__main__":
    main()
