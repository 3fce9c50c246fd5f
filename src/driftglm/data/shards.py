"""A folder of row shards: what its manifest says, and what stands in a part.

`manifest.json` names the parts, and a folder without one holds no shards. A part is a zip of .npy
arrays: column k is `c<k>`, texts are letters, ends and a mask of what is missing, and the sparse
block of an SVMlight file is `data`, `indices` and `indptr`. Whoever reads shards, in this process
or on a worker, does it by this module.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype
from scipy.sparse import csr_matrix

from driftglm.data.timesteps import Freq
from driftglm.exceptions import DataError
from driftglm.files import DamagedFileError, check_regular, unpack

MANIFEST = "manifest.json"
KIND, FORMAT = "driftglm shards", 1
MOST_ROWS = 2**48
Kind = Literal["number", "text", "date"]
Arrays = dict[str, np.ndarray]


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
        Rows of all parts; width of the sparse block of an SVMlight file, 0 for other files.
    time, freq
        The column of times, if one was named, and the length of a step.
    steps
        By step, the number of rows.
    parts
        The files, in the order of rows.
    first_block
        First column of the block that is used: files that count from 1 have nothing in column 0.
    """

    source: str
    columns: dict[str, Kind]
    n_rows: int
    n_block: int
    time: str | None
    freq: Freq
    steps: dict[str, int]
    parts: tuple[Part, ...]
    first_block: int

    @property
    def block_names(self) -> tuple[str, ...]:
        """Names of the columns of the block: `f` and the index that stood in the file."""
        return tuple(f"f{i}" for i in range(self.first_block, self.n_block))


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """The manifest of a complete folder; DataError if there is none, or if it is damaged."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise DataError(
            f"the folder {str(folder)!r} has no {MANIFEST}: it is not there, holds no shards, or "
            "the run that wrote them did not finish. Run `driftglm shard` again."
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
        return _checked(Manifest(**content, parts=parts))
    except DamagedFileError:
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedFileError(f"{path} cannot be read ({error}).") from error


def _checked(manifest: Manifest) -> Manifest:
    """The same; ValueError if it cannot be what was written."""
    parts, columns = manifest.parts, manifest.columns
    texts: list[object] = [
        manifest.source,
        *columns,
        *(text for part in parts for text in (part.file, part.sha256)),
    ]
    texts += [each for each in (manifest.time, manifest.freq) if each is not None]
    numbers = [manifest.n_rows, manifest.n_block, manifest.first_block, *(p.rows for p in parts)]
    for steps in (manifest.steps, *(part.steps for part in parts)):
        numbers += steps.values()
    names_are_texts = all(isinstance(each, str) for each in texts)
    counts = all(type(each) is int and 0 <= each < MOST_ROWS for each in numbers)
    if not names_are_texts or not counts:
        raise ValueError("a name is no text, or a number of rows or columns is none")
    _check_sizes(manifest)
    return manifest


def _check_sizes(manifest: Manifest) -> None:
    """Raise ValueError if parts, columns, time and block do not go together."""
    if not manifest.parts or sum(part.rows for part in manifest.parts) != manifest.n_rows:
        raise ValueError("its parts do not have as many rows as it says")
    if not set(manifest.columns.values()) <= set(get_args(Kind)):
        raise ValueError("a column is no number, text or date")
    if manifest.time is not None and manifest.time not in manifest.columns:
        raise ValueError("there is no column of that time")
    if manifest.first_block > max(manifest.n_block - 1, 0):
        raise ValueError("its block has fewer columns than it leaves out")


def first_used(n_block: int, *, holds_first: bool) -> int:
    """First column of a block that is used: 1 if nothing is in column 0 and there are others."""
    return int(n_block > 1 and not holds_first)


def read_arrays(folder: str | os.PathLike[str], part: Part) -> Arrays:
    """The arrays of one part, checked against the manifest."""
    if Path(part.file).name != part.file:
        raise DamagedFileError(f"{MANIFEST} names the part {part.file!r:.60} outside the folder.")
    check_regular(Path(folder) / part.file)
    try:
        data = (Path(folder) / part.file).read_bytes()
    except OSError as error:
        raise DamagedFileError(
            f"{part.file} cannot be read ({error.strerror}); the folder must be complete, and "
            "every worker must be able to read it under the same path."
        ) from error
    if hashlib.sha256(data).hexdigest() != part.sha256:
        raise DamagedFileError(f"{part.file} is not as it was written; run `driftglm shard` again.")
    arrays = unpack(data)[1]
    ends = {name: len(array) for name, array in arrays.items() if name.endswith(".missing")}
    ends |= {name: len(array) for name, array in arrays.items() if name[1:].isdigit()}
    ends |= {"indptr": len(arrays["indptr"]) - 1} if "indptr" in arrays else {}
    if any(n_rows != part.rows for n_rows in ends.values()):
        raise DamagedFileError(f"{part.file} has not the {part.rows} rows that {MANIFEST} says.")
    return arrays


def _array(arrays: Arrays, name: str) -> np.ndarray:
    """One array of a part."""
    if name not in arrays:
        raise DamagedFileError(f"{MANIFEST} has columns that its parts lack ({name!r}).")
    return arrays[name]


def read_column(arrays: Arrays, manifest: Manifest, name: str) -> np.ndarray:
    """One column of a part; what is missing is None, NaN or NaT."""
    key, kind = f"c{list(manifest.columns).index(name)}", manifest.columns[name]
    if kind == "date":
        return _array(arrays, key).view("datetime64[us]")
    if kind == "number":
        return _array(arrays, key)
    letters, ends = _array(arrays, f"{key}.letters").tobytes(), _array(arrays, f"{key}.ends")
    try:
        out = np.array([letters[a:b].decode() for a, b in pairwise(ends)], dtype=object)
        out[_array(arrays, f"{key}.missing")] = None
    except (ValueError, TypeError, IndexError) as error:
        raise DamagedFileError(f"a part has a column that is no text ({error}).") from error
    return out


def read_block(arrays: Arrays, manifest: Manifest, n_rows: int) -> csr_matrix | None:
    """The sparse block of a part without the column that no part uses; None if there is none."""
    if not manifest.n_block:
        return None
    entries = [_array(arrays, name) for name in ("data", "indices", "indptr")]
    if entries[1].max(initial=0) >= manifest.n_block:
        raise DamagedFileError(f"{MANIFEST} has fewer columns than its parts.")
    try:
        block = csr_matrix(tuple(entries), shape=(n_rows, manifest.n_block))
        block.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise DamagedFileError(f"a part has a block that is no matrix ({error}).") from error
    return block[:, manifest.first_block :]


def kind_of(values: pd.Series) -> Kind:
    """How a column is stored."""
    if is_numeric_dtype(values):
        return "number"
    return "date" if is_datetime64_any_dtype(values) else "text"


def column_arrays(values: pd.Series, key: str, kind: Kind) -> Arrays:
    """The arrays of one column; `read_column` is the way back."""
    if kind == "number":
        return {key: values.to_numpy(dtype=np.float64, na_value=np.nan)}
    if kind == "date":
        return {key: values.to_numpy(dtype="datetime64[us]").astype(np.int64)}
    missing = values.isna().to_numpy(dtype=np.bool_)
    pairs = zip(values.tolist(), missing, strict=True)
    encoded = [b"" if gap else str(value).encode() for value, gap in pairs]
    ends = np.cumsum([0, *(len(part) for part in encoded)], dtype=np.int64)
    letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return {f"{key}.letters": letters, f"{key}.ends": ends, f"{key}.missing": missing}


def block_arrays(block: csr_matrix) -> Arrays:
    """The arrays of a sparse block; `read_block` is the way back."""
    return {"data": block.data, "indices": block.indices, "indptr": block.indptr}
