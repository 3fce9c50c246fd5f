"""Weights of a mixture: starts, the EM step, its effect on a bound, dropped components."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.exceptions import DataError
from driftglm.priors import Learned
from driftglm.priors.weights import (
    DROP,
    components_in_use,
    cross_term,
    em_inplace,
    learned_weights,
    log_weights,
    prior_counts,
    renormalized_weights,
    start_weights,
)

PRIOR = Learned(n_scales=3, correlations=(0.5, 0.9))
COMPONENTS = PRIOR.components(2.0, 300.0, 6)
MOVING, MIXED = np.array([False]), np.array([False, True])


def test_a_group_of_static_features_starts_with_constant_components_only():
    pi = start_weights(PRIOR, COMPONENTS, MIXED)
    assert_allclose(pi.sum(axis=1), 1.0, rtol=1e-14)
    assert_allclose(pi[0], PRIOR.start_weights(COMPONENTS.count), rtol=1e-14)
    assert (pi[0] > 0).all()
    assert_array_equal(pi[1] > 0, COMPONENTS.is_static)
    assert np.isneginf(log_weights(pi)[1, ~COMPONENTS.is_static]).all()


def test_static_features_need_a_constant_component():
    prior = Learned(shares=(0.0, 0.5))
    components = prior.components(2.0, 300.0, 6)
    assert start_weights(prior, components, MOVING).shape == (1, components.count)
    with pytest.raises(DataError, match="constant over time and this prior has none"):
        start_weights(prior, components, MIXED)


def test_the_prior_counts_as_many_features_zero_as_not_and_of_these_two_in_three_constant():
    pi = start_weights(PRIOR, COMPONENTS, MIXED)
    counts = prior_counts(PRIOR, COMPONENTS, pi)
    assert_allclose(counts.sum(axis=1), 2 * PRIOR.prior_count, rtol=1e-14)
    assert_array_equal(counts[:, COMPONENTS.is_zero], PRIOR.prior_count)
    assert_array_equal(counts > 0, pi > 0)
    drifting = ~COMPONENTS.is_static
    assert_allclose(counts[0, drifting].sum(), PRIOR.prior_count / 3, rtol=1e-14)
    assert_allclose(counts[0, drifting], counts[0, drifting][0], rtol=1e-12)
    assert not counts[1, drifting].any()
    given = Learned(n_scales=3, weights=tuple(np.ones(COMPONENTS.count)))
    assert not prior_counts(given, COMPONENTS, start_weights(given, COMPONENTS, MOVING)).any()


def test_no_component_but_zero_leaves_the_prior_zero_to_count():
    only = COMPONENTS.take(COMPONENTS.is_zero)
    assert_array_equal(prior_counts(PRIOR, only, np.ones((1, 1))), [[PRIOR.prior_count]])


def test_without_a_count_the_prior_adds_nothing():
    none = Learned(n_scales=3, prior_count=0.0)
    assert not prior_counts(none, COMPONENTS, start_weights(none, COMPONENTS, MIXED)).any()


def test_the_em_step_raises_the_cross_term_as_nothing_else_does(rng):
    counts = rng.gamma(0.5, size=(3, 7))
    counts[1, 2] = 0.0
    found = learned_weights(counts, np.log(np.full((3, 7), 1 / 7)))
    assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-14)
    for _ in range(100):
        assert cross_term(counts, np.log(rng.dirichlet(np.ones(7), 3))) < cross_term(counts, found)


def test_a_group_nobody_is_in_keeps_its_weights(rng):
    counts, before = rng.gamma(1.0, size=(2, 4)), np.log(rng.dirichlet(np.ones(4), 2))
    counts[1] = 0.0
    assert_array_equal(learned_weights(counts, before)[1], before[1])


def test_components_nobody_has_add_nothing_to_a_bound():
    counts, log_pi = np.array([[2.0, 0.0]]), np.array([[np.log(0.5), -np.inf]])
    assert_allclose(cross_term(counts, log_pi), 2.0 * np.log(0.5))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n_components", [1, 4, 6])
def test_em_raises_the_likelihood_of_the_mixture_and_ends_where_the_step_rests(
    rng, n_components, compiled
):
    likelihood, prior = (
        np.exp(rng.normal(size=(40, n_components))),
        rng.gamma(1.0, size=n_components),
    )
    em = em_inplace if compiled else em_inplace.py_func

    def value(pi):
        return float(np.log(likelihood @ pi).sum() + prior @ np.log(pi))

    pi = np.full(n_components, 1 / n_components)
    values = [value(pi)]
    for _ in range(30):
        em(likelihood, prior, 1, pi)
        values.append(value(pi))
    assert np.diff(values).min() >= -1e-12
    assert_allclose(pi.sum(), 1.0, rtol=1e-14)
    em(likelihood, prior, 3000, pi)
    phi = likelihood * pi
    counts = (phi / phi.sum(axis=1, keepdims=True)).sum(axis=0) + prior
    assert_allclose(np.exp(learned_weights(counts[None], np.log(pi)[None])[0]), pi, rtol=1e-9)


def test_a_component_is_kept_if_any_group_uses_it_and_the_rest_takes_over_its_share():
    pi = np.array([[0.7, 0.3 - DROP / 2, DROP / 2, 0.0], [0.5, 0.5 - DROP / 4, DROP / 4, 0.0]])
    pi[1, [1, 3]] = pi[1, [3, 1]]
    log_pi = log_weights(pi)
    keep = components_in_use(log_pi)
    assert_array_equal(keep, [True, True, False, True])
    found = renormalized_weights(log_pi, keep)
    assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-14)
    assert_allclose(np.exp(found), pi[:, keep], rtol=1e-9)
    assert components_in_use(found).all()
