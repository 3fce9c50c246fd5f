"""Paths judged jointly, where there are few rows.

A factorised posterior takes every path's neighbours for known. Where rows are few, or columns look
alike, they are not: intervals are too narrow, and what one column did another gets the credit for.
Here a path's curvature and linear term are found with the other paths integrated out, all of them
normal with the covariance that their components have on average (`solvers.joint`); the path itself
keeps its mixture, zero included. The components of a path are weighed by what the other paths, and
not the path itself, say about the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.design.scores import ArrayScores
from driftglm.fitting.coefficients import Columns
from driftglm.fitting.joint_fit import JointFit, correlation_of
from driftglm.fitting.joint_sets import Judged, SetAverages, average_sets
from driftglm.objective import Bound, Posterior
from driftglm.priors.weights import log_weights
from driftglm.solvers.intercepts import averaged_intercept, intercept_information
from driftglm.solvers.joint import JointData, JointSolve, PathKernels
from driftglm.solvers.joint_paths import PathInformation, PathSolve
from driftglm.solvers.path_means import (
    average_paths_inplace,
    linears_for_inplace,
    sweep_inplace,
    weigh_paths_inplace,
)

Solve: TypeAlias = JointSolve | PathSolve

MOST_ROWS = 3000
"""More rows cost seconds; there each path is known well enough by itself."""
MOST_PATHS, MOST_NUMBERS = 100, 4_000_000
"""Paths, at most, and steps times their number squared. It is all of them or none: of columns that
look alike, the factorised posterior drops those that matter as readily as the others."""
MOST_UNKNOWNS, MOST_ENTRIES, RARE = 1500, 1_000_000, 0.05
"""Where rows are many: coefficients, at most, and numbers in the columns of their paths; of more
paths, those that are less likely than this to matter stay as they are."""
MOST_CERTAIN = 1e7
"""Prior variance times information of a step up to which a joint solve has digits enough."""
COPIES = 0.95
"""Correlation above which columns are next to copies."""
MOST_SWEEPS, AGREED = 300, 1e-8
"""Sweeps until means agree, at most, and the squared move, in standard errors, that ends them."""
TINY = 1e-300
N_ROUNDS = 2
FLAT = 1e4
"""Variance that stands for the flat prior of an intercept's constant part, in its scale."""


def joint_posterior(
    bound: Bound, state: Posterior, columns: Columns, *, brief: bool = False
) -> tuple[Posterior, JointFit | None]:
    """The posterior where a solver ended, some of its paths judged jointly.

    A `brief` one takes one round, and knows correlations of steps after the last alone.
    """
    chosen, by_rows = _chosen(bound), True
    if chosen is None and not brief:
        chosen, by_rows = _few_paths(bound, state), False
    if chosen is None:
        return state, None
    data = _data(bound, state, chosen)
    known = None if by_rows else PathInformation.of(data)
    if known is not None and _is_certain(bound, state, known, chosen):
        return state, None
    work = _Work(bound, state.copy(), chosen, data, known, columns.has_intercept)
    try:
        for _ in range(1 if brief or known is not None else N_ROUNDS):
            work.update(work.solve())
        if known is not None:
            work.average(known)
        solved = work.solve()
        if known is not None:
            work.update(solved)
    except LinAlgError:  # next to no noise, or columns that are multiples of each other
        return state, None
    work.set_means()
    if known is not None:
        work.agree(known)
    work.settle()
    return work.state, work.fit(solved, columns, brief=brief)


def _chosen(bound: Bound) -> IntArray | None:
    """Paths to be judged jointly, or None where each is known well enough by itself.

    That is where a step has rows enough for its coefficients. With more coefficients than rows the
    many that are zero would count for as much as the few that are not.
    """
    design, n_steps = bound.design, bound.design.n_timesteps
    chosen = np.flatnonzero(bound.squares.any(axis=1))
    count = chosen.size + bound.intercepts.count
    n_seen = int((np.diff(design.step_offsets) > 0).sum())
    # A row of weight two is two rows, to judge by; what a solve costs is up to the rows there are.
    few = n_seen > 1 and count < bound.n_rows < min(n_seen * count, MOST_ROWS + 1)
    fits = count <= min(MOST_PATHS, int(np.sqrt(MOST_NUMBERS / n_steps)))
    fits = fits and design.n_rows <= MOST_ROWS
    return chosen if few and fits and _is_normal(bound) and chosen.size else None


