"""Marks in the numbers of a frame, and messages in the words of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.tables.layout import Layout
from driftglm.tables.marks import Marks, unmarked, without_signs

_KEYWORDS = (
    (r", read it as text \(--text\)", ""),
    (r"--(drop|categorical) ('[^']*')", r"\1=[\2]"),
    (r"--(decimal|thousands) ('[^']*')", r"\1=\2"),
    (r"--missing (\w+)", r"missing='\1'"),
    (r"--([a-z]+)\b", r"\1="),
)
"""What options of the command line are called in Python."""


@dataclass(frozen=True)
class FrameMarks:
    """Columns of texts that are numbers with marks: which, and which marks.

    Parameters
    ----------
    marks
        Of the whole frame; None: there are none.
    columns
        Names of the columns that are read so.
    said
        What was guessed.
    """

    marks: Marks | None = None
    columns: frozenset[str] = frozenset()
    said: tuple[str, ...] = ()

    @classmethod
    def of(cls, frame: pd.DataFrame, skip: frozenset[str], layout: Layout) -> FrameMarks:
        """Marks of a frame, given or guessed from its columns of texts but those to `skip`."""
        texts = _texts(frame, [str(name) for name in frame.columns if str(name) not in skip])
        plain, signs = without_signs(texts, list(texts))
        marks, guess = Marks.of(plain, layout)
        said = [guess] if guess else []
        # Texts of plain numbers are numbers anyway; they are named here for their signs.
        found = [name for name, cells in plain.items() if _numbers(cells, marks) is not None]
        said += [signs[name] for name in found if name in signs]
        return cls(marks, frozenset(found), tuple(said))

    def read(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with these columns as numbers; what cannot be read so is left as it is."""
        texts = _texts(frame, [str(n) for n in frame.columns if str(n) in self.columns])
        plain = without_signs(texts, list(texts))[0]
        known = {name: _numbers(cells, self.marks) for name, cells in plain.items()}
        return frame.assign(**{name: x for name, x in known.items() if x is not None})


@contextmanager
def in_python() -> Iterator[None]:
    """Errors of the encoder name keywords instead of options."""
    try:
        yield
    except DataError as error:
        raise type(error)(in_keywords(str(error))) from None


def in_keywords(message: str) -> str:
    """A message that names keywords instead of options."""
    for option, keyword in _KEYWORDS:
        message = re.sub(option, keyword, message)
    return message


def _numbers(cells: np.ndarray, marks: Marks | None) -> FloatArray | None:
    """Cells as numbers with marks, or without any; None if they are neither."""
    found = None if marks is None else unmarked(cells, marks)
    return unmarked(cells, Marks()) if found is None else found


def _texts(frame: pd.DataFrame, names: list[str]) -> dict[str, np.ndarray]:
    """Cells of the columns that are texts alone; gaps are empty texts."""
    out = {}
    for name in names:
        values = frame[name]
        gaps = values.isna().to_numpy(dtype=np.bool_)
        if is_numeric_dtype(values.dtype) or isinstance(values.dtype, pd.CategoricalDtype):
            continue
        cells = values.to_numpy(dtype=object)
        if all(isinstance(cell, str) for cell in cells[~gaps]):
            out[name] = np.where(gaps, "", cells)
    return out
