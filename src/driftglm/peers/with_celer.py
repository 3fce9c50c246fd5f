"""celer: lassos with dual extrapolation, and a group lasso over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from driftglm._typing import FloatArray
from driftglm.peers.tuning import Design, Solution, Tuned, start_at, warm_started

LEVEL = 10.0
"""celer's logistic regression has no intercept: a column of tens is all but free of the penalty."""


class Lasso(Tuned):
    """celer.Lasso, or LogisticRegression with a column of tens for the intercept."""

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """One object, warm-started."""
        celer = import_module("celer")
        if design.family == "gaussian":
            yield from _warm(celer.Lasso(warm_start=True), design, strengths, start)
            return
        wide, n_rows = replace(design, X=_with_level(design)), design.y.size
        model = celer.LogisticRegression(warm_start=True)

        def set_strength(strength: float) -> None:
            model.set_params(C=1.0 / (strength * n_rows))

        for found in warm_started(model, wide, strengths, set_strength):
            yield replace(found, coef=found.coef[:-1], intercept=LEVEL * float(found.coef[-1]))


class GroupLasso(Tuned):
    """celer.GroupLasso on the time-expanded design, one group a feature."""

    which = "expanded"

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """One object, warm-started."""
        model = import_module("celer").GroupLasso(groups=design.n_steps, warm_start=True)
        return _warm(model, design, strengths, start)


def _with_level(design: Design) -> Any:
    tens = np.full((design.y.size, 1), LEVEL)
    if isinstance(design.X, np.ndarray):
        return np.asfortranarray(np.hstack([design.X, tens]))
    return sp.csc_matrix(sp.hstack([design.X, sp.csc_matrix(tens)]))


def _warm(
    model: Any, design: Design, strengths: FloatArray, start: Solution | None
) -> Iterator[Solution]:
    start_at(model, start)
    return warm_started(model, design, strengths, lambda alpha: model.set_params(alpha=alpha))
