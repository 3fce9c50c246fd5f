"""Paths whose inclusion is a matter of which others are in, averaged over sets of paths.

`solvers.path_sets` goes through sets; here paths get their coordinates, options and prior odds.
Paths that are in whatever else is, those that no others can stand for, and intercepts are
integrated out once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._threads import one_thread
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.priors.mixture import Components
from driftglm.solvers.joint import PathKernels
from driftglm.solvers.joint_paths import PathInformation, PathSolve, along
from driftglm.solvers.path_sets import Coordinates

CERTAIN, APART = 9.0, 0.05
"""Log odds above which a path is in, whatever else is; and the share of what is known of a path
that others may have a part in, up to which they cannot stand for it."""
MOVES = 0.1
"""Probability, among paths that are not zero, below which a path is taken not to move."""
IN, STILL = 0.95, 0.9
TINIEST, LEAST = 1e-300, 1e-12
TINY = 1e-6
"""Least variance of the constant part of a path that moves, as a share of the path's."""
MOST_MOVING, NEGLIGIBLE, MUCH = 4, 0.1, 1.0
"""Coordinates of how a path moves, and the prior variance times information of one below which it
is left out; there are more of a path that surely moves, and of which much is known."""


@dataclass(frozen=True)
class SetAverages:
    """What sets of paths say on average about some of the paths that are judged jointly.

    Parameters
    ----------
    which
        (n,) their numbers among these.
    phi
        (n, K) probabilities of their components.
    mean
        (n, T) their means, in the units of the columns.
    doubtful
        (n,) those that are not almost surely in, nor move: their means are those above. The others
        have theirs found given the rest, as if nothing else could stand for them.
    """

    which: IntArray
    phi: FloatArray
    mean: FloatArray
    doubtful: BoolArray


@dataclass(frozen=True)
class Judged:
    """Where m paths are: probabilities `phi` (m, K) of components, `log_pi` (m, K), `unit` (m,).

    `curvature` and `linear` (m, T) are what the rows say of each, the others integrated out, in the
    internal unit.
    """

    components: Components
    phi: FloatArray
    log_pi: FloatArray
    unit: FloatArray
    curvature: FloatArray
    linear: FloatArray

    @property
    def constant(self) -> BoolArray:
        """(K,) components of constant paths that are not zero."""
        return self.components.is_static & ~self.components.is_zero

    @property
    def moving(self) -> BoolArray:
        """(K,) components of paths that move."""
        return ~self.components.is_static


def average_sets(
    known: PathInformation, kernels: PathKernels, judged: Judged
) -> SetAverages | None:
    """Averages over sets; None where every path is settled."""
    if (
        not judged.constant.any()
        or not np.isfinite(judged.log_pi[:, judged.components.is_zero]).all()
    ):
        return None
    m = len(judged.phi)
    roots, owner, moving = _roots(judged)
    log_prior = _log_prior(judged, owner)
    behind = np.arange(m, kernels.static.size)
    paths = _coordinates(
        _without(known, kernels, behind), judged, (roots, owner, moving), log_prior
    )
    settled = paths.settled(CERTAIN, APART)
    which = np.flatnonzero(~settled)
    if not which.size:
        return None
    if settled.any():
        behind = np.concatenate([np.flatnonzero(settled), behind])
        left = _without(known, kernels, behind)
        paths = _coordinates(left, judged, (roots, owner, moving), log_prior)
    paths = paths.take(which)
    found, mean = paths.averaged(_likeliest(judged, log_prior)[which])
    out = np.zeros((m, judged.linear.shape[1]))
    mine = ~settled[owner]
    np.add.at(out, owner[mine], (roots[:, mine] * mean).T)
    phi = _spread(judged, found, which, log_prior)
    doubtful = (found[:, 0] > 1.0 - IN) & (phi[:, judged.moving].sum(axis=1) < STILL)
    return SetAverages(which, phi, out[which] / judged.unit[which, None], doubtful)


def _roots(judged: Judged) -> tuple[FloatArray, IntArray, FloatArray]:
    """(T, Q) coordinates of all paths in internal units, whose they are, and their variances."""
    components, n_steps = judged.components, judged.linear.shape[1]
    lags = np.abs(np.subtract.outer(np.arange(n_steps), np.arange(n_steps)))
    size = 1.0 - judged.phi[:, components.is_zero].sum(axis=1)
    moves = judged.phi[:, judged.moving].sum(axis=1)
    constant = (judged.phi * components.static).sum(axis=1)
    variance = np.where(size > 0, constant / np.where(size > 0, size, 1.0), 1.0)
    may = (size > 0) & (moves > MOVES * size)
    # What those that may move are like if they do.
    share = judged.phi[may][:, judged.moving] / moves[may, None]
    dynamic = share * components.dynamic[judged.moving]
    least = TINY * dynamic.sum(axis=1)
    variance[may] = np.maximum((share * components.static[judged.moving]).sum(axis=1), least)
    rho, which = np.unique(components.rho[judged.moving], return_inverse=True)
    by_rho = dynamic @ (which.ravel()[:, None] == np.arange(rho.size)).astype(np.float64)
    with one_thread():
        values, vectors = np.linalg.eigh((by_rho @ rho[:, None] ** np.arange(n_steps))[:, lags])
    told = values * np.einsum("itq,it,itq->iq", vectors, judged.curvature[may], vectors)
    few = np.arange(n_steps) >= n_steps - MOST_MOVING  # those that move the most
    used = np.zeros((may.size, 1 + n_steps), dtype=np.bool_)
    used[:, 0] = True
    used[may, 1:] = np.where(few, told > NEGLIGIBLE, told * moves[may, None] > MUCH)
    roots = np.ones((may.size, n_steps, 1 + n_steps))
    variances = np.column_stack([variance, np.zeros((may.size, n_steps))])
    roots[may, :, 1:], variances[may, 1:] = vectors, values
    return roots.transpose(1, 0, 2)[:, used], np.nonzero(used)[0], variances[used]


