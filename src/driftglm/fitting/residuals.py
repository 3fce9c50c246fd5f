"""What rows leave behind when a fit is done: a residual each, and a few sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.families.base import CERTAIN
from driftglm.fitting.rows import Rows
from driftglm.objective import Posterior, Problem, State
from driftglm.predictive import Distribution, Normal

MOST_OWN = 0.9
"""Largest share of what is known about a row's eta that may be taken for the row's own."""
LEAST = 1e-15
"""No probability is taken for closer to 0 or 1: residuals of y that is not normal end at 8."""


@dataclass(frozen=True)
class RowChecks:
    """What a model says of the rows it was fitted to, without the rows.

    Parameters
    ----------
    residual
        (n,) quantile residual of every row of positive weight, in the order they were given; NaN
        where y has no probability, as a fraction among counts.
    codes
        (n,) step of every such row.
    information
        Mean information of a row about eta; 1 / noise for the Gaussian.
    deviance, null_deviance
        (T,) weighted sums of the family's loss: of the fitted means, and of the overall mean of y.
    minimum, maximum
        (p,) of the columns.
    votes
        (n,) how many of the same class a row stands for, if rows of classes differ in that; None:
        each stands for itself.
    """

    residual: NDArray[np.float32]
    codes: NDArray[np.int32]
    information: float
    deviance: FloatArray
    null_deviance: FloatArray
    minimum: FloatArray
    maximum: FloatArray
    votes: NDArray[np.float32] | None = None

    def sample(self) -> IntArray:
        """Rows whose residuals are standard normal if the model is right.

        Those with a residual; of rows that stand for several, each with a chance in proportion.
        Without that rows of a rare class would be as many as those of a frequent one.
        """
        known = np.isfinite(self.residual)
        if self.votes is not None:
            # The same every time, and not what residuals were drawn with.
            drawn = np.random.default_rng(1).random(self.votes.size)
            known &= drawn * self.votes.max(initial=0.0) < self.votes
        return np.flatnonzero(known)

    @property
    def rows(self) -> IntArray:
        """(T,) number of rows of every step."""
        return np.bincount(self.codes, minlength=self.deviance.size)


@dataclass(frozen=True)
class _End:
    """Where the solver ended with one response, row by row in the design's order."""

    eta: FloatArray
    variance: FloatArray
    score: FloatArray
    curvature: FloatArray

    @classmethod
    def of(cls, problem: Problem, state: State) -> _End:
        """Score and curvature are over the noise."""
        precision = problem.by_row(problem.precision(state))
        rates = precision * problem.score(state), precision * problem.curvature(state)
        return cls(state.eta, _eta_variance(problem, state), *rates)

    def of_one(self, votes: FloatArray) -> _End:
        """With what one of those adds that a row stands for, in place of the row."""
        several = np.maximum(votes, 1.0)
        return replace(self, score=self.score / several, curvature=self.curvature / several)

    def without_own(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of every row's eta if the row itself had not been seen."""
        return without_own(self.eta, self.variance, self.score, self.curvature)


def row_checks(
    rows: Rows, problems: Sequence[Problem], states: Sequence[State], order: IntArray
) -> RowChecks:
    """From where a solver ended; there is one problem and one state a response.

    Row n of the design is row `order[n]` of the rows.
    """
    if rows.place is not None:
        problems, states, order = _of_given_rows(rows, rows.place, problems, states)
    family, y, weights = rows.family, rows.y[order], rows.weights[order]
    ends = [_End.of(*pair) for pair in zip(problems, states, strict=True)]
    votes = _votes(rows)
    information = float(ends[0].curvature.sum() / weights.sum())
    if votes is not None:
        ends = [end.of_one(weights) for end in ends]
    noise = problems[0].by_row(states[0].noise)
    family = family.at(noise, states[0].shape)
    if family.coupled:
        # Plug-in probabilities: with uncertain eta each would be a mean over hundreds of draws.
        eta = np.column_stack([end.eta for end in ends])
        alone = np.column_stack([end.without_own()[0] for end in ends])
        forecast = family.predictive(alone, np.zeros_like(eta), noise)
        average = [np.average(each, weights=weights) for each in family.responses(y)]
        fitted, null = family.probabilities(eta, np.zeros_like(eta)), np.tile(average, (y.size, 1))
    else:
        # What was taken off y before the fit.
        shift = (rows.exposure + rows.scale.center - rows.offset)[order]
        mean, variance = ends[0].without_own()
        forecast = family.for_rows(y).predictive(mean + shift, variance, noise)
        certain = not isinstance(states[0], Posterior)  # as a mode predicts
        fitted = family.mean(ends[0].eta + shift, CERTAIN if certain else ends[0].variance)
        null = np.full(len(y), family.average(y, weights))
    residual = np.empty(len(y), dtype=np.float32)
    at = _as_given(rows, order)
    residual[order[at]] = quantile_residuals(forecast.take(at), family.observed(y)[at])
    by_step = problems[0].design.by_step
    low, high = rows.column_ranges
    return RowChecks(
        residual=residual,
        codes=rows.codes.astype(np.int32),
        information=information,
        deviance=by_step(weights * family.prediction_loss(y, fitted)),
        null_deviance=by_step(weights * family.prediction_loss(y, null)),
        minimum=low.astype(np.float64),
        maximum=high.astype(np.float64),
        votes=votes,
    )


def _votes(rows: Rows) -> NDArray[np.float32] | None:
    """Weights of rows of classes, if they differ: so many of the same class a row stands for."""
    if rows.family.target != "classes" or np.ptp(rows.weights) == 0.0:
        return None
    return rows.weights.astype(np.float32)


def _of_given_rows(
    rows: Rows, place: IntArray, problems: Sequence[Problem], states: Sequence[State]
) -> tuple[list[Problem], list[State], IntArray]:
    """Problems and states as they would be had equal rows not been merged, and the rows' order.

    Their designs know which step a row belongs to, and nothing else.
    """
    order = np.argsort(rows.codes, kind="stable")
    place, steps = place[order], np.arange(rows.n_timesteps + 1)
    given = {"y": rows.target[order], "weights": rows.weights[order]}
    offsets = np.searchsorted(rows.codes[order], steps)
    wider = []
    for problem in problems:
        design = replace(cast("ColumnDesign", problem.design), step_offsets=offsets)
        parts = given | {"offset": problem.offset[place]}
        wider.append(Problem(**problem.parts() | parts | {"design": design}))
    found = [replace(s, eta=s.eta[place], eta_variance=s.eta_variance[place]) for s in states]
    return wider, found, order


def without_own(
    eta: FloatArray, variance: FloatArray, score: FloatArray, curvature: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of eta with the row's own term taken out of its posterior.

    That term has precision `curvature` and linear part `score + curvature * eta`; for the Gaussian
    it is the row's likelihood, elsewhere the normal one that the fit has in its place.
    """
    wider = variance / (1.0 - np.minimum(variance * curvature, MOST_OWN))
    return eta - wider * score, wider


def _as_given(rows: Rows, order: IntArray) -> IntArray:
    """Rows of the design in the order in which users gave them, step by step.

    Residuals of counts are drawn, and the draws go by that order.
    """
    given = getattr(rows, "given", None)
    if given is None or given.size != order.size:
        return np.arange(order.size)
    return np.lexsort((given[order], rows.codes[order]))


def quantile_residuals(forecast: Distribution, y: FloatArray) -> FloatArray:
    """Normal quantiles of the probability integral transform; NaN for a fraction among counts."""
    if isinstance(forecast, Normal):  # the way round would lose the digits of far-off rows
        return np.asarray((y - forecast.loc) / forecast.scale)
    places = forecast.pit(y, random_state=0)  # the same residuals every time
    found = ndtri(np.clip(places, LEAST, 1.0 - LEAST))
    return np.where(forecast.discrete & (y != np.floor(y)), np.nan, found)


def _eta_variance(problem: Problem, state: State) -> FloatArray:
    """(n_rows,) variance of eta; that of a mode is its intercepts' alone."""
    if not problem.family.quadratic:
        return np.broadcast_to(state.eta_variance, state.eta.shape)
    found = problem.intercept_row_variance(state)
    if isinstance(state, Posterior):
        moments = np.zeros((2, found.size))
        every, still = np.arange(len(state.beta)), np.zeros_like(state.beta)
        problem.design.add_moments_inplace(every, still, state.variance, moments)
        found += np.maximum(moments[1], 0.0)
    return found
