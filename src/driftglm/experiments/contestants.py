"""The contestants of both experiments."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from driftglm.estimators import DriftRegressor, DriftTextModel
from driftglm.experiments.paper import DRIFT, FORECASTING_RATE, RATES, TEXT_RATE
from driftglm.priors import Exact, Variational
from driftglm.priors.adaptive import AdaptivePrior
from driftglm.tables.comparing import BASELINES


def regressor(name: str, always_in: list[int]) -> BaseEstimator:
    """A contestant of the forecasting experiment; the paper's priors have the paper's rate.

    "paper" is the paper's own algorithm: its bound, L-BFGS from the lasso of the last year, noise
    variance 1/2. "forecast" is the learned prior that does not ask forecasts how much of its
    history to trust; "learned", the default, does.
    """
    if name in BASELINES:
        return BASELINES[name](always_in=always_in)
    if name == "paper":
        return DriftRegressor(
            prior=Variational(rate=FORECASTING_RATE),
            solver="lbfgs",
            init="lasso-one",
            noise="paper",
            always_in=always_in,
        )
    if name == "forecast":
        return DriftRegressor(extrapolate="forecast", always_in=always_in)
    return DriftRegressor(prior=_prior(name, FORECASTING_RATE), always_in=always_in)


def grids(names: tuple[str, ...]) -> dict[str, dict[str, list[object]]]:
    """What contestants choose on the dev year, baselines apart: the rate, of the paper's own."""
    priors: list[object] = [Variational(rate=rate) for rate in RATES]
    return {"paper": {"driftregressor__prior": priors}} if "paper" in names else {}


def text_model(name: str) -> BaseEstimator:
    """A contestant of the text experiment."""
    if name in BASELINES:
        return BASELINES[name](family="text")
    return DriftTextModel(prior=_prior(name, TEXT_RATE))


def to_show(names: tuple[str, ...]) -> str | None:
    """The contestant whose coefficients are reported: the last drift model there is."""
    drift = [name for name in DRIFT if name in names]
    return drift[-1] if drift else None


def _prior(name: str, rate: float) -> AdaptivePrior | str:
    priors = {"exact": Exact(rate=rate), "variational": Variational(rate=rate)}
    return priors.get(name, name)
