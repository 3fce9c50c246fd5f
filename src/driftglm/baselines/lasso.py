"""Lasso on the last step, or on all steps pooled."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from driftglm._typing import FloatArray
from driftglm.baselines.irls import solve_path
from driftglm.baselines.lasso_quadratic import LassoQuadratic
from driftglm.baselines.pooled import AllSteps, PooledBaseline
from driftglm.baselines.problem import Problem
from driftglm.baselines.quadratic import Quadratic
from driftglm.baselines.strength import lasso_strengths
from driftglm.baselines.text import TextKind

N_APPROACHES = 6


class _Lasso(PooledBaseline):
    """The penalty strength |beta|_1."""

    _quadratic = LassoQuadratic

    def _largest(self, problem: Problem) -> float:
        """The least strength at which every penalised coefficient is zero."""
        empty = next(solve_path(problem, Quadratic, np.ones(1), self.tol, self.max_iter))
        return float(np.abs(problem.gradient(empty)).max(initial=0.0))

    def _strengths(self, problem: Problem) -> FloatArray:
        n_rows, n_columns = problem.X.shape
        return lasso_strengths(self._largest(problem), wide=n_columns > n_rows)

    def _approach(self, problem: Problem, strength: float) -> FloatArray:
        # A weak penalty is reached faster through stronger ones than from nothing at once.
        largest = self._largest(problem)
        if largest <= strength:
            return np.asarray([strength])
        return np.concatenate([np.geomspace(largest, strength, N_APPROACHES)[1:-1], [strength]])


class LassoAll(_Lasso, AllSteps):
    """Lasso on all training rows, whatever their step.

    Minimises ``sum w loss + strength |beta|_1``, the loss being the family's negative
    log-likelihood at unit noise (``(y - eta)^2 / 2`` for "gaussian"); neither the intercept nor
    the always-in columns are penalised. The loss is a sum, not a mean: scikit-learn's ``alpha``
    is ``strength / n_rows``.

    Parameters
    ----------
    strength
        Strength of the penalty. None: fit the steps before the last along a wide grid, keep the
        strength of least error on the last step, and fit again with all rows. (Within a single
        step every fifth row is held out instead.)
    family
        "gaussian", "binomial" (two classes), "poisson" (counts, with an optional exposure), another
        registered family with one linear predictor a row, or "text": `fit(counts, effects, time=)`
        on word counts (n_docs, V) and the documents' effects (n_docs, F), around a background of
        smoothed word shares; see `driftglm.baselines.text`.
    window
        Use only the last `window` timesteps of the axis, empty ones counted; None: all of them.
    fit_intercept
        Fit a constant intercept.
    always_in
        Features (names, positions or masks) that are not penalised.
    standardize
        Divide penalised columns that are not binary by their standard deviation inside, so that
        one strength suits columns in any units; coefficients are reported in the units of X. False:
        penalise them as they are. Effects of a text are never divided.
    freq
        Length of a timestep, as in `driftglm.DriftRegressor`.
    time
        A column of X (of text: of the effects) that holds the times, as there.
    max_iter, tol
        Most reweighting steps, and the tolerance of every inner solver.

    Attributes
    ----------
    coef_ : (p,), or (1, p) for two classes
    intercept_ : float, or (1,) for two classes
    strength_ : float, given or chosen
    classes_ : the two classes, where y is classes
    timesteps_ : labels of the training steps
    converged_, n_iter_ : whether the tolerance was reached, and in how many reweighting steps
    background_ : (V,), with family="text"; `coef_` is (F, V)

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([0.0, 1.0, 2.0])
    >>> # 1/2 sum (y - b - x a)^2 + |a| / 2
    >>> model = LassoAll(strength=0.5, standardize=False).fit(X, y)
    >>> model.coef_.round(6).tolist(), round(model.intercept_, 6)
    ([0.75], 1.0)
    """

    _text_kind: ClassVar[TextKind] = TextKind("lasso", "all")


class LassoOne(_Lasso):
    """Lasso on the rows of the last training step that has any.

    The parameters are those of `LassoAll`, without `window`. ``strength=None`` is settled by
    fitting the step before the last and scoring on the last.

    Examples
    --------
    >>> from driftglm.baselines import LassoOne
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=20, n_active=3)
    >>> model = LassoOne(30.0).fit(panel.X, panel.y, time=panel.time)
    >>> int((model.coef_ != 0).sum()) < 20
    True
    """

    _text_kind: ClassVar[TextKind] = TextKind("lasso", "one")
