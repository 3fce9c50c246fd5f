"""The posterior under the learned prior: the best of several starts and views of the intercepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from driftglm._typing import FloatArray
from driftglm.design import ColumnDesign, Design
from driftglm.design.directions import direction_count
from driftglm.design.scores import ArrayScores, RepeatedScores, Scores, scores_of
from driftglm.exceptions import DataError
from driftglm.fitting.fits import PosteriorFit
from driftglm.fitting.group_effects import DrawnEffects, GroupFit
from driftglm.fitting.influence import influence_of
from driftglm.fitting.joint import joint_posterior
from driftglm.fitting.kinds import KindsFit
from driftglm.fitting.outcome import Forecaster, Outcome
from driftglm.fitting.problem import Posed, pose
from driftglm.fitting.residuals import row_checks
from driftglm.fitting.rows import Rows
from driftglm.fitting.sampled import effective_noise, sampled
from driftglm.fitting.settings import Settings
from driftglm.fitting.solver_runs import Runs
from driftglm.fitting.starts import Init
from driftglm.fitting.views import View, views_of
from driftglm.objective import Bound, Posterior, SharedDirections
from driftglm.priors import Learned
from driftglm.solvers import CAVISolver, SolverResult, StopReason

STARTS: tuple[Init, ...] = ("zero", "lasso-all", "ridge-all", "lasso-one")
RACE = 10
"""Passes after which views of the intercepts are compared."""
NOT_DRAWN: tuple[DrawnEffects | None, ...] = ()


@dataclass(frozen=True)
class Directions:
    """The shared directions: those in which the columns vary most.

    Parameters
    ----------
    basis
        (n_features, R)
    projected
        (n_rows, R) rows of a design along them, not centred and sorted by step, where they are
        known; there may be more rows than a fit has, after those it has.
    """

    basis: FloatArray
    projected: FloatArray | None = None

    @classmethod
    def of(cls, rows: Rows, design: Design, unit: FloatArray, prior: Learned) -> Directions:
        """Found from the rows of a fit."""
        weight = float(rows.weights.sum())
        count = direction_count(prior.n_directions, design.n_features, weight)
        return cls(rows.sample().directions(design.mean, unit, count))

    def shared(self, design: Design) -> SharedDirections | None:
        """With the rows of a design along them; None where there are none."""
        if not self.basis.size:
            return None
        scores: Scores = design.scores(self.basis) if self.projected is None else self._cut(design)
        return SharedDirections(scores, self.basis)

    def projecting(self, design: Design, shared: SharedDirections | None) -> Directions:
        """The same, knowing the rows of a design that is centred, before it was."""
        if self.projected is not None or shared is None:
            return self
        near = isinstance(design, ColumnDesign) and not design.shift.any()
        if not near or not isinstance(shared.scores, ArrayScores | RepeatedScores):
            return self  # far from zero a difference of two projections would lose digits
        taken = np.einsum("it,ir->tr", design.mean, self.basis)
        return Directions(self.basis, shared.scores.not_centred(taken))

    def _cut(self, design: Design) -> Scores:
        assert self.projected is not None  # noqa: S101 (asked for where it is known)
        taken = np.einsum("it,ir->tr", design.mean, self.basis)
        return scores_of(self.projected[: design.n_rows], taken, design.step_offsets)


@dataclass(frozen=True)
class _Attempt:
    """A fit of one view, and what it takes to go on with it."""

    view: View
    bounds: list[Bound]
    posed: Posed
    result: SolverResult[Posterior]


def infer_posterior(
    rows: Rows,
    prior: Learned,
    runs: Runs,
    earlier: Forecaster | None,
    *,
    name: str = "drifting",
    directions: Directions | None = None,
    as_of: bool = False,
    cycle: int = 0,
) -> Outcome:
    """Fit rows under the learned prior; of several views of the intercepts the one of highest ELBO.

    A few rounds tell which; the others are not followed to their end. `earlier` is a fit of fewer
    steps to go on from. The forecaster is called `name`. Shared directions are found from the rows
    unless they are given. A fit `as_of` an earlier step is a brief one, and says nothing of what
    the rows leave behind. Paths and intercepts may have a season of `cycle` steps; 0: none has.
    """
    settings, rows = runs.settings, rows.merged()
    _refuse_lbfgs(settings)
    responses = rows.responses()
    views, raw, order = views_of(responses, None if earlier is None else earlier.view)
    most = settings.max_iter if len(views) == 1 else min(settings.max_iter, RACE)
    attempts: list[_Attempt] = []
    for view in views:
        viewed = [replace(each, per_step_share=view.per_step_share) for each in responses]
        design = viewed[0].centered(raw, order)
        unit = design.units(viewed[0].design_weights(order))
        directions = directions or Directions.of(viewed[0], design, unit, prior)
        shared = directions.shared(design)
        directions = directions.projecting(design, shared)
        posed = pose(viewed, design, order, settings)
        common = prior, unit, shared, rows.path_kinds
        bounds = [Bound.of(problem, *common, cycle=cycle) for problem in posed.problems]
        if earlier is None or _starts_anew(bounds[0]):
            solver, starts = CAVISolver(flat_first=view.flat_first), _starts(viewed, bounds, runs)
        else:
            solver = CAVISolver(warm=True, brief=as_of)
            starts = iter([_continued(bounds, earlier)])
        run = partial(runs, solver.solve, bounds, coupling=posed.coupling, max_iter=most)
        results = [run(states=start) for start in starts]
        best_start = max(results, key=lambda result: float(result.history[-1]))
        attempts.append(_Attempt(view, bounds, posed, best_start))
    best = max(attempts, key=lambda each: float(each.result.history[-1]))
    result = _finished(best, runs)
    ends = zip(best.bounds, result.states, best.posed.columns, strict=True)
    found = [joint_posterior(*end, brief=as_of) for end in ends]
    parts = zip(best.bounds, found, best.posed.columns, strict=True)
    fits = tuple(PosteriorFit.of(bound, *pair, columns) for bound, pair, columns in parts)
    end, ended = result.state, (result.history, result.optimality, result.reason)
    left, drawn = None, NOT_DRAWN
    if not as_of:
        fits, drawn = _with_draws(_with_influence(fits, result), best, result, settings)
        states = [state for state, _ in found]
        left = row_checks(rows, best.bounds, states, order)
        fits = _with_kinds(fits, best, states, rows)
    noise, groups = effective_noise(fits[0], end.noise), _group_fits(rows, best, result, drawn)
    known = noise, end.shape, end.noise_path, best.view.name, groups
    return Outcome((Forecaster(name, fits, *known),), *ended, checks=left, directions=directions)


def _group_fits(
    rows: Rows,
    best: _Attempt,
    result: SolverResult[Posterior],
    drawn: Sequence[DrawnEffects | None],
) -> tuple[GroupFit, ...]:
    """Effects of groups on every response, where rows belong together."""
    if rows.occasion is None:
        return ()
    stride = int(rows.occasion.max()) + 1
    ends = zip(best.bounds, result.states, drawn or (None,) * len(best.bounds), strict=True)
    found = [GroupFit.of(bound, state, stride, each) for bound, state, each in ends]
    return tuple(each for each in found if each is not None)


def _refuse_lbfgs(settings: Settings) -> None:
    if settings.solver == "lbfgs":
        raise DataError(
            "solver='lbfgs' finds a mode and the learned prior has none to find; "
            "use solver='block' or 'auto'."
        )


def _with_influence(
    fits: tuple[PosteriorFit, ...], result: SolverResult[Posterior]
) -> tuple[PosteriorFit, ...]:
    """Fits judged jointly that know how far single steps moved them before."""
    if all(fit.joint is None for fit in fits):
        return fits
    known = [
        (s.components, s.phi, s.curvature, s.linear, fit.offset)
        for s, fit in zip(result.states, fits, strict=True)
    ]
    return tuple(
        replace(fit, moved_by_step=influence_of(*each))
        for fit, each in zip(fits, known, strict=True)
    )


def _with_draws(
    fits: tuple[PosteriorFit, ...],
    best: _Attempt,
    result: SolverResult[Posterior],
    settings: Settings,
) -> tuple[tuple[PosteriorFit, ...], tuple[DrawnEffects | None, ...]]:
    """Fits whose joint posterior was sampled, where that is asked for, and effects of groups."""
    if (sampling := settings.sampling) is None:
        return fits, ()
    how = settings.seed, settings.threads, settings.verbose
    found = sampled(fits, (best.bounds, result.states), sampling, how)
    return tuple(fit for fit, _ in found), tuple(effects for _, effects in found)


def _with_kinds(
    fits: tuple[PosteriorFit, ...], best: _Attempt, states: Sequence[Posterior], rows: Rows
) -> tuple[PosteriorFit, ...]:
    """Fits that know what every kind of feature adds to eta, where users tell kinds apart."""
    if (kinds := rows.kinds) is None:
        return fits
    parts = zip(fits, best.bounds, states, strict=True)
    return tuple(
        replace(fit, kinds=KindsFit.of(bound, state, fit.columns, kinds))
        for fit, bound, state in parts
    )


def _starts(responses: list[Rows], bounds: list[Bound], runs: Runs) -> Iterator[list[Posterior]]:
    """The first `n_starts` starts, made one by one: a run changes what couples the responses."""
    settings = runs.settings
    first: Init = "zero" if settings.init == "auto" else settings.init
    for kind in list(dict.fromkeys([first, *STARTS]))[: settings.n_starts]:
        yield [
            bound.start_posterior(bound.tamed(rows.start_paths(kind)))
            for bound, rows in zip(bounds, responses, strict=True)
        ]


def _continued(bounds: Sequence[Bound], earlier: Forecaster) -> list[Posterior]:
    """Where a fit of more steps starts."""
    n_steps = bounds[0].design.n_timesteps
    n_more = n_steps - earlier.n_timesteps
    noise = earlier.noise
    if n_more:
        later = earlier.noise_at(np.arange(earlier.n_timesteps, n_steps))
        noise = np.concatenate([noise, later])
    known = earlier.groups or (None,) * len(bounds)
    return [
        bound.warm_posterior(
            bound.tamed(cast("PosteriorFit", fit).continued(n_more)),
            noise,
            _known_effects(bound, e),
        )
        for bound, fit, e in zip(bounds, earlier.fits, known, strict=True)
    ]


def _starts_anew(bound: Bound) -> bool:
    """Whether a fit of more steps does not go on from the one before.

    Steps from given points are not checked, and effects of groups on the scale of a logarithm may
    lead them anywhere.
    """
    return bound.row_groups is not None and not bound.family.bounded


def _known_effects(bound: Bound, earlier: GroupFit | None) -> tuple[FloatArray, FloatArray] | None:
    """Constant effects of groups, and variances, of an earlier fit; new groups have none."""
    groups = bound.row_groups
    if groups is None or earlier is None:
        return None
    constant = np.zeros(groups.n_groups)
    constant[: earlier.mean.size] = earlier.mean * groups.constant
    # A variance of zero stays what it is unless it is looked for on the whole grid.
    variance = np.where([groups.constant, groups.anew], earlier.prior, 0.0)
    return constant, variance


def _finished(attempt: _Attempt, runs: Runs) -> SolverResult[Posterior]:
    """The attempt that won, followed to its end."""
    result = attempt.result
    remaining = runs.settings.max_iter - result.n_iter
    if result.reason is not StopReason.MAX_ITER or remaining <= 0:
        return result
    coupling = attempt.posed.coupling
    more = runs(CAVISolver().solve, attempt.bounds, result.states, coupling, max_iter=remaining)
    return result.then(more)
