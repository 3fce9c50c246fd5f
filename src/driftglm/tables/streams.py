"""Files read a chunk of rows at a time; a first pass finds the type of every column."""

from __future__ import annotations

import gzip
import io
from collections.abc import Collection, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from driftglm.datasets.tables import AS_IT_STANDS, as_numbers, json_rows
from driftglm.exceptions import DataError
from driftglm.tables import reading
from driftglm.tables.binary import KINDS as BINARY


def iterate_tables(
    path: Path, n_rows: int, as_text: Collection[str] = ()
) -> Iterator[reading.Table]:
    """Tables of up to `n_rows` rows each, columns of one type throughout the file.

    Columns of `as_text` are never taken for numbers.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder; a file is needed, such as that its rows came from.")
    kind = reading.table_kind(path)
    reading.check_readable(path)
    if kind in reading.SVMLIGHT:
        yield from _svmlight_chunks(path, n_rows)
    elif kind == ".parquet":
        for frame in _parquet_chunks(path, n_rows):
            yield reading.Table(frame, path.name)
    elif kind in BINARY or kind in reading.DELIMITED[1:]:
        raise DataError(
            f"{path.name}: only .csv (with commas, UTF-8), .jsonl, .parquet "
            "and SVMlight become shards, all but .parquet also as .gz. Save it as one of these."
        )
    else:
        chunks = _csv_chunks if kind == ".csv" else _json_chunks
        are_numbers: dict[str, bool] = {}
        for frame in chunks(path, n_rows):
            for name in frame.columns:
                number = name not in as_text and are_numbers.get(name, True)
                are_numbers[name] = number and as_numbers(frame[name]) is not None
        for frame in chunks(path, n_rows):
            yield reading.Table(_typed(frame, are_numbers), path.name)


def _typed(frame: pd.DataFrame, are_numbers: dict[str, bool]) -> pd.DataFrame:
    """All columns of the file, those of numbers as float64, the others as text."""
    columns: dict[str, np.ndarray] = {}
    for name, is_number in are_numbers.items():
        values = frame[name] if name in frame else pd.Series([None] * len(frame), dtype=object)
        numbers = as_numbers(values) if is_number else None
        if numbers is None:
            gaps = values.isna() | (values == "")
            columns[name] = values.astype(object).map(str).mask(gaps, None).to_numpy()
        else:
            columns[name] = numbers.to_numpy(dtype=np.float64)
    return pd.DataFrame(columns)


def _csv_chunks(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    reading.check_header(reading.csv_header(path), path.name)
    try:
        with pd.read_csv(path, **AS_IT_STANDS, chunksize=n_rows) as reader:
            yield from reader
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path.name} cannot be read as CSV ({error}).") from error


def _json_chunks(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    rows = json_rows(path, flat=True)
    while batch := list(islice(rows, n_rows)):
        yield pd.DataFrame(batch)


def _parquet_chunks(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    try:
        pq: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError(f"{path.name}: Parquet in chunks needs pyarrow; install it.") from error
    try:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=n_rows):
            frame = reading.with_index(batch.to_pandas())
            for field in batch.schema:
                if str(field.type) == "bool":  # with gaps pandas would make them objects
                    frame[field.name] = frame[field.name].astype(np.float64)
            yield frame
    except Exception as error:  # pyarrow has errors of its own
        raise DataError(f"{path.name} cannot be read as Parquet ({error}).") from error


def _svmlight_chunks(path: Path, n_rows: int) -> Iterator[reading.Table]:
    opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rb") as stream:
            lines = _content(stream)
            while batch := list(islice(lines, n_rows)):
                yield reading.read_svmlight(io.BytesIO(b"".join(batch)), path.name, trim=False)
    except (OSError, EOFError) as error:
        raise DataError(f"{path.name} cannot be read as SVMlight ({error}).") from error


def _content(stream: IO[bytes]) -> Iterator[bytes]:
    """Lines that hold a row."""
    for line in stream:
        if line.split(b"#", 1)[0].strip():
            yield line if line.endswith(b"\n") else line + b"\n"
