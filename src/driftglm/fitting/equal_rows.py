"""Rows that say the same about a step: one row each, with the sum of their weights.

A likelihood is a sum over rows, each times its weight. Rows of a step with the same columns have
the same eta, so that those with the same y as well are one row of more weight; and where the family
takes shares, rows that differ in y are one row of their mean. Nothing else about a fit depends on
it but the time it takes: what rows are judged by one by one is computed from those that were given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray

LEAST_ROWS = 2000
"""Fewer rows are not worth looking at."""
WORTH = 0.9
"""Rows are merged where no larger share of them is left."""
Merge = tuple[IntArray, IntArray]
"""One row of every set of equal ones, and the set of every row; sets are sorted by step, those of a
step as their first rows are."""


def equal_rows(X: Any, codes: IntArray, numbers: list[FloatArray]) -> Merge | None:
    """Sets of rows that are equal in columns, step and `numbers`; None: there are few.

    Rows that are equal have equal sums, to the last digit; those with equal sums are compared.
    """
    n_rows = codes.size
    sparse = not isinstance(X, np.ndarray)
    if n_rows < LEAST_ROWS or not X.shape[1] or (sparse and not X.has_canonical_format):
        return None
    sums = np.asarray(X @ np.random.default_rng(0).normal(size=X.shape[1]))
    keys = (*numbers, sums, codes)
    order = np.lexsort(keys)
    new = np.zeros(n_rows, dtype=np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    if new.sum() > WORTH * n_rows:
        return None
    # A stable sort: the first row of a set is the first that was given.
    first, place = order[new], np.empty(n_rows, dtype=np.int64)
    sets = np.lexsort((first, codes[first]))
    rank = np.empty(sets.size, dtype=np.int64)
    rank[sets] = np.arange(sets.size)
    place[order] = rank[np.cumsum(new) - 1]
    first = first[sets]
    return (first, place) if _same(X, first[place], ~_in(first, n_rows)) else None


def _in(chosen: IntArray, count: int) -> BoolArray:
    found = np.zeros(count, dtype=np.bool_)
    found[chosen] = True
    return found


def _same(X: Any, first: IntArray, others: BoolArray) -> bool:
    """Whether some rows are the rows they are taken for."""
    one, other = X[np.flatnonzero(others)], X[first[others]]
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    parts = ("indptr", "indices", "data")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in parts)