def _is_normal(bound: Bound) -> bool:
    """Whether rows and paths are as a joint solve takes them to be."""
    normal = bound.family.quadratic and bound.prior.boundary == "stationary"
    return normal and not bound.cycle and bound.row_groups is None


def _few_paths(bound: Bound, state: Posterior) -> IntArray | None:
    """Paths to be judged jointly where rows are many: all that may matter, if these are few."""
    n_steps, seen = bound.design.n_timesteps, bound.squares.any(axis=1)
    if not _is_normal(bound) or n_steps == 1:
        return None
    for which in (seen, seen & (state.inclusion > RARE)):
        chosen = np.flatnonzero(which)
        count = chosen.size + bound.intercepts.count
        few = count <= min(MOST_PATHS, bound.n_rows) and count * n_steps <= MOST_UNKNOWNS
        if chosen.size and few and count * bound.design.n_rows <= MOST_ENTRIES:
            return chosen
    return None


def _is_certain(bound: Bound, state: Posterior, known: PathInformation, chosen: IntArray) -> bool:
    """Whether so much is known that differences would lose their digits: next to no noise."""
    components = state.components
    largest = (components.static + components.dynamic).max() / bound.unit[chosen] ** 2
    each = np.einsum("tii->ti", known.gram)[:, : chosen.size] * largest
    return bool(each.max(initial=0.0) > MOST_CERTAIN)


def _data(bound: Bound, state: Posterior, chosen: IntArray) -> JointData:
    """What intercepts and chosen paths have to explain: y without what other paths do."""
    basis = np.zeros((bound.design.n_features, chosen.size))
    basis[chosen, np.arange(chosen.size)] = 1.0
    scores = bound.design.scores(basis)
    if isinstance(scores, ArrayScores):
        parts = [*scores.values.T]
    else:
        parts = [scores.times(one) for one in np.eye(chosen.size)]
    columns = np.vstack([*parts, *bound.intercepts.columns])
    variance = 1.0 / (bound.design.to_rows(bound.precision(state)) * bound.weights)
    data = JointData(columns, bound.y - state.eta, variance, bound.design.step_offsets)
    theirs = data.added(np.vstack([state.beta[chosen], state.intercept_mean]))
    return replace(data, y=data.y + theirs)


