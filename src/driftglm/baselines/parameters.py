"""The constructor parameters of the baselines; scikit-learn reads them off `__init__`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from driftglm._typing import VectorLike
from driftglm.baselines.family_loss import BaselineFamily


@dataclass(repr=False, eq=False)  # both are scikit-learn's
class Parameters:
    """What every baseline is made with; see `LassoAll`."""

    strength: float | None = None
    _: KW_ONLY
    family: str = "gaussian"
    fit_intercept: bool = True
    always_in: VectorLike = None
    standardize: bool = True
    freq: str | int | None = None
    time: str | None = None
    max_iter: int = 100
    tol: float = 1e-6

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "strength": [Interval(Real, 0, None, closed="neither"), None],
        "family": [BaselineFamily()],
        "fit_intercept": ["boolean"],
        "always_in": ["array-like", str, Integral, None],
        "standardize": ["boolean"],
        "freq": [str, Interval(Integral, 1, None, closed="left"), None],
        "time": [str, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }
