"""How much history to trust: forecasters fitted as of earlier steps, and judged by the next one.

Three fits give four forecasters, and two more fits one each where steps come in cycles. Each is
fitted to the rows before a step, an origin, and predicts that step; weights follow from the
densities it gave to what happened. Fits of later origins go on from those of earlier ones. All that
a fit computes from rows is computed from those before its origin: the source is cut first.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.special import ndtri

from driftglm._threads import one_thread
from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.exceptions import DataError, DataWarning
from driftglm.fitting.averaged import FIT_OF, Averaged, Part, steps_of
from driftglm.fitting.checkpoint import Checkpoint
from driftglm.fitting.history import (
    LEAST_DENSITY,
    MOST_ORIGINS,
    PRIOR_ROWS,
    SEASONAL_ROWS,
    History,
    StepScores,
)
from driftglm.fitting.outcome import Forecaster, Outcome
from driftglm.fitting.posteriors import Directions, infer_posterior
from driftglm.fitting.prediction import law_of
from driftglm.fitting.progress import Origins
from driftglm.fitting.reading import LEAST_WEIGHT
from driftglm.fitting.rows import Rows
from driftglm.fitting.settings import Settings
from driftglm.fitting.solver_runs import Runs
from driftglm.priors import Learned

LEAST_BEFORE = 4
"""Steps with rows before the first origin, at least."""
NEGLIGIBLE, N_JUDGED = 0.02, 3
"""A fit none of whose forecasters has a larger weight after so many origins is not made again."""
ROUGH, LAST = 30.0, 3.0
"""At how many times the tolerance fits as of earlier steps may stop, and the last fits."""
BRIEF = 5
"""Passes of such a fit that goes on from another, at most: its paths are close to their end."""
GROWTH = 2
SURE = 3e-5
"""Rows further out than four deviations count as that far."""
KINDS = ("drifting", "static", "pooled")
SEASONAL = ("seasonal", "seasonal-static")
"""Fits that are made besides where steps come in cycles. The first says which paths have a season,
and is made in any case."""


@dataclass(frozen=True)
class Averaging:
    """What is needed to fit the forecasters as of any step.

    `cycle` is the steps of a cycle; 0: there are no seasons.
    """

    settings: Settings
    checkpoint: Checkpoint | None = None
    cycle: int = 0

    @property
    def kinds(self) -> tuple[str, ...]:
        """The fits there are."""
        return (*KINDS, *SEASONAL) if self.cycle else KINDS

    def start(self) -> History:
        """Nothing was predicted yet."""
        return History.start(PRIOR_ROWS | SEASONAL_ROWS if self.cycle else PRIOR_ROWS)

    def fit(
        self,
        kind: str,
        rows: Rows,
        earlier: Forecaster | None,
        rough: float,
        directions: Directions,
    ) -> Forecaster:
        """One of the fits to some rows, going on from an earlier one."""
        prior = cast("Learned", self.settings.prior)
        if kind in {"static", "seasonal-static"}:
            rows, prior = rows.constant(), prior.constant()
        pooled = kind == "pooled"
        brief = BRIEF if rows.family.quadratic else 2 * BRIEF
        most = brief if earlier is not None and rough >= ROUGH else np.inf
        max_iter = int(min(self.settings.max_iter, most))
        settings = replace(
            self.settings,
            prior=prior,
            tol=rough * self.settings.tol,
            max_iter=max_iter,
            verbose=False,
        )
        runs = Runs(settings, self.checkpoint)
        used = rows.pooled() if pooled else rows
        if kind != "drifting" and rows.group is not None and not rows.groups_recur:
            # Effects of groups that never come back do not help to forecast, and what holds
            # between such groups does: it is not what holds within them.
            used = used.ungrouped()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                outcome = infer_posterior(
                    used,
                    prior,
                    runs,
                    earlier,
                    name=kind,
                    directions=directions,
                    as_of=True,
                    cycle=self.cycle if kind in SEASONAL else 0,
                )
        finally:
            if pooled:
                used.close()
        return outcome.forecasters[0]

    def fits(
        self,
        kinds: list[str],
        rows: Rows,
        earlier: dict[str, Forecaster],
        rough: float,
        directions: Directions,
    ) -> dict[str, Forecaster]:
        """Several of them, side by side where that changes no number."""

        def fit(kind: str) -> Forecaster:
            return self.fit(kind, rows, earlier.get(kind), rough, directions)

        threads = 1 if self.checkpoint is not None else min(rows.threads, len(kinds))
        if threads <= 1:
            return {kind: fit(kind) for kind in kinds}
        # Each would set the threads of BLAS for all.
        with one_thread(), ThreadPoolExecutor(threads) as pool:
            return dict(zip(kinds, pool.map(fit, kinds), strict=True))


def with_history(
    rows: Rows,
    outcome: Outcome,
    averaging: Averaging,
    before: tuple[tuple[Forecaster, ...], History] | None = None,
) -> tuple[Outcome, History]:
    """An outcome with all forecasters, and how much each is to be trusted.

    `before` are the forecasters and the history of a fit to fewer steps. Steps that came since
    judge them before they learn from them.
    """
    known, history = before or ((), averaging.start())
    if history.names != averaging.start().names:  # two cycles are there since, or seasons are off
        known, history = (), averaging.start()
    fits = {each.name: each for each in known if _has_weight(history, each.name)}
    covered = known[0].n_timesteps if known else 0
    found = _FoundDirections(rows, cast("Learned", averaging.settings.prior))
    noise_given = averaging.settings.given_noise is not None
    origins = _origins(rows, max(covered, averaging.cycle), noise_given=noise_given)
    shown = Origins(_works(rows, origins)) if averaging.settings.verbose else None
    for n_done, code in enumerate(origins):
        if ((rows.codes >= covered) & (rows.codes < code)).any():
            cut = rows.before(code)
            try:
                live, covered = _live(history, fits, averaging.kinds), code
                fits = averaging.fits(live, cut, fits, ROUGH, found.as_of(cut))
            finally:
                cut.close()
        history = history.then(_scores(rows, code, fits, history))
        if shown is not None:
            shown.done(n_done + 1)
    live = _live(history, fits, averaging.kinds)
    wanted = [*live, *(SEASONAL[:1] if averaging.cycle else ())]
    others = [kind for kind in dict.fromkeys(wanted) if kind != "drifting"]
    last = averaging.fits(others, rows, fits, LAST, outcome.directions)
    if shown is not None:
        shown.done(len(origins) + 1)
    forecasters = (outcome.forecasters[0], *last.values())
    return replace(outcome, forecasters=forecasters, directions=None), history


@dataclass
class _FoundDirections:
    """Shared directions for fits as of several steps, found again when rows have doubled.

    They are found from rows before the step, as all else is. All rows are then projected at once:
    a row's place does not depend on the others.
    """

    rows: Rows
    prior: Learned
    n_rows: int = 0
    last: Directions | None = None

    def as_of(self, cut: Rows) -> Directions:
        """Those for a fit to the rows of a cut."""
        n_rows = cut.codes.size
        if self.last is None or n_rows >= GROWTH * self.n_rows:
            raw, order = cut.design()
            design = cut.centered(raw, order)
            unit = design.units(cut.design_weights(order))
            directions = Directions.of(cut, design, unit, self.prior)
            whole = self.rows.design()[0]
            # Far from zero a difference of two projections would lose digits.
            near = isinstance(design, ColumnDesign) and not design.shift.any()
            if directions.basis.size and near and isinstance(whole, ColumnDesign) and whole.at_hand:
                directions = replace(directions, projected=whole.project(directions.basis))
            self.last, self.n_rows = directions, n_rows
        return self.last


def _origins(rows: Rows, first: int, *, noise_given: bool) -> IntArray:
    """Steps to be predicted from those before them, the last ones of those from `first` on.

    Rows that weigh less than one row together predict nothing, as they could not be fitted; see
    `check_enough`.
    """
    possible = np.unique(rows.codes)[LEAST_BEFORE:]
    if possible.size and not (rows.family.quadratic and noise_given):
        before = np.cumsum(np.bincount(rows.codes, rows.weights))[possible - 1]
        possible = possible[before >= LEAST_WEIGHT]
    return possible[possible >= first][-MOST_ORIGINS:]


def _has_weight(history: History, kind: str) -> bool:
    """Whether a fit was not given up; the seasonal one is made even so, to be shown."""
    if kind not in SEASONAL:
        return True
    return history.weight(kind) > 0.0


def _live(history: History, fits: dict[str, Forecaster], known: tuple[str, ...]) -> list[str]:
    """The fits worth making again."""
    kinds = [kind for kind in known if not fits or kind in fits]
    if len(history.scores) < N_JUDGED:
        return kinds
    trusted = {FIT_OF[name] for name in history.names if history.weight(name) > NEGLIGIBLE}
    return [kind for kind in kinds if kind in trusted] or kinds


def _scores(rows: Rows, code: int, fits: dict[str, Forecaster], history: History) -> StepScores:
    """What the forecasters say of the rows of a step, which none of them has seen."""
    now, names = np.flatnonzero(rows.codes == code), history.names
    parts = {name: Part(name, fits[FIT_OF[name]], 1.0) for name in names if FIT_OF[name] in fits}
    steps = steps_of(list(parts.values()), code)
    means, variances = rows.step_moments(code, [step for each in steps for step in each])
    log_density = np.full((now.size, len(names)), -np.inf)
    n_responses, moments = len(steps[0]), {}
    for j, (name, part) in enumerate(parts.items()):
        columns = slice(j * n_responses, (j + 1) * n_responses)
        eta = means[:, columns], variances[:, columns]
        if rows.group is not None:
            shared = part.forecaster.group_moments(rows.group[now], code)
            eta = eta[0] + shared[0], eta[1] + shared[1]
        log_density[:, names.index(name)] = _log_densities(rows, now, code, part, eta)
        moments[name] = eta
    n_before = np.unique(rows.codes[rows.codes < code]).size
    spread = np.nan
    if rows.family.noise_drifts and "drifting" in fits:
        ordered = (fits["drifting"], *(fit for kind, fit in fits.items() if kind != "drifting"))
        spread = _spread(rows, now, code, Averaged.of(ordered, history), moments)
    return StepScores.of(int(code), n_before, log_density, rows.weights[now], spread)


def _spread(
    rows: Rows,
    now: IntArray,
    code: int,
    average: Averaged,
    moments: dict[str, tuple[FloatArray, FloatArray]],
) -> float:
    """Mean squared normal quantile of where rows lie in the average's forecast: 1 if right."""
    weighed: list[tuple[float, FloatArray, FloatArray]] = []
    for part in average.parts:
        means, variances = moments[part.name]
        weighed.append((part.weight, means[:, 0], variances[:, 0]))
    mean = np.sum([w * m for w, m, _ in weighed], axis=0)
    variance = np.sum([w * (v + (m - mean) ** 2) for w, m, v in weighed], axis=0)
    if not (np.isfinite(mean).all() and np.isfinite(variance).all()):
        return np.nan
    law = law_of(
        rows.family, replace(average, spread=1.0), code, mean + rows.exposure[now], variance
    )
    places = ndtri(np.clip(law.cdf(rows.y[now]), SURE, 1.0 - SURE))
    return float(np.average(places**2, weights=rows.weights[now]))


