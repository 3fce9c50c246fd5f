"""Newton steps for a lasso whose sweeps are slow: as many columns as rows, nearly alike."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from driftglm._typing import FloatArray

NEARLY_ALIKE = 1e-10
"""Share of a typical curvature added to all, so that copies of a column are no obstacle."""
STEPS_AT_ONCE = 5
"""Steps in a row, as long as signs change."""


def newton_steps_inplace(
    products: FloatArray, beta: FloatArray, slope: FloatArray, strength: float
) -> None:
    """Take steps until signs stay as they are; coefficients that are zero remain so."""
    for _ in range(STEPS_AT_ONCE):
        if not newton_inplace(products, beta, slope, strength):
            return


def newton_inplace(
    products: FloatArray, beta: FloatArray, slope: FloatArray, strength: float
) -> bool:
    """Move the coefficients that are not zero towards their joint minimum, signs as they are.

    The best place along that way is taken, beyond changes of sign too, so that the objective never
    rises. `products` is X'X, or has it in its first rows and columns; `slope` is kept in step.
    Returns whether signs have changed: another step has something else to do then.
    """
    live = np.flatnonzero(beta)
    if not live.size:
        return False
    curvature = products[np.ix_(live, live)]
    least = NEARLY_ALIKE * float(np.trace(curvature)) / live.size
    aim = slope[live] - strength * np.sign(beta[live])
    try:
        factor = cho_factor(curvature + least * np.eye(live.size), overwrite_a=True)
    except LinAlgError:  # rounding has made copies differ: sweeps go on alone
        return False
    way = np.asarray(cho_solve(factor, aim))
    here = beta[live]
    step, at_zero = _best_step(here, way, float(aim @ way), float(way @ curvature @ way), strength)
    there = here + step * way
    there[at_zero] = 0.0
    beta[live] = there
    slope -= (there - here) @ products[live, : beta.size]
    return bool((np.sign(there) != np.sign(here)).any())


def _best_step(
    here: FloatArray, way: FloatArray, descent: float, curvature: float, strength: float
) -> tuple[float, list[int]]:
    """How far along a way the objective is least, and the coefficient that is zero there, if any.

    Its derivative along the way grows by `curvature`, and jumps where a coefficient passes zero.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.where(here * way < 0, -here / way, np.inf)
    derivative = -descent
    order = np.argsort(places, kind="stable")
    for k in order[np.isfinite(places[order])]:
        if derivative + places[k] * curvature >= 0:
            break
        derivative += 2.0 * strength * abs(float(way[k]))
        if derivative + places[k] * curvature >= 0:
            return float(places[k]), [int(k)]
    return (-derivative / curvature if curvature > 0 else 0.0), []
