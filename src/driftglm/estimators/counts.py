"""Poisson regression with drifting coefficients."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.stats import gamma, nbinom, poisson
from sklearn.base import RegressorMixin, _fit_context
from sklearn.metrics import d2_tweedie_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray
from driftglm.data.checks import log_exposure
from driftglm.estimators.base import DriftEstimator, Extrapolate
from driftglm.estimators.rows import Rows
from driftglm.estimators.starts import Init
from driftglm.estimators.summary import normal_quantile
from driftglm.estimators.worker_rows import Workers
from driftglm.families import Poisson
from driftglm.objective import Noise
from driftglm.priors import Learned, PathPrior

LEAST_EXCESS, MOST_EXCESS = 1e-9, 1e12
LARGE = 1e6


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

    def _family(self) -> Poisson:
        learned = self.prior == "learned" or isinstance(self.prior, Learned)
        return Poisson(dispersed=self.dispersion != "auto" or learned)

    def _noise(self, rows: Rows) -> Noise:
        if isinstance(self.dispersion, Real):
            return Noise(given=float(self.dispersion), reference=1.0)
        if not rows.family.has_noise:
            return Noise(given=1.0, reference=1.0)
        certain = np.zeros(1)
        null = rows.exposure + rows.family.center(rows.y, rows.weights, rows.exposure)
        deviance = rows.family.squares(rows.y, null, certain, rows.weights)
        start = max(deviance / float(rows.weights.sum()), 1.0)
        return Noise(given=None, reference=start, least=1.0)

    @property
    def dispersion_(self) -> float:
        """Variance over mean of a count, as given or as estimated."""
        check_is_fitted(self, "coef_path_")
        return self._noise_seen

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
        workers = Workers(n_workers, checkpoint)
        return self._fit_rows(X, y, time, sample_weight, exposure, workers)

    def update(
        self, X: Any, y: Any, *, time: Any, sample_weight: Any = None, exposure: Any = None
    ) -> Self:
        """Append rows of new timesteps and fit again, starting from the present fit.

        As `DriftRegressor.update`, with the exposure of the new rows.
        """
        return self._update_rows(X, y, time, sample_weight, exposure)

    def _moments(
        self, X: Any, time: Any, exposure: Any, *, drift: bool
    ) -> tuple[FloatArray, FloatArray]:
        mean, variance = (part[:, 0] for part in self._eta_moments(X, time, drift=drift))
        return mean + log_exposure(exposure, mean.size), variance

    def predict(self, X: Any, *, time: Any = None, exposure: Any = None) -> FloatArray:
        """Expected counts, the uncertainty of the coefficients integrated out.

        Coefficients that are held are taken as they were: how far they may have moved since, which
        widens intervals, would count upwards only.
        """
        check_is_fitted(self, "coef_path_")
        return self._family().mean(*self._moments(X, time, exposure, drift=False))

    def predict_interval(
        self, X: Any, time: Any = None, level: float = 0.9, *, exposure: Any = None
    ) -> FloatArray:
        """Central prediction intervals of the counts (n_rows, 2).

        Uncertain coefficients and scatter together: a negative binomial law of their mean and
        variance.
        """
        normal_quantile(level)  # checks the level
        self._uncertain_eta(X, time)
        mean, variance = self._moments(X, time, exposure, drift=True)
        expected = self._family().mean(mean, variance)
        with np.errstate(over="ignore"):
            excess = self._noise_seen - 1.0 + expected * np.expm1(variance)
        excess = np.clip(excess, LEAST_EXCESS, MOST_EXCESS)
        tails = np.array([[0.5 - 0.5 * level], [0.5 + 0.5 * level]])
        out = np.asarray(poisson.ppf(tails, np.minimum(expected, LARGE)))
        some = (excess > LEAST_EXCESS) & (expected <= LARGE)
        shape, odds = expected[some] / excess[some], 1.0 / (1.0 + excess[some])
        out[:, some] = nbinom.ppf(tails, shape, odds)
        # Counting up to a large quantile takes for ever; a gamma law is the same by then.
        large = expected > LARGE
        scale = np.maximum(excess[large], 1.0)
        out[:, large] = gamma.ppf(tails, np.maximum(expected[large] / scale, LEAST_EXCESS)) * scale
        return np.asarray(out.T)

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
        return float(
            d2_tweedie_score(np.asarray(y), prediction, sample_weight=sample_weight, power=1)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