def _log_densities(
    rows: Rows, now: IntArray, code: int, part: Part, eta: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Of rows with this mean and variance of eta."""
    family, y, (mean, variance) = rows.family, rows.y[now], eta
    if not family.coupled:
        mean, variance = mean[:, 0] + rows.exposure[now], variance[:, 0]
    at = 0 if part.name == "pooled" else code
    if not (np.isfinite(mean).all() and np.isfinite(variance).all()):
        return np.full(now.size, LEAST_DENSITY)
    try:
        law = law_of(family.for_rows(y), part.forecaster, at, mean, variance)
    except DataError:  # numbers beyond all measure: no forecast, and no reason to give up a fit
        return np.full(now.size, LEAST_DENSITY)
    with np.errstate(all="ignore"):
        found = np.asarray(law.log_prob(family.observed(y)))
        # Rates among counts have no probability; half their deviance compares forecasters as well.
        instead = -0.5 * family.prediction_loss(y, family.mean(mean, variance))
    found = np.where(np.isfinite(found), found, instead)
    return np.where(np.isfinite(found), found, LEAST_DENSITY)


def _works(rows: Rows, origins: IntArray) -> list[int]:
    """Rows of every fit, the last one being to all rows."""
    before = np.cumsum(np.bincount(rows.codes))
    return [int(before[code - 1]) for code in origins] + [rows.codes.size]
