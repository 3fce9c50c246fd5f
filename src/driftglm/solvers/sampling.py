"""Several chains of draws: warmed up, run and recorded, in threads if there are some.

A chain has random numbers of its own, so that nothing depends on the number of threads. All chains
advance by a few sweeps at a time; who interrupts keeps what all of them have drawn by then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np

from driftglm._progress import progress_bar
from driftglm._threads import one_thread
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.exceptions import DataError
from driftglm.objective import Bound, Posterior
from driftglm.solvers.gibbs import Chain
from driftglm.solvers.gibbs_classes import ClassChains
from driftglm.solvers.gibbs_counts import CountChain
from driftglm.solvers.gibbs_joint import column_inplace
from driftglm.solvers.gibbs_rows import is_count

N_AT_ONCE = 10
"""Sweeps of a chain between two looks at the others."""
ALIKE = 0.8
"""Correlation from which on paths may change places."""
MOST_PARTNERS = 4
LOOKED_AT = 10**9
"""Entries of columns that may be read to find those that look alike."""
SEEN = 0.005
"""A feature that warm-up finds to be in with a smaller probability need not be kept in full."""


@dataclass(frozen=True)
class Sampling:
    """How the joint posterior is sampled.

    Parameters
    ----------
    draws
        Kept draws of every chain.
    warmup
        Sweeps of every chain before the first draw that is kept.
    chains
        Number of chains. The first starts at the variational fit, the others from nothing.
    thin
        Sweeps from one kept draw to the next.
    keep
        Positions of features whose draws are kept in full come what may. Others are if warm-up
        finds them in; sums are kept of all.
    max_megabytes
        What draws kept in full may take, in memory and, before compression, in a file.

    Examples
    --------
    >>> from driftglm import DriftRegressor, Sampling
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=4, n_active=2, rows_per_step=50, random_state=0)
    >>> how = Sampling(draws=150, warmup=50)
    >>> model = DriftRegressor(inference=how).fit(panel.X, panel.y, time=panel.time)
    >>> lower, upper = model.coef_band(0.9)
    >>> lower.shape
    (8, 4)
    """

    draws: int = 1000
    warmup: int = 200
    chains: int = 2
    thin: int = 1
    keep: tuple[int, ...] = ()
    max_megabytes: float = 64.0

    def __post_init__(self) -> None:
        for name, least in (("draws", 1), ("warmup", 0), ("chains", 1), ("thin", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise DataError(
                    f"{name}={value!r} of Sampling; pass a whole number, {least} or more."
                )
        _check_kept(self.keep, self.max_megabytes)


def _check_kept(keep: object, megabytes: object) -> None:
    """What is kept in full is named by positions, and takes a finite size."""
    items = keep if isinstance(keep, tuple | list) else (None,)
    if not all(isinstance(i, Integral) and not isinstance(i, bool) for i in items):
        raise DataError(f"keep={keep!r} of Sampling; pass positions of columns, e.g. (3, 17).")
    number = isinstance(megabytes, Real) and not isinstance(megabytes, bool)
    if not (number and 0 < float(megabytes) < math.inf):  # type: ignore[arg-type]
        raise DataError(f"max_megabytes={megabytes!r} of Sampling; pass a finite number above 0.")


@dataclass
class Record:
    """What is kept of one chain; sums are over the kept draws.

    Parameters
    ----------
    kept
        (m,) positions of the paths kept in full.
    first, second
        (p, T + 1) sums of paths and of their squares; the last column is the expectation for the
        step after the last, and its square with the variance added.
    phi
        (p, K) sums of component probabilities.
    paths, static, component
        (S, m, T), (S, m) and (S, m) draws.
    others
        (S, ...) draws of all else, by name.
    effects
        (2, n_groups + n_cells) sums of the effects of groups, first constant ones, then all of a
        cell's, and of their squares; `variances` (2,) sums of the variances of effects.
    done
        Draws that are complete.
    """

    kept: IntArray
    first: FloatArray
    second: FloatArray
    phi: FloatArray
    paths: np.ndarray
    static: np.ndarray
    component: np.ndarray
    others: dict[str, FloatArray]
    effects: FloatArray
    variances: FloatArray
    done: int = 0

    @classmethod
    def of(cls, chain: Chain, kept: IntArray, n_draws: int) -> Record:
        """An empty one."""
        state, (p, n_steps) = chain.state, chain.state.beta.shape
        shape = n_draws, kept.size
        others = {
            name: np.zeros((n_draws, *np.shape(value))) for name, value in _others(chain).items()
        }
        return cls(
            kept=kept,
            first=np.zeros((p, n_steps + 1)),
            second=np.zeros((p, n_steps + 1)),
            phi=np.zeros((p, chain.fit.components.count)),
            paths=np.zeros((*shape, state.beta.shape[1]), dtype=np.float32),
            static=np.zeros(shape, dtype=np.float32),
            component=np.zeros(shape, dtype=np.int16),
            others=others,
            effects=np.zeros((2, _effects(chain).size)),
            variances=np.zeros(2),
        )

    def add(self, chain: Chain) -> None:
        """One draw more."""
        state, components = chain.state, chain.fit.components
        active = np.flatnonzero(~components.is_zero[state.component])
        k, unit = state.component[active], chain.bound.unit[active]
        rho, dynamic = components.rho[k], components.dynamic[k] / unit**2
        beta, static = state.beta[active], state.static[active]
        ahead = static + rho * (beta[:, -1] - static)
        self.first[active, :-1] += beta
        self.second[active, :-1] += beta**2
        self.first[active, -1] += ahead
        self.second[active, -1] += ahead**2 + dynamic * (1.0 - rho**2)
        self.paths[self.done] = state.beta[self.kept]
        self.static[self.done] = state.static[self.kept]
        self.component[self.done] = state.component[self.kept]
        for name, value in _others(chain).items():
            self.others[name][self.done] = value
        effects = _effects(chain)
        self.effects += np.stack([effects, effects**2])
        if chain.effects is not None:
            self.variances += chain.effects.state.variance
        self.done += 1


def _effects(chain: Chain) -> FloatArray:
    """Effects of groups, and of cells."""
    if (effects := chain.effects) is None:
        return np.zeros(0)
    return np.concatenate([effects.state.constant, effects.state.effect(effects.groups)])


def _others(chain: Chain) -> dict[str, FloatArray | float]:
    """What is drawn beside the paths, by name."""
    state, moving = chain.state, chain.moving
    zero = chain.fit.components.is_zero[state.component]
    return {
        "intercepts": state.intercepts,
        "levels": state.levels,
        "dynamics": state.dynamics.astype(np.float64),
        "shared": state.shared,
        "shared_variance": state.shared_variance,
        "noise": state.noise,
        "noise_level": 0.0 if moving is None else moving.level,
        "noise_component": 0.0 if moving is None else float(moving.component),
        "shape": state.shape,
        "n_included": float(np.count_nonzero(~zero)),
    }


@dataclass
class _Runner:
    """One chain of every class, and what has become of it; most responses have one class."""

    classes: ClassChains
    thin: int
    sums: list[FloatArray]
    records: list[Record] = field(default_factory=list)

    def advance(self, n: int) -> None:
        """So many sweeps of warm-up, or so many kept draws."""
        if not self.records:
            for _ in range(n):
                self.classes.sweep(self.sums)
            return
        nothing = [np.empty((0, 0))] * len(self.records)
        for _ in range(n):
            for _ in range(self.thin - 1):
                self.classes.sweep(nothing)
            self.classes.sweep([record.phi for record in self.records])
            for record, chain in zip(self.records, self.classes.chains, strict=True):
                record.add(chain)


def sample(
    bound: Bound,
    fit: Posterior,
    sampling: Sampling,
    *,
    seed: int,
    threads: int = 1,
    verbose: bool = False,
) -> list[Record]:
    """Draws of all chains, as many of each; fewer than asked for if the user interrupts."""
    how = seed, threads, verbose
    return sample_classes([bound], [fit], sampling, how)[0]


def sample_classes(
    bounds: Sequence[Bound],
    fits: Sequence[Posterior],
    sampling: Sampling,
    how: tuple[int, int, bool],
) -> list[list[Record]]:
    """The records of all chains, class by class; `how` is seed, threads and whether to say more."""
    seed, threads, verbose = how
    with one_thread():  # the same digits on any number of threads
        runners = _runners(bounds, fits, sampling, seed)
        total = sampling.chains * (sampling.warmup + sampling.draws)
        n_threads = min(threads, sampling.chains)
        with (
            ThreadPoolExecutor(n_threads) as pool,
            progress_bar(total, "sampling", verbose=verbose) as advance,
        ):
            _together(pool, runners, sampling.warmup, advance)
            kept = _chosen(runners, sampling, fits)
            for runner in runners:
                chains = runner.classes.chains
                runner.records = [Record.of(chain, kept, sampling.draws) for chain in chains]
            try:
                _together(pool, runners, sampling.draws, advance)
            except KeyboardInterrupt:
                if min(record.done for runner in runners for record in runner.records) == 0:
                    raise
    return [[runner.records[j] for runner in runners] for j in range(len(bounds))]


def _runners(
    bounds: Sequence[Bound], fits: Sequence[Posterior], sampling: Sampling, seed: int
) -> list[_Runner]:
    """All chains, where they start."""
    kind = CountChain if is_count(bounds[0].family) else Chain
    ends = list(zip(bounds, fits, strict=True))
    pairs, runners = [pairs_alike(*end) for end in ends], []
    for c in range(sampling.chains):
        rng = np.random.default_rng([seed, c])
        classes = ClassChains(
            [kind(*end, alike, rng, empty=c > 0) for end, alike in zip(ends, pairs, strict=True)]
        )
        runners.append(_Runner(classes, sampling.thin, [np.zeros_like(fit.phi) for fit in fits]))
    return runners


def _together(
    pool: ThreadPoolExecutor, runners: Sequence[_Runner], n: int, advance: Callable[[int], None]
) -> None:
    """Advance all chains alike. The main thread only waits, so that a draw is whole or is not."""
    for first in range(0, n, N_AT_ONCE):
        count = min(N_AT_ONCE, n - first)
        futures = [pool.submit(runner.advance, count) for runner in runners]
        for future in futures:
            future.result()
            advance(count)


def _chosen(runners: Sequence[_Runner], sampling: Sampling, fits: Sequence[Posterior]) -> IntArray:
    """Paths whose draws are kept in full: those asked for, and those seen, as far as there is room.

    The same of all classes. `keep` counts paths here.
    """
    swept, found = max(sampling.warmup, 1), []
    for j, fit in enumerate(fits):
        zero = fit.components.is_zero
        found.append(fit.inclusion)
        if sampling.warmup:
            found += [1.0 - runner.sums[j][:, zero].sum(axis=1) / swept for runner in runners]
    seen = np.max(found, axis=0)
    chains = runners[0].classes.chains
    seen[~chains[0].bound.squares.any(axis=1)] = 0.0
    seen[list(sampling.keep)] = 2.0
    each = 4.0 * (fits[0].beta.shape[1] + 1) + 2.0
    n_draws = sampling.draws * sampling.chains * len(chains)
    room = int(1e6 * sampling.max_megabytes / (each * n_draws))
    order = np.argsort(-seen, kind="stable")[: max(room, 1)]
    return np.sort(order[seen[order] >= SEEN]).astype(np.int64)


def pairs_alike(bound: Bound, fit: Posterior) -> IntArray:
    """(n, 2) columns of one group whose correlation is above ALIKE, of those likeliest to be in."""
    design = bound.design
    assert isinstance(design, ColumnDesign)  # noqa: S101 (others are refused)
    count = int(np.clip(LOOKED_AT // max(design.rows.size, 1), 10, design.n_features))
    total = bound.squares.sum(axis=1)
    root = np.sqrt(np.where(total > 0, total, np.inf))
    column, found = np.empty(design.n_rows), set()
    entries = design.values, design.rows, design.segments
    for i in np.argsort(-fit.inclusion, kind="stable")[:count]:
        if total[i] == 0:
            continue
        column_inplace(entries, int(i), design.center, design.step_offsets, column)
        products = design.gradient(bound.weights * column).sum(axis=1)
        correlation = np.abs(products) / (root * root[i])
        like: BoolArray = (correlation > ALIKE) & (bound.groups == bound.groups[i])
        like[i] = False
        partners = np.flatnonzero(like)
        best = partners[np.argsort(-correlation[partners], kind="stable")][:MOST_PARTNERS]
        found |= {(min(int(i), int(j)), max(int(i), int(j))) for j in best}
    return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)
