"""Passes over one response: intercepts, effects of groups, shared directions, paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.objective import Bound, Posterior, State
from driftglm.priors.mixture import Components, Tables
from driftglm.priors.seasons import SeasonalComponents, SeasonTables
from driftglm.solvers.groups import (
    group_arrays,
    lost_by_columns,
    lost_information,
    update_groups,
    with_unknown_effects,
)
from driftglm.solvers.intercepts import average_intercepts
from driftglm.solvers.leaps import Means, Terms, leap, leap_of_paths, set_posteriors_inplace
from driftglm.solvers.path_updates import (
    update_grouped_paths_inplace,
    update_paths_inplace,
    update_seasonal_paths_inplace,
)
from driftglm.solvers.rowstate import RowWork
from driftglm.solvers.shared import update_shared

UNKNOWN = -1.0
"""In the place of the probabilities of a path whose posterior is not that of its means."""
RARE = 0.1
"""Paths less likely than this to matter are updated once a round, the others N_INNER times more."""
CAUTION = 0.25
"""Damping of the one step that is not checked: the first from paths given as a start."""
CLOSE = 1e-3
"""Nats a row by which a pass may seem to lower the bound, where rows belong together, at the end:
passes of 36 panels of 27 groups that went on from there moved no path by a twentieth of its
deviation."""
N_GROUP_STEPS = 5
"""Steps for the effects of groups alone, at most, where their model is no bound."""
MOST_LOST = 0.01
"""Nats a row by which whole steps may lower the bound that a small one reaches."""
NOWHERE = 1.0
"""The same of the small one: it says little, but not that much less."""
N_LAST, STANDS = 20, 0.01
"""Whole steps at the end, at most, and the move of eta that ends them."""
N_WHOLE = 4
"""Whole steps that are taken then, to be compared with the small one."""
CREEP = 0.01
"""Damping of a step that only brings posteriors in line with another information."""
N_FIRST, FIRST_RISE = 30, 0.1
"""Steps for intercepts and shared directions before the first update of a path, at most, and the
rise of the bound (in nats) below which they end."""
FEW = 4
"""Paths are few where all are more than so many times as many: they alone are kept to go back."""
MANY = 500
"""With more features, seasons are looked for in those that matter without one, only."""


@dataclass
class PathWork(RowWork):
    """Passes over the features of a Bound: intercepts are averaged over their components."""

    problem: Bound
    state: Posterior
    stuck: bool = False
    flat: bool = False
    unchecked: bool = False
    _tables: tuple[Components, Tables | SeasonTables] | None = None

    @property
    def tables(self) -> Tables | SeasonTables:
        """Those of the present components, made once."""
        components = self.state.components
        if self._tables is None or self._tables[0] is not components:
            found: Tables | SeasonTables = components.tables()
            if isinstance(components, SeasonalComponents):
                found = components.season_tables(thrifty=len(self.state.beta) > MANY)
            self._tables = components, found
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
        if self.problem.row_groups is None:
            return self.stuck
        return self.stuck and abs(self.shortfall) >= max(least, CLOSE * self.problem.n_rows)

    def live(self, features: IntArray) -> IntArray:
        """Those that may matter."""
        return features[self.state.inclusion[features] > RARE]

    def end_at_full_step(self, features: IntArray) -> None:
        """Posteriors of a step that was shortened are too sure; at the end steps are whole.

        They are taken until fitted values stand still, or not at all. The bound is no judge here:
        it refused whole steps that stood still in 6 of 30 panels of counts, whose intervals then
        were half as wide as they should be.
        """
        if self.problem.family.bounded:
            return
        backup, self.damping = self.state.copy(), 1.0
        for _ in range(N_LAST):
            before = self.state.eta.copy()
            self._update(features)
            if not np.isfinite(self.problem.value(self.state)):
                break  # they run away
            self.set_groups()
            features = self.live(features)
            if np.abs(self.state.eta - before).max(initial=0.0) < STANDS:
                return
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
        one_error = not bound.cycle
        kept, offset = with_unknown_effects(precision * self.squares, lost, one_error=one_error)
        posterior.kept[features], posterior.offset[features] = kept[features], offset[features]
        squares = precision * bound.intercept_squares(self.curvature)
        lost = lost_by_columns(bound, posterior, weights, bound.intercepts.columns)
        found = with_unknown_effects(squares, lost, one_error=one_error)
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

    def leap(self, means: Means) -> BoolArray:
        """Go ahead where two passes lead; whose means have changed must be updated next."""
        change = leap(means, self.squares)
        changed = np.asarray(change.any(axis=1))
        self.state.beta += change
        self.state.eta += self.problem.design.eta(change)
        self.state.log_likelihood = None
        self.state.phi[changed] = UNKNOWN
        return changed

    def terms(self) -> Terms:
        """Curvature and linear term of every path, as they are now."""
        return self.state.curvature.copy(), self.state.linear.copy()

    def leap_of_paths(self, live: IntArray, before: Terms, between: Terms) -> None:
        """Go ahead with some paths where the last two passes lead; posteriors are whole."""
        bound, state = self.problem, self.state
        past = [(each[0][live], each[1][live]) for each in (before, between, self.terms())]
        old = state.beta.copy(), state.variance.copy()
        state.curvature[live], state.linear[live] = leap_of_paths(*past)
        tables, weights = cast("Tables", self.tables), (state.log_pi, bound.groups)
        set_posteriors_inplace(live, tables, weights, bound.unit, state.path_arrays)
        self.follow(live, old, lambda: bound.design.eta(state.beta - old[0]))

    def follow(
        self, live: IntArray, old: tuple[FloatArray, FloatArray], eta: Callable[[], FloatArray]
    ) -> None:
        """Bring eta in step with paths that were `old`; `eta` is what they change in it."""
        self.state.log_likelihood = None
        if self.problem.family.quadratic:
            self.state.eta += eta()
        else:
            self._before = old
            self.settle(live)

    def update(self, order: IntArray) -> None:
        """One pass over intercepts, the paths in `order` and the noise."""
        self.set_groups()
        if self.unchecked:
            self.unchecked = False
            self._update_unchecked(order)
        elif self._starts_at_points:
            # Paths given as a start have no posterior yet, whose divergence could be compared:
            # one cautious step is taken unchecked.
            self.damping = CAUTION
            self._update(order)
            self.damping = 1.0
        else:
            self.stuck = not np.isfinite(self._guarded_update(order))

    def _update_unchecked(self, order: IntArray) -> None:
        """Bring posteriors in line with another information.

        Where the family's model is no bound: by whole steps, unless they lower the bound much below
        what a small one reaches. Paths that effects of groups stand for have their evidence in
        whole steps alone; after a small one they would seem to be zero, and stay so.
        """
        bound, damping = self.problem, 1.0 if self.problem.family.bounded else CREEP
        before, value = self.state.copy(), bound.value(self.state)
        self.damping = damping
        self._update(order)
        if not bound.family.bounded:
            crept, reached = self.state.copy(), bound.value(self.state)
            if not reached > value - NOWHERE * bound.n_rows:
                crept, reached = before.copy(), value
            self.restart(before)
            for _ in range(N_WHOLE):
                self.damping = 1.0
                self._update(order)
                self.set_groups()
            if not bound.value(self.state) > reached - MOST_LOST * bound.n_rows:
                self.restart(crept)
        self.damping = 1.0

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

        def value(state: State) -> float:
            return self.problem.value(cast("Posterior", state))

        bound = self.problem
        checked = not bound.family.bounded or bound.row_groups is not None
        return self.guarded(step, value, self._way_back(order) if checked else None)

    def _way_back(self, order: IntArray) -> Callable[[], Posterior] | None:
        """From an update of some paths to the state of now; nothing where all must be kept."""
        if FEW * order.size > self.problem.design.n_features:
            return None
        arrays: tuple[FloatArray, ...] = self.state.path_arrays
        if self.state.credit.size:
            arrays = (*arrays, self.state.credit)
        kept, rest = [each[order] for each in arrays], self.state.copy(arrays)

        def back() -> Posterior:
            for array, rows in zip(arrays, kept, strict=True):
                array[order] = rows
            return rest.copy(arrays)

        return back

    def _update(self, order: IntArray) -> None:
        bound, posterior = self.problem, self.state
        self.begin(order)
        # Updates take effects of groups for unknown, and for the best there are given the rest:
        # they go first, and follow. What they diverge from their prior is found at the end.
        rows, learn = (self.score, self.curvature), order.size in {0, bound.design.n_features}
        update_groups(bound, posterior, *rows, learn=learn, settle=False)
        self.update_intercepts()
        update_groups(bound, posterior, *rows, learn=False, settle=False)
        self.update_shared()
        update_groups(bound, posterior, *rows, learn=False, settle=False)
        steps = bound.precision(posterior), bound.design.step_offsets, self.damping
        effects = group_arrays(bound, posterior)
        seasonal = isinstance(posterior.components, SeasonalComponents)
        grouped = bound.row_groups is not None
        update: Any = update_seasonal_paths_inplace if seasonal else update_grouped_paths_inplace
        for block in self.update_blocks(order, effects):
            features = block.take(bound.groups), block.take(bound.unit)
            tables: Any = self.tables  # those of the components at hand
            prior = (tables, posterior.log_pi, *features)
            paths = block.take_all(posterior.path_arrays)
            if grouped or seasonal:
                unknown = posterior.kept, posterior.offset, posterior.credit
                unknown = block.take_all(unknown) if grouped else unknown
                update(block.inputs, steps, prior, paths, unknown, (effects, block.cells))
            else:
                update_paths_inplace(block.inputs, steps, prior, paths)
            block.put_back()
        if bound.row_groups is not None and posterior.row_groups is not None:
            posterior.row_groups.settle(bound.row_groups)  # their means have followed the paths
        self.settle(order)
        bound.update_noise(posterior)
