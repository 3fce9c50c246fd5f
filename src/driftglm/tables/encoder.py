"""Columns become features: numbers as they are, one indicator a level, one a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, hstack, issparse

from driftglm._typing import FloatArray
from driftglm._warnings import warn
from driftglm.data.kinds import is_pattern, matching
from driftglm.data.timesteps import Freq
from driftglm.exceptions import DataError, DataWarning
from driftglm.tables.cells import (
    MOST,
    NEARLY_ALL,
    refuse_dates,
    refuse_empty,
    refuse_gaps,
    refuse_nested,
    refuse_spoilt,
)
from driftglm.tables.columns import as_floats, column, is_number_column, near, numbers
from driftglm.tables.expressions import with_computed
from driftglm.tables.reading import Table, as_strings, check_header
from driftglm.tables.terms import Term, term_features, term_part
from driftglm.text import RankedVocabulary

FILL = "drop the column (--drop), fill the gaps (--missing mean), or delete these rows."
MISSING_WAYS = ("error", "drop", "mean", "indicator")
RARE, GAP = "(rare)", "(missing)"
"""Levels that stand for others, and for none."""
USUAL_RARE = 10
"""Rows below which a level is rare where a column has very many levels."""
LARGE = (101, 10101)  # the ranks used of a large vocabulary
MANY_LEVELS = 100
ROLES = ("target", "time", "text", "weights", "exposure", "trials", "groups")
MOST_DENSE = 300
DENSE_NUMBERS, FULL = 5_000_000, 0.3
"""A matrix of more numbers is sparse if a smaller share of them is not zero."""
LEAST_COUNTED = 20


@dataclass(frozen=True)
class TableSpec:
    """Which column plays which part; all others are features.

    `vocabulary` is the first and last frequency rank of the words used; None: all words of a small
    corpus, ranks 101 to 10101 of a large one. `freq` is the length of a step, `date_format` how
    dates are written, in the words of strptime; None: as all rows show. The spec of a fitted model
    has the format that was found. `groups` is a column of ids: rows with the same one belong
    together.

    `missing` says what happens to gaps: "error", "drop" the rows, "mean" of the training rows (a
    category of their own where there are categories), or "indicator", which adds a feature that is
    1 where a number was missing. `reference` are pairs of a column and the level that others are
    compared with, by default the most frequent one. Levels of fewer than `rare` rows are pooled.

    `terms` are those of a formula: features are products of these columns, and no others.
    """

    target: str | None = None
    time: str | None = None
    freq: Freq = None
    text: str | None = None
    weights: str | None = None
    exposure: str | None = None
    trials: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    vocabulary: tuple[int, int | None] | None = None
    date_format: str | None = None
    missing: str = "error"
    reference: tuple[tuple[str, str], ...] = ()
    rare: int = 1
    groups: str | None = None
    terms: tuple[Term, ...] = ()

    @property
    def reserved(self) -> set[str]:
        """Columns that are no features."""
        return {*self.roles.values(), *self.drop}

    @property
    def roles(self) -> dict[str, str]:
        """Role -> column, of the roles that are taken."""
        named = {role: getattr(self, role) for role in ROLES}
        return {role: name for role, name in named.items() if name is not None}


@dataclass(frozen=True)
class Column:
    """One column of features; levels are sorted by frequency, and the first has no indicator.

    `fill` stands for gaps of a number, which have a feature of their own with `flag`.
    """

    name: str
    kind: Literal["number", "levels"]
    levels: tuple[str, ...] = ()
    fill: float | None = None
    flag: bool = False

    @property
    def features(self) -> list[str]:
        """Names of the features it becomes."""
        if self.kind == "number":
            return [self.name, f"{self.name}={GAP}"] if self.flag else [self.name]
        return [f"{self.name}={level}" for level in self.levels[1:]]


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """What has to be known to turn rows into features; made by `fit_encoder`.

    Parameters
    ----------
    spec
        Which column plays which part.
    columns
        The columns of features, in the order of the table.
    vocabulary
        The words of the text column, if there is one.
    block_names
        Sparse features of an SVMlight file.
    """

    spec: TableSpec
    columns: tuple[Column, ...]
    vocabulary: RankedVocabulary | None = None
    block_names: tuple[str, ...] = ()

    @property
    def feature_names(self) -> list[str]:
        """One name a feature, in the order of the matrix."""
        return [name for name, _ in self._compared()] + list(self.block_names) + self._words()

    @property
    def references(self) -> dict[str, str]:
        """By feature that is an indicator of a level, the level it is compared with."""
        levels = {f"{each.name}={each.levels[0]}": each.levels[0] for each in self._with_levels()}
        return {name: levels.get(other, other) for name, other in self.compared.items()}

    @property
    def compared(self) -> dict[str, str]:
        """By feature with levels, the one it is compared with: "hour=8" of "hour=17"."""
        return {name: other for name, other in self._compared() if other}

    def _with_levels(self) -> list[Column]:
        return [each for each in self.columns if each.levels]

    @property
    def _terms(self) -> Sequence[Term]:
        """Those of a formula, else every column by itself."""
        return self.spec.terms or [(each.name,) for each in self.columns]

    def _compared(self) -> list[tuple[str, str]]:
        """Features of the columns, each with the one that it is compared with, or ""."""
        features = {each.name: each.features for each in self.columns}
        first = {each.name: f"{each.name}={each.levels[0]}" for each in self._with_levels()}
        terms = self._terms
        return [pair for term in terms for pair in term_features(terms, term, features, first)]

    def positions(self, chosen: Iterable[str], role: str) -> list[int]:
        """Features that columns or features named by the user stand for."""
        names = self.feature_names
        positions = {name: k for k, name in enumerate(names)}
        own = {each.name: each.features for each in self.columns}
        if self.spec.terms:  # a column may be in products only
            own = {k: found for k, v in own.items() if (found := [n for n in v if n in positions])}
        out: list[int] = []
        for name in chosen:
            found = own.get(name, [name] if name in positions else [])
            if name == self.spec.text:
                found = self._words()
            if not found:
                raise DataError(
                    f"{name!r:.60} ({role}) is no feature; {near(name, names, 'features')}"
                )
            out += [positions[feature] for feature in found]
        return sorted(set(out))

    def kinds(self, groups: Mapping[str, Iterable[str]]) -> dict[str, list[int]]:
        """Features of every kind, whose columns, features or patterns of either are named."""
        columns = [each.name for each in self.columns if each.features]
        columns += [self.spec.text] if self.spec.text is not None else []
        known = [*columns, *self.feature_names]
        found: dict[str, list[int]] = {}
        for kind, chosen in groups.items():
            role = f"feature group {kind!r:.40}"
            named: list[str] = []
            for name in chosen:
                if is_pattern(name, known):
                    named += [known[k] for k in np.flatnonzero(matching(name, known, role))]
                else:
                    named.append(name)
            found[kind] = self.positions(named, role)
        return found

    def named(self, table: Table) -> pd.DataFrame:
        """As `matrix`, a frame of named columns."""
        X, names = self.matrix(table), self.feature_names
        if not issparse(X):
            return pd.DataFrame(X, columns=names)
        sparse: Any = pd.DataFrame.sparse  # whose stubs lack this constructor
        frame: pd.DataFrame = sparse.from_spmatrix(X, columns=names)
        return frame

    def matrix(self, table: Table) -> FloatArray | csr_matrix:
        """Features (n_rows, n_features): an array, or a sparse matrix where most are zero.

        Columns may stand in any order, and others than those known are ignored. Levels that were
        not there in training count as the most frequent one, with a warning.
        """
        table = with_computed(table, [each.name for each in self.columns])
        found = {each.name: _column_part(table, each) for each in self.columns}
        levels = {each.name: each.kind == "levels" for each in self.columns}
        terms = self._terms
        parts = [term_part(terms, term, found, levels) for term in terms]
        if self.block_names:
            parts.append(_block_part(table, self.block_names))
        if self.vocabulary is not None:
            parts.append(self.vocabulary.transform(texts(table, str(self.spec.text))))
        if self._mostly_zero(table.n_rows, sum(part.shape[1] for part in parts)):
            return csr_matrix(hstack([csr_matrix(part) for part in parts], format="csr"))
        return np.hstack([part.toarray() if issparse(part) else part for part in parts])

    def _mostly_zero(self, n_rows: int, n_features: int) -> bool:
        """Whether features are kept as a sparse matrix."""
        if self.vocabulary is not None or self.block_names:
            return True
        rarely = len(self.columns) < FULL * n_features
        large = rarely and n_rows * n_features > DENSE_NUMBERS
        some_levels = any(each.kind == "levels" for each in self.columns)
        return some_levels and (n_features > MOST_DENSE or large)

    def _words(self) -> list[str]:
        if self.vocabulary is None:
            return []
        return [f"{self.spec.text}:{word}" for word in self.vocabulary.get_feature_names_out()]


def encode(table: Table, spec: TableSpec) -> tuple[TableEncoder, FloatArray | csr_matrix]:
    """Learn levels and words from training rows; also the features of these rows.

    Raises
    ------
    DataError
        If a column named does not exist, has gaps or cannot be a feature; if none is left.
    """
    encoder = fit_encoder(table, spec)
    return encoder, encoder.matrix(table)


def fit_encoder(table: Table, spec: TableSpec) -> TableEncoder:
    """The first half of `encode`; numbers are read, and refused, by the second."""
    taken: dict[str, str] = {}
    for role, name in spec.roles.items():
        column(table, name, role)
        if name in taken:
            raise DataError(
                f"column {name!r:.60} is named as {taken[name]} and as {role}; name two."
            )
        taken[name] = role
    for name in (*spec.drop, *spec.categorical):
        column(table, name, "drop" if name in spec.drop else "categorical")
    names = [str(name) for name in table.frame.columns if name not in spec.reserved]
    if spec.terms:
        names = list(dict.fromkeys(name for term in spec.terms for name in term))
        table = with_computed(table, names)
    for name, _ in spec.reference:
        column(table, name, "reference")
    if spec.missing in {"error", "drop"}:
        refuse_gaps(table, names, FILL)
    found = tuple(_fit_column(table, name, spec) for name in names)
    # A column with one level only says nothing; it has no indicator and no feature.
    words = None if spec.text is None else fit_words(texts(table, spec.text), spec.vocabulary)
    encoder = TableEncoder(spec, found, words, table.block_names)
    names = encoder.feature_names
    if not names:
        raise DataError(
            f"{table.name} has no column left to predict with; its columns are target, time, "
            "weights, ids or dropped. Add features."
        )
    check_header(names, f"the features of {table.name}")
    return encoder


def fit_words(
    documents: Iterable[str], ranks: tuple[int, int | None] | None, *, binary: bool = True
) -> RankedVocabulary:
    """Vocabulary of the ranks asked for, or of those that suit the size of the corpus.

    `documents` are read twice or more; an iterator would be used up.
    """
    if ranks is not None:
        return RankedVocabulary(first=ranks[0], last=ranks[1], binary=binary).fit(documents)
    everything = RankedVocabulary(first=1, last=None, binary=binary).fit(documents)
    if len(everything.word_counts_) < LARGE[1]:
        return everything
    return RankedVocabulary(first=LARGE[0], last=LARGE[1], binary=binary).fit(documents)


def texts(table: Table, name: str) -> list[str]:
    """Texts of a column; a missing one is an empty text."""
    values = column(table, name, "text")
    wrong = [k for k, v in enumerate(values) if not isinstance(v, str) and not pd.isna(v)]
    if wrong:
        raise DataError(
            f"column {name!r:.60} has {values.iloc[wrong[0]]!r:.40} in row {wrong[0]}; texts are "
            "strings. Name another column."
        )
    return [value if isinstance(value, str) else "" for value in values]


def _fit_column(table: Table, name: str, spec: TableSpec) -> Column:
    values, declared = table.frame[name], name in spec.categorical
    if values.isna().all():
        raise DataError(f"column {name!r:.60} has no values; drop it (--drop).")
    if not declared:
        refuse_dates(values, name)
    if is_number_column(values) and not declared:
        return _number_column(values, name, spec.missing)
    refuse_nested(values, name)
    counts = Counter(GAP if level is None else level for level in as_strings(values))
    many = len(counts) > max(MANY_LEVELS, len(values) // 2)
    if not declared:
        cure = f"or say that it is categorical (--categorical {name!r:.60}), or drop it (--drop)."
        # Of many different texts most being numbers is enough: these are no levels.
        refuse_spoilt(table, values, name, cure, least=MOST if many else NEARLY_ALL)
    if many and not declared:
        raise DataError(
            f"column {name!r:.60} has {len(counts)} different texts in {len(values)} rows; drop "
            "it (--drop), read it as text (--text), or say that it is categorical (--categorical)."
        )
    rare = max(spec.rare, USUAL_RARE if many else 1)
    return Column(name, "levels", _levels(counts, name, rare, dict(spec.reference).get(name)))


def _number_column(values: pd.Series, name: str, missing: str) -> Column:
    """A column of numbers, and what stands for its gaps."""
    if _is_counter(values):
        warn(
            f"column {name!r:.60} counts the rows from {values.iloc[0]} to {values.iloc[-1]} and "
            f"is read as a number; if it is an identifier, leave it out (--drop {name!r:.60}).",
            DataWarning,
        )
    if missing in {"error", "drop"}:
        return Column(name, "number")
    found = as_floats(values)
    flag = missing == "indicator" and bool(np.isnan(found).any())
    return Column(name, "number", fill=float(np.nanmean(found)), flag=flag)


def _is_counter(values: pd.Series) -> bool:
    """Whether whole numbers go up by one from row to row, as identifiers do."""
    if len(values) < LEAST_COUNTED or values.dtype.kind not in "iu":
        return False
    return bool((np.diff(values.to_numpy(dtype=np.int64)) == 1).all())


def _levels(counts: Counter[str], name: str, rare: int, reference: str | None) -> tuple[str, ...]:
    """Levels with indicators, the one that others are compared with first."""
    if reference is not None and reference not in counts:
        raise DataError(
            f"column {name!r:.60} has no level {reference!r:.40} (reference); "
            f"{near(reference, list(counts), 'levels')}"
        )
    kept = {k: n for k, n in counts.items() if n >= rare or k == reference}
    if len(counts) - len(kept) > 1:  # a single rare one would but change its name
        kept[RARE] = counts.total() - sum(kept.values())
    else:
        kept = dict(counts)
    levels = sorted(kept, key=lambda level: (level == RARE, -kept[level], level))
    if set(levels) == {"False", "True"}:  # as booleans come out of CSV files
        levels = ["False", "True"]
    if reference is not None:
        levels = [reference, *(level for level in levels if level != reference)]
    return tuple(levels)


def _column_part(table: Table, each: Column) -> FloatArray | csr_matrix:
    values = column(table, each.name, "feature of the model")
    if each.kind == "number":
        return _number_part(table, values, each)
    if GAP not in each.levels:
        refuse_empty(table, values, each.name, FILL)
    positions = {level: k for k, level in enumerate(each.levels)}
    found = as_strings(values)
    found[pd.isna(found)] = GAP
    other = positions.get(RARE, -1)
    codes = np.array([positions.get(level, other) for level in found], dtype=np.int64)
    unknown = Counter(found[codes < 0])
    if unknown:
        first = next(iter(unknown))
        warn(
            f"column {each.name!r:.60} has {sum(unknown.values())} rows with {len(unknown)} "
            f"levels the model has not seen ({first!r:.40}); they count as "
            f"{each.levels[0]!r:.40}, the most frequent one.",
            DataWarning,
        )
    rows = np.flatnonzero(codes > 0)
    shape = (len(values), len(each.levels) - 1)
    return csr_matrix((np.ones(rows.size), (rows, codes[rows] - 1)), shape=shape)


def _number_part(table: Table, values: pd.Series, each: Column) -> FloatArray:
    """A number, and where gaps have a feature of their own, that too."""
    cure = "numbers are needed, or " + FILL
    if each.fill is None:
        return numbers(table, values, each.name, cure)[:, None]
    gaps = values.isna().to_numpy(dtype=np.bool_)
    found = numbers(table, values.where(~gaps, each.fill), each.name, cure)
    return np.column_stack([found, gaps]) if each.flag else found[:, None]


def _block_part(table: Table, names: tuple[str, ...]) -> csr_matrix:
    """The sparse features in the order of training; unknown ones are left out, with a warning."""
    if table.block is None:
        raise DataError(f"{table.name} is no SVMlight file, but the model was fitted to one.")
    positions = {name: k for k, name in enumerate(names)}
    targets = np.array([positions.get(name, -1) for name in table.block_names], dtype=np.int64)
    block = table.block.tocoo()
    known = targets[block.col] >= 0
    if not known.all():
        warn(
            f"{table.name} has {int((~known).sum())} values of features the model has not seen; "
            "they are ignored.",
            DataWarning,
        )
    entries = (block.data[known], (block.row[known], targets[block.col[known]]))
    return csr_matrix(entries, shape=(table.n_rows, len(names)))
