"""Ridge regression on the last step, or on all steps pooled."""

from __future__ import annotations

from typing import ClassVar

from driftglm._typing import FloatArray
from driftglm.baselines.pooled import AllSteps, PooledBaseline
from driftglm.baselines.problem import Problem
from driftglm.baselines.quadratic import RidgeQuadratic
from driftglm.baselines.strength import ridge_strengths
from driftglm.baselines.text import TextKind


class _Ridge(PooledBaseline):
    """The penalty strength / 2 |beta|^2."""

    _quadratic = RidgeQuadratic

    def _strengths(self, problem: Problem) -> FloatArray:
        return ridge_strengths(problem.row_length())


class RidgeAll(_Ridge, AllSteps):
    """Ridge regression on all training rows, whatever their step.

    Minimises ``sum w loss + strength / 2 |beta|^2``; see `LassoAll` for the loss, the parameters
    and how ``strength=None`` is settled. A Gaussian fit factorises one matrix and has every
    strength from it; the other families are fitted by reweighted least squares.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([0.0, 1.0, 2.0])
    >>> # 1/2 sum (y - b - x a)^2 + a^2
    >>> model = RidgeAll(strength=2.0, standardize=False).fit(X, y)
    >>> model.coef_.round(6).tolist(), round(model.intercept_, 6)
    ([0.5], 1.0)
    """

    _text_kind: ClassVar[TextKind] = TextKind("ridge", "all")


class RidgeOne(_Ridge):
    """Ridge regression on the rows of the last training step that has any.

    The parameters are those of `RidgeAll`, without `window`. ``strength=None`` is settled by
    fitting the step before the last and scoring on the last.

    Examples
    --------
    >>> from driftglm.baselines import RidgeOne
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=5)
    >>> RidgeOne(1.0).fit(panel.X, panel.y, time=panel.time).predict(panel.X_next).shape
    (200,)
    """

    _text_kind: ClassVar[TextKind] = TextKind("ridge", "one")
