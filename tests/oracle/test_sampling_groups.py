"""Draws with effects of groups against the exact posterior.

Components are enumerated, the two variances between groups integrated by quadrature; given these, y
is normal, with one covariate that is constant within groups and one that drifts.
"""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

from driftglm import DriftRegressor, Sampling
from driftglm.priors import Learned
from driftglm.priors.weights import prior_counts, start_weights

N_STEPS, N_GROUPS, N_ROWS, NOISE = 3, 7, 2, 0.5
PRIOR = Learned(shares=(0.5, 1.0), correlations=(0.8,), n_scales=1, n_directions=0)
LOG_VARIANCES = np.linspace(-8.0, 5.5, 28)
CODES = np.repeat(np.arange(N_STEPS), N_GROUPS * N_ROWS)
GROUP = np.tile(np.repeat(np.arange(N_GROUPS), N_ROWS), N_STEPS)


def world(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=N_GROUPS)[GROUP], rng.normal(size=GROUP.size)])
    between = 0.5 * rng.normal(size=N_GROUPS)[GROUP]
    anew = 0.5 * rng.normal(size=(N_STEPS, N_GROUPS))[CODES, GROUP]
    y = 0.9 * X[:, 0] + X[:, 1] * (0.3 + 0.4 * CODES) + between + anew
    return X, y + np.sqrt(NOISE) * rng.normal(size=y.size)


def log_density(log_variance, reference):
    """Of log s2 where s is half Cauchy of scale sqrt(reference)."""
    deviation = np.exp(0.5 * log_variance)
    return 0.5 * log_variance - np.log(1 + deviation**2 / reference)


def exact(fit, X, y):
    """Means (2, T), component probabilities and mean constant effects."""
    laws, unit, n = fit.components, fit.unit, fit.components.count
    steps, same = np.arange(N_STEPS), (GROUP[:, None] == GROUP).astype(float)
    cell = same * (CODES[:, None] == CODES)
    pi = start_weights(PRIOR, laws, np.zeros(1, bool))
    added = prior_counts(PRIOR, laws, pi)[0]
    spread = laws.rho[:, None, None] ** np.abs(steps[:, None] - steps)
    spread = laws.static[:, None, None] + laws.dynamic[:, None, None] * spread
    pairs = np.array(list(itertools.product(LOG_VARIANCES, repeat=2)))
    between = np.exp(pairs[:, 0])[:, None, None] * same + np.exp(pairs[:, 1])[:, None, None] * cell
    prior = log_density(pairs, np.mean(y**2)).sum(axis=1)
    total, means, phi, effects = [], [], [], []
    for ks in itertools.product(range(n), repeat=2):
        own = [spread[k] / unit[i] ** 2 for i, k in enumerate(ks)]
        paths = [np.outer(X[:, i], X[:, i]) * own[i][np.ix_(CODES, CODES)] for i in range(2)]
        covariance = between + sum(paths) + NOISE * np.eye(y.size)
        solved = np.linalg.solve(covariance, np.broadcast_to(y[:, None], (len(pairs), y.size, 1)))
        solved = solved[..., 0]
        value = -0.5 * (solved @ y + np.linalg.slogdet(covariance)[1])
        counts = np.bincount(ks, minlength=n) + added
        total.append(value + prior + gammaln(counts).sum())
        means.append([[own[i][:, CODES] @ (X[:, i] * s) for i in range(2)] for s in solved])
        phi.append(np.tile(np.eye(n)[list(ks)], (len(pairs), 1, 1)))
        group_sums = np.array([np.bincount(GROUP, s, N_GROUPS) for s in solved])
        effects.append(np.exp(pairs[:, :1]) * group_sums)
    total = np.concatenate(total)
    weights = np.exp(total - total.max())
    weights /= weights.sum()
    parts = means, phi, effects
    return [np.tensordot(weights, np.concatenate(part), 1) for part in parts]


@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_paths_effects_and_components_are_those_of_the_exact_posterior(seed):
    X, y = world(seed)
    model = DriftRegressor(
        prior=PRIOR,
        noise=NOISE,
        fit_intercept=False,
        seasonality=None,
        extrapolate="forecast",
        inference=Sampling(draws=3000, warmup=300),
    ).fit(X, y, time=CODES, groups=GROUP)
    fit = model._fits[0]
    means, phi, effects = exact(fit, X, y)
    error = fit.std_path().T / np.sqrt(np.nanmin(fit.agreement[1]))
    assert (np.abs(fit.beta - means) < 4 * error).all()
    assert_allclose(fit.phi, phi, atol=0.025)
    # The covariate of groups is not left to what effects happen to say.
    assert np.nanmin(fit.agreement[1]) > 1000
    known = model._forecaster.groups[0]
    assert_allclose(known.mean, effects, atol=4 * error.max())
