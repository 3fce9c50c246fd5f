"""The evidence lower bound of a fit with the learned prior: what its solver must raise.

    ELBO = E[log p(y | eta)] + sum_g sum_k (n_gk + a_gk) log pi_gk
           - sum_i sum_k phi_ik (log phi_ik + KL_ik)
           - divergences of intercepts and shared directions + log p(noise)

n_gk is the expected number of features of group g in component k, a_gk what the prior of the
weights adds to it. Every term belongs to the present posterior, whatever update set it: no
log-normaliser of an earlier update is reused.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Self, cast

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.objective.problem import Problem, SharedDirections, State
from driftglm.priors.learned import Learned
from driftglm.priors.mixture import Components
from driftglm.priors.seasonal_grid import seasonal_components
from driftglm.priors.weights import cross_term, log_weights, prior_counts, start_weights

PathArrays = tuple[
    FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray
]
"""beta, variance, phi, evidence, divergence, curvature and linear of a `Posterior`."""


@dataclass
class Posterior(State):
    """A factorised posterior over paths; `beta` holds the means.

    Parameters
    ----------
    variance
        (n_features, n_timesteps).
    phi, evidence
        (n_features, K) probability and log evidence of every component.
    divergence
        (n_features,) sum_k phi (log phi + KL).
    curvature, linear
        (n_features, n_timesteps) h and b of the update that set a path's posterior, in the path's
        internal unit: with the components they give back the whole posterior, forecasts included.
    log_pi, prior_counts
        (n_groups, K) log weights, and what their prior adds to the number of features.
    components, grid_positions
        The components phi and pi refer to, fewer as negligible ones are dropped, and their
        positions in the prior's full grid.
    kept, offset, credit
        Where rows belong together, what it costs a path that effects of groups are unknown:
        (n_features, n_timesteps) share of its curvature that is left, (n_features,) variance of an
        error all its steps share (`priors.offset`), and (n_features, n_timesteps) by how much less
        its variance adds to the sums of squares, since the effects make up for it. Empty elsewhere.
    """

    variance: FloatArray
    phi: FloatArray
    evidence: FloatArray
    divergence: FloatArray
    curvature: FloatArray
    linear: FloatArray
    log_pi: FloatArray
    prior_counts: FloatArray
    components: Components
    grid_positions: IntArray
    kept: FloatArray
    offset: FloatArray
    credit: FloatArray

    def copy(self, shared: tuple[FloatArray, ...] = ()) -> Self:
        """An independent copy; what no update changes in place is shared, and what is named."""
        fixed = self.components, self.grid_positions, self.kept, self.offset, *shared
        return copy.deepcopy(self, {id(each): each for each in fixed})

    @property
    def path_arrays(self) -> PathArrays:
        """What an update of a path changes."""
        moments = self.beta, self.variance, self.phi, self.evidence, self.divergence
        return (*moments, self.curvature, self.linear)

    @property
    def inclusion(self) -> FloatArray:
        """Probability that a path is not zero."""
        return np.asarray(1.0 - self.phi[:, self.components.is_zero].sum(axis=1))


@dataclass(frozen=True)
class Bound(Problem):
    """The ELBO of the learned prior.

    `unit` (n_features,) is what each column is divided by inside the fit, given up to a factor for
    each of the `kinds` (n_features,) of features (None: they are all of one): inside, the typical
    column of a kind has mean square one, so that one grid of components suits every kind, and many
    rare columns of one kind do not widen the grid of the others. Features of a kind share weights,
    static ones apart: `groups` (n_features,) says which. Paths and intercepts that are not static
    may have a season of `cycle` steps; 0: they have none.
    """

    prior: Learned
    unit: FloatArray
    kinds: IntArray | None = None
    cycle: int = 0
    groups: IntArray = field(init=False)
    group_static: BoolArray = field(init=False)
    squares: FloatArray = field(init=False)

    @classmethod
    def of(
        cls,
        problem: Problem,
        prior: Learned,
        unit: FloatArray,
        shared: SharedDirections | None,
        kinds: IntArray | None = None,
        cycle: int = 0,
    ) -> Bound:
        """A problem with the learned prior; of a `cycle` of so many steps where it has seasons."""
        intercepts = replace(problem.intercepts, cycle=cycle)
        parts = problem.parts() | {"shared": shared, "intercepts": intercepts}
        return cls(**parts, prior=prior, unit=unit, kinds=kinds, cycle=cycle)

    def __post_init__(self) -> None:
        kinds = np.zeros(self.static.size, dtype=np.int64) if self.kinds is None else self.kinds
        pairs, groups = np.unique(2 * kinds + self.static, return_inverse=True)
        object.__setattr__(self, "groups", groups.astype(np.int64))
        static = pairs % 2 == 1 if pairs.size else np.zeros(1, bool)
        object.__setattr__(self, "group_static", static)
        object.__setattr__(self, "squares", self.design.squares(self.weights))
        mean_square = self.squares.sum(axis=1) / self.unit**2 / self.n_rows
        typical = np.ones(self.unit.size)
        for kind in np.unique(kinds):
            seen = mean_square[(kinds == kind) & (mean_square > 0)]
            typical[kinds == kind] = np.median(seen) if seen.size else 1.0
        object.__setattr__(self, "unit", self.unit * np.sqrt(typical))

    @property
    def n_groups(self) -> int:
        """Kinds of features, twice where some of a kind are static and some are not."""
        return int(self.group_static.size)

    def components(self) -> Components:
        """The prior's grid, scaled to var(y); the typical column of every kind has unit size."""
        n_seen = int((np.diff(self.design.step_offsets) > 0).sum())
        size = self.reference, self.effective_rows
        plain = self.prior.components(*size, self.design.n_timesteps, n_seen)
        if not self.cycle or self.static.all():
            return plain
        return seasonal_components(self.prior, plain, size, self.cycle)

    def start_posterior(self, beta: FloatArray | None = None) -> Posterior:
        """A posterior to start from: point masses at given means, weights at their start."""
        state = self.start(beta)
        components = self.components()
        pi = start_weights(self.prior, components, self.group_static)
        variance, curvature, linear = (np.zeros(state.beta.shape) for _ in range(3))
        phi = np.tile(components.is_zero.astype(np.float64), (len(state.beta), 1))
        return Posterior(
            **vars(state),
            variance=variance,
            phi=phi,
            evidence=np.zeros_like(phi),
            divergence=np.zeros(len(phi)),
            curvature=curvature,
            linear=linear,
            log_pi=log_weights(pi),
            prior_counts=prior_counts(self.prior, components, pi),
            components=components,
            grid_positions=np.arange(components.count),
            kept=np.ones_like(variance) if self.row_groups is not None else np.empty((0, 0)),
            offset=np.zeros(len(phi) if self.row_groups is not None else 0),
            credit=np.zeros_like(variance) if self.row_groups is not None else np.empty((0, 0)),
        )

    def warm_posterior(
        self,
        beta: FloatArray,
        noise: FloatArray,
        effects: tuple[FloatArray, FloatArray] | None = None,
    ) -> Posterior:
        """A posterior to go on from: means and noise of an earlier fit.

        `effects` are constant effects of groups, and the two variances of effects.

        The weights begin afresh. They are learned in a few passes, and components an earlier fit
        dropped would come back too late: beginning with the old weights 29 of 80 simulated updates
        ended below the bound of a cold fit, beginning afresh 1, in as many passes.
        """
        posterior = self.start_posterior(beta)
        if effects is not None and posterior.row_groups is not None:
            posterior.row_groups.constant, posterior.row_groups.variance = effects
            self.add_groups_inplace(posterior, posterior.eta)
        if self.noise.drifts:
            posterior.noise_path = path = self.noise.start_path(self.rows_by_step, noise)
            posterior.noise = noise if path is None else path.effective
        elif self.noise.given is None:
            posterior.noise = np.maximum(noise, self.noise.floor)
        return posterior

    def uncertainty(self, state: State) -> FloatArray:
        """(T,) what the uncertainty of paths and intercepts adds to the sums of squares."""
        if not self.family.quadratic:
            return np.zeros(self.design.n_timesteps)
        paths = np.einsum("it,it->t", self.squares, cast("Posterior", state).variance)
        return np.asarray(super().uncertainty(state) + paths)

    def group_credit(self, state: State) -> FloatArray:
        """(T,) by how much less paths and intercepts add, as effects of groups make up for it."""
        return np.asarray(super().group_credit(state) + cast("Posterior", state).credit.sum(axis=0))

    def counts(self, posterior: Posterior) -> FloatArray:
        """n_gk: expected number of features per group and component."""
        if self.n_groups == 1:
            return np.asarray(posterior.phi.sum(axis=0, keepdims=True))
        return np.array([posterior.phi[self.groups == g].sum(axis=0) for g in range(self.n_groups)])

    def value(self, posterior: Posterior) -> float:
        """The ELBO, exactly."""
        counts = self.counts(posterior) + posterior.prior_counts
        weights = cross_term(counts, posterior.log_pi)
        return self.common_value(posterior) + weights - float(posterior.divergence.sum())
