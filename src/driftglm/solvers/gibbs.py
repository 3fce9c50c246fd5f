"""One chain of draws from the joint posterior under the learned prior.

A sweep draws intercepts, shared directions and paths, each given the rest; lets paths change places
with columns that look alike; draws all that is not zero once more, together; then effects of
groups, and the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh

from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign, UpdateBlock
from driftglm.objective import Bound, Posterior
from driftglm.priors import mixture
from driftglm.priors.mixture import Tables
from driftglm.priors.path_draws import draw_index, draw_path_inplace
from driftglm.solvers.gibbs_between import (
    BetweenDraws,
    between_columns,
    information,
    roots_of,
)
from driftglm.solvers.gibbs_groups import Cells, GroupDraws, shift_priors, start_of
from driftglm.solvers.gibbs_joint import PathLaws, column_inplace, step_grams
from driftglm.solvers.gibbs_kernels import (
    Law,
    count_inplace,
    draw_paths_inplace,
    swap_paths_inplace,
)
from driftglm.solvers.gibbs_noise import MovingNoise, draw_constant
from driftglm.solvers.gibbs_rows import draw_shape, quadratic_rows
from driftglm.solvers.intercepts import averaged_intercept

MOST_TOGETHER = 40
"""Paths drawn together, at most: of more, as many at random."""
N_VARIANCES = 61
SMALLEST, LARGEST = 1e-6, 1e6
"""Variances of the shared directions, times the largest curvature of one; they are as likely as
each other, and all together as that there are none."""


@dataclass
class ChainState:
    """Where a chain is.

    Parameters
    ----------
    beta, static, component
        (p, T) paths in the units of the columns, (p,) their constant parts and components.
    intercepts, levels, dynamics
        (L, T) intercepts, (L,) their constant parts and components.
    shared, shared_variance
        (R,) coefficients of the shared directions, and their variance.
    noise, shape
        (T,) noise variance or dispersion, and the family's own parameter.
    eta
        (n_rows,) the linear predictor.
    """

    beta: FloatArray
    static: FloatArray
    component: IntArray
    intercepts: FloatArray
    levels: FloatArray
    dynamics: IntArray
    shared: FloatArray
    noise: FloatArray
    eta: FloatArray
    shared_variance: float = 0.0
    shape: float = 1.0


@dataclass
class Chain:
    """Sweeps over one response.

    Parameters
    ----------
    bound, fit
        What is fitted, and where the variational fit ended.
    pairs
        (n, 2) columns that look alike.
    rng
        Random numbers of this chain alone.
    empty
        Start from nothing, instead of the variational fit.

    Of several classes, `rest` (n_rows,) is what the linear predictor of one is measured from.
    """

    bound: Bound
    fit: Posterior
    pairs: IntArray
    rng: np.random.Generator
    empty: bool = False
    state: ChainState = field(init=False)
    score: FloatArray = field(init=False)
    curvature: FloatArray = field(init=False)
    law: Law = field(init=False)
    order: IntArray = field(init=False)
    singly: IntArray = field(init=False)
    between: BetweenDraws | None = field(init=False, default=None)
    moving: MovingNoise | None = field(init=False, default=None)
    effects: GroupDraws | None = field(init=False, default=None)
    rest: FloatArray | None = field(init=False, default=None)
    _squares: FloatArray = field(init=False)
    _sums: FloatArray = field(init=False)
    _known: FloatArray | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        bound, fit = self.bound, self.fit
        self._squares, self._sums = np.zeros((2, *fit.beta.shape))
        self.order = np.flatnonzero(bound.squares.any(axis=1)).astype(np.int64)
        self.singly = self.order
        components, zero = fit.components, int(np.argmax(fit.components.is_zero))
        component = np.full(len(fit.beta), zero, dtype=np.int64)
        shape = bound.intercepts.count, bound.design.n_timesteps
        noise = np.full(shape[1], bound.noise.start) if self.empty else fit.noise.copy()
        self.state = ChainState(
            beta=np.zeros_like(fit.beta),
            static=np.zeros(len(fit.beta)),
            component=component,
            intercepts=np.zeros(shape),
            levels=np.zeros(shape[0]),
            dynamics=np.zeros(shape[0], dtype=np.int64),
            shared=np.zeros(bound.n_directions),
            noise=noise,
            eta=bound.offset.copy(),
            shape=bound.shape.start if self.empty else fit.shape,
        )
        if bound.row_groups is not None:
            found = start_of(
                bound.row_groups, bound.reference, None if self.empty else fit.row_groups
            )
            self.effects = GroupDraws.of(bound, found, self.rng)
            self._set_apart()
        if fit.noise_path is not None:
            self.moving = MovingNoise.at(bound.noise, fit.noise_path, noise)
            self.state.noise = np.exp(self.moving.log)
        learned = bound.prior.weights is None
        counts = fit.prior_counts.copy() if learned else np.empty((0, 0))
        if learned:
            np.add.at(counts, (bound.groups[self.order], component[self.order]), 1.0)
        with np.errstate(divide="ignore"):
            log_counts = np.log(counts) if learned else fit.log_pi.copy()
        self.law = components.tables(), counts, log_counts, bound.groups, bound.unit
        if not self.empty:
            self._start_at_fit()

    def _set_apart(self) -> None:
        """Columns that hardly vary within groups are drawn with the effects integrated out."""
        groups, design, components = self.bound.row_groups, self.bound.design, self.fit.components
        if groups is None or not isinstance(design, ColumnDesign):
            return
        apart = between_columns(design, groups, self.bound.squares)
        if apart.size and np.isfinite(components.static).all():
            self.between = BetweenDraws(apart, roots_of(components))
            self.singly = np.setdiff1d(self.order, apart)

    def _start_at_fit(self) -> None:
        """Intercepts, shared directions and paths at their means; components at the likeliest."""
        state, fit, bound = self.state, self.fit, self.bound
        counts, groups = self.law[1], bound.groups
        likeliest = fit.phi.argmax(axis=1)
        for i in self.order[~fit.components.is_zero[likeliest[self.order]]]:
            state.component[i], state.beta[i] = likeliest[i], fit.beta[i]
            if counts.size:
                counts[groups[i], np.argmax(fit.components.is_zero)] -= 1.0
                counts[groups[i], likeliest[i]] += 1.0
        if counts.size:
            with np.errstate(divide="ignore"):
                self.law[2][:] = np.log(counts)
        state.intercepts[:] = fit.intercept_mean
        state.shared[:] = fit.shared.mean
        state.shared_variance = fit.shared.variance
        state.eta = bound.eta(state.beta, state.intercepts)
        if bound.shared is not None:
            state.eta += bound.shared.scores.times(state.shared)
        if self.effects is not None:
            state.eta += self.effects.by_row()

    # ------------------------------------------------------------------- sweeps

    @property
    def tables(self) -> Tables:
        """Those of the paths' components."""
        return self.law[0]

    @property
    def precision(self) -> FloatArray:
        """(T,) 1 / noise where the family has noise, else 1."""
        steps = self.state.noise
        return 1.0 / steps if self.bound.family.has_noise else np.ones(steps.size)

    def sweep(self, sums: FloatArray) -> None:
        """Draw everything once; component probabilities are added to `sums` unless it is empty."""
        self._begin()
        self._draw_intercepts()
        self._draw_shared()
        self._draw_paths(sums)
        self._draw_together()
        self._draw_effects(sums)
        self._settle()
        self._draw_noise()

    def _begin(self) -> None:
        """Score and curvature at the present eta, and the columns' squares."""
        state, bound = self.state, self.bound
        noise = bound.by_row(state.noise)
        eta = state.eta if self.rest is None else state.eta - self.rest
        self.score, self.curvature = quadratic_rows(bound, eta, noise, state.shape, self.rng)
        self._start = self.score.copy()
        if self._known is None or not np.array_equal(self._known, self.curvature):
            known = (self.curvature, self.order, self._squares, self._sums)
            bound.design.weigh_inplace(*known)
            self._known = self.curvature.copy()

    def _settle(self) -> None:
        """Bring eta in step with the score."""
        seen = self.curvature > 0
        change = self._start - self.score
        self.state.eta += np.where(seen, change / np.where(seen, self.curvature, 1.0), 0.0)

    def _draw_intercepts(self) -> None:
        """Every intercept given the rest, its component first."""
        bound, state, precision = self.bound, self.state, self.precision
        design, some = bound.design, bound.intercepts
        for j, column in enumerate(some.columns):
            h = precision * design.by_step(self.curvature * column * column)
            b = precision * design.by_step(self.score * column) + h * state.intercepts[j]
            law = averaged_intercept(float(some.scale[j]), bool(some.static[j]), h.size)
            count, path = law.log_weights.size, np.empty(h.size)
            evidence, phi, parts = np.empty(count), np.empty(count), np.empty((3, count))
            mixture.log_evidences_inplace(h, b, law.tables, evidence, parts)
            mixture.weights_inplace(evidence, law.log_weights, phi)
            k = int(draw_index(phi, self.rng))
            state.levels[j] = draw_path_inplace(k, (h, b), law.tables, parts, self.rng, path)
            change = path - state.intercepts[j]
            state.intercepts[j], state.dynamics[j] = path, k
            self.score -= self.curvature * column * design.to_rows(change)

    def _draw_shared(self) -> None:
        """The shared directions and their variance, none of them included."""
        bound, state = self.bound, self.state
        if bound.shared is None:
            return
        scores, precision = bound.shared.scores, self.precision
        h = bound.shared_gram(self.curvature, precision)
        b = scores.dot(bound.by_row(precision) * self.score) + h @ state.shared
        values, vectors = eigh(h)
        d, a = np.maximum(values, 0.0), vectors.T @ b
        top = float(d.max(initial=0.0))
        if top == 0.0:
            return
        grid = variances_of(top)[:, None]
        evidence = 0.5 * np.sum(grid * a**2 / (1.0 + grid * d) - np.log1p(grid * d), axis=1)
        log_phi = np.concatenate([[np.log(N_VARIANCES)], evidence])
        phi = np.exp(log_phi - log_phi.max())
        k = int(draw_index(phi, self.rng))
        state.shared_variance = 0.0 if k == 0 else float(grid[k - 1, 0])
        shrunk = state.shared_variance / (1.0 + state.shared_variance * d)
        new = vectors @ (shrunk * a + np.sqrt(shrunk) * self.rng.standard_normal(d.size))
        self.score -= self.curvature * scores.times(new - state.shared)
        state.shared = new

    def _block(self) -> tuple[UpdateBlock, FloatArray]:
        """All columns, with the score as it is; and what centring adds to it, step by step."""
        design = self.bound.design
        assert isinstance(design, ColumnDesign)  # noqa: S101 (others are refused)
        steps = np.zeros((3, design.n_timesteps))
        steps[1], steps[2] = design.by_step(self.score), design.by_step(self.curvature)
        ones = bool((self.curvature == 1.0).all())
        rows = self.score, np.empty(0) if ones else self.curvature, steps
        known = (self._squares, self._sums), (self.state.beta, self.state.beta)
        block = next(iter(design.update_blocks(self.singly, rows, *known, fixed=False)))
        return block, steps

    def _draw_paths(self, sums: FloatArray) -> None:
        """Every path given the rest; then which of two columns that look alike has one."""
        state, block_steps = self.state, self._block()
        block, steps = block_steps
        paths = state.beta, state.static, state.component
        draw_paths_inplace(block.inputs, self.precision, self.law, paths, self.rng, sums)
        zero = self.fit.components.is_zero
        swap_paths_inplace(
            self.pairs, block.inputs, self.precision, self.law, paths, zero, self.rng
        )
        self.score -= self.curvature * self.bound.design.to_rows(steps[0])

    def _not_zero(self) -> tuple[IntArray, FloatArray]:
        """Paths that are not zero, some of them if there are many; (m, n_rows) columns.

        Those of the intercepts come first.
        """
        bound, design = self.bound, self.bound.design
        assert isinstance(design, ColumnDesign)  # noqa: S101
        active = np.flatnonzero(~self.fit.components.is_zero[self.state.component])
        n_own = bound.intercepts.count
        most = max(MOST_TOGETHER - n_own, 0)
        if active.size > most:
            active = np.sort(self.rng.choice(active, most, replace=False))
        columns = np.empty((n_own + active.size, design.n_rows))
        columns[:n_own] = bound.intercepts.columns
        entries = design.values, design.rows, design.segments
        for j, i in enumerate(active):
            where = int(i), design.center, design.step_offsets
            column_inplace(entries, *where, columns[n_own + j])
        return active, columns

    def _draw_together(self) -> None:
        """Intercepts and paths that are not zero, given their components.

        Effects of groups that are drawn anew are integrated out, and then drawn.
        """
        state, offsets = self.state, self.bound.design.step_offsets
        active, columns = self._not_zero()
        n_own, effects = self.bound.intercepts.count, self.effects
        if len(columns) < 2:  # noqa: PLR2004 (alone it was drawn just now)
            return
        by_row = self.bound.by_row(self.precision)
        if effects is not None:
            self.score += self.curvature * effects.state.anew[effects.groups.cell]
        gram, linear = step_grams(columns, by_row * self.curvature, by_row * self.score, offsets)
        if effects is not None:
            gram, linear = effects.without_anew((gram, linear), columns, self._cells())
        now = np.concatenate([state.intercepts, state.beta[active]])
        linear = linear + np.einsum("tab,bt->ta", gram, now)
        new, static = self._laws(active).draw((gram, linear), self.rng)
        change = np.repeat(new - now, np.diff(offsets), axis=1)
        self.score -= self.curvature * np.einsum("mn,mn->n", columns, change)
        state.intercepts, state.levels = new[:n_own], static[:n_own]
        state.beta[active], state.static[active] = new[n_own:], static[n_own:]
        if effects is not None:
            effects.draw_anew(self._cells())
            self.score -= self.curvature * effects.state.anew[effects.groups.cell]

    def _cells(self) -> Cells:
        """What rows say about the effects of cells, at the present score."""
        assert self.effects is not None  # noqa: S101 (asked for where there are groups)
        return self.effects.cells(self.bound.by_row(self.precision), self.curvature, self.score)

    def _draw_between(self, sums: FloatArray) -> None:
        """Paths of columns that hardly vary within groups; the score is that without effects."""
        assert self.effects is not None  # noqa: S101 (asked for where there are groups)
        if self.between is None:
            return
        state, design, law = self.state, self.bound.design, self.law
        assert isinstance(design, ColumnDesign)  # noqa: S101
        entries, column = (design.values, design.rows, design.segments), np.empty(design.n_rows)
        for i in self.between.features:
            column_inplace(entries, int(i), design.center, design.step_offsets, column)
            weighed, group = self.curvature * column, int(law[3][i])
            self.score += weighed * design.to_rows(state.beta[i])
            count_inplace(law, group, int(state.component[i]), -1.0)
            known = information(self.effects, column, self._cells(), design.step_offsets)
            unit = float(self.bound.unit[i])
            found, phi = self.between.draw(known, law[2][group], unit, self.rng)
            state.component[i], state.beta[i], state.static[i] = found
            count_inplace(law, group, found[0], 1.0)
            self.score -= weighed * design.to_rows(state.beta[i])
            if sums.size:
                sums[i] += phi

    def _draw_effects(self, sums: FloatArray) -> None:
        """Effects of groups and their variances, and what effects could stand for."""
        if (effects := self.effects) is None:
            return
        state, n_own = self.state, self.bound.intercepts.count
        self.score += self.curvature * effects.by_row()
        effects.draw_variances(self._cells())
        self._draw_between(sums)
        active, columns = self._not_zero()
        if len(columns):
            laws = self._laws(active)
            static = np.concatenate([state.levels, state.static[active]])
            paths = np.concatenate([state.intercepts, state.beta[active]])
            prior = shift_priors(laws, static, paths)
            shift = effects.draw_shifts(columns, self._cells(), prior)
            self.score -= self.curvature * (shift @ columns)
            static += np.where(laws.static > 0, shift, 0.0)
            paths += shift[:, None]
            state.intercepts, state.levels = paths[:n_own], static[:n_own]
            state.beta[active], state.static[active] = paths[n_own:], static[n_own:]
        effects.draw_effects(self._cells())
        self.score -= self.curvature * effects.by_row()

    def _laws(self, active: IntArray) -> PathLaws:
        """Priors of the intercepts and of some paths, in the units of their columns."""
        bound, state, some = self.bound, self.state, self.bound.intercepts
        n_steps = bound.design.n_timesteps
        laws = []
        for j in range(some.count):
            law = averaged_intercept(float(some.scale[j]), bool(some.static[j]), n_steps)
            laws.append((law.tables, int(state.dynamics[j]), 1.0))
        laws += [(self.tables, int(state.component[i]), float(bound.unit[i])) for i in active]
        static = np.empty(len(laws))
        carry, shock = np.zeros((2, n_steps, len(laws)))
        for j, (tables, k, unit) in enumerate(laws):
            static[j], chain = tables[1][k] / unit**2, int(tables[0][k])
            if chain >= 0:
                carry[:, j], shock[:, j] = tables[2][:, chain], tables[3][:, chain] / unit**2
        return PathLaws(static, carry, shock)

    def _draw_noise(self) -> None:
        """The noise given all else, and the family's own parameter."""
        bound, state, family = self.bound, self.state, self.bound.family
        if family.has_noise:
            rows = self._deviance()
            deviance, n_rows = bound.design.by_step(rows), bound.rows_by_step
            if self.moving is not None:
                self.moving.draw(deviance, n_rows, self.rng)
                state.noise = np.exp(self.moving.log)
            else:
                total = float(deviance.sum()), float(n_rows.sum())
                state.noise[:] = draw_constant(bound.noise, *total, self.rng)
        noise = bound.by_row(state.noise)
        state.shape = draw_shape(bound, state.eta, noise, state.shape, self.rng)

    def _deviance(self) -> FloatArray:
        """(n_rows,) squares that tell of the noise, given what the rows have of their own."""
        return np.asarray(self.curvature * (self.bound.y - self.state.eta) ** 2)


def variances_of(top: float) -> FloatArray:
    """What the variance of the shared directions may be, `top` being their largest curvature."""
    return np.geomspace(SMALLEST, LARGEST, N_VARIANCES) / top
