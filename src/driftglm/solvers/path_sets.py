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
from driftglm._threads import one_thread
from driftglm._typing import BoolArray, FloatArray, IntArray

N_SWEEPS, FEWEST, BURN_IN = 400, 60, 0.1
"""Sweeps that count, at most and at least, and the share of as many before that do not."""
MOST_WORK = 60_000_000
"""Numbers that may be touched: of many coordinates there are fewer sweeps."""
SMALLEST = 1e-300
AT_ONCE = 5
"""Sweeps after which the inverse is found anew, so that rounding errors do not add up."""

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
        return (*first, self.variances, self.moving, self.log_prior)

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
        with one_thread():
            covariance = np.linalg.inv(self.gram + np.diag(1.0 / wide))
        mean, out = covariance @ self.linear, np.zeros(len(self.log_prior), dtype=bool)
        for i in range(out.size):
            mine = slice(self.starts[i], self.starts[i + 1])
            own = np.linalg.inv(covariance[mine, mine])  # of the path, given all others
            left = own - np.diag(1.0 / wide[mine])
            phi = np.empty(self.log_prior.shape[1])
            with_path = left, own @ mean[mine], self.variances, self.moving[mine]
            weigh_inplace(with_path, self.log_prior[i], phi, np.empty(mine.stop - mine.start))
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

    There is a row of `uniform` for every sweep.
    """
    linear, starts, variances, moving, log_prior = data[1:]
    m, n_options, size = log_prior.shape[0], log_prior.shape[1], linear.shape[0]
    covariance, mean = np.zeros((size, size)), np.zeros(size)
    phi, side = np.empty(n_options), np.empty((size, size))
    means = np.empty(size)
    for n in range(uniform.shape[0]):
        if n % AT_ONCE == 0:
            _begin_inplace(data, option, covariance, mean)
        for i in range(m):
            first, last = starts[i], starts[i + 1]
            count = last - first
            if option[i] > 0:
                _leave_inplace(first, count if option[i] == n_options - 1 else 1, covariance, mean)
            known, score = _given_others(first, last, data, (covariance, mean), side)
            own = known, score, variances, moving[first:last]
            weigh_inplace(own, log_prior[i], phi, means[:count])
            for k in range(n_options):
                sums[0][i, k] += phi[k]
            for a in range(count):
                sums[1][first + a] += means[a]
            option[i] = _drawn(phi, uniform[n, i])
            if option[i] == n_options - 1:
                for a in range(count):
                    known[a, a] += 1.0 / moving[first + a]
                _enter_inplace(first, known, score, side, covariance, mean)
            elif option[i] > 0:
                known[0, 0] += 1.0 / variances[option[i] - 1]
                _enter_inplace(first, known[:1, :1], score, side, covariance, mean)


@kernel
def _given_others(
    first: int, last: int, data: Data, others: tuple[FloatArray, FloatArray], side: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Precision and linear term of some coordinates that are not in use, given those that are.

    `others` are covariance and mean of these; `side` gets what they take from each coordinate.
    """
    gram, linear, (covariance, mean), count = data[0], data[1], others, last - first
    known, score = np.empty((count, count)), np.empty(count)
    for a in range(count):
        column, taken = gram[first + a], side[a]
        taken[:] = 0.0
        for k in range(column.shape[0]):  # so that a processor adds several at once
            if covariance[k, k] != 0.0:
                for j in range(column.shape[0]):
                    taken[j] += column[k] * covariance[k, j]
        score[a] = linear[first + a] - _times(column, mean)
        for b in range(a + 1):
            known[a, b] = known[b, a] = gram[first + a, first + b] - _times(column, side[b])
    known[0, 0] = max(known[0, 0], 0.0)
    return known, score


@kernel
def _begin_inplace(data: Data, option: IntArray, covariance: FloatArray, mean: FloatArray) -> None:
    """Covariance and mean of the coordinates in use, from nothing; zero for the others."""
    gram, linear, starts, variances, moving, _ = data
    variance, n_variances = np.zeros(mean.shape[0]), variances.shape[0]
    for i in range(option.shape[0]):
        if option[i] > n_variances:
            variance[starts[i] : starts[i + 1]] = moving[starts[i] : starts[i + 1]]
        elif option[i] > 0:
            variance[starts[i]] = variances[option[i] - 1]
    used = np.flatnonzero(variance)
    found = np.empty((used.shape[0], used.shape[0]))
    for a in range(used.shape[0]):
        for b in range(used.shape[0]):
            found[a, b] = gram[used[a], used[b]]
        found[a, a] += 1.0 / variance[used[a]]
    _invert_inplace(found)
    covariance[:] = 0.0
    mean[:] = 0.0
    for a in range(used.shape[0]):
        for b in range(used.shape[0]):
            covariance[used[a], used[b]] = found[a, b]
            mean[used[a]] += found[a, b] * linear[used[b]]


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
def _leave_inplace(first: int, count: int, covariance: FloatArray, mean: FloatArray) -> None:
    """Covariance and mean of the others once `count` coordinates are zero."""
    size = mean.shape[0]
    rows = covariance[first : first + count].copy()
    own = rows[:, first : first + count].copy()
    _invert_inplace(own)
    for a in range(count):
        share = _times(own[a], mean[first : first + count])
        for j in range(size):
            weight = 0.0
            for b in range(count):
                weight += own[a, b] * rows[b, j]
            if weight != 0.0:
                for k in range(size):
                    covariance[j, k] -= weight * rows[a, k]
        # The mean of the coordinates themselves is needed until the last is done.
        for j in range(size):
            if j < first or j >= first + count:
                mean[j] -= rows[a, j] * share
    for a in range(first, first + count):
        mean[a] = 0.0
        for j in range(size):
            covariance[a, j] = covariance[j, a] = 0.0


@kernel
def _enter_inplace(
    first: int,
    known: FloatArray,
    score: FloatArray,
    side: FloatArray,
    covariance: FloatArray,
    mean: FloatArray,
) -> None:
    """The same with some coordinates more, of precision `known` given the others."""
    count, size = known.shape[0], mean.shape[0]
    _invert_inplace(known)
    for a in range(count):
        weight = np.zeros(size)
        here = 0.0
        for b in range(count):
            here += known[a, b] * score[b]
            for j in range(size):
                weight[j] += known[a, b] * side[b, j]
        for j in range(size):
            mean[j] -= side[a, j] * here
            if side[a, j] != 0.0:
                for k in range(size):
                    covariance[j, k] += side[a, j] * weight[k]
        for j in range(size):
            covariance[first + a, j] = covariance[j, first + a] = -weight[j]
        mean[first + a] = here
    for a in range(count):
        for b in range(count):
            covariance[first + a, first + b] = known[a, b]


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
