"""The joint posterior of several Gaussian paths, by a solve with as many unknowns as coefficients.

The same as `joint.py` where rows are many and paths are few. With H_t = Z_t' W_t Z_t, what step t
says about the coefficients of all paths, K_i = L_i L_i' and beta_i = L_i u_i,

    u ~ Normal(C L' (Z' W y), C),   C = (I + L' H L)^-1,

and what the data say about a path, the others integrated out, is F_i = (H - H L C L' H)_ii, the
Z_i' S^-1 Z_i of `joint.py`. No K_i is inverted: that of a path that does not move has rank one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotri

from driftglm._jit import kernel
from driftglm._threads import one_thread
from driftglm._typing import FloatArray, IntArray
from driftglm.solvers.joint import JointData, PathKernels

Values: TypeAlias = tuple[FloatArray, IntArray]
"""Values (T, A), and the path that each belongs to (A,), those of a path together."""
RANK = 1e-12
"""Eigenvalues of a prior covariance below this share of its largest are rounding errors."""
TOLD = 1e-4
"""Prior variance times information below which the rows say nothing of a direction of a path."""
TINIEST = 1e-300


@dataclass(frozen=True)
class PathInformation:
    """What rows say about m paths: `gram` (T, m, m) and `linear` (m, T)."""

    gram: FloatArray
    linear: FloatArray

    @classmethod
    def of(cls, data: JointData) -> PathInformation:
        """Sums over the rows of every step."""
        m = len(data.columns)
        gram, linear = np.zeros((data.n_steps, m, m)), np.zeros((m, data.n_steps))
        with one_thread():
            for t in range(data.n_steps):
                rows = slice(data.step_offsets[t], data.step_offsets[t + 1])
                z = data.columns[:, rows] / data.variance[rows]
                gram[t], linear[:, t] = z @ data.columns[:, rows].T, z @ data.y[rows]
        return cls(gram, linear)

    def alike(self, count: int) -> FloatArray:
        """(count,) the largest correlation of each of the first paths' columns with another."""
        total = self.gram.sum(axis=0)[:count, :count]
        size = np.sqrt(np.where(np.diag(total) > 0, np.diag(total), 1.0))
        r = np.abs(total / size / size[:, None])
        np.fill_diagonal(r, 0.0)
        return np.asarray(r.max(axis=1, initial=0.0))


