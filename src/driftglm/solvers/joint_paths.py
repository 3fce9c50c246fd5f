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

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotri

from driftglm._jit import kernel
from driftglm._threads import one_thread
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.priors.mixture import Tables, average_inplace, log_evidences_inplace
from driftglm.solvers.joint import JointData, PathKernels

RANK = 1e-12
"""Eigenvalues of a prior covariance below this share of its largest are rounding errors."""
TOLD = 1e-4
"""Prior variance times information below which the rows say nothing of a direction of a path."""
SOLVABLE = 1e-8
"""Directions in which a path moves less than this, as a share of the most, are left out."""


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
        parts = []
        with one_thread():
            for i, by_lag in enumerate(kernels.by_lag(n_steps)):
                values, vectors = np.linalg.eigh(by_lag[lags])
                told = np.einsum("t,tq->q", known.gram[:, i, i], vectors**2)
                used = (values > RANK * max(float(values[-1]), 0.0)) & (values * told > TOLD)
                parts.append(vectors[:, used] * np.sqrt(values[used]))
            owner = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
            roots = np.hstack(parts)
            precision = np.eye(owner.size)
            for i in range(len(parts)):
                along = known.gram[:, i, owner] * roots
                precision[owner == i] += parts[i].T @ along
            inverse = precision if not owner.size else _inverse(precision)
        return cls(known, kernels, roots, owner, inverse)

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
        own = np.zeros((m, n_steps))
        found = np.zeros((n_steps, m, m) if between else (n_steps, m))
        with one_thread():
            for i in range(m):
                mine = self.owner == i
                root = self.roots[:, mine]
                if not between:
                    own[i] = np.einsum("tq,qt->t", root, root.T @ self._marginal[i])
                    found[:, i] = np.einsum(
                        "tq,qr,tr->t", root, self.covariance[np.ix_(mine, mine)], root
                    )
            for t in range(n_steps if between else 0):
                at = np.zeros((m, self.owner.size))
                at[self.owner, np.arange(self.owner.size)] = self.roots[t]
                found[t] = at @ self.covariance @ at.T
        return found, own

    def local(self, *_: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(m, T) curvature and linear term of every path, the other paths integrated out.

        The diagonal of J (see `common_precision`), and what it takes for the path's mean. What the
        solve by rows needs for it is not used.
        """
        h = np.zeros_like(self.known.linear)
        with one_thread():
            for i in range(len(h)):
                mine = self.owner == i
                along = np.where(mine, 0.0, self.known.gram[:, i, self.owner] * self.roots)
                cross = along @ self.covariance
                taken = np.linalg.solve(self.covariance[np.ix_(mine, mine)], cross[:, mine].T)
                others = (cross * along).sum(axis=1) - (cross[:, mine] * taken.T).sum(axis=1)
                h[i] = np.maximum(self.known.gram[:, i, i] - others, 0.0)
        score = self.known.linear - np.einsum("tij,jt->it", self.known.gram, self._means)
        return h, h * self._means + score

    def common_precision(self) -> FloatArray:
        """(m,) precision of a path's constant part, the other paths integrated out.

        1'J1, with J = (H - H L D L' H)_ii and D the covariance of the others without the path. Of
        columns that are combinations of each other, F_i and its prior would not give J back.
        """
        m = self.known.linear.shape[0]
        with one_thread():
            along = np.einsum("tiq,tq->iq", self.known.gram[:, :, self.owner], self.roots)
            along[self.owner, np.arange(self.owner.size)] = 0.0  # the path itself
            cross = along @ self.covariance
            found = np.einsum("tii->i", self.known.gram) - (cross * along).sum(axis=1)
            for i in range(m):
                mine = self.owner == i
                own = self.covariance[np.ix_(mine, mine)]
                found[i] += cross[i, mine] @ np.linalg.solve(own, cross[i, mine])
        return np.asarray(np.maximum(found, 0.0))

    def ahead(self) -> tuple[FloatArray, FloatArray]:
        """What forecasts need: sums (m, 1 + R) and their Gram matrix (see `JointSolve.ahead`)."""
        m, n_steps = self.known.linear.shape
        powers = self.kernels.rho[:, None] ** (n_steps - 1 - np.arange(n_steps))
        fading = np.concatenate([np.ones((1, n_steps)), powers])
        score = self.known.linear - np.einsum("tij,jt->it", self.known.gram, self._means)
        with one_thread():
            whole = np.einsum("pt,tij,qt->ipjq", fading, self.known.gram, fading, optimize=True)
            along = [fading @ (self.known.gram[:, i, self.owner] * self.roots) for i in range(m)]
            side = np.concatenate(along)
            gram = whole.reshape(side.shape[0], -1) - side @ self.covariance @ side.T
            return score @ fading.T, 0.5 * (gram + gram.T)


def _inverse(precision: FloatArray) -> FloatArray:
    """Of a symmetric matrix that is overwritten."""
    factor, failed = dpotrf(precision, lower=1, overwrite_a=1)
    if failed:
        raise LinAlgError("the precision of the paths is not positive definite")
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    return np.asarray(np.tril(inverse) + np.tril(inverse, -1).T)


@kernel
def sweep_inplace(
    known: tuple[FloatArray, FloatArray],
    prior: tuple[Tables, FloatArray, FloatArray],
    given: BoolArray,
    paths: FloatArray,
) -> float:
    """Set each path to its mean given the others', the probabilities of its components held.

    `known` are gram and linear of a `PathInformation`; `prior` the components' tables, phi and the
    unit of the first paths, which are set: those after them stay, and those that are `given`.
    Returns the largest squared move, in units of what is known about the path.
    """
    gram, linear = known
    tables, phi, unit = prior
    n_steps, n_components = gram.shape[0], phi.shape[1]
    h, b, out = np.empty(n_steps), np.empty(n_steps), np.empty((2, n_steps))
    evidence, parts = np.empty(n_components), np.empty((3, n_components))
    worst = 0.0
    for i in range(phi.shape[0]):
        if given[i]:
            continue
        for t in range(n_steps):
            b[t] = linear[i, t] + gram[t, i, i] * paths[i, t]
            for j in range(paths.shape[0]):
                b[t] -= gram[t, i, j] * paths[j, t]
            h[t] = gram[t, i, i] / unit[i] ** 2
            b[t] /= unit[i]
        log_evidences_inplace(h, b, tables, evidence, parts)
        average_inplace(h, b, tables, phi[i], parts, out)
        moved = 0.0
        for t in range(n_steps):
            moved += h[t] * (out[0, t] - paths[i, t] * unit[i]) ** 2
            paths[i, t] = out[0, t] / unit[i]
        worst = max(worst, moved)
    return worst


@kernel
def linear_for_inplace(
    h: FloatArray, mean: FloatArray, tables: Tables, phi: FloatArray, b: FloatArray
) -> None:
    """The linear term `b` (T,) with which a path of curvature `h` has a given mean.

    The mean is linear in b. Of a path that does not move only the sum of b matters: of all that
    give the mean it is the smallest. A step about which nothing is known has none, and its mean
    follows from the others'.
    """
    n_steps, n_components = h.shape[0], phi.shape[0]
    matrix, out = np.zeros((n_steps, n_steps)), np.empty((2, n_steps))
    evidence, parts = np.empty(n_components), np.empty((3, n_components))
    for t in range(n_steps):
        if h[t] == 0.0:
            continue
        one = np.zeros(n_steps)
        one[t] = 1.0
        log_evidences_inplace(h, one, tables, evidence, parts)
        average_inplace(h, one, tables, phi, parts, out)
        for s in range(n_steps):
            matrix[s, t] = out[0, s] if h[s] > 0.0 else 0.0
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    b[:] = 0.0
    for k in range(n_steps):
        if values[k] > SOLVABLE * values[n_steps - 1]:
            along = 0.0
            for t in range(n_steps):
                along += vectors[t, k] * mean[t]
            for t in range(n_steps):
                b[t] += along / values[k] * vectors[t, k]
