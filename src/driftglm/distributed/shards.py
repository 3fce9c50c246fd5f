"""A folder of shards written by `driftglm shard`, for fits that never read it as a whole.

Features are the columns of numbers that are not named for something else, then the sparse block of
an SVMlight file. Texts and dates would have to be encoded over all parts at once and are refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from driftglm.exceptions import DataError
from driftglm.files import DamagedFileError, unpack

MANIFEST = "manifest.json"
KIND, FORMAT = "driftglm shards", 1


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

    def manifest(self) -> dict[str, Any]:
        """What the folder holds."""
        path = Path(self.folder) / MANIFEST
        if not path.is_file():
            raise DataError(
                f"the folder {str(self.folder)!r} has no {MANIFEST}: it is not there, holds no "
                "shards, or the run that wrote them did not finish. Run `driftglm shard` again."
            )
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DamagedFileError(f"{path} cannot be read ({error}).") from error
        if content.get("kind") != KIND or content.get("format") != FORMAT:
            raise DamagedFileError(
                f"{path} is of another kind or version; write the shards again with this one."
            )
        return content

    def features(self, manifest: dict[str, Any], others: Iterable[str]) -> list[str]:
        """Names of the columns of numbers that are features."""
        kinds, taken = manifest["columns"], set(others)
        if self.columns is not None:
            for name in self.columns:
                self.check(manifest, name, "columns")
            return list(self.columns)
        left = {name: kind for name, kind in kinds.items() if name not in taken}
        text = [name for name, kind in left.items() if kind != "number"]
        if text:
            raise DataError(
                f"column {text[0]!r} of the shards holds {left[text[0]]}s; features must be "
                "numbers. Name those to use: Shards(folder, columns=...)."
            )
        return list(left)

    def check(self, manifest: dict[str, Any], name: str, argument: str) -> None:
        """Raise unless the folder has a column of this name."""
        if name not in manifest["columns"]:
            known = ", ".join(map(repr, list(manifest["columns"])[:5]))
            raise DataError(f"{argument}={name!r} is no column of the shards; they have {known}.")

    def vector(self, manifest: dict[str, Any], name: str) -> np.ndarray:
        """A column of all parts."""
        kind = manifest["columns"][name]
        key = f"c{list(manifest['columns']).index(name)}"
        found = [_values(_arrays(self.folder, part), key, kind) for part in manifest["parts"]]
        return np.concatenate(found)


def read_block(folder: Path, part: dict[str, Any], keys: list[str], n_block: int) -> Any:
    """The features of one part: columns of numbers, then the sparse block."""
    arrays = _arrays(folder, part)
    dense = np.column_stack([arrays[key] for key in keys]) if keys else None
    if not n_block:
        return dense
    shape = (part["rows"], n_block)
    block = sp.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    return block if dense is None else sp.hstack([sp.csr_matrix(dense), block]).tocsr()


def _arrays(folder: Path, part: dict[str, Any]) -> dict[str, np.ndarray]:
    name = part["file"]
    if Path(name).name != name:
        raise DamagedFileError(f"{MANIFEST} names the part {name!r:.60} outside the folder.")
    try:
        data = (Path(folder) / name).read_bytes()
    except OSError as error:
        raise DamagedFileError(
            f"{name} cannot be read ({error.strerror}); every worker must be able to read the "
            "folder under the same path."
        ) from error
    if hashlib.sha256(data).hexdigest() != part["sha256"]:
        raise DamagedFileError(f"{name} is not as it was written; run `driftglm shard` again.")
    return unpack(data)[1]


def _values(arrays: dict[str, np.ndarray], key: str, kind: str) -> np.ndarray:
    if kind == "text":
        letters, ends = arrays[f"{key}.letters"].tobytes(), arrays[f"{key}.ends"]
        return np.array([letters[a:b].decode() for a, b in pairwise(ends)], dtype=object)
    return arrays[key].view("datetime64[us]") if kind == "date" else arrays[key]
