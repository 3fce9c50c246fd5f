"""Types of arrays and matrices, shared by all layers."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Matrix(Protocol):
    """A matrix as fits hold it: dense or scipy sparse, its rows can be taken and multiplied."""

    @property
    def shape(self) -> Any: ...

    def __getitem__(self, key: Any, /) -> Any: ...

    def __matmul__(self, other: Any, /) -> Any: ...


class HasShape(Protocol):
    """What numpy cannot turn into an array by itself, but scikit-learn can: scipy's sparse ones."""

    @property
    def shape(self) -> Any: ...


MatrixLike: TypeAlias = ArrayLike | HasShape
"""X as a user gives it: nested lists, an array, a sparse matrix, a pandas or polars frame."""
VectorLike: TypeAlias = ArrayLike | None
"""One value a row, or none: times, weights, exposures."""
