"""Draws for counts and scattering successes, whose likelihood no variable of the rows makes normal.

A path is proposed from the normal model of its likelihood about a point that depends on the rest
alone (two variational updates from the path's variational mean lead there), and accepted with the
probability that makes up for the difference. Component and path are proposed together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray
from driftglm.design import ColumnDesign
from driftglm.families.base import CERTAIN
from driftglm.families.beta_binomial import row_terms
from driftglm.priors import mixture
from driftglm.priors.mixture import Tables
from driftglm.priors.path_draws import draw_index, draw_path_inplace
from driftglm.solvers.gibbs import N_VARIANCES, Chain, variances_of
from driftglm.solvers.gibbs_joint import column_inplace
from driftglm.solvers.intercepts import averaged_intercept

N_UPDATES = 2
N_NEWTON = 3
MOST = 500.0
"""A larger eta has no count."""

Counts = tuple[FloatArray, FloatArray, FloatArray, float]
"""y, failures (of beta-binomial y; else empty), weight over dispersion of every row, and what the
family has of its own: 1 / alpha of a negative binomial, 1 / rho - 1 of a beta-binomial, else 0."""


@kernel
def _row(y: float, own: float, eta: float) -> tuple[float, float, float]:
    """Log-likelihood of a count, without what does not depend on eta; score and curvature."""
    at = min(eta, MOST)
    mean = np.exp(at)
    if own == 0.0:
        return y * at - mean, y - mean, mean
    share = mean / (own + mean)
    value = y * at - (y + own) * np.log(own + mean)
    return value, y - (y + own) * share, (y + own) * share * (1.0 - share)


@kernel
def _terms(counts: Counts, n: int, eta: float) -> tuple[float, float, float]:
    """The same of one row of any family, times its weight; curvatures are never negative."""
    y, misses, weight, own = counts
    if misses.shape[0] > 0:
        value, score, bend = row_terms(y[n], misses[n], eta, own)
        curvature = max(-bend, 0.0)
    else:
        value, score, curvature = _row(y[n], own, eta)
    return weight[n] * value, weight[n] * score, weight[n] * curvature


@kernel
def log_likelihood(counts: Counts, eta: FloatArray) -> float:
    """Sum over rows, without what does not depend on eta."""
    total = 0.0
    for n in range(eta.shape[0]):
        total += _terms(counts, n, eta[n])[0]
    return total


@kernel
def rates(counts: Counts, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Score and curvature of every row."""
    score, curvature = np.empty(eta.shape[0]), np.empty(eta.shape[0])
    for n in range(eta.shape[0]):
        _, score[n], curvature[n] = _terms(counts, n, eta[n])
    return score, curvature


@kernel
def information_inplace(
    counts: Counts,
    rows: tuple[FloatArray, FloatArray, Any],
    path: FloatArray,
    unit: float,
    out: tuple[FloatArray, FloatArray],
) -> None:
    """Curvature h and linear term b of a path, in its unit, about its value `path`.

    `rows` are the column, eta without the path, and where steps begin.
    """
    column, base, offsets = rows
    h, b = out
    for t in range(path.shape[0]):
        slope = bend = 0.0
        for n in range(offsets[t], offsets[t + 1]):
            x = column[n]
            _, score, curvature = _terms(counts, n, base[n] + x * path[t])
            slope += x * score
            bend += x * x * curvature
        h[t] = bend / unit**2
        b[t] = slope / unit + h[t] * path[t] * unit


@kernel
def _add_inplace(eta: FloatArray, column: FloatArray, path: FloatArray, offsets: Any) -> None:
    for t in range(path.shape[0]):
        for n in range(offsets[t], offsets[t + 1]):
            eta[n] += column[n] * path[t]


@kernel
def draw_count_path_inplace(
    counts: Counts,
    rows: tuple[FloatArray, FloatArray, Any],
    law: tuple[Tables, FloatArray, float],
    now: tuple[FloatArray, FloatArray, float, int],
    rng: Any,
) -> tuple[float, int, bool]:
    """One path, proposed and accepted or not; path and eta are changed in place.

    `rows` are the column, eta and where steps begin; `law` the tables, log weights and unit; `now`
    the path, the point it is measured from first, its constant part and component, which are
    returned anew, with whether the proposal was taken.
    """
    column, eta, offsets = rows
    tables, log_weights, unit = law
    path, reference, static, k = now
    n_steps, n_components = path.shape[0], log_weights.shape[0]
    h, b = np.empty(n_steps), np.empty(n_steps)
    evidence, phi = np.empty(n_components), np.empty(n_components)
    parts, moments = np.empty((3, n_components)), np.empty((2, n_steps))
    point, new = reference.copy(), np.empty(n_steps)
    _add_inplace(eta, column, -path, offsets)
    known = column, eta, offsets
    for update in range(N_UPDATES + 1):
        information_inplace(counts, known, point, unit, (h, b))
        mixture.log_evidences_inplace(h, b, tables, evidence, parts)
        mixture.weights_inplace(evidence, log_weights, phi)
        if update < N_UPDATES:
            mixture.average_inplace(h, b, tables, phi, parts, moments)
            point[:] = moments[0] / unit
    other = draw_index(phi, rng)
    new_static = draw_path_inplace(other, (h, b), tables, parts, rng, new) / unit
    new /= unit
    worth = np.empty(2)
    for j, each in enumerate((path, new)):
        inside = each * unit
        at = eta.copy()
        _add_inplace(at, column, each, offsets)
        model = 0.0
        for t in range(n_steps):
            model += b[t] * inside[t] - 0.5 * h[t] * inside[t] ** 2
        worth[j] = log_likelihood(counts, at) - model
    # A component that is proposed with probability 0 could not be left; it has less than 1e-10.
    taken = np.log(rng.random()) < worth[1] - worth[0] or phi[k] == 0.0
    if taken:
        path[:] = new
        static, k = new_static, other
    _add_inplace(eta, column, path, offsets)
    return static, k, taken


