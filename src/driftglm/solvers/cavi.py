"""Coordinate ascent on the evidence lower bound, one path at a time.

A pass updates the intercepts, then the shared directions, then the paths (most correlated first),
then the noise, then the weights of the mixture; each update is the exact maximiser given the rest,
so that the bound never falls. Where a family's model is not a bound, updates are checked and
shortened instead. Paths that are almost surely zero are updated every few passes only, and
components no feature uses are dropped, if the weights have no prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.design.base import KernelBlock
from driftglm.objective import Bound, Posterior
from driftglm.objective.bound import PathArrays
from driftglm.priors import mixture, weights
from driftglm.priors.mixture import Components, Tables
from driftglm.priors.offset import (
    offset_average_inplace,
    offset_evidences_inplace,
    times_information,
)
from driftglm.solvers.base import Run, Solver, SolverResult, StopReason
from driftglm.solvers.damping import damp_inplace
from driftglm.solvers.groups import (
    NO_EFFECTS,
    GroupArrays,
    group_arrays,
    lost_by_columns,
    lost_information,
    refresh_inplace,
    update_groups,
    with_unknown_effects,
)
from driftglm.solvers.intercepts import average_intercepts
from driftglm.solvers.journal import Snapshot
from driftglm.solvers.kernels import gradient_inplace, update_score_inplace
from driftglm.solvers.rowstate import RowWork
from driftglm.solvers.shared import update_shared

INCLUDED = 0.5
"""A path more likely than this not to be zero counts as included, in messages of progress."""
BOLD, BOLDEST = 10, 300
"""EM steps for the weights taken at once after a pass over all paths: few at first, when the
evidences are still far from final and a component lost is lost for good, more in later rounds."""
RARE = 0.1
"""Paths less likely than this to matter are updated once a round, the others N_INNER times more."""
N_INNER = 4
CAUTION = 0.25
"""Damping of the one step that is not checked: the first from paths given as a start."""
CLOSE = 1e-3
"""The same per row where the family's model is no bound."""
N_GROUP_STEPS = 5
"""Steps for the effects of groups alone, at most, where their model is no bound."""
MOST_LOST = 0.01
"""Nats a row by which a whole step at the end may lower the bound."""
CREEP = 0.01
"""Damping of a step that only brings posteriors in line with another information."""
N_FIRST, FIRST_RISE = 30, 0.1
"""Steps for intercepts and shared directions before the first update of a path, at most, and the
rise of the bound (in nats) below which they end."""
RISE, RISE_SLOW = 0.1, 0.02
"""A round has converged when it raises the bound by less than this times tol per row. A warm start
is close to the end at once and must not stop for being so; several responses climb slowly."""
FLAT_NOISE = 1
"""Rounds after which the noise may move at the latest. Before the paths have found what there is to
explain, steps in which much is to be explained would pass for noisy."""
FAR = 1e-2
"""When paths have moved so far (in squared deviations) the effects of groups follow."""
SMALLEST = 1e-300
STILL = (1e-10, 1e-6)
"""An update smaller than this (in squared deviations, in probability) is left undone."""


@kernel
def _natural_inplace(
    gradient: FloatArray, path: FloatArray, scale: tuple[float, float], h: FloatArray, b: FloatArray
) -> None:
    """Linear term of a path's likelihood, all in its unit; `scale` is that and the error's variance.

    `h` is given, `gradient` is over the unit.
    """
    unit, offset = scale
    if offset == 0.0:
        for t in range(h.shape[0]):
            b[t] = gradient[t] + h[t] * path[t] * unit
        return
    b[:] = gradient + times_information(h, path * unit, offset)


