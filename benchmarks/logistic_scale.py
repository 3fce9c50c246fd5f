"""A learned logistic fit next to scikit-learn's pooled one, at the shape of a year of flights.

    python benchmarks/logistic_scale.py [--repeats 3]

337,000 simulated rows, 120 dummies of 8 categorical columns, 26 fortnights, some effects drifting.
Both are timed side by side in one run; loss is that of 10,000 rows of the step after the last.
"""

import argparse
import time as clock

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from driftglm import DriftClassifier

N_ROWS, N_STEPS, N_NEXT = 337_000, 26, 10_000
SIZES = (16, 3, 24, 12, 31, 7, 20, 7)


def flights(seed=0):
    """Dummies, 0 or 1, and the step of every row; the last step is for testing."""
    rng = np.random.default_rng(seed)
    time = np.sort(np.concatenate([rng.integers(0, N_STEPS, N_ROWS), np.full(N_NEXT, N_STEPS)]))
    eta, columns, first = np.full(time.size, -1.2), [], 0
    for size in SIZES:
        value = rng.choice(size, time.size, p=rng.dirichlet(np.full(size, 3.0)))
        constant = 0.5 * rng.normal(size=size) * (rng.random(size) < 0.4)
        moves = 0.1 * rng.normal(size=(N_STEPS + 1, size)) * (rng.random(size) < 0.2)
        eta += constant[value] + np.cumsum(moves, axis=0)[time, value]
        columns.append(first + value)
        first += size
    place = np.column_stack(columns)
    ends = np.arange(0, place.size + 1, len(SIZES))
    X = sp.csr_matrix((np.ones(place.size), place.ravel(), ends), shape=(time.size, first))
    y = (rng.random(time.size) < 1 / (1 + np.exp(-eta))).astype(int)
    return X, y, time


def main():
    """Print seconds, their ratio and the losses."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    X, y, time = flights()
    past = time < N_STEPS
    train, test = (X[past], y[past]), (X[~past], y[~past])
    DriftClassifier().fit(train[0][:2000], train[1][:2000], time=np.repeat([0, 1], 1000))
    print("| run | scikit-learn, pooled (s) | learned, drifting (s) | ratio |\n|---|---|---|---|")
    for run in range(repeats):
        began = clock.perf_counter()
        pooled = LogisticRegression(solver="lbfgs", max_iter=1000).fit(*train)
        between = clock.perf_counter()
        model = DriftClassifier().fit(*train, time=time[past])
        end = clock.perf_counter()
        ratio = (end - between) / (between - began)
        print(f"| {run + 1} | {between - began:.2f} | {end - between:.2f} | {ratio:.2f} |")
    ours = log_loss(test[1], model.predict_proba(test[0]))
    theirs = log_loss(test[1], pooled.predict_proba(test[0]))
    print(f"\nlog loss at the next step: pooled {theirs:.4f}, learned {ours:.4f}")
    print(f"passes {model.n_iter_}, converged {model.converged_}")


if __name__ == "__main__":
    main()
