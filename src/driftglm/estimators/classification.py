"""Classification with drifting coefficients: logistic for two classes, softmax for more."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray
from driftglm.estimators.base import DriftEstimator, Extrapolate
from driftglm.exceptions import DataError
from driftglm.families import Binomial, Family
from driftglm.fitting.reading import Given, class_numbers
from driftglm.fitting.starts import Init
from driftglm.fitting.worker_rows import Workers
from driftglm.priors import Learned, PathPrior


class DriftClassifier(ClassifierMixin, DriftEstimator):
    """Classification whose coefficients drift over time, most of them being zero.

    Two classes are a logistic regression for `classes_[1]`; more are a softmax with coefficients
    for every class.

    Parameters
    ----------
    prior, solver, extrapolate, fit_intercept, always_in, static, init, n_starts, keep_data, freq, \
max_iter, tol, verbose, random_state, n_jobs
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

    def __init__(  # noqa: PLR0913
        self,
        *,
        prior: str | PathPrior | Learned = "learned",
        solver: Literal["auto", "block", "lbfgs"] = "auto",
        extrapolate: Extrapolate = "auto",
        fit_intercept: bool = True,
        always_in: Any = None,
        static: Any = None,
        init: Init = "auto",
        n_starts: int = 1,
        keep_data: bool = False,
        freq: str | int | None = None,
        max_iter: int = 1000,
        tol: float = 1e-4,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    ) -> None:
        super().__init__(
            prior=prior,
            solver=solver,
            extrapolate=extrapolate,
            fit_intercept=fit_intercept,
            always_in=always_in,
            static=static,
            init=init,
            n_starts=n_starts,
            keep_data=keep_data,
            freq=freq,
            max_iter=max_iter,
            tol=tol,
            verbose=verbose,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    def _described(self) -> Family:
        return Binomial()

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        time: Any = None,
        sample_weight: Any = None,
        n_workers: int | None = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : (n_rows, n_features) array, sparse matrix or frame; a Dask array, a list of delayed
            partitions or a folder of shards is fitted on Dask workers
        y : (n_rows,) class labels; a class may be missing in some timesteps
        time : (n_rows,) integers, dates, Periods or an ordered Categorical; None: one timestep
        sample_weight : (n_rows,), a row of weight 2 counts as two rows
        n_workers : processes of a local cluster to fit on, unless a Dask client is active; None:
            rows in this process are fitted in it, others on the active client
        checkpoint : a file to go on from if the fit is interrupted; removed when it is done
        """
        return self._fit_given(X, Given(y, time, sample_weight), Workers(n_workers, checkpoint))

    def update(self, X: Any, y: Any, *, time: Any, sample_weight: Any = None) -> Self:
        """Append rows of new timesteps and fit again, starting from the present fit.

        As `DriftRegressor.update`. The new rows may lack classes but not bring new ones.
        """
        if self.class_weight == "balanced":
            check_is_fitted(self, "coef_path_")
            class_numbers(np.asarray(y).ravel(), self.classes_)  # a new class is the first error
            raise DataError(
                "class_weight='balanced' depends on all rows together, those of earlier steps "
                "included, and cannot be updated; pass a dict of weights, or fit again."
            )
        return self._update(X, Given(y, time, sample_weight))

    # -------------------------------------------------------------- prediction

    def decision_function(self, X: Any, *, time: Any = None) -> FloatArray:
        """Logits of `classes_[1]` (n_rows,), or of every class (n_rows, K)."""
        eta = self._eta_means(X, time)
        return eta if self.family_.coupled else eta[:, 0]

    def predict_proba(self, X: Any, *, time: Any = None) -> FloatArray:
        """Probabilities (n_rows, K), the uncertainty of the coefficients integrated out."""
        check_is_fitted(self, "coef_path_")
        return self.family_.probabilities(*self._eta_moments(X, time))

    def predict_log_proba(self, X: Any, *, time: Any = None) -> FloatArray:
        """Logarithm of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X, time=time)))

    def predict(self, X: Any, *, time: Any = None) -> np.ndarray:
        """The most probable class of every row."""
        p = self.predict_proba(X, time=time)
        return np.asarray(self.classes_[np.argmax(p, axis=1)])

    def predict_interval(self, X: Any, time: Any = None, level: float = 0.9) -> FloatArray:
        """Central intervals of the probabilities: (n_rows, 2), or (n_rows, K, 2)."""
        return self._interval(X, time, level)

    def score(self, X: Any, y: Any, *, time: Any = None, sample_weight: Any = None) -> float:
        """Accuracy of the predictions."""
        return float(accuracy_score(y, self.predict(X, time=time), sample_weight=sample_weight))
