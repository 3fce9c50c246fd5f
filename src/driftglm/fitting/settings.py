"""How a fit is made: what an estimator's parameters say once they are checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from driftglm.fitting.starts import Init
from driftglm.priors import Prior
from driftglm.solvers.sampling import Sampling

NoiseName = Literal["auto", "constant", "drift"]
SolverName = Literal["auto", "block", "lbfgs"]
Seasonality: TypeAlias = int | Literal["auto"] | None


@dataclass(frozen=True)
class Settings:
    """How rows are fitted.

    Parameters
    ----------
    prior
        The distribution of a coefficient path.
    solver, init, n_starts, max_iter, tol
        As the estimators have them.
    noise
        The noise variance or dispersion if it is given; "constant" or "drift": how it is
        estimated where there is one; "auto": whether it drifts is up to prior and steps.
    verbose
        Show progress on standard error.
    seasonality
        Steps a cycle; "auto": from the time axis; None: there are no seasons.
    sampling
        How the joint posterior is sampled after the fit; None: it is not.
    seed, threads
        Of the draws; no figure depends on the number of threads.
    follows
        What is done after the fit, for what is said of progress.
    """

    prior: Prior
    solver: SolverName = "auto"
    init: Init = "auto"
    n_starts: int = 1
    max_iter: int = 1000
    tol: float = 1e-4
    noise: float | NoiseName = "auto"
    verbose: bool = False
    seasonality: Seasonality = None
    sampling: Sampling | None = None
    seed: int = 0
    threads: int = 1
    follows: str = ""

    @property
    def given_noise(self) -> float | None:
        """The noise variance or dispersion if it is given."""
        return None if isinstance(self.noise, str) else self.noise
