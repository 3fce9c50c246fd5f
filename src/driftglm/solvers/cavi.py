"""Coordinate ascent on the evidence lower bound, one path at a time.

A pass updates the intercepts, then the shared directions, then the paths (most correlated first),
then the noise, then the weights of the mixture; each update is the exact maximiser given the rest,
so that the bound never falls. Where a family's model is not a bound, updates are checked and
shortened instead. Paths that are almost surely zero are updated every few passes only, and
components no feature uses are dropped, if the weights have no prior.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.objective import Bound, Posterior
from driftglm.priors import weights
from driftglm.solvers.base import Run, Solver, SolverResult, StopReason
from driftglm.solvers.intercepts import average_intercepts
from driftglm.solvers.journal import Snapshot
from driftglm.solvers.leaps import creeps, paths_may_leap
from driftglm.solvers.path_work import RARE, PathWork
from driftglm.solvers.stopping import Movement
from driftglm.solvers.together import may_move_together, move_together

INCLUDED = 0.5
"""A path more likely than this not to be zero counts as included, in messages of progress."""
BOLD, BOLDEST = 10, 300
"""EM steps for the weights taken at once after a pass over all paths: few at first, when the
evidences are still far from final and a component lost is lost for good, more in later rounds."""
N_INNER = 4
APART = 3
"""Rounds before all means are moved at once: before, effects go to the columns that come first, and
are hardly taken from them again; and fits that are quick need none."""
N_LEAPS = 3
"""Leaps in a round, where passes creep."""
SLOW = 8
"""Rounds after which passes creep, whatever the reason."""
FEW_LIVE = 20
"""Live paths are few where all paths are more than so many times as many."""
RISE, RISE_SLOW = 0.1, 0.02
"""A round has converged when it raises the bound by less than this times tol per row. A warm start
is close to the end at once and must not stop for being so; several responses climb slowly."""
FLAT_NOISE = 1
"""Rounds after which the noise may move at the latest. Before the paths have found what there is to
explain, steps in which much is to be explained would pass for noisy."""


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
        """Ascend until a round raises the bound by less than RISE (or RISE_SLOW) tol per row.

        Then, but in a brief run, paths that may matter move on until fitted values have settled.
        """
        pairs = zip(run.problems, run.states, strict=True)
        climb = _Climb(run, [PathWork(bound, posterior) for bound, posterior in pairs])
        n_rows = max(run.problems[0].n_rows, 1.0)  # of weights far below 1 a nat is much
        reason = StopReason.MAX_ITER
        rise, last, movement = np.inf, -np.inf, Movement()
        n_rounds, least = 0, self._least_rise(len(climb.works))
        if (saved := run.journal.read()) is not None:
            last, n_rounds = saved["last"], saved["n_rounds"]
            movement = Movement(saved["moved"])
            climb.resume(saved)
        else:
            climb.begin_flat() if self.flat_first else climb.begin()
            climb.account_for_groups()
        while not run.exhausted:
            before = climb.etas()
            slow = n_rounds >= SLOW
            climb.round(n_rounds, live=slow or self._visits_live)
            rise, last = run.history[-1] - last, run.history[-1]
            movement.add(climb.moved_since(before))
            if climb.noise_is_flat and (n_rounds >= FLAT_NOISE or rise < least * run.tol * n_rows):
                climb.free_noise()
            elif rise < least * run.tol * n_rows and (
                self.brief or climb.let_rows_settle(movement)
            ):
                stuck = any(work.stuck_above(least * run.tol * n_rows) for work in climb.works)
                reason = StopReason.STALLED if stuck else StopReason.CONVERGED
                break
            n_rounds += 1
            if not run.exhausted:  # a bold step is worth what the next pass makes of it
                climb.learn_boldly(min(BOLD * n_rounds**2, BOLDEST))
                at = {"last": last, "n_rounds": n_rounds, "moved": movement.last}
                run.journal.write({**climb.snapshot(), **at})
        climb.finish()
        return run.result(climb.posteriors, rise / (least * n_rows), reason)

    @property
    def _visits_live(self) -> bool:
        """Whether rounds have passes over the live paths alone from the start."""
        return self.brief or not self.warm

    def _least_rise(self, n_responses: int) -> float:
        """Of a round, per row and in units of the tolerance."""
        slow = (self.warm and not self.brief) or n_responses > 1
        return RISE_SLOW if slow else RISE


@dataclass
class _Climb:
    """Passes over all paths or the live ones, each recorded with the bound it reached."""

    run: Run[Bound, Posterior]
    works: list[PathWork]
    backup: tuple[Posterior, ...] | None = None
    n_before: int = field(init=False)

    def __post_init__(self) -> None:
        """Paths that have posteriors have found their places in rounds of an earlier run."""
        self.n_before = APART if self.works[0].state.curvature.any() else 0

    @property
    def posteriors(self) -> tuple[Posterior, ...]:
        return tuple(work.state for work in self.works)

    @property
    def _learns(self) -> bool:
        return self.works[0].problem.prior.weights is None

    def etas(self) -> list[FloatArray]:
        """The linear predictors of all responses as they are now."""
        return [work.state.eta.copy() for work in self.works]

    def moved_since(self, before: list[FloatArray]) -> float:
        """How far the linear predictor of a row has moved at most.

        Where eta is y's own mean, in units of the standard deviation there is to explain.
        """
        problem = self.works[0].problem
        unit = float(np.sqrt(problem.reference)) if problem.family.link == "identity" else 1.0
        pairs = zip(self.works, before, strict=True)
        return max(float(np.abs(w.state.eta - eta).max(initial=0.0)) for w, eta in pairs) / unit

    def let_rows_settle(self, movement: Movement) -> bool:
        """Whether fitted values stand still, if need be after more passes over the live paths.

        Where those are a small part of all they cost little; elsewhere whole rounds go on.
        """
        n_live = max(int((work.state.inclusion > RARE).sum()) for work in self.works)
        n_paths = self.works[0].problem.design.n_features
        while FEW_LIVE * n_live < n_paths and not movement.settled(self.run.tol):
            if self.run.exhausted:
                return False
            before = self.etas()
            self.live_paths()
            movement.add(self.moved_since(before))
        return movement.settled(self.run.tol)

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
                # After shortened steps a path that matters may seem to be zero.
                shortened = not work.problem.family.bounded
                judged = work.order if shortened else work.live(work.order)
                work.account_for_groups(judged)
                work.update(judged)
                live = work.live(judged) if shortened else judged
                for _ in range(N_INNER - 1):
                    work.update(live)
                work.end_at_full_step(judged)
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

    def round(self, n_rounds: int, *, live: bool) -> None:
        """Every path once, and a few times more those that may matter.

        A leap in the first round, when next to nothing is settled, may end at a lower bound.
        """
        bound, alone, slow = self.works[0].problem, len(self.works) == 1, n_rounds >= SLOW
        leaps = bool(self.run.history) and alone and creeps(bound)
        self.all_paths()
        if live and self._moves_together(n_rounds):
            self.paths_together()
        elif live and leaps:
            self.leaping_paths()
        elif slow and alone and paths_may_leap(bound):
            self.leaps_of_paths()
        elif live:
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

    def _moves_together(self, n_rounds: int) -> bool:
        """Whether all means are to be moved at once: where steps are checked, they are many."""
        work, alone = self.works[0], len(self.works) == 1
        checked = not work.problem.family.bounded and n_rounds + self.n_before >= APART
        return alone and checked and may_move_together(work)

    def paths_together(self) -> None:
        """As `live_paths`, but all means are moved at once before every pass."""
        work = self.works[0]
        for _ in range(N_INNER):
            if not self.run.exhausted:
                move_together(work, work.order[work.state.inclusion[work.order] > RARE])
                self._update_live()
                self._record()

    def live_paths(self) -> None:
        """A few passes over the paths that may matter; they cost little and do most."""
        for _ in range(N_INNER):
            if not self.run.exhausted:
                self._update_live()
                self._record()

    def leaping_paths(self) -> None:
        """More of them, with a leap after every second one."""
        work = self.works[0]
        for _ in range(N_LEAPS):
            means = [work.state.beta.copy()]
            for _ in range(2):
                if self.run.exhausted:
                    return
                self._update_live()
                self._record()
                means.append(work.state.beta.copy())
            backup, live = work.state.copy(), work.state.inclusion > RARE
            changed = work.leap((means[0], means[1], means[2]))
            work.update(work.order[(live | changed)[work.order]])
            if not work.problem.value(work.state) > self.run.history[-1]:
                work.restart(backup)

    def leaps_of_paths(self) -> None:
        """The same, path by path: in any family, where rounds have been many."""
        work = self.works[0]
        for _ in range(N_LEAPS):
            past = [work.terms()]
            for _ in range(2):
                if self.run.exhausted:
                    return
                self._update_live()
                self._record()
                past.append(work.terms())
            backup, known = work.state.copy(), past[0][0].any(axis=1)
            live = work.order[(known & (work.state.inclusion > RARE))[work.order]]
            work.leap_of_paths(live, past[0], past[1])
            work.update(live)
            if not work.problem.value(work.state) > self.run.history[-1]:
                work.restart(backup)

    def _update_live(self, times: int = 1) -> None:
        for _ in range(times):
            if self._learns:
                _learn_weights(self.works)
            for work in self.works:
                work.update(work.live(work.order))
            self._settle()

    def learn_boldly(self, n_em_steps: int) -> None:
        """Update the weights, drop idle components, then look far ahead with a copy in hand."""
        if self._learns:
            _learn_weights(self.works)
            _drop_components(self.posteriors)
            self.backup = tuple(posterior.copy() for posterior in self.posteriors)
            _learn_boldly(self.works, n_em_steps)


def _learn_boldly(works: list[PathWork], n_em_steps: int) -> None:
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


def _order(work: PathWork) -> IntArray:
    """Features by falling correlation with what the intercepts alone leave unexplained."""
    bound = work.problem
    if work.state.beta.any():
        work = PathWork(bound, bound.start_posterior())
        if not bound.family.quadratic:
            work.set_intercepts()
    work.survey()
    if bound.family.quadratic:
        null = bound.start()
        average_intercepts(bound, null, work.score, work.curvature)
    return work.update_order()


def _learn_weights(works: list[PathWork]) -> None:
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
