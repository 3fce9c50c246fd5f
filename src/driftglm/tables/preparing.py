"""A table before it is encoded: which columns are features, gaps, and what a step is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from driftglm.exceptions import DataError
from driftglm.tables.columns import column, near, table_steps
from driftglm.tables.encoder import MISSING_WAYS, TableSpec
from driftglm.tables.reading import Table


def prepared(
    table: Table, spec: TableSpec, features: Sequence[str] = ()
) -> tuple[Table, TableSpec, list[str]]:
    """Rows that are used, the spec with what was guessed, and what is to be said about both.

    Parameters
    ----------
    table, spec
        The rows, and which column plays which part.
    features
        Names, or patterns such as "x*", of the columns to predict with; none: all.
    """
    if spec.missing not in MISSING_WAYS:
        raise DataError(f"missing {spec.missing!r:.40}; {', '.join(MISSING_WAYS)} are allowed.")
    said: list[str] = []
    if features:
        spec = _only(table, spec, features)
    if spec.missing == "drop":
        table, note = _without_gaps(table, spec)
        said += [note] * bool(note)
    if spec.time is not None and table.n_rows:
        column(table, spec.time, "time")
        if spec.freq is None and not table.frame[spec.time].isna().any():
            steps = table_steps(table, spec.time, spec.freq, spec.date_format)
            if steps.guess is not None:
                spec = replace(spec, freq=steps.freq, date_format=spec.date_format or steps.format)
                said.append(steps.guess)
    return table, spec, said


def _only(table: Table, spec: TableSpec, features: Sequence[str]) -> TableSpec:
    """All columns but those that the patterns fit, and those with a part, dropped."""
    others = [str(n) for n in table.frame.columns if n not in set(spec.roles.values())]
    wanted: set[str] = set()
    for pattern in features:
        found = [n for n in others if n == pattern] or [
            n for n in others if fnmatchcase(n, pattern)
        ]
        if not found:
            raise DataError(f"{table.name} has no feature {pattern!r:.60}; {near(pattern, others)}")
        wanted |= set(found)
    left = tuple(name for name in others if name not in wanted)
    return replace(spec, drop=tuple(dict.fromkeys([*spec.drop, *left])))


def _without_gaps(table: Table, spec: TableSpec) -> tuple[Table, str]:
    """Rows that have all their values, and how many were left out."""
    used = [n for n in table.frame.columns if n not in set(spec.drop) and n != spec.text]
    gaps = table.frame[used].isna()
    bad = gaps.any(axis=1).to_numpy(dtype=np.bool_)
    if not bad.any():
        return table, ""
    if bad.all():
        raise DataError(
            f"{table.name} has a gap in every row; drop columns (--drop), or fill them (--missing "
            "mean)."
        )
    counts = gaps.sum().sort_values(ascending=False)
    shown = ", ".join(f"{name} {n}" for name, n in counts[counts > 0].head(5).items())
    rows = np.flatnonzero(~bad)
    block = None if table.block is None else table.block[rows]
    # Rows are no longer those of the file, so that lines cannot be named.
    kept = replace(
        table, frame=table.frame.iloc[rows].reset_index(drop=True), block=block, path=None
    )
    return kept, f"{int(bad.sum())} of {bad.size} rows have gaps and are left out ({shown})."
