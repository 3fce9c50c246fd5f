"""skglm: lassos with working sets, and a group lasso over time."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from driftglm._typing import FloatArray
from peer_fits.tuning import Design, Solution, Tuned, start_at, warm_started


class Lasso(Tuned):
    """skglm.Lasso, SparseLogisticRegression, or a Poisson datafit with an L1 penalty."""

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """One object, warm-started."""
        model = start_at(_lasso(design), start, classes=design.family == "binomial")

        def set_strength(strength: float) -> None:
            if design.family == "poisson":
                model.penalty.alpha = strength
            else:
                model.set_params(alpha=strength)

        return warm_started(model, design, strengths, set_strength)


class GroupLasso(Tuned):
    """skglm.GroupLasso on the time-expanded design, one group a feature."""

    which = "expanded"

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """One object, warm-started."""
        model = import_module("skglm").GroupLasso(groups=design.n_steps, warm_start=True)
        start_at(model, start)
        return warm_started(model, design, strengths, lambda alpha: model.set_params(alpha=alpha))


def _lasso(design: Design) -> Any:
    skglm = import_module("skglm")
    if design.family == "gaussian":
        return skglm.Lasso(warm_start=True)
    if design.family == "binomial":
        return skglm.SparseLogisticRegression(warm_start=True, max_iter=50)
    solver = import_module("skglm.solvers").ProxNewton(fit_intercept=True, warm_start=True)
    datafit = import_module("skglm.datafits").Poisson()
    penalty = import_module("skglm.penalties").L1(1.0)
    return skglm.GeneralizedLinearEstimator(datafit, penalty, solver)
