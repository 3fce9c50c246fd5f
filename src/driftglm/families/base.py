"""What a family of distributions offers: functions of the linear predictor, row by row.

A family knows neither X nor the prior. During a fit eta is uncertain, with a mean and a variance
per row, and a family is what it makes of both: the expected log-likelihood F(mean, variance) (or a
lower bound of it) and its two derivatives. Solvers work on the model

    F(mean + d, variance + v) ~ F + precision * sum (score * d - curvature * (d^2 + v) / 2)

with score = dF / dmean and curvature = -2 dF / dvariance; `precision` is 1 / noise for families
with a noise variance (or a dispersion) and 1 for the others. For the Gaussian the model is exact.
Where it is a lower bound (`bounded`) every step of a solver is an ascent; elsewhere solvers check,
and damp their step if the model promised too much.
"""

from __future__ import annotations

from typing import Protocol

from driftglm._typing import FloatArray


class Family(Protocol):
    """One distribution of y given eta. Adding a family means implementing this.

    `variance` is the variance of eta per row; an array of length one stands for all rows.
    """

    @property
    def has_noise(self) -> bool:
        """True if the family has a noise variance or dispersion to estimate."""
        ...

    @property
    def quadratic(self) -> bool:
        """True if the model above is exact, so that its curvature never changes."""
        ...

    @property
    def bounded(self) -> bool:
        """True if the model above never exceeds F."""
        ...

    def check_target(self, y: FloatArray) -> None:
        """Raise a DataError if y cannot come from this family."""
        ...

    def log_likelihood(
        self,
        y: FloatArray,
        mean: FloatArray,
        variance: FloatArray,
        weights: FloatArray,
        noise: float,
    ) -> float:
        """F: weighted sum of E[log p(y | eta)], all constants included."""
        ...

    def score(
        self, y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Derivative of F with respect to the mean, times the noise variance."""
        ...

    def curvature(
        self, y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """-2 times the derivative of F with respect to the variance, times the noise variance."""
        ...

    def evaluate(
        self,
        y: FloatArray,
        mean: FloatArray,
        variance: FloatArray,
        weights: FloatArray,
        noise: float,
    ) -> tuple[float, FloatArray, FloatArray]:
        """Log-likelihood, score and curvature together, new arrays; `separately` will do."""
        ...

    def squares(
        self, y: FloatArray, mean: FloatArray, variance: FloatArray, weights: FloatArray
    ) -> float:
        """What the noise is estimated from: the weighted sum of expected squares or deviances."""
        ...

    def mean(self, eta: FloatArray, variance: FloatArray) -> FloatArray:
        """E[y], the uncertainty of eta integrated out."""
        ...

    def center(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """The constant to add to the offset if there is nothing else to explain y; finite."""
        ...

    def reference(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """The variance of eta if features explained all there is to explain, roughly."""
        ...

    def effective_rows(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float:
        """How small a variance of eta can be told from zero: the reference over this number.

        That is the reference times the information about a constant in all rows together.
        """
        ...


def separately(
    family: Family,
    y: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    weights: FloatArray,
    noise: float,
) -> tuple[float, FloatArray, FloatArray]:
    """`evaluate` for a family that gains nothing from doing all three at once."""
    return (
        family.log_likelihood(y, mean, variance, weights, noise),
        family.score(y, mean, variance, weights),
        family.curvature(y, mean, variance, weights),
    )
