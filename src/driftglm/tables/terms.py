"""Terms of a formula: names of columns that are multiplied, and the features they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse

from driftglm._typing import FloatArray

Term: TypeAlias = tuple[str, ...]
"""Columns whose product a feature is."""
Part: TypeAlias = FloatArray | csr_matrix


def coded_in_full(terms: Sequence[Term], term: Term, name: str) -> bool:
    """Whether levels of a column in a term have an indicator each, the reference too.

    They have not where the term without the column is there: it stands for the reference then. The
    intercept is the term of no column.
    """
    margin = set(term) - {name}
    return bool(margin) and not any(set(other) == margin for other in terms)


def term_features(
    terms: Sequence[Term], term: Term, features: Mapping[str, list[str]], first: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Features of a term, each with what it is compared with, or "".

    Parameters
    ----------
    terms, term
        All terms, and the one asked about.
    features
        By column its features: of levels all but the first.
    first
        By column of levels the indicator of the first, "state=CA".
    """
    sides: list[list[tuple[str, str]]] = []
    for name in term:
        own = features[name] if name in first or len(term) == 1 else features[name][:1]
        full = name in first and coded_in_full(terms, term, name)
        against = "" if full else first.get(name, "")
        side = [(first[name], "")] if full else []
        sides.append(side + [(feature, against) for feature in own])
    out: list[tuple[str, str]] = []
    for chosen in product(*sides):
        name = ":".join(feature for feature, _ in chosen)
        other = ":".join(against or feature for feature, against in chosen)
        out.append((name, "" if other == name else other))
    return out


def term_part(
    terms: Sequence[Term], term: Term, parts: Mapping[str, Part], levels: Mapping[str, bool]
) -> Part:
    """Columns of the matrix for a term, in the order of `term_features`.

    `parts` are the matrices of its columns, `levels` whether they are indicators.
    """
    found: Part | None = None
    for name in term:
        part = parts[name] if levels[name] or len(term) == 1 else parts[name][:, :1]
        if levels[name] and coded_in_full(terms, term, name):
            rest = 1.0 - np.asarray(part.sum(axis=1)).reshape(-1, 1)
            part = csr_matrix(hstack([csr_matrix(rest), csr_matrix(part)], format="csr"))
        found = part if found is None else _products(found, part)
    assert found is not None  # noqa: S101 (a term has a column)
    return found


def _products(one: Part, two: Part) -> Part:
    """Every column of one matrix times every column of another."""
    if not issparse(one) and not issparse(two):
        rows = np.asarray(one)[:, :, None] * np.asarray(two)[:, None, :]
        return np.asarray(rows.reshape(rows.shape[0], -1))
    left, right = csr_matrix(one).tocsc(), csr_matrix(two)
    columns = [right.multiply(left[:, [k]].toarray()) for k in range(left.shape[1])]
    return csr_matrix(hstack(columns, format="csr"))
