"""What a family of distributions is: functions of the linear predictor, and what it is called.

A family knows neither X nor the prior. During a fit eta is uncertain, with a mean and a variance
per row, and a family is what it makes of both: the expected log-likelihood F(mean, variance) (or a
lower bound of it) and its two derivatives. Solvers work on the model

    F(mean + d, variance + v) ~ F + precision * sum (score * d - curvature * (d^2 + v) / 2)

with score = dF / dmean and curvature = -2 dF / dvariance; `precision` is 1 / noise for families
with a noise variance (or a dispersion) and 1 for the others. For the Gaussian the model is exact.
Where it is a lower bound (`bounded`) every step of a solver is an ascent; elsewhere solvers check,
and damp their step if the model promised too much.

Everything else that depends on the family is said here too, once: how its target is read, what a
prediction is judged by, how data are drawn. Estimators, baselines, evaluation, the command line,
reports and files look it up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, TypeAlias

import numpy as np

from driftglm._typing import BoolArray, FloatArray
from driftglm.exceptions import DataError
from driftglm.predictive import Distribution

Target = Literal["numbers", "classes"]
Array: TypeAlias = FloatArray
"""One number a row; a column a class, where a row has several linear predictors."""
CERTAIN = np.zeros(1)
"""The variance of an eta that is known."""


@dataclass(frozen=True)
class Scale:
    """How large things are before a fit.

    Parameters
    ----------
    center
        Where eta lies if nothing explains y; 0 without an intercept.
    reference
        The variance of eta there is to explain.
    noise, least_noise
        Where the estimate of the noise starts, and its least value (None: a share of that).
    effective_rows
        How many rows, in effect, tell a variance of eta from zero.
    """

    center: float
    reference: float
    noise: float
    least_noise: float | None
    effective_rows: float


class Family(ABC):
    """One distribution of y given eta. Adding a family means one subclass, registered.

    `variance` is the variance of eta per row, `noise` the noise variance or dispersion per row; an
    array of length one stands for all rows. `eta` and `offset` are on the scale of the link. New
    arrays are returned.
    """

    name: ClassVar[str]
    """What users type."""
    target: ClassVar[Target] = "numbers"
    """How y is read: as numbers, or as classes, which become 0, 1, ..."""
    link: ClassVar[str] = "identity"
    largest_mean: ClassVar[float] = np.inf
    """No mean above is predicted, whatever the columns of a row."""
    takes_exposure: ClassVar[bool] = False
    """Whether the mean may be proportional to an exposure."""
    takes_trials: ClassVar[bool] = False
    """Whether y has two columns, successes and failures: a row of y is then what methods take."""
    positive: ClassVar[bool] = False
    """Whether y is never negative."""
    noise_label: ClassVar[str | None] = None
    """What the noise is called, None where there is none: "noise variance", "dispersion"."""
    noise_meaning: ClassVar[str] = ""
    """What that is, where the name does not say it."""
    noise_drifts: ClassVar[bool] = False
    """Whether the noise may differ from step to step."""
    metric: ClassVar[str]
    """What `compare` calls `prediction_loss`."""
    metric_label: ClassVar[str]
    coupled: ClassVar[bool] = False
    """Whether every class has a response, so that eta of a row is a vector: methods for people then
    take and return arrays with a column a class."""
    more_classes: ClassVar[str | None] = None
    two_classes: ClassVar[str | None] = None
    """The family for more than two classes, where this one is for two; and the other way round."""
    quadratic: ClassVar[bool] = False
    """Whether the model above is exact, so that its curvature never changes."""
    shape_range: ClassVar[tuple[float, float] | None] = None
    """Where the family has a parameter of its own beside eta and noise, its least and largest
    value: a dispersion that does not divide the log-likelihood, or degrees of freedom."""

    # ------------------------------------------------------------- for solvers

    @property
    @abstractmethod
    def has_noise(self) -> bool:
        """True if there is a noise variance or dispersion to estimate."""

    @property
    def has_dispersion(self) -> bool:
        """True if there is a noise variance or dispersion to report, or to be given."""
        return self.has_noise or self.shape_range is not None

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """True if the model above never exceeds F."""

    @abstractmethod
    def log_likelihood(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> float:
        """F: weighted sum of E[log p(y | eta)], all constants included."""

    @abstractmethod
    def score(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """Derivative of F with respect to the mean, times the noise variance."""

    @abstractmethod
    def curvature(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """-2 times the derivative of F with respect to the variance, times the noise variance."""

    def at(self, noise: Array, shape: float) -> Self:
        """The variant that takes its own parameter to be `shape`, and the noise for known."""
        del noise, shape
        return self

    def shape_start(self, y: Array, weights: Array, offset: Array) -> float:
        """Where the search for the shape begins; 1 where there is none."""
        del y, weights, offset
        return 1.0

    def working(self, y: Array, eta: Array, weights: Array) -> tuple[Array, Array]:
        """Score and curvature of a scoring step from a certain eta."""
        return self.score(y, eta, CERTAIN, weights), self.curvature(y, eta, CERTAIN, weights)

    def evaluate(
        self, y: Array, mean: Array, variance: Array, weights: Array, noise: Array
    ) -> tuple[float, Array, Array]:
        """Log-likelihood, score and curvature together; families that gain by it do so at once."""
        return (
            self.log_likelihood(y, mean, variance, weights, noise),
            self.score(y, mean, variance, weights),
            self.curvature(y, mean, variance, weights),
        )

    @abstractmethod
    def expected_deviance(self, y: Array, mean: Array, variance: Array, weights: Array) -> Array:
        """What the noise is estimated from: weighted expected squares or deviances of the rows."""

    @abstractmethod
    def center(self, y: Array, weights: Array, offset: Array) -> float:
        """The constant to add to the offset if there is nothing else to explain y; finite."""

    @abstractmethod
    def reference(self, y: Array, weights: Array, offset: Array) -> float:
        """The variance of eta if features explained all there is to explain, roughly."""

    @abstractmethod
    def effective_rows(self, y: Array, weights: Array, offset: Array) -> float:
        """How small a variance of eta can be told from zero: the reference over this number.

        That is the reference times the information about a constant in all rows together.
        """

    def noise_scale(self, y: Array, weights: Array, offset: Array) -> tuple[float, float | None]:
        """Where the estimate of the noise starts, and its least value (None: a share of that).

        `offset` has the center in it.
        """
        return self.reference(y, weights, offset), None

    def scale(self, y: Array, weights: Array, exposure: Array, *, intercept: bool) -> Scale:
        """How large things are, `exposure` being on the scale of the link."""
        center = self.center(y, weights, exposure) if intercept else 0.0
        offset = exposure + center
        noise, least = self.noise_scale(y, weights, offset)
        told = self.effective_rows(y, weights, offset)
        return Scale(center, self.reference(y, weights, offset), noise, least, told)

    def for_fit(self, *, posterior: bool, noise_asked: bool) -> Self:
        """The variant that suits a posterior or a mode.

        `noise_asked`: the user wants the noise estimated, or gave it.
        """
        del posterior, noise_asked
        return self

    def for_classes(self, n_classes: int) -> Self:
        """With so many classes."""
        del n_classes
        return self

    def tilted(self, tilt: Array) -> Self:
        """With an array that whoever couples the responses changes, to tighten their bound."""
        del tilt
        return self

    def responses(self, y: Array) -> list[Array]:
        """The targets of the regressions that are fitted: one, or one a class."""
        return [y]

    # ----------------------------------------------------- y, where it has two columns

    def read_target(self, y: Array, trials: Array | None) -> Array:
        """y as the methods take it, from what a user gave."""
        if trials is not None:
            raise DataError(
                f"family {self.name!r} takes no trials; leave them out, or use "
                "family='beta-binomial'."
            )
        return y

    def empty(self, y: Array) -> BoolArray:
        """Rows of y that say nothing, and are left out."""
        return np.zeros(len(y), dtype=np.bool_)

    def observed(self, y: Array) -> Array:
        """The number that a predictive distribution is about."""
        return y

    def average(self, y: Array, weights: Array) -> float:
        """The mean that is predicted if nothing explains y."""
        return float(np.average(y, weights=weights))

    def for_rows(self, y: Array) -> Self:
        """The variant whose `predictive` is about rows with this y, of so many trials."""
        del y
        return self

    def with_trials(self, trials: Array) -> Self:
        """The variant whose `predictive` is about rows of so many trials."""
        del trials
        raise DataError(f"family {self.name!r} takes no trials; leave them out.")

    # -------------------------------------------------------------- for people

    @abstractmethod
    def check_target(self, y: Array) -> None:
        """Raise a DataError if y cannot come from this family."""

    @abstractmethod
    def mean(self, eta: Array, variance: Array) -> Array:
        """E[y], the uncertainty of eta integrated out."""

    def probabilities(self, mean: Array, variance: Array) -> Array:
        """(n_rows, n_classes) of a target of classes."""
        del mean, variance
        raise DataError(f"family {self.name!r} has no classes, and so no probabilities.")

    @abstractmethod
    def loss(self, y: Array, eta: Array) -> Array:
        """Minus log p(y | eta) of every row at unit noise, without what does not depend on eta."""

    def loss_derivatives(self, y: Array, eta: Array) -> tuple[Array, Array]:
        """First and second derivative of `loss` with respect to eta."""
        # The variant for posteriors: the curvature of the one for modes may be that of a bound.
        exact, ones = self.for_fit(posterior=True, noise_asked=False), np.ones_like(eta)
        return -exact.score(y, eta, CERTAIN, ones), exact.curvature(y, eta, CERTAIN, ones)

    @abstractmethod
    def prediction_loss(self, y: Array, mean: Array) -> Array:
        """What a predicted mean is judged by, row by row; infinite where it is impossible."""

    @abstractmethod
    def draw(self, eta: Array, noise: float, rng: np.random.Generator) -> Array:
        """Targets drawn at a known eta."""

    @abstractmethod
    def predictive(self, mean: Array, variance: Array, noise: Array) -> Distribution:
        """The distribution of y, the uncertainty of eta integrated out."""

    def probability_interval(self, mean: Array, variance: Array, level: float) -> Array:
        """(n_rows, 2), or (n_rows, n_classes, 2): central intervals of the probability itself.

        A predictive distribution of classes does not show how uncertain their probabilities are.
        """
        del mean, variance, level
        raise DataError(f"family {self.name!r} has no classes, and so no probabilities.")


def refuse(y: Array, bad: np.ndarray, allowed: str) -> None:
    """Raise a DataError about the first target that is `bad`."""
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"y is {y[row]} at row {row}; {allowed}")
