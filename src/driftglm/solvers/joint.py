"""The joint posterior of several Gaussian paths, by one solve with as many unknowns as rows.

    y = sum_i z_i beta_i[step] + noise,   beta_i ~ Normal(0, K_i),
    K_i(t, s) = static_i + sum_r dynamic_ir rho_r^|t - s|.

With S the covariance of y, the mean of a path is K_i Z_i' S^-1 y and the covariance of two paths is
K_i (if they are the same) minus K_i Z_i' S^-1 Z_j K_j. No matrix K_i is multiplied: an
autoregressive K times a vector is one recursion forward and one back.

Rows are sorted by step. One thread does the algebra, so that no digit depends on their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv, dpotrf, dpotri

from driftglm._jit import kernel
from driftglm._threads import one_thread
from driftglm._typing import BoolArray, FloatArray, IntArray

AT_ONCE, ROWS_AT_ONCE = 4_000_000, 64
"""Numbers of paths x steps x rows worked on at once, and rows of one path."""
N_BLOCKS = 64
"""Blocks of steps from which the information about a path's mean is found."""
LOST = 1e-5
"""Shares of what is known that are not due to the prior have too few digits below this."""
MOST_KNOWN = 0.95
"""Share of what is known about a step that may be taken for the step's own."""


@dataclass(frozen=True)
class PathKernels:
    """Prior covariances of m paths: `static` (m,), `dynamic` (m, R), `rho` (R,)."""

    static: FloatArray
    dynamic: FloatArray
    rho: FloatArray

    @property
    def variance(self) -> FloatArray:
        """(m,) of a path at any step."""
        return np.asarray(self.static + self.dynamic.sum(axis=1))

    @property
    def used(self) -> BoolArray:
        """(m, 1 + R) terms that a path has: a constant part, and deviations of this rho."""
        return np.asarray(np.column_stack([self.static, self.dynamic]) > 0)

    def by_lag(self, n_lags: int) -> FloatArray:
        """(m, n_lags) covariances of steps so far apart."""
        powers = self.rho[:, None] ** np.arange(n_lags)
        return np.asarray(self.static[:, None] + np.einsum("ir,rl->il", self.dynamic, powers))

    def terms(self, n_ahead: int) -> FloatArray:
        """(m, 1 + R) what the sums of `JointSolve.ahead` count for, `n_ahead` after the last."""
        return np.column_stack([self.static, self.dynamic * self.rho**n_ahead])


@kernel
def _sum_inplace(rows: FloatArray, column: FloatArray, offsets: IntArray, sums: FloatArray) -> None:
    """Sums of column * rows (n, c) over the rows of each step, added to `sums` (T, c)."""
    for t in range(sums.shape[0]):
        for n in range(offsets[t], offsets[t + 1]):
            for c in range(sums.shape[1]):
                sums[t, c] += column[n] * rows[n, c]