@kernel
def _update_paths_inplace(
    block: KernelBlock,
    steps: tuple[FloatArray, IntArray, float],
    prior: tuple[Tables, FloatArray, IntArray, FloatArray],
    posterior: PathArrays,
    unknown: tuple[FloatArray, FloatArray, FloatArray],
    effects: GroupArrays,
) -> None:
    """One pass over the paths of a block; `posterior` and the score are updated.

    `steps` are the precision of every step, where its rows begin, and the damping. `prior` holds the
    components' tables, log weights (G, K), each path's group and its unit. `unknown` are `kept`,
    `offset` and `credit` of a `Posterior`, and `effects` those of groups, empty where the rows
    are not at hand.
    """
    order, columns, rows, squares = block
    precision, step_offsets, damping = steps
    tables, log_pi, groups, unit = prior
    kept, offset, credit = unknown
    some_unknown, far = kept.shape[0] > 0, 0.0
    beta, variance, phi, all_evidence, divergence, curvature, linear = posterior
    n_steps, n_components = beta.shape[1], phi.shape[1]
    g, h, b = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
    change, out = np.empty(n_steps), np.empty((2, n_steps))
    parts = np.empty((3, n_components))
    new_phi = np.empty(n_components)
    for i in order:
        gradient_inplace(columns[0], i, rows, g)
        error = offset[i] * unit[i] * unit[i] if some_unknown else 0.0
        for t in range(n_steps):
            per_unit = precision[t] / unit[i]
            h[t] = per_unit / unit[i] * squares[i, t]
            if some_unknown:
                h[t] *= kept[i, t]
            g[t] *= per_unit
        if damping < 1.0 and error > 0.0:
            h /= damping  # more information about the point where the path is keeps it close
            error *= damping
        _natural_inplace(g, beta[i], (unit[i], error), h, b)
        if damping < 1.0 and error == 0.0:
            damp_inplace(h, b, (curvature[i], linear[i], beta[i]), unit[i], damping)
        evidence = all_evidence[i]
        offset_evidences_inplace(h, b, error, tables, evidence, parts)
        mixture.weights_inplace(evidence, log_pi[groups[i]], new_phi)
        new_divergence, lost = offset_average_inplace(h, b, error, tables, new_phi, parts, out)
        moved = shifted = 0.0
        for t in range(n_steps):
            change[t] = out[0, t] / unit[i] - beta[i, t]
            moved += h[t] * (change[t] * unit[i]) ** 2
        for k in range(n_components):
            shifted += abs(new_phi[k] - phi[i, k])
        told = not some_unknown or curvature[i].max() > 0.0  # else it was forgotten
        if told and moved < STILL[0] and shifted < STILL[1]:
            continue
        for t in range(n_steps):
            beta[i, t] += change[t]
            variance[i, t] = out[1, t] / unit[i] ** 2
            curvature[i, t] = h[t]
            linear[i, t] = b[t]
        phi[i] = new_phi
        divergence[i] = new_divergence
        update_score_inplace(columns[1], i, change, rows)
        if not some_unknown:
            continue
        reach = max(h.sum(), SMALLEST)
        for t in range(n_steps):
            gone = (1.0 / kept[i, t] - 1.0) * out[1, t] + lost / reach
            credit[i, t] = (damping if error > 0.0 else 1.0) * h[t] * gone / precision[t]
        far += moved
        if far > FAR and effects[0].shape[0] > 0:
            refresh_inplace(rows[0], rows[1], rows[2], precision, step_offsets, effects)
            far = 0.0


