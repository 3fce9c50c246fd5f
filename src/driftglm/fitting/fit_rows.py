"""Rows become an outcome, whatever they are read from."""

from __future__ import annotations

from typing import cast

from driftglm.fitting.checkpoint import Checkpoint
from driftglm.fitting.modes import find_mode
from driftglm.fitting.outcome import Forecaster, Outcome
from driftglm.fitting.posteriors import infer_posterior
from driftglm.fitting.rows import Rows
from driftglm.fitting.settings import Settings
from driftglm.fitting.solver_runs import Runs
from driftglm.priors import Learned, PathPrior


def fit_rows(
    rows: Rows,
    settings: Settings,
    *,
    earlier: Forecaster | None = None,
    checkpoint: Checkpoint | None = None,
) -> Outcome:
    """Fit rows, wherever they are.

    Parameters
    ----------
    rows
        In memory or on workers.
    settings
        How.
    earlier
        A fit of fewer steps to continue from (learned prior).
    checkpoint
        A file to continue from, if it is there, and to write to.
    """
    runs = Runs(settings, checkpoint)
    if settings.prior.posterior:
        return infer_posterior(rows, cast("Learned", settings.prior), runs, earlier)
    return find_mode(rows, cast("PathPrior", settings.prior), runs)
