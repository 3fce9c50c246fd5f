"""Files of text with a separator become frames, a chunk at a time and in little memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from driftglm.datasets.tables import MISSING, as_numbers
from driftglm.exceptions import DataError
from driftglm.tables.layout import Layout, open_laid_out, settled
from driftglm.tables.marks import Marks, unmarked, without_signs

CHUNK = 20_000

Part = np.ndarray
"""The cells of one column in one chunk: numbers, or texts."""


def read_delimited(
    path: Path, given: Layout, as_text: Collection[str] = ()
) -> tuple[pd.DataFrame, Layout, list[str]]:
    """Frame of a file, its layout, and what was guessed of that.

    A column is numbers if all its cells are, or are missing. Equal texts are one object.
    """
    layout, said = settled(path, given)
    columns = _columns(path, layout, as_text)
    columns, signs = without_signs(columns, _texts(columns, as_text))
    said += signs.values()
    texts = _texts(columns, as_text)
    marks, note = Marks.of({name: columns[name] for name in texts}, layout)
    if marks is not None and note and marks.decimal == ",":
        # Then 1.234 is a number of thousands in all columns, or the guess is wrong.
        other = replace(layout, decimal=marks.decimal, thousands=marks.thousands)
        again = _columns(path, other, as_text)
        again = _with_numbers(without_signs(again, _texts(again, as_text))[0], marks, as_text)
        numbers = [name for name in columns if columns[name].dtype != object]
        if all(again[name].dtype != object for name in numbers):
            return _frame(again), layout, [*said, note]
        marks, note = None, ""
    columns = _with_numbers(columns, marks, as_text)
    for name in signs:
        plain = unmarked(columns[name], Marks()) if columns[name].dtype == object else None
        columns[name] = columns[name] if plain is None else plain
    return _frame(columns), layout, said + [note] * bool(note)


def _frame(columns: dict[str, Part]) -> pd.DataFrame:
    """A frame whose texts stay shared objects."""
    return pd.DataFrame(
        {name: pd.Series(cells, dtype=cells.dtype, copy=False) for name, cells in columns.items()},
        copy=False,
    )


def _columns(path: Path, layout: Layout, as_text: Collection[str]) -> dict[str, Part]:
    """Numbers where they are plain, texts elsewhere."""
    parts, spoilt = _parts(path, layout, set(as_text))
    for name, texts in _texts_of(path, layout, spoilt).items():
        parts[name] = texts
    return {name: np.concatenate(found) for name, found in parts.items()}


def _texts(columns: dict[str, Part], as_text: Collection[str]) -> list[str]:
    return [n for n, cells in columns.items() if n not in as_text and cells.dtype == object]


def _with_numbers(
    columns: dict[str, Part], marks: Marks | None, as_text: Collection[str]
) -> dict[str, Part]:
    """The columns with texts that are numbers, once marks are known, as numbers."""
    out = dict(columns)
    for name in _texts(columns, as_text):
        numbers = None if marks is None else unmarked(columns[name], marks)
        out[name] = _gaps(columns[name]) if numbers is None else numbers
    return out


def _chunks(path: Path, layout: Layout, columns: list[str] | None = None) -> Any:
    """Chunks of cells as they stand."""
    try:
        with open_laid_out(path, layout) as stream:
            reading: Any = {"dtype": str, "na_filter": False, "sep": layout.sep, "chunksize": CHUNK}
            with pd.read_csv(stream, usecols=columns, **reading) as reader:
                yield from reader
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path.name} is no text in {layout.encoding} ({error}); name its encoding (--encoding "
            "cp1252)."
        ) from error
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path.name} cannot be read as CSV ({error}).") from error


def _parts(
    path: Path, layout: Layout, as_text: set[str]
) -> tuple[dict[str, list[Part]], list[str]]:
    """Cells of every column by chunk, and columns that began as numbers and did not stay so."""
    parts: dict[str, list[Part]] = {}
    shared: dict[str, str] = {}
    # A decimal comma or a thousands point makes "1.234" another number than it seems.
    plain = layout.decimal in {None, "."} and layout.thousands in {None, ","}
    spoilt: dict[str, None] = {}
    for chunk in _chunks(path, layout):
        for name in chunk.columns:
            cells, found = chunk[name], parts.setdefault(str(name), [])
            texts = name in as_text or bool(found and found[0].dtype == object)
            numbers = None if texts or not plain or name in spoilt else as_numbers(cells)
            if numbers is not None and not (not found and numbers.isna().all()):
                found.append(numbers.to_numpy())
                continue
            if found and found[0].dtype != object:
                spoilt[str(name)] = None
                found[:] = []
            if name not in spoilt:
                found.append(_shared(cells, shared))
    return parts, list(spoilt)


def _texts_of(path: Path, layout: Layout, names: list[str]) -> dict[str, list[Part]]:
    """Some columns again, as texts from the first row on."""
    out: dict[str, list[Part]] = {name: [] for name in names}
    if names:
        shared: dict[str, str] = {}
        for chunk in _chunks(path, layout, names):
            for name in names:
                out[name].append(_shared(chunk[name], shared))
    return out


def _shared(cells: pd.Series, shared: dict[str, str]) -> Part:
    """Texts of a chunk, those that are the same one object throughout the file."""
    codes, unique = pd.factorize(cells.to_numpy(dtype=object))
    known = [shared.setdefault(text, text) for text in unique]
    out = np.empty(len(known), dtype=object)
    out[:] = known
    return np.asarray(out[codes])


def _gaps(texts: Part) -> Part:
    """Texts with empty ones missing."""
    empty = texts == MISSING[0]
    if empty.any():
        texts = texts.copy()
        texts[empty] = np.nan
    return texts
