"""Draws of the noise against densities that are known or integrated on a grid."""

import numpy as np
from scipy.stats import gamma, kstest, norm

from driftglm.objective.noise import Noise, noise_components
from driftglm.solvers.gibbs_noise import MovingNoise, draw_constant

N = 6000


def test_one_variance_has_the_inverse_gamma_distribution_cut_off_at_the_floor():
    noise, rng = Noise(given=None, reference=2.0, degrees=1.0), np.random.default_rng(0)
    draws = 1.0 / np.array([draw_constant(noise, 30.0, 20.0, rng) for _ in range(N)])
    assert kstest(draws, gamma(10.5, scale=1 / 16.0).cdf).pvalue > 1e-3
    high = Noise(given=None, reference=1.0, degrees=1.0, least=1.0)
    draws = np.array([draw_constant(high, 10.0, 20.0, rng) for _ in range(N)])
    assert draws.min() >= 1.0
    law = gamma(10.5, scale=1 / 5.5)
    assert kstest(1.0 / draws, lambda x: law.cdf(x) / law.cdf(1.0)).pvalue > 1e-3
    assert draw_constant(Noise(given=0.3, reference=1.0), 10.0, 20.0, rng) == 0.3


def grid_posterior(deviance, rows):
    """P(constant), means of the two log variances and of their difference's square, on a grid."""
    dynamic, rho, log_weights = noise_components(2)
    z, d = np.linspace(-6, 6, 1201), np.linspace(-9, 9, 1801)

    def likelihood(log, t):
        return -0.5 * (rows[t] * log + deviance[t] * np.exp(-log))

    flat = np.exp(likelihood(z, 0) + likelihood(z, 1))
    still = np.exp(log_weights[0]) * flat.sum() * (z[1] - z[0])
    both = np.exp(likelihood(z[:, None], 0) + likelihood(z[:, None] + d, 1))
    # The flat part leaves the difference of two steps, Normal(0, 2 v (1 - rho)).
    spread = np.sqrt(2 * dynamic[1:] * (1 - rho[1:]))
    prior = (np.exp(log_weights[1:])[:, None] * norm.pdf(d, scale=spread[:, None])).sum(axis=0)
    joint = both * prior * (z[1] - z[0]) * (d[1] - d[0])
    total = still + joint.sum()
    first = (
        np.exp(log_weights[0]) * (flat * z).sum() * (z[1] - z[0]) + (joint.T * z).sum()
    ) / total
    return still / total, first, (joint * d).sum() / total, (joint * d**2).sum() / total


def test_a_noise_that_moves_has_the_posterior_of_a_grid():
    deviance, rows = np.array([6.0, 40.0]), np.array([12.0, 15.0])
    noise = Noise(given=None, reference=1.0, drifts=True)
    start = noise.start_path(rows)
    start.flat = False
    chain = MovingNoise.at(noise, start, np.ones(2))
    rng, draws = np.random.default_rng(0), []
    for _ in range(N):
        chain.draw(deviance, rows, rng)
        draws.append((chain.component == 0, *chain.log))
    still, first, second = np.array(draws)[50:].T
    more = noise.prior_deviance(rows)
    expected = grid_posterior(deviance + more[0], rows + more[1])
    d = second - first
    found = still.mean(), first.mean(), d.mean(), (d**2).mean()
    assert 0.05 < expected[0] < 0.6
    # Draws are correlated: errors are those of a tenth of them.
    errors = [each.std() / np.sqrt(N / 10) for each in (still, first, d, d**2)]
    assert all(abs(a - b) < 4 * e for a, b, e in zip(found, expected, errors, strict=True)), (
        found,
        expected,
    )
