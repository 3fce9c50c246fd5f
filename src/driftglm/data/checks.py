"""Numbers that come with the rows: targets, weights, exposures."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pandas as pd

from driftglm._typing import BoolArray, FloatArray, VectorLike
from driftglm.exceptions import DataError

SMALLEST, LARGEST = 1e-60, 1e60
"""Ratios of such numbers, a target over a column, can be squared and added up, and squares of a
target be multiplied: nothing vanishes or overflows."""
DIGITS = 15
"""What a number holds: beside one 10**15 times as large another is lost in rounding errors."""


def refuse_missing(values: pd.Series, name: str, cure: str) -> None:
    """Raise DataError if a column has gaps; `cure` says what to do."""
    missing = values.isna().to_numpy(dtype=np.bool_)
    if missing.any():
        raise DataError(
            f"column {name!r:.60} has no value in {int(missing.sum())} of {missing.size} rows, "
            f"first in row {int(missing.argmax())}; {cure}"
        )


def refuse_masked(values: object, name: str) -> None:
    """Raise DataError if entries of a masked array are masked: numbers beneath would be used."""
    if isinstance(values, np.ma.MaskedArray) and (
        n_masked := int(np.ma.getmaskarray(values).sum())
    ):
        raise DataError(
            f"{name} is a masked array with {n_masked} masked entries, beneath which there are "
            "numbers that nobody means; fill them (filled), or leave these rows out."
        )


def log_exposure(exposure: VectorLike, n_rows: int) -> FloatArray:
    """The logarithm of the exposure, one number a row; 0 where none is given."""
    values = per_row(exposure, n_rows, "exposure", "number")
    allowed = "exposures must be positive and finite. Drop rows without exposure: they say nothing."
    _refuse("exposure", values, ~(np.isfinite(values) & (values > 0)), allowed)
    _refuse_sizes("exposure", values)
    return np.asarray(np.log(values))


def check_numbers(y: np.ndarray) -> None:
    """Raise a DataError unless y holds numbers that can be multiplied; text is not enough."""
    if y.dtype.kind not in "fiub":
        raise DataError(
            f"y holds {type(first := y.flat[0]).__name__} values such as {first.item()!r}; pass "
            "numbers, one per row, e.g. y.astype(float) if they are numbers written as text; "
            "labels are for family='binomial' or 'multinomial'."
        )
    size = float(np.abs(y.astype(np.float64)).max())
    if size > LARGEST or 0 < size < SMALLEST:
        raise DataError(
            f"y has values of size {size:.3g}; sizes from {SMALLEST:g} to {LARGEST:g} can be "
            "fitted. Change its unit."
        )


def check_weights(sample_weight: VectorLike, n_rows: int) -> FloatArray:
    """Weights as floats, one a row, none negative, not all zero."""
    weights = per_row(sample_weight, n_rows, "sample_weight", "weight")
    allowed = "weights must be finite and not negative. Use 0 to leave a row out."
    _refuse("sample_weight", weights, ~np.isfinite(weights) | (weights < 0), allowed)
    if not weights.any():
        raise DataError("every sample weight is zero; at least one row must count.")
    heaviest = weights.max()
    _refuse_range("sample_weight", weights, (weights > LARGEST) | (heaviest < SMALLEST))
    # Where old rows are forgotten their digits are lost beside those of the heaviest.
    return np.where(weights < heaviest * 10.0**-DIGITS, 0.0, weights)


def per_row(given: VectorLike, n_rows: int, name: str, what: str) -> FloatArray:
    """What a user gave as floats, one a row; one number stands for all rows, None for 1."""
    refuse_masked(given, name)
    _refuse_complex(given, name)
    try:
        values = np.asarray(1.0 if given is None else given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} cannot be read as numbers ({error}); pass one {what} per row."
        ) from error
    if values.ndim == 0:
        return np.full(n_rows, values)
    if values.shape != (n_rows,):
        raise DataError(
            f"{name} has shape {values.shape} but X has {n_rows} rows; pass one {what} per row "
            f"(1-d; {name}.shape == (n_samples,))."
        )
    return values


def _refuse_complex(given: VectorLike, name: str) -> None:
    """Raise DataError about complex numbers, of which numpy would drop a part."""
    kind = ""
    with suppress(ValueError):  # lists of lists; they are no numbers, which is said elsewhere
        kind = np.asarray(given).dtype.kind
    if kind == "c":
        raise DataError(f"{name} holds complex numbers; pass real ones.")


def _refuse(name: str, values: FloatArray, bad: BoolArray, allowed: str) -> None:
    """Raise a DataError about the first value that is bad."""
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"{name} is {values[row]} at row {row}; {allowed}")


def _refuse_range(name: str, values: FloatArray, bad: BoolArray) -> None:
    """Raise a DataError about the first number that overflows or vanishes when multiplied."""
    _refuse(name, values, bad, f"sizes from {SMALLEST:g} to {LARGEST:g} can be used.")


def _refuse_sizes(name: str, values: FloatArray) -> None:
    """Raise a DataError about positive numbers that overflow, vanish or cannot be compared."""
    _refuse_range(name, values, (values < SMALLEST) | (values > LARGEST))
    n_orders = np.ptp(np.log10(values)) if values.size else 0.0
    if n_orders > DIGITS:
        raise DataError(
            f"{name} differs by {n_orders:.0f} orders of magnitude between rows, and numbers hold "
            f"{DIGITS} digits: what the least rows say is lost. Leave these out."
        )