@dataclass(frozen=True)
class PathSolve:
    """The posterior of all paths under given priors.

    Parameters
    ----------
    known
        What the rows say.
    kernels
        Prior covariances.
    roots, owner
        (T, Q) the L_i side by side, and (Q,) the path each column belongs to.
    covariance
        (Q, Q) C.
    """

    known: PathInformation
    kernels: PathKernels
    roots: FloatArray
    owner: IntArray
    covariance: FloatArray

    @classmethod
    def of(cls, known: PathInformation, kernels: PathKernels) -> PathSolve:
        """The solve."""
        n_steps = known.gram.shape[0]
        lags = np.abs(np.subtract.outer(np.arange(n_steps), np.arange(n_steps)))
        some = np.flatnonzero(kernels.variance > 0)
        with one_thread():
            values, vectors = np.linalg.eigh(kernels.by_lag(n_steps)[some][:, lags])
            each = known.gram[:, some, some]
            told = np.einsum("ti,itq->iq", each, vectors**2)
            used = (values > RANK * values[:, -1:]) & (values * told > TOLD)
            scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
            roots = np.ascontiguousarray(scaled.transpose(1, 0, 2)[:, used])
            owner = some[np.nonzero(used)[0]]
            precision = np.eye(owner.size) + along(known.gram, (roots, owner))
            inverse = inverse_of(precision)
        return cls(known, kernels, roots, owner, inverse)

    @cached_property
    def _starts(self) -> IntArray:
        """(m + 1,): path i has the columns starts[i]:starts[i + 1] of the roots."""
        return np.searchsorted(self.owner, np.arange(len(self.known.linear) + 1))

    @cached_property
    def _errors(self) -> tuple[FloatArray, FloatArray]:
        """Covariances of the paths at every step with the u (T, m, Q), and with each other."""
        (m, n_steps), size = self.known.linear.shape, self.owner.size
        spread, between = np.zeros((n_steps, m, size)), np.zeros((n_steps, m, m))
        errors_inplace(self.covariance, self.roots, self._starts, spread, between)
        return spread, between

    @cached_property
    def _means(self) -> FloatArray:
        """(m, T)."""
        linear = (self.roots * self.known.linear.T[:, self.owner]).sum(axis=0)
        with one_thread():
            weighed = self.roots * (self.covariance @ linear)
        out = np.zeros_like(self.known.linear)
        np.add.at(out, self.owner, weighed.T)
        return out

    def means(self) -> FloatArray:
        """(m, T)."""
        return self._means

    @cached_property
    def _marginal(self) -> FloatArray:
        """(m, T, T) F_i: what the data say about a path, the others integrated out."""
        m, n_steps = self.known.linear.shape
        found = np.zeros((m, n_steps, n_steps))
        with one_thread():
            for i in range(m):
                along = self.known.gram[:, i, self.owner] * self.roots
                found[i] = np.diag(self.known.gram[:, i, i]) - along @ self.covariance @ along.T
        return 0.5 * (found + found.transpose(0, 2, 1))

    def covariances(self, *, between: bool) -> tuple[FloatArray, FloatArray]:
        """Covariances of the paths at every step (T, m, m), or their variances (T, m).

        With the latter (m, T) diag(K_i F_i), as the solve by rows.
        """
        m, n_steps = self.known.linear.shape
        if between:
            return self._errors[1], np.zeros((m, n_steps))
        own, found = np.zeros((m, n_steps)), np.zeros((n_steps, m))
        with one_thread():
            for i in range(m):
                mine = self.owner == i
                root = self.roots[:, mine]
                own[i] = np.einsum("tq,qt->t", root, root.T @ self._marginal[i])
                found[:, i] = np.einsum(
                    "tq,qr,tr->t", root, self.covariance[np.ix_(mine, mine)], root
                )
        return found, own

    @cached_property
    def _apart(self) -> tuple[FloatArray, FloatArray]:
        """The diagonals of every J (m, T), and 1'J1 (m,); see `common_precision`."""
        known, (spread, between) = self.known, self._errors
        m, n_steps = known.linear.shape
        every = np.arange(m)
        others = known.gram.copy()
        others[:, every, every] = 0.0
        throughout = along(others, (np.ones((n_steps, m)), every), (self.roots, self.owner))
        with one_thread():
            taken = ((others @ between) * others).sum(axis=2).T
            together = ((throughout @ self.covariance) * throughout).sum(axis=1)
        precision = np.einsum("tii->it", known.gram)
        h, common = precision - taken, precision.sum(axis=1) - together
        put_back_inplace(self.covariance, others, spread, self._starts, (h, common))
        return np.maximum(h, 0.0), np.maximum(common, 0.0)

    def local(self, *_: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(m, T) curvature and linear term of every path, the other paths integrated out.

        The diagonal of J (see `common_precision`), and what it takes for the path's mean. What the
        solve by rows needs for it is not used.
        """
        h = self._apart[0]
        score = self.known.linear - np.einsum("tij,jt->it", self.known.gram, self._means)
        return h, h * self._means + score

    def common_precision(self) -> FloatArray:
        """(m,) precision of a path's constant part, the other paths integrated out.

        1'J1, with J = (H - H L D L' H)_ii and D the covariance of the others without the path. Of
        columns that are combinations of each other, F_i and its prior would not give J back.
        """
        return self._apart[1]

    def ahead(self) -> tuple[FloatArray, FloatArray]:
        """What forecasts need: sums (m, 1 + R) and their Gram matrix (see `JointSolve.ahead`)."""
        n_steps = self.roots.shape[0]
        powers = self.kernels.rho[:, None] ** (n_steps - 1 - np.arange(n_steps))
        fading = np.concatenate([np.ones((1, n_steps)), powers])
        score = self.known.linear - np.einsum("tij,jt->it", self.known.gram, self._means)
        used = self.kernels.used
        each = np.nonzero(used)
        left = np.ascontiguousarray(fading[each[1]].T), each[0]
        whole = along(self.known.gram, left)
        side = along(self.known.gram, left, (self.roots, self.owner))
        with one_thread():
            whole -= side @ self.covariance @ side.T
        gram = np.zeros((used.size, used.size))
        gram[np.ix_(used.ravel(), used.ravel())] = 0.5 * (whole + whole.T)
        return score @ fading.T, gram


def inverse_of(precision: FloatArray) -> FloatArray:
    """Of a symmetric matrix, which is overwritten; what is above the diagonal does not count."""
    if not precision.size:
        return precision
    # The transpose of an array by rows is one by columns, as the library wants it.
    with one_thread():
        factor, failed = dpotrf(precision.T, lower=0, overwrite_a=1)
        if failed:
            raise LinAlgError("the precision of the paths is not positive definite")
        inverse, _ = dpotri(factor, lower=0, overwrite_c=1)
    out = np.ascontiguousarray(inverse.T)
    mirror_inplace(out)
    return out


def along(gram: FloatArray, left: Values, right: Values | None = None) -> FloatArray:
    """(A, B) sum_t left_ta gram_t,ij right_tb, a belonging to path i and b to path j.

    Without `right` it is `left`.
    """
    (one, first), (other, second) = left, left if right is None else right
    # One layout of arrays: of another the kernel would be compiled once more.
    gram, one, other, first, second = map(np.ascontiguousarray, (gram, one, other, first, second))
    starts = np.searchsorted(second, np.arange(gram.shape[1] + 1))
    out = np.zeros((first.size, second.size))
    along_inplace(gram, (one, first), (other, starts), right is None, out)
    if right is None:
        mirror_inplace(out)
    return out


@kernel
def mirror_inplace(matrix: FloatArray) -> None:
    """Repeat what is below the diagonal above it."""
    for i in range(matrix.shape[0]):
        for j in range(i):
            matrix[j, i] = matrix[i, j]


@kernel
def along_inplace(
    gram: FloatArray,
    left: tuple[FloatArray, IntArray],
    right: tuple[FloatArray, IntArray],
    half: bool,
    out: FloatArray,
) -> None:
    """See `along`; with where the second ones of every path begin.

    Of a matrix that is symmetric, `half` of the paths will do: those up to the row's own.
    """
    (one, first), (other, starts) = left, right
    for a in range(first.shape[0]):
        m = first[a] + 1 if half else gram.shape[1]
        for t in range(gram.shape[0]):
            row = gram[t, first[a]]
            for j in range(m):
                weight = one[t, a] * row[j]
                if weight != 0.0:
                    for b in range(starts[j], starts[j + 1]):
                        out[a, b] += weight * other[t, b]


@kernel
def errors_inplace(
    covariance: FloatArray,
    roots: FloatArray,
    starts: IntArray,
    spread: FloatArray,
    between: FloatArray,
) -> None:
    """Add L_t C to `spread` (T, m, Q) and L_t C L_t' to `between` (T, m, m)."""
    m, size = spread.shape[1], spread.shape[2]
    for t in range(spread.shape[0]):
        for i in range(m):
            mine = spread[t, i]
            for a in range(starts[i], starts[i + 1]):
                root, row = roots[t, a], covariance[a]
                for b in range(size):
                    mine[b] += root * row[b]
            for j in range(m):
                for b in range(starts[j], starts[j + 1]):
                    between[t, i, j] += mine[b] * roots[t, b]


