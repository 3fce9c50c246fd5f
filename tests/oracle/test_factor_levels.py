"""A factor without one of its levels, and sets of columns that can stand for each other.

What the exact posterior says, and what fits say.

Every set of levels is summed over, the evidence of each being that of a dense normal distribution.
"""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm import DriftRegressor
from driftglm.priors import Learned

NOISE = 1.0
EFFECT = np.array([2.0, 0.0, 0.0, 0.0, 0.0])
PRIOR = Learned(
    shares=(1.0,), correlations=(0.0,), n_scales=1, n_directions=0, weights=(0.5, 0.5)
)  # fmt: skip


@pytest.fixture(scope="module")
def factor():
    """Five levels of 60 rows, one of them with an effect; levels and y about their means."""
    rng = np.random.default_rng(5)
    levels = np.eye(5)[np.repeat(np.arange(5), 60)]
    y = levels @ EFFECT + rng.normal(size=300)
    return levels - levels.mean(axis=0), y - y.mean()


def exact(levels, y, variance):
    """Inclusion and fitted values by enumeration."""
    total, sets, fitted = [], [], []
    for some in itertools.product([0.0, 1.0], repeat=levels.shape[1]):
        prior = (levels * (np.array(some) * variance)) @ levels.T
        covariance = prior + NOISE * np.eye(y.size)
        solved = np.linalg.solve(covariance, y)
        total.append(-0.5 * (np.linalg.slogdet(covariance)[1] + y @ solved))
        sets.append(some)
        fitted.append(prior @ solved)
    weight = np.exp(np.array(total) - max(total))
    weight /= weight.sum()
    return weight @ np.array(sets), weight @ np.array(fitted)


def said(levels, y):
    """Inclusion of a fit, and the exact one under the same prior, with its fitted values."""
    model = DriftRegressor(prior=PRIOR, noise=NOISE, fit_intercept=False, extrapolate="forecast")
    fit = model.fit(levels, y)._fits[0]
    return model.inclusion_probability_, *exact(
        levels, y, fit.components.static.max() / fit.unit**2
    )


def test_a_level_without_effect_can_be_dropped_and_one_with_an_effect_is_what_others_differ_from(
    factor,
):
    levels, y = factor
    ours, inclusion, fitted = said(levels, y)
    assert_allclose(ours, inclusion, atol=0.1)
    assert inclusion[0] > 0.99
    assert inclusion[1:].max() < 0.3
    ours_left, left, fitted_left = said(levels[:, :-1], y)
    assert_allclose(left, inclusion[:-1], atol=0.05)
    assert_allclose(ours_left, ours[:-1], atol=0.05)
    assert np.std(fitted_left - fitted) < 0.02 * np.std(fitted)
    # No sparse prior calls the same coefficients zero when they are differences from another level.
    ours_left, left, _ = said(levels[:, 1:], y)
    assert left.min() > 0.99
    assert ours_left.min() > 0.99


def columns_and_y(seed):
    """The first of five columns is nearly the sum of the next two, and has the effect."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5))
    X[:, 0] = X[:, 1] + X[:, 2] + 0.3 * X[:, 0]
    return X, 0.2 * X[:, 0] + rng.normal(size=300)


def fitted(X, y):
    """A fit under the prior of the enumeration, and the variance of its coefficients."""
    model = DriftRegressor(prior=PRIOR, noise=NOISE, fit_intercept=False, extrapolate="forecast")
    model.fit(X, y, time=np.repeat(np.arange(3), len(y) // 3))
    fit = model._fits[0]
    return model, fit.components.static.max() / fit.unit**2


@pytest.mark.parametrize("seed", range(6))
def test_inclusion_is_averaged_over_sets(seed):
    X, y = columns_and_y(seed)
    model, variance = fitted(X, y)
    inclusion, means = exact(X, y, variance)
    # Of 12 worlds the furthest is .07 off, and .066 of the spread of the means: 400 sweeps.
    assert_allclose(model.inclusion_probability_, inclusion, atol=0.1)
    apart = model.predict(X, time=np.zeros(len(y), dtype=int)) - means
    assert np.std(apart) < 0.08 * np.std(means)


def test_some_of_these_sets_cannot_be_told_apart():
    unsure = [exact(X, y, fitted(X, y)[1])[0][0] for X, y in map(columns_and_y, range(6))]
    assert 0.2 < min(unsure) < 0.9


def test_order_of_columns_and_shifts_change_nothing():
    X, y = columns_and_y(4)
    first = fitted(X, y)[0].inclusion_probability_
    assert_allclose(fitted(X[:, ::-1], y)[0].inclusion_probability_[::-1], first, atol=1e-8)
