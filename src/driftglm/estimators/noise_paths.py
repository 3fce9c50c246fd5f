"""The noise variance of every step, for families that have one."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray
from driftglm.data.timesteps import TimeAxis
from driftglm.estimators.levels import normal_quantile
from driftglm.families import Family, Student
from driftglm.fitting.outcome import Forecaster


class NoisePaths:
    """Mixin: `noise_variance_`, its path and intervals, and the tails of the errors."""

    family_: Family
    _axis: TimeAxis

    @property
    @abstractmethod
    def _forecaster(self) -> Forecaster: ...

    @property
    @abstractmethod
    def noise_(self) -> float:
        """Noise variance or dispersion of the step to predict."""

    @property
    def noise_variance_(self) -> float:
        """The noise variance of the step after the last; its median, if it drifts."""
        return self.noise_ * self._variance_of_scale

    @property
    def degrees_of_freedom_(self) -> float:
        """Of the errors: infinite where they are normal."""
        check_is_fitted(self, "coef_path_")
        if not self.family_.noise_drifts:
            raise AttributeError(
                f"family {self.family_.name!r} has no noise variance, nor errors with degrees of "
                "freedom; its dispersion, if it has one, is noise_."
            )
        return self._forecaster.shape if isinstance(self.family_, Student) else np.inf

    @property
    def _variance_of_scale(self) -> float:
        """The variance of a Student distribution over its squared scale; 1 of normal errors."""
        degrees = self.degrees_of_freedom_
        return 1.0 if np.isinf(degrees) else degrees / (degrees - 2.0)

    @property
    def noise_variance_path_(self) -> FloatArray:
        """(T,) the noise variance of every step; its median, if it drifts."""
        check_is_fitted(self, "coef_path_")
        path = self._forecaster.noise_at(np.arange(self._axis.n_timesteps))
        return path * self._variance_of_scale

    def noise_interval(self, level: float = 0.9) -> FloatArray:
        """(2, T) central intervals of the noise variance of every step.

        They have no width where the noise is constant: it is taken to be known.
        """
        check_is_fitted(self, "coef_path_")
        reach = normal_quantile(level)
        levels = ndtr(np.array([-reach, reach]))
        steps = range(self._axis.n_timesteps)
        found = [self._forecaster.noise_distribution(code).quantile(levels) for code in steps]
        return np.array(found).T * self._variance_of_scale
