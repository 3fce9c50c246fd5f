"""Tables as row shards, for fits that do not hold all rows at once; see `driftglm.data.shards`.

`manifest.json` is written last: a folder without one is known to be incomplete, and one with shards
of before is complete until the new ones are.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack

from driftglm.data import shards as layout
from driftglm.data.timesteps import Freq
from driftglm.datasets.dates import FormatSearch, holds_dates
from driftglm.exceptions import DataError
from driftglm.files import check_regular, pack, sync_folder, write_atomically
from driftglm.tables.columns import column, read_times
from driftglm.tables.reading import Table
from driftglm.tables.streams import iterate_tables

PART = "part-{:05d}{}.zip"
OWN = re.compile(r"part-\d{5,}(-[0-9a-f]{8})?\.zip|\.writing-[0-9a-f]{32}(\.tmp)?")
"""Names that a run which was killed may have left."""


def write_shards(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    rows: int = 100_000,
    time: str | None = None,
    freq: Freq = None,
    date_format: str | None = None,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> layout.Manifest:
    """Split a file into parts of up to `rows` rows; memory is needed for one part at a time.

    Nothing is replaced or removed before all new parts are on disk: shards that were there can be
    read until the new manifest takes the place of the old one, in one step, whenever a run fails or
    is killed. Then the files that the old manifest names are removed, and no others.

    Parameters
    ----------
    path
        A CSV, JSON lines, Parquet or SVMlight file.
    folder
        Made if it is not there. One that holds no shards must hold nothing else either.
    rows
        Rows a part.
    time, freq, date_format
        Column of times, length of a step and how dates are written (None: as all rows show); the
        manifest then says how many rows each step has, and texts become dates.
    overwrite
        Whether a complete set of shards may be replaced.
    progress
        Called with the number of rows of every part written.
    """
    if rows < 1:
        raise DataError(f"rows={rows}; a part has one row or more.")
    target, source = Path(folder), Path(path)
    old = _old_files(target, overwrite=overwrite)
    tables = _tables(source, rows, _Times(time, freq, date_format))
    first = next(tables, None)  # a file that cannot be read is found before a folder is made
    if first is None or not first[0].n_rows:
        raise DataError(f"{source.name} has no rows; there is nothing to split.")
    with _draft(target) as draft:
        found = _write_parts(draft, chain([first], tables), progress)
        manifest = _publish(draft, target, replace(found, source=source.name, time=time, freq=freq))
    for name in set(old) - {part.file for part in manifest.parts}:
        with suppress(OSError):  # the new shards stand
            (target / name).unlink()
    _sweep(target)
    return manifest


@dataclass(frozen=True)
class _Times:
    """The column of times, the length of a step and the format of dates."""

    name: str | None
    freq: Freq
    date_format: str | None


def _old_files(folder: Path, *, overwrite: bool) -> tuple[str, ...]:
    """Files of the shards that are to be replaced; DataError if the folder must not be used."""
    try:
        found = sorted(folder.iterdir())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be used ({error.strerror}).") from error
    if folder / layout.MANIFEST not in found:
        foreign = [path.name for path in found if not OWN.fullmatch(path.name)]
        if foreign:
            raise DataError(
                f"the folder {folder} holds other files ({foreign[0]!r}); choose an empty one."
            )
        return ()
    if not overwrite:
        raise DataError(
            f"the folder {folder} holds shards already; pass overwrite=True (--overwrite)."
        )
    check_regular(folder / layout.MANIFEST)
    try:
        content = json.loads((folder / layout.MANIFEST).read_text(encoding="utf-8"))
        parts = {layout.KIND: content["parts"]}[
            content["kind"]
        ]  # KeyError: a manifest of something else
        names = [str(part["file"]) for part in parts]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"the folder {folder} has a {layout.MANIFEST} that is none of shards, or is damaged; "
            "choose another folder, or delete the file."
        ) from error
    return tuple(name for name in names if Path(name).name == name and name != layout.MANIFEST)


@contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    """A folder inside the folder for what is not ready; it is gone when the context ends."""
    is_new = not folder.exists()
    draft = folder / f".writing-{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft.mkdir()
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be used ({error.strerror}).") from error
    try:
        yield draft
    finally:
        _discard(draft)
        if is_new:
            with suppress(OSError):  # it holds shards
                folder.rmdir()


def _discard(draft: Path) -> None:
    """Remove a draft and the files of this module's names in it."""
    with suppress(OSError):
        for path in draft.iterdir():
            if OWN.fullmatch(path.name):
                path.unlink()
        draft.rmdir()


def _sweep(folder: Path) -> None:
    """Remove drafts of runs that were killed."""
    for path in folder.glob(".writing-*"):
        if path.is_dir() and OWN.fullmatch(path.name):
            _discard(path)


