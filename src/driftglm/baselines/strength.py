"""What `strength` means, and the same penalty in the terms of scikit-learn and of the Fixed prior.

Every baseline minimises

    sum_n w_n loss(y_n, eta_n) + strength * |beta|_1          (lasso)
    sum_n w_n loss(y_n, eta_n) + strength / 2 * |beta|^2      (ridge)

with loss = the negative log-likelihood at unit noise, constants left out: (y - eta)^2 / 2 for the
Gaussian. The loss is a sum: twice the rows want about the same ridge strength.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from driftglm._typing import FloatArray

Peer = Literal["Ridge", "Lasso", "LogisticRegression", "PoissonRegressor"]

LASSO_GRID = np.concatenate([[2.0], np.geomspace(1.0, 1e-5, 36)])
"""Strengths relative to the smallest one that sets every penalised coefficient to zero.

The first is as empty a model as the second, so that an empty choice is no end of the grid.
"""
LEAST_WIDE = 2e-3
RIDGE_GRID = np.geomspace(1e4, 1e-6, 36)
"""Strengths relative to the mean squared length of a (centred, weighted) row."""


def sklearn_penalty(peer: Peer, strength: float, total_weight: float) -> dict[str, float]:
    """The penalty argument that makes a scikit-learn estimator minimise the same objective.

    `total_weight` is the sum of the sample weights: the number of rows without weights.

    Examples
    --------
    >>> sklearn_penalty("Lasso", 5.0, 100.0)
    {'alpha': 0.05}
    >>> sklearn_penalty("LogisticRegression", 5.0, 100.0)
    {'C': 0.2}
    """
    if peer == "LogisticRegression":
        return {"C": 1.0 / strength}
    # Lasso and PoissonRegressor average the loss over the rows; Ridge sums it, without the halves.
    return {"alpha": strength if peer == "Ridge" else strength / total_weight}


def fixed_scale(strength: float, noise: float = 1.0) -> float:
    """The scale of `Fixed` whose chain has penalty strength / 2 * beta' A beta.

    The log posterior divides the loss by the noise and the chain by the scale, so that strength =
    noise / scale; families without noise divide by 1.
    """
    return noise / strength


def lasso_strengths(largest: float, *, wide: bool = False) -> FloatArray:
    """From the strength that leaves no coefficient to almost no penalty.

    Where there are more columns than rows (`wide`) a weak penalty fits every row; those are as slow
    as they are useless, and the grid ends before them.
    """
    grid = LASSO_GRID[LASSO_GRID > LEAST_WIDE] if wide else LASSO_GRID
    return np.asarray(grid * max(largest, 1e-12))


def ridge_strengths(row_length: float) -> FloatArray:
    """From almost no coefficient to almost no penalty, for rows of this mean squared length."""
    return np.asarray(RIDGE_GRID * max(row_length, 1e-12))
