"""The columns of a partition on its worker: in memory, or in files where memory is short.

Files are read with plain reads, never mapped: mapped pages count as a worker's memory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.design.base import Entries, RowArray

N_AT_ONCE = 2**20
"""Entries read at once where all columns are gone through, 12 MiB of them."""
SHARE = 0.5
"""Of a worker's memory limit for its process as it is and the columns of all its partitions. The
rest is for loading them and for blocks: Dask pauses a worker at 0.8, which then never answers."""


class Columns(Protocol):
    """Entries of a partition, column by column."""

    def take(self, features: IntArray) -> ColumnDesign:
        """Some columns, not centred."""

    def entries(self, features: IntArray) -> tuple[Entries, IntArray]:
        """Entries that hold those of some columns, and which of them these are."""

    def pieces(self) -> Iterator[IntArray]:
        """All features, as many at a time as may be in memory."""

    def replace(self, features: IntArray, values: FloatArray) -> None:
        """Other values for the entries of some columns, in the order of `take`."""

    def store_ones(self) -> None:
        """Store values that were left out as they are all one, so that they can be replaced."""

    def drop(self) -> None:
        """Free what is held."""


@dataclass
class MemoryColumns:
    """Columns in memory."""

    design: ColumnDesign

    @property
    def nbytes(self) -> int:
        """Size of the entries."""
        design = self.design
        return design.values.nbytes + design.rows.nbytes + design.segments.nbytes

    def take(self, features: IntArray) -> ColumnDesign:
        """Some columns: segments point into all entries, which are not copied."""
        segments = np.ascontiguousarray(self.design.segments[features])
        return _plain(self.design.values, self.design.rows, segments, self.design.step_offsets)

    def entries(self, features: IntArray) -> tuple[Entries, IntArray]:
        """All there are."""
        return (self.design.values, self.design.rows, self.design.segments), features

    def pieces(self) -> Iterator[IntArray]:
        """All at once."""
        yield np.arange(self.design.n_features)

    def replace(self, features: IntArray, values: FloatArray) -> None:
        """`values` were changed in place: nothing remains to be done."""
        del features, values

    def store_ones(self) -> None:
        """Values are left out where all entries are ones."""
        self.design = with_values(self.design)

    def drop(self) -> None:
        """Nothing but the reference is held."""


class FileColumns:
    """Columns in three files of a folder: values, rows and segments."""

    def __init__(self, design: ColumnDesign, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        design = with_values(design)
        self.folder, self.step_offsets = folder, design.step_offsets
        self.width = design.segments.shape[1]
        for name in ("values", "rows", "segments"):
            getattr(design, name).tofile(folder / name)
        number = design.segments[:, -1] // N_AT_ONCE
        self.cuts = [0, *(int(i) + 1 for i in np.flatnonzero(np.diff(number))), design.n_features]

    def pieces(self) -> Iterator[IntArray]:
        """Neighbouring features of about N_AT_ONCE entries."""
        for first, last in pairwise(self.cuts):
            yield np.arange(first, last)

    def take(self, features: IntArray) -> ColumnDesign:
        """Some columns, read from the files."""
        values: list[np.ndarray] = [np.empty(0)]
        rows: list[np.ndarray] = [np.empty(0, dtype=np.int32)]
        segments, total = [np.empty((0, self.width), dtype=np.int64)], 0
        for part, first, count in self._runs(features):
            values.append(self._read("values", np.float64, first, count))
            rows.append(self._read("rows", np.int32, first, count))
            segments.append(part - first + total)
            total += count
        joined = np.concatenate(values), np.concatenate(rows), np.concatenate(segments)
        return _plain(*joined, self.step_offsets)

    def entries(self, features: IntArray) -> tuple[Entries, IntArray]:
        """Those of these columns, read from the files."""
        part = self.take(features)
        return (part.values, part.rows, part.segments), np.arange(features.size)

    def replace(self, features: IntArray, values: FloatArray) -> None:
        """Write the values back."""
        with (self.folder / "values").open("r+b") as stream:
            start = 0
            for _, first, count in self._runs(features):
                stream.seek(8 * first)
                stream.write(values[start : start + count].tobytes())
                start += count

    def store_ones(self) -> None:
        """They have been from the start."""

    def drop(self) -> None:
        """Delete the files."""
        with contextlib.suppress(OSError):
            shutil.rmtree(self.folder)

    def _runs(self, features: IntArray) -> Iterator[tuple[IntArray, int, int]]:
        """Segments of every run of neighbouring features; first and number of their entries."""
        breaks = np.flatnonzero(np.diff(features) != 1) + 1
        for run in np.split(features, breaks) if features.size else ():
            width = self.width
            flat = self._read("segments", np.int64, width * int(run[0]), run.size * width)
            part = flat.reshape(run.size, width)
            yield part, int(part[0, 0]), int(part[-1, -1] - part[0, 0])

    def _read(self, name: str, kind: type[np.generic], first: int, count: int) -> np.ndarray:
        offset = np.dtype(kind).itemsize * first
        return np.fromfile(self.folder / name, kind, count, offset=offset)


def with_values(design: ColumnDesign) -> ColumnDesign:
    """The same design with the values that are left out where all entries are ones."""
    if design.values.size == design.rows.size:
        return design
    return dataclasses.replace(design, values=np.ones(design.rows.size))


def with_own_values(part: ColumnDesign) -> ColumnDesign:
    """The same for some columns of many: no entries but theirs."""
    if part.values.size == part.rows.size:
        return part
    begins, counts = part.segments[:, 0], part.segments[:, -1] - part.segments[:, 0]
    first = np.cumsum(counts) - counts
    chosen = np.arange(counts.sum()) + np.repeat(begins - first, counts)
    segments = part.segments - (begins - first)[:, None]
    return dataclasses.replace(
        part, values=np.ones(chosen.size), rows=part.rows[chosen], segments=segments
    )


def _plain(
    values: FloatArray, rows: RowArray, segments: IntArray, step_offsets: IntArray
) -> ColumnDesign:
    n_features, n_steps = segments.shape[0], segments.shape[1] - 1
    center, shift = np.zeros((n_features, n_steps)), np.zeros(n_features)
    return ColumnDesign(values, rows, segments, step_offsets, center, shift)