def _write_parts(
    draft: Path,
    tables: Iterable[tuple[Table, Counter[str]]],
    progress: Callable[[int], None] | None,
) -> layout.Manifest:
    parts: list[layout.Part] = []
    kinds: dict[str, layout.Kind] = {}
    n_block, holds_first, total = 0, False, Counter[str]()
    for k, (table, steps) in enumerate(tables):
        data = pack({"rows": table.n_rows}, _arrays(table, kinds))
        name = PART.format(k, "")
        write_atomically(draft / name, data)
        parts.append(layout.Part(name, table.n_rows, hashlib.sha256(data).hexdigest(), dict(steps)))
        if table.block is not None:
            n_block = max(n_block, table.block.shape[1])
            holds_first |= bool((table.block.indices == 0).any())
        total.update(steps)
        if progress is not None:
            progress(table.n_rows)
    n_rows = sum(part.rows for part in parts)
    steps_in_order = {step: total[step] for step in sorted(total, key=_step_order)}
    first = layout.first_used(n_block, holds_first=holds_first)
    return layout.Manifest(
        "", kinds, n_rows, n_block, None, None, steps_in_order, tuple(parts), first
    )


def _publish(draft: Path, folder: Path, manifest: layout.Manifest) -> layout.Manifest:
    """Bring the parts to their place under names that are free, then the manifest, in one step."""
    taken = any((folder / part.file).exists() for part in manifest.parts)
    mark = f"-{uuid.uuid4().hex[:8]}" if taken else ""
    parts = [replace(part, file=PART.format(k, mark)) for k, part in enumerate(manifest.parts)]
    final = replace(manifest, parts=tuple(parts))
    content = {"kind": layout.KIND, "format": layout.FORMAT, **asdict(final)}
    moved: list[Path] = []
    try:
        for old, new in zip(manifest.parts, parts, strict=True):
            (draft / old.file).rename(folder / new.file)
            moved.append(folder / new.file)
        sync_folder(folder)
        text = json.dumps(content, indent=2, ensure_ascii=False)
        write_atomically(folder / layout.MANIFEST, text.encode())
    except BaseException:
        for path in moved:
            path.unlink(missing_ok=True)
        raise
    return final


def _tables(source: Path, rows: int, times: _Times) -> Iterator[tuple[Table, Counter[str]]]:
    """The parts of a file, and by step how many rows each has; times that are texts as dates."""
    # A column of dates in a known format stays as it stands: 01032004 is no number.
    as_text = () if times.name is None or times.date_format is None else (times.name,)
    form = None
    if times.name is not None and isinstance(times.freq, str):
        form = _found_format(iterate_tables(source, rows, as_text), times, source.name)
    for table in iterate_tables(source, rows, as_text):
        yield _timed(table, times, form)


def _found_format(tables: Iterable[Table], times: _Times, source: str) -> str | None:
    """The format of dates that fits all rows of the file, which is read once for that."""
    search = None
    for table in tables:
        values = column(table, str(times.name), "time")
        if holds_dates(values):
            return None
        if search is None:
            place = f"{source}, column {times.name!r}"
            search = FormatSearch.of(values, place, times.date_format)
        search.see(values)
    return None if search is None else search.decide()


def _timed(table: Table, times: _Times, form: str | None) -> tuple[Table, Counter[str]]:
    """A part whose times are dates if they can be, and by step how many rows it has."""
    if times.name is None:
        return table, Counter()
    labels, _ = read_times(table, times.name, times.freq, form)
    kind = np.asarray(labels).dtype.kind
    if kind == "M":
        if layout.kind_of(table.frame[times.name]) == "text":
            table = replace(table, frame=table.frame.assign(**{times.name: labels}))
        labels = pd.PeriodIndex(pd.DatetimeIndex(labels), freq=str(times.freq)).astype(str)
    elif kind == "f":
        labels = [int(v) if float(v).is_integer() else v for v in np.asarray(labels)]
    return table, Counter(str(label) for label in labels)


def iterate_shards(folder: str | os.PathLike[str]) -> Iterator[Table]:
    """Tables of the parts in the order of rows, each checked against the manifest."""
    manifest = layout.read_manifest(folder)
    for part in manifest.parts:
        arrays = layout.read_arrays(folder, part)
        columns = {name: layout.read_column(arrays, manifest, name) for name in manifest.columns}
        frame = pd.DataFrame(columns, index=range(part.rows))
        block = layout.read_block(arrays, manifest, part.rows)
        yield Table(frame, manifest.source, block, manifest.block_names)


def read_shards(folder: str | os.PathLike[str]) -> Table:
    """All rows of a folder of shards at once."""
    tables = list(iterate_shards(folder))
    frame = pd.concat([table.frame for table in tables], ignore_index=True)
    blocks = [table.block for table in tables if table.block is not None]
    block = csr_matrix(vstack(blocks)) if blocks else None
    return Table(frame, Path(folder).name, block, tables[0].block_names)


def _step_order(step: str) -> tuple[float, str]:
    try:
        return float(step), step
    except ValueError:
        return 0.0, step


def _arrays(table: Table, kinds: dict[str, layout.Kind]) -> layout.Arrays:
    """layout.Arrays of a part; `kinds` is filled by the first part and holds for all."""
    out: layout.Arrays = {}
    for k, name in enumerate(table.frame.columns):
        values = table.frame[name]
        out |= layout.column_arrays(
            values, f"c{k}", kinds.setdefault(str(name), layout.kind_of(values))
        )
    return out if table.block is None else out | layout.block_arrays(table.block)
