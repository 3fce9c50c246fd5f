"""Mixtures whose components may have a season beside a constant part and a drift.

Component k is Normal(0, static 11' + D + S), D a chain over the steps and S one through the steps
of a phase (see `season_path`); S may be zero, which is a spike at zero of the season's own. The
components without a season come first and are those of `mixture`, treated as there. Of the others,
those that share D and S are one pair and differ in the static variance only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.priors import mixture
from driftglm.priors.gaussian_path import static_part
from driftglm.priors.mixture import Components, Tables, chain_transitions, weights_inplace
from driftglm.priors.season_path import season_evidence, smooth_season_inplace

UNASKED = -1e300
"""Log evidence of a pair that was not looked at."""
UNLIKELY = 0.9
"""Of a path more likely than this to be zero, most pairs are not looked at."""

Pairs = tuple[IntArray, FloatArray, IntArray, FloatArray, FloatArray, FloatArray, int, int]
"""Pair and static variance of every component with a season; (P, 2) chain and season of every pair;
(C + 1, T) carry and shock of every chain, the last one zero; (J, 2) variance and correlation of
every season; steps a cycle; and how many pairs, the first ones, are looked at for every path."""
SeasonTables = tuple[Tables, Pairs]
Found = tuple[FloatArray, FloatArray]
"""Log evidence (K,) of all components, and what it is made of: (3, K) logdet, v and w'b."""


@dataclass(frozen=True)
class SeasonalComponents(Components):
    """Components of which some have a season.

    Parameters
    ----------
    seasonal, recurrence
        (K,) variance of the season, 0 for none, and its correlation from one cycle to the next.
    cycle
        Steps a cycle; step t belongs to phase t mod cycle.
    """

    seasonal: FloatArray
    recurrence: FloatArray
    cycle: int

    @property
    def variances(self) -> FloatArray:
        """(K,) total variances."""
        return self.static + self.dynamic + self.seasonal

    @property
    def is_seasonal(self) -> BoolArray:
        """(K,) whether there is a season."""
        return np.asarray(self.seasonal > 0)

    @property
    def is_zero(self) -> BoolArray:
        """The point mass at zero."""
        return super().is_zero & ~self.is_seasonal

    @property
    def is_static(self) -> BoolArray:
        """Constant over time, zero included."""
        return super().is_static & ~self.is_seasonal

    def take(self, keep: BoolArray | IntArray) -> SeasonalComponents:
        """Some of the components."""
        names = "static", "dynamic", "rho", "seasonal", "recurrence"
        return replace(self, **{name: getattr(self, name)[keep] for name in names})

    def season_tables(self, *, thrifty: bool = False) -> SeasonTables:
        """Arrays for the kernels of this module; `thrifty` ones are for thousands of paths."""
        chosen = self.is_seasonal
        static, dynamic, rho = (each[~chosen] for each in (self.static, self.dynamic, self.rho))
        plain = Components(static, dynamic, rho, self.boundary, self.n_timesteps)
        laws = np.column_stack([self.dynamic, self.rho, self.seasonal, self.recurrence])[chosen]
        unique, pair = np.unique(laws, axis=0, return_inverse=True)  # the still ones come first
        chains, chain = np.unique(unique[:, :2], axis=0, return_inverse=True)
        seasons, season = np.unique(unique[:, 2:], axis=0, return_inverse=True)
        moving, still = chains[chains[:, 0] > 0], int((unique[:, 0] == 0).sum())
        found = [chain_transitions(v, rho, self.n_timesteps, self.boundary) for v, rho in moving]
        carry, shock = np.zeros((2, len(moving) + 1, self.n_timesteps))
        for c, each in enumerate(found):
            carry[c], shock[c] = each
        number = np.where(chains[:, 0] > 0, np.cumsum(chains[:, 0] > 0) - 1, len(moving))
        pairs = np.column_stack([number[chain.ravel()], season.ravel()]).astype(np.int64)
        numbers = pair.ravel().astype(np.int64)
        first = 0 if thrifty else still
        some = numbers, self.static[chosen], pairs, carry, shock, seasons, self.cycle, first
        return plain.tables(), some

    @classmethod
    def of(
        cls,
        plain: Components,
        mains: Sequence[tuple[float, float, float]],
        seasons: Sequence[tuple[float, float]],
        cycle: int,
    ) -> SeasonalComponents:
        """All of `plain`, and each of `mains` (static, dynamic, rho) with each of the seasons."""
        both = np.array([(*main, *season) for main in mains for season in seasons]).reshape(-1, 5)
        none = np.zeros(plain.count)
        own = (plain.static, plain.dynamic, plain.rho, none, none)
        static, dynamic, rho, seasonal, recurrence = (
            np.concatenate(each) for each in zip(own, both.T, strict=True)
        )
        length = plain.boundary, plain.n_timesteps
        return cls(static, dynamic, rho, *length, seasonal, recurrence, cycle)


