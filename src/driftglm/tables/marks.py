"""Marks in numbers: 1.234,5 and 2,520 are numbers once it is known what the marks are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from driftglm._typing import FloatArray
from driftglm.datasets.tables import MISSING
from driftglm.tables.layout import Layout

SIGNED = re.compile(r"[+-]?(?P<before>[$€£¥]?) ?[+-]?[\d.,' ]*\d ?(?P<after>[%$€£¥]?)")
GROUPS = ",.' \u2019\u00a0\u202f_"
N_LOOKED_AT = 20_000
SURE_COMMA = re.compile(r"[+-]?0,\d+|[+-]?\d*,(\d{1,2}|\d{4,})|[+-]?\d{1,3}(\.\d{3})+,\d+")
"""A comma that no group of thousands follows."""
POINT = re.compile(r"[+-]?0\.\d+|[+-]?\d*\.(\d{1,2}|\d{4,})|[+-]?\d{1,3}(,\d{3})+\.\d+")


@dataclass(frozen=True)
class Marks:
    """The decimal mark and the mark between thousands, if there is one."""

    decimal: str = "."
    thousands: str | None = None

    @property
    def shape(self) -> re.Pattern[str]:
        """What a number looks like."""
        decimal = re.escape(self.decimal)
        whole = r"\d+"
        if self.thousands is not None:
            group = re.escape(self.thousands)
            if self.thousands in " \u00a0\u202f":
                group = "[ \u00a0\u202f]"
            whole = rf"(\d{{1,3}}({group}\d{{3}})+|\d+)"
        return re.compile(rf"[+-]?({whole}({decimal}\d*)?|{decimal}\d+)([eE][+-]?\d+)?")

    def number(self, text: str) -> float:
        """The number in a text that has the shape of one."""
        if self.thousands is not None:
            marks = " \u00a0\u202f" if self.thousands in " \u00a0\u202f" else self.thousands
            text = "".join(letter for letter in text if letter not in marks)
        return float(text.replace(self.decimal, "."))

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray], layout: Layout) -> tuple[Marks | None, str]:
        """Marks of a file, given or guessed from its columns of texts, and what was guessed.

        A comma is a decimal mark if a number shows it ("1,5", "1.234,5"), and stands between
        thousands if all numbers have groups of three. In a file without commas between cells
        "1,234" alone could be either and is left as it is, which a message then says.
        """
        if layout.decimal is not None or layout.thousands is not None:
            return cls(layout.decimal or ".", layout.thousands), ""
        samples = {name: _sample(cells) for name, cells in columns.items()}
        for marks, sure in _tried():
            for name, sample in samples.items():
                text = marks.shown_by(sample, sure, commas_between_cells=layout.sep == ",")
                if text is not None:
                    option = f"--decimal '{marks.decimal}' --thousands '{marks.thousands}'"
                    said = f"{text!r:.30} is {marks.number(text):g} ({option})."
                    return marks, f"column {name!r:.60}: {said}"
        return None, ""

    def shown_by(
        self, sample: list[str], sure: re.Pattern[str], *, commas_between_cells: bool
    ) -> str | None:
        """A text of a column that can have no other marks; None if there is none."""
        if not sample or not all(self.shape.fullmatch(text) for text in sample):
            return None
        shown = [text for text in sample if sure.fullmatch(text)]
        groups = self.thousands == "," and commas_between_cells
        return next(iter(shown), sample[0] if groups else None)


def _tried() -> list[tuple[Marks, re.Pattern[str]]]:
    """Marks that a file may have, and what only a number with these marks looks like."""
    tried = [(Marks(",", "."), SURE_COMMA), (Marks(".", ","), POINT)]
    for mark in " '\u2019":
        sure = re.compile(rf".*\d{mark}\d{{3}}.*")
        tried += [(Marks(decimal, mark), sure) for decimal in ".,"]
    return tried


def unmarked(texts: np.ndarray, marks: Marks) -> FloatArray | None:
    """Numbers of a column, NaN where one is missing; None if a text is neither."""
    codes, unique = pd.factorize(texts)
    shape, values = marks.shape, np.empty(len(unique))
    for k, each in enumerate(unique):
        text = str(each).strip()
        if text in MISSING:
            values[k] = np.nan
        elif shape.fullmatch(text):
            values[k] = marks.number(text)
        else:
            return None
    return None if np.isnan(values).all() else values[codes]


def without_signs(
    columns: Mapping[str, np.ndarray], texts: list[str]
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Texts without the % or sign of a currency that all numbers of a column have.

    Also, by column that had one, what is to be said about it.
    """
    out, said = dict(columns), {}
    for name in texts:
        codes, unique = pd.factorize(columns[name])
        cells = [str(each).strip() for each in unique]
        given = [cell for cell in cells if cell not in MISSING]
        found = [SIGNED.fullmatch(cell) for cell in given]
        signs = {each.group("before") + each.group("after") for each in found if each is not None}
        if len(signs) != 1 or None in found or signs == {""}:
            continue
        (sign,) = signs
        bare = [cell.replace(sign, "").replace(" ", "") for cell in cells]
        out[name] = np.array(bare, dtype=object)[codes]
        said[name] = f"column {name!r:.60}: {given[0]!r:.30} is read without its sign {sign!r}."
    return out, said


def _sample(cells: np.ndarray) -> list[str]:
    """Different texts of a column that are not missing; none if some has no digit."""
    unique = pd.unique(pd.Series(cells[:N_LOOKED_AT], dtype=object))
    texts = [str(each).strip() for each in unique]
    given = [text for text in texts if text not in MISSING]
    return given if all(text[:1] in "+-.,0123456789" for text in given) else []
