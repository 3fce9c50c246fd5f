"""What a prior over coefficient paths offers, and what a solver may ask of it.

Both boundaries of the chain need three numbers per path (or per group of tied paths):

    S = sum_t beta_t^2,   R = sum_t beta_t beta_{t+1},   E = beta_1^2 + beta_T^2.

A prior maps them to its log density and to the quadratic that touches it from below,

    log m(beta) >= const - (omega S + 2 omega_alpha R + omega_end E) / 2,

that is, to a tridiagonal precision matrix: omega on the diagonal, omega_alpha beside it,
omega_end added at the two corners. Solvers need nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.exceptions import DataError

Boundary = Literal["pinned", "stationary"]


def check_boundary(boundary: str) -> None:
    """Raise a DataError unless the name of the boundary is known."""
    if boundary not in ("pinned", "stationary"):
        raise DataError(
            f"boundary={boundary!r} is not known; choose 'pinned' (the paper's) or 'stationary'."
        )


@dataclass(frozen=True)
class PathStats:
    """S, R and E of every path (or group of tied paths), each of shape (n_groups,).

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm.priors import PathStats
    >>> stats = PathStats.of(np.array([[1.0, 2.0, 3.0]]))
    >>> float(stats.S[0]), float(stats.R[0]), float(stats.E[0])
    (14.0, 8.0, 10.0)
    """

    S: FloatArray
    R: FloatArray
    E: FloatArray

    @classmethod
    def of(cls, paths: FloatArray) -> PathStats:
        """Statistics of paths (n_paths, n_timesteps). At T = 1 both ends are the one step."""
        return cls(
            S=np.einsum("it,it->i", paths, paths),
            R=np.einsum("it,it->i", paths[:, :-1], paths[:, 1:]),
            E=paths[:, 0] ** 2 + paths[:, -1] ** 2,
        )

    def summed(self, groups: IntArray) -> PathStats:
        """Sum over the members of each group; labels must be 0..n_groups-1."""
        n = int(groups.max()) + 1
        S, R, E = (np.bincount(groups, part, n).astype(float) for part in (self.S, self.R, self.E))
        return PathStats(S, R, E)

    def floored(self, floor: FloatArray) -> PathStats:
        """S + floor: the density of the floored prior, finite at an exact zero."""
        return PathStats(self.S + floor, self.R, self.E)

    def take(self, keep: BoolArray | IntArray) -> PathStats:
        """The same for some of the paths."""
        return PathStats(self.S[keep], self.R[keep], self.E[keep])


@dataclass(frozen=True)
class Penalty:
    """A prior evaluated at given paths; every field has shape (n_groups,).

    `mean_alpha` and `mean_rho` are posterior means of the chain's two equivalent
    autocorrelation parameters, alpha = -rho / (1 + rho^2).

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm.priors import Exact, PathStats
    >>> penalty = Exact().evaluate(PathStats.of(np.array([[1.0, 1.0, 1.0]])), 3)
    >>> bool(penalty.omega[0] > 0), bool(penalty.omega_alpha[0] < 0)
    (True, True)
    """

    log_density: FloatArray
    omega: FloatArray
    omega_alpha: FloatArray
    omega_end: FloatArray
    mean_alpha: FloatArray
    mean_rho: FloatArray


class Prior:
    """The distribution of a coefficient path: what a prior can do, asked instead of its class.

    A fit gives a posterior (`posterior`; see `driftglm.priors.learned`) or the mode under a
    `PathPrior`.

    Examples
    --------
    >>> from driftglm.priors import Exact, Learned
    >>> Learned().posterior, Exact().posterior
    (True, False)
    """

    posterior: ClassVar[bool] = False
    """Whether fits are posteriors, with intervals, instead of modes."""

    n_directions: int = 0
    """Number of shared directions of all columns, at most."""

    @property
    def estimates_rate(self) -> bool:
        """Whether a rate is to be estimated in rounds of fits."""
        return False

    @property
    def rate_used(self) -> float | None:
        """The rate in use, for priors that have one."""
        return None

    def for_text(self) -> Prior:
        """What stands for this prior's name in a model of text."""
        return self


class PathPrior(Prior, ABC):
    """A density of one path, of which the mode is found. Adding a prior means one subclass.

    Examples
    --------
    >>> from driftglm.priors import Exact, Fixed, Learned, PathPrior
    >>> [isinstance(prior, PathPrior) for prior in (Exact(), Fixed(), Learned())]
    [True, True, False]
    """

    @property
    @abstractmethod
    def sparse(self) -> bool:
        """True if the density is infinite at zero: paths may become exactly zero."""

    @abstractmethod
    def evaluate(self, stats: PathStats, n_timesteps: int, n_tied: int = 1) -> Penalty:
        """Log density and quadratic bound of paths of one length, `n_tied` paths a group."""

    def search_nodes(self, n_timesteps: int) -> FloatArray | None:
        """A coarse mixture (n_nodes, 4) for the search of a start; None if not sparse.

        A row holds the coefficients of S, R and E in Q and a log weight: the density is about
        sum_k exp(weight_k) Q_k^(-T/2).
        """
        del n_timesteps
        return None

    def with_estimated_rate(self, *samples: tuple[PathStats, int, int]) -> Self:
        """The same with the rate that suits some paths, where there is a rate."""
        del samples
        return self

    def with_rate(self, rate: float) -> Self:
        """The same with a rate, where there is one."""
        del rate
        return self


def check_paths(paths: FloatArray) -> FloatArray:
    """Paths as a float64 array (n_paths, n_timesteps), or a DataError that says what was found."""
    try:
        array = np.asarray(paths, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"paths does not hold numbers ({error}); pass a 2-d array.") from error
    if array.ndim != 2 or array.shape[1] < 1:  # noqa: PLR2004
        raise DataError(
            f"paths has shape {array.shape}; pass one row per path and one column per timestep, "
            "e.g. model.coef_path_.T."
        )
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise DataError(
            f"path {int(np.argmax(bad))} has values that are not finite; "
            "drop the path or repair the values."
        )
    return array


def group_stats(paths: FloatArray, groups: IntArray | None) -> tuple[PathStats, IntArray]:
    """Statistics per group and the number of paths in each; no groups: each path alone."""
    stats = PathStats.of(paths)
    if groups is None:
        return stats, np.ones(paths.shape[0], dtype=np.int64)
    labels = np.asarray(groups)
    if labels.shape != (paths.shape[0],):
        raise DataError(
            f"groups has shape {labels.shape} but there are {paths.shape[0]} paths; "
            "pass one group label per path."
        )
    if not labels.size:
        return stats, np.ones(0, dtype=np.int64)
    _, codes = np.unique(labels, return_inverse=True)
    codes = codes.astype(np.int64)
    return stats.summed(codes), np.bincount(codes).astype(np.int64)
