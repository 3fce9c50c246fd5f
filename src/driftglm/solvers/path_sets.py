"""Which of several paths are not zero, averaged over sets of them.

Where two sets of columns explain the rows about as well, an update of one path after the other ends
in one of them, and calls it sure. Here sets are gone through: with all coefficients integrated out,
a path is drawn to be zero, constant or moving given what the others are, and what is reported are
averages of the probabilities that are drawn from. All that is asked of the rows are sums over them.

A path has coordinates: its constant part, and a few of how it moves, if it may. A constant path has
the first alone, with one of several variances; a moving path all of them, with given variances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.solvers.joint_paths import inverse_of

N_SWEEPS, FEWEST, BURN_IN = 400, 60, 0.1
"""Sweeps that count, at most and at least, and the share of as many before that do not."""
MOST_WORK = 60_000_000
"""Numbers that may be touched: of many coordinates there are fewer sweeps."""
SMALLEST = 1e-300
AT_ONCE = 20
"""Sweeps after which the state is found anew, so that rounding errors do not add up."""

Data: TypeAlias = tuple[FloatArray, FloatArray, IntArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Coordinates:
    """What is known about m paths.

    Parameters
    ----------
    gram, linear
        (Q, Q) and (Q,): the log-likelihood is linear'x - x'gram x / 2.
    starts
        (m + 1,): path i has the coordinates starts[i]:starts[i + 1], the constant part first.
    variances
        (K,) that a constant path may have.
    moving
        (Q,) variances of the coordinates of paths that move.
    log_prior
        (m, K + 2) of zero, of a constant path with each variance, and of a moving one; up to a
        constant. A path with one coordinate does not move.
    """

    gram: FloatArray
    linear: FloatArray
    starts: IntArray
    variances: FloatArray
    moving: FloatArray
    log_prior: FloatArray

    @property
    def data(self) -> Data:
        """For kernels."""
        first = self.gram, self.linear, self.starts
        return (*first, self.variances, self.moving, np.ascontiguousarray(self.log_prior))

    def take(self, which: IntArray) -> Coordinates:
        """Some of the paths, the others being zero."""
        parts = [np.arange(self.starts[i], self.starts[i + 1]) for i in which]
        numbers = np.concatenate(parts)
        return Coordinates(
            np.ascontiguousarray(self.gram[np.ix_(numbers, numbers)]),
            self.linear[numbers],
            np.concatenate([[0], np.cumsum([part.size for part in parts])]),
            self.variances,
            self.moving[numbers],
            self.log_prior[which],
        )

    def settled(self, log_odds: float, apart: float) -> BoolArray:
        """(m,) paths that are in, or that no others can stand for.

        In are those with such odds of not being zero even if no other is, all as wide as may be:
        "wide" is the mean variance that the prior allows a constant path. No others can stand for
        those that keep all but a share `apart` of their information if the others are unknown.
        """
        wide = self.moving.copy()
        weights = np.exp(self.log_prior[:, 1:-1] - self.log_prior[:, 1:-1].max(axis=1)[:, None])
        wide[self.starts[:-1]] = weights @ self.variances / weights.sum(axis=1)
        covariance = inverse_of(self.gram + np.diag(1.0 / wide))
        mean, out = covariance @ self.linear, np.zeros(len(self.log_prior), dtype=bool)
        for i in range(out.size):
            mine = slice(self.starts[i], self.starts[i + 1])
            own = np.asarray(np.linalg.inv(covariance[mine, mine]), dtype=np.float64)
            # What is known of the path, given all others.
            left = own - np.diag(1.0 / wide[mine])
            phi = np.empty(self.log_prior.shape[1])
            with_path = left, own @ mean[mine], self.variances, self.moving[mine]
            log_prior = np.ascontiguousarray(self.log_prior[i])
            weigh_inplace(with_path, log_prior, phi, np.empty(mine.stop - mine.start))
            out[i] = phi[0] < 1.0 / (1.0 + np.exp(log_odds))
            alone = self.gram[mine.start, mine.start]
            out[i] |= left[0, 0] >= (1.0 - apart) * alone
        return out

    def averaged(self, option: IntArray) -> tuple[FloatArray, FloatArray]:
        """(m, K + 2) probabilities and (Q,) means, averaged over sets; the walk begins at `option`.

        Random numbers are the same in every call, and paths are visited by what they explain each
        by itself, so that nothing depends on the order of the columns.
        """
        first, m = self.starts[:-1], len(self.log_prior)
        explained = self.linear[first] ** 2 / np.maximum(np.diag(self.gram)[first], 1e-300)
        order = np.argsort(-explained, kind="stable")
        ordered, state = self.take(order), option[order].copy()
        work = 3 * self.linear.size**3
        n_kept = int(np.clip(MOST_WORK // max(work, 1), FEWEST, N_SWEEPS))
        n_burn = int(BURN_IN * n_kept)
        uniform = np.random.default_rng(0).random((n_burn + n_kept, m))
        found = np.zeros(self.log_prior.shape), np.zeros(self.linear.size)
        for begin, end in ((0, n_burn), (n_burn, n_burn + n_kept)):
            for array in found:
                array[:] = 0.0
            sweep_sets_inplace(ordered.data, state, uniform[begin:end], found)
        phi, mean = np.empty_like(found[0]), np.empty_like(found[1])
        phi[order] = found[0]
        parts = [np.arange(self.starts[i], self.starts[i + 1]) for i in order]
        mean[np.concatenate(parts)] = found[1]
        return phi / n_kept, mean / n_kept


@kernel
def sweep_sets_inplace(
    data: Data, option: IntArray, uniform: FloatArray, sums: tuple[FloatArray, FloatArray]
) -> None:
    """Draw every path's option in turn; probabilities and means are added to `sums`.

    There is a row of `uniform` for every sweep. Only a path whose option changes touches what is
    known of the others, and most keep theirs.
    """
    starts, variances, moving, log_prior = data[2:]
    m, n_options, size = log_prior.shape[0], log_prior.shape[1], moving.shape[0]
    state, prior, column = np.zeros((size + 1, size + 1)), np.zeros(size), np.empty(size + 1)
    phi, means, wanted = np.empty(n_options), np.empty(size), np.empty(size)
    for n in range(uniform.shape[0]):
        if n % AT_ONCE == 0:
            _begin_inplace(data, option, state, prior)
        for i in range(m):
            first, last = starts[i], starts[i + 1]
            count = last - first
            known, score = _given_others(first, last, state, prior)
            own = known, score, variances, moving[first:last]
            weigh_inplace(own, log_prior[i], phi, means[:count])
            for k in range(n_options):
                sums[0][i, k] += phi[k]
            for a in range(count):
                sums[1][first + a] += means[a]
            drawn = _drawn(phi, uniform[n, i])
            if drawn == option[i]:
                continue
            option[i] = drawn
            _variances_of(drawn, variances, moving[first:last], wanted[:count])
            for a in range(count):
                _change_inplace(state, first + a, (prior[first + a], wanted[a]), column)
                prior[first + a] = wanted[a]


@kernel
def _variances_of(option: int, variances: FloatArray, moving: FloatArray, out: FloatArray) -> None:
    """Prior variances of a path's coordinates, zero for those that are not in use."""
    out[:] = 0.0
    if option > variances.shape[0]:
        out[:] = moving
    elif option > 0:
        out[0] = variances[option - 1]


