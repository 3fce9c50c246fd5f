"""What an estimator says about new rows, as distributions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray, IntArray, MatrixLike, VectorLike
from driftglm.data.checks import check_numbers, check_weights
from driftglm.estimators.levels import normal_quantile
from driftglm.exceptions import DataError
from driftglm.families import Family
from driftglm.fitting.outcome import Forecaster
from driftglm.fitting.prediction import law_of
from driftglm.fitting.reading import class_numbers, trials_of
from driftglm.fitting.sampled import SampledFit
from driftglm.predictive import Distribution


class Forecasts:
    """Mixin: distributions, intervals, quantiles, draws and log scores of new rows.

    `time` is as for `predict`: None is the step after the last, labels may lie several steps after
    it. `exposure` is for families that take one. `groups` are ids as in `fit`: rows of groups that
    the fit has not seen, or all rows if none are given, have effects of mean zero and the variance
    between groups.
    """

    family_: Family
    classes_: np.ndarray

    @property
    @abstractmethod
    def _forecaster(self) -> Forecaster: ...

    @abstractmethod
    def _eta_moments(
        self,
        X: MatrixLike,
        time: VectorLike,
        exposure: VectorLike = None,
        *,
        groups: VectorLike = None,
        drift: bool = True,
    ) -> tuple[FloatArray, FloatArray]: ...

    @abstractmethod
    def _codes(self, time: VectorLike, n_rows: int) -> IntArray | int: ...

    @abstractmethod
    def _split(self, X: MatrixLike, time: VectorLike) -> tuple[Any, Any]: ...

    @abstractmethod
    def _joint_predictions(
        self,
        X: MatrixLike,
        n_draws: int,
        time: VectorLike,
        given: tuple[VectorLike, VectorLike, VectorLike],
        random_state: int | None,
    ) -> np.ndarray: ...

    def predict_distribution(
        self,
        X: MatrixLike,
        time: VectorLike = None,
        *,
        exposure: VectorLike = None,
        trials: VectorLike = None,
        groups: VectorLike = None,
    ) -> Distribution:
        """What y may be, row by row: uncertain coefficients and noise together.

        Of families that take `trials` the distribution is that of the successes; None is one trial.

        Returns
        -------
        Distribution
            With `mean`, `variance`, `cdf`, `pdf`, `log_prob`, `quantile`, `interval`, `draws`,
            `crps`, `pit` and `save`; see `driftglm.predictive`. Classes are counted 0, 1, ... in
            the order of `classes_`.

        Examples
        --------
        >>> from driftglm import DriftRegressor
        >>> from driftglm.simulate import simulate_panel
        >>> panel = simulate_panel(n_features=5, random_state=0)
        >>> model = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
        >>> forecast = model.predict_distribution(panel.X_next)
        >>> forecast.quantile([0.05, 0.5, 0.95]).shape == (len(panel.X_next), 3)
        True
        """
        check_is_fitted(self, "coef_path_")
        X, time = self._split(X, time)
        mean, variance = self._uncertain_eta(X, time, exposure, groups)
        family = self.family_
        if (given := trials_of(trials, mean.shape[0])) is not None:
            family = family.with_trials(given)
        codes = self._codes(time, mean.shape[0])
        return law_of(family, self._forecaster, codes, mean, variance)

    def predict_interval(
        self,
        X: MatrixLike,
        time: VectorLike = None,
        level: float = 0.9,
        *,
        exposure: VectorLike = None,
        trials: VectorLike = None,
        groups: VectorLike = None,
    ) -> FloatArray:
        """Central intervals of y, or of the probabilities of its classes.

        (n_rows, 2), or (n_rows, K, 2) of more than two classes.
        """
        normal_quantile(level)  # checks the level
        if self._has_classes():
            moments = self._uncertain_eta(X, time, exposure, groups)
            return self.family_.probability_interval(*moments, level)
        forecast = self.predict_distribution(
            X, time, exposure=exposure, trials=trials, groups=groups
        )
        return forecast.interval(level)

    def predict_quantiles(
        self,
        X: MatrixLike,
        levels: ArrayLike,
        time: VectorLike = None,
        *,
        exposure: VectorLike = None,
        trials: VectorLike = None,
        groups: VectorLike = None,
    ) -> FloatArray:
        """(n_rows, n_levels) quantiles of y; (n_rows,) for a single level. Classes have none."""
        if self._has_classes():
            raise DataError(
                "classes have no quantiles; predict_interval has intervals of their "
                "probabilities, predict_proba the probabilities."
            )
        forecast = self.predict_distribution(
            X, time, exposure=exposure, trials=trials, groups=groups
        )
        return forecast.quantile(levels)

    def predict_draws(
        self,
        X: MatrixLike,
        n_draws: int = 1000,
        time: VectorLike = None,
        *,
        exposure: VectorLike = None,
        trials: VectorLike = None,
        groups: VectorLike = None,
        random_state: int | None = None,
    ) -> np.ndarray:
        """(n_draws, n_rows) draws of y, or of its classes.

        Rows are drawn independently of each other: sums over rows, whose coefficients are the same,
        are more uncertain than these draws say. With `inference="sampling"` all rows of a draw have
        the coefficients of one draw from the joint posterior, and sums are right.
        """
        check_is_fitted(self, "coef_path_")
        if isinstance(self._forecaster.fits[0], SampledFit):
            given = exposure, trials, groups
            drawn = self._joint_predictions(X, n_draws, time, given, random_state)
            return self.classes_[drawn.astype(np.int64)] if self._has_classes() else drawn
        forecast = self.predict_distribution(
            X, time, exposure=exposure, trials=trials, groups=groups
        )
        drawn = forecast.draws(n_draws, random_state)
        return self.classes_[drawn.astype(np.int64)] if self._has_classes() else drawn

    def log_score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        time: VectorLike = None,
        *,
        sample_weight: VectorLike = None,
        exposure: VectorLike = None,
        trials: VectorLike = None,
        groups: VectorLike = None,
    ) -> float:
        """Mean log density (or log probability) of y as predicted; the higher the better.

        The metric "log-score" of `driftglm.evaluation.compare` is a loss, minus this number.
        """
        target = np.asarray(y)
        if self._has_classes():
            target = class_numbers(target, self.classes_)
        else:
            check_numbers(target)
            if self.family_.takes_trials:
                both = self.family_.read_target(target, trials_of(trials, len(target)))
                target, trials = self.family_.observed(both), both.sum(axis=1)
        forecast = self.predict_distribution(
            X, time, exposure=exposure, trials=trials, groups=groups
        )
        scores = forecast.log_prob(target)
        return float(np.average(scores, weights=check_weights(sample_weight, target.size)))

    def _has_classes(self) -> bool:
        check_is_fitted(self, "coef_path_")
        return self.family_.target == "classes"

    def _uncertain_eta(
        self, X: MatrixLike, time: VectorLike, exposure: VectorLike, groups: VectorLike
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of eta; a mode has no variance, and what it would say is too sure."""
        check_is_fitted(self, "coef_path_")
        if not self._forecaster.posterior:
            raise DataError(
                "this fit is a posterior mode and has no intervals and no distributions: it does "
                "not know how uncertain it is. Use prior='learned'."
            )
        return self._eta_moments(X, time, exposure, groups=groups)