@dataclass
class _Work(RowWork):
    """Passes over the features of a Bound: intercepts are averaged over their components."""

    problem: Bound
    state: Posterior
    stuck: bool = False
    flat: bool = False
    unchecked: bool = False
    _tables: tuple[Components, Tables] | None = None

    @property
    def tables(self) -> Tables:
        """Those of the present components, made once."""
        if self._tables is None or self._tables[0] is not self.state.components:
            self._tables = self.state.components, self.state.components.tables()
        return self._tables[1]

    def _variance(self) -> FloatArray:
        return self.state.variance

    @property
    def _starts_at_points(self) -> bool:
        quadratic = self.problem.family.quadratic
        return not quadratic and not self.state.curvature.any() and bool(self.state.beta.any())

    def update_intercepts(self) -> float:
        """Intercepts given the rest."""
        given = self.problem, self.state, self.score, self.curvature
        return average_intercepts(*given, damping=self.damping, flat=self.flat)

    def free_intercepts(self) -> None:
        """Let constant intercepts move.

        Steps that are checked would be compared with a bound of constant intercepts, which the same
        intercepts do not reach under the wider prior: no step would be taken. So they begin anew.
        """
        self.flat = False
        if not self.problem.family.bounded:
            self.state.intercept_h[:] = 0.0
            self.set_intercepts()

    def stuck_above(self, least: float) -> bool:
        """Whether no step raises the bound, and not because there is next to nothing to gain.

        What unknown effects of groups cost is known roughly, and the best posterior with it.
        """
        if not self.problem.family.bounded:
            least = max(least, CLOSE * self.problem.n_rows)
        close = self.problem.row_groups is not None and abs(self.shortfall) < least
        return self.stuck and not close

    def end_at_full_step(self, features: IntArray) -> None:
        """Posteriors of a step that was shortened are too sure; at the end the step is whole.

        Means are next to their best, and hardly move.
        """
        if self.problem.family.bounded:
            return
        backup, before = self.state.copy(), self.problem.value(self.state)
        self.damping = 1.0
        self._update(features)
        if not self.problem.value(self.state) > before - MOST_LOST * self.problem.n_rows:
            self.restart(backup)

    def account_for_groups(self, features: IntArray) -> None:
        """Find out what it costs some paths that effects of groups are unknown.

        That depends on variances and curvatures, which change little after the first round; it is
        found once, so that every pass raises the same bound, and at the end for paths that matter.
        """
        bound, posterior = self.problem, self.state
        if bound.row_groups is None:
            return
        self.survey()
        precision = bound.precision(posterior)
        weights = bound.by_row(precision) * self.curvature
        lost = lost_information(bound, posterior, weights, features)
        kept, offset = with_unknown_effects(precision * self.squares, lost)
        posterior.kept[features], posterior.offset[features] = kept[features], offset[features]
        squares = precision * bound.intercept_squares(self.curvature)
        lost = lost_by_columns(bound, posterior, weights, bound.intercepts.columns)
        found = with_unknown_effects(squares, lost)
        posterior.intercept_kept, posterior.intercept_offset = found
        # What was found with another information says nothing about the next step.
        for array in (posterior.curvature, posterior.linear):
            array[features] = 0.0
        posterior.intercept_h[:] = posterior.intercept_b[:] = 0.0
        # Posteriors of another information have no part in the bound: the next step is not checked.
        self.unchecked = True

    def update_shared(self) -> None:
        """Shared directions given the rest."""
        update_shared(self.problem, self.state, self.score, self.curvature, self.damping)

    def begin_with_shared(self) -> None:
        """Intercepts, shared directions and noise by themselves, before any path is updated.

        Paths updated first would each take a piece of what all columns have in common.
        """
        if self.problem.shared is None:
            return
        value = self.problem.value(self.state)
        for _ in range(N_FIRST):
            self._guarded_update(np.empty(0, dtype=np.int64))
            last, value = value, self.problem.value(self.state)
            if value - last < FIRST_RISE:
                break

    def update(self, order: IntArray) -> None:
        """One pass over intercepts, the paths in `order` and the noise."""
        self.set_groups()
        if self.unchecked:
            self.unchecked = False
            self.damping = 1.0 if self.problem.family.bounded else CREEP
            self._update(order)
            self.damping = 1.0
        elif self._starts_at_points:
            # Paths given as a start have no posterior yet, whose divergence could be compared:
            # one cautious step is taken unchecked.
            self.damping = CAUTION
            self._update(order)
            self.damping = 1.0
        else:
            self.stuck = not np.isfinite(self._guarded_update(order))

    def set_groups(self) -> None:
        """Effects of groups by themselves, until they are close to the best given the rest.

        Where the family's model is one, the update in a pass is the best already.
        """
        bound, nothing = self.problem, np.empty(0, dtype=np.int64)
        if bound.row_groups is None or bound.family.bounded:
            return

        def step() -> float:
            self.begin(nothing)
            update_groups(bound, self.state, self.score, self.curvature, self.damping)
            self.settle(nothing)
            return 0.0

        value = bound.value(self.state)
        for _ in range(N_GROUP_STEPS):
            self.guarded(step, lambda state: bound.value(cast("Posterior", state)))
            last, value = value, bound.value(self.state)
            if value - last < FIRST_RISE:
                break
        self.damping = 1.0

    def _guarded_update(self, order: IntArray) -> float:
        """A pass that does not lower the bound: 0, or infinity if none was found."""

        def step() -> float:
            self._update(order)
            return 0.0

        return self.guarded(step, lambda state: self.problem.value(cast("Posterior", state)))

    def _update(self, order: IntArray) -> None:
        bound, posterior = self.problem, self.state
        self.begin(order)
        # Updates take effects of groups for unknown, and for the best there are given the rest:
        # they go first, and follow.
        rows, learn = (self.score, self.curvature), order.size in {0, bound.design.n_features}
        update_groups(bound, posterior, *rows, learn=learn)
        self.update_intercepts()
        update_groups(bound, posterior, *rows, learn=False)
        self.update_shared()
        update_groups(bound, posterior, *rows, learn=False)
        steps = bound.precision(posterior), bound.design.step_offsets, self.damping
        effects = group_arrays(bound, posterior)
        for block in self.update_blocks(order):
            features = block.take(bound.groups), block.take(bound.unit)
            prior = (self.tables, posterior.log_pi, *features)
            paths = block.take_all(posterior.path_arrays)
            unknown = posterior.kept, posterior.offset, posterior.credit
            if bound.row_groups is not None:
                unknown = block.take_all(unknown)
            at_hand = effects if block.features is None else NO_EFFECTS
            _update_paths_inplace(block.inputs, steps, prior, paths, unknown, at_hand)
            block.put_back()
        if bound.row_groups is not None and posterior.row_groups is not None:
            posterior.row_groups.settle(bound.row_groups)  # their means have followed the paths
        self.settle(order)
        bound.update_noise(posterior)


