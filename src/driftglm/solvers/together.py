"""The means of all paths that may matter, of intercepts and of shared directions, at once.

Columns that explain much the same hand effects to each other, a little in every pass: a country and
the country with each issue, a column and the directions it is part of. Given the probabilities of
components and the curvatures h at which posteriors were found, the bound is a quadratic function
of all means together, and its top a linear system. A path's mean is A b, b the linear term of its
likelihood and A the mean over components of their posterior covariances; b depends on the means of
all others, so that with changes d of means and r of linear terms

    (A^-1 - h + X'WX) d = r,    r = b given the present means - b of the present posterior.

It is solved by conjugate gradients, A being the preconditioner: its inverse is never needed. A may
be rough, then; r is not, and where it is zero every path is the best given the others.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.design.some_columns import SomeColumns
from driftglm.objective import Bound
from driftglm.priors import mixture
from driftglm.priors.averaging import AveragedPath
from driftglm.priors.mixture import Tables
from driftglm.solvers.intercepts import averaged_intercept
from driftglm.solvers.leaps import paths_may_leap, set_posteriors_inplace
from driftglm.solvers.rowstate import ROUNDING

if TYPE_CHECKING:
    from driftglm.solvers.path_work import PathWork

MOST_STEPS, MOST_NUMBERS = 100, 10_000_000
"""Covariances of longer paths cost more than passes do, and of more paths too much memory: those
are moved one by one."""
SLIGHT = 1e-3
"""Chains of a smaller probability hardly change what a path's mean is."""
N_STEPS, ENOUGH = 30, 0.1
"""Conjugate gradients end when what is left is a tenth of what there was: passes follow."""
N_HALVINGS = 3
DIGITS = 1e-14
"""What is left to gain is a matter of the last digits, and differs by who adds them up, where it is
less than this times the bound."""
Means = tuple[FloatArray, FloatArray, FloatArray]
"""Numbers of paths (n, T), of intercepts (n_intercepts, T) and of directions (R,)."""


@kernel
def mean_operators_inplace(
    features: IntArray, h: FloatArray, phi: FloatArray, tables: Tables, out: FloatArray
) -> None:
    """Means of covariances of some paths given h, (n, T, T): what a linear term is multiplied by.

    Chain by chain: a covariance between two steps is one with the step after the first, times what
    smoothing takes back by.
    """
    chains, static, n_chains = tables[0], tables[1], tables[2].shape[1]
    n_steps = h.shape[1]
    share, row, work = np.empty(n_chains), np.empty(n_steps), np.empty((4, n_steps))
    for j in range(features.shape[0]):
        i = features[j]
        share[:] = 0.0
        for k in range(chains.shape[0]):
            if chains[k] >= 0:
                share[chains[k]] += phi[i, k]
        out[j] = _level(mixture.STATIC_CHAIN, h[i].sum(), chains, static, phi[i])
        for c in range(n_chains):
            if share[c] < SLIGHT:
                continue
            reach = _smooth_inplace(c, h[i], tables, work)
            level = _level(c, reach, chains, static, phi[i])
            _add_inplace(share[c], level, work, row, out[j])
        _mirror_inplace(out[j])


@kernel
def _add_inplace(
    share: float, level: float, work: FloatArray, row: FloatArray, out: FloatArray
) -> None:
    """Add a chain's covariances, and those of a constant part, above the diagonal."""
    along, variance, back = work[0], work[1], work[2]
    for t in range(out.shape[0] - 1, -1, -1):
        move, fading, sums = level * along[t], back[t], out[t]
        for s in range(t + 1, out.shape[0]):
            row[s] *= fading
            sums[s] += row[s] + move * along[s]
        row[t] = share * variance[t]
        sums[t] += row[t] + move * along[t]


@kernel
def _mirror_inplace(square: FloatArray) -> None:
    """Below the diagonal what is above it."""
    for t in range(square.shape[0]):
        for s in range(t):
            square[t, s] = square[s, t]


@kernel
def _smooth_inplace(c: int, h: FloatArray, tables: Tables, work: FloatArray) -> float:
    """What a chain becomes of a path that is one throughout, its variance, and how it goes back.

    Into the first rows of `work` (4, T). Returns the information about a constant.
    """
    carry, shock, ones = tables[2], tables[3], tables[4]
    along, variance, back, before = work
    for t in range(h.shape[0]):
        before[t], last = shock[t, c], 0.0
        if t > 0:
            before[t] += carry[t, c] * carry[t, c] * variance[t - 1]
            last = carry[t, c] * along[t - 1]
        gain = 1.0 / (1.0 + before[t] * h[t])
        variance[t] = before[t] * gain
        along[t] = (last + before[t] * ones[t, c]) * gain
    for t in range(h.shape[0] - 2, -1, -1):
        step = carry[t + 1, c]
        back[t] = step * variance[t] / before[t + 1]
        along[t] += back[t] * (along[t + 1] - step * along[t])
        variance[t] += back[t] * back[t] * (variance[t + 1] - before[t + 1])
    reach = 0.0
    for t in range(h.shape[0]):
        reach += h[t] * along[t]
    return reach


