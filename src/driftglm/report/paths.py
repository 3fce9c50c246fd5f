"""Rows of coefficients with their paths: what fits on a page, as the page takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.estimators import DriftTextModel
from driftglm.estimators.base import DriftEstimator
from driftglm.estimators.levels import LEVEL, normal_quantile
from driftglm.report.encode import BASE64_PER_BYTE, floats, integers, page_json

BYTES = 5_500_000
"""Most of the page that names, numbers and paths may take."""
ROW_BYTES = 3_500_000
"""Most of that which names and numbers may take, so that paths of the first rows are there."""
NUMBER = 4 * BASE64_PER_BYTE
N_BINS = 20


@dataclass(frozen=True, eq=False)
class PathRows:
    """One row a coefficient, the most important first, with a path over the steps.

    Parameters
    ----------
    noun, group_noun
        What a row is ("feature", "word"), and what rows are grouped by ("class", "effect"; None:
        by nothing).
    groups
        Labels of the groups.
    names
        Labels that `name` refers to.
    name, group, kind
        (n,) positions in `names`, `groups` and `kinds`.
    kinds
        Kinds of rows; the first is that of rows that are not in the model.
    columns
        Numbers of every row, (n,) each.
    path, limits
        (n, T) coefficients, and (2, n, T) ends of their 90 % intervals; None for a mode.
    steps
        (T,) labels.
    unlisted
        Rows left out beforehand because their coefficients are all zero.
    members
        Kinds that are counted together under a kind's name; others are counted alone.
    unit_noun
        What the column "unit" is; "" if there is none.
    references
        For every name, the level that an indicator is compared with; empty: none is known.
    outside
        Kinds of rows that are not in the model by themselves; the first of `kinds` if empty.
    notes
        What speaks against a row, (n,) texts; empty: nothing.
    """

    noun: str
    group_noun: str | None
    groups: list[str]
    names: list[str]
    name: IntArray
    group: IntArray
    kind: IntArray
    kinds: list[str]
    columns: dict[str, FloatArray]
    path: FloatArray
    limits: FloatArray | None
    steps: list[str]
    unlisted: int = 0
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unit_noun: str = ""
    references: list[str | None] = field(default_factory=list)
    outside: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Rows before any are left out."""
        return int(self.name.size)

    def n_shown(self) -> tuple[int, int]:
        """How many rows, and how many paths, of the first ones fit on the page."""
        texts = [page_json(name) for name in self.names]
        if any(self.references):
            pairs = zip(texts, self.references, strict=True)
            texts = [text + page_json(reference) for text, reference in pairs]
        cost = np.array([len(text.encode()) + 2 for text in texts], dtype=float)
        # A name is written once, at the first row that has it.
        _, first = np.unique(self.name, return_index=True)
        spent = np.full(self.n_rows, NUMBER * (len(self.columns) + 3))
        spent[first] += cost[self.name[first]]
        # Rows of seasons come after those of features, and have no notes.
        notes = [len(page_json(note).encode()) + 8 for note in self.notes]
        spent[: len(notes)] += notes
        total = np.cumsum(spent)
        n_rows = int(np.searchsorted(total, ROW_BYTES, side="right"))
        left = BYTES - (float(total[n_rows - 1]) if n_rows else 0.0)
        per_path = NUMBER * len(self.steps) * (1 if self.limits is None else 3)
        return n_rows, min(n_rows, int(left / per_path))

    def content(self) -> dict[str, Any]:
        """The rows as the page's script reads them."""
        n_rows, n_paths = self.n_shown()
        used, name = np.unique(self.name[:n_rows], return_inverse=True)
        out = [self.kinds.index(each) for each in self.outside or self.kinds[:1]]
        included = ~np.isin(self.kind, out)
        return {
            "noun": self.noun,
            "groupNoun": self.group_noun,
            "groups": self.groups,
            "names": [self.names[i] for i in used],
            "name": integers(name),
            "group": integers(self.group[:n_rows]),
            "kind": integers(self.kind[:n_rows]),
            "kinds": self.kinds,
            "columns": {key: floats(values[:n_rows]) for key, values in self.columns.items()},
            "path": floats(self.path[:n_paths]),
            "low": None if self.limits is None else floats(self.limits[0, :n_paths]),
            "high": None if self.limits is None else floats(self.limits[1, :n_paths]),
            "steps": self.steps,
            "nRows": n_rows,
            "nPaths": n_paths,
            "total": self.n_rows + self.unlisted,
            "included": int(included.sum()),
            "counts": self.counts(),
            "unitNoun": self.unit_noun,
            "references": [self.references[i] for i in used] if any(self.references) else None,
            "notes": {k: note for k, note in enumerate(self.notes[:n_rows]) if note},
            "leftOut": self._left_out(n_rows, n_paths),
            "autocorrelation": self._histograms(included),
        }

    def counts(self) -> list[dict[str, Any]]:
        """How many rows are of a kind, all that the page says about it; zero is left out.

        A kind with others in it, as drifting has those that change sign, is counted with them.
        """
        out = []
        for kind in self.kinds[1:]:
            codes = [self.kinds.index(each) for each in self.members.get(kind, (kind,))]
            found = int(np.isin(self.kind, codes).sum())
            out.append({"kind": kind, "codes": codes, "n": found})
        return out

    def _left_out(self, n_rows: int, n_paths: int) -> list[str]:
        """Sentences on what is not on the page."""
        what = f"{self.noun}s" if self.group_noun is None else f"{self.group_noun}-{self.noun} rows"
        out = []
        if self.unlisted:
            out.append(f"{self.unlisted:,} {what} with coefficients of zero are not listed.")
        if n_rows < self.n_rows:
            out.append(
                f"To keep the page small, the {self.n_rows - n_rows:,} least important of "
                f"{self.n_rows:,} {what} are left out of all but the counts."
            )
        if n_paths < n_rows:
            out.append(
                f"To keep the page small, paths over time are here for the {n_paths:,} most "
                f"important of the {n_rows:,} {what} listed."
            )
        return out

    def _histograms(self, included: BoolArray) -> list[list[int]] | None:
        """By group, counts of included rows by autocorrelation in equal bins of [0, 1]."""
        values = self.columns.get("autocorrelation")
        if values is None or len(self.steps) == 1:
            return None
        shown = included & np.isfinite(values)
        return [
            np.histogram(values[shown & (self.group == g)], bins=N_BINS, range=(0, 1))[0].tolist()
            for g in range(len(self.groups))
        ]


def by_rank(rank: IntArray, group: IntArray) -> IntArray:
    """An order in which the best of every group come first, so that a cut treats groups alike."""
    return np.lexsort((group, rank))


def paths_of(
    model: DriftEstimator | DriftTextModel, group: IntArray, name: IntArray
) -> tuple[FloatArray, FloatArray | None]:
    """(n, T) coefficients of rows, and (2, n, T) their 90 % intervals; None for a mode."""

    def rows(values: FloatArray) -> FloatArray:
        # (T, features), or (T, groups, features) where there are groups.
        values = np.asarray(values, dtype=np.float64)
        return values.reshape(len(values), -1, values.shape[-1])[:, group, name].T

    path = rows(model.coef_path_)
    if not hasattr(model, "coef_std_path_"):
        return path, None
    if isinstance(model, DriftTextModel):
        reach = normal_quantile(LEVEL) * rows(model.coef_std_path_)
        return path, np.stack([path - reach, path + reach])
    return path, np.stack([rows(end) for end in model.coef_interval(LEVEL)])
