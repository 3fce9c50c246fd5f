"""From contexts and a background to a fitted text model: units, order, the right solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from driftglm._typing import BoolArray, FloatArray
from driftglm.design import ColumnDesign
from driftglm.fitting import text_data
from driftglm.fitting.text_bursts import Bursts
from driftglm.fitting.text_data import Background, Contexts
from driftglm.fitting.text_fit import ModeTextFit, PosteriorTextFit, TextFit
from driftglm.priors import Learned, PathPrior, Prior
from driftglm.solvers.base import Progress, SolverResult
from driftglm.solvers.journal import Journal
from driftglm.solvers.text_engine import WordEngine
from driftglm.solvers.text_learned import LearnedTextSolver
from driftglm.solvers.text_mode import ModeTextSolver, TextMode


@dataclass(frozen=True)
class TextSettings:
    """How to fit.

    `center` says about which mean effects are taken (None: about zero), `strength` asks for a lasso
    instead of the prior, `by_effect` ties all words of an effect, `intercept` gives the background
    a path of its own for every word. A mode has also converged when a pass raises the objective by
    less than `flat` per token. `engine` updates the words; None: threads of this process do.
    """

    prior: Prior
    by_effect: bool
    max_iter: int
    tol: float
    center: Background | None = None
    n_jobs: int | None = None
    strength: float = 0.0
    flat: float = 0.0
    intercept: bool = False
    engine: WordEngine | None = None


@dataclass(frozen=True)
class TextResult:
    """A fit and how its solver ended (`run`); `varies` are the effects that had a say."""

    fit: TextFit
    run: SolverResult[Any]
    varies: BoolArray
    rate: float | None = None


def solve_text(
    contexts: Contexts,
    base: FloatArray,
    settings: TextSettings,
    *,
    bursts: Bursts | None = None,
    start: TextMode | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> TextResult:
    """Fit contexts whose background is `base` (T, V), their tokens worth what `bursts` say."""
    prior, n_steps = settings.prior, base.shape[0]
    varies = text_data.varying(contexts, settings.center)
    # The paper's priors and ridge are about coefficients as the user scales them.
    unit = text_data.effect_units(contexts) if prior.posterior else np.ones(varies.size)
    n_effects = varies.size
    design = text_data.effect_design(contexts, n_steps, settings.center, unit)
    if settings.intercept:
        design, unit = design.with_intercept(), np.append(unit, 1.0)
        varies = np.append(varies, True)
    problem = text_data.text_problem(contexts, base, design, bursts)
    squares = design.squares(contexts.totals).sum(axis=1)
    order = np.argsort(-squares, kind="stable").astype(np.int64)
    order = order[varies[order]]
    run: dict[str, Any] = {"max_iter": settings.max_iter, "tol": settings.tol}
    run |= {"progress": progress, "journal": journal}
    common = (base, design.mean.T * unit, unit, n_effects)
    if prior.posterior:
        groups = np.arange(varies.size)
        if not settings.by_effect:
            # The background's path is of another kind than the effects', with weights of its own.
            groups = np.minimum(groups // n_effects, 1)
        scene = groups, order, largest_distance(design), settings.n_jobs, settings.engine
        learner = LearnedTextSolver(cast("Learned", prior), *scene)
        learned = learner.solve(problem, **run)
        fit: TextFit = PosteriorTextFit(*common, learned.state, settings.n_jobs)
        return TextResult(fit, learned, varies[:n_effects])
    how = settings.n_jobs, settings.strength, settings.flat, settings.engine
    mean_square = np.where(varies, squares / contexts.totals.sum(), 1.0)
    solver = ModeTextSolver(cast("PathPrior", prior), settings.by_effect, order, mean_square, *how)
    found = solver.solve(problem, start=start, **run)
    fit = ModeTextFit(*common, found.state)
    return TextResult(fit, found, varies[:n_effects], found.state.rate)


def largest_distance(design: ColumnDesign) -> FloatArray:
    """(F,) largest |x - center| over contexts and steps."""
    reach: FloatArray = np.abs(design.center).max(axis=1)
    for i in range(design.n_features):
        for t in range(design.n_timesteps):
            part = design.values[design.segments[i, t] : design.segments[i, t + 1]]
            reach[i] = np.abs(part - design.center[i, t]).max(initial=reach[i])
    return reach
