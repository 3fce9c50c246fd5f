"""Scores: losses, lower is better, by their definitions."""

import numpy as np
import pytest

from driftglm.exceptions import DataError
from driftglm.predictive import (
    Bernoulli,
    Categorical,
    Normal,
    Poisson,
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

RNG = np.random.default_rng(5)
LOC, SCALE, Y = RNG.normal(size=40), RNG.uniform(0.5, 2.0, 40), 3 * RNG.normal(size=40)
FORECAST = Normal(LOC, SCALE)


def test_scores_agree_with_scoringrules(scoringrules):
    low, high = FORECAST.interval(0.8).T
    np.testing.assert_allclose(
        interval_score(FORECAST, Y, 0.8), scoringrules.interval_score(Y, low, high, 0.2)
    )
    np.testing.assert_allclose(
        log_score(FORECAST, Y), scoringrules.logs_normal(Y, LOC, SCALE), rtol=1e-8
    )
    levels = np.array([0.1, 0.5, 0.7])
    quantiles = FORECAST.quantile(levels)
    expected = np.stack(
        [scoringrules.quantile_score(Y, quantiles[:, j], levels[j]) for j in range(3)], axis=1
    )
    np.testing.assert_allclose(pinball(Y, quantiles, levels), expected)
    np.testing.assert_allclose(quantile_score(FORECAST, Y, levels), expected.mean(axis=1))


def test_far_forecasts_score_worse():
    near, far = Normal(0.0, 1.0), Normal(5.0, 1.0)
    for score in (log_score, crps, interval_score, quantile_score):
        assert score(near, [0.1])[0] < score(far, [0.1])[0]
    assert brier(Bernoulli(0.9), [1])[0] < brier(Bernoulli(0.1), [1])[0]
    ordered = [ranked_probability(Poisson(rate), [3])[0] for rate in (3.0, 9.0, 90.0)]
    assert ordered == sorted(ordered)


def test_an_interval_pays_for_its_width_and_for_misses():
    given = [[0.0, 2.0]] * 3
    np.testing.assert_allclose(score_of_interval([1.0, 3.0, -1.0], given, 0.9), [2.0, 22.0, 22.0])


def test_pinball_weighs_both_sides():
    np.testing.assert_allclose(pinball([1.0], [[0.0, 3.0]], [0.1, 0.9]), [[0.1, 0.2]])


def test_many_quantiles_give_the_crps():
    levels = (np.arange(4000) + 0.5) / 4000
    approximate = crps_of_quantiles(Y, FORECAST.quantile(levels), levels)
    np.testing.assert_allclose(approximate, crps(FORECAST, Y), rtol=2e-3)


def test_scores_are_of_what_has_them():
    with pytest.raises(DataError, match="Normal has no Brier"):
        brier(FORECAST, Y)
    with pytest.raises(DataError, match="Normal is continuous"):
        ranked_probability(FORECAST, Y)
    with pytest.raises(DataError, match="ends before"):
        score_of_interval([0.0], [[1.0, 0.0]])
    with pytest.raises(DataError, match=r"\(n, 2\)"):
        pinball([0.0], [[1.0]], [0.1, 0.9])
    with pytest.raises(DataError, match="NaN"):
        pinball([0.0], [[np.nan]], [0.5])
    np.testing.assert_allclose(brier(Categorical([[0.5, 0.5]]), [0]), [0.5])
