"""Poisson regression with drifting coefficients."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from driftglm._typing import FloatArray
from driftglm.estimators.base import DriftEstimator, Extrapolate
from driftglm.families import Family, Poisson
from driftglm.fitting.reading import Given
from driftglm.fitting.starts import Init
from driftglm.fitting.worker_rows import Workers
from driftglm.priors import Learned, PathPrior


class DriftPoissonRegressor(RegressorMixin, DriftEstimator):
    """Regression of counts, log link, whose coefficients drift over time, most being zero.

    Parameters
    ----------
    prior, solver, extrapolate, fit_intercept, always_in, static, init, n_starts, keep_data, freq, \
max_iter, tol, verbose, random_state, n_jobs
        As for `DriftRegressor`.
    dispersion
        Variance of a count over its mean: "estimate", a number, or "auto": estimated with the
        learned prior (never below 1), 1 with the paper's priors. Real counts scatter more than a
        Poisson law allows, and a model that does not know it takes noise for drift.

    Attributes
    ----------
    dispersion_ : float
    coef_path_, intercept_path_, coef_, intercept_, ... : as of `DriftRegressor`, on the log scale

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm import DriftPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> month = np.repeat(np.arange(8), 100)
    >>> X = rng.normal(size=(800, 10))
    >>> y = rng.poisson(np.exp(1 + (month - 3.5) / 5 * X[:, 0] + 0.3 * X[:, 1]))
    >>> model = DriftPoissonRegressor().fit(X, y, time=month)
    >>> (model.inclusion_probability_ > 0.5).nonzero()[0].tolist()
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DriftEstimator._parameter_constraints,  # noqa: SLF001
        "dispersion": [StrOptions({"auto", "estimate"}), Interval(Real, 0, None, closed="neither")],
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
        dispersion: Literal["auto", "estimate"] | float = "auto",
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
        self.dispersion = dispersion

    def _described(self) -> Family:
        return Poisson()

    def _noise_param(self) -> str | float:
        return self.dispersion

    @property
    def dispersion_(self) -> float:
        """Variance over mean of a count, as given or as estimated."""
        return self.noise_

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        time: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        n_workers: int | None = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : (n_rows, n_features) array, sparse matrix or frame; a Dask array, a list of delayed
            partitions or a folder of shards is fitted on Dask workers
        y : (n_rows,) counts
        time : (n_rows,) integers, dates, Periods or an ordered Categorical; None: one timestep
        sample_weight : (n_rows,), a row of weight 2 counts as two rows
        exposure : (n_rows,) what the expected count is proportional to: hours, visits, area
        n_workers : processes of a local cluster to fit on, unless a Dask client is active; None:
            rows in this process are fitted in it, others on the active client
        checkpoint : a file to go on from if the fit is interrupted; removed when it is done
        """
        given = Given(y, time, sample_weight, exposure)
        return self._fit_given(X, given, Workers(n_workers, checkpoint))

    def update(
        self, X: Any, y: Any, *, time: Any, sample_weight: Any = None, exposure: Any = None
    ) -> Self:
        """Append rows of new timesteps and fit again, starting from the present fit.

        As `DriftRegressor.update`, with the exposure of the new rows.
        """
        return self._update(X, Given(y, time, sample_weight, exposure))

    def predict(self, X: Any, *, time: Any = None, exposure: Any = None) -> FloatArray:
        """Expected counts, the uncertainty of the coefficients integrated out.

        Coefficients that are held are taken as they were: how far they may have moved since, which
        widens intervals, would count upwards only.
        """
        return self._mean(X, time, exposure)

    def predict_interval(
        self, X: Any, time: Any = None, level: float = 0.9, *, exposure: Any = None
    ) -> FloatArray:
        """Central prediction intervals of the counts (n_rows, 2).

        Uncertain coefficients and scatter together: a negative binomial law of their mean and
        variance.
        """
        return self._interval(X, time, level, exposure)

    def score(
        self,
        X: Any,
        y: Any,
        *,
        time: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
    ) -> float:
        """D^2, the share of the Poisson deviance explained."""
        prediction = self.predict(X, time=time, exposure=exposure)
        return self._explained(y, prediction, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