@dataclass
class CountChain(Chain):
    """A chain for Poisson and negative binomial counts, and for beta-binomial ones."""

    n_taken: int = field(default=0)
    n_proposed: int = field(default=0)

    @property
    def _counts(self) -> Counts:
        bound, state = self.bound, self.state
        weight = bound.weights * bound.by_row(self.precision)
        own = 1.0 / state.shape if bound.family.shape_range is not None else 0.0
        y, misses = bound.y, np.empty(0)
        if bound.y.ndim > 1:
            y, misses = np.ascontiguousarray(bound.y.T)
            own -= 1.0
        return y, misses, np.ascontiguousarray(weight), float(own)

    def sweep(self, sums: FloatArray) -> None:
        """Draw everything once; components are counted in `sums` unless it is empty."""
        counts = self._counts
        self._draw_intercepts_of(counts)
        self._draw_shared_of(counts)
        self._draw_paths_of(counts, sums)
        self._draw_noise()

    def _draw_intercepts_of(self, counts: Counts) -> None:
        bound, state, some = self.bound, self.state, self.bound.intercepts
        offsets = bound.design.step_offsets
        for j, column in enumerate(some.columns):
            own = averaged_intercept(
                float(some.scale[j]), bool(some.static[j]), bound.design.n_timesteps
            )
            now = state.intercepts[j], self.fit.intercept_mean[j]
            found = draw_count_path_inplace(
                counts,
                (np.ascontiguousarray(column), state.eta, offsets),
                (own.tables, own.log_weights, 1.0),
                (*now, float(state.levels[j]), int(state.dynamics[j])),
                self.rng,
            )
            state.levels[j], state.dynamics[j], _ = found

    def _draw_paths_of(self, counts: Counts, sums: FloatArray) -> None:
        state, design = self.state, self.bound.design
        assert isinstance(design, ColumnDesign)  # noqa: S101 (others are refused)
        tables, added, log_counts, groups, unit = self.law
        entries = design.values, design.rows, design.segments
        column = np.empty(design.n_rows)
        for i in self.order:
            g, k = groups[i], int(state.component[i])
            column_inplace(entries, int(i), design.center, design.step_offsets, column)
            if added.size:
                added[g, k] = max(added[g, k] - 1.0, 1e-300)
                log_counts[g, k] = np.log(added[g, k])
            static, k, taken = draw_count_path_inplace(
                counts,
                (column, state.eta, design.step_offsets),
                (tables, log_counts[g], float(unit[i])),
                (state.beta[i], self.fit.beta[i], float(state.static[i]), k),
                self.rng,
            )
            state.static[i], state.component[i] = static, k
            if added.size:
                added[g, k] += 1.0
                log_counts[g, k] = np.log(added[g, k])
            if sums.size:
                sums[i, k] += 1.0
            self.n_taken, self.n_proposed = self.n_taken + taken, self.n_proposed + 1

    def _draw_shared_of(self, counts: Counts) -> None:
        """The shared directions, where the variational fit has a use for them, and their variance.

        The variance is drawn given the coefficients, these are proposed together.
        """
        bound, state, start = self.bound, self.state, self.fit.shared
        if bound.shared is None or start.variance == 0.0:
            return
        scores = bound.shared.scores
        grid = variances_of(float(np.linalg.eigvalsh(start.h).max()))
        if state.shared_variance == 0.0:
            state.shared_variance = float(grid[N_VARIANCES // 2])
        size = float(state.shared @ state.shared)
        log_phi = -0.5 * (state.shared.size * np.log(grid) + size / grid)
        if size > 0:
            chosen = draw_index(np.exp(log_phi - log_phi.max()), self.rng)
            state.shared_variance = float(grid[int(chosen)])
        base = state.eta - scores.times(state.shared)
        own = np.eye(start.mean.size) / state.shared_variance

        def model_at(point: FloatArray) -> tuple[FloatArray, FloatArray]:
            score, curvature = rates(counts, base + scores.times(point))
            h = scores.gram(curvature)
            return h, np.asarray(scores.dot(score) + h @ point)

        point = start.mean
        for _ in range(N_NEWTON):
            h, b = model_at(point)
            point = np.asarray(np.linalg.solve(h + own, b), dtype=np.float64)
        h, b = model_at(point)
        root = np.linalg.cholesky(h + own)
        middle = np.linalg.solve(root, b) + self.rng.standard_normal(point.size)
        new = np.asarray(np.linalg.solve(root.T, middle), dtype=np.float64)

        def worth(value: FloatArray) -> float:
            model = b @ value - 0.5 * value @ h @ value
            return float(log_likelihood(counts, base + scores.times(value)) - model)

        if np.log(self.rng.random()) < worth(new) - worth(state.shared):
            state.shared = new
        state.eta = base + scores.times(state.shared)

    def _deviance(self) -> FloatArray:
        bound = self.bound
        given = bound.y, self.state.eta, CERTAIN, bound.weights
        return bound.family_at(self.fit).expected_deviance(*given)