@dataclass(frozen=True)
class CAVISolver(Solver[Bound, Posterior]):
    """Coordinate-ascent variational inference for the learned prior.

    A `warm` start has paths close to final and needs no passes over the live ones alone.
    `flat_first` keeps the intercepts constant during the first round: an intercept that may move
    takes all that differs from step to step before any path is updated, and does not give it back.
    A `brief` run from a warm start visits the paths that may matter more often than the others and
    is content with what satisfies a cold start.
    """

    warm: bool = False
    flat_first: bool = False
    brief: bool = False

    def run(self, run: Run[Bound, Posterior]) -> SolverResult[Posterior]:
        """Ascend until a round raises the bound by less than RISE (or RISE_SLOW) tol per row."""
        pairs = zip(run.problems, run.states, strict=True)
        climb = _Climb(run, [_Work(bound, posterior) for bound, posterior in pairs])
        n_rows = max(run.problems[0].n_rows, 1.0)  # of weights far below 1 a nat is much
        reason = StopReason.MAX_ITER
        rise, last = np.inf, -np.inf
        n_rounds, least = 0, self._least_rise(len(climb.works))
        if (saved := run.journal.read()) is not None:
            last, n_rounds = saved["last"], saved["n_rounds"]
            climb.resume(saved)
        else:
            climb.begin_flat() if self.flat_first else climb.begin()
            climb.account_for_groups()
        while not run.exhausted:
            climb.round(live=self.brief or not self.warm)
            rise, last = run.history[-1] - last, run.history[-1]
            if climb.noise_is_flat and (n_rounds >= FLAT_NOISE or rise < least * run.tol * n_rows):
                climb.free_noise()
            elif rise < least * run.tol * n_rows:
                stuck = any(work.stuck_above(least * run.tol * n_rows) for work in climb.works)
                reason = StopReason.STALLED if stuck else StopReason.CONVERGED
                break
            n_rounds += 1
            if not run.exhausted:  # a bold step is worth what the next pass makes of it
                climb.learn_boldly(min(BOLD * n_rounds**2, BOLDEST))
                run.journal.write({**climb.snapshot(), "last": last, "n_rounds": n_rounds})
        climb.finish()
        return run.result(climb.posteriors, rise / (least * n_rows), reason)

    def _least_rise(self, n_responses: int) -> float:
        """Of a round, per row and in units of the tolerance."""
        slow = (self.warm and not self.brief) or n_responses > 1
        return RISE_SLOW if slow else RISE


