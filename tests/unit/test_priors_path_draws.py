"""Draws of a path against its dense normal posterior."""

import numpy as np
from numpy.testing import assert_allclose

from driftglm.priors import mixture
from driftglm.priors.mixture import Components
from driftglm.priors.path_draws import draw_index, draw_path_inplace

N = 60_000
LAWS = Components(
    np.array([0.0, 0.5, 0.0, 0.3]),
    np.array([0.0, 0.0, 0.8, 0.6]),
    np.array([0.0, 0.0, 0.5, 0.95]),
    "stationary",
    4,
)
H, B = np.array([2.0, 0.0, 1.0, 5.0]), np.array([1.0, 0.0, -2.0, 3.0])


def drawn(k, rng):
    evidence, parts = np.empty(LAWS.count), np.empty((3, LAWS.count))
    tables = LAWS.tables()
    mixture.log_evidences_inplace(H, B, tables, evidence, parts)
    paths, constants = np.empty((N, H.size)), np.empty(N)
    for n in range(N):
        constants[n] = draw_path_inplace(k, (H, B), tables, parts, rng, paths[n])
    return paths, constants


def test_paths_have_mean_and_covariance_of_the_dense_posterior():
    rng = np.random.default_rng(0)
    steps = np.arange(H.size)
    for k in (1, 2, 3):
        prior = LAWS.static[k] + LAWS.dynamic[k] * LAWS.rho[k] ** np.abs(steps[:, None] - steps)
        covariance = prior @ np.linalg.inv(np.eye(H.size) + np.diag(H) @ prior)
        paths, _ = drawn(k, rng)
        error = np.sqrt(np.diag(covariance) / N)
        assert (np.abs(paths.mean(axis=0) - covariance @ B) < 4.5 * error).all()
        assert_allclose(np.cov(paths.T), covariance, atol=6 * covariance.max() / np.sqrt(N))


def test_the_constant_part_is_what_the_chain_moves_about():
    paths, constants = drawn(3, np.random.default_rng(1))
    # Jointly normal with (static, chain): static has prior variance .3 and covariance .3 with all.
    steps = np.arange(H.size)
    prior = LAWS.static[3] + LAWS.dynamic[3] * LAWS.rho[3] ** np.abs(steps[:, None] - steps)
    gain = 0.3 * np.ones(H.size) @ np.linalg.inv(prior + np.diag(1 / np.maximum(H, 1e-12)))
    expected = gain @ (B / np.maximum(H, 1e-12))
    assert abs(constants.mean() - expected) < 5 * constants.std() / np.sqrt(N)
    assert not drawn(0, np.random.default_rng(2))[0].any()
    static_paths, static = drawn(1, np.random.default_rng(3))
    assert (static_paths == static[:, None]).all()
    assert paths.std() > 0


def test_positions_are_drawn_with_their_probabilities():
    rng, p = np.random.default_rng(0), np.array([0.0, 2.0, 0.0, 6.0])
    found = np.bincount([draw_index(p, rng) for _ in range(20_000)], minlength=4)
    assert found[0] == found[2] == 0
    assert abs(found[3] / 20_000 - 0.75) < 0.015
