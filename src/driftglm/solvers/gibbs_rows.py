"""Rows as normal ones: what a family becomes given a variable a row, which is drawn.

Given it, the log-likelihood of a row is quadratic in eta: it has the score and the curvature that
every update of a path takes, and the model is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftglm._typing import FloatArray
from driftglm.families import Binomial, Family, Gaussian, SoftmaxClass, Student
from driftglm.objective import Problem
from driftglm.solvers.polya_gamma import draw_inplace

N_SHRINKS = 100
Rows = tuple[FloatArray, FloatArray]
"""Score and curvature of every row, times the noise where there is one."""


def can_be_sampled(family: Family) -> bool:
    """Whether there are draws for a family."""
    return type(family) in {Gaussian, Student, Binomial, SoftmaxClass} or is_count(family)


def is_count(family: Family) -> bool:
    """Whether paths are proposed and accepted or not (see `gibbs_counts`)."""
    return family.name in {"poisson", "negative-binomial", "beta-binomial"}


def is_student(family: Family) -> bool:
    """Whether a row has a weight of its own that is drawn."""
    return type(family) is Student


def quadratic_rows(
    problem: Problem, eta: FloatArray, noise: FloatArray, shape: float, rng: np.random.Generator
) -> Rows:
    """Score and curvature of the rows at eta; `noise` is one number a row."""
    y, weights, family = problem.y, problem.weights, problem.family
    if isinstance(family, Student):
        rate = 0.5 * (shape + (y - eta) ** 2 / noise)
        weights = rng.standard_gamma(0.5 * (shape + 1.0), y.size) / rate
    if isinstance(family, Binomial | SoftmaxClass):
        omega = np.empty(y.size)
        draw_inplace(weights, eta, rng, omega)
        return weights * (y - 0.5) - omega * eta, omega
    return weights * (y - eta), weights


def slice_draw(
    log_density: Callable[[float], float],
    now: float,
    bounds: tuple[float, float],
    rng: np.random.Generator,
    width: float = 1.0,
) -> float:
    """The next state of one number (Neal 2003): a slice stepped out and shrunk, within bounds."""
    level = log_density(now) - rng.standard_exponential()
    low = now - width * rng.random()
    high = low + width
    while low > bounds[0] and log_density(low) > level:
        low -= width
    while high < bounds[1] and log_density(high) > level:
        high += width
    low, high = max(low, bounds[0]), min(high, bounds[1])
    for _ in range(N_SHRINKS):
        new = float(rng.uniform(low, high))
        if log_density(new) > level:
            return new
        low, high = (new, high) if new < now else (low, new)
    return now


def draw_shape(
    problem: Problem,
    eta: FloatArray,
    noise: FloatArray,
    shape: float,
    rng: np.random.Generator,
) -> float:
    """The family's own parameter given eta and noise, what the rows have of their own left out."""
    bounds = problem.shape.bounds
    if not problem.shape.learned or bounds is None:
        return shape

    def log_density(log_shape: float) -> float:
        value = float(np.exp(log_shape))
        return problem.certain_likelihood(eta, noise, value) + problem.shape.log_prior(value)

    ends = float(np.log(bounds[0])), float(np.log(bounds[1]))
    return float(np.exp(slice_draw(log_density, float(np.log(shape)), ends, rng)))