@dataclass
class _Work:
    """A posterior on its way: chosen paths first, then the intercepts.

    The solve has as many unknowns as rows, or, where it is `known` what they say about the paths,
    as coefficients.
    """

    bound: Bound
    state: Posterior
    chosen: IntArray
    data: JointData
    known: PathInformation | None
    has_intercept: bool

    def __post_init__(self) -> None:
        self.tables = self.state.components.tables()
        scales = zip(self.bound.intercepts.scale, self.bound.intercepts.static, strict=True)
        n_steps = self.data.n_steps
        self.intercepts = [averaged_intercept(float(s), bool(c), n_steps) for s, c in scales]
        self.before = self._eta()
        mine, state = self.chosen, self.state
        self.first = state.phi[mine].copy(), state.curvature[mine].copy(), state.linear[mine].copy()
        self.sets: SetAverages | None = None
        self.averaged, self.given = np.zeros((2, self.chosen.size), dtype=bool)
        self.inclusion = np.ones(self.chosen.size)

    def _eta(self) -> FloatArray:
        """(n_rows,) what paths and intercepts add up to."""
        paths = np.vstack([self.state.beta[self.chosen], self.state.intercept_mean])
        return self.data.added(paths)

    def solve(self) -> Solve:
        """All paths together, under the average of their components."""
        kernels = self._kernels()
        if self.known is None:
            return JointSolve.of(self.data, kernels)
        return PathSolve.of(self.known, kernels)

    def _kernels(self) -> PathKernels:
        state, unit, components = self.state, self.bound.unit[self.chosen], self.state.components
        phi = state.phi[self.chosen] / unit[:, None] ** 2
        static = [phi @ components.static, FLAT * self.bound.intercepts.scale]
        mixtures = [(components, phi)]
        for j, path in enumerate(self.intercepts):
            found = path.posterior(state.intercept_h[j], state.intercept_b[j])
            mixtures.append((path.components, found.phi[None]))
        rho = np.unique(np.concatenate([each.rho[each.dynamic > 0] for each, _ in mixtures]))
        dynamic = [
            weights @ np.where(each.rho[:, None] == rho, each.dynamic[:, None], 0.0)
            for each, weights in mixtures
        ]
        return PathKernels(np.concatenate(static), np.vstack(dynamic), rho)

    def update(self, solved: Solve) -> None:
        """Curvatures and linear terms given the solve, then components of the paths."""
        if isinstance(solved, PathSolve):
            h, b = solved.local()
        else:
            variance, own = solved.covariances(between=False)
            h, b = solved.local(variance.T, own)
        # The errors of other paths last for some steps: neither are those of steps independent, nor
        # are they the same throughout, for which the full share would be right. Of columns that
        # are next to the same they are. And a path that does not move has one coefficient, which
        # is known with the full share whatever the errors of steps are.
        total = h.sum(axis=1)
        share = solved.common_precision() / np.where(total > 0, total, 1.0)
        share = np.minimum(share, 1.0)
        state, n_chosen = self.state, self.chosen.size
        moving = state.phi[self.chosen][:, ~state.components.is_static].sum(axis=1)
        moving = np.concatenate([moving, state.intercept_dynamics[:, 0]])
        share = share ** (1.0 - 0.5 * share * moving)
        h, b = h * share[:, None], b * share[:, None]
        unit = self.bound.unit[self.chosen, None]
        state.curvature[self.chosen] = h[:n_chosen] / unit**2
        state.linear[self.chosen] = b[:n_chosen] / unit
        state.intercept_h, state.intercept_b = h[n_chosen:].copy(), b[n_chosen:].copy()
        # Taken once: counts that follow every path would depend on the order of the columns.
        mine, tables = self.chosen, (self.tables, self._log_weights())
        known = state.curvature[mine], state.linear[mine]
        phi, evidence = state.phi[mine], state.evidence[mine]
        weigh_paths_inplace(known, tables, self.given, phi, evidence)
        self._include(phi, self.averaged & ~self.given)
        state.phi[mine], state.evidence[mine] = phi, evidence

    def _log_weights(self) -> FloatArray:
        """(m, K) log weights of each path's components, by what the other paths say."""
        state, groups = self.state, self.bound.groups[self.chosen]
        if self.bound.prior.weights is not None:
            return state.log_pi[groups]
        counts = (self.bound.counts(state) + state.prior_counts)[groups]
        return log_weights(np.maximum(counts - state.phi[self.chosen], 0.0))

    def average(self, known: PathInformation) -> None:
        """Probabilities of paths that others can stand for, averaged over sets of paths."""
        state, mine = self.state, self.chosen
        zero = state.components.is_zero
        now = state.phi[mine], state.curvature[mine], state.linear[mine]
        # Each as where it was likelier: alone, or with the others unknown.
        kept = self.first[0][:, zero].sum(axis=1) < now[0][:, zero].sum(axis=1)
        phi, *told = (np.where(kept[:, None], *two) for two in zip(self.first, now, strict=True))
        judged = Judged(state.components, phi, self._log_weights(), self.bound.unit[mine], *told)
        if (sets := average_sets(known, self._kernels(), judged)) is None:
            return
        self.sets, which = sets, sets.which
        self.averaged[which], self.given[which] = True, sets.doubtful
        self.inclusion[which] = 1.0 - sets.phi[:, zero].sum(axis=1)
        state.phi[mine[which]] = sets.phi

    def _include(self, phi: FloatArray, which: BoolArray) -> None:
        """Let some paths be in as the sets have it, whatever they are then."""
        zero = self.state.components.is_zero
        inside = np.maximum(phi[:, ~zero].sum(axis=1), TINY)
        phi[which] *= np.where(zero, 0.0, (self.inclusion / inside)[which, None])
        phi[np.ix_(which, zero)] = 1.0 - phi[which].sum(axis=1, keepdims=True)

    def set_means(self) -> None:
        """Means and variances of the paths from their curvatures and linear terms."""
        state, mine = self.state, self.chosen
        known, unit = (state.curvature[mine], state.linear[mine]), self.bound.unit[mine, None]
        out = np.empty((mine.size, 2, self.data.n_steps))
        average_paths_inplace(known, self.tables, state.phi[mine], out)
        state.beta[mine], state.variance[mine] = out[:, 0] / unit, out[:, 1] / unit**2

    def agree(self, known: PathInformation) -> None:
        """Let the paths' means agree with each other.

        Each has been shrunk for itself, the others unknown, and their sum does not fit the rows any
        more: forecasts were up to 9 % worse. With the probabilities of the components held, the
        means are found given each other, as in a pass. Then b is what gives them with the h of the
        joint solve, which knows how uncertain they are. A path that became less likely keeps the
        probabilities it had: of two that look alike either may be in, and if neither were sure to
        be, both would be shrunk. Next to copies keep them anyway: one of them has taken it all.
        What sets of paths say of inclusion, and of the means of doubtful paths, stays.
        """
        state, chosen, n_chosen = self.state, self.chosen, self.chosen.size
        paths = np.vstack([state.beta[chosen], state.intercept_mean])
        zero = state.components.is_zero
        kept = self.first[0][:, zero].sum(axis=1) < state.phi[chosen][:, zero].sum(axis=1)
        kept |= known.alike(n_chosen) > COPIES
        kept &= ~self.given
        if self.sets is not None:
            paths[:n_chosen][self.given] = self.sets.mean[self.sets.doubtful]
        unit, phi = self.bound.unit[chosen], state.phi[chosen]
        phi = np.where(kept[:, None], self.first[0], phi)
        self._include(phi, self.averaged & kept)
        state.phi[chosen] = phi
        given = (known.gram, known.linear), (self.tables, phi, unit)
        for _ in range(MOST_SWEEPS):
            for j, path in enumerate(self.intercepts, n_chosen):
                h = known.gram[:, j, j]
                rest = np.einsum("tk,kt->t", known.gram[:, j], paths) - h * paths[j]
                paths[j] = path.posterior(h, known.linear[j] - rest).mean
            if sweep_inplace(*given, self.given, paths) < AGREED:
                break
        linear = np.empty((n_chosen, self.data.n_steps))
        means = paths[:n_chosen] * unit[:, None]
        linears_for_inplace(state.curvature[chosen], means, self.tables, phi, linear)
        state.linear[chosen] = linear
        self.set_means()
        state.intercept_mean[:] = paths[n_chosen:]
        state.intercept_b[:] = state.intercept_h * state.intercept_mean

    def settle(self) -> None:
        """Intercepts given their curvatures, and eta to match.

        Where rows are many, the intercept of a step follows what the paths leave, as in a pass.
        """
        first = int(self.known is not None and self.has_intercept)
        for j in range(first, len(self.intercepts)):
            self._set_intercept(j)
        self._match_eta()
        if first:
            state, bound = self.state, self.bound
            rates = bound.score(state), bound.curvature(state)
            h, b, _ = intercept_information(bound, state, 0, *rates)
            state.intercept_h[0], state.intercept_b[0] = h, b
            self._set_intercept(0)
            self._match_eta()

    def _set_intercept(self, j: int) -> None:
        """Mean, variance and dynamics of an intercept from its curvature and linear term."""
        state, path = self.state, self.intercepts[j]
        found = path.posterior(state.intercept_h[j], state.intercept_b[j])
        state.intercept_mean[j], state.intercept_variance[j] = found.mean, found.variance
        moving = float(found.phi[1:].sum())
        mean_rho = float(found.phi[1:] @ path.components.rho[1:]) / moving if moving else 1.0
        state.intercept_dynamics[j] = moving, mean_rho

    def _match_eta(self) -> None:
        """Let eta follow paths and intercepts."""
        now = self._eta()
        self.state.eta += now - self.before
        self.state.log_likelihood, self.before = None, now

    def fit(self, solved: Solve, columns: Columns, *, brief: bool) -> JointFit:
        """How the errors go together; the intercept is measured where it has no part in that."""
        m, n_steps = len(self.data.columns), self.data.n_steps
        covariance = np.broadcast_to(np.eye(m), (n_steps, m, m))
        if not brief:
            covariance, _ = solved.covariances(between=True)
        first = int(columns.has_intercept)
        kept = np.flatnonzero(np.arange(m) != (self.chosen.size if first else m))
        _, gram = solved.ahead()
        count = 1 + solved.kernels.rho.size
        inner = (kept[:, None] * count + np.arange(count)).ravel()
        paths, always_in = np.flatnonzero(~columns.always_in), np.flatnonzero(columns.always_in)
        return JointFit(
            np.concatenate([paths[self.chosen], always_in]),
            correlation_of(covariance[:, kept][:, :, kept]),
            solved.kernels.static[kept],
            solved.kernels.dynamic[kept],
            solved.kernels.rho,
            np.ascontiguousarray(gram[np.ix_(inner, inner)]),
        )
