"""Forecasts: a posterior extended by steps without data, against dense Gaussian conditionals."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.priors import Learned
from driftglm.priors.mixture import last_step_inplace, with_empty_steps
from driftglm.solvers.intercepts import forecast_of_dynamics
from driftglm.solvers.text_learned import TextPosterior

N_STEPS = 5
COMPONENTS = Learned(n_scales=2, correlations=(0.3, 0.9), boundary="stationary").components(
    2.0, 60.0, N_STEPS
)
AHEAD = pytest.mark.parametrize("n_more", [1, 4])


def covariance(component, n_steps):
    static, dynamic, rho = component
    lag = np.abs(np.subtract.outer(np.arange(n_steps), np.arange(n_steps)))
    return static + dynamic * rho**lag


def conditional(component, h, b, n_more):
    """Mean and variance of the last step given observations b / h of variances 1 / h before it."""
    full = covariance(component, h.size + n_more)
    told, cross = full[: h.size, : h.size] + np.diag(1.0 / h), full[-1, : h.size]
    gain = np.linalg.solve(told, cross)
    return gain @ (b / h), full[-1, -1] - gain @ cross


def mixed(phi, h, b, n_more):
    """The same under all components, averaged."""
    components = zip(COMPONENTS.static, COMPONENTS.dynamic, COMPONENTS.rho, strict=True)
    means, variances = np.array(
        [conditional(component, h, b, n_more) for component in components]
    ).T
    mean = phi @ means
    return mean, phi @ (variances + means**2) - mean**2


def paths(rng, n_paths):
    h, b = rng.gamma(1.0, 3.0, (n_paths, N_STEPS)), rng.normal(size=(n_paths, N_STEPS))
    return h, b, rng.dirichlet(np.ones(COMPONENTS.count), n_paths)


@AHEAD
@pytest.mark.parametrize("compiled", [True, False])
def test_the_last_of_some_empty_steps_is_the_conditional(rng, n_more, compiled):
    h, b, phi = paths(rng, 6)
    last_step = last_step_inplace if compiled else last_step_inplace.py_func
    out = np.empty((6, 2))
    last_step(h, b, phi, COMPONENTS.extended(n_more).tables(), out)
    assert_allclose(out, [mixed(*each, n_more) for each in zip(phi, h, b, strict=True)], rtol=1e-9)


@pytest.mark.parametrize("boundary", ["stationary", "pinned"])
@pytest.mark.parametrize("n_more", [1, 2, 40])
def test_a_leap_to_a_later_step_is_as_many_empty_steps(rng, n_more, boundary):
    h, b, phi = paths(rng, 6)
    components = replace(COMPONENTS, boundary=boundary)
    out, wanted = np.empty((6, 2)), np.empty((6, 2))
    last_step_inplace(h, b, phi, components.tables_ahead(n_more), out)
    last_step_inplace(h, b, phi, components.extended(n_more).tables(), wanted)
    assert_allclose(out, wanted, rtol=1e-12)


def test_a_leap_takes_no_memory_of_the_steps_it_leaves_out():
    assert COMPONENTS.tables_ahead(10**12)[2].shape[0] == N_STEPS + 1


def test_what_a_path_before_left_is_not_seen(rng):
    """One scratch array serves all paths."""
    h, b, phi = paths(rng, 3)
    h[1] = b[1] = 0.0
    tables = COMPONENTS.extended(2).tables()
    together, alone = np.empty((3, 2)), np.empty((3, 2))
    last_step_inplace(h, b, phi, tables, together)
    for i in range(3):
        last_step_inplace(h[[i]], b[[i]], phi[[i]], tables, alone[i : i + 1])
    assert_array_equal(together, alone)
    assert together[1, 0] == 0.0


@AHEAD
def test_words_are_forecast_as_paths_of_rows_are(rng, n_more):
    n_words, n_effects = 70, 3
    h, b, phi = paths(rng, n_words * n_effects)
    phi[0] = COMPONENTS.is_zero  # an effect nobody updated
    shape, nothing = (n_words, n_effects, -1), np.zeros((n_words, n_effects, N_STEPS))
    posterior = TextPosterior(
        nothing, nothing, h.reshape(shape), b.reshape(shape), phi.reshape(shape),
        np.zeros((n_words, n_effects)), np.zeros((1, COMPONENTS.count)), COMPONENTS, np.zeros(1),
    )  # fmt: skip
    out = np.empty((h.shape[0], 2))
    last_step_inplace(h, b, phi, COMPONENTS.extended(n_more).tables(), out)
    for n_jobs in (1, 2):
        found = posterior.ahead(n_more, n_jobs)
        assert_allclose(found, out.T.reshape(2, n_words, n_effects), rtol=1e-12)
    assert not found[:, 0, 0].any()


@AHEAD
def test_an_intercept_under_one_component_has_the_conditional_of_a_nearly_flat_one(rng, n_more):
    h, b, _ = paths(rng, 1)
    found = forecast_of_dynamics((0.7, 0.8), h[0], b[0], n_more)
    assert_allclose(found, conditional((1e7, 0.7, 0.8), h[0], b[0], n_more), rtol=1e-5)


def test_empty_steps_come_last():
    h, b = with_empty_steps(np.array([1.0, 2.0]), np.array([3.0, 4.0]), 2)
    assert_array_equal([h, b], [[1, 2, 0, 0], [3, 4, 0, 0]])
