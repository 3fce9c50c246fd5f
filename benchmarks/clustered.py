"""Whether coefficients differ between steps, where the rows of a cluster depend on each other.

A check that shares nothing with the library: least squares in every step, the differences of one
coefficient judged by a Wald statistic with variances that are robust to clusters (days), and its
distribution by the wild bootstrap with the hypothesis imposed (Cameron, Gelbach and Miller 2008):
residuals of the fit with equal coefficients, a random sign a cluster.
"""

import numpy as np

LEAST = 1e-6
"""Directions of smaller size within a step, to the largest, are taken for collinear. Of columns
that add up to a constant, as all hours of a day do, coefficients are about their mean."""


class Step:
    """Least squares of one step, of least norm: what tells every coefficient, and the clusters."""

    def __init__(self, X, y, cluster, n_draws, rng):
        self.y = y - y.mean()
        left, sizes, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
        kept = sizes > LEAST * sizes[0]
        self.basis = left[:, kept]
        rows = (self.basis / sizes[kept]) @ right[kept]
        size = (rows**2).sum(axis=0)
        self.told = size > LEAST / sizes[0] ** 2
        self.square = 1.0 / np.where(self.told, size, 1.0)
        self.alone = rows * self.square
        self.residual = self._residuals(self.y)
        self.found = self.alone.T @ y / self.square
        order = np.argsort(cluster, kind="stable")
        self.order, labels = order, cluster[order]
        self.starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
        signs = rng.choice([-1.0, 1.0], (self.starts.size, n_draws))
        self.signs = np.repeat(signs, np.diff(np.r_[self.starts, len(y)]), axis=0)[
            np.argsort(order)
        ]

    def _residuals(self, y):
        return y - y.mean(axis=0) - self.basis @ (self.basis.T @ y)

    def _variance(self, j, residual):
        """Robust to clusters, of coefficient j; `residual` (n_rows,) or (n_rows, n_draws)."""
        scores = (self.alone[:, j] * residual.T).T[self.order]
        return (np.add.reduceat(scores, self.starts) ** 2).sum(axis=0) / self.square[j] ** 2

    def judged(self, j):
        """The coefficient and its variance."""
        return self.found[j], self._variance(j, self.residual)

    def drawn(self, j, equal):
        """(2, n_draws) the same in draws where the coefficient is `equal`, less that."""
        restricted = self.residual + self.alone[:, j] * (self.found[j] - equal)
        y = restricted[:, None] * self.signs
        return self.alone[:, j] @ y / self.square[j], self._variance(j, self._residuals(y))


def statistic(found, variance, labels):
    """Weighted squares about the weighted mean of every label's steps, summed."""
    weights, total = 1.0 / variance, 0.0
    for label in np.unique(labels):
        w, b = weights[labels == label], found[labels == label]
        center = (w * b).sum(axis=0) / w.sum(axis=0)
        total = total + (w * (b - center) ** 2).sum(axis=0)
    return total


def p_values(X, y, step, cluster, cycle=1, n_draws=399, seed=0):
    """(p,) of equal coefficients in all steps of a phase; nan: cannot be judged.

    With `cycle` 1 these are all steps, with 12 the same months of years.
    """
    rng, steps = np.random.default_rng(seed), np.unique(step)
    binary = ((X == 0) | (X == 1)).all(axis=0)
    X = X / np.where(binary, 1.0, X.std(axis=0))
    parts = []
    for s in steps:
        now = step == s
        parts.append(Step(X[now], y[now], cluster[now], n_draws, rng))
    labels = steps % cycle
    out = np.full(X.shape[1], np.nan)
    for j in range(X.shape[1]):
        told = np.array([part.told[j] for part in parts])
        here, where = [p for p, t in zip(parts, told, strict=True) if t], labels[told]
        if len(here) <= np.unique(where).size:
            continue
        found, variance = np.array([part.judged(j) for part in here]).T
        reached = statistic(found, variance, where)
        equal = np.empty(len(here))
        for label in np.unique(where):
            w = 1.0 / variance[where == label]
            equal[where == label] = (w * found[where == label]).sum() / w.sum()
        draws = np.array([p.drawn(j, e) for p, e in zip(here, equal, strict=True)])
        chance = statistic(draws[:, 0], draws[:, 1], where)
        out[j] = (1 + (chance >= reached).sum()) / (1 + n_draws)
    return out
