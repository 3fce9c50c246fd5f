"""What it costs to say more of features: losses and time, with and without.

"Without" has neither the joint posterior nor the notes about columns: what a fit did before.
"""

import time as clock
import warnings
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pandas as pd

from driftglm import DriftRegressor
from driftglm.fitting.identity import ColumnNotes

N_TIMES = 3
"""Fits of each, in turn; the fastest counts."""


def neither():
    """Fits without the joint posterior, and without notes."""
    stack = ExitStack()

    def factorised(bound, state, columns, **_):
        del bound, columns
        return state, None

    stack.enter_context(patch("driftglm.fitting.posteriors.joint_posterior", factorised))

    def of(cls, rows, sizes, included, **_):
        del rows, included
        return cls.none(sizes.spread.size)

    stack.enter_context(patch.object(ColumnNotes, "of", classmethod(of)))
    return stack


def fitted(train, test, *, plain, extrapolate):
    """Squared error of the step after the last, and CPU seconds of the fit."""
    (X, y, time), (X_next, y_next) = train, test
    with neither() if plain else ExitStack(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = clock.process_time()
        model = DriftRegressor(extrapolate=extrapolate).fit(X, y, time=time)
        seconds = clock.process_time() - start
    return float(np.mean((model.predict(X_next) - y_next) ** 2)), seconds


def origins(X, y, time, n_last=3):
    """Each of the last steps, and the rows before it."""
    for step in np.unique(time)[-n_last:]:
        past, now = time < step, time == step
        yield (X[past], y[past], time[past]), (X[now], y[now])


def row(name, splits, extrapolate="forecast"):
    """A row of the table."""
    losses, seconds = np.zeros(2), np.zeros(2)
    for train, test in splits:
        found = np.array([
            [fitted(train, test, plain=plain, extrapolate=extrapolate) for plain in (False, True)]
            for _ in range(N_TIMES)
        ])  # fmt: skip
        losses += found[0, :, 0]
        seconds += found[:, :, 1].min(axis=0)
    return {"data": name, "error": losses[0], "without": losses[1],
            "error, ratio": losses[0] / losses[1], "CPU s": seconds[0],
            "CPU s without": seconds[1], "time, ratio": seconds[0] / seconds[1]}  # fmt: skip


def costs(sets, worlds):
    """Tables of real sets by name, and the module of simulated worlds or None."""
    rows = []
    for kind in () if worlds is None else ("const", "rw", "mixed", "switch"):
        for how in ("forecast", "average"):
            splits = []
            for seed in range(2):
                X, y, time, X_next, y_next, _, _ = worlds.scenario(kind, seed)
                splits.append(((X, y, time), (X_next, y_next)))
            rows.append(row(f"world {kind}, {how}", splits, how))
    for name, (X, y, time) in sets.items():
        rows.append(row(name, list(origins(np.asarray(X), y, time))))
    return pd.DataFrame(rows).set_index("data")


def summed_up(table):
    """The largest ratios."""
    worst = table[["error, ratio", "time, ratio"]].max()
    total = table[["CPU s", "CPU s without"]].sum()
    return (
        f"Errors at most {worst['error, ratio']:.4f} times those without (limit 1.01); time at "
        f"most {worst['time, ratio']:.2f} times (limit 1.2), in all "
        f"{total.iloc[0] / total.iloc[1]:.2f} times."
    )
