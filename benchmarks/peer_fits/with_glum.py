"""glum: a lasso, and a ridge over time through a block-tridiagonal penalty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from driftglm._typing import FloatArray
from peer_fits.data import Linear, NotApplicableError, PeerData
from peer_fits.tuning import Design, Solution, Task, Tuned, warm_started

FAMILY = {"gaussian": "normal", "binomial": "binomial", "poisson": "poisson"}
MOST_BYTES = 4e9
"""The largest dense matrix of second derivatives that is tried."""
RIDGE = np.geomspace(300.0, 0.3, 4)
CORRELATIONS = (0.9, 0.99)


class Lasso(Tuned):
    """GeneralizedLinearRegressor(l1_ratio=1)."""

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """One object, warm-started."""
        return _path(design, strengths, start, l1_ratio=1.0)


class RidgeOverTime(Tuned):
    """Every feature's path is an autoregression: l1_ratio=0, P2 block-tridiagonal."""

    which = "expanded"

    def __init__(self) -> None:
        self.correlation = CORRELATIONS[0]

    def prepare(self, data: PeerData) -> Task:
        """The time-expanded design, unless its second derivatives do not fit."""
        columns = (data.X.shape[1] + 1) * data.n_steps
        if 8.0 * columns**2 > MOST_BYTES:
            raise NotApplicableError(
                f"a dense matrix of {columns:,} x {columns:,} second derivatives "
                f"({8e-9 * columns**2:.0f} GB)"
            )
        return super().prepare(data)

    def strengths(self, design: Design) -> FloatArray:
        """Of the mean loss."""
        return RIDGE / design.y.size

    def fit(self, task: Task) -> Linear:
        """Both correlations, each with its best strength; the better one on the last step."""
        found = []
        for self.correlation in CORRELATIONS:
            least, k = min(self._errors(task))
            found.append((least, self.correlation, k))
        _, self.correlation, k = min(found)
        strength = self.strengths(task.whole)[k : k + 1]
        (last,) = self.path(task.whole, strength, None)
        chosen = f"strength {strength[0] * task.whole.y.size:.3g}, correlation {self.correlation}"
        return replace(task.whole.linear(last), chosen=chosen)

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """One object, warm-started."""
        penalty = sp.kron(
            sp.eye(design.n_groups), precision(self.correlation, design.n_steps), format="csc"
        )
        # Its check of a large sparse P2 calls a function that scipy does not have.
        return _path(design, strengths, start, l1_ratio=0.0, P2=penalty, check_input=False)

    def _errors(self, task: Task) -> Iterator[tuple[float, int]]:
        for k, solution in enumerate(self.path(task.earlier, self.strengths(task.earlier), None)):
            yield self.last_step_error(task, solution), k


def precision(correlation: float, n_steps: int) -> Any:
    """Inverse covariance of a stationary autoregression of unit variance."""
    main: Any = np.full(n_steps, 1.0 + correlation**2)
    main[[0, -1]] = 1.0
    beside: Any = np.full(n_steps - 1, -correlation)
    return sp.diags([beside, main, beside], [-1, 0, 1]) / (1.0 - correlation**2)


def _path(
    design: Design, strengths: FloatArray, start: Solution | None, **options: Any
) -> Iterator[Solution]:
    glum = import_module("glum")
    first = None if start is None else np.append(start.intercept, start.coef)
    model = glum.GeneralizedLinearRegressor(
        family=FAMILY[design.family], warm_start=True, start_params=first, **options
    )
    return warm_started(model, design, strengths, lambda alpha: model.set_params(alpha=alpha))
