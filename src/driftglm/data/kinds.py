"""Kinds of features: which columns have a hyperprior of their own, as users name them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from driftglm._typing import BoolArray, IntArray
from driftglm.data.features import Names, feature_mask, listed
from driftglm.exceptions import DataError

ARGUMENT = "feature_groups"
OTHERS = ("other", "in no group")
"""What the features in no group are called: the first name that no group has."""


@dataclass(frozen=True)
class Kinds:
    """Sets of features that share mixture weights.

    Parameters
    ----------
    names
        What users call them.
    codes
        (n_features,) the kind of every column.
    """

    names: tuple[str, ...]
    codes: IntArray


def read_kinds(groups: object, n_features: int, names: Names) -> Kinds | None:
    """The kinds that `feature_groups` means; None: all features are of one.

    Every group is names, patterns of names ("w_*"), positions or a mask. Columns in no group form
    a kind of their own, the last.
    """
    if groups is None:
        return None
    if not isinstance(groups, Mapping):
        raise DataError(
            f"{ARGUMENT} is of type {type(groups).__name__}; pass a dict from the name of a kind "
            "to its columns, such as {'words': ['w_*'], 'macro': [0, 1]}."
        )
    if not groups:
        raise DataError(f"{ARGUMENT} names no group; leave it out, or name one.")
    codes = np.full(n_features, -1, dtype=np.int64)
    called = [str(name) for name in groups]
    for code, (name, chosen) in enumerate(groups.items()):
        mask = _members(chosen, n_features, names, f"{ARGUMENT}[{name!r:.40}]")
        twice = mask & (codes >= 0)
        if twice.any():
            column = int(np.argmax(twice))
            shown = column if names is None else repr(str(names[column]))
            raise DataError(
                f"{ARGUMENT} has the column {shown} in {called[codes[column]]!r:.40} and in "
                f"{called[code]!r:.40}; a column belongs to one group."
            )
        codes[mask] = code
    if (codes < 0).any():
        called.append(next((each for each in OTHERS if each not in called), OTHERS[0]))
        codes[codes < 0] = len(called) - 1
    if len(set(called)) < len(called):
        raise DataError(
            f"{ARGUMENT} has two groups of one name ({listed(called)}); name them apart."
        )
    return Kinds(tuple(called), codes)


def _members(chosen: object, n_features: int, names: Names, argument: str) -> BoolArray:
    """Which columns one group means."""
    if chosen is None:
        raise DataError(f"{argument} is None; name its columns, or leave the group out.")
    items = np.asarray(chosen, dtype=object).ravel()
    # Thousands of names are looked up, not searched for.
    known = {} if names is None else {str(name): k for k, name in enumerate(names)}
    matched = np.zeros(n_features, dtype=np.bool_)
    plain: list[object] = []
    for item in items:
        if isinstance(item, str) and item in known:
            matched[known[item]] = True
        elif names is not None and is_pattern(item, known):
            matched |= matching(str(item), names, argument)
        else:
            plain.append(item)
    if plain:
        matched |= feature_mask(plain, n_features, names, argument)
    if not matched.any():
        raise DataError(f"{argument} has no columns; name some, or leave the group out.")
    return matched


def is_pattern(item: object, names: Container[str]) -> bool:
    """Whether a text stands for several names: it has a wildcard, and is no name itself."""
    return isinstance(item, str) and any(c in item for c in "*?[") and item not in names


def matching(pattern: str, names: Sequence[str], argument: str) -> BoolArray:
    """Mask of the names that a pattern matches, one at least."""
    found = np.array([fnmatchcase(str(name), pattern) for name in names], dtype=np.bool_)
    if not found.any():
        raise DataError(
            f"{argument} has the pattern {pattern!r:.60}, which matches no column; the columns are "
            f"{listed([repr(str(name)) for name in names])}."
        )
    return found