@kernel
def put_back_inplace(
    covariance: FloatArray,
    others: FloatArray,
    spread: FloatArray,
    starts: IntArray,
    out: tuple[FloatArray, FloatArray],
) -> None:
    """Give back what the errors of the other paths have of a path's own.

    Taken off were they as they are; what counts are those they would have without the path. With
    x = H L C in the path's columns, `others` being H without the path itself, that is x C_ii^-1 x'.
    """
    h, common = out
    m, n_steps = h.shape
    for i in range(m):
        first, count = starts[i], starts[i + 1] - starts[i]
        factor = _factor(covariance, first, count)
        throughout, here = np.zeros(count), np.empty(count)
        for t in range(n_steps):
            here[:] = 0.0
            for j in range(m):
                for b in range(count):
                    here[b] += others[t, i, j] * spread[t, j, first + b]
            for b in range(count):
                throughout[b] += here[b]
            h[i, t] += _squares(factor, here)
        common[i] += _squares(factor, throughout)


@kernel
def _factor(matrix: FloatArray, first: int, count: int) -> FloatArray:
    """The Cholesky factor of a block of the diagonal."""
    out = np.zeros((count, count))
    for a in range(count):
        for b in range(a + 1):
            left = matrix[first + a, first + b]
            for k in range(b):
                left -= out[a, k] * out[b, k]
            out[a, b] = np.sqrt(max(left, TINIEST)) if a == b else left / out[b, b]
    return out


@kernel
def _squares(factor: FloatArray, x: FloatArray) -> float:
    """x' A^-1 x, A having this factor; x is overwritten."""
    found = 0.0
    for a in range(x.shape[0]):
        for b in range(a):
            x[a] -= factor[a, b] * x[b]
        x[a] /= factor[a, a]
        found += x[a] * x[a]
    return found
