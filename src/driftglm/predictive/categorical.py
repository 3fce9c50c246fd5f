"""Categorical forecasts, of one of K classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.predictive._checks import PROBABILITY, check_codes
from driftglm.predictive._tables import cdf_at, cumulative, quantile_of, ranked
from driftglm.predictive.base import Discrete

_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Categorical(Discrete):
    """One of K classes a row; y is its code, 0 to K - 1.

    Parameters
    ----------
    probabilities
        (n, K), rows of sum 1. A sum that is off by less than 1e-6 is divided out.

    Notes
    -----
    Codes of classes without an order have no mean, so `mean`, `variance` and `std` are refused;
    `mode` is the most probable class. `cdf`, `quantile`, `interval` and `crps` follow the order of
    the codes, and say something only if the classes have one; `log_prob` and `brier` need none.

    Examples
    --------
    >>> from driftglm.predictive import Categorical
    >>> forecast = Categorical([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    >>> forecast.mode.tolist()
    [0.0, 2.0]
    """

    probabilities: FloatArray

    def __post_init__(self) -> None:
        """Probabilities are checked."""
        table = np.array(self.probabilities, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] == 0:  # noqa: PLR2004
            raise DataError(
                f"probabilities have shape {table.shape}; a row for each forecast and a column "
                f"for each class are wanted."
            )
        PROBABILITY.check("probabilities", table)
        totals = table.sum(axis=1, keepdims=True)
        if (off := np.abs(totals - 1.0) > _ROUNDING).any():
            row = int(np.argmax(off))
            raise DataError(
                f"The probabilities of row {row} sum to {totals[row, 0]:.9g}; the sum must be 1."
            )
        object.__setattr__(self, "probabilities", table / totals)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.probabilities.shape[1])

    @property
    def mode(self) -> FloatArray:
        """Code of the most probable class, the first of equals."""
        return np.asarray(np.argmax(self.probabilities, axis=1), dtype=np.float64)

    @property
    def mean(self) -> FloatArray:
        """Refused."""
        raise DataError("Classes have no mean; use probabilities or mode.")

    @property
    def variance(self) -> FloatArray:
        """Refused."""
        raise DataError("Classes have no variance; use probabilities or mode.")

    def brier(self, y: ArrayLike) -> FloatArray:
        """Sum over classes of the squared error of the probability, from 0 to 2."""
        values = self._values(y)
        check_codes(values, self.n_classes)
        hit = values[..., None] == np.arange(self.n_classes)
        return np.asarray(np.sum((self.probabilities - hit) ** 2, axis=-1))

    def _cdf(self, y: FloatArray) -> FloatArray:
        return cdf_at(cumulative(self.probabilities), y)

    def _log_prob(self, y: FloatArray) -> FloatArray:
        possible = (y == np.floor(y)) & (y >= 0) & (y < self.n_classes)
        code = np.where(possible, y, 0).astype(np.int64)
        found = self.probabilities[np.arange(self.n_rows), code]
        return np.log(np.where(possible, found, 0.0))

    def _quantile(self, levels: FloatArray) -> FloatArray:
        return quantile_of(cumulative(self.probabilities), levels)

    def _draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        steps = cumulative(self.probabilities)
        places = rng.uniform(size=(n_draws, self.n_rows))
        return np.stack([(steps <= place[:, None]).sum(axis=1) for place in places])

    def _crps(self, y: FloatArray) -> FloatArray:
        check_codes(y, self.n_classes)
        return ranked(self.probabilities, cumulative(self.probabilities), y)
