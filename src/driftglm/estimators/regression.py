"""Linear regression with drifting coefficients."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, Self

from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from driftglm._typing import FloatArray, MatrixLike, VectorLike
from driftglm.estimators.base import DriftEstimator
from driftglm.estimators.noise_paths import NoisePaths
from driftglm.families import Family, Gaussian, Student
from driftglm.fitting.reading import Given
from driftglm.fitting.worker_rows import Workers

PAPER_NOISE = 0.5
"""The paper's loss, -sum (y - f'beta)^2, is a Gaussian likelihood of this variance."""


@dataclass(kw_only=True, eq=False, repr=False)
class DriftRegressor(RegressorMixin, DriftEstimator, NoisePaths):
    """Linear regression whose coefficients drift over time, most of them being zero.

    Parameters
    ----------
    prior
        The distribution of a coefficient path: "learned" (default: a mixture of zero, constant
        and drifting paths whose weights are learned), "exact" (the paper's prior, integrated
        exactly), "variational" (the paper's approximation), "fixed" (ridge over time), or an
        object of `driftglm.priors`.
    solver
        "block" (default: exact updates of one path at a time) or "lbfgs" (the paper's; not for
        the learned prior).
    inference
        "variational" (default), "sampling", or `driftglm.Sampling(draws=1000, warmup=200,
        chains=2)`: after the variational fit the joint posterior is sampled, and intervals, bands
        (`coef_band`), contrasts, `summary` and `predict_draws` are those of the draws. For
        statements about coefficients where columns are correlated; learned prior only, not on
        workers. `random_state` is its seed (None: 0).
    extrapolate
        How steps after the last are predicted: "forecast" the coefficients, "hold" the last ones,
        or "average" both with constant and with pooled coefficients, weighed by how well each
        predicted the last steps before it had seen them (`extrapolation_weights_`). "auto":
        average with the learned prior and five steps or more, forecast with fewer, hold with the
        paper's priors.
    fit_intercept
        Fit an intercept that drifts: flat part + AR(1) deviations. An empty step is interpolated.
    always_in, static
        Features (names, positions or masks) that are never dropped / constant over time.
    feature_groups
        Kinds of features, {name: columns}: names, positions, masks, and patterns of the names of a
        frame, such as {"words": "w_*"}. Every kind has a grid of variances and mixture weights of
        its own, the features in no group together too. Learned prior only; see `kinds_summary`.
    init
        Start of the search for a mode: "lasso-one" (the paper's, and what "auto" means for its
        priors), "lasso-all", "ridge-all" or "zero". Paths that start at zero may enter during
        the search, most correlated first, if they have a nonzero mode given the others; with
        solver="lbfgs" they stay at zero. The learned prior starts from "zero".
    n_starts
        Number of starting points to try, of which the one of highest ELBO is chosen; 1 for the
        paper's priors, whose objective cannot rank them.
    keep_data
        Keep the training data in the model so that it can be updated.
    freq
        Length of a timestep: an integer for integer times (default 1), a pandas period alias
        ("Y", "Q", "M", ...) for dates.
    seasonality
        Steps a cycle, such as 12 months: coefficients and the intercept may have a season, found
        together with their drift, and forecasters with seasons join the average, trusted as far
        as they forecast. "auto" (default): 12, 4 or 52 where steps are months, quarters or weeks
        of dates, two full cycles are there and forecasters are averaged. None: no seasons.
    time
        A column of X, which must be a frame then, that holds the times; it is no feature. It may be
        texts too, such as 2019Q1, 2019-W05, Jan-2019 or 2019-01-31, or yyyymm. Frames that lack it
        are predicted as of the step after the last. Times given as an array go first.
    max_iter, tol
        Most passes over the features, and when to stop: for a mode, the gradient of any
        coefficient times its posterior standard deviation; for the learned prior, ten times
        the rise of the ELBO per row in a round of passes.
    verbose
        Show progress on standard error.
    random_state, n_jobs
        A fit is deterministic; `random_state` is the seed of draws. No figure depends on `n_jobs`.
    noise
        Noise variance: "drift" (its logarithm moves from step to step), "constant", "auto"
        (default: "drift" with the learned prior and four steps or more, else "constant"),
        "paper" (1/2, as the published loss implies) or a number.
    errors
        The distribution of y about its mean: "normal" (default), "student" (heavier tails, whose
        degrees of freedom are learned), or "auto": both are fitted, and the one of higher
        objective is taken.

    Attributes
    ----------
    timesteps_ : (T,) labels of the steps, empty ones included
    coef_path_ : (T, p)
    intercept_path_ : (T,)
    coef_, intercept_ : those `predict(X)` uses: the step after the last
    coef_std_path_ : (T, p) posterior standard deviations (learned prior)
    inclusion_probability_ : (p,) probability that a feature's own path is not zero; 0 or 1 for a
        mode
    drift_probability_ : (p,) probability that it is not constant over time; 0 or 1 for a mode
    effect_probability_ : (p,) probability of an effect, that of shared directions included
    autocorrelation_ : (p,) posterior mean lag-1 correlation, NaN for paths never included
    noise_variance_ : float, that of the next step
    noise_variance_path_ : (T,) medians; see `noise_interval`
    errors_ : "normal" or "student"
    degrees_of_freedom_ : float, of the errors; infinite if they are normal
    objective_history_ : the ELBO, or the floored log posterior of a mode, after every pass;
        non-decreasing
    converged_, n_iter_, optimality_, stop_reason_ : how the solver ended
    rate_ : the rate tau used (priors "exact" and "variational")
    extrapolate_ : "average", "forecast" or "hold"
    extrapolation_weights_, extrapolation_scores_ : frames, step x forecaster, of an average
    seasonality_ : steps a cycle, None without seasons
    seasonal_path_, seasonal_std_path_ : (T, p) the seasonal part of coefficients (with seasons)
    seasonal_intercept_path_ : (T,) that of the intercept, of a row at the columns' centre
    seasonal_probability_, seasonal_intercept_probability_ : that they have a season

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm import DriftRegressor
    >>> rng = np.random.default_rng(0)
    >>> year = np.repeat(np.arange(2001, 2009), 50)
    >>> X = rng.normal(size=(400, 20))
    >>> y = (year - 2004.5) * X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=400)
    >>> model = DriftRegressor(fit_intercept=False).fit(X, y, time=year)
    >>> (model.inclusion_probability_ > 0.5).nonzero()[0].tolist()
    [0, 1]
    >>> model.coef_path_[:, 0].round(1).tolist()
    [-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DriftEstimator._parameter_constraints,  # noqa: SLF001
        "noise": [
            StrOptions({"auto", "drift", "constant", "paper"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "errors": [StrOptions({"normal", "student", "auto"})],
    }

    noise: Literal["auto", "drift", "constant", "paper"] | float = "auto"
    errors: Literal["normal", "student", "auto"] = "normal"

    def _described(self) -> Family:
        # Of "auto" the fit says which; an update goes on with that.
        errors = getattr(self, "errors_", "normal") if self.errors == "auto" else self.errors
        return Student() if errors == "student" else Gaussian()

    def _fit_given(self, X: MatrixLike, given: Given, workers: Workers) -> Self:
        self.errors_ = "normal" if self.errors == "auto" else self.errors
        super()._fit_given(X, given, workers)
        if self.errors == "auto":
            normal = dict(self.__dict__)
            self.errors_ = "student"
            if workers.checkpoint is not None:
                file = f"{os.fspath(workers.checkpoint)}.student"
                workers = dataclasses.replace(workers, checkpoint=file)
            super()._fit_given(X, given, workers)
            if self.objective_history_[-1] <= normal["objective_history_"][-1]:
                self.__dict__ = normal
        return self

    def _noise_param(self) -> str | float:
        return PAPER_NOISE if self.noise == "paper" else self.noise

    def predict(
        self, X: MatrixLike, *, time: VectorLike = None, groups: VectorLike = None
    ) -> FloatArray:
        """Predict every row with the coefficients of its step; `time=None`: the next step.

        `groups` adds the effects of groups that the fit has seen; the others have the mean, zero.
        """
        return self._eta_means(X, time, groups)[:, 0]

    # RegressorMixin, which scikit-learn wants first, has a score that knows no time.
    score = DriftEstimator.score