@kernel
def _season_evidences_inplace(
    h: FloatArray, b: FloatArray, some: Pairs, wanted: BoolArray, found: Found
) -> None:
    """Log evidences of the components with a season, the last ones, whose pair is `wanted`."""
    numbers, static, pairs, carry, shock, seasons, cycle, _ = some
    evidence, parts = found
    first = evidence.shape[0] - numbers.shape[0]
    filtered = np.empty((pairs.shape[0], 4))
    for p in range(pairs.shape[0]):
        if wanted[p]:
            chain, season = pairs[p]
            law = (seasons[season, 0], seasons[season, 1], cycle)
            filtered[p] = season_evidence(h, b, (carry[chain], shock[chain]), law)
    for k in range(numbers.shape[0]):
        p = numbers[k]
        if wanted[p]:
            v, more = static_part(static[k], filtered[p, 2]) if static[k] > 0.0 else (0.0, 0.0)
            wb, logdet = filtered[p, 3], filtered[p, 1] + more
            parts[0, first + k], parts[1, first + k], parts[2, first + k] = logdet, v, wb
            evidence[first + k] = 0.5 * (filtered[p, 0] + v * wb * wb - logdet)


@kernel
def log_evidences_inplace(
    h: FloatArray, b: FloatArray, tables: SeasonTables, wanted: BoolArray, found: Found
) -> None:
    """Log evidence of every component and its parts, as `mixture.log_evidences_inplace`.

    Of the pairs only those `wanted` (P,) are looked at; the evidence of others is UNASKED.
    """
    plain, some = tables
    evidence, parts = found
    count = plain[0].shape[0]
    own_evidence, own_parts = np.empty(count), np.empty((3, count))
    mixture.log_evidences_inplace(h, b, plain, own_evidence, own_parts)
    evidence[:count], parts[:, :count] = own_evidence, own_parts
    evidence[count:], parts[:, count:] = UNASKED, 0.0
    _season_evidences_inplace(h, b, some, wanted, found)


