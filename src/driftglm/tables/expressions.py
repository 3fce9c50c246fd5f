"""Columns computed from others: log(size) or I(size**2), read as arithmetic and never run."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.tables.cells import named_cells
from driftglm.tables.columns import column, numbers
from driftglm.tables.reading import Table

FUNCTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "I": np.asarray,
    "abs": np.abs,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "sqrt": np.sqrt,
}
OPERATORS: dict[type[ast.AST], Callable[..., FloatArray]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
QUOTED = re.compile(r"`([^`]*)`")
MOST_LETTERS = 500


class Expression:
    """Arithmetic on columns; DataError if a text is anything else."""

    def __init__(self, text: str) -> None:
        self.text = text
        quoted: list[str] = []

        def placeholder(found: re.Match[str]) -> str:
            quoted.append(found.group(1))
            return f"_quoted_{len(quoted) - 1}"

        if len(text) > MOST_LETTERS:
            raise DataError(f"{text!r:.60} has {len(text)} letters; {MOST_LETTERS} are allowed.")
        try:
            self.tree = ast.parse(QUOTED.sub(placeholder, text).strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise DataError(f"{text!r:.60} is no arithmetic of columns ({error}).") from error
        self._quoted = {f"_quoted_{k}": name for k, name in enumerate(quoted)}
        self.columns: list[str] = []
        self._check(self.tree)

    def _check(self, node: ast.expr) -> None:
        """Find the columns; refuse whatever is no number, column, operator or known function."""
        if isinstance(node, ast.Name):
            self.columns.append(self._quoted.get(node.id, node.id))
        elif isinstance(node, ast.Constant) and type(node.value) in {int, float}:
            pass
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            self._check(node.left)
            self._check(node.right)
        elif isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            self._check(node.operand)
        elif (
            isinstance(node, ast.Call)
            and _function(node) in FUNCTIONS
            and len(node.args) == 1
            and not node.keywords
        ):
            self._check(node.args[0])
        else:
            raise DataError(
                f"{self.text!r:.60} in the formula; columns, numbers, + - * / ** and "
                f"{', '.join(FUNCTIONS)} of one column are allowed. Compute other columns first."
            )

    def values(self, table: Table) -> FloatArray:
        """The column; NaN where one that it is computed from has a gap."""
        cure = "numbers are needed in a formula; C(name) is for categories."
        found: dict[str, FloatArray] = {}
        gaps = np.zeros(table.n_rows, dtype=np.bool_)
        for name in dict.fromkeys(self.columns):
            values = column(table, name, f"in {self.text:.40}")
            lacks = values.isna().to_numpy(dtype=np.bool_)
            gaps |= lacks
            filled = pd.Series(values.where(~lacks, 1.0))
            found[name] = np.where(lacks, np.nan, numbers(table, filled, name, cure))
        with np.errstate(all="ignore"):
            result = np.broadcast_to(self._value(self.tree, found), (table.n_rows,))
        result = np.array(result, dtype=np.float64)
        bad = ~np.isfinite(result) & ~gaps
        if bad.any():
            shown = table.frame[self.columns[0]] if self.columns else pd.Series(result)
            raise DataError(
                f"{self.text!r:.60} has no finite value for {named_cells(table, shown, bad)}; "
                "leave these rows out, or use another function."
            )
        return result

    def _value(self, node: ast.AST, found: dict[str, FloatArray]) -> FloatArray:
        if isinstance(node, ast.Name):
            return found[self._quoted.get(node.id, node.id)]
        if isinstance(node, ast.BinOp):
            sides = self._value(node.left, found), self._value(node.right, found)
            return OPERATORS[type(node.op)](*sides)
        if isinstance(node, ast.UnaryOp):
            return OPERATORS[type(node.op)](self._value(node.operand, found))
        if isinstance(node, ast.Call):
            return FUNCTIONS[_function(node)](self._value(node.args[0], found))
        return np.asarray(node.value, dtype=np.float64)  # type: ignore[attr-defined]


def _function(node: ast.Call) -> str:
    """Name of a function that is called, without np."""
    called = node.func
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return called.attr if called.value.id in {"np", "numpy"} else ""
    return called.id if isinstance(called, ast.Name) else ""


def with_computed(table: Table, names: Iterable[str | None]) -> Table:
    """The table with columns that are computed from others, where it has them not."""
    new: dict[str, FloatArray] = {}
    for name in names:
        if name is not None and name not in table.frame.columns and "(" in name:
            new[name] = Expression(name).values(table)
    return replace(table, frame=table.frame.assign(**new)) if new else table