@kernel
def _level(
    chain: int, reach: float, chains: IntArray, static: FloatArray, phi: FloatArray
) -> float:
    """Mean posterior variance of the constant part over the components of a chain."""
    total = 0.0
    for k in range(chains.shape[0]):
        if chains[k] == chain and phi[k] > 0.0:
            if static[k] < np.inf:
                total += phi[k] * static[k] / (1.0 + static[k] * reach)
            elif reach > 0.0:
                total += phi[k] / reach
    return total


def may_move_together(work: PathWork) -> bool:
    """Whether paths are short, and what their curvature and linear term say."""
    bound = work.problem
    near = isinstance(bound.design, ColumnDesign) and paths_may_leap(bound) and not work.flat
    return near and bound.design.n_timesteps <= MOST_STEPS


def move_together(work: PathWork, live: IntArray) -> bool:
    """Move all means towards the top; whether that raised the bound."""
    bound, state = work.problem, work.state
    live = live[state.curvature[live].any(axis=1)]
    n_steps = bound.design.n_timesteps
    if not live.size or live.size * n_steps**2 > MOST_NUMBERS:
        return False
    before, value = state.copy(), bound.value(state)
    work.begin(np.empty(0, dtype=np.int64))
    system = _System.of(work, live)
    linear, promised = system.solve()
    if not promised > DIGITS * abs(value):
        return False
    share = 1.0
    for _ in range(N_HALVINGS):
        system.go(work, share, linear)
        if bound.value(work.state) >= value - ROUNDING * abs(value):
            return True
        share *= 0.5
        work.restart(before.copy())
    return False


