"""scikit-learn: lasso, ridge and elastic net, on all steps or on the newest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from driftglm._typing import FloatArray
from peer_fits.data import SMALL, Linear, NotApplicableError, PeerData
from peer_fits.tuning import Design, Solution, Tuned, Which, settled, start_at, warm_started

RIDGE = np.geomspace(1e5, 1e-1, 10)
"""Strengths of ridges, half of which times |coef|^2 is added to the sum of losses."""


class Sklearn(Tuned):
    """Lasso (share 1), elastic net (between) or ridge (share 0)."""

    def __init__(self, share: float, which: Which = "all steps") -> None:
        self.share, self.which = share, which

    def strengths(self, design: Design) -> FloatArray:
        """Relative to the largest, but for ridge, which has none."""
        if self.share == 0.0:
            return RIDGE
        return super().strengths(design) / self.share

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """Warm starts wherever the class has them."""
        model = _model(design, self.share)
        if self.share > 0.0:
            start_at(model, start, classes=design.family == "binomial")

        def set_strength(strength: float) -> None:
            _set_strength(model, strength, design, self.share)

        return warm_started(model, design, strengths, set_strength)


class FixedLasso:
    """Lasso(alpha=.001, tol=1e-4, max_iter=1000) on all steps; nothing is tuned."""

    def __init__(self, intercept: bool = True) -> None:
        self.intercept = intercept

    def prepare(self, data: PeerData) -> Design:
        """CSC, or dense in Fortran order."""
        return Sklearn(1.0).prepare(data).whole

    def fit(self, design: Design) -> Linear:
        """One fit."""
        from sklearn.linear_model import Lasso

        with settled() as said:
            model = Lasso(alpha=0.001, tol=1e-4, max_iter=1000, fit_intercept=self.intercept)
            model.fit(design.X, design.y)
        n_included = int((np.abs(model.coef_) > SMALL).sum())
        intercept = float(model.intercept_)
        return Linear(design.family, model.coef_, intercept, n_included, said[0], "strength 0.001")


def _model(design: Design, share: float) -> Any:
    from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, PoissonRegressor, Ridge

    if design.family == "gaussian":
        if share == 0.0:
            return Ridge()
        common = {"max_iter": 5000, "warm_start": True}
        return Lasso(**common) if share == 1.0 else ElasticNet(l1_ratio=share, **common)
    if design.family == "binomial":
        if share == 0.0:
            return LogisticRegression(max_iter=1000, warm_start=True)
        model = LogisticRegression(
            l1_ratio=share, solver="saga", max_iter=1000, warm_start=True, random_state=0
        )
        # Up to scikit-learn 1.7 the share of the lasso counts only if it is asked for by name.
        return model.set_params(penalty="elasticnet") if model.penalty == "l2" else model
    if share > 0.0:
        raise NotApplicableError("no lasso for counts")
    return PoissonRegressor(max_iter=1000, warm_start=True)


def _set_strength(model: Any, strength: float, design: Design, share: float) -> None:
    """From our units (mean loss for lassos, sum for ridges) to those of the class."""
    n_rows = design.y.size
    if design.family == "binomial":
        model.set_params(C=1.0 / (strength if share == 0.0 else strength * n_rows))
    elif design.family == "poisson":
        model.set_params(alpha=strength / n_rows)
    else:
        model.set_params(alpha=strength)
