"""Folders of shards as the rows of a fit on workers, which never reads them as a whole.

Features are the columns of numbers that are not named for something else, then the sparse block of
an SVMlight file. Texts and dates would have to be encoded over all parts at once and are refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from driftglm.data.checks import refuse_missing
from driftglm.data.shards import (
    Manifest,
    Part,
    read_arrays,
    read_block,
    read_column,
    read_manifest,
)
from driftglm.exceptions import DataError

_CURES = {
    "y": "the target must be known in every row. Delete these rows (--missing drop).",
    "time": "every row needs a time. Fill it in, or delete these rows.",
}


@dataclass(frozen=True)
class Shards:
    """Rows in a folder that every worker can read under the same path.

    Parameters
    ----------
    folder
        What `driftglm shard` wrote.
    columns
        Names of the features; None: all columns of numbers that are not y, time, sample_weight or
        exposure, and the sparse block.
    """

    folder: Path
    columns: tuple[str, ...] | None = None

    def manifest(self) -> Manifest:
        """What the folder holds."""
        return read_manifest(self.folder)

    def features(self, manifest: Manifest, others: Iterable[str]) -> tuple[str, ...]:
        """Names of the columns of numbers that are features."""
        for name in self.columns or ():
            self.check(manifest, name, "columns")
        chosen = self.columns
        if chosen is None:
            chosen = tuple(name for name in manifest.columns if name not in set(others))
        for name in chosen:
            if manifest.columns[name] != "number":
                raise DataError(
                    f"column {name!r} of the shards holds {manifest.columns[name]}s; features must "
                    "be numbers. Name those to use: Shards(folder, columns=...)."
                )
        return chosen

    def check(self, manifest: Manifest, name: str, argument: str) -> None:
        """Raise unless the folder has a column of this name."""
        if name not in manifest.columns:
            known = ", ".join(map(repr, list(manifest.columns)[:5]))
            raise DataError(f"{argument}={name!r} is no column of the shards; they have {known}.")

    def vector(self, manifest: Manifest, name: str, argument: str) -> np.ndarray:
        """A column of all parts, for an argument of `fit`; DataError if a value is missing."""
        self.check(manifest, name, argument)
        arrays = (read_arrays(self.folder, part) for part in manifest.parts)
        values = np.concatenate([read_column(each, manifest, name) for each in arrays])
        cure = _CURES.get(argument, f"{argument} is needed in every row. Fill it in.")
        refuse_missing(pd.Series(values), name, cure)
        return values


def read_features(
    folder: Path, part: Part, manifest: Manifest, names: tuple[str, ...], *, block: bool
) -> Any:
    """The features of one part: columns of numbers, then the sparse block if it is wanted."""
    arrays = read_arrays(folder, part)
    dense = [read_column(arrays, manifest, name) for name in names]
    table = np.column_stack(dense) if dense else None
    entries = read_block(arrays, manifest, part.rows) if block else None
    if entries is None:
        return table
    return entries if table is None else sp.hstack([sp.csr_matrix(table), entries]).tocsr()
