"""Weights of a mixture's components, learned by EM: the same for paths of rows and of text.

Weights are (G, K): features of a group share theirs. With n_gk the expected number of features of
group g that have component k, and a_gk what the prior of the weights adds to it, a bound has the
term

    sum_gk (n_gk + a_gk) log pi_gk,

whose maximiser is pi_gk proportional to n_gk + a_gk.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray
from driftglm.exceptions import DataError
from driftglm.priors.learned import Learned
from driftglm.priors.mixture import Components

DROP = 1e-10
"""Components with a smaller share of every group's features are dropped."""
CONSTANT, DRIFTING, SEASONAL = 2.0, 1.0, 1.0
"""How the features that are not zero, and that the prior counts for, are divided."""


def start_weights(prior: Learned, components: Components, static: BoolArray) -> FloatArray:
    """(G, K) weights EM starts from; `static` (G,) groups have constant components only."""
    pi = np.tile(prior.start_weights(components.count), (static.size, 1))
    if static.any():
        constant = components.is_static
        if not pi[0, constant & ~components.is_zero].any():
            raise DataError(
                "static features need a component that is constant over time and this prior has "
                "none; let shares of Learned contain 1, and weights, if given, count it."
            )
        pi[np.ix_(static, ~constant)] = 0.0
    return np.asarray(pi / pi.sum(axis=1, keepdims=True))


def prior_counts(prior: Learned, components: Components, pi: FloatArray) -> FloatArray:
    """(G, K) what the prior adds: features, of which two in three that are not zero are constant.

    Where there are seasons it is two in four, paths with a season being the last. Within a part
    they are divided as `pi`. A grid has many times more components that drift than constant ones;
    divided among components alike, the prior would speak for drift. Divided into halves it still
    does where features are few: one that never moves leaves open whether it might have, one that
    moves does not. Zero has as many features as all that is not zero: of four columns of wages that
    were shuffled .8 were "included" with one feature for zero, .35 with three. With none, a weight
    of zero that few features had taken to 0 could never come back. Every component that a group may
    have counts for something, so that weights can be drawn from a Dirichlet distribution with these
    counts.
    """
    if prior.weights is not None:
        return np.zeros_like(pi)
    zero, constant = components.is_zero, components.is_static & ~components.is_zero
    seasonal = components.is_seasonal
    kinds = constant, ~components.is_static & ~seasonal, seasonal
    parts = np.array([np.where(which, pi, 0.0) for which in kinds])
    totals = parts.sum(axis=2, keepdims=True)
    counts = np.where(totals > 0, np.reshape([CONSTANT, DRIFTING, SEASONAL], (3, 1, 1)), 0.0)
    there = counts.sum(axis=0)
    counts *= prior.prior_count / np.where(there > 0, there, 1.0)
    shares = (counts * parts / np.where(totals > 0, totals, 1.0)).sum(axis=0)
    return np.asarray(shares + np.where(zero, prior.prior_count, 0.0))


def log_weights(pi: FloatArray) -> FloatArray:
    """log pi; a component that a group cannot have is at minus infinity."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(pi))


def learned_weights(counts: FloatArray, log_pi: FloatArray) -> FloatArray:
    """The EM step: log weights that suit the counts n + a; an empty group keeps its weights."""
    sizes = counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > 0, np.log(counts / sizes), log_pi)


def cross_term(counts: FloatArray, log_pi: FloatArray) -> float:
    """What the weights add to a bound, `counts` being n + a; unused components add nothing."""
    used = counts > 0
    return float((counts[used] * log_pi[used]).sum())


def components_in_use(log_pi: FloatArray) -> BoolArray:
    """(K,) the components that some group has a use for.

    To drop the others lowers a bound by at most the number of features they hold, DROP of all.
    """
    return np.asarray((np.exp(log_pi) > DROP).any(axis=0))


def renormalized_weights(log_pi: FloatArray, keep: BoolArray) -> FloatArray:
    """Log weights of the components to `keep`, which take over what the others had."""
    pi = np.exp(log_pi)[:, keep]
    return log_weights(pi / pi.sum(axis=1, keepdims=True))


@kernel
def em_inplace(likelihood: FloatArray, prior: FloatArray, n_rounds: int, pi: FloatArray) -> None:
    """EM steps for the weights (K,) of one group at given likelihoods (n_paths, K).

    No BLAS, whose sums depend on its threads. Four sums at once: an addition waits for the one
    before it.
    """
    n_paths, n_components = likelihood.shape
    even = n_components - n_components % 4
    counts = np.empty(n_components)
    for _ in range(n_rounds):
        counts[:] = 0.0
        for i in range(n_paths):
            one = two = three = four = 0.0
            for k in range(0, even, 4):
                one += likelihood[i, k] * pi[k]
                two += likelihood[i, k + 1] * pi[k + 1]
                three += likelihood[i, k + 2] * pi[k + 2]
                four += likelihood[i, k + 3] * pi[k + 3]
            for k in range(even, n_components):
                one += likelihood[i, k] * pi[k]
            share = 1.0 / (one + two + (three + four))
            for k in range(n_components):
                counts[k] += likelihood[i, k] * share
        for k in range(n_components):
            pi[k] = pi[k] * counts[k] + prior[k]
        pi /= pi.sum()