@kernel
def _begin_inplace(data: Data, option: IntArray, state: FloatArray, prior: FloatArray) -> None:
    """The state (see `_change_inplace`) and prior variances of some options, from nothing."""
    gram, linear, starts, variances, moving, _ = data
    size = linear.shape[0]
    column = np.empty(size + 1)
    state[:size, :size], state[size, :size] = gram, linear
    for i in range(option.shape[0]):
        mine = slice(starts[i], starts[i + 1])
        _variances_of(option[i], variances, moving[mine], prior[mine])
    for a in range(size):
        if prior[a] > 0.0:
            _change_inplace(state, a, (0.0, prior[a]), column)


@kernel
def _change_inplace(
    state: FloatArray, one: int, variance: tuple[float, float], column: FloatArray
) -> None:
    """Give one coordinate another prior variance, zero meaning that it is not in use.

    The state is gram with linear as its last row, swept (in the sense of regression) at the
    coordinates in use: minus their covariance among these, what the others take from them between
    the two, the information that is left among the others; and in the last row means of the former
    and linear terms of the latter. Only what is on and below the diagonal counts. `column` is
    scratch.
    """
    before, after = variance
    if before == after:
        return
    size = state.shape[0]
    for j in range(one):
        column[j] = state[one, j]
    for j in range(one, size):
        column[j] = state[j, one]
    taken, left, kept = _swept(column[one], before, after)
    for j in range(size):
        weight, row = taken * column[j], state[j]
        if weight != 0.0:
            for k in range(j + 1):
                row[k] -= weight * column[k]
    for j in range(one):
        state[one, j] = left * column[j]
    for j in range(one + 1, size):
        state[j, one] = left * column[j]
    state[one, one] = kept