@kernel
def _smooth_inplace(
    rows: FloatArray,
    column: FloatArray,
    offsets: IntArray,
    prior: tuple[float, FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """K Z' rows (n, c) of one path into `out` (T, c); `prior` is static, dynamic and rho."""
    static, dynamic, rho = prior
    n_steps, width = out.shape
    sums, state = np.zeros((n_steps, width)), np.zeros((rho.shape[0], width))
    total = np.zeros(width)
    _sum_inplace(rows, column, offsets, sums)
    for t in range(n_steps):
        for c in range(width):
            total[c] += sums[t, c]
            out[t, c] = 0.0
        for r in range(rho.shape[0]):
            for c in range(width):
                state[r, c] = rho[r] * state[r, c] + sums[t, c]
                out[t, c] += dynamic[r] * state[r, c]
    state[:] = 0.0
    for t in range(n_steps - 1, -1, -1):
        for c in range(width):
            out[t, c] += static * total[c]
        for r in range(rho.shape[0]):
            for c in range(width):
                out[t, c] += dynamic[r] * state[r, c]
                state[r, c] = rho[r] * (state[r, c] + sums[t, c])


@kernel
def add_faded_inplace(
    part: FloatArray, powers: FloatArray, codes: IntArray, out: FloatArray
) -> None:
    """Add `part` (n, n) times powers[lag], the steps between two rows; below the diagonal only."""
    for n in range(codes.shape[0]):
        for k in range(n + 1):
            out[n, k] += part[n, k] * powers[codes[n] - codes[k]]


@kernel
def block_sums_inplace(
    matrix: FloatArray, column: FloatArray, ends: IntArray, out: FloatArray
) -> None:
    """Sums of column' matrix column over blocks of rows, (n_blocks, n_blocks)."""
    for a in range(out.shape[0]):
        for n in range(ends[a], ends[a + 1]):
            row = matrix[n]
            for b in range(out.shape[1]):
                total = 0.0
                for k in range(ends[b], ends[b + 1]):
                    total += row[k] * column[k]
                out[a, b] += column[n] * total


@kernel
def lag_sums_inplace(by_lag: FloatArray, ends: IntArray, out: FloatArray) -> None:
    """Sums of by_lag[|s - t|] over the pairs of steps of two blocks."""
    for a in range(out.shape[0]):
        for b in range(a + 1):
            total = 0.0
            for s in range(ends[a], ends[a + 1]):
                for t in range(ends[b], ends[b + 1]):
                    total += by_lag[abs(s - t)]
            out[a, b] = out[b, a] = total


@kernel
def taken_inplace(
    inverse: FloatArray,
    rows: tuple[FloatArray, IntArray, IntArray, IntArray],
    prior: tuple[float, FloatArray, FloatArray],
    by_lag: FloatArray,
    out: FloatArray,
    sums: tuple[FloatArray, FloatArray],
) -> None:
    """What some rows add to diag(K F K) and diag(K F) of one path, (T,) each; F = Z' inverse Z.

    `inverse` (n, c) has the columns of those rows. `rows` are the path's column, where steps begin,
    and the numbers and steps of those rows; `out` (T, c) is scratch.
    """
    column, offsets, numbers, codes = rows
    taken, own = sums
    _smooth_inplace(inverse, column, offsets, prior, out)
    for c in range(codes.shape[0]):
        own[codes[c]] += out[codes[c], c] * column[numbers[c]]
    for t in range(out.shape[0]):
        total = 0.0
        for c in range(codes.shape[0]):
            total += out[t, c] * column[numbers[c]] * by_lag[abs(t - codes[c])]
        taken[t] += total


@dataclass(frozen=True)
class JointData:
    """What is known about m paths.

    Parameters
    ----------
    columns
        (m, n_rows) what a path is multiplied by.
    y
        (n_rows,) what they add up to, and noise.
    variance
        (n_rows,) of the noise.
    step_offsets
        (T + 1,): rows of step t are step_offsets[t]:step_offsets[t + 1].
    """

    columns: FloatArray
    y: FloatArray
    variance: FloatArray
    step_offsets: IntArray

    @cached_property
    def codes(self) -> IntArray:
        """(n_rows,) step of every row."""
        return np.repeat(np.arange(self.n_steps), np.diff(self.step_offsets))

    @property
    def n_steps(self) -> int:
        """T."""
        return int(self.step_offsets.size - 1)

    def added(self, paths: FloatArray) -> FloatArray:
        """(n_rows,) what paths (m, T) add up to."""
        out = np.empty(self.y.size)
        with one_thread():
            for t in range(self.n_steps):
                rows = slice(self.step_offsets[t], self.step_offsets[t + 1])
                out[rows] = paths[:, t] @ self.columns[:, rows]
        return out

    def by_step(self, rows: FloatArray) -> FloatArray:
        """(m, T) sums over the rows of each step."""
        sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)], axis=1)
        return np.asarray(np.diff(sums[:, self.step_offsets], axis=1))