@dataclass(frozen=True)
class _System:
    """What it takes to solve for all means, every path in its unit.

    `rows` are score and curvature of the rows, times the precision of their steps; `operators` and
    `information` those of paths, intercepts and directions.
    """

    bound: Bound
    live: IntArray
    columns: SomeColumns
    rows: tuple[FloatArray, FloatArray]
    operators: Means
    information: Means
    linear: Means
    means: Means
    intercepts: tuple[AveragedPath, ...]

    @classmethod
    def of(cls, work: PathWork, live: IntArray) -> _System:
        """At the state of now; score and curvature are known."""
        bound, state = work.problem, work.state
        shape, n_steps = bound.intercepts, bound.design.n_timesteps
        precision = bound.by_row(bound.precision(state))
        paths = np.empty((live.size, n_steps, n_steps))
        tables: Tables = work.tables  # type: ignore[assignment]  # there are no seasons here
        mean_operators_inplace(live, state.curvature, state.phi, tables, paths)
        kinds = zip(shape.scale, shape.static, strict=True)
        intercepts = [averaged_intercept(float(s), bool(c), n_steps) for s, c in kinds]
        levels = np.empty((len(intercepts), n_steps, n_steps))
        for j, path in enumerate(intercepts):
            phi = path.posterior(state.intercept_h[j], state.intercept_b[j]).phi
            one = np.array([j]), state.intercept_h, np.tile(phi, (len(intercepts), 1))
            mean_operators_inplace(*one, path.tables, levels[j : j + 1])
        shared = state.shared
        on = bound.shared is not None and shared.variance > 0.0
        unit = bound.unit[live, None]
        return cls(
            bound=bound,
            live=live,
            columns=bound.design.some_columns(live),  # type: ignore[attr-defined]
            rows=(precision * work.score, precision * work.curvature),
            operators=(paths, levels, shared.covariance if on else np.empty((0, 0))),
            information=(state.curvature[live], state.intercept_h, shared.h),
            linear=(state.linear[live], state.intercept_b, shared.b if on else np.empty(0)),
            means=(
                state.beta[live] * unit,
                state.intercept_mean,
                shared.mean[: len(shared.mean) * on],
            ),
            intercepts=tuple(intercepts),
        )

    @property
    def _unit(self) -> FloatArray:
        return self.bound.unit[self.live, None]

    @property
    def _has_directions(self) -> bool:
        return self.means[2].size > 0

    def added(self, means: Means) -> FloatArray:
        """What means of intercepts and directions add to every row."""
        found = np.zeros(self.rows[0].size)
        self.bound.add_intercepts_inplace(means[1], found)
        if self._has_directions and self.bound.shared is not None:
            found += self.bound.shared.scores.times(means[2])
        return found

    def gradient(self) -> Means:
        """Sums of x * score."""
        score, still = self.rows[0].copy(), np.zeros_like(self.means[0])
        paths = self.columns.curved_inplace(still, score, np.ones(score.size))
        return paths / self._unit, *self._levels(score)

    def curved(self, means: Means) -> Means:
        """X'WX times means."""
        rows = self.added(means)
        paths = self.columns.curved_inplace(means[0] / self._unit, rows, self.rows[1])
        return paths / self._unit, *self._levels(rows)

    def _levels(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of a row quantity along intercepts and directions."""
        columns = [self.bound.design.by_step(rows * each) for each in self.bound.intercepts.columns]
        along = np.empty(0)
        if self._has_directions and self.bound.shared is not None:
            along = self.bound.shared.scores.dot(rows)
        return np.array(columns).reshape(self.means[1].shape), along

    def applied(self, terms: Means) -> Means:
        """The operators, times linear terms: means."""
        paths, levels, directions = self.operators
        return (
            np.einsum("its,is->it", paths, terms[0]),
            np.einsum("its,is->it", levels, terms[1]),
            np.einsum("rq,q->r", directions, terms[2]),
        )

    def weighed(self, means: Means) -> Means:
        """The information of posteriors, times means."""
        own = self.information
        along = np.einsum("rq,q->r", own[2], means[2]) if self._has_directions else means[2]
        return own[0] * means[0], own[1] * means[1], along

    def solve(self) -> tuple[Means, float]:
        """Linear terms at the top, nearly, and how much higher the bound is there, roughly."""
        start = self.gradient()
        here = self.weighed(self.means)
        left = _sum(_sum(start, here), self.linear, -1.0)
        change: Means = tuple(np.zeros_like(each) for each in left)  # type: ignore[assignment]
        toward = self.applied(left)
        step, inverse = toward, left  # `inverse` is what the operators make the step of
        size = first = _dot(left, toward)
        for _ in range(N_STEPS):
            if not size > 0.0:
                break
            back = self.curved(step)
            image = _sum(_sum(inverse, self.weighed(step), -1.0), back)
            length = size / _dot(step, image)
            change, left = _sum(change, step, length), _sum(left, image, -length)
            toward = self.applied(left)
            last, size = size, _dot(left, toward)
            if not size > ENOUGH**2 * first:
                break
            step, inverse = _sum(toward, step, size / last), _sum(left, inverse, size / last)
        found = _sum(_sum(start, self.curved(change), -1.0), self.weighed(change))
        return _sum(found, here), 0.5 * first

    def go(self, work: PathWork, share: float, linear: Means) -> None:
        """Go a share of the way to other linear terms; posteriors are whole."""
        state, live = work.state, self.live
        old = state.beta.copy(), state.variance.copy()
        terms = _sum(self.linear, _sum(linear, self.linear, -1.0), share)
        state.linear[live] = terms[0]
        weights = state.log_pi, self.bound.groups
        tables: Tables = work.tables  # type: ignore[assignment]  # there are no seasons here
        set_posteriors_inplace(live, tables, weights, self.bound.unit, state.path_arrays)
        levels = state.intercept_mean.copy()
        for j, path in enumerate(self.intercepts):
            found = path.posterior(state.intercept_h[j], terms[1][j])
            state.intercept_b[j], state.intercept_divergence[j] = terms[1][j], found.divergence
            state.intercept_mean[j], state.intercept_variance[j] = found.mean, found.variance
            state.intercept_dynamics[j] = path.dynamics(found.phi)
        mean = self.means[2]
        if self._has_directions:
            mean, before = self.applied(terms)[2], state.shared
            more = float(mean @ mean - before.mean @ before.mean) / (2.0 * before.variance)
            state.shared = dataclasses.replace(
                before, mean=mean, b=terms[2], divergence=before.divergence + more
            )
        others = self.means[0], state.intercept_mean - levels, mean - self.means[2]
        moved = state.beta - old[0]
        work.follow(live, old, lambda: self.bound.design.eta(moved) + self.added(others))


def _sum(one: Means, other: Means, factor: float = 1.0) -> Means:
    return (
        one[0] + factor * other[0],
        one[1] + factor * other[1],
        one[2] + factor * other[2],
    )


def _dot(one: Means, other: Means) -> float:
    """No BLAS, whose sums depend on its threads."""
    return float(
        np.einsum("it,it->", one[0], other[0])
        + np.einsum("it,it->", one[1], other[1])
        + np.einsum("r,r->", one[2], other[2])
    )
