"""L-BFGS on the exact text objective, the paper's algorithm: what the learned text fit is up to.

The objective and its pieces are the project's: contexts, background, design, and the exact prior of
all words of an effect together, floored so that it is finite at zero. The gradient of the prior is
that of its quadratic bound, which touches it.
"""

import time as clock
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp

from driftglm.fitting.text_data import (
    collapse,
    effect_design,
    log_background,
    text_problem,
    varying,
)
from driftglm.priors import Exact, Fixed
from driftglm.solvers.text_mode import FLOOR, REFERENCE, ModeTextSolver, TiedPrior

GOAL = 1e-4
SMOOTHING = 0.5
N_START_PASSES = 15


@dataclass(frozen=True)
class Found:
    """How L-BFGS ended; `relative` and `value` are those of the last iterate accepted."""

    seconds: float
    start_seconds: float
    n_evaluations: int
    relative: float
    value: float

    @property
    def reached(self):
        """Whether the gradient has become small enough."""
        return self.relative <= GOAL


class TextObjective:
    """Minus the floored log posterior of (V, F, T) paths, and its gradient."""

    def __init__(self, counts, effects, step):
        n_steps = int(step.max()) + 1
        contexts = collapse(sp.csr_array(counts), effects, step)
        chosen = varying(contexts, "step")
        contexts = collapse(contexts.counts, contexts.effects[:, chosen], contexts.codes)
        base = log_background(contexts.counts, contexts.codes, n_steps, "step", SMOOTHING)
        design = effect_design(contexts, n_steps, "step", np.ones(int(chosen.sum())))
        self.problem = text_problem(contexts, base, design)
        squares = design.squares(contexts.totals).sum(axis=1)
        self.order = np.argsort(-squares, kind="stable").astype(np.int64)
        self.mean_square = squares / contexts.totals.sum()
        self.prior = TiedPrior(Exact(), True, FLOOR * REFERENCE / self.mean_square)
        members = [np.flatnonzero(contexts.codes == t) for t in range(n_steps)]
        self.steps = [
            (
                contexts.counts[rows].toarray(),
                contexts.effects[rows] - design.center[:, t],
                base[t],
            )
            for t, rows in enumerate(members)
        ]

    def start(self):
        """A few passes of ridge over time, as the project's own solver starts."""
        ridge = ModeTextSolver(
            Fixed(1.0, 0.9, "stationary"), True, self.order, self.mean_square, n_jobs=-1
        )
        return ridge.solve(self.problem, max_iter=N_START_PASSES, tol=1e-3).state.beta

    def __call__(self, beta):
        """Value and gradient, both of what is minimised."""
        log_density, penalties, _ = self.prior.evaluate(beta)
        value = -log_density
        gradient = prior_gradient(beta, penalties)
        for t, (counts, effects, base) in enumerate(self.steps):
            eta = effects @ beta[:, :, t].T + base
            log_p = eta - logsumexp(eta, axis=1, keepdims=True)
            value -= float(np.sum(counts * log_p))
            surplus = counts.sum(axis=1, keepdims=True) * np.exp(log_p) - counts
            gradient[:, :, t] += surplus.T @ effects
        return value, gradient


def prior_gradient(beta, penalties):
    """Of minus the log density: omega beta_t + omega_alpha (neighbours) + omega_end at the ends."""
    omega, omega_alpha, omega_end = (penalties[..., k][..., None] for k in range(3))
    out = omega * beta
    out[:, :, 1:] += omega_alpha * beta[:, :, :-1]
    out[:, :, :-1] += omega_alpha * beta[:, :, 1:]
    out[:, :, [0]] += omega_end * beta[:, :, [0]]
    out[:, :, [-1]] += omega_end * beta[:, :, [-1]]
    return out


def lbfgs_text(data, limit):
    """Minimise until the gradient is small, or time is up.

    Small is 1e-4 of what it was at the start, or of the objective, whatever comes first.
    """
    objective = TextObjective(data.X, np.asarray(data.y), data.step)
    began = clock.perf_counter()
    start = objective.start()
    start_seconds = clock.perf_counter() - began
    norms, seen, accepted = [], [], []

    def evaluate(x):
        value, gradient = objective(x.reshape(start.shape))
        norms.append(float(np.linalg.norm(gradient)))
        seen[:] = [norms[-1] / max(norms[0], abs(value)), value]
        if not accepted:  # the start
            accepted[:] = seen
        return value, gradient.ravel()

    def after_step(_):
        # A line search ends with the point it accepts, so that this is the one evaluated last.
        accepted[:] = seen
        if accepted[0] <= GOAL or clock.perf_counter() - began > limit:
            raise StopIteration

    minimize(
        evaluate,
        start.ravel(),
        method="L-BFGS-B",
        jac=True,
        callback=after_step,
        options={"maxiter": 100_000, "maxfun": 100_000, "ftol": 0.0, "gtol": 0.0},
    )
    seconds = clock.perf_counter() - began
    return Found(seconds, start_seconds, len(norms), *accepted)
