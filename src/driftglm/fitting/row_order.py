"""Small fits do not depend on the order of rows: inside, rows have an order of their own.

Sums of floating-point numbers depend on the order of their terms in the last digit, and where a
problem is hard (rows of weights that differ by many orders, next to no rows a step) last digits
grow. Rows are sorted by step, and those of a step by what they say.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, fields

import numpy as np

from driftglm._typing import FloatArray, IntArray, Matrix
from driftglm.fitting.residuals import RowChecks
from driftglm.fitting.rows import Rows

MOST = 2**21
"""Entries of X, at most: more would be a copy too many, and last digits matter less."""


@dataclass(frozen=True)
class OrderedRows(Rows):
    """Rows in an order of their own; `given` is the place of each in that of the user."""

    given: IntArray = field(kw_only=True)


def may_be_sorted(rows: Rows) -> bool:
    """Whether there are few enough; those on workers stay where they are."""
    return type(rows) is Rows and getattr(rows.X, "nnz", np.size(rows.X)) <= MOST


def in_own_order(rows: Rows) -> tuple[Rows, IntArray | None]:
    """The same rows, sorted, and the place that each had; None: they stay as they are."""
    if not may_be_sorted(rows):
        return rows, None
    keys = [*np.atleast_2d(rows.y.T), rows.exposure, rows.weights, _sums(rows.X), rows.codes]
    order = np.lexsort(keys if rows.group is None else [rows.group, *keys])
    parts = {name: getattr(rows, name)[order] for name in ("X", *rows.row_fields)}
    known = {each.name: getattr(rows, each.name) for each in fields(Rows) if each.init}
    return OrderedRows(**(known | parts), given=order), order


def _sums(X: Matrix) -> FloatArray:
    """A number a row, the same to the last digit wherever the row is."""
    weights = np.random.default_rng(0).normal(size=X.shape[1])
    if isinstance(X, np.ndarray):
        return np.asarray((np.ascontiguousarray(X) * weights).sum(axis=1))
    return np.asarray(X @ weights)


def as_given(checks: RowChecks | None, order: IntArray | None) -> RowChecks | None:
    """What is known of every row, in the order in which rows were given."""
    if checks is None or order is None:
        return checks
    place = np.argsort(order)
    votes = None if checks.votes is None else checks.votes[place]
    residual, codes = checks.residual[place], checks.codes[place]
    return dataclasses.replace(checks, residual=residual, codes=codes, votes=votes)
