"""Which rows belong together: labels of groups become numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from driftglm._typing import IntArray, VectorLike
from driftglm.exceptions import DataError

UNSEEN = -1
"""The number of a group that a fit has not seen."""


def read_groups(
    groups: VectorLike, n_rows: int, known: np.ndarray | None = None
) -> tuple[np.ndarray, IntArray]:
    """Labels, sorted, and the number of every row's group; `known` labels keep their numbers."""
    values = _labels(groups, n_rows)
    if known is None:
        labels, numbers = np.unique(values, return_inverse=True)
        return labels, numbers.ravel().astype(np.int64)
    numbers = numbers_of(values, known)
    new = np.unique(values[numbers == UNSEEN])
    labels = np.concatenate([known, new]) if new.size else known
    numbers[numbers == UNSEEN] = known.size + np.searchsorted(new, values[numbers == UNSEEN])
    return labels, numbers


def known_groups(groups: VectorLike, n_rows: int, labels: np.ndarray) -> IntArray:
    """(n_rows,) number of every row's group, UNSEEN where the fit has not seen it."""
    return numbers_of(_labels(groups, n_rows), labels)


def numbers_of(values: np.ndarray, labels: np.ndarray) -> IntArray:
    """Positions in `labels`, which need not be sorted; UNSEEN where there is none."""
    if values.dtype.kind != labels.dtype.kind and "U" in {values.dtype.kind, labels.dtype.kind}:
        raise DataError(
            f"groups holds {values[0].item()!r} and the model was fitted with groups such as "
            f"{labels[0].item()!r}; pass ids of the same type."
        )
    order = np.argsort(labels, kind="stable")
    places = np.searchsorted(labels[order], values)
    found = order[np.minimum(places, labels.size - 1)]
    return np.where(labels[found] == values, found, UNSEEN).astype(np.int64)


def check_groups(group: IntArray, codes: IntArray, *, new: bool = True) -> None:
    """Raise a DataError about groups whose effects could be told from nothing else."""
    if not new:
        return
    n_groups, n_steps = np.unique(group).size, np.unique(codes).size
    pairs = np.unique(np.column_stack([group, codes]), axis=0)
    if n_groups == group.size:
        raise DataError(
            f"groups has {n_groups} ids for {group.size} rows, one each; an effect of a single row "
            "is noise. Pass the id of what several rows have in common, or leave groups out."
        )
    if n_groups == 1:
        raise DataError(
            "groups has one id for all rows; its effect is the intercept. Leave groups out."
        )
    if n_steps > 1 and len(pairs) == n_steps:
        raise DataError(
            f"every one of the {n_steps} steps holds one group; its effect is the intercept of the "
            "step. Pass smaller groups, or leave groups out."
        )


def _labels(groups: VectorLike, n_rows: int) -> np.ndarray:
    """Ids as whole numbers or text, one a row, none missing."""
    if groups is None or np.ndim(groups) == 0:
        raise DataError("groups is a single value; pass one id per row.")
    if np.shape(groups) != (n_rows,):
        raise DataError(
            f"groups has shape {np.shape(groups)} but X has {n_rows} rows; pass one id per row. "
            "Several columns of ids are one column of their combinations."
        )
    found = pd.Series(np.asarray(groups) if not hasattr(groups, "dtype") else groups)
    missing = found.isna().to_numpy(dtype=np.bool_)
    if missing.any():
        raise DataError(
            f"groups has no id in {int(missing.sum())} of {n_rows} rows, first in row "
            f"{int(missing.argmax())}; give every row an id (one of its own where it stands "
            "alone), or drop these rows."
        )
    kind = found.dtype.kind if isinstance(found.dtype, np.dtype) else "O"
    if kind in "iub":
        return found.to_numpy(dtype=np.int64)
    if kind == "f" and (found == np.floor(found)).all():
        return found.to_numpy(dtype=np.float64).astype(np.int64)
    return found.astype(str).to_numpy(dtype=np.str_)
