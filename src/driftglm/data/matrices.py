"""Matrices that are dense or sparse: the few operations for which numpy and scipy differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftglm._typing import FloatArray, Matrix


def squares(X: Matrix) -> Any:
    """Every entry squared, sparse if X is."""
    return X.multiply(X) if hasattr(X, "multiply") else np.asarray(X) ** 2


def divided(X: Matrix, scale: FloatArray) -> Any:
    """Every column divided by its scale, CSR if X is sparse."""
    return X.multiply(1.0 / scale).tocsr() if hasattr(X, "multiply") else np.asarray(X) / scale


def dense(X: Matrix) -> FloatArray:
    """As a plain array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