@kernel
def _swept(own: float, before: float, after: float) -> tuple[float, float, float]:
    """What to take off per square of a coordinate's column; what stays of it; its own number."""
    if before == 0.0:
        share = 1.0 / (max(own, 0.0) + 1.0 / after)
        return share, share, -share
    if after == 0.0:
        return 1.0 / own, -1.0 / own, -1.0 / own - 1.0 / before
    more = 1.0 / after - 1.0 / before
    left = 1.0 / (1.0 - more * own)
    return -more * left, left, own * left


@kernel
def _given_others(
    first: int, last: int, state: FloatArray, prior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Precision and linear term of a path's coordinates, given the others in use, without prior."""
    count, size = last - first, prior.shape[0]
    own, column = np.zeros((count + 1, count + 1)), np.empty(count + 1)
    for a in range(count):
        for b in range(a + 1):
            own[a, b] = state[first + a, first + b]
        own[count, a] = state[size, first + a]
    for a in range(count):
        _change_inplace(own, a, (prior[first + a], 0.0), column)
    known, score = np.empty((count, count)), own[count, :count].copy()
    for a in range(count):
        for b in range(a + 1):
            known[a, b] = known[b, a] = own[a, b]
    known[0, 0] = max(known[0, 0], 0.0)
    return known, score


@kernel
def _times(one: FloatArray, other: FloatArray) -> float:
    total = 0.0
    for j in range(one.shape[0]):
        total += one[j] * other[j]
    return total


@kernel
def _invert_inplace(a: FloatArray) -> float:
    """The inverse of a small positive definite matrix, and the logarithm of its determinant."""
    n, logdet = a.shape[0], 0.0
    for p in range(n):
        pivot = max(a[p, p], SMALLEST)
        logdet += np.log(pivot)
        a[p, p] = 1.0
        for k in range(n):
            a[p, k] /= pivot
        for j in range(n):
            if j != p:
                factor = a[j, p]
                a[j, p] = 0.0
                for k in range(n):
                    a[j, k] -= factor * a[p, k]
    return logdet


@kernel
def weigh_inplace(
    own: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    log_prior: FloatArray,
    phi: FloatArray,
    mean: FloatArray,
) -> None:
    """Probabilities of the options of one path given the others, and the means of its coordinates.

    `own` are precision and linear term of its coordinates, the variances that a constant path may
    have, and those of the coordinates of one that moves.
    """
    known, score, variances, moving = own
    n_variances, count = variances.shape[0], score.shape[0]
    curvature = max(known[0, 0], 0.0)
    phi[0] = top = log_prior[0]
    for k in range(n_variances):
        wide = 1.0 + variances[k] * curvature
        evidence = 0.5 * (variances[k] * score[0] * score[0] / wide - np.log(wide))
        phi[k + 1] = log_prior[k + 1] + evidence
        top = max(top, phi[k + 1])
    moved = np.zeros(count)
    phi[n_variances + 1] = -np.inf
    if count > 1:
        inverse, evidence = known.copy(), 0.0
        for a in range(count):
            inverse[a, a] += 1.0 / moving[a]
            evidence -= np.log(moving[a])
        evidence -= _invert_inplace(inverse)
        for a in range(count):
            moved[a] = _times(inverse[a], score)
            evidence += moved[a] * score[a]
        phi[n_variances + 1] = log_prior[n_variances + 1] + 0.5 * evidence
        top = max(top, phi[n_variances + 1])
    total = 0.0
    for k in range(phi.shape[0]):
        phi[k] = np.exp(phi[k] - top)
        total += phi[k]
    for k in range(phi.shape[0]):
        phi[k] /= total
    for a in range(count):
        mean[a] = phi[n_variances + 1] * moved[a]
    for k in range(n_variances):
        mean[0] += phi[k + 1] * variances[k] * score[0] / (1.0 + variances[k] * curvature)


@kernel
def _drawn(phi: FloatArray, uniform: float) -> int:
    """The option that a uniform number stands for."""
    total = 0.0
    for k in range(phi.shape[0]):
        total += phi[k]
        if uniform < total:
            return k
    return 0
