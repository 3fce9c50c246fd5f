"""Fits whose passes creep leap ahead: fewer passes, a bound that never falls."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.solvers import cavi
from driftglm.solvers.leaps import LONGEST, LONGEST_OF_PATHS, leap, leap_of_paths

pytestmark = pytest.mark.filterwarnings("ignore:intervals are too narrow")


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
    monkeypatch.setattr(cavi, "SLOW", 10**9)
    plain = model.fit(X, y, time=time)
    assert n_passes < plain.n_iter_
    assert history[-1] > plain.objective_history_[-1] - 1e-2
    assert_allclose(coef, plain.coef_path_, atol=0.05)


def test_quick_fits_with_an_intercept_do_not_leap(words, monkeypatch):
    X, y, time = words
    asked = []
    for name in ("leaping_paths", "leaps_of_paths"):
        monkeypatch.setattr(cavi._Climb, name, lambda _: asked.append(1))
    DriftRegressor(extrapolate="forecast").fit(X, y, time=time)
    assert not asked


def test_a_leap_of_paths_ends_where_passes_of_one_factor_would(rng):
    factor = np.array([[0.5], [0.8], [0.95]])
    ends = rng.uniform(1.0, 2.0, (3, 4)), rng.normal(size=(3, 4))
    starts = ends[0] * 1.1, ends[1] + rng.normal(size=(3, 4))
    past = [
        tuple(e + factor**k * (s - e) for s, e in zip(starts, ends, strict=True)) for k in range(3)
    ]
    assert_allclose(leap_of_paths(*past), ends, atol=1e-10)


def test_a_leap_of_paths_stands_still_where_they_do_and_is_never_too_long(rng):
    still = rng.uniform(1.0, 2.0, (4, 3)), rng.normal(size=(4, 3))
    assert_allclose(leap_of_paths(still, still, still), still, rtol=1e-15)
    creeping = [(np.ones((1, 1)), np.full((1, 1), 1.0 - 0.9999**k)) for k in range(3)]
    first = creeping[1][1] - creeping[0][1]
    found = leap_of_paths(*creeping)[1] - creeping[2][1]
    assert abs(found) < 2.1 * LONGEST_OF_PATHS * abs(first)


def test_a_leap_never_makes_information_negative():
    falling = [(np.full((1, 1), value), np.ones((1, 1)) * value) for value in (3.0, 2.0, 1.1)]
    assert leap_of_paths(*falling)[0] > 0.0


@pytest.fixture(scope="module")
def nested():
    """Indicators of places, of subjects and of every place with every subject."""
    rng = np.random.default_rng(5)
    n, places, subjects = 1200, 6, 4
    place, subject = rng.integers(0, places, n), rng.integers(0, subjects, n)
    pair = place * subjects + subject
    X = np.hstack(
        [np.eye(places)[place], np.eye(subjects)[subject], np.eye(places * subjects)[pair]]
    )
    time = np.sort(rng.integers(0, 12, n))
    walks = np.cumsum(rng.normal(0, 0.2, (12, places)), axis=0) + rng.normal(0, 1, places)
    eta = walks[time, place] + rng.normal(0, 1, places * subjects)[pair]
    return X, eta, time


TARGETS = {
    "classes": (DriftClassifier, lambda eta, rng: rng.random(eta.size) < 1 / (1 + np.exp(-eta))),
    "counts": (DriftPoissonRegressor, lambda eta, rng: rng.poisson(np.exp(0.5 * eta))),
    "numbers": (DriftRegressor, lambda eta, rng: eta + 0.5 * rng.normal(size=eta.size)),
}


@pytest.mark.parametrize("target", TARGETS)
def test_leaps_of_paths_reach_a_bound_at_least_as_high_and_never_fall(nested, target, monkeypatch):
    X, eta, time = nested
    estimator, draw = TARGETS[target]
    y = draw(eta, np.random.default_rng(1))
    model = estimator(extrapolate="forecast", max_iter=3000)
    monkeypatch.setattr(cavi, "may_move_together", lambda _: False)
    monkeypatch.setattr(cavi, "SLOW", 2)
    leaping = model.fit(X, y, time=time)
    history = np.array(leaping.objective_history_)
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
    assert leaping.converged_
    monkeypatch.setattr(cavi, "SLOW", 10**9)
    plain = model.fit(X, y, time=time)
    assert history[-1] > plain.objective_history_[-1] - 1e-2


def test_posteriors_after_a_leap_are_those_of_their_terms(nested, monkeypatch):
    """A leap to where a path is already leaves it there, moments and divergence and all."""
    X, eta, time = nested
    worst = []

    def stay(work, live, *_):
        old = [array.copy() for array in work.state.path_arrays]
        now = work.terms()
        original(work, live, now, now)
        pairs = zip(old, work.state.path_arrays, strict=True)
        worst.append(max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs))

    original = cavi.PathWork.leap_of_paths
    monkeypatch.setattr(cavi, "may_move_together", lambda _: False)
    monkeypatch.setattr(cavi.PathWork, "leap_of_paths", stay)
    monkeypatch.setattr(cavi, "SLOW", 2)
    y = TARGETS["classes"][1](eta, np.random.default_rng(1))
    DriftClassifier(extrapolate="forecast", max_iter=60).fit(X, y, time=time)
    assert worst
    assert max(worst) < 1e-3
