"""What holds for every forecast, whatever its parameters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftglm.predictive import (
    Bernoulli,
    BetaBinomial,
    Categorical,
    Gamma,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    Student,
    over_normal,
)


def _mixed(make):
    def build(a, b):
        return Mixture((make(a, b), make(b, a), make(a + b, a)), [0.2, 0.5, 0.3])

    return build


MAKE = {
    "normal": lambda a, b: Normal(a - b, b),
    "student": lambda a, b: Student(a, b, 1.0 + b),
    "gamma": Gamma,
    "bernoulli": lambda a, b: Bernoulli(a / (a + b)),
    "categorical": lambda a, b: Categorical(
        np.stack([a, b, a * b], axis=1) / (a + b + a * b)[:, None]
    ),
    "poisson": lambda a, b: Poisson(a * b),
    "negative binomial": lambda a, b: NegativeBinomial(a, 1.0 + b),
    "beta-binomial": lambda a, b: BetaBinomial(np.ceil(b), a / (a + b), a),
    "log-normal rate": lambda a, b: over_normal(
        lambda eta: Poisson(np.exp(eta)), np.log(a), np.log1p(b) / 10, 7
    ),
}
MAKE |= {
    f"mixed {name}": _mixed(MAKE[name])
    for name in ("normal", "student", "gamma", "poisson", "negative binomial")
}
POSITIVE = st.floats(0.02, 60.0)
PARAMETERS = st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=3)
LEVELS = st.lists(st.floats(1e-6, 1 - 1e-6), min_size=2, max_size=4)
every = pytest.mark.parametrize("name", MAKE)
few = settings(max_examples=12, deadline=None)


def _make(name, parameters):
    a, b = np.array(parameters).T
    return MAKE[name](a, b)


@every
@few
@given(parameters=PARAMETERS, levels=LEVELS)
def test_quantiles_rise_with_the_level_and_reach_it(name, parameters, levels):
    forecast = _make(name, parameters)
    levels = np.sort(levels)
    found = forecast.quantile(levels)
    assert (np.diff(found, axis=1) >= 0).all()
    reached = forecast.cdf(found.T).T
    if forecast.discrete:
        assert (reached >= levels).all()
        assert (levels > forecast.cdf(found.T - 1).T).all()
    else:
        np.testing.assert_allclose(reached, np.broadcast_to(levels, reached.shape), rtol=1e-9)


@every
@few
@given(parameters=PARAMETERS, levels=LEVELS)
def test_intervals_of_more_probability_contain_those_of_less(name, parameters, levels):
    forecast = _make(name, parameters)
    inner, outer = forecast.interval(min(levels)), forecast.interval(max(levels))
    assert (outer[:, 0] <= inner[:, 0]).all()
    assert (outer[:, 1] >= inner[:, 1]).all()


@every
@few
@given(parameters=PARAMETERS, seed=st.integers(0, 99))
def test_scores_are_never_negative_and_rows_are_independent(name, parameters, seed):
    forecast = _make(name, parameters)
    y = forecast.draws(1, seed)[0]
    assert (forecast.crps(y) >= 0).all()
    rows = [1, 0, 1]
    some = forecast.take(rows)
    for method in ("cdf", "log_prob", "pdf", "crps"):
        expected = getattr(forecast, method)(y)[rows]
        np.testing.assert_allclose(getattr(some, method)(y[rows]), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(some.interval(0.7), forecast.interval(0.7)[rows], rtol=1e-12)


@every
@few
@given(parameters=PARAMETERS, seed=st.integers(0, 99))
def test_a_mixture_of_one_is_that_one_and_order_does_not_matter(name, parameters, seed):
    first, second = _make(name, parameters), _make(name, parameters[::-1])
    y = first.draws(1, seed)[0]
    one = Mixture((first,), [1.0])
    two = Mixture((first, second), [0.3, 0.7])
    turned = Mixture((second, first), [0.7, 0.3])
    for method in ("cdf", "log_prob", "crps"):
        expected = getattr(first, method)(y)
        np.testing.assert_allclose(getattr(one, method)(y), expected, rtol=1e-12, atol=1e-13)
        expected = getattr(two, method)(y)
        np.testing.assert_allclose(getattr(turned, method)(y), expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(one.interval(0.8), first.interval(0.8), rtol=1e-12)
    np.testing.assert_allclose(two.interval(0.8), turned.interval(0.8), rtol=1e-9)


@few
@given(rate=st.floats(0.1, 30.0), factor=st.floats(0.3, 3.0))
def test_the_right_forecast_has_the_least_expected_scores(rate, factor):
    counts = np.arange(300.0)
    right, other = Poisson(np.full(300, rate)), Poisson(np.full(300, rate * factor))
    chance = right.pmf(counts)
    for score in ("crps", "log_prob"):
        sign = -1.0 if score == "log_prob" else 1.0
        best = sign * np.sum(chance * getattr(right, score)(counts))
        assert best <= sign * np.sum(chance * getattr(other, score)(counts)) + 1e-9
