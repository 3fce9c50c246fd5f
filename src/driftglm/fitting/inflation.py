"""How much too narrow intervals are where columns go together and each path is judged by itself.

Given the others, the variance of a coefficient is 1 / R^ii of what it is when they are unknown, R
being the correlations of the columns within steps and R^ii the diagonal of its inverse (the
variance inflation factor). A factorised posterior knows the former.
"""

from __future__ import annotations

import numpy as np

from driftglm._threads import one_thread
from driftglm._typing import BoolArray, FloatArray
from driftglm.data.matrices import dense
from driftglm.fitting.rows import Rows

MOST_ROWS, MOST_COLUMNS = 5000, 500
"""From which, and of how many columns at most, correlations are computed."""
ROWS_A_COLUMN = 5
"""With fewer rows for each column, columns go together by chance."""
MOST = 10.0
"""Said of copies too, where it would be without bound."""


def too_narrow(rows: Rows, included: BoolArray) -> FloatArray:
    """(p,) by how much intervals of `included` columns are too narrow, 1 where they are not.

    Of rows on workers, of very many columns or of few rows nothing is known: 1.
    """
    out = np.ones(included.size)
    chosen = np.flatnonzero(included)
    few = 2 <= chosen.size <= MOST_COLUMNS  # noqa: PLR2004 (a pair)
    if rows.X is None or not few:
        return out
    taken = np.unique(np.linspace(0, rows.codes.size - 1, MOST_ROWS).astype(np.int64))
    codes = np.unique(rows.codes[taken], return_inverse=True)[1]
    n_steps = int(codes.max()) + 1
    if taken.size - n_steps < ROWS_A_COLUMN * chosen.size:
        return out
    columns = dense(rows.X[taken][:, chosen]).astype(np.float64)
    if rows.intercept:
        columns = columns - _step_means(columns, codes, n_steps)
    size = np.sqrt((columns**2).sum(axis=0))
    columns, chosen = columns[:, size > 0] / size[size > 0], chosen[size > 0]
    with one_thread():  # the same digits on any number of threads
        values, vectors = np.linalg.eigh(columns.T @ columns)
    inverse = (vectors**2 / np.maximum(values, MOST**-2)).sum(axis=1)
    out[chosen] = np.clip(np.sqrt(inverse), 1.0, MOST)
    return out


def _step_means(columns: FloatArray, codes: np.ndarray, n_steps: int) -> FloatArray:
    """Of every row, the mean of its step."""
    counts = np.bincount(codes, minlength=n_steps)
    sums = np.zeros((n_steps, columns.shape[1]))
    np.add.at(sums, codes, columns)
    return np.asarray((sums / counts[:, None])[codes])
