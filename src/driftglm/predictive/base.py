"""What a forecast of rows is: one distribution a row, asked about all rows at once.

Inside, everything has rows on its last axis: parameters are (n,), values (n,) or (m, n), levels
(L, 1). numpy's broadcasting then does the rest, and no method loops over rows.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.files import Storable
from driftglm.predictive._checks import NUMBERS, Range, checked_level, checked_levels

RandomState = int | np.random.Generator | None


@dataclass(frozen=True, eq=False)
class Distribution(Storable, ABC):
    """Forecasts of n rows.

    Parameters of a distribution are one number a row; single numbers stand for all rows. They are
    held as arrays of 64-bit floats, and are checked once, when the forecast is made.

    Examples
    --------
    >>> from driftglm.predictive import Normal
    >>> forecast = Normal([0.0, 10.0], 1.0)  # two rows
    >>> forecast.interval(0.9).round(2).tolist()
    [[-1.64, 1.64], [8.36, 11.64]]
    >>> forecast.draws(5, random_state=0).shape
    (5, 2)
    """

    discrete: ClassVar[bool] = False
    """Whether y is a count or the code of a class; `pdf` is a probability then."""
    ranges: ClassVar[dict[str, Range]] = {}
    """What each parameter may be; finite numbers, where nothing is said."""

    if TYPE_CHECKING:
        # Not at run time: some distributions have a parameter `mean`, which a property would bar.

        @property
        def mean(self) -> FloatArray:
            """The mean of every row."""

    def __post_init__(self) -> None:
        """Parameters become arrays of one length."""
        names = [field.name for field in dataclasses.fields(self)]
        given = [np.asarray(getattr(self, name), dtype=np.float64) for name in names]
        try:
            arrays = np.broadcast_arrays(*given, np.empty(1))[:-1]
        except ValueError:
            arrays = ()
        if not arrays or arrays[0].ndim != 1:
            shapes = ", ".join(f"{name} {a.shape}" for name, a in zip(names, given, strict=True))
            raise DataError(
                f"The shapes of the parameters are {shapes}; they must be single numbers or "
                f"vectors of one length."
            )
        for name, array in zip(names, arrays, strict=True):
            self.ranges.get(name, NUMBERS).check(name, array)
            object.__setattr__(self, name, np.array(array))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(getattr(self, dataclasses.fields(self)[0].name).shape[0])

    @property
    @abstractmethod
    def variance(self) -> FloatArray:
        """The variance of every row."""

    @property
    def std(self) -> FloatArray:
        """The standard deviation of every row."""
        return np.sqrt(self.variance)

    def cdf(self, y: ArrayLike) -> FloatArray:
        """Probability of y or less; y is one number a row, or a grid of shape (m, n)."""
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            return self._cdf(self._values(y))

    def log_prob(self, y: ArrayLike) -> FloatArray:
        """Logarithm of `pdf`, which may be finite where `pdf` is too small for a float."""
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            return self._log_prob(self._values(y))

    def pdf(self, y: ArrayLike) -> FloatArray:
        """Density of y, or its probability if y is discrete."""
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(self.log_prob(y))

    def quantile(self, levels: ArrayLike) -> FloatArray:
        """Smallest y whose `cdf` reaches a level.

        Parameters
        ----------
        levels
            One number between 0 and 1, or a vector of them.

        Returns
        -------
        (n,) for one number, (n, L) for a vector of L. A higher level never has a lower quantile.
        """
        asked = checked_levels(levels)
        order = np.argsort(asked.ravel())
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            found = self._quantile(asked.ravel()[order][:, None])
        out = np.empty((self.n_rows, asked.size))
        # Rounding in the last digit of a cdf must not reorder quantiles.
        out[:, order] = np.maximum.accumulate(found, axis=0).T
        return out if asked.ndim else out[:, 0]

    def interval(self, level: float = 0.9) -> FloatArray:
        """Central interval of that probability, (n, 2): as much is left below as above."""
        outside = 0.5 * (1.0 - checked_level(level))
        return self.quantile([outside, 1.0 - outside])

    def draws(self, n_draws: int, random_state: RandomState = None) -> FloatArray:
        """Independent draws, (n_draws, n)."""
        if n_draws < 1:
            raise DataError(f"n_draws is {n_draws}; at least one draw must be asked for.")
        rng = np.random.default_rng(random_state)
        return np.asarray(self._draws(int(n_draws), rng), dtype=np.float64)

    def crps(self, y: ArrayLike) -> FloatArray:
        """Continuous ranked probability score: the integral of (cdf(x) - 1{x >= y})^2.

        In the unit of y; lower is better. For a forecast that is certain it is the absolute error.
        """
        values = self._values(y)
        if not np.isfinite(values).all():
            raise DataError("y has infinite values; only finite ones have a CRPS.")
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            # Below 0 is rounding.
            return np.maximum(self._crps(values), 0.0)

    def pit(self, y: ArrayLike, random_state: RandomState = None) -> FloatArray:
        """Probability integral transform: uniform between 0 and 1 if the forecasts are right.

        A discrete y is given a uniform place between cdf(y - 1) and cdf(y).
        """
        upper = self.cdf(y)
        if not self.discrete:
            return upper
        lower = self.cdf(np.asarray(y, dtype=np.float64) - 1.0)
        place = np.random.default_rng(random_state).uniform(size=upper.shape)
        return np.asarray(lower + place * (upper - lower))

    def take(self, rows: ArrayLike | slice) -> Self:
        """The distribution of some rows, given by a slice, a mask, or numbers that may repeat."""
        chosen = self._chosen(rows)
        names = (field.name for field in dataclasses.fields(self))
        return dataclasses.replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def _chosen(self, rows: ArrayLike | slice) -> FloatArray:
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        return np.atleast_1d(np.arange(self.n_rows)[index])

    def _values(self, y: ArrayLike) -> FloatArray:
        values = np.asarray(y, dtype=np.float64)
        if values.ndim not in {1, 2} or values.shape[-1] != self.n_rows:
            raise DataError(
                f"y has shape {values.shape}, and the forecast has {self.n_rows} rows; y must be "
                f"one number a row, or a grid of shape (m, {self.n_rows})."
            )
        if np.isnan(values).any():
            raise DataError(
                f"y is NaN in {np.isnan(values).sum()} places; leave those rows out with take()."
            )
        return values

    @abstractmethod
    def _cdf(self, y: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _log_prob(self, y: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _quantile(self, levels: FloatArray) -> FloatArray:
        """(L, n) for levels that rise, of shape (L, 1)."""

    @abstractmethod
    def _draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray: ...

    @abstractmethod
    def _crps(self, y: FloatArray) -> FloatArray: ...


class Discrete(Distribution):
    """Forecasts of whole numbers, from 0 on.

    Examples
    --------
    >>> from driftglm.predictive import Discrete, Normal, Poisson
    >>> isinstance(Poisson(3.0), Discrete), isinstance(Normal(0.0, 1.0), Discrete)
    (True, False)
    """

    discrete: ClassVar[bool] = True

    def pmf(self, y: ArrayLike) -> FloatArray:
        """Probability of y; the same as `pdf`."""
        return self.pdf(y)

    def _smooth_cdf(self, y: FloatArray) -> FloatArray:
        """A curve through the cdf at whole numbers, for sums over very many of them."""
        below = np.floor(y)
        return self._cdf(below) + (y - below) * (self._cdf(below + 1.0) - self._cdf(below))
