"""Fits without an intercept leap ahead: fewer passes, a bound that never falls."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm import DriftRegressor
from driftglm.solvers import cavi
from driftglm.solvers.leaps import LONGEST, leap


def test_a_leap_ends_where_passes_of_one_factor_would(rng):
    end, factor = rng.normal(size=(5, 3)), np.array([0.5, 0.7, 0.8])
    start = end + rng.normal(size=(5, 3))
    means = tuple(end + factor**k * (start - end) for k in range(3))
    squares = rng.uniform(1.0, 2.0, (5, 3))
    assert_allclose(means[2] + leap(means, squares), end, atol=1e-10)


def test_paths_that_stand_still_do_not_leap(rng):
    still = rng.normal(size=(4, 2))
    assert not leap((still, still, still), np.ones((4, 2))).any()


def test_no_leap_is_longer_than_allowed():
    creeping = tuple(np.full((1, 1), 1.0 - 0.999**k) for k in range(3))
    first = creeping[1] - creeping[0]
    assert abs(leap(creeping, np.ones((1, 1)))) < 2.1 * LONGEST * abs(first)


@pytest.fixture(scope="module")
def words():
    """Words that occur often, whose columns say the same about the mean of a step."""
    rng = np.random.default_rng(3)
    X = (rng.random((1500, 300)) < rng.uniform(0.1, 0.9, 300)).astype(float)
    time = np.sort(rng.integers(0, 5, 1500))
    y = X[:, :30] @ rng.normal(0, 0.3, 30) + 0.3 * rng.normal(size=1500)
    return X, y, time


def test_leaps_save_passes_and_the_bound_never_falls(words, monkeypatch):
    X, y, time = words
    model = DriftRegressor(fit_intercept=False, extrapolate="forecast")
    leaping = model.fit(X, y, time=time)
    history, n_passes = np.array(leaping.objective_history_), leaping.n_iter_
    coef = leaping.coef_path_.copy()
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
    monkeypatch.setattr(cavi, "creeps", lambda _: False)
    plain = model.fit(X, y, time=time)
    assert n_passes < plain.n_iter_
    assert history[-1] > plain.objective_history_[-1] - 1e-2
    assert_allclose(coef, plain.coef_path_, atol=0.05)


def test_fits_with_an_intercept_do_not_leap(words, monkeypatch):
    X, y, time = words
    asked = []
    monkeypatch.setattr(cavi._Climb, "leaping_paths", lambda _: asked.append(1))
    DriftRegressor(extrapolate="forecast").fit(X, y, time=time)
    assert not asked
