"""Estimators whose mean may be proportional to an exposure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from driftglm._typing import MatrixLike, VectorLike
from driftglm.estimators.base import DriftEstimator
from driftglm.fitting.reading import Given
from driftglm.fitting.worker_rows import Workers


@dataclass(kw_only=True, eq=False, repr=False)
class ExposureEstimator(DriftEstimator):
    """`fit`, `update`, `predict` and the rest with `exposure`, which is one number a row."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: VectorLike = None,
        sample_weight: VectorLike = None,
        exposure: VectorLike = None,
        groups: VectorLike = None,
        n_workers: int | None = None,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X, time, sample_weight, groups, n_workers, checkpoint
            As for `DriftRegressor.fit`.
        y : (n_rows,) counts, or what else the family wants
        exposure : (n_rows,) what the mean is proportional to, for families that take one: hours,
            visits, area
        """
        given = Given(y, time, sample_weight, exposure, groups=groups)
        return self._fit_given(X, given, Workers(n_workers, checkpoint))

    def update(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: ArrayLike,
        sample_weight: VectorLike = None,
        exposure: VectorLike = None,
        groups: VectorLike = None,
    ) -> Self:
        """Append rows of new timesteps and fit again, starting from the present fit.

        As `DriftRegressor.update`, with the exposure of the new rows.
        """
        return self._update(X, Given(y, time, sample_weight, exposure, groups=groups))

    def predict(
        self,
        X: MatrixLike,
        *,
        time: VectorLike = None,
        exposure: VectorLike = None,
        groups: VectorLike = None,
    ) -> Any:
        """Expected y of every row, the uncertainty of the coefficients integrated out.

        Coefficients that are held are taken as they were: how far they may have moved since, which
        widens intervals, would count upwards only.
        """
        return self._mean(X, time, exposure, groups)

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: VectorLike = None,
        sample_weight: VectorLike = None,
        exposure: VectorLike = None,
        groups: VectorLike = None,
    ) -> float:
        """D^2, the share of the family's loss (of counts, the deviance) explained; or accuracy."""
        self._check_score(X, time)
        prediction = self.predict(X, time=time, exposure=exposure, groups=groups)
        return self._score(y, prediction, sample_weight)
