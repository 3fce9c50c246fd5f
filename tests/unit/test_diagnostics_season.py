import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from driftglm.diagnostics import Residuals
from driftglm.diagnostics.season import _log_p, season

STEPS = np.repeat(np.arange(60), 10)
MONTHS = [f"{2000 + t // 12}-{1 + t % 12:02d}" for t in range(60)]
DECEMBER = 1.5 * (np.arange(60) % 12 == 11)


def test_a_season_left_in_the_residuals_is_found_and_named():
    values = np.random.default_rng(0).normal(size=600) + DECEMBER[STEPS]
    found = season(Residuals(values, STEPS, 60, period=12, labels=MONTHS))
    assert found.p_value <= 0.001
    assert "highest in steps such as 2000-12" in found.finding
    assert "indicators of its 12 phases" in found.advice


def test_a_season_the_intercept_path_has_followed_is_found_in_it():
    rng = np.random.default_rng(1)
    values = rng.normal(size=600)
    path = lfilter([0.3], [1, -0.8], rng.normal(size=60)) + DECEMBER
    residuals = values - values.reshape(60, 10).mean(axis=1)[STEPS]
    found = season(Residuals(residuals, STEPS, 60, period=12, intercept_path=path))
    assert found.p_value <= 0.001


def test_an_unknown_period_is_found_and_paid_for():
    rng = np.random.default_rng(2)
    found = season(Residuals(rng.normal(size=600) + 0.8 * (STEPS % 7 == 0), STEPS, 60))
    assert found.p_value < 0.01
    assert "every 7," in found.finding
    drawn = [season(Residuals(rng.normal(size=60), np.arange(60), 60)).p_value for _ in range(30)]
    assert np.mean(np.array(drawn) < 0.05) <= 0.15


def test_an_autocorrelated_path_is_no_season():
    rng = np.random.default_rng(3)
    drawn = []
    for _ in range(100):
        path = lfilter([0.6], [1, -0.8], rng.normal(size=80))[20:]
        given = Residuals(np.zeros(60), np.arange(60), 60, period=12, intercept_path=path)
        drawn.append(season(given).p_value)
    assert np.mean(np.array(drawn) < 0.05) <= 0.1


def test_evidence_is_that_of_an_analysis_of_variance():
    values = np.random.default_rng(4).normal(size=24)
    phase = np.arange(24) % 4
    expected = stats.f_oneway(*(values[phase == each] for each in range(4))).pvalue
    ours = _log_p((values - values.mean())[None], phase)[0]
    assert np.exp(ours) == pytest.approx(expected)


def test_too_short_constant_or_full_of_gaps():
    short = np.arange(20)
    assert season(Residuals(np.arange(20.0), short, 20, period=12)) is None
    assert season(Residuals(np.arange(10.0), np.arange(10), 10)) is None
    assert season(Residuals(np.ones(60), np.arange(60), 60, period=12)) is None
    # No step has a neighbour.
    assert season(Residuals(np.arange(30.0), np.arange(0, 60, 2), 60, period=4)) is None
    gap = np.delete(np.arange(60), [5, 30, 31])
    values = np.random.default_rng(5).normal(size=57)
    assert season(Residuals(values, gap, 60, period=4)).p_value > 0.01