@dataclass(frozen=True)
class JointSolve:
    """The posterior of all paths under given priors; `inverse` is that of y's covariance."""

    data: JointData
    kernels: PathKernels
    inverse: FloatArray
    explained: FloatArray

    @classmethod
    def of(cls, data: JointData, kernels: PathKernels) -> JointSolve:
        """The n x n solve."""
        covariance = _covariance(data, kernels)
        with one_thread():
            factor, failed = dpotrf(covariance, lower=1, overwrite_a=1)
            if failed:
                raise LinAlgError("the covariance of the rows is not positive definite")
            inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
            inverse = np.tril(inverse) + np.tril(inverse, -1).T
            return cls(data, kernels, inverse, inverse @ data.y)

    def means(self) -> FloatArray:
        """(m, T)."""
        return self._smoothed(self.explained[:, None])[:, :, 0]

    def _smoothed(self, rows: FloatArray) -> FloatArray:
        """(m, T, c) K_i Z_i' rows (n, c)."""
        data = self.data
        rows = np.ascontiguousarray(rows)
        out = np.empty((len(data.columns), data.n_steps, rows.shape[1]))
        for i, column in enumerate(data.columns):
            _smooth_inplace(rows, column, data.step_offsets, self._terms(i), out[i])
        return out

    def covariances(self, *, between: bool) -> tuple[FloatArray, FloatArray]:
        """Covariances of the paths at every step (T, m, m), and (m, T) diag(K_i F_i).

        F_i = Z_i' S^-1 Z_i. Unless `between` is asked for, only the variances (T, m).
        """
        if not between:
            return self._variances()
        data, codes = self.data, self.data.codes
        (m, n_rows), n_steps = data.columns.shape, data.n_steps
        by_lag = self.kernels.by_lag(n_steps)
        found, own = np.zeros((n_steps, m, m)), np.zeros((n_steps, m))
        width = max(AT_ONCE // (m * n_steps), 8)
        for start in range(0, n_rows, width):
            part = slice(start, min(start + width, n_rows))
            smoothed = self._smoothed(self.inverse[:, part])
            lags = np.abs(np.arange(n_steps)[:, None] - codes[part])
            prior = by_lag[:, lags] * data.columns[:, None, part]
            with one_thread():
                found -= np.matmul(smoothed.transpose(1, 0, 2), prior.transpose(1, 2, 0))
            here = smoothed[:, codes[part], np.arange(part.stop - part.start)]
            np.add.at(own, codes[part], (here * data.columns[:, part]).T)
        found = 0.5 * (found + found.transpose(0, 2, 1))
        np.einsum("tii->ti", found)[:] += self.kernels.variance
        return found, np.ascontiguousarray(own.T)

    def _variances(self) -> tuple[FloatArray, FloatArray]:
        """(T, m) variances of the paths, and (m, T) diag(K_i F_i)."""
        data, kernels = self.data, self.kernels
        by_lag = kernels.by_lag(data.n_steps)
        sums = np.zeros((len(data.columns), 2, data.n_steps))
        for start in range(0, data.y.size, ROWS_AT_ONCE):
            numbers = np.arange(start, min(start + ROWS_AT_ONCE, data.y.size))
            inverse = np.ascontiguousarray(self.inverse[:, numbers])
            out = np.empty((data.n_steps, numbers.size))
            for i, column in enumerate(data.columns):
                rows = column, data.step_offsets, numbers, data.codes[numbers]
                prior = self._terms(i)
                taken_inplace(inverse, rows, prior, by_lag[i], out, (sums[i, 0], sums[i, 1]))
        variances = kernels.variance[:, None] - sums[:, 0]
        return np.ascontiguousarray(variances.T), sums[:, 1]

    def _terms(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        """The static and the dynamic parts of a path's prior, without those it has not."""
        prior = self.kernels
        used = prior.dynamic[i] > 0
        return float(prior.static[i]), prior.dynamic[i, used], prior.rho[used]

    def local(self, variance: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(m, T) curvature and linear term of every path, the other paths integrated out.

        Steps are taken for independent: what step t says is what its rows say once the path's
        posterior from the other steps, variance `loo`, is taken out. `variance` (m, T) and
        `own` are those of `covariances`.
        """
        data = self.data
        precision = np.zeros_like(variance)
        for t in range(data.n_steps):
            rows = slice(data.step_offsets[t], data.step_offsets[t + 1])
            z = data.columns[:, rows]
            precision[:, t] = np.einsum("in,nk,ik->i", z, self.inverse[rows, rows], z)
        score = data.by_step(data.columns * self.explained)
        return local_terms(precision, score, self.means(), variance, own)

    def common_precision(self) -> FloatArray:
        """(m,) precision of a path's constant part, the other paths integrated out.

        Found from a few blocks of steps, which is exact where there are not more steps; infinite
        where blocks are too coarse for a path. The other paths are wrong at all steps alike, so
        that it is less than what steps add up to.
        """
        data, n_steps = self.data, self.data.n_steps
        n_blocks = min(N_BLOCKS, n_steps)
        ends = n_steps * np.arange(n_blocks + 1) // n_blocks
        rows = data.step_offsets[ends]
        sizes = np.outer(np.diff(ends), np.diff(ends))
        found = np.zeros(len(data.columns))
        with one_thread():
            for i, by_lag in enumerate(self.kernels.by_lag(n_steps)):
                known, prior = np.zeros((2, n_blocks, n_blocks))
                block_sums_inplace(self.inverse, data.columns[i], rows, known)
                lag_sums_inplace(by_lag, ends, prior)
                found[i] = _without_prior(known, prior / sizes)
        for lost in np.flatnonzero(np.isnan(found)).tolist():
            found[lost] = self._known_without(lost)
        return found

    def _known_without(self, i: int) -> float:
        """z_i' S^-1 z_i with the S of the other paths: the same, by a solve of its own."""
        data, prior = self.data, self.kernels
        others = np.arange(len(data.columns)) != i
        rest = PathKernels(prior.static * others, prior.dynamic * others[:, None], prior.rho)
        with one_thread():
            _, found, failed = dposv(_covariance(data, rest), data.columns[i], lower=1)
        if failed:
            raise LinAlgError("the covariance of the rows is not positive definite")
        return float(data.columns[i] @ found)

    def ahead(self) -> tuple[FloatArray, FloatArray]:
        """What forecasts need: sums (m, 1 + R) and their Gram matrix, square of m (1 + R).

        `n` steps after the last, w = `kernels.terms(n)`: the mean is sum_r w_r sums_r, and w' gram
        w is what is taken off the prior's covariances. It is zero where a path has no such term.
        """
        data, used = self.data, self.kernels.used.ravel()
        m, n_rows = data.columns.shape
        powers = self.kernels.rho[:, None] ** (data.n_steps - 1 - data.codes)
        fading = np.concatenate([np.ones((1, n_rows)), powers])
        z = (data.columns[:, None, :] * fading).reshape(-1, n_rows)
        gram = np.zeros((used.size, used.size))
        with one_thread():
            gram[np.ix_(used, used)] = z[used] @ self.inverse @ z[used].T
            return (z @ self.explained).reshape(m, -1), 0.5 * (gram + gram.T)


def local_terms(
    precision: FloatArray,
    score: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    own: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """(m, T) curvature and linear term of every path, the other paths integrated out.

    Steps are taken for independent: what step t says is what its rows say once the path's posterior
    from the other steps, variance `loo`, is taken out. With F_i = Z_i' S^-1 Z_i, `precision` is its
    diagonal, `own` that of K_i F_i, `score` is Z_i' S^-1 y; `mean` and `variance` are the path's.
    """
    some = np.where(precision > 0, precision, 1.0)
    loo = variance + own**2 / some
    mean = mean - own * score / some
    left = 1.0 - np.minimum(loo * precision, MOST_KNOWN)
    return precision / left, (score + precision * mean) / left


def _covariance(data: JointData, kernels: PathKernels) -> FloatArray:
    """(n, n) of y; what is above the diagonal does not count."""
    with one_thread():
        out = np.diag(data.variance)
        out += (data.columns.T * kernels.static) @ data.columns
        for rho, dynamic in zip(kernels.rho, kernels.dynamic.T, strict=True):
            part = (data.columns.T * dynamic) @ data.columns
            add_faded_inplace(part, rho ** np.arange(data.n_steps), data.codes, out)
    return out


def _without_prior(precision: FloatArray, prior: FloatArray) -> float:
    """1'J1 of the J with `precision` = (J^-1 + prior)^-1; infinite if there is none.

    NaN if the prior is so wide that the difference would have no digits: that of an intercept.
    """
    values, vectors = np.linalg.eigh(precision)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    known, turn = np.linalg.eigh(root.T @ prior @ root)
    if abs(1.0 - known[-1]) < LOST:
        return np.nan
    if known[-1] > 1.0:
        return np.inf
    along = turn.T @ root.sum(axis=0)
    return float(np.sum(along**2 / (1.0 - known)))
