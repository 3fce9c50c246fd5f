"""Data for the benchmarks: the reference worlds where they are present, our own otherwise."""

import importlib.util
from pathlib import Path

import numpy as np
import scipy.sparse as sp

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "oracle" / "scenarios.py"


def reference_worlds():
    """The module with the reference worlds, or None where it is absent."""
    if not REFERENCE.exists():
        return None
    spec = importlib.util.spec_from_file_location("scenarios", REFERENCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def word_panel(seed=0, n_rows=27_159, n_features=10_000, n_steps=10):
    """Binary words with Zipf-like frequencies; 1 word in 50 matters, half of those drift."""
    rng = np.random.default_rng(seed)
    frequency = np.minimum(0.95, 300 / (101 + np.arange(n_features)))
    columns = [np.flatnonzero(rng.random(n_rows) < f).astype(np.int32) for f in frequency]
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
    rows = np.concatenate(columns)
    X = sp.csc_matrix((np.ones(rows.size), rows, indptr), shape=(n_rows, n_features)).tocsr()
    time = np.sort(rng.integers(0, n_steps, n_rows))
    paths = np.zeros((n_features, n_steps))
    for i in rng.choice(n_features, n_features // 50, replace=False):
        intercept = 0.08 * rng.normal()
        walk = np.cumsum(0.3 * abs(intercept) * rng.normal(size=n_steps))
        paths[i] = intercept + walk * rng.integers(2)
    y = 0.33 * rng.normal(size=n_rows)
    for t in range(n_steps):
        y[time == t] += X[time == t] @ paths[:, t]
    return X, y, time, paths


def paper_scale(seed=0):
    """Training rows of the first nine steps and test rows of the tenth, at the paper's size."""
    worlds = reference_worlds()
    X, y, time, _ = worlds.paper_scale(seed) if worlds else word_panel(seed)
    past = time < time.max()
    return (X[past], y[past], time[past]), (X[~past], y[~past])
