"""Draws for three classes against a grid: one column, a constant coefficient for every class."""

import itertools

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import gammaln, logsumexp

from driftglm.design import ColumnDesign
from driftglm.families import SoftmaxClass
from driftglm.objective import Bound, Intercepts, Noise
from driftglm.priors import Learned
from driftglm.priors.weights import prior_counts, start_weights
from driftglm.solvers.sampling import Sampling, sample_classes

PRIOR = Learned(shares=(1.0,), correlations=(0.8,), n_scales=2, n_directions=0)
N_ROWS, NODES = 30, 25  # with 49 nodes the moments are the same to six digits
NODE = np.linspace(-4.5, 4.5, NODES)


def posed(x, y):
    design, _ = ColumnDesign.from_matrix(x[:, None], np.repeat([0, 1], N_ROWS // 2), 2)
    return Bound(
        design=design,
        family=SoftmaxClass(3),
        intercepts=Intercepts(np.zeros((0, y.size)), np.zeros(0, bool), np.zeros(0)),
        noise=Noise(given=1.0, reference=1.0),
        y=y.astype(np.float64),
        weights=np.ones(y.size),
        offset=np.zeros(y.size),
        static=np.zeros(1, bool),
        reference=1.0,
        effective_rows=float(y.size),
        prior=PRIOR,
        unit=np.ones(1),
    )


def exact(bound, x, label):
    """Means (3,), variances and component probabilities (3, K); weights are shared by classes."""
    laws = bound.components()
    added = prior_counts(PRIOR, laws, start_weights(PRIOR, laws, np.zeros(1, bool)))[0]
    total, values, phi = [], [], []
    for ks in itertools.product(range(laws.count), repeat=3):
        # A component at zero needs one node.
        places = [NODE if laws.static[k] > 0 else np.zeros(1) for k in ks]
        grids = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, 3)
        step = (NODE[1] - NODE[0]) / np.sqrt(2 * np.pi)
        prior = -0.5 * (grids**2).sum(axis=1) + sum(np.log(step) for k in ks if laws.static[k] > 0)
        beta = grids * np.sqrt(laws.static[list(ks)]) / bound.unit
        eta = beta[:, None] * x[:, None]
        seen = np.take_along_axis(eta, np.broadcast_to(label, eta.shape[:2])[..., None], 2)
        likelihood = (seen[..., 0] - logsumexp(eta, axis=2)).sum(axis=1)
        counts = gammaln(np.bincount(ks, minlength=laws.count) + added).sum()
        total.append(prior + likelihood + counts)
        values.append(beta)
        phi.append(np.tile(np.eye(laws.count)[list(ks)], (len(beta), 1, 1)))
    total, values = np.concatenate(total), np.concatenate(values)
    weights = np.exp(total - total.max())
    weights /= weights.sum()
    mean = weights @ values
    return mean, weights @ values**2 - mean**2, np.tensordot(weights, np.concatenate(phi), 1)


def test_moments_and_components_are_those_of_the_grid():
    rng = np.random.default_rng(3)
    x = rng.normal(size=N_ROWS)
    eta = np.column_stack([1.2 * x, -0.5 * x, 0 * x]) - 0.1
    label = (rng.gumbel(size=eta.shape) + eta).argmax(axis=1)
    bounds = [posed(x, label == k) for k in range(3)]
    mean, variance, phi = exact(bounds[0], x, label)
    starts = [bound.start_posterior() for bound in bounds]
    for start in starts[1:]:  # the first has the prior of the weights, for all
        start.prior_counts = np.zeros_like(start.prior_counts)
    how = Sampling(draws=6_000, warmup=200, chains=1)
    records = [found[0] for found in sample_classes(bounds, starts, how, (1, 1, False))]
    first, second = (
        np.array([getattr(record, name)[0, 0] / record.done for record in records])
        for name in ("first", "second")
    )
    assert_allclose(first, mean, atol=0.08 * np.sqrt(variance.max()))
    assert_allclose(second - first**2, variance, rtol=0.12)
    assert_allclose([record.phi[0] / record.done for record in records], phi, atol=0.025)
    assert ((phi > 0.1) & (phi < 0.9)).any()
