"""Forecasts of rows as distributions, and their proper scores.

A forecast is one object for all rows: it has a mean, quantiles and draws, and is judged by scores
(losses, lower is better). It knows nothing of models; whatever makes forecasts can return one.
"""

from __future__ import annotations

from driftglm.predictive.base import Discrete, Distribution
from driftglm.predictive.bernoulli import Bernoulli
from driftglm.predictive.beta_binomial import BetaBinomial
from driftglm.predictive.categorical import Categorical
from driftglm.predictive.gamma import Gamma
from driftglm.predictive.mixture import Mixture, over_normal
from driftglm.predictive.negative_binomial import NegativeBinomial
from driftglm.predictive.normal import Normal
from driftglm.predictive.poisson import Poisson
from driftglm.predictive.scores import (
    brier,
    crps,
    crps_of_quantiles,
    interval_score,
    log_score,
    pinball,
    quantile_score,
    ranked_probability,
    score_of_interval,
)
from driftglm.predictive.student import Student

__all__ = [
    "Bernoulli",
    "BetaBinomial",
    "Categorical",
    "Discrete",
    "Distribution",
    "Gamma",
    "Mixture",
    "NegativeBinomial",
    "Normal",
    "Poisson",
    "Student",
    "brier",
    "crps",
    "crps_of_quantiles",
    "interval_score",
    "log_score",
    "over_normal",
    "pinball",
    "quantile_score",
    "ranked_probability",
    "score_of_interval",
]
