"""celer: lassos with dual extrapolation, and a group lasso over time."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from driftglm._typing import FloatArray
from peer_fits.tuning import Design, Solution, Tuned, settled, start_at, warm_started

INTERCEPT = 10.0
"""celer's logistic regression has no intercept: a column of tens is all but free of the penalty."""


class Lasso(Tuned):
    """celer.Lasso, or LogisticRegression with a column of tens for the intercept."""

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """One object, warm-started."""
        if design.family == "binomial":
            return _logistic(design, strengths, start)
        return _warm(import_module("celer").Lasso(warm_start=True), design, strengths, start)


class GroupLasso(Tuned):
    """celer.GroupLasso on the time-expanded design, one group a feature."""

    which = "expanded"

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """One object, warm-started."""
        model = import_module("celer").GroupLasso(groups=design.n_steps, warm_start=True)
        return _warm(model, design, strengths, start)


def _logistic(design: Design, strengths: FloatArray, start: Solution | None) -> Iterator[Solution]:
    """`LogisticRegression.path`: the class's `fit` starts at zero, whatever its warm_start says."""
    first = None if start is None else np.append(start.coef, start.intercept / INTERCEPT)
    weights = 1.0 / (strengths * design.y.size)
    signs = np.where(design.y > 0, 1.0, -1.0)
    with settled() as said:
        coefs, _ = (
            import_module("celer")
            .LogisticRegression()
            .path(_with_intercept(design), signs, weights, solver="celer-pn", coef_init=first)
        )
    for coef in coefs.T:
        yield Solution(coef[:-1].copy(), INTERCEPT * float(coef[-1]), said[0])


def _with_intercept(design: Design) -> Any:
    tens = np.full((design.y.size, 1), INTERCEPT)
    if isinstance(design.X, np.ndarray):
        return np.asfortranarray(np.hstack([design.X, tens]))
    return sp.csc_matrix(sp.hstack([design.X, sp.csc_matrix(tens)]))


def _warm(
    model: Any, design: Design, strengths: FloatArray, start: Solution | None
) -> Iterator[Solution]:
    start_at(model, start)
    return warm_started(model, design, strengths, lambda alpha: model.set_params(alpha=alpha))
