"""Classification with drifting coefficients: logistic for two classes, softmax for more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray, MatrixLike, VectorLike
from driftglm.estimators.base import DriftEstimator
from driftglm.exceptions import DataError
from driftglm.families import Binomial, Family
from driftglm.fitting.reading import class_numbers


@dataclass(kw_only=True, eq=False, repr=False)
class DriftClassifier(ClassifierMixin, DriftEstimator):
    """Classification whose coefficients drift over time, most of them being zero.

    Two classes are a logistic regression for `classes_[1]`; more are a softmax with coefficients
    for every class.

    Parameters
    ----------
    prior, solver, inference, extrapolate, fit_intercept, always_in, static, feature_groups, init, \
n_starts, keep_data, freq, seasonality, max_iter, tol, verbose, random_state, n_jobs
        As for `DriftRegressor`.
    class_weight
        None, "balanced" or a dict from class to weight, as in scikit-learn; multiplies
        `sample_weight`.

    Attributes
    ----------
    classes_ : (K,)
    coef_path_ : (T, p) for two classes, (T, K, p) for more
    intercept_path_ : (T,) or (T, K)
    coef_, intercept_ : (1, p) and (1,), or (K, p) and (K,): those `predict(X)` uses
    inclusion_probability_, autocorrelation_ : (p,) or (K, p)
    and the rest as of `DriftRegressor`

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm import DriftClassifier
    >>> rng = np.random.default_rng(0)
    >>> year = np.repeat(np.arange(2001, 2009), 200)
    >>> X = rng.normal(size=(1600, 10))
    >>> eta = (year - 2004.5) * X[:, 0] + X[:, 1]
    >>> y = np.where(rng.random(1600) < 1 / (1 + np.exp(-eta)), "up", "down")
    >>> model = DriftClassifier().fit(X, y, time=year)
    >>> (model.inclusion_probability_ > 0.5).nonzero()[0].tolist()
    [0, 1]
    >>> model.predict_proba(X[:2], time=year[:2]).shape
    (2, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DriftEstimator._parameter_constraints,  # noqa: SLF001
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    class_weight: Mapping[object, float] | Literal["balanced"] | None = None

    def _described(self) -> Family:
        return Binomial()

    def update(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: ArrayLike,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
    ) -> Self:
        """As `DriftRegressor.update`. The new rows may lack classes but not bring new ones."""
        if self.class_weight == "balanced":
            check_is_fitted(self, "coef_path_")
            class_numbers(np.asarray(y).ravel(), self.classes_)  # a new class is the first error
            raise DataError(
                "class_weight='balanced' depends on all rows together, those of earlier steps "
                "included, and cannot be updated; pass a dict of weights, or fit again."
            )
        return super().update(X, y, time=time, sample_weight=sample_weight, groups=groups)

    # -------------------------------------------------------------- prediction

    def decision_function(
        self, X: MatrixLike, *, time: VectorLike = None, groups: VectorLike = None
    ) -> FloatArray:
        """Logits of `classes_[1]` (n_rows,), or of every class (n_rows, K)."""
        eta = self._eta_means(X, time, groups)
        return eta if self.family_.coupled else eta[:, 0]

    def predict_proba(
        self, X: MatrixLike, *, time: VectorLike = None, groups: VectorLike = None
    ) -> FloatArray:
        """Probabilities (n_rows, K), the uncertainty of the coefficients integrated out."""
        check_is_fitted(self, "coef_path_")
        return self.family_.probabilities(*self._eta_moments(X, time, groups=groups))

    def predict_log_proba(
        self, X: MatrixLike, *, time: VectorLike = None, groups: VectorLike = None
    ) -> FloatArray:
        """Logarithm of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X, time=time, groups=groups)))

    def predict(
        self, X: MatrixLike, *, time: VectorLike = None, groups: VectorLike = None
    ) -> np.ndarray:
        """The most probable class of every row."""
        most_probable = self.predict_proba(X, time=time, groups=groups).argmax(axis=1)
        return np.asarray(self.classes_[most_probable])

    # ClassifierMixin, which scikit-learn wants first, has a score that knows no time.
    score = DriftEstimator.score