@dataclass
class _Climb:
    """Passes over all paths or the live ones, each recorded with the bound it reached."""

    run: Run[Bound, Posterior]
    works: list[_Work]
    backup: tuple[Posterior, ...] | None = None

    @property
    def posteriors(self) -> tuple[Posterior, ...]:
        return tuple(work.state for work in self.works)

    @property
    def _learns(self) -> bool:
        return self.works[0].problem.prior.weights is None

    def begin(self) -> None:
        """Settle the intercepts and the order in which to update features."""
        self.share_weights()
        self._settle()
        for work in self.works:
            if not work.problem.family.quadratic and not work.state.intercept_h.any():
                work.set_intercepts()
        self._settle()
        for work in self.works:
            work.order = _order(work)
            work.begin_with_shared()
        self._settle()

    def begin_flat(self) -> None:
        """The first round with intercepts that are constant over time; it is not recorded.

        Constant intercepts have another prior, and the bound falls when they are set free.
        """
        for work in self.works:
            work.flat = True
        self.begin()
        self._update_all()
        self._update_live(N_INNER)
        for work in self.works:
            work.free_intercepts()
        self._settle()

    @property
    def _has_groups(self) -> bool:
        return self.works[0].problem.row_groups is not None

    def account_for_groups(self) -> None:
        """Find out what unknown effects of groups cost, after a pass that is not recorded."""
        if not self._has_groups:
            return
        self._update_all()
        for work in self.works:
            work.account_for_groups(work.order)
        self._settle()

    def finish(self) -> None:
        """With the variances of groups found, what their effects cost is found again."""
        if self._has_groups:
            for work in self.works:
                live = work.order[work.state.inclusion[work.order] > RARE]
                work.account_for_groups(live)
                for _ in range(N_INNER):
                    work.update(live)
                work.end_at_full_step(live)
            self._settle()

    @property
    def noise_is_flat(self) -> bool:
        """Whether the noise will move and does not yet."""
        paths = (posterior.noise_path for posterior in self.posteriors)
        return any(path is not None and path.flat for path in paths)

    def free_noise(self) -> None:
        """Let the noise move from step to step."""
        for posterior in self.posteriors:
            if posterior.noise_path is not None:
                posterior.noise_path.flat = False

    def snapshot(self) -> Snapshot:
        """What it takes to go on with the next round."""
        works = [{**work.snapshot(), "stuck": work.stuck} for work in self.works]
        return {"works": works, "history": self.run.history, "backup": self.backup}

    def resume(self, saved: Snapshot) -> None:
        """Go on with the round after a snapshot."""
        self.share_weights()
        self.run.history = saved["history"]
        self.backup = saved["backup"] and tuple(saved["backup"])
        for work, stored in zip(self.works, saved["works"], strict=True):
            work.stuck = stored["stuck"]
            work.resume(stored)

    def _settle(self) -> None:
        self.run.coupling.settle(self.posteriors)

    def value(self) -> float:
        return self.run.coupling.constant + sum(w.problem.value(w.state) for w in self.works)

    def share_weights(self) -> None:
        """Responses share their weights, whose prior counts once."""
        for work in self.works[1:]:
            work.state.prior_counts = np.zeros_like(work.state.prior_counts)

    def _record(self) -> None:
        n_in = sum(int((each.inclusion > INCLUDED).sum()) for each in self.posteriors)
        self.run.record(self.value(), n_in)

    def _update_all(self) -> None:
        for work in self.works:
            work.update(work.order)
        self._settle()

    def round(self, *, live: bool) -> None:
        """Every path once, and a few times more those that may matter."""
        self.all_paths()
        if live:
            self.live_paths()

    def all_paths(self) -> None:
        """Update every path; if a bold step for the weights did not pay, take the cautious one."""
        self._update_all()
        if self.backup is not None and self.value() < self.run.history[-1]:
            for work, posterior in zip(self.works, self.backup, strict=True):
                work.restart(posterior)
            self._settle()
            self._update_all()
        self.backup = None
        self._record()

    def live_paths(self) -> None:
        """A few passes over the paths that may matter; they cost little and do most."""
        for _ in range(N_INNER):
            if not self.run.exhausted:
                self._update_live()
                self._record()

    def _update_live(self, times: int = 1) -> None:
        for _ in range(times):
            if self._learns:
                _learn_weights(self.works)
            for work in self.works:
                work.update(work.order[work.state.inclusion[work.order] > RARE])
            self._settle()

    def learn_boldly(self, n_em_steps: int) -> None:
        """Update the weights, drop idle components, then look far ahead with a copy in hand."""
        if self._learns:
            _learn_weights(self.works)
            _drop_components(self.posteriors)
            self.backup = tuple(posterior.copy() for posterior in self.posteriors)
            _learn_boldly(self.works, n_em_steps)


