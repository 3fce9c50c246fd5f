"""The eight contestants of both experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS
from driftglm.estimators import DriftRegressor, DriftTextModel
from driftglm.experiments.paper import DRIFT, FORECASTING_RATE, TEXT_RATE
from driftglm.priors import Exact, Variational

_BASELINES: dict[str, Callable[..., Any]] = {
    "ridge-one": RidgeOne,
    "ridge-all": RidgeAll,
    "ridge-ts": RidgeTS,
    "lasso-one": LassoOne,
    "lasso-all": LassoAll,
}


def regressor(name: str, always_in: list[int]) -> Any:
    """A contestant of the forecasting experiment; the paper's priors have the paper's rate."""
    if name in _BASELINES:
        return _BASELINES[name](always_in=always_in)
    return DriftRegressor(prior=_prior(name, FORECASTING_RATE), always_in=always_in)


def text_model(name: str) -> Any:
    """A contestant of the text experiment."""
    if name in _BASELINES:
        return _BASELINES[name](family="text")
    return DriftTextModel(prior=_prior(name, TEXT_RATE))


def to_show(names: tuple[str, ...]) -> str | None:
    """The contestant whose coefficients are reported: the last drift model there is."""
    drift = [name for name in DRIFT if name in names]
    return drift[-1] if drift else None


def _prior(name: str, rate: float) -> Any:
    return {"exact": Exact(rate=rate), "variational": Variational(rate=rate)}.get(name, name)
