"""Differences and other weighted sums of coefficients, with intervals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral, Real
from typing import TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray
from driftglm.data.features import feature_mask, listed
from driftglm.data.time_labels import shown
from driftglm.data.timesteps import TimeAxis
from driftglm.estimators.levels import normal_quantile
from driftglm.exceptions import DataError, TimeError
from driftglm.families import Family
from driftglm.fitting.averaged import Averaged
from driftglm.fitting.contrasts import Contrast, contrast_of, contrast_of_step
from driftglm.fitting.fits import PosteriorFit
from driftglm.fitting.outcome import Forecaster
from driftglm.plots.labels import feature_names_of

Terms: TypeAlias = Mapping[tuple[object, object], float] | ArrayLike
"""Weights by (feature, step), or as an array (steps, features)."""
NEXT = "next"


class Contrasts:
    """Mixin: `contrast`."""

    family_: Family
    classes_: np.ndarray
    n_features_in_: int
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

    def contrast(self, terms: Terms, level: float = 0.9, *, class_: object = None) -> Contrast:
        """A weighted sum of coefficients over features and steps, with its interval.

        Parameters
        ----------
        terms
            {(feature, step): weight}. A feature is a name or a position. A step is a label as in
            `time`, which may lie after the last, or "next" for the step that `predict(X)` uses.
            Or an array of weights (T, p); more rows are the steps after the last.
        level
            Probability of the interval.
        class_
            Of more than two classes, the one whose coefficients are meant.

        Returns
        -------
        Contrast
            estimate, std, lower, upper, probability_positive, probability_zero, distribution;
            in the units of the columns as they were given.

        Notes
        -----
        Of a fit with `inference="sampling"` a contrast is read from its draws. Otherwise nothing is
        sampled. The terms of one feature are correlated over steps and the distribution
        of their sum is exact, a mixture of normal ones beside a probability of exactly zero: of a
        difference between steps that is the probability that the feature does not drift. Features
        are independent in the posterior but for the shared directions, which are taken into
        account. A sum over several has the exact mean and variance, and is taken to be normal if it
        is not exactly zero. With extrapolate="hold" steps after the last have the estimate of the
        last step. Their uncertainty is that of the forecast and the distance to it, as in
        `summary`, and the distribution is normal beside zero. With extrapolate="average" a contrast
        within one step after the last is that of the averaged coefficients, `coef_`, and normal;
        one that compares such a step with others is that of the drifting fit.

        Examples
        --------
        >>> from driftglm import DriftRegressor
        >>> from driftglm.simulate import simulate_panel
        >>> panel = simulate_panel(n_features=5, n_active=2, random_state=0)
        >>> model = DriftRegressor().fit(panel.X, panel.y, time=panel.time)

        How much the coefficient of a feature changed from step 0 to step 7:

        >>> change = model.contrast({("x4", 7): 1, ("x4", 0): -1})
        >>> bool(change.lower < panel.coef_path[7, 4] - panel.coef_path[0, 4] < change.upper)
        True

        Two features, in the next step:

        >>> bool(model.contrast({(3, "next"): 1, (4, "next"): -1}).std > 0)
        True
        """
        check_is_fitted(self, "coef_path_")
        normal_quantile(level)  # checks the level
        if not self._forecaster.posterior:
            raise DataError(
                "this fit is a posterior mode and has no contrasts: it does not know how "
                "uncertain a difference is. Use prior='learned'."
            )
        return self._contrast(self._weights(terms), float(level), self._response(class_))

    def _contrast(self, weights: FloatArray, level: float, response: int) -> Contrast:
        """Of one response, from checked weights."""
        forecaster, used = self._forecaster, np.flatnonzero(weights.any(axis=1))
        after = used.size == 1 and int(used[0]) >= self._axis.n_timesteps
        if isinstance(forecaster, Averaged) and after:
            step = forecaster.steps(int(used[0]), hold=False)[response]
            return contrast_of_step(step, weights[used[0]], level)
        fit = cast("PosteriorFit", forecaster.fits[response])
        return contrast_of(fit, weights, level, hold=self._holds)

    def _response(self, class_: object) -> int:
        """The number of the regression that the coefficients are of."""
        if not self.family_.coupled:
            if class_ is None:
                return 0
            raise DataError(
                f"class_={class_!r}, but there is one set of coefficients; leave class_ out. Of "
                "two classes the coefficients are those of classes_[1]."
            )
        found = np.flatnonzero(self.classes_ == class_)
        if found.size != 1:
            raise DataError(
                f"class_={class_!r}; every class has coefficients of its own: pass one of "
                f"{listed([repr(each) for each in self.classes_.tolist()])}."
            )
        return int(found[0])

    def _weights(self, terms: Terms) -> FloatArray:
        """(T or more, p)."""
        n_steps, p = self._axis.n_timesteps, self.n_features_in_
        if not isinstance(terms, Mapping):
            weights = np.asarray(terms, dtype=np.float64)
            if weights.ndim != 2 or len(weights) < n_steps or weights.shape[1] != p:  # noqa: PLR2004
                raise DataError(
                    f"terms has shape {weights.shape}; pass a weight for every step and feature, "
                    f"({n_steps}, {p}), more rows for steps after the last, or a mapping."
                )
        else:
            names = feature_names_of(self, p)
            placed = [(*self._place(key, names), weight) for key, weight in terms.items()]
            weights = np.zeros((max([n_steps, *(code + 1 for code, _, _ in placed)]), p))
            for code, feature, weight in placed:
                weights[code, feature] += weight if isinstance(weight, Real) else np.nan
        if not np.isfinite(weights).all():
            raise DataError("terms has weights that are not finite numbers; pass numbers.")
        return weights

    def _place(self, key: object, names: list[str]) -> tuple[int, int]:
        """Step code and position of the feature."""
        if not (isinstance(key, tuple) and len(key) == 2):  # noqa: PLR2004
            raise DataError(f"terms has the key {key!r}; pass pairs (feature, step).")
        feature, step = key
        if not isinstance(feature, str | Integral) or isinstance(feature, bool):
            raise DataError(f"terms names the feature {feature!r}; pass a name or a position.")
        mask = feature_mask([feature], len(names), names, "terms")
        return self._code(step), int(np.flatnonzero(mask)[0])

    def _code(self, step: object) -> int:
        if isinstance(step, str) and step == NEXT:
            return self._next_code
        axis = self._axis
        try:
            return int(axis.encode(_label(axis, step), 1)[0])
        except ValueError as error:
            first, last = shown(axis.labels[0]), shown(axis.labels[-1])
            known = "one step" if axis.is_single else f"steps from {first} to {last}"
            raise TimeError(
                f"terms names the step {step!r}; the model has {known}: pass a label as in time, "
                "of these or later ones, or 'next'."
            ) from error


def _label(axis: TimeAxis, step: object) -> ArrayLike:
    """A label as `TimeAxis.encode` reads it: categories and dates may be given as texts."""
    if axis.kind == "category":
        place = axis.categories.index(cast("str", step))
        names = pd.Index(list(axis.categories), dtype=object)
        return cast("ArrayLike", pd.Categorical.from_codes([place], names, ordered=True))
    if axis.kind == "period" and isinstance(step, str):
        return cast("ArrayLike", pd.DatetimeIndex([step]))
    return cast("ArrayLike", [step])
