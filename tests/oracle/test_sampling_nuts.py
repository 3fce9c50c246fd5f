"""Interval ends of Gibbs draws against exact ones, and against NUTS (NumPyro).

The weight of zero is 0 and every component moves, so that the prior of a path is a density: a
mixture of full normal distributions. The second problem has an unknown noise variance. Given
components and noise every coefficient is normal; noise is integrated over a grid. NUTS has the
components summed out.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import invgamma, norm

from driftglm import DriftRegressor, Sampling
from driftglm.priors import Learned

N_STEPS, N_ROWS = 4, 8
GRID = {"shares": (0.0, 0.5), "correlations": (0.5, 0.9), "n_scales": 2, "n_directions": 0}
LEVELS = (0.05, 0.95)
N_NOISES = 60


def world(seed):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(N_STEPS), N_ROWS)
    X = rng.normal(size=(codes.size, 2))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    y = X[:, 0] * (0.5 + 0.3 * codes) - 0.5 * X[:, 1] + rng.normal(size=codes.size)
    return X, y, codes


def gibbs(X, y, codes, noise, n_draws=40_000):
    count = Learned(**GRID).components(1.0, float(y.size), N_STEPS).count
    weights = (0.0, *([1.0 / (count - 1)] * (count - 1)))
    model = DriftRegressor(
        prior=Learned(**GRID, weights=weights),
        noise=noise,
        fit_intercept=False,
        seasonality=None,
        extrapolate="forecast",
        inference=Sampling(draws=n_draws, warmup=300, chains=1),
    )
    return model.fit(X, y, time=codes)._fits[0]


def mixture(fit, data, noise):
    """Weights (M,), means and deviations (M, 2, T) of the parts of the exact posterior."""
    X, y, codes = data
    laws, steps = fit.components, np.arange(N_STEPS)
    spread = laws.rho[:, None, None] ** np.abs(steps[:, None] - steps)
    spread = laws.static[:, None, None] + laws.dynamic[:, None, None] * spread
    design = np.zeros((y.size, 2 * N_STEPS))
    for i in range(2):
        design[np.arange(y.size), i * N_STEPS + codes] = X[:, i]
    noises, prior = np.array([noise]), np.zeros(1)
    if noise == "constant":
        noises = np.exp(np.linspace(-2.0, 2.5, N_NOISES))
        law = invgamma(0.5, scale=0.5 * np.mean(y**2))
        prior = law.logpdf(noises) + np.log(noises)
    weights, means, deviations = [], [], []
    for ks in itertools.product(np.flatnonzero(~laws.is_zero), repeat=2):
        own = np.zeros((2 * N_STEPS, 2 * N_STEPS))
        for i, k in enumerate(ks):
            at = slice(i * N_STEPS, (i + 1) * N_STEPS)
            own[at, at] = spread[k] / fit.unit[i] ** 2
        marginal = design @ own @ design.T + noises[:, None, None] * np.eye(y.size)
        solved = np.linalg.solve(marginal, np.broadcast_to(y[:, None], (*marginal.shape[:2], 1)))
        value = -0.5 * (np.linalg.slogdet(marginal)[1] + solved[..., 0] @ y)
        weights.append(value + prior)
        gain = np.linalg.solve(
            marginal, np.broadcast_to(design @ own, (noises.size, *design.shape))
        )
        means.append(own @ design.T @ solved[..., 0][..., None])
        covariance = own - (design @ own).T @ gain
        deviations.append(np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)))
    weights = np.concatenate(weights)
    weights = np.exp(weights - weights.max())
    shape = weights.size, 2, N_STEPS
    means, deviations = np.concatenate(means), np.concatenate(deviations)
    return weights / weights.sum(), means.reshape(shape), deviations.reshape(shape)


def exact_ends(weights, means, deviations):
    """(2, 2, T) quantiles, and (2, T) deviations."""
    mean = np.tensordot(weights, means, 1)
    spread = np.sqrt(np.tensordot(weights, deviations**2 + means**2, 1) - mean**2)
    ends = np.empty((len(LEVELS), *mean.shape))
    for (j, level), i, t in itertools.product(enumerate(LEVELS), range(2), range(N_STEPS)):
        part = means[:, i, t], deviations[:, i, t]
        reach = mean[i, t] - 9 * spread[i, t], mean[i, t] + 9 * spread[i, t]
        ends[j, i, t] = brentq(lambda x, p=part, u=level: weights @ norm.cdf(x, *p) - u, *reach)
    return ends, spread


@pytest.mark.parametrize(("seed", "noise"), [(0, 1.0), (1, "constant")])
def test_interval_ends_are_exact(seed, noise):
    data = world(seed)
    fit = gibbs(*data, noise)
    ends, deviation = exact_ends(*mixture(fit, data, noise))
    draws = fit.path_draws().reshape(-1, N_STEPS, 2).transpose(0, 2, 1)
    apart = np.abs(np.quantile(draws, LEVELS, axis=0) - ends) / deviation
    assert apart.max() < 0.05


def nuts(fit, data, noise, n_draws=60_000):
    """(draws, p, T) paths, by the definition of the model."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    X, y, codes = data
    laws, steps = fit.components, np.arange(N_STEPS)
    some = np.flatnonzero(~laws.is_zero)
    lags = np.abs(steps[:, None] - steps)
    roots = [
        np.linalg.cholesky(laws.static[k] + laws.dynamic[k] * laws.rho[k] ** lags) / unit
        for unit in fit.unit
        for k in some
    ]
    roots = jnp.array(roots).reshape(2, some.size, N_STEPS, N_STEPS)
    reference = float(np.mean(y**2))

    def model():
        beta = numpyro.sample("beta", dist.Normal(0, 1e3).expand([2, N_STEPS]).mask(False))
        for i in range(2):
            parts = dist.MultivariateNormal(jnp.zeros(N_STEPS), scale_tril=roots[i])
            numpyro.factor(
                f"prior {i}",
                jax.nn.logsumexp(parts.log_prob(jnp.broadcast_to(beta[i], roots.shape[1:3]))),
            )
        s2 = noise
        if noise == "constant":
            s2 = numpyro.sample("s2", dist.InverseGamma(0.5, 0.5 * reference))
        eta = (X * beta[:, codes].T).sum(axis=1)
        numpyro.sample("y", dist.Normal(eta, jnp.sqrt(s2)), obs=y)

    sampler = MCMC(
        NUTS(model),
        num_warmup=1000,
        num_samples=n_draws,
        num_chains=4,
        chain_method="sequential",
        progress_bar=False,
    )
    sampler.run(jax.random.PRNGKey(0))
    return np.asarray(sampler.get_samples()["beta"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("seed", "noise"), [(0, 1.0), (1, "constant")])
def test_interval_ends_are_those_of_nuts(seed, noise):
    pytest.importorskip("numpyro")
    # Fewer draws of either leave an error of their own that is as large as what is tested.
    data = world(seed)
    fit = gibbs(*data, noise, n_draws=150_000)
    own = fit.path_draws().reshape(-1, N_STEPS, 2).transpose(0, 2, 1)
    other = nuts(fit, data, noise)
    deviation = other.std(axis=0)
    ends = np.quantile(own, LEVELS, axis=0), np.quantile(other, LEVELS, axis=0)
    apart = np.abs(ends[0] - ends[1]) / deviation
    print(f"largest distance of an interval's end: {apart.max():.3f} deviations")  # noqa: T201
    assert apart.max() < 0.05