def _log_prior(judged: Judged, owner: IntArray) -> FloatArray:
    """(m, K + 2) of zero, of every constant component, and of a path that moves.

    The latter stands for all components that do. The evidence of a mixture is at least exp(sum_k
    share_k (log pi_k - log share_k + log evidence_k)), whatever the shares: of those that a path is
    judged to have, that is the weight of one component that has their average for its law.
    """
    log_pi, phi = judged.log_pi, judged.phi
    out = np.column_stack(
        [log_pi[:, judged.components.is_zero], log_pi[:, judged.constant], np.zeros(len(phi))]
    )
    still, moving = phi[:, judged.constant].sum(axis=1), phi[:, judged.moving]
    moves = moving.sum(axis=1)
    share = moving / np.where(moves > 0, moves, 1.0)[:, None]
    terms = np.where(share > 0, log_pi[:, judged.moving] - np.log(np.maximum(share, TINIEST)), 0.0)
    out[:, -1] = np.einsum("mk,mk->m", share, terms)
    alone = np.bincount(owner) == 1  # constant ones stand for those that move
    out[alone, -1] = -np.inf
    out[alone, 1:-1] += np.log1p(moves / np.maximum(still, LEAST))[alone, None]
    return out


def _without(known: PathInformation, kernels: PathKernels, behind: IntArray) -> PathSolve:
    """What rows say of the other paths once those `behind` are integrated out."""
    some = np.zeros(kernels.static.size)
    some[behind] = 1.0
    prior = PathKernels(kernels.static * some, kernels.dynamic * some[:, None], kernels.rho)
    return PathSolve.of(known, prior)


def _coordinates(
    rest: PathSolve,
    judged: Judged,
    parts: tuple[FloatArray, IntArray, FloatArray],
    log_prior: FloatArray,
) -> Coordinates:
    """What rows say of coordinates, those of the solve integrated out."""
    roots, owner, moving = parts
    known, scale = rest.known, judged.unit[owner]
    own = roots / scale
    gram, linear = along(known.gram, (own, owner)), (own * known.linear.T[:, owner]).sum(axis=0)
    side = along(known.gram, (own, owner), (rest.roots, rest.owner))
    with one_thread():
        taken = side @ rest.covariance
        gram -= taken @ side.T
        linear -= taken @ (rest.roots * known.linear.T[:, rest.owner]).sum(axis=0)
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner))])
    variances = judged.components.static[judged.constant]
    return Coordinates(0.5 * (gram + gram.T), linear, starts, variances, moving, log_prior)


def _likeliest(judged: Judged, log_prior: FloatArray) -> IntArray:
    """(m,) options to begin with: zero, the likeliest constant component, or moving."""
    zero, constant = judged.components.is_zero, judged.phi[:, judged.constant]
    moves = judged.phi[:, judged.moving].sum(axis=1) > constant.sum(axis=1)
    moves &= np.isfinite(log_prior[:, -1])
    out = np.where(moves, log_prior.shape[1] - 1, 1 + constant.argmax(axis=1))
    return np.asarray(np.where(judged.phi[:, zero].sum(axis=1) > 0.5, 0, out))  # noqa: PLR2004


def _spread(
    judged: Judged, found: FloatArray, which: IntArray, log_prior: FloatArray
) -> FloatArray:
    """(n, K) probabilities of components; among those that move they stay in proportion."""
    phi = judged.phi[which]
    now, still = phi * judged.moving, phi[:, judged.constant].sum(axis=1)
    total = now.sum(axis=1)
    stands_for = np.isneginf(log_prior[which, -1]) & (still > 0)
    share = np.where(stands_for, still / np.where(stands_for, still + total, 1.0), 1.0)
    constant = found[:, 1:-1] * share[:, None]
    moves = 1.0 - found[:, 0] - constant.sum(axis=1)
    now *= np.divide(moves, total, out=np.zeros_like(total), where=total > 0)[:, None]
    now[:, judged.components.is_zero] = found[:, :1]
    now[:, judged.constant] = constant
    return np.asarray(now)
