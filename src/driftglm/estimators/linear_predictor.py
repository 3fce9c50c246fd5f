"""The linear predictor of new rows, from an estimator that has been fitted."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from driftglm._typing import FloatArray, IntArray, Matrix, MatrixLike, VectorLike
from driftglm._warnings import warn
from driftglm.data.frames import check_matrix
from driftglm.data.timesteps import TimeAxis
from driftglm.distributed.prediction import by_block
from driftglm.distributed.sources import is_rows
from driftglm.estimators.time_column import split_time
from driftglm.exceptions import DataWarning
from driftglm.families import Family
from driftglm.fitting.fit import X_FORMAT
from driftglm.fitting.outcome import Forecaster
from driftglm.fitting.prediction import eta_means, eta_moments
from driftglm.fitting.reading import exposure_of


class LinearPredictor:
    """Mixin: eta of new rows, its mean and its variance."""

    family_: Family
    freq: str | int | None
    time: str | None
    _axis: TimeAxis

    @property
    @abstractmethod
    def _forecaster(self) -> Forecaster: ...

    @property
    @abstractmethod
    def _holds(self) -> bool: ...

    @property
    @abstractmethod
    def _next_code(self) -> int: ...

    @abstractmethod
    def _group_numbers(self, groups: VectorLike, n_rows: int) -> IntArray | None: ...

    def _codes(self, time: VectorLike, n_rows: int) -> IntArray | int:
        return self._next_code if time is None else self._axis.encode(time, n_rows)

    def _split(self, X: MatrixLike, time: VectorLike) -> tuple[Any, Any]:
        """New rows and their times, if these are in a column."""
        freq = self._axis.freq if self._axis.kind == "period" else self.freq
        return split_time(X, time, self.time, freq)

    def _read_new(self, X: MatrixLike, time: VectorLike) -> tuple[Matrix, IntArray | int]:
        """New rows as checked, and their steps."""
        check_is_fitted(self, "coef_path_")
        X, time = self._split(X, time)
        check_matrix(X)
        rows = validate_data(self, X, reset=False, **X_FORMAT)
        return rows, self._codes(time, rows.shape[0])

    def _eta_means(self, X: MatrixLike, time: VectorLike, groups: VectorLike = None) -> FloatArray:
        """(n_rows, n_responses) eta of every row, with the coefficients of its step or the next."""
        if is_rows(X):
            return np.asarray(by_block(self, "_eta_means", X, time, groups))
        rows, codes = self._read_new(X, time)
        mean = eta_means(self._forecaster, rows, codes, hold=self._holds)
        if (numbers := self._group_numbers(groups, rows.shape[0])) is not None:
            mean += self._forecaster.group_moments(numbers, codes)[0]
        return mean

    def _eta_moments(
        self,
        X: MatrixLike,
        time: VectorLike,
        exposure: VectorLike = None,
        *,
        groups: VectorLike = None,
        drift: bool = True,
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of eta: (n_rows,), or (n_rows, K) with a response for every class."""
        if is_rows(X):
            return self._moments_by_block(X, (time, exposure, groups), drift=drift)
        rows, codes = self._read_new(X, time)
        mean, variance = eta_moments(self._forecaster, rows, codes, hold=self._holds, drift=drift)
        if (numbers := self._group_numbers(groups, rows.shape[0])) is not None:
            shared = self._forecaster.group_moments(numbers, codes)
            mean, variance = mean + shared[0], variance + shared[1]
        exposures = exposure_of(self.family_, exposure, rows.shape[0])
        if self.family_.coupled:
            return mean, variance
        return mean[:, 0] + exposures, variance[:, 0]

    def _moments_by_block(
        self, X: Any, vectors: tuple[VectorLike, ...], *, drift: bool
    ) -> tuple[FloatArray, FloatArray]:
        mean, variance = by_block(self, "_moments_of", X, *vectors, drift=drift)
        return mean, variance

    def _moments_of(
        self, X: Any, time: VectorLike, exposure: VectorLike, groups: VectorLike, *, drift: bool
    ) -> tuple[FloatArray, FloatArray]:
        return self._eta_moments(X, time, exposure, groups=groups, drift=drift)

    def _mean(
        self,
        X: MatrixLike,
        time: VectorLike,
        exposure: VectorLike = None,
        groups: VectorLike = None,
    ) -> FloatArray:
        """E[y] of every row, the uncertainty of the coefficients integrated out.

        Coefficients that are held are taken as they were: how far they may have moved since, which
        widens intervals, would count upwards only.
        """
        check_is_fitted(self, "coef_path_")
        moments = self._eta_moments(X, time, exposure, groups=groups, drift=False)
        mean, most = self.family_.mean(*moments), self.family_.largest_mean
        if np.any(beyond := mean >= most):
            warn(
                f"{int(beyond.sum())} of {mean.size} rows lie so far from those of the fit that "
                f"their mean would pass {most:g}; that is what they are given. Look at their "
                "columns: a unit may differ.",
                DataWarning,
            )
        return mean
