"""Draws for counts, which are proposed and accepted or not, against quadrature.

Two correlated columns with constant coefficients: components are enumerated, and coefficients
integrated over a grid under each. Few counts and wide priors: the likelihood is far
from normal.
"""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln, gammaln
from scipy.stats import nbinom, poisson

from driftglm.design import ColumnDesign
from driftglm.families import BetaBinomial, NegativeBinomial, Poisson
from driftglm.objective import Bound, Intercepts, Noise, Shape
from driftglm.priors import Learned
from driftglm.priors.weights import prior_counts, start_weights
from driftglm.solvers import CAVISolver
from driftglm.solvers.sampling import Sampling, sample

PRIOR = Learned(shares=(1.0,), correlations=(0.8,), n_scales=2, n_directions=0)
N_ROWS, TRIALS, NODES = 24, 5, 80
ALPHA, RHO = 0.7, 0.3


def binomial_law(k, eta):
    s = 1 / RHO - 1
    a, b = s / (1 + np.exp(-eta)), s / (1 + np.exp(eta))
    return betaln(k + a, TRIALS - k + b) - betaln(a, b)


def negative_law(k, eta):
    return nbinom.logpmf(k, 1 / ALPHA, 1 / (1 + ALPHA * np.exp(eta)))


CASES = {
    "poisson": (Poisson(), None, lambda k, eta: poisson.logpmf(k, np.exp(eta))),
    "negative-binomial": (NegativeBinomial(), ALPHA, negative_law),
    "beta-binomial": (BetaBinomial(), RHO, binomial_law),
}


def world(name):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N_ROWS, 2))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    eta = 1.2 * X[:, 0] - 1.0
    if name == "beta-binomial":
        return X, rng.binomial(TRIALS, 1 / (1 + np.exp(-eta)))
    return X, rng.poisson(np.exp(eta))


def posed(name, X, k):
    codes = np.repeat([0, 1], N_ROWS // 2)
    design, _ = ColumnDesign.from_matrix(X, codes, 2)
    family, shape, _ = CASES[name]
    given = Shape() if shape is None else Shape(shape, shape, family.shape_range)
    nothing = np.zeros((0, k.size)), np.zeros(0, bool), np.zeros(0)
    y = np.column_stack([k, TRIALS - k]) if name == "beta-binomial" else k
    return Bound(
        design=design,
        family=family,
        intercepts=Intercepts(*nothing),
        noise=Noise(given=1.0, reference=1.0),
        shape=given,
        y=y.astype(np.float64),
        weights=np.ones(k.size),
        offset=np.full(k.size, -0.5),
        static=np.zeros(2, bool),
        reference=1.0,
        effective_rows=float(k.size),
        prior=PRIOR,
        unit=np.ones(2),
    )


def exact(bound, X, k, law):
    """Means (2,), variances and component probabilities (2, K)."""
    laws, nodes = bound.components(), np.linspace(-6.0, 6.0, NODES)
    pi = start_weights(PRIOR, laws, np.zeros(1, bool))
    added = prior_counts(PRIOR, laws, pi)[0]
    total, first, second, phi = [], [], [], []
    for ks in itertools.product(range(laws.count), repeat=2):
        places = [np.sqrt(laws.static[c]) * nodes / bound.unit[i] for i, c in enumerate(ks)]
        beta = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, 2)
        weight = -0.5 * (nodes[:, None] ** 2 + nodes**2).ravel()
        value = law(k, beta @ X.T - 0.5).sum(axis=1)
        counts = gammaln(np.bincount(ks, minlength=laws.count) + added).sum()
        total.append(weight + value + counts)
        first.append(beta)
        second.append(beta**2)
        phi.append(np.tile(np.eye(laws.count)[list(ks)], (len(beta), 1, 1)))
    total = np.concatenate(total)
    weights = np.exp(total - total.max())
    weights /= weights.sum()
    mean, square = (weights @ np.concatenate(each) for each in (first, second))
    return mean, square - mean**2, np.tensordot(weights, np.concatenate(phi), 1)


@pytest.mark.parametrize("name", list(CASES))
def test_moments_and_components_are_those_of_quadrature(name):
    X, k = world(name)
    bound = posed(name, X, k)
    mean, variance, phi = exact(bound, X, k, CASES[name][2])
    found = CAVISolver().solve(bound, bound.start_posterior(), max_iter=60, tol=1e-3).state
    how = Sampling(draws=20_000, warmup=200, chains=1)
    record = sample(bound, found, how, seed=2)[0]
    assert found.components.count == phi.shape[1]
    own = record.first[:, 0] / record.done
    assert_allclose(own, mean, atol=0.09 * np.sqrt(variance.max()))
    assert_allclose(record.second[:, 0] / record.done - own**2, variance, rtol=0.15)
    assert_allclose(record.phi / record.done, phi, atol=0.02)
    assert ((phi > 0.03) & (phi < 0.97)).any()  # else there would be nothing to find out
