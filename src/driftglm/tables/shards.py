"""Row shards: a folder of parts of bounded size, for fits that do not hold all rows at once.

`manifest.json` is written last, so that a folder without one is known to be incomplete. A part is
a zip of .npy arrays; texts are bytes and offsets, never objects.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack

from driftglm.data.timesteps import Freq
from driftglm.exceptions import DataError
from driftglm.files import DamagedFileError, pack, unpack, write_atomically
from driftglm.tables.columns import times
from driftglm.tables.reading import Table
from driftglm.tables.streams import iterate_tables

MANIFEST = "manifest.json"
FORMAT = 1
KIND = "driftglm shards"
PART = "part-{:05d}.zip"


@dataclass(frozen=True)
class Part:
    """One file of rows: its name, their number, its checksum and, by step, how many."""

    file: str
    rows: int
    sha256: str
    steps: dict[str, int]


@dataclass(frozen=True)
class Manifest:
    """What a folder of shards holds.

    Parameters
    ----------
    source
        Name of the file the rows came from.
    columns
        By name, "number", "text" or "date".
    n_rows, n_block
        Rows of all parts; sparse features of an SVMlight file, 0 for other files.
    time, freq
        The column of times, if one was named, and the length of a step.
    steps
        By step, the number of rows.
    parts
        The files, in the order of rows.
    """

    source: str
    columns: dict[str, str]
    n_rows: int
    n_block: int
    time: str | None
    freq: Freq
    steps: dict[str, int]
    parts: tuple[Part, ...]


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
    kinds: dict[str, str] = {}
    n_block, total = 0, Counter[str]()
    for k, table in enumerate(iterate_tables(Path(path), rows)):
        steps = _step_counts(table, time, freq)
        data = pack({"rows": table.n_rows}, _arrays(table, kinds))
        name = PART.format(k)
        write_atomically(place / name, data)
        parts.append(Part(name, table.n_rows, hashlib.sha256(data).hexdigest(), dict(steps)))
        n_block = max(n_block, 0 if table.block is None else table.block.shape[1])
        total.update(steps)
        if progress is not None:
            progress(table.n_rows)
    if not sum(part.rows for part in parts):
        raise DataError(f"{Path(path).name} has no rows; there is nothing to split.")
    n_rows = sum(part.rows for part in parts)
    ordered = {step: total[step] for step in sorted(total, key=_step_order)}
    source = Path(path).name
    manifest = Manifest(source, kinds, n_rows, n_block, time, freq, ordered, tuple(parts))
    content = {"kind": KIND, "format": FORMAT, **asdict(manifest)}
    text = json.dumps(content, indent=2, ensure_ascii=False)
    write_atomically(place / MANIFEST, text.encode())
    return manifest


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """The manifest of a complete folder; DataError if there is none, or if it is damaged."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise DataError(
            f"the folder {str(folder)!r} has no {MANIFEST}: it holds no shards, or the run "
            "that wrote them did not finish. Run `driftglm shard` again."
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("kind") != KIND:
            raise DamagedFileError(f"{MANIFEST} is of another kind.")  # noqa: TRY301
        found = content.pop("format")
        if found != FORMAT:
            raise DamagedFileError(  # noqa: TRY301
                f"{MANIFEST} has format {found}, this version reads {FORMAT}; write the shards "
                "again with this version."
            )
        parts = tuple(Part(**part) for part in content.pop("parts"))
        return Manifest(**content, parts=parts)
    except DamagedFileError:
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedFileError(f"{path.name} cannot be read ({error}).") from error


def iterate_shards(folder: str | os.PathLike[str]) -> Iterator[Table]:
    """Tables of the parts in the order of rows, each checked against the manifest."""
    manifest = read_manifest(folder)
    for part in manifest.parts:
        yield read_part(folder, manifest, part)


def read_part(folder: str | os.PathLike[str], manifest: Manifest, part: Part) -> Table:
    """One part of a folder of shards."""
    if Path(part.file).name != part.file:
        raise DamagedFileError(f"{MANIFEST} names the part {part.file!r:.60} outside the folder.")
    path = Path(folder) / part.file
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedFileError(f"{part.file} cannot be read ({error.strerror}).") from error
    if hashlib.sha256(data).hexdigest() != part.sha256:
        raise DamagedFileError(f"{part.file} is not as it was written; run `driftglm shard` again.")
    _, arrays = unpack(data)
    names = list(manifest.columns)
    columns = {
        name: _column(arrays, f"c{k}", manifest.columns[name]) for k, name in enumerate(names)
    }
    frame = pd.DataFrame(columns, index=range(part.rows))
    return Table(frame, manifest.source, *_block(arrays, manifest.n_block, part.rows))


def read_shards(folder: str | os.PathLike[str]) -> Table:
    """All rows of a folder of shards at once."""
    tables = list(iterate_shards(folder))
    frame = pd.concat([table.frame for table in tables], ignore_index=True)
    if tables[0].block is None:
        return Table(frame, Path(folder).name)
    block = csr_matrix(vstack([table.block for table in tables if table.block is not None]))
    return Table(frame, Path(folder).name, block, tables[0].block_names).without_unused()


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


def _arrays(table: Table, kinds: dict[str, str]) -> dict[str, np.ndarray]:
    """Arrays of a part; `kinds` is filled by the first part and holds for all."""
    out: dict[str, np.ndarray] = {}
    for k, name in enumerate(table.frame.columns):
        values = table.frame[name]
        kind = kinds.setdefault(str(name), _kind(values))
        if kind == "text":
            out |= _packed_text(values, f"c{k}")
        elif kind == "date":
            out[f"c{k}"] = values.to_numpy(dtype="datetime64[us]").astype(np.int64)
        else:
            out[f"c{k}"] = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if table.block is not None:
        block = table.block
        out |= {"data": block.data, "indices": block.indices, "indptr": block.indptr}
    return out


def _kind(values: pd.Series) -> str:
    if pd.api.types.is_numeric_dtype(values):
        return "number"
    return "date" if pd.api.types.is_datetime64_any_dtype(values) else "text"


def _packed_text(values: pd.Series, key: str) -> dict[str, np.ndarray]:
    missing = values.isna().to_numpy(dtype=np.bool_)
    encoded = [
        b"" if gap else str(value).encode()
        for value, gap in zip(values.tolist(), missing, strict=True)
    ]
    ends = np.cumsum([0, *(len(part) for part in encoded)], dtype=np.int64)
    letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return {f"{key}.letters": letters, f"{key}.ends": ends, f"{key}.missing": missing}


def _column(arrays: dict[str, np.ndarray], key: str, kind: str) -> Any:
    if kind == "date":
        return arrays[key].view("datetime64[us]")
    if kind != "text":
        return arrays[key]
    letters, ends = arrays[f"{key}.letters"].tobytes(), arrays[f"{key}.ends"]
    texts = [letters[a:b].decode() for a, b in pairwise(ends)]
    missing = arrays[f"{key}.missing"]
    return np.array([None if gap else t for t, gap in zip(texts, missing, strict=True)], object)


def _block(
    arrays: dict[str, np.ndarray], n_block: int, n_rows: int
) -> tuple[csr_matrix | None, tuple[str, ...]]:
    if not n_block:
        return None, ()
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    return csr_matrix(parts, shape=(n_rows, n_block)), tuple(f"f{i}" for i in range(n_block))