def _learn_boldly(works: list[_Work], n_em_steps: int) -> None:
    """Many EM steps for the weights at once, at the evidences the last updates found.

    Exact if features did not interact; they do, so the caller keeps a copy to go back to.
    """
    log_pi = works[0].state.log_pi.copy()
    for g in range(log_pi.shape[0]):
        # A component the group cannot have may fit so much better that all others underflow.
        possible = np.isfinite(log_pi[g])
        parts = [_of(w.state.evidence, w.problem.groups == g, possible) for w in works]
        evidence = np.concatenate(parts)
        if not evidence.shape[0]:
            continue
        evidence -= evidence.max(axis=1, keepdims=True)
        likelihood = np.exp(evidence, out=evidence)
        pi, prior = np.exp(log_pi[g, possible]), works[0].state.prior_counts[g, possible]
        weights.em_inplace(likelihood, prior, n_em_steps, pi)
        log_pi[g, possible] = weights.log_weights(pi)
    for work in works:
        work.state.log_pi = log_pi


def _of(evidence: FloatArray, rows: BoolArray, columns: BoolArray) -> FloatArray:
    """Some rows and columns; no copy of what is wanted whole."""
    found = evidence if rows.all() else evidence[rows]
    return found if columns.all() else found[:, columns]


def _order(work: _Work) -> IntArray:
    """Features by falling correlation with what the intercepts alone leave unexplained."""
    bound = work.problem
    if work.state.beta.any():
        work = _Work(bound, bound.start_posterior())
        if not bound.family.quadratic:
            work.set_intercepts()
    work.survey()
    if bound.family.quadratic:
        null = bound.start()
        average_intercepts(bound, null, work.score, work.curvature)
    return work.update_order()


def _learn_weights(works: list[_Work]) -> None:
    """The EM step for the weights, given the present posteriors."""
    counts = np.sum([work.problem.counts(work.state) for work in works], axis=0)
    first = works[0].state
    log_pi = weights.learned_weights(counts + first.prior_counts, first.log_pi)
    for work in works:
        work.state.log_pi = log_pi


def _drop_components(posteriors: tuple[Posterior, ...]) -> None:
    """Forget components that hold next to no features; all paths must be updated next."""
    keep = weights.components_in_use(posteriors[0].log_pi)
    if keep.all():
        return
    log_pi = weights.renormalized_weights(posteriors[0].log_pi, keep)
    for posterior in posteriors:
        posterior.components = posterior.components.take(keep)
        posterior.grid_positions = posterior.grid_positions[keep]
        posterior.log_pi = log_pi
        for name in ("prior_counts", "phi", "evidence"):
            setattr(posterior, name, np.ascontiguousarray(getattr(posterior, name)[:, keep]))