@kernel
def average_inplace(
    h: FloatArray,
    b: FloatArray,
    tables: SeasonTables,
    phi: FloatArray,
    parts: FloatArray,
    out: FloatArray,
) -> float:
    """Mean and variance of the mixture into `out` (2, T); returns sum phi (log phi + KL).

    Of an `out` of four rows the last two are mean and variance of the season alone.
    """
    plain, some = tables
    numbers, _, pairs, carry, shock, seasons, cycle, _ = some
    count, n_steps = plain[0].shape[0], h.shape[0]
    own_phi, own_parts, own = phi[:count].copy(), parts[:, :count].copy(), np.empty((2, n_steps))
    divergence = mixture.average_inplace(h, b, plain, own_phi, own_parts, own)
    both = out.shape[0] // 2
    sums = np.zeros((2 * both, n_steps))
    sums[0], sums[1] = own[0], own[1] + own[0] ** 2
    path = np.empty((3 * both, n_steps))
    for p in range(pairs.shape[0]):
        weight = variance = mean = square = 0.0
        for k in range(numbers.shape[0]):
            q = phi[count + k]
            if numbers[k] != p or q == 0.0:
                continue
            v, move = parts[1, count + k], parts[1, count + k] * parts[2, count + k]
            divergence += q * (np.log(q) + 0.5 * parts[0, count + k])
            weight += q
            variance += q * v
            mean += q * move
            square += q * move * move
        if weight == 0.0:
            continue
        chain, season = pairs[p]
        law = (seasons[season, 0], seasons[season, 1], cycle)
        smooth_season_inplace(h, b, (carry[chain], shock[chain]), law, path)
        for part in range(both):
            for t in range(n_steps):
                # A constant moves the path by 1 - V h, and takes its V h from the season.
                at = path[3 * part, t]
                along = (1.0 if part == 0 else 0.0) - path[3 * part + 1, t]
                sums[2 * part, t] += weight * at + mean * along
                sums[2 * part + 1, t] += weight * (path[3 * part + 2, t] + at * at) + along * (
                    2.0 * mean * at + (variance + square) * along
                )
    for t in range(n_steps):
        second = own[1, t] + own[0, t] ** 2
        divergence += 0.5 * (b[t] * (sums[0, t] - own[0, t]) - h[t] * (sums[1, t] - second))
    for part in range(both):
        out[2 * part] = sums[2 * part]
        out[2 * part + 1] = np.maximum(sums[2 * part + 1] - sums[2 * part] ** 2, 0.0)
    return divergence


@kernel
def pairs_held(phi: FloatArray, some: Pairs) -> BoolArray:
    """(P,) the pairs that have a probability."""
    numbers = some[0]
    count = phi.shape[0] - numbers.shape[0]
    held = np.zeros(some[2].shape[0], dtype=np.bool_)
    for k in range(numbers.shape[0]):
        if phi[count + k] > 0.0:
            held[numbers[k]] = True
    return held


@kernel
def posterior_inplace(
    h: FloatArray,
    b: FloatArray,
    prior: tuple[SeasonTables, FloatArray],
    found: tuple[FloatArray, FloatArray, FloatArray],
    out: FloatArray,
) -> float:
    """The posterior of a path that may be zero; returns its divergence, log weights left out.

    `prior` are tables and log weights; `found` evidence, parts and phi, which holds the present
    probabilities. Pairs that drift are many and slow: where the path is all but surely zero without
    them, and has none of them now, they are not looked at (nor others, if the tables are thrifty).
    The bound cannot fall by that.
    """
    (tables, log_pi), (evidence, parts, phi) = prior, found
    some = tables[1]
    always = np.arange(some[2].shape[0]) < some[7]
    holds = (pairs_held(phi, some) & ~always).any()
    log_evidences_inplace(h, b, tables, always, (evidence, parts))
    weights_inplace(evidence, log_pi, phi)
    if holds or phi[0] < UNLIKELY:
        _season_evidences_inplace(h, b, some, ~always, (evidence, parts))
        weights_inplace(evidence, log_pi, phi)
    return average_inplace(h, b, tables, phi, parts, out)


@kernel
def steps_inplace(
    h: FloatArray, b: FloatArray, phi: FloatArray, tables: SeasonTables, out: FloatArray
) -> None:
    """Moments of paths (n_paths, T) and of their seasons at all steps of `tables`.

    Into (n_paths, 4, T'), rows as `average_inplace` has them. The tables may be those of longer
    paths, whose further steps are empty: what is said of them is a forecast.
    """
    n_steps, n_all, count = h.shape[1], tables[0][2].shape[0], phi.shape[1]
    longer = np.zeros((2, n_all))
    evidence, parts = np.empty(count), np.empty((3, count))
    for i in range(h.shape[0]):
        longer[0, :n_steps], longer[1, :n_steps] = h[i], b[i]
        held = pairs_held(phi[i], tables[1])
        log_evidences_inplace(longer[0], longer[1], tables, held, (evidence, parts))
        average_inplace(longer[0], longer[1], tables, phi[i], parts, out[i])
