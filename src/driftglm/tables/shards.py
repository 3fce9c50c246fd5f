"""Tables as row shards, for fits that do not hold all rows at once; see `driftglm.data.shards`.

`manifest.json` is written last, so that a folder without one is known to be incomplete.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack

from driftglm.data.shards import (
    FORMAT,
    KIND,
    MANIFEST,
    Arrays,
    Kind,
    Manifest,
    Part,
    block_arrays,
    column_arrays,
    first_used,
    holds_first_column,
    kind_of,
    read_arrays,
    read_block,
    read_column,
    read_manifest,
)
from driftglm.data.timesteps import Freq
from driftglm.exceptions import DataError
from driftglm.files import pack, write_atomically
from driftglm.tables.columns import times
from driftglm.tables.reading import Table
from driftglm.tables.streams import iterate_tables

PART = "part-{:05d}.zip"


def write_shards(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    rows: int = 100_000,
    time: str | None = None,
    freq: Freq = None,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Manifest:
    """Split a file into parts of up to `rows` rows; memory is needed for one part at a time.

    Parameters
    ----------
    path
        A CSV, JSON lines, Parquet or SVMlight file.
    folder
        Made if it is not there. What an unfinished run has left is replaced.
    rows
        Rows a part.
    time, freq
        Column of times and length of a step; the manifest then says how many rows each step has.
    overwrite
        Whether a complete set of shards may be replaced.
    progress
        Called with the number of rows of every part written.
    """
    if rows < 1:
        raise DataError(f"rows={rows}; a part has one row or more.")
    place = Path(folder)
    _clear(place, overwrite=overwrite)
    parts: list[Part] = []
    kinds: dict[str, Kind] = {}
    n_block, holds_first, total = 0, False, Counter[str]()
    for k, table in enumerate(iterate_tables(Path(path), rows)):
        steps = _step_counts(table, time, freq)
        arrays = _arrays(table, kinds)
        data = pack({"rows": table.n_rows}, arrays)
        name = PART.format(k)
        write_atomically(place / name, data)
        parts.append(Part(name, table.n_rows, hashlib.sha256(data).hexdigest(), dict(steps)))
        if table.block is not None:
            n_block = max(n_block, table.block.shape[1])
            holds_first |= holds_first_column(arrays)
        total.update(steps)
        if progress is not None:
            progress(table.n_rows)
    if not sum(part.rows for part in parts):
        raise DataError(f"{Path(path).name} has no rows; there is nothing to split.")
    n_rows = sum(part.rows for part in parts)
    ordered = {step: total[step] for step in sorted(total, key=_step_order)}
    source = Path(path).name
    first = first_used(n_block, holds_first=holds_first)
    manifest = Manifest(source, kinds, n_rows, n_block, time, freq, ordered, tuple(parts), first)
    content = {"kind": KIND, "format": FORMAT, **asdict(manifest)}
    text = json.dumps(content, indent=2, ensure_ascii=False)
    write_atomically(place / MANIFEST, text.encode())
    return manifest


def iterate_shards(folder: str | os.PathLike[str]) -> Iterator[Table]:
    """Tables of the parts in the order of rows, each checked against the manifest."""
    manifest = read_manifest(folder)
    for part in manifest.parts:
        yield read_part(folder, manifest, part)


def read_part(folder: str | os.PathLike[str], manifest: Manifest, part: Part) -> Table:
    """One part of a folder of shards."""
    arrays = read_arrays(folder, part)
    columns = {name: read_column(arrays, manifest, name) for name in manifest.columns}
    frame = pd.DataFrame(columns, index=range(part.rows))
    block = read_block(arrays, manifest, part.rows)
    return Table(frame, manifest.source, block, manifest.block_names)


def read_shards(folder: str | os.PathLike[str]) -> Table:
    """All rows of a folder of shards at once."""
    tables = list(iterate_shards(folder))
    frame = pd.concat([table.frame for table in tables], ignore_index=True)
    if tables[0].block is None:
        return Table(frame, Path(folder).name)
    block = csr_matrix(vstack([table.block for table in tables if table.block is not None]))
    return Table(frame, Path(folder).name, block, tables[0].block_names)


def _clear(folder: Path, *, overwrite: bool) -> None:
    """Make the folder, or take away what an earlier run has left in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = sorted(folder.iterdir())
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be used ({error.strerror}).") from error
    foreign = [p for p in found if p.name != MANIFEST and not p.match("part-*.zip")]
    foreign = [p for p in foreign if not p.match(".writing-*.tmp")]
    if foreign:
        raise DataError(
            f"the folder {folder} holds other files ({foreign[0].name!r}); choose an empty one."
        )
    if (folder / MANIFEST).exists() and not overwrite:
        raise DataError(
            f"the folder {folder} holds shards already; pass overwrite=True (--overwrite), or "
            "choose another."
        )
    # The manifest first: without it the rest is known to be incomplete.
    (folder / MANIFEST).unlink(missing_ok=True)
    for path in found:
        path.unlink(missing_ok=True)


def _step_counts(table: Table, time: str | None, freq: Freq) -> Counter[str]:
    if time is None:
        return Counter()
    labels = times(table, time, freq)
    if np.asarray(labels).dtype.kind == "M":
        labels = pd.PeriodIndex(pd.DatetimeIndex(labels), freq=str(freq)).astype(str)
    elif np.asarray(labels).dtype.kind == "f":
        labels = [int(v) if float(v).is_integer() else v for v in np.asarray(labels)]
    return Counter(str(label) for label in labels)


def _step_order(step: str) -> tuple[float, str]:
    try:
        return float(step), step
    except ValueError:
        return 0.0, step


def _arrays(table: Table, kinds: dict[str, Kind]) -> Arrays:
    """Arrays of a part; `kinds` is filled by the first part and holds for all."""
    out: Arrays = {}
    for k, name in enumerate(table.frame.columns):
        values = table.frame[name]
        out |= column_arrays(values, f"c{k}", kinds.setdefault(str(name), kind_of(values)))
    return out if table.block is None else out | block_arrays(table.block)
