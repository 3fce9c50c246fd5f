"""Tables to files, in one step: whoever reads sees the old file or the whole new one."""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from driftglm.exceptions import DataError
from driftglm.files import write_atomically


def table_bytes(frame: pd.DataFrame, path: Path) -> bytes:
    """A frame as .csv, .csv.gz or .parquet, by the ending of the path."""
    check_table_path(path)
    ending = path.suffix.lower()
    if ending != ".parquet":
        text = frame.to_csv(index=False, lineterminator="\n").encode()
        return gzip.compress(text, mtime=0) if ending == ".gz" else text
    if importlib.util.find_spec("pyarrow") is None:
        raise DataError(f"{path.name}: Parquet needs pyarrow; install it, or write .csv.")
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def check_table_path(path: Path) -> None:
    """Raise DataError unless `write_table` knows the ending."""
    if not path.name.lower().endswith((".csv", ".csv.gz", ".parquet")):
        raise DataError(
            f"{path.name} cannot be written; the endings .csv, .csv.gz and .parquet are allowed."
        )


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a frame as .csv, .csv.gz or .parquet."""
    target = Path(path)
    write_atomically(target, table_bytes(frame, target))


def check_writable(
    path: str | os.PathLike[str], *, folder: bool = False, inputs: Iterable[Path | None] = ()
) -> Path:
    """Raise DataError unless a file (or folder) can be written there; the path otherwise.

    Asked before long work, so that an hour of it is not lost to a mistyped name. `inputs` are the
    files that are read: none of them is ever written over.
    """
    target = Path(path)
    if folder:
        if target.exists() and not target.is_dir():
            raise DataError(f"{target} is a file; a folder is needed. Choose another name.")
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"the folder {target} cannot be made ({error.strerror}).") from error
    elif target.is_dir():
        raise DataError(f"{target} is a folder; name a file in it.")
    for source in inputs:
        if source is not None and target.exists() and source.exists() and target.samefile(source):
            raise DataError(f"{target} is what is read; writing would destroy it. Name another.")
    parent = target if folder else target.parent
    if not parent.is_dir():
        raise DataError(f"the folder {parent} does not exist; make it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise DataError(f"the folder {parent} cannot be written to; choose another place.")
    return target
